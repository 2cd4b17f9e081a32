//! The node table: ids, and the columns that others ask for.

use crate::error::{Error, ParseError, Result};
use std::collections::HashMap;
use std::path::Path;

/// Columns of a table, as text.
#[derive(Debug)]
pub(super) struct NodeTable {
    columns: HashMap<String, Vec<String>>,
}

impl NodeTable {
    /// Reads the named columns.
    pub(super) fn read(path: &Path, wanted: &[&str]) -> Result<Self> {
        let wrong = |message: String| ParseError::new(message).in_file(path);
        let unreadable = |e: csv::Error| match e.into_kind() {
            csv::ErrorKind::Io(e) => Error::io(path, e),
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => wrong(format!(
                "line {}: {len} fields; expected {expected_len}, as in the first line",
                pos.map_or(0, |p| p.line())
            )),
            csv::ErrorKind::Utf8 { pos, .. } => {
                wrong(format!("line {}: not UTF-8 text", pos.map_or(0, |p| p.line())))
            }
            other => wrong(format!("{other:?}")),
        };
        // The crate would report a folder as an unreadable line.
        let (file, _) = crate::io::decode::open(path)?;
        let mut reader = csv::Reader::from_reader(file);
        let header = reader.headers().map_err(unreadable)?.clone();
        let mut places = Vec::with_capacity(wanted.len());
        for name in wanted {
            let mut found = header.iter().enumerate().filter(|(_, h)| h == name).map(|(i, _)| i);
            match (found.next(), found.next()) {
                (Some(place), None) => places.push(place),
                (None, _) => {
                    let there: Vec<&str> = header.iter().collect();
                    let there = there.join(", ");
                    return Err(wrong(format!("no column `{name}`; the columns are {there}")));
                }
                _ => return Err(wrong(format!("two columns are called `{name}`"))),
            }
        }
        let mut columns = vec![Vec::new(); wanted.len()];
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(unreadable)? {
            for (column, place) in columns.iter_mut().zip(&places) {
                column.push(record[*place].to_owned());
            }
        }
        let names = wanted.iter().map(|name| name.to_string());
        Ok(Self { columns: names.zip(columns).collect() })
    }

    /// A column that was asked for.
    pub(super) fn column(&self, name: &str) -> &[String] {
        &self.columns[name]
    }
}

//! Tables out again: CSV and TSV, and Parquet.

use super::Format;
pub(crate) use super::parquet::Groups;
use super::parquet::write as parquet;
use crate::error::{ParseError, Result};
use crate::io::atomic;
use crate::matrix::Dense;
use std::io::Write;
use std::path::Path;

/// The values of a column.
// Vectors are read by the Parquet writer alone, which is not there without its feature.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
pub(crate) enum Values<'a> {
    Texts(Vec<String>),
    /// Those of the texts that have these numbers.
    Chosen(&'a [String], Vec<u32>),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    /// A row each; Parquet only.
    Vectors(&'a Dense),
}

impl Values<'_> {
    fn push(&self, out: &mut Vec<u8>, separator: u8, row: usize) {
        match self {
            Self::Texts(texts) => push_field(out, separator, &texts[row]),
            Self::Chosen(texts, numbers) => {
                push_field(out, separator, &texts[numbers[row] as usize]);
            }
            Self::Integers(numbers) => push_shown(out, numbers[row]),
            Self::Floats(numbers) => push_shown(out, numbers[row]),
            Self::Vectors(_) => unreachable!("only Parquet has columns of vectors"),
        }
    }
}

fn push_shown(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("memory takes everything");
}

/// Writes columns of equal length under their names, in the format of the file's name.
pub(crate) fn write(path: &Path, rows: usize, columns: &[(&str, Values<'_>)]) -> Result<()> {
    match Format::of(path) {
        Some(Format::Delimited { separator, gzip: false }) => {
            delimited(path, separator, rows, columns)
        }
        Some(Format::Parquet) => parquet(path, rows, columns),
        _ => {
            let message = "cannot write this; expected .csv, .tsv or .parquet";
            Err(ParseError::new(message).in_file(path))
        }
    }
}

fn delimited(
    path: &Path,
    separator: u8,
    rows: usize,
    columns: &[(&str, Values<'_>)],
) -> Result<()> {
    atomic::write(path, |w| {
        let mut line = Vec::new();
        for (at, (name, _)) in columns.iter().enumerate() {
            if at > 0 {
                line.push(separator);
            }
            push_field(&mut line, separator, name);
        }
        line.push(b'\n');
        w.write_all(&line)?;
        for row in 0..rows {
            line.clear();
            for (at, (_, values)) in columns.iter().enumerate() {
                if at > 0 {
                    line.push(separator);
                }
                values.push(&mut line, separator, row);
            }
            // A line of nothing would be passed over.
            if line.is_empty() {
                line.extend_from_slice(b"\"\"");
            }
            line.push(b'\n');
            w.write_all(&line)?;
        }
        Ok(())
    })
}

/// A field, in quotes where it would else be read as something different.
pub(crate) fn push_field(out: &mut Vec<u8>, separator: u8, text: &str) {
    let special = |b: u8| b == separator || matches!(b, b'"' | b'\n' | b'\r');
    if !text.bytes().any(special) && !text.starts_with('\u{feff}') {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::table::Table;

    const TEXTS: [&str; 9] =
        ["plain", "a,b", "say \"hi\"", "two\nlines", "tab\there", "\r", "", "007", "\u{feff}é 漢"];

    #[test]
    fn every_format_gives_back_what_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let vectors = Dense::from_vec(9, 2, (0..18).map(|i| i as f32 / 3.0).collect()).unwrap();
        let texts = TEXTS.map(String::from);
        for name in ["t.csv", "t.tsv", "t.parquet"] {
            let path = folder.path().join(name);
            let mut columns = vec![
                ("a \"name\"", Values::Texts(TEXTS.map(String::from).to_vec())),
                ("chosen", Values::Chosen(&texts, (0..9).rev().collect())),
                ("number", Values::Integers((0..9).map(|i| i * (i64::MIN / 8)).collect())),
                ("real", Values::Floats((0..9).map(|i| i as f32 / 7.0).collect())),
            ];
            if name == "t.parquet" {
                columns.push(("vector", Values::Vectors(&vectors)));
            }
            write(&path, 9, &columns).unwrap();
            let table = Table::open(&path).unwrap();
            let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
            let rows = table.read(&names).unwrap();
            for (row, text) in TEXTS.iter().enumerate() {
                assert_eq!(rows.columns[0].text(row).unwrap(), *text, "{name}");
                assert_eq!(rows.columns[1].text(row).unwrap(), TEXTS[8 - row], "{name}");
                let number = row as i64 * (i64::MIN / 8);
                assert_eq!(rows.columns[2].text(row).unwrap(), number.to_string(), "{name}");
                let real = rows.columns[3].number(row).unwrap().unwrap();
                assert_eq!(real as f32, row as f32 / 7.0, "{name}");
                if let Some(crate::io::table::Column::Vectors(lists)) = rows.columns.get(4) {
                    assert_eq!(lists.get(row), vectors.row(row));
                }
            }
        }
        let one = folder.path().join("one.csv");
        write(&one, 2, &[("x", Values::Texts(vec![String::new(), "a".into()]))]).unwrap();
        assert_eq!(Table::open(&one).unwrap().read(&["x"]).unwrap().count, 2);
        assert!(write(&folder.path().join("t.xls"), 0, &[]).is_err());
    }
}

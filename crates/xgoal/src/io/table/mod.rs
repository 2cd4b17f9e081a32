//! Tables: rows under named columns, from CSV, TSV (both also gzipped) and Parquet.
//!
//! A table is scanned: batches of rows are worked on by all threads, and what comes of them is taken in the order
//! of the file, so that nothing depends on the number of threads. Only the columns asked for are kept.
//!
//! ```text
//!     file -> records (whole rows, text) or row groups (Parquet) -> batch -> map, in parallel -> take, in order
//! ```

mod batch;
mod delimited;
mod ids;
mod parquet;
mod records;
pub(crate) mod write;

pub(crate) use batch::{Batch, Column, Misfit};
pub(crate) use ids::{Ids, NONE};

use crate::error::{Error, ParseError, Result};
use crate::machine::{self, Available, format_bytes};
use delimited::Delimited;
use parquet::ParquetTable;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The extensions of tables, as messages list them.
pub(crate) const EXPECTED: &str = ".csv, .tsv, .csv.gz, .tsv.gz or .parquet";

/// Columns that a message lists at most.
const LISTED: usize = 50;

/// How a table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Fields between separators.
    Delimited { separator: u8, gzip: bool },
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Told by the extension.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (name, gzip) = match name.strip_suffix(".gz") {
            Some(inner) => (inner, true),
            None => (&*name, false),
        };
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Self::Delimited { separator: b',', gzip }),
            "tsv" | "tab" => Some(Self::Delimited { separator: b'\t', gzip }),
            "parquet" | "pq" if !gzip => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Fields between separators, gzipped if the name says so.
    pub(crate) fn separated_by(separator: u8, path: &Path) -> Self {
        Self::Delimited { separator, gzip: path.extension().is_some_and(|e| e == "gz") }
    }
}

/// A table that was opened: its columns are known, its rows not read yet.
pub(crate) struct Table {
    path: PathBuf,
    inner: Inner,
}

enum Inner {
    Delimited(Delimited),
    Parquet(ParquetTable),
}

/// A whole table in memory: the columns asked for, and where each row stood.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// In the order they were asked for.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub count: usize,
    places: Vec<u32>,
    lines: bool,
}

impl Table {
    /// Opens a file and reads the names of its columns.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
        let wrong = |message: String| ParseError::new(message).in_file(path);
        if metadata.is_dir() {
            return Err(wrong("a folder; expected a table".into()));
        }
        match Format::of(path) {
            Some(format) => Self::open_as(path, format),
            None => Err(wrong(format!("not a table; expected {EXPECTED}"))),
        }
    }

    /// The same for a file whose name does not tell its format.
    pub(crate) fn open_as(path: &Path, format: Format) -> Result<Self> {
        let inner = match format {
            Format::Delimited { separator, gzip } => {
                Inner::Delimited(Delimited::open(path, separator, gzip)?)
            }
            Format::Parquet => Inner::Parquet(ParquetTable::open(path)?),
        };
        Ok(Self { path: path.to_path_buf(), inner })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all columns.
    pub(crate) fn names(&self) -> &[String] {
        match &self.inner {
            Inner::Delimited(table) => table.names(),
            Inner::Parquet(table) => table.names(),
        }
    }

    /// Works on batches of rows in parallel and takes the results in the order of the file.
    pub(crate) fn scan<T: Send>(
        &self,
        columns: &[&str],
        map: impl Fn(Batch) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let places = self.places(columns)?;
        let growth = Growth::begin();
        let mut take = |part| {
            take(part)?;
            growth.check().map_err(|e| e.in_file(&self.path))
        };
        match &self.inner {
            Inner::Delimited(table) => table.scan(&places, &map, &mut take),
            Inner::Parquet(table) => table.scan(&places, &map, &mut take),
        }
    }

    /// Reads columns into memory.
    pub(crate) fn read(&self, columns: &[&str]) -> Result<Rows> {
        let mut rows = Rows::default();
        self.scan(columns, Ok, |batch| {
            rows.count += batch.rows();
            rows.lines = batch.has_lines();
            rows.places.extend((0..batch.rows()).map(|row| batch.number(row)));
            if rows.columns.is_empty() {
                rows.columns = batch.columns;
                return Ok(());
            }
            rows.columns.iter_mut().zip(batch.columns).for_each(|(all, more)| all.append(more));
            Ok(())
        })?;
        if rows.columns.is_empty() {
            rows.columns = columns.iter().map(|_| Column::default()).collect();
        }
        Ok(rows)
    }

    /// Where columns stand.
    fn places(&self, columns: &[&str]) -> Result<Vec<usize>> {
        let names = self.names();
        // None where two have one name.
        let mut places: HashMap<&str, Option<usize>> = HashMap::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            places.entry(name).and_modify(|place| *place = None).or_insert(Some(at));
        }
        let place = |name: &&str| match places.get(name) {
            Some(Some(place)) => Ok(*place),
            Some(None) => Err(self.wrong(format!("two columns are called `{name}`"))),
            None => {
                let there = names[..names.len().min(LISTED)].join("`, `");
                let more = match names.len().saturating_sub(LISTED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                Err(self.wrong(format!("no column `{name}`; the columns are `{there}`{more}")))
            }
        };
        columns.iter().map(place).collect()
    }

    /// An error about this file.
    pub(crate) fn wrong(&self, message: String) -> Error {
        ParseError::new(message).in_file(&self.path)
    }

    /// An error about one field.
    pub(crate) fn misfit(&self, place: &str, column: &str, misfit: &Misfit) -> Error {
        self.wrong(format!("{place}, column `{column}`: {misfit}"))
    }
}

/// What the process takes on top of what it took before, while what a table holds arrives.
struct Growth {
    before: Option<u64>,
}

impl Growth {
    fn begin() -> Self {
        Self { before: machine::rss_bytes() }
    }

    /// Stops in time: as much must be left as was taken, because what grows takes up to twice its size for a while.
    fn check(&self) -> std::result::Result<(), ParseError> {
        let taken =
            machine::rss_bytes().zip(self.before).map(|(now, before)| now.saturating_sub(before));
        match taken.zip(machine::available()) {
            Some((taken, Available { bytes, bound })) if taken > bytes => Err(ParseError {
                out_of_memory: true,
                ..ParseError::new(format!(
                    "its rows take more than {} so far, and {} {bound}; use less data or a larger machine",
                    format_bytes(taken),
                    format_bytes(bytes)
                ))
            }),
            _ => Ok(()),
        }
    }
}

impl Rows {
    /// Where a row stood: its line in a text file, its number in Parquet.
    pub(crate) fn place(&self, row: usize) -> String {
        let word = if self.lines { "line" } else { "row" };
        format!("{word} {}", self.places[row])
    }
}

#[cfg(test)]
mod tests;

//! Stands in for reader and writer in builds without them.

use crate::error::{Error, ParseError, Result};
use crate::io::table::Batch;
use crate::io::table::write::Values;
use std::path::Path;

/// A table that cannot be.
pub(in crate::io::table) enum ParquetTable {}

fn missing(path: &Path) -> Error {
    ParseError::new("Parquet: this build is without the `parquet` feature").in_file(path)
}

pub(crate) fn write(path: &Path, _: usize, _: &[(&str, Values<'_>)]) -> Result<()> {
    Err(missing(path))
}

impl ParquetTable {
    pub(in crate::io::table) fn open(path: &Path) -> Result<Self> {
        Err(missing(path))
    }

    pub(in crate::io::table) fn names(&self) -> &[String] {
        match *self {}
    }

    pub(in crate::io::table) fn scan<T: Send>(
        &self,
        _: &[usize],
        _: &(impl Fn(Batch) -> Result<T> + Sync),
        _: &mut impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        match *self {}
    }
}

//! Stands in for the reader in builds without it.

use crate::error::{ParseError, Result};
use crate::io::table::Batch;
use std::path::Path;

/// A table that cannot be.
pub(in crate::io::table) enum ParquetTable {}

impl ParquetTable {
    pub(in crate::io::table) fn open(path: &Path) -> Result<Self> {
        let message = "Parquet cannot be read: this build is without the `parquet` feature";
        Err(ParseError::new(message).in_file(path))
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

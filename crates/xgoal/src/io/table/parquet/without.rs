//! Stands in for reader and writer in builds without them.

use crate::error::{Error, ParseError, Result};
use crate::io::table::Batch;
use crate::io::table::write::Values;
use std::io;
use std::ops::Range;
use std::path::Path;

/// A table that cannot be.
#[derive(Debug)]
pub(in crate::io::table) enum ParquetTable {}

const MISSING: &str = "Parquet: this build is without the `parquet` feature";

fn missing(path: &Path) -> Error {
    ParseError::new(MISSING).in_file(path)
}

pub(crate) fn write(path: &Path, _: usize, _: &[(&str, Values<'_>)]) -> Result<()> {
    Err(missing(path))
}

/// A file that cannot be.
#[derive(Debug)]
pub(crate) struct Groups<W> {
    never: ParquetTable,
    writer: W,
}

impl<W> Groups<W> {
    pub fn begin(_: W, _: &[(&str, Values<'_>)]) -> io::Result<Self> {
        Err(io::Error::other(MISSING))
    }

    pub fn height(&self) -> usize {
        match self.never {}
    }

    pub fn put(&mut self, _: &[(&str, Values<'_>)], _: Range<usize>) -> io::Result<()> {
        match self.never {}
    }

    pub fn writer(&mut self) -> &mut W {
        &mut self.writer
    }

    pub fn finish(self) -> io::Result<W> {
        Ok(self.writer)
    }
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

//! Parquet: `id`, a string or a whole number, and `vector`, a list of floats.

use super::{Layout, Rows};
use crate::io::table::write::{Groups, Values};
use crate::matrix::Dense;
use std::fs::File;
use std::io::{self, Write};

/// Groups of rows. Those that do not fill one yet wait.
#[derive(Debug)]
pub(super) struct Vectors {
    groups: Option<Groups<Vec<u8>>>,
    waiting: Vec<f32>,
    columns: usize,
    /// Rows that are written.
    written: usize,
}

impl Vectors {
    pub fn new(columns: usize) -> Self {
        Self { groups: None, waiting: Vec::new(), columns, written: 0 }
    }

    /// Writes the rows that wait.
    fn group(&mut self, file: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        let Some(groups) = &mut self.groups else { return Ok(()) };
        let numbers = std::mem::take(&mut self.waiting);
        let count = numbers.len() / self.columns.max(1);
        let vectors = Dense::from_vec(count, self.columns, numbers).map_err(io::Error::other)?;
        let ids = rows.column(self.written..self.written + count);
        groups.put(&[("id", ids), ("vector", Values::Vectors(&vectors))], 0..count)?;
        self.written += count;
        file.write_all(groups.writer())?;
        groups.writer().clear();
        self.waiting = vectors.into_values();
        self.waiting.clear();
        Ok(())
    }
}

impl Layout for Vectors {
    fn begin(&mut self, _: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        let none = Dense::zeros(0, self.columns);
        let columns = [("id", rows.column(0..0)), ("vector", Values::Vectors(&none))];
        self.groups = Some(Groups::begin(Vec::new(), &columns)?);
        Ok(())
    }

    fn rows(
        &mut self,
        file: &mut dyn Write,
        rows: &Rows<'_>,
        _: usize,
        some: &Dense,
    ) -> io::Result<()> {
        let full = self.groups.as_ref().map_or(1, Groups::height) * self.columns;
        let mut left = some.values();
        while !left.is_empty() {
            let (now, later) = left.split_at(left.len().min(full - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            left = later;
            if self.waiting.len() == full {
                self.group(file, rows)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, file: &mut File, rows: &Rows<'_>) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.group(file, rows)?;
        }
        match self.groups.take() {
            Some(groups) => file.write_all(&groups.finish()?),
            None => Ok(()),
        }
    }
}

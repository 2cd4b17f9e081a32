use super::pages::prefer_large;
use crate::error::{Error, Result};

/// A dense matrix, row after row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dense<T = f32> {
    rows: usize,
    cols: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> Dense<T> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let mut values = vec![T::default(); rows * cols];
        prefer_large(&mut values);
        Self { rows, cols, values }
    }

    /// Wraps values that are already in row-major order.
    pub fn from_vec(rows: usize, cols: usize, values: Vec<T>) -> Result<Self> {
        if rows.checked_mul(cols) != Some(values.len()) {
            return Err(Error::Shape {
                operation: "dense matrix from values",
                left: (rows, cols),
                right: (values.len(), 1),
            });
        }
        Ok(Self { rows, cols, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// One row.
    pub fn row(&self, r: usize) -> &[T] {
        &self.values[r * self.cols..(r + 1) * self.cols]
    }

    /// All values, row after row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, row after row, to be written.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values themselves.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The given rows, in the given order.
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.cols);
        for &r in rows {
            values.extend_from_slice(self.row(r as usize));
        }
        Self { rows: rows.len(), cols: self.cols, values }
    }
}

use super::pages::prefer_large;
use crate::error::{Error, Result};

/// Bytes at which matrices made here start: the widest vector register, and a line of the cache.
///
/// A wide load that straddles two lines costs two; products with rows of a matrix that starts anywhere
/// take 1.5 times as long.
const LINE: usize = 64;

/// A dense matrix, row after row.
#[derive(Debug, Default)]
pub struct Dense<T = f32> {
    rows: usize,
    cols: usize,
    /// Places before the first value, so that it starts a line.
    skip: usize,
    storage: Vec<T>,
}

impl<T: Clone> Clone for Dense<T> {
    fn clone(&self) -> Self {
        let values = self.values();
        let room = LINE / size_of::<T>();
        let mut storage = Vec::<T>::with_capacity(values.len() + room);
        let skip = storage.as_ptr().align_offset(LINE).min(room);
        storage.extend(values.iter().take(1).cycle().take(skip).cloned());
        let skip = storage.len();
        storage.extend_from_slice(values);
        Self { rows: self.rows, cols: self.cols, skip, storage }
    }
}

impl<T: PartialEq> PartialEq for Dense<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.cols, self.values()) == (other.rows, other.cols, other.values())
    }
}

impl<T> Dense<T> {
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
        &self.values()[r * self.cols..][..self.cols]
    }

    /// All values, row after row.
    pub fn values(&self) -> &[T] {
        &self.storage[self.skip..][..self.rows * self.cols]
    }

    /// All values, row after row, to be written.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.storage[self.skip..][..self.rows * self.cols]
    }

    /// The values themselves.
    pub fn into_values(mut self) -> Vec<T> {
        self.storage.truncate(self.skip + self.rows * self.cols);
        self.storage.drain(..self.skip);
        self.storage
    }
}

impl<T: Copy + Default> Dense<T> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let room = LINE / size_of::<T>();
        let mut storage = vec![T::default(); rows * cols + room];
        prefer_large(&mut storage);
        let skip = storage.as_ptr().align_offset(LINE).min(room);
        Self { rows, cols, skip, storage }
    }

    /// Wraps values that are already in row-major order, where they are.
    pub fn from_vec(rows: usize, cols: usize, values: Vec<T>) -> Result<Self> {
        if rows.checked_mul(cols) != Some(values.len()) {
            return Err(Error::Shape {
                operation: "dense matrix from values",
                left: (rows, cols),
                right: (values.len(), 1),
            });
        }
        Ok(Self { rows, cols, skip: 0, storage: values })
    }

    /// Writes rows from the given one on.
    pub(crate) fn put(&mut self, first: usize, rows: &Self) {
        let from = first * self.cols;
        self.values_mut()[from..from + rows.values().len()].copy_from_slice(rows.values());
    }

    /// The given rows, in the given order.
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.cols);
        for &r in rows {
            values.extend_from_slice(self.row(r as usize));
        }
        Self { rows: rows.len(), cols: self.cols, skip: 0, storage: values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_copies_start_a_line_and_give_their_values_back() {
        for (rows, cols) in [(0, 4), (1, 1), (3, 5), (300, 128)] {
            let count = rows * cols;
            let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
            let plain = Dense::from_vec(rows, cols, values.clone()).unwrap();
            let copy = plain.clone();
            assert!(count == 0 || copy.values().as_ptr().align_offset(LINE) == 0);
            assert_eq!(copy, plain);
            assert_eq!(copy.into_values(), values);
            assert_eq!(Dense::<f64>::zeros(rows, cols).into_values(), vec![0.0; count]);
        }
    }
}

//! Named arrays out of streamed values or sparse indices.
//!
//! Readers push the bytes of values in file order and never hold a dense f64 matrix. What comes out:
//!
//! | shape | result |
//! |---|---|
//! | one row or one column, or empty | [`Array::Vector`] |
//! | square (a layer) | [`Matrix::Sparse`] |
//! | other, share of non-zeros above [`Matrix::DENSE_ABOVE`] | [`Matrix::Dense`] |
//! | other | [`Matrix::Sparse`] |
//!
//! Zeros are no entries, also where a sparse file stores them, so that one matrix reads the same from every format.

mod sparse;

pub use sparse::{Sparse, SparseIndex};

use super::arrays::{Array, NamedArray};
use super::decode::{Number, to_f32};
use crate::error::ParseError;
use crate::machine;
use crate::matrix::{Csr, Dense, Matrix};
use crate::words::quoted;

type Parsed<T> = Result<T, ParseError>;

/// The memory the arrays of one file may take, so that a small file cannot unpack into all there is.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
    whole: u64,
    /// Whether it is the machine that has no more.
    bare: bool,
}

impl Budget {
    /// 1 GiB and 64 times the file's size, far above what real data unpacks to; or half of the memory there
    /// is, as arrays that grow take up to twice their size for a while.
    pub fn for_file(size: u64) -> Self {
        Self::within(size, machine::available_bytes())
    }

    /// The same for what is not kept, whatever memory there is.
    pub(crate) fn for_stream(size: u64) -> Self {
        Self::within(size, None)
    }

    fn within(size: u64, available: Option<u64>) -> Self {
        let most = (1u64 << 30).saturating_add(size.saturating_mul(64));
        match available.map(|bytes| bytes / 2) {
            Some(free) if free < most => Self { bare: true, ..Self::of(free) },
            _ => Self::of(most),
        }
    }

    /// A number of bytes.
    pub fn of(bytes: u64) -> Self {
        Self { left: bytes, whole: bytes, bare: false }
    }

    /// Takes bytes out, before they are allocated.
    pub fn take(&mut self, bytes: u64) -> Parsed<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let bound = if self.bare {
                "half of what there is; use less data or a larger machine"
            } else {
                "the limit for a file of this size"
            };
            let message = format!(
                "the arrays need more than {} bytes of memory, which is {bound}",
                self.whole
            );
            ParseError { out_of_memory: self.bare, ..ParseError::new(message) }
        })?;
        Ok(())
    }
}

/// Which index runs fastest in a stream of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Row after row (C).
    RowMajor,
    /// Column after column (Fortran, MATLAB).
    ColumnMajor,
}

/// Values taken between two looks at the budget.
const STEP: usize = 1 << 16;

/// Takes the values of a two-dimensional array as they arrive.
pub struct ArrayBuilder<'a> {
    name: &'a str,
    shape: (usize, usize),
    order: Order,
    budget: &'a mut Budget,
    store: Store,
    /// Number of non-zeros above which the matrix is kept dense.
    dense_above: usize,
    /// The row or column being filled, and the position in it.
    line: usize,
    offset: usize,
    /// Length and number of lines.
    length: usize,
    lines: usize,
}

enum Store {
    Vector(Vec<f64>),
    Sparse { starts: Vec<usize>, indices: Vec<u32>, values: Vec<f32> },
    Dense(Vec<f32>),
}

impl<'a> ArrayBuilder<'a> {
    /// Starts an array; nothing is allocated for its shape until values arrive.
    pub fn new(
        name: &'a str,
        shape: (usize, usize),
        order: Order,
        budget: &'a mut Budget,
    ) -> Parsed<Self> {
        size_of_shape(name, shape)?;
        let (lines, length) = match order {
            Order::RowMajor => shape,
            Order::ColumnMajor => (shape.1, shape.0),
        };
        let store = if is_vector(shape) {
            Store::Vector(Vec::new())
        } else {
            Store::Sparse { starts: vec![0], indices: Vec::new(), values: Vec::new() }
        };
        let dense_above = Matrix::dense_above(shape.0, shape.1);
        Ok(Self {
            name,
            shape,
            order,
            budget,
            store,
            dense_above,
            line: 0,
            offset: 0,
            length,
            lines,
        })
    }

    /// The next values; there may be any number of them.
    pub(crate) fn push(&mut self, number: Number, mut bytes: &[u8]) -> Parsed<()> {
        while !bytes.is_empty() {
            if self.line >= self.lines || self.length == 0 {
                return Err(ParseError::new(format!(
                    "{}: more values than its shape {:?} has room for",
                    quoted(self.name),
                    self.shape
                )));
            }
            let room = (self.length - self.offset).min(STEP) * number.size();
            let (part, rest) = bytes.split_at(bytes.len().min(room));
            self.push_within_line(number, part)?;
            bytes = rest;
        }
        Ok(())
    }

    fn push_within_line(&mut self, number: Number, bytes: &[u8]) -> Parsed<()> {
        let (name, order, cols) = (self.name, self.order, self.shape.1);
        let (line, from) = (self.line, self.offset);
        let count = bytes.len() / number.size();
        match &mut self.store {
            Store::Vector(values) => {
                self.budget.take(8 * count as u64)?;
                number.each(bytes, |_, value| {
                    values.push(value);
                    Ok(())
                })?;
            }
            Store::Sparse { indices, values, .. } => {
                let before = values.len();
                number.each(bytes, |i, value| {
                    if value != 0.0 {
                        let value = narrow(name, place(order, line, from + i), value)?;
                        if value != 0.0 {
                            indices.push((from + i) as u32);
                            values.push(value);
                        }
                    }
                    Ok(())
                })?;
                self.budget.take(8 * (values.len() - before) as u64)?;
                if values.len() > self.dense_above {
                    self.spread()?;
                }
            }
            Store::Dense(values) => number.each(bytes, |i, value| {
                if value != 0.0 {
                    let (row, col) = place(order, line, from + i);
                    values[row * cols + col] = narrow(name, (row, col), value)?;
                }
                Ok(())
            })?,
        }
        self.offset += count;
        if self.offset == self.length {
            self.offset = 0;
            self.line += 1;
            if let Store::Sparse { starts, indices, .. } = &mut self.store {
                self.budget.take(8)?;
                starts.push(indices.len());
            }
        }
        Ok(())
    }

    /// The array, once every value has been pushed.
    pub fn finish(self) -> Parsed<NamedArray> {
        let (rows, cols) = self.shape;
        if self.line < self.lines && self.length > 0 {
            return Err(ParseError::new(format!(
                "{}: {} values, expected {} for its shape {:?}",
                quoted(self.name),
                self.line * self.length + self.offset,
                self.lines * self.length,
                self.shape
            )));
        }
        let array = match self.store {
            Store::Vector(values) => Array::Vector { values, shape: self.shape },
            Store::Sparse { starts, indices, values } => {
                let lines = Csr::try_new(self.lines, self.length, starts, indices, values)?;
                Array::Matrix(Matrix::Sparse(match self.order {
                    Order::RowMajor => lines,
                    Order::ColumnMajor => {
                        self.budget.take(8 * (rows as u64 + lines.nnz() as u64))?;
                        lines.transpose()
                    }
                }))
            }
            Store::Dense(values) => Array::Matrix(dense(rows, cols, values)?),
        };
        Ok(NamedArray { name: self.name.to_owned(), array })
    }

    /// Goes over to dense storage, now that enough entries have really arrived to pay for it.
    fn spread(&mut self) -> Parsed<()> {
        let (rows, cols) = self.shape;
        self.budget.take((rows as u64 * cols as u64).saturating_mul(4))?;
        let mut spread = vec![0f32; rows * cols];
        if let Store::Sparse { starts, indices, values } = &mut self.store {
            starts.push(indices.len());
            for (line, range) in starts.windows(2).enumerate() {
                for at in range[0]..range[1] {
                    let (row, col) = place(self.order, line, indices[at] as usize);
                    spread[row * cols + col] = values[at];
                }
            }
        }
        self.store = Store::Dense(spread);
        Ok(())
    }
}

fn dense(rows: usize, cols: usize, values: Vec<f32>) -> Parsed<Matrix> {
    Dense::from_vec(rows, cols, values)
        .map(Matrix::Dense)
        .map_err(|e| ParseError::new(e.to_string()))
}

fn is_vector(shape: (usize, usize)) -> bool {
    shape.0.min(shape.1) <= 1
}

/// The number of values, if it can be counted and each index fits 32 bits.
pub(crate) fn size_of_shape(name: &str, (rows, cols): (usize, usize)) -> Parsed<usize> {
    match rows.checked_mul(cols) {
        Some(size) if rows.max(cols) < u32::MAX as usize => Ok(size),
        _ => Err(ParseError::new(format!(
            "{}: a shape of ({rows}, {cols}), expected less than {} in each dimension",
            quoted(name),
            u32::MAX
        ))),
    }
}

/// Whether a matrix of this shape and so many non-zeros is kept sparse.
pub(crate) fn is_sparse_shape((rows, cols): (usize, usize), entries: usize) -> bool {
    let small = rows.max(cols) < u32::MAX as usize && !is_vector((rows, cols));
    small && entries <= Matrix::dense_above(rows, cols)
}

fn place(order: Order, line: usize, offset: usize) -> (usize, usize) {
    match order {
        Order::RowMajor => (line, offset),
        Order::ColumnMajor => (offset, line),
    }
}

/// The value in f32; a finite one must stay finite.
pub(crate) fn narrow(name: &str, (row, col): (usize, usize), value: f64) -> Parsed<f32> {
    to_f32(value).ok_or_else(|| {
        ParseError::new(format!(
            "{}: {value:e} at row {row}, column {col}, expected at most {:e} in magnitude",
            quoted(name),
            f32::MAX
        ))
    })
}

#[cfg(test)]
mod tests;

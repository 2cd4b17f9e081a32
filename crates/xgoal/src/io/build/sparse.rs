//! Named arrays out of sparse indices.

use super::{Budget, Order, Parsed, dense, is_vector, narrow, place, size_of_shape};
use crate::error::ParseError;
use crate::io::arrays::{Array, NamedArray};
use crate::matrix::{Csr, Matrix};
use crate::words::quoted;

/// Where the entries of a sparse matrix are.
#[derive(Debug, Clone, PartialEq)]
pub enum SparseIndex {
    /// By rows: row `r` has the entries `indptr[r]..indptr[r + 1]`, in columns `indices`.
    Csr {
        /// One more than rows.
        indptr: Vec<i64>,
        /// Column of each entry.
        indices: Vec<i64>,
    },
    /// By columns: column `c` has the entries `indptr[c]..indptr[c + 1]`, in rows `indices`.
    Csc {
        /// One more than columns.
        indptr: Vec<i64>,
        /// Row of each entry.
        indices: Vec<i64>,
    },
    /// Entry by entry.
    Coo {
        /// Row of each entry.
        row: Vec<i64>,
        /// Column of each entry.
        col: Vec<i64>,
    },
}

/// A sparse matrix as a file has it, not checked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    /// Rows and columns.
    pub shape: (usize, usize),
    /// Places of the entries, in any order.
    pub index: SparseIndex,
    /// Value of each entry; those at the same place are summed.
    pub values: Vec<f64>,
    /// Whether the values are bools, which sum up to a bool.
    pub logical: bool,
}

impl NamedArray {
    /// An array from sparse entries.
    pub fn from_sparse(name: &str, sparse: Sparse, budget: &mut Budget) -> Parsed<Self> {
        let Sparse { shape, index, mut values, logical } = sparse;
        let (rows, cols) = shape;
        let size = size_of_shape(name, shape)?;
        let (stored, pointers) = match &index {
            SparseIndex::Csr { indptr, indices } => {
                (check_indptr(name, indptr, indices, rows)?, indptr.len())
            }
            SparseIndex::Csc { indptr, indices } => {
                (check_indptr(name, indptr, indices, cols)?, indptr.len())
            }
            SparseIndex::Coo { row, col } if row.len() == col.len() => (row.len(), 0),
            SparseIndex::Coo { row, col } => {
                return Err(ParseError::new(format!(
                    "{}: {} row and {} column indices, expected equally many",
                    quoted(name),
                    row.len(),
                    col.len()
                )));
            }
        };
        if values.len() < stored {
            return Err(ParseError::new(format!(
                "{}: {} values, expected one for each of its {stored} entries",
                quoted(name),
                values.len()
            )));
        }
        // Rows cost memory that no entry pays for: 8 MiB are free, then there must be data.
        let claimed = if is_vector(shape) { size } else { rows };
        if claimed > (1 << 20) + 256 * (stored + pointers) {
            return Err(ParseError::new(format!(
                "{}: a shape of {shape:?} with only {stored} entries",
                quoted(name)
            )));
        }
        budget.take(8 * (claimed as u64 + pointers as u64) + 24 * stored as u64)?;
        values.truncate(stored);
        let column = |indices| within(name, "column", indices, stored, cols);
        let row = |indices| within(name, "row", indices, stored, rows);
        let starts = |indptr: Vec<i64>| indptr.into_iter().map(|p| p as usize).collect();
        let (order, mut lines) = match index {
            SparseIndex::Csr { indptr, indices } => {
                let offsets = column(indices)?;
                (Order::RowMajor, Lines { starts: starts(indptr), offsets, values })
            }
            SparseIndex::Csc { indptr, indices } => {
                let offsets = row(indices)?;
                (Order::ColumnMajor, Lines { starts: starts(indptr), offsets, values })
            }
            SparseIndex::Coo { row: r, col: c } => {
                let (r, c) = (row(r)?, column(c)?);
                (Order::RowMajor, Lines::gather(rows, &r, &c, &values))
            }
        };
        let array = if is_vector(shape) {
            lines.tidy(logical, |v| v == 0.0);
            let mut values = vec![0.0; size];
            for (line, at) in lines.entries() {
                let (r, c) = place(order, line, lines.offsets[at] as usize);
                values[r * cols + c] = lines.values[at];
            }
            Array::Vector { values, shape }
        } else {
            // A value too small for f32 is no entry of a matrix.
            lines.tidy(logical, |v| v as f32 == 0.0);
            Array::Matrix(matrix(name, shape, order, lines, budget)?)
        };
        Ok(NamedArray { name: name.to_owned(), array })
    }
}

/// The first `stored` indices, each below `end`.
fn within(
    name: &str,
    what: &str,
    mut indices: Vec<i64>,
    stored: usize,
    end: usize,
) -> Parsed<Vec<u32>> {
    indices.truncate(stored);
    let checked = |(at, i): (usize, i64)| match u32::try_from(i) {
        Ok(index) if (index as usize) < end => Ok(index),
        _ => Err(ParseError::new(format!(
            "{}: entry {at} is in {what} {i}, expected 0 up to but not including {end}",
            quoted(name)
        ))),
    };
    indices.into_iter().enumerate().map(checked).collect()
}

/// Pointers start at 0, never fall and end within the indices; returns where they end.
fn check_indptr(name: &str, indptr: &[i64], indices: &[i64], lines: usize) -> Parsed<usize> {
    let complain = |found: String| {
        Err(ParseError::new(format!(
            "{}: {found}, expected {} pointers that start at 0, never fall and end at the \
             number of entries, {}",
            quoted(name),
            lines as u64 + 1,
            indices.len()
        )))
    };
    let Some((first, last)) = indptr.first().zip(indptr.last()) else {
        return complain("no pointers".into());
    };
    if indptr.len() - 1 != lines {
        return complain(format!("{} pointers", indptr.len()));
    }
    if *first != 0 {
        return complain(format!("a first pointer of {first}"));
    }
    if let Some(at) = indptr.windows(2).position(|w| w[0] > w[1]) {
        return complain(format!(
            "pointer {} falls from {} to {}",
            at + 1,
            indptr[at],
            indptr[at + 1]
        ));
    }
    // Writers may keep spare room behind the last entry.
    match usize::try_from(*last) {
        Ok(last) if last <= indices.len() => Ok(last),
        _ => complain(format!("a last pointer of {last}")),
    }
}

/// Entries line by line, where a line is a row, or a column of what is stored by columns.
struct Lines {
    starts: Vec<usize>,
    offsets: Vec<u32>,
    values: Vec<f64>,
}

impl Lines {
    /// Sorts entries by line; those of one line keep their order, so duplicates are summed in file order.
    fn gather(lines: usize, line: &[u32], offset: &[u32], values: &[f64]) -> Self {
        let mut starts = vec![0usize; lines + 1];
        line.iter().for_each(|l| starts[*l as usize + 1] += 1);
        (0..lines).for_each(|l| starts[l + 1] += starts[l]);
        let mut next = starts.clone();
        let mut gathered = (vec![0; line.len()], vec![0.0; line.len()]);
        for ((line, offset), value) in line.iter().zip(offset).zip(values) {
            let slot = &mut next[*line as usize];
            gathered.0[*slot] = *offset;
            gathered.1[*slot] = *value;
            *slot += 1;
        }
        Self { starts, offsets: gathered.0, values: gathered.1 }
    }

    /// Line and position of each entry.
    fn entries(&self) -> impl Iterator<Item = (usize, usize)> {
        let lines = self.starts.windows(2).enumerate();
        lines.flat_map(|(line, w)| (w[0]..w[1]).map(move |at| (line, at)))
    }

    /// Sorts each line, sums entries at the same place and drops zeros.
    fn tidy(&mut self, logical: bool, is_zero: impl Fn(f64) -> bool) {
        let mut sorted: Vec<(u32, f64)> = Vec::new();
        let (mut from, mut kept) = (0, 0);
        for line in 1..self.starts.len() {
            let to = self.starts[line];
            sorted.clear();
            sorted.extend((from..to).map(|at| (self.offsets[at], self.values[at])));
            sorted.sort_by_key(|e| e.0);
            for same in sorted.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = same.iter().map(|e| e.1).sum();
                let sum = if logical { sum.min(1.0) } else { sum };
                // What is kept never overtakes what is read: lines only become shorter.
                if !is_zero(sum) {
                    self.offsets[kept] = same[0].0;
                    self.values[kept] = sum;
                    kept += 1;
                }
            }
            from = to;
            self.starts[line] = kept;
        }
        self.offsets.truncate(kept);
        self.values.truncate(kept);
    }
}

fn matrix(
    name: &str,
    (rows, cols): (usize, usize),
    order: Order,
    lines: Lines,
    budget: &mut Budget,
) -> Parsed<Matrix> {
    let mut values = Vec::with_capacity(lines.values.len());
    for (line, at) in lines.entries() {
        let place = place(order, line, lines.offsets[at] as usize);
        values.push(narrow(name, place, lines.values[at])?);
    }
    let size = rows * cols;
    if values.len() > Matrix::dense_above(rows, cols) {
        budget.take((size as u64).saturating_mul(4))?;
        let mut all = vec![0f32; size];
        for (line, at) in lines.entries() {
            let (r, c) = place(order, line, lines.offsets[at] as usize);
            all[r * cols + c] = values[at];
        }
        return dense(rows, cols, all);
    }
    let Lines { starts, offsets, .. } = lines;
    Ok(Matrix::Sparse(match order {
        Order::RowMajor => Csr::try_new(rows, cols, starts, offsets, values)?,
        Order::ColumnMajor => Csr::try_new(cols, rows, starts, offsets, values)?.transpose(),
    }))
}

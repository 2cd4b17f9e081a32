//! Named arrays out of sparse indices.

use super::{Budget, Parsed, dense, dense_above, is_vector, narrow, size_of_shape};
use crate::error::ParseError;
use crate::io::arrays::{Array, NamedArray};
use crate::matrix::{Csr, Matrix};

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

impl NamedArray {
    /// An array from sparse entries, in any order; entries at the same place are summed.
    pub fn from_sparse(
        name: &str,
        shape: (usize, usize),
        index: &SparseIndex,
        values: &[f64],
        budget: &mut Budget,
    ) -> Parsed<Self> {
        let (rows, cols) = shape;
        let size = size_of_shape(name, shape)?;
        let entries = merged_entries(name, shape, index, values, budget)?;
        // Rows cost memory that no entry pays for: 8 MiB are free, then there must be data.
        let claimed = if is_vector(shape) { size } else { rows };
        let known = match index {
            SparseIndex::Csr { indptr, .. } | SparseIndex::Csc { indptr, .. } => indptr.len(),
            SparseIndex::Coo { .. } => 0,
        };
        if claimed > (1 << 20) + 256 * (entries.len() + known) {
            return Err(ParseError::new(format!(
                "`{name}`: a shape of {shape:?} with only {} entries",
                entries.len()
            )));
        }
        budget.take(8 * (claimed as u64 + entries.len() as u64))?;
        let array = if is_vector(shape) {
            let mut all = vec![0.0; size];
            for (r, c, v) in entries {
                all[r as usize * cols + c as usize] = v;
            }
            Array::Vector { values: all, shape }
        } else {
            Array::Matrix(matrix_of(name, shape, size, &entries, budget)?)
        };
        Ok(NamedArray { name: name.to_owned(), array })
    }
}

/// Sorted by row and column, without duplicates and zeros.
fn merged_entries(
    name: &str,
    (rows, cols): (usize, usize),
    index: &SparseIndex,
    values: &[f64],
    budget: &mut Budget,
) -> Parsed<Vec<(u32, u32, f64)>> {
    let within = |what: &str, at: usize, i: i64, end: usize| {
        u32::try_from(i).ok().filter(|i| (*i as usize) < end).ok_or_else(|| {
            ParseError::new(format!(
                "`{name}`: entry {at} is in {what} {i}, expected 0 up to but not including {end}"
            ))
        })
    };
    let stored = match index {
        SparseIndex::Csr { indptr, indices } => check_indptr(name, indptr, indices, rows)?,
        SparseIndex::Csc { indptr, indices } => check_indptr(name, indptr, indices, cols)?,
        SparseIndex::Coo { row, col } if row.len() == col.len() => row.len(),
        SparseIndex::Coo { row, col } => {
            return Err(ParseError::new(format!(
                "`{name}`: {} row and {} column indices, expected equally many",
                row.len(),
                col.len()
            )));
        }
    };
    if values.len() < stored {
        return Err(ParseError::new(format!(
            "`{name}`: {} values, expected one for each of its {stored} entries",
            values.len()
        )));
    }
    budget.take(16 * stored as u64)?;
    let mut entries = Vec::with_capacity(stored);
    match index {
        SparseIndex::Csr { indptr, indices } => {
            for (r, range) in indptr.windows(2).enumerate() {
                for at in range[0] as usize..range[1] as usize {
                    entries.push((r as u32, within("column", at, indices[at], cols)?, values[at]));
                }
            }
        }
        SparseIndex::Csc { indptr, indices } => {
            for (c, range) in indptr.windows(2).enumerate() {
                for at in range[0] as usize..range[1] as usize {
                    entries.push((within("row", at, indices[at], rows)?, c as u32, values[at]));
                }
            }
        }
        SparseIndex::Coo { row, col } => {
            for at in 0..stored {
                let r = within("row", at, row[at], rows)?;
                entries.push((r, within("column", at, col[at], cols)?, values[at]));
            }
        }
    }
    // Stable, so duplicates are summed in file order.
    entries.sort_by_key(|e| (e.0, e.1));
    entries.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    entries.retain(|e| e.2 != 0.0);
    Ok(entries)
}

/// Pointers start at 0, never fall and end within the indices; returns where they end.
fn check_indptr(name: &str, indptr: &[i64], indices: &[i64], lines: usize) -> Parsed<usize> {
    let complain = |found: String| {
        Err(ParseError::new(format!(
            "`{name}`: {found}, expected {} pointers that start at 0, never fall and end at the \
             number of entries, {}",
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

fn matrix_of(
    name: &str,
    (rows, cols): (usize, usize),
    size: usize,
    entries: &[(u32, u32, f64)],
    budget: &mut Budget,
) -> Parsed<Matrix> {
    let narrow = |e: &(u32, u32, f64)| narrow(name, (e.0 as usize, e.1 as usize), e.2);
    if entries.len() > dense_above((rows, cols), size) {
        budget.take((size as u64).saturating_mul(4))?;
        let mut all = vec![0f32; size];
        for e in entries {
            all[e.0 as usize * cols + e.1 as usize] = narrow(e)?;
        }
        return dense(rows, cols, all);
    }
    let mut indptr = vec![0; rows + 1];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for e in entries {
        let value = narrow(e)?;
        if value != 0.0 {
            indices.push(e.1);
            values.push(value);
            indptr[e.0 as usize + 1] += 1;
        }
    }
    for r in 0..rows {
        indptr[r + 1] += indptr[r];
    }
    Ok(Matrix::Sparse(Csr::try_new(rows, cols, indptr, indices, values)?))
}

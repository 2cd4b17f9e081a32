//! Matrices as the graph and the engine hold them: compressed sparse rows and row-major dense.

mod csr;
mod dense;
mod eigen;
mod gather;
mod leading;
mod pages;
pub(crate) mod strips;
pub(crate) mod tall;

pub(crate) use eigen::{Eigen, eigen};
pub(crate) use leading::{centre, leading, orthonormal};
pub(crate) use pages::prefer_large;

pub use csr::Csr;
pub use dense::Dense;

/// A matrix that is stored the way its content suggests.
#[derive(Debug, Clone, PartialEq)]
pub enum Matrix {
    /// Mostly zeros: stored entries only.
    Sparse(Csr),
    /// Mostly non-zeros: every entry.
    Dense(Dense),
}

impl Matrix {
    /// Share of non-zeros above which a matrix is kept dense.
    pub const DENSE_ABOVE: f64 = 0.25;

    /// The number of non-zeros above which a matrix of this shape is kept dense. A square one could be
    /// a layer and never is.
    pub fn dense_above(rows: usize, cols: usize) -> usize {
        if rows == cols {
            return usize::MAX;
        }
        (rows as f64 * cols as f64 * Self::DENSE_ABOVE) as usize
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Matrix::Sparse(m) => m.rows(),
            Matrix::Dense(m) => m.rows(),
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Matrix::Sparse(m) => m.cols(),
            Matrix::Dense(m) => m.cols(),
        }
    }

    /// Number of entries that are not zero.
    pub fn nonzeros(&self) -> usize {
        match self {
            Matrix::Sparse(m) => m.values().filter(|v| *v != 0.0).count(),
            Matrix::Dense(m) => m.values().iter().filter(|v| **v != 0.0).count(),
        }
    }

    /// Number of entries that are stored.
    pub fn stored(&self) -> usize {
        match self {
            Matrix::Sparse(m) => m.nnz(),
            Matrix::Dense(m) => m.values().len(),
        }
    }

    /// The first entry that is NaN or infinite, as (row, column, value).
    pub fn first_non_finite(&self) -> Option<(usize, usize, f32)> {
        match self {
            Matrix::Sparse(m) => (0..m.rows()).find_map(|r| {
                let (cols, values) = m.row(r);
                let at = values.iter().position(|v| !v.is_finite())?;
                Some((r, cols[at] as usize, values[at]))
            }),
            Matrix::Dense(m) => {
                let at = m.values().iter().position(|v| !v.is_finite())?;
                Some((at / m.cols(), at % m.cols(), m.values()[at]))
            }
        }
    }

    /// The columns of this matrix, and those of a dense one times a weight.
    pub(crate) fn beside(&self, other: &Dense, weight: f32) -> Self {
        let (cols, more) = (self.cols(), other.cols());
        match self {
            Matrix::Dense(m) => {
                let mut both = Dense::zeros(m.rows(), cols + more);
                let rows = both.values_mut().chunks_mut((cols + more).max(1)).enumerate();
                for (r, row) in rows {
                    let (left, right) = row.split_at_mut(cols);
                    left.copy_from_slice(m.row(r));
                    right.iter_mut().zip(other.row(r)).for_each(|(o, v)| *o = weight * *v);
                }
                Matrix::Dense(both)
            }
            Matrix::Sparse(m) => {
                let stored = other.values().iter().filter(|v| **v != 0.0).count();
                let mut indptr = vec![0];
                let mut indices = Vec::with_capacity(m.nnz() + stored);
                let mut values = Vec::with_capacity(m.nnz() + stored);
                for r in 0..m.rows() {
                    let (left, own) = m.row(r);
                    indices.extend_from_slice(left);
                    values.extend_from_slice(own);
                    for (c, v) in other.row(r).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                        indices.push((cols + c) as u32);
                        values.push(weight * v);
                    }
                    indptr.push(indices.len());
                }
                let both = Csr::try_new(m.rows(), cols + more, indptr, indices, values);
                Matrix::Sparse(both.expect("rows stay sorted"))
            }
        }
    }

    /// The matrix as compressed sparse rows, dropping stored zeros of a dense one.
    pub fn into_csr(self) -> Csr {
        match self {
            Matrix::Sparse(m) => m,
            Matrix::Dense(m) => Csr::from_dense(&m),
        }
    }
}

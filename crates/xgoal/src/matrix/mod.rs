//! Matrices as the graph and the engine hold them: compressed sparse rows and row-major dense.

mod csr;
mod dense;
mod eigen;
mod gather;
mod leading;
mod pages;
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
            Matrix::Sparse(m) => m.values().iter().filter(|v| **v != 0.0).count(),
            Matrix::Dense(m) => m.values().iter().filter(|v| **v != 0.0).count(),
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

    /// The matrix as compressed sparse rows, dropping stored zeros of a dense one.
    pub fn into_csr(self) -> Csr {
        match self {
            Matrix::Sparse(m) => m,
            Matrix::Dense(m) => Csr::from_dense(&m),
        }
    }
}

//! Matrices that the manifest names: SciPy's `.npz` and NumPy's `.npy`.

use crate::error::{ParseError, Result};
use crate::io::arrays::{Array, NamedArray};
use crate::io::{npy, npz};
use crate::matrix::{Csr, Dense, Matrix};
use std::path::Path;

/// Reads the one matrix of a file.
pub(super) fn read(path: &Path) -> Result<Matrix> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => {
            let mut arrays = npz::read(path)?;
            let Some(NamedArray { array, .. }) = arrays.pop().filter(|_| arrays.is_empty()) else {
                let names: Vec<String> = arrays.into_iter().map(|a| a.name).collect();
                return Err(ParseError::new(format!(
                    "several arrays ({}, ...); expected one matrix, as scipy.sparse.save_npz writes",
                    names.join(", ")
                ))
                .in_file(path));
            };
            match array {
                Array::Matrix(matrix) => Ok(matrix),
                Array::Vector { values, shape } => {
                    let values = values.into_iter().map(|v| v as f32).collect();
                    not_empty(path, Dense::from_vec(shape.0, shape.1, values)?).map(Matrix::Dense)
                }
                Array::Strings(_) => {
                    Err(ParseError::new("strings; expected a matrix of numbers").in_file(path))
                }
            }
        }
        Some("npy") => not_empty(path, npy::read_f32_matrix(path)?).map(by_density),
        _ => {
            std::fs::metadata(path).map_err(|e| crate::Error::io(path, e))?;
            Err(ParseError::new("expected a matrix in an .npz or .npy file").in_file(path))
        }
    }
}

/// Rows without columns could be any number of them without a byte of data.
fn not_empty(path: &Path, matrix: Dense) -> Result<Dense> {
    match (matrix.rows(), matrix.cols()) {
        (rows, cols) if rows == 0 || cols == 0 => {
            let message = format!("{rows} x {cols}; expected at least one row and one column");
            Err(ParseError::new(message).in_file(path))
        }
        _ => Ok(matrix),
    }
}

/// Dense or sparse, as the content suggests.
pub(super) fn by_density(matrix: Dense) -> Matrix {
    let share = |nonzeros: usize| nonzeros as f64 / matrix.values().len().max(1) as f64;
    let nonzeros = matrix.values().iter().filter(|v| **v != 0.0).count();
    if share(nonzeros) > Matrix::DENSE_ABOVE {
        return Matrix::Dense(matrix);
    }
    Matrix::Sparse(Csr::from_dense(&matrix))
}

/// One matrix of several with the same rows, dense where more than a quarter of it is not zero.
pub(super) fn side_by_side(mut blocks: Vec<Matrix>) -> Matrix {
    if blocks.len() == 1 {
        return blocks.remove(0);
    }
    let rows = blocks[0].rows();
    let cols: usize = blocks.iter().map(Matrix::cols).sum();
    let nonzeros: usize = blocks.iter().map(Matrix::nonzeros).sum();
    let share = nonzeros as f64 / (rows * cols).max(1) as f64;
    if share > Matrix::DENSE_ABOVE {
        let mut all = Dense::zeros(rows, cols);
        for r in 0..rows {
            let mut out = &mut all.values_mut()[r * cols..(r + 1) * cols];
            for block in &blocks {
                let (here, rest) = out.split_at_mut(block.cols());
                match block {
                    Matrix::Dense(m) => here.copy_from_slice(m.row(r)),
                    Matrix::Sparse(m) => {
                        let (columns, values) = m.row(r);
                        columns.iter().zip(values).for_each(|(c, v)| here[*c as usize] = *v);
                    }
                }
                out = rest;
            }
        }
        return Matrix::Dense(all);
    }
    let mut indptr = Vec::with_capacity(rows + 1);
    indptr.push(0);
    let (mut indices, mut values) = (Vec::with_capacity(nonzeros), Vec::with_capacity(nonzeros));
    for r in 0..rows {
        let mut before = 0;
        for block in &blocks {
            let mut push = |c: usize, v: f32| {
                if v != 0.0 {
                    indices.push((before + c) as u32);
                    values.push(v);
                }
            };
            match block {
                Matrix::Dense(m) => m.row(r).iter().enumerate().for_each(|(c, v)| push(c, *v)),
                Matrix::Sparse(m) => {
                    let (columns, entries) = m.row(r);
                    columns.iter().zip(entries).for_each(|(c, v)| push(*c as usize, *v));
                }
            }
            before += block.cols();
        }
        indptr.push(indices.len());
    }
    Matrix::Sparse(Csr::try_new(rows, cols, indptr, indices, values).expect("rows stay sorted"))
}

/// The matrix with rows of zeros added.
pub(super) fn with_rows(matrix: Matrix, rows: usize) -> Matrix {
    if matrix.rows() == rows {
        return matrix;
    }
    match matrix {
        Matrix::Sparse(m) => {
            let cols = m.cols();
            Matrix::Sparse(m.enlarged(rows, cols))
        }
        Matrix::Dense(m) => {
            let cols = m.cols();
            let mut values = m.into_values();
            values.resize(rows * cols, 0.0);
            Matrix::Dense(Dense::from_vec(rows, cols, values).expect("whole rows were added"))
        }
    }
}

//! NumPy's arrays as the library's matrices and back, each in one pass and one copy.
//!
//! The rules are those of files: entries at the same place add up (bools stay 1), zeros are no
//! entries, a value beyond f32 is an error, and attributes are kept dense or sparse by their share of
//! non-zeros. So one matrix gives one graph, whichever door it comes through.

use crate::compressed::Compressed;
use numpy::ndarray::{Array2, ArrayView2};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use xgoal::matrix::{Csr, Dense, Matrix};
use xgoal::{Error, Result, machine};

/// A number NumPy can hold.
pub trait Number: Element + Copy {
    fn wide(self) -> f64;
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Number for $type {
            fn wide(self) -> f64 {
                self as f64
            }
        })+
    };
}

numbers!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

/// Calls the body with the array as the type its numbers have.
macro_rules! typed {
    ($array:expr, $shape:ident, $name:ident => $body:expr) => {
        typed!(@each $array, $shape, $name => $body; f32 f64 i8 i16 i32 i64 u8 u16 u32 u64)
    };
    (@each $array:expr, $shape:ident, $name:ident => $body:expr; $($type:ty)+) => {
        $(if let Ok($name) = $array.cast::<$shape<$type>>() {
            let $name = $name.readonly();
            $body
        } else)+ {
            Err($crate::matrix::unexpected($array))
        }
    };
}
pub(crate) use typed;

/// An array of something else.
pub fn unexpected(array: &Bound<'_, PyAny>) -> Error {
    let found = array.getattr("dtype").and_then(|d| d.str()?.extract::<String>());
    let found = found.unwrap_or_else(|_| array.get_type().to_string());
    Error::Data(format!("an array of {found}; expected numbers"))
}

/// The value in f32; a finite one must stay finite.
pub fn narrow(what: &str, row: usize, col: usize, value: f64) -> Result<f32> {
    let narrow = value as f32;
    if narrow.is_finite() == value.is_finite() {
        return Ok(narrow);
    }
    Err(Error::Data(format!(
        "{what}: {value:e} at row {row}, column {col}; expected at most {:e} in magnitude",
        f32::MAX
    )))
}

/// A matrix of the library's, or what is wrong with its parts.
pub fn csr(
    what: &str,
    (rows, cols): (usize, usize),
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
) -> Result<Csr> {
    let csr = Csr::try_new(rows, cols, indptr, indices, values);
    csr.map_err(|e| Error::Data(format!("{what}: {e}")))
}

/// Attributes: a compressed matrix or a NumPy array.
pub fn to_matrix(object: &Bound<'_, PyAny>) -> PyResult<Result<Matrix>> {
    const WHAT: &str = "attributes";
    if object.hasattr("dtype")? {
        return Ok(typed!(object, PyArray2, array => from_dense(WHAT, array.as_array())));
    }
    let compressed: Compressed<'_> = object.extract()?;
    Ok(compressed.to_csr(WHAT).and_then(|csr| {
        let (rows, cols) = (csr.rows(), csr.cols());
        if !keeps_dense(rows, cols, csr.nnz()) {
            return Ok(Matrix::Sparse(csr));
        }
        // A single row of a billion columns takes no room before this.
        let needed = (rows as u64).saturating_mul(4 * cols as u64);
        machine::check_memory("keeping the attributes dense", needed)?;
        let mut dense = Dense::zeros(rows, cols);
        for r in 0..rows {
            let (columns, values) = csr.row(r);
            for (c, v) in columns.iter().zip(values) {
                dense.values_mut()[r * cols + *c as usize] = *v;
            }
        }
        Ok(Matrix::Dense(dense))
    }))
}

fn keeps_dense(rows: usize, cols: usize, nonzeros: usize) -> bool {
    rows.min(cols) <= 1 || nonzeros > Matrix::dense_above(rows, cols)
}

fn from_dense<V: Number>(what: &str, array: ArrayView2<'_, V>) -> Result<Matrix> {
    let (rows, cols) = array.dim();
    // A view may repeat a number without end and take no room itself.
    let dense = (rows as u64).saturating_mul(4).saturating_mul(cols as u64);
    let sparse = |nonzeros: usize| 8 * (nonzeros as u64 + rows as u64);
    let available = machine::available_bytes().unwrap_or(u64::MAX);
    let mut nonzeros = 0;
    for row in array.rows() {
        if keeps_dense(rows, cols, nonzeros) || dense.min(sparse(nonzeros)) > available {
            break;
        }
        nonzeros += row.iter().filter(|v| v.wide() as f32 != 0.0).count();
    }
    let needed = if keeps_dense(rows, cols, nonzeros) { dense } else { sparse(nonzeros) };
    machine::check_memory("a copy of the attributes", needed)?;
    let entries =
        || array.indexed_iter().map(|((r, c), v)| Ok((r, c, narrow(what, r, c, v.wide())?)));
    if keeps_dense(rows, cols, nonzeros) {
        let mut values = Vec::with_capacity(rows * cols);
        for entry in entries() {
            values.push(entry?.2);
        }
        return Ok(Matrix::Dense(Dense::from_vec(rows, cols, values)?));
    }
    let mut indptr = vec![0usize; rows + 1];
    let mut indices = Vec::with_capacity(nonzeros);
    let mut values = Vec::with_capacity(nonzeros);
    for entry in entries() {
        let (r, c, value) = entry?;
        if value != 0.0 {
            indices.push(c as u32);
            values.push(value);
            indptr[r + 1] = indices.len();
        }
    }
    for r in 0..rows {
        indptr[r + 1] = indptr[r + 1].max(indptr[r]);
    }
    csr(what, (rows, cols), indptr, indices, values).map(Matrix::Sparse)
}

/// Rows of finite or other numbers, read where they are.
pub fn view<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<xgoal::real::View<'a, f32>> {
    let (rows, cols) = array.as_array().dim();
    Ok(xgoal::real::View::new(array.as_slice()?, rows, cols))
}

/// A matrix as a NumPy array, without a copy.
pub fn to_numpy(py: Python<'_>, matrix: Dense) -> Bound<'_, PyArray2<f32>> {
    let shape = (matrix.rows(), matrix.cols());
    let array = Array2::from_shape_vec(shape, matrix.into_values()).expect("as many values");
    PyArray2::from_owned_array(py, array)
}

/// Pointers, indices and values for `scipy.sparse`, in the width it would choose itself.
pub fn to_scipy(py: Python<'_>, matrix: Csr) -> PyResult<Bound<'_, PyTuple>> {
    let small = i32::MAX as usize;
    let narrow = matrix.nnz() <= small && matrix.rows().max(matrix.cols()) <= small;
    let (indptr, indices, values) = matrix.into_parts();
    let values = PyArray1::from_vec(py, values);
    if narrow {
        let indptr = PyArray1::from_iter(py, indptr.into_iter().map(|p| p as i32));
        let indices: Vec<i32> = indices.into_iter().map(|i| i as i32).collect();
        return (values, PyArray1::from_vec(py, indices), indptr).into_pyobject(py);
    }
    let indptr = PyArray1::from_iter(py, indptr.into_iter().map(|p| p as i64));
    let indices = PyArray1::from_iter(py, indices.into_iter().map(i64::from));
    (values, indices, indptr).into_pyobject(py)
}

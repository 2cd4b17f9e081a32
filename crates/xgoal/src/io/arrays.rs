//! What a scientific file holds once its format is forgotten: named arrays.

use crate::matrix::Matrix;

/// One array of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedArray {
    /// Its name in the file.
    pub name: String,
    /// Its values.
    pub array: Array,
}

/// Values of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Two dimensions, both longer than one.
    Matrix(Matrix),
    /// One dimension, or two of which at least one is 1; kept in f64 so that indices stay exact.
    Vector {
        /// The values in order.
        values: Vec<f64>,
        /// Rows and columns as stored; a one-dimensional array of n is (n, 1).
        shape: (usize, usize),
    },
    /// Strings, for example node ids.
    Strings(Vec<String>),
}

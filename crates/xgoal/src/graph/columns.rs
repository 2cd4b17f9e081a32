//! Columns of attributes on one footing: each less its mean, or also in units of its standard deviation.
//!
//! ```text
//!     x_nc  ->  x_nc - m_c                    center
//!     x_nc  ->  (x_nc - m_c) / s_c            standard; a column that does not vary stays zero
//! ```
//!
//! with the means m and deviations s of the nodes that were trained on, which a model keeps for graphs that come later.
//! What all nodes have in common says nothing about any, but the mean over many neighbours leaves hardly anything else.

use super::MultiplexGraph;
use crate::error::{Error, Result};
use crate::matrix::{Dense, Matrix};
use crate::settings::ColumnNorm;
use rayon::prelude::*;

/// A variance of so small a share of the mean's square is none.
const ROUNDING: f64 = 1e-12;

/// What is taken from each column, and what it is multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    means: Vec<f32>,
    scales: Option<Vec<f32>>,
}

impl Columns {
    /// Those of these attributes; none where they are left as they are.
    pub fn of(attributes: &Matrix, norm: ColumnNorm) -> Option<Self> {
        if norm == ColumnNorm::None {
            return None;
        }
        let moments = moments(attributes);
        let means = moments.iter().map(|m| m.mean as f32).collect();
        let scales = (norm == ColumnNorm::Standard)
            .then(|| moments.iter().map(|m| m.scale() as f32).collect());
        Some(Self { means, scales })
    }

    /// Checks that there is one of each, and that all are numbers.
    pub fn try_new(means: Vec<f32>, scales: Option<Vec<f32>>) -> Result<Self> {
        if let Some(scales) = scales.as_ref().filter(|s| s.len() != means.len()) {
            let (means, scales) = (means.len(), scales.len());
            return Err(Error::Data(format!("{means} means of columns, but {scales} scales")));
        }
        let all = || means.iter().chain(scales.iter().flatten());
        match all().find(|v| !v.is_finite()) {
            Some(v) => Err(Error::Data(format!("a column's mean or scale is {v}"))),
            None => Ok(Self { means, scales }),
        }
    }

    /// The mean of each.
    pub fn means(&self) -> &[f32] {
        &self.means
    }

    /// One over the deviation of each, where columns are divided by it.
    pub fn scales(&self) -> Option<&[f32]> {
        self.scales.as_deref()
    }

    pub(super) fn apply(&self, attributes: &mut Dense) {
        let cols = attributes.cols();
        attributes.values_mut().par_chunks_mut(cols).for_each(|row| {
            row.iter_mut().zip(&self.means).for_each(|(v, mean)| *v -= mean);
            if let Some(scales) = &self.scales {
                row.iter_mut().zip(scales).for_each(|(v, scale)| *v *= scale);
            }
        });
    }
}

impl MultiplexGraph {
    /// The standard deviation of every column of attributes.
    pub(crate) fn column_deviations(&self) -> Vec<f64> {
        moments(self.attributes()).into_iter().map(|of| of.deviation).collect()
    }
}

/// Mean and standard deviation of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moments {
    pub mean: f64,
    pub deviation: f64,
}

impl Moments {
    /// One over the deviation; 0 where there is none.
    pub fn scale(&self) -> f64 {
        if self.deviation > 0.0 { self.deviation.recip() } else { 0.0 }
    }
}

/// Of every column, the entries that are not stored included.
pub(crate) fn moments(attributes: &Matrix) -> Vec<Moments> {
    let nodes = attributes.rows() as f64;
    let mut sums = vec![(0.0, 0.0); attributes.cols()];
    let mut add = |column: usize, v: f32| {
        let (sum, v) = (&mut sums[column], f64::from(v));
        *sum = (sum.0 + v, sum.1 + v * v);
    };
    match attributes {
        Matrix::Sparse(m) => {
            m.indices().iter().zip(m.values()).for_each(|(c, v)| add(*c as usize, v));
        }
        Matrix::Dense(m) => (0..m.rows())
            .for_each(|r| m.row(r).iter().enumerate().for_each(|(column, v)| add(column, *v))),
    }
    let moments = |(sum, squares): (f64, f64)| {
        let mean = sum / nodes;
        let variance = squares / nodes - mean * mean;
        // What is left of numbers that are all the same is rounding.
        let varies = variance > ROUNDING * mean * mean;
        Moments { mean, deviation: if varies { variance.sqrt() } else { 0.0 } }
    };
    sums.into_iter().map(moments).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column far from zero, one that does not vary, and one that is wide.
    fn attributes() -> Dense {
        let values = vec![101.0, 7.0, -30.0, 99.0, 7.0, 30.0, 101.0, 7.0, -30.0, 99.0, 7.0, 30.0];
        Dense::from_vec(4, 3, values).unwrap()
    }

    fn normalized(norm: ColumnNorm) -> Vec<f32> {
        let mut m = attributes();
        Columns::of(&Matrix::Dense(m.clone()), norm).unwrap().apply(&mut m);
        m.into_values()[..6].to_vec()
    }

    #[test]
    fn columns_lose_their_means_and_if_asked_their_sizes() {
        assert_eq!(normalized(ColumnNorm::Center), [1.0, 0.0, -30.0, -1.0, 0.0, 30.0]);
        assert_eq!(normalized(ColumnNorm::Standard), [1.0, 0.0, -1.0, -1.0, 0.0, 1.0]);
        assert_eq!(Columns::of(&Matrix::Dense(attributes()), ColumnNorm::None), None);
    }

    #[test]
    fn a_column_of_one_number_does_not_vary() {
        let same = Matrix::Dense(Dense::from_vec(7, 1, vec![0.1; 7]).unwrap());
        assert_eq!(moments(&same)[0].deviation, 0.0);
        assert_eq!(moments(&same)[0].scale(), 0.0);
    }

    #[test]
    fn stored_sparse_they_are_the_same() {
        let dense = attributes();
        let sparse = Matrix::Sparse(crate::matrix::Csr::from_dense(&dense));
        let of = |m: &Matrix| Columns::of(m, ColumnNorm::Standard).unwrap();
        assert_eq!(of(&sparse), of(&Matrix::Dense(dense)));
    }

    #[test]
    fn what_a_file_says_is_checked() {
        let say = |r: Result<Columns>| r.unwrap_err().to_string();
        let short = Columns::try_new(vec![0.0; 2], Some(vec![1.0]));
        assert_eq!(say(short), "2 means of columns, but 1 scales");
        assert!(say(Columns::try_new(vec![f32::NAN], None)).contains("NaN"));
        Columns::try_new(vec![1.0], None).unwrap();
    }
}

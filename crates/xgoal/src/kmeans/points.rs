//! The points as the iterations read them.
//!
//! Distances come from `||x||^2 - 2 x.c + ||c||^2`, which cancels badly far from the origin, so the
//! column means are taken out first. Rows are kept twice: row after row for sums over clusters, and
//! in [`Strips`] for products with centres, [`BLOCK`] rows at a time.

use crate::error::{Error, Result};
use crate::matrix::strips::{STRIP, Strips};
use crate::real::{Real, View, ViewMut};

/// Rows per block. Part of the result's definition: partial sums are per block.
pub(super) const BLOCK: usize = 256;

/// Centred points.
pub(super) struct Points<T> {
    rows: usize,
    cols: usize,
    values: Vec<T>,
    strips: Strips<T>,
    norms: Vec<T>,
    mean: Vec<T>,
    variance: f64,
}

impl<T: Real> Points<T> {
    /// Copies and centres the points; refuses values whose distances are not finite.
    pub fn new(points: View<'_, T>) -> Result<Self> {
        let (rows, cols) = (points.rows, points.cols);
        let mut values = Vec::with_capacity(rows * cols);
        let mut sums = vec![0.0; cols];
        for r in 0..rows {
            for (c, sum) in sums.iter_mut().enumerate() {
                let value = points.at(r, c);
                if !value.is_finite() {
                    return Err(Error::Data(format!(
                        "k-means: the point in row {r} has {value} in column {c}, \
                         expected a finite number"
                    )));
                }
                *sum += value.to_f64();
                values.push(value);
            }
        }
        let mean: Vec<T> = sums.iter().map(|s| T::from_f64(s / rows as f64)).collect();
        let mut norms = Vec::with_capacity(rows);
        let mut total = 0.0;
        for r in 0..rows {
            let mut norm = 0.0;
            for c in 0..cols {
                let value = &mut values[r * cols + c];
                *value -= mean[c];
                norm += value.to_f64() * value.to_f64();
            }
            let rounded = T::from_f64(norm);
            if !(rounded * T::from_f64(4.0)).is_finite() {
                return Err(Error::Data(format!(
                    "k-means: the point in row {r} is too far from the others for its squared \
                     distance to be a finite number"
                )));
            }
            norms.push(rounded);
            total += norm;
        }
        // The mean over columns of the variance over rows is the total over all entries.
        let variance = total / (rows * cols).max(1) as f64;
        let strips = Strips::new(View::new(&values, rows, cols));
        Ok(Self { rows, cols, values, strips, norms, mean, variance })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(BLOCK)
    }

    /// Mean variance of the columns.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// One centred point.
    pub fn row(&self, r: usize) -> &[T] {
        &self.values[r * self.cols..(r + 1) * self.cols]
    }

    /// Squared norms of the centred points.
    pub fn norms(&self) -> &[T] {
        &self.norms
    }

    /// `out[c][i] = ||center_c||^2 - 2 center_c . x_i` for the rows `i` of one block, without the product past the last.
    pub fn scores(&self, block: usize, centers: &[T], norms: &[T], out: &mut [T]) {
        for (row, norm) in out.chunks_exact_mut(BLOCK).zip(norms) {
            row.fill(*norm);
        }
        if norms.is_empty() {
            return;
        }
        let centers = View::new(centers, norms.len(), self.cols);
        let first = block * (BLOCK / STRIP);
        for strip in first..self.strips.count().min(first + BLOCK / STRIP) {
            let values = &mut out[(strip - first) * STRIP..];
            let out = &mut ViewMut { values, rows: norms.len(), cols: STRIP, row_stride: BLOCK };
            T::strip(T::from_f64(-2.0), centers, self.strips.strip(strip), out);
        }
    }

    /// Rows of another matrix moved by the points' mean.
    pub fn centred(&self, matrix: View<'_, T>) -> Result<Vec<T>> {
        let mut values = Vec::with_capacity(matrix.rows * matrix.cols);
        for r in 0..matrix.rows {
            for c in 0..matrix.cols {
                let value = matrix.at(r, c) - self.mean[c];
                if !value.is_finite() {
                    return Err(Error::Data(format!(
                        "k-means: the initial centre in row {r} has {} in column {c}, \
                         expected a finite number",
                        matrix.at(r, c)
                    )));
                }
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Moves rows back.
    pub fn uncentre(&self, rows: &mut [T]) {
        for row in rows.chunks_exact_mut(self.cols.max(1)) {
            for (value, mean) in row.iter_mut().zip(&self.mean) {
                *value += *mean;
            }
        }
    }
}

/// Squared norm of a row, accumulated in f64 in eight fixed lanes.
pub(super) fn squared_norm<T: Real>(row: &[T]) -> f64 {
    lane_sum(row, |v| v.to_f64() * v.to_f64())
}

/// Squared distance of two rows, accumulated in f64 in eight fixed lanes.
pub(super) fn squared_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    for (lane, (x, y)) in lanes.iter_mut().zip(rest) {
        let difference = x.to_f64() - y.to_f64();
        *lane += difference * difference;
    }
    for (x, y) in a_chunks.zip(b_chunks) {
        for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            let difference = x.to_f64() - y.to_f64();
            *lane += difference * difference;
        }
    }
    lanes.iter().sum()
}

/// Sum of `f` over a slice in eight fixed lanes, which the compiler can turn into vectors.
#[inline(always)]
pub(super) fn lane_sum<T: Real>(values: &[T], f: impl Fn(T) -> f64) -> f64 {
    let mut lanes = [0.0f64; 8];
    let chunks = values.chunks_exact(8);
    for (lane, v) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane += f(*v);
    }
    for chunk in chunks {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            *lane += f(*v);
        }
    }
    lanes.iter().sum()
}

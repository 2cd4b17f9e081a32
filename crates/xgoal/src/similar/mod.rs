//! Nearest nodes: those of greatest cosine similarity.
//!
//! ```text
//!     cos(i, j) = < h_i, h_j > / ( |h_i| |h_j| )
//! ```
//!
//! [`Index`] compares every query with every row, in blocks of matrix products: the memory it takes does not grow with
//! either. [`Cells`] compares a query only with the rows of some cells, and says how much of the exact answer that
//! finds. A row of zeros has similarity 0 to every other, equal similarities go by row, and no row is its own
//! neighbor.

mod cells;
mod top;

pub use cells::Cells;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::strips::{STRIP, Strips};
use crate::real::{Real, View, ViewMut};
use top::Top;

/// Queries of one matrix product.
const QUERIES: usize = 64;
/// The same, where there are many: rows are brought into strips once for all of them.
const MOST_QUERIES: usize = 512;
/// Rows of one matrix product.
const TILE: usize = 1024;

/// A node near another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Its row.
    pub node: u32,
    /// Its cosine similarity.
    pub cosine: f32,
}

/// Embeddings to be searched, as rows of unit length.
#[derive(Debug, Clone)]
pub struct Index {
    rows: usize,
    cols: usize,
    unit: Vec<f32>,
}

impl Index {
    /// Prepares embeddings, a row per node.
    pub fn new(embeddings: View<'_, f32>) -> Result<Self> {
        let (rows, cols) = (embeddings.rows, embeddings.cols);
        if rows > 0 && cols == 0 {
            return Err(Error::Data("embeddings without any column".into()));
        }
        let mut unit = Vec::with_capacity(rows * cols);
        for r in 0..rows {
            let row = (0..cols).map(|c| embeddings.at(r, c));
            // Squares of f32 neither overflow nor vanish in f64.
            let norm = row.clone().map(|v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
            if !norm.is_finite() {
                let at = row.clone().position(|v| !v.is_finite()).unwrap_or(0);
                return Err(Error::Data(format!(
                    "the embedding in row {r} has {} in column {at}, expected a finite number",
                    embeddings.at(r, at)
                )));
            }
            let scale = |v: f32| if norm > 0.0 { (f64::from(v) / norm) as f32 } else { v };
            unit.extend(row.map(scale));
        }
        Ok(Self { rows, cols, unit })
    }

    /// The `k` nearest of each given node, itself excluded, or all others if they are fewer.
    ///
    /// ```
    /// use xgoal::matrix::Dense;
    /// use xgoal::similar::Index;
    ///
    /// let embeddings = Dense::from_vec(3, 2, vec![1.0, 0.0, 5.0, 0.1, 0.0, 1.0])?;
    /// let nearest = Index::new((&embeddings).into())?.nearest(&[0], 1)?;
    /// assert_eq!(nearest[0][0].node, 1);
    /// # Ok::<(), xgoal::Error>(())
    /// ```
    pub fn nearest(&self, nodes: &[u32], k: usize) -> Result<Vec<Vec<Neighbor>>> {
        self.check(nodes)?;
        // Few enough for every thread to have some.
        let together = (nodes.len() / 64).clamp(QUERIES, MOST_QUERIES);
        Ok(nodes.par_chunks(together).flat_map_iter(|nodes| self.block(nodes, k)).collect())
    }

    /// Multiply-and-adds that an exact search for so many queries takes.
    pub fn work(&self, queries: usize) -> f64 {
        queries as f64 * self.rows as f64 * self.cols as f64
    }

    fn check(&self, nodes: &[u32]) -> Result<()> {
        match nodes.iter().find(|n| **n as usize >= self.rows) {
            None => Ok(()),
            Some(bad) => {
                let rows = self.rows;
                Err(Error::Data(format!("node {bad} of {rows}, expected less than {rows}")))
            }
        }
    }

    fn block(&self, nodes: &[u32], k: usize) -> Vec<Vec<Neighbor>> {
        let mut found: Vec<Top> = nodes.iter().map(|_| Top::new(k)).collect();
        let queries = self.gather(nodes);
        let queries = View::new(&queries, nodes.len(), self.cols);
        let mut cosines = vec![0f32; nodes.len() * TILE];
        let mut strips = Strips::new(View::new(&[], 0, self.cols));
        for from in (0..self.rows).step_by(TILE) {
            let size = TILE.min(self.rows - from);
            let tile = &self.unit[from * self.cols..(from + size) * self.cols];
            strips.fill(View::new(tile, size, self.cols));
            cosines.fill(0.0);
            for strip in 0..strips.count() {
                let values = &mut cosines[strip * STRIP..];
                let (rows, cols, row_stride) = (nodes.len(), STRIP, TILE);
                let out = &mut ViewMut { values, rows, cols, row_stride };
                f32::strip(1.0, queries, strips.strip(strip), out);
            }
            let cosines = cosines.chunks_exact(TILE).map(|cosines| &cosines[..size]);
            for (top, (own, cosines)) in found.iter_mut().zip(nodes.iter().zip(cosines)) {
                top.push_all(from as u32, cosines, *own);
            }
        }
        found.into_iter().map(Top::into_sorted).collect()
    }

    /// The rows of some nodes, one after another.
    fn gather(&self, nodes: &[u32]) -> Vec<f32> {
        let row = |n: &u32| &self.unit[*n as usize * self.cols..(*n as usize + 1) * self.cols];
        nodes.iter().flat_map(|n| row(n).iter().copied()).collect()
    }

    /// Every row of `a` with every row of `b`.
    fn products(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let rows = |values: &[f32]| values.len() / self.cols.max(1);
        let (m, n) = (rows(a), rows(b));
        let (a, b) = (View::new(a, m, self.cols), View::new(b, n, self.cols));
        f32::gemm(1.0, a, b.t(), 0.0, &mut ViewMut::new(out, m, n));
    }
}

#[cfg(test)]
mod tests;

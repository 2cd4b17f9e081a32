//! Nearest nodes: those of greatest cosine similarity, by an exact search over all.
//!
//! ```text
//!     cos(i, j) = < h_i, h_j > / ( |h_i| |h_j| )
//! ```
//!
//! A row of zeros has similarity 0 to every other. Equal similarities go by row.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::real::{Real, View, ViewMut};

/// Rows whose similarities to all others are held at a time.
const BLOCK: usize = 64;

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
        if let Some(bad) = nodes.iter().find(|n| **n as usize >= self.rows) {
            let rows = self.rows;
            return Err(Error::Data(format!("node {bad} of {rows}, expected less than {rows}")));
        }
        Ok(self.search(nodes, k, |_, nearest, cosines| {
            let neighbor = |n: &u32| Neighbor { node: *n, cosine: cosines[*n as usize] };
            nearest.iter().map(neighbor).collect()
        }))
    }

    /// Calls `found` with each given node, its nearest ones in order, and its similarity to every row.
    pub(crate) fn search<R: Send>(
        &self,
        nodes: &[u32],
        k: usize,
        found: impl Fn(u32, &[u32], &[f32]) -> R + Sync,
    ) -> Vec<R> {
        let (rows, cols) = (self.rows, self.cols);
        let others = rows.saturating_sub(1);
        let k = k.min(others);
        let block = |nodes: &[u32]| {
            let row = |n: &u32| &self.unit[*n as usize * cols..(*n as usize + 1) * cols];
            let queries: Vec<f32> = nodes.iter().flat_map(row).copied().collect();
            let mut cosines = vec![0.0f32; nodes.len() * rows];
            f32::gemm(
                1.0,
                View::new(&queries, nodes.len(), cols),
                View::new(&self.unit, rows, cols).t(),
                0.0,
                &mut ViewMut::new(&mut cosines, nodes.len(), rows),
            );
            let mut order: Vec<u32> = Vec::with_capacity(rows);
            let mut results = Vec::with_capacity(nodes.len());
            for (node, cosines) in nodes.iter().zip(cosines.chunks_exact(rows)) {
                order.clear();
                order.extend((0..rows as u32).filter(|j| j != node));
                let nearer = |a: &u32, b: &u32| {
                    cosines[*b as usize].total_cmp(&cosines[*a as usize]).then(a.cmp(b))
                };
                if k < others {
                    order.select_nth_unstable_by(k, nearer);
                }
                let nearest = &mut order[..k];
                nearest.sort_unstable_by(nearer);
                results.push(found(*node, nearest, cosines));
            }
            results
        };
        nodes.par_chunks(BLOCK).flat_map_iter(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;
    use crate::random::{Purpose, Stream};

    fn index(rows: usize, cols: usize, values: Vec<f32>) -> Result<Index> {
        Index::new((&Dense::from_vec(rows, cols, values).unwrap()).into())
    }

    #[test]
    fn equal_similarities_go_by_row_and_zeros_are_similar_to_nothing() {
        let index = index(4, 1, vec![1.0, 2.0, 3.0, 0.0]).unwrap();
        let found = index.nearest(&[2, 3], 9).unwrap();
        let rows: Vec<u32> = found[0].iter().map(|n| n.node).collect();
        assert_eq!(rows, [0, 1, 3]);
        assert_eq!(found[0][1].cosine, 1.0);
        assert!(found[1].iter().all(|n| n.cosine == 0.0));
    }

    #[test]
    fn blocks_agree_with_a_plain_search() {
        let stream = Stream::new(5, Purpose::Planted);
        let values: Vec<f32> = (0..150 * 3).map(|i| stream.normal(i) as f32).collect();
        let points = Dense::from_vec(150, 3, values).unwrap();
        let cosine = |a: usize, b: usize| {
            let dot = |x: usize, y: usize| -> f64 {
                points.row(x).iter().zip(points.row(y)).map(|(p, q)| f64::from(p * q)).sum()
            };
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        let nodes: Vec<u32> = (0..150).rev().collect();
        let found = Index::new((&points).into()).unwrap().nearest(&nodes, 10).unwrap();
        for (node, found) in nodes.iter().zip(found) {
            let mut others: Vec<usize> = (0..150).filter(|j| *j != *node as usize).collect();
            others
                .sort_by(|a, b| cosine(*node as usize, *b).total_cmp(&cosine(*node as usize, *a)));
            for (neighbor, other) in found.iter().zip(others) {
                assert!((f64::from(neighbor.cosine) - cosine(*node as usize, other)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn unusable_input_is_refused() {
        let nan = index(2, 2, vec![0.0, 1.0, 1.0, f32::NAN]).unwrap_err().to_string();
        assert!(nan.contains("row 1 has NaN in column 1"), "{nan}");
        let missing = index(1, 1, vec![1.0]).unwrap().nearest(&[1], 1).unwrap_err().to_string();
        assert!(missing.contains("node 1 of 1"), "{missing}");
        assert!(index(1, 1, vec![1.0]).unwrap().nearest(&[0], 5).unwrap()[0].is_empty());
    }
}

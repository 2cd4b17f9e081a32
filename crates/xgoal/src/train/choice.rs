//! How many prototypes a layer gets where `clusters` is `auto`: two for each direction in which nodes differ.
//!
//! The directions are counted by the participation ratio of the embeddings that the warm-up leads to. With `c` the
//! covariance's eigenvalues and `z` the centred rows,
//!
//! ```text
//!     D = (sum_i c_i)^2 / sum_i c_i^2 = (sum_n |z_n|^2)^2 / sum_nm (z_n . z_m)^2
//! ```
//!
//! which is d where all directions vary alike, and 1 where all rows lie on a line. The right side needs no eigenvalues.

use crate::engine::Engine;
use crate::matrix::Dense;
use crate::model::mean_of_layers;
use crate::settings::{Config, Count};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Rows that are looked at, of a larger graph's: evenly spread ones.
const SAMPLE: usize = 4096;
/// Prototypes for each direction.
const PER_DIMENSION: f64 = 2.0;

/// What was chosen when the joint stage began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Prototypes of each layer.
    pub clusters: Vec<usize>,
    /// D, where any of them follows from it.
    pub dimensions: Option<f64>,
}

impl Choice {
    /// For embeddings as the engine has them now.
    pub fn new(config: &Config, engine: &mut impl Engine) -> Self {
        let counts = config.layers().iter().map(|layer| layer.clusters);
        let dimensions = counts
            .clone()
            .any(|count| count == Count::Auto)
            .then(|| dimensions(&mean_of_layers(&engine.embed())));
        let found = (PER_DIMENSION * dimensions.unwrap_or_default()).round() as usize;
        let found = found.clamp(2, config.settings().dim.max(2));
        let clusters = counts.map(|count| match count {
            Count::Auto => found,
            Count::Fixed(count) => count,
        });
        Self { clusters: clusters.collect(), dimensions }
    }

    /// The prototypes of each layer, unless all were given.
    pub(crate) fn found(&self) -> Option<&[usize]> {
        self.dimensions.map(|_| &self.clusters[..])
    }

    /// What was chosen and why, in words; nothing where all was given.
    pub fn reason(&self) -> Option<String> {
        let dimensions = self.dimensions?;
        let mut counts = self.clusters.clone();
        counts.dedup();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        Some(format!(
            "clusters: {}, two for each of the {dimensions:.1} directions in which nodes differ",
            counts.join(", ")
        ))
    }

    /// Whether these settings can have led to it; a file may say anything.
    pub(crate) fn is_possible(&self, layers: usize) -> bool {
        let count = 1..=1 << 31;
        self.clusters.len() == layers && self.clusters.iter().all(|k| count.contains(k))
    }
}

/// The participation ratio of the rows; 1 where all are the same.
fn dimensions(rows: &Dense) -> f64 {
    let step = rows.rows().div_ceil(SAMPLE).max(1);
    let sampled: Vec<&[f32]> = (0..rows.rows()).step_by(step).map(|i| rows.row(i)).collect();
    let mut mean = vec![0.0; rows.cols()];
    for row in &sampled {
        mean.iter_mut().zip(*row).for_each(|(m, v)| *m += f64::from(*v));
    }
    mean.iter_mut().for_each(|m| *m /= sampled.len() as f64);
    let centred: Vec<Vec<f32>> = sampled
        .par_iter()
        .map(|row| row.iter().zip(&mean).map(|(v, m)| (f64::from(*v) - m) as f32).collect())
        .collect();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let square = |a: &Vec<f32>| f64::from(dot(a, a));
    let of_row = |a: &Vec<f32>| centred.iter().map(|b| f64::from(dot(a, b)).powi(2)).sum::<f64>();
    // Sums in the order of the rows, whichever thread was first.
    let squares: Vec<f64> = centred.par_iter().map(of_row).collect();
    let total: f64 = centred.iter().map(square).sum();
    let ratio = total * total / squares.iter().sum::<f64>();
    if ratio.is_finite() { ratio.max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_counted() {
        // Points of a cross with so many axes, far from the origin.
        let cross = |axes: usize| {
            let values = (0..2 * axes * 16).map(|at| {
                let (row, col) = (at / 16, at % 16);
                let arm = if row % 2 == 0 { 1.0 } else { -1.0 };
                5.0 + if row / 2 == col { arm } else { 0.0 }
            });
            Dense::from_vec(2 * axes, 16, values.collect()).unwrap()
        };
        for axes in [1, 3, 16] {
            let found = dimensions(&cross(axes));
            assert!((found - axes as f64).abs() < 1e-4, "{axes} axes: {found}");
        }
        assert_eq!(dimensions(&Dense::from_vec(3, 2, vec![7.0; 6]).unwrap()), 1.0);
        assert_eq!(dimensions(&Dense::from_vec(1, 2, vec![7.0; 2]).unwrap()), 1.0);
    }

    #[test]
    fn a_large_graph_is_sampled() {
        let rows = 3 * SAMPLE + 5;
        let values = (0..rows * 2).map(|at| ((at * 7919) % 1000) as f32 / 1000.0).collect();
        let found = dimensions(&Dense::from_vec(rows, 2, values).unwrap());
        assert!((1.5..=2.0).contains(&found), "{found}");
    }
}

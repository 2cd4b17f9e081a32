//! What is chosen when the warm-up is over.
//!
//! **`clusters`**, how many prototypes a layer gets: two for each direction in which nodes differ. The directions are
//! counted by the participation ratio of the embeddings that the warm-up leads to. With `c` the covariance's eigenvalues
//! and `z` the centred rows,
//!
//! ```text
//!     D = (sum_i c_i)^2 / sum_i c_i^2 = (sum_n |z_n|^2)^2 / sum_nm (z_n . z_m)^2
//! ```
//!
//! which is d where all directions vary alike, and 1 where all rows lie on a line. The right side needs no eigenvalues.
//!
//! **`lambda_c`**, how much nodes are pulled to their prototypes: as far as these clusters stand out against a cloud that
//! has none,
//!
//! ```text
//!     lambda_c = 0.1 min(1, gap / 0.08)^2
//! ```
//!
//! Pulled to prototypes that chance has put somewhere, nodes are torn from others of their kind, the further the longer
//! it lasts.

use super::gap::gap;
use crate::engine::Engine;
use crate::error::Result;
use crate::matrix::Dense;
use crate::model::mean_of_layers;
use crate::random::{Purpose, Stream};
use crate::settings::{Config, Count, Decision, LAMBDA_C, When};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toml::Value;

/// Rows that are looked at, of a larger graph's: evenly spread ones.
const SAMPLE: usize = 4096;
/// Prototypes for each direction.
const PER_DIMENSION: f64 = 2.0;
/// The gap from which on clusters have their whole weight, and the share of it that counts at least.
const CLEAR: f64 = 0.08;
const LEAST: f64 = 0.1;
/// What was chosen when the joint stage began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Prototypes of each layer.
    pub clusters: Vec<usize>,
    /// D, where any of them follows from it.
    pub dimensions: Option<f64>,
    /// The weight of L_C, where it was not given.
    #[serde(default)]
    pub lambda_c: Option<f64>,
    /// How far these clusters stand out, where that was looked at.
    #[serde(default)]
    pub gap: Option<f64>,
}

impl Choice {
    /// For embeddings as the engine has them now.
    pub fn new(config: &Config, engine: &mut impl Engine) -> Result<Self> {
        let settings = config.settings();
        let counts = config.layers().iter().map(|layer| layer.clusters);
        let counted = counts.clone().any(|count| count == Count::Auto);
        let weighed = settings.lambda_c.is_none();
        let step = engine.nodes().div_ceil(SAMPLE).max(1);
        let nodes: Vec<u32> = (0..engine.nodes()).step_by(step).map(|n| n as u32).collect();
        let layers = match counted || weighed {
            true => engine.embed_some(&nodes)?,
            false => Vec::new(),
        };
        let layers: Vec<Dense> = layers.into_iter().map(|layer| centred(&layer)).collect();
        let dimensions = counted.then(|| dimensions(&mean_of_layers(&layers)));
        let found = (PER_DIMENSION * dimensions.unwrap_or_default()).round() as usize;
        let found = found.clamp(2, settings.dim.max(2));
        let clusters = counts.map(|count| match count {
            Count::Auto => found,
            Count::Fixed(count) => count,
        });
        let clusters: Vec<usize> = clusters.collect();
        let stream = Stream::new(settings.seed, Purpose::Cloud);
        let gaps = || {
            let layers = layers.iter().zip(&clusters).zip(0..);
            let gaps = layers.map(|((layer, k), v)| gap(layer, *k, stream.substream(v)));
            Ok::<f64, crate::Error>(gaps.sum::<Result<f64>>()? / clusters.len() as f64)
        };
        let gap = if weighed { Some(gaps()?) } else { None };
        // To a thousandth, as it is written.
        let weight = |gap: f64| LAMBDA_C * (gap / CLEAR).clamp(LEAST, 1.0).powi(2);
        let lambda_c = gap.map(|gap| (1e3 * weight(gap)).round() / 1e3);
        Ok(Self { clusters, dimensions, lambda_c, gap })
    }

    /// The prototypes of each layer, unless all were given.
    pub(crate) fn found(&self) -> Option<&[usize]> {
        self.dimensions.map(|_| &self.clusters[..])
    }

    /// What was chosen and why; nothing where all was given.
    pub fn decisions(&self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let mut decide = |key: &str, value: Value, reason: String| {
            decisions.push(Decision::new(When::Joint, key, value, reason));
        };
        if let Some(dimensions) = self.dimensions {
            let all: Vec<i64> = self.clusters.iter().map(|k| *k as i64).collect();
            let mut counts = all.clone();
            counts.dedup();
            let words: Vec<String> = counts.iter().map(i64::to_string).collect();
            let value = if let [one] = counts[..] { one.into() } else { all.into() };
            let words = words.join(", ");
            decide(
                "clusters",
                value,
                format!(
                    "{words}, two for each of the {dimensions:.1} directions in which nodes differ"
                ),
            );
        }
        if let (Some(lambda_c), Some(gap)) = (self.lambda_c, self.gap) {
            let hardly = if gap < CLEAR { "hardly " } else { "" };
            decide(
                "lambda_c",
                lambda_c.into(),
                format!(
                    "{lambda_c}, because clusters {hardly}stand out ({:.1} % more compact than \
                     those of a cloud that has none)",
                    100.0 * gap
                ),
            );
        }
        decisions
    }

    /// Whether these settings can have led to it; a file may say anything.
    pub(crate) fn is_possible(&self, layers: usize) -> bool {
        let count = 1..=1 << 31;
        let weight = 0.0..=LAMBDA_C;
        self.clusters.len() == layers
            && self.clusters.iter().all(|k| count.contains(k))
            && self.lambda_c.is_none_or(|lambda_c| weight.contains(&lambda_c))
    }
}

/// Rows without their mean.
fn centred(rows: &Dense) -> Dense {
    let mut mean = vec![0.0; rows.cols()];
    for row in rows.values().chunks(rows.cols()) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v));
    }
    mean.iter_mut().for_each(|m| *m /= rows.rows() as f64);
    let mut centred = rows.clone();
    for row in centred.values_mut().chunks_mut(mean.len()) {
        row.iter_mut().zip(&mean).for_each(|(v, m)| *v = (f64::from(*v) - m) as f32);
    }
    centred
}

/// The participation ratio of centred rows; 1 where all are the same.
fn dimensions(centred: &Dense) -> f64 {
    let centred: Vec<&[f32]> = (0..centred.rows()).map(|i| centred.row(i)).collect();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let of_row = |a: &&[f32]| centred.iter().map(|b| f64::from(dot(a, b)).powi(2)).sum::<f64>();
    // Sums in the order of the rows, whichever thread was first.
    let squares: Vec<f64> = centred.par_iter().map(of_row).collect();
    let total: f64 = centred.iter().map(|a| f64::from(dot(a, a))).sum();
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
            let found = dimensions(&centred(&cross(axes)));
            assert!((found - axes as f64).abs() < 1e-4, "{axes} axes: {found}");
        }
        assert_eq!(dimensions(&centred(&Dense::from_vec(3, 2, vec![7.0; 6]).unwrap())), 1.0);
        assert_eq!(dimensions(&centred(&Dense::from_vec(1, 2, vec![7.0; 2]).unwrap())), 1.0);
    }
}

//! How far clusters stand out: the gap statistic, beside a cloud of the same shape.
//!
//! k-means always finds clusters. Whether the points have any is seen by the share of the scatter that stays within them,
//! beside that of a cloud without clusters that varies as far in the same directions:
//!
//! ```text
//!     within = inertia / sum_i ||x_i||^2            of centred points, in K clusters
//!     gap    = 1 - within(points) / within(cloud)
//!     cloud  : y_i = 1/8 sum_{j=1..64} +- x_{i_j}   random signs, random points
//! ```
//!
//! A sum of many points is nearly normal whatever the points are, and has their covariance. The gap is about 0 where the
//! points are such a cloud, and 1 where every point lies on its centre.

use crate::error::Result;
use crate::kmeans::KMeans;
use crate::matrix::Dense;
use crate::random::Stream;
use crate::real::View;
use rayon::prelude::*;

/// Points in a sum. Its square root scales it.
const SUMMED: u64 = 64;
/// Seedings of k-means.
const RESTARTS: usize = 3;

/// The gap of centred points in so many clusters; 0 where all points are the same.
pub(super) fn gap(points: &Dense, clusters: usize, stream: Stream) -> Result<f64> {
    let kmeans = KMeans { restarts: RESTARTS, ..KMeans::new(clusters.min(points.rows())) };
    let within = |points: &Dense, part: u64| -> Result<f64> {
        let total: f64 = points.values().iter().map(|v| f64::from(*v).powi(2)).sum();
        let found = kmeans.fit(View::from(points), stream.substream(part))?;
        Ok(found.inertia / total)
    };
    let gap = 1.0 - within(points, 0)? / within(&cloud(points, stream.substream(1)), 2)?;
    Ok(if gap.is_finite() { gap } else { 0.0 })
}

/// As many points without clusters, of the same covariance.
fn cloud(points: &Dense, stream: Stream) -> Dense {
    let rows = points.rows() as u64;
    let mut cloud = Dense::zeros(points.rows(), points.cols());
    let sums = cloud.values_mut().par_chunks_mut(points.cols().max(1));
    sums.enumerate().for_each(|(i, sum)| {
        let i = i as u64;
        for at in i * SUMMED..(i + 1) * SUMMED {
            let sign = if stream.substream(1).word(at) & 1 == 0 { 1.0 } else { -1.0 };
            let point = points.row(stream.below(at, rows) as usize);
            sum.iter_mut().zip(point).for_each(|(s, p)| *s += sign * p);
        }
        let scale = 1.0 / (SUMMED as f32).sqrt();
        sum.iter_mut().for_each(|s| *s *= scale);
    });
    cloud
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// Points about `clusters` centres, with noise of this size.
    fn points(clusters: usize, noise: f64) -> Dense {
        let stream = Stream::new(3, Purpose::Planted);
        let (rows, cols) = (600, 8);
        let value = |at: u64| {
            let (row, col) = (at / cols, at % cols);
            let center = stream.substream(1).normal(row % clusters as u64 * cols + col);
            (center + noise * stream.normal(at)) as f32
        };
        let mut values: Vec<f32> = (0..rows * cols).map(value).collect();
        for col in 0..cols as usize {
            let column = || (col..values.len()).step_by(cols as usize);
            let mean = column().map(|at| values[at]).sum::<f32>() / rows as f32;
            let column: Vec<usize> = column().collect();
            column.into_iter().for_each(|at| values[at] -= mean);
        }
        Dense::from_vec(rows as usize, cols as usize, values).unwrap()
    }

    fn of(points: &Dense, clusters: usize) -> f64 {
        gap(points, clusters, Stream::new(1, Purpose::Cloud)).unwrap()
    }

    #[test]
    fn clusters_stand_out_as_far_as_they_are_apart() {
        // One centre and noise: nothing to find, however many clusters are asked for.
        for clusters in [2, 5, 12] {
            let found = of(&points(1, 1.0), clusters);
            assert!(found.abs() < 0.03, "{clusters}: {found}");
        }
        let gaps: Vec<f64> =
            [1.0, 0.5, 0.1].iter().map(|noise| of(&points(6, *noise), 6)).collect();
        assert!(gaps[0] > 0.05 && gaps[1] > gaps[0] + 0.1 && gaps[2] > 0.9, "{gaps:?}");
    }

    #[test]
    fn a_cloud_varies_as_the_points_do() {
        let points = points(3, 0.5);
        let cloud = cloud(&points, Stream::new(1, Purpose::Cloud));
        let second = |m: &Dense, a: usize, b: usize| {
            (0..m.rows()).map(|i| f64::from(m.row(i)[a] * m.row(i)[b])).sum::<f64>()
                / m.rows() as f64
        };
        for (a, b) in [(0, 0), (1, 1), (0, 1), (2, 5)] {
            let (one, other) = (second(&points, a, b), second(&cloud, a, b));
            let scale = (second(&points, a, a) * second(&points, b, b)).sqrt();
            assert!((one - other).abs() < 0.25 * scale, "{a}, {b}: {one} and {other}");
        }
    }

    #[test]
    fn points_that_are_all_the_same_have_no_gap() {
        assert_eq!(of(&Dense::zeros(5, 3), 2), 0.0);
        assert_eq!(of(&Dense::zeros(1, 3), 2), 0.0);
    }
}

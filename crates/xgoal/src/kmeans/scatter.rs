//! How compact a partition of points is.

use crate::real::{Real, View};

/// Points whose partitions are compared.
pub(super) struct Scatter<'a, T> {
    points: View<'a, T>,
    mean: Vec<f64>,
    /// Sum of the squared distances to the mean.
    total: f64,
}

impl<'a, T: Real> Scatter<'a, T> {
    pub fn new(points: View<'a, T>) -> Self {
        let mean = mean(points);
        let distance = |r| -> f64 {
            mean.iter().enumerate().map(|(c, m)| (points.at(r, c).to_f64() - m).powi(2)).sum()
        };
        Self { points, total: (0..points.rows).map(distance).sum(), mean }
    }

    /// The share of the scatter that stays within clusters: `1 - sum_k n_k ||c_k - c||^2 / sum_i ||x_i - c||^2`.
    /// Points that are all the same leave nothing.
    pub fn within(&self, assignments: &[u32], clusters: usize) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let (sums, counts) = sums(self.points, assignments, clusters);
        let between: f64 = sums
            .chunks_exact(self.points.cols.max(1))
            .zip(&counts)
            .filter(|(_, count)| **count > 0)
            .map(|(sum, &count)| {
                let count = count as f64;
                let squares = sum.iter().zip(&self.mean).map(|(s, m)| (s / count - m).powi(2));
                count * squares.sum::<f64>()
            })
            .sum();
        1.0 - between / self.total
    }
}

/// The mean of all points.
fn mean<T: Real>(points: View<'_, T>) -> Vec<f64> {
    let mut mean = vec![0.0; points.cols];
    add_rows(points, 0..points.rows, &mut mean);
    mean.iter_mut().for_each(|m| *m /= points.rows.max(1) as f64);
    mean
}

/// The sum of each cluster's points, and how many it has.
fn sums<T: Real>(
    points: View<'_, T>,
    assignments: &[u32],
    clusters: usize,
) -> (Vec<f64>, Vec<usize>) {
    let cols = points.cols;
    let mut sums = vec![0.0; clusters * cols];
    let mut counts = vec![0_usize; clusters];
    for (r, &k) in assignments.iter().enumerate() {
        counts[k as usize] += 1;
        add_rows(points, r..r + 1, &mut sums[k as usize * cols..][..cols]);
    }
    (sums, counts)
}

fn add_rows<T: Real>(points: View<'_, T>, rows: std::ops::Range<usize>, sums: &mut [f64]) {
    for r in rows {
        sums.iter_mut().enumerate().for_each(|(c, sum)| *sum += points.at(r, c).to_f64());
    }
}

//! Greedy k-means++ seeding.
//!
//! The first centre is a uniform point. Each next one is the best of `2 + floor(ln K)` candidates
//! drawn with probability proportional to the squared distance to the nearest centre so far; the
//! best candidate is the one that leaves the smallest sum of those distances.

use rayon::prelude::*;

use super::points::{BLOCK, Points, lane_sum, squared_norm};
use crate::random::Stream;
use crate::real::Real;

/// `clusters` points, row after row.
pub(super) fn plus_plus<T: Real>(points: &Points<T>, clusters: usize, stream: Stream) -> Vec<T> {
    let trials = 2 + (clusters as f64).ln() as usize;
    let mut seeding = Seeding {
        points,
        closest: vec![T::from_f64(f64::MAX); points.blocks() * BLOCK],
        distances: vec![T::default(); points.blocks() * trials * BLOCK],
        sums: vec![0.0; points.blocks() * trials],
        trials,
    };
    let mut centers = Vec::with_capacity(clusters * points.cols());
    let mut candidates = Vec::with_capacity(trials * points.cols());
    let mut norms = Vec::with_capacity(trials);
    for step in 0..clusters {
        candidates.clear();
        norms.clear();
        // The first centre is a single uniform candidate.
        let drawn = if step == 0 { 1 } else { trials };
        for t in 0..drawn {
            let at = (step * trials + t) as u64;
            let row = match step {
                0 => stream.below(at, points.rows() as u64) as usize,
                _ => seeding.draw(stream.uniform(at)),
            };
            candidates.extend_from_slice(points.row(row));
            norms.push(T::from_f64(squared_norm(points.row(row))));
        }
        let best = seeding.advance(&candidates, &norms);
        centers.extend_from_slice(&candidates[best * points.cols()..][..points.cols()]);
    }
    centers
}

/// Distances to the centres chosen so far.
struct Seeding<'a, T> {
    points: &'a Points<T>,
    /// Squared distance of each row to its nearest centre; zero past the last row.
    closest: Vec<T>,
    /// Per block, what `closest` would become under each candidate.
    distances: Vec<T>,
    /// Per block, the sum of those; the chosen candidate's sum is moved to the front.
    sums: Vec<f64>,
    trials: usize,
}

impl<T: Real> Seeding<'_, T> {
    /// The row at which the running sum of `closest` passes the given share of its total.
    fn draw(&self, share: f64) -> usize {
        let block_sums = || self.sums.iter().step_by(self.trials);
        let mut left = share * block_sums().sum::<f64>();
        let last = self.points.rows() - 1;
        for (block, sum) in block_sums().enumerate() {
            if left < *sum {
                let rows = block * BLOCK..((block + 1) * BLOCK).min(last + 1);
                for row in rows.clone() {
                    left -= self.closest[row].to_f64();
                    if left < 0.0 {
                        return row;
                    }
                }
                // The block's sum was rounded in another order than this walk.
                return rows.end - 1;
            }
            left -= sum;
        }
        last
    }

    /// Keeps the candidate with the smallest sum of distances, and says which it is.
    fn advance(&mut self, candidates: &[T], norms: &[T]) -> usize {
        let (points, trials, drawn) = (self.points, self.trials, norms.len());
        self.distances
            .par_chunks_mut(trials * BLOCK)
            .zip(self.sums.par_chunks_mut(trials))
            .zip(self.closest.par_chunks(BLOCK))
            .enumerate()
            .for_each(|(block, ((distances, sums), closest))| {
                let distances = &mut distances[..drawn * BLOCK];
                points.scores(block, candidates, norms, distances);
                let from = block * BLOCK;
                let point_norms = &points.norms()[from..points.rows().min(from + BLOCK)];
                for (row, sum) in distances.chunks_exact_mut(BLOCK).zip(sums) {
                    row[point_norms.len()..].fill(T::default());
                    let row = &mut row[..point_norms.len()];
                    for ((d, norm), old) in row.iter_mut().zip(point_norms).zip(closest) {
                        let new = *d + *norm;
                        let new = if new > T::default() { new } else { T::default() };
                        *d = if new < *old { new } else { *old };
                    }
                    *sum = lane_sum(row, T::to_f64);
                }
            });
        let total = |t: usize| self.sums.iter().skip(t).step_by(trials).sum::<f64>();
        let mut best = (0, total(0));
        for t in 1..drawn {
            let sum = total(t);
            if sum < best.1 {
                best = (t, sum);
            }
        }
        let best = best.0;
        for (block, closest) in self.closest.chunks_exact_mut(BLOCK).enumerate() {
            let at = (block * trials + best) * BLOCK;
            closest.copy_from_slice(&self.distances[at..at + BLOCK]);
            self.sums[block * trials] = self.sums[block * trials + best];
        }
        best
    }
}

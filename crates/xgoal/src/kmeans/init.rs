//! Greedy k-means++ seeding.
//!
//! The first centre is a uniform point. Each next one is the best of `2 + floor(ln K)` candidates
//! drawn with probability proportional to the squared distance to the nearest centre so far; the
//! best candidate is the one that leaves the smallest sum of those distances.
//!
//! Several seedings advance in step, so that one product per block serves the few candidates of
//! all of them.

use rayon::prelude::*;

use super::points::{BLOCK, Points, lane_sum, squared_norm};
use crate::random::Stream;
use crate::real::Real;

/// For each stream, `clusters` points, row after row.
pub(super) fn plus_plus<T: Real>(
    points: &Points<T>,
    clusters: usize,
    streams: &[Stream],
) -> Vec<Vec<T>> {
    if streams.is_empty() {
        return Vec::new();
    }
    let cols = points.cols();
    let trials = 2 + (clusters as f64).ln() as usize;
    let mut seeding = Seeding::new(points, streams.len(), trials);
    let mut centers = vec![Vec::with_capacity(clusters * cols); streams.len()];
    let mut candidates = Vec::with_capacity(streams.len() * trials * cols);
    let mut norms = Vec::with_capacity(streams.len() * trials);
    let mut best = Vec::with_capacity(streams.len());
    for step in 0..clusters {
        candidates.clear();
        norms.clear();
        // The first centre is a single uniform candidate.
        let drawn = if step == 0 { 1 } else { trials };
        for (s, stream) in streams.iter().enumerate() {
            for t in 0..drawn {
                let at = (step * trials + t) as u64;
                let row = match step {
                    0 => stream.below(at, points.rows() as u64) as usize,
                    _ => seeding.draw(s, stream.uniform(at)),
                };
                candidates.extend_from_slice(points.row(row));
                norms.push(T::from_f64(squared_norm(points.row(row))));
            }
        }
        seeding.advance(&candidates, &norms, drawn, &mut best);
        for ((s, centers), best) in centers.iter_mut().enumerate().zip(&best) {
            centers.extend_from_slice(&candidates[(s * drawn + best) * cols..][..cols]);
        }
    }
    centers
}

/// Distances to the centres chosen so far, in each of several seedings.
struct Seeding<'a, T> {
    points: &'a Points<T>,
    seedings: usize,
    trials: usize,
    /// Per block and seeding, the squared distance of each row to its nearest centre; zero past
    /// the last row.
    closest: Vec<T>,
    /// Per block and seeding, the sum of those.
    sums: Vec<f64>,
    /// Per block and candidate, what `closest` would become.
    distances: Vec<T>,
    /// Per block and candidate, the sum of those.
    candidate_sums: Vec<f64>,
}

/// Distances to candidates become what `closest` would become in one block.
struct Closer<'a, T> {
    drawn: usize,
    point_norms: &'a [T],
    closest: &'a [T],
    distances: &'a mut [T],
    sums: &'a mut [f64],
}

impl<T: Real> pulp::WithSimd for Closer<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let rows = self.distances.chunks_exact_mut(BLOCK).zip(self.sums).enumerate();
        for (i, (row, sum)) in rows {
            row[self.point_norms.len()..].fill(T::default());
            let row = &mut row[..self.point_norms.len()];
            let closest = &self.closest[i / self.drawn * BLOCK..][..row.len()];
            for ((d, norm), old) in row.iter_mut().zip(self.point_norms).zip(closest) {
                let new = *d + *norm;
                let new = if new > T::default() { new } else { T::default() };
                *d = if new < *old { new } else { *old };
            }
            *sum = lane_sum(row, T::to_f64);
        }
    }
}

impl<'a, T: Real> Seeding<'a, T> {
    fn new(points: &'a Points<T>, seedings: usize, trials: usize) -> Self {
        let cells = points.blocks() * seedings;
        Self {
            points,
            seedings,
            trials,
            closest: vec![T::from_f64(f64::MAX); cells * BLOCK],
            sums: vec![0.0; cells],
            distances: vec![T::default(); cells * trials * BLOCK],
            candidate_sums: vec![0.0; cells * trials],
        }
    }

    /// The row at which the running sum of a seeding's `closest` passes a share of its total.
    fn draw(&self, seeding: usize, share: f64) -> usize {
        let block_sums = || self.sums.iter().skip(seeding).step_by(self.seedings);
        let mut left = share * block_sums().sum::<f64>();
        let rows = self.points.rows();
        for (block, sum) in block_sums().enumerate() {
            if left < *sum {
                let size = BLOCK.min(rows - block * BLOCK);
                let closest = &self.closest[(block * self.seedings + seeding) * BLOCK..][..size];
                let passes = closest.iter().position(|distance| {
                    left -= distance.to_f64();
                    left < 0.0
                });
                // The block's sum was rounded in another order than this walk.
                return block * BLOCK + passes.unwrap_or(size - 1);
            }
            left -= sum;
        }
        rows - 1
    }

    /// Takes, in each seeding, the candidate that leaves the smallest sum of distances, and writes
    /// which of its `drawn` candidates that is.
    fn advance(&mut self, candidates: &[T], norms: &[T], drawn: usize, best: &mut Vec<usize>) {
        let (points, seedings, width) = (self.points, self.seedings, self.seedings * self.trials);
        self.distances
            .par_chunks_mut(width * BLOCK)
            .zip(self.candidate_sums.par_chunks_mut(width))
            .zip(self.closest.par_chunks(seedings * BLOCK))
            .enumerate()
            .for_each(|(block, ((distances, sums), closest))| {
                let distances = &mut distances[..norms.len() * BLOCK];
                points.scores(block, candidates, norms, distances);
                let from = block * BLOCK;
                let point_norms = &points.norms()[from..points.rows().min(from + BLOCK)];
                pulp::Arch::new().dispatch(Closer { drawn, point_norms, closest, distances, sums });
            });
        best.clear();
        for seeding in 0..seedings {
            let total = |t: usize| {
                let of_blocks = self.candidate_sums.iter().skip(seeding * drawn + t);
                of_blocks.step_by(width).sum::<f64>()
            };
            let mut least = (0, total(0));
            for t in 1..drawn {
                let sum = total(t);
                if sum < least.1 {
                    least = (t, sum);
                }
            }
            best.push(least.0);
            for block in 0..points.blocks() {
                let to = block * seedings + seeding;
                let from = block * width + seeding * drawn + least.0;
                self.sums[to] = self.candidate_sums[from];
                self.closest[to * BLOCK..][..BLOCK]
                    .copy_from_slice(&self.distances[from * BLOCK..][..BLOCK]);
            }
        }
    }
}

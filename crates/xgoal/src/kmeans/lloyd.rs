//! Lloyd's iterations: assign each point to its nearest centre, move each centre to its mean.
//!
//! A cluster that neither gained nor lost a point keeps its centre, to the last bit, and so do all
//! distances to it. Therefore the scores `||c||^2 - 2 c.x` are kept between iterations and only
//! those of moved centres are computed again; late iterations move few.

use rayon::prelude::*;

use super::KMeans;
use super::points::{BLOCK, Points, squared_distance, squared_norm};
use crate::real::Real;

/// Where the iterations ended; the centres are still relative to the points' mean.
pub(super) struct Outcome<T> {
    pub centers: Vec<T>,
    pub assignments: Vec<u32>,
    pub inertia: f64,
    pub iterations: usize,
}

/// Scratch memory of one run.
pub(super) struct Lloyd<'a, T> {
    points: &'a Points<T>,
    clusters: usize,
    centers: Vec<T>,
    next_centers: Vec<T>,
    norms: Vec<T>,
    assignments: Vec<u32>,
    previous: Vec<u32>,
    /// Whether a centre is not yet the mean of its points.
    stale: Vec<bool>,
    /// The centres to compute scores of, packed, if they are few.
    moved: Moved<T>,
    /// Per block, the scores of all centres.
    scores: Vec<T>,
    /// Per block, the scores of the moved centres.
    fresh: Vec<T>,
    members: Members,
    sums: Vec<f64>,
    distances: Vec<f64>,
}

struct Moved<T> {
    clusters: Vec<u32>,
    centers: Vec<T>,
    norms: Vec<T>,
}

/// Rows in the order of their clusters: cluster c has `rows[starts[c]..starts[c + 1]]`, rising.
struct Members {
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Members {
    fn fill(&mut self, assignments: &[u32]) {
        self.starts.fill(0);
        for &c in assignments {
            self.starts[c as usize + 1] += 1;
        }
        for c in 1..self.starts.len() {
            self.starts[c] += self.starts[c - 1];
        }
        // Each start serves as a cursor and ends where the next cluster begins.
        for (row, &c) in assignments.iter().enumerate() {
            let cursor = &mut self.starts[c as usize];
            self.rows[*cursor] = row as u32;
            *cursor += 1;
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    fn of(&self, cluster: usize) -> &[u32] {
        &self.rows[self.starts[cluster]..self.starts[cluster + 1]]
    }
}

impl<'a, T: Real> Lloyd<'a, T> {
    pub fn new(points: &'a Points<T>, clusters: usize) -> Self {
        let (rows, cols) = (points.rows(), points.cols());
        let cells = points.blocks() * BLOCK * clusters;
        Self {
            points,
            clusters,
            centers: vec![T::default(); clusters * cols],
            next_centers: vec![T::default(); clusters * cols],
            norms: vec![T::default(); clusters],
            assignments: vec![0; rows],
            previous: vec![0; rows],
            stale: vec![true; clusters],
            moved: Moved {
                clusters: Vec::with_capacity(clusters),
                centers: Vec::with_capacity(clusters * cols),
                norms: Vec::with_capacity(clusters),
            },
            scores: vec![T::default(); cells],
            fresh: vec![T::default(); points.blocks() * BLOCK * few(clusters)],
            members: Members { starts: vec![0; clusters + 1], rows: vec![0; rows] },
            sums: vec![0.0; clusters * cols],
            distances: Vec::with_capacity(rows),
        }
    }

    /// Iterates from the given centres until no assignment changes, the centres hardly shift, or
    /// the iterations run out.
    pub fn run(&mut self, seeds: &[T], settings: &KMeans) -> Outcome<T> {
        let threshold = settings.tolerance * self.points.variance();
        self.centers.copy_from_slice(seeds);
        self.moved.clusters.clear();
        self.moved.clusters.extend(0..self.clusters as u32);
        self.stale.fill(true);
        let mut iterations = 0;
        let mut settled = false;
        while iterations < settings.max_iterations {
            self.assign();
            // A first assignment has nothing before it to be equal to.
            settled = iterations > 0 && !self.mark_changed();
            iterations += 1;
            if settled || self.update() <= threshold {
                break;
            }
        }
        if !settled {
            // The last update moved the centres away from what the assignments were made with.
            self.assign();
        }
        Outcome {
            inertia: self.inertia(),
            centers: self.centers.clone(),
            assignments: self.assignments.clone(),
            iterations,
        }
    }

    /// Assigns every point to its nearest centre, the lowest of equally near ones.
    fn assign(&mut self) {
        let cols = self.points.cols();
        for &c in &self.moved.clusters {
            let center = &self.centers[c as usize * cols..][..cols];
            self.norms[c as usize] = T::from_f64(squared_norm(center));
        }
        let partial = self.moved.clusters.len() <= few(self.clusters);
        if partial {
            self.moved.centers.clear();
            self.moved.norms.clear();
            for &c in &self.moved.clusters {
                let center = &self.centers[c as usize * cols..][..cols];
                self.moved.centers.extend_from_slice(center);
                self.moved.norms.push(self.norms[c as usize]);
            }
        }
        let centers = if partial { &self.moved.centers } else { &self.centers };
        std::mem::swap(&mut self.assignments, &mut self.previous);
        let (points, moved, norms) = (self.points, &self.moved, &self.norms);
        self.scores
            .par_chunks_mut(BLOCK * self.clusters)
            .zip(self.fresh.par_chunks_mut(BLOCK * few(self.clusters)))
            .zip(self.assignments.par_chunks_mut(BLOCK))
            .enumerate()
            .for_each(|(block, ((scores, fresh), assignments))| {
                if partial {
                    let fresh = &mut fresh[..BLOCK * moved.clusters.len()];
                    points.scores(block, centers, &moved.norms, fresh);
                    for (row, c) in fresh.chunks_exact(BLOCK).zip(&moved.clusters) {
                        scores[*c as usize * BLOCK..][..BLOCK].copy_from_slice(row);
                    }
                } else {
                    points.scores(block, centers, norms, scores);
                }
                let nearest = pulp::Arch::new().dispatch(Nearest(scores));
                assignments.copy_from_slice(&nearest[..assignments.len()]);
            });
    }

    /// Marks the clusters that gained or lost a point; says whether any did.
    fn mark_changed(&mut self) -> bool {
        let mut any = false;
        for (new, old) in self.assignments.iter().zip(&self.previous) {
            if new != old {
                self.stale[*new as usize] = true;
                self.stale[*old as usize] = true;
                any = true;
            }
        }
        any
    }

    /// Moves stale centres to their means; returns the sum of the squared shifts.
    fn update(&mut self) -> f64 {
        let cols = self.points.cols();
        self.members.fill(&self.assignments);
        self.next_centers.copy_from_slice(&self.centers);
        if cols > 0 {
            let (points, members, stale) = (self.points, &self.members, &self.stale);
            self.sums
                .par_chunks_mut(cols)
                .zip(self.next_centers.par_chunks_mut(cols))
                .enumerate()
                .filter(|(c, _)| stale[*c] && !members.of(*c).is_empty())
                .for_each(|(c, (sums, center))| {
                    let rows = members.of(c);
                    pulp::Arch::new().dispatch(SumRows { points, rows, sums: &mut *sums });
                    let scale = 1.0 / members.of(c).len() as f64;
                    for (value, sum) in center.iter_mut().zip(sums) {
                        *value = T::from_f64(*sum * scale);
                    }
                });
        }
        self.stale.fill(false);
        self.relocate_empty();
        std::mem::swap(&mut self.centers, &mut self.next_centers);
        self.moved.clusters.clear();
        let mut shift = 0.0;
        for c in 0..self.clusters {
            let range = c * cols..(c + 1) * cols;
            let (new, old) = (&self.centers[range.clone()], &self.next_centers[range]);
            if new != old {
                shift += squared_distance(new, old);
                self.moved.clusters.push(c as u32);
            }
        }
        shift
    }

    /// Moves each empty cluster onto a point far from its centre, taking that point out of its
    /// cluster's mean. A cluster that would itself become empty gives up no point, and a point on
    /// its centre is not moved, so with too few distinct points empty clusters keep their centres.
    fn relocate_empty(&mut self) {
        if (0..self.clusters).all(|c| !self.members.of(c).is_empty()) {
            return;
        }
        let (points, cols) = (self.points, self.points.cols());
        self.distances.clear();
        for (row, &c) in self.assignments.iter().enumerate() {
            let center = &self.centers[c as usize * cols..][..cols];
            self.distances.push(squared_distance(points.row(row), center));
        }
        let mut far: Vec<u32> = (0..points.rows() as u32).collect();
        far.sort_by(|a, b| {
            self.distances[*b as usize].total_cmp(&self.distances[*a as usize]).then(a.cmp(b))
        });
        let mut sizes: Vec<usize> = (0..self.clusters).map(|c| self.members.of(c).len()).collect();
        let mut far = far.into_iter().filter(|row| self.distances[*row as usize] > 0.0);
        for empty in 0..self.clusters {
            if sizes[empty] > 0 {
                continue;
            }
            let Some(row) = far.find(|r| sizes[self.assignments[*r as usize] as usize] > 1) else {
                return;
            };
            let row = row as usize;
            let donor = self.assignments[row] as usize;
            let size = sizes[donor] as f64;
            for c in 0..cols {
                let value = points.row(row)[c].to_f64();
                let mean = &mut self.next_centers[donor * cols + c];
                *mean = T::from_f64((mean.to_f64() * size - value) / (size - 1.0));
            }
            self.next_centers[empty * cols..][..cols].copy_from_slice(points.row(row));
            sizes[donor] -= 1;
            sizes[empty] = 1;
            // Neither centre is the mean of the points now assigned to it.
            self.stale[donor] = true;
            self.stale[empty] = true;
        }
    }

    fn inertia(&self) -> f64 {
        let cols = self.points.cols();
        let partial: Vec<f64> = self
            .assignments
            .par_chunks(BLOCK)
            .enumerate()
            .map(|(block, assignments)| {
                let mut sum = 0.0;
                for (i, &c) in assignments.iter().enumerate() {
                    let center = &self.centers[c as usize * cols..][..cols];
                    sum += squared_distance(self.points.row(block * BLOCK + i), center);
                }
                sum
            })
            .collect();
        partial.iter().sum()
    }
}

/// Moved centres up to which only their scores are computed; above, copying costs more than it
/// saves.
fn few(clusters: usize) -> usize {
    clusters.div_ceil(2)
}

/// For each column of a block, the first row with the smallest score.
struct Nearest<'a, T>(&'a [T]);

impl<T: Real> pulp::WithSimd for Nearest<'_, T> {
    type Output = [u32; BLOCK];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [u32; BLOCK] {
        let mut rows = self.0.chunks_exact(BLOCK);
        let mut best = [T::default(); BLOCK];
        let mut at = [0u32; BLOCK];
        if let Some(first) = rows.next() {
            best.copy_from_slice(first);
        }
        for (c, row) in (1u32..).zip(rows) {
            for i in 0..BLOCK {
                let closer = row[i] < best[i];
                best[i] = if closer { row[i] } else { best[i] };
                at[i] = if closer { c } else { at[i] };
            }
        }
        at
    }
}

/// Sums rows four at a time, so that few additions go through the f64 accumulators.
struct SumRows<'a, T> {
    points: &'a Points<T>,
    rows: &'a [u32],
    sums: &'a mut [f64],
}

impl<T: Real> pulp::WithSimd for SumRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { points, rows, sums } = self;
        sums.fill(0.0);
        let fours = rows.chunks_exact(4);
        for &row in fours.remainder() {
            for (sum, v) in sums.iter_mut().zip(points.row(row as usize)) {
                *sum += v.to_f64();
            }
        }
        for four in fours {
            let (a, b) = (points.row(four[0] as usize), points.row(four[1] as usize));
            let (c, d) = (points.row(four[2] as usize), points.row(four[3] as usize));
            for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum += ((*a + *b) + (*c + *d)).to_f64();
            }
        }
    }
}

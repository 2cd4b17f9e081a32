//! k-means: k-means++ seeding, Lloyd's iterations, the best of several restarts.
//!
//! For points `x_1 .. x_n` in `R^d` the centres `c_1 .. c_K` and assignments `a` minimise, locally,
//!
//! ```text
//!     inertia = sum_i || x_i - c_{a(i)} ||^2
//! ```
//!
//! From 32,768 points on (more for more than 64 clusters), restarts are compared on a sample of them and
//! only the best start goes on with all. On 63,620 embeddings its inertia is 0.5 % above that of ten whole restarts.
//!
//! Different starts often end in clusters that are nearly as good and yet far from each other. Where the same points are seen
//! in several ways, as the nodes of a graph are in its layers, [`Known::others`] decides between them.
//!
//! Seeding, the stopping rule and the treatment of empty clusters are scikit-learn's. Every
//! reduction runs over rows in an order that does not depend on the threads, and a restart is a
//! pure function of its stream, so a result is bit-identical for any number of threads.

mod init;
mod lloyd;
mod points;
mod scatter;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::Dense;
use crate::random::Stream;
use crate::real::{Real, View, ViewMut};
use lloyd::{Lloyd, Outcome};
use points::Points;
use scatter::Scatter;

/// Blocks of rows from which on one restart alone keeps the threads busy, so that restarts run one
/// after another in the same scratch memory.
const BLOCKS_FOR_SEQUENTIAL_RESTARTS: usize = 64;

/// Points in the sample that restarts are compared on where there are twice as many; it grows with the clusters.
const SAMPLE: usize = 1 << 14;

/// Points of the sample for each cluster.
const SAMPLE_PER_CLUSTER: usize = 256;

/// Starts that are tried at the same time, each in its own scratch memory.
pub(crate) fn starts_at_a_time(rows: usize) -> usize {
    let few = rows.div_ceil(points::BLOCK) < BLOCKS_FOR_SEQUENTIAL_RESTARTS;
    if few { rayon::current_num_threads() } else { 1 }
}

/// How points are clustered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KMeans {
    /// Number of clusters.
    pub clusters: usize,
    /// Number of seedings tried; the one with the least inertia is kept.
    pub restarts: usize,
    /// Most Lloyd iterations of one restart.
    pub max_iterations: usize,
    /// Lloyd stops when the squared shifts of the centres sum to at most this share of the mean
    /// variance of the columns.
    pub tolerance: f64,
}

/// Points in clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering<T = f32> {
    /// One row per cluster. Always finite, also for a cluster without points.
    pub centers: Dense<T>,
    /// The cluster of each point.
    pub assignments: Vec<u32>,
    /// Sum of the squared distances of the points to their centres.
    pub inertia: f64,
    /// Lloyd iterations of the restart that was kept.
    pub iterations: usize,
    /// Whether there were [`Known::centers`] and another start was kept.
    pub replaced: bool,
}

/// What is known of points beside where they are.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a, T> {
    /// Centres, one per row, for one more start; there may be no restarts beside it.
    pub centers: Option<View<'a, T>>,
    /// By which share another start must be better than the one from `centers` to be kept instead.
    pub advantage: f64,
    /// The same points, row by row, as they are seen elsewhere. Of all starts, the one is kept whose clusters leave the
    /// least of the scatter within, summed over the points themselves and these.
    pub others: &'a [View<'a, T>],
}

/// The nearest centre of each point.
pub(crate) fn nearest<T: Real>(points: View<'_, T>, centers: View<'_, T>) -> Vec<u32> {
    let half = T::from_f64(-0.5);
    let norm = |c: usize| (0..centers.cols).map(|i| centers.at(c, i) * centers.at(c, i)).sum::<T>();
    let norms: Vec<T> = (0..centers.rows).map(|c| half * norm(c)).collect();
    let mut found = vec![0; points.rows];
    found.par_chunks_mut(points::BLOCK).enumerate().for_each(|(block, found)| {
        // |x - c|^2 is least where c.x - |c|^2 / 2 is largest.
        let mut scores: Vec<T> = found.iter().flat_map(|_| norms.iter().copied()).collect();
        let first = block * points::BLOCK * points.row_stride;
        let rows = View { values: &points.values[first..], rows: found.len(), ..points };
        let out = &mut ViewMut::new(&mut scores, found.len(), centers.rows);
        T::gemm(T::from_f64(1.0), rows, centers.t(), T::from_f64(1.0), out);
        for (found, scores) in found.iter_mut().zip(scores.chunks(centers.rows)) {
            let larger = |best: usize, i: usize| if scores[i] > scores[best] { i } else { best };
            *found = (1..scores.len()).fold(0, larger) as u32;
        }
    });
    found
}

impl KMeans {
    /// The usual settings: 10 restarts, at most 300 iterations, a tolerance of 1e-4.
    pub fn new(clusters: usize) -> Self {
        Self { clusters, restarts: 10, max_iterations: 300, tolerance: 1e-4 }
    }

    /// Clusters the rows of `points`, restart `r` being seeded by `stream.substream(r)`.
    ///
    /// There must be at least as many rows as clusters. They may repeat: with fewer distinct rows
    /// than clusters, some clusters stay without points and keep the centre they were seeded with.
    pub fn fit<T: Real>(&self, points: View<'_, T>, stream: Stream) -> Result<Clustering<T>> {
        self.best(points, &Known { centers: None, advantage: 0.0, others: &[] }, stream)
    }

    /// Like [`KMeans::fit`], knowing more.
    pub fn fit_knowing<T: Real>(
        &self,
        points: View<'_, T>,
        known: &Known<'_, T>,
        stream: Stream,
    ) -> Result<Clustering<T>> {
        let shape = |operation, left, right| Err(Error::Shape { operation, left, right });
        if let Some(centers) = known.centers
            && (centers.rows, centers.cols) != (self.clusters, points.cols)
        {
            let given = (centers.rows, centers.cols);
            return shape("k-means from initial centres", (self.clusters, points.cols), given);
        }
        if let Some(other) = known.others.iter().find(|other| other.rows != points.rows) {
            let given = (other.rows, other.cols);
            return shape("k-means beside other points", (points.rows, points.cols), given);
        }
        self.best(points, known, stream)
    }

    fn best<T: Real>(
        &self,
        points: View<'_, T>,
        known: &Known<'_, T>,
        stream: Stream,
    ) -> Result<Clustering<T>> {
        let starts = self.restarts + usize::from(known.centers.is_some());
        self.check(points.rows, starts)?;
        let sample = SAMPLE.max(SAMPLE_PER_CLUSTER * self.clusters);
        if starts > 1 && points.rows >= 2 * sample {
            let others: Vec<_> = known.others.iter().map(|o| sampled(*o, sample, stream)).collect();
            let others: Vec<_> = others.iter().map(View::from).collect();
            let known = Known { others: &others, ..*known };
            let start = self.best(View::from(&sampled(points, sample, stream)), &known, stream)?;
            let points = Points::new(points)?;
            let seeds = points.centred(View::from(&start.centers))?;
            let outcome = Lloyd::new(&points, self.clusters).run(&seeds, self);
            return self.finish(&points, outcome, start.replaced);
        }
        let points = Points::new(points)?;
        let given = known.centers.map(|centers| points.centred(centers)).transpose()?;
        let streams: Vec<Stream> = (0..self.restarts as u64).map(|r| stream.substream(r)).collect();
        let outcomes: Vec<Outcome<T>> = if starts_at_a_time(points.rows()) > 1 {
            let seeded = init::plus_plus(&points, self.clusters, &streams);
            let seeds: Vec<Vec<T>> = given.into_iter().chain(seeded).collect();
            let run = |seeds: &Vec<T>| Lloyd::new(&points, self.clusters).run(seeds, self);
            seeds.par_iter().map(run).collect()
        } else {
            let mut lloyd = Lloyd::new(&points, self.clusters);
            let seeded = streams.iter().map(|stream| {
                init::plus_plus(&points, self.clusters, std::slice::from_ref(stream)).remove(0)
            });
            given.into_iter().chain(seeded).map(|seeds| lloyd.run(&seeds, self)).collect()
        };
        let others: Vec<_> = known.others.par_iter().map(|o| Scatter::new(*o)).collect();
        let total = points.variance() * (points.rows() * points.cols()) as f64;
        let own = |outcome: &Outcome<T>| outcome.inertia / total.max(f64::MIN_POSITIVE);
        let within = |outcome: &Outcome<T>| {
            let beside = others.iter().map(|o| o.within(&outcome.assignments, self.clusters));
            own(outcome) + beside.sum::<f64>()
        };
        let mut within: Vec<f64> = outcomes.par_iter().map(within).collect();
        // The start from given centres is the first one, and `min_by` keeps the first of equal minima.
        if let Some(given) = within.first_mut().filter(|_| known.centers.is_some()) {
            *given *= 1.0 - known.advantage;
        }
        let best = (outcomes.into_iter().zip(within).enumerate())
            .min_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
        let (start, (outcome, _)) = best.expect("starts > 0 was checked");
        let replaced = known.centers.is_some() && start > 0;
        self.finish(&points, outcome, replaced)
    }

    fn check(&self, rows: usize, starts: usize) -> Result<()> {
        if self.clusters == 0 || starts == 0 || self.max_iterations == 0 {
            return Err(Error::Data(format!(
                "k-means: {} clusters, {} restarts and {} iterations, expected at least 1 of each",
                self.clusters, starts, self.max_iterations
            )));
        }
        if self.clusters > rows {
            return Err(Error::Data(format!(
                "k-means: {} clusters for {rows} points, expected at most one cluster per point",
                self.clusters
            )));
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return Err(Error::Data(format!(
                "k-means: a tolerance of {}, expected 0 or more",
                self.tolerance
            )));
        }
        Ok(())
    }

    fn finish<T: Real>(
        &self,
        points: &Points<T>,
        outcome: Outcome<T>,
        replaced: bool,
    ) -> Result<Clustering<T>> {
        let Outcome { mut centers, assignments, inertia, iterations } = outcome;
        points.uncentre(&mut centers);
        Ok(Clustering {
            centers: Dense::from_vec(self.clusters, points.cols(), centers)?,
            assignments,
            inertia,
            iterations,
            replaced,
        })
    }
}

/// One random row out of each of `count` runs of rows that follow each other.
fn sampled<T: Real>(points: View<'_, T>, count: usize, stream: Stream) -> Dense<T> {
    let stream = stream.substream(u64::MAX);
    let mut values = Vec::with_capacity(count * points.cols);
    for i in 0..count {
        let (from, to) = (i * points.rows / count, (i + 1) * points.rows / count);
        let row = from + stream.below(i as u64, (to - from) as u64) as usize;
        values.extend((0..points.cols).map(|c| points.at(row, c)));
    }
    Dense::from_vec(count, points.cols, values).expect("rows of one length")
}

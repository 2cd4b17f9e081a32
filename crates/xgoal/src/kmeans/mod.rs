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
//! Seeding, the stopping rule and the treatment of empty clusters are scikit-learn's. Every
//! reduction runs over rows in an order that does not depend on the threads, and a restart is a
//! pure function of its stream, so a result is bit-identical for any number of threads.

mod init;
mod lloyd;
mod points;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::Dense;
use crate::random::Stream;
use crate::real::{Real, View};
use lloyd::{Lloyd, Outcome};
use points::Points;

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
        self.best(points, None, stream)
    }

    /// Like [`KMeans::fit`], with one more start from the given centres (one per row). There may be
    /// no restarts beside it.
    pub fn fit_from<T: Real>(
        &self,
        points: View<'_, T>,
        centers: View<'_, T>,
        stream: Stream,
    ) -> Result<Clustering<T>> {
        if (centers.rows, centers.cols) != (self.clusters, points.cols) {
            return Err(Error::Shape {
                operation: "k-means from initial centres",
                left: (self.clusters, points.cols),
                right: (centers.rows, centers.cols),
            });
        }
        self.best(points, Some(centers), stream)
    }

    fn best<T: Real>(
        &self,
        points: View<'_, T>,
        from: Option<View<'_, T>>,
        stream: Stream,
    ) -> Result<Clustering<T>> {
        self.check(points.rows, self.restarts + usize::from(from.is_some()))?;
        let sample = SAMPLE.max(SAMPLE_PER_CLUSTER * self.clusters);
        if points.rows >= 2 * sample {
            let start = self.best(View::from(&sampled(points, sample, stream)), from, stream)?;
            let points = Points::new(points)?;
            let seeds = points.centred(View::from(&start.centers))?;
            let outcome = Lloyd::new(&points, self.clusters).run(&seeds, self);
            return self.finish(&points, outcome);
        }
        let points = Points::new(points)?;
        let given = from.map(|centers| points.centred(centers)).transpose()?;
        let streams: Vec<Stream> = (0..self.restarts as u64).map(|r| stream.substream(r)).collect();
        let outcomes: Vec<Outcome<T>> = if starts_at_a_time(points.rows()) > 1 {
            let mut seeds = init::plus_plus(&points, self.clusters, &streams);
            seeds.extend(given);
            let run = |seeds: &Vec<T>| Lloyd::new(&points, self.clusters).run(seeds, self);
            seeds.par_iter().map(run).collect()
        } else {
            let mut lloyd = Lloyd::new(&points, self.clusters);
            let seeded = streams.iter().map(|stream| {
                init::plus_plus(&points, self.clusters, std::slice::from_ref(stream)).remove(0)
            });
            seeded.chain(given).map(|seeds| lloyd.run(&seeds, self)).collect()
        };
        // `min_by` keeps the first of equal minima.
        let best = outcomes.into_iter().min_by(|a, b| a.inertia.total_cmp(&b.inertia));
        self.finish(&points, best.expect("starts > 0 was checked"))
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

    fn finish<T: Real>(&self, points: &Points<T>, outcome: Outcome<T>) -> Result<Clustering<T>> {
        let Outcome { mut centers, assignments, inertia, iterations } = outcome;
        points.uncentre(&mut centers);
        Ok(Clustering {
            centers: Dense::from_vec(self.clusters, points.cols(), centers)?,
            assignments,
            inertia,
            iterations,
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

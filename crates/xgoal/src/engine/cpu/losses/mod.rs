//! The four terms of the objective, each with its gradient, over a block of nodes.
//!
//! Every term reads rows of embeddings, returns its unweighted sum over the block in f64, and adds
//! `weight` times its gradient to the rows of `gradient` buffers. A term's normalisation (1/N and the
//! like) is part of the weight the caller gives, so that blocks can be summed.

mod cluster;
mod cluster_alignment;
mod contrast;
mod node;
mod node_alignment;

pub use cluster::{Assigned, cluster_loss};
pub use cluster_alignment::{Recovery, cluster_alignment};
pub use node::node_loss;
pub use node_alignment::node_alignment;

use crate::matrix::Dense;
use crate::real::{Real, View, ViewMut};

/// Running sums that the compiler keeps in one vector; the same for every instruction set.
const LANES: usize = 16;

/// Embeddings of a block of nodes and the gradient with respect to them.
#[derive(Debug)]
pub struct Rows<'a, T> {
    /// nodes x dim, row after row.
    pub values: &'a [T],
    /// The same shape; terms add to it.
    pub gradient: &'a mut [T],
}

/// `logits = H C^T / tau`, one row of K per node.
fn logits<T: Real>(rows: &[T], centers: &Dense<T>, tau: f64, out: &mut Vec<T>) {
    let (k, dim) = (centers.rows(), centers.cols());
    let nodes = rows.len() / dim;
    out.clear();
    out.resize(nodes * k, T::default());
    T::gemm(
        T::from_f64(1.0 / tau),
        View::new(rows, nodes, dim),
        View::from(centers).t(),
        T::default(),
        &mut ViewMut::new(out, nodes, k),
    );
}

/// `gradient += weight / tau * D C`, the backward of [`logits`].
fn logits_backward<T: Real>(
    d_logits: &[T],
    centers: &Dense<T>,
    weight_over_tau: f64,
    gradient: &mut [T],
) {
    let (k, dim) = (centers.rows(), centers.cols());
    let nodes = gradient.len() / dim;
    T::gemm(
        T::from_f64(weight_over_tau),
        View::new(d_logits, nodes, k),
        View::from(centers),
        T::from_f64(1.0),
        &mut ViewMut::new(gradient, nodes, dim),
    );
}

/// Turns a row of logits into log-probabilities.
#[inline(always)]
fn log_softmax<T: Real>(row: &mut [T]) {
    let larger = |a: T, b: T| if b > a { b } else { a };
    let mut lanes = [row[0]; LANES];
    let chunks = row.chunks_exact(LANES);
    let tail = chunks.remainder();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    let largest = lanes.iter().chain(tail).fold(row[0], |a, b| larger(a, *b));
    let mut lanes = [T::default(); LANES];
    let mut chunks = row.chunks_exact(LANES);
    for chunk in &mut chunks {
        for i in 0..LANES {
            lanes[i] += (chunk[i] - largest).exp();
        }
    }
    let tail: T = chunks.remainder().iter().map(|l| (*l - largest).exp()).sum();
    let sum: T = lanes.into_iter().sum::<T>() + tail;
    let shift = T::from_f64(largest.to_f64() + sum.to_f64().ln());
    for l in row {
        *l -= shift;
    }
}

#[cfg(test)]
pub(super) mod check {
    //! Finite differences for a term given as a function of flat inputs.

    use crate::random::{Purpose, Stream};

    /// Reproducible standard-normal numbers.
    pub fn normals(n: usize, seed: u64) -> Vec<f64> {
        let s = Stream::new(seed, Purpose::Planted);
        (0..n as u64).map(|i| s.normal(i)).collect()
    }

    /// Compares a gradient with central differences, relative to its largest entry.
    pub fn gradient(inputs: &[f64], analytic: &[f64], loss: impl Fn(&[f64]) -> f64) {
        let scale = analytic.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(scale > 0.0, "the gradient is zero");
        for i in 0..inputs.len() {
            let step = 1e-5;
            let at = |delta: f64| {
                let mut moved = inputs.to_vec();
                moved[i] += delta;
                loss(&moved)
            };
            // The five-point rule: its error is of fourth order in the step.
            let numeric =
                (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
            assert!(
                (numeric - analytic[i]).abs() <= 1e-6 * scale,
                "input {i}: {numeric} by differences, {} by derivation",
                analytic[i]
            );
        }
    }
}

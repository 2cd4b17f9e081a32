//! First weights along the directions in which attributes differ the most, as encoders see them: of a sample of nodes.
//!
//! ```text
//!     M = U + sum_v Y_v          rows of the sample alone, columns centred; without U for a plain GCN
//! ```
//!
//! Its leading right singular vectors are those of the graph's M, nearly, and take no longer however many nodes there are.

use super::Batches;
use super::operand::{Operand, Sight, Wanted};
use crate::engine::cpu::kernels::Kernels;
use crate::matrix::{Dense, centre, leading};
use crate::model::{LayerWeights, weights_along};
use crate::random::{Permutation, Purpose, Stream};
use crate::settings::{Config, Encoder};

/// Nodes of the sample, and those of them by which the weights are scaled.
const SAMPLE: usize = 4096;
const SCALED_BY: usize = 1024;
/// Steps of the iteration.
const ITERATIONS: usize = 8;

/// The weights that every layer starts from.
pub fn principal<T: Kernels>(config: &Config, batches: &Batches<T>) -> Vec<LayerWeights<T>> {
    let (source, dim) = (&batches.source, config.settings().dim);
    let stream = Stream::new(config.settings().seed, Purpose::Seen);
    let order = Permutation::new(stream.substream(0), source.nodes());
    let count = source.nodes().min(SAMPLE) as u64;
    let nodes: Vec<u32> = (0..count).map(|i| order.at(i) as u32).collect();
    let own = config.encoder() == Encoder::FirstOrder;
    let rows = |nodes: &[u32], layers: (usize, usize)| {
        let cap = (super::CAP, stream.substream(1));
        let mut rows = Operand::<T>::new();
        let wanted = Wanted { own, layers, nodes, sights: &[Sight::WHOLE], cap };
        rows.gather(source, &wanted, &batches.adders);
        rows
    };
    let layers = source.layers();
    let features = source.columns().iter().sum();
    weights_along(config, features, |kept, stream| {
        let mut seen = rows(&nodes, (0, layers));
        let start = |i: usize| stream.normal(i as u64);
        let product = |basis: &[f64]| {
            let projected = centred(&seen.times(&narrowed(basis, kept)));
            let mut pulled = Dense::zeros(features, kept);
            seen.backward(&narrowed(&projected, kept), &mut pulled);
            pulled.values().iter().map(|v| v.to_f64()).collect()
        };
        let basis = leading(features, kept, ITERATIONS, start, product).basis;
        let scaled_by = &nodes[..nodes.len().min(SCALED_BY)];
        let table = narrowed(&basis, kept);
        let square = |v: usize| {
            let projected = centred(&rows(scaled_by, (v, v + 1)).times(&table));
            projected.iter().map(|x| x * x).sum::<f64>()
        };
        let squares: f64 = (0..layers).map(square).sum();
        let size = (squares / (layers * scaled_by.len() * dim) as f64).sqrt();
        (basis, size)
    })
}

fn narrowed<T: Kernels>(values: &[f64], width: usize) -> Dense<T> {
    let values: Vec<T> = values.iter().map(|v| T::from_f64(*v)).collect();
    Dense::from_vec(values.len() / width.max(1), width, values).expect("rows of one width")
}

fn centred<T: Kernels>(rows: &Dense<T>) -> Vec<f64> {
    let mut values: Vec<f64> = rows.values().iter().map(|v| v.to_f64()).collect();
    centre(&mut values, rows.cols());
    values
}

//! Attributes smoothed over the layers.
//!
//! ```text
//!     x_n  ->  (x_n + sum_v sum_m w_vnm x_m) / (1 + sum_v sum_m |w_vnm|)
//! ```
//!
//! over the neighbours m of node n in every layer v, a layer's weights scaled to a mean size of 1. Each pass takes out noise
//! that neighbours do not share, so that encoders, which see a node's neighbours, see what lies one step further.

use super::sums;
use crate::matrix::{Csr, Dense};
use rayon::prelude::*;

/// One pass over the sum of these layers.
pub(crate) fn smooth(layers: &[&Csr], attributes: &Dense) -> Dense {
    let scaled: Vec<(&Csr, f64)> = layers.iter().map(|layer| (*layer, per_mean(layer))).collect();
    let cols = attributes.cols();
    let mut smoothed = Dense::zeros(attributes.rows(), cols);
    let rows = smoothed.values_mut().par_chunks_mut(cols).enumerate();
    rows.for_each_init(
        || vec![0.0; cols],
        |sum, (node, out)| {
            sum.iter_mut().zip(attributes.row(node)).for_each(|(s, v)| *s = f64::from(*v));
            let mut total = 1.0;
            for (layer, scale) in &scaled {
                let (neighbours, weights) = layer.row(node);
                for (neighbour, weight) in neighbours.iter().zip(weights) {
                    let weight = f64::from(*weight) * scale;
                    let row = attributes.row(*neighbour as usize);
                    sum.iter_mut().zip(row).for_each(|(s, v)| *s += weight * f64::from(*v));
                    total += weight.abs();
                }
            }
            out.iter_mut().zip(&*sum).for_each(|(o, s)| *o = (s / total) as f32);
        },
    );
    smoothed
}

/// The matrix of an average over neighbours in which every layer counts alike:
///
/// ```text
///     A  =  1/V sum_v D_v^-1 (I + W_v)            W_v scaled to a mean size of 1, D_v the sums of |I + W_v| by rows
/// ```
pub(crate) fn averaging(layers: &[&Csr]) -> Csr {
    let nodes = layers[0].rows();
    let mut own = vec![0.0; nodes];
    let mut terms = Vec::with_capacity(layers.len() + 1);
    for layer in layers {
        let scale = per_mean(layer);
        let mut share = Vec::with_capacity(nodes);
        for (node, own) in own.iter_mut().enumerate() {
            let total: f64 = layer.row(node).1.iter().map(|w| f64::from(w.abs()) * scale).sum();
            share.push(1.0 / (layers.len() as f64 * (1.0 + total)));
            *own += share[node];
        }
        terms.push(layer.map_entries(|row, _, w| (f64::from(w) * scale * share[row]) as f32));
    }
    let own = own.into_iter().map(|share| share as f32).collect();
    let diagonal =
        Csr::try_new(nodes, nodes, (0..=nodes).collect(), (0..nodes as u32).collect(), own);
    terms.push(diagonal.expect("one entry in each row"));
    sums::sum(&terms.iter().collect::<Vec<_>>())
}

/// One over the mean size of a layer's weights.
fn per_mean(layer: &Csr) -> f64 {
    let stored = layer.values().map(|w| f64::from(w.abs())).filter(|w| *w > 0.0);
    let (count, sum) = stored.fold((0.0, 0.0), |(count, sum), w| (count + 1.0, sum + w));
    if sum > 0.0 { count / sum } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_becomes_the_mean_of_itself_and_its_neighbours() {
        let csr = |entries| Csr::from_triplets(3, 3, entries).unwrap();
        // Weights of another size count alike; a node without edges stays as it is.
        let a = csr(vec![(0, 1, 50.0), (1, 0, 50.0)]);
        let b = csr(vec![(0, 1, 1.0), (1, 0, -1.0), (0, 2, 0.0)]);
        let x = Dense::from_vec(3, 2, vec![3.0, 0.0, 0.0, 6.0, 5.0, 5.0]).unwrap();
        let smoothed = smooth(&[&a, &b], &x);
        assert_eq!(smoothed.values(), [1.0, 4.0, 0.0, 2.0, 5.0, 5.0]);
    }

    #[test]
    fn layers_count_alike_in_an_average() {
        let csr = |entries| Csr::from_triplets(3, 3, entries).unwrap();
        let a = csr(vec![(0, 1, 50.0), (0, 2, 50.0), (1, 1, 50.0)]);
        let b = csr(vec![(0, 1, 2.0), (2, 1, -2.0)]);
        let average = averaging(&[&a, &b]);
        let third = 1.0f32 / 3.0;
        let expected = csr(vec![
            (0, 0, third / 2.0 + 0.25),
            (0, 1, third / 2.0 + 0.25),
            (0, 2, third / 2.0),
            (1, 1, 1.0),
            (2, 1, -0.25),
            (2, 2, 0.75),
        ]);
        assert_eq!((average.indptr(), average.indices()), (expected.indptr(), expected.indices()));
        for (a, b) in average.values().zip(expected.values()) {
            assert!((a - b).abs() < 1e-7, "{average:?}");
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let edges = (0..900u32).map(|e| (e % 100, (e * e + 7 * e) % 100, 0.1 + e as f32)).collect();
        let layer = Csr::from_triplets(100, 100, edges).unwrap();
        let values = (0..1000).map(|i| (i as f32 * 0.37).sin()).collect();
        let x = Dense::from_vec(100, 10, values).unwrap();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| smooth(&[&layer], &x))
        };
        assert_eq!(with(1), with(4));
    }
}

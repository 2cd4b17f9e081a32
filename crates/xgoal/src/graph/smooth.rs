//! Attributes smoothed over the layers.
//!
//! ```text
//!     x_n  ->  (x_n + sum_v sum_m w_vnm x_m) / (1 + sum_v sum_m |w_vnm|)
//! ```
//!
//! over the neighbours m of node n in every layer v, a layer's weights scaled to a mean size of 1. Each pass takes out noise
//! that neighbours do not share, so that encoders, which see a node's neighbours, see what lies one step further.

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

/// One over the mean size of a layer's weights.
fn per_mean(layer: &Csr) -> f64 {
    let stored = layer.values().iter().map(|w| f64::from(w.abs())).filter(|w| *w > 0.0);
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

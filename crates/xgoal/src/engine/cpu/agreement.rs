//! How far layers agree on a node: the cosine of its embeddings in two of them.

use super::losses::Rows;
use crate::real::Real;

/// Adds up the cosines over a block, a sum for each pair of layers: (0, 1), (0, 2), .., (1, 2), ..
#[inline(always)]
pub fn add_agreement<T: Real>(dim: usize, anchors: &[Rows<'_, T>], sums: &mut Vec<f64>) {
    let layers = anchors.len();
    let nodes = anchors[0].values.len() / dim;
    sums.resize(layers * (layers - 1) / 2, 0.0);
    let mut norms = vec![0.0; layers];
    for n in 0..nodes {
        let row = |v: usize| &anchors[v].values[n * dim..(n + 1) * dim];
        (0..layers).for_each(|v| norms[v] = dot(row(v), row(v)).sqrt());
        let pairs = (0..layers).flat_map(|v| (v + 1..layers).map(move |other| (v, other)));
        for (sum, (v, other)) in sums.iter_mut().zip(pairs) {
            let length = norms[v] * norms[other];
            if length > 0.0 {
                *sum += dot(row(v), row(other)) / length;
            }
        }
    }
}

/// In lanes that the compiler keeps in one vector.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    const LANES: usize = 16;
    let mut lanes = [T::default(); LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: T = left.remainder().iter().zip(right.remainder()).map(|(x, y)| *x * *y).sum();
    for (x, y) in left.zip(right) {
        for i in 0..LANES {
            lanes[i] += x[i] * y[i];
        }
    }
    (lanes.into_iter().sum::<T>() + tail).to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_mean_cosine() {
        let values = [vec![1.0, 0.0, 0.0, 2.0], vec![3.0, 0.0, 1.0, 0.0], vec![0.0, 0.0, 5.0, 5.0]];
        let mut gradients = vec![vec![0.0f64; 4]; 3];
        let rows: Vec<Rows<'_, f64>> = values
            .iter()
            .zip(&mut gradients)
            .map(|(values, gradient)| Rows { values, gradient })
            .collect();
        let mut sums = Vec::new();
        add_agreement(2, &rows, &mut sums);
        let half = std::f64::consts::FRAC_1_SQRT_2;
        // Nodes: (1,0),(3,0),(0,0) and (0,2),(1,0),(5,5).
        for (sum, expected) in sums.iter().zip([1.0, half, half]) {
            assert!((sum - expected).abs() < 1e-12, "{sums:?}");
        }
    }
}

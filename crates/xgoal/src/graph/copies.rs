//! Whether a layer says what another one says already.
//!
//! Two layers have in common
//!
//! ```text
//!     sum_e min(a_e, b_e) / sum_e max(a_e, b_e)
//! ```
//!
//! with weights scaled to a mean of 1: for layers without weights, the share of the edges of either that are in both. The
//! mean over layers would count a copy twice.

use super::MultiplexGraph;
use crate::matrix::Csr;
use rayon::prelude::*;

/// Layers with this much in common are one.
const SAME: f64 = 0.95;

impl MultiplexGraph {
    /// For each layer, the first one before it that it is nearly a copy of, and how much they have in common.
    pub(crate) fn copies(&self) -> Vec<Option<(usize, f64)>> {
        let layers = self.layers();
        let mut copies = vec![None; layers.len()];
        for (v, layer) in layers.iter().enumerate() {
            // A copy of a copy is one of the same original.
            copies[v] = (0..v).filter(|u| copies[*u].is_none()).find_map(|u| {
                let shared = shared(&layers[u].adjacency, &layer.adjacency);
                (shared >= SAME).then_some((u, shared))
            });
        }
        copies
    }
}

fn shared(a: &Csr, b: &Csr) -> f64 {
    // Layers of much different size need not be looked at.
    let (few, many) = (a.nnz().min(b.nnz()), a.nnz().max(b.nnz()));
    if few == 0 || (few as f64) < SAME * many as f64 {
        return 0.0;
    }
    let mean =
        |m: &Csr| m.values().iter().map(|w| f64::from(w.abs())).sum::<f64>() / m.nnz() as f64;
    let (of_a, of_b) = (mean(a), mean(b));
    let of_row = |row: usize| {
        let ((ca, wa), (cb, wb)) = (a.row(row), b.row(row));
        let (mut i, mut j, mut apart) = (0, 0, 0.0);
        while i < ca.len() || j < cb.len() {
            let (at_a, at_b) = (ca.get(i), cb.get(j));
            let in_a = at_a.is_some_and(|c| at_b.is_none_or(|d| c <= d));
            let in_b = at_b.is_some_and(|d| at_a.is_none_or(|c| d <= c));
            let one = if in_a { f64::from(wa[i]) / of_a } else { 0.0 };
            let other = if in_b { f64::from(wb[j]) / of_b } else { 0.0 };
            apart += (one - other).abs();
            i += usize::from(in_a);
            j += usize::from(in_b);
        }
        apart
    };
    // min and max are half of the sum less or more the difference.
    let apart: Vec<f64> = (0..a.rows()).into_par_iter().map(of_row).collect();
    let apart: f64 = apart.iter().sum();
    let sum = (a.nnz() + b.nnz()) as f64;
    (sum - apart) / (sum + apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Layer;
    use crate::matrix::{Dense, Matrix};

    /// A ring with a chord every `every` nodes, and a weight for all edges.
    fn ring(every: u32, weight: impl Fn(u32) -> f32) -> Csr {
        let chords = (0..100u32).step_by(every as usize).map(|n| (n, (n + 50) % 100));
        let edges = (0..100u32).map(|n| (n, (n + 1) % 100)).chain(chords);
        Csr::from_triplets(100, 100, edges.map(|(a, b)| (a, b, weight(a))).collect()).unwrap()
    }

    #[test]
    fn what_two_layers_share_is_counted() {
        let plain = ring(100, |_| 1.0);
        assert!((shared(&plain, &plain) - 1.0).abs() < 1e-9);
        // All weights twice as large say nothing new; chords do, and so do other weights.
        assert!((shared(&plain, &ring(100, |_| 2.0)) - 1.0).abs() < 1e-9);
        // 101 edges and 104, of which 101 are the same.
        let found = shared(&plain, &ring(25, |_| 1.0));
        assert!((found - 101.0 / 104.0).abs() < 1e-6, "{found}");
        assert_eq!(shared(&plain, &ring(2, |_| 1.0)), 0.0);
        assert!(shared(&plain, &ring(100, |n| 1.0 + n as f32)) < 0.7);
        assert_eq!(shared(&plain, &Csr::empty(100, 100)), 0.0);
    }

    #[test]
    fn copies_are_found_with_their_originals() {
        let layers = [ring(2, |_| 1.0), ring(100, |_| 1.0), ring(50, |_| 1.0), ring(100, |_| 3.0)];
        let layers = layers.into_iter().zip(["a", "b", "c", "d"]);
        let layers = layers.map(|(adjacency, name)| Layer { name: name.into(), adjacency });
        let attributes = Matrix::Dense(Dense::zeros(100, 1));
        let graph = MultiplexGraph::new(layers.collect(), attributes).unwrap();
        let originals: Vec<Option<usize>> =
            graph.copies().into_iter().map(|copy| copy.map(|(original, _)| original)).collect();
        assert_eq!(originals, [None, None, Some(1), Some(1)]);
    }
}

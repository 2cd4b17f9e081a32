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

/// Rows from which on threads share the work, and rows between two looks at what came of them.
const PARALLEL: usize = 1 << 10;
const LONGEST: usize = 1 << 20;

impl MultiplexGraph {
    /// For each layer, the first one before it that it is nearly a copy of, and how much they have in common.
    pub(crate) fn copies(&self) -> Vec<Option<(usize, f64)>> {
        let layers: Vec<Scaled> = self.layers().iter().map(|l| Scaled::new(&l.adjacency)).collect();
        let mut copies = vec![None; layers.len()];
        for (v, layer) in layers.iter().enumerate() {
            // A copy of a copy is one of the same original.
            copies[v] = (0..v)
                .filter(|u| copies[*u].is_none())
                .find_map(|u| Some((u, shared(&layers[u], layer)?)));
        }
        copies
    }
}

/// A layer with the mean of its weights.
struct Scaled<'a>(&'a Csr, f64);

impl<'a> Scaled<'a> {
    fn new(layer: &'a Csr) -> Self {
        let sum: f64 = layer.values().map(|w| f64::from(w.abs())).sum();
        Self(layer, sum / layer.nnz() as f64)
    }
}

/// How much two layers have in common, if that is enough.
fn shared(&Scaled(a, of_a): &Scaled<'_>, &Scaled(b, of_b): &Scaled<'_>) -> Option<f64> {
    // Layers of much different size need not be looked at.
    let (few, many) = (a.nnz().min(b.nnz()), a.nnz().max(b.nnz()));
    if few == 0 || (few as f64) < SAME * many as f64 {
        return None;
    }
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
    let sum = (a.nnz() + b.nnz()) as f64;
    let common = |apart: f64| Some((sum - apart) / (sum + apart)).filter(|common| *common >= SAME);
    let mut apart = 0.0;
    let mut from = 0;
    // Layers that have little in common show it in their first rows; the blocks grow, so that others are few.
    let mut block = 16;
    while from < a.rows() {
        let rows = from..(from + block).min(a.rows());
        from = rows.end;
        match block < PARALLEL {
            true => apart = rows.map(of_row).fold(apart, |sum, row| sum + row),
            false => {
                let rows: Vec<f64> = rows.into_par_iter().map(of_row).collect();
                apart = rows.iter().fold(apart, |sum, row| sum + row);
            }
        }
        common(apart)?;
        block = (2 * block).min(LONGEST);
    }
    common(apart)
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
        let shared = |a: &Csr, b: &Csr| shared(&Scaled::new(a), &Scaled::new(b));
        let plain = ring(100, |_| 1.0);
        assert!((shared(&plain, &plain).unwrap() - 1.0).abs() < 1e-9);
        // All weights twice as large say nothing new; chords do, and so do other weights.
        assert!((shared(&plain, &ring(100, |_| 2.0)).unwrap() - 1.0).abs() < 1e-9);
        // 101 edges and 104, of which 101 are the same.
        let found = shared(&plain, &ring(25, |_| 1.0)).unwrap();
        assert!((found - 101.0 / 104.0).abs() < 1e-6, "{found}");
        assert_eq!(shared(&plain, &ring(2, |_| 1.0)), None);
        assert_eq!(shared(&plain, &ring(100, |n| 1.0 + n as f32)), None);
        assert_eq!(shared(&plain, &Csr::empty(100, 100)), None);
    }

    #[test]
    fn many_layers_are_compared_in_a_moment() {
        let layers = (0..2000u32).map(|v| {
            let edges = (0..20).map(|n| (n, (n * (1 + v % 7) + v) % 20, 1.0 + v as f32 * n as f32));
            let adjacency = Csr::from_triplets(20, 20, edges.collect()).unwrap();
            Layer { name: v.to_string(), adjacency }
        });
        let attributes = Matrix::Dense(Dense::zeros(20, 1));
        let graph = MultiplexGraph::new(layers.collect(), attributes).unwrap();
        let started = std::time::Instant::now();
        graph.copies();
        // A hundredth of this on an idle machine; a hundred times as long without a way out.
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
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

//! Whether embeddings tell edges that the encoder did not see from pairs that are none.
//!
//! A tenth of each layer's edges is hidden in both directions and the graph encoded without them. With `c` the cosine
//! of two nodes' embeddings, the score of a layer is
//!
//! ```text
//!     P(c(hidden edge) > c(pair without an edge)) + P(equal) / 2
//! ```
//!
//! over some of both: 1 where every edge is above every other pair, 1/2 by chance. The layers' mean counts.

use super::ranks::area_under_curve;
use super::views::{is_drawn, without_edges};
use crate::error::Result;
use crate::graph::MultiplexGraph;
use crate::matrix::{Csr, Dense};
use crate::random::Stream;

/// Share of the edges that are hidden.
const HIDDEN: f64 = 0.1;
/// Most pairs of each kind that are compared in a layer.
const PAIRS: usize = 10_000;

/// A graph without some of its edges, and what is asked about them.
#[derive(Debug)]
pub(super) struct HiddenEdges {
    /// The graph without them.
    pub graph: MultiplexGraph,
    /// For each layer, hidden edges and pairs without an edge.
    pairs: Vec<[Vec<(u32, u32)>; 2]>,
}

impl HiddenEdges {
    /// Hides edges by the stream.
    pub fn new(graph: &MultiplexGraph, stream: Stream) -> Result<Self> {
        let hiding = stream.substream(0);
        let layers = without_edges(graph, HIDDEN, hiding);
        let pairs = graph.layers().iter().enumerate().map(|(v, layer)| {
            let v = v as u64;
            let hidden = hidden(&layer.adjacency, hiding.substream(v));
            let absent = absent(&layer.adjacency, hidden.len(), stream.substream(1).substream(v));
            [hidden, absent]
        });
        let pairs = pairs.collect();
        Ok(Self { graph: MultiplexGraph::new(layers, graph.attributes().clone())?, pairs })
    }

    /// The mean score of the layers that have hidden edges.
    pub fn score(&self, embeddings: &Dense) -> Option<f64> {
        let cosines = |pairs: &Vec<(u32, u32)>| -> Vec<f64> {
            pairs.iter().map(|(a, b)| cosine(embeddings, *a, *b)).collect()
        };
        let of_layer = |[hidden, absent]: &[Vec<(u32, u32)>; 2]| {
            area_under_curve(&cosines(hidden), &cosines(absent))
        };
        super::mean(&self.pairs.iter().filter_map(of_layer).collect::<Vec<_>>())
    }
}

/// The hidden edges of a layer, or evenly spread ones of them.
fn hidden(layer: &Csr, stream: Stream) -> Vec<(u32, u32)> {
    let nodes = layer.rows();
    let mut all = Vec::new();
    for a in 0..nodes as u32 {
        let (columns, _) = layer.row(a as usize);
        let later = columns.iter().filter(|b| **b != a);
        // An edge stored in one direction only counts once too.
        let once = later.filter(|b| **b > a || !is_joined(layer, **b, a));
        all.extend(once.filter(|b| is_drawn(stream, nodes, a, **b, HIDDEN)).map(|b| (a, *b)));
    }
    let step = all.len().div_ceil(PAIRS).max(1);
    all.into_iter().step_by(step).collect()
}

/// Random pairs that no edge joins, as many as are wanted where there are enough.
fn absent(layer: &Csr, wanted: usize, stream: Stream) -> Vec<(u32, u32)> {
    let nodes = layer.rows() as u64;
    let draws = (0..20 * wanted as u64)
        .map(|i| (stream.below(2 * i, nodes) as u32, stream.below(2 * i + 1, nodes) as u32));
    let is_absent =
        |(a, b): &(u32, u32)| a != b && !is_joined(layer, *a, *b) && !is_joined(layer, *b, *a);
    draws.filter(is_absent).take(wanted).collect()
}

fn is_joined(layer: &Csr, a: u32, b: u32) -> bool {
    layer.row(a as usize).0.binary_search(&b).is_ok()
}

fn cosine(rows: &Dense, a: u32, b: u32) -> f64 {
    let (a, b) = (rows.row(a as usize), rows.row(b as usize));
    let dot = |x: &[f32], y: &[f32]| -> f64 {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Layer;
    use crate::matrix::Matrix;
    use crate::random::Purpose;

    /// Two groups of 20 that are joined within and not between.
    fn groups() -> MultiplexGraph {
        let joined = |a: &(u32, u32)| a.0 / 20 == a.1 / 20;
        let all = (0..40u32).flat_map(|a| (0..40u32).map(move |b| (a, b)));
        let entries = all.filter(joined).map(|(a, b)| (a, b, 1.0)).collect();
        let adjacency = Csr::from_triplets(40, 40, entries).unwrap();
        let attributes = Dense::from_vec(40, 1, vec![1.0; 40]).unwrap();
        MultiplexGraph::new(vec![Layer { name: "a".into(), adjacency }], Matrix::Dense(attributes))
            .unwrap()
    }

    #[test]
    fn hidden_edges_are_gone_and_ranked() {
        let graph = groups();
        let edges = HiddenEdges::new(&graph, Stream::new(0, Purpose::Judge)).unwrap();
        let [hidden, absent] = &edges.pairs[0];
        let (whole, left) = (&graph.layers()[0].adjacency, &edges.graph.layers()[0].adjacency);
        assert!((20..60).contains(&hidden.len()), "{}", hidden.len());
        assert_eq!((whole.nnz() - left.nnz(), absent.len()), (2 * hidden.len(), hidden.len()));
        for (a, b) in hidden {
            assert!(is_joined(whole, *a, *b) && !is_joined(left, *a, *b), "{a} {b}");
        }
        assert!(absent.iter().all(|(a, b)| a / 20 != b / 20));

        let told = (0..40).flat_map(|n| if n < 20 { [1.0, 0.0] } else { [0.0, 1.0] });
        let told = Dense::from_vec(40, 2, told.collect()).unwrap();
        assert_eq!(edges.score(&told), Some(1.0));
        let same = Dense::from_vec(40, 1, vec![1.0; 40]).unwrap();
        assert_eq!(edges.score(&same), Some(0.5));
    }

    #[test]
    fn a_graph_without_edges_has_no_score() {
        let attributes = Matrix::Dense(Dense::from_vec(3, 1, vec![1.0; 3]).unwrap());
        let layer = Layer { name: "a".into(), adjacency: Csr::empty(3, 3) };
        let graph = MultiplexGraph::new(vec![layer], attributes).unwrap();
        let edges = HiddenEdges::new(&graph, Stream::new(0, Purpose::Judge)).unwrap();
        assert_eq!(edges.score(&Dense::zeros(3, 2)), None);
    }
}

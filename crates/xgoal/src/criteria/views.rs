//! A graph that lost some of its edges and attributes, each by a coin of its own.

use crate::error::Result;
use crate::graph::{Layer, MultiplexGraph};
use crate::matrix::{Dense, Matrix};
use crate::random::Stream;

/// Whether the coin of a pair of nodes falls on the side that has this share; the same for both directions.
pub(super) fn is_drawn(stream: Stream, nodes: usize, a: u32, b: u32, share: f64) -> bool {
    let (low, high) = (u64::from(a.min(b)), u64::from(a.max(b)));
    stream.uniform(low * nodes as u64 + high) < share
}

/// The layers without a share of their edges; self-loops stay.
pub(super) fn without_edges(graph: &MultiplexGraph, share: f64, stream: Stream) -> Vec<Layer> {
    let nodes = graph.nodes();
    let layers = graph.layers().iter().enumerate();
    let thin = |(v, layer): (usize, &Layer)| {
        let stream = stream.substream(v as u64);
        let keep = |a, b| a == b || !is_drawn(stream, nodes, a, b, share);
        Layer { name: layer.name.clone(), adjacency: layer.adjacency.filtered(keep) }
    };
    layers.map(thin).collect()
}

/// The graph without a share of its edges and of its attribute entries.
pub(super) fn thinned(
    graph: &MultiplexGraph,
    share: f64,
    stream: Stream,
) -> Result<MultiplexGraph> {
    let layers = without_edges(graph, share, stream.substream(0));
    let stream = stream.substream(1);
    let columns = graph.attributes().cols() as u64;
    let keep = |row: u64, column: u64| stream.uniform(row * columns + column) >= share;
    let attributes = match graph.attributes() {
        Matrix::Sparse(m) => {
            Matrix::Sparse(m.filtered(|row, column| keep(u64::from(row), u64::from(column))))
        }
        Matrix::Dense(m) => {
            let entries = m.values().iter().zip(0u64..);
            let kept =
                entries.map(|(v, at)| if keep(at / columns, at % columns) { *v } else { 0.0 });
            Matrix::Dense(Dense::from_vec(m.rows(), m.cols(), kept.collect())?)
        }
    };
    MultiplexGraph::new(layers, attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted::Planted;
    use crate::random::Purpose;

    #[test]
    fn a_share_is_lost_in_both_directions() {
        let graph = Planted { nodes: 300, attributes: 100, ..Planted::default() };
        let graph = graph.generate().unwrap();
        let stream = Stream::new(0, Purpose::Judge);
        let thin = thinned(&graph, 0.3, stream).unwrap();
        assert_eq!(thin.layer_names(), graph.layer_names());
        let left = |whole: usize, thin: usize| thin as f64 / whole as f64;
        for (whole, thin) in graph.layers().iter().zip(thin.layers()) {
            let left = left(whole.adjacency.nnz(), thin.adjacency.nnz());
            assert!((left - 0.7).abs() < 0.06, "{left}");
            assert_eq!(thin.adjacency.transpose(), thin.adjacency);
        }
        let attributes = left(graph.attributes().nonzeros(), thin.attributes().nonzeros());
        assert!((attributes - 0.7).abs() < 0.06, "{attributes}");
        assert_ne!(thinned(&graph, 0.3, stream.substream(9)).unwrap(), thin);
    }
}

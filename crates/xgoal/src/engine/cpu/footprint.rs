//! How much memory the engine takes, before it is built.
//!
//! With N nodes, d dimensions, V layers, K clusters, F attributes of which x are stored, and a layer of e
//! stored entries, in bytes:
//!
//! ```text
//!     the program           10 MB
//!     the graph             8 e + 8 N a layer, 4 e + 8 N without weights; 8 x + 8 N, or 4 N F if dense; about 40 N for ids and
//!                           labels
//!     a layer               12 e + 8 N, and 8 e more if it is not symmetric; e/8 for the mask
//!     a dense 0/1 layer     2048 a tile of 64 x 64 bits, and 4 N d once for all of them
//!     sparse attributes     20 x + 16 N, and x/8 a layer for the mask
//!     dense attributes      4 N F, and N F / 8 a layer for the mask; so also where preprocessing stores them dense
//!     views and workspace   4 N d (3 V + 2) + 8 N V
//!     weights               20 V (2 F d + d): weights, gradients, two moments, the best so far
//!     partial sums          32 F d where X^T G reads the nodes in order
//!     the largest of        8 N d + 6 N K for k-means, one layer at a time; 6 N K a thread for small graphs; 4 N d more
//!                           where prototypes may be shared;
//!                           16 V (2 F d + d) + 4 N V for a state on its way to disk or back;
//!                           4 N d (V + 1) for the embeddings at the end;
//!                           with s = min(N, 4096), 4 N d V + 24 s d + 6 s K a thread where `lambda_c` or
//!                           `prototypes` is found
//!     directions            where attributes are looked at before there is a layer, what that takes more than all that comes
//!                           later, with w = min(k, F):
//!                           16 (e + N) for all layers and 8 (x + F) if attributes are sparse, 8 w (2 N + 3 F), and the
//!                           attributes once more, where `start` is principal (k = d)
//! ```
//!
//! Over batches layers take 4 N each, attributes 4 N or 4 N F, and views, clusters and embeddings what a batch, a sample and a
//! block of nodes do: `docs/performance.md` has the sum.
//!
//! The graph itself is not the engine's, but stays in memory beside it.

use super::adjacency::Adjacency;
use super::attributes::Attributes;
use super::batch::CAP;
use super::{ENCODED, SAMPLE};
use crate::graph::{Layer, MultiplexGraph, structure};
use crate::kmeans;
use crate::matrix::{Csr, Matrix};
use crate::model::Seen;
use crate::settings::{Batch, Count, PerLayer, SelfLoops, Settings, Start};

/// What the executable itself takes.
const PROCESS: u64 = 10_000_000;

/// Bytes that training takes, the graph included, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    graph: u64,
    layers: u64,
    attributes: u64,
    views: u64,
    weights: u64,
    /// Clustering, saving and embedding do not happen at the same time.
    passing: u64,
    /// What looking at the attributes first takes beyond all of these.
    directions: u64,
}

impl Footprint {
    /// All of it.
    pub fn sum(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// What the bytes are for, in words.
    pub fn parts(&self) -> [(&'static str, u64); 8] {
        [
            ("program", PROCESS),
            ("graph", self.graph),
            ("layers", self.layers),
            ("attributes", self.attributes),
            ("views", self.views),
            ("weights", self.weights),
            ("clustering or saving", self.passing),
            ("directions of the attributes", self.directions),
        ]
    }
}

/// What training a graph takes, by `dim`; the rest of the settings is given.
#[derive(Debug)]
pub struct Footprints<'a> {
    graph: &'a MultiplexGraph,
    settings: &'a Settings,
    graph_bytes: u64,
    layers: u64,
    attributes: u64,
    /// Whether a layer is kept as bits.
    bits: bool,
    /// Nodes of a step, where these are not all.
    batch: Option<u64>,
}

impl<'a> Footprints<'a> {
    /// Looks at every edge once.
    pub fn new(graph: &'a MultiplexGraph, settings: &'a Settings) -> Self {
        let n = graph.nodes() as u64;
        let preprocessing = settings.preprocessing();
        let batch = match settings.batch {
            Some(Batch::Nodes(size)) if size < graph.nodes() => Some(size as u64),
            _ => None,
        };
        if batch.is_some() {
            let attributes = match graph.attributes() {
                Matrix::Sparse(_) if !preprocessing.makes_dense() => 4 * n,
                m => 4 * n * m.cols() as u64,
            };
            let layers = 4 * n * graph.layers().len() as u64;
            let graph_bytes = of_graph(graph);
            return Self { graph, settings, graph_bytes, layers, attributes, bits: false, batch };
        }
        let mut layers = 0;
        let mut bits = false;
        let loops = if preprocessing.self_loops == SelfLoops::All { n } else { 0 };
        for layer in graph.layers() {
            let e = layer.adjacency.nnz() as u64 + loops;
            match Adjacency::<f32>::tiles(&layer.adjacency) {
                Some(tiles) => {
                    layers += 2048 * tiles as u64;
                    bits = true;
                }
                None if is_symmetric(&layer.adjacency) => layers += 12 * e + 8 * n + e / 8,
                None => layers += 20 * e + 16 * n + e / 8,
            }
        }
        let v = graph.layers().len() as u64;
        let graph_bytes = of_graph(graph) + 8 * loops * v;
        let attributes = match graph.attributes() {
            Matrix::Sparse(m) if !preprocessing.makes_dense() => {
                // Structure is stored entry by entry, and put beside the others first.
                let beside = graph.structure().map_or(0, |s| s.values().len() as u64);
                let x = m.nnz() as u64 + beside;
                let put = if beside > 0 { 8 * x } else { 0 };
                20 * x + 16 * n + v * x / 8 + put
            }
            _ => 4 * n * graph.columns() as u64 + v * n * graph.columns() as u64 / 8,
        };
        Self { graph, settings, graph_bytes, layers, attributes, bits, batch }
    }

    /// What it takes with so many dimensions.
    pub fn of_dim(&self, dim: usize) -> Footprint {
        let Self { graph, settings, .. } = *self;
        let n = graph.nodes() as u64;
        let d = dim as u64;
        let v = graph.layers().len() as u64;
        let features = graph.columns() as u64;
        let made_dense = settings.preprocessing().makes_dense();
        let partial = match graph.attributes() {
            Matrix::Sparse(m)
                if self.batch.is_none() && !made_dense && Attributes::<f32>::scatters(m, dim) =>
            {
                32 * features * d
            }
            _ => 0,
        };
        let weights = v * (2 * features * d + d);
        // Those that are found are no more than the columns.
        let most = |count: &Count| match count {
            Count::Auto => d,
            Count::Fixed(k) => *k as u64,
        };
        let clusters = match &settings.clusters {
            PerLayer::One(count) => most(count),
            PerLayer::Each(all) => all.iter().map(most).max().unwrap_or(0),
        };
        let starts = kmeans::starts_at_a_time(graph.nodes()) as u64;
        // Where steps go over batches, prototypes are found among a sample, and nobody's cluster is kept.
        let points = self.batch.map_or(n, |_| n.min((SAMPLE as u64).max(64 * clusters)));
        let clustering = (8 + 4 * v) * points * d + 6 * points * clusters.min(points) * starts;
        let saving = 16 * weights + if self.batch.is_some() { 0 } else { 4 * n * v };
        let embedding = 4 * d * (v + 1) * n.min(self.batch.map_or(n, |_| ENCODED as u64));
        let weighing = if settings.lambda_c.is_none() {
            let s = n.min(SAMPLE as u64);
            let starts = kmeans::starts_at_a_time(s as usize) as u64;
            let encoded = self.batch.map_or(n, |_| s);
            4 * encoded * d * v + 24 * s * d + 6 * s * clusters.min(s) * starts
        } else {
            0
        };
        let room = if self.bits { 4 * n * d } else { 0 };
        // Attribute entries of the neighbours that are followed, and the node's own.
        let read = |layer: &Layer| 1 + (layer.adjacency.nnz() as u64 / n).min(CAP as u64);
        let read: u64 = graph.layers().iter().map(read).sum();
        let entries = (graph.attributes().stored() as u64 / n + 1) * read;
        let dense = features.saturating_sub(graph.attributes().cols() as u64);
        let views = match self.batch {
            None => room + 4 * n * d * (3 * v + 2) + 8 * n * v,
            // The views, their gradients, and the rows that meet the weights: a few entries for each that is read.
            Some(size) => size * (4 * d * (3 * v + 3) + 64 * entries + 24 * v * dense),
        };
        // Steps over batches start along the directions of a sample, which is gone when they begin.
        let sampled = match settings.start {
            Some(Start::Principal) => {
                let s = n.min(SAMPLE as u64);
                s * (24 * entries.min(features) + 4 * dense)
                    + 8 * d.min(features) * (2 * s + 3 * features)
            }
            _ => 0,
        };
        let footprint = Footprint {
            graph: self.graph_bytes,
            layers: self.layers,
            attributes: self.attributes,
            views,
            weights: 20 * weights + partial,
            passing: clustering.max(saving).max(embedding).max(weighing),
            directions: 0,
        };
        if self.batch.is_some() {
            return Footprint {
                directions: sampled.saturating_sub(footprint.passing),
                ..footprint
            };
        }
        // Before there is anything else.
        let entries = graph.layers().iter().map(|layer| layer.adjacency.nnz() as u64);
        let start = (settings.start == Some(Start::Principal))
            .then(|| Seen::bytes(graph.attributes(), entries.clone(), d));
        let first = start.map_or(0, |bytes| {
            let preprocessed = match made_dense {
                true => 4 * n * features,
                false => stored(graph.attributes()),
            };
            PROCESS + self.graph_bytes + preprocessed + bytes
        });
        Footprint { directions: first.saturating_sub(footprint.sum()), ..footprint }
    }
}

/// Bytes of the program and a graph, before anything is done with it.
pub(crate) fn before(graph: &MultiplexGraph) -> u64 {
    PROCESS + of_graph(graph)
}

fn of_graph(graph: &MultiplexGraph) -> u64 {
    let n = graph.nodes() as u64;
    let layers = graph.layers().iter().map(|layer| layer.adjacency.bytes());
    let structure = graph.structure().map_or(0, |s| 4 * s.values().len() as u64);
    40 * n + layers.sum::<u64>() + stored(graph.attributes()) + structure
}

/// Bytes of the program and a graph, and of finding so many columns of structure and how much they should count.
pub(crate) fn finding_structure(graph: &MultiplexGraph, columns: usize) -> u64 {
    let n = graph.nodes() as u64;
    let threads = rayon::current_num_threads() as u64;
    let layers: Vec<&Csr> = graph.layers().iter().map(|layer| &layer.adjacency).collect();
    before(graph)
        + structure::bytes(&layers, columns)
        + MultiplexGraph::share_bytes(n, graph.attributes().cols() as u64, threads)
}

/// Bytes of attributes as they are in a graph.
fn stored(attributes: &Matrix) -> u64 {
    match attributes {
        Matrix::Sparse(m) => m.bytes(),
        Matrix::Dense(m) => 4 * m.values().len() as u64,
    }
}

/// Whether a matrix equals its transpose, by sums that do not depend on the order of its entries.
fn is_symmetric(matrix: &Csr) -> bool {
    let mix = |r: u32, c: u32, v: f32| {
        let mut h = u64::from(r) << 32 | u64::from(c);
        h = (h ^ u64::from(v.to_bits()).rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (h ^ h >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let mut sums = (0u64, 0u64);
    for r in 0..matrix.rows() {
        let (cols, values) = matrix.row(r);
        for (&c, &v) in cols.iter().zip(values) {
            sums.0 = sums.0.wrapping_add(mix(r as u32, c, v));
            sums.1 = sums.1.wrapping_add(mix(c, r as u32, v));
        }
    }
    sums.0 == sums.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetry_is_told_without_a_transpose() {
        let symmetric = vec![(0, 1, 2.0), (1, 0, 2.0), (2, 2, 1.0)];
        let of = |entries| is_symmetric(&Csr::from_triplets(3, 3, entries).unwrap());
        assert!(of(symmetric.clone()));
        assert!(!of([&symmetric[..], &[(0, 2, 1.0)]].concat()));
        assert!(!of(vec![(0, 1, 2.0), (1, 0, 3.0)]));
    }
}

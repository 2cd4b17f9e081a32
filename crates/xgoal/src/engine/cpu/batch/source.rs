//! The graph as batches read it: where it is, nothing copied but a factor per node.
//!
//! Entry (i, j) of a layer is `f_i a_ij f_j`, with f the inverse roots of the row sums; attribute (i, c) is `g_i x_ic`. Only
//! f and g are kept, and a row is put together when a batch asks for it.

use super::super::mask::Words;
use crate::engine::cpu::kernels::Kernels;
use crate::error::Result;
use crate::graph::MultiplexGraph;
use crate::graph::preprocess::{Columns, Preprocessing, degree_factors, own_loop};
use crate::matrix::{Dense, Matrix};
use crate::random::Stream;
use crate::settings::EdgeNorm;

/// Rows of a graph.
#[derive(Debug)]
pub struct Source {
    graph: MultiplexGraph,
    preprocessing: Preprocessing,
    /// Per layer, a factor per node; none where edges stay as they are.
    factors: Vec<Option<Vec<f32>>>,
    /// A factor per node of sparse attributes.
    rows: Option<Vec<f32>>,
    /// Dense attributes, as they are after preprocessing.
    dense: Option<Dense>,
}

/// An edge as a batch follows it.
#[derive(Debug, Clone, Copy)]
pub struct Edge<T> {
    /// Its place among the layer's stored entries; a self-loop that is not stored stands behind them.
    pub place: u64,
    /// The neighbour.
    pub to: u32,
    /// Its weight after normalisation, times what the edges that were passed over leave to it.
    pub weight: T,
}

/// One word of a mask at a time.
#[derive(Debug)]
pub struct Bits {
    words: Words,
    at: u64,
    word: u64,
}

impl Bits {
    /// Before any bit was asked for.
    pub fn new(words: Words) -> Self {
        Self { words, at: 0, word: words.word(0) }
    }

    /// Whether an entry survives.
    #[inline(always)]
    pub fn survives(&mut self, place: u64) -> bool {
        if place >> 6 != self.at {
            self.at = place >> 6;
            self.word = self.words.word(self.at);
        }
        self.word >> (place & 63) & 1 == 1
    }
}

impl Source {
    /// Looks at every edge once.
    pub fn new(
        graph: MultiplexGraph,
        preprocessing: Preprocessing,
        columns: Option<&Columns>,
    ) -> Result<Self> {
        let factors = graph.layers().iter().map(|layer| match preprocessing.edges {
            EdgeNorm::None => Ok(None),
            EdgeNorm::Symmetric => degree_factors(layer, preprocessing.self_loops).map(Some),
        });
        let factors = factors.collect::<Result<_>>().map_err(|e| graph.name_source(e))?;
        let dense = match graph.attributes() {
            Matrix::Sparse(_) if !preprocessing.makes_dense() => None,
            _ => Some(preprocessing.dense_attributes(&graph, columns)),
        };
        let rows = match graph.attributes() {
            Matrix::Sparse(m) if dense.is_none() => {
                Some((0..m.rows()).map(|r| preprocessing.row_factor(m.row(r).1)).collect())
            }
            _ => None,
        };
        Ok(Self { preprocessing, factors, rows, dense, graph })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.factors.len()
    }

    /// Columns of sparse attributes, then those of dense ones and of structure.
    pub fn columns(&self) -> [usize; 2] {
        let sparse = if self.rows.is_some() { self.graph.attributes().cols() } else { 0 };
        let structure = self.graph.structure().map_or(0, Dense::cols);
        [sparse, self.dense.as_ref().map_or(0, Dense::cols) + structure]
    }

    /// The edges of a node, at most `cap` of them: of each of so many equal parts of a hub's list one, which stands for its
    /// part, so that sums over the edges are right on average.
    pub fn edges<T: Kernels>(
        &self,
        layer: usize,
        node: u32,
        cap: usize,
        stream: Stream,
        out: &mut Vec<Edge<T>>,
    ) {
        out.clear();
        let adjacency = &self.graph.layers()[layer].adjacency;
        let (columns, weights) = adjacency.row(node as usize);
        let start = adjacency.indptr()[node as usize];
        let factors = self.factors[layer].as_deref();
        let factor = |n: u32| factors.map_or(1.0, |f| f[n as usize]);
        let own = factor(node);
        let mut follow = |at: usize, times: f32| {
            let weight = times * weights[at] * own * factor(columns[at]);
            let place = (start + at) as u64;
            out.push(Edge { place, to: columns[at], weight: T::from_f32(weight) });
        };
        let count = columns.len();
        if count <= cap {
            (0..count).for_each(|at| follow(at, 1.0));
        } else {
            let stream = stream.substream(u64::from(node));
            for part in 0..cap {
                let (from, to) = (part * count / cap, (part + 1) * count / cap);
                let at = from + stream.below(part as u64, (to - from) as u64) as usize;
                follow(at, (to - from) as f32);
            }
        }
        if let Some(weight) = own_loop(self.preprocessing.self_loops, adjacency, node as usize) {
            let place = (adjacency.nnz() + node as usize) as u64;
            out.push(Edge { place, to: node, weight: T::from_f32(weight * own * own) });
        }
    }

    /// Sparse attributes of a node: their first place, columns and values, and what these are multiplied by.
    pub fn sparse(&self, node: u32) -> Option<(u64, &[u32], &[f32], f32)> {
        let factor = self.rows.as_ref()?[node as usize];
        let Matrix::Sparse(m) = self.graph.attributes() else { return None };
        let (columns, values) = m.row(node as usize);
        Some((m.indptr()[node as usize] as u64, columns, values, factor))
    }

    /// Dense parts of a node's attributes, one after the other, and what they are multiplied by.
    pub fn dense(&self, node: u32) -> impl Iterator<Item = (&[f32], f32)> {
        let attributes = self.dense.as_ref().map(|m| (m.row(node as usize), 1.0));
        let structure =
            self.graph.structure().map(|s| (s.row(node as usize), self.preprocessing.structure));
        attributes.into_iter().chain(structure)
    }

    /// Stored entries of sparse attributes, behind which the places of dense ones begin.
    pub fn stored(&self) -> u64 {
        match self.graph.attributes() {
            Matrix::Sparse(m) if self.rows.is_some() => m.nnz() as u64,
            _ => 0,
        }
    }
}

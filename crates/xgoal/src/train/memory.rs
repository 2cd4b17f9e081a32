//! How much memory training takes, before it starts.
//!
//! With N nodes, d dimensions, V layers of e_v stored entries and F attributes of which x are stored,
//! in bytes:
//!
//! ```text
//!     views and workspace   4 N d (3 V + 2)
//!     a layer               8 e (graph) + 8 e (A) + 8 e (A^T) + 4 e (positions) + e/8 (mask) + 40 N
//!     sparse attributes     8 x (graph) + 8 x (X) + 8 x (X^T) + 4 x (positions) + V x/8
//!     dense attributes      4 N F (graph) + 4 N F (X) + V N F / 8
//!     weights               4 * 5 V (2 F d + d): weights, gradients, two moments, the best so far
//! ```
//!
//! While the engine is built the normalised graph exists too (8 e and 8 x, or 4 N F more), but the
//! views do not yet; the larger of the two moments counts.

use crate::graph::MultiplexGraph;
use crate::matrix::Matrix;
use crate::settings::Settings;
use serde::Serialize;

/// Bytes that training needs at its peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryEstimate {
    /// The largest sum over time.
    pub bytes: u64,
}

impl MemoryEstimate {
    /// What training a graph with the given settings will take.
    pub fn of(graph: &MultiplexGraph, settings: &Settings) -> Self {
        let n = graph.nodes() as u64;
        let d = settings.dim as u64;
        let layers = graph.layers().len() as u64;
        let features = graph.attributes().cols() as u64;
        let edges: u64 = graph.layers().iter().map(|l| l.adjacency.nnz() as u64).sum();

        let (graph_bytes, normalised, operands) = match graph.attributes() {
            Matrix::Sparse(m) => {
                let x = m.nnz() as u64;
                (8 * x, 8 * x, 20 * x + layers * x / 8)
            }
            Matrix::Dense(_) => {
                (4 * n * features, 4 * n * features, 4 * n * features + layers * n * features / 8)
            }
        };
        let held = graph_bytes + 8 * edges + operands + 20 * edges + edges / 8 + 40 * n * layers;
        let building = normalised + 8 * edges;
        let training = 4 * n * d * (3 * layers + 2) + 20 * layers * (2 * features * d + d);
        Self { bytes: held + building.max(training) }
    }
}

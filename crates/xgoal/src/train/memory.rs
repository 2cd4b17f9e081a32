//! How much memory training takes, before it starts.

use crate::engine::cpu::training_bytes;
use crate::graph::MultiplexGraph;
use crate::settings::Settings;
use serde::Serialize;

/// Bytes that training needs at its peak; the sum is written out in `docs/performance.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryEstimate {
    /// The largest sum over time.
    pub bytes: u64,
}

impl MemoryEstimate {
    /// What training a graph with the given settings will take.
    pub fn of(graph: &MultiplexGraph, settings: &Settings) -> Self {
        Self { bytes: training_bytes(graph, settings) }
    }
}

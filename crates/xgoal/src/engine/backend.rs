//! What an engine is made by: the machine that computes, with what it takes there.

use super::Engine;
use super::cpu::{self, CpuEngine, Footprint, Footprints};
use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::graph::preprocess::Columns;
use crate::matrix::Dense;
use crate::model::LayerWeights;
use crate::settings::{Config, Settings};
use std::fmt::Debug;

/// Where training and encoding happen.
pub trait Backend: Debug + Send + Sync {
    /// What users call it.
    fn name(&self) -> &'static str;

    /// The bytes that training a graph takes, by what they are for: once for each of these values of `dim`.
    fn footprints(
        &self,
        graph: &MultiplexGraph,
        settings: &Settings,
        dims: &[usize],
    ) -> Vec<Footprint>;

    /// An engine that trains on a graph from the given weights, or without from fresh ones.
    fn engine(
        &self,
        config: &Config,
        graph: &MultiplexGraph,
        weights: Option<Vec<LayerWeights>>,
    ) -> Result<Box<dyn Engine>>;

    /// Embeddings of a graph under given weights, a matrix per layer, block after block of nodes; takes less than an engine.
    fn embed(
        &self,
        config: &Config,
        graph: &MultiplexGraph,
        columns: Option<&Columns>,
        weights: &[LayerWeights],
        block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>,
    ) -> Result<()>;
}

/// The one that is used where none is asked for.
pub const DEFAULT: &dyn Backend = &Cpu;

/// Every backend of this build.
const ALL: &[&dyn Backend] = &[&Cpu];

/// The backend of a name; one that this build does not have is an error.
pub fn by_name(name: &str) -> Result<&'static dyn Backend> {
    ALL.iter().copied().find(|backend| backend.name() == name).ok_or_else(|| {
        Error::UnknownBackend {
            name: name.to_string(),
            available: ALL.iter().map(|backend| backend.name()).collect(),
        }
    })
}

/// This machine's cores and memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn footprints(
        &self,
        graph: &MultiplexGraph,
        settings: &Settings,
        dims: &[usize],
    ) -> Vec<Footprint> {
        let by_dim = Footprints::new(graph, settings);
        dims.iter().map(|dim| by_dim.of_dim(*dim)).collect()
    }

    fn engine(
        &self,
        config: &Config,
        graph: &MultiplexGraph,
        weights: Option<Vec<LayerWeights>>,
    ) -> Result<Box<dyn Engine>> {
        Ok(Box::new(CpuEngine::<f32>::start(config, graph, weights)?))
    }

    fn embed(
        &self,
        config: &Config,
        graph: &MultiplexGraph,
        columns: Option<&Columns>,
        weights: &[LayerWeights],
        block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>,
    ) -> Result<()> {
        cpu::embed(config, graph, columns, weights, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_that_is_not_there_is_named_with_those_that_are() {
        assert_eq!(by_name("cpu").unwrap().name(), DEFAULT.name());
        let message = by_name("cuda").unwrap_err().to_string();
        assert_eq!(message, "this build has no backend called `cuda`; it has cpu");
    }
}

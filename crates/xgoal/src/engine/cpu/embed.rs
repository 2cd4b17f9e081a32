//! Embeddings of the graph as it is, all nodes or some.

use super::batch::{Batches, CAP, Source};
use super::kernels::Kernels;
use super::{ENCODED, Operands, Whole, cast};
use crate::error::Result;
use crate::graph::MultiplexGraph;
use crate::graph::preprocess::Columns;
use crate::matrix::Dense;
use crate::model::LayerWeights;
use crate::random::{Purpose, Stream};
use crate::settings::Config;

/// Embeddings of a graph under given weights, one matrix per layer, block after block of nodes: through products with the
/// whole graph where training goes so, which gives the bits that training gave.
pub fn embed(
    config: &Config,
    graph: &MultiplexGraph,
    columns: Option<&Columns>,
    weights: &[LayerWeights],
    block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>,
) -> Result<()> {
    if config.batch(graph.nodes()).is_some() {
        let source = Source::new(graph.clone(), config.preprocessing(), columns)?;
        return embed_blocks(config, &Batches::new(source, 1), weights, block);
    }
    let preprocessed = config.preprocessing().apply_with(graph, columns)?;
    let graph = Operands::<f32>::new(&preprocessed);
    let work = graph.workspace(config.settings().dim, false);
    block(0, embed_layers(config, &mut Whole { graph, draws: Vec::new(), work }, weights))
}

pub(super) fn embed_blocks<T: Kernels>(
    config: &Config,
    batches: &Batches<T>,
    weights: &[LayerWeights<T>],
    block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>,
) -> Result<()> {
    let nodes = batches.graph_nodes();
    for first in (0..nodes).step_by(ENCODED) {
        let some: Vec<u32> = (first..nodes.min(first + ENCODED)).map(|n| n as u32).collect();
        block(first, anchors(config, batches, weights, &some, None).iter().map(cast).collect())?;
    }
    Ok(())
}

/// H of some nodes in each layer; all of their edges are followed without a stream to choose them by.
pub(super) fn anchors<T: Kernels>(
    config: &Config,
    batches: &Batches<T>,
    weights: &[LayerWeights<T>],
    nodes: &[u32],
    chosen: Option<Stream>,
) -> Vec<Dense<T>> {
    let of_layer = |(v, weights)| {
        let all = (usize::MAX, Stream::new(0, Purpose::Cap));
        let cap = chosen.map_or(all, |stream| (CAP, stream.substream(v as u64)));
        batches.anchor(config.settings(), v, weights, nodes, cap)
    };
    weights.iter().enumerate().map(of_layer).collect()
}

pub(super) fn embed_layers<T: Kernels>(
    config: &Config,
    Whole { graph, work, .. }: &mut Whole<T>,
    weights: &[LayerWeights<T>],
) -> Vec<Dense<T>> {
    let of_layer = |(v, weights)| {
        let mut out = Dense::zeros(graph.nodes, config.settings().dim);
        graph.encoder(config, v).embed(weights, work, &mut out);
        out
    };
    weights.iter().enumerate().map(of_layer).collect()
}

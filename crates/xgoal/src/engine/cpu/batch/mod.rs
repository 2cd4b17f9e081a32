//! Steps over a batch of nodes: what they read and hold does not depend on how many nodes the graph has.
//!
//! A pass visits the nodes in the order of a permutation that is never written down, B at a time; what is left over at its end
//! waits for another pass. Of each node of the batch at most [`CAP`] edges a layer are followed. T+ drops entries by their
//! place in the graph, T- gives every node that is read the attributes of another one, out of all: the views are those of the
//! whole graph, seen by a few of its nodes.

mod operand;
mod source;
mod start;

pub use source::Source;
pub use start::principal;

use self::operand::{Adder, Operand, Sight, Wanted};
use super::BLOCK;
use super::draw;
use super::encoder::{Views, activate};
use super::kernels::Kernels;
use super::mask::Words;
use super::phases::{Clock, Phase};
use super::rows::PerThread;
use crate::engine::Step;
use crate::matrix::Dense;
use crate::model::LayerWeights;
use crate::random::{Permutation, Purpose, Shuffle, Stream};
use crate::settings::{Augmentation, Settings};
use rayon::prelude::*;

/// Most edges of a node in a layer that a step follows.
pub const CAP: usize = 64;

/// Nodes that are encoded at a time where all are.
const ENCODED: usize = 2048;

/// Reads batches out of a graph, and takes them through the encoders.
#[derive(Debug)]
pub struct Batches<T> {
    source: Source,
    size: usize,
    nodes: Vec<u32>,
    /// Y and U of each layer.
    operands: Vec<[Operand<T>; 2]>,
    /// D, D+ and D- of a layer, one below the other.
    stacked: Dense<T>,
    adders: PerThread<Adder<T>>,
}

impl<T: Kernels> Batches<T> {
    /// For steps of so many nodes, or of all where there are no more.
    pub fn new(source: Source, size: usize) -> Self {
        let operands = (0..source.layers()).map(|_| [Operand::new(), Operand::new()]).collect();
        Self {
            size: size.min(source.nodes()),
            nodes: Vec::new(),
            operands,
            stacked: Dense::zeros(0, 0),
            adders: PerThread::new(),
            source,
        }
    }

    /// Nodes of a step.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Nodes of the graph.
    pub fn graph_nodes(&self) -> usize {
        self.source.nodes()
    }

    /// The nodes of a step, in their order in the graph.
    fn choose(&mut self, seed: u64, step: &Step<'_>) {
        let steps = (self.source.nodes() / self.size) as u64;
        let (pass, at) = (u64::from(step.epoch) / steps, u64::from(step.epoch) % steps);
        let stream = Stream::new(seed, Purpose::Pass).substream(step.stage as u64).substream(pass);
        let order = Permutation::new(stream, self.source.nodes());
        let first = at * self.size as u64;
        self.nodes.clear();
        self.nodes.extend((first..first + self.size as u64).map(|i| order.at(i) as u32));
        self.nodes.sort_unstable();
    }

    /// H, H+ and H- of the step's nodes in every layer.
    pub fn forward(
        &mut self,
        settings: &Settings,
        weights: &[LayerWeights<T>],
        step: &Step<'_>,
        views: &mut [Views<T>],
        clock: &mut Clock,
    ) {
        self.choose(settings.seed, step);
        for (v, views) in views.iter_mut().enumerate() {
            let sights = sights(settings, step, v, (self.source.nodes(), self.size));
            let cap = (CAP, draw::stream(settings.seed, Purpose::Cap, step, v));
            let wanted = neighbours(v, &self.nodes, &sights, cap);
            let operands = &mut self.operands[v];
            gather(operands, &self.source, &wanted, &weights[v], &self.adders);
            clock.stop(Phase::Draw);
            let Views { anchor, positive, negative } = views;
            let size = BLOCK * settings.dim;
            let blocks = [anchor, positive, negative].into_iter();
            let blocks: Vec<_> =
                blocks.flat_map(|view| view.values_mut().chunks_mut(size)).collect();
            encode(operands, settings, &weights[v], self.nodes.len(), blocks);
            clock.stop(Phase::AttributesForward);
        }
    }

    /// The gradients of every layer's weights, from D, D+ and D- in `views`.
    pub fn backward(
        &mut self,
        views: &[Views<T>],
        gradients: &mut [LayerWeights<T>],
        clock: &mut Clock,
    ) {
        for ((views, gradient), operands) in views.iter().zip(gradients).zip(&mut self.operands) {
            let (rows, dim) = (views.anchor.rows(), views.anchor.cols());
            if (self.stacked.rows(), self.stacked.cols()) != (3 * rows, dim) {
                self.stacked = Dense::zeros(3 * rows, dim);
            }
            let parts = self.stacked.values_mut().chunks_mut(rows * dim);
            let of = [&views.anchor, &views.positive, &views.negative];
            parts.zip(of).for_each(|(to, view)| to.copy_from_slice(view.values()));
            let d = &self.stacked;
            gradient.bias.fill(T::default());
            for row in d.values().chunks(dim) {
                gradient.bias.iter_mut().zip(row).for_each(|(b, r)| *b += *r);
            }
            let [neighbours, own] = operands;
            neighbours.backward(d, &mut gradient.weight);
            if let Some(weight) = &mut gradient.self_weight {
                own.backward(d, weight);
            }
            clock.stop(Phase::AttributesBackward);
        }
    }

    /// H of any nodes in one layer. At most so many of each node's edges are followed.
    pub fn anchor(
        &self,
        settings: &Settings,
        layer: usize,
        weights: &LayerWeights<T>,
        nodes: &[u32],
        cap: (usize, Stream),
    ) -> Dense<T> {
        let mut out = Dense::zeros(nodes.len(), settings.dim);
        let mut operands = [Operand::new(), Operand::new()];
        let blocks = out.values_mut().chunks_mut(ENCODED * settings.dim);
        for (nodes, out) in nodes.chunks(ENCODED).zip(blocks) {
            let wanted = neighbours(layer, nodes, &[Sight::WHOLE], cap);
            gather(&mut operands, &self.source, &wanted, weights, &self.adders);
            let blocks = out.chunks_mut(BLOCK * settings.dim).collect();
            encode(&operands, settings, weights, nodes.len(), blocks);
        }
        out
    }
}

/// The three views of a layer: the graph itself, T+ and T-.
fn sights(
    settings: &Settings,
    step: &Step<'_>,
    layer: usize,
    (nodes, visited): (usize, usize),
) -> [Sight; 3] {
    let keep = 1.0 - settings.p_drop;
    let stream = |purpose| draw::stream(settings.seed, purpose, step, layer);
    let survivors = |dropped: bool, purpose| dropped.then(|| Words::new(stream(purpose), keep));
    let scale = |dropped: bool| match settings.augmentation {
        Augmentation::Dropout if dropped => (1.0 / keep) as f32,
        _ => 1.0,
    };
    let positive = Sight {
        edges: survivors(settings.drop_edges, Purpose::EdgeMask),
        attributes: survivors(settings.drop_attributes, Purpose::AttributeMask),
        scales: [scale(settings.drop_edges), scale(settings.drop_attributes)],
        shuffle: None,
    };
    let shuffle = Some(Shuffle::new(stream(Purpose::Shuffle), nodes, visited));
    [Sight::WHOLE, positive, Sight { shuffle, ..Sight::WHOLE }]
}

/// What neighbours in one layer have.
fn neighbours<'a>(
    layer: usize,
    nodes: &'a [u32],
    sights: &'a [Sight],
    cap: (usize, Stream),
) -> Wanted<'a> {
    Wanted { own: false, layers: (layer, layer + 1), nodes, sights, cap }
}

fn gather<T: Kernels>(
    [neighbours, own]: &mut [Operand<T>; 2],
    source: &Source,
    wanted: &Wanted<'_>,
    weights: &LayerWeights<T>,
    adders: &PerThread<Adder<T>>,
) {
    neighbours.gather(source, wanted, adders);
    if weights.self_weight.is_some() {
        own.gather(source, &Wanted { own: true, layers: (0, 0), ..*wanted }, adders);
    }
}

/// `H = act(Y W + U W' + b)`, block by block of the views' rows.
fn encode<T: Kernels>(
    [neighbours, own]: &[Operand<T>; 2],
    settings: &Settings,
    weights: &LayerWeights<T>,
    nodes: usize,
    blocks: Vec<&mut [T]>,
) {
    let in_view = nodes.div_ceil(BLOCK);
    blocks.into_par_iter().enumerate().for_each(|(block, out)| {
        let first = block / in_view * nodes + block % in_view * BLOCK;
        out.chunks_mut(settings.dim).for_each(|row| row.copy_from_slice(&weights.bias));
        neighbours.forward(block, &weights.weight, first, out);
        if let Some(weight) = &weights.self_weight {
            own.forward(block, weight, first, out);
        }
        activate(settings.activation, out);
    });
}

#[cfg(test)]
mod tests;

//! The seam between what decides and what computes.
//!
//! Everything in front of [`Engine`] decides: stages, stopping, when to cluster. Everything behind
//! it touches numbers in bulk: views, encoders, losses, gradients, k-means, Adam. The weights, the
//! optimizer's moments and the clusters live behind the seam, wherever the engine keeps its memory.

pub mod backend;
pub mod cpu;

pub use backend::Backend;
pub use cpu::Footprint;

use crate::error::Result;
use crate::matrix::Dense;
use crate::model::LayerWeights;

/// A stage of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// L_N and R_N only.
    Warmup,
    /// All four terms.
    Joint,
}

impl Stage {
    /// The name in metrics and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Warmup => "warmup",
            Stage::Joint => "joint",
        }
    }
}

/// Which epoch to compute.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The stage, which decides the terms.
    pub stage: Stage,
    /// The epoch within the stage, from 0; with the seed it fixes every random draw.
    pub epoch: u32,
    /// Which prototypes are found again from this epoch's embeddings first, if any.
    pub recluster: Option<Recluster<'a>>,
    /// The weight of L_C, which only the joint stage has.
    pub lambda_c: f64,
}

/// Which prototypes to find.
#[derive(Debug, Clone, Copy)]
pub struct Recluster<'a> {
    /// How many, for each layer.
    pub counts: &'a [usize],
    /// Whether a layer's clusters are to be compact in the other layers as well.
    pub together: bool,
    /// Whether clusters are found anew each time, not followed.
    pub anew: bool,
    /// Seedings of k-means where there are no prototypes to go on from.
    pub restarts: usize,
    /// Seedings beside these where there are some.
    pub fresh: usize,
    /// By which share clusters from a seeding must be more compact to take the place of those that were followed.
    pub advantage: f64,
}

/// The objective's value and its parts at one epoch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terms {
    /// The whole objective, the number that is minimised.
    pub loss: f64,
    /// Sum over layers of w_v L_N.
    pub l_n: f64,
    /// L_N of each layer.
    pub layers: Vec<f64>,
    /// Sum over layers of w_v L_C; `None` where it has no weight or outside the joint stage.
    pub l_c: Option<f64>,
    /// R_N; `None` where it has no weight or nothing to align.
    pub r_n: Option<f64>,
    /// R_C; `None` where it has no weight, nothing to align, or outside the joint stage.
    pub r_c: Option<f64>,
    /// Lower bound on the mutual information between the embeddings of two layers, log 2 - R_N.
    pub mi_node: Option<f64>,
    /// Lower bound on the mutual information between a layer's clusters and another layer's
    /// embeddings: the clusters' entropy less the cross-entropy of recovering them.
    pub mi_cluster: Option<f64>,
    /// Mean cosine between a node's embeddings in two layers, for the pairs (0, 1), (0, 2), .., (1, 2), ..
    pub agreement: Vec<f64>,
    /// Whether clusters that were followed gave way to others in this epoch, so that its L_C and those before cannot be
    /// compared.
    pub replaced: bool,
}

/// Prototypes of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototypes<T = f32> {
    /// A row per cluster.
    pub centers: Dense<T>,
    /// The cluster of each node; none where steps go over batches, whose nodes are given the nearest.
    pub assignments: Vec<u32>,
}

/// Everything an engine must give back to go on later exactly as if it had not stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineState {
    /// Current weights.
    pub weights: Vec<LayerWeights>,
    /// The weights last remembered.
    pub remembered: Vec<LayerWeights>,
    /// Adam's first moments.
    pub first_moments: Vec<LayerWeights>,
    /// Adam's second moments.
    pub second_moments: Vec<LayerWeights>,
    /// Adam's step count.
    pub updates: u64,
    /// Prototypes, once there are some.
    pub prototypes: Option<Vec<Prototypes>>,
}

/// Computes on one graph with one set of weights. Wherever it keeps its memory, everything may fail.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// Computes the objective and, behind the seam, its gradients. The weights stay as they are.
    fn evaluate(&mut self, step: &Step<'_>) -> Result<Terms>;

    /// Moves the weights by Adam along the last gradients, with a learning rate for each layer. A layer whose
    /// rate is 0 stays as it is, its moments included.
    fn update(&mut self, learning_rates: &[f64]) -> Result<()>;

    /// Forgets the optimizer's moments.
    fn reset_optimizer(&mut self) -> Result<()>;

    /// Keeps a copy of a layer's current weights.
    fn remember(&mut self, layer: usize) -> Result<()>;

    /// Goes back to the weights last remembered.
    fn recall(&mut self) -> Result<()>;

    /// Nodes of the graph.
    fn nodes(&self) -> usize;

    /// Embeddings of the undropped graph, one matrix per layer, a block of nodes at a time: the first node of a block,
    /// and its rows.
    fn embed(&mut self, block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>) -> Result<()>;

    /// The same as whole matrices.
    fn embed_layers(&mut self) -> Result<Vec<Dense>> {
        let mut layers = Vec::new();
        let nodes = self.nodes();
        self.embed(&mut |first, blocks| {
            if layers.is_empty() {
                layers = blocks.iter().map(|block| Dense::zeros(nodes, block.cols())).collect();
            }
            layers.iter_mut().zip(blocks).for_each(|(layer, block)| layer.put(first, &block));
            Ok(())
        })?;
        Ok(layers)
    }

    /// Those of some nodes alone.
    fn embed_some(&mut self, nodes: &[u32]) -> Result<Vec<Dense>>;

    /// A copy of the weights.
    fn weights(&self) -> Result<Vec<LayerWeights>>;

    /// Everything needed to go on later.
    fn state(&self) -> Result<EngineState>;

    /// Bytes of what `state` gives, about.
    fn state_bytes(&self) -> u64;

    /// Goes on from a state; it must come from the same graph and configuration.
    fn restore(&mut self, state: EngineState) -> Result<()>;

    /// Seconds spent so far, by what they were spent on, in the order of an epoch; nothing where nobody counts.
    fn phases(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    fn evaluate(&mut self, step: &Step<'_>) -> Result<Terms> {
        (**self).evaluate(step)
    }

    fn update(&mut self, learning_rates: &[f64]) -> Result<()> {
        (**self).update(learning_rates)
    }

    fn reset_optimizer(&mut self) -> Result<()> {
        (**self).reset_optimizer()
    }

    fn remember(&mut self, layer: usize) -> Result<()> {
        (**self).remember(layer)
    }

    fn recall(&mut self) -> Result<()> {
        (**self).recall()
    }

    fn nodes(&self) -> usize {
        (**self).nodes()
    }

    fn embed(&mut self, block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>) -> Result<()> {
        (**self).embed(block)
    }

    fn embed_some(&mut self, nodes: &[u32]) -> Result<Vec<Dense>> {
        (**self).embed_some(nodes)
    }

    fn weights(&self) -> Result<Vec<LayerWeights>> {
        (**self).weights()
    }

    fn state(&self) -> Result<EngineState> {
        (**self).state()
    }

    fn state_bytes(&self) -> u64 {
        (**self).state_bytes()
    }

    fn restore(&mut self, state: EngineState) -> Result<()> {
        (**self).restore(state)
    }

    fn phases(&self) -> Vec<(&'static str, f64)> {
        (**self).phases()
    }
}

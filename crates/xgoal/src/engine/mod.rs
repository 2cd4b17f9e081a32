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
use crate::settings::PrototypeSource;

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
    /// How many draws of the views it takes the mean over, at least one.
    pub draws: usize,
    /// Which prototypes are found again from this epoch's embeddings first, if any.
    pub recluster: Option<Recluster<'a>>,
    /// The weight of L_C, which only the joint stage has.
    pub lambda_c: f64,
}

/// What nodes have beside their embeddings in one layer, to choose by among clusters of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nothing that is looked at.
    Nothing,
    /// Their embeddings in the other layers.
    Layers,
    /// The attributes as the layer's encoder sees them.
    Attributes,
}

/// Which prototypes to find.
#[derive(Debug, Clone, Copy)]
pub struct Recluster<'a> {
    /// How many, for each layer.
    pub counts: &'a [usize],
    /// Whose clusters they are made of. Shared ones are as many in every layer.
    pub source: PrototypeSource,
    /// In what else a layer's clusters are to be compact.
    pub beside: Beside,
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

impl Terms {
    /// The mean over draws of one epoch. A term is there in all of them or in none.
    pub(crate) fn mean(draws: &[Terms]) -> Terms {
        let share = 1.0 / draws.len() as f64;
        let mean =
            |term: &dyn Fn(&Terms) -> f64| draws.iter().map(|t| share * term(t)).sum::<f64>();
        let optional = |term: fn(&Terms) -> Option<f64>| {
            let sum: Option<f64> = draws.iter().map(term).sum();
            sum.map(|sum| share * sum)
        };
        let each = |values: fn(&Terms) -> &[f64]| {
            let count = draws.first().map_or(0, |t| values(t).len());
            (0..count).map(|i| mean(&|t| values(t)[i])).collect()
        };
        Terms {
            loss: mean(&|t| t.loss),
            l_n: mean(&|t| t.l_n),
            layers: each(|t| &t.layers),
            l_c: optional(|t| t.l_c),
            r_n: optional(|t| t.r_n),
            r_c: optional(|t| t.r_c),
            mi_node: optional(|t| t.mi_node),
            mi_cluster: optional(|t| t.mi_cluster),
            agreement: each(|t| &t.agreement),
            replaced: draws.iter().any(|t| t.replaced),
        }
    }
}

/// Prototypes of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototypes<T = f32> {
    /// A row per cluster.
    pub centers: Dense<T>,
    /// The cluster of each node.
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

    /// Embeddings of the undropped graph, one matrix per layer.
    fn embed(&mut self) -> Result<Vec<Dense>>;

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

    fn embed(&mut self) -> Result<Vec<Dense>> {
        (**self).embed()
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

//! The node loss on views that were never trained on.
//!
//! ```text
//!     1/|E| sum_(e in E) 1/V sum_v L_N(v, e)
//! ```
//!
//! with E epochs that no training reaches, whose masks and permutations are the same for every model: seed and
//! augmentation are those of one configuration that all are compared by.

use crate::engine::{Stage, backend};
use crate::error::Result;
use crate::graph::MultiplexGraph;
use crate::model::Model;
use crate::settings::{PerLayer, Settings};
use crate::train;

/// Epochs whose mean is taken, the last ones there could be; settings allow half as many.
const EPOCHS: std::ops::RangeInclusive<u32> = u32::MAX - 2..=u32::MAX;

/// The mean node loss of a model on views drawn as `like` has it.
pub(super) fn unseen_loss(model: &Model, graph: &MultiplexGraph, like: &Settings) -> Result<f64> {
    let settings = Settings {
        seed: like.seed,
        p_drop: like.p_drop,
        augmentation: like.augmentation,
        drop_attributes: like.drop_attributes,
        drop_edges: like.drop_edges,
        layer_weights: PerLayer::One(1.0 / graph.layers().len() as f64),
        // Nothing but the node loss is asked for, of the same views whatever a model was trained with.
        warmup_mu_n: 0.0,
        lambda_c: Some(0.0),
        ..model.config().settings().clone()
    };
    let config = settings.validate(&graph.layer_names())?;
    let weights = Some(model.weights().to_vec());
    let mut engine = backend::DEFAULT.engine(&config, graph, weights)?;
    let mut losses = Vec::new();
    for epoch in EPOCHS {
        losses.push(engine.evaluate(&train::step(&config, None, Stage::Warmup, epoch))?.l_n);
    }
    Ok(losses.iter().sum::<f64>() / losses.len() as f64)
}

//! What a training is kept of, when it is over, by measures without labels.
//!
//! **The warm-up**, where the joint stage took away more than it gave: nearest nodes are less alike in the attributes around
//! them than they were,
//!
//! ```text
//!     likeness(joint) < 0.75 likeness(warm-up)
//! ```
//!
//! with the likeness of [`Witness`]. Clusters may well cut across attributes, and a little is lost wherever nodes are pulled
//! together; a quarter is not.
//!
//! **Collapse** is said: embeddings that nearly all point one way, so that nearest nodes mean little. It is looked for while the
//! joint stage goes on, too, every `patience` epochs (and 20 at least): where two looks that follow each other see it, and
//! there was none before, the stage is over, as the warm-up is what will be kept.

use super::Trainer;
use crate::engine::{Engine, Stage};
use crate::error::Result;
use crate::graph::{Witness, mean_cosine, spread};
use crate::matrix::Dense;
use crate::model::mean_of_layers;
use crate::settings::{Decision, Schedule, When};

/// The share of the warm-up's likeness that the joint stage must leave.
const LEFT: f64 = 0.75;
/// Less likeness than this cannot judge.
const SAYS_NOTHING: f64 = 0.05;
/// A mean cosine of any two nodes above which embeddings have collapsed.
const COLLAPSED: f64 = 0.9;
/// Nodes by which it is seen while training goes on.
const SEEN: usize = 512;
/// Epochs from one look to the next, at least.
const APART: usize = 20;

impl<E: Engine> Trainer<E> {
    /// Whether the joint stage has brought about a collapse by the beginning of an epoch.
    pub(super) fn collapses(&mut self, stage: Stage, epoch: u32) -> Result<bool> {
        let settings = self.config.settings();
        let due = (epoch as usize).is_multiple_of(settings.patience.max(APART));
        let asked = stage == Stage::Joint && settings.warmup && due;
        if !asked || settings.schedule == Schedule::Paper {
            return Ok(false);
        }
        let nodes: Vec<u32> = spread(self.engine.nodes(), SEEN).map(|n| n as u32).collect();
        let layers = self.engine.embed_some(&nodes)?;
        self.progress.looks.push(mean_cosine(&mean_of_layers(&layers)));
        Ok(match self.progress.looks[..] {
            [before, .., last, now] => before <= COLLAPSED && last.min(now) > COLLAPSED,
            _ => false,
        })
    }

    /// Decides what to keep of a training that is over, and says so.
    pub(crate) fn settle(&mut self, witness: &Witness) -> Result<Vec<Decision>> {
        let (schedule, warmup) = (self.config.settings().schedule, self.config.settings().warmup);
        if !self.progress.done || schedule == Schedule::Paper {
            return Ok(Vec::new());
        }
        let mut decisions = Vec::new();
        let mut kept = witness.see(&self.look(witness)?);
        if warmup && self.progress.joint {
            let joint = self.engine.state()?;
            self.engine.recall()?;
            let before = witness.see(&self.look(witness)?);
            let worse = before.likeness > SAYS_NOTHING && kept.likeness < LEFT * before.likeness;
            let collapsed = kept.cosine > COLLAPSED && before.cosine <= COLLAPSED;
            if worse || collapsed {
                let why = match collapsed {
                    true => format!(
                        "after the joint stage all nodes nearly point one way (mean cosine {:.2}, {:.2} before)",
                        kept.cosine, before.cosine
                    ),
                    false => format!(
                        "after the joint stage nearest nodes are less alike in the attributes around them (likeness {:.2}, \
                         {:.2} before)",
                        kept.likeness, before.likeness
                    ),
                };
                let why = format!("kept as the result, because {why}");
                decisions.push(Decision::new(When::End, "warmup", true, why));
                kept = before;
            } else {
                self.engine.restore(joint)?;
            }
        }
        if kept.cosine > COLLAPSED {
            let why = format!(
                "collapsed: all nodes nearly point one way (mean cosine {:.2}), so that nearest ones mean little; \
                 compare with the baselines of `xgoal eval`",
                kept.cosine
            );
            decisions.push(Decision::new(When::End, "embeddings", kept.cosine, why));
        }
        self.progress.last.clone_from(&decisions);
        Ok(decisions)
    }

    fn look(&mut self, witness: &Witness) -> Result<Dense> {
        let layers = self.engine.embed_some(&witness.nodes)?;
        Ok(mean_of_layers(&layers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cpu::CpuEngine;
    use crate::graph::planted::Planted;
    use crate::model::LayerWeights;
    use crate::settings::Settings;

    /// A training that is over, whose joint stage multiplied all weights by a number.
    fn settled(times: f32) -> (Vec<Decision>, Vec<LayerWeights>, Vec<LayerWeights>) {
        let graph = Planted { nodes: 300, ..Planted::default() }.generate().unwrap();
        let mut settings = Settings::default();
        for (key, value) in [("dim", "8"), ("clusters", "3"), ("max_epochs", "3")] {
            settings.set(key, value).unwrap();
        }
        let config = settings.validate(&graph.layer_names()).unwrap();
        let engine = CpuEngine::<f32>::start(&config, &graph, None).unwrap();
        let mut trainer = Trainer::new(engine, config);
        while trainer.progress().stages.len() < 2 {
            trainer.step().unwrap();
        }
        let mut state = trainer.engine.state().unwrap();
        let warm = state.remembered.clone();
        for tensor in state.weights.iter_mut().flat_map(LayerWeights::tensors_mut) {
            tensor.iter_mut().for_each(|v| *v *= times);
        }
        let joint = state.weights.clone();
        trainer.engine.restore(state).unwrap();
        trainer.progress.done = true;
        let decisions = trainer.settle(&Witness::of(&graph)).unwrap();
        assert_eq!(trainer.progress().last, decisions);
        let kept = trainer.engine.weights().unwrap();
        assert!(kept == warm || kept == joint);
        (decisions, kept, warm)
    }

    #[test]
    fn a_joint_stage_that_collapses_is_not_waited_for() {
        let graph = Planted { nodes: 300, ..Planted::default() }.generate().unwrap();
        let mut settings = Settings::default();
        let set = [("dim", "8"), ("clusters", "3"), ("max_epochs", "90"), ("patience", "25")];
        for (key, value) in set.into_iter().chain([("lr", "0.000001")]) {
            settings.set(key, value).unwrap();
        }
        let config = settings.validate(&graph.layer_names()).unwrap();
        let joint = |collapse: bool| {
            let engine = CpuEngine::<f32>::start(&config, &graph, None).unwrap();
            let mut trainer = Trainer::new(engine, config.clone());
            while trainer.progress().stages.len() < 2 {
                trainer.step().unwrap();
            }
            let mut state = trainer.engine.state().unwrap();
            let warm = state.remembered.clone();
            if collapse {
                // Every unit at its end: all nodes have the same embedding, and no gradient.
                state.weights.iter_mut().for_each(|w| w.bias.fill(30.0));
                trainer.engine.restore(state).unwrap();
            }
            // As long as its patience would let it.
            while !trainer.progress().done {
                trainer.progress.watches = super::super::watches(&config, true);
                trainer.step().unwrap();
            }
            let decisions = trainer.settle(&Witness::of(&graph)).unwrap();
            let epochs = trainer.progress().stages[1].epochs;
            (epochs, decisions, trainer.engine.weights().unwrap() == warm)
        };
        let (epochs, decisions, warm) = joint(true);
        assert_eq!((epochs, warm), (51, true), "{decisions:?}");
        assert!(decisions[0].to_string().contains("all nodes nearly point one way"));
        let (epochs, decisions, warm) = joint(false);
        assert_eq!((epochs, warm), (90, false), "{decisions:?}");
    }

    #[test]
    fn the_warm_up_is_kept_where_the_joint_stage_lost_what_it_had() {
        let (decisions, kept, warm) = settled(0.0);
        assert_eq!(kept, warm);
        assert!(
            decisions[0].to_string().starts_with("warmup: kept as the result"),
            "{decisions:?}"
        );
        let (decisions, kept, warm) = settled(1.0);
        assert!(kept != warm && decisions.is_empty(), "{decisions:?}");
    }
}

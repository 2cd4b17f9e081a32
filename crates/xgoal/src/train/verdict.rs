//! What a training is kept of, when it is over, by measures without labels.
//!
//! **The warm-up**, where the joint stage took away more than it gave: nearest nodes are less alike in the attributes around
//! them than they were,
//!
//! ```text
//!     likeness(joint) < 0.9 likeness(warm-up)
//! ```
//!
//! with the likeness of [`Witness`]. Clusters may well cut across attributes, and a little is lost wherever nodes are pulled
//! together; a tenth is not.
//!
//! **Collapse** is said: embeddings that nearly all point one way, so that nearest nodes mean little.

use super::Trainer;
use crate::engine::Engine;
use crate::error::Result;
use crate::graph::Witness;
use crate::matrix::Dense;
use crate::model::mean_of_layers;
use crate::settings::{Decision, Schedule, When};

/// The share of the warm-up's likeness that the joint stage must leave.
const LEFT: f64 = 0.9;
/// Less likeness than this cannot judge.
const SAYS_NOTHING: f64 = 0.05;
/// A mean cosine of any two nodes above which embeddings have collapsed.
const COLLAPSED: f64 = 0.9;

impl<E: Engine> Trainer<E> {
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

//! One training, from a graph and settings to what was learnt: the protocol that all doors share.
//!
//! ```text
//!     plan(graph, settings, limits)     what will be done, what it takes, every decision so far
//!     Session::start(plan, sink)        from the beginning, or from where a run folder was left
//!     next() .. next()                  an epoch, a stage that ended, clusters, a decision
//!     finish()                          embeddings, model, stages; at any time
//! ```
//!
//! Where results go is a [`Sink`]: a run folder ([`RunFolder`]), memory (a `Vec` of records), or nowhere (`()`). What is
//! written is written before the event that tells of it comes out of [`Session::next`].

mod folder;
mod plan;
mod sink;

pub use folder::RunFolder;
pub use plan::{Limits, Plan, plan, planning_bytes};
pub use sink::Sink;

use crate::engine::{Engine, Prototypes, Stage};
use crate::error::Result;
use crate::graph::{MultiplexGraph, Witness};
use crate::kmeans;
use crate::matrix::Dense;
use crate::model::{Model, Origin, final_mean};
use crate::real::View;
use crate::settings::{Config, Decision};
use crate::train::{EpochRecord, Progress, StageReport, Trainer, finds_prototypes};
use std::collections::VecDeque;

/// What happened in a training, or is about to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The next epoch begins by finding prototypes; the first time, that takes longer than an epoch.
    FindingClusters {
        /// Whether there were none so far.
        first: bool,
    },
    /// An epoch is over.
    Epoch(EpochRecord),
    /// Prototypes were found in that epoch.
    FoundClusters {
        /// Whether any took the place of clusters that were followed.
        replaced: bool,
    },
    /// A stage is over.
    StageEnded(StageReport),
    /// What was `auto` is so no more.
    Decided(Decision),
}

/// A training under way.
#[derive(Debug)]
pub struct Session<S> {
    trainer: Trainer,
    graph: MultiplexGraph,
    origin: Origin,
    sink: S,
    /// What happened and was not told yet.
    untold: VecDeque<Event>,
    /// Whether it was told that clusters are about to be found.
    seeking: bool,
    /// Stages that ended.
    ended: usize,
    stopped: bool,
}

/// What a training came to. Embeddings are encoded when they are asked for, so that those who want some rows at a time, as
/// a run folder does, need no room for all of them.
#[derive(Debug)]
pub struct Outcome {
    /// The weights, with the settings as they were resolved.
    pub model: Model,
    /// One report per stage that has begun.
    pub stages: Vec<StageReport>,
    /// Whether it was finished before its end.
    pub interrupted: bool,
    engine: Box<dyn Engine>,
}

impl Outcome {
    /// The final embedding: a row per node, the mean over the layers.
    pub fn embeddings(&mut self) -> Result<Dense> {
        let mut all = Dense::zeros(self.engine.nodes(), self.model.config().settings().dim);
        let mut first = 0;
        self.each_block(|block| {
            all.put(first, block);
            first += block.rows();
            Ok(())
        })?;
        Ok(all)
    }

    /// The same, some rows after the others.
    pub fn each_block(&mut self, mut with: impl FnMut(&Dense) -> Result<()>) -> Result<()> {
        let config = self.model.config();
        self.engine.embed(&mut |_, layers| with(&final_mean(config, &layers)))
    }

    /// Each layer's own embeddings.
    pub fn layers(&mut self) -> Result<Vec<Dense>> {
        self.engine.embed_layers()
    }

    /// Each layer's prototypes, if there came to be some, and each node's.
    pub fn prototypes(&mut self) -> Result<Option<Vec<Prototypes>>> {
        let Some(mut all) = self.engine.state()?.prototypes else { return Ok(None) };
        // Over batches nobody's was kept: a node's is the nearest.
        if all.iter().all(|prototypes| prototypes.assignments.is_empty()) {
            self.engine.embed(&mut |_, blocks| {
                for (prototypes, rows) in all.iter_mut().zip(&blocks) {
                    let nearest =
                        kmeans::nearest(View::from(rows), View::from(&prototypes.centers));
                    prototypes.assignments.extend(nearest);
                }
                Ok(())
            })?;
        }
        Ok(Some(all))
    }
}

impl<S: Sink> Session<S> {
    /// Begins what was planned, or goes on with it where the sink has a state to go on from.
    pub fn start(plan: &Plan<'_>, mut sink: S) -> Result<Self> {
        let engine = plan.engine()?;
        let config = plan.config();
        let origin = Origin::of(plan.graph(), config);
        let trainer = match sink.begin(config, origin.graph())? {
            None => Trainer::new(engine, config.clone()),
            Some(saved) => Trainer::resume(engine, config.clone(), saved.engine, saved.progress)?,
        };
        let ended = ended(trainer.progress());
        let untold = VecDeque::new();
        let graph = plan.graph().clone();
        Ok(Self { trainer, graph, origin, sink, untold, seeking: false, ended, stopped: false })
    }

    /// What happens next; `None` when training is over or was stopped. Epochs are computed in here, one at a time.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator of results would go on after an error"
    )]
    pub fn next(&mut self) -> Result<Option<Event>> {
        if self.untold.is_empty() && !self.stopped {
            if !self.seeking && self.seeks_clusters() {
                self.seeking = true;
                let first = self.trainer.progress().choice.is_none();
                return Ok(Some(Event::FindingClusters { first }));
            }
            self.seeking = false;
            self.step()?;
        }
        Ok(self.untold.pop_front())
    }

    /// Begins no other epoch: what comes next is what is left to be told, and then the end.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Where training stands.
    pub fn progress(&self) -> &Progress {
        self.trainer.progress()
    }

    /// The settings it runs by.
    pub fn config(&self) -> &Config {
        self.trainer.config()
    }

    /// Where its results go.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Whether the next epoch finds prototypes.
    fn seeks_clusters(&self) -> bool {
        let at = self.trainer.progress();
        !at.done && finds_prototypes(self.trainer.config(), at.stage(), at.epoch)
    }

    /// Runs an epoch, if there is one left, and writes what came of it.
    fn step(&mut self) -> Result<()> {
        let undecided = self.trainer.progress().choice.is_none();
        let Some(record) = self.trainer.step()? else { return Ok(()) };
        let settled = match self.trainer.progress().done {
            true => self.trainer.settle(&Witness::of(&self.graph))?,
            false => Vec::new(),
        };
        let (trainer, origin) = (&self.trainer, &self.origin);
        let progress = trainer.progress();
        let mut events = Vec::new();
        if record.reclustered {
            events.push(Event::FoundClusters { replaced: record.replaced });
        }
        if ended(progress) > self.ended {
            let stage = &progress.stages[self.ended];
            // Before any state that knows that the warm-up is over.
            if stage.name == Stage::Warmup.as_str() {
                let model = || Model::trained(trainer.config().clone(), trainer.weights()?, origin);
                self.sink.warmup_ended(&model)?;
            }
            events.push(Event::StageEnded(stage.clone()));
            self.ended += 1;
        }
        if let Some(choice) = progress.choice.as_ref().filter(|_| undecided) {
            if trainer.resolved() != *trainer.config() {
                self.sink.decided(trainer)?;
            }
            events.extend(choice.decisions().into_iter().map(Event::Decided));
        }
        events.extend(settled.into_iter().map(Event::Decided));
        self.sink.epoch(&record, trainer)?;
        self.untold.push_back(Event::Epoch(record));
        self.untold.extend(events);
        Ok(())
    }

    /// Ends the training where it stands and writes what was learnt. One that is not over yet is saved before, so that it
    /// can go on.
    pub fn finish(mut self) -> Result<Outcome> {
        let progress = self.trainer.progress();
        let interrupted = !progress.done;
        let stages = progress.stages.clone();
        if interrupted {
            self.sink.interrupted(&self.trainer)?;
        }
        let config = self.trainer.resolved();
        let engine = self.trainer.into_engine()?;
        let model = Model::trained(config, engine.weights()?, &self.origin)?;
        let mut outcome = Outcome { model, stages, interrupted, engine };
        self.sink.finish(&mut outcome)?;
        Ok(outcome)
    }
}

/// How many stages are over.
fn ended(progress: &Progress) -> usize {
    progress.stages.len() - usize::from(progress.epoch > 0 && !progress.done)
}

#[cfg(test)]
mod tests;

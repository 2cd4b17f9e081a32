//! The schedule: warm up on L_N + R_N, then train on everything, each stage until its loss stops
//! improving.
//!
//! - In the warm-up every layer is judged by its own L_N. It is at rest when `patience` epochs in a row brought no new best
//!   mean of the last `patience / 5` losses that adds a share of `min_gain` to what was gained so far, five times it with
//!   a principal start (with a share of zero, any lower mean). A layer at rest stays as it is; when all are, the weights of each layer's best
//!   epoch are taken, and the joint stage starts from them with a fresh optimizer. A layer that is trained on
//!   while another still learns gets worse: L_N alone draws nodes apart that belong together.
//! - In the joint stage prototypes are found again every `cluster_every` epochs. It ends when `patience`
//!   epochs in a row brought no new best mean of the last `patience / 5` losses or, with a share of `min_gain`, none of
//!   the last `patience / 2` that adds it; the last weights are kept. A single loss will not do: one shuffle of the
//!   negative view differs from the next by more than this slow stage gains in a hundred epochs, and a lucky one would
//!   end it anywhere.
//! - It also ends where all nodes have come to point one way, which is looked at every `patience` epochs (`verdict`).
//! - That is the `smooth` schedule. The `paper` one goes by single losses, the warm-up's summed over layers, and ends a stage
//!   after `patience` epochs without a new least one.
//!
//! [`Trainer::step`] runs one epoch, so the caller's loop can show progress, save or stop between
//! any two. Everything that touches numbers in bulk is behind the [`Engine`].

mod choice;
mod gap;
mod memory;
mod plan;
mod verdict;
mod watch;

pub use choice::Choice;
pub use memory::MemoryEstimate;
pub use plan::{finds_prototypes, recluster, step};
pub use watch::Watch;

use self::watch::Judge;
use crate::engine::{Engine, EngineState, Stage};
use crate::error::{Error, Result};
use crate::model::LayerWeights;
use crate::settings::{Config, Decision, Schedule, Settings};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What one epoch reports; a line of `metrics.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochRecord {
    /// `warmup` or `joint`.
    pub stage: &'static str,
    /// Epoch within the stage, from 0.
    pub epoch: u32,
    /// The whole objective.
    pub loss: f64,
    /// Sum over layers of w_v L_N.
    pub l_n: f64,
    /// L_N of each layer, which decides when its warm-up ends.
    pub l_n_layers: Vec<f64>,
    /// Sum over layers of w_v L_C.
    pub l_c: Option<f64>,
    /// R_N.
    pub r_n: Option<f64>,
    /// R_C.
    pub r_c: Option<f64>,
    /// log 2 - R_N, a lower bound on the layers' mutual information (Theorem 1).
    pub mi_node: Option<f64>,
    /// Lower bound on the information between clusters and other layers (Theorem 2).
    pub mi_cluster: Option<f64>,
    /// Mean cosine between a node's embeddings in two layers, pair after pair.
    pub agreement: Vec<f64>,
    /// Whether prototypes were found in this epoch.
    pub reclustered: bool,
    /// Whether these took the place of others that were followed, so that L_C cannot be compared with that of before.
    pub replaced: bool,
    /// Epochs without a new best loss that are still allowed.
    pub patience_left: u32,
    /// Seconds this epoch took.
    pub seconds: f64,
}

/// What a stage came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// `warmup` or `joint`.
    pub name: String,
    /// Epochs it ran.
    pub epochs: u32,
    /// Seconds it took.
    pub seconds: f64,
    /// The loss of its last epoch.
    pub final_loss: f64,
}

/// Where training stands between two epochs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Whether the warm-up is over.
    pub joint: bool,
    /// The next epoch of the stage.
    pub epoch: u32,
    /// What the stage goes by: in the warm-up a loss per layer, then the whole objective.
    pub watches: Vec<Watch>,
    /// What was decided before training.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// What was chosen once the joint stage had begun.
    #[serde(default)]
    pub choice: Option<Choice>,
    /// One report per stage that has begun.
    pub stages: Vec<StageReport>,
    /// Whether the last stage has ended.
    pub done: bool,
    /// What was decided when it had.
    #[serde(default)]
    pub last: Vec<Decision>,
    /// How far nodes pointed one way whenever it was looked at in the joint stage; before its first step, first.
    #[serde(default)]
    pub(crate) looks: Vec<f64>,
}

impl Progress {
    /// Before the first epoch.
    pub fn new(config: &Config) -> Self {
        Self {
            joint: !config.settings().warmup,
            epoch: 0,
            watches: watches(config, !config.settings().warmup),
            decisions: config.decisions().to_vec(),
            choice: None,
            stages: Vec::new(),
            done: false,
            last: Vec::new(),
            looks: Vec::new(),
        }
    }

    /// What was decided so far, before training and in it.
    pub fn decisions(&self) -> Vec<Decision> {
        let later = self.choice.iter().flat_map(Choice::decisions);
        let decisions = self.decisions.iter().cloned().chain(later);
        decisions.chain(self.last.iter().cloned()).collect()
    }

    /// Epochs of all stages so far.
    pub fn epochs(&self) -> u64 {
        self.stages.iter().map(|s| u64::from(s.epochs)).sum()
    }

    /// The stage of the next epoch.
    pub fn stage(&self) -> Stage {
        if self.joint { Stage::Joint } else { Stage::Warmup }
    }

    /// Whether training by these settings can stand here; a file may say anything.
    pub(crate) fn is_possible(&self, settings: &Settings) -> bool {
        let names: &[&str] = if settings.warmup { &["warmup", "joint"] } else { &["joint"] };
        let layers = settings.layers.as_ref().map_or(0, Vec::len);
        // Stages before the current one have run; the current one may not have begun.
        let current = if self.joint { names.len() - 1 } else { 0 };
        let begun = self.stages.iter().map(|s| s.name.as_str());
        let judge = Judge::of(self.stage(), settings);
        (self.joint || (settings.warmup && !self.done))
            && (current..=current + 1).contains(&self.stages.len())
            && begun.eq(names.iter().copied().take(self.stages.len()))
            && self.stages.get(current).map_or(0, |s| s.epochs) == self.epoch
            && self.epoch as usize <= settings.max_epochs
            && self.watches.len() == if by_layer(settings, self.stage()) { layers } else { 1 }
            && self.watches.iter().all(|w| w.is_possible(self.epoch, judge))
            && self.choice.as_ref().is_none_or(|choice| choice.is_possible(layers))
    }
}

/// What a stage goes by, before its first epoch.
fn watches(config: &Config, joint: bool) -> Vec<Watch> {
    let stage = if joint { Stage::Joint } else { Stage::Warmup };
    let apart = by_layer(config.settings(), stage);
    vec![Watch::default(); if apart { config.layers().len() } else { 1 }]
}

/// Whether each layer is judged by its own loss.
fn by_layer(settings: &Settings, stage: Stage) -> bool {
    stage == Stage::Warmup && settings.schedule == Schedule::Smooth
}

/// Trains one engine by the schedule.
#[derive(Debug)]
pub struct Trainer<E = Box<dyn Engine>> {
    engine: E,
    config: Config,
    progress: Progress,
}

impl<E: Engine> Trainer<E> {
    /// At the start of the first stage.
    pub fn new(engine: E, config: Config) -> Self {
        let progress = Progress::new(&config);
        Self { engine, config, progress }
    }

    /// Goes on where an earlier training stood; an engine that had done nothing yet has no state.
    pub fn resume(
        mut engine: E,
        config: Config,
        state: Option<EngineState>,
        progress: Progress,
    ) -> Result<Self> {
        if let Some(state) = state {
            engine.restore(state)?;
        }
        Ok(Self { engine, config, progress })
    }

    /// Runs the next epoch; `None` when training is over.
    pub fn step(&mut self) -> Result<Option<EpochRecord>> {
        if self.progress.done {
            return Ok(None);
        }
        let started = Instant::now();
        let stage = self.progress.stage();
        let epoch = self.progress.epoch;
        let reclustered = finds_prototypes(&self.config, stage, epoch);
        if reclustered && self.progress.choice.is_none() {
            self.progress.choice = Some(Choice::new(&self.config, &mut self.engine)?);
        }
        let collapsed = self.collapses(stage, epoch)?;
        let choice = self.progress.choice.as_ref();
        let terms = self.engine.evaluate(&step(&self.config, choice, stage, epoch))?;
        for (term, value) in [
            ("l_n", Some(terms.l_n)),
            ("l_c", terms.l_c),
            ("r_n", terms.r_n),
            ("r_c", terms.r_c),
            ("loss", Some(terms.loss)),
        ] {
            if let Some(value) = value.filter(|v| !v.is_finite()) {
                return Err(Error::NonFinite { stage: stage.as_str(), epoch, term, value });
            }
        }
        let settings = self.config.settings();
        let rate = if stage == Stage::Warmup { settings.warmup_lr } else { settings.lr };
        let judge = Judge::of(stage, settings);
        let layers = self.config.layers().len();
        let mut rates = vec![rate; layers];
        let apart = self.progress.watches.len() == terms.layers.len() && by_layer(settings, stage);
        let losses = if apart { &terms.layers[..] } else { std::slice::from_ref(&terms.loss) };
        for (w, (watch, loss)) in self.progress.watches.iter_mut().zip(losses).enumerate() {
            let watched = if apart { w..w + 1 } else { 0..layers };
            if watch.left(settings.patience) == 0 {
                rates[watched].fill(0.0);
            } else if watch.see(*loss, judge) && stage == Stage::Warmup {
                watched.into_iter().try_for_each(|v| self.engine.remember(v))?;
            }
        }
        self.engine.update(&rates)?;
        let left = self.progress.watches.iter().map(|watch| watch.left(settings.patience));
        let patience_left = left.max().unwrap_or(0);
        let over = patience_left == 0 || collapsed || epoch as usize + 1 >= settings.max_epochs;
        let seconds = started.elapsed().as_secs_f64();
        self.note(stage, terms.loss, seconds);
        if over {
            self.end_stage(stage)?;
        }
        Ok(Some(EpochRecord {
            stage: stage.as_str(),
            epoch,
            loss: terms.loss,
            l_n: terms.l_n,
            l_n_layers: terms.layers,
            l_c: terms.l_c,
            r_n: terms.r_n,
            r_c: terms.r_c,
            mi_node: terms.mi_node,
            mi_cluster: terms.mi_cluster,
            agreement: terms.agreement,
            reclustered,
            replaced: terms.replaced,
            patience_left,
            seconds,
        }))
    }

    fn note(&mut self, stage: Stage, loss: f64, seconds: f64) {
        let progress = &mut self.progress;
        progress.epoch += 1;
        if progress.stages.last().is_none_or(|s| s.name != stage.as_str()) {
            progress.stages.push(StageReport {
                name: stage.as_str().to_string(),
                epochs: 0,
                seconds: 0.0,
                final_loss: loss,
            });
        }
        let report = progress.stages.last_mut().expect("just pushed");
        report.epochs += 1;
        report.seconds += seconds;
        report.final_loss = loss;
    }

    fn end_stage(&mut self, stage: Stage) -> Result<()> {
        match stage {
            Stage::Warmup => {
                self.engine.recall()?;
                self.engine.reset_optimizer()?;
                self.progress.joint = true;
                self.progress.epoch = 0;
                self.progress.watches = watches(&self.config, true);
            }
            Stage::Joint => {
                self.check_weights(&self.engine.weights()?)?;
                self.progress.done = true;
            }
        }
        Ok(())
    }

    /// The last step may have led out of the numbers, which only the next epoch's loss would show.
    fn check_weights(&self, weights: &[LayerWeights]) -> Result<()> {
        let bad = weights.iter().flat_map(|w| w.tensors().flatten()).find(|v| !v.is_finite());
        let (Some(value), Some(last)) = (bad, self.progress.stages.last()) else { return Ok(()) };
        let joint = last.name == Stage::Joint.as_str();
        let stage = if joint { Stage::Joint } else { Stage::Warmup };
        Err(Error::NonFinite {
            stage: stage.as_str(),
            epoch: last.epochs.saturating_sub(1),
            term: "a weight",
            value: f64::from(*value),
        })
    }

    /// Where training stands.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The settings it runs by, as they were given.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The settings with what was chosen since in the place of `auto`.
    pub fn resolved(&self) -> Config {
        let config = self.config.with_choice(self.progress.choice.as_ref());
        config.with_decisions(self.progress.decisions())
    }

    /// A copy of the weights as they are.
    pub fn weights(&self) -> Result<Vec<LayerWeights>> {
        self.engine.weights()
    }

    /// The engine's state, to go on later. A state that is not good to go on from is an error.
    pub fn state(&self) -> Result<EngineState> {
        let state = self.engine.state()?;
        self.check_weights(&state.weights)?;
        Ok(state)
    }

    /// Bytes of that state, about.
    pub fn state_bytes(&self) -> u64 {
        self.engine.state_bytes()
    }

    /// The engine with the weights to keep: the last ones, or the best if the warm-up was cut short. Weights that are
    /// not good to go on from are an error.
    pub fn into_engine(mut self) -> Result<E> {
        if !self.progress.done {
            self.check_weights(&self.engine.weights()?)?;
        }
        if !self.progress.joint && self.progress.epoch > 0 {
            self.engine.recall()?;
        }
        Ok(self.engine)
    }
}

#[cfg(test)]
mod tests;

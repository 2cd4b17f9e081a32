//! A run folder as the place where a training's results go.

use super::{Outcome, Plan, Sink};
use crate::error::Result;
use crate::graph::Fingerprint;
use crate::io::embeddings::{Format, Rows};
use crate::io::state::SavedState;
use crate::model::Model;
use crate::run::{Cadence, Run, Saves, Unfinished};
use crate::settings::Config;
use crate::train::{EpochRecord, Trainer};
use std::path::{Path, PathBuf};

/// A run folder, and what is to be written into it. Nothing is before the training begins.
#[derive(Debug)]
pub struct RunFolder<'a> {
    at: At,
    /// Whether the run was begun before.
    goes_on: bool,
    rows: Rows<'a>,
    cadence: Cadence,
    format: Option<Format>,
    tensorboard: bool,
}

#[derive(Debug)]
enum At {
    /// A folder that is to be made.
    New(PathBuf),
    /// One that holds a run to go on with.
    Unfinished(Option<Box<Unfinished>>),
    Open(Box<Run>),
}

impl<'a> RunFolder<'a> {
    /// A new run of what is planned.
    pub fn create(folder: &Path, plan: &'a Plan<'_>) -> Self {
        Self::new(At::New(folder.to_path_buf()), plan)
    }

    /// A run to go on with, as it is planned again.
    pub fn resume(unfinished: Unfinished, plan: &'a Plan<'_>) -> Self {
        Self::new(At::Unfinished(Some(Box::new(unfinished))), plan)
    }

    fn new(at: At, plan: &'a Plan<'_>) -> Self {
        Self {
            goes_on: matches!(at, At::Unfinished(_)),
            at,
            rows: Rows::from(plan.graph()),
            cadence: Cadence::default(),
            format: None,
            tensorboard: false,
        }
    }

    /// Saves states by another rule.
    #[must_use]
    pub fn with_cadence(self, cadence: Cadence) -> Self {
        Self { cadence, ..self }
    }

    /// Writes the embeddings in this format, where one is given: else `.npy`, or as before in a run that goes on.
    #[must_use]
    pub fn with_format(self, format: Option<Format>) -> Self {
        Self { format, ..self }
    }

    /// Writes every epoch for TensorBoard too, into the folder `tensorboard`, where that is asked for.
    #[must_use]
    pub fn with_tensorboard(self, tensorboard: bool) -> Self {
        Self { tensorboard, ..self }
    }

    fn run(&self) -> Option<&Run> {
        match &self.at {
            At::Open(run) => Some(run),
            _ => None,
        }
    }

    /// Whether the run was begun before, and not here.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// What the user should know about how the folder was found.
    pub fn remarks(&self) -> &[String] {
        self.run().map_or(&[], Run::remarks)
    }

    /// What saving states came to so far.
    pub fn saves(&self) -> Saves {
        self.run().map_or(Saves::default(), Run::saves)
    }

    /// Whether the folder is still the one the run was begun in.
    pub fn is_there(&self) -> bool {
        self.run().is_some_and(Run::is_there)
    }

    /// Epochs that the last state knows of.
    pub fn saved_epochs(&self) -> u64 {
        self.run().map_or(0, Run::saved_epochs)
    }

    /// Does something with the run, once it has begun.
    fn with_run(&mut self, work: impl FnOnce(&mut Run, Rows<'a>) -> Result<()>) -> Result<()> {
        match &mut self.at {
            At::Open(run) => work(run, self.rows),
            _ => Ok(()),
        }
    }
}

impl Sink for RunFolder<'_> {
    fn begin(&mut self, config: &Config, graph: &Fingerprint) -> Result<Option<SavedState>> {
        let (run, saved) = match &mut self.at {
            At::New(folder) => (Run::create(folder, config, graph.clone())?, None),
            At::Unfinished(unfinished) => match unfinished.take() {
                Some(unfinished) => {
                    let (run, saved) = unfinished.go_on(graph.clone())?;
                    (run, Some(saved))
                }
                None => return Ok(None),
            },
            At::Open(_) => return Ok(None),
        };
        let mut run = run.with_cadence(self.cadence);
        if let Some(format) = self.format {
            run = run.with_format(format);
        }
        if self.tensorboard {
            let epochs = saved.as_ref().map_or(0, |saved| saved.progress.epochs());
            run = run.with_tensorboard(&config.layer_names(), epochs)?;
        }
        self.at = At::Open(Box::new(run));
        Ok(saved)
    }

    fn warmup_ended(&mut self, model: &dyn Fn() -> Result<Model>) -> Result<()> {
        self.with_run(|run, _| run.keep_warmup(&model()?))
    }

    fn decided(&mut self, trainer: &Trainer) -> Result<()> {
        self.with_run(|run, _| run.keep_choice(trainer))
    }

    fn epoch(&mut self, record: &EpochRecord, trainer: &Trainer) -> Result<()> {
        self.with_run(|run, _| run.epoch(record, trainer))
    }

    fn interrupted(&mut self, trainer: &Trainer) -> Result<()> {
        self.with_run(|run, _| run.save(trainer))
    }

    fn finish(&mut self, outcome: &mut Outcome) -> Result<()> {
        self.with_run(|run, rows| {
            let mut writer = run.embeddings(outcome.model.config().settings().dim, rows)?;
            outcome.each_block(|block| writer.push(block))?;
            run.finish(writer, &outcome.model, outcome.interrupted)
        })
    }
}

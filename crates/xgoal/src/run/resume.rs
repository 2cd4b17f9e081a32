//! Going on with a run that was stopped.

use super::checkpoint::Checkpoints;
use super::lock::Lock;
use super::metrics::Metrics;
use super::{Run, config_path, metrics_path, own_files, settings_differ, write_config};
use crate::error::{Error, Result};
use crate::graph::Fingerprint;
use crate::io::atomic;
use crate::io::state::SavedState;
use crate::settings::Settings;
use std::path::{Path, PathBuf};

/// A run that is not over, taken by this process.
#[derive(Debug)]
pub struct Unfinished {
    folder: PathBuf,
    lock: Lock,
    state: SavedState,
    remarks: Vec<String>,
}

impl Unfinished {
    /// Takes the folder and reads its newest good state.
    pub fn open(folder: &Path) -> Result<Self> {
        let checkpoints = Checkpoints::of(folder);
        let nothing = |reason: &str| {
            Error::Data(format!("{}: nothing to resume: {reason}", folder.display()))
        };
        if !folder.is_dir() {
            return Err(nothing("there is no such folder"));
        }
        if !checkpoints.exist() {
            return Err(nothing(match (Run::is_finished(folder), config_path(folder).exists()) {
                (true, _) => "there is no saved state (a finished run has none)",
                (_, true) => "neither state nor model is there any more; choose another folder",
                _ => "no run was begun here; leave out --resume to begin one",
            }));
        }
        let lock = Lock::take(folder)?;
        let (state, remark) = checkpoints.read()?;
        let unfinished =
            Self { folder: folder.into(), lock, state, remarks: remark.into_iter().collect() };
        unfinished.check_config()?;
        Ok(unfinished)
    }

    /// A configuration that was changed since would be passed over in silence.
    fn check_config(&self) -> Result<()> {
        let choice = self.state.progress.choice.as_ref();
        match settings_differ(&self.folder, &self.state.settings, choice)? {
            None => Ok(()),
            Some(difference) => Err(Error::Data(format!(
                "{}: changed since the run was begun: {difference}; put it back to go on, or begin \
                 another run",
                config_path(&self.folder).display()
            ))),
        }
    }

    /// The settings it was begun with.
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }

    /// Epochs that are done.
    pub fn epochs(&self) -> u64 {
        self.state.progress.epochs()
    }

    /// Opens the folder to go on, on the same graph; the metrics keep the epochs the state knows of.
    pub fn go_on(self, graph: Fingerprint) -> Result<(Run, SavedState)> {
        let Self { folder, lock, state, mut remarks } = self;
        if let Some(difference) = state.graph.difference(&graph) {
            return Err(Error::Data(format!(
                "{}: this run was begun on another graph, or the source has changed since: \
                 {difference}",
                folder.display()
            )));
        }
        lock.check()?;
        for file in own_files(&folder) {
            atomic::clear(&file)?;
        }
        Checkpoints::of(&folder).clear()?;
        let config = state.settings.clone().validate(&graph.layer_names())?;
        write_config(&folder, &config, &state.progress)?;
        let epochs = state.progress.epochs();
        let (metrics, lines) = Metrics::reopen(metrics_path(&folder), &state.progress.stages)?;
        if lines < epochs {
            remarks.push(format!(
                "{}: only {lines} of {epochs} epochs are there; the others' lines are lost",
                metrics.path().display()
            ));
        }
        let run = Run::new(folder, lock, metrics, graph, epochs).with_remarks(remarks);
        Ok((run, state))
    }
}

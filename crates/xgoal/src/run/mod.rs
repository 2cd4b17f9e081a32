//! A run folder: everything one training leaves behind.
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved settings, re-usable as a configuration |
//! | `metrics.jsonl` | one line per epoch |
//! | `state.safetensors` | while training is not over: what going on needs |
//! | `state.previous.safetensors` | the state before that, should the newest be damaged |
//! | `.lock` | while training is not over: held by the process that writes into the folder |
//! | `embeddings.npy`, `ids.txt` | the mean of the layers' embeddings, and its rows' ids; or another [`Format`] |
//! | `model.safetensors` | the weights, with the settings in the metadata |
//! | `tensorboard` | a folder of event files, where they were asked for |
//! | `warmup.safetensors` | the same as the warm-up left it, where there was one |
//!
//! Every file but the metrics is whole at any instant. A run begins with a state of its settings and its
//! graph, which is written before anything that makes the folder a run, and ends when its states are taken away
//! after embeddings and model are written: a process killed in between leaves a folder that is free or goes on.

mod cadence;
mod checkpoint;
mod lock;
mod metrics;
mod resume;

pub use cadence::Cadence;
pub use metrics::Epoch;
pub use resume::Unfinished;

use self::cadence::Since;
use self::checkpoint::Checkpoints;
use self::lock::Lock;
use self::metrics::Metrics;
use crate::engine::{Engine, EngineState};
use crate::error::{Error, Result};
use crate::graph::Fingerprint;
use crate::io::embeddings::{self, Format, Rows, Writer};
use crate::io::state::State;
use crate::io::tensorboard::EventFile;
use crate::io::{atomic, model, target};
use crate::matrix::Dense;
use crate::model::Model;
use crate::settings::{Config, Decision, Settings};
use crate::train::{Choice, EpochRecord, Progress, Trainer};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An open run folder.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    lock: Lock,
    metrics: Metrics,
    checkpoints: Checkpoints,
    graph: Fingerprint,
    format: Format,
    events: Option<EventFile>,
    cadence: Cadence,
    /// When the last state was saved, and the epochs it knows of.
    saved: (Instant, u64),
    /// What saving a state takes, once known.
    cost: Option<Duration>,
    saves: Saves,
    remarks: Vec<String>,
}

/// What saving states came to.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Saves {
    /// States saved.
    pub count: u32,
    /// Seconds it took.
    pub seconds: f64,
}

/// Where a run keeps its model.
pub fn model_path(folder: &Path) -> PathBuf {
    folder.join("model.safetensors")
}

/// The model's file, given that file itself or the run it belongs to.
pub fn model_file(model: &Path) -> PathBuf {
    if model.is_dir() { model_path(model) } else { model.to_path_buf() }
}

/// Where a run keeps the model that its warm-up led to.
pub fn warmup_path(folder: &Path) -> PathBuf {
    folder.join("warmup.safetensors")
}

/// Where a run keeps its embeddings, whatever their format; where there are none, where they would be.
pub fn embeddings_path(folder: &Path) -> PathBuf {
    let there = Format::ALL.iter().map(|f| embeddings_file(folder, *f)).find(|path| path.exists());
    there.unwrap_or_else(|| embeddings_file(folder, Format::Npy))
}

/// The embeddings' file, given that file itself or the run it belongs to.
pub fn embeddings_of(embeddings: &Path) -> PathBuf {
    if embeddings.is_dir() { embeddings_path(embeddings) } else { embeddings.to_path_buf() }
}

fn embeddings_file(folder: &Path, format: Format) -> PathBuf {
    folder.join(format!("embeddings.{}", format.extension()))
}

/// Every file that embeddings may be written into.
fn embeddings_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    Format::ALL.iter().flat_map(|f| embeddings::files(&embeddings_file(folder, *f), *f))
}

/// Where a run keeps its resolved settings.
pub fn config_path(folder: &Path) -> PathBuf {
    folder.join("config.toml")
}

/// Where a run keeps its metrics.
pub fn metrics_path(folder: &Path) -> PathBuf {
    folder.join("metrics.jsonl")
}

/// Files that are written whole, besides the states.
fn own_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let models = [config_path(folder), model_path(folder), warmup_path(folder)];
    models.into_iter().chain(embeddings_files(folder))
}

/// Every file that a run may hold, besides the states.
fn all_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    own_files(folder).chain([metrics_path(folder)])
}

/// Writes the settings, with what was chosen in the place of `auto` once it is, and why.
fn write_config(folder: &Path, config: &Config, progress: &Progress) -> Result<()> {
    let config = config.with_choice(progress.choice.as_ref());
    write_settings(folder, &config.with_decisions(progress.decisions()))
}

/// Writes settings, and why they were chosen where they were.
fn write_settings(folder: &Path, config: &Config) -> Result<()> {
    // A layer's name may hold anything.
    let line = |d: &Decision| format!("# {}\n", d.to_string().replace(char::is_control, " "));
    let text = config.decisions().iter().map(line).collect::<String>() + &config.to_toml();
    atomic::write(&config_path(folder), |w| w.write_all(text.as_bytes()))
}

/// How the settings that a folder has written differ from those its run was begun with.
fn settings_differ(
    folder: &Path,
    begun: &Settings,
    choice: Option<&Choice>,
) -> Result<Option<String>> {
    let path = config_path(folder);
    if !path.exists() {
        return Ok(None);
    }
    // What an earlier release did not write yet is as it was then, the default; where that is `auto`, what came of it is
    // not known, and taken to be the same.
    let mut written = Settings::default().settled_as(begun);
    written.read_file(&path)?;
    Ok(begun.difference_to_written(written, choice))
}

impl Run {
    /// Makes the folder, takes it and begins a run on a graph in it. A folder that already holds a run is refused.
    pub fn create(folder: &Path, config: &Config, graph: Fingerprint) -> Result<Self> {
        let lock = take_free(folder)?;
        lock.check()?;
        let metrics = Metrics::create(metrics_path(folder))?;
        let run = Self::new(folder.to_path_buf(), lock, metrics, graph, 0);
        run.checkpoints.clear()?;
        let progress = Progress::new(config);
        run.write_state(config, &progress, None)?;
        write_config(folder, config, &progress)?;
        Ok(run)
    }

    fn new(folder: PathBuf, lock: Lock, metrics: Metrics, graph: Fingerprint, epochs: u64) -> Self {
        let mut remarks = Vec::new();
        if !lock.is_held() {
            remarks.push(format!(
                "{}: this file system has no locks; see to it that no other process uses the folder",
                folder.display()
            ));
        }
        Self {
            checkpoints: Checkpoints::of(&folder),
            format: Format::of(&embeddings_path(&folder)).unwrap_or(Format::Npy),
            events: None,
            folder,
            lock,
            metrics,
            graph,
            cadence: Cadence::default(),
            saved: (Instant::now(), epochs),
            cost: None,
            saves: Saves::default(),
            remarks,
        }
    }

    fn with_remarks(mut self, remarks: Vec<String>) -> Self {
        self.remarks.extend(remarks);
        self
    }

    /// Writes the embeddings in this format: else `.npy`, or as before in a run that goes on.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Writes every epoch from the given one on for TensorBoard too, into the folder `tensorboard`.
    pub fn with_tensorboard(mut self, layers: &[String], epoch: u64) -> Result<Self> {
        self.events = Some(EventFile::create(&self.folder.join("tensorboard"), layers, epoch)?);
        Ok(self)
    }

    /// Whether a folder holds a run that went to its end.
    pub fn is_finished(folder: &Path) -> bool {
        model_path(folder).exists() && !Checkpoints::of(folder).exist()
    }

    /// Whether a folder holds a run that can go on.
    pub fn is_resumable(folder: &Path) -> bool {
        Checkpoints::of(folder).exist()
    }

    /// Takes away what a run left that can neither go on nor is finished, so that it can begin again.
    pub fn clear(folder: &Path) -> Result<()> {
        if !config_path(folder).exists() || Self::is_resumable(folder) || Self::is_finished(folder)
        {
            return Ok(());
        }
        // Last the file that says that this is a run.
        let config = config_path(folder);
        let others = all_files(folder).filter(|path| *path != config && path.exists());
        for path in others.chain([config.clone()]) {
            std::fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
        }
        Ok(())
    }

    /// Whether a folder is free, or its run has these settings, with any number in the place of `auto`.
    pub fn is_free_or_of(folder: &Path, config: &Config) -> Result<bool> {
        Ok(settings_differ(folder, config.settings(), None)?.is_none())
    }

    /// Refuses a folder that no run can be begun in.
    pub fn check(folder: &Path) -> Result<()> {
        target::check_folder(folder)?;
        check_free(folder)
    }

    /// Saves states by another rule.
    #[must_use]
    pub fn with_cadence(mut self, cadence: Cadence) -> Self {
        self.cadence = cadence;
        self
    }

    /// Whether its folder is still the one it was begun in.
    pub fn is_there(&self) -> bool {
        self.lock.check().is_ok()
    }

    /// What the user should know about how the folder was found.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// What saving states came to so far.
    pub fn saves(&self) -> Saves {
        self.saves
    }

    /// Epochs that the last state knows of.
    pub fn saved_epochs(&self) -> u64 {
        self.saved.1
    }

    /// Takes down an epoch of the trainer, and saves where it stands when that is due.
    pub fn epoch<E: Engine>(&mut self, record: &EpochRecord, trainer: &Trainer<E>) -> Result<()> {
        self.lock.check()?;
        self.metrics.append(record)?;
        if let Some(events) = &mut self.events {
            events.record(record)?;
        }
        let since = Since {
            epochs: (trainer.progress().epochs() - self.saved.1) as u32,
            time: self.saved.0.elapsed(),
            cost: self.cost.unwrap_or_else(|| cadence::first_cost(trainer.state_bytes())),
        };
        if self.cadence.is_due(since) { self.save(trainer) } else { Ok(()) }
    }

    /// Saves where training stands.
    pub fn save<E: Engine>(&mut self, trainer: &Trainer<E>) -> Result<()> {
        let started = Instant::now();
        // The state must not know of epochs whose lines a power failure could still take.
        self.metrics.sync()?;
        self.write_state(trainer.config(), trainer.progress(), Some(&trainer.state()?))?;
        let cost = started.elapsed();
        self.cost = Some(cost);
        self.saved = (Instant::now(), trainer.progress().epochs());
        self.saves.count += 1;
        self.saves.seconds += cost.as_secs_f64();
        Ok(())
    }

    fn write_state(
        &self,
        config: &Config,
        progress: &Progress,
        engine: Option<&EngineState>,
    ) -> Result<()> {
        self.lock.check()?;
        self.checkpoints.write(&State { config, progress, engine, graph: &self.graph })
    }

    /// Keeps the model that the joint stage starts from.
    pub fn keep_warmup(&self, model: &Model) -> Result<()> {
        self.lock.check()?;
        model::write(&warmup_path(&self.folder), model)
    }

    /// Writes what was chosen where settings are `auto` into the settings' file.
    pub fn keep_choice<E: Engine>(&self, trainer: &Trainer<E>) -> Result<()> {
        self.lock.check()?;
        write_config(&self.folder, trainer.config(), trainer.progress())
    }

    /// Where the embeddings go, rows of so many numbers.
    pub fn embeddings<'a>(&self, columns: usize, rows: Rows<'a>) -> Result<Writer<'a>> {
        self.lock.check()?;
        Writer::new(&embeddings_file(&self.folder, self.format), self.format, columns, rows)
    }

    /// Writes what was learnt; the embeddings are in their writer. The states go once training is over.
    pub fn finish(
        &mut self,
        embeddings: Writer<'_>,
        model: &Model,
        interrupted: bool,
    ) -> Result<()> {
        self.lock.check()?;
        let written = embeddings.finish()?;
        self.lock.check()?;
        // A run that went on in another format keeps one file of embeddings.
        for other in embeddings_files(&self.folder) {
            if !written.contains(&other) && other.exists() {
                std::fs::remove_file(&other).map_err(|e| Error::io(&other, e))?;
            }
        }
        self.lock.check()?;
        model::write(&model_path(&self.folder), model)?;
        if !interrupted {
            self.metrics.sync()?;
            self.lock.check()?;
            self.checkpoints.remove()?;
            self.lock.remove()?;
            atomic::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// Writes the folder of a training that is over and had none; `metrics` are its lines. The model, which makes it a
    /// finished run, comes last: a process killed before leaves none that lacks anything.
    pub fn write(
        folder: &Path,
        model: &Model,
        mean: &Dense,
        rows: Rows<'_>,
        metrics: &str,
    ) -> Result<()> {
        let lock = take_free(folder)?;
        write_settings(folder, model.config())?;
        atomic::write(&metrics_path(folder), |w| w.write_all(metrics.as_bytes()))?;
        embeddings::write(&embeddings_file(folder, Format::Npy), Format::Npy, mean, rows)?;
        model::write(&model_path(folder), model)?;
        lock.remove()?;
        atomic::sync_folder(folder)
    }
}

/// Makes and takes a folder that no run is in.
fn take_free(folder: &Path) -> Result<Lock> {
    check_free(folder)?;
    target::make_folder(folder)?;
    atomic::sync_folder(atomic::folder_of(folder))?;
    let lock = Lock::take(folder)?;
    // Another process may have been faster until now.
    check_free(folder)?;
    Ok(lock)
}

fn check_free(folder: &Path) -> Result<()> {
    if config_path(folder).exists() || Checkpoints::of(folder).exist() {
        return Err(Error::Data(format!(
            "{}: there is already a run here; choose another folder, or go on with --resume",
            folder.display()
        )));
    }
    // A run that was killed as it began may have left metrics without a line.
    let holds = |path: &PathBuf| {
        path.symlink_metadata().is_ok_and(|found| found.is_symlink() || found.len() > 0)
    };
    match all_files(folder).find(holds) {
        Some(path) => Err(Error::Data(format!(
            "{}: a file of no run, which this one would write over; choose another folder",
            path.display()
        ))),
        None => Ok(()),
    }
}

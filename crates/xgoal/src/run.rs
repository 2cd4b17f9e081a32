//! A run folder: everything one training leaves behind.
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved settings, re-usable as a configuration |
//! | `metrics.jsonl` | one line per epoch |
//! | `state.safetensors` | while training is not over: what going on needs |
//! | `embeddings.npy`, `ids.txt` | the mean of the layers' embeddings, and its rows' ids; or another [`Format`] |
//! | `model.safetensors` | the weights, with the settings in the metadata |

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::io::embeddings::Format;
use crate::io::state::{self, SavedState};
use crate::io::{atomic, embeddings, model};
use crate::matrix::Dense;
use crate::model::Model;
use crate::settings::Config;
use crate::train::{EpochRecord, Trainer};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An open run folder.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    metrics: File,
    format: Format,
}

/// Where a run keeps its model.
pub fn model_path(folder: &Path) -> PathBuf {
    folder.join("model.safetensors")
}

/// The model's file, given that file itself or the run it belongs to.
pub fn model_file(model: &Path) -> PathBuf {
    if model.is_dir() { model_path(model) } else { model.to_path_buf() }
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

/// Where a run keeps its resolved settings.
pub fn config_path(folder: &Path) -> PathBuf {
    folder.join("config.toml")
}

fn metrics_path(folder: &Path) -> PathBuf {
    folder.join("metrics.jsonl")
}

fn state_path(folder: &Path) -> PathBuf {
    folder.join("state.safetensors")
}

impl Run {
    /// Makes the folder and its configuration. A folder that already holds a run is refused.
    pub fn create(folder: &Path, config: &Config) -> Result<Self> {
        if folder.exists() && !folder.is_dir() {
            return Err(Error::Data(format!(
                "{}: a file; expected a folder, or a name that is free for one",
                folder.display()
            )));
        }
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let config_path = config_path(folder);
        if config_path.exists() {
            return Err(Error::Data(format!(
                "{}: there is already a run here; choose another folder, or go on with --resume",
                folder.display()
            )));
        }
        let metrics = metrics_path(folder);
        let file = File::create(&metrics).map_err(|e| Error::io(&metrics, e))?;
        atomic::write(&config_path, |w| w.write_all(config.to_toml().as_bytes()))?;
        Ok(Self { folder: folder.to_path_buf(), metrics: file, format: Format::Npy })
    }

    /// The state an interrupted run left.
    pub fn open_state(folder: &Path) -> Result<SavedState> {
        let path = state_path(folder);
        if !path.exists() {
            let reason = match folder.is_dir() {
                true => "there is no saved state (a finished run has none)",
                false => "there is no such folder",
            };
            let folder = folder.display();
            return Err(Error::Data(format!("{folder}: nothing to resume: {reason}")));
        }
        state::read(&path)
    }

    /// Opens the folder again: the metrics keep the epochs the state knows of.
    pub fn reopen(folder: &Path, saved: &SavedState, graph: &MultiplexGraph) -> Result<Self> {
        if saved.fingerprint != graph.fingerprint() {
            return Err(Error::Data(format!(
                "{}: this run was started on another graph, or the source has changed since",
                folder.display()
            )));
        }
        let path = metrics_path(folder);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
        let epochs: u32 = saved.progress.stages.iter().map(|s| s.epochs).sum();
        let kept: String = text.split_inclusive('\n').take(epochs as usize).collect();
        atomic::write(&path, |w| w.write_all(kept.as_bytes()))?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| Error::io(&path, e))?;
        let format = Format::of(&embeddings_path(folder)).unwrap_or(Format::Npy);
        Ok(Self { folder: folder.to_path_buf(), metrics: file, format })
    }

    /// Writes the embeddings in this format: else `.npy`, or as before in a run that goes on.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Appends one epoch to the metrics.
    pub fn record(&mut self, record: &EpochRecord) -> Result<()> {
        let line = serde_json::to_string(record).expect("plain numbers and strings") + "\n";
        // In one piece, so that a reader following the file sees whole lines.
        let written = self.metrics.write_all(line.as_bytes());
        written.map_err(|e| Error::io(&metrics_path(&self.folder), e))
    }

    /// Saves where training stands.
    pub fn save_state<E: Engine>(
        &self,
        trainer: &Trainer<E>,
        graph: &MultiplexGraph,
    ) -> Result<()> {
        let path = state_path(&self.folder);
        let (config, progress) = (trainer.config(), trainer.progress());
        state::write(&path, config, progress, &trainer.state(), graph.fingerprint())
    }

    /// Writes what was learnt. The state goes once training is over.
    pub fn finish(
        &mut self,
        model: &Model,
        mean: &Dense,
        graph: &MultiplexGraph,
        interrupted: bool,
    ) -> Result<()> {
        let file = embeddings_file(&self.folder, self.format);
        let written = embeddings::write(&file, self.format, mean, graph)?;
        // A run that went on in another format keeps one file of embeddings.
        let files = |f: &Format| embeddings::files(&embeddings_file(&self.folder, *f), *f);
        for other in Format::ALL.iter().flat_map(files) {
            if !written.contains(&other) && other.exists() {
                std::fs::remove_file(&other).map_err(|e| Error::io(&other, e))?;
            }
        }
        model::write(&model_path(&self.folder), model)?;
        let state = state_path(&self.folder);
        if !interrupted && state.exists() {
            std::fs::remove_file(&state).map_err(|e| Error::io(&state, e))?;
        }
        Ok(())
    }
}

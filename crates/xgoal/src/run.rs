//! A run folder: everything one training leaves behind.
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved settings, re-usable as a configuration |
//! | `metrics.jsonl` | one line per epoch |
//! | `model.safetensors` | the weights, with the settings in the metadata |
//! | `embeddings.npy`, `ids.txt` | the mean of the layers' embeddings, and its rows' ids |

use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::io::{atomic, embeddings, model};
use crate::matrix::Dense;
use crate::model::Model;
use crate::train::EpochRecord;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// An open run folder.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    metrics: BufWriter<File>,
}

/// Where a run keeps its model.
pub fn model_path(folder: &Path) -> PathBuf {
    folder.join("model.safetensors")
}

/// Where a run keeps its embeddings.
pub fn embeddings_path(folder: &Path) -> PathBuf {
    folder.join("embeddings.npy")
}

impl Run {
    /// Makes the folder and its configuration. A folder that already holds a run is refused.
    pub fn create(folder: &Path, config: &str) -> Result<Self> {
        let error = |e| Error::io(folder, e);
        std::fs::create_dir_all(folder).map_err(error)?;
        if folder.join("config.toml").exists() {
            return Err(Error::Data(format!(
                "{}: there is already a run here; choose another folder or remove this one",
                folder.display()
            )));
        }
        atomic::write(&folder.join("config.toml"), |w| w.write_all(config.as_bytes()))?;
        let metrics = folder.join("metrics.jsonl");
        let file = File::create(&metrics).map_err(|e| Error::io(&metrics, e))?;
        Ok(Self { folder: folder.to_path_buf(), metrics: BufWriter::new(file) })
    }

    /// Appends one epoch to the metrics.
    pub fn record(&mut self, record: &EpochRecord) -> Result<()> {
        let error = |e| Error::io(&self.folder.join("metrics.jsonl"), e);
        let line = serde_json::to_string(record).expect("plain numbers and strings");
        // A line at a time, so that a reader following the file sees whole lines.
        writeln!(self.metrics, "{line}").and_then(|()| self.metrics.flush()).map_err(error)
    }

    /// Writes what was learnt.
    pub fn finish(&mut self, model: &Model, mean: &Dense, graph: &MultiplexGraph) -> Result<()> {
        embeddings::write(&embeddings_path(&self.folder), mean, graph)?;
        model::write(&model_path(&self.folder), model)
    }
}

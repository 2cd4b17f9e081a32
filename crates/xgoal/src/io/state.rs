//! The saved state of a training that is not over: what `--resume` needs.

use super::tensors::{TensorFile, Tensors, in_file, wrong};
use crate::engine::{EngineState, Prototypes};
use crate::error::{Error, Result};
use crate::settings::{Config, Settings};
use crate::train::Progress;
use std::collections::HashMap;
use std::path::Path;

const FORMAT: &str = "xgoal-state";
const VERSION: u32 = 1;

/// Everything a training needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedState {
    /// The settings it runs by, with its layers named.
    pub settings: Settings,
    /// Where it stands.
    pub progress: Progress,
    /// Weights, moments, prototypes.
    pub engine: EngineState,
    /// The graph it belongs to.
    pub fingerprint: u64,
}

/// Parts of the engine's state that have the shape of weights, by name.
const PARTS: [&str; 4] = ["weights", "remembered", "first", "second"];

/// Writes a state.
pub fn write(
    path: &Path,
    config: &Config,
    progress: &Progress,
    engine: &EngineState,
    fingerprint: u64,
) -> Result<()> {
    let mut tensors = Tensors::default();
    let parts =
        [&engine.weights, &engine.remembered, &engine.first_moments, &engine.second_moments];
    for (part, layers) in PARTS.iter().zip(parts) {
        for (v, weights) in layers.iter().enumerate() {
            tensors.push_weights(&format!("{part}.{v}"), weights);
        }
    }
    for (v, prototypes) in engine.prototypes.iter().flatten().enumerate() {
        tensors.push_matrix(format!("centers.{v}"), &prototypes.centers);
        tensors.push_u32(format!("assignments.{v}"), &prototypes.assignments);
    }
    let progress = serde_json::to_string(progress).expect("plain numbers and strings");
    let metadata = [
        ("format", FORMAT.to_string()),
        ("version", VERSION.to_string()),
        ("config", config.to_toml()),
        ("progress", progress),
        ("updates", engine.updates.to_string()),
        ("clustered", engine.prototypes.is_some().to_string()),
        ("graph", fingerprint.to_string()),
    ];
    let metadata = metadata.into_iter().map(|(k, v)| (k.to_string(), v));
    tensors.write(path, metadata.collect::<HashMap<_, _>>())
}

/// Reads a state.
pub fn read(path: &Path) -> Result<SavedState> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    parse(&bytes).map_err(|e| in_file(e, path))
}

fn parse(bytes: &[u8]) -> Result<SavedState> {
    let file = TensorFile::parse(bytes, FORMAT, VERSION)?;
    let mut settings = Settings::default();
    settings.read_toml(file.entry("config")?)?;
    let layers = settings.layers.as_ref().map_or(0, Vec::len);
    let number = |key: &str| {
        let text = file.entry(key)?;
        text.parse::<u64>().map_err(|_| wrong(format!("`{key}` is `{text}`; expected a number")))
    };
    let part = |name: &str| -> Result<Vec<_>> {
        (0..layers).map(|v| file.weights(&format!("{name}.{v}"), settings.encoder)).collect()
    };
    let [weights, remembered, first_moments, second_moments] = PARTS.map(part);
    let prototypes = match file.entry("clustered")? {
        "true" => Some(
            (0..layers)
                .map(|v| {
                    let centers = file.matrix(&format!("centers.{v}"))?;
                    let assignments = file.u32(&format!("assignments.{v}"))?;
                    match assignments.iter().find(|k| **k as usize >= centers.rows()) {
                        Some(k) => Err(wrong(format!("cluster {k} of {}", centers.rows()))),
                        None => Ok(Prototypes { centers, assignments }),
                    }
                })
                .collect::<Result<Vec<_>>>()?,
        ),
        _ => None,
    };
    Ok(SavedState {
        progress: serde_json::from_str(file.entry("progress")?)
            .map_err(|e| wrong(format!("`progress`: {e}")))?,
        engine: EngineState {
            weights: weights?,
            remembered: remembered?,
            first_moments: first_moments?,
            second_moments: second_moments?,
            updates: number("updates")?,
            prototypes,
        },
        fingerprint: number("graph")?,
        settings,
    })
}

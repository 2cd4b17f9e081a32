//! The saved state of a training that is not over: what `--resume` needs.

use super::tensors::{TensorFile, Tensors, in_file, wrong};
use super::{atomic, open};
use crate::engine::{EngineState, Prototypes};
use crate::error::Result;
use crate::graph::Fingerprint;
use crate::settings::{Config, Settings};
use crate::train::Progress;
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: &str = "xgoal-state";

/// A state is not meant to outlive its release, so only this version is read.
const VERSION: u32 = 2;

/// Everything a training needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedState {
    /// The settings it runs by, with its layers named.
    pub settings: Settings,
    /// Where it stands.
    pub progress: Progress,
    /// Weights, moments, prototypes; none before the first epoch, when the seed says it all.
    pub engine: Option<EngineState>,
    /// The graph it belongs to.
    pub graph: Fingerprint,
}

/// What a state is written from.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// The settings training runs by.
    pub config: &'a Config,
    /// Where it stands.
    pub progress: &'a Progress,
    /// Weights, moments, prototypes; none before the first epoch.
    pub engine: Option<&'a EngineState>,
    /// The graph it belongs to.
    pub graph: &'a Fingerprint,
}

/// Parts of the engine's state that have the shape of weights, by name.
const PARTS: [&str; 4] = ["weights", "remembered", "first", "second"];

/// Writes a state; the one that was there before is kept as `previous`.
pub fn write(path: &Path, previous: &Path, state: &State<'_>) -> Result<()> {
    let mut tensors = Tensors::default();
    if let Some(engine) = state.engine {
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
    }
    let clustered = state.engine.is_some_and(|engine| engine.prototypes.is_some());
    let metadata = [
        ("format", FORMAT.to_string()),
        ("version", VERSION.to_string()),
        ("config", state.config.to_toml()),
        ("progress", serde_json::to_string(state.progress).expect("plain numbers and strings")),
        ("begun", state.engine.is_some().to_string()),
        ("updates", state.engine.map_or(0, |engine| engine.updates).to_string()),
        ("clustered", clustered.to_string()),
        ("graph", serde_json::to_string(state.graph).expect("plain numbers and strings")),
    ];
    let metadata: BTreeMap<_, _> = metadata.map(|(k, v)| (k.to_string(), v)).into();
    atomic::write_keeping(path, previous, |w| tensors.write(w, metadata))
}

/// Reads a state.
pub fn read(path: &Path) -> Result<SavedState> {
    parse(&open::mapped_for_copy(path)?).map_err(|e| in_file(e, path))
}

fn parse(bytes: &[u8]) -> Result<SavedState> {
    let file = TensorFile::parse(bytes, FORMAT, VERSION..=VERSION)?;
    file.entry("checksum")?;
    let mut settings = Settings::default();
    settings.read_toml(file.entry("config")?)?;
    let progress: Progress = serde_json::from_str(file.entry("progress")?)
        .map_err(|e| wrong(format!("`progress`: {e}")))?;
    if !progress.is_possible(&settings) {
        return Err(wrong("`progress`: numbers that do not belong together"));
    }
    let engine = match file.entry("begun")? {
        "true" => Some(engine(&file, &settings)?),
        _ if progress.epochs() == 0 => None,
        _ => return Err(wrong("`progress`: epochs of a training that has not begun")),
    };
    let graph = serde_json::from_str(file.entry("graph")?);
    let graph = graph.map_err(|e| wrong(format!("`graph`: {e}")))?;
    Ok(SavedState { settings, progress, engine, graph })
}

fn engine(file: &TensorFile<'_>, settings: &Settings) -> Result<EngineState> {
    let layers = settings.layers.as_ref().map_or(0, Vec::len);
    let encoder = settings.encoder.unwrap_or_default();
    let part = |name: &str| -> Result<Vec<_>> {
        (0..layers).map(|v| file.weights(&format!("{name}.{v}"), encoder)).collect()
    };
    let [weights, remembered, first_moments, second_moments] = PARTS.map(part);
    let prototypes = |v: usize| {
        let centers = file.matrix(&format!("centers.{v}"))?;
        let assignments = file.u32(&format!("assignments.{v}"))?;
        match assignments.iter().find(|k| **k as usize >= centers.rows()) {
            Some(k) => Err(wrong(format!("cluster {k} of {}", centers.rows()))),
            None => Ok(Prototypes { centers, assignments }),
        }
    };
    let updates = file.entry("updates")?;
    Ok(EngineState {
        weights: weights?,
        remembered: remembered?,
        first_moments: first_moments?,
        second_moments: second_moments?,
        updates: updates
            .parse()
            .map_err(|_| wrong(format!("`updates` is `{updates}`; expected a number")))?,
        prototypes: match file.entry("clustered")? {
            "true" => Some((0..layers).map(prototypes).collect::<Result<_>>()?),
            _ => None,
        },
    })
}

//! What commands that train many runs have in common: settings with several values, a folder for each run, and what the
//! runs came to.

use super::eval;
use crate::output::{Output, Usage};
use serde::Serialize;
use std::path::Path;
use xgoal::eval::{Report, Task};
use xgoal::graph::{Fingerprint, MultiplexGraph};
use xgoal::io::{self, embeddings};
use xgoal::run::{Run, embeddings_path, metrics_path, model_path};
use xgoal::settings::Config;
use xgoal_view::training::Training;

/// The names of the scores that tables show.
pub const SCORES: [&str; 4] = ["macro_f1", "micro_f1", "nmi", "sim@5"];

/// A setting and its values, out of `KEY=VALUE,VALUE,...` after a flag.
pub fn assignment(flag: &str, text: &str) -> Result<(String, Vec<String>), Usage> {
    let (key, list) = text.split_once('=').ok_or_else(|| {
        Usage(format!("{flag} {text}: expected KEY=VALUE,VALUE,..., for example clusters=3,4,5"))
    })?;
    let values = values(list);
    if values.iter().any(String::is_empty) {
        return Err(Usage(format!("{flag} {text}: a value is missing")));
    }
    Ok((key.trim().to_string(), values))
}

/// Values between commas; commas in brackets are part of a value.
fn values(text: &str) -> Vec<String> {
    let (mut out, mut depth) = (vec![String::new()], 0usize);
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => (),
        }
        match out.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => out.push(String::new()),
        }
    }
    out.iter().map(|v| v.trim().to_string()).collect()
}

/// A name for the folder of a run with these values.
pub fn name<'a>(values: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let parts = values.map(|(key, value)| {
        let keep = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let value: String = value.trim_matches(['[', ']']).chars().map(keep).collect();
        format!("{key}={value}")
    });
    parts.collect::<Vec<_>>().join(",")
}

/// What is in the folder of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A run that went to its end.
    Finished,
    /// One that can go on.
    Unfinished,
    /// Neither.
    Nothing,
}

/// Looks for a run with these settings on this graph, whatever its ids; any other is refused.
pub fn found(folder: &Path, config: &Config, graph: &Fingerprint) -> anyhow::Result<Found> {
    let finished = Run::is_finished(folder);
    // A graph that is another one may be why settings are.
    if finished {
        let model = io::model::read(&model_path(folder))?;
        if let Some(difference) = model.graph().and_then(|trained| trained.difference(graph)) {
            let folder = folder.display();
            let message = format!(
                "{folder}: there is a run on another graph here, or the source has changed since: {difference}; \
                 choose another --out"
            );
            return Err(Usage(message).into());
        }
    }
    if !Run::is_free_or_of(folder, config)? {
        let folder = folder.display();
        let message =
            format!("{folder}: there is a run with other settings here; choose another --out");
        return Err(Usage(message).into());
    }
    if !finished {
        // Going on compares graphs by itself.
        return Ok(if Run::is_resumable(folder) { Found::Unfinished } else { Found::Nothing });
    }
    Ok(Found::Finished)
}

/// What a run came to.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub epochs: usize,
    pub seconds: f64,
    pub final_loss: f64,
    /// Where the source has labels and splits.
    #[serde(flatten)]
    pub scores: Option<Report>,
}

impl Measured {
    /// The scores in [`SCORES`].
    pub fn main_scores(&self) -> Option<[f64; 4]> {
        let s = self.scores.as_ref()?;
        let sim = s.sim.get(&5).copied().unwrap_or(f64::NAN);
        Some([s.macro_f1.mean, s.micro_f1.mean, s.nmi.mean, sim])
    }
}

/// Says why labels that are there give no scores.
pub fn say_unscored(graph: &MultiplexGraph, output: &Output) {
    if let (Some(_), Err(error)) = (graph.labels(), Task::of(graph)) {
        output.say(format!("no scores: {error}"));
    }
}

/// Measures a run that went to its end.
pub fn measure(folder: &Path, graph: &MultiplexGraph) -> anyhow::Result<Measured> {
    let training = Training::read(&metrics_path(folder))?;
    let matrix = embeddings::read_for(&embeddings_path(folder), None, graph)?;
    let scores = match Task::of(graph) {
        Ok(_) => Some(eval::score(&matrix, graph, 0)?),
        Err(_) => None,
    };
    Ok(Measured {
        epochs: training.epochs.len(),
        seconds: training.epochs.iter().map(|e| e.seconds).sum(),
        final_loss: training.epochs.last().map_or(f64::NAN, |e| e.loss),
        scores,
    })
}

/// A field of a CSV file.
pub fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_belong_to_a_value() {
        let (key, values) = assignment("--set", "clusters = 3, 4,[30,5]").unwrap();
        assert_eq!((key.as_str(), values.join("|").as_str()), ("clusters", "3|4|[30,5]"));
        for wrong in ["clusters", "clusters=3,,4", "clusters="] {
            assert!(assignment("--set", wrong).is_err(), "{wrong}");
        }
    }
}

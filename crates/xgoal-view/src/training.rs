//! How training went: the lines of `metrics.jsonl`.

use serde::{Deserialize, Serialize};
use std::path::Path;
use xgoal::error::{Error, ParseError, Result};

/// One epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// `warmup` or `joint`.
    pub stage: String,
    /// The objective.
    pub loss: f64,
    /// Sum over layers of w_v L_N.
    pub l_n: f64,
    /// Sum over layers of w_v L_C.
    pub l_c: Option<f64>,
    /// R_N.
    pub r_n: Option<f64>,
    /// R_C.
    pub r_c: Option<f64>,
    /// The node-level bound on mutual information.
    pub mi_node: Option<f64>,
    /// The cluster-level bound.
    pub mi_cluster: Option<f64>,
    /// Mean cosine between two layers, pair after pair; runs of older versions have none.
    #[serde(default)]
    pub agreement: Vec<f64>,
    /// Whether prototypes were found in this epoch.
    pub reclustered: bool,
    /// Seconds it took.
    pub seconds: f64,
}

/// All epochs of a run, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Training {
    /// The epochs.
    pub epochs: Vec<Epoch>,
}

impl Training {
    /// Reads `metrics.jsonl`. A line that is not whole, at the end of a run in progress, is left out.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let mut epochs = Vec::new();
        for (i, line) in text.split_inclusive('\n').enumerate().filter(|(_, l)| l.ends_with('\n')) {
            epochs.push(serde_json::from_str(line).map_err(|e| {
                ParseError::new(format!("line {}: {e}; expected an epoch's metrics", i + 1))
                    .in_file(path)
            })?);
        }
        Ok(Self { epochs })
    }

    /// Where stages begin, with their names.
    pub fn stages(&self) -> Vec<(usize, &str)> {
        let mut found: Vec<(usize, &str)> = Vec::new();
        for (i, epoch) in self.epochs.iter().enumerate() {
            if found.last().is_none_or(|(_, name)| *name != epoch.stage) {
                found.push((i, &epoch.stage));
            }
        }
        found
    }

    /// The epochs in which prototypes were found.
    pub fn reclusterings(&self) -> Vec<usize> {
        let found = self.epochs.iter().enumerate().filter(|(_, e)| e.reclustered);
        found.map(|(i, _)| i).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"stage":"warmup","epoch":0,"loss":1.5,"l_n":1.0,"l_c":null,"r_n":0.5,
        "r_c":null,"mi_node":0.1,"mi_cluster":null,"reclustered":false,"patience_left":3,"seconds":0.1}"#;

    #[test]
    fn whole_lines_are_read_and_broken_ones_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let line = LINE.replace('\n', "");
        let joint = line.replace("warmup", "joint").replace("false", "true");
        std::fs::write(&path, format!("{line}\n{joint}\n{}", &joint[..20])).unwrap();
        let training = Training::read(&path).unwrap();
        assert_eq!(training.epochs.len(), 2);
        assert_eq!(training.stages(), [(0, "warmup"), (1, "joint")]);
        assert_eq!(training.reclusterings(), [1]);
        std::fs::write(&path, format!("{line}\n{{}}\n")).unwrap();
        let message = Training::read(&path).unwrap_err().to_string();
        assert!(message.contains("line 2") && message.contains("missing field"), "{message}");
    }
}

//! `metrics.jsonl`: a line per epoch, cut back to what a state knows when a run goes on.

use crate::engine::Stage;
use crate::error::{Error, ParseError, Result};
use crate::train::{EpochRecord, StageReport};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// A line of `metrics.jsonl`, as it is read again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// `warmup` or `joint`.
    pub stage: String,
    /// Epoch within the stage, from 0.
    pub epoch: u32,
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

impl Epoch {
    /// Reads a line of this number.
    pub fn parse(line: &[u8], number: usize) -> std::result::Result<Self, ParseError> {
        let wrong = |found: &dyn Display| {
            ParseError::new(format!("line {number}: {found}; expected an epoch's metrics"))
        };
        let text = std::str::from_utf8(line).map_err(|e| wrong(&e))?;
        serde_json::from_str(text).map_err(|e| wrong(&e))
    }
}

/// The open file.
#[derive(Debug)]
pub(super) struct Metrics {
    path: PathBuf,
    file: File,
}

impl Metrics {
    /// An empty one.
    pub fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(|e| Error::io(&path, e))?;
        Ok(Self { path, file })
    }

    /// Keeps the lines of the epochs that these stages ran and goes on behind them. Gives back how many of
    /// these are there. A line before the last of them that is no epoch's, or not in its place, is an error.
    pub fn reopen(path: PathBuf, stages: &[StageReport]) -> Result<(Self, u64)> {
        let error = |e| Error::io(&path, e);
        // Cutting it back would cut what a link leads to.
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            let message = "no ordinary file; expected the run's own metrics";
            return Err(ParseError::new(message).in_file(&path));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true);
        let file = options.open(&path).map_err(error)?;
        let mut reader = BufReader::new(&file);
        let epochs: u64 = stages.iter().map(|s| u64::from(s.epochs)).sum();
        let (mut lines, mut end, mut line, mut last) = (0, 0, Vec::new(), None);
        while lines < epochs {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(error)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            let number = lines as usize + 1;
            let wrong = |e: ParseError| {
                let message = e.message + "; take the line out to go on without it";
                ParseError::new(message).in_file(&path)
            };
            let read = Epoch::parse(&line, number).map_err(wrong)?;
            if ![Stage::Warmup, Stage::Joint].iter().any(|stage| stage.as_str() == read.stage) {
                return Err(wrong(ParseError::new(format!(
                    "line {number}: stage `{}`; expected `warmup` or `joint`",
                    read.stage
                ))));
            }
            let stage = stages.iter().position(|s| s.name == read.stage);
            // One of an epoch that the state does not know yet.
            let Some(stage) = stage.filter(|at| read.epoch < stages[*at].epochs) else { break };
            let place = Some((stage, read.epoch));
            if place <= last {
                return Err(wrong(ParseError::new(format!(
                    "line {number}: {} epoch {}; expected a later epoch than the line before",
                    read.stage, read.epoch
                ))));
            }
            last = place;
            lines += 1;
            end += line.len() as u64;
        }
        file.set_len(end).map_err(error)?;
        Ok((Self { path, file }, lines))
    }

    /// Appends one epoch.
    pub fn append(&mut self, record: &EpochRecord) -> Result<()> {
        let line = serde_json::to_string(record).expect("plain numbers and strings") + "\n";
        // In one piece, so that a reader following the file sees whole lines.
        self.file.write_all(line.as_bytes()).map_err(|e| Error::io(&self.path, e))
    }

    /// Makes what was appended last.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io(&self.path, e))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stage: &str, epoch: u32) -> String {
        let rest = r#""loss":1.5,"l_n":1.0,"reclustered":false,"seconds":0.1"#;
        format!("{{\"stage\":\"{stage}\",\"epoch\":{epoch},{rest}}}\n")
    }

    fn ran(stages: &[(&str, u32)]) -> Vec<StageReport> {
        let report = |(name, epochs): &(&str, u32)| StageReport {
            name: name.to_string(),
            epochs: *epochs,
            seconds: 0.0,
            final_loss: 0.0,
        };
        stages.iter().map(report).collect()
    }

    #[test]
    fn lines_newer_than_the_state_and_half_lines_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let [a, b, c, d] = [("warmup", 0), ("warmup", 1), ("joint", 0), ("joint", 1)]
            .map(|(stage, epoch)| line(stage, epoch));
        let all = [&a[..], &b, &c, &d].concat();
        let half = [&a[..], &b, &c, &d[..d.len() - 1]].concat();
        for (text, stages, kept) in [
            (&all, &[("warmup", 2)][..], [&a[..], &b].concat()),
            (&all, &[("warmup", 1)], a.clone()),
            (&half, &[("warmup", 2), ("joint", 2)], [&a[..], &b, &c].concat()),
            (&all, &[("warmup", 2), ("joint", 2)], all.clone()),
            // Nothing is asked of lines behind the last that counts.
            (&[&a[..], "?\n\n"].concat(), &[("warmup", 1)], a.clone()),
            // What was lost before stays lost, and newer lines go all the same.
            (&[&b[..], &d].concat(), &[("warmup", 2), ("joint", 1)], b.clone()),
            (&a, &[], String::new()),
            (&String::new(), &[("joint", 5)], String::new()),
        ] {
            std::fs::write(&path, text).unwrap();
            let (mut metrics, lines) = Metrics::reopen(path.clone(), &ran(stages)).unwrap();
            assert_eq!(lines, kept.matches('\n').count() as u64);
            metrics.file.write_all(b"more\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{kept}more\n"));
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Metrics::reopen(path, &ran(&[("joint", 3)])).unwrap().1, 0);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let [path, victim] = ["metrics.jsonl", "victim"].map(|name| folder.path().join(name));
        std::fs::write(&victim, line("joint", 0)).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let message = Metrics::reopen(path, &[]).unwrap_err().to_string();
        assert!(message.contains("metrics.jsonl: no ordinary file"), "{message}");
        assert_eq!(std::fs::read_to_string(victim).unwrap(), line("joint", 0));
    }

    #[test]
    fn lines_that_are_no_epoch_s_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let [a, b, c] = [0, 1, 2].map(|epoch| line("joint", epoch));
        for (text, says) in [
            ([&a[..], "?\n", &c].concat().into_bytes(), "line 2: expected value"),
            ([&a[..], "\n", &b, &c].concat().into_bytes(), "line 2: EOF"),
            ([&a[..], &b, "{}\n"].concat().into_bytes(), "line 3: missing field `stage`"),
            ([a.as_bytes(), b"\"\xfe\"\n"].concat(), "line 2: invalid utf-8"),
            ([&a[..], &c, &b].concat().into_bytes(), "line 3: joint epoch 1; expected a later"),
            ([&a[..], &a].concat().into_bytes(), "line 2: joint epoch 0; expected a later"),
            ([&a[..], &line("other", 0)].concat().into_bytes(), "line 2: stage `other`"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let stages = ran(&[("joint", 3)]);
            let message = Metrics::reopen(path.clone(), &stages).unwrap_err().to_string();
            assert!(message.contains("metrics.jsonl: ") && message.contains(says), "{message}");
            assert_eq!(std::fs::read(&path).unwrap(), text);
        }
    }
}

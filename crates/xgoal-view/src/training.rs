//! How training went: the lines of `metrics.jsonl`.

use std::path::Path;
use xgoal::error::{Error, Result};
pub use xgoal::run::Epoch;

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
            epochs.push(Epoch::parse(line.as_bytes(), i + 1).map_err(|e| e.in_file(path))?);
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

//! `metrics.jsonl`: a line per epoch, cut back to what a state knows when a run goes on.

use crate::error::{Error, Result};
use crate::train::EpochRecord;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

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

    /// Keeps the first `epochs` lines and goes on behind them. Gives back how many of these are there.
    pub fn reopen(path: PathBuf, epochs: u64) -> Result<(Self, u64)> {
        let error = |e| Error::io(&path, e);
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true);
        let file = options.open(&path).map_err(error)?;
        let mut reader = BufReader::new(&file);
        let (mut lines, mut end, mut line) = (0, 0, Vec::new());
        while lines < epochs {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(error)?;
            if line.last() != Some(&b'\n') {
                break;
            }
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

    #[test]
    fn lines_newer_than_the_state_and_half_lines_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        for (text, epochs, kept) in [
            ("1\n2\n3\n4", 2, "1\n2\n"),
            ("1\n2\n3\n4", 4, "1\n2\n3\n"),
            ("1\n2\n3\n", 3, "1\n2\n3\n"),
            ("\u{fe}\n\n3\n", 2, "\u{fe}\n\n"),
            ("1\n", 0, ""),
            ("", 5, ""),
        ] {
            std::fs::write(&path, text).unwrap();
            let (mut metrics, lines) = Metrics::reopen(path.clone(), epochs).unwrap();
            assert_eq!(lines, kept.matches('\n').count() as u64);
            metrics.file.write_all(b"more\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{kept}more\n"));
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Metrics::reopen(path, 3).unwrap().1, 0);
    }
}

//! The state on disk: the newest one, and the one before it.

use crate::error::{Error, Result};
use crate::io::atomic;
use crate::io::state::{self, SavedState, State};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where a run keeps its states.
#[derive(Debug)]
pub(super) struct Checkpoints {
    newest: PathBuf,
    previous: PathBuf,
}

impl Checkpoints {
    pub fn of(folder: &Path) -> Self {
        Self {
            newest: folder.join("state.safetensors"),
            previous: folder.join("state.previous.safetensors"),
        }
    }

    /// Whether there is any.
    pub fn exist(&self) -> bool {
        self.newest.exists() || self.previous.exists()
    }

    /// Saves a state; the newest becomes the previous one.
    pub fn write(&self, state: &State<'_>) -> Result<()> {
        state::write(&self.newest, &self.previous, state)
    }

    /// The newest state that can be read, and a remark where it is not the newest.
    pub fn read(&self) -> Result<(SavedState, Option<String>)> {
        let error = match state::read(&self.newest) {
            Ok(saved) => return Ok((saved, None)),
            Err(error) => error,
        };
        match state::read(&self.previous) {
            // A kill between two renames: the previous state is the newest there is.
            Ok(saved) if is_missing(&error) => Ok((saved, None)),
            Ok(saved) => {
                let remark = format!("{error}\ngoing on from the state before it");
                Ok((saved, Some(remark)))
            }
            Err(other) if is_missing(&other) => Err(error),
            Err(other) if is_missing(&error) => Err(other),
            Err(other) => Err(Error::Data(format!("{error}; and {other}"))),
        }
    }

    /// Takes both away, the newest last: what is left of a kill is whole.
    pub fn remove(&self) -> Result<()> {
        for path in [&self.previous, &self.newest] {
            match std::fs::remove_file(path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io(path, e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes away what a killed process left of writing one.
    pub fn clear(&self) -> Result<()> {
        atomic::clear(&self.newest)
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}

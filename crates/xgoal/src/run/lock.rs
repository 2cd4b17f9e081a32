//! One process per run folder.
//!
//! The operating system holds the lock for as long as the process lives, so one that was killed leaves none.
//! The file stays until the run is finished; after that nobody writes into the folder any more.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A folder that only this process writes into.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// None where the file system has no locks.
    held: Option<File>,
}

impl Lock {
    /// Takes the folder, or says who has it.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(".lock");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = file.map_err(|e| Error::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => {
                // For the message only: where it cannot be written, the lock still holds.
                let process = std::process::id().to_string();
                let _ = file.set_len(0).and_then(|()| file.write_all(process.as_bytes()));
                Ok(Self { path, held: Some(file) })
            }
            Err(TryLockError::WouldBlock) => Err(Error::Data(format!(
                "{}: in use by {}; wait until it has ended, or choose another folder",
                folder.display(),
                holder(&path)
            ))),
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {
                Ok(Self { path, held: None })
            }
            Err(TryLockError::Error(e)) => Err(Error::io(&path, e)),
        }
    }

    /// Whether others are really kept out.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Takes the file away, which only a run that nobody goes on with may do.
    pub fn remove(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(&self.path, e)),
            _ => Ok(()),
        }
    }
}

fn holder(path: &Path) -> String {
    let process = std::fs::read_to_string(path).ok().and_then(|t| t.trim().parse::<u32>().ok());
    process.map_or("another process".into(), |id| format!("another process ({id})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_free_again_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        assert!(lock.is_held());
        let message = Lock::take(folder.path()).unwrap_err().to_string();
        let expected = format!("in use by another process ({})", std::process::id());
        assert!(message.contains(&expected), "{message}");
        drop(lock);
        Lock::take(folder.path()).unwrap().remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

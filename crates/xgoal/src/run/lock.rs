//! One process per run folder.
//!
//! The operating system holds the lock for as long as the process lives, so one that was killed leaves none.
//! The file stays until the run is finished; after that nobody writes into the folder any more.
//!
//! A lock belongs to a file and writes go by name, so a folder that was removed or replaced meanwhile may be another
//! run's: the [check](Lock::check) before every write finds that out.

use crate::error::{Error, Result};
use crate::io::identity::Identity;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A folder that only this process writes into.
#[derive(Debug)]
pub(super) struct Lock {
    folder: PathBuf,
    file: File,
    /// The folder and the file in it, as they were taken.
    taken: [Identity; 2],
    /// Whether the file system has locks.
    held: bool,
}

/// Times that another process may take the file away just before it is locked.
const ATTEMPTS: usize = 100;

fn path_in(folder: &Path) -> PathBuf {
    folder.join(".lock")
}

impl Lock {
    /// Takes the folder, or says who has it.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = path_in(folder);
        for _ in 0..ATTEMPTS {
            let Some(file) = open(&path)? else { continue };
            let held = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => {
                    let holder = process(&path).map(|id| format!(" ({id})")).unwrap_or_default();
                    return Err(Error::Data(format!(
                        "{}: in use by another process{holder}; wait until it has ended, or choose another folder",
                        folder.display()
                    )));
                }
                Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => false,
                Err(TryLockError::Error(e)) => return Err(Error::io(&path, e)),
            };
            let taken = [
                Identity::of(folder).map_err(|e| Error::io(folder, e))?,
                Identity::of_file(&file).map_err(|e| Error::io(&path, e))?,
            ];
            let mut lock = Self { folder: folder.into(), file, taken, held };
            // A run that ended between the two takes the file away, and the lock on it is worth nothing.
            if lock.check().is_ok() {
                lock.sign();
                return Ok(lock);
            }
        }
        Err(Error::Data(format!("{}: made and taken away again all the time", path.display())))
    }

    /// Notes the process, for the message only: where it cannot be written, the lock still holds.
    fn sign(&mut self) {
        let process = std::process::id().to_string();
        let _ = self.file.set_len(0).and_then(|()| self.file.write_all(process.as_bytes()));
    }

    /// Whether others are really kept out.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Refuses to go on in a folder that is no longer the one that was taken.
    pub fn check(&self) -> Result<()> {
        let now = [Identity::of(&self.folder), Identity::of_link(&path_in(&self.folder))];
        let same = now.iter().zip(&self.taken).all(|(now, taken)| match now {
            Ok(now) => now == taken,
            // What cannot be looked at, as on a network that is down, is still the same.
            Err(e) => !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        });
        if same { Ok(()) } else { Err(Error::FolderLost { folder: self.folder.clone() }) }
    }

    /// Takes the file away, which only a run that nobody goes on with may do.
    pub fn remove(&self) -> Result<()> {
        let path = path_in(&self.folder);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(&path, e)),
            _ => Ok(()),
        }
    }
}

/// Opens the file, or makes it; none if it went in between. What a lock is not stays as it is.
fn open(path: &Path) -> Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    // This alone makes a file without following a link.
    match options.clone().create_new(true).open(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => (),
        Err(e) => return Err(Error::io(path, e)),
        Ok(file) => return Ok(Some(file)),
    }
    let foreign = |what: &str| {
        let path = path.display();
        Error::Data(format!("{path}: {what}; expected a run's lock, or a name that is free for it"))
    };
    let gone = |e: std::io::Error| match e.kind() {
        ErrorKind::NotFound => Ok(None),
        _ => Err(Error::io(path, e)),
    };
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => return Err(foreign("a link")),
        Ok(found) if !found.is_file() => return Err(foreign("no file")),
        Ok(_) => (),
        Err(e) => return gone(e),
    }
    match options.open(path) {
        Ok(_) if !is_lock(path) => Err(foreign("a file of no run")),
        Ok(file) => Ok(Some(file)),
        Err(e) => gone(e),
    }
}

/// The process a lock is signed by.
fn process(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}

/// Whether a file holds nothing or the number of a process, as far as it can be read while it is locked.
fn is_lock(path: &Path) -> bool {
    text(path).is_none_or(|text| text.is_empty() || text.parse::<u32>().is_ok())
}

/// The beginning of a file; longer than what a lock holds where there is more.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(16).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
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

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_another_is_noticed() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("run");
        let lost = |change: &dyn Fn()| {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder).unwrap();
            let lock = Lock::take(&folder).unwrap();
            lock.check().unwrap();
            change();
            let message = lock.check().unwrap_err().to_string();
            assert!(message.contains("run: removed or replaced"), "{message}");
        };
        let remove = || std::fs::remove_dir_all(&folder).unwrap();
        lost(&remove);
        lost(&|| std::fs::remove_file(folder.join(".lock")).unwrap());
        lost(&|| {
            remove();
            std::fs::create_dir(&folder).unwrap();
            drop(Lock::take(&folder).unwrap());
        });
        // With the very same file.
        lost(&|| {
            let moved = above.path().join("moved");
            std::fs::rename(&folder, &moved).unwrap();
            std::fs::create_dir(&folder).unwrap();
            std::fs::hard_link(moved.join(".lock"), folder.join(".lock")).unwrap();
        });
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_lock_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let [path, victim] = [".lock", "victim"].map(|name| folder.path().join(name));
        let refused = || Lock::take(folder.path()).unwrap_err().to_string();
        for there in [true, false] {
            if there {
                std::fs::write(&victim, "").unwrap();
            }
            std::os::unix::fs::symlink(&victim, &path).unwrap();
            assert!(refused().contains(".lock: a link; expected a run's lock"));
            std::fs::remove_file(&path).unwrap();
            assert_eq!(victim.exists(), there);
            let _ = std::fs::remove_file(&victim);
        }
        for text in ["precious", "12345678901234567890"] {
            std::fs::write(&path, text).unwrap();
            assert!(refused().contains(".lock: a file of no run"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        // As a run that was killed leaves it.
        std::fs::write(&path, "123").unwrap();
        Lock::take(folder.path()).unwrap();
    }
}

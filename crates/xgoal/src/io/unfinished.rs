//! What is being written and is not whole yet: a process that is ended takes it away.

use super::{atomic, target};
use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files and folders in the order they were begun. Names that are gone already do no harm.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes away what is not whole, before the process is ended. Nothing is begun or completed any more after this: who tries
/// to waits for the end.
pub fn abandon() {
    let mut list = list();
    list.drain(..).rev().for_each(|path| remove(&path));
    std::mem::forget(list);
}

/// Makes a file that is not whole until it is [completed](complete).
pub(super) fn begin<T, E>(
    make: impl FnOnce() -> std::result::Result<T, E>,
    path: impl FnOnce(&T) -> PathBuf,
) -> std::result::Result<T, E> {
    let mut list = list();
    let made = make()?;
    list.push(path(&made));
    Ok(made)
}

/// Puts a file that was begun into its place.
pub(super) fn complete<T>(begun: &Path, put: impl FnOnce() -> T) -> T {
    let mut list = list();
    let done = put();
    list.retain(|path| path != begun);
    done
}

/// Removes a file, or a folder if it is empty.
fn remove(path: &Path) {
    // Nobody is there to be told that it did not work.
    let _ = if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
}

/// A source's folder in the making, in which nothing is written over. Unless it is [kept](Self::keep), what was made goes.
///
/// The files are listed before they are made, in a file that this process holds, so that after a kill the same can be
/// written again.
#[derive(Debug)]
pub(super) struct Draft {
    made: Vec<PathBuf>,
    list: File,
    /// What a killed process began here.
    left: Vec<String>,
}

/// The list of a folder's files while they are made.
fn list_in(folder: &Path) -> PathBuf {
    folder.join(".xgoal-unfinished")
}

/// Whether a killed process left this file behind before its folder was whole.
pub(super) fn is_left(file: &Path) -> bool {
    let named = |list: String| list.lines().any(|name| file.file_name().is_some_and(|f| f == name));
    let list = list_in(atomic::folder_of(file));
    list.symlink_metadata().is_ok_and(|found| found.is_file())
        && std::fs::read_to_string(list).is_ok_and(named)
}

impl Draft {
    /// Makes the folder, and those it is in. One that holds a source is refused.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        target::check_for_source(folder)?;
        let missing = folder.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists());
        let mut made: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        made.reverse();
        list().extend_from_slice(&made);
        let started = std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e));
        // What was made so far goes if it ends here.
        let begun = started.and_then(|()| Self::take(folder));
        match begun {
            Ok((file, left)) => {
                made.push(list_in(folder));
                Ok(Self { made, list: file, left })
            }
            Err(error) => {
                let mut list = self::list();
                list.retain(|path| !made.contains(path));
                made.iter().rev().for_each(|path| remove(path));
                Err(error)
            }
        }
    }

    /// Opens the list, and says what a killed process had written into it.
    fn take(folder: &Path) -> Result<(File, Vec<String>)> {
        let path = list_in(folder);
        let error = |e| Error::io(&path, e);
        let mut options = File::options();
        options.read(true).write(true);
        let new = begin(|| options.clone().create_new(true).open(&path), |_| path.clone());
        let mut file = match new {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                    let path = path.display();
                    return Err(Error::Data(format!("{path}: in the way; expected no such name")));
                }
                begin(|| options.open(&path), |_| path.clone()).map_err(error)?
            }
            other => other.map_err(error)?,
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let folder = folder.display();
                return Err(Error::Data(format!(
                    "{folder}: another process writes a source here; wait, or choose another folder"
                )));
            }
            Err(TryLockError::Error(e)) if e.kind() != ErrorKind::Unsupported => {
                return Err(error(e));
            }
            _ => (),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(error)?;
        Ok((file, text.lines().map(str::to_owned).collect()))
    }

    /// A file that is to be written into the folder. What a killed process left of it is taken away.
    pub(super) fn add(&mut self, file: &Path) -> Result<()> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match file.symlink_metadata() {
            Ok(found) if found.is_file() && self.left.iter().any(|left| *left == name) => {
                std::fs::remove_file(file).map_err(|e| Error::io(file, e))?;
            }
            Ok(_) => {
                let file = file.display();
                return Err(Error::Data(format!(
                    "{file}: already there; expected a folder without it"
                )));
            }
            Err(_) => (),
        }
        if !self.left.iter().any(|left| *left == name) {
            let line = format!("{name}\n");
            self.list.write_all(line.as_bytes()).map_err(|e| Error::io(file, e))?;
        }
        atomic::clear(file)?;
        list().push(file.to_path_buf());
        self.made.push(file.to_path_buf());
        Ok(())
    }

    /// The folder is whole.
    pub(super) fn keep(mut self) {
        let mut all = list();
        all.retain(|path| !self.made.contains(path));
        let files = self.made.drain(..).filter(|path| *path == list_in(atomic::folder_of(path)));
        files.for_each(|path| remove(&path));
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let mut list = list();
        list.retain(|path| !self.made.contains(path));
        self.made.drain(..).rev().for_each(|path| remove(&path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_goes_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        let draft = |keep: bool, names: &[&str]| {
            let mut draft = Draft::new(&inside).unwrap();
            for name in names {
                draft.add(&inside.join(name)).unwrap();
                atomic::write(&inside.join(name), |w| w.write_all(b"x")).unwrap();
            }
            if keep {
                draft.keep();
            }
        };
        draft(false, &["one", "two"]);
        assert!(!folder.path().join("a").exists());
        draft(true, &["one"]);
        assert!(!list_in(&inside).exists());
        std::fs::write(inside.join("one"), "mine").unwrap();
        std::fs::write(inside.join(".xgoal-two-abc123"), "left by another").unwrap();
        draft(false, &["two"]);
        let names = || -> Vec<_> {
            std::fs::read_dir(&inside).unwrap().map(|e| e.unwrap().file_name()).collect()
        };
        assert_eq!(names(), ["one"]);
        let refused = Draft::new(&inside).unwrap().add(&inside.join("one")).unwrap_err();
        assert!(refused.to_string().contains("one: already there"), "{refused}");
        assert_eq!(names(), ["one"]);
        assert_eq!(std::fs::read(inside.join("one")).unwrap(), b"mine");
    }
    #[test]
    fn what_a_killed_process_wrote_can_be_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str| atomic::write(&path(name), |w| w.write_all(b"x")).unwrap();
        let mut killed = Draft::new(folder.path()).unwrap();
        for name in ["nodes.csv", "graph.toml"] {
            killed.add(&path(name)).unwrap();
            write(name);
        }
        std::fs::write(path("mine"), "mine").unwrap();
        let refused = Draft::new(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("another process writes a source here"), "{refused}");
        // As a kill leaves it: the files stay, and the lock goes.
        let lock = killed.list.try_clone().unwrap();
        std::mem::forget(killed);
        lock.unlock().unwrap();

        let mut again = Draft::new(folder.path()).unwrap();
        for name in ["nodes.csv", "graph.toml"] {
            again.add(&path(name)).unwrap();
            assert!(!path(name).exists());
            write(name);
        }
        let refused = again.add(&path("mine")).unwrap_err().to_string();
        assert!(refused.contains("mine: already there"), "{refused}");
        again.keep();
        assert!(target::check_for_source(folder.path()).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}

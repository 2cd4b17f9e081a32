//! What is being written and is not whole yet: a process that is ended takes it away.

use super::{atomic, target};
use crate::error::{Error, Result};
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
    path: impl FnOnce(&T) -> &Path,
) -> std::result::Result<T, E> {
    let mut list = list();
    let made = make()?;
    list.push(path(&made).to_path_buf());
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
#[derive(Debug)]
pub(super) struct Draft {
    made: Vec<PathBuf>,
}

impl Draft {
    /// Makes the folder, and those it is in. One that holds a source is refused.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        target::check_for_source(folder)?;
        let missing = folder.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists());
        let mut made: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        made.reverse();
        let mut list = list();
        list.extend_from_slice(&made);
        drop(list);
        let draft = Self { made };
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        Ok(draft)
    }

    /// A file that is to be written into the folder. What a killed process left half written is taken away.
    pub(super) fn add(&mut self, file: &Path) -> Result<()> {
        if file.symlink_metadata().is_ok() {
            let file = file.display();
            return Err(Error::Data(format!(
                "{file}: already there; expected a folder without it"
            )));
        }
        atomic::clear(file)?;
        list().push(file.to_path_buf());
        self.made.push(file.to_path_buf());
        Ok(())
    }

    /// The folder is whole.
    pub(super) fn keep(mut self) {
        let mut list = list();
        list.retain(|path| !self.made.contains(path));
        self.made.clear();
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
}

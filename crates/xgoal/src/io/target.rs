//! Whether something can be written, found out before the work that leads to it.

use super::{atomic, unfinished};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Refuses a file that could not be written: there is a folder or a device of that name, or no folder to put it into.
pub fn check_file(path: &Path) -> Result<()> {
    let path = &atomic::behind_links(path)?;
    atomic::check_replaceable(path)?;
    atomic::try_in(atomic::folder_of(path))
}

/// Refuses a folder that could not be made or written into.
pub fn check_folder(path: &Path) -> Result<()> {
    let there = path.ancestors().find(|p| p.exists()).unwrap_or(Path::new("."));
    if let Some(link) = path.ancestors().find(|p| p.is_symlink() && !p.exists()) {
        let link = link.display();
        return Err(Error::Data(format!("{link}: a link that leads nowhere; expected a folder")));
    }
    if !there.is_dir() {
        return Err(match std::fs::read_dir(there) {
            Err(e) if there != path => Error::io(path, e),
            _ => Error::Data(format!(
                "{}: a file; expected a folder, or a name that is free for one",
                path.display()
            )),
        });
    }
    atomic::try_in(there).map_err(|e| match e {
        Error::Io { source, .. } => Error::io(path, source),
        other => other,
    })
}

/// Refuses a folder that could not be made or written into, or holds a source.
pub fn check_for_source(path: &Path) -> Result<()> {
    check_folder(path)?;
    let manifest = path.join("graph.toml");
    if manifest.exists() && !unfinished::is_left(&manifest) {
        let path = path.display();
        return Err(Error::Data(format!("{path}: there is already a source here")));
    }
    Ok(())
}

/// Refuses a file that would take the place of one that is read, by whatever name.
pub fn check_apart(out: &Path, read: &[PathBuf]) -> Result<()> {
    let Ok(there) = out.canonicalize() else { return Ok(()) };
    let same = |file: &&PathBuf| file.canonicalize().is_ok_and(|file| file == there);
    match read.iter().find(same) {
        None => Ok(()),
        Some(file) => Err(Error::Data(format!(
            "{}: would take the place of {}, which is read; choose another file",
            out.display(),
            file.display()
        ))),
    }
}

/// Makes a folder, and those it is in, where they are not there.
pub fn make_folder(path: &Path) -> Result<()> {
    check_folder(path)?;
    std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "in the way").unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        let said = |result: Result<()>| match result {
            Ok(()) => "good".to_string(),
            Err(e) => e.to_string().replace(&format!("{}/", folder.path().display()), ""),
        };
        let file = |name: &str| said(check_file(&path(name)));
        assert_eq!([file("file"), file("new"), file("folder/new")], ["good"; 3]);
        assert!(file("folder").starts_with("folder: a folder; expected a file"));
        assert!(file("nowhere/new").starts_with("nowhere: "));
        assert!(file("file/new").starts_with("file: "));
        let inside = |name: &str| said(check_folder(&path(name)));
        assert_eq!([inside("folder"), inside("new"), inside("folder/new/newer")], ["good"; 3]);
        assert!(inside("file").starts_with("file: a file; expected a folder"));
        assert!(inside("file/new").starts_with("file/new: "));
        assert_eq!(said(check_folder(Path::new(""))), "good");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left");
    }
}

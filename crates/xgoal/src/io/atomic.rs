//! Whole files or none: written beside their target, synced, then renamed over it.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a file so that a reader sees the old one or the new one, never half of it.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    write_seekable(path, |file| {
        let mut writer = BufWriter::new(file);
        content(&mut writer)?;
        writer.flush()
    })
}

/// The same for formats that go back to fill in sizes; what is written is not buffered here.
pub fn write_seekable(
    path: &Path,
    content: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> Result<()> {
    let error = |e| Error::io(path, e);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = tempfile::Builder::new();
    let temporary = temporary.prefix(".xgoal-").permissions_like_a_new_file();
    let mut file = temporary.tempfile_in(folder).map_err(|e| refusal(folder, e))?;
    content(file.as_file_mut()).map_err(error)?;
    file.as_file().sync_all().map_err(error)?;
    file.persist(path).map_err(|e| error(e.error))?;
    Ok(())
}

/// What the operating system says of a folder, without the temporary name that `tempfile` adds.
fn refusal(folder: &Path, error: std::io::Error) -> Error {
    Error::io(folder, std::fs::read_dir(folder).err().unwrap_or(error))
}

/// Temporary files are private by default; outputs should have a new file's usual permissions.
trait NewFilePermissions {
    fn permissions_like_a_new_file(&mut self) -> &mut Self;
}

impl NewFilePermissions for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_like_a_new_file(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt;
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_like_a_new_file(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write(&path, |w| {
            w.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("out.txt: disk full"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named_and_the_temporary_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nowhere/out.txt");
        let message = write(&path, |_| Ok(())).unwrap_err().to_string();
        let missing = folder.path().join("nowhere: ");
        assert!(message.starts_with(missing.to_str().unwrap()), "{message}");
        assert!(!message.contains(".xgoal-"), "{message}");
    }
}

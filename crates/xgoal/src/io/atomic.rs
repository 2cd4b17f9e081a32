//! Whole files or none: written beside their target, synced, then renamed over it.
//!
//! Where the target is a link, the file it leads to is written. What is no file, as a device, is refused: a rename would
//! replace it.
//!
//! The folder is synced too, so that a file that was written is still there after the power failed. A
//! process that is killed while writing leaves a temporary file, which [`clear`] finds again.

use super::unfinished;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How the name of a temporary file begins; the name of its target follows.
const PREFIX: &str = ".xgoal-";

/// Characters of the target's name that a temporary one repeats, so that it does not get too long.
const LONGEST: usize = 32;

/// Characters that make a temporary name one of its own.
const RANDOM: usize = 6;

/// Writes a file so that a reader sees the old one or the new one, never half of it.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    write_seekable(path, |file| buffered(file, content))
}

/// The same, and what was there before, a file or a link, is kept under the name `previous`.
///
/// A kill between the two renames leaves the previous file alone, which is whole.
pub fn write_keeping(
    path: &Path,
    previous: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = Pending::beside(path)?;
    file.write(|file| buffered(file, content))?;
    file.sync()?;
    match std::fs::rename(path, previous) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(previous, e)),
        _ => file.persist(),
    }
}

/// The same as [`write()`] for formats that go back to fill in sizes; what is written is not buffered here.
pub fn write_seekable(
    path: &Path,
    content: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = Pending::new(path)?;
    file.write(content)?;
    file.put()
}

/// A file that is written bit by bit beside its target, and goes where it is not [put](Self::put) into its place.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    file: tempfile::NamedTempFile,
}

impl Pending {
    /// An empty file for a target, which may be a link.
    pub fn new(path: &Path) -> Result<Self> {
        let path = &behind_links(path)?;
        check_replaceable(path)?;
        Self::beside(path)
    }

    fn beside(path: &Path) -> Result<Self> {
        let folder = folder_of(path);
        let prefix = temporary_prefix(path);
        let mut temporary = tempfile::Builder::new();
        let temporary = temporary.prefix(&prefix).rand_bytes(RANDOM).permissions_like_a_new_file();
        let file =
            unfinished::begin(|| temporary.tempfile_in(folder), |file| file.path().to_path_buf())
                .map_err(|e| refusal(folder, e))?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// Writes more of it; nothing is buffered here.
    pub fn write<T>(&mut self, content: impl FnOnce(&mut File) -> std::io::Result<T>) -> Result<T> {
        content(self.file.as_file_mut()).map_err(|e| Error::io(&self.path, e))
    }

    fn sync(&self) -> Result<()> {
        self.file.as_file().sync_all().map_err(|e| Error::io(&self.path, e))
    }

    /// Puts it into its place.
    pub fn put(self) -> Result<()> {
        self.sync()?;
        self.persist()
    }

    fn persist(self) -> Result<()> {
        let Self { path, file } = self;
        let begun = file.path().to_path_buf();
        unfinished::complete(&begun, || file.persist(&path))
            .map_err(|e| Error::io(&path, e.error))?;
        sync_folder(folder_of(&path))
    }
}

/// Takes away what a killed process left of writing this file. Nobody else may be writing it.
pub fn clear(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    let prefix = temporary_prefix(path);
    let is_left = |name: &str| {
        let random = name.strip_prefix(&prefix);
        random.is_some_and(|r| r.len() == RANDOM && r.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
        let entry = entry.map_err(|e| Error::io(folder, e))?;
        if entry.file_name().to_str().is_some_and(is_left) {
            match std::fs::remove_file(entry.path()) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(Error::io(&entry.path(), e));
                }
                _ => (),
            }
        }
    }
    Ok(())
}

/// Makes the names in a folder last. Where a file system cannot do that, its own order must do.
pub fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Err(Error::io(folder, e))
        }
        _ => Ok(()),
    }
}

fn buffered(
    file: &mut File,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut writer = BufWriter::new(file);
    content(&mut writer)?;
    writer.flush()
}

/// The file that a path leads to, where it is a link.
pub(super) fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::Data(format!("{}: a link that leads nowhere", path.display())))
}

/// Refuses a path where something is that a file must not take the place of.
pub(super) fn check_replaceable(path: &Path) -> Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => "a folder",
        Ok(found) if !found.is_file() => "a device or the like",
        _ => return Ok(()),
    };
    Err(Error::Data(format!(
        "{}: {found}; expected a file, or a name that is free for one",
        path.display()
    )))
}

/// The folder a file or folder is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(LONGEST).collect();
    format!("{PREFIX}{name}-")
}

/// Refuses a folder that no file can be written into.
pub(crate) fn try_in(folder: &Path) -> Result<()> {
    let make = || tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder);
    let file = unfinished::begin(make, |file| file.path().to_path_buf())
        .map_err(|e| refusal(folder, e))?;
    let begun = file.path().to_path_buf();
    unfinished::complete(&begun, || drop(file));
    Ok(())
}

/// What the operating system says of a folder, without the temporary name that `tempfile` adds.
fn refusal(folder: &Path, error: std::io::Error) -> Error {
    let without_name = || match error.to_string().split_once(" at path ") {
        Some((said, _)) => std::io::Error::new(error.kind(), said),
        None => error,
    };
    Error::io(folder, std::fs::read_dir(folder).err().unwrap_or_else(without_name))
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
    fn the_file_before_is_kept_until_the_next_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let [path, previous] = ["now", "before"].map(|name| folder.path().join(name));
        let write = |text: &'static [u8]| write_keeping(&path, &previous, |w| w.write_all(text));
        let read = || [&path, &previous].map(|p| std::fs::read(p).unwrap_or_default());
        write(b"1").unwrap();
        assert_eq!(read(), [&b"1"[..], b""]);
        write(b"2").unwrap();
        write_keeping(&path, &previous, |_| Err(std::io::Error::other("full"))).unwrap_err();
        assert_eq!(read(), [b"2", b"1"]);
        write(b"3").unwrap();
        assert_eq!(read(), [b"3", b"2"]);
        // A state that was moved elsewhere and linked.
        #[cfg(unix)]
        {
            let far = folder.path().join("far");
            std::fs::rename(&path, &far).unwrap();
            std::os::unix::fs::symlink(&far, &path).unwrap();
            write(b"4").unwrap();
            assert_eq!(read(), [b"4", b"3"]);
        }
    }

    #[test]
    fn what_a_killed_process_left_is_found_by_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let long = "ü".repeat(100);
        for target in ["state", &long] {
            let path = folder.path().join(target);
            let litter = Pending::beside(&path).unwrap().file.keep().unwrap().1;
            let other = Pending::beside(&folder.path().join("another")).unwrap().file;
            let longer = Pending::beside(&folder.path().join(format!("{target}-b"))).unwrap().file;
            clear(&path).unwrap();
            assert!(!litter.exists() && other.path().exists());
            // A long name is told from others by its beginning only.
            assert!(target == long || longer.path().exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_what_is_no_file_stays() {
        use std::os::unix::{fs::symlink, net::UnixListener};
        let folder = tempfile::tempdir().unwrap();
        let [file, link, far, socket, round] =
            ["file", "link", "far", "socket", "round"].map(|name| folder.path().join(name));
        std::fs::create_dir(folder.path().join("below")).unwrap();
        let inner = folder.path().join("below/inner");
        symlink("../file", &inner).unwrap();
        symlink("below/inner", &link).unwrap();
        write(&link, |w| w.write_all(b"through")).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"through");
        assert!(link.is_symlink() && inner.is_symlink() && !file.is_symlink());
        // One that leads to a free name makes a file there.
        symlink("free", &far).unwrap();
        write(&far, |w| w.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(folder.path().join("free")).unwrap(), b"new");
        symlink("round", &round).unwrap();
        assert!(write(&round, |_| Ok(())).unwrap_err().to_string().contains("leads nowhere"));
        let _listener = UnixListener::bind(&socket).unwrap();
        symlink("socket", folder.path().join("plug")).unwrap();
        for path in [socket.clone(), folder.path().join("plug")] {
            let message = write(&path, |_| Ok(())).unwrap_err().to_string();
            assert!(message.contains("socket: a device or the like"), "{message}");
        }
        assert!(!std::fs::symlink_metadata(&socket).unwrap().is_file());
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

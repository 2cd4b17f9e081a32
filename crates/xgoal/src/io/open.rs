//! Opens files that are to be read: ordinary ones only, and large ones without a copy.

use crate::error::{Error, ParseError, Result};
use crate::machine::{self, Available, format_bytes};
use memmap2::Mmap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Deref;
use std::path::Path;

/// Opens a file and says how long it is.
pub(crate) fn file(path: &Path) -> Result<(File, u64)> {
    let error = |e| Error::io(path, e);
    check(path)?;
    let file = File::open(path).map_err(error)?;
    let metadata = file.metadata().map_err(error)?;
    if metadata.is_dir() {
        return Err(ParseError::new("a folder; expected a file").in_file(path));
    }
    Ok((file, metadata.len()))
}

/// Refuses what is neither file nor folder: opening a pipe would wait for somebody to write, and be over after one reading.
pub(crate) fn check(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(ParseError::new("a pipe, a device or the like; expected a file").in_file(path))
        }
        _ => Ok(()),
    }
}

/// Reads a file of text, if there is memory for it.
pub(crate) fn text(path: &Path) -> Result<String> {
    let (mut file, length) = file(path)?;
    fits(path, length)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => ParseError::new("not UTF-8 text").in_file(path),
        _ => Error::io(path, e),
    })?;
    Ok(text)
}

/// The bytes of a file, which lie in the system's cache of it and take no memory of their own.
#[derive(Debug)]
pub(crate) struct Mapped(Option<Mmap>);

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// Maps a file.
pub(crate) fn mapped(path: &Path) -> Result<Mapped> {
    let (file, length) = file(path)?;
    if length == 0 {
        return Ok(Mapped(None));
    }
    // SAFETY: the file is only read. Who cuts it meanwhile ends this process by a signal, as for any program that maps
    // files; what this program writes is renamed into its place and never cut.
    #[expect(unsafe_code, reason = "a call of the operating system")]
    let map = unsafe { Mmap::map(&file) };
    map.map(|map| Mapped(Some(map))).map_err(|e| match e.kind() {
        ErrorKind::OutOfMemory => too_large(path, length, "no address space is left for it"),
        _ => Error::io(path, e),
    })
}

/// The same for a file all of which is to be copied, if there is memory for the copy.
pub(crate) fn mapped_for_copy(path: &Path) -> Result<Mapped> {
    let mapped = mapped(path)?;
    fits(path, mapped.len() as u64)?;
    Ok(mapped)
}

fn fits(path: &Path, length: u64) -> Result<()> {
    match machine::available() {
        Some(Available { bytes, bound }) if length > bytes => {
            Err(too_large(path, length, &format!("{} {bound}", format_bytes(bytes))))
        }
        _ => Ok(()),
    }
}

fn too_large(path: &Path, length: u64, there: &str) -> Error {
    let message = format!(
        "reading it needs about {}, and {there}; use less data or a larger machine",
        format_bytes(length)
    );
    ParseError { out_of_memory: true, ..ParseError::new(message) }.in_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for bytes in [&b""[..], b"abc"] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(&*mapped(&path).unwrap(), bytes);
            assert_eq!(file(&path).unwrap().1, bytes.len() as u64);
        }
        assert!(matches!(mapped(&folder.path().join("b")), Err(Error::Io { .. })));
        assert!(mapped(folder.path()).unwrap_err().to_string().contains("a folder"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_than_the_machine_has_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hole");
        // A petabyte that takes no room, where the file system has such files.
        if File::create(&path).unwrap().set_len(1 << 50).is_ok() {
            let error = mapped_for_copy(&path).unwrap_err();
            assert!(error.is_memory(), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let message = file(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(message.contains("/dev/null: a pipe, a device or the like"), "{message}");
        assert!(text(Path::new("/dev/null")).is_err());
    }
}

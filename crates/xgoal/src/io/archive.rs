//! Zip archives, which NumPy and PyTorch keep their arrays in.

use std::io::{Read, Seek};

use zip::ZipArchive;

use crate::error::ParseError;
use crate::words::quoted;

/// Reads the list of entries.
pub(crate) fn open<R: Read + Seek>(reader: R) -> Result<ZipArchive<R>, ParseError> {
    let wrong = |e| {
        // What the crate says of a wrong archive are names of its own structures.
        ParseError::new(match e {
            zip::result::ZipError::Io(e) => format!("unreadable: {e}"),
            _ => "not a zip archive, or one that is damaged or cut short".to_string(),
        })
    };
    let mut archive = ZipArchive::new(reader).map_err(wrong)?;
    // Entries that share their bytes unpack to any number of times the archive.
    match archive.has_overlapping_files().map_err(wrong)? {
        true => {
            Err(ParseError::new("a zip archive whose entries overlap; expected each by itself"))
        }
        false => Ok(archive),
    }
}

/// The names of all entries, in the order of their numbers.
pub(crate) fn names<R: Read + Seek>(archive: &ZipArchive<R>) -> Result<Vec<String>, ParseError> {
    let name = |name: Result<_, _>| match name {
        Ok(name) => Ok(String::from(name)),
        Err(e) => Err(ParseError::new(format!("unreadable zip archive: {e}"))),
    };
    archive.file_names().map(name).collect()
}

/// The unpacked bytes of an entry, which `shown` stands for in messages.
pub(crate) fn entry<'a, R: Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    number: usize,
    shown: &str,
) -> Result<impl Read + use<'a, R>, ParseError> {
    archive.by_index(number).map_err(|e| {
        ParseError::new(format!("{}: unreadable in the zip archive: {e}", quoted(shown)))
    })
}

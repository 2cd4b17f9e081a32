//! Zip archives, which NumPy and PyTorch keep their arrays in.

use std::io::{Read, Seek, SeekFrom};

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
    if archive.has_overlapping_files().map_err(wrong)? {
        let message = "a zip archive whose entries overlap; expected each by itself";
        return Err(ParseError::new(message));
    }
    // Of two, one would be passed over.
    if archive.has_duplicate_names() {
        let message = "a zip archive with two entries of one name; expected a name for each";
        return Err(ParseError::new(message));
    }
    ZipArchive::new(named_alike(archive)?).map_err(wrong)
}

/// Gives back the reader, after a check that the list at the end has the names that stand before the entries: readers go by
/// one or by the other.
fn named_alike<R: Read + Seek>(archive: ZipArchive<R>) -> Result<R, ParseError> {
    /// Bytes before the name, and where its length stands among them.
    const HEADER: usize = 30;
    const LENGTH: usize = 26;
    let unreadable =
        |e: &dyn std::fmt::Display| ParseError::new(format!("unreadable zip archive: {e}"));
    let listed = (0..archive.len()).map(|number| {
        let entry = archive.by_index_data(number).map_err(|e| unreadable(&e))?;
        Ok((entry.header_start(), entry.name_raw().to_vec()))
    });
    let listed = listed.collect::<Result<Vec<_>, ParseError>>()?;
    let mut reader = archive.into_inner();
    for (start, name) in listed {
        let mut header = [0; HEADER];
        reader.seek(SeekFrom::Start(start)).map_err(|e| unreadable(&e))?;
        reader.read_exact(&mut header).map_err(|e| unreadable(&e))?;
        let length = u16::from_le_bytes([header[LENGTH], header[LENGTH + 1]]);
        let mut own = vec![0; length.into()];
        reader.read_exact(&mut own).map_err(|e| unreadable(&e))?;
        if own != name {
            let [own, name] = [own, name].map(|name| quoted(&String::from_utf8_lossy(&name)));
            return Err(ParseError::new(format!(
                "a zip archive whose list calls {name} what calls itself {own}; expected one name"
            )));
        }
    }
    Ok(reader)
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

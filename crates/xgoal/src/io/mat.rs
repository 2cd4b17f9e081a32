//! MATLAB files of version 5 (`save -v6` and `-v7`), as MATLAB and SciPy write them.
//!
//! A file is a 128-byte header and then one element per variable. An element is a tag (type and size) and its
//! data; a variable is an element of elements, either plain or in one zlib stream:
//!
//! ```text
//! header | miMATRIX size | flags | dimensions | name | values
//!        | miMATRIX size | flags | dimensions | name | ir | jc | values      (sparse, by columns)
//!        | miCOMPRESSED size | zlib( miMATRIX size | ... )
//! ```
//!
//! Numbers may be stored in a smaller type than the variable's class. Elements of at most four bytes
//! have a tag of four bytes in place of eight.
//!
//! Numeric and logical arrays of two dimensions become matrices and vectors, char arrays become one string per row.
//! Complex arrays and those of more dimensions are errors. Cells, structs, objects, functions and variables
//! without a name are passed over.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;

use super::arrays::NamedArray;
use super::build::Budget;
use super::decode::{self, Endian, Source};
use crate::error::ParseError;

mod variable;

use variable::Variable;

type Parsed<T> = Result<T, ParseError>;

const MI_MATRIX: u32 = 14;
const MI_COMPRESSED: u32 = 15;

/// Reads every usable variable of a file, in file order.
///
/// Dense matrices are read column by column and never held whole, so memory follows the non-zeros.
pub fn read(path: &Path) -> crate::Result<Vec<NamedArray>> {
    let (file, mut budget) = decode::open(path)?;
    parse(file, &mut budget).map_err(|e| e.in_file(path))
}

fn parse<R: Read>(reader: R, budget: &mut Budget) -> Parsed<Vec<NamedArray>> {
    let mut source = Source::new(reader);
    let endian = header(&mut source)?;
    let mut arrays = Vec::new();
    let mut names = HashSet::new();
    let mut elements = 0u64;
    loop {
        let start = source.at();
        let mut tag = [0; 8];
        match source.fill_some(&mut tag)? {
            0 => break,
            8 => {}
            n => return Err(source.cut_short(8 - n as u64, "a variable's tag")),
        }
        elements += 1;
        let (kind, bytes) = (word(&tag[..4], endian), u64::from(word(&tag[4..], endian)));
        let found = match kind {
            MI_MATRIX => Variable::within(&mut source, endian, bytes).read(budget)?,
            MI_COMPRESSED => compressed(&mut source, endian, bytes, budget)?,
            _ => {
                return Err(ParseError::at(
                    start,
                    format!("an element of type {kind}, expected a variable (14 or 15)"),
                ));
            }
        };
        if let Some(array) = found {
            if !names.insert(array.name.clone()) {
                return Err(ParseError::at(start, format!("`{}` is there twice", array.name)));
            }
            arrays.push(array);
        }
    }
    if elements == 0 {
        return Err(ParseError::at(
            source.at(),
            "the file ends after its header, without variables",
        ));
    }
    Ok(arrays)
}

/// Recognizes version 5 and the byte order.
fn header<R: Read>(source: &mut Source<R>) -> Parsed<Endian> {
    const RESAVE: &str = "expected version 5; save it again with `-v7`";
    let mut header = [0; 128];
    let got = source.fill_some(&mut header)?;
    if header.starts_with(b"\x89HDF") || header.starts_with(b"MATLAB 7.3") {
        return Err(ParseError::new(format!("a MATLAB file of version 7.3 (HDF5), {RESAVE}")));
    }
    // Version 4 has no header: its first word is a small number, version 5 has text there.
    if got >= 4 && header[..4].contains(&0) {
        return Err(ParseError::new(format!(
            "a MATLAB file of version 4, or no MATLAB file, {RESAVE}"
        )));
    }
    if got < header.len() {
        return Err(source.cut_short((header.len() - got) as u64, "the MATLAB header"));
    }
    let endian = match &header[126..] {
        b"IM" => Endian::Little,
        b"MI" => Endian::Big,
        other => {
            return Err(ParseError::at(
                126,
                format!("not a MATLAB file: byte order mark {other:?}, expected `IM` or `MI`"),
            ));
        }
    };
    let version = match endian {
        Endian::Little => header[125],
        Endian::Big => header[124],
    };
    match version {
        1 => Ok(endian),
        2 => Err(ParseError::new(format!("a MATLAB file of version 7.3 (HDF5), {RESAVE}"))),
        other => Err(ParseError::at(124, format!("a MATLAB file of version {other}, {RESAVE}"))),
    }
}

/// A variable in a zlib stream of `bytes` bytes.
fn compressed<R: Read>(
    source: &mut Source<R>,
    endian: Endian,
    bytes: u64,
    budget: &mut Budget,
) -> Parsed<Option<NamedArray>> {
    let start = source.at();
    let mut inner = Source::new(ZlibDecoder::new(source.by_ref().take(bytes)));
    let mut unpack = || {
        let mut tag = [0; 8];
        inner.fill(&mut tag, "a compressed variable's tag")?;
        let kind = word(&tag[..4], endian);
        if kind != MI_MATRIX {
            return Err(ParseError::at(
                0,
                format!("a compressed element of type {kind}, expected a variable (14)"),
            ));
        }
        let size = u64::from(word(&tag[4..], endian));
        let array = Variable::within(&mut inner, endian, size).read(budget)?;
        inner.drain()?;
        Ok(array)
    };
    let array = unpack().map_err(|e| ParseError {
        at: Some(start),
        message: match e.at {
            Some(at) => format!("{}, at byte {at} of the unpacked variable", e.message),
            None => e.message,
        },
        out_of_memory: e.out_of_memory,
    })?;
    let left = inner.into_inner().into_inner().limit();
    source.skip(left, "a compressed variable")?;
    Ok(array)
}

fn word(bytes: &[u8], endian: Endian) -> u32 {
    let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
    match endian {
        Endian::Little => bytes.iter().rev().fold(0, fold),
        Endian::Big => bytes.iter().fold(0, fold),
    }
}

#[cfg(test)]
mod tests;

//! One input for several files: parts between [`BETWEEN`], so that a fuzzer can change, move and repeat them.

use std::io::{Cursor, Write};
use zip::write::{SimpleFileOptions, ZipWriter};

/// What stands between two parts.
pub const BETWEEN: &[u8] = b"\n%%\n";

/// The parts of an input.
pub fn split(input: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|w| w == BETWEEN) {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

/// The input of some parts.
pub fn join(parts: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut input = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        input.extend_from_slice(if i == 0 { b"" } else { BETWEEN });
        input.extend_from_slice(part.as_ref());
    }
    input
}

/// A zip archive as it came, or else one of parts that each begin with a line for their name: a change within a part
/// is then no wrong checksum.
pub fn archive(input: &[u8]) -> Vec<u8> {
    if input.starts_with(b"PK") {
        return input.to_vec();
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for part in split(input) {
        let end = part.iter().position(|b| *b == b'\n').unwrap_or(part.len());
        let name = String::from_utf8_lossy(&part[..end]);
        // A name that is there already, or that no archive can have, is left out with its part.
        if zip.start_file(name, SimpleFileOptions::default()).is_ok() {
            zip.write_all(part.get(end + 1..).unwrap_or_default()).expect("into memory");
        }
    }
    zip.finish().expect("into memory").into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_split_as_they_were_joined() {
        let parts: [&[u8]; 4] = [b"a\nb", b"", b"%%", b"\n"];
        assert_eq!(split(&join(&parts)), parts);
        assert_eq!(split(b""), [b""]);
    }
}

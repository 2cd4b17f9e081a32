//! A file's footer, looked at before the crate builds a tree of it.
//!
//! The footer is a Thrift structure whose second field lists the schema's elements, a group before what is in it. The
//! crate takes memory for as many parts as a group claims and goes into groups by recursion, so both are checked here;
//! of all fields, that they have their types and are there to their end.
//!
//! ```text
//!     ... | { 1: version, 2: [{ 4: name, 5: number of parts, ... }, ...], ... } | its length | PAR1
//! ```

use super::compact::{Compact, wrong};
use super::structures::FOOTER;
use std::io::{self, Read};

/// Groups within groups; columns that can be read have three.
const DEEPEST: usize = 64;

/// Checks a file of `length` bytes; `open` reads from a place of it. What is no Parquet at all is for the crate to say.
pub(super) fn check<R: Read>(length: u64, open: impl Fn(u64) -> io::Result<R>) -> io::Result<()> {
    let Some(end) = length.checked_sub(8) else { return Ok(()) };
    let mut tail = [0; 8];
    open(end)?.read_exact(&mut tail)?;
    let [size @ .., b'P', b'A', b'R', b'1'] = tail else { return Ok(()) };
    let size = u64::from(u32::from_le_bytes(size));
    let Some(start) = end.checked_sub(size) else { return Ok(()) };
    FOOTER.check(&mut Compact::new(open(start)?, size))?;
    let mut footer = Compact::new(open(start)?, size);
    let mut last = 0;
    while let Some((field, kind)) = footer.field(&mut last)? {
        match (field, kind) {
            (2, 9) => schema(&mut footer)?,
            _ => footer.skip(kind, 0)?,
        }
    }
    Ok(())
}

fn schema(footer: &mut Compact<impl Read>) -> io::Result<()> {
    let (count, _) = footer.list()?;
    // Parts that are still to come, of each group that is open.
    let mut open: Vec<u64> = Vec::new();
    for at in 0..count {
        let parts = footer.number_of(5)?;
        if parts > count - at - 1 {
            let left = count - at - 1;
            return Err(wrong(&format!("a group of {parts} parts, of which {left} can be there")));
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(parts);
        if open.len() > DEEPEST {
            return Err(wrong(&format!("more than {DEEPEST} groups within one another")));
        }
        while open.pop_if(|left| *left == 0).is_some() {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with nothing but a footer, of a schema whose elements have so many parts.
    fn checked(parts: &[u8]) -> Result<(), String> {
        // version 2; a list of structures with a name and a number of parts.
        let mut footer = vec![0x15, 4, 0x19, 0xfc, parts.len() as u8];
        for count in parts {
            footer.extend([0x48, 1, b'x', 0x15, 2 * count, 0]);
        }
        footer.push(0);
        let length = (footer.len() as u32).to_le_bytes();
        let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
        check(file.len() as u64, |at| Ok(&file[at as usize..])).map_err(|e| e.to_string())
    }

    #[test]
    fn groups_hold_what_they_claim() {
        assert_eq!(checked(&[2, 1, 0, 0]), Ok(()));
        assert_eq!(checked(&[&[1; 63][..], &[0]].concat()), Ok(()));
        let message = checked(&[2, 60, 0, 0]).unwrap_err();
        assert!(message.contains("a group of 60 parts, of which 2 can be there"), "{message}");
        let deep: Vec<u8> = (0..100).map(|i| u8::from(i < 99)).collect();
        assert!(checked(&deep).unwrap_err().contains("more than 64 groups"));
    }

    #[test]
    fn claims_without_bytes_are_refused() {
        let judge = |footer: &[u8]| {
            let file = [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat();
            check(file.len() as u64, |at| Ok(&file[at as usize..])).map_err(|e| e.to_string())
        };
        // Field 10: a list of 2^31 - 1 booleans, and one of as many numbers.
        let list = |kind: u8| [0xa9, 0xf0 | kind, 0xff, 0xff, 0xff, 0xff, 7, 2, 2, 2, 0];
        assert!(judge(&list(1)).unwrap_err().contains("a list of booleans"));
        assert!(judge(&list(5)).is_err());
        assert_eq!(judge(&[0xa9, 0x25, 2, 2, 0]), Ok(()));
        // Row groups, whose first has a number for its columns, or texts among them.
        for groups in [&[0x49, 0x1c, 0x15, 2, 0, 0][..], &[0x49, 0x1c, 0x19, 0x18, 0, 0, 0]] {
            assert!(judge(groups).unwrap_err().contains("which it cannot have"));
        }
    }

    #[test]
    fn other_files_are_not_judged() {
        for file in [&b""[..], b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"something else"] {
            assert!(check(file.len() as u64, |at| Ok(&file[at as usize..])).is_ok());
        }
    }
}

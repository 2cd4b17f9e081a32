//! What the pages of a column announce, looked at before anything is unpacked.
//!
//! Every page begins with a Thrift structure that claims how long it is unpacked and how many values it has, and the
//! crate takes memory for both. A page may unpack to [`FREE`] bytes and [`PER_BYTE`] times its packed size, and all
//! pages together to what [`Budget`] allows a file.
//!
//! ```text
//!     header { 1: type, 2: unpacked size, 3: packed size, 5, 7 or 8: { 1: values, ... }, ... } | packed bytes | header ...
//! ```

use super::compact::Compact;
use super::structures::PAGE;
use crate::error::ParseError;
use crate::io::build::Budget;
use std::io::{self, Read};

/// Bytes any page may unpack to: twice what writers fill a page with.
const FREE: u64 = 2 << 20;
/// Times its packed size that a page may unpack to, on top of that.
const PER_BYTE: u64 = 1 << 11;
/// Bytes that a value takes with its levels.
const VALUE: u64 = 16;
/// More bytes than a page's header has, with its statistics.
const LONGEST_HEADER: u64 = 1 << 24;

/// Checks all pages from `start` on, of `length` bytes together; `open` reads from a place of the file.
pub(super) fn check<R: Read>(
    start: u64,
    length: u64,
    budget: &mut Budget,
    open: impl Fn(u64) -> io::Result<R>,
) -> Result<(), ParseError> {
    // The crate takes memory for one page at a time, and for a dictionary.
    let room = Budget::for_file(u64::MAX);
    let mut at = start;
    let end = start.saturating_add(length);
    while at < end {
        let header = || io::Result::Ok(Compact::new(open(at)?, LONGEST_HEADER));
        let in_header =
            |e: io::Error| ParseError::new(format!("a page's header at byte {at}: {e}"));
        PAGE.check(&mut header().map_err(in_header)?).map_err(in_header)?;
        let mut header = header().map_err(in_header)?;
        let page = Page::read(&mut header).map_err(in_header)?;
        if page.unpacked > FREE.saturating_add(page.packed.saturating_mul(PER_BYTE)) {
            let Page { unpacked, packed, .. } = page;
            return Err(ParseError::new(format!(
                "a page at byte {at} unpacks from {packed} to {unpacked} bytes; expected at most {PER_BYTE} times as many"
            )));
        }
        let taken = page.unpacked.saturating_add(page.values.saturating_mul(VALUE));
        let too_large = "its pages unpack to more than a file of this size may";
        budget.take(taken).map_err(|_| ParseError::new(too_large))?;
        room.clone().take(taken)?;
        at = at.saturating_add(header.read()).saturating_add(page.packed);
    }
    Ok(())
}

/// What a page's header says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    unpacked: u64,
    packed: u64,
    values: u64,
}

impl Page {
    fn read(header: &mut Compact<impl Read>) -> io::Result<Self> {
        let mut page = Self::default();
        let mut last = 0;
        while let Some((field, kind)) = header.field(&mut last)? {
            match (field, kind) {
                (2, 5) => page.unpacked = header.size()?,
                (3, 5) => page.packed = header.size()?,
                (5 | 7 | 8, 12) => {
                    page.values = page.values.saturating_add(header.number_of(1)?);
                }
                _ => header.skip(kind, 0)?,
            }
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with these sizes and values, and 3 bytes of data.
    fn page(unpacked: i64, packed: i64, values: i64) -> Vec<u8> {
        let number = |value: i64| {
            let mut word = (value << 1 ^ value >> 63) as u64;
            let mut bytes = Vec::new();
            while word >= 0x80 {
                bytes.push(word as u8 | 0x80);
                word >>= 7;
            }
            bytes.push(word as u8);
            bytes
        };
        // type 0; sizes; a data page with statistics of one text; a list of bytes that nobody knows.
        [
            vec![0x15, 0],
            [vec![0x15], number(unpacked), vec![0x15], number(packed)].concat(),
            [vec![0x2c, 0x15], number(values), vec![0x4c, 0x18, 2, b'h', b'i', 0, 0]].concat(),
            vec![0x49, 0x23, 1, 2, 0],
            vec![1, 2, 3],
        ]
        .concat()
    }

    fn checked(file: &[u8], budget: u64) -> Result<(), String> {
        let open = |at: u64| Ok(&file[at as usize..]);
        check(0, file.len() as u64, &mut Budget::of(budget), open).map_err(|e| e.message)
    }

    #[test]
    fn pages_are_walked_to_the_end() {
        let two = [page(10, 3, 4), page(20, 3, 4)].concat();
        assert_eq!(checked(&two, 30 + 8 * VALUE), Ok(()));
        assert!(checked(&two, 29 + 8 * VALUE).unwrap_err().contains("unpack to more"));
        let mut header = Compact::new(&two[..], LONGEST_HEADER);
        let page = Page::read(&mut header).unwrap();
        assert_eq!(page, Page { unpacked: 10, packed: 3, values: 4 });
    }

    #[test]
    fn claims_are_refused() {
        let refused = |file: &[u8]| checked(file, u64::MAX).unwrap_err();
        let bomb = page(i64::from(i32::MAX), 3, 1);
        assert!(
            refused(&bomb).contains("unpacks from 3 to 2147483647 bytes"),
            "{}",
            refused(&bomb)
        );
        assert!(refused(&page(-1, 3, 1)).contains("a negative size"));
        assert!(checked(&page(9, 3, i64::from(i32::MAX)), 1 << 30).is_err());
        for end in 1..page(9, 3, 1).len() - 3 {
            assert!(checked(&page(9, 3, 1)[..end], u64::MAX).is_err(), "cut at {end}");
        }
        // A dictionary of 2^31 - 1 values in 3 bytes.
        let dictionary =
            [0x15, 4, 0x15, 6, 0x15, 6, 0x4c, 0x15, 0xfe, 0xff, 0xff, 0xff, 15, 0, 0, 1, 2, 3];
        assert!(checked(&dictionary, 1 << 30).unwrap_err().contains("unpack to more"));
        assert!(refused(&[0x99, 0xf1, 0xff, 0xff, 0xff, 0xff, 7]).contains("a list of booleans"));
        // A list of structures without end, in ever new structures.
        assert!(refused(&[&[0x9c][..], &[0x1c; 100]].concat()).contains("too deep"));
        // The sizes as texts, and a page of data as a number.
        for header in [&[0x28, 0][..], &[0x55, 2]] {
            assert!(refused(header).contains("which it cannot have"), "{}", refused(header));
        }
        // Field 65541, which is 5 in 16 bits.
        assert!(refused(&[0x0c, 0x8a, 0x80, 8, 0]).contains("a field of number 65541"));
    }
}

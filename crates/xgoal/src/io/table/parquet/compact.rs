//! Thrift's compact protocol, in which Parquet's headers are written, as far as it is needed to find numbers and pass
//! over the rest.

use std::io::{self, ErrorKind, Read};

/// Structures and lists within one another; Parquet has seven.
const DEEPEST: u32 = 16;

/// A structure that is read from its start; never more than `most` bytes of it.
pub(super) struct Compact<R> {
    reader: R,
    read: u64,
    most: u64,
}

impl<R: Read> Compact<R> {
    pub(super) fn new(reader: R, most: u64) -> Self {
        Self { reader, read: 0, most }
    }

    /// Bytes read so far.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Number and type of the next field; none at the end of a structure.
    pub(super) fn field(&mut self, last: &mut i64) -> io::Result<Option<(i64, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => self.signed()?,
            step => *last + i64::from(step),
        };
        // The number is of 16 bits; one reader may cut a longer one and another not.
        match *last {
            1..=0x7fff => Ok(Some((*last, byte & 0xf))),
            other => Err(wrong(&format!("a field of number {other}"))),
        }
    }

    pub(super) fn skip(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(wrong("structures too deep"));
        }
        match kind {
            // In a structure, a boolean is its type.
            1 | 2 => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.pass(8),
            8 => self.varint().and_then(|length| self.pass(length)),
            9 | 10 => {
                let (count, kind) = self.list()?;
                // The crate takes no bytes for them, so that a few bytes would keep it busy for as long as they like.
                if matches!(kind, 1 | 2) && count > 0 {
                    return Err(wrong("a list of booleans"));
                }
                for _ in 0..count {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            12 => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            other => Err(wrong(&format!("a field of type {other}"))),
        }
    }

    /// How many items of which type a list has.
    pub(super) fn list(&mut self) -> io::Result<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Ok((count, head & 0xf))
    }

    /// One number of a structure, which is passed over to its end; 0 where it is not there.
    pub(super) fn number_of(&mut self, wanted: i64) -> io::Result<u64> {
        let (mut number, mut last) = (0, 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match kind {
                5 if field == wanted => number = self.size()?,
                _ => self.skip(kind, 1)?,
            }
        }
        Ok(number)
    }

    /// A number that may not be negative.
    pub(super) fn size(&mut self) -> io::Result<u64> {
        u64::try_from(self.signed()?).map_err(|_| wrong("a negative size"))
    }

    /// A zigzag number.
    fn signed(&mut self) -> io::Result<i64> {
        let word = self.varint()?;
        Ok((word >> 1) as i64 ^ -((word & 1) as i64))
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(wrong("a number of too many bytes"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        self.advance(1)?;
        Ok(byte[0])
    }

    fn pass(&mut self, count: u64) -> io::Result<()> {
        self.advance(count)?;
        match io::copy(&mut self.reader.by_ref().take(count), &mut io::sink())? {
            passed if passed == count => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn advance(&mut self, count: u64) -> io::Result<()> {
        self.read = self.read.saturating_add(count);
        match self.read > self.most {
            true => Err(wrong("longer than any")),
            false => Ok(()),
        }
    }
}

pub(super) fn wrong(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

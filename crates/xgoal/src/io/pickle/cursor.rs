//! The bytes of a pickle and how far they are read; no length is believed before it is checked.

use super::value::Parsed;
use crate::error::ParseError;

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The byte to be read next.
    pub(super) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Checks that so many bytes are left.
    pub(super) fn claim(&self, length: u64, at: u64) -> Parsed<usize> {
        let left = self.bytes.len() - self.at;
        usize::try_from(length).ok().filter(|n| *n <= left).ok_or_else(|| {
            ParseError::at(
                at,
                format!("found {left} bytes up to the end of the file, expected {length}"),
            )
        })
    }

    pub(super) fn take(&mut self, length: u64, at: u64) -> Parsed<&'a [u8]> {
        let length = self.claim(length, at)?;
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Parsed<u8> {
        let at = self.at as u64;
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| {
            ParseError::at(at, "found the end of the file, expected more of the pickle")
        })?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn number<const N: usize, T>(&mut self, decode: fn([u8; N]) -> T) -> Parsed<T> {
        let at = self.at as u64;
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, at)?);
        Ok(decode(array))
    }

    /// A line without its end, as the text opcodes carry.
    pub(super) fn line(&mut self, at: u64) -> Parsed<&'a str> {
        let rest = &self.bytes[self.at..];
        let text = rest
            .iter()
            .position(|b| *b == b'\n')
            .and_then(|end| std::str::from_utf8(&rest[..end]).ok())
            .ok_or_else(|| ParseError::at(at, "expected a line of text after the opcode"))?;
        self.at += text.len() + 1;
        Ok(text)
    }
}

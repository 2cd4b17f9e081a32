//! Whole records out of a stream of text: chunks that begin and end between two rows.
//!
//! A line feed ends a record unless it stands in quotes, and a quote counts only where a field begins, as in RFC 4180
//! and the `csv-core` parser. Chunks without any quote, which are most, are cut at their last line feed.

use crate::error::ParseError;
use memchr::{memchr, memchr_iter, memrchr};
use std::io::{self, Read};

/// Bytes of a chunk, about.
const CHUNK: usize = 1 << 20;
/// A record longer than this is a quote that was left open.
const LONGEST: usize = 1 << 26;

/// Rows of text, and the line they begin in, from 1.
#[derive(Debug, PartialEq)]
pub(super) struct Chunk {
    pub bytes: Vec<u8>,
    pub line: u64,
}

/// Cuts a stream into chunks.
pub(super) struct Records<R> {
    reader: R,
    separator: u8,
    rest: Vec<u8>,
    line: u64,
    ended: bool,
    chunk: usize,
}

/// What went wrong.
#[derive(Debug)]
pub(super) enum Trouble {
    Unreadable(io::Error),
    Wrong(ParseError),
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: R, separator: u8) -> Self {
        Self { reader, separator, rest: Vec::new(), line: 1, ended: false, chunk: CHUNK }
    }

    #[cfg(test)]
    pub(super) fn with_chunks_of(mut self, chunk: usize) -> Self {
        self.chunk = chunk;
        self
    }

    /// The next chunk, `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>, Trouble> {
        let mut wanted = self.chunk;
        loop {
            self.fill(wanted)?;
            if self.rest.is_empty() {
                return Ok(None);
            }
            let end = match self.last_end() {
                Ok(end) => end.or(self.ended.then_some(self.rest.len())),
                Err(open) if self.ended => return Err(self.left_open(open)),
                Err(_) => None,
            };
            if let Some(end) = end {
                let rest = self.rest.split_off(end);
                let bytes = std::mem::replace(&mut self.rest, rest);
                let line = self.line;
                self.line += memchr_iter(b'\n', &bytes).count() as u64;
                return Ok(Some(Chunk { bytes, line }));
            }
            if self.rest.len() > LONGEST {
                return Err(Trouble::Wrong(ParseError::new(format!(
                    "line {}: a row of more than {} MB begins here; is a quote left open?",
                    self.line,
                    LONGEST >> 20
                ))));
            }
            wanted = self.rest.len() * 2;
        }
    }

    fn left_open(&self, at: usize) -> Trouble {
        let line = self.line + memchr_iter(b'\n', &self.rest[..at]).count() as u64;
        Trouble::Wrong(ParseError::new(format!("line {line}: a quote that begins here never ends")))
    }

    fn fill(&mut self, wanted: usize) -> Result<(), Trouble> {
        if self.ended || self.rest.len() >= wanted {
            return Ok(());
        }
        let missing = (wanted - self.rest.len()) as u64;
        let read = self.reader.by_ref().take(missing).read_to_end(&mut self.rest);
        self.ended = (read.map_err(Trouble::Unreadable)? as u64) < missing;
        Ok(())
    }

    /// Where the last whole record ends; an error with the place of a quote that is open at the end, where no record
    /// ends before it.
    fn last_end(&self) -> Result<Option<usize>, usize> {
        let bytes = &self.rest;
        if memchr(b'"', bytes).is_none() {
            return Ok(memrchr(b'\n', bytes).map(|at| at + 1));
        }
        let mut end = None;
        let mut field = 0;
        while field < bytes.len() {
            let mut at = field;
            if bytes[at] == b'"' {
                // Two quotes in a quoted field are one quote of its text.
                loop {
                    match memchr(b'"', &bytes[at + 1..]) {
                        None if self.ended => return Err(field),
                        None => return end.map(Some).ok_or(field),
                        Some(more) => at += 1 + more,
                    }
                    match bytes.get(at + 1) {
                        Some(b'"') => at += 1,
                        _ => break,
                    }
                }
                at += 1;
            }
            match memchr::memchr2(self.separator, b'\n', &bytes[at..]) {
                None => break,
                Some(more) => {
                    field = at + more + 1;
                    if bytes[at + more] == b'\n' {
                        end = Some(field);
                    }
                }
            }
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, chunk: usize) -> Result<Vec<(String, u64)>, String> {
        let mut records = Records::new(text.as_bytes(), b',').with_chunks_of(chunk);
        let mut chunks = Vec::new();
        loop {
            match records.next() {
                Ok(Some(c)) => chunks.push((String::from_utf8(c.bytes).unwrap(), c.line)),
                Ok(None) => return Ok(chunks),
                Err(Trouble::Wrong(e)) => return Err(e.to_string()),
                Err(Trouble::Unreadable(e)) => return Err(e.to_string()),
            }
        }
    }

    #[test]
    fn rows_stay_whole_whatever_the_chunk() {
        let text = "id,text\n1,\"a\nb\"\n2,say \"hi\n\n3,\"x \"\"y\"\"\n,z\"\n4,plain";
        let rows = [
            "id,text\n",
            "1,\"a\nb\"\n",
            "2,say \"hi\n",
            "\n",
            "3,\"x \"\"y\"\"\n,z\"\n",
            "4,plain",
        ];
        for chunk in 1..60 {
            let chunks = cut(text, chunk).unwrap();
            let joined: String = chunks.iter().map(|c| c.0.as_str()).collect();
            assert_eq!(joined, text);
            let mut at = 0;
            for (bytes, line) in &chunks {
                assert_eq!(*line, 1 + text[..at].matches('\n').count() as u64);
                at += bytes.len();
                let mut left = bytes.as_str();
                while !left.is_empty() {
                    let row = rows.iter().find(|r| left.starts_with(**r));
                    left = &left[row.unwrap_or_else(|| panic!("{left:?}")).len()..];
                }
            }
        }
    }

    #[test]
    fn a_quote_left_open_names_its_line() {
        let message = cut("a,b\n1,2\n3,\"4\n5,6\n", 1 << 20).unwrap_err();
        assert_eq!(message, "line 3: a quote that begins here never ends");
        assert_eq!(cut("a,b\n1,2\n3,\"4\n5,6\n", 4).unwrap_err(), message);
    }
}

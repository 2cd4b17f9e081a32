//! CSV and TSV, plain or gzipped: a line of names, then rows of as many fields.

use super::batch::{Batch, Column, Places, Texts};
use super::records::{Chunk, Records, Trouble};
use crate::error::{Error, ParseError, Result};
use crate::io::build::Budget;
use crate::io::open;
use csv_core::{ReadRecordResult, Reader};
use flate2::bufread::MultiGzDecoder;
use memchr::memchr_iter;
use rayon::prelude::*;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Chunks that are read ahead for each thread.
const AHEAD: usize = 4;

/// A text table.
pub(super) struct Delimited {
    path: PathBuf,
    separator: u8,
    gzip: bool,
    names: Vec<String>,
}

impl Delimited {
    pub(super) fn open(path: &Path, separator: u8, gzip: bool) -> Result<Self> {
        let mut table = Self { path: path.to_path_buf(), separator, gzip, names: Vec::new() };
        let first = table.records()?.next().map_err(|e| table.trouble(e))?;
        if let Some(first) = first {
            let mut rows = table.rows(&first)?;
            if rows.next()? {
                let name = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
                table.names = rows.fields().map(name).collect();
                return Ok(table);
            }
        }
        Err(ParseError::new("empty; expected a line of column names").in_file(path))
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn scan<T: Send>(
        &self,
        columns: &[usize],
        map: &(impl Fn(Batch) -> Result<T> + Sync),
        take: &mut impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut records = self.records()?;
        let ahead = AHEAD * rayon::current_num_threads();
        let mut window = |first: bool| -> Result<Vec<(Chunk, bool)>> {
            let mut chunks = Vec::with_capacity(ahead);
            while chunks.len() < ahead {
                let Some(chunk) = records.next().map_err(|e| self.trouble(e))? else { break };
                let header = first && chunks.is_empty();
                chunks.push((chunk, header));
            }
            Ok(chunks)
        };
        let mut next = window(true)?;
        while !next.is_empty() {
            let work = |(chunk, header): (Chunk, bool)| map(self.batch(&chunk, header, columns)?);
            // Reading (and unpacking) goes on while the rows before are worked on.
            let chunks = next;
            let (more, done) = rayon::join(
                || window(false),
                || chunks.into_par_iter().map(work).collect::<Vec<Result<T>>>(),
            );
            done.into_iter().try_for_each(|part| take(part?))?;
            next = more?;
        }
        Ok(())
    }

    fn records(&self) -> Result<Records<Box<dyn Read + Send>>> {
        let (file, size) = open::file(&self.path)?;
        let reader: Box<dyn Read + Send> = if self.gzip {
            let inner = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file));
            Box::new(Unpacked { inner, budget: Budget::for_stream(size) })
        } else {
            Box::new(file)
        };
        Ok(Records::new(reader, self.separator))
    }

    fn trouble(&self, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Wrong(e) => e.in_file(&self.path),
            Trouble::Unreadable(e) if e.kind() == ErrorKind::FileTooLarge => {
                ParseError::new(e.to_string()).in_file(&self.path)
            }
            Trouble::Unreadable(e) if self.gzip => {
                ParseError::new(format!("damaged, or not gzip: {e}")).in_file(&self.path)
            }
            Trouble::Unreadable(e) => Error::io(&self.path, e),
        }
    }

    fn rows<'a>(&'a self, chunk: &'a Chunk) -> Result<Fields<'a>> {
        if let Err(e) = std::str::from_utf8(&chunk.bytes) {
            let before = &chunk.bytes[..e.valid_up_to()];
            let line = chunk.line + memchr_iter(b'\n', before).count() as u64;
            return Err(self.wrong(line, "not UTF-8 text"));
        }
        let mut reader = csv_core::ReaderBuilder::new();
        let input = &chunk.bytes[..];
        Ok(Fields {
            table: self,
            reader: reader.delimiter(self.separator).build(),
            input,
            line: chunk.line,
            passed: 0,
            output: vec![0; input.len()],
            ends: vec![0; self.names.len().max(64)],
            count: 0,
            ended: false,
        })
    }

    fn batch(&self, chunk: &Chunk, header: bool, columns: &[usize]) -> Result<Batch> {
        let mut rows = self.rows(chunk)?;
        if header {
            rows.next()?;
        }
        // Lines may be empty, but a row has a byte for each of its fields.
        let lines = memchr_iter(b'\n', &chunk.bytes).count();
        let likely = lines.min(chunk.bytes.len() / self.names.len()) + 1;
        let mut texts: Vec<Texts> = columns.iter().map(|_| Texts::default()).collect();
        texts.iter_mut().for_each(|t| t.reserve(likely, chunk.bytes.len() / self.names.len()));
        let mut lines = Vec::with_capacity(likely);
        while rows.next()? {
            if rows.count != self.names.len() {
                return Err(self.wrong(
                    rows.line(),
                    &format!(
                        "{} fields; expected {}, as in the first line",
                        rows.count,
                        self.names.len()
                    ),
                ));
            }
            for (text, column) in texts.iter_mut().zip(columns) {
                text.push(rows.field(*column));
            }
            lines.push(rows.line() as u32);
        }
        let columns = texts.into_iter().map(Column::Texts).collect();
        Ok(Batch::new(columns, Places::Lines(lines)))
    }

    fn wrong(&self, line: u64, message: &str) -> Error {
        ParseError::new(format!("line {line}: {message}")).in_file(&self.path)
    }
}

/// A stream that unpacks to no more than a file of its size may.
pub(super) struct Unpacked<R> {
    pub inner: R,
    pub budget: Budget,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.budget.take(read as u64).map_err(|_| {
            let message = "unpacks to more than a gzip file of its size may";
            io::Error::new(ErrorKind::FileTooLarge, message)
        })?;
        Ok(read)
    }
}

/// The rows of a chunk, one at a time.
struct Fields<'a> {
    table: &'a Delimited,
    reader: Reader,
    input: &'a [u8],
    /// The line the chunk begins in, and the lines before the current row within it.
    line: u64,
    passed: u64,
    output: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
    ended: bool,
}

impl Fields<'_> {
    /// Goes to the next row; whether there is one.
    fn next(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let (mut written, mut count) = (0, 0);
        // Empty lines are passed over; they belong to no row.
        while let [b'\n' | b'\r', rest @ ..] = self.input {
            self.reader.set_line(self.reader.line() + u64::from(self.input[0] == b'\n'));
            self.input = rest;
        }
        self.passed = self.reader.line() - 1;
        loop {
            let (result, read, wrote, ends) = self.reader.read_record(
                self.input,
                &mut self.output[written..],
                &mut self.ends[count..],
            );
            self.input = &self.input[read..];
            written += wrote;
            count += ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.output.resize(self.output.len() * 2 + 64, 0),
                ReadRecordResult::OutputEndsFull => {
                    if self.ends.len() > 1 << 20 {
                        let message = "more than a million fields in one row";
                        return Err(self.table.wrong(self.line(), message));
                    }
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                ReadRecordResult::Record => {
                    self.count = count;
                    return Ok(true);
                }
                ReadRecordResult::End => {
                    self.ended = true;
                    self.count = count;
                    return Ok(count > 0);
                }
            }
        }
    }

    /// The line the row begins in.
    fn line(&self) -> u64 {
        self.line + self.passed
    }

    fn field(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.output[start..self.ends[number]]
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map(|number| self.field(number))
    }
}

//! The file: its schema, its row groups, and batches out of them.

use super::columns::{Kind, Values};
use super::{footer, pages};
use crate::error::{Error, ParseError, Result};
use crate::io::build::Budget;
use crate::io::open;
use crate::io::table::batch::{Batch, Places};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use rayon::prelude::*;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Rows of a batch.
const STEP: usize = 1 << 15;
/// Batches that are read ahead for each thread.
const AHEAD: usize = 4;

/// A Parquet table.
pub(in crate::io::table) struct ParquetTable {
    path: PathBuf,
    file: SerializedFileReader<Shared>,
    shared: Shared,
    names: Vec<String>,
}

impl ParquetTable {
    pub(in crate::io::table) fn open(path: &Path) -> Result<Self> {
        let (file, length) = open::file(path)?;
        let shared = Shared { file: Arc::new(Mutex::new(file)), length };
        let damaged = |e: String| {
            ParseError::new(format!("not Parquet, or damaged: {}", reason(&e))).in_file(path)
        };
        footer::check(length, |at| Ok(shared.at(at))).map_err(|e| damaged(e.to_string()))?;
        let opened = shared.clone();
        let file = guarded(|| SerializedFileReader::new(opened).map_err(|e| e.to_string()))
            .map_err(damaged)?;
        if !file.metadata().row_groups().iter().all(|group| lies_within(group, length)) {
            return Err(damaged("a column lies outside the file".into()));
        }
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let names = schema.root_schema().get_fields().iter().map(|f| f.name().to_owned()).collect();
        Ok(Self { path: path.to_path_buf(), file, shared, names })
    }

    pub(in crate::io::table) fn names(&self) -> &[String] {
        &self.names
    }

    pub(in crate::io::table) fn scan<T: Send>(
        &self,
        columns: &[usize],
        map: &(impl Fn(Batch) -> Result<T> + Sync),
        take: &mut impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let leaves = columns.iter().map(|c| self.leaf(*c)).collect::<Result<Vec<_>>>()?;
        let budget = Budget::for_stream(self.shared.length);
        let mut groups =
            Groups { table: self, leaves, budget, group: 0, row: 1, left: 0, open: Vec::new() };
        let mut next = groups.guarded_window()?;
        while !next.is_empty() {
            let batches = next;
            // Columns are unpacked while the rows before are worked on.
            let (more, done) = rayon::join(
                || groups.guarded_window(),
                || batches.into_par_iter().map(map).collect::<Vec<Result<T>>>(),
            );
            done.into_iter().try_for_each(|part| take(part?))?;
            next = more?;
        }
        Ok(())
    }

    /// The stored column of a field, and what it holds.
    fn leaf(&self, field: usize) -> Result<(usize, Kind)> {
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        let mut leaves =
            (0..schema.num_columns()).filter(|l| schema.get_column_root_idx(*l) == field);
        let (first, second) = (leaves.next(), leaves.next());
        let wrong = |found: &str| {
            let name = &self.names[field];
            self.wrong(format!("column `{name}` holds {found}; expected strings, numbers, booleans or lists of numbers"))
        };
        let (Some(leaf), None) = (first, second) else { return Err(wrong("structures")) };
        let kind = Kind::of(&schema.column(leaf)).map_err(|found| wrong(&found))?;
        Ok((leaf, kind))
    }

    fn wrong(&self, message: String) -> Error {
        ParseError::new(message).in_file(&self.path)
    }

    fn about(&self, column: &str, error: ParseError) -> Error {
        let message = format!("column `{column}`: {}", error.message);
        ParseError { message, ..error }.in_file(&self.path)
    }

    fn damaged(&self, e: &ParquetError) -> Error {
        self.wrong(format!("damaged, or not supported: {}", reason(&e.to_string())))
    }
}

/// What the library says, without its own announcement.
fn reason(message: &str) -> &str {
    message.strip_prefix("Parquet error: ").unwrap_or(message)
}

/// Goes through the row groups.
struct Groups<'a> {
    table: &'a ParquetTable,
    leaves: Vec<(usize, Kind)>,
    /// What the pages may still unpack to.
    budget: Budget,
    group: usize,
    /// The number of the next row, from 1.
    row: u32,
    /// Rows of the open group that are not read yet.
    left: usize,
    open: Vec<Values>,
}

impl Groups<'_> {
    fn guarded_window(&mut self) -> Result<Vec<Batch>> {
        let table = self.table;
        guarded(|| Ok(self.window())).map_err(|e| table.wrong(format!("damaged: {e}")))?
    }

    /// The next batches; none after the last row.
    fn window(&mut self) -> Result<Vec<Batch>> {
        let table = self.table;
        while self.left == 0 {
            if self.group == table.file.num_row_groups() {
                return Ok(Vec::new());
            }
            let group = table.file.get_row_group(self.group).map_err(|e| table.damaged(&e))?;
            let rows = group.metadata().num_rows();
            self.left = usize::try_from(rows)
                .map_err(|_| table.wrong(format!("row group {}: {rows} rows", self.group)))?;
            for (leaf, _) in &self.leaves {
                let column = group.metadata().column(*leaf);
                let (start, size) = column.byte_range();
                let open = |at| Ok(table.shared.at(at));
                pages::check(start, size, &mut self.budget, open)
                    .map_err(|e| table.about(&column.column_path().string(), e))?;
            }
            let values = |(leaf, kind): &(usize, Kind)| {
                let reader = group.get_column_reader(*leaf).map_err(|e| table.damaged(&e))?;
                let column = group.metadata().column(*leaf).column_descr_ptr();
                Ok(Values::new(reader, *kind, column, Budget::for_file(table.shared.length)))
            };
            self.open = self.leaves.iter().map(values).collect::<Result<_>>()?;
            self.group += 1;
        }
        let rows = self.left.min(STEP * AHEAD * rayon::current_num_threads());
        let steps: Vec<usize> = (0..rows).step_by(STEP).map(|from| STEP.min(rows - from)).collect();
        let (names, leaves) = (&table.names, &self.leaves);
        let schema = table.file.metadata().file_metadata().schema_descr_ptr();
        let read = |(at, values): (usize, &mut Values)| {
            let step = |rows: &usize| {
                let name = &names[schema.get_column_root_idx(leaves[at].0)];
                values.read(*rows).map_err(|e| table.about(name, e))
            };
            steps.iter().map(step).collect::<Result<Vec<_>>>()
        };
        let columns: Vec<_> =
            self.open.par_iter_mut().enumerate().map(read).collect::<Result<_>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let mut batches = Vec::with_capacity(steps.len());
        for step in steps {
            let columns = columns.iter_mut().map(|c| c.next().expect("one for each step"));
            batches.push(Batch::new(columns.collect(), Places::Rows(self.row, step)));
            self.row = self.row.wrapping_add(step as u32);
        }
        self.left -= rows;
        Ok(batches)
    }
}

/// Whether every column of a row group is where a file of this length can have it.
fn lies_within(group: &RowGroupMetaData, length: u64) -> bool {
    let start = |column: &ColumnChunkMetaData| {
        column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset())
    };
    group.columns().iter().all(|column| {
        let (start, size) =
            (u64::try_from(start(column)).ok(), u64::try_from(column.compressed_size()).ok());
        let end = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        end.is_some_and(|end| end <= length) && column.data_page_offset() >= 0
    })
}

/// The crate checks what it reads, but some damage makes it panic: that is an error like any other.
fn guarded<T>(
    work: impl FnOnce() -> std::result::Result<T, String>,
) -> std::result::Result<T, String> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    caught.unwrap_or_else(|_| Err("its contents contradict each other".into()))
}

/// A file that several columns are read from at a time: every read says where.
#[derive(Clone)]
struct Shared {
    file: Arc<Mutex<File>>,
    length: u64,
}

impl Shared {
    /// Reads from a place on.
    fn at(&self, at: u64) -> BufReader<At> {
        BufReader::new(At { shared: self.clone(), at })
    }
}

/// A place in the file.
struct At {
    shared: Shared,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut file = self.shared.file.lock().expect("no reader panics");
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Shared {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.at(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // What a damaged file claims is not allocated.
        if start.saturating_add(length as u64) > self.length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start}, beyond the end")));
        }
        let mut bytes = vec![0; length];
        At { shared: self.clone(), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

//! Embeddings: a row of numbers for each node, and the nodes' ids, in the format that suits what comes next.
//!
//! | format | file | ids |
//! |---|---|---|
//! | `npy` | `z.npy` | `z.ids.txt`, one per line; `z.ids.json` where an id has a line break |
//! | `parquet` | `z.parquet` | column `id`, beside `vector` |
//! | `csv`, `tsv` | `z.csv` | column `id`, before `e0`, `e1`, ... |
//! | `safetensors` | `z.safetensors` | a JSON list in the metadata |
//! | `word2vec` | `z.vec` | the first word of each line, `%`-escaped |
//! | `projector` | `z.vectors.tsv` | `z.metadata.tsv`, with the classes where they are known |

mod npy;
mod parquet;
mod projector;
mod safetensors;
mod table;
mod word2vec;

pub use npy::ids_path;

use crate::error::{Error, ParseError, Result};
use crate::graph::{Labels, MultiplexGraph, check_ids};
use crate::io::atomic::Pending;
use crate::io::table::write::Values;
use crate::io::table::{Format as TableFormat, Ids};
use crate::matrix::Dense;
use crate::settings::choices::choices;
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

choices! {
    /// How embeddings are written.
    Format {
        /// NumPy's, with the ids in a file beside it.
        Npy = "npy",
        /// Parquet with the columns `id` and `vector`.
        Parquet = "parquet",
        /// A column per dimension, with commas.
        Csv = "csv",
        /// A column per dimension, with tabs.
        Tsv = "tsv",
        /// One tensor, the ids in the metadata.
        Safetensors = "safetensors",
        /// The text format of word2vec.
        Word2vec = "word2vec",
        /// Two files for TensorBoard's projector.
        Projector = "projector",
    }
}

impl Format {
    /// The format a file's name ends in.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        if name.ends_with(".vectors.tsv") {
            return Some(Self::Projector);
        }
        match name.rsplit_once('.')?.1 {
            "npy" => Some(Self::Npy),
            "parquet" | "pq" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "safetensors" => Some(Self::Safetensors),
            "vec" | "txt" | "w2v" => Some(Self::Word2vec),
            _ => None,
        }
    }

    /// What a file of this format is called after its stem.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Safetensors => "safetensors",
            Self::Word2vec => "vec",
            Self::Projector => "vectors.tsv",
        }
    }
}

/// The extensions, as messages list them.
pub const EXPECTED: &str = ".npy, .parquet, .csv, .tsv, .safetensors, .vec or .vectors.tsv";

/// Rows with their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// One per row; where the file has none, rows are numbered from 0.
    pub ids: Option<Vec<String>>,
    /// A row per node.
    pub matrix: Dense,
}

impl Embeddings {
    /// The id of a row.
    pub fn id(&self, row: usize) -> String {
        self.ids.as_ref().map_or_else(|| row.to_string(), |ids| ids[row].clone())
    }

    /// Refuses an id that stands for two rows.
    fn check_ids(&self) -> std::result::Result<(), ParseError> {
        let mut seen = HashSet::with_hasher(RandomState::default());
        match self.ids.iter().flatten().find(|id| !seen.insert(id.as_str())) {
            None => Ok(()),
            Some(id) => {
                let id = crate::words::quoted(id);
                Err(ParseError::new(format!(
                    "the id {id} stands for two rows; expected an id for each"
                )))
            }
        }
    }

    /// The row of each id, where there is one.
    pub fn rows_of<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Vec<Option<u32>> {
        let Some(own) = &self.ids else {
            let rows = self.matrix.rows() as u32;
            let row = |id: &str| id.parse().ok().filter(|r: &u32| *r < rows && r.to_string() == id);
            return ids.into_iter().map(row).collect();
        };
        let mut row_of = Ids::default();
        own.iter().for_each(|id| {
            row_of.insert(id);
        });
        ids.into_iter().map(|id| row_of.get(id)).collect()
    }
}

/// What rows are besides their numbers.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    count: usize,
    ids: Option<&'a [String]>,
    /// Whether the ids are whole numbers.
    integers: bool,
    labels: Option<&'a Labels>,
}

/// The nodes of a graph, with their ids, and their classes where these are known.
impl<'a> From<&'a MultiplexGraph> for Rows<'a> {
    fn from(graph: &'a MultiplexGraph) -> Self {
        Self {
            count: graph.nodes(),
            ids: graph.ids(),
            integers: graph.has_integer_ids(),
            labels: graph.labels(),
        }
    }
}

impl<'a> Rows<'a> {
    /// So many rows, by these ids, or without any numbered from 0.
    pub fn new(count: usize, ids: Option<&'a [String]>) -> Result<Self> {
        ids.map_or(Ok(()), |ids| check_ids(ids, count))?;
        Ok(Self { count, ids, integers: ids.is_none(), labels: None })
    }

    fn id(&self, row: usize) -> String {
        self.ids.map_or_else(|| row.to_string(), |ids| ids[row].clone())
    }

    /// Some ids as a column of a table: numbers where they are numbers.
    fn column(&self, rows: Range<usize>) -> Values<'static> {
        if self.integers {
            let number = |row| self.id(row).parse().expect("ids of whole numbers");
            return Values::Integers(rows.map(number).collect());
        }
        Values::Texts(rows.map(|row| self.id(row)).collect())
    }

    /// The class of a row, empty where it is unknown; nothing where no class is known.
    fn class(&self, row: usize) -> Option<&str> {
        let labels = self.labels?;
        Some(labels.classes[row].map_or("", |class| &labels.names[class as usize]))
    }
}

/// Writes embeddings of a graph's nodes, or of other rows, and returns the files this made.
pub fn write<'a>(
    path: &Path,
    format: Format,
    embeddings: &Dense,
    rows: impl Into<Rows<'a>>,
) -> Result<Vec<PathBuf>> {
    let mut writer = Writer::new(path, format, embeddings.cols(), rows)?;
    writer.push(embeddings)?;
    writer.finish()
}

/// Embeddings on their way into a file, some rows after the others. Nothing is there under the file's name before the end.
#[derive(Debug)]
pub struct Writer<'a> {
    path: PathBuf,
    format: Format,
    layout: Box<dyn Layout>,
    file: Pending,
    rows: Rows<'a>,
    written: usize,
}

/// How rows become a file.
trait Layout: fmt::Debug {
    /// What comes before them.
    fn begin(&mut self, file: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()>;

    /// Rows from the given one on.
    fn rows(
        &mut self,
        file: &mut dyn Write,
        rows: &Rows<'_>,
        first: usize,
        some: &Dense,
    ) -> io::Result<()>;

    /// What comes after them, or in places that were left free for it.
    fn end(&mut self, _file: &mut File, _rows: &Rows<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Writer<'a> {
    /// For rows of so many numbers.
    pub fn new(
        path: &Path,
        format: Format,
        columns: usize,
        rows: impl Into<Rows<'a>>,
    ) -> Result<Self> {
        let rows = rows.into();
        let mut layout: Box<dyn Layout> = match format {
            Format::Npy => Box::new(npy::Npy { columns }),
            Format::Parquet => Box::new(parquet::Vectors::new(columns)),
            Format::Csv => Box::new(table::Lines { separator: b',', columns }),
            Format::Tsv => Box::new(table::Lines { separator: b'\t', columns }),
            Format::Safetensors => Box::new(safetensors::tensor(path, columns, &rows)?),
            Format::Word2vec => Box::new(word2vec::Words { columns }),
            Format::Projector => Box::new(projector::Vectors),
        };
        let mut file = Pending::new(path)?;
        file.write(|file| layout.begin(file, &rows))?;
        Ok(Self { path: path.to_path_buf(), format, layout, file, rows, written: 0 })
    }

    /// The next rows.
    pub fn push(&mut self, some: &Dense) -> Result<()> {
        let Self { layout, file, rows, written, .. } = self;
        let first = *written;
        *written += some.rows();
        if *written > rows.count {
            return self.check();
        }
        file.write(|file| {
            let mut writer = BufWriter::new(file);
            layout.rows(&mut writer, rows, first, some)?;
            writer.flush()
        })
    }

    fn check(&self) -> Result<()> {
        let Self { written, rows: Rows { count, .. }, .. } = self;
        match written == count {
            true => Ok(()),
            false => Err(Error::Data(format!("{written} embeddings for {count} nodes"))),
        }
    }

    /// Puts the file into its place, and those of ids beside it, and returns all of them.
    pub fn finish(self) -> Result<Vec<PathBuf>> {
        self.check()?;
        let Self { path, format, mut layout, mut file, rows, .. } = self;
        file.write(|file| layout.end(file, &rows))?;
        let beside = match format {
            Format::Npy => Some(npy::write_ids(&path, &rows)?),
            Format::Projector => Some(projector::write_metadata(&path, &rows)?),
            _ => None,
        };
        file.put()?;
        Ok(std::iter::once(path).chain(beside).collect())
    }
}

/// The files that writing in a format may leave.
pub fn files(path: &Path, format: Format) -> Vec<PathBuf> {
    let mut files = vec![path.to_path_buf()];
    match format {
        Format::Npy => files.extend([npy::ids_path(path), npy::json_path(path)]),
        Format::Projector => files.push(projector::metadata_path(path)),
        _ => {}
    }
    files
}

/// Reads a file of a format, told by its name where it is not given.
pub fn read(path: &Path, format: Option<Format>) -> Result<Embeddings> {
    let Some(format) = format.or(Format::of(path)) else {
        std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
        let message = format!("not embeddings; expected {EXPECTED}");
        return Err(ParseError::new(message).in_file(path));
    };
    let embeddings = match format {
        Format::Npy => npy::read(path)?,
        Format::Parquet => table::read(path, TableFormat::Parquet)?,
        Format::Csv => table::read(path, TableFormat::separated_by(b',', path))?,
        Format::Tsv => table::read(path, TableFormat::separated_by(b'\t', path))?,
        Format::Safetensors => safetensors::read(path)?,
        Format::Word2vec => word2vec::read(path)?,
        Format::Projector => projector::read(path)?,
    };
    // Rows without numbers could be any number of them without a byte of data.
    let (rows, cols) = (embeddings.matrix.rows(), embeddings.matrix.cols());
    if rows > 0 && cols == 0 {
        let message = format!("{rows} rows without numbers; expected at least one in each");
        return Err(ParseError::new(message).in_file(path));
    }
    if let Some(ids) = embeddings.ids.as_ref().filter(|ids| ids.len() != embeddings.matrix.rows()) {
        return Err(ParseError::new(format!(
            "{} ids for {} rows of embeddings",
            ids.len(),
            embeddings.matrix.rows()
        ))
        .in_file(path));
    }
    embeddings.check_ids().map_err(|e| e.in_file(path))?;
    Ok(embeddings)
}

/// Reads embeddings in the order of the graph's nodes, by their ids where these are known.
pub fn read_for(path: &Path, format: Option<Format>, graph: &MultiplexGraph) -> Result<Dense> {
    let embeddings = read(path, format)?;
    if embeddings.ids.is_none() {
        let rows = embeddings.matrix.rows();
        if rows == graph.nodes() {
            return Ok(embeddings.matrix);
        }
        let nodes = graph.nodes();
        let message = format!("{}: {rows} rows for a graph of {nodes} nodes", path.display());
        return Err(Error::Data(message));
    }
    let ids: Vec<String> = (0..graph.nodes()).map(|n| graph.id(n)).collect();
    let rows = embeddings.rows_of(ids.iter().map(String::as_str));
    let rows = rows.into_iter().zip(&ids).map(|(row, id)| {
        row.ok_or_else(|| Error::Data(format!("{}: no row for the node `{id}`", path.display())))
    });
    Ok(embeddings.matrix.select_rows(&rows.collect::<Result<Vec<_>>>()?))
}

#[cfg(test)]
mod tests;

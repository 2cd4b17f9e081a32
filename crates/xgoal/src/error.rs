//! The library's one error type: which file, line or key, what was found, what was expected.

use crate::machine::format_bytes;
use crate::words::nearest;
use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, in words a user can act on.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file was read but is damaged, hostile, or not what its name says.
    #[error("{}: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        source: ParseError,
    },
    /// Values that are readable but cannot be used (shapes, NaN, labels out of range).
    #[error("{0}")]
    Data(String),
    /// A matrix operation met operands that do not fit.
    #[error("{operation}: shapes {left:?} and {right:?} do not fit")]
    Shape {
        /// The operation that was asked for.
        operation: &'static str,
        /// Rows and columns of the left operand.
        left: (usize, usize),
        /// Rows and columns of the right operand.
        right: (usize, usize),
    },
    /// A layer name that the graph does not have.
    #[error("no layer is called `{name}`; the graph has {}", available.join(", "))]
    UnknownLayer {
        /// The name asked for.
        name: String,
        /// The names that exist.
        available: Vec<String>,
    },
    /// A backend that this build does not have.
    #[error("this build has no backend called `{name}`; it has {}", available.join(", "))]
    UnknownBackend {
        /// The name asked for.
        name: String,
        /// The names that exist.
        available: Vec<&'static str>,
    },
    /// A setting name that does not exist.
    #[error("unknown setting `{key}`{}; {}", origin(.file.as_deref(), *.line), choice(.key, .known))]
    UnknownSetting {
        /// The key that was given.
        key: String,
        /// The file it stood in, if any.
        file: Option<PathBuf>,
        /// Its line there, from 1.
        line: Option<usize>,
        /// All keys that exist.
        known: Vec<&'static str>,
    },
    /// A setting whose value is of the wrong type or out of its range.
    #[error("setting `{key}`: found {found}, expected {expected}")]
    Setting {
        /// The key.
        key: &'static str,
        /// The value as given.
        found: String,
        /// The type or range.
        expected: String,
    },
    /// The job would not fit into the memory there is.
    #[error(
        "{job} needs about {}{sum}, and {} {bound}; {advice}",
        format_bytes(*needed),
        format_bytes(*available)
    )]
    Memory {
        /// The job.
        job: &'static str,
        /// What the memory is for, in parentheses, where that is known.
        sum: String,
        /// Bytes the job needs.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// What bounds them.
        bound: &'static str,
        /// What to do about it.
        advice: String,
    },
    /// A layer would not fit into the machine's memory.
    #[error(
        "layer `{layer}` would have about {edges} edges, which need {:.1} GB to build, and {:.1} GB are free; {advice}",
        *needed as f64 / 1e9,
        *available as f64 / 1e9
    )]
    LayerMemory {
        /// The layer.
        layer: String,
        /// Predicted number of edges.
        edges: u64,
        /// Bytes it takes to build it.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// What to do about it.
        advice: String,
    },
    /// The folder that a run writes into is gone, or another is in its place.
    #[error(
        "{}: removed or replaced while this run went on; nothing more is written into it",
        folder.display()
    )]
    FolderLost {
        /// The folder.
        folder: PathBuf,
    },
    /// A loss term became NaN or infinite.
    #[error(
        "{stage} epoch {epoch}: {term} is {value}; try a smaller learning rate or check the weights and attributes"
    )]
    NonFinite {
        /// The stage of training.
        stage: &'static str,
        /// The epoch, from 0.
        epoch: u32,
        /// The term, as `metrics.jsonl` names it.
        term: &'static str,
        /// The value it took.
        value: f64,
    },
}

fn origin(file: Option<&Path>, line: Option<usize>) -> String {
    let file = file.map(|f| format!(" in {}", f.display())).unwrap_or_default();
    file + &line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

/// All names there are, after the one that was meant.
fn choice(name: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`? The settings are {all}"),
        None => format!("the settings are {all}"),
    }
}

/// What is wrong inside a file, and at which byte where that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", at.map(|a| format!(" (at byte {a})")).unwrap_or_default())]
pub struct ParseError {
    /// Byte offset into the (decompressed) file.
    pub at: Option<u64>,
    /// What was found and what was expected.
    pub message: String,
    /// Whether nothing is wrong with the file but that there is no memory to read it into.
    pub out_of_memory: bool,
}

impl ParseError {
    /// An error without a position.
    pub fn new(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), out_of_memory: false }
    }

    /// An error at a byte offset.
    pub fn at(at: u64, message: impl Into<String>) -> Self {
        Self { at: Some(at), ..Self::new(message) }
    }

    /// Names the file the error was found in.
    pub fn in_file(self, path: &Path) -> Error {
        Error::Parse { path: path.to_path_buf(), source: self }
    }
}

impl Error {
    /// Whether there is too little memory for what was asked.
    pub fn is_memory(&self) -> bool {
        match self {
            Error::Memory { .. } | Error::LayerMemory { .. } => true,
            Error::Parse { source, .. } => source.out_of_memory,
            _ => false,
        }
    }

    /// Wraps an operating-system error with the path it concerns.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_path_buf(), source }
    }
}

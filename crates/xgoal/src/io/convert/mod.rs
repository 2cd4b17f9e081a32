//! A graph out again, as a source: one `.npz` file, or a folder of tables with a `graph.toml`.
//!
//! | of the graph | `.npz` | folder |
//! |---|---|---|
//! | ids | `ids`, strings or whole numbers | column `id` of the node table |
//! | layers | sparse matrices | a table of edges each, every edge of a symmetric layer once |
//! | attributes | `feature` | tables of (id, feature, value) where columns have names, else matrices |
//! | classes | `label` and `label_names` | column `class` of the node table |
//! | split | `train_idx`, `val_idx`, `test_idx` | column `split` of the node table |

mod npz;
mod tables;

use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::io::target;
use crate::settings::choices::choices;
use serde::Serialize;
use std::path::{Path, PathBuf};

choices! {
    /// How tables are written.
    TableKind {
        /// With commas.
        Csv = "csv",
        /// With tabs.
        Tsv = "tsv",
        /// Apache Parquet.
        Parquet = "parquet",
    }
}

/// Where a graph goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// One archive.
    Npz(PathBuf),
    /// A folder with a manifest.
    Tables(PathBuf),
}

impl Destination {
    /// Told by the name: `.npz`, a `graph.toml`, or a folder. A file of another kind is refused.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if path.file_name().is_some_and(|name| name == "graph.toml") {
            return Ok(Self::Tables(path.parent().unwrap_or(Path::new("")).to_path_buf()));
        }
        match extension {
            "npz" => Ok(Self::Npz(path.to_path_buf())),
            "mat" | "pkl" | "pickle" | "toml" | "csv" | "tsv" | "parquet" | "npy" => {
                Err(Error::Data(format!(
                    "{}: expected an .npz file, or a folder for a graph.toml and its tables",
                    path.display()
                )))
            }
            _ => Ok(Self::Tables(path.to_path_buf())),
        }
    }

    /// Refuses what could not be written, before there is a graph to write.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Npz(path) => target::check_file(path),
            Self::Tables(folder) => target::check_for_source(folder),
        }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of attributes.
    pub features: usize,
    /// The layers' names and stored entries.
    pub layers: Vec<ConvertedLayer>,
    /// The files; a manifest is the last.
    pub files: Vec<PathBuf>,
}

/// One layer that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConvertedLayer {
    /// Its name.
    pub name: String,
    /// Stored entries: both directions of an edge.
    pub edges: usize,
}

/// Writes a graph as a source.
pub fn write(graph: &MultiplexGraph, to: &Destination, tables: TableKind) -> Result<Converted> {
    let files = match to {
        Destination::Npz(path) => {
            npz::write(path, graph)?;
            vec![path.clone()]
        }
        Destination::Tables(folder) => tables::write(folder, graph, tables)?,
    };
    let layer =
        |l: &crate::graph::Layer| ConvertedLayer { name: l.name.clone(), edges: l.adjacency.nnz() };
    Ok(Converted {
        nodes: graph.nodes(),
        features: graph.attributes().cols(),
        layers: graph.layers().iter().map(layer).collect(),
        files,
    })
}

#[cfg(test)]
mod tests;

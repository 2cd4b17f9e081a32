//! `graph.toml`: a manifest of the user's own files, relative to itself.
//!
//! ```toml
//! [nodes]
//! file = "nodes.csv"          # one row per node
//! id = "id"
//!
//! [[features]]                # one or several blocks, side by side
//! matrix = "words.npz"        # SciPy sparse, or .npy; a row per node, in the order of the node table
//!
//! [[layers]]
//! name = "cites"
//! matrix = "cites.npz"
//!
//! [labels]
//! column = "class"            # of the node table; empty where unknown
//!
//! [splits]
//! column = "split"            # train, val, test, or empty
//! ```

mod matrices;
mod nodes;
mod schema;
mod section;

use crate::error::{Error, ParseError, Result};
use crate::graph::{Labels, Layer, MultiplexGraph, Splits};
use nodes::NodeTable;
use schema::{LayerSpec, Manifest};
use std::path::{Path, PathBuf};

/// The manifest a source stands for: the file itself, or the one in a folder.
pub fn manifest_of(source: &Path) -> Option<PathBuf> {
    let inside = source.join("graph.toml");
    if inside.is_file() {
        return Some(inside);
    }
    let is_toml = source.extension().is_some_and(|e| e == "toml");
    is_toml.then(|| source.to_path_buf())
}

/// Reads the graph a manifest describes, with the named layers in that order, or all of them.
pub fn read(path: &Path, layers: Option<&[String]>) -> Result<MultiplexGraph> {
    let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => ParseError::new("not UTF-8 text").in_file(path),
        _ => Error::io(path, e),
    })?;
    let manifest = Manifest::parse(&text).map_err(|e| e.in_file(path))?;
    let folder = path.parent().unwrap_or(Path::new(""));

    let wanted = select(&manifest.layers, layers).map_err(|e| match e {
        Error::Data(message) => ParseError::new(message).in_file(path),
        other => other,
    })?;
    let node_file = folder.join(&manifest.nodes.file);
    let columns = [&manifest.labels, &manifest.splits].into_iter().flatten();
    let columns: Vec<&str> = std::iter::once(&manifest.nodes.id)
        .chain(columns.map(|c| &c.column))
        .map(|c| &**c)
        .collect();
    let table = NodeTable::read(&node_file, &columns)?;
    let ids = table.column(&manifest.nodes.id).to_vec();
    let nodes = ids.len();

    let mut blocks = Vec::new();
    for block in &manifest.features {
        let file = folder.join(&block.matrix);
        let matrix = matrices::read(&file)?;
        if matrix.rows() != nodes {
            return Err(ParseError::new(format!(
                "{} rows; expected {nodes}, a row for each node of {}",
                matrix.rows(),
                node_file.display()
            ))
            .in_file(&file));
        }
        blocks.push(matrix);
    }
    if blocks.is_empty() {
        return Err(ParseError::new("no [[features]]; expected at least one block").in_file(path));
    }
    let mut read = Vec::with_capacity(wanted.len());
    for layer in wanted {
        let file = folder.join(&layer.matrix);
        let adjacency = matrices::read(&file)?.into_csr();
        if (adjacency.rows(), adjacency.cols()) != (nodes, nodes) {
            return Err(ParseError::new(format!(
                "{} x {}; expected {nodes} x {nodes}, as {} has {nodes} rows",
                adjacency.rows(),
                adjacency.cols(),
                node_file.display()
            ))
            .in_file(&file));
        }
        read.push(Layer { name: layer.name.clone(), adjacency });
    }
    let named = |e: Error| match e {
        Error::Data(message) => Error::Data(format!("{}: {message}", path.display())),
        other => other,
    };
    let mut graph = MultiplexGraph::new(read, matrices::side_by_side(blocks)).map_err(named)?;
    graph = graph.with_ids(ids).map_err(|e| match e {
        Error::Data(message) => Error::Data(format!("{}: {message}", node_file.display())),
        other => other,
    })?;
    if let Some(labels) = &manifest.labels {
        graph = graph.with_labels(as_labels(table.column(&labels.column))).map_err(named)?;
    }
    if let Some(splits) = &manifest.splits {
        let splits = as_splits(table.column(&splits.column), &splits.column)
            .map_err(|e| e.in_file(&node_file))?;
        graph = graph.with_splits(splits).map_err(named)?;
    }
    Ok(graph)
}

/// The layers asked for, in that order.
fn select<'a>(specs: &'a [LayerSpec], names: Option<&[String]>) -> Result<Vec<&'a LayerSpec>> {
    for (i, spec) in specs.iter().enumerate() {
        if specs[..i].iter().any(|other| other.name == spec.name) {
            return Err(Error::Data(format!("two layers are called `{}`", spec.name)));
        }
    }
    let Some(names) = names else { return Ok(specs.iter().collect()) };
    let mut selected: Vec<&LayerSpec> = Vec::with_capacity(names.len());
    for name in names {
        let found = specs.iter().find(|spec| spec.name == *name).ok_or_else(|| {
            let available = specs.iter().map(|spec| spec.name.clone()).collect();
            Error::UnknownLayer { name: name.clone(), available }
        })?;
        if selected.iter().any(|other| other.name == *name) {
            return Err(Error::Setting {
                key: "layers",
                found: format!("`{name}` twice"),
                expected: "each layer once".into(),
            });
        }
        selected.push(found);
    }
    Ok(selected)
}

/// Classes in the order of their names; an empty field is unknown.
fn as_labels(column: &[String]) -> Labels {
    let mut names: Vec<String> = column.iter().filter(|c| !c.is_empty()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    let class = |name: &String| names.binary_search(name).ok().map(|c| c as u32);
    Labels { classes: column.iter().map(class).collect(), names }
}

fn as_splits(column: &[String], name: &str) -> std::result::Result<Splits, ParseError> {
    let mut splits = Splits::default();
    for (node, part) in column.iter().enumerate() {
        match part.as_str() {
            "train" => splits.train.push(node as u32),
            "val" => splits.val.push(node as u32),
            "test" => splits.test.push(node as u32),
            "" => {}
            other => {
                return Err(ParseError::new(format!(
                    "row {}: `{other}` in column `{name}`; expected train, val, test or nothing",
                    node + 1
                )));
            }
        }
    }
    Ok(splits)
}

#[cfg(test)]
mod tests;

//! One archive of named arrays.

use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::io::npz::write::NpzWriter;
use crate::io::{atomic, npy};
use crate::matrix::Matrix;
use std::fs::File;
use std::io;
use std::path::Path;

/// Names that mean something else than a layer.
const TAKEN: [&str; 9] = [
    "feature",
    "features",
    "label",
    "labels",
    "label_names",
    "train_idx",
    "val_idx",
    "test_idx",
    "ids",
];
/// Whole numbers from here on are not exact as the floats they are read through.
const EXACT: i64 = 1 << 53;

pub(super) fn write(path: &Path, graph: &MultiplexGraph) -> Result<()> {
    check(path, graph)?;
    atomic::write_seekable(path, |file| {
        let mut npz = NpzWriter::new(file);
        content(&mut npz, graph)?;
        npz.finish()?;
        Ok(())
    })
}

/// Refuses what would be read back as something else.
fn check(path: &Path, graph: &MultiplexGraph) -> Result<()> {
    let wrong = |message: String| Err(Error::Data(format!("{}: {message}", path.display())));
    let names = graph.layer_names();
    if let Some(name) = names.iter().find(|n| TAKEN.contains(&n.as_str())) {
        return wrong(format!("a layer called `{name}` would not be read as a layer from .npz"));
    }
    // NumPy pads strings with zeros.
    let padded = |text: &str| text.ends_with('\0');
    if let Some(node) = (0..graph.nodes()).find(|n| padded(&graph.id(*n))) {
        let id = graph.id(node);
        return wrong(format!("the id {id:?} ends in a zero, which NumPy's strings cannot hold"));
    }
    if let Some(name) = graph.labels().and_then(|l| l.names.iter().find(|name| padded(name))) {
        return wrong(format!(
            "the class {name:?} ends in a zero, which NumPy's strings cannot hold"
        ));
    }
    Ok(())
}

fn content(npz: &mut NpzWriter<&mut File>, graph: &MultiplexGraph) -> io::Result<()> {
    match graph.attributes() {
        Matrix::Sparse(m) => {
            npz.sparse("feature", m)?;
        }
        Matrix::Dense(m) => npz.array("feature", "<f4", &[m.rows(), m.cols()], |w| {
            npy::write_numbers(w, m.values(), f32::to_le_bytes)
        })?,
    }
    for layer in graph.layers() {
        npz.sparse(&layer.name, &layer.adjacency)?;
    }
    if let Some(labels) = graph.labels() {
        let classes: Vec<i64> = labels.classes.iter().map(|c| c.map_or(-1, i64::from)).collect();
        whole_numbers(npz, "label", &classes)?;
        strings(npz, "label_names", &labels.names)?;
    }
    if let Some(splits) = graph.splits() {
        let parts =
            [("train_idx", &splits.train), ("val_idx", &splits.val), ("test_idx", &splits.test)];
        for (name, nodes) in parts {
            let nodes: Vec<i64> = nodes.iter().map(|n| i64::from(*n)).collect();
            whole_numbers(npz, name, &nodes)?;
        }
    }
    let Some(ids) = graph.ids() else { return Ok(()) };
    let numbers: Option<Vec<i64>> = ids.iter().map(|id| id.parse().ok()).collect();
    let exact = |numbers: &Vec<i64>| {
        graph.has_integer_ids() && numbers.iter().all(|n| (-EXACT..EXACT).contains(n))
    };
    match numbers.filter(exact) {
        Some(numbers) => whole_numbers(npz, "ids", &numbers),
        None => strings(npz, "ids", ids),
    }
}

fn whole_numbers(npz: &mut NpzWriter<&mut File>, key: &str, numbers: &[i64]) -> io::Result<()> {
    let shape = [numbers.len()];
    npz.array(key, "<i8", &shape, |w| npy::write_numbers(w, numbers, i64::to_le_bytes))
}

/// All as wide as the widest, as NumPy has them.
fn strings(npz: &mut NpzWriter<&mut File>, key: &str, texts: &[String]) -> io::Result<()> {
    let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(1);
    npz.array(key, &format!("<U{width}"), &[texts.len()], |w| {
        let mut row: Vec<u8> = Vec::with_capacity(4 * width);
        for text in texts {
            row.clear();
            text.chars().for_each(|c| row.extend_from_slice(&u32::from(c).to_le_bytes()));
            row.resize(4 * width, 0);
            w.write_all(&row)?;
        }
        Ok(())
    })
}

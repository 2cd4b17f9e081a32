//! A folder of tables, and the `graph.toml` that says what they are.

use super::TableKind;
use crate::error::{Error, Result};
use crate::graph::features::{FeatureBlock, FeatureColumns};
use crate::graph::{Layer, MultiplexGraph};
use crate::io::npz::write::NpzWriter;
use crate::io::table::write::{self as table, Values};
use crate::io::unfinished::Draft;
use crate::io::{atomic, npy};
use crate::matrix::{Csr, Dense, Matrix};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A folder in the making.
struct Folder<'a> {
    path: &'a Path,
    graph: &'a MultiplexGraph,
    /// The nodes' ids, where they are no numbers.
    ids: Vec<String>,
    extension: &'static str,
    manifest: String,
    files: Vec<PathBuf>,
    draft: Draft,
}

pub(super) fn write(path: &Path, graph: &MultiplexGraph, kind: TableKind) -> Result<Vec<PathBuf>> {
    check(path, graph)?;
    let draft = Draft::new(path)?;
    let ids = match graph.has_integer_ids() {
        true => Vec::new(),
        false => (0..graph.nodes()).map(|n| graph.id(n)).collect(),
    };
    let (extension, files) = (kind.as_str(), Vec::new());
    let mut folder = Folder { path, graph, ids, extension, manifest: String::new(), files, draft };
    folder.nodes()?;
    folder.features()?;
    for layer in graph.layers() {
        folder.layer(layer)?;
    }
    if graph.labels().is_some() {
        folder.manifest += "\n[labels]\ncolumn = \"class\"\n";
    }
    if graph.splits().is_some() {
        folder.manifest += "\n[splits]\ncolumn = \"split\"\n";
    }
    // Last, so that a folder with a manifest is a whole source.
    let manifest = path.join("graph.toml");
    folder.draft.add(&manifest)?;
    let text = folder.manifest;
    atomic::write(&manifest, |w| w.write_all(text.as_bytes()))?;
    folder.draft.keep();
    folder.files.push(manifest);
    Ok(folder.files)
}

/// Refuses what would be read back as something else.
fn check(path: &Path, graph: &MultiplexGraph) -> Result<()> {
    let wrong = |message: String| Err(Error::Data(format!("{}: {message}", path.display())));
    if let Some(node) = (0..graph.nodes()).find(|n| graph.id(*n).is_empty()) {
        return wrong(format!(
            "node {node} has an empty id, which a table cannot hold; write .npz"
        ));
    }
    let names = graph.layer_names();
    if let Some(name) = names.iter().find(|n| n.is_empty() || n.contains(',')) {
        return wrong(format!(
            "a layer is called `{name}`; a graph.toml wants names that are not empty and have no \
             commas"
        ));
    }
    let empty = graph.labels().and_then(|l| l.names.iter().position(String::is_empty));
    if empty.is_some() {
        return wrong("a class has an empty name, which a table cannot hold; write .npz".into());
    }
    Ok(())
}

impl Folder<'_> {
    fn nodes(&mut self) -> Result<()> {
        let nodes = self.graph.nodes();
        let file = self.file("nodes", self.extension)?;
        let mut columns = vec![("id", self.named((0..nodes as u32).collect()))];
        if let Some(labels) = self.graph.labels() {
            let name =
                |c: &Option<u32>| c.map_or(String::new(), |c| labels.names[c as usize].clone());
            columns.push(("class", Values::Texts(labels.classes.iter().map(name).collect())));
        }
        if let Some(splits) = self.graph.splits() {
            let mut part = vec![String::new(); nodes];
            for (name, nodes) in
                [("train", &splits.train), ("val", &splits.val), ("test", &splits.test)]
            {
                nodes.iter().for_each(|n| part[*n as usize] = name.to_owned());
            }
            columns.push(("split", Values::Texts(part)));
        }
        table::write(&self.path.join(&file), nodes, &columns)?;
        let _ = write!(self.manifest, "[nodes]\nfile = {}\nid = \"id\"\n", quoted(&file));
        Ok(())
    }

    fn features(&mut self) -> Result<()> {
        let all = self.graph.attributes();
        let whole = [FeatureBlock {
            name: "feature".into(),
            columns: FeatureColumns::Numbered { count: all.cols() },
        }];
        let blocks = self.graph.features().map_or(&whole[..], |space| &space.blocks);
        let mut from = 0;
        for block in blocks {
            let columns = from..from + block.columns.count();
            from = columns.end;
            // What stands in for attributes is drawn from the ids again.
            if matches!(block.columns, FeatureColumns::StandIn { .. }) && blocks.len() == 1 {
                return Ok(());
            }
            let _ = write!(self.manifest, "\n[[features]]\nname = {}\n", quoted(&block.name));
            let matrix = columns_of(all, columns);
            // Standardised numbers are no words to count.
            let numeric = matches!(block.columns, FeatureColumns::Numeric { .. });
            let names = block.columns.names().filter(|_| !numeric);
            // A block alone is read back as it is stored here; several are joined first.
            let sparse = blocks.len() > 1 || matches!(matrix, Matrix::Sparse(_));
            match names.filter(|_| sparse) {
                Some(names) => {
                    let entries = matrix.into_csr();
                    match is_named(&entries, &names) {
                        true => self.triplets(&block.name, &entries, &names)?,
                        false => self.matrix(&block.name, &Matrix::Sparse(entries))?,
                    }
                }
                None => self.matrix(&block.name, &matrix)?,
            }
        }
        Ok(())
    }

    fn triplets(&mut self, name: &str, matrix: &Csr, names: &[String]) -> Result<()> {
        let file = self.file(name, self.extension)?;
        let columns = [
            ("id", self.named(rows_of(matrix))),
            ("feature", Values::Chosen(names, matrix.indices().to_vec())),
            ("value", Values::Floats(matrix.values().collect())),
        ];
        table::write(&self.path.join(&file), matrix.nnz(), &columns)?;
        let _ = write!(
            self.manifest,
            "triplets = {}\nid = \"id\"\nfeature = \"feature\"\nvalue = \"value\"\n",
            quoted(&file)
        );
        Ok(())
    }

    fn matrix(&mut self, name: &str, matrix: &Matrix) -> Result<()> {
        let file = match matrix {
            Matrix::Sparse(m) => {
                let file = self.file(name, "npz")?;
                atomic::write_seekable(&self.path.join(&file), |f| {
                    let mut npz = NpzWriter::new(f);
                    npz.sparse("", m)?;
                    npz.finish()?;
                    Ok(())
                })?;
                file
            }
            Matrix::Dense(m) => {
                let file = self.file(name, "npy")?;
                atomic::write(&self.path.join(&file), |w| npy::write_f32(w, m))?;
                file
            }
        };
        let _ = writeln!(self.manifest, "matrix = {}", quoted(&file));
        Ok(())
    }

    fn layer(&mut self, layer: &Layer) -> Result<()> {
        let m = &layer.adjacency;
        let symmetric = m.transpose() == *m;
        // Both directions of an edge are one row.
        let once;
        let m = if symmetric {
            once = m.filtered(|row, column| row <= column);
            &once
        } else {
            m
        };
        let weighted = m.values().any(|v| v != 1.0);
        let file = self.file(&layer.name, self.extension)?;
        let mut columns =
            vec![("source", self.named(rows_of(m))), ("target", self.named(m.indices().to_vec()))];
        if weighted {
            columns.push(("weight", Values::Floats(m.values().collect())));
        }
        table::write(&self.path.join(&file), m.nnz(), &columns)?;
        let text = &mut self.manifest;
        let _ = write!(
            text,
            "\n[[layers]]\nname = {}\nedges = {}\nsource = \"source\"\ntarget = \"target\"\n",
            quoted(&layer.name),
            quoted(&file)
        );
        if weighted {
            *text += "weight = \"weight\"\nduplicates = \"join\"\n";
        }
        if !symmetric {
            *text += "symmetric = false\n";
        }
        Ok(())
    }

    /// A column of ids.
    fn named(&self, nodes: Vec<u32>) -> Values<'_> {
        match (self.graph.has_integer_ids(), self.graph.ids()) {
            (false, _) => Values::Chosen(&self.ids, nodes),
            (true, None) => Values::Integers(nodes.into_iter().map(i64::from).collect()),
            (true, Some(ids)) => {
                let number = |n: u32| ids[n as usize].parse().expect("ids of whole numbers");
                Values::Integers(nodes.into_iter().map(number).collect())
            }
        }
    }

    /// A file that is not there yet, named after what it holds.
    fn file(&mut self, name: &str, extension: &str) -> Result<String> {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
        let stem: String = name.chars().take(60).map(safe).collect();
        let stem = if stem.is_empty() { "_".to_owned() } else { stem };
        // Some file systems do not tell upper from lower case.
        let taken = |file: &str| {
            self.files.iter().any(|f| {
                f.file_name().is_some_and(|f| f.to_string_lossy().eq_ignore_ascii_case(file))
            })
        };
        let numbered = |n: usize| match n {
            1 => format!("{stem}.{extension}"),
            n => format!("{stem}-{n}.{extension}"),
        };
        let file = (1..).map(numbered).find(|file| !taken(file)).expect("numbers do not end");
        let path = self.path.join(&file);
        self.draft.add(&path)?;
        self.files.push(path);
        Ok(file)
    }
}

/// The row of each entry.
fn rows_of(matrix: &Csr) -> Vec<u32> {
    let rows =
        (0..matrix.rows()).flat_map(|r| std::iter::repeat_n(r as u32, matrix.row(r).0.len()));
    rows.collect()
}

/// Whether triplets are read back as the same columns: in the order of their names, none of them empty.
fn is_named(matrix: &Csr, names: &[String]) -> bool {
    let mut there = vec![false; matrix.cols()];
    matrix.indices().iter().for_each(|c| there[*c as usize] = true);
    names.is_sorted_by(|a, b| a < b)
        && names.iter().all(|n| !n.is_empty())
        && there.iter().all(|t| *t)
        && matrix.values().all(|v| v != 0.0)
}

/// Some columns, as a matrix of the same kind.
fn columns_of(all: &Matrix, columns: std::ops::Range<usize>) -> Matrix {
    if columns == (0..all.cols()) {
        return all.clone();
    }
    match all {
        Matrix::Dense(m) => {
            let rows = (0..m.rows()).flat_map(|r| m.row(r)[columns.clone()].to_vec());
            let part = Dense::from_vec(m.rows(), columns.len(), rows.collect());
            Matrix::Dense(part.expect("as many values as rows and columns"))
        }
        Matrix::Sparse(m) => {
            let mut entries = Vec::new();
            for r in 0..m.rows() {
                let (found, values) = m.row(r);
                let inside =
                    found.iter().zip(values).filter(|(c, _)| columns.contains(&(**c as usize)));
                entries.extend(inside.map(|(c, v)| (r as u32, c - columns.start as u32, *v)));
            }
            let part = Csr::from_triplets(m.rows(), columns.len(), entries);
            Matrix::Sparse(part.expect("entries of a matrix"))
        }
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

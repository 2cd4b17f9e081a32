//! Embeddings: a `.npy` matrix and, beside it, the ids of its rows, one per line.

use super::{atomic, npy};
use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::matrix::Dense;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where the ids of an embedding file stand: `ids.txt` in a run folder, else `NAME.ids.txt`.
pub fn ids_path(embeddings: &Path) -> PathBuf {
    match embeddings.file_name().and_then(|n| n.to_str()) {
        Some("embeddings.npy") => embeddings.with_file_name("ids.txt"),
        _ => embeddings.with_extension("ids.txt"),
    }
}

/// Refuses ids that a line cannot hold.
pub fn check_ids(graph: &MultiplexGraph) -> Result<()> {
    let broken = |id: &String| id.contains(['\n', '\r']);
    match (0..graph.nodes()).map(|n| graph.id(n)).find(broken) {
        Some(id) => Err(Error::Data(format!(
            "the id {id:?} holds a line break; ids are written one per line"
        ))),
        None => Ok(()),
    }
}

/// Writes a matrix without ids.
pub fn write_matrix(path: &Path, embeddings: &Dense) -> Result<()> {
    atomic::write(path, |w| npy::write_f32(w, embeddings))
}

/// Writes a matrix and the ids of its rows.
pub fn write(path: &Path, embeddings: &Dense, graph: &MultiplexGraph) -> Result<()> {
    check_ids(graph)?;
    atomic::write(&ids_path(path), |w| {
        (0..graph.nodes()).try_for_each(|n| writeln!(w, "{}", graph.id(n)))
    })?;
    write_matrix(path, embeddings)
}

/// Reads embeddings in the order of the graph's nodes, by their ids where these are known.
pub fn read_for(path: &Path, graph: &MultiplexGraph) -> Result<Dense> {
    let embeddings = npy::read_f32_matrix(path)?;
    let ids_path = ids_path(path);
    if !ids_path.exists() {
        if embeddings.rows() == graph.nodes() {
            return Ok(embeddings);
        }
        return Err(Error::Data(format!(
            "{}: {} rows for a graph of {} nodes",
            path.display(),
            embeddings.rows(),
            graph.nodes()
        )));
    }
    let text = std::fs::read_to_string(&ids_path).map_err(|e| Error::io(&ids_path, e))?;
    let ids: Vec<&str> = text.lines().collect();
    if ids.len() != embeddings.rows() {
        return Err(Error::Data(format!(
            "{}: {} ids for {} rows of embeddings",
            ids_path.display(),
            ids.len(),
            embeddings.rows()
        )));
    }
    let row_of: HashMap<&str, u32> = ids.iter().zip(0..).map(|(id, row)| (*id, row)).collect();
    let rows = (0..graph.nodes()).map(|n| {
        let id = graph.id(n);
        row_of.get(id.as_str()).copied().ok_or_else(|| {
            Error::Data(format!("{}: no row for the node `{id}`", ids_path.display()))
        })
    });
    Ok(embeddings.select_rows(&rows.collect::<Result<Vec<_>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Layer;
    use crate::matrix::{Csr, Matrix};

    fn graph(ids: &[&str]) -> MultiplexGraph {
        let n = ids.len();
        let layer = Layer { name: "a".into(), adjacency: Csr::empty(n, n) };
        let attributes = Matrix::Dense(Dense::zeros(n, 1));
        let graph = MultiplexGraph::new(vec![layer], attributes).unwrap();
        graph.with_ids(ids.iter().map(|s| s.to_string()).collect()).unwrap()
    }

    #[test]
    fn rows_follow_their_ids() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("z.npy");
        let z = Dense::from_vec(2, 1, vec![1.0, 2.0]).unwrap();
        write(&path, &z, &graph(&["x, \"y\"", "007"])).unwrap();
        assert!(folder.path().join("z.ids.txt").exists());
        let back = read_for(&path, &graph(&["007", "x, \"y\""])).unwrap();
        assert_eq!(back.values(), [2.0, 1.0]);
        let missing = read_for(&path, &graph(&["007", "8"])).unwrap_err().to_string();
        assert!(missing.contains("no row for the node `8`"), "{missing}");
        assert!(write(&path, &z, &graph(&["a\nb", "c"])).is_err());
    }
}

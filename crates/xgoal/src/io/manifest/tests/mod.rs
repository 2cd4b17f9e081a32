use super::*;
use crate::matrix::{Csr, Matrix};
use std::fs;
use tempfile::TempDir;

mod features;
mod layers;
mod matrix_form;

/// A folder with a manifest and what it names.
struct Source(TempDir);

const NODES: &str = "id,title,year,venue,class\n\
                     p1,Graphs and graphs,2001,KDD,a\n\
                     p2,Trees,2003,WWW,b\n\
                     p3,\"Graphs, trees\",2005,KDD,a\n\
                     p4,,2003,,\n";

impl Source {
    fn new(manifest: &str, files: &[(&str, &str)]) -> Self {
        let source = Self(tempfile::tempdir().unwrap());
        source.write("graph.toml", manifest);
        files.iter().for_each(|(name, text)| source.write(name, text));
        source
    }

    /// Four papers in a node table, and the manifest's further sections.
    fn papers(more: &str, files: &[(&str, &str)]) -> Self {
        let nodes = "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n";
        let source = Self::new(&format!("{nodes}{more}"), files);
        source.write("nodes.csv", NODES);
        source
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn change(self, name: &str, from: &str, to: &str) -> Self {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{text}");
        self.write(name, &text.replace(from, to));
        self
    }

    fn try_read(&self, options: &ReadOptions<'_>) -> Result<(MultiplexGraph, Report)> {
        read(&self.path("graph.toml"), options)
    }

    fn read(&self) -> (MultiplexGraph, Report) {
        self.try_read(&ReadOptions::default()).unwrap()
    }

    fn refused(&self) -> String {
        self.try_read(&ReadOptions::default()).unwrap_err().to_string()
    }
}

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// Rows of a matrix as they are written.
fn dense(matrix: &Matrix) -> Vec<Vec<f32>> {
    match matrix {
        Matrix::Dense(m) => (0..m.rows()).map(|r| m.row(r).to_vec()).collect(),
        Matrix::Sparse(m) => (0..m.rows()).map(|r| row(m, r)).collect(),
    }
}

fn row(m: &Csr, r: usize) -> Vec<f32> {
    let mut row = vec![0.0; m.cols()];
    let (columns, values) = m.row(r);
    columns.iter().zip(values).for_each(|(c, v)| row[*c as usize] = *v);
    row
}

fn adjacency(graph: &MultiplexGraph, layer: usize) -> Vec<Vec<f32>> {
    dense(&Matrix::Sparse(graph.layers()[layer].adjacency.clone()))
}

//! Writes `.npz` sources, good ones and bad ones.

use std::io::{Cursor, Write};
use xgoal::graph::MultiplexGraph;
use xgoal::matrix::{Csr, Matrix};
use zip::write::SimpleFileOptions;

/// An archive in the making: keys and the `.npy` file of each.
#[derive(Default)]
pub struct Npz(Vec<(String, Vec<u8>)>);

impl Npz {
    /// Everything a graph holds, its ids where it has its own.
    pub fn of(graph: &MultiplexGraph) -> Self {
        let mut npz = Self::default();
        for layer in graph.layers() {
            npz.sparse(&layer.name, &layer.adjacency);
        }
        match graph.attributes() {
            Matrix::Sparse(m) => npz.sparse("feature", m),
            Matrix::Dense(m) => npz.floats("feature", &[m.rows(), m.cols()], m.values()),
        }
        if let Some(labels) = graph.labels() {
            let class = |c: &Option<u32>| c.map_or(-1, i64::from);
            npz.integers("label", &labels.classes.iter().map(class).collect::<Vec<_>>());
        }
        if let Some(splits) = graph.splits() {
            for (key, nodes) in
                [("train_idx", &splits.train), ("val_idx", &splits.val), ("test_idx", &splits.test)]
            {
                npz.integers(key, &nodes.iter().map(|n| i64::from(*n)).collect::<Vec<_>>());
            }
        }
        let ids: Vec<String> = (0..graph.nodes()).map(|n| graph.id(n)).collect();
        if ids != (0..graph.nodes()).map(|n| n.to_string()).collect::<Vec<_>>() {
            npz.strings("ids", &ids);
        }
        npz
    }

    /// Takes out an array, and all parts of a sparse one.
    pub fn remove(&mut self, name: &str) {
        let part_of = format!("{name}.");
        self.0.retain(|(key, _)| key != name && !key.starts_with(&part_of));
    }

    pub fn sparse(&mut self, name: &str, m: &Csr) {
        let whole = |values: &[usize]| values.iter().map(|v| *v as i64).collect::<Vec<_>>();
        self.remove(name);
        self.floats(&format!("{name}.data"), &[m.nnz()], &m.values().collect::<Vec<_>>());
        let columns: Vec<i64> = m.indices().iter().map(|c| i64::from(*c)).collect();
        self.integers(&format!("{name}.indices"), &columns);
        self.integers(&format!("{name}.indptr"), &whole(m.indptr()));
        self.integers(&format!("{name}.shape"), &whole(&[m.rows(), m.cols()]));
    }

    pub fn floats(&mut self, key: &str, shape: &[usize], values: &[f32]) {
        assert_eq!(shape.iter().product::<usize>(), values.len());
        self.put(key, "<f4", shape, values.iter().flat_map(|v| v.to_le_bytes()).collect());
    }

    pub fn integers(&mut self, key: &str, values: &[i64]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.put(key, "<i8", &[values.len()], bytes);
    }

    pub fn strings(&mut self, key: &str, values: &[String]) {
        let width = values.iter().map(|s| s.chars().count()).max().unwrap_or(1);
        let padded = |s: &String| {
            let characters: Vec<u32> = s.chars().map(u32::from).collect();
            (0..width).flat_map(move |i| characters.get(i).unwrap_or(&0).to_le_bytes())
        };
        let bytes = values.iter().flat_map(padded).collect();
        self.put(key, &format!("<U{width}"), &[values.len()], bytes);
    }

    fn put(&mut self, key: &str, descr: &str, shape: &[usize], data: Vec<u8>) {
        self.remove(key);
        let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((header.len() as u16).to_le_bytes());
        npy.extend(header.as_bytes());
        npy.extend(data);
        self.0.push((key.to_string(), npy));
    }

    /// The archive.
    pub fn bytes(&self) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let stored =
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for (key, npy) in &self.0 {
            zip.start_file(format!("{key}.npy"), stored).unwrap();
            zip.write_all(npy).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }
}

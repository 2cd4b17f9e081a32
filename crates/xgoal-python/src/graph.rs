//! Graphs in and out.

use crate::compressed::Compressed;
use crate::errors::{raise, too_large};
use crate::matrix::{to_matrix, to_numpy, to_scipy};
use crate::pool;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use xgoal::graph::planted::Planted;
use xgoal::graph::{Layer, MultiplexGraph, sums};
use xgoal::io::source::read_source;
use xgoal::matrix::Matrix;
use xgoal::{Error, machine};

/// A graph in the library's form, for as long as an engine or a model needs it.
#[pyclass(frozen, module = "xgoal._xgoal")]
pub struct Graph(pub MultiplexGraph);

#[pymethods]
impl Graph {
    /// The named layers, in that order, or all of them.
    #[new]
    #[pyo3(signature = (layers, attributes, select=None, ids=None))]
    fn new(
        layers: Vec<(String, Compressed<'_>)>,
        attributes: &Bound<'_, PyAny>,
        select: Option<Vec<String>>,
        ids: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let available: Vec<String> = layers.iter().map(|(name, _)| name.clone()).collect();
        let names = select.as_ref().unwrap_or(&available);
        let needed = sums::resolve(names, &available).map_err(raise)?.concat();
        let chosen: Vec<Layer> = (layers.iter().enumerate())
            .filter(|(at, _)| needed.contains(at))
            .map(|(_, (name, layer))| {
                let adjacency = layer.to_csr(&format!("layer `{name}`"))?;
                Ok(Layer { name: name.clone(), adjacency })
            })
            .collect::<Result<_, Error>>()
            .map_err(raise)?;
        let attributes = to_matrix(attributes)?.map_err(raise)?;
        MultiplexGraph::new(chosen, attributes)
            .and_then(|graph| graph.select_layers(names))
            .and_then(|graph| match ids {
                Some(ids) => graph.with_ids(ids),
                None => Ok(graph),
            })
            .map(Graph)
            .map_err(raise)
    }

    /// Number of nodes.
    #[getter]
    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    /// A text that changes with any edge, weight or attribute.
    fn fingerprint(&self) -> String {
        serde_json::to_string(&self.0.fingerprint().without_ids())
            .expect("plain numbers and strings")
    }
}

/// A source of any kind, as the parts of a `xgoal.Graph`.
#[pyfunction]
#[pyo3(signature = (path, layers=None))]
pub fn read(
    py: Python<'_>,
    path: PathBuf,
    layers: Option<Vec<String>>,
) -> PyResult<Bound<'_, PyDict>> {
    let graph = pool::run(py, 0, || read_source(&path, layers.as_deref()))?;
    parts(py, graph)
}

/// What to plant, under the library's names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Plan {
    nodes: usize,
    communities: usize,
    layers: usize,
    attributes: usize,
    degree: usize,
    words: usize,
    noise: f64,
    seed: u64,
}

/// A planted graph, as the parts of a `xgoal.Graph`.
#[pyfunction]
pub fn planted(py: Python<'_>, plan: Plan) -> PyResult<Bound<'_, PyDict>> {
    let Plan { nodes, communities, layers, attributes, degree, words, noise, seed } = plan;
    // Twelve bytes an entry in both directions, and as much again while they are sorted.
    let entries = degree.saturating_mul(layers).saturating_mul(2).saturating_add(words);
    let needed = nodes.saturating_mul(entries.saturating_add(8)).saturating_mul(24) as u64;
    if let Some(available) = machine::available_bytes().filter(|available| needed > *available) {
        return Err(too_large(&format!(
            "planting {nodes} nodes needs about {:.1} GB and {:.1} GB are free; plant fewer nodes, \
             layers or edges",
            needed as f64 / 1e9,
            available as f64 / 1e9
        )));
    }
    let planted = Planted { nodes, communities, layers, attributes, degree, words, noise, seed };
    let graph = pool::run(py, 0, || planted.generate())?;
    parts(py, graph)
}

fn parts(py: Python<'_>, graph: MultiplexGraph) -> PyResult<Bound<'_, PyDict>> {
    let nodes = graph.nodes();
    let parts = graph.into_parts();
    let out = PyDict::new(py);
    let layers = PyList::empty(py);
    for Layer { name, adjacency } in parts.layers {
        layers.append((name, to_scipy(py, adjacency)?, (nodes, nodes)))?;
    }
    out.set_item("layers", layers)?;
    match parts.attributes {
        Matrix::Dense(dense) => out.set_item("X", to_numpy(py, dense))?,
        Matrix::Sparse(csr) => {
            let shape = (csr.rows(), csr.cols());
            out.set_item("X", (to_scipy(py, csr)?, shape))?;
        }
    }
    if let Some(names) = parts.features.and_then(|space| space.names()) {
        out.set_item("feature_names", names)?;
    }
    out.set_item("ids", parts.ids)?;
    if let Some(labels) = parts.labels {
        let class = |c: Option<u32>| c.map_or(-1, i64::from);
        out.set_item("y", PyArray1::from_iter(py, labels.classes.into_iter().map(class)))?;
        out.set_item("class_names", labels.names)?;
    }
    if let Some(splits) = parts.splits {
        for (name, nodes) in [("train", splits.train), ("val", splits.val), ("test", splits.test)] {
            let nodes = PyArray1::from_iter(py, nodes.into_iter().map(i64::from));
            if nodes.len()? > 0 {
                out.set_item(name, nodes)?;
            }
        }
    }
    Ok(out)
}

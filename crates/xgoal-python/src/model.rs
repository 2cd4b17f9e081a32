//! Trained models: files, bytes, encoding.

use crate::errors::raise;
use crate::graph::Graph;
use crate::matrix::to_numpy;
use crate::pool;
use crate::settings::{Settings, to_json};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use xgoal::Error;
use xgoal::io::embeddings::Rows;
use xgoal::io::{embeddings, model, torch};
use xgoal::matrix::Dense;
use xgoal::model::mean_of_layers;
use xgoal::run::{Run, embeddings_path, model_file};

type Array<'py> = Bound<'py, PyArray2<f32>>;

/// The embeddings of a run folder in whatever format, and their ids; nothing where the run has none.
#[pyfunction]
pub fn read_embeddings(py: Python<'_>, folder: PathBuf) -> PyResult<Option<Embedded<'_>>> {
    let path = embeddings_path(&folder);
    if !path.exists() {
        return Ok(None);
    }
    let found = pool::run(py, 0, || embeddings::read(&path, None))?;
    Ok(Some((to_numpy(py, found.matrix), found.ids)))
}

type Embedded<'py> = (Array<'py>, Option<Vec<String>>);

/// The weights and the settings they were made with.
#[pyclass(frozen, module = "xgoal._xgoal")]
pub struct Model(pub xgoal::model::Model);

#[pymethods]
impl Model {
    /// From a run folder, a model file, or an authors' checkpoint, which the settings are for.
    #[staticmethod]
    #[pyo3(signature = (path, settings=None))]
    fn read(py: Python<'_>, path: PathBuf, settings: Option<&Settings>) -> PyResult<Self> {
        let settings = settings.map(|s| s.0.clone());
        let model = pool::run(py, 0, move || {
            if !torch::is_checkpoint(&path)? {
                return model::read(&model_file(&path));
            }
            let settings = settings.unwrap_or_default();
            let layers = settings.layers.clone().ok_or_else(|| Error::Setting {
                key: "layers",
                found: "none".into(),
                expected: "names for the checkpoint's layers, or a preset that has them".into(),
            })?;
            model::read_checkpoint(&path, settings, &layers)
        })?;
        Ok(Self(model))
    }

    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        model::from_bytes(bytes).map(Self).map_err(raise)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &model::to_bytes(&self.0).map_err(raise)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rebuild = py.get_type::<Self>().getattr("from_bytes")?;
        (rebuild, (self.to_bytes(py)?,)).into_pyobject(py)
    }

    /// Writes the model file.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        model::write(&path, &self.0).map_err(raise)
    }

    /// Writes a run folder; `metrics` are the lines of its `metrics.jsonl`.
    fn write_run(
        &self,
        folder: PathBuf,
        embeddings: PyReadonlyArray2<'_, f32>,
        ids: Option<Vec<String>>,
        metrics: &str,
    ) -> PyResult<()> {
        let (rows, cols) = embeddings.as_array().dim();
        let values = embeddings.as_array().iter().copied().collect();
        let written = Dense::from_vec(rows, cols, values).and_then(|embeddings| {
            let rows = Rows::new(rows, ids.as_deref())?;
            Run::write(&folder, &self.0, &embeddings, rows, metrics)
        });
        written.map_err(raise)
    }

    /// Encodes a graph that has the model's layers: each layer's embeddings, and their mean.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        threads: usize,
    ) -> PyResult<(Vec<Array<'py>>, Array<'py>)> {
        let (layers, mean) = pool::run(py, threads, || {
            let layers = self.0.embed(&graph.0)?;
            let mean = mean_of_layers(&layers);
            Ok((layers, mean))
        })?;
        let layers = layers.into_iter().map(|layer| to_numpy(py, layer)).collect();
        Ok((layers, to_numpy(py, mean)))
    }

    /// What it means where none of a graph's nodes is known from training, though structure counts.
    fn strangers(&self, graph: &Graph) -> Option<String> {
        self.0.strangers(&graph.0)
    }

    /// The layers, in order.
    #[getter]
    fn layers(&self) -> Vec<String> {
        self.0.config().layer_names()
    }

    /// How many attributes a graph must have.
    #[getter]
    fn features(&self) -> usize {
        self.0.features()
    }

    /// Every setting, resolved, as JSON.
    #[getter]
    fn settings(&self) -> String {
        to_json(self.0.config().settings())
    }
}

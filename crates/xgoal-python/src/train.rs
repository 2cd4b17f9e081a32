//! One training, an epoch at a time.

use crate::errors::{internal, raise};
use crate::graph::Graph;
use crate::matrix::to_numpy;
use crate::model::Model;
use crate::pool;
use crate::settings::Settings;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use xgoal::engine::Engine;
use xgoal::engine::cpu::CpuEngine;
use xgoal::graph::Fingerprint;
use xgoal::graph::preprocess::Columns;
use xgoal::model::{final_mean, initial_weights};
use xgoal::train::MemoryEstimate;

type Array<'py> = Bound<'py, PyArray2<f32>>;
type Clusters<'py> = Vec<(Array<'py>, Bound<'py, PyArray1<i32>>)>;
type Finished<'py> = (Model, Vec<Array<'py>>, Array<'py>, Option<Clusters<'py>>);

/// A training under way.
#[pyclass(module = "xgoal._xgoal")]
pub struct Trainer {
    trainer: Option<xgoal::train::Trainer<CpuEngine>>,
    columns: Option<Columns>,
    graph: Fingerprint,
    threads: usize,
}

impl Trainer {
    fn running(&mut self) -> PyResult<&mut xgoal::train::Trainer<CpuEngine>> {
        self.trainer.as_mut().ok_or_else(|| internal("this training has been finished"))
    }
}

#[pymethods]
impl Trainer {
    /// Before the first epoch.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, settings: &Settings, threads: usize) -> PyResult<Self> {
        let graph = &graph.0;
        MemoryEstimate::check_look(graph, &settings.0, None).map_err(raise)?;
        let fitted = pool::run(py, threads, || settings.0.clone().fit(graph))?;
        // Layers that carry nothing are left out.
        let fewer = (fitted.layers().len() < graph.layers().len())
            .then(|| graph.clone().select_layers(&fitted.layer_names()))
            .transpose()
            .map_err(raise)?;
        let (config, graph) = (fitted, fewer.as_ref().unwrap_or(graph));
        MemoryEstimate::of(graph, config.settings()).check(None).map_err(raise)?;
        let columns = config.preprocessing().columns(graph);
        let print = graph.fingerprint().without_ids();
        let trainer = pool::run(py, threads, || {
            let graph = config.preprocessing().apply(graph)?;
            let weights = initial_weights(&config, &graph);
            let engine = CpuEngine::new(&config, &graph, weights)?;
            Ok(xgoal::train::Trainer::new(engine, config))
        })?;
        Ok(Self { trainer: Some(trainer), columns, graph: print, threads })
    }

    /// What was chosen before training, and why.
    #[getter]
    fn reasons(&mut self) -> PyResult<Vec<String>> {
        Ok(self.running()?.config().reasons().to_vec())
    }

    /// Runs an epoch and gives its line of `metrics.jsonl`; none when training is over.
    fn step(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let threads = self.threads;
        let trainer = self.running()?;
        let record = pool::run(py, threads, || trainer.step())?;
        Ok(record.map(|r| serde_json::to_string(&r).expect("plain numbers and strings")))
    }

    /// The model, each layer's embeddings, their mean, and each layer's centres and assignments.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Finished<'py>> {
        self.running()?;
        let threads = self.threads;
        let trainer = self.trainer.take().expect("it is running");
        let (columns, graph) = (self.columns.take(), self.graph.clone());
        let (model, layers, mean, prototypes) = pool::run(py, threads, move || {
            let config = trainer.resolved();
            let prototypes = trainer.state()?.prototypes;
            let mut engine = trainer.into_engine()?;
            let layers = engine.embed()?;
            let mean = final_mean(&config, &layers);
            let model = xgoal::model::Model::new(config, engine.weights()?)?;
            let model = model.with_columns(columns)?.with_graph(Some(graph));
            Ok((model, layers, mean, prototypes))
        })?;
        let clusters = prototypes.map(|prototypes| {
            let clusters = prototypes.into_iter().map(|p| {
                let assignments = p.assignments.into_iter().map(|a| a as i32);
                (to_numpy(py, p.centers), PyArray1::from_iter(py, assignments))
            });
            clusters.collect()
        });
        let layers = layers.into_iter().map(|layer| to_numpy(py, layer)).collect();
        Ok((Model(model), layers, to_numpy(py, mean), clusters))
    }
}

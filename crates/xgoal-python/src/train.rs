//! One training, an epoch at a time.

use crate::errors::internal;
use crate::graph::Graph;
use crate::matrix::to_numpy;
use crate::model::Model;
use crate::pool;
use crate::settings::Settings;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use xgoal::model::mean_of_layers;
use xgoal::session::{self, Event, Limits};

type Array<'py> = Bound<'py, PyArray2<f32>>;
type Clusters<'py> = Vec<(Array<'py>, Bound<'py, PyArray1<i32>>)>;
type Finished<'py> = (Model, Vec<Array<'py>>, Array<'py>, Option<Clusters<'py>>);

/// A training under way.
#[pyclass(module = "xgoal._xgoal")]
pub struct Session {
    session: Option<session::Session<()>>,
    decisions: Vec<(String, String)>,
    threads: usize,
}

impl Session {
    fn running(&mut self) -> PyResult<&mut session::Session<()>> {
        self.session.as_mut().ok_or_else(|| internal("this training has been finished"))
    }
}

#[pymethods]
impl Session {
    /// Before the first epoch.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, settings: &Settings, threads: usize) -> PyResult<Self> {
        let (session, decisions) = pool::run(py, threads, || {
            let plan = session::plan(&graph.0, settings.0.clone(), Limits::default())?;
            let words = plan.decisions().iter().map(|d| (d.key.clone(), d.to_string()));
            Ok((session::Session::start(&plan, ())?, words.collect()))
        })?;
        Ok(Self { session: Some(session), decisions, threads })
    }

    /// What was decided before training: the setting, and in words what and why.
    #[getter]
    fn decisions(&self) -> Vec<(String, String)> {
        self.decisions.clone()
    }

    /// Runs an epoch and gives its line of `metrics.jsonl`; none when training is over.
    fn step(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let threads = self.threads;
        let session = self.running()?;
        let record = pool::run(py, threads, || {
            while let Some(event) = session.next()? {
                if let Event::Epoch(record) = event {
                    return Ok(Some(record));
                }
            }
            Ok(None)
        })?;
        Ok(record.map(|r| serde_json::to_string(&r).expect("plain numbers and strings")))
    }

    /// The model, each layer's embeddings, their mean, and each layer's centres and assignments.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Finished<'py>> {
        self.running()?;
        let threads = self.threads;
        let session = self.session.take().expect("it is running");
        let (model, layers, mean, prototypes) = pool::run(py, threads, move || {
            let mut outcome = session.finish()?;
            let (layers, prototypes) = (outcome.layers()?, outcome.prototypes()?);
            let mean = mean_of_layers(&layers);
            Ok((outcome.model, layers, mean, prototypes))
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

//! What people do next with embeddings.

use crate::matrix::{to_numpy, view};
use crate::pool;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use xgoal::eval::{Protocol, Task};
use xgoal::kmeans::KMeans;
use xgoal::matrix::Dense;
use xgoal::random::{Purpose, Stream};
use xgoal::similar::Index;

/// The paper's protocol, as the JSON that `xgoal eval` prints. Negative classes are unknown.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    embeddings: PyReadonlyArray2<'_, f32>,
    labels: PyReadonlyArray1<'_, i64>,
    classes: usize,
    splits: [PyReadonlyArray1<'_, u32>; 3],
    seed: u64,
    threads: usize,
) -> PyResult<String> {
    let view = view(&embeddings)?;
    let labels: Vec<_> = labels.as_array().iter().map(|c| u32::try_from(*c).ok()).collect();
    let [train, val, test] = splits.each_ref().map(|s| s.as_slice());
    let (train, val, test) = (train?, val?, test?);
    let report = pool::run(py, threads, || {
        let embeddings = Dense::from_vec(view.rows, view.cols, view.values.to_vec())?;
        let task = Task { labels: &labels, classes, train, val, test, ids: None };
        xgoal::eval::evaluate(&embeddings, &task, &Protocol { seed, ..Protocol::default() })
    })?;
    Ok(serde_json::to_string(&report).expect("plain numbers and strings"))
}

type Clustering<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray2<f32>>, f64, usize);

/// The cluster of each row, the centres, the inertia and the iterations.
#[pyfunction]
pub fn kmeans<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f32>,
    clusters: usize,
    restarts: usize,
    seed: u64,
    threads: usize,
) -> PyResult<Clustering<'py>> {
    let points = view(&points)?;
    let found = pool::run(py, threads, || {
        let kmeans = KMeans { restarts, ..KMeans::new(clusters) };
        kmeans.fit(points, Stream::new(seed, Purpose::KMeans))
    })?;
    let assignments = found.assignments.into_iter().map(|a| a as i32);
    let assignments = PyArray1::from_iter(py, assignments);
    Ok((assignments, to_numpy(py, found.centers), found.inertia, found.iterations))
}

type Neighbors<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

/// The nearest rows of each given row, and their cosines.
#[pyfunction]
pub fn similar<'py>(
    py: Python<'py>,
    embeddings: PyReadonlyArray2<'py, f32>,
    nodes: PyReadonlyArray1<'py, u32>,
    k: usize,
    threads: usize,
) -> PyResult<Neighbors<'py>> {
    let (view, nodes) = (view(&embeddings)?, nodes.as_slice()?);
    let found = pool::run(py, threads, || Index::new(view)?.nearest(nodes, k))?;
    let shape = (nodes.len(), found.first().map_or(0, Vec::len));
    let all = || found.iter().flatten();
    let rows = PyArray1::from_iter(py, all().map(|n| i64::from(n.node)));
    let cosines = PyArray1::from_iter(py, all().map(|n| n.cosine));
    Ok((rows.reshape(shape)?, cosines.reshape(shape)?))
}

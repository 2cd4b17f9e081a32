//! A SOURCE becomes a graph: a manifest says what its files are ([`super::manifest`]); in other files
//! arrays are recognised by name and shape, whatever format they came in.
//!
//! | array | meaning |
//! |---|---|
//! | `feature` or `features` | attributes, a row per node |
//! | `label` or `labels` | one-hot rows, or one class number per node; a zero row or -1 is unknown |
//! | `label_names` | the names of the classes numbered 0, 1, ... |
//! | `train_idx`, `val_idx`, `test_idx` | node numbers, from 0 |
//! | `ids` | node ids |
//! | any other matrix | a layer, which must be nodes x nodes |

use super::arrays::{Array, NamedArray};
use super::manifest::{ReadOptions, Report};
use crate::error::{Error, Result};
use crate::graph::{Labels, Layer, MultiplexGraph, Splits, sums};
use crate::machine;
use crate::matrix::{Csr, Dense, Matrix};
use crate::words::quoted;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Reads a graph, with the named layers in that order, or all the source has.
pub fn read_source(path: &Path, layers: Option<&[String]>) -> Result<MultiplexGraph> {
    let options = ReadOptions { layers, memory: machine::available_bytes(), ..Default::default() };
    Ok(load(path, &options)?.0)
}

/// Reads a graph, and what there was to say about it where the source is a manifest.
pub fn load(path: &Path, options: &ReadOptions<'_>) -> Result<(MultiplexGraph, Option<Report>)> {
    if let Some(manifest) = super::manifest::manifest_of(path) {
        let (graph, report) = super::manifest::read(&manifest, options)?;
        return Ok((graph.read_from(path), Some(report)));
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let arrays = match extension.to_ascii_lowercase().as_str() {
        "mat" => super::mat::read(path)?,
        "pkl" | "pickle" => super::pickle::read(path)?,
        "npz" => super::npz::read(path)?,
        _ => {
            // A missing file is the likelier mistake; say that first.
            std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
            return Err(Error::Data(format!(
                "{}: not a source; expected a .mat, .pkl or .npz file, a graph.toml, or a \
                 folder with one",
                path.display()
            )));
        }
    };
    let graph = assemble(arrays, options.layers).map_err(|e| match e {
        Error::Data(message) => Error::Data(format!("{}: {message}", path.display())),
        other => other,
    })?;
    Ok((graph.read_from(path), None))
}

/// Every file that a source consists of.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    match super::manifest::manifest_of(path) {
        Some(manifest) => super::manifest::files(&manifest),
        None => Ok(vec![path.to_path_buf()]),
    }
}

/// Makes a graph of named arrays.
pub fn assemble(arrays: Vec<NamedArray>, layers: Option<&[String]>) -> Result<MultiplexGraph> {
    let mut attributes = None;
    let (mut labels, mut label_names) = (None, None);
    let mut splits: [Option<Vec<u32>>; 3] = [None, None, None];
    let mut ids = None;
    let mut candidates = Vec::new();
    for NamedArray { name, array } in arrays {
        match name.as_str() {
            "feature" | "features" => only(&mut attributes, name, array)?,
            "label" | "labels" => only(&mut labels, name, array)?,
            "label_names" => label_names = Some(array),
            "train_idx" => splits[0] = Some(node_numbers(&name, array)?),
            "val_idx" => splits[1] = Some(node_numbers(&name, array)?),
            "test_idx" => splits[2] = Some(node_numbers(&name, array)?),
            "ids" => ids = Some(array),
            _ => candidates.push((name, array)),
        }
    }
    let Some((name, attributes)) = attributes else {
        let found: Vec<&str> = candidates.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::Data(format!(
            "no attributes: expected an array called `feature`, found {}",
            if found.is_empty() { "none".to_string() } else { found.join(", ") }
        )));
    };
    let attributes = as_matrix(&name, attributes)?;
    let nodes = attributes.rows();

    let names: Vec<String> = candidates.iter().map(|(name, _)| name.clone()).collect();
    let resolved = layers.map(|layers| sums::resolve(layers, &names)).transpose();
    let resolved = resolved.map_err(|e| match e {
        // What beside the layers is in the file is no answer to the question.
        Error::UnknownLayer { name, .. } => {
            let square = |(_, array): &&(String, Array)| shape(array) == Some((nodes, nodes));
            let layers = candidates.iter().filter(square).map(|(name, _)| name.clone());
            Error::UnknownLayer { name, available: layers.collect() }
        }
        other => other,
    })?;
    let wanted: Option<HashSet<usize>> = resolved.map(|r| r.into_iter().flatten().collect());
    let wanted = |at: usize| wanted.as_ref().is_none_or(|wanted| wanted.contains(&at));
    let mut found = Vec::new();
    for (at, (name, array)) in candidates.into_iter().enumerate() {
        // Numbers and short vectors beside the matrices are the file's own business.
        if !wanted(at) || (layers.is_none() && nodes > 1 && !matches!(array, Array::Matrix(_))) {
            continue;
        }
        let matrix = as_matrix(&name, array)?;
        if (matrix.rows(), matrix.cols()) != (nodes, nodes) {
            return Err(Error::Data(format!(
                "`{name}` is {} x {}; a layer must be {nodes} x {nodes}, as the attributes have \
                 {nodes} rows (name the layers to use with --layers if it is none)",
                matrix.rows(),
                matrix.cols()
            )));
        }
        found.push(Layer { name, adjacency: without_zeros(matrix.into_csr()) });
    }
    let mut graph = MultiplexGraph::new(found, attributes)?;
    if let Some(names) = layers {
        graph = graph.select_layers(names)?;
    }
    match ids {
        None => {}
        Some(Array::Strings(ids)) => graph = graph.with_ids(ids)?,
        Some(Array::Vector { values, .. }) => {
            let whole = values.iter().enumerate().map(|(i, v)| whole("`ids`", i, *v));
            graph = graph.with_integer_ids(&whole.collect::<Result<Vec<_>>>()?)?;
        }
        Some(Array::Matrix(_)) => {
            return Err(Error::Data("`ids`: expected one list, found a matrix".into()));
        }
    }
    if let Some((name, labels)) = labels {
        let labels = as_labels(&name, labels, nodes)?;
        graph = graph.with_labels(match label_names {
            None => labels,
            Some(names) => named(labels, names)?,
        })?;
    }
    if splits.iter().any(Option::is_some) {
        // A part that is not there is empty; what needs it says so.
        let [train, val, test] = splits.map(Option::unwrap_or_default);
        graph = graph.with_splits(Splits { train, val, test })?;
    }
    Ok(graph)
}

/// Takes the place of an array that goes by two names.
fn only(place: &mut Option<(String, Array)>, name: String, array: Array) -> Result<()> {
    if let Some((first, _)) = place {
        return Err(Error::Data(format!(
            "both `{first}` and `{name}` are there; expected one of them"
        )));
    }
    *place = Some((name, array));
    Ok(())
}

fn shape(array: &Array) -> Option<(usize, usize)> {
    match array {
        Array::Matrix(matrix) => Some((matrix.rows(), matrix.cols())),
        Array::Vector { shape, .. } => Some(*shape),
        Array::Strings(_) => None,
    }
}

fn as_matrix(name: &str, array: Array) -> Result<Matrix> {
    match array {
        Array::Matrix(matrix) => Ok(matrix),
        Array::Vector { values, shape } => {
            let values = values.into_iter().map(|v| v as f32).collect();
            Ok(Matrix::Dense(Dense::from_vec(shape.0, shape.1, values)?))
        }
        Array::Strings(_) => {
            Err(Error::Data(format!("`{name}` holds strings; expected a matrix of numbers")))
        }
    }
}

/// Edges are what is not zero, however the file stores them.
fn without_zeros(matrix: Csr) -> Csr {
    if matrix.values().all(|v| v != 0.0) {
        return matrix;
    }
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for r in 0..rows {
        let (columns, row) = matrix.row(r);
        for (c, v) in columns.iter().zip(row).filter(|(_, v)| **v != 0.0) {
            indices.push(*c);
            values.push(*v);
        }
        indptr.push(indices.len());
    }
    Csr::try_new(rows, cols, indptr, indices, values).expect("part of a valid matrix")
}

fn whole(what: &str, position: usize, value: f64) -> Result<i64> {
    if value.fract() == 0.0 && value.abs() < 2f64.powi(53) {
        return Ok(value as i64);
    }
    Err(Error::Data(format!("{what}: {value} at position {position}; expected a whole number")))
}

fn node_numbers(name: &str, array: Array) -> Result<Vec<u32>> {
    let Array::Vector { values, .. } = array else {
        return Err(Error::Data(format!("`{name}`: expected one list of node numbers")));
    };
    let numbers = values.iter().enumerate().map(|(i, v)| {
        let number = whole(&format!("`{name}`"), i, *v)?;
        u32::try_from(number).map_err(|_| {
            Error::Data(format!("`{name}`: node {number} at position {i}; expected at least 0"))
        })
    });
    let numbers: Vec<u32> = numbers.collect::<Result<_>>()?;
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    // A mask of zeros and ones would otherwise pass for nodes 0 and 1.
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(pair) => Err(Error::Data(format!(
            "`{name}`: node {} stands there twice; expected a list of different node numbers",
            pair[0]
        ))),
        None => Ok(numbers),
    }
}

/// Classes are the columns, numbers or words that occur.
fn as_labels(name: &str, array: Array, nodes: usize) -> Result<Labels> {
    let numbers: Vec<Option<i64>> = match array {
        Array::Matrix(matrix) => {
            let matrix = without_zeros(matrix.into_csr());
            (0..matrix.rows()).map(|n| one_hot(name, &matrix, n)).collect::<Result<_>>()?
        }
        Array::Vector { values, .. } => {
            if values.len() != nodes {
                return Err(Error::Data(format!("{} labels for {nodes} nodes", values.len())));
            }
            let what = format!("`{name}`");
            let numbers = values.iter().enumerate().map(|(i, v)| whole(&what, i, *v));
            numbers.map(|c| c.map(|c| Some(c).filter(|c| *c >= 0))).collect::<Result<_>>()?
        }
        Array::Strings(words) => {
            let words: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
            return Ok(Labels::of_words(&words));
        }
    };
    Ok(Labels::of_numbers(&numbers))
}

/// The column of a row's one 1; a row of zeros has none.
fn one_hot(name: &str, matrix: &Csr, row: usize) -> Result<Option<i64>> {
    let (columns, values) = matrix.row(row);
    if let Some(at) = values.iter().position(|v| *v != 1.0) {
        return Err(Error::Data(format!(
            "`{name}`: {} at row {row}, column {}; expected 0 or 1",
            values[at], columns[at]
        )));
    }
    match columns {
        [] => Ok(None),
        [class] => Ok(Some(i64::from(*class))),
        several => Err(Error::Data(format!(
            "`{name}`: node {row} has {} classes; expected one",
            several.len()
        ))),
    }
}

/// Classes by their names rather than their numbers.
fn named(labels: Labels, names: Array) -> Result<Labels> {
    let Array::Strings(names) = names else {
        return Err(Error::Data("`label_names`: expected a list of strings".into()));
    };
    let name = |class: &String| {
        let known = class.parse().ok().and_then(|number: usize| names.get(number)).cloned();
        known.ok_or_else(|| {
            Error::Data(format!(
                "`label_names`: {} names, none for class {}; expected a name for each class, \
                 numbered from 0",
                names.len(),
                quoted(class)
            ))
        })
    };
    let names = labels.names.iter().map(name).collect::<Result<_>>()?;
    Ok(Labels { names, ..labels })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(name: &str, rows: usize, cols: usize, values: &[f32]) -> NamedArray {
        let dense = Dense::from_vec(rows, cols, values.to_vec()).unwrap();
        NamedArray { name: name.into(), array: Array::Matrix(Matrix::Dense(dense)) }
    }

    fn vector(name: &str, values: &[f64]) -> NamedArray {
        let array = Array::Vector { values: values.to_vec(), shape: (1, values.len()) };
        NamedArray { name: name.into(), array }
    }

    fn arrays() -> Vec<NamedArray> {
        vec![
            matrix("feature", 3, 2, &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
            matrix("PAP", 3, 3, &[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
            matrix("PLP", 3, 3, &[0.0; 9]),
            matrix("label", 3, 2, &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
            vector("train_idx", &[0.0]),
            vector("val_idx", &[1.0]),
            vector("test_idx", &[1.0]),
        ]
    }

    fn refused(change: impl Fn(&mut Vec<NamedArray>)) -> String {
        let mut all = arrays();
        change(&mut all);
        assemble(all, None).unwrap_err().to_string()
    }

    #[test]
    fn arrays_are_recognised_by_name_and_shape() {
        let graph = assemble(arrays(), None).unwrap();
        assert_eq!(graph.layer_names(), ["PAP", "PLP"]);
        assert_eq!(graph.layers()[0].adjacency.nnz(), 4);
        let labels = graph.labels().unwrap();
        assert_eq!(labels.classes, [Some(0), Some(1), None]);
        assert_eq!(graph.splits().unwrap().test, [1]);
        let one = assemble(arrays(), Some(&["PLP".to_string()])).unwrap();
        assert_eq!(one.layer_names(), ["PLP"]);
    }

    #[test]
    fn classes_are_the_labels_that_occur() {
        let labels = |label: NamedArray, names: Option<&[&str]>| {
            let mut all = arrays();
            all[3] = label;
            if let Some(names) = names {
                let array = Array::Strings(names.iter().map(|name| name.to_string()).collect());
                all.push(NamedArray { name: "label_names".into(), array });
            }
            assemble(all, None).map(|graph| graph.labels().unwrap().clone())
        };
        let known = |names: [&str; 2]| Labels {
            classes: vec![Some(1), None, Some(0)],
            names: names.map(String::from).to_vec(),
        };
        let numbers = vector("label", &[70000.0, -1.0, 1.0]);
        assert_eq!(labels(numbers, None).unwrap(), known(["1", "70000"]));
        let one_hot = matrix("label", 3, 3, &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(labels(one_hot.clone(), None).unwrap(), known(["1", "2"]));
        let names = &["a", "b", "c"][..];
        assert_eq!(labels(one_hot, Some(names)).unwrap(), known(["b", "c"]));
        let numbers = vector("label", &[2.0, -1.0, 1.0]);
        assert_eq!(labels(numbers.clone(), Some(names)).unwrap(), known(["b", "c"]));
        let missing = labels(numbers, Some(&names[..2])).unwrap_err().to_string();
        assert!(missing.contains("`label_names`: 2 names, none for class `2`"), "{missing}");
    }

    #[test]
    fn mistakes_name_the_array() {
        assert!(
            refused(|a| drop(a.remove(0)))
                .contains("expected an array called `feature`, found PAP")
        );
        let wide = matrix("PAP", 3, 2, &[0.0; 6]);
        assert!(refused(|a| a[1] = wide.clone()).contains("`PAP` is 3 x 2; a layer must be 3 x 3"));
        let two = matrix("label", 3, 2, &[1.0; 6]);
        assert!(refused(|a| a[3] = two.clone()).contains("node 0 has 2 classes"));
        for (value, found) in [(f32::NAN, "NaN"), (-3.0, "-3"), (0.01, "0.01"), (2.0, "2")] {
            let odd = matrix("labels", 3, 2, &[1.0, 0.0, 0.0, value, 0.0, 0.0]);
            let message = refused(|a| a[3] = odd.clone());
            let expected = format!("`labels`: {found} at row 1, column 1; expected 0 or 1");
            assert_eq!(message, expected);
        }
        let message = refused(|a| a.push(vector("labels", &[0.0; 3])));
        assert_eq!(message, "both `label` and `labels` are there; expected one of them");
        let message = refused(|a| a.push(matrix("features", 3, 2, &[1.0; 6])));
        assert_eq!(message, "both `feature` and `features` are there; expected one of them");
        assert!(refused(|a| a[4] = vector("train_idx", &[0.5])).contains("`train_idx`: 0.5"));
        assert!(refused(|a| a[4] = vector("train_idx", &[-1.0])).contains("node -1"));
        assert!(refused(|a| a[4] = vector("train_idx", &[3.0])).contains("train split: node 3"));
        let mask = vector("train_idx", &[1.0, 1.0, 0.0]);
        assert!(refused(|a| a[4] = mask.clone()).contains("node 1 stands there twice"));
        assert!(refused(|a| a[3] = vector("label", &[0.0, 1.0])).contains("2 labels for 3 nodes"));
        let unknown = assemble(arrays(), Some(&["PTP".to_string()])).unwrap_err().to_string();
        assert_eq!(unknown, "no layer is called `PTP`; the graph has PAP, PLP");
    }
}

//! Layers: matrices as they are, tables of edges, and meta-paths.

mod path;

use super::matrices;
use super::nodes::NodeSet;
use super::pairs::{Side, read_pairs};
use super::report::{Report, TableReport};
use super::schema::layers::{Duplicates, EdgeSpec, LayerSource, LayerSpec};
use crate::error::{ParseError, Result};
use crate::io::table::Table;
use crate::matrix::Csr;
use std::path::Path;

/// Where layers are read from and what they may take.
pub(super) struct Reading<'a> {
    pub folder: &'a Path,
    /// Bytes that are free.
    pub memory: Option<u64>,
}

/// Reads one layer over the nodes known so far, which it may add to.
pub(super) fn read(
    reading: &Reading<'_>,
    spec: &LayerSpec,
    nodes: &NodeSet,
    report: &mut Report,
) -> Result<Csr> {
    match &spec.source {
        LayerSource::Matrix(file) => {
            let file = reading.folder.join(file);
            let matrix = matrices::read(&file)?.into_csr();
            let expected = nodes.listed;
            if (matrix.rows(), matrix.cols()) != (expected, expected) {
                return Err(ParseError::new(format!(
                    "{} x {}; expected {expected} x {expected}, as {} has {expected} rows",
                    matrix.rows(),
                    matrix.cols(),
                    nodes.called()
                ))
                .in_file(&file));
            }
            Ok(matrix)
        }
        LayerSource::Edges(edges) => read_edges(reading, spec, edges, nodes, report),
        LayerSource::Path(path) => path::read(reading, spec, path, nodes, report),
    }
}

fn read_edges(
    reading: &Reading<'_>,
    spec: &LayerSpec,
    edges: &EdgeSpec,
    nodes: &NodeSet,
    report: &mut Report,
) -> Result<Csr> {
    let table = Table::open(&reading.folder.join(&edges.file))?;
    let side = |column| Side { column, ids: &nodes.ids, on_unknown: edges.on_unknown };
    let pairs =
        read_pairs(&table, [side(&edges.source), side(&edges.target)], edges.weight.as_deref())?;
    let [mut unknown, more] = pairs.unknown;
    unknown.append(more);
    unknown.check(&table, edges.on_unknown, nodes)?;
    let count = nodes.count();
    let (matrix, duplicates) = match edges.duplicates {
        Duplicates::Sum => Csr::gather(count, count, pairs.entries, |a, b| a + b),
        Duplicates::Join => Csr::gather(count, count, pairs.entries, f32::max),
    };
    report.tables.push(TableReport {
        file: edges.file.display().to_string(),
        used_for: format!("layer {}", spec.name),
        rows: pairs.rows,
        unknown: unknown.count,
        duplicates,
    });
    Ok(match (edges.symmetric, edges.duplicates) {
        (false, _) => matrix,
        (true, Duplicates::Sum) => matrix.symmetric_by(|a, b| a + b),
        (true, Duplicates::Join) => matrix.symmetric_by(f32::max),
    })
}

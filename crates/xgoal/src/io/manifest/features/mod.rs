//! Attributes: each block becomes columns, new ones or those a model was trained with.

mod columns;
mod text;
mod triplets;

use super::matrices;
use super::nodes::{Keyed, NodeSet};
use super::report::{BlockReport, Report};
use super::schema::TableSpec;
use super::schema::features::{FeatureSource, FeatureSpec};
use crate::error::{Error, ParseError, Result};
use crate::graph::features::{FeatureBlock, FeatureColumns, FeatureSpace};
use crate::matrix::{Csr, Matrix};
use crate::random::{Purpose, Stream};
use std::path::Path;

/// Columns that stand in for attributes where there are none, and how many of them a node has.
const STAND_IN: (usize, usize) = (1024, 16);

/// One block: its columns, its values, and what the columns do not know.
struct Encoded {
    columns: FeatureColumns,
    matrix: Matrix,
    unseen: Unseen,
}

/// What is there but has no column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Unseen {
    different: usize,
    occurrences: u64,
}

/// Reads all blocks, into the columns of `space` where one is given.
pub(super) fn read(
    folder: &Path,
    specs: &[FeatureSpec],
    nodes: &NodeSet,
    space: Option<&FeatureSpace>,
    report: &mut Report,
) -> Result<(FeatureSpace, Matrix)> {
    let mut found = FeatureSpace::default();
    let mut matrices = Vec::new();
    let mut keep = |name: String, encoded: Encoded, report: &mut Report| {
        report.features.push(BlockReport {
            name: name.clone(),
            kind: encoded.columns.kind(),
            columns: encoded.columns.count(),
            unseen: encoded.unseen.different,
            unseen_occurrences: encoded.unseen.occurrences,
            left_out: false,
        });
        found.blocks.push(FeatureBlock { name, columns: encoded.columns });
        matrices.push(encoded.matrix);
    };
    if let Some(space) = space {
        check_blocks(specs, space)?;
        for spec in specs.iter().filter(|s| space.blocks.iter().all(|b| b.name != s.name)) {
            report.features.push(BlockReport {
                name: spec.name.clone(),
                kind: spec.kind(),
                columns: 0,
                unseen: 0,
                unseen_occurrences: 0,
                left_out: true,
            });
        }
        for block in &space.blocks {
            let spec = specs.iter().find(|spec| spec.name == block.name);
            let encoded = match (spec, &block.columns) {
                (None, FeatureColumns::StandIn { count, per_node }) => {
                    stand_in(nodes, (*count, *per_node))
                }
                (None, _) => unreachable!("checked above"),
                (Some(spec), _) => encode(folder, spec, nodes, Some(&block.columns), report)?,
            };
            keep(block.name.clone(), encoded, report);
        }
    } else if specs.is_empty() {
        keep("ids".into(), stand_in(nodes, STAND_IN), report);
    } else {
        for spec in specs {
            let encoded = encode(folder, spec, nodes, None, report)?;
            keep(spec.name.clone(), encoded, report);
        }
    }
    Ok((found, matrices::side_by_side(matrices)))
}

/// Every block the model knows is there, and of its kind.
fn check_blocks(specs: &[FeatureSpec], space: &FeatureSpace) -> Result<()> {
    for block in &space.blocks {
        let kind = block.columns.kind();
        let spec = specs.iter().find(|spec| spec.name == block.name);
        match (spec, kind) {
            (None, "stand-in") => {}
            (Some(spec), kind) if spec.kind() == kind => {}
            (Some(spec), _) => {
                return Err(Error::Data(format!(
                    "the features `{}` are {} here; the model was trained on {kind} ones",
                    block.name,
                    spec.kind()
                )));
            }
            (None, _) => {
                let there: Vec<&str> = specs.iter().map(|s| s.name.as_str()).collect();
                return Err(Error::Data(format!(
                    "the model was trained on {kind} features called `{}`; the manifest has {}",
                    block.name,
                    if there.is_empty() { "none".to_owned() } else { there.join(", ") }
                )));
            }
        }
    }
    Ok(())
}

fn encode(
    folder: &Path,
    spec: &FeatureSpec,
    nodes: &NodeSet,
    known: Option<&FeatureColumns>,
    report: &mut Report,
) -> Result<Encoded> {
    let used_for = || format!("features {}", spec.name);
    let mut with_table = |table: &Option<TableSpec>,
                          columns: &[&str],
                          work: &dyn Fn(&Keyed) -> Result<Encoded>| {
        match table {
            None => work(nodes.table.as_ref().expect("checked by the schema")),
            Some(table) => work(&Keyed::read(folder, table, columns, nodes, used_for(), report)?),
        }
    };
    let count = nodes.count();
    match &spec.source {
        FeatureSource::Matrix(file) => matrix(&folder.join(file), nodes, known),
        FeatureSource::Triplets(table) => {
            triplets::read(folder, &spec.name, table, nodes, known, report)
        }
        FeatureSource::Numeric { table, columns, missing } => {
            with_table(table, &listed(columns), &|keyed| {
                columns::numeric(keyed, columns, *missing, count, known)
            })
        }
        FeatureSource::Categorical { table, columns } => {
            with_table(table, &listed(columns), &|keyed| {
                columns::categorical(keyed, columns, count, known)
            })
        }
        FeatureSource::Vector { table, column } => {
            with_table(table, &[column.as_str()], &|keyed| {
                columns::vector(keyed, column, count, known)
            })
        }
        FeatureSource::Text { table, columns, words } => {
            with_table(table, &listed(columns), &|keyed| {
                text::bag_of_words(keyed, columns, words, count, known)
            })
        }
    }
}

fn listed(columns: &[String]) -> Vec<&str> {
    columns.iter().map(String::as_str).collect()
}

fn matrix(file: &Path, nodes: &NodeSet, known: Option<&FeatureColumns>) -> Result<Encoded> {
    let matrix = matrices::read(file)?;
    let wrong = |message: String| ParseError::new(message).in_file(file);
    if matrix.rows() != nodes.listed {
        return Err(wrong(format!(
            "{} rows; expected {}, a row for each node of {}",
            matrix.rows(),
            nodes.listed,
            nodes.called()
        )));
    }
    numbered(matrix.cols(), known).map_err(wrong)?;
    let columns = FeatureColumns::Numbered { count: matrix.cols() };
    let matrix = matrices::with_rows(matrix, nodes.count());
    Ok(Encoded { columns, matrix, unseen: Unseen::default() })
}

/// Columns without names must be as many as in training.
fn numbered(found: usize, known: Option<&FeatureColumns>) -> std::result::Result<(), String> {
    match known {
        Some(FeatureColumns::Numbered { count }) if *count != found => {
            Err(format!("{found} columns; the model was trained on {count}"))
        }
        _ => Ok(()),
    }
}

/// A few signs for every node, at places that its id decides: a random projection of the identity matrix, so that the
/// mean over a node's neighbours says who they are.
fn stand_in(nodes: &NodeSet, (count, per_node): (usize, usize)) -> Encoded {
    let ids = nodes.ids.read().expect("no reader panics");
    let stream = Stream::new(0, Purpose::StandIn);
    let mut entries = Vec::with_capacity(ids.len() * per_node);
    for (node, id) in ids.names().enumerate() {
        let own = id.bytes().fold(stream, |stream, byte| stream.substream(u64::from(byte)));
        for i in 0..per_node as u64 {
            let sign = if own.word(2 * i) >> 63 == 0 { 1.0 } else { -1.0 };
            entries.push((node as u32, own.below(2 * i + 1, count as u64) as u32, sign));
        }
    }
    let (matrix, _) = Csr::gather(ids.len(), count, entries, |a, b| a + b);
    Encoded {
        columns: FeatureColumns::StandIn { count, per_node },
        matrix: Matrix::Sparse(matrix),
        unseen: Unseen::default(),
    }
}

//! Meta-paths: tables that are followed one after another, and their product.

use super::Reading;
use crate::error::{Error, Result};
use crate::graph::metapath::{Hubs, MetaPath, Prediction};
use crate::io::manifest::nodes::{NodeSet, Unknown};
use crate::io::manifest::pairs::{Side, read_pairs};
use crate::io::manifest::report::{PathReport, Report, TableReport};
use crate::io::manifest::schema::OnUnknown;
use crate::io::manifest::schema::layers::{LayerSpec, PathSpec};
use crate::io::table::{Ids, Table};
use crate::matrix::Csr;
use crate::words::quoted;
use std::sync::RwLock;

/// Bytes of an entry of a layer.
const ENTRY: u64 = 8;

pub(super) fn read(
    reading: &Reading<'_>,
    spec: &LayerSpec,
    path: &PathSpec,
    nodes: &NodeSet,
    report: &mut Report,
) -> Result<Csr> {
    let (steps, things) = read_steps(reading, spec, path, nodes, report)?;
    let steps = over_all_nodes(steps, nodes.count(), path.back);
    let whole = match path.back {
        true => MetaPath::there_and_back(steps)?,
        false => MetaPath::new(steps)?,
    };
    let mut product = whole.clone().values(path.values);
    let mut hubs = 0;
    if let Some(cap) = path.cap {
        let above = |c: &&u32| **c as usize > cap;
        // On the way back the things are the same.
        hubs = whole.connections().iter().take(things.len()).flatten().filter(above).count();
        product = product.cap(cap, path.hubs, path.seed);
    }
    let predicted = product.predict();
    let copies = if path.cap.is_some() && path.hubs == Hubs::Sample { 3 } else { 1 };
    let needed = copies * ENTRY * predicted.about + 8 * nodes.count() as u64;
    if let Some(available) = reading.memory.filter(|free| needed > *free) {
        let advice = advice(&product, &things, available / (3 * ENTRY));
        return Err(Error::LayerMemory {
            layer: spec.name.clone(),
            edges: predicted.about,
            needed,
            available,
            advice,
        });
    }
    let mut layer = product.build()?;
    if path.symmetric {
        layer = layer.symmetric_by(f32::max);
    }
    if !path.self_loops {
        layer = layer.filtered(|row, column| row != column);
    }
    let Prediction { paths, about, .. } = predicted;
    let edges = layer.nnz() as u64;
    let layer_name = spec.name.clone();
    report.paths.push(PathReport { layer: layer_name, paths, predicted_edges: about, edges, hubs });
    Ok(layer)
}

/// The tables as matrices, and the names of the things between them.
fn read_steps(
    reading: &Reading<'_>,
    spec: &LayerSpec,
    path: &PathSpec,
    nodes: &NodeSet,
    report: &mut Report,
) -> Result<(Vec<Csr>, Vec<Ids>)> {
    let mut junctions: Vec<RwLock<Ids>> = Vec::new();
    let mut steps = Vec::new();
    for (at, step) in path.steps.iter().enumerate() {
        let table = Table::open(&reading.folder.join(&step.file))?;
        let to_nodes = !path.back && at + 1 == path.steps.len();
        junctions.push(RwLock::default());
        let from = match at {
            0 => Side { column: &step.from, ids: &nodes.ids, on_unknown: path.on_unknown },
            // A thing that no path has reached yet leads nowhere.
            _ => Side { column: &step.from, ids: &junctions[at - 1], on_unknown: OnUnknown::Skip },
        };
        let to = match to_nodes {
            true => Side { column: &step.to, ids: &nodes.ids, on_unknown: path.on_unknown },
            false => Side { column: &step.to, ids: &junctions[at], on_unknown: OnUnknown::Add },
        };
        let pairs = read_pairs(&table, [from, to], step.weight.as_deref())?;
        // Things are new by nature; only nodes can be unknown.
        let [mut unknown, at_end] = pairs.unknown;
        if at > 0 {
            unknown = Unknown::default();
        }
        if to_nodes {
            unknown.append(at_end);
        }
        unknown.check(&table, path.on_unknown, nodes)?;
        let size = |ids: &RwLock<Ids>| ids.read().expect("no reader panics").len();
        let rows = if at == 0 { nodes.count() } else { size(&junctions[at - 1]) };
        let cols = if to_nodes { nodes.count() } else { size(&junctions[at]) };
        // As for edges: without weights, saying a thing twice says no more.
        let (matrix, duplicates) = match step.weight {
            None => Csr::gather(rows, cols, pairs.entries, f32::max),
            Some(_) => Csr::gather(rows, cols, pairs.entries, |a, b| a + b),
        };
        report.tables.push(TableReport {
            file: step.file.display().to_string(),
            used_for: format!("layer {}", spec.name),
            rows: pairs.rows,
            unknown: unknown.count,
            duplicates,
        });
        steps.push(matrix);
    }
    if !path.back {
        junctions.pop();
    }
    let things = junctions.into_iter().map(|j| j.into_inner().expect("no reader panics")).collect();
    Ok((steps, things))
}

/// Nodes that the last table added have rows and columns everywhere.
fn over_all_nodes(mut steps: Vec<Csr>, nodes: usize, back: bool) -> Vec<Csr> {
    let last = steps.len() - 1;
    let first = steps.remove(0);
    let cols = first.cols();
    steps.insert(0, first.enlarged(nodes, cols));
    if !back {
        let end = steps.remove(last);
        let rows = end.rows();
        steps.push(end.enlarged(rows, nodes));
    }
    steps
}

/// What to do about a path that is too large.
fn advice(path: &MetaPath, things: &[Ids], entries: u64) -> String {
    let mut hubs: Vec<(u32, &str)> = Vec::new();
    for (connections, ids) in path.connections().iter().zip(things) {
        let named = connections.iter().zip(ids.names()).map(|(count, name)| (*count, name));
        hubs.extend(named);
        hubs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        hubs.truncate(3);
    }
    let hubs: Vec<String> =
        hubs.iter().map(|(count, name)| format!("{} ({count})", quoted(name))).collect();
    let cap = match path.cap_for(entries) {
        Some(cap) => format!("set hub_cap = {cap}"),
        None => "leave the layer out".to_owned(),
    };
    format!("its largest hubs are {}; {cap}, or use a larger machine", hubs.join(", "))
}

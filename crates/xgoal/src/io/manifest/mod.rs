//! `graph.toml`: a manifest of the user's own files, relative to itself.
//!
//! ```toml
//! [nodes]
//! file = "papers.csv"                 # one row per node
//! id = "paper"
//!
//! [[features]]                        # one or several blocks, side by side
//! text = ["title", "abstract"]
//!
//! [[layers]]                          # a row per edge
//! name = "cites"
//! edges = "cites.csv"
//! source = "from"
//! target = "to"
//!
//! [[layers]]                          # papers that share an author
//! name = "same author"
//! path = [{ file = "wrote.csv", from = "paper", to = "author" }]
//!
//! [labels]
//! column = "field"
//! ```
//!
//! The text becomes what it says (`schema`), the node table its ids (`nodes`), tables of pairs layers (`layers`) and
//! columns attributes (`features`). What was skipped, added or drawn on the way is in the [`Report`].

mod features;
mod labels;
mod layers;
mod matrices;
mod nodes;
mod pairs;
mod report;
mod schema;
mod section;

pub use report::{BlockReport, DrawnSplit, Duplicates, PathReport, Report, TableReport};

use crate::error::{Error, ParseError, Result};
use crate::graph::features::FeatureSpace;
use crate::graph::{Layer, MultiplexGraph, sums};
use crate::io::open;
use crate::io::table::Ids;
use layers::Reading;
use nodes::{Keyed, NodeSet};
use schema::labels::{Shares, SplitSource};
use schema::layers::LayerSpec;
use schema::{Manifest, TableSpec};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How a manifest is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// These layers, in this order; all of them where it says nothing.
    pub layers: Option<&'a [String]>,
    /// The columns of a trained model, to encode attributes by.
    pub features: Option<&'a FeatureSpace>,
    /// Bytes of memory that layers may take.
    pub memory: Option<u64>,
    /// Whether the source is only looked at, so that repeated ids are reported and no error.
    pub inspect: bool,
}

/// The manifest a source stands for: the file itself, or the one in a folder.
pub fn manifest_of(source: &Path) -> Option<PathBuf> {
    let inside = source.join("graph.toml");
    if inside.is_file() {
        return Some(inside);
    }
    let is_toml = source.extension().is_some_and(|e| e == "toml");
    is_toml.then(|| source.to_path_buf())
}

/// The node table of a source with a manifest, and its column of ids.
pub fn node_table(source: &Path) -> Result<Option<(PathBuf, String)>> {
    let Some(path) = manifest_of(source) else { return Ok(None) };
    let manifest = parse(&path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(manifest.nodes.map(|spec| (folder.join(spec.file), spec.id)))
}

/// Reads the graph a manifest describes.
pub fn read(path: &Path, options: &ReadOptions<'_>) -> Result<(MultiplexGraph, Report)> {
    let manifest = parse(path)?;
    let wanted = select(&manifest.layers, options.layers)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    graph(folder, &manifest, &wanted, options).map_err(|e| match e {
        Error::Data(message) => Error::Data(format!("{}: {message}", path.display())),
        other => other,
    })
}

/// A manifest and the files it names.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let manifest = parse(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let named = manifest.files().map(|file| folder.join(file));
    Ok(named.chain([path.to_path_buf()]).collect())
}

fn parse(path: &Path) -> Result<Manifest> {
    let text = open::text(path)?;
    let manifest = Manifest::parse(&text).map_err(|e| e.in_file(path))?;
    manifest.files().try_for_each(|file| stays_inside(path, file))?;
    Ok(manifest)
}

/// Refuses a link that leads out of the manifest's folder. A file that is not there is for its reader to miss.
fn stays_inside(manifest: &Path, file: &Path) -> Result<()> {
    let folder = match manifest.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let (Ok(folder), Ok(real)) = (folder.canonicalize(), folder.join(file).canonicalize()) else {
        return Ok(());
    };
    if real.starts_with(&folder) {
        return Ok(());
    }
    let (file, real) = (file.display(), real.display());
    Err(ParseError::new(format!(
        "`{file}` is a link to {real}; expected a file in the manifest's folder or below it"
    ))
    .in_file(manifest))
}

fn graph(
    folder: &Path,
    manifest: &Manifest,
    wanted: &[&LayerSpec],
    options: &ReadOptions<'_>,
) -> Result<(MultiplexGraph, Report)> {
    let mut report = Report::default();
    let nodes = match &manifest.nodes {
        Some(spec) => {
            let columns = node_columns(manifest, options.features);
            NodeSet::read(folder, spec, &columns, options.inspect, &mut report)?
        }
        None => NodeSet::default(),
    };
    let mut reading = Reading { folder, memory: options.memory };
    let mut matrices = Vec::with_capacity(wanted.len());
    for layer in wanted {
        let matrix = layers::read(&reading, layer, &nodes, &mut report)?;
        // What one layer takes is no longer there for the next.
        reading.memory = reading.memory.map(|free| free.saturating_sub(matrix.bytes()));
        matrices.push(matrix);
    }
    let count = nodes.count();
    report.added_nodes = count - nodes.listed;
    let layers = wanted.iter().zip(matrices).map(|(spec, matrix)| Layer {
        name: spec.name.clone(),
        adjacency: matrix.enlarged(count, count),
    });
    let layers: Vec<Layer> = layers.collect();

    let (space, attributes) =
        features::read(folder, &manifest.features, &nodes, options.features, &mut report)?;
    let mut by_node = |column: &str, table: &Option<TableSpec>, used_for: &str| match table {
        None => Ok(None),
        Some(table) => {
            let used_for = used_for.to_owned();
            Keyed::read(folder, table, &[column], &nodes, used_for, &mut report).map(Some)
        }
    };
    let mut found_labels = None;
    if let Some(spec) = &manifest.labels {
        let own = by_node(&spec.column, &spec.table, "labels")?;
        let keyed = own.as_ref().or(nodes.table.as_ref()).expect("checked by the schema");
        found_labels = Some(labels::labels(keyed, &spec.column, count)?);
    }
    let splits = match manifest.splits.as_ref().map(|s| &s.source) {
        Some(SplitSource::Column { column, table }) => {
            let own = by_node(column, table, "splits")?;
            let keyed = own.as_ref().or(nodes.table.as_ref()).expect("checked by the schema");
            Some(labels::splits(keyed, column, count)?)
        }
        Some(SplitSource::Random(shares)) => {
            found_labels.as_ref().map(|labels| labels::draw(labels, *shares).0)
        }
        None => found_labels.as_ref().map(|labels| {
            let (splits, drawn) = labels::draw(labels, Shares::default());
            report.drawn_split = Some(drawn);
            splits
        }),
    };

    let ids = nodes.ids.into_inner().expect("no reader panics");
    let mut graph = MultiplexGraph::new(layers, attributes)?.with_features(space)?;
    if let Some(names) = options.layers {
        graph = graph.select_layers(names)?;
    }
    graph = match whole_numbers(&ids, nodes.table.as_ref()) {
        Some(numbers) => graph.with_integer_ids(&numbers)?,
        None => graph.with_ids(ids.names().map(str::to_owned).collect())?,
    };
    if let Some(labels) = found_labels {
        graph = graph.with_labels(labels)?;
    }
    if let Some(splits) = splits {
        graph = graph.with_splits(splits)?;
    }
    Ok((graph, report))
}

/// The ids as numbers, where the node table has them as such.
fn whole_numbers(ids: &Ids, table: Option<&Keyed>) -> Option<Vec<i64>> {
    table.filter(|table| table.has_integer_ids())?;
    ids.names().map(|id| id.parse().ok()).collect()
}

/// The columns of the node table that something is made of.
fn node_columns<'a>(manifest: &'a Manifest, space: Option<&FeatureSpace>) -> Vec<&'a str> {
    let known = |name: &str| space.is_none_or(|s| s.blocks.iter().any(|b| b.name == name));
    let features = manifest.features.iter().filter(|f| known(&f.name));
    let mut columns: Vec<&str> = features.flat_map(|f| f.node_columns()).collect();
    if let Some(labels) = manifest.labels.as_ref().filter(|l| l.table.is_none()) {
        columns.push(&labels.column);
    }
    if let Some(SplitSource::Column { column, table: None }) =
        manifest.splits.as_ref().map(|s| &s.source)
    {
        columns.push(column);
    }
    columns
}

/// The layers that those asked for are made of, each once.
fn select<'a>(specs: &'a [LayerSpec], names: Option<&[String]>) -> Result<Vec<&'a LayerSpec>> {
    let Some(names) = names else { return Ok(specs.iter().collect()) };
    let available: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    let mut seen = HashSet::new();
    let places = sums::resolve(names, &available)?.into_iter().flatten();
    Ok(places.filter(|place| seen.insert(*place)).map(|place| &specs[place]).collect())
}

#[cfg(test)]
mod tests;

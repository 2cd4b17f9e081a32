//! What there was to say about a source besides the graph itself.

use serde::Serialize;

/// What was found, skipped, added, drawn or left out while a source was read.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// Node ids that stand in several rows of the node table.
    pub duplicate_ids: Duplicates,
    /// Nodes that only layers name.
    pub added_nodes: usize,
    /// The tables of layers, features and labels.
    pub tables: Vec<TableReport>,
    /// Meta-paths.
    pub paths: Vec<PathReport>,
    /// The blocks of attributes.
    pub features: Vec<BlockReport>,
    /// The seed of a split that was drawn because there was none.
    pub drawn_split: Option<DrawnSplit>,
}

/// Ids that stand in several rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Duplicates {
    /// Rows beyond the first of their id.
    pub rows: usize,
    /// The first few, with their places.
    pub examples: Vec<String>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableReport {
    /// The file, as the manifest names it.
    pub file: String,
    /// What it was read for.
    pub used_for: String,
    /// Its rows.
    pub rows: usize,
    /// Times an unknown node is named: its row was skipped, or the node added.
    pub unknown: usize,
    /// Rows that repeat an edge or an entry.
    pub duplicates: usize,
}

/// One meta-path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathReport {
    /// The layer.
    pub layer: String,
    /// Number of paths.
    pub paths: f64,
    /// Edges as predicted before it was built.
    pub predicted_edges: u64,
    /// Edges as built.
    pub edges: u64,
    /// Things with more connections than the cap.
    pub hubs: usize,
}

/// One block of attributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockReport {
    /// Its name.
    pub name: String,
    /// `matrix`, `triplets`, `numeric`, `categorical`, `text`, `vector` or `stand-in`.
    pub kind: &'static str,
    /// Its columns.
    pub columns: usize,
    /// Words, names or categories that are no column: different ones.
    pub unseen: usize,
    /// How often they occur.
    pub unseen_occurrences: u64,
    /// Whether the model knows no such block, so that it was left out.
    pub left_out: bool,
}

/// A split that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DrawnSplit {
    /// Share of each class that trains.
    pub train: f64,
    /// Share that validates.
    pub val: f64,
    /// Seed.
    pub seed: u64,
    /// Nodes of classes with fewer than three nodes, which are in no part.
    pub left_out: usize,
}

impl Report {
    /// In words, a line for each thing worth saying.
    pub fn remarks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let Duplicates { rows, examples } = &self.duplicate_ids;
        if *rows > 0 {
            lines.push(format!(
                "{rows} rows of the node table repeat an id: {}; training will refuse them",
                examples.join(", ")
            ));
        }
        if self.added_nodes > 0 {
            lines.push(format!("{} nodes are named by layers only", self.added_nodes));
        }
        for table in &self.tables {
            let TableReport { file, used_for, rows, unknown, duplicates } = table;
            if *unknown > 0 {
                lines.push(format!(
                    "{file} ({used_for}): {rows} rows name {unknown} times an unknown node"
                ));
            }
            if *duplicates > 0 {
                lines.push(format!(
                    "{file} ({used_for}): {duplicates} of {rows} rows repeat another"
                ));
            }
        }
        for path in self.paths.iter().filter(|p| p.hubs > 0) {
            lines.push(format!("{}: {} hubs are above the cap", path.layer, path.hubs));
        }
        for block in &self.features {
            let BlockReport { name, kind, columns, unseen, unseen_occurrences, left_out } = block;
            if *left_out {
                lines.push(format!("features {name}: unknown to the model, left out"));
            } else if *kind == "stand-in" {
                lines.push(format!(
                    "no [[features]]: {columns} columns drawn from the ids stand in for attributes"
                ));
            } else if *unseen > 0 {
                lines.push(format!(
                    "features {name}: {unseen} names have no column in the model, as training did not see \
                     or did not choose them ({unseen_occurrences} occurrences)"
                ));
            }
        }
        if let Some(DrawnSplit { train, val, seed, left_out }) = self.drawn_split {
            let mut line = format!(
                "no [splits]: {:.0} % of each class train and {:.0} % validate, drawn with seed {seed}",
                100.0 * train,
                100.0 * val
            );
            if left_out > 0 {
                line +=
                    &format!("; {left_out} nodes of classes with fewer than three are left out");
            }
            lines.push(line);
        }
        lines
    }
}

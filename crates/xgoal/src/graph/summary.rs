use super::{MultiplexGraph, Overlap};
use crate::words::quoted;
use serde::Serialize;

/// What `info` says about a graph.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of attributes.
    pub features: usize,
    /// Attribute entries that are not zero.
    pub feature_nnz: usize,
    /// Nodes without any attribute.
    pub empty_feature_rows: usize,
    /// Nodes that no layer joins to another.
    pub unconnected: usize,
    /// The layers in order.
    pub layers: Vec<LayerSummary>,
    /// Number of classes, where labels are known.
    pub classes: Option<usize>,
    /// Nodes per split, where there is one.
    pub splits: Option<SplitSizes>,
    /// What training or scoring will refuse, in words.
    pub notes: Vec<String>,
}

/// What `info` says about one layer.
#[derive(Debug, Clone, Serialize)]
pub struct LayerSummary {
    /// The layer's name.
    pub name: String,
    /// Stored non-zeros: both directions of an edge, self-loops included.
    pub edges: usize,
    /// Non-zeros on the diagonal.
    pub self_loops: usize,
    /// Nodes whose row has no edge.
    pub isolated: usize,
    /// Fewest, median, mean and most edges of a row.
    pub degrees: Degrees,
    /// Whether the matrix equals its transpose.
    pub symmetric: bool,
}

/// Distribution of the number of edges per node.
#[derive(Debug, Clone, Serialize)]
pub struct Degrees {
    /// Fewest.
    pub min: usize,
    /// Median.
    pub median: usize,
    /// Mean.
    pub mean: f64,
    /// Most.
    pub max: usize,
}

/// Nodes per split.
#[derive(Debug, Clone, Serialize)]
pub struct SplitSizes {
    /// Training nodes.
    pub train: usize,
    /// Validation nodes.
    pub val: usize,
    /// Test nodes.
    pub test: usize,
}

impl MultiplexGraph {
    /// Counts what there is to know before training.
    pub fn summary(&self) -> Summary {
        let attributes = self.attributes();
        let empty_feature_rows = (0..self.nodes())
            .filter(|n| match attributes {
                crate::matrix::Matrix::Sparse(m) => m.row(*n).1.iter().all(|v| *v == 0.0),
                crate::matrix::Matrix::Dense(m) => m.row(*n).iter().all(|v| *v == 0.0),
            })
            .count();
        Summary {
            nodes: self.nodes(),
            features: attributes.cols(),
            feature_nnz: attributes.nonzeros(),
            empty_feature_rows,
            unconnected: self.unconnected(),
            layers: self.layers().iter().map(LayerSummary::of).collect(),
            classes: self.labels().map(|l| l.names.len()),
            splits: self.splits().map(|s| SplitSizes {
                train: s.train.len(),
                val: s.val.len(),
                test: s.test.len(),
            }),
            notes: self.negative_weights().chain(self.overlap()).collect(),
        }
    }

    fn negative_weights(&self) -> impl Iterator<Item = String> {
        self.layers().iter().filter_map(|layer| {
            let negative = layer.adjacency.values().filter(|v| *v < 0.0).count();
            let (name, all) = (quoted(&layer.name), layer.adjacency.nnz());
            (negative > 0).then(|| {
                format!(
                    "layer {name} has negative weights ({negative} of {all}); training will refuse \
                     them, unless normalize_edges = \"none\""
                )
            })
        })
    }

    fn overlap(&self) -> Option<String> {
        let splits = self.splits()?;
        let overlap = Overlap::find(&splits.train, &splits.val, &splits.test)?;
        let shared = overlap.describe(&quoted(&self.id(overlap.node as usize)));
        Some(format!("{shared}; evaluation will refuse them"))
    }
}

impl MultiplexGraph {
    /// How many nodes have no edge in any layer, in either direction; a self-loop is none.
    fn unconnected(&self) -> usize {
        let mut connected = vec![false; self.nodes()];
        for m in self.layers().iter().map(|l| &l.adjacency) {
            for r in 0..m.rows() {
                let (columns, values) = m.row(r);
                let edges = columns.iter().zip(values).filter(|(_, v)| **v != 0.0);
                for (c, _) in edges.filter(|(c, _)| **c as usize != r) {
                    connected[r] = true;
                    connected[*c as usize] = true;
                }
            }
        }
        connected.iter().filter(|c| !**c).count()
    }
}

impl LayerSummary {
    fn of(layer: &super::Layer) -> Self {
        let m = &layer.adjacency;
        let mut degrees = Vec::with_capacity(m.rows());
        let mut self_loops = 0;
        for r in 0..m.rows() {
            let (cols, values) = m.row(r);
            let edges = || cols.iter().zip(values).filter(|(_, v)| **v != 0.0);
            degrees.push(edges().count());
            self_loops += edges().filter(|(c, _)| **c as usize == r).count();
        }
        degrees.sort_unstable();
        let edges: usize = degrees.iter().sum();
        Self {
            name: layer.name.clone(),
            edges,
            self_loops,
            isolated: degrees.iter().take_while(|d| **d == 0).count(),
            degrees: Degrees {
                min: degrees[0],
                median: degrees[degrees.len() / 2],
                mean: edges as f64 / degrees.len() as f64,
                max: degrees[degrees.len() - 1],
            },
            symmetric: m.transpose() == *m,
        }
    }
}

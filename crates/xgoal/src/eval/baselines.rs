//! What embeddings are held against: what a graph gives without any training.
//!
//! | | a row per node |
//! |---|---|
//! | `attributes` | X B: attributes, rows of unit length, in their leading directions B |
//! | `averaged` | A A X B: the same, averaged over neighbours twice, in the leading directions of that |
//! | `structure` | [`structure`]: the layers, without any attribute |
//!
//! A is the mean over layers of the mean over a node and its neighbours there. Leading directions are right singular vectors, of
//! centred columns, as many as the embeddings have columns; of attributes that are fewer, all of them. In the end all rows are scaled to the
//! length sqrt(columns): classifiers take few steps of one size, and find more in numbers of about that size (averaged attributes of
//! ACM: Macro-F1 0.83, as they are 0.73).

use serde::ser::{Serialize, Serializer};

use super::{Protocol, Report, Task, evaluate};
use crate::error::Result;
use crate::graph::preprocess::Preprocessing;
use crate::graph::structure::structure;
use crate::graph::{MultiplexGraph, averaging};
use crate::matrix::{Csr, Dense};
use crate::model::Seen;
use crate::random::{Purpose, Stream};
use crate::settings::{AttributeNorm, ColumnNorm, EdgeNorm, SelfLoops};

/// Numbers for nodes that are not learnt.
#[derive(Debug, Clone, Copy)]
pub struct Baseline {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    rows: fn(&MultiplexGraph, usize, u64) -> Result<Dense>,
}

/// All of them.
pub const BASELINES: [Baseline; 3] = [
    Baseline { name: "attributes", about: "attributes alone, SVD", rows: attributes },
    Baseline {
        name: "averaged",
        about: "attributes averaged over neighbours, SVD",
        rows: averaged,
    },
    Baseline { name: "structure", about: "structure alone", rows: alone },
];

impl Baseline {
    /// At most so many columns for every node; they depend on the seed as little as the leading directions do on where their
    /// search starts.
    pub fn rows(&self, graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
        let mut rows = (self.rows)(graph, columns, seed)?;
        AttributeNorm::L2.scale(&mut rows);
        let length = (rows.cols() as f32).sqrt();
        rows.values_mut().iter_mut().for_each(|v| *v *= length);
        Ok(rows)
    }
}

/// What baselines come to, in the order of [`BASELINES`]. As JSON, an object with a [`Report`] under each name.
#[derive(Debug, Clone)]
pub struct Baselines(pub Vec<(Baseline, Report)>);

/// Classifiers, and runs of k-means, at most: means of fewer runs are near enough to tell what is better.
const RUNS: (usize, usize) = (10, 5);

impl Baselines {
    /// Scores them on a graph with labels and splits, beside embeddings of so many columns. The protocol is the embeddings', but
    /// for its runs: at most 10 classifiers and 5 runs of k-means.
    ///
    /// ```
    /// use xgoal::eval::{Protocol, baselines::Baselines};
    /// use xgoal::graph::planted::Planted;
    ///
    /// let graph = Planted { nodes: 300, ..Planted::default() }.generate()?;
    /// let baselines = Baselines::of(&graph, 16, &Protocol { runs: 5, ..Protocol::default() })?;
    /// assert_eq!(baselines.0[0].0.name, "attributes");
    /// # Ok::<(), xgoal::Error>(())
    /// ```
    pub fn of(graph: &MultiplexGraph, columns: usize, protocol: &Protocol) -> Result<Self> {
        let task = Task::of(graph)?;
        let (runs, kmeans_runs) = (protocol.runs.min(RUNS.0), protocol.kmeans_runs.min(RUNS.1));
        let protocol = &Protocol { runs, kmeans_runs, ..*protocol };
        let score = |baseline: &Baseline| {
            let rows = baseline.rows(graph, columns, protocol.seed)?;
            Ok((*baseline, evaluate(&rows, &task, protocol)?))
        };
        Ok(Self(BASELINES.iter().map(score).collect::<Result<_>>()?))
    }
}

impl Serialize for Baselines {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(baseline, report)| (baseline.name, report)))
    }
}

/// Rows of unit length, and nothing else done to them.
const PREPROCESSING: Preprocessing = Preprocessing {
    attributes: AttributeNorm::L2,
    columns: ColumnNorm::None,
    smooth: 0,
    edges: EdgeNorm::None,
    self_loops: SelfLoops::None,
    structure: 0.0,
};

fn attributes(graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
    let attributes = PREPROCESSING.apply(graph)?.attributes;
    Ok(Seen::plain(&attributes).rows(columns, Stream::new(seed, Purpose::Seen)))
}

fn averaged(graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
    let attributes = PREPROCESSING.apply(graph)?.attributes;
    Ok(Seen::multiplied(&attributes, averaging(&layers(graph)), 2)
        .rows(columns, Stream::new(seed, Purpose::Seen)))
}

fn alone(graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
    structure(&layers(graph), columns, Stream::new(seed, Purpose::Structure))
}

fn layers(graph: &MultiplexGraph) -> Vec<&Csr> {
    graph.layers().iter().map(|layer| &layer.adjacency).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted::Planted;

    const PROTOCOL: Protocol = Protocol { runs: 3, steps: 50, lr: 0.1, kmeans_runs: 2, seed: 0 };

    #[test]
    fn neighbours_say_more_of_planted_communities_than_attributes() {
        let graph = Planted { nodes: 600, ..Planted::default() }.generate().unwrap();
        let found = Baselines::of(&graph, 16, &PROTOCOL).unwrap();
        let of = |name| found.0.iter().find(|(b, _)| b.name == name).unwrap().1.nmi.mean;
        assert!(of("averaged") > of("attributes") + 0.1, "{found:?}");
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["averaged"]["nmi"]["mean"], of("averaged"));
        assert_eq!(json.as_object().unwrap().len(), BASELINES.len());
    }

    #[test]
    fn rows_have_one_length_and_at_most_so_many_columns() {
        let planted = Planted { nodes: 60, attributes: 7, ..Planted::default() };
        let graph = planted.generate().unwrap();
        for baseline in BASELINES {
            for asked in [5, 9] {
                let columns = if baseline.name == "structure" { asked } else { asked.min(7) };
                let rows = baseline.rows(&graph, asked, 0).unwrap();
                assert_eq!((rows.rows(), rows.cols()), (60, columns), "{}", baseline.name);
                for row in rows.values().chunks(columns) {
                    let square = row.iter().map(|v| v * v).sum::<f32>() / columns as f32;
                    assert!(square == 0.0 || (square - 1.0).abs() < 1e-5, "{square}");
                }
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = Planted { nodes: 300, ..Planted::default() }.generate().unwrap();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| BASELINES.map(|b| b.rows(&graph, 12, 1).unwrap()))
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn a_graph_without_labels_is_refused() {
        let graph = Planted { nodes: 60, ..Planted::default() }.generate().unwrap();
        let parts = graph.into_parts();
        let graph = MultiplexGraph::new(parts.layers, parts.attributes).unwrap();
        let message = Baselines::of(&graph, 8, &PROTOCOL).unwrap_err().to_string();
        assert!(message.contains("no labels"), "{message}");
    }
}

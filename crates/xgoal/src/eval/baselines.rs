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
//!
//! Of more than 20,000 nodes, leading directions are those of a sample of rows, whose averages go over a few neighbours each; and of
//! many nodes of a split, a sample is scored ([`Comparison`]). So what all this takes hardly grows but for a few products of the
//! layers with a table of N x columns.

use rayon::prelude::*;
use serde::ser::{Serialize, Serializer};

use super::{Protocol, Report, Sample, Task, evaluate};
use crate::engine::cpu::Kernels;
use crate::error::Result;
use crate::graph::preprocess::Preprocessing;
use crate::graph::structure::structure;
use crate::graph::{MultiplexGraph, averaging, spread};
use crate::machine;
use crate::matrix::{Csr, Dense, Matrix, tall};
use crate::model::Seen;
use crate::random::{Purpose, Stream};
use crate::real::{Real, View, ViewMut};
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

fn fewer(protocol: &Protocol) -> Protocol {
    let (runs, kmeans_runs) = (protocol.runs.min(RUNS.0), protocol.kmeans_runs.min(RUNS.1));
    Protocol { runs, kmeans_runs, ..*protocol }
}

impl Baselines {
    /// Scores them on nodes of a graph, beside embeddings of so many columns. The protocol is the embeddings', but for its runs:
    /// at most 10 classifiers and 5 runs of k-means.
    ///
    /// ```
    /// use xgoal::eval::{Protocol, Task, baselines::Baselines};
    /// use xgoal::graph::planted::Planted;
    ///
    /// let graph = Planted { nodes: 300, ..Planted::default() }.generate()?;
    /// let protocol = Protocol { runs: 5, ..Protocol::default() };
    /// let baselines = Baselines::of(&graph, &Task::of(&graph)?, 16, &protocol)?;
    /// assert_eq!(baselines.0[0].0.name, "attributes");
    /// # Ok::<(), xgoal::Error>(())
    /// ```
    pub fn of(
        graph: &MultiplexGraph,
        task: &Task<'_>,
        columns: usize,
        protocol: &Protocol,
    ) -> Result<Self> {
        let protocol = &fewer(protocol);
        let score = |baseline: &Baseline| {
            let rows = baseline.rows(graph, columns.min(COLUMNS), protocol.seed)?;
            Ok((*baseline, evaluate(&rows, task, protocol)?))
        };
        Ok(Self(BASELINES.iter().map(score).collect::<Result<_>>()?))
    }

    /// Bytes that finding them, and scoring them on at most so many nodes, takes beside the graph, about.
    pub fn bytes(graph: &MultiplexGraph, columns: usize, scored: usize) -> u64 {
        let nodes = graph.nodes() as u64;
        let entries: u64 = graph.layers().iter().map(|layer| layer.adjacency.nnz() as u64).sum();
        let table = nodes * columns.min(COLUMNS) as u64;
        // Directions of all rows are sought with numbers of twice the size.
        let tables = if graph.nodes() > WHOLE { 12 } else { 32 };
        // Rows that are scored, and copies of them for classifiers, k-means and the search; what training gave back is not
        // all there again.
        let scored = nodes.min(scored as u64) * columns as u64;
        16 * graph.attributes().stored() as u64
            + 24 * (entries + nodes)
            + tables * table
            + 48 * scored
    }

    /// In which scores some are as good as embeddings or better, in words; nothing where the embeddings are ahead of all.
    pub fn ahead_of(&self, embeddings: &Report) -> Option<String> {
        let ahead = |(baseline, report): &(Baseline, Report)| {
            let scores = report.main().into_iter().zip(embeddings.main());
            let better = scores.filter(|((_, found), (_, own))| found >= own);
            let names: Vec<&str> = better.map(|((name, _), _)| name).collect();
            (!names.is_empty()).then(|| format!("{} ({})", baseline.about, names.join(", ")))
        };
        let ahead: Vec<String> = self.0.iter().filter_map(ahead).collect();
        (!ahead.is_empty())
            .then(|| format!("As good or better without training: {}", ahead.join("; ")))
    }
}

/// Embeddings beside baselines, scored alike: on at most so many nodes of each split.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Test nodes that were scored.
    pub scored: usize,
    /// Test nodes there are.
    pub of: usize,
    /// What the embeddings come to on these.
    pub embeddings: Report,
    /// What the baselines come to.
    pub baselines: Baselines,
}

impl Comparison {
    /// A quick look, as at the end of training: one classifier and one run of k-means, on at most 4096 nodes of each split and
    /// fewer where there are many classes. What does not fit into memory is refused; `limit` is as in
    /// [`Limits`](crate::session::Limits).
    pub fn quick(
        embeddings: &Dense,
        graph: &MultiplexGraph,
        seed: u64,
        limit: Option<u64>,
    ) -> Result<Self> {
        let task = Task::of(graph)?;
        let protocol = Protocol { runs: 1, kmeans_runs: 1, seed, ..Protocol::default() };
        let most = (CELLS / task.classes.max(1)).clamp(QUICK / 16, QUICK);
        Self::of(embeddings, graph, &protocol, most, limit)
    }

    /// By a protocol with as few runs for the embeddings as for baselines, on at most so many nodes of each split.
    pub fn of(
        embeddings: &Dense,
        graph: &MultiplexGraph,
        protocol: &Protocol,
        most: usize,
        limit: Option<u64>,
    ) -> Result<Self> {
        let task = Task::of(graph)?;
        let needed = Baselines::bytes(graph, embeddings.cols(), most.saturating_mul(3));
        machine::check_memory_within("comparing with baselines", needed, limit)?;
        let sample = Sample::of(&task, most);
        let (all, task) = (task.test.len(), sample.task(&task));
        Ok(Self {
            scored: task.test.len(),
            of: all,
            embeddings: evaluate(embeddings, &task, &fewer(protocol))?,
            baselines: Baselines::of(graph, &task, embeddings.cols(), protocol)?,
        })
    }

    /// On how many nodes, in words; nothing where it was on all of them.
    pub fn sampled(&self) -> Option<String> {
        let (scored, of) = (self.scored, self.of);
        (scored < of).then(|| format!("on {scored} of {of} test nodes"))
    }
}

/// Columns of a baseline at most: directions beyond these say little, and take long to find.
const COLUMNS: usize = 256;
/// Nodes of a split at most, in a quick look.
const QUICK: usize = 4096;
/// The same times classes: what a step of a classifier has in logits.
const CELLS: usize = 1 << 18;

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

/// Nodes up to which leading directions are those of all rows.
const WHOLE: usize = 20_000;
/// Rows of which they are otherwise.
const SAMPLE: usize = 8192;
/// Neighbours of a node that such a row's averages go over.
const FOLLOWED: usize = 12;

fn attributes(graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
    let attributes = PREPROCESSING.apply(graph)?.attributes;
    let stream = Stream::new(seed, Purpose::Seen);
    if graph.nodes() <= WHOLE {
        return Ok(Seen::plain(&attributes).rows(columns, stream));
    }
    Ok(along(&attributes, &sample(&attributes, None), columns, stream))
}

fn averaged(graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
    let attributes = PREPROCESSING.apply(graph)?.attributes;
    let stream = Stream::new(seed, Purpose::Seen);
    let by = averaging(&layers(graph));
    if graph.nodes() <= WHOLE {
        return Ok(Seen::multiplied(&attributes, by, 2).rows(columns, stream));
    }
    let rows = along(&attributes, &sample(&attributes, Some(&by)), columns, stream);
    Ok(times(&by, &times(&by, &rows)))
}

fn alone(graph: &MultiplexGraph, columns: usize, seed: u64) -> Result<Dense> {
    let mut rows = match graph.structure() {
        // Found for training already.
        Some(found) if found.cols() == columns => found.clone(),
        _ => structure(&layers(graph), columns, Stream::new(seed, Purpose::Structure))?,
    };
    // What all nodes have in common tells none from another.
    tall::centre(&mut rows);
    Ok(rows)
}

/// Some rows of X, spread over all, or of A A X, over a few neighbours each.
fn sample(attributes: &Matrix, averaging: Option<&Csr>) -> Matrix {
    let nodes: Vec<usize> = spread(attributes.rows(), SAMPLE).collect();
    let step = |by: &Csr, from: Vec<(usize, f32)>| -> Vec<(usize, f32)> {
        let hand_on = |(node, weight): (usize, f32)| {
            let (neighbours, shares) = by.row(node);
            let followed: Vec<usize> = spread(neighbours.len(), FOLLOWED).collect();
            let sum: f32 = followed.iter().map(|at| shares[*at].abs()).sum();
            let scale = weight / sum.max(f32::MIN_POSITIVE);
            let on = |at: usize| (neighbours[at] as usize, scale * shares[at]);
            followed.into_iter().map(on).collect::<Vec<_>>()
        };
        from.into_iter().flat_map(hand_on).collect()
    };
    let row = |node: &usize| {
        let own = vec![(*node, 1.0)];
        let sum = averaging.map_or(own.clone(), |by| step(by, step(by, own)));
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for (node, weight) in sum {
            match attributes {
                Matrix::Sparse(m) => {
                    let (columns, values) = m.row(node);
                    entries.extend(columns.iter().zip(values).map(|(c, v)| (*c, weight * v)));
                }
                Matrix::Dense(m) if entries.is_empty() => {
                    entries.extend((0..).zip(m.row(node)).map(|(c, v)| (c, weight * v)));
                }
                Matrix::Dense(m) => {
                    entries.iter_mut().zip(m.row(node)).for_each(|(e, v)| e.1 += weight * v);
                }
            }
        }
        // The sort keeps equal columns in their order, so that sums have one.
        entries.sort_by_key(|(column, _)| *column);
        entries.dedup_by(|next, kept| {
            next.0 == kept.0 && {
                kept.1 += next.1;
                true
            }
        });
        entries
    };
    let rows: Vec<Vec<(u32, f32)>> = nodes.par_iter().map(row).collect();
    let triplets = (0..).zip(&rows).flat_map(|(r, row)| row.iter().map(move |(c, v)| (r, *c, *v)));
    let sampled = Csr::from_triplets(rows.len(), attributes.cols(), triplets.collect());
    Matrix::Sparse(sampled.expect("columns of the attributes"))
}

/// X B, with the leading directions B of other rows.
fn along(attributes: &Matrix, of: &Matrix, columns: usize, stream: Stream) -> Dense {
    /// Rows of dense attributes that are multiplied at a time.
    const BLOCK: usize = 256;
    let width = columns.min(attributes.cols());
    let basis = Seen::plain(of).leading(width, stream).into_iter().map(|v| v as f32).collect();
    let basis = Dense::from_vec(attributes.cols(), width, basis).expect("a row per attribute");
    match attributes {
        Matrix::Sparse(m) => times(m, &basis),
        Matrix::Dense(m) => {
            let mut out = Dense::zeros(m.rows(), width);
            let blocks = out.values_mut().par_chunks_mut((BLOCK * width).max(1));
            blocks.zip(m.values().par_chunks(BLOCK * m.cols())).for_each(|(out, x)| {
                let rows = x.len() / m.cols();
                let out = &mut ViewMut::new(out, rows, width);
                f32::gemm(1.0, View::new(x, rows, m.cols()), View::from(&basis), 0.0, out);
            });
            out
        }
    }
}

/// A matrix times a table.
fn times(matrix: &Csr, table: &Dense) -> Dense {
    let mut out = Dense::zeros(matrix.rows(), table.cols());
    let rows = out.values_mut().par_chunks_mut(table.cols().max(1)).enumerate();
    rows.for_each(|(r, out)| {
        let (columns, values) = matrix.row(r);
        f32::gather(table.values(), columns, values, 1.0, out);
    });
    out
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
        let found = Baselines::of(&graph, &Task::of(&graph).unwrap(), 16, &PROTOCOL).unwrap();
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
    fn a_sample_s_directions_serve_all_rows() {
        let graph = Planted { nodes: WHOLE + 500, attributes: 60, ..Planted::default() };
        let graph = graph.generate().unwrap();
        let attributes = PREPROCESSING.apply(&graph).unwrap().attributes;
        let stream = Stream::new(0, Purpose::Seen);
        let size = |rows: &Dense| rows.values().iter().map(|v| f64::from(v * v)).sum::<f64>();
        for hops in [0, 2] {
            let by = averaging(&self::layers(&graph));
            let whole = match hops {
                0 => Seen::plain(&attributes).rows(8, stream),
                _ => Seen::multiplied(&attributes, by, 2).rows(8, stream),
            };
            let found = match hops {
                0 => super::attributes(&graph, 8, 0).unwrap(),
                _ => averaged(&graph, 8, 0).unwrap(),
            };
            let share = size(&found) / size(&whole);
            assert!((0.97..1.0 + 1e-6).contains(&share), "{hops}: {share}");
        }
        // The same for dense attributes.
        let dense: Vec<f32> = (0..graph.nodes())
            .flat_map(|node| {
                let mut row = vec![0.0; 60];
                if let Matrix::Sparse(m) = graph.attributes() {
                    let (columns, values) = m.row(node);
                    columns.iter().zip(values).for_each(|(c, v)| row[*c as usize] = *v);
                }
                row
            })
            .collect();
        let dense = Matrix::Dense(Dense::from_vec(graph.nodes(), 60, dense).unwrap());
        let same = MultiplexGraph::new(graph.layers().to_vec(), dense).unwrap();
        for baseline in &BASELINES[..2] {
            let [a, b] = [&graph, &same].map(|g| baseline.rows(g, 8, 0).unwrap());
            let far = a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs());
            assert!(far.fold(0.0, f32::max) < 1e-2, "{}", baseline.name);
        }
    }

    #[test]
    fn a_comparison_scores_both_on_the_same_nodes() {
        let graph = Planted { nodes: 600, ..Planted::default() }.generate().unwrap();
        let rows = BASELINES[1].rows(&graph, 16, 0).unwrap();
        let compared = Comparison::of(&rows, &graph, &PROTOCOL, 100, None).unwrap();
        let test = graph.splits().unwrap().test.len();
        assert_eq!((compared.scored, compared.of), (100, test));
        assert_eq!(compared.sampled(), Some(format!("on 100 of {test} test nodes")));
        // What is not trained is as good as itself.
        assert_eq!(compared.embeddings, compared.baselines.0[1].1);
        let words = compared.baselines.ahead_of(&compared.embeddings).unwrap();
        assert!(
            words.contains("averaged over neighbours, SVD (Macro-F1, Micro-F1, NMI, Sim@5)"),
            "{words}"
        );
        let mut best = compared.embeddings.clone();
        for score in [&mut best.macro_f1, &mut best.micro_f1, &mut best.nmi] {
            score.mean = 1.1;
        }
        best.sim.insert(5, 1.1);
        assert_eq!(compared.baselines.ahead_of(&best), None);

        let quick = Comparison::quick(&rows, &graph, 0, None).unwrap();
        assert_eq!((quick.scored, quick.sampled()), (test, None));
        let message = Comparison::quick(&rows, &graph, 0, Some(1000)).unwrap_err().to_string();
        assert!(message.starts_with("comparing with baselines needs about"), "{message}");
    }

    #[test]
    fn a_graph_without_labels_is_refused() {
        let graph = Planted { nodes: 60, ..Planted::default() }.generate().unwrap();
        let parts = graph.into_parts();
        let graph = MultiplexGraph::new(parts.layers, parts.attributes).unwrap();
        let rows = Dense::zeros(60, 8);
        let message = Comparison::quick(&rows, &graph, 0, None).unwrap_err().to_string();
        assert!(message.contains("no labels"), "{message}");
    }
}

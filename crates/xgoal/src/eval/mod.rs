//! How good embeddings are, by the paper's protocol: node classification, clustering, similarity.
//!
//! | task | embeddings used | score |
//! |---|---|---|
//! | classification | train, validation, test | Macro-F1 and Micro-F1, see [`classify`] |
//! | clustering | test | NMI, ARI, accuracy of k-means with as many clusters as classes |
//! | similarity | test | Sim@k, see [`similarity`] |
//!
//! What scores are worth is seen beside those of [`baselines`], which take no training.

pub mod baselines;
pub mod classify;
pub mod scores;
pub mod similarity;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::graph::{MultiplexGraph, Overlap, spread};
use crate::kmeans::KMeans;
use crate::matrix::Dense;
use crate::random::{Purpose, Stream};
use crate::real::View;
use crate::words::quoted;
use classify::{Classifier, Rows};

/// How often and how long the protocol runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protocol {
    /// Classifiers trained; their scores are averaged.
    pub runs: usize,
    /// Adam steps of each classifier.
    pub steps: usize,
    /// Adam's learning rate.
    pub lr: f64,
    /// k-means runs, of 10 restarts each; their scores are averaged.
    pub kmeans_runs: usize,
    /// Seed of the classifiers' weights and of k-means.
    pub seed: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Self { runs: 50, steps: 100, lr: 0.1, kmeans_runs: 10, seed: 0 }
    }
}

/// What is known about the nodes.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The class of each node, in 0..classes; only nodes in a split need one.
    pub labels: &'a [Option<u32>],
    /// Number of classes.
    pub classes: usize,
    /// Nodes the classifier learns from.
    pub train: &'a [u32],
    /// Nodes that choose the classifier's step.
    pub val: &'a [u32],
    /// Nodes that are scored.
    pub test: &'a [u32],
    /// The nodes' own ids, where they have some.
    pub ids: Option<&'a [String]>,
}

impl<'a> Task<'a> {
    /// The labels and splits of a graph that has both, and can be scored by them.
    pub fn of(graph: &'a MultiplexGraph) -> Result<Self> {
        let missing = |what: &str| {
            Error::Data(format!(
                "the source has no {what}; the protocol needs `label`, `train_idx`, `val_idx` and \
                 `test_idx`"
            ))
        };
        let labels = graph.labels().ok_or_else(|| missing("labels"))?;
        let splits = graph.splits().ok_or_else(|| missing("train/val/test split"))?;
        let parts =
            [("training", &splits.train), ("validation", &splits.val), ("test", &splits.test)];
        if let Some((name, _)) = parts.iter().find(|(_, nodes)| nodes.is_empty()) {
            return Err(missing(&format!("{name} nodes")));
        }
        let task = Self {
            labels: &labels.classes,
            classes: labels.names.len(),
            train: &splits.train,
            val: &splits.val,
            test: &splits.test,
            ids: graph.ids(),
        };
        task.check()?;
        Ok(task)
    }

    /// Refuses what cannot be scored, whatever the embeddings are: nodes without a class, fewer test nodes than classes,
    /// which k-means could not find, and splits that share nodes, as what the classifier has learnt or was chosen by is
    /// not to be scored.
    pub fn check(&self) -> Result<()> {
        for (split, nodes) in [("train", self.train), ("val", self.val), ("test", self.test)] {
            self.classes_of(split, nodes)?;
        }
        if self.test.len() < self.classes {
            return Err(Error::Data(format!(
                "evaluation: the test split has {} nodes, expected one or more for each of {} classes",
                self.test.len(),
                self.classes
            )));
        }
        let Some(overlap) = Overlap::find(self.train, self.val, self.test) else { return Ok(()) };
        let id = self.ids.and_then(|ids| ids.get(overlap.node as usize));
        let id = id.map_or_else(|| overlap.node.to_string(), |id| quoted(id));
        Err(Error::Data(format!(
            "evaluation: {}; expected splits without common nodes",
            overlap.describe(&id)
        )))
    }

    /// The classes of one split's nodes.
    fn classes_of(&self, split: &str, nodes: &[u32]) -> Result<Vec<u32>> {
        if nodes.is_empty() {
            return Err(Error::Data(format!("evaluation: the {split} split has no nodes")));
        }
        let mut labels = Vec::with_capacity(nodes.len());
        for &node in nodes {
            match self.labels.get(node as usize) {
                None => {
                    return Err(Error::Data(format!(
                        "evaluation: the {split} split has node {node}, expected less than {}",
                        self.labels.len()
                    )));
                }
                Some(None) => {
                    return Err(Error::Data(format!(
                        "evaluation: node {node} of the {split} split has no label"
                    )));
                }
                Some(Some(label)) if *label as usize >= self.classes => {
                    return Err(Error::Data(format!(
                        "evaluation: node {node} of the {split} split has class {label}, \
                         expected less than {}",
                        self.classes
                    )));
                }
                Some(Some(label)) => labels.push(*label),
            }
        }
        Ok(labels)
    }
}

/// Some nodes of each split, at even distances.
#[derive(Debug, Clone)]
pub struct Sample {
    splits: [Vec<u32>; 3],
}

impl Sample {
    /// At most so many of each, but no fewer test nodes than there are classes.
    pub fn of(task: &Task<'_>, most: usize) -> Self {
        let of = |nodes: &[u32], most: usize| spread(nodes.len(), most).map(|i| nodes[i]).collect();
        let test = most.max(task.classes);
        Self { splits: [of(task.train, most), of(task.val, most), of(task.test, test)] }
    }

    /// A task on these alone.
    pub fn task<'a>(&'a self, of: &Task<'a>) -> Task<'a> {
        let [train, val, test] = &self.splits;
        Task { train, val, test, ..*of }
    }
}

/// Mean and population standard deviation over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
}

impl Summary {
    /// Summarises one value per run.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        Self { mean, std: variance.sqrt() }
    }
}

/// The protocol's scores, all in 0..1 except ARI, which can be negative.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// F1 of the test nodes, averaged over classes.
    pub macro_f1: Summary,
    /// F1 of the test nodes, over all nodes alike.
    pub micro_f1: Summary,
    /// Normalised mutual information of clusters and classes.
    pub nmi: Summary,
    /// Share of the k most similar test nodes that have the same class, by k.
    pub sim: BTreeMap<usize, f64>,
    /// Adjusted Rand index of clusters and classes.
    pub ari: Summary,
    /// Share of test nodes in the right class under the best matching of clusters to classes.
    pub clustering_accuracy: Summary,
}

impl Report {
    /// The scores that are looked at first, by name.
    pub fn main(&self) -> [(&'static str, f64); 4] {
        let sim = self.sim.get(&5).copied().unwrap_or(f64::NAN);
        let [macro_f1, micro_f1, nmi] = [self.macro_f1, self.micro_f1, self.nmi].map(|s| s.mean);
        [("Macro-F1", macro_f1), ("Micro-F1", micro_f1), ("NMI", nmi), ("Sim@5", sim)]
    }
}

/// Runs the whole protocol.
pub fn evaluate(embeddings: &Dense<f32>, task: &Task<'_>, protocol: &Protocol) -> Result<Report> {
    check(embeddings, task, protocol)?;
    task.check()?;
    let labelled = |split, nodes| -> Result<Rows<f32>> {
        let labels = task.classes_of(split, nodes)?;
        Ok(Rows { values: embeddings.select_rows(nodes), labels })
    };
    let train = labelled("train", task.train)?;
    let val = labelled("val", task.val)?;
    let test = labelled("test", task.test)?;

    let classifier = Classifier { classes: task.classes, steps: protocol.steps, lr: protocol.lr };
    let stream = Stream::new(protocol.seed, Purpose::Classifier);
    let scores = classifier.runs(&train, &val, &test, protocol.runs, stream);

    let kmeans = KMeans::new(task.classes);
    let stream = Stream::new(protocol.seed, Purpose::KMeans);
    let (mut nmi, mut ari, mut accuracy) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..protocol.kmeans_runs {
        let found = kmeans.fit(View::from(&test.values), stream.substream(run as u64))?;
        nmi.push(scores::nmi(&test.labels, &found.assignments));
        ari.push(scores::ari(&test.labels, &found.assignments));
        accuracy.push(scores::clustering_accuracy(&test.labels, &found.assignments));
    }

    let summary =
        |f: fn(&classify::F1) -> f64| Summary::of(&scores.iter().map(f).collect::<Vec<_>>());
    Ok(Report {
        macro_f1: summary(|s| s.macro_f1),
        micro_f1: summary(|s| s.micro_f1),
        nmi: Summary::of(&nmi),
        sim: similarity::sim_at(&test.values, &test.labels, &[5, 10, 20, 50, 100])?,
        ari: Summary::of(&ari),
        clustering_accuracy: Summary::of(&accuracy),
    })
}

fn check(embeddings: &Dense<f32>, task: &Task<'_>, protocol: &Protocol) -> Result<()> {
    if embeddings.rows() != task.labels.len() {
        return Err(Error::Data(format!(
            "evaluation: {} rows of embeddings for {} nodes, expected as many",
            embeddings.rows(),
            task.labels.len()
        )));
    }
    if let Some(at) = embeddings.values().iter().position(|v| !v.is_finite()) {
        return Err(Error::Data(format!(
            "evaluation: the embedding in row {} has {} in column {}, expected a finite number",
            at / embeddings.cols(),
            embeddings.values()[at],
            at % embeddings.cols()
        )));
    }
    if protocol.runs == 0 || protocol.steps == 0 || protocol.kmeans_runs == 0 {
        return Err(Error::Data(format!(
            "evaluation: {} runs of {} steps and {} k-means runs, expected at least 1 of each",
            protocol.runs, protocol.steps, protocol.kmeans_runs
        )));
    }
    if !(protocol.lr.is_finite() && protocol.lr > 0.0) {
        return Err(Error::Data(format!(
            "evaluation: a learning rate of {}, expected a positive number",
            protocol.lr
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const CLASSES: usize = 3;

    struct Planted {
        embeddings: Dense<f32>,
        labels: Vec<Option<u32>>,
        splits: [Vec<u32>; 3],
        ids: Option<Vec<String>>,
    }

    impl Planted {
        /// Three noisy classes in five dimensions; the last node has no label and no split.
        fn new() -> Self {
            let (n, d) = (301, 5);
            let stream = Stream::new(4, Purpose::Planted);
            let corner = |i: usize| if i % d == i / d % CLASSES { 1.0 } else { 0.0 };
            let value = |i: usize| (corner(i) + 0.4 * stream.normal(i as u64)) as f32;
            let embeddings = Dense::from_vec(n, d, (0..n * d).map(value).collect()).unwrap();
            let mut labels: Vec<_> = (0..n).map(|i| Some((i % CLASSES) as u32)).collect();
            labels[n - 1] = None;
            let splits = [(0..60).collect(), (60..100).collect(), (100..300).collect()];
            Self { embeddings, labels, splits, ids: None }
        }

        fn evaluate(&self) -> Result<Report> {
            let [train, val, test] = &self.splits;
            let (labels, ids) = (&self.labels, self.ids.as_deref());
            let task = Task { labels, classes: CLASSES, train, val, test, ids };
            let protocol = Protocol { runs: 3, steps: 30, kmeans_runs: 2, ..Protocol::default() };
            evaluate(&self.embeddings, &task, &protocol)
        }

        fn refused(change: fn(&mut Self)) -> String {
            let mut planted = Self::new();
            change(&mut planted);
            planted.evaluate().unwrap_err().to_string()
        }
    }

    #[test]
    fn planted_classes_score_well_and_the_json_has_its_shape() {
        let report = Planted::new().evaluate().unwrap();
        assert!(report.macro_f1.mean > 0.8 && report.nmi.mean > 0.4, "{report:?}");
        let json = serde_json::to_value(&report).unwrap();
        // The order of keys is a feature of serde_json that any crate of the build can turn on.
        let keys = |v: &serde_json::Value| -> BTreeSet<String> {
            v.as_object().unwrap().keys().cloned().collect()
        };
        let set = |keys: &[&str]| keys.iter().map(|k| k.to_string()).collect::<BTreeSet<_>>();
        let expected = ["macro_f1", "micro_f1", "nmi", "sim", "ari", "clustering_accuracy"];
        assert_eq!(keys(&json), set(&expected));
        assert_eq!(keys(&json["sim"]), set(&["5", "10", "20", "50", "100"]));
        assert_eq!(keys(&json["nmi"]), set(&["mean", "std"]));
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let planted = Planted::new();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| planted.evaluate()).unwrap()
        };
        let one = with(1);
        assert_eq!(one, with(2));
        assert_eq!(one, with(4));
    }

    #[test]
    fn unusable_input_is_refused() {
        let refused = Planted::refused;
        assert!(refused(|p| p.splits[1].clear()).contains("val split has no nodes"));
        assert!(refused(|p| p.splits[2].push(300)).contains("node 300 of the test split has no"));
        assert!(refused(|p| p.splits[0].push(301)).contains("expected less than 301"));
        assert!(refused(|p| p.labels[7] = Some(3)).contains("class 3"));
        assert!(refused(|p| p.labels.truncate(300)).contains("301 rows"));
        assert!(refused(|p| p.embeddings.values_mut()[11] = f32::NAN).contains("row 2 has NaN"));
        assert!(refused(|p| p.splits[2].truncate(2)).contains("test split has 2 nodes"));
    }

    #[test]
    fn splits_that_share_nodes_are_refused() {
        let refused = Planted::refused;
        let shared = refused(|p| p.splits[2] = p.splits[0].clone());
        assert!(shared.contains("train and the test split share 60 nodes, 0 among"), "{shared}");
        let one = refused(|p| {
            p.splits[1].push(250);
            p.ids = Some((0..301).map(|n| format!("n{n}")).collect());
        });
        assert!(one.contains("the val and the test split share node `n250`; expected"), "{one}");
        assert!(refused(|p| p.splits[1].push(3)).contains("the train and the val split"));
    }

    #[test]
    fn deviation_is_that_of_the_population() {
        assert_eq!(Summary::of(&[1.0, 3.0]), Summary { mean: 2.0, std: 1.0 });
    }
}

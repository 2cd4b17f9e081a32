//! The attributed multiplex graph: named layers over the same nodes, attributes, and what is known
//! about the nodes.

mod columns;
mod copies;
pub mod features;
mod fingerprint;
pub mod metapath;
pub mod planted;
pub mod preprocess;
mod rise;
mod share;
mod signal;
mod smooth;
pub mod structure;
mod summary;
pub mod sums;

pub use fingerprint::Fingerprint;
pub(crate) use rise::spread;
pub(crate) use share::{Witness, mean_cosine};
pub use signal::Signal;
pub(crate) use signal::{CLEAR, RANDOM_CLOSURE};
pub(crate) use smooth::averaging;
pub use summary::{LayerSummary, Summary};

use crate::error::{Error, Result};
use crate::matrix::{Csr, Dense, Matrix};
use crate::random::{Purpose, Stream};
use features::FeatureSpace;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One relation: a square sparse matrix, weighted and possibly asymmetric.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The relation's name.
    pub name: String,
    /// Weight of the edge from row to column.
    pub adjacency: Csr,
}

/// One class per node, where it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Class of each node, as an index into `names`.
    pub classes: Vec<Option<u32>>,
    /// Class names.
    pub names: Vec<String>,
}

impl Labels {
    /// The classes are the numbers that occur, in order, and are called by them.
    pub fn of_numbers(numbers: &[Option<i64>]) -> Self {
        Self::of(numbers, |number| number.to_string())
    }

    /// The classes are the words that occur, in order: that of numbers, where all are whole ones.
    pub fn of_words(words: &[Option<&str>]) -> Self {
        let number = |word: &str| word.parse::<i64>().ok();
        let numbers = words.iter().flatten().all(|word| number(word).is_some());
        let key = |word| (number(word).filter(|_| numbers), word);
        let keys: Vec<_> = words.iter().map(|word| word.map(key)).collect();
        Self::of(&keys, |(_, word)| word.to_owned())
    }

    fn of<T: Ord + Copy>(of_node: &[Option<T>], name: impl Fn(T) -> String) -> Self {
        let distinct: BTreeSet<T> = of_node.iter().flatten().copied().collect();
        let distinct: Vec<T> = distinct.into_iter().collect();
        let class = |label| distinct.binary_search(&label).expect("among the distinct ones") as u32;
        Self {
            classes: of_node.iter().map(|label| label.map(class)).collect(),
            names: distinct.iter().map(|label| name(*label)).collect(),
        }
    }
}

/// Which nodes train, validate and test a classifier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splits {
    /// Training nodes.
    pub train: Vec<u32>,
    /// Validation nodes.
    pub val: Vec<u32>,
    /// Test nodes.
    pub test: Vec<u32>,
}

/// Two splits that have nodes in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// The splits' names.
    pub splits: [&'static str; 2],
    /// The first node that is in both.
    pub node: u32,
    /// How many nodes are.
    pub nodes: usize,
}

impl Overlap {
    /// The first two of the training, validation and test nodes that share some.
    pub fn find(train: &[u32], val: &[u32], test: &[u32]) -> Option<Self> {
        let pairs = [(["train", "val"], train, val), (["train", "test"], train, test)];
        pairs.into_iter().chain([(["val", "test"], val, test)]).find_map(|(splits, one, other)| {
            let one: BTreeSet<u32> = one.iter().copied().collect();
            let shared: BTreeSet<u32> = other.iter().copied().filter(|n| one.contains(n)).collect();
            Some(Self { splits, node: *shared.first()?, nodes: shared.len() })
        })
    }

    /// What is wrong with it, in words.
    pub fn describe(&self, id: &str) -> String {
        let [one, other] = self.splits;
        let nodes = match self.nodes {
            1 => format!("node {id}"),
            several => format!("{several} nodes, {id} among them"),
        };
        format!("the {one} and the {other} split share {nodes}")
    }
}

/// What a graph is made of, to be taken over by another program.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// The nodes' own ids, where they have some.
    pub ids: Option<Vec<String>>,
    /// The layers in order.
    pub layers: Vec<Layer>,
    /// Node attributes, a row per node.
    pub attributes: Matrix,
    /// What the columns of the attributes are, where the source says so.
    pub features: Option<FeatureSpace>,
    /// Classes, where known.
    pub labels: Option<Labels>,
    /// The split, where given.
    pub splits: Option<Splits>,
}

/// An attributed multiplex graph (Definition 1 of the paper), checked on construction. A copy shares what it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiplexGraph {
    held: Arc<Held>,
}

#[derive(Debug, Clone, PartialEq)]
struct Held {
    ids: Option<Vec<String>>,
    /// Whether the source has the ids as numbers.
    integer_ids: bool,
    layers: Vec<Layer>,
    attributes: Matrix,
    features: Option<FeatureSpace>,
    labels: Option<Labels>,
    splits: Option<Splits>,
    structure: Option<Arc<Dense>>,
    origin: Origin,
}

/// The source a graph was read from, for messages: no part of what a graph is, so that all are equal.
#[derive(Debug, Clone, Default)]
struct Origin(Option<PathBuf>);

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl MultiplexGraph {
    /// Checks that every layer is square over the attributes' nodes, names are unique and all
    /// values are finite.
    pub fn new(layers: Vec<Layer>, attributes: Matrix) -> Result<Self> {
        let nodes = attributes.rows();
        if layers.is_empty() {
            return Err(Error::Data("the graph has no layer; expected at least one".into()));
        }
        if nodes == 0 || attributes.cols() == 0 {
            return Err(Error::Data(format!(
                "the attributes are {nodes} x {}; expected at least one node and one attribute",
                attributes.cols()
            )));
        }
        // Node and entry numbers are held in 32 bits throughout.
        if nodes > u32::MAX as usize {
            return Err(Error::Data(format!("{nodes} nodes; expected at most {}", u32::MAX)));
        }
        let mut names = HashSet::new();
        for layer in &layers {
            let (rows, cols) = (layer.adjacency.rows(), layer.adjacency.cols());
            if rows != cols || rows != nodes {
                return Err(Error::Data(format!(
                    "layer `{}` is {rows} x {cols}; expected {nodes} x {nodes}, as the attributes \
                     have {nodes} rows",
                    layer.name
                )));
            }
            if !names.insert(&layer.name) {
                return Err(Error::Data(format!("two layers are called `{}`", layer.name)));
            }
            check_finite(&format!("layer `{}`", layer.name), &layer.adjacency)?;
        }
        if let Some((r, c, v)) = attributes.first_non_finite() {
            return Err(non_finite("attributes", r, c, v));
        }
        let held = Held {
            ids: None,
            integer_ids: false,
            layers,
            attributes,
            features: None,
            labels: None,
            splits: None,
            structure: None,
            origin: Origin::default(),
        };
        Ok(Self { held: Arc::new(held) })
    }

    /// Says which source it was read from, for messages.
    #[must_use]
    pub(crate) fn read_from(mut self, source: &Path) -> Self {
        self.held_mut().origin = Origin(Some(source.to_path_buf()));
        self
    }

    /// An error about the graph, with the source it was read from.
    pub(crate) fn name_source(&self, error: Error) -> Error {
        match (error, &self.held.origin.0) {
            (Error::Data(message), Some(source)) => {
                Error::Data(format!("{}: {message}", source.display()))
            }
            (other, _) => other,
        }
    }

    /// Gives the nodes their own ids; without, they are numbered from 0.
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        check_ids(&ids, self.nodes())?;
        self.held_mut().ids = Some(ids);
        Ok(self)
    }

    /// Gives the nodes whole numbers as ids, which formats with types write as numbers again.
    pub fn with_integer_ids(mut self, ids: &[i64]) -> Result<Self> {
        // Sorting numbers takes a fraction of what sorting their digits does.
        check_ids(ids, self.nodes())?;
        let held = self.held_mut();
        held.ids = Some(ids.iter().map(i64::to_string).collect());
        held.integer_ids = true;
        Ok(self)
    }

    /// Says what the columns of the attributes are.
    pub fn with_features(mut self, features: FeatureSpace) -> Result<Self> {
        if features.columns() != self.held.attributes.cols() {
            return Err(Error::Data(format!(
                "{} described attributes for {} columns",
                features.columns(),
                self.held.attributes.cols()
            )));
        }
        self.held_mut().features = Some(features);
        Ok(self)
    }

    /// Where nodes stand in the graph, as so many columns; the same whenever it is asked.
    pub fn find_structure(&self, columns: usize) -> Result<Dense> {
        let layers: Vec<&Csr> = self.layers().iter().map(|layer| &layer.adjacency).collect();
        structure::structure(&layers, columns, Stream::new(0, Purpose::Structure))
    }

    /// The graph without what stands beside its attributes.
    #[must_use]
    pub fn without_structure(mut self) -> Self {
        if self.structure().is_some() {
            self.held_mut().structure = None;
        }
        self
    }

    /// Puts where nodes stand in the graph beside their attributes, a row for each.
    pub fn with_structure(mut self, structure: Arc<Dense>) -> Result<Self> {
        self.same_length("rows of structure", structure.rows())?;
        self.held_mut().structure = Some(structure);
        Ok(self)
    }

    /// Adds classes.
    pub fn with_labels(mut self, labels: Labels) -> Result<Self> {
        self.same_length("labels", labels.classes.len())?;
        let known = labels.names.len() as u32;
        if let Some(bad) = labels.classes.iter().flatten().find(|c| **c >= known) {
            return Err(Error::Data(format!("class {bad} of {known}; expected less than {known}")));
        }
        self.held_mut().labels = Some(labels);
        Ok(self)
    }

    /// Adds a split into training, validation and test nodes.
    pub fn with_splits(mut self, splits: Splits) -> Result<Self> {
        for (name, part) in [("train", &splits.train), ("val", &splits.val), ("test", &splits.test)]
        {
            if let Some(bad) = part.iter().find(|n| **n as usize >= self.nodes()) {
                return Err(Error::Data(format!(
                    "{name} split: node {bad}, expected less than {}",
                    self.nodes()
                )));
            }
        }
        self.held_mut().splits = Some(splits);
        Ok(self)
    }

    fn held_mut(&mut self) -> &mut Held {
        Arc::make_mut(&mut self.held)
    }

    fn same_length(&self, what: &str, length: usize) -> Result<()> {
        same_length(what, length, self.nodes())
    }

    /// Keeps the named layers, in that order. A name of the form `a+b` is the sum of layers. A layer that is found by
    /// [another name](sums::resolve) keeps its own.
    pub fn select_layers(mut self, names: &[String]) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::Setting {
                key: "layers",
                found: "none".into(),
                expected: "at least one name".into(),
            });
        }
        let own = self.layer_names();
        let resolved = sums::resolve(names, &own)?;
        let added_up = |places: &Vec<usize>| {
            let layers: Vec<&Csr> =
                places.iter().map(|at| &self.held.layers[*at].adjacency).collect();
            (layers.len() > 1).then(|| sums::sum(&layers))
        };
        let sums: Vec<Option<Csr>> = resolved.iter().map(added_up).collect();
        let held = self.held_mut();
        let nodes = held.attributes.rows();
        let mut single =
            |at: usize| std::mem::replace(&mut held.layers[at].adjacency, Csr::empty(nodes, nodes));
        let layers = (names.iter().zip(&resolved).zip(sums))
            .map(|((name, places), sum)| {
                let name = if places.len() == 1 { &own[places[0]] } else { name };
                let adjacency = sum.unwrap_or_else(|| single(places[0]));
                Layer { name: name.clone(), adjacency }
            })
            .collect();
        held.layers = layers;
        Ok(self)
    }

    /// Takes the graph apart.
    pub fn into_parts(self) -> Parts {
        let held = Arc::unwrap_or_clone(self.held);
        let Held { ids, layers, attributes, features, labels, splits, .. } = held;
        Parts { ids, layers, attributes, features, labels, splits }
    }

    /// Where nodes stand in the graph, where that is beside their attributes.
    pub fn structure(&self) -> Option<&Dense> {
        self.held.structure.as_deref()
    }

    /// The same, to be kept.
    pub(crate) fn shared_structure(&self) -> Option<Arc<Dense>> {
        self.held.structure.clone()
    }

    /// Columns an encoder sees: attributes, and those of structure.
    pub fn columns(&self) -> usize {
        self.held.attributes.cols() + self.structure().map_or(0, Dense::cols)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.held.attributes.rows()
    }

    /// The layers in order.
    pub fn layers(&self) -> &[Layer] {
        &self.held.layers
    }

    /// The layers' names in order.
    pub fn layer_names(&self) -> Vec<String> {
        self.held.layers.iter().map(|l| l.name.clone()).collect()
    }

    /// Node attributes, a row per node.
    pub fn attributes(&self) -> &Matrix {
        &self.held.attributes
    }

    /// What the columns of the attributes are, where the source says so.
    pub fn features(&self) -> Option<&FeatureSpace> {
        self.held.features.as_ref()
    }

    /// Classes, where known.
    pub fn labels(&self) -> Option<&Labels> {
        self.held.labels.as_ref()
    }

    /// The split, where given.
    pub fn splits(&self) -> Option<&Splits> {
        self.held.splits.as_ref()
    }

    /// What tells this graph from others.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }

    /// Whether ids are whole numbers, given as such or numbered from 0.
    pub fn has_integer_ids(&self) -> bool {
        self.held.ids.is_none() || self.held.integer_ids
    }

    /// The nodes' own ids, where they have some.
    pub fn ids(&self) -> Option<&[String]> {
        self.held.ids.as_deref()
    }

    /// The id of a node.
    pub fn id(&self, node: usize) -> String {
        self.held.ids.as_ref().map_or_else(|| node.to_string(), |ids| ids[node].clone())
    }
}

/// Refuses ids that do not stand for so many nodes, one for each.
pub(crate) fn check_ids<T: Ord + Display>(ids: &[T], nodes: usize) -> Result<()> {
    same_length("ids", ids.len(), nodes)?;
    let mut sorted: Vec<&T> = ids.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(pair) => Err(Error::Data(format!("the id `{}` stands for two nodes", pair[0]))),
        None => Ok(()),
    }
}

fn same_length(what: &str, length: usize, nodes: usize) -> Result<()> {
    if length == nodes {
        return Ok(());
    }
    Err(Error::Data(format!("{length} {what} for {nodes} nodes")))
}

fn check_finite(what: &str, matrix: &Csr) -> Result<()> {
    (0..matrix.rows()).try_for_each(|r| {
        let (columns, values) = matrix.row(r);
        match values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(at) => Err(non_finite(what, r, columns[at] as usize, values[at])),
        }
    })
}

fn non_finite(what: &str, row: usize, column: usize, value: f32) -> Error {
    Error::Data(format!("{what}: {value} at row {row}, column {column}; expected a finite number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    fn layer(name: &str, entries: Vec<(u32, u32, f32)>, n: usize) -> Layer {
        Layer { name: name.into(), adjacency: Csr::from_triplets(n, n, entries).unwrap() }
    }

    fn attributes(n: usize) -> Matrix {
        Matrix::Dense(Dense::from_vec(n, 1, vec![1.0; n]).unwrap())
    }

    #[test]
    fn layers_are_selected_by_name_in_order() {
        let graph = MultiplexGraph::new(
            vec![
                layer("a", vec![(0, 1, 1.0)], 2),
                layer("b", vec![(1, 0, 1.0)], 2),
                layer("c", vec![], 2),
            ],
            attributes(2),
        )
        .unwrap();
        let names = |l: &[&str]| l.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let kept = graph.clone().select_layers(&names(&["c", "a"])).unwrap();
        assert_eq!(kept.layer_names(), ["c", "a"]);
        let added_up = graph.clone().select_layers(&names(&["a", "b+a"])).unwrap();
        assert_eq!(added_up.layer_names(), ["a", "b+a"]);
        assert_eq!(added_up.layers().iter().map(|l| l.adjacency.nnz()).collect::<Vec<_>>(), [1, 2]);
        let missing = graph.clone().select_layers(&names(&["x"])).unwrap_err().to_string();
        assert_eq!(missing, "no layer is called `x`; the graph has a, b, c");
        let twice = graph.select_layers(&names(&["a", "a"])).unwrap_err().to_string();
        assert!(twice.contains("twice"), "{twice}");
    }

    #[test]
    fn unusable_values_are_named() {
        let nan = MultiplexGraph::new(vec![layer("a", vec![(1, 0, f32::NAN)], 2)], attributes(2));
        assert!(nan.unwrap_err().to_string().contains("NaN at row 1, column 0"));
        let wrong = MultiplexGraph::new(vec![layer("a", vec![], 3)], attributes(2));
        assert!(wrong.unwrap_err().to_string().contains("3 x 3; expected 2 x 2"));
        let graph = MultiplexGraph::new(vec![layer("a", vec![], 2)], attributes(2)).unwrap();
        assert!(graph.clone().with_ids(vec!["x".into(), "x".into()]).is_err());
        let splits = Splits { train: vec![2], ..Splits::default() };
        assert!(graph.with_splits(splits).unwrap_err().to_string().contains("train split"));
    }

    #[test]
    fn classes_are_what_occurs_in_order() {
        let numbers = Labels::of_numbers(&[Some(5), None, Some(10), Some(5), Some(0)]);
        assert_eq!(numbers.classes, [Some(1), None, Some(2), Some(1), Some(0)]);
        assert_eq!(numbers.names, ["0", "5", "10"]);
        let words = [Some("5"), None, Some("10"), Some("5"), Some("0")];
        assert_eq!(Labels::of_words(&words), numbers);
        let words = Labels::of_words(&[Some("5"), Some("10"), Some("b"), Some("a")]);
        assert_eq!(words.names, ["10", "5", "a", "b"]);
        assert_eq!(Labels::of_words(&[None]), Labels { classes: vec![None], names: vec![] });
    }

    #[test]
    fn what_splits_share_is_found() {
        let (a, b, c) = ([4, 1, 2], [3, 0], [2, 9, 1]);
        let found = Overlap { splits: ["train", "test"], node: 1, nodes: 2 };
        assert_eq!(Overlap::find(&a, &b, &c), Some(found));
        assert_eq!(Overlap::find(&b, &c, &a).unwrap().splits, ["val", "test"]);
        assert_eq!(Overlap::find(&a, &a[..1], &b).unwrap().nodes, 1);
        assert_eq!(Overlap::find(&a, &b, &[]), None);
        let words = "the train and the test split share 2 nodes, `x` among them";
        assert_eq!(found.describe("`x`"), words);
    }
}

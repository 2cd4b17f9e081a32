//! Settings: one set of names for the library, the command and the configuration file.
//!
//! [`Settings`] are unchecked and may be built up from a preset, a file and single assignments.
//! They must be validated against a number of layers, into a [`Config`], before anything uses them.

#[macro_use]
pub(crate) mod choices;
mod config;
mod decision;
mod fit;
mod keys;
mod presets;

pub(crate) use config::LAMBDA_C;
pub use config::{Config, LayerConfig};
pub use decision::{Decision, When};
pub use keys::KEYS;
pub use presets::Preset;

use crate::graph::preprocess::Preprocessing;
use crate::graph::sums;
use crate::train::Choice;

choices! {
    /// What is learnt.
    Method {
        /// Every layer, aligned with the others.
        Xgoal = "xgoal",
        /// Every layer for itself: no alignment term.
        Goal = "goal",
    }
}
choices! {
    /// The encoder's non-linearity.
    Activation {
        /// Hyperbolic tangent, the paper's choice.
        Tanh = "tanh",
        /// Rectified linear.
        Relu = "relu",
    }
}
choices! {
    /// The encoder's shape.
    #[derive(Default)]
    Encoder {
        /// `A X W + X W' + b`, the paper's first-order GCN.
        #[default]
        FirstOrder = "first-order",
        /// `A X W + b`, the plain GCN.
        Gcn = "gcn",
    }
}
choices! {
    /// What encoders begin with.
    #[derive(Default)]
    Start {
        /// Xavier-uniform weights.
        #[default]
        Random = "random",
        /// Weights along the principal directions of the attributes as encoders see them.
        Principal = "principal",
    }
}
choices! {
    /// How the positive view is drawn.
    Augmentation {
        /// Entries are dropped and survivors scaled by 1/(1-p).
        Dropout = "dropout",
        /// Entries are dropped and survivors left as they are.
        Mask = "mask",
    }
}
choices! {
    /// How attribute rows are scaled.
    #[derive(Default)]
    AttributeNorm {
        /// By the sum of absolute values.
        #[default]
        L1 = "l1",
        /// By the Euclidean norm.
        L2 = "l2",
        /// Not at all.
        None = "none",
    }
}
choices! {
    /// What is done to the columns of attributes.
    #[derive(Default)]
    ColumnNorm {
        /// Nothing.
        #[default]
        None = "none",
        /// Each loses its mean.
        Center = "center",
        /// And is divided by its standard deviation.
        Standard = "standard",
    }
}
choices! {
    /// How edge weights are scaled.
    EdgeNorm {
        /// `D^-1/2 A D^-1/2`.
        Symmetric = "symmetric",
        /// Not at all.
        None = "none",
    }
}
choices! {
    /// Which nodes get a self-loop.
    #[derive(Default)]
    SelfLoops {
        /// Nodes whose row is empty, of weight 1.
        #[default]
        Isolated = "isolated",
        /// Every node that has none, as heavy as its edges are on average.
        All = "all",
        /// No node.
        None = "none",
    }
}

choices! {
    /// How stages end and how clusters go on.
    Schedule {
        /// By smoothed losses, each layer's warm-up by its own; clusters are followed.
        Smooth = "smooth",
        /// As in the authors' program: by single losses, summed over layers; clusters are found anew each time.
        Paper = "paper",
    }
}

/// How many nodes a step goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// All of them.
    All,
    /// So many, or all where there are no more.
    Nodes(usize),
}

/// A number, or one that is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `auto`: found when the warm-up is over, see [`crate::train::Choice`].
    Auto,
    /// So many.
    Fixed(usize),
}

/// One value for all layers, or one per layer in their order.
#[derive(Debug, Clone, PartialEq)]
pub enum PerLayer<T> {
    /// The same for every layer.
    One(T),
    /// One per layer.
    Each(Vec<T>),
}

/// Unchecked settings; [`Settings::validate`] turns them into a [`Config`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `method`: whether layers are aligned.
    pub method: Method,
    /// `layers`: which layers, in which order, `a+b` for a sum; when absent all of the graph's, or what [`Settings::fit`]
    /// makes of them.
    pub layers: Option<Vec<String>>,
    /// `structure`: columns of structure beside the attributes; `auto` where there is none, see [`Settings::fit`].
    pub structure: Option<usize>,
    /// `structure_weight`: what these are multiplied by; `auto` where there is none, see [`Settings::fit`].
    pub structure_weight: Option<f64>,
    /// `dim`: length of an embedding.
    pub dim: usize,
    /// `activation`.
    pub activation: Activation,
    /// `encoder`; `auto` where there is none, see [`Settings::fit`].
    pub encoder: Option<Encoder>,
    /// `p_drop`: share of entries the positive view loses.
    pub p_drop: f64,
    /// `augmentation`.
    pub augmentation: Augmentation,
    /// `drop_attributes`: whether the positive view loses attributes.
    pub drop_attributes: bool,
    /// `drop_edges`: whether the positive view loses edges.
    pub drop_edges: bool,
    /// `clusters`: K, the number of prototypes.
    pub clusters: PerLayer<Count>,
    /// `tau`: temperature of L_C.
    pub tau: PerLayer<f64>,
    /// `cluster_every`: steps between two clusterings; `auto` where there is none: 5, or 20 over batches.
    pub cluster_every: Option<usize>,
    /// `kmeans_restarts`.
    pub kmeans_restarts: usize,
    /// `lambda_n`: weight of L_N.
    pub lambda_n: f64,
    /// `lambda_c`: weight of L_C; `auto` where there is none, see [`crate::train::Choice`].
    pub lambda_c: Option<f64>,
    /// `mu_n`: weight of R_N in the joint stage.
    pub mu_n: f64,
    /// `mu_c`: weight of R_C.
    pub mu_c: f64,
    /// `align_tau`: temperature of R_C.
    pub align_tau: PerLayer<f64>,
    /// `layer_weights`: w_v, the weight of a layer's L_N and L_C.
    pub layer_weights: PerLayer<f64>,
    /// `lr`: learning rate of the joint stage.
    pub lr: f64,
    /// `start`: what encoders begin with; `auto` where there is none, see [`Settings::fit`].
    pub start: Option<Start>,
    /// `warmup`: whether there is a warm-up stage.
    pub warmup: bool,
    /// `warmup_lr`: learning rate of the warm-up.
    pub warmup_lr: f64,
    /// `warmup_mu_n`: weight of R_N in the warm-up.
    pub warmup_mu_n: f64,
    /// `max_epochs`: most epochs of a stage.
    pub max_epochs: usize,
    /// `patience`: epochs without a new best loss after which a stage ends.
    pub patience: usize,
    /// `schedule`: how stages end and how clusters go on.
    pub schedule: Schedule,
    /// `batch`: nodes of a step; `auto` where there is none, see [`Settings::fit`].
    pub batch: Option<Batch>,
    /// `seed`.
    pub seed: u64,
    /// `normalize_attributes`; `auto` where there is none, see [`Settings::fit`].
    pub normalize_attributes: Option<AttributeNorm>,
    /// `normalize_columns`: what is done to the columns of attributes, before their rows; `auto` where there is none, see
    /// [`Settings::fit`].
    pub normalize_columns: Option<ColumnNorm>,
    /// `smooth_attributes`: how often attributes are smoothed over the layers; `auto` where there is none, see
    /// [`Settings::fit`].
    pub smooth_attributes: Option<usize>,
    /// `normalize_edges`.
    pub normalize_edges: EdgeNorm,
    /// `self_loops`; `auto` where there is none, see [`Settings::fit`].
    pub self_loops: Option<SelfLoops>,
}

impl Settings {
    /// Whether so many layers are aligned: X-GOAL, and several of them.
    pub(crate) fn aligns(&self, layers: usize) -> bool {
        self.method == Method::Xgoal && layers > 1
    }

    /// The preprocessing part.
    pub(crate) fn preprocessing(&self) -> Preprocessing {
        Preprocessing {
            attributes: self.normalize_attributes.unwrap_or_default(),
            columns: self.normalize_columns.unwrap_or_default(),
            smooth: self.smooth_attributes.unwrap_or_default(),
            edges: self.normalize_edges,
            self_loops: self.self_loops.unwrap_or_default(),
            structure: self.structure_weight.unwrap_or(1.0) as f32,
        }
    }

    /// The weight of L_C; where it is `auto`, that of clusters nobody has looked at yet.
    pub(crate) fn lambda_c(&self) -> f64 {
        self.lambda_c.unwrap_or(LAMBDA_C)
    }

    /// Whether steps go over batches, where the graph is larger than these.
    pub(crate) fn batches(&self) -> bool {
        matches!(self.batch, Some(Batch::Nodes(_)))
    }

    /// Steps between two clusterings.
    pub fn clusters_every(&self) -> usize {
        self.cluster_every.unwrap_or(if self.batches() { 20 } else { 5 })
    }

    /// Uses these layers, in this order. Values that were given per layer follow their layers' names.
    pub fn choose_layers(&mut self, names: Vec<String>) {
        let old = self.layers.take().unwrap_or_default();
        let is = |name: &String, old: &String| old == name || sums::alias(old) == Some(name);
        let places: Option<Vec<usize>> =
            names.iter().map(|name| old.iter().position(|old| is(name, old))).collect();
        if let Some(places) = places {
            self.clusters.reorder(old.len(), &places);
            self.tau.reorder(old.len(), &places);
            self.layer_weights.reorder(old.len(), &places);
            self.align_tau.reorder(old.len(), &places);
        }
        self.layers = Some(names);
    }

    /// Calls layers as they are called here, where they go by another name; says which.
    pub fn call_layers(&mut self, names: &[String]) -> Option<Decision> {
        let asked = self.layers.as_mut()?;
        let resolved = sums::resolve(asked, names).ok()?;
        let mut other = Vec::new();
        for (asked, places) in asked.iter_mut().zip(resolved) {
            let name = &names[places[0]];
            if places.len() == 1 && asked != name {
                other.push(format!("{asked} is called {name} here"));
                asked.clone_from(name);
            }
        }
        let decision = || Decision::new(When::Start, "layers", asked.clone(), other.join(", "));
        (!other.is_empty()).then(decision)
    }

    /// Every key that is another one in what a run with these settings has written, in words.
    ///
    /// Where `clusters` or `lambda_c` is `auto` a run writes what it found: that of `choice` where it is
    /// known, else anything.
    pub(crate) fn difference_to_written(
        &self,
        mut written: Settings,
        choice: Option<&Choice>,
    ) -> Option<String> {
        let same = match choice {
            Some(choice) => choice.found().is_some_and(|k| written.clusters == PerLayer::fixed(k)),
            None => self.clusters.admits(&written.clusters),
        };
        if same {
            written.clusters = self.clusters.clone();
        }
        let found = choice.map(|choice| choice.lambda_c);
        if self.lambda_c.is_none() && found.is_none_or(|found| found == written.lambda_c) {
            written.lambda_c = None;
        }
        self.difference(&written)
    }
}

impl PerLayer<Count> {
    /// These, as one where all are the same.
    pub(crate) fn fixed(counts: &[usize]) -> Self {
        let fixed: Vec<Count> = counts.iter().copied().map(Count::Fixed).collect();
        match fixed.split_first() {
            Some((first, rest)) if rest.iter().all(|k| k == first) => PerLayer::One(*first),
            _ => PerLayer::Each(fixed),
        }
    }

    /// Whether these can have become `others` by numbers in the place of `auto`.
    fn admits(&self, others: &Self) -> bool {
        let admits = |(one, other): (&Count, &Count)| *one == Count::Auto || one == other;
        match (self, others) {
            (PerLayer::Each(list), PerLayer::Each(others)) => {
                list.len() == others.len() && list.iter().zip(others).all(admits)
            }
            (PerLayer::Each(list), PerLayer::One(other)) => list.iter().all(|k| admits((k, other))),
            (PerLayer::One(one), PerLayer::Each(others)) => others.iter().all(|k| admits((one, k))),
            (PerLayer::One(one), PerLayer::One(other)) => admits((one, other)),
        }
    }
}

impl<T: Copy> PerLayer<T> {
    fn reorder(&mut self, layers: usize, places: &[usize]) {
        if let PerLayer::Each(list) = self
            && list.len() == layers
        {
            *list = places.iter().map(|p| list[*p]).collect();
        }
    }
}

impl Default for Settings {
    /// The `auto` preset.
    fn default() -> Self {
        Preset::Auto.settings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_the_place_of_auto_is_no_difference() {
        let settings = |clusters: &str| {
            let mut settings = Settings::default();
            settings.set("clusters", clusters).unwrap();
            settings
        };
        let differs = |asked: &str, written: &str, choice: Option<&Choice>| {
            settings(asked).difference_to_written(settings(written), choice).is_some()
        };
        for (asked, written) in [("auto", "7"), ("auto", "auto"), ("auto,5", "7,5")] {
            assert!(!differs(asked, written, None), "{asked} {written}");
        }
        assert!(!differs("auto,5", "5", None) && !differs("auto", "7,7", None));
        for (asked, written) in [("6", "7"), ("7", "auto"), ("auto,5", "7,6")] {
            assert!(differs(asked, written, None), "{asked} {written}");
        }
        let found = Choice {
            clusters: vec![7, 7],
            dimensions: Some(3.5),
            lambda_c: Some(0.02),
            gap: Some(0.04),
        };
        let weighed = |weight: &str| {
            let mut written = settings("7");
            written.set("lambda_c", weight).unwrap();
            settings("auto").difference_to_written(written, Some(&found))
        };
        assert_eq!(weighed("0.02"), None);
        assert_eq!(weighed("0.03").unwrap(), "`lambda_c` was \"auto\", now 0.03");
        let written = |clusters: &str| {
            let mut written = settings(clusters);
            written.lambda_c = Some(0.02);
            written
        };
        let differs = |asked: &str, clusters: &str, choice: Option<&Choice>| {
            settings(asked).difference_to_written(written(clusters), choice).is_some()
        };
        assert!(!differs("auto", "7", Some(&found)) && differs("auto", "8", Some(&found)));
        let mut other = settings("7");
        other.set("dim", "3").unwrap();
        let difference = settings("auto").difference_to_written(other, None).unwrap();
        assert_eq!(difference, "`dim` was 128, now 3");
    }
}

//! What is learnt: one encoder's weights per layer.

mod known;
mod seen;
mod start;

pub use known::Known;

pub(crate) use seen::Seen;
pub(crate) use start::weights_along;
pub use start::{initial_weights, random_weights};

use crate::engine::backend;
use crate::error::{Error, Result};
use crate::graph::features::FeatureSpace;
use crate::graph::preprocess::Columns;
use crate::graph::{Fingerprint, MultiplexGraph};
use crate::matrix::Dense;
use crate::random::Stream;
use crate::real::Real;
use crate::settings::{ColumnNorm, Config, Encoder};

/// Weights of one layer's encoder, `act(A X W + X W' + b)`.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerWeights<T = f32> {
    /// W, attributes x dim: applied to what the neighbours hold.
    pub weight: Dense<T>,
    /// W', attributes x dim: applied to what the node itself holds; absent in a plain GCN.
    pub self_weight: Option<Dense<T>>,
    /// b, dim.
    pub bias: Vec<T>,
}

impl<T: Real> LayerWeights<T> {
    /// Xavier-uniform weights and a zero bias.
    pub fn xavier(features: usize, dim: usize, encoder: Encoder, stream: Stream) -> Self {
        let bound = (6.0 / (features + dim) as f64).sqrt();
        let draw = |tensor: u64| {
            let stream = stream.substream(tensor);
            let mut matrix = Dense::zeros(features, dim);
            for (i, w) in matrix.values_mut().iter_mut().enumerate() {
                *w = T::from_f64(bound * (2.0 * stream.uniform(i as u64) - 1.0));
            }
            matrix
        };
        let self_weight = (encoder == Encoder::FirstOrder).then(|| draw(1));
        Self { weight: draw(0), self_weight, bias: vec![T::default(); dim] }
    }

    /// All zeros, in the shape of `self`.
    pub fn zeros_like(&self) -> Self {
        let zeros = |m: &Dense<T>| Dense::zeros(m.rows(), m.cols());
        Self {
            weight: zeros(&self.weight),
            self_weight: self.self_weight.as_ref().map(zeros),
            bias: vec![T::default(); self.bias.len()],
        }
    }

    /// Rows and columns of the weights, of the self-weights where there are some, and the length of the bias.
    pub(crate) fn shape(&self) -> ((usize, usize), Option<(usize, usize)>, usize) {
        let of = |m: &Dense<T>| (m.rows(), m.cols());
        (of(&self.weight), self.self_weight.as_ref().map(of), self.bias.len())
    }

    /// The tensors one after another: weight, self-weight where there is one, bias.
    pub fn tensors(&self) -> impl Iterator<Item = &[T]> {
        [Some(self.weight.values()), self.self_weight.as_ref().map(Dense::values), Some(&self.bias)]
            .into_iter()
            .flatten()
    }

    /// The tensors to be changed, in the same order.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        [
            Some(self.weight.values_mut()),
            self.self_weight.as_mut().map(Dense::values_mut),
            Some(&mut self.bias[..]),
        ]
        .into_iter()
        .flatten()
    }

    /// The same weights in another precision.
    pub fn cast<U: Real>(&self) -> LayerWeights<U> {
        let mut out = LayerWeights {
            weight: Dense::zeros(self.weight.rows(), self.weight.cols()),
            self_weight: self.self_weight.as_ref().map(|m| Dense::zeros(m.rows(), m.cols())),
            bias: vec![U::default(); self.bias.len()],
        };
        for (to, from) in out.tensors_mut().zip(self.tensors()) {
            to.iter_mut().zip(from).for_each(|(t, f)| *t = U::from_f64(f.to_f64()));
        }
        out
    }
}

/// What a model keeps of the graph it is trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    space: Option<FeatureSpace>,
    columns: Option<Columns>,
    graph: Fingerprint,
    structure: Option<Known>,
}

impl Origin {
    /// For a graph as a configuration preprocesses it.
    pub fn of(graph: &MultiplexGraph, config: &Config) -> Self {
        Self {
            space: graph.features().cloned(),
            columns: config.preprocessing().columns(graph),
            graph: graph.fingerprint(),
            structure: Known::of(graph),
        }
    }

    /// What tells the graph from others.
    pub fn graph(&self) -> &Fingerprint {
        &self.graph
    }
}

/// A model: the settings it was made with and one set of weights per layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    config: Config,
    weights: Vec<LayerWeights>,
    space: Option<FeatureSpace>,
    columns: Option<Columns>,
    graph: Option<Fingerprint>,
    structure: Option<Known>,
}

impl Model {
    /// Checks that weights and configuration agree.
    pub fn new(config: Config, weights: Vec<LayerWeights>) -> Result<Self> {
        let layers = config.layers();
        if weights.len() != layers.len() {
            return Err(Error::Data(format!(
                "a model of {} layers for {} layer names",
                weights.len(),
                layers.len()
            )));
        }
        if layers.is_empty() {
            return Err(Error::Data("a model without layers; expected at least one".into()));
        }
        let dim = config.settings().dim;
        let features = weights.first().map_or(0, |w| w.weight.rows());
        if features <= config.structure() {
            return Err(Error::Data(format!(
                "weights for {features} columns, of which {} are structure; expected attributes beside them",
                config.structure()
            )));
        }
        let has_self = config.encoder() == Encoder::FirstOrder;
        for (layer, w) in layers.iter().zip(&weights) {
            let expected = (features, dim);
            let shapes = [Some(&w.weight), w.self_weight.as_ref()];
            if let Some(bad) =
                shapes.into_iter().flatten().find(|m| (m.rows(), m.cols()) != expected)
            {
                return Err(Error::Data(format!(
                    "layer `{}`: weights of {} x {}, expected {features} x {dim}",
                    layer.name,
                    bad.rows(),
                    bad.cols()
                )));
            }
            if w.self_weight.is_some() != has_self || w.bias.len() != dim {
                return Err(Error::Data(format!(
                    "layer `{}`: its weights do not belong to a {} encoder of dim {dim}",
                    layer.name,
                    config.encoder().as_str()
                )));
            }
            if w.tensors().flatten().any(|v| !v.is_finite()) {
                return Err(Error::Data(format!(
                    "layer `{}`: a weight is not a finite number",
                    layer.name
                )));
            }
        }
        Ok(Self { config, weights, space: None, columns: None, graph: None, structure: None })
    }

    /// What training on a graph came to, with what it keeps of it; nodes' ids are not part of that.
    pub fn trained(config: Config, weights: Vec<LayerWeights>, origin: &Origin) -> Result<Self> {
        let Origin { space, columns, graph, structure } = origin.clone();
        let model = Self::new(config, weights)?.with_space(space)?;
        let model = model.with_columns(columns)?.with_structure(structure)?;
        Ok(model.with_graph(Some(graph.without_ids())))
    }

    /// Keeps what tells the graph it was trained on from others.
    #[must_use]
    pub fn with_graph(mut self, graph: Option<Fingerprint>) -> Self {
        self.graph = graph;
        self
    }

    /// What tells the graph it was trained on from others, where that is known.
    pub fn graph(&self) -> Option<&Fingerprint> {
        self.graph.as_ref()
    }

    /// Keeps where nodes stood in training, as many numbers for each as the settings say.
    pub fn with_structure(mut self, structure: Option<Known>) -> Result<Self> {
        let found = structure.as_ref().map_or(0, |known| known.rows().cols());
        let expected = self.config.structure();
        if found != expected {
            return Err(Error::Data(format!(
                "a model with {expected} columns of structure, but {found} are kept"
            )));
        }
        self.structure = structure;
        Ok(self)
    }

    /// Where nodes stood in training, where that is beside their attributes.
    pub fn structure(&self) -> Option<&Known> {
        self.structure.as_ref()
    }

    /// How many nodes of a graph stand where they stood in training; none where structure does not count.
    pub fn known_nodes(&self, graph: &MultiplexGraph) -> Option<usize> {
        self.structure.as_ref().map(|known| known.count(graph, self.graph.as_ref()))
    }

    /// Where structure counts and none of a graph's nodes was there in training: what that means, and what to do.
    pub fn strangers(&self, graph: &MultiplexGraph) -> Option<String> {
        self.structure.as_ref()?.strangers(graph, self.graph.as_ref())
    }

    /// Keeps what columns of attributes lost in training, so that those of new graphs lose the same.
    pub fn with_columns(mut self, columns: Option<Columns>) -> Result<Self> {
        let count = columns.as_ref().map_or(self.features(), |columns| columns.means().len());
        if count != self.features() {
            return Err(Error::Data(format!(
                "a model of {} attributes, but means of {count} columns",
                self.features()
            )));
        }
        let norm = match columns.as_ref().map(Columns::scales) {
            None => ColumnNorm::None,
            Some(None) => ColumnNorm::Center,
            Some(Some(_)) => ColumnNorm::Standard,
        };
        let asked = self.config.preprocessing().columns;
        if norm != asked {
            return Err(Error::Data(format!(
                "a model whose columns are to be normalised by `{}`, with what `{}` needs",
                asked.as_str(),
                norm.as_str()
            )));
        }
        self.columns = columns;
        Ok(self)
    }

    /// What columns of attributes lost in training, where they did.
    pub fn columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// Keeps what the attributes it was trained on are, so that new graphs are encoded by name.
    pub fn with_space(mut self, space: Option<FeatureSpace>) -> Result<Self> {
        if let Some(space) = space.as_ref().filter(|s| s.columns() != self.features()) {
            return Err(Error::Data(format!(
                "a model of {} attributes, of which {} are described",
                self.features(),
                space.columns()
            )));
        }
        if let Some(reason) = space.as_ref().and_then(FeatureSpace::contradiction) {
            return Err(Error::Data(format!("the model's attributes: {reason}")));
        }
        self.space = space;
        Ok(self)
    }

    /// What the attributes it was trained on are, where the source said so.
    pub fn space(&self) -> Option<&FeatureSpace> {
        self.space.as_ref()
    }

    /// The settings the model was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// One set of weights per layer.
    pub fn weights(&self) -> &[LayerWeights] {
        &self.weights
    }

    /// How many attributes a graph must have to be encoded, beside its structure.
    pub fn features(&self) -> usize {
        self.weights[0].weight.rows().saturating_sub(self.config.structure())
    }
}

/// The mean over the layers: the final embedding.
///
/// # Panics
/// Where there is no layer.
pub fn mean_of_layers<'a, T: Real>(layers: impl IntoIterator<Item = &'a Dense<T>>) -> Dense<T> {
    let mut layers = layers.into_iter();
    let mut mean = layers.next().expect("a layer").clone();
    let mut count = 1.0;
    for layer in layers {
        mean.values_mut().iter_mut().zip(layer.values()).for_each(|(m, v)| *m += *v);
        count += 1.0;
    }
    let share = T::from_f64(1.0) / T::from_f64(count);
    mean.values_mut().iter_mut().for_each(|m| *m *= share);
    mean
}

impl Model {
    /// Encodes a graph that has this model's layers and attributes: one matrix per layer.
    pub fn embed(&self, graph: &MultiplexGraph) -> Result<Vec<Dense>> {
        let (nodes, dim) = (graph.nodes(), self.config.settings().dim);
        let mut layers = vec![Dense::zeros(nodes, dim); self.weights.len()];
        self.embed_blocks(graph, &mut |first, blocks| {
            for (layer, block) in layers.iter_mut().zip(blocks) {
                layer.put(first, &block);
            }
            Ok(())
        })?;
        Ok(layers)
    }

    /// The same a block of nodes at a time: the number of its first node, and a matrix per layer.
    pub fn embed_blocks(
        &self,
        graph: &MultiplexGraph,
        block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>,
    ) -> Result<()> {
        let expected: Vec<&str> = self.config.layers().iter().map(|l| l.name.as_str()).collect();
        if graph.layer_names() != expected {
            return Err(Error::Data(format!(
                "the model was trained on the layers {}; the graph has {}",
                expected.join(", "),
                graph.layer_names().join(", ")
            )));
        }
        if graph.attributes().cols() != self.features() {
            return Err(Error::Data(format!(
                "the model expects {} attributes; the graph has {}",
                self.features(),
                graph.attributes().cols()
            )));
        }
        let preprocessing = self.config.preprocessing();
        if preprocessing.columns != ColumnNorm::None && self.columns.is_none() {
            return Err(Error::Data("the model lacks the means of its columns".into()));
        }
        let graph = match &self.structure {
            None => graph.clone().without_structure(),
            Some(known) => known.beside(graph, self.graph.as_ref())?,
        };
        backend::DEFAULT.embed(&self.config, &graph, self.columns(), &self.weights, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_all_layers() {
        let layers = [vec![1.0f32, 0.1], vec![3.0, 0.7]].map(|v| Dense::from_vec(1, 2, v).unwrap());
        assert_eq!(mean_of_layers(&layers).values(), [2.0, (0.1f32 + 0.7) * 0.5]);
    }
}

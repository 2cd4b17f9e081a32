//! The engine for CPU cores.
//!
//! One epoch: draw the views (`draw`), encode them (`encoder`), cluster when asked, turn the
//! embeddings into gradients in place (`objective`, over `losses`), push these back through the
//! encoders, and let `adam` move the weights. Work is split over the current rayon pool in blocks of
//! `BLOCK` nodes; every sum has one order, so the bits do not depend on the number of threads.

mod adam;
mod adjacency;
mod agreement;
mod attributes;
mod batch;
mod bits;
mod draw;
mod embed;
mod encoder;
mod footprint;
mod kernels;
mod losses;
mod mask;
mod objective;
mod phases;
mod rows;

pub use embed::embed;
pub use footprint::{Footprint, Footprints};
pub(crate) use footprint::{before, finding_structure};
pub use kernels::Kernels;

use self::adam::Adam;
use self::adjacency::Adjacency;
use self::attributes::Attributes;
use self::batch::{Batches, Source};
use self::draw::Draw;
use self::embed::{anchors, embed_blocks, embed_layers};
use self::encoder::{LayerEncoder, Views, Workspace};
use self::objective::Objective;
use self::phases::{Clock, Phase};
use self::rows::{PerThread, Scratches};
use super::{Engine, EngineState, Prototypes, Recluster, Stage, Step, Terms};
use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::graph::preprocess::Preprocessed;
use crate::kmeans::{self, Clustering, KMeans, Known};
use crate::matrix::{Dense, Matrix};
use crate::model::{LayerWeights, initial_weights, random_weights};
use crate::random::{Permutation, Purpose, Stream};
use crate::real::{Real, View};
use crate::settings::{Config, Start};

/// Nodes a task works on at a time.
const BLOCK: usize = 64;

/// Nodes that prototypes are found among where steps go over batches, for each of them and at least.
const SAMPLE_PER_CLUSTER: usize = 64;
const SAMPLE: usize = 4096;

/// Nodes that are encoded at a time where all are.
const ENCODED: usize = 1 << 14;

/// A graph and its encoders in this machine's memory. f32 trains; f64 checks gradients.
#[derive(Debug)]
pub struct CpuEngine<T: Kernels = f32> {
    config: Config,
    reach: Reach<T>,
    weights: Vec<LayerWeights<T>>,
    remembered: Vec<LayerWeights<T>>,
    gradients: Vec<LayerWeights<T>>,
    adam: Adam<T>,
    prototypes: Option<Vec<Prototypes<T>>>,
    views: Vec<Views<T>>,
    losses: PerThread<objective::Scratch<T>>,
    clock: Clock,
}

/// Which nodes a step goes over.
#[derive(Debug)]
enum Reach<T> {
    /// All of them, through products with the whole graph.
    Whole(Whole<T>),
    /// A batch, by the rows it needs.
    Batch(Batches<T>),
}

/// What products with the whole graph need.
#[derive(Debug)]
struct Whole<T> {
    graph: Operands<T>,
    draws: Vec<Draw>,
    work: Workspace<T>,
}

/// Prototypes of each layer, and whether any of them took the place of clusters that were followed.
type Found<T> = (Vec<Prototypes<T>>, bool);

/// The graph in the form the products need.
#[derive(Debug)]
struct Operands<T> {
    attributes: Attributes<T>,
    layers: Vec<Adjacency<T>>,
    nodes: usize,
}

impl<T: Kernels> Operands<T> {
    fn new(graph: &Preprocessed<'_>) -> Self {
        Self {
            attributes: Attributes::new(&graph.attributes),
            layers: graph.layers.iter().map(Adjacency::new).collect(),
            nodes: graph.attributes.rows(),
        }
    }

    /// Room for the products; a graph that is only embedded has no dropped view.
    fn workspace(&self, dim: usize, dropped: bool) -> Workspace<T> {
        let rows = self.layers.iter().map(Adjacency::scratch_rows).max().unwrap_or(0);
        Workspace {
            whole: Dense::zeros(self.nodes, dim),
            dropped: Dense::zeros(if dropped { self.nodes } else { 0 }, dim),
            room: vec![T::default(); rows * dim],
            scratch: Scratches::new(),
        }
    }

    fn encoder<'a>(&'a self, config: &'a Config, v: usize) -> LayerEncoder<'a, T> {
        LayerEncoder {
            attributes: &self.attributes,
            adjacency: &self.layers[v],
            settings: config.settings(),
        }
    }
}

impl<T: Kernels> CpuEngine<T> {
    /// Prepares a graph for training on all nodes at a time, from the given weights.
    pub fn new(
        config: &Config,
        graph: &Preprocessed<'_>,
        weights: Vec<LayerWeights<T>>,
    ) -> Result<Self> {
        same_layers(config, graph.layers.len(), &weights)?;
        // Positions of entries are held in 32 bits.
        let most = u32::MAX as usize;
        if let Some(v) = graph.layers.iter().position(|l| l.weights.nnz() > most) {
            return Err(Error::Data(format!(
                "layer `{}`: {} entries, expected at most {most} where steps go over all nodes",
                config.layers()[v].name,
                graph.layers[v].weights.nnz()
            )));
        }
        if let Matrix::Sparse(m) = &*graph.attributes
            && m.nnz() > most
        {
            return Err(Error::Data(format!(
                "{} attribute entries, expected at most {most} where steps go over all nodes",
                m.nnz()
            )));
        }
        let settings = config.settings();
        let operands = Operands::<T>::new(graph);
        let entries = operands.attributes.entries();
        let nodes = operands.nodes;
        let draws = operands.layers.iter();
        let draws = draws.map(|layer| Draw::new(entries, layer.draw(), nodes, settings));
        let draws = draws.collect();
        let work = operands.workspace(settings.dim, true);
        Ok(Self::of(config, Reach::Whole(Whole { graph: operands, draws, work }), nodes, weights))
    }

    /// Prepares a graph for training on so many nodes at a time, from the given weights.
    pub fn batched(
        config: &Config,
        graph: MultiplexGraph,
        size: usize,
        weights: Vec<LayerWeights<T>>,
    ) -> Result<Self> {
        Self::through(config, &graph, batches(config, &graph, size)?, weights)
    }

    /// Prepares a graph for training as the settings say, from the given weights, or without from fresh ones.
    pub fn start(
        config: &Config,
        graph: &MultiplexGraph,
        weights: Option<Vec<LayerWeights<T>>>,
    ) -> Result<Self> {
        let Some(size) = config.batch(graph.nodes()) else {
            let graph = config.preprocessing().apply(graph)?;
            let weights = weights.unwrap_or_else(|| initial_weights(config, &graph));
            return Self::new(config, &graph, weights);
        };
        let batches = batches(config, graph, size)?;
        let weights = match (weights, config.settings().start.unwrap_or_default()) {
            (Some(weights), _) => weights,
            (None, Start::Random) => random_weights(config, graph.columns()),
            (None, Start::Principal) => batch::principal(config, &batches),
        };
        Self::through(config, graph, batches, weights)
    }

    fn through(
        config: &Config,
        graph: &MultiplexGraph,
        batches: Batches<T>,
        weights: Vec<LayerWeights<T>>,
    ) -> Result<Self> {
        same_layers(config, graph.layers().len(), &weights)?;
        let size = batches.size();
        Ok(Self::of(config, Reach::Batch(batches), size, weights))
    }

    /// With views of so many rows.
    fn of(config: &Config, reach: Reach<T>, rows: usize, weights: Vec<LayerWeights<T>>) -> Self {
        let dim = config.settings().dim;
        Self {
            views: weights.iter().map(|_| Views::new(rows, dim)).collect(),
            gradients: weights.iter().map(LayerWeights::zeros_like).collect(),
            adam: Adam::new(&weights),
            remembered: weights.clone(),
            weights,
            prototypes: None,
            losses: PerThread::new(),
            clock: Clock::new(),
            reach,
            config: config.clone(),
        }
    }

    /// The gradients the last `evaluate` left.
    pub fn gradients(&self) -> &[LayerWeights<T>] {
        &self.gradients
    }

    /// The weights, to be moved by hand.
    pub fn weights_mut(&mut self) -> &mut [LayerWeights<T>] {
        &mut self.weights
    }

    /// Fixes the prototypes, as a clustering would.
    pub fn set_prototypes(&mut self, prototypes: Vec<Prototypes<T>>) {
        self.prototypes = Some(prototypes);
    }

    /// Finds prototypes anew: from scratch the first time, from the last ones later.
    ///
    /// Of the first starts, the one is kept whose clusters are the most compact in the layer and what is asked for beside it
    /// together. Once nodes are pulled to them, clusters follow the embeddings: one from a fresh start that is by chance a little more compact, and cuts elsewhere,
    /// would undo what was learnt. It is kept only if it is clearly better; whether that happened in a layer is what comes
    /// back.
    fn recluster(&mut self, asked: &Recluster<'_>, step: &Step<'_>) -> Result<bool> {
        let sample = match &self.reach {
            Reach::Whole(_) => None,
            Reach::Batch(batches) => {
                let stream = draw::stream(self.config.settings().seed, Purpose::Sample, step, 0);
                let most = asked.counts.iter().max().map_or(0, |k| SAMPLE_PER_CLUSTER * k);
                let nodes = batches.graph_nodes();
                let order = Permutation::new(stream, nodes);
                let size = nodes.min(most.max(SAMPLE)) as u64;
                let nodes: Vec<u32> = (0..size).map(|i| order.at(i) as u32).collect();
                Some(anchors(&self.config, batches, &self.weights, &nodes, Some(stream)))
            }
        };
        let rows: Vec<&Dense<T>> = match &sample {
            None => self.views.iter().map(|views| &views.anchor).collect(),
            Some(sample) => sample.iter().collect(),
        };
        let (mut found, replaced) = self.find_prototypes(&rows, asked, step)?;
        if sample.is_some() {
            found.iter_mut().for_each(|prototypes| prototypes.assignments.clear());
        }
        self.prototypes = Some(found);
        Ok(replaced)
    }

    fn find_prototypes(
        &self,
        rows: &[&Dense<T>],
        asked: &Recluster<'_>,
        step: &Step<'_>,
    ) -> Result<Found<T>> {
        let mut replaced = false;
        let of_layer = |(v, count): (usize, &usize)| {
            let centers = self.prototypes.as_ref().map(|p| View::from(&p[v].centers));
            let others = (0..rows.len()).filter(|other| asked.together && *other != v);
            let others: Vec<_> = others.map(|other| View::from(rows[other])).collect();
            let known = Known { centers, advantage: asked.advantage, others: &others };
            let stream = self.kmeans_stream(step, v);
            let found = self.cluster(rows[v], *count, known, asked, stream)?;
            replaced |= found.replaced;
            Ok(Prototypes { centers: found.centers, assignments: found.assignments })
        };
        let found = asked.counts.iter().enumerate().map(of_layer).collect::<Result<_>>()?;
        Ok((found, replaced))
    }

    fn kmeans_stream(&self, step: &Step<'_>, layer: usize) -> Stream {
        draw::stream(self.config.settings().seed, Purpose::KMeans, step, layer)
    }

    /// Clusters of rows, from centres that are known if there are as many.
    fn cluster(
        &self,
        rows: &Dense<T>,
        count: usize,
        known: Known<'_, T>,
        asked: &Recluster<'_>,
        stream: Stream,
    ) -> Result<Clustering<T>> {
        // The graph may be smaller than the clusters asked for.
        let count = count.min(rows.rows());
        let centers = known.centers.filter(|centers| centers.rows == count && !asked.anew);
        let restarts = if centers.is_some() { asked.fresh } else { asked.restarts };
        KMeans { restarts, ..KMeans::new(count) }.fit_knowing(
            View::from(rows),
            &Known { centers, ..known },
            stream,
        )
    }

    /// The nearest prototype of each row of the batch.
    fn nearest(&self) -> Option<Vec<Prototypes<T>>> {
        let of_layer = |(prototypes, views): (&Prototypes<T>, &Views<T>)| {
            let centers = prototypes.centers.clone();
            let assignments = kmeans::nearest(View::from(&views.anchor), View::from(&centers));
            Prototypes { centers, assignments }
        };
        let all = self.prototypes.as_ref()?;
        Some(all.iter().zip(&self.views).map(of_layer).collect())
    }
}

impl<T: Kernels> Engine for CpuEngine<T> {
    fn evaluate(&mut self, step: &Step<'_>) -> Result<Terms> {
        self.clock.start();
        let settings = self.config.settings();
        match &mut self.reach {
            Reach::Whole(Whole { graph, draws, work }) => {
                for (v, weights) in self.weights.iter().enumerate() {
                    draws[v].redraw(settings, step, v);
                    if settings.drop_edges {
                        graph.layers[v].prepare(&mut draws[v].edges);
                    }
                    self.clock.stop(Phase::Draw);
                    let encoder = graph.encoder(&self.config, v);
                    encoder.forward(weights, &draws[v], work, &mut self.views[v], &mut self.clock);
                }
            }
            Reach::Batch(batches) => {
                batches.forward(settings, &self.weights, step, &mut self.views, &mut self.clock);
            }
        }
        let replaced = match &step.recluster {
            Some(asked) => self.recluster(asked, step)?,
            None => false,
        };
        let nearest = match self.reach {
            Reach::Batch(_) if step.stage == Stage::Joint => self.nearest(),
            _ => None,
        };
        self.clock.stop(Phase::Cluster);
        let prototypes = nearest.as_deref().or(self.prototypes.as_deref());
        let objective = Objective::new(&self.config, step, prototypes);
        let terms = objective.evaluate(&mut self.views, &self.losses);
        self.clock.stop(Phase::Losses);
        match &mut self.reach {
            Reach::Whole(Whole { graph, draws, work }) => {
                for (v, gradients) in self.gradients.iter_mut().enumerate() {
                    let encoder = graph.encoder(&self.config, v);
                    let views = &mut self.views[v];
                    encoder.backward(&draws[v], views, work, gradients, &mut self.clock);
                }
            }
            Reach::Batch(batches) => {
                batches.backward(&self.views, &mut self.gradients, &mut self.clock);
            }
        }
        Ok(Terms { replaced, ..terms })
    }

    fn update(&mut self, learning_rates: &[f64]) -> Result<()> {
        self.clock.start();
        self.adam.update(learning_rates, &self.gradients, &mut self.weights);
        self.clock.stop(Phase::Update);
        Ok(())
    }

    fn reset_optimizer(&mut self) -> Result<()> {
        self.adam.reset();
        Ok(())
    }

    fn remember(&mut self, layer: usize) -> Result<()> {
        copy_weights(&self.weights[layer], &mut self.remembered[layer]);
        Ok(())
    }

    fn recall(&mut self) -> Result<()> {
        let pairs = self.remembered.iter().zip(&mut self.weights);
        pairs.for_each(|(from, to)| copy_weights(from, to));
        Ok(())
    }

    fn nodes(&self) -> usize {
        match &self.reach {
            Reach::Whole(whole) => whole.graph.nodes,
            Reach::Batch(batches) => batches.graph_nodes(),
        }
    }

    fn embed(&mut self, block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>) -> Result<()> {
        match &mut self.reach {
            Reach::Whole(whole) => {
                let layers = embed_layers(&self.config, whole, &self.weights);
                block(0, layers.iter().map(cast).collect())
            }
            Reach::Batch(batches) => embed_blocks(&self.config, batches, &self.weights, block),
        }
    }

    fn embed_some(&mut self, nodes: &[u32]) -> Result<Vec<Dense>> {
        let layers = match &mut self.reach {
            Reach::Whole(whole) => {
                let layers = embed_layers(&self.config, whole, &self.weights);
                layers.iter().map(|layer| layer.select_rows(nodes)).collect()
            }
            Reach::Batch(batches) => anchors(&self.config, batches, &self.weights, nodes, None),
        };
        Ok(layers.iter().map(cast).collect())
    }

    fn weights(&self) -> Result<Vec<LayerWeights>> {
        Ok(cast_weights(&self.weights))
    }

    fn state(&self) -> Result<EngineState> {
        Ok(EngineState {
            weights: cast_weights(&self.weights),
            remembered: cast_weights(&self.remembered),
            first_moments: cast_weights(&self.adam.first),
            second_moments: cast_weights(&self.adam.second),
            updates: self.adam.updates,
            prototypes: self.prototypes.as_ref().map(|all| {
                let one = |p: &Prototypes<T>| Prototypes {
                    centers: cast(&p.centers),
                    assignments: p.assignments.clone(),
                };
                all.iter().map(one).collect()
            }),
        })
    }

    fn state_bytes(&self) -> u64 {
        let weights = self.weights.iter().flat_map(LayerWeights::tensors).map(<[T]>::len);
        let assignments = self.weights.len() * self.assigned();
        4 * (4 * weights.sum::<usize>() + assignments) as u64
    }

    fn restore(&mut self, state: EngineState) -> Result<()> {
        let expected: Vec<_> = self.weights.iter().map(LayerWeights::shape).collect();
        let parts =
            [&state.weights, &state.remembered, &state.first_moments, &state.second_moments];
        if parts
            .iter()
            .any(|part| !part.iter().map(LayerWeights::shape).eq(expected.iter().copied()))
        {
            return Err(Error::Data("the saved state belongs to a model of another shape".into()));
        }
        let (nodes, dim) = (self.assigned(), self.config.settings().dim);
        let fits = |p: &Prototypes| p.centers.cols() == dim && p.assignments.len() == nodes;
        if let Some(all) = &state.prototypes
            && (all.len() != self.weights.len() || !all.iter().all(fits))
        {
            return Err(Error::Data("the saved clusters belong to another graph".into()));
        }
        self.weights = cast_weights(&state.weights);
        self.remembered = cast_weights(&state.remembered);
        self.adam.first = cast_weights(&state.first_moments);
        self.adam.second = cast_weights(&state.second_moments);
        self.adam.updates = state.updates;
        self.prototypes = state.prototypes.map(|all| {
            let one = |p: Prototypes| Prototypes {
                centers: cast(&p.centers),
                assignments: p.assignments,
            };
            all.into_iter().map(one).collect()
        });
        Ok(())
    }

    fn phases(&self) -> Vec<(&'static str, f64)> {
        Phase::ALL.map(|phase| (phase.as_str(), self.clock.seconds(phase))).into()
    }
}

impl<T: Kernels> CpuEngine<T> {
    /// Nodes whose clusters are kept.
    fn assigned(&self) -> usize {
        match &self.reach {
            Reach::Whole(whole) => whole.graph.nodes,
            Reach::Batch(_) => 0,
        }
    }
}

/// What reads batches of so many nodes.
fn batches<T: Kernels>(config: &Config, graph: &MultiplexGraph, size: usize) -> Result<Batches<T>> {
    let preprocessing = config.preprocessing();
    let columns = preprocessing.columns(graph);
    let source = Source::new(graph.clone(), preprocessing, columns.as_ref())?;
    Ok(Batches::new(source, size))
}

fn same_layers<T>(config: &Config, layers: usize, weights: &[LayerWeights<T>]) -> Result<()> {
    if layers == config.layers().len() && weights.len() == layers {
        return Ok(());
    }
    Err(Error::Data(format!(
        "{layers} layers, {} in the configuration and {} sets of weights; expected the same",
        config.layers().len(),
        weights.len()
    )))
}

fn copy_weights<T: Kernels>(from: &LayerWeights<T>, to: &mut LayerWeights<T>) {
    to.tensors_mut().zip(from.tensors()).for_each(|(t, f)| t.copy_from_slice(f));
}

fn cast_weights<T: Real, U: Real>(weights: &[LayerWeights<T>]) -> Vec<LayerWeights<U>> {
    weights.iter().map(LayerWeights::cast).collect()
}

fn cast<T: Real, U: Real>(matrix: &Dense<T>) -> Dense<U> {
    let values = matrix.values().iter().map(|v| U::from_f64(v.to_f64())).collect();
    Dense::from_vec(matrix.rows(), matrix.cols(), values).expect("same shape")
}

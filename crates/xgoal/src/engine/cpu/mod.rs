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
mod bits;
mod draw;
mod encoder;
mod footprint;
mod kernels;
mod losses;
mod mask;
mod objective;
mod phases;
mod rows;

pub(crate) use footprint::before;
pub use footprint::{Footprint, Footprints};
pub use kernels::Kernels;

use self::adam::Adam;
use self::adjacency::Adjacency;
use self::attributes::Attributes;
use self::draw::Draw;
use self::encoder::{LayerEncoder, Views, Workspace};
use self::objective::Objective;
use self::phases::{Clock, Phase};
use self::rows::{PerThread, Scratches};
use super::{Beside, Engine, EngineState, Prototypes, Recluster, Step, Terms};
use crate::error::{Error, Result};
use crate::graph::preprocess::{Normalized, Preprocessed};
use crate::kmeans::{self, Clustering, KMeans, Known};
use crate::matrix::{Dense, Matrix};
use crate::model::{LayerWeights, Seen, mean_of_layers};
use crate::random::{Purpose, Stream};
use crate::real::{Real, View};
use crate::settings::{Config, PrototypeSource};

/// Nodes a task works on at a time.
const BLOCK: usize = 64;

/// Most leading directions of the attributes that are looked at where a layer has no other one beside it.
const SEEN: usize = 32;

/// A graph and its encoders in this machine's memory. f32 trains; f64 checks gradients.
#[derive(Debug)]
pub struct CpuEngine<T: Kernels = f32> {
    config: Config,
    graph: Operands<T>,
    weights: Vec<LayerWeights<T>>,
    remembered: Vec<LayerWeights<T>>,
    gradients: Vec<LayerWeights<T>>,
    /// Their sum over the draws of an epoch, once one has several.
    summed: Vec<LayerWeights<T>>,
    adam: Adam<T>,
    prototypes: Option<Vec<Prototypes<T>>>,
    /// Attributes as layers see them that have no others beside them, with `cluster_attributes`.
    seen: Vec<Dense<T>>,
    views: Vec<Views<T>>,
    draws: Vec<Draw>,
    work: Workspace<T>,
    losses: PerThread<objective::Scratch<T>>,
    clock: Clock,
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

/// Embeddings of a graph under given weights, one matrix per layer.
pub fn embed(config: &Config, graph: &Preprocessed<'_>, weights: &[LayerWeights]) -> Vec<Dense> {
    let operands = Operands::<f32>::new(graph);
    let settings = config.settings();
    let mut work = operands.workspace(settings.dim, false);
    embed_layers(config, &operands, weights, &mut work)
}

fn embed_layers<T: Kernels>(
    config: &Config,
    operands: &Operands<T>,
    weights: &[LayerWeights<T>],
    work: &mut Workspace<T>,
) -> Vec<Dense<T>> {
    let layers = weights.iter().enumerate();
    layers
        .map(|(v, weights)| {
            let mut out = Dense::zeros(operands.nodes, config.settings().dim);
            operands.encoder(config, v).embed(weights, work, &mut out);
            out
        })
        .collect()
}

/// The attributes as a layer's encoder sees them, along the directions in which nodes differ the most.
fn seen_by<T: Kernels>(layer: &Normalized<'_>, config: &Config, attributes: &Matrix) -> Dense<T> {
    let seen = Seen::new(config.encoder(), attributes, std::slice::from_ref(layer));
    seen.rows(SEEN, Stream::new(config.settings().seed, Purpose::Seen))
}

impl<T: Kernels> CpuEngine<T> {
    /// Prepares a graph for training from the given weights.
    pub fn new(
        config: &Config,
        graph: &Preprocessed<'_>,
        weights: Vec<LayerWeights<T>>,
    ) -> Result<Self> {
        if graph.layers.len() != config.layers().len() || weights.len() != graph.layers.len() {
            return Err(Error::Data(format!(
                "{} layers, {} in the configuration and {} sets of weights; expected the same",
                graph.layers.len(),
                config.layers().len(),
                weights.len()
            )));
        }
        // Positions of entries are held in 32 bits.
        let most = u32::MAX as usize;
        if let Some(v) = graph.layers.iter().position(|l| l.weights.nnz() > most) {
            return Err(Error::Data(format!(
                "layer `{}`: {} entries, expected at most {most}",
                config.layers()[v].name,
                graph.layers[v].weights.nnz()
            )));
        }
        if let Matrix::Sparse(m) = &*graph.attributes
            && m.nnz() > most
        {
            return Err(Error::Data(format!(
                "{} attribute entries, expected at most {most}",
                m.nnz()
            )));
        }
        let settings = config.settings();
        let layers = graph.layers.iter().filter(|_| config.looks_at_attributes());
        let seen = layers.map(|layer| seen_by(layer, config, &graph.attributes)).collect();
        let operands = Operands::<T>::new(graph);
        let entries = operands.attributes.entries();
        let nodes = operands.nodes;
        Ok(Self {
            work: operands.workspace(settings.dim, true),
            views: weights.iter().map(|_| Views::new(nodes, settings.dim)).collect(),
            draws: operands
                .layers
                .iter()
                .map(|layer| Draw::new(entries, layer.draw(), nodes, settings))
                .collect(),
            gradients: weights.iter().map(LayerWeights::zeros_like).collect(),
            summed: Vec::new(),
            adam: Adam::new(&weights),
            remembered: weights.clone(),
            weights,
            prototypes: None,
            seen,
            losses: PerThread::new(),
            clock: Clock::new(),
            graph: operands,
            config: config.clone(),
        })
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
        let (found, replaced) = match asked.source {
            PrototypeSource::Own => self.own_prototypes(asked, step)?,
            PrototypeSource::Shared => self.shared_prototypes(asked, step)?,
        };
        self.prototypes = Some(found);
        Ok(replaced)
    }

    fn own_prototypes(&self, asked: &Recluster<'_>, step: &Step<'_>) -> Result<Found<T>> {
        let mut replaced = false;
        let of_layer = |(v, count): (usize, &usize)| {
            let centers = self.prototypes.as_ref().map(|p| View::from(&p[v].centers));
            let others: Vec<_> = match asked.beside {
                Beside::Nothing => Vec::new(),
                Beside::Layers => (0..self.views.len())
                    .filter(|other| *other != v)
                    .map(|other| View::from(&self.views[other].anchor))
                    .collect(),
                Beside::Attributes => {
                    let seen = self.seen.get(v).ok_or_else(|| {
                        Error::Data("clusters beside attributes nobody looked at".into())
                    })?;
                    // K centres differ along K - 1 directions.
                    let cols = (count - 1).clamp(1, SEEN).min(seen.cols());
                    vec![View { cols, ..View::from(seen) }]
                }
            };
            let known = Known { centers, advantage: asked.advantage, others: &others };
            let stream = self.kmeans_stream(step, v);
            let found = self.cluster(&self.views[v].anchor, *count, known, asked, stream)?;
            replaced |= found.replaced;
            Ok(Prototypes { centers: found.centers, assignments: found.assignments })
        };
        let found = asked.counts.iter().enumerate().map(of_layer).collect::<Result<_>>()?;
        Ok((found, replaced))
    }

    /// Clusters of the mean over layers; the prototypes of each layer are the means of its own rows in them.
    fn shared_prototypes(&self, asked: &Recluster<'_>, step: &Step<'_>) -> Result<Found<T>> {
        let mean = mean_of_layers(self.views.iter().map(|views| &views.anchor));
        // Centres are means, and the mean over layers of these is that of the means over layers.
        let last = self.prototypes.as_ref();
        let last = last.map(|all| mean_of_layers(all.iter().map(|p| &p.centers)));
        let centers = last.as_ref().map(View::from);
        let known = Known { centers, advantage: asked.advantage, others: &[] };
        let stream = self.kmeans_stream(step, 0);
        let found = self.cluster(&mean, asked.counts[0], known, asked, stream)?;
        let of_layer = |views: &Views<T>| Prototypes {
            centers: kmeans::means(
                View::from(&views.anchor),
                &found.assignments,
                found.centers.rows(),
            ),
            assignments: found.assignments.clone(),
        };
        Ok((self.views.iter().map(of_layer).collect(), found.replaced))
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
        let count = count.min(self.graph.nodes);
        let centers = known.centers.filter(|centers| centers.rows == count);
        let restarts = if centers.is_some() { asked.fresh } else { asked.restarts };
        KMeans { restarts, ..KMeans::new(count) }.fit_knowing(
            View::from(rows),
            &Known { centers, ..known },
            stream,
        )
    }

    /// The objective and its gradients for one draw of the views.
    fn evaluate_draw(&mut self, step: &Step<'_>, draw: usize) -> Result<Terms> {
        self.clock.start();
        for v in 0..self.weights.len() {
            self.draws[v].redraw(self.config.settings(), step, v, draw);
            if self.config.settings().drop_edges {
                self.graph.layers[v].prepare(&mut self.draws[v].edges);
            }
            self.clock.stop(Phase::Draw);
            self.graph.encoder(&self.config, v).forward(
                &self.weights[v],
                &self.draws[v],
                &mut self.work,
                &mut self.views[v],
                &mut self.clock,
            );
        }
        // The anchor is the same in every draw.
        let replaced = match &step.recluster {
            Some(asked) if draw == 0 => self.recluster(asked, step)?,
            _ => false,
        };
        self.clock.stop(Phase::Cluster);
        let objective = Objective::new(&self.config, step, self.prototypes.as_deref());
        let terms = objective.evaluate(&mut self.views, &self.losses);
        self.clock.stop(Phase::Losses);
        for v in 0..self.weights.len() {
            self.graph.encoder(&self.config, v).backward(
                &self.draws[v],
                &mut self.views[v],
                &mut self.work,
                &mut self.gradients[v],
                &mut self.clock,
            );
        }
        Ok(Terms { replaced, ..terms })
    }
}

impl<T: Kernels> Engine for CpuEngine<T> {
    fn evaluate(&mut self, step: &Step<'_>) -> Result<Terms> {
        match step.draws {
            0 => return Err(Error::Data("an epoch of no draws, expected at least one".into())),
            1 => return self.evaluate_draw(step, 0),
            _ => {}
        }
        let mut terms = Vec::with_capacity(step.draws);
        if self.summed.is_empty() {
            self.summed = self.weights.iter().map(LayerWeights::zeros_like).collect();
        }
        self.summed
            .iter_mut()
            .flat_map(LayerWeights::tensors_mut)
            .for_each(|t| t.fill(T::default()));
        for draw in 0..step.draws {
            terms.push(self.evaluate_draw(step, draw)?);
            combine(&self.gradients, &mut self.summed, |sum, gradient| *sum += gradient);
            self.clock.stop(Phase::Update);
        }
        let share = T::from_f64(1.0 / step.draws as f64);
        combine(&self.summed, &mut self.gradients, |mean, sum| *mean = share * sum);
        self.clock.stop(Phase::Update);
        Ok(Terms::mean(&terms))
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

    fn embed(&mut self) -> Result<Vec<Dense>> {
        let layers = embed_layers(&self.config, &self.graph, &self.weights, &mut self.work);
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
        let assignments = self.weights.len() * self.graph.nodes;
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
        let (nodes, dim) = (self.graph.nodes, self.config.settings().dim);
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

/// Changes weights by others of the same shape, entry by entry.
fn combine<T: Kernels>(
    from: &[LayerWeights<T>],
    to: &mut [LayerWeights<T>],
    change: impl Fn(&mut T, T),
) {
    let tensors = to.iter_mut().zip(from).flat_map(|(t, f)| t.tensors_mut().zip(f.tensors()));
    tensors.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(t, f)| change(t, *f)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stage;
    use crate::graph::{Layer, MultiplexGraph};
    use crate::matrix::Csr;
    use crate::settings::Settings;
    use crate::train::{self, Choice};

    /// The first layer's clusters of nodes at the corners of a wide rectangle. The first encoder sees one that is a little
    /// higher than wide, the second one that is wide.
    fn clusters(set: &[(&str, &str)]) -> Vec<u32> {
        let nodes = 64;
        let side = |bit: usize| move |n: usize| if n >> bit & 1 == 0 { 1.0 } else { -1.0 };
        let (wide, high) = (side(0), side(1));
        let values = (0..nodes).flat_map(|n| [3.0 * wide(n), high(n)]).collect();
        let loops = |name: &str| Layer {
            name: name.into(),
            adjacency: Csr::from_triplets(
                nodes,
                nodes,
                (0..nodes as u32).map(|n| (n, n, 1.0)).collect(),
            )
            .unwrap(),
        };
        let attributes = Matrix::Dense(Dense::from_vec(nodes, 2, values).unwrap());
        let graph = MultiplexGraph::new(vec![loops("a"), loops("b")], attributes).unwrap();
        let mut settings = Settings::default();
        for (key, value) in
            [("dim", "2"), ("clusters", "2"), ("prototypes", "own")].iter().chain(set)
        {
            settings.set(key, value).unwrap();
        }
        for key in ["normalize_attributes", "normalize_columns"] {
            settings.set(key, "none").unwrap();
        }
        let config = settings.validate(&graph.layer_names()).unwrap();
        let graph = config.preprocessing().apply(&graph).unwrap();
        let weights = |wide: f32| {
            let weight = Dense::from_vec(2, 2, vec![wide, 0.0, 0.0, 0.1]).unwrap();
            let own = Some(weight.clone());
            LayerWeights { weight, self_weight: own, bias: vec![0.0; 2] }
        };
        let weights = vec![weights(0.03), weights(0.1)];
        let mut engine = CpuEngine::<f32>::new(&config, &graph, weights).unwrap();
        let choice = Choice::new(&config, &mut engine).unwrap();
        engine.evaluate(&train::step(&config, Some(&choice), Stage::Joint, 0)).unwrap();
        engine.prototypes.unwrap().swap_remove(0).assignments
    }

    #[test]
    fn clusters_agree_with_the_layers_beside_or_where_asked_with_the_attributes() {
        // Whether the nodes of a side fall into one cluster.
        let by = |found: &[u32], bit: usize| (0..64).all(|n| found[n] == found[n ^ 1 << bit]);
        for (set, cut) in [
            (&[][..], 0),
            (&[("method", "goal")], 1),
            (&[("method", "goal"), ("cluster_attributes", "true")], 0),
        ] {
            let found = clusters(set);
            assert!(by(&found, 1 - cut) && !by(&found, cut), "{set:?}: {found:?}");
        }
    }
}

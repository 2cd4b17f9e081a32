//! What encoders begin with.
//!
//! `random`: Xavier-uniform weights. Contrast makes up what they become.
//!
//! `principal`: weights along the principal directions of the attributes as encoders see them,
//!
//! ```text
//!     M = X + sum_v A_v X                columns centred; without the X alone for a plain GCN
//!     W = W' = s B Q                     B: the d leading right singular vectors of M, F x d
//!                                        Q: a random rotation, d x d
//! ```
//!
//! for every layer, with one s for all, such that what goes into the activations has a root mean square of `SIZE` about
//! its mean. The rotation spreads every direction over all coordinates, as random weights do. Only the space that B spans
//! counts then, so a few steps of orthogonal iteration do. With fewer attributes than coordinates B has F columns and Q
//! F rows. Nodes that do not differ at all have random weights.

use super::LayerWeights;
use super::seen::Seen;
use crate::graph::preprocess::Preprocessed;
use crate::matrix::{Dense, orthonormal};
use crate::random::{Purpose, Stream};
use crate::real::{Real, View, ViewMut};
use crate::settings::{Config, Encoder, Start};

/// The root mean square, about its mean, of what goes into the activations.
const SIZE: f64 = 0.3;

/// Fresh weights for every layer of a configuration.
pub fn initial_weights<T: Real>(config: &Config, graph: &Preprocessed<'_>) -> Vec<LayerWeights<T>> {
    match config.settings().start.unwrap_or_default() {
        Start::Random => random_weights(config, graph.attributes.cols()),
        Start::Principal => principal_weights(config, graph),
    }
}

/// Xavier-uniform weights for every layer of a configuration, from each layer's own stream or the same.
pub fn random_weights<T: Real>(config: &Config, features: usize) -> Vec<LayerWeights<T>> {
    let settings = config.settings();
    let stream = Stream::new(settings.seed, Purpose::Weights);
    let apart = settings.schedule == crate::settings::Schedule::Paper;
    let of_layer = |v: usize| if apart { v as u64 } else { 0 };
    (0..config.layers().len())
        .map(|v| {
            let stream = stream.substream(of_layer(v));
            LayerWeights::xavier(features, settings.dim, config.encoder(), stream)
        })
        .collect()
}

fn principal_weights<T: Real>(config: &Config, graph: &Preprocessed<'_>) -> Vec<LayerWeights<T>> {
    let (features, dim) = (graph.attributes.cols(), config.settings().dim);
    let seen = Seen::new(config.encoder(), &graph.attributes, &graph.layers);
    let basis = |kept: usize, stream: Stream| {
        let basis = seen.leading(kept, stream);
        let size = seen.size(&basis, kept, dim);
        (basis, size)
    };
    weights_along(config, features, basis)
}

/// Weights along directions, F x `kept`, along which what goes into the activations has this size.
pub(crate) fn weights_along<T: Real>(
    config: &Config,
    features: usize,
    directions: impl FnOnce(usize, Stream) -> (Vec<f64>, f64),
) -> Vec<LayerWeights<T>> {
    let dim = config.settings().dim;
    let stream = Stream::new(config.settings().seed, Purpose::Weights);
    let kept = dim.min(features);
    let (basis, size) = directions(kept, stream.substream(0));
    // Nodes that are all the same differ in no direction.
    if !(size > 0.0 && size.is_finite()) {
        return random_weights(config, features);
    }
    let drawn = stream.substream(1);
    let mut rotation: Vec<f64> = (0..dim * kept).map(|i| drawn.normal(i as u64)).collect();
    orthonormal(&mut rotation, kept);
    let scale = SIZE / size;
    let mut product = vec![0.0; features * dim];
    let rotation = View::new(&rotation, dim, kept).t();
    let into = &mut ViewMut::new(&mut product, features, dim);
    f64::gemm(scale, View::new(&basis, features, kept), rotation, 0.0, into);
    let mut weight = Dense::zeros(features, dim);
    weight.values_mut().iter_mut().zip(&product).for_each(|(w, v)| *w = T::from_f64(*v));
    let own = (config.encoder() == Encoder::FirstOrder).then(|| weight.clone());
    let weights = LayerWeights { weight, self_weight: own, bias: vec![T::default(); dim] };
    vec![weights; config.layers().len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Layer, MultiplexGraph};
    use crate::matrix::{Csr, Matrix, centre};
    use crate::model::Model;
    use crate::settings::Settings;

    const NODES: usize = 300;
    const FEATURES: usize = 40;

    /// Attributes that differ in three directions, of which the first are the strongest, and by a little noise in all.
    fn graph(sparse: bool) -> (MultiplexGraph, Vec<Vec<f64>>) {
        let stream = Stream::new(4, Purpose::Planted);
        let mut directions: Vec<f64> = (0..FEATURES * 3).map(|i| stream.normal(i as u64)).collect();
        orthonormal(&mut directions, 3);
        let value = |n: usize, c: usize| {
            let along = |k: usize| {
                (4 - k) as f64
                    * stream.substream(1).normal((3 * n + k) as u64)
                    * directions[3 * c + k]
            };
            let noise = 0.05 * stream.substream(2).normal((FEATURES * n + c) as u64);
            ((0..3).map(along).sum::<f64>() + noise) as f32
        };
        let values = (0..NODES).flat_map(|n| (0..FEATURES).map(move |c| (n, c)));
        let values = values.map(|(n, c)| value(n, c)).collect();
        let attributes = Dense::from_vec(NODES, FEATURES, values).unwrap();
        let attributes = match sparse {
            true => Matrix::Sparse(Csr::from_dense(&attributes)),
            false => Matrix::Dense(attributes),
        };
        let edge = |i: u64| {
            let end = |k: u64| stream.substream(3).below(2 * i + k, NODES as u64) as u32;
            (end(0), end(1), 1.0)
        };
        let layer = |name: &str, from: u64| {
            let entries = (from..from + 900).map(edge).collect();
            let adjacency = Csr::from_triplets(NODES, NODES, entries).unwrap();
            Layer { name: name.into(), adjacency }
        };
        let layers = vec![layer("a", 0), layer("b", 5000)];
        let column = |k: usize| (0..FEATURES).map(|c| directions[3 * c + k]).collect();
        (MultiplexGraph::new(layers, attributes).unwrap(), (0..3).map(column).collect())
    }

    fn config(graph: &MultiplexGraph, set: &[(&str, &str)]) -> Config {
        let mut settings = Settings::default();
        for (key, value) in
            [("start", "principal"), ("normalize_attributes", "none")].iter().chain(set)
        {
            settings.set(key, value).unwrap();
        }
        settings.validate(&graph.layer_names()).unwrap()
    }

    /// The share of a direction's length that lies in the space of the weights' columns.
    fn kept(weight: &Dense<f64>, direction: &[f64]) -> f64 {
        let mut columns = weight.values().to_vec();
        orthonormal(&mut columns, weight.cols());
        let along = |w: usize| {
            let column = columns.iter().skip(w).step_by(weight.cols());
            column.zip(direction).map(|(a, b)| a * b).sum::<f64>().powi(2)
        };
        (0..weight.cols()).map(along).sum::<f64>().sqrt()
    }

    #[test]
    fn weights_lie_along_what_varies_most() {
        for (sparse, encoder) in [(true, "first-order"), (false, "first-order"), (false, "gcn")] {
            let (graph, directions) = graph(sparse);
            let config = config(&graph, &[("dim", "3"), ("encoder", encoder)]);
            let graph = config.preprocessing().apply(&graph).unwrap();
            let weights = initial_weights::<f64>(&config, &graph);
            for direction in &directions {
                let kept = kept(&weights[0].weight, direction);
                assert!(kept > 0.99, "{sparse} {encoder}: {kept}");
            }
            assert_eq!(weights[0], weights[1]);
            assert_eq!(weights[0].self_weight.is_some(), encoder == "first-order");
            // Random ones do not.
            let random = random_weights::<f64>(&config, FEATURES);
            assert!(kept(&random[0].weight, &directions[0]) < 0.7);
        }
    }

    #[test]
    fn what_goes_into_the_activation_has_its_size() {
        // Also with more coordinates than attributes.
        for dim in ["8", "64"] {
            let (graph, _) = graph(true);
            let config = config(&graph, &[("dim", dim), ("activation", "relu")]);
            let prepared = config.preprocessing().apply(&graph).unwrap();
            let mut weights = initial_weights::<f32>(&config, &prepared);
            // Above zero everywhere, where relu leaves numbers as they are.
            weights.iter_mut().for_each(|w| w.bias.fill(100.0));
            let layers = Model::new(config, weights).unwrap().embed(&graph).unwrap();
            let mut squares = 0.0;
            for layer in &layers {
                let mut rows: Vec<f64> = layer.values().iter().copied().map(f64::from).collect();
                assert!(rows.iter().all(|v| *v > 0.0));
                centre(&mut rows, layer.cols());
                squares += rows.iter().map(|v| v * v).sum::<f64>();
            }
            let count = layers.iter().map(|l| l.values().len()).sum::<usize>() as f64;
            let size = (squares / count).sqrt();
            assert!((size - SIZE).abs() < 1e-3, "dim {dim}: {size}");
        }
    }

    #[test]
    fn seeds_differ_by_a_rotation() {
        let (graph, _) = graph(true);
        let of = |seed: &str| {
            let config = config(&graph, &[("dim", "3"), ("seed", seed)]);
            let graph = config.preprocessing().apply(&graph).unwrap();
            initial_weights::<f64>(&config, &graph).swap_remove(0).weight
        };
        let (one, other) = (of("0"), of("1"));
        assert_ne!(one, other);
        let column: Vec<f64> = other.values().iter().step_by(3).copied().collect();
        let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        let share = kept(&one, &column) / length;
        assert!(share > 0.999, "{share}");
    }
}

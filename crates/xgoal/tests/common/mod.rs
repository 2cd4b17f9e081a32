//! Random graphs, weights and prototypes that the engine's tests share.

use xgoal::engine::Prototypes;
use xgoal::graph::{Layer, MultiplexGraph};
use xgoal::matrix::{Csr, Dense, Matrix};
use xgoal::model::{LayerWeights, random_weights};
use xgoal::random::{Purpose, Stream};
use xgoal::real::Real;
use xgoal::settings::{Config, Settings};

/// Nodes that share one row in the layer of equal rows.
const GROUP: usize = 6;

/// Settings by name, on top of the defaults, for layers of the given names.
pub fn config(layers: &[String], changes: &[(&str, &str)]) -> Config {
    let mut settings = Settings::default();
    for (key, value) in changes {
        settings.set(key, value).unwrap();
    }
    settings.validate(layers).unwrap()
}

/// Three asymmetric, weighted layers over nodes of three classes: one with an isolated node, one
/// whose rows are equal within groups, and a second sparse one. Attributes lean on the class.
pub fn graph(nodes: usize, features: usize, dense: bool) -> MultiplexGraph {
    let stream = Stream::new(17, Purpose::Planted);
    let class = |n: usize| n % 3;
    let sparse = |layer: u64| {
        let s = stream.substream(layer);
        let mut edges = Vec::new();
        for n in 0..nodes {
            if layer == 0 && n == 5 {
                continue;
            }
            for e in 0..4 {
                let at = (n * 4 + e) as u64 * 3;
                let mut other = s.below(at, nodes as u64) as usize;
                if s.uniform(at + 1) < 0.7 {
                    other = (other / 3 * 3 + class(n)) % nodes;
                }
                edges.push((n as u32, other as u32, 0.25 + 2.0 * s.uniform(at + 2) as f32));
            }
        }
        edges
    };
    let group = |n: usize| n / GROUP * GROUP;
    let equal = (0..nodes)
        .flat_map(|n| (group(n)..(group(n) + GROUP).min(nodes)).map(move |m| (n as u32, m as u32)))
        .map(|(n, m)| (n, m, 0.5 + stream.substream(2).uniform(u64::from(m)) as f32))
        .collect();
    let layer = |name: &str, entries| Layer {
        name: name.into(),
        adjacency: Csr::from_triplets(nodes, nodes, entries).unwrap(),
    };
    let s = stream.substream(3);
    let mut values = vec![0f32; nodes * features];
    for (i, value) in values.iter_mut().enumerate() {
        let (n, f) = (i / features, i % features);
        let likely = if f % 3 == class(n) { 0.6 } else { 0.25 };
        if s.uniform(2 * i as u64) < likely {
            *value = 0.25 + s.uniform(2 * i as u64 + 1) as f32;
        }
    }
    let attributes = Dense::from_vec(nodes, features, values).unwrap();
    let attributes = if dense {
        Matrix::Dense(attributes)
    } else {
        Matrix::Sparse(Csr::from_dense(&attributes))
    };
    let layers =
        vec![layer("isolated", sparse(0)), layer("equal", equal), layer("sparse", sparse(1))];
    MultiplexGraph::new(layers, attributes).unwrap()
}

/// The same nodes with unweighted layers that the engine holds as bits: cliques, half of all pairs at
/// random, and a ring that stays sparse.
// Every test file compiles this module for itself, and not each of them uses all of it.
#[allow(dead_code)]
pub fn unweighted(nodes: usize, features: usize, dense: bool) -> MultiplexGraph {
    let s = Stream::new(19, Purpose::Planted);
    let layer = |name: &str, edge: &dyn Fn(usize, usize) -> bool| {
        let all = (0..nodes).flat_map(|n| (0..nodes).map(move |m| (n, m)));
        let edges = all.filter(|(n, m)| edge(*n, *m)).map(|(n, m)| (n as u32, m as u32, 1.0));
        let adjacency = Csr::from_triplets(nodes, nodes, edges.collect()).unwrap();
        Layer { name: name.into(), adjacency }
    };
    let layers = vec![
        layer("cliques", &|n, m| n % 4 == m % 4),
        layer("dense", &|n, m| s.uniform((n * nodes + m) as u64) < 0.5),
        layer("ring", &|n, m| (n + 1) % nodes == m),
    ];
    MultiplexGraph::new(layers, graph(nodes, features, dense).attributes().clone()).unwrap()
}

/// Initial weights with a bias that is not zero, so that no unit sits on relu's kink.
pub fn weights<T: Real>(config: &Config, features: usize) -> Vec<LayerWeights<T>> {
    let mut weights = random_weights::<T>(config, features);
    let stream = Stream::new(23, Purpose::Weights);
    for (v, layer) in weights.iter_mut().enumerate() {
        let s = stream.substream(v as u64);
        for (i, b) in layer.bias.iter_mut().enumerate() {
            *b = T::from_f64(0.4 * s.normal(i as u64));
        }
    }
    weights
}

/// Random prototypes for one layer.
pub fn prototypes<T: Real>(layer: usize, shape: (usize, usize), nodes: usize) -> Prototypes<T> {
    let (clusters, dim) = shape;
    let s = Stream::new(29, Purpose::KMeans).substream(layer as u64);
    let centers = (0..clusters * dim).map(|i| T::from_f64(0.7 * s.normal(i as u64))).collect();
    let assigned = |n: u64| s.substream(1).below(n, clusters as u64) as u32;
    Prototypes {
        centers: Dense::from_vec(clusters, dim, centers).unwrap(),
        assignments: (0..nodes as u64).map(assigned).collect(),
    }
}

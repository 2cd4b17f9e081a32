use super::*;
use crate::graph::{Layer, MultiplexGraph};
use crate::matrix::{Csr, Matrix};
use crate::settings::Settings;

const NODES: usize = 301;
const FEATURES: usize = 5;

/// A hub, joined to all others by edges of different weights, and a ring.
fn hub() -> (Settings, Source) {
    let stream = Stream::new(3, Purpose::Planted);
    let ring = (1..NODES).map(|n| (n as u32, ((n + 1) % NODES) as u32, 1.0));
    let spokes = (1..NODES).map(|n| (0, n as u32, 0.1 + stream.uniform(n as u64) as f32));
    let adjacency = Csr::from_triplets(NODES, NODES, spokes.chain(ring).collect()).unwrap();
    let layers = vec![Layer { name: "hub".into(), adjacency }];
    let number = |i: u64| stream.substream(1).normal(i) as f32;
    let values = (0..(NODES * FEATURES) as u64).map(number).collect();
    // Every other number is stored.
    let mut values = Dense::from_vec(NODES, FEATURES, values).unwrap();
    values.values_mut().iter_mut().step_by(2).for_each(|v| *v = 0.0);
    let attributes = Matrix::Sparse(Csr::from_dense(&values));
    let graph = MultiplexGraph::new(layers, attributes).unwrap();
    let mut settings = Settings::default();
    let dim = FEATURES.to_string();
    for (key, value) in [("self_loops", "all"), ("activation", "relu"), ("dim", &dim)] {
        settings.set(key, value).unwrap();
    }
    let source = Source::new(graph, settings.preprocessing(), None).unwrap();
    (settings, source)
}

/// The hub's row of A X, with at most so many edges followed.
fn row(settings: &Settings, batches: &Batches<f64>, cap: (usize, Stream)) -> Vec<f64> {
    // Far above zero, where relu leaves numbers as they are.
    const ABOVE: f64 = 100.0;
    let mut weight = Dense::zeros(FEATURES, FEATURES);
    weight.values_mut().iter_mut().step_by(FEATURES + 1).for_each(|v| *v = 1.0);
    let weights = LayerWeights { weight, self_weight: None, bias: vec![ABOVE; FEATURES] };
    let rows = batches.anchor(settings, 0, &weights, &[0], cap);
    rows.values().iter().map(|v| v - ABOVE).collect()
}

#[test]
fn what_is_followed_of_a_hub_is_right_on_average() {
    let (settings, source) = hub();
    let batches = Batches::new(source, NODES);
    let row = |cap| row(&settings, &batches, cap);
    let stage = crate::engine::Stage::Joint;
    let cap = |epoch| {
        let step = Step { stage, epoch, recluster: None, lambda_c: 0.0 };
        (CAP, draw::stream(settings.seed, Purpose::Cap, &step, 0))
    };
    let full = row((usize::MAX, cap(0).1));
    assert_eq!(full, row((NODES, cap(7).1)));
    let steps = 4000u32;
    let rows: Vec<Vec<f64>> = (0..steps).map(|epoch| row(cap(epoch))).collect();
    for (c, full) in full.iter().enumerate() {
        let count = f64::from(steps);
        let mean = rows.iter().map(|row| row[c]).sum::<f64>() / count;
        let square = rows.iter().map(|row| (row[c] - mean).powi(2)).sum::<f64>();
        let error = (square / (count - 1.0) / count).sqrt();
        // Single rows differ from the whole by far more than their mean does.
        assert!(error > 1e-5, "column {c}: {error}");
        assert!((mean - full).abs() < 4.0 * error, "column {c}: {mean}, not {full} +- {error}");
    }
}

#[test]
fn of_a_hub_as_many_edges_are_followed_as_may_be_each_at_most_once() {
    let (_, source) = hub();
    let stream = Stream::new(5, Purpose::Cap);
    let mut edges = Vec::<source::Edge<f64>>::new();
    source.edges(0, 0, CAP, stream, &mut edges);
    // The loop it was given is followed as well, and has its own place behind the stored entries.
    assert_eq!(edges.len(), CAP + 1);
    assert!(edges.windows(2).all(|pair| pair[0].place < pair[1].place));
    assert_eq!((edges[CAP].to, edges[CAP].place), (0, 2 * (NODES as u64 - 1)));
    // A node that has few keeps all, whatever the numbers.
    source.edges(0, 9, CAP, stream, &mut edges);
    assert_eq!(edges.iter().map(|edge| edge.to).collect::<Vec<_>>(), [10, 9]);
}

#[test]
fn a_pass_visits_every_node_at_most_once_and_as_many_as_fit() {
    let (settings, source) = hub();
    let mut batches = Batches::<f64>::new(source, 70);
    let mut nodes_of = |stage, epoch| {
        batches.choose(settings.seed, &Step { stage, epoch, recluster: None, lambda_c: 0.0 });
        batches.nodes.clone()
    };
    use crate::engine::Stage::{Joint, Warmup};
    let mut visited: Vec<u32> = (0..4).flat_map(|epoch| nodes_of(Joint, epoch)).collect();
    visited.sort_unstable();
    visited.dedup();
    assert_eq!(visited.len(), 280);
    assert_ne!(nodes_of(Joint, 0), nodes_of(Joint, 4));
    assert_ne!(nodes_of(Joint, 0), nodes_of(Warmup, 0));
    assert_eq!(nodes_of(Joint, 2), nodes_of(Joint, 2));
    assert!(nodes_of(Joint, 3).is_sorted());
}

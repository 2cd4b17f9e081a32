//! Steps over batches against steps over the whole graph.
//!
//! A batch of all nodes draws the same masks, by the place of an entry, and the same permutation. Where no node has more edges
//! than a step follows and none is given a self-loop, terms and gradients are then those of the whole graph, up to the
//! factors of preprocessing, which batches keep in single precision.

mod common;

use std::sync::Arc;
use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, Prototypes, Stage, Terms};
use xgoal::graph::MultiplexGraph;
use xgoal::matrix::Dense;
use xgoal::model::LayerWeights;
use xgoal::random::{Purpose, Stream};
use xgoal::settings::Config;
use xgoal::train::step;

const NODES: usize = 150;
const FEATURES: usize = 12;
const TOLERANCE: f64 = 1e-6;

/// The two layers in which every node has edges, and never as many as a step follows.
fn graph(dense: bool, structure: bool) -> MultiplexGraph {
    let graph = common::graph(NODES, FEATURES, dense);
    let graph = graph.select_layers(&["equal".into(), "sparse".into()]).unwrap();
    let edges = |n| graph.layers().iter().map(move |layer| layer.adjacency.row(n).1.len());
    assert!((0..NODES).flat_map(edges).all(|count| (1..=64).contains(&count)));
    if !structure {
        return graph;
    }
    let s = Stream::new(37, Purpose::Planted);
    let values = (0..NODES as u64 * 5).map(|i| s.normal(i) as f32).collect();
    graph.with_structure(Arc::new(Dense::from_vec(NODES, 5, values).unwrap())).unwrap()
}

/// The prototype each node is nearest to, which batches find by themselves.
fn assigned(engine: &mut CpuEngine<f64>, config: &Config) -> Vec<Prototypes<f64>> {
    let embedded = engine.embed_layers().unwrap();
    let of_layer = |(v, rows): (usize, &Dense)| {
        let mut given = common::prototypes::<f64>(v, (4, config.settings().dim), NODES);
        let distance = |n: usize, k: usize| -> f64 {
            let pairs = rows.row(n).iter().zip(given.centers.row(k));
            pairs.map(|(z, c)| (f64::from(*z) - c).powi(2)).sum()
        };
        let nearest = |n| (0..4).min_by(|a, b| distance(n, *a).total_cmp(&distance(n, *b)));
        given.assignments = (0..NODES).map(|n| nearest(n).unwrap() as u32).collect();
        given
    };
    embedded.iter().enumerate().map(of_layer).collect()
}

fn values(terms: &Terms) -> Vec<f64> {
    let some = [terms.l_c, terms.r_n, terms.r_c, terms.mi_node, terms.mi_cluster];
    let first = [terms.loss, terms.l_n].into_iter().chain(terms.layers.iter().copied());
    first.chain(some.into_iter().flatten()).chain(terms.agreement.iter().copied()).collect()
}

/// The largest difference, relative to the largest number.
fn off(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0f64, |a, e| a.max(e.abs()));
    assert!(scale > 0.0, "every expected number is zero");
    found.iter().zip(expected).map(|(f, e)| (f - e).abs() / scale).fold(0.0, f64::max)
}

fn gradients(engine: &CpuEngine<f64>) -> impl Iterator<Item = &[f64]> {
    engine.gradients().iter().flat_map(LayerWeights::tensors)
}

/// The largest error of terms and gradients over three steps of each stage.
fn compare(graph: &MultiplexGraph, changes: &[(&str, &str)]) -> f64 {
    let base = [
        ("dim", "9"),
        ("seed", "3"),
        ("mu_n", "0.7"),
        ("mu_c", "0.4"),
        ("lambda_c", "0.6"),
        ("structure_weight", "0.7"),
    ];
    let config = common::config(&graph.layer_names(), &[&base[..], changes].concat());
    let weights = common::weights::<f64>(&config, graph.columns());
    let applied = config.preprocessing().apply(graph).unwrap();
    let mut whole = CpuEngine::new(&config, &applied, weights.clone()).unwrap();
    let prototypes = assigned(&mut whole, &config);
    whole.set_prototypes(prototypes.clone());
    // More nodes than there are is all of them.
    let mut batch = CpuEngine::batched(&config, graph.clone(), 2 * NODES, weights).unwrap();
    batch.set_prototypes(prototypes);
    let mut worst = 0f64;
    for stage in [Stage::Warmup, Stage::Joint] {
        for epoch in 0..3 {
            let step = step(&config, None, stage, epoch);
            let expected = values(&whole.evaluate(&step).unwrap());
            let found = values(&batch.evaluate(&step).unwrap());
            worst = worst.max(off(&found, &expected));
            for (found, expected) in gradients(&batch).zip(gradients(&whole)) {
                worst = worst.max(off(found, expected));
            }
        }
    }
    let pairs = batch.embed_layers().unwrap().into_iter().zip(whole.embed_layers().unwrap());
    for (found, expected) in pairs {
        let numbers = |m: Dense| m.values().iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
        worst = worst.max(off(&numbers(found), &numbers(expected)));
    }
    worst
}

#[test]
fn a_batch_of_all_nodes_is_the_whole_graph() {
    for (dense, structure) in [(false, false), (true, false), (false, true), (true, true)] {
        let graph = graph(dense, structure);
        for (encoder, activation) in [("first-order", "tanh"), ("gcn", "relu")] {
            for augmentation in ["dropout", "mask"] {
                let changes = [
                    ("encoder", encoder),
                    ("activation", activation),
                    ("augmentation", augmentation),
                    ("p_drop", "0.3"),
                    ("normalize_attributes", "l2"),
                    // Beside sparse attributes, structure has other places.
                    ("drop_attributes", if structure && !dense { "false" } else { "true" }),
                ];
                let worst = compare(&graph, &changes);
                let of = format!("dense {dense}, structure {structure}, {changes:?}");
                assert!(worst < TOLERANCE, "{of}: {worst}");
            }
        }
    }
}

#[test]
fn preprocessing_that_makes_attributes_dense_is_the_same_for_batches() {
    for (columns, smooth) in [("center", "0"), ("none", "1"), ("standard", "1")] {
        let changes = [("normalize_columns", columns), ("smooth_attributes", smooth)];
        let worst = compare(&graph(false, true), &changes);
        assert!(worst < TOLERANCE, "{changes:?}: {worst}");
    }
}

/// Nothing is dropped, so that it does not matter where self-loops stand among the edges.
#[test]
fn self_loops_are_the_same_for_batches() {
    for (loops, edges) in [("isolated", "symmetric"), ("all", "symmetric"), ("all", "none")] {
        let changes = [("self_loops", loops), ("normalize_edges", edges), ("drop_edges", "false")];
        let worst = compare(&common::graph(NODES, FEATURES, false), &changes);
        assert!(worst < TOLERANCE, "{changes:?}: {worst}");
    }
}

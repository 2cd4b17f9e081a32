//! What prototypes are made of.

mod common;

use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, Prototypes, Stage, Step};
use xgoal::matrix::Dense;
use xgoal::train::{recluster, step};

const NODES: usize = 200;
const CLUSTERS: usize = 5;

/// Each layer's embeddings, and the prototypes that are found in them, from scratch or going on from others.
fn found(from_others: bool) -> (Vec<Dense<f32>>, Vec<Prototypes>) {
    let graph = common::graph(NODES, 20, true);
    let set = [("dim", "8")];
    let config = common::config(&graph.layer_names(), &set);
    let prepared = config.preprocessing().apply(&graph).unwrap();
    let weights = common::weights(&config, 20);
    let mut engine = CpuEngine::<f32>::new(&config, &prepared, weights).unwrap();
    let counts = vec![CLUSTERS; prepared.layers.len()];
    if from_others {
        let given = (0..counts.len()).map(|v| common::prototypes(v, (CLUSTERS, 8), NODES));
        engine.set_prototypes(given.collect());
    }
    let recluster = Some(recluster(&config, &counts));
    engine.evaluate(&Step { recluster, ..step(&config, None, Stage::Joint, 0) }).unwrap();
    (engine.embed_layers().unwrap(), engine.state().unwrap().prototypes.unwrap())
}

/// How far centres are from the means of the rows that are assigned to them, at most.
fn off(layer: &Dense<f32>, prototypes: &Prototypes) -> f32 {
    let mut most: f32 = 0.0;
    for k in 0..CLUSTERS {
        let rows: Vec<usize> =
            (0..NODES).filter(|n| prototypes.assignments[*n] as usize == k).collect();
        assert!(!rows.is_empty());
        for (c, center) in prototypes.centers.row(k).iter().enumerate() {
            let mean = rows.iter().map(|n| layer.row(*n)[c]).sum::<f32>() / rows.len() as f32;
            most = most.max((mean - center).abs());
        }
    }
    most
}

#[test]
fn own_ones_differ_between_layers() {
    for from_others in [false, true] {
        let (layers, own) = found(from_others);
        assert_ne!(own[0].assignments, own[1].assignments);
        // Lloyd stops when centres hardly move.
        assert!(layers.iter().zip(&own).all(|(layer, own)| off(layer, own) < 0.05));
    }
}

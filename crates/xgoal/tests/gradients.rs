//! Every hand-derived gradient against finite differences of the objective, in f64.
//!
//! The objective is moved through each weight in turn and compared with the engine's gradient by the
//! five-point rule, to 1e-6 of the largest entry of the tensor: the four terms, alone and together,
//! through both encoders, both activations and every augmentation, over sparse and dense attributes,
//! through the product with equal rows, and through batches of nodes.
//!
//! R_C is special: its anchor distributions p pass no gradient but do move with the weights. A layer
//! with a single prototype has a constant p, so its weights reach R_C through q alone and
//! differences apply to them. Each layer takes its turn to be that one.

mod common;

use std::sync::Arc;
use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, Prototypes, Stage};
use xgoal::graph::{Layer, MultiplexGraph};
use xgoal::matrix::{Csr, Dense};
use xgoal::model::LayerWeights;
use xgoal::random::{Purpose, Stream};
use xgoal::settings::{Activation, Config};
use xgoal::train::step;

const TOLERANCE: f64 = 1e-6;
const NODES: usize = 12;
const FEATURES: usize = 6;

/// Settings that every case starts from; none of them is the default where that would hide it.
const BASE: [(&str, &str); 6] = [
    ("dim", "5"),
    ("tau", "0.5,1,0.3"),
    ("align_tau", "0.7"),
    ("layer_weights", "1,0.5,2"),
    ("warmup_mu_n", "0.8"),
    ("seed", "3"),
];

/// lambda_n, lambda_c, mu_n, mu_c.
type TermWeights = [&'static str; 4];

const ALL: TermWeights = ["1.5", "0.6", "0.7", "1.2"];
const ALL_BUT_R_C: TermWeights = ["1.5", "0.6", "0.7", "0"];

/// One comparison of the engine with differences.
struct Check<'a> {
    config: &'a Config,
    graph: &'a MultiplexGraph,
    /// Nodes of a step; all without.
    batch: Option<usize>,
    prototypes: Option<Vec<Prototypes<f64>>>,
    stage: Stage,
    /// The layers whose weights are moved.
    layers: Vec<usize>,
    /// Every how manyth weight is moved, and the first one; of a bias, at least every fifth.
    sample: (usize, usize),
}

impl Check<'_> {
    /// The largest error relative to its tensor; fails above the tolerance.
    fn run(self, name: &str) -> f64 {
        let weights = common::weights(self.config, self.graph.columns());
        let mut engine = engine(self.config, self.graph, self.batch, weights.clone());
        if let Some(prototypes) = self.prototypes {
            engine.set_prototypes(prototypes);
        }
        let step = step(self.config, None, self.stage, 2);
        engine.evaluate(&step).unwrap();
        let gradients = engine.gradients().to_vec();
        // Tanh allows a longer step, and so less rounding; relu has kinks to stay clear of.
        let h = match self.config.settings().activation {
            Activation::Tanh => 3e-5,
            Activation::Relu => 2e-6,
        };
        let mut worst = 0f64;
        for v in self.layers {
            let bias = gradients[v].tensors().count() - 1;
            for (t, gradient) in gradients[v].tensors().enumerate() {
                let scale = gradient.iter().fold(0f64, |a, g| a.max(g.abs()));
                assert!(scale > 0.0, "{name}, layer {v}, tensor {t}: the gradient is zero");
                let (stride, first) = self.sample;
                let stride = if t == bias { stride.min(5) } else { stride };
                for i in (first % stride..gradient.len()).step_by(stride) {
                    let value = weights[v].tensors().nth(t).unwrap()[i];
                    let mut at = |delta: f64| {
                        let moved = &mut engine.weights_mut()[v];
                        moved.tensors_mut().nth(t).unwrap()[i] = value + delta;
                        engine.evaluate(&step).unwrap().loss
                    };
                    let (near, far) = (at(h) - at(-h), at(2.0 * h) - at(-2.0 * h));
                    at(0.0);
                    let five = (8.0 * near - far) / (12.0 * h);
                    let at_place = format!("{name}, layer {v}, tensor {t}, weight {i}");
                    // A kink of relu inside the stencil would pull the two rules apart.
                    assert!(
                        (five - far / (4.0 * h)).abs() <= TOLERANCE * scale,
                        "{at_place}: the objective is not smooth here"
                    );
                    let error = (five - gradient[i]).abs() / scale;
                    assert!(
                        error < TOLERANCE,
                        "{at_place}: {five} by differences, {} by derivation",
                        gradient[i]
                    );
                    worst = worst.max(error);
                }
            }
        }
        worst
    }
}

/// Whole-graph products, or steps over batches.
fn engine(
    config: &Config,
    graph: &MultiplexGraph,
    batch: Option<usize>,
    weights: Vec<LayerWeights<f64>>,
) -> CpuEngine<f64> {
    match batch {
        None => CpuEngine::new(config, &config.preprocessing().apply(graph).unwrap(), weights),
        Some(size) => CpuEngine::batched(config, graph.clone(), size, weights),
    }
    .unwrap()
}

/// Three, four and five prototypes, or a single one in layer `alone`.
fn prototypes(config: &Config, nodes: usize, alone: Option<usize>) -> Vec<Prototypes<f64>> {
    let clusters = |v| if alone == Some(v) { 1 } else { 3 + v };
    let dim = config.settings().dim;
    (0..3).map(|v| common::prototypes(v, (clusters(v), dim), nodes)).collect()
}

fn settings(names: &[String], changes: &[(&str, &str)], terms: TermWeights) -> Config {
    let keys = ["lambda_n", "lambda_c", "mu_n", "mu_c"];
    let terms: Vec<_> = keys.into_iter().zip(terms).collect();
    common::config(names, &[&BASE[..], changes, &terms].concat())
}

/// The three comparisons of a case: the warm-up, the joint stage without R_C, and the joint stage
/// with all four terms for the layer of a single prototype.
fn stages(
    (graph, batch): (&MultiplexGraph, Option<usize>),
    case: &[(&str, &str)],
    sample: (usize, usize),
    alone: usize,
) -> f64 {
    let names = graph.layer_names();
    let nodes = graph.nodes();
    let (smooth, full) = (settings(&names, case, ALL_BUT_R_C), settings(&names, case, ALL));
    let all = vec![0, 1, 2];
    let checks = [
        Check {
            config: &smooth,
            graph,
            batch,
            prototypes: None,
            stage: Stage::Warmup,
            layers: all.clone(),
            sample,
        },
        Check {
            config: &smooth,
            graph,
            batch,
            prototypes: Some(prototypes(&smooth, nodes, None)),
            stage: Stage::Joint,
            layers: all,
            sample,
        },
        Check {
            config: &full,
            graph,
            batch,
            prototypes: Some(prototypes(&full, nodes, Some(alone))),
            stage: Stage::Joint,
            layers: vec![alone],
            sample,
        },
    ];
    checks
        .into_iter()
        .enumerate()
        .map(|(i, c)| c.run(&format!("{case:?}, {i}")))
        .fold(0.0, f64::max)
}

fn shown(errors: &[f64]) -> String {
    errors.iter().map(|e| format!("{e:.1e}")).collect::<Vec<_>>().join(", ")
}

/// Small products are faster without handing them to other threads.
fn in_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

/// Every encoder, activation and augmentation. Every second weight is moved, the odd and the even
/// ones in turn.
fn sweep(dense: bool) {
    let graph = common::graph(NODES, FEATURES, dense);
    let mut worst = 0f64;
    for case in 0..128 {
        let pick = |bit: usize, choices: [&'static str; 2]| choices[case >> bit & 1];
        let changes = [
            ("p_drop", pick(1, ["0.5", "0.3"])),
            ("drop_edges", pick(2, ["true", "false"])),
            ("drop_attributes", pick(3, ["true", "false"])),
            ("augmentation", pick(4, ["dropout", "mask"])),
            ("activation", pick(5, ["tanh", "relu"])),
            ("encoder", pick(6, ["first-order", "gcn"])),
        ];
        // The lowest bit says which weights are moved.
        worst = worst.max(stages((&graph, None), &changes, (2, case), case % 3));
    }
    println!("dense {dense}: largest relative error {worst:.1e}");
}

#[test]
fn sparse_attributes_through_every_augmentation() {
    in_one_thread(|| sweep(false));
}

#[test]
fn dense_attributes_through_every_augmentation() {
    in_one_thread(|| sweep(true));
}

#[test]
fn each_term_alone() {
    let graph = common::graph(NODES, FEATURES, false);
    let names = graph.layer_names();
    let mut worst = [0f64; 4];
    for (encoder, activation) in
        [("first-order", "tanh"), ("first-order", "relu"), ("gcn", "tanh"), ("gcn", "relu")]
    {
        let case = [("encoder", encoder), ("activation", activation)];
        for (term, worst) in worst.iter_mut().enumerate() {
            let mut terms = ["0"; 4];
            terms[term] = "1.3";
            let config = settings(&names, &case, terms);
            // Only R_C needs the layers one by one.
            let turns: Vec<(Option<usize>, Vec<usize>)> = if term == 3 {
                (0..3).map(|v| (Some(v), vec![v])).collect()
            } else {
                vec![(None, vec![0, 1, 2])]
            };
            for (alone, layers) in turns {
                let check = Check {
                    config: &config,
                    graph: &graph,
                    batch: None,
                    prototypes: Some(prototypes(&config, NODES, alone)),
                    stage: Stage::Joint,
                    layers,
                    sample: (1, 0),
                };
                *worst = worst.max(in_one_thread(|| check.run(&format!("{case:?} {terms:?}"))));
            }
        }
    }
    println!("L_N, L_C, R_N, R_C alone: largest relative errors {}", shown(&worst));
}

/// More nodes than the blocks of every sum, more attributes than a strip, and a dim beyond the
/// sixteen running sums of a dot product.
#[test]
fn across_blocks_and_strips() {
    let sizes = [(1100, 12, false, 67), (150, 70, true, 331)];
    let worst = sizes.map(|(nodes, features, dense, stride)| {
        let graph = common::graph(nodes, features, dense);
        let case = [("dim", "19"), ("p_drop", "0.3")];
        stages((&graph, None), &case, (stride, 5), 1)
    });
    println!("1100 nodes, 70 attributes: largest relative errors {}", shown(&worst));
}

/// Layers the engine holds as bits, with and without equal rows.
#[test]
fn layers_as_bits() {
    let worst = [("0.5", 1), ("0.3", 0)].map(|(p_drop, alone)| {
        let graph = common::unweighted(400, 12, false);
        stages((&graph, None), &[("dim", "19"), ("p_drop", p_drop)], (67, 5), alone)
    });
    println!("bits: largest relative errors {}", shown(&worst));
}

/// Nodes of the graph with hubs, and edges of each of these: more than a step over a batch follows.
const AROUND: usize = 240;
const HUB: usize = 200;

/// The random graph with a layer more, in which every fourth node is a hub.
fn hubs(dense: bool, structure: bool) -> MultiplexGraph {
    let graph = common::graph(AROUND, FEATURES, dense);
    let s = Stream::new(31, Purpose::Planted);
    let edges = (0..AROUND).flat_map(|n| {
        let edges = if n % 4 == 0 { HUB } else { 3 };
        (1..=edges).map(move |e| {
            let weight = 0.25 + s.uniform((n * HUB + e) as u64) as f32;
            (n as u32, ((n + e) % AROUND) as u32, weight)
        })
    });
    let adjacency = Csr::from_triplets(AROUND, AROUND, edges.collect()).unwrap();
    let hubs = Layer { name: "hubs".into(), adjacency };
    let [isolated, equal, _] = graph.layers() else { panic!("three layers") };
    let layers = vec![isolated.clone(), hubs, equal.clone()];
    let graph = MultiplexGraph::new(layers, graph.attributes().clone()).unwrap();
    if !structure {
        return graph;
    }
    let values = (0..AROUND as u64 * 3).map(|i| s.substream(1).normal(i) as f32).collect();
    graph.with_structure(Arc::new(Dense::from_vec(AROUND, 3, values).unwrap())).unwrap()
}

/// Fewer nodes than the graph has, among them hubs of which a step follows some edges alone.
#[test]
fn through_batches() {
    let mut worst = 0f64;
    for case in 0..16 {
        let pick = |bit: usize, choices: [&'static str; 2]| choices[case >> bit & 1];
        let graph = hubs(case & 1 == 1, case & 2 == 2);
        let changes = [
            ("encoder", pick(2, ["first-order", "gcn"])),
            ("activation", pick(3, ["tanh", "relu"])),
            ("p_drop", "0.3"),
            ("structure_weight", "0.7"),
        ];
        let error = in_one_thread(|| stages((&graph, Some(16)), &changes, (3, case), case % 3));
        worst = worst.max(error);
    }
    println!("batches: largest relative error {worst:.1e}");
}

/// More nodes of a batch than a block, and more dense columns than a strip.
#[test]
fn through_batches_across_blocks_and_strips() {
    let worst = [(12, false, 67), (40, true, 331)].map(|(features, dense, stride)| {
        let graph = common::graph(400, features, dense);
        let case = [("dim", "19"), ("p_drop", "0.3")];
        stages((&graph, Some(150)), &case, (stride, 5), 1)
    });
    println!("batches of 150: largest relative errors {}", shown(&worst));
}

/// The condition under which the engine multiplies by distinct rows, for the layer meant to meet it.
#[test]
fn the_layer_of_equal_rows_has_enough_of_them() {
    for nodes in [NODES, 1100] {
        let graph = common::graph(nodes, FEATURES, false);
        let config = settings(&graph.layer_names(), &[], ALL);
        let layers = config.preprocessing().apply(&graph).unwrap().layers;
        let worth = layers.iter().map(|layer| {
            let layer = &layer.weights;
            let rows: Vec<_> = (0..nodes).map(|n| layer.row(n)).collect();
            let first = |n: &usize| !rows[..*n].contains(&rows[*n]);
            let kept: usize = (0..nodes).filter(first).map(|n| rows[n].0.len()).sum();
            2 * kept + nodes <= layer.nnz()
        });
        assert_eq!(worth.collect::<Vec<_>>(), [false, true, false]);
    }
}

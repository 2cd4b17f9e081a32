//! The same bits for any number of threads: terms, prototypes and weights of several joint epochs,
//! with clustering, over all nodes and over batches, under pools of one, two and four threads.

mod common;

use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, EngineState, Stage, Step, Terms};
use xgoal::graph::MultiplexGraph;
use xgoal::model::initial_weights;
use xgoal::settings::Config;
use xgoal::train::{recluster, step};

/// More than one block of every sum and more than one chunk of Adam.
const NODES: usize = 1100;
const FEATURES: usize = 300;
const DIM: &str = "60";

struct Run {
    terms: Vec<Terms>,
    state: EngineState,
}

/// Trains as the settings say, over all nodes or over batches.
fn train(config: &Config, graph: &MultiplexGraph, threads: usize) -> Run {
    let layers = graph.layers().len();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let weights = common::weights(config, graph.columns());
        let mut engine = CpuEngine::<f32>::start(config, graph, Some(weights)).unwrap();
        // The first epoch uses these, so that sums over given prototypes are covered too.
        let shape = (4, config.settings().dim);
        let given = (0..layers).map(|v| common::prototypes(v, shape, NODES));
        engine.set_prototypes(given.collect());
        let terms = (0..6).map(|epoch| {
            let counts = &[5; 8][..layers];
            let recluster = recluster(config, counts);
            let recluster = (epoch == 1 || epoch == 4).then_some(recluster);
            let step = Step { recluster, ..step(config, None, Stage::Joint, epoch) };
            let terms = engine.evaluate(&step).unwrap();
            engine.update(&[5e-3; 8][..layers]).unwrap();
            terms
        });
        Run { terms: terms.collect(), state: engine.state().unwrap() }
    })
}

/// The graph with structure beside its attributes.
fn beside(dense: bool) -> MultiplexGraph {
    let graph = common::graph(NODES, FEATURES, dense);
    let structure = graph.find_structure(20).unwrap();
    graph.with_structure(structure.into()).unwrap()
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for (graph, changes) in [
        (common::graph(NODES, FEATURES, false), [("activation", "tanh"), ("p_drop", "0.5")]),
        (common::graph(NODES, FEATURES, true), [("activation", "relu"), ("p_drop", "0.3")]),
        (common::unweighted(NODES, FEATURES, false), [("activation", "tanh"), ("p_drop", "0.5")]),
        (common::graph(NODES, FEATURES, true), [("lambda_c", "0.2"), ("p_drop", "0.5")]),
        (common::graph(NODES, FEATURES, false), [("method", "goal"), ("p_drop", "0.5")]),
        (common::graph(NODES, FEATURES, false), [("batch", "300"), ("p_drop", "0.3")]),
        (beside(true), [("batch", "300"), ("lambda_c", "0.2")]),
        (beside(false), [("batch", "70"), ("encoder", "gcn")]),
        (beside(false), [("batch", "all"), ("p_drop", "0.5")]),
    ] {
        let names = graph.layer_names();
        let base = [("dim", DIM), ("clusters", "5"), ("mu_n", "0.1"), ("kmeans_restarts", "3")];
        let config = common::config(&names, &[&base[..], &changes].concat());
        let one = train(&config, &graph, 1);
        let aligned = config.aligned();
        assert!(one.terms.iter().all(|t| t.loss.is_finite() && t.r_c.is_some() == aligned));
        assert_ne!(one.state.weights, common::weights::<f32>(&config, graph.columns()));
        for threads in [2, 4] {
            let other = train(&config, &graph, threads);
            assert_eq!(bits(&one), bits(&other), "{names:?}, {changes:?}, {threads} threads");
            assert_eq!(one.state, other.state, "{names:?}, {changes:?}, {threads} threads");
        }
    }
}

#[test]
fn principal_starts_are_the_same_for_any_number_of_threads() {
    for dense in [false, true] {
        let graph = common::graph(NODES, FEATURES, dense);
        let set = [("dim", DIM), ("start", "principal")];
        let config = common::config(&graph.layer_names(), &set);
        let graph = config.preprocessing().apply(&graph).unwrap();
        let start = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| initial_weights::<f32>(&config, &graph))
        };
        let one = start(1);
        assert!(one[0].weight.values().iter().any(|v| *v != 0.0));
        assert!(one == start(2) && one == start(4), "dense: {dense}");
    }
}

/// Losses and weights as bits, which tell apart what `==` on floats does not.
fn bits(run: &Run) -> (Vec<u64>, Vec<u32>) {
    let weights = run.state.weights.iter().flat_map(|layer| layer.tensors().flatten());
    (run.terms.iter().map(|t| t.loss.to_bits()).collect(), weights.map(|w| w.to_bits()).collect())
}

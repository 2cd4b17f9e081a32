//! Terms, gradients and Adam steps against PyTorch's autograd, and f32 against f64.
//!
//! `golden/gradients.json` is written by `scripts/golden_gradients.py`, which has the paper's
//! equations and the library's random numbers but none of its derivations. Agreement therefore shows
//! that preprocessing, draws, initial weights, encoders, the four terms and their gradients are those
//! of the definitions, with p in R_C held constant.

mod common;

use serde::Deserialize;
use serde_json::{Map, Value};
use xgoal::engine::cpu::{CpuEngine, Kernels};
use xgoal::engine::{Engine, Prototypes, Stage, Step, Terms};
use xgoal::graph::preprocess::Preprocessed;
use xgoal::graph::{Layer, MultiplexGraph};
use xgoal::matrix::{Csr, Dense, Matrix};
use xgoal::model::{LayerWeights, random_weights};
use xgoal::real::Real;
use xgoal::settings::{Config, Schedule, Settings};
use xgoal::train;

type Entries = Vec<(u32, u32, f32)>;

#[derive(Deserialize)]
struct Golden {
    nodes: usize,
    features: usize,
    settings: Map<String, Value>,
    layers: Map<String, Value>,
    attributes: Entries,
    prototypes: Vec<Clusters>,
    biases: Vec<Vec<f64>>,
    cases: Vec<Case>,
    adam: Vec<Case>,
}

#[derive(Deserialize)]
struct Clusters {
    centers: Vec<Vec<f64>>,
    assignments: Vec<u32>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    stage: String,
    epoch: u32,
    layers: Vec<String>,
    attributes: String,
    biased: bool,
    settings: Map<String, Value>,
    #[serde(default)]
    terms: GoldenTerms,
    #[serde(default)]
    gradients: Vec<Tensors>,
    #[serde(default)]
    steps: u32,
    #[serde(default)]
    lr: f64,
    #[serde(default)]
    weights: Vec<Tensors>,
}

#[derive(Deserialize, Default)]
struct GoldenTerms {
    loss: f64,
    l_n: f64,
    l_c: Option<f64>,
    r_n: Option<f64>,
    r_c: Option<f64>,
    mi_node: Option<f64>,
    mi_cluster: Option<f64>,
}

#[derive(Deserialize)]
struct Tensors {
    weight: Vec<f64>,
    self_weight: Option<Vec<f64>>,
    bias: Vec<f64>,
}

impl Tensors {
    fn all(&self) -> impl Iterator<Item = &[f64]> {
        let tensors = [Some(&self.weight), self.self_weight.as_ref(), Some(&self.bias)];
        tensors.into_iter().flatten().map(Vec::as_slice)
    }
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/gradients.json")).unwrap()
}

impl Golden {
    fn prepare(&self, case: &Case) -> (Config, MultiplexGraph) {
        let layers = case.layers.iter().map(|name| {
            let entries: Entries = serde_json::from_value(self.layers[name].clone()).unwrap();
            let adjacency = Csr::from_triplets(self.nodes, self.nodes, entries).unwrap();
            Layer { name: name.clone(), adjacency }
        });
        let mut values = vec![0f32; self.nodes * self.features];
        for &(r, c, v) in &self.attributes {
            values[r as usize * self.features + c as usize] = v;
        }
        let attributes = Dense::from_vec(self.nodes, self.features, values).unwrap();
        let attributes = match case.attributes.as_str() {
            "dense" => Matrix::Dense(attributes),
            _ => Matrix::Sparse(Csr::from_dense(&attributes)),
        };
        let graph = MultiplexGraph::new(layers.collect(), attributes).unwrap();
        // The framework began every layer with weights of its own.
        let mut settings = Settings { schedule: Schedule::Paper, ..Settings::default() };
        for (key, value) in self.settings.iter().chain(&case.settings) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            settings.set(key, &text).unwrap();
        }
        let config = settings.validate(&case.layers).unwrap();
        (config, graph)
    }

    fn engine<T: Kernels>(&self, case: &Case) -> CpuEngine<T> {
        let (config, graph) = self.prepare(case);
        let mut weights = random_weights::<T>(&config, self.features);
        if case.biased {
            for (layer, bias) in weights.iter_mut().zip(&self.biases) {
                layer.bias = bias.iter().map(|b| T::from_f64(*b)).collect();
            }
        }
        let graph = config.preprocessing().apply(&graph).unwrap();
        let mut engine = CpuEngine::new(&config, &graph, weights).unwrap();
        let prototypes = self.prototypes.iter().take(case.layers.len()).map(|clusters| {
            let centers = clusters.centers.iter().flatten().map(|c| T::from_f64(*c)).collect();
            let rows = clusters.centers.len();
            Prototypes {
                centers: Dense::from_vec(rows, config.settings().dim, centers).unwrap(),
                assignments: clusters.assignments.clone(),
            }
        });
        engine.set_prototypes(prototypes.collect());
        engine
    }
}

fn step(golden: &Golden, case: &Case, epoch: u32) -> Step<'static> {
    let stage = if case.stage == "joint" { Stage::Joint } else { Stage::Warmup };
    train::step(&golden.prepare(case).0, None, stage, epoch)
}

/// The largest difference of two tensors, relative to the largest entry of the second.
fn relative<T: Real>(found: &[T], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0f64, |a, e| a.max(e.abs()));
    assert!(scale > 0.0, "every expected number is zero");
    let differences = found.iter().zip(expected).map(|(f, e)| (f.to_f64() - e).abs());
    differences.fold(0f64, f64::max) / scale
}

/// The largest relative difference over all tensors of all layers.
fn relative_weights<T: Real>(found: &[LayerWeights<T>], expected: &[Tensors]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let layers = found.iter().zip(expected);
    let tensors = layers.flat_map(|(f, e)| {
        assert_eq!(f.tensors().count(), e.all().count());
        f.tensors().zip(e.all())
    });
    tensors.map(|(f, e)| relative(f, e)).fold(0f64, f64::max)
}

/// Terms in one list; those absent must be absent on both sides.
fn relative_terms(found: &Terms, expected: &GoldenTerms) -> f64 {
    let pairs = [
        (Some(found.loss), Some(expected.loss)),
        (Some(found.l_n), Some(expected.l_n)),
        (found.l_c, expected.l_c),
        (found.r_n, expected.r_n),
        (found.r_c, expected.r_c),
        (found.mi_node, expected.mi_node),
        (found.mi_cluster, expected.mi_cluster),
    ];
    let differences = pairs.into_iter().map(|(f, e)| match (f, e) {
        (Some(f), Some(e)) => (f - e).abs() / e.abs(),
        (None, None) => 0.0,
        _ => panic!("{f:?} and {e:?}"),
    });
    differences.fold(0f64, f64::max)
}

#[test]
fn terms_and_gradients_are_those_of_autograd() {
    let golden = golden();
    let mut worst = (0f64, 0f64);
    for case in &golden.cases {
        let mut engine = golden.engine::<f64>(case);
        let terms = engine.evaluate(&step(&golden, case, case.epoch)).unwrap();
        let terms = relative_terms(&terms, &case.terms);
        let gradients = relative_weights(engine.gradients(), &case.gradients);
        assert!(terms < 1e-11, "{}: terms differ by {terms}", case.name);
        assert!(gradients < 1e-11, "{}: gradients differ by {gradients}", case.name);
        worst = (worst.0.max(terms), worst.1.max(gradients));
    }
    println!("terms to {:.1e}, gradients to {:.1e}", worst.0, worst.1);
}

#[test]
fn adam_steps_are_those_of_the_framework() {
    let golden = golden();
    for case in &golden.adam {
        let mut engine = golden.engine::<f64>(case);
        for epoch in 0..case.steps {
            engine.evaluate(&step(&golden, case, epoch)).unwrap();
            engine.update(&vec![case.lr; case.weights.len()]).unwrap();
        }
        let error = relative_weights(engine.weights_mut(), &case.weights);
        println!("{}: weights to {error:.1e}", case.name);
        assert!(error < 1e-9, "{}: weights differ by {error}", case.name);
    }
}

#[test]
fn single_precision_agrees_with_autograd() {
    let golden = golden();
    let mut worst = 0f64;
    for case in &golden.cases {
        let mut engine = golden.engine::<f32>(case);
        let terms = engine.evaluate(&step(&golden, case, case.epoch)).unwrap();
        let error = relative_terms(&terms, &case.terms)
            .max(relative_weights(engine.gradients(), &case.gradients));
        assert!(error < 1e-4, "{}: f32 differs by {error}", case.name);
        worst = worst.max(error);
    }
    println!("f32 to {worst:.1e}");
}

/// Wide enough for every strip of the f32 kernels, and more nodes than a block.
#[test]
fn single_precision_agrees_with_double_on_a_wider_model() {
    for (dense, activation) in [(false, "tanh"), (true, "tanh"), (false, "relu")] {
        let graph = common::graph(300, 90, dense);
        let changes = [("dim", "141"), ("activation", activation), ("tau", "0.5"), ("mu_n", "0.3")];
        let config = common::config(&graph.layer_names(), &changes);
        let graph = config.preprocessing().apply(&graph).unwrap();
        let mut single = wide::<f32>(&config, &graph);
        let mut double = wide::<f64>(&config, &graph);
        let step = train::step(&config, None, Stage::Joint, 1);
        let (a, b) = (single.evaluate(&step).unwrap(), double.evaluate(&step).unwrap());
        assert!((a.loss - b.loss).abs() < 1e-6 * b.loss, "{a:?} and {b:?}");
        let mut worst = 0f64;
        for (a, b) in single.gradients().iter().zip(double.gradients()) {
            a.tensors().zip(b.tensors()).for_each(|(a, b)| worst = worst.max(relative(a, b)));
        }
        println!("dense {dense}, {activation}: f32 to {worst:.1e}");
        assert!(worst < 1e-4, "dense {dense}, {activation}: f32 differs by {worst}");
    }
}

fn wide<T: Kernels>(config: &Config, graph: &Preprocessed<'_>) -> CpuEngine<T> {
    let (nodes, features) = (graph.attributes.rows(), graph.attributes.cols());
    let weights = common::weights(config, features);
    let mut engine = CpuEngine::new(config, graph, weights).unwrap();
    let shape = (7, config.settings().dim);
    let prototypes = (0..graph.layers.len()).map(|v| common::prototypes(v, shape, nodes));
    engine.set_prototypes(prototypes.collect());
    engine
}

//! The paper's presets against a program that has nothing in common with them but the paper.
//!
//! `golden/presets.json` is written by `scripts/replay_presets.py`, which has the whole schedule in NumPy: warm-up,
//! k-means, joint stage, Adam, and the values of each preset as the authors' program has them. Agreement, epoch by epoch,
//! therefore shows that the presets train as stated: by the loss of all layers together and by single losses, on from
//! the warm-up's best weights, with clusters found anew each time, to the last weights and their plain mean.

use serde::Deserialize;
use serde_json::{Map, Value};
use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, Stage};
use xgoal::graph::{Layer, MultiplexGraph};
use xgoal::matrix::{Csr, Matrix};
use xgoal::model::mean_of_layers;
use xgoal::session::{Limits, Plan, plan};
use xgoal::settings::{Count, PerLayer, Preset};
use xgoal::train::Trainer;

#[derive(Deserialize)]
struct Golden {
    nodes: usize,
    features: usize,
    settings: Map<String, Value>,
    layers: Vec<Vec<(u32, u32, f32)>>,
    attributes: Vec<(u32, u32, f32)>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    preset: String,
    clusters: Vec<usize>,
    /// As many of them as the small graph can do with.
    fewer: Vec<usize>,
    epochs: Vec<Epoch>,
    embedding: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Epoch(usize, f64, f64, f64, f64, f64);

impl Golden {
    fn read() -> Self {
        serde_json::from_str(include_str!("golden/presets.json")).unwrap()
    }

    fn plan(&self, case: &Case) -> Plan<'static> {
        let mut settings = Preset::parse(&case.preset).unwrap().settings();
        let square = |entries: &Vec<_>| Csr::from_triplets(self.nodes, self.nodes, entries.clone());
        let layers = settings.layers.iter().flatten().zip(&self.layers).map(|(name, entries)| {
            Layer { name: name.clone(), adjacency: square(entries).unwrap() }
        });
        let attributes = Csr::from_triplets(self.nodes, self.features, self.attributes.clone());
        let attributes = Matrix::Sparse(attributes.unwrap());
        let graph = MultiplexGraph::new(layers.collect(), attributes).unwrap();
        for (key, value) in &self.settings {
            settings.set(key, &value.to_string()).unwrap();
        }
        let clusters =
            |of: &[usize]| PerLayer::Each(of.iter().copied().map(Count::Fixed).collect());
        let own = settings.clone().validate(&graph.layer_names()).unwrap();
        let own = own.layers().iter().map(|layer| layer.clusters);
        assert_eq!(PerLayer::Each(own.collect()), clusters(&case.clusters), "{}", case.preset);
        settings.clusters = clusters(&case.fewer);
        plan(graph, settings, Limits::default()).unwrap()
    }
}

/// Trains to the end and compares every epoch's terms, relative to the loss, and the embeddings.
fn replay(case: &Case, plan: &Plan<'_>, engine: impl Engine, terms: f64, embedding: f64) {
    let name = &case.preset;
    let mut trainer = Trainer::new(engine, plan.config().clone());
    let anchors = plan.config().layers().len() as f64;
    let mut worst = (0f64, 0f64);
    for (at, Epoch(stage, loss, l_n, r_n, l_c, r_c)) in case.epochs.iter().enumerate() {
        let stage = [Stage::Warmup, Stage::Joint][*stage];
        let found = trainer.step().unwrap().unwrap_or_else(|| panic!("{name}: over after {at}"));
        assert_eq!(found.stage, stage.as_str(), "{name}: epoch {at}");
        // The golden R_C is a sum over anchor layers.
        let r_c_sum = found.r_c.unwrap_or_default() * anchors;
        let pairs = [
            (found.loss, loss),
            (found.l_n, l_n),
            (found.r_n.unwrap_or_default(), r_n),
            (found.l_c.unwrap_or_default(), l_c),
            (r_c_sum, r_c),
        ];
        let apart = pairs.iter().map(|(f, e)| (f - *e).abs() / loss).fold(0f64, f64::max);
        assert!(apart < terms, "{name}: epoch {at}: {pairs:?}");
        worst.0 = worst.0.max(apart);
    }
    assert!(trainer.step().unwrap().is_none(), "{name}: goes on");
    let found = mean_of_layers(&trainer.into_engine().unwrap().embed_layers().unwrap());
    let expected = case.embedding.iter().flatten();
    assert_eq!(found.values().len(), expected.clone().count());
    let apart = found.values().iter().zip(expected).map(|(f, e)| (f64::from(*f) - e).abs());
    worst.1 = apart.fold(0f64, f64::max);
    println!("{name}: terms to {:.1e}, embeddings to {:.1e}", worst.0, worst.1);
    assert!(worst.1 < embedding, "{name}: embeddings differ by {}", worst.1);
}

#[test]
fn presets_train_as_an_independent_program_does() {
    let golden = Golden::read();
    for case in &golden.cases {
        let plan = golden.plan(case);
        let engine = CpuEngine::<f64>::start(plan.config(), plan.graph(), None).unwrap();
        // Embeddings are handed out in single precision.
        replay(case, &plan, engine, 1e-10, 1e-7);
    }
}

#[test]
fn so_they_do_in_the_precision_that_trains() {
    let golden = Golden::read();
    for case in &golden.cases {
        let plan = golden.plan(case);
        let engine = plan.engine().unwrap();
        replay(case, &plan, engine, 1e-5, 1e-5);
    }
}

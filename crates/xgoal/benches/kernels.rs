//! The inner loops, one by one: `cargo bench -p xgoal`.
//!
//! What an epoch is made of, at the sizes of ACM (3,025 nodes, 1,870 attributes, 128 dimensions).
//! Throughput is counted in gathered rows, in numbers, or in multiplications.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use xgoal::engine::cpu::{CpuEngine, Kernels};
use xgoal::engine::{Engine, Stage};
use xgoal::graph::planted::Planted;
use xgoal::graph::{Layer, MultiplexGraph};
use xgoal::kmeans::KMeans;
use xgoal::matrix::{Csr, Dense};
use xgoal::model::initial_weights;
use xgoal::random::{Purpose, Stream};
use xgoal::real::{Real, View, ViewMut};
use xgoal::settings::Settings;
use xgoal::train::step;

const NODES: usize = 3025;
const FEATURES: usize = 1870;
const DIM: usize = 128;

fn main() {
    divan::main();
}

fn normals(n: usize) -> Vec<f32> {
    let s = Stream::new(1, Purpose::Planted);
    (0..n as u64).map(|i| s.normal(i) as f32).collect()
}

/// Sparse rows of 84 entries times a table of 128 columns, on one core.
#[divan::bench]
fn gather(bencher: Bencher<'_, '_>) {
    const ENTRIES: usize = 84;
    let table = normals(FEATURES * DIM);
    let s = Stream::new(2, Purpose::Planted);
    let indices: Vec<u32> =
        (0..NODES * ENTRIES).map(|i| s.below(i as u64, FEATURES as u64) as u32).collect();
    let values = vec![0.01f32; ENTRIES];
    let mut out = vec![0f32; DIM];
    bencher.counter(ItemsCount::new(NODES * ENTRIES)).bench_local(|| {
        for row in indices.chunks(ENTRIES) {
            f32::gather(&table, row, &values, 1.0, black_box(&mut out));
        }
    });
}

#[divan::bench]
fn tanh(bencher: Bencher<'_, '_>) {
    let values = normals(NODES * DIM);
    bencher
        .counter(ItemsCount::new(values.len()))
        .with_inputs(|| values.clone())
        .bench_refs(|values| f32::tanh_in_place(values));
}

/// The product of a block of dense attributes with the weights, on one core.
#[divan::bench(args = [384, 768, 1536])]
fn gemm(bencher: Bencher<'_, '_>, features: usize) {
    const ROWS: usize = 256;
    let (x, w) = (normals(ROWS * features), normals(features * DIM));
    let mut out = vec![0f32; ROWS * DIM];
    bencher.counter(ItemsCount::new(ROWS * features * DIM)).bench_local(|| {
        f32::gemm(
            1.0,
            View::new(&x, ROWS, features),
            View::new(&w, features, DIM),
            0.0,
            &mut ViewMut::new(black_box(&mut out), ROWS, DIM),
        );
    });
}

/// One clustering of 3,025 points from scratch, with one restart.
#[divan::bench(args = [5, 30, 50])]
fn kmeans(bencher: Bencher<'_, '_>, clusters: usize) {
    let points = Dense::from_vec(NODES, DIM, normals(NODES * DIM)).expect("that many numbers");
    let kmeans = KMeans { restarts: 1, ..KMeans::new(clusters) };
    bencher.bench_local(|| kmeans.fit(View::from(&points), Stream::new(3, Purpose::KMeans)));
}

/// A warm-up epoch by the form of the layer: entries, cliques with equal rows, bits.
#[divan::bench(args = ["sparse", "cliques", "dense"])]
fn epoch(bencher: Bencher<'_, '_>, form: &str) {
    let graph = graph(form);
    let config = Settings::default().validate(&graph.layer_names()).expect("default settings");
    let preprocessed = config.preprocessing().apply(&graph).expect("weights of one");
    let weights = initial_weights(&config, &preprocessed);
    let mut engine = CpuEngine::<f32>::new(&config, &preprocessed, weights).expect("fits");
    let rates = vec![1e-3; config.layers().len()];
    let mut epoch = 0;
    bencher.bench_local(|| {
        let terms = engine.evaluate(&step(&config, None, Stage::Warmup, epoch));
        engine.update(&rates).expect("moves");
        epoch += 1;
        terms
    });
}

fn graph(form: &str) -> MultiplexGraph {
    let planted = Planted { nodes: NODES, attributes: FEATURES, ..Planted::default() };
    let planted = planted.generate().expect("a planted graph");
    let s = Stream::new(4, Purpose::Planted);
    let edge = |r: usize, c: usize| match form {
        "cliques" => r % 4 == c % 4,
        _ => s.uniform((r * NODES + c) as u64) < 0.9,
    };
    if form == "sparse" {
        return planted;
    }
    let (mut indptr, mut indices) = (vec![0], Vec::new());
    for r in 0..NODES {
        indices.extend((0..NODES as u32).filter(|c| edge(r, *c as usize)));
        indptr.push(indices.len());
    }
    let values = vec![1.0; indices.len()];
    let adjacency = Csr::try_new(NODES, NODES, indptr, indices, values).expect("rows in order");
    let layers = vec![Layer { name: form.into(), adjacency }];
    MultiplexGraph::new(layers, planted.attributes().clone()).expect("as many nodes")
}

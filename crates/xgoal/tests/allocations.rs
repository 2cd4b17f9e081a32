//! What an epoch allocates once the buffers have grown: lists of a few words for each block of 64 nodes, nothing of the
//! size of an embedding or a weight; in the joint stage also what matrixmultiply packs for a product.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, Stage};
use xgoal::train::step;

/// Counts the bytes that are asked for.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_epoch_allocates_nothing_of_the_size_of_the_graph() {
    let (nodes, features) = (3000, 300);
    let graph = common::graph(nodes, features, false);
    let base = [("dim", "128"), ("clusters", "5"), ("mu_n", "0.1")];
    let config = common::config(&graph.layer_names(), &base);
    let graph = config.preprocessing().apply(&graph).unwrap();
    let weights = common::weights(&config, features);
    let mut engine = CpuEngine::<f32>::new(&config, &graph, weights).unwrap();
    let given = (0..graph.layers.len()).map(|v| common::prototypes(v, (5, 128), nodes));
    engine.set_prototypes(given.collect());
    let rates = vec![1e-3; graph.layers.len()];
    for stage in [Stage::Warmup, Stage::Joint] {
        let mut epoch = |epoch| {
            engine.evaluate(&step(&config, None, stage, epoch)).unwrap();
            engine.update(&rates).unwrap();
        };
        // Every thread has had a block of everything.
        (0..10).for_each(&mut epoch);
        BYTES.store(0, Ordering::Relaxed);
        LARGEST.store(0, Ordering::Relaxed);
        (10..20).for_each(&mut epoch);
        let (bytes, largest) =
            (BYTES.load(Ordering::Relaxed) / 10, LARGEST.load(Ordering::Relaxed));
        println!("{stage:?}: {bytes} bytes an epoch, {largest} the largest");
        // An embedding has 1.5 MB, the weights of a layer 0.3 MB.
        assert!(largest < 50_000, "{stage:?}: {largest} bytes at once");
        // The products with prototypes take a buffer of 40 kB each, and give it back: matrixmultiply packs what it multiplies.
        assert!(stage == Stage::Joint || bytes < 100_000, "{stage:?}: {bytes} bytes an epoch");
    }
}

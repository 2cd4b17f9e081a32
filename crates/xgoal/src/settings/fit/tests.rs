use super::*;
use crate::graph::Layer;
use crate::matrix::{Csr, Dense, Matrix};
use crate::random::{Purpose, Stream};

/// Whether a decision's line begins so.
fn says(config: &Config, line: &str) -> bool {
    config.decisions().iter().any(|d| d.to_string().starts_with(line))
}

/// A layer of pairs, whose attributes are alike or are not.
fn graph(alike: bool) -> MultiplexGraph {
    let pairs = (0..200u32).map(|n| (n, n ^ 1, 1.0)).collect();
    let adjacency = Csr::from_triplets(200, 200, pairs).unwrap();
    let stream = Stream::new(0, Purpose::Planted);
    let value = |n: u64, c: u64| stream.normal(16 * (if alike { n / 2 } else { n }) + c) as f32;
    let values = (0..200).flat_map(|n| (0..16).map(move |c| value(n, c))).collect();
    let attributes = Matrix::Dense(Dense::from_vec(200, 16, values).unwrap());
    MultiplexGraph::new(vec![Layer { name: "pairs".into(), adjacency }], attributes).unwrap()
}

#[test]
fn dense_attributes_that_say_little_are_not_held_against_the_neighbours() {
    let noisy = Settings::default().fit(&graph(false)).unwrap();
    assert_eq!(noisy.encoder(), Encoder::Gcn);
    assert_eq!(noisy.settings().normalize_attributes, Some(AttributeNorm::L2));
    assert_eq!(noisy.settings().self_loops, Some(SelfLoops::All));
    assert!(says(&noisy, "encoder: gcn"));
    assert_eq!(noisy.settings().start, Some(Start::Principal));
    assert!(says(&noisy, "start: principal"));
    let telling = Settings::default().fit(&graph(true)).unwrap();
    assert_eq!(telling.encoder(), Encoder::FirstOrder);
    assert_eq!(telling.settings().start, Some(Start::Random));
    // What is given stays.
    let mut given = Settings::default();
    given.set("encoder", "first-order").unwrap();
    given.set("normalize_attributes", "none").unwrap();
    given.set("start", "random").unwrap();
    given.set("normalize_columns", "none").unwrap();
    let given = given.fit(&graph(false)).unwrap();
    assert_eq!(given.encoder(), Encoder::FirstOrder);
    assert_eq!(given.settings().normalize_attributes, Some(AttributeNorm::None));
    assert!(given.decisions().is_empty());
}

#[test]
fn what_is_open_is_settled_as_before() {
    let fitted = Settings::default().fit(&graph(false)).unwrap();
    let again = Settings::default().settled_as(fitted.settings());
    assert_eq!(fitted.settings().difference(&again), None);
    let mut other = Settings::default();
    other.set("encoder", "first-order").unwrap();
    let difference = fitted.settings().difference(&other.settled_as(fitted.settings()));
    assert_eq!(difference.unwrap(), "`encoder` was \"gcn\", now \"first-order\"");
}

#[test]
fn columns_of_dense_attributes_lose_their_means() {
    let chosen = |widest: f32, set: &[(&str, &str)]| {
        let base = graph(false);
        let Matrix::Dense(mut values) = base.attributes().clone() else { panic!("is dense") };
        values.values_mut().iter_mut().step_by(16).for_each(|v| *v *= widest);
        let graph = MultiplexGraph::new(base.layers().to_vec(), Matrix::Dense(values)).unwrap();
        let mut settings = Settings::default();
        set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
        let fitted = settings.fit(&graph).unwrap();
        let said = says(&fitted, "normalize_columns");
        (fitted.settings().normalize_columns.unwrap(), said)
    };
    assert_eq!(chosen(1.0, &[]), (ColumnNorm::Center, true));
    assert_eq!(chosen(100.0, &[]), (ColumnNorm::Standard, true));
    assert_eq!(chosen(100.0, &[("normalize_columns", "none")]), (ColumnNorm::None, false));
    // Where all nodes have the same, it is all there is.
    let ones = Matrix::Dense(Dense::from_vec(200, 2, vec![0.1; 400]).unwrap());
    let same = MultiplexGraph::new(graph(false).layers().to_vec(), ones).unwrap();
    let same = Settings::default().fit(&same).unwrap();
    assert_eq!(same.settings().normalize_columns, Some(ColumnNorm::None));
}

#[test]
fn noisy_dense_attributes_are_smoothed_where_layers_show_more_then() {
    // Four classes that attributes hardly show, and edges that stay within one or do not.
    let stream = Stream::new(7, Purpose::Planted);
    let nodes = 1200u64;
    let value = |n: u64, c: u64| {
        0.25 * stream.normal(1_000_000 + 32 * (n % 4) + c) + stream.normal(32 * n + c)
    };
    let values = (0..nodes).flat_map(|n| (0..32).map(move |c| value(n, c) as f32)).collect();
    let attributes = Matrix::Dense(Dense::from_vec(1200, 32, values).unwrap());
    let layer = |name: &str, of: u64, within: f64| {
        let draw = stream.substream(of);
        let edges = (0..6 * nodes).flat_map(|e| {
            let (from, to) = (e % nodes, 4 * draw.below(3 * e, nodes / 4));
            let class =
                if draw.uniform(3 * e + 1) < within { from } else { draw.below(3 * e + 2, 4) };
            let (a, b) = (from as u32, (to + class % 4) as u32);
            [(a, b, 1.0), (b, a, 1.0)]
        });
        let adjacency = Csr::from_triplets(1200, 1200, edges.collect()).unwrap();
        Layer { name: name.into(), adjacency }
    };
    let fitted = |within: f64, set: &[(&str, &str)]| {
        let layers = [("a", 1), ("b", 2), ("c", 3)].map(|(name, of)| layer(name, of, within));
        let mut settings = Settings::default();
        set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
        let graph = MultiplexGraph::new(layers.into(), attributes.clone()).unwrap();
        let fitted = settings.fit(&graph).unwrap();
        assert_eq!(fitted.layer_names(), ["a", "b", "c"]);
        let said = says(&fitted, "smooth_attributes: 1");
        (fitted.settings().smooth_attributes.unwrap(), said)
    };
    assert_eq!(fitted(0.5, &[]), (1, true));
    // What is given stays; attributes that count for themselves are not mixed with others.
    assert_eq!(fitted(0.5, &[("smooth_attributes", "0")]), (0, false));
    assert_eq!(fitted(0.5, &[("encoder", "first-order")]), (0, false));
}

#[test]
fn few_counts_are_one_neighbour_among_others_and_layers_stay_apart() {
    // Three words of 300 on each node, at random; or one of the pair's own, and the same on the nodes it is joined to.
    let words = |alike: bool| {
        let stream = Stream::new(3, Purpose::Planted);
        let word = |n: u32, k: u32| stream.below(u64::from(3 * n + k), 300) as u32;
        let of = |n: u32| if alike { n / 2 * 2 } else { n };
        let words = (0..600).flat_map(|n| (0..3).map(move |k| (n, word(of(n), k), 1.0)));
        Matrix::Sparse(Csr::from_triplets(600, 300, words.collect()).unwrap())
    };
    let layer = |name: &str, of: u64| {
        let stream = Stream::new(4, Purpose::Planted).substream(of);
        let end = |i: u32| if of == 0 { i ^ 1 } else { stream.below(i.into(), 600) as u32 };
        let edges = (0..600 * if of == 0 { 1 } else { 4 }).map(|e| (e % 600, end(e), 1.0));
        let adjacency = Csr::from_triplets(600, 600, edges.collect()).unwrap();
        Layer { name: name.into(), adjacency }
    };
    let fitted = |alike: bool, set: &[(&str, &str)]| {
        let layers = vec![layer("a", 0), layer("b", 1), layer("c", 2)];
        let graph = MultiplexGraph::new(layers, words(alike)).unwrap();
        let mut settings = Settings::default();
        set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
        let fitted = settings.fit(&graph).unwrap();
        let Settings { normalize_attributes, self_loops, start, .. } = *fitted.settings();
        let layers = fitted.layer_names().len();
        (layers, fitted.encoder(), normalize_attributes, self_loops, start)
    };
    let (l1, l2) = (Some(AttributeNorm::L1), Some(AttributeNorm::L2));
    let (isolated, all) = (Some(SelfLoops::Isolated), Some(SelfLoops::All));
    let (random, principal) = (Some(Start::Random), Some(Start::Principal));
    assert_eq!(fitted(false, &[]), (3, Encoder::Gcn, l2, all, principal));
    assert_eq!(fitted(false, &[("layers", "a,b,c")]), fitted(false, &[]));
    assert_eq!(fitted(true, &[]), (3, Encoder::FirstOrder, l1, isolated, random));
    // What is given stays.
    let given = fitted(false, &[("encoder", "first-order")]);
    assert_eq!(given, (3, Encoder::FirstOrder, l1, isolated, random));
    let given = fitted(false, &[("start", "random"), ("normalize_attributes", "l1")]);
    assert_eq!(given, (3, Encoder::Gcn, l1, all, random));
}

#[test]
fn layers_that_show_more_together_are_added_up() {
    // Four classes, words that are a little more common in one, and layers that join a class a little more often.
    let stream = Stream::new(6, Purpose::Planted);
    let nodes = 1200u64;
    let word = |n: u64, k: u64| {
        let (draw, at) = (stream.substream(1), 10 * n + k);
        match draw.uniform(2 * at) < 0.3 {
            true => 20 * (n % 4) + draw.below(2 * at + 1, 20),
            false => draw.below(2 * at + 1, 80),
        }
    };
    let words = (0..nodes).flat_map(|n| (0..10).map(move |k| (n, k)));
    let words = words.map(|(n, k)| (n as u32, word(n, k) as u32, 1.0)).collect();
    let attributes = Matrix::Sparse(Csr::from_triplets(1200, 80, words).unwrap());
    let layer = |name: &str, of: u64, within: f64| {
        let draw = stream.substream(of);
        let end = |e: u64| {
            let class = if draw.uniform(3 * e) < within { e % 4 } else { draw.below(3 * e + 1, 4) };
            4 * draw.below(3 * e + 2, nodes / 4) + class
        };
        let edges = (0..4 * nodes).flat_map(|e| {
            let (a, b) = ((e % nodes) as u32, end(e) as u32);
            [(a, b, 1.0), (b, a, 1.0)]
        });
        let adjacency = Csr::from_triplets(1200, 1200, edges.collect()).unwrap();
        Layer { name: name.into(), adjacency }
    };
    let named = |names: [&str; 3], shares: [f64; 3]| {
        let layers = names.iter().zip(shares).zip(2..);
        let layers = layers.map(|((name, share), of)| layer(name, of, share)).collect();
        Settings::default().fit(&MultiplexGraph::new(layers, attributes.clone()).unwrap()).unwrap()
    };
    let fitted = |others: f64| named(["a", "b", "c"], [0.35, others, others]);
    let alike = fitted(0.35);
    assert_eq!(alike.layer_names(), ["a+b+c"], "{:?}", alike.decisions());
    assert!(
        alike.decisions()[0].reason.contains("together they show more"),
        "{:?}",
        alike.decisions()
    );
    // Layers that show nothing do not add to the one that does.
    assert_eq!(fitted(0.0).layer_names(), ["a", "b", "c"]);
    // Nor does any by itself here.
    let nothing = named(["a", "b", "c"], [0.0; 3]);
    assert_eq!(nothing.layer_names(), ["a+b+c"]);
    assert!(nothing.decisions()[0].reason.contains("none by itself"), "{:?}", nothing.decisions());
    // A name that a sum could not have.
    assert_eq!(named(["a", "b", "c++"], [0.35; 3]).layer_names(), ["a", "b", "c++"]);
}

#[test]
fn attributes_that_tell_more_than_layers_are_started_along() {
    // Four classes of nodes, and edges between any two or within a class.
    let stream = Stream::new(2, Purpose::Planted);
    let graph = |within: bool| {
        let value = |n: u64, c: u64| {
            stream.normal(1_000_000 + 16 * (n % 4) + c) + 0.5 * stream.normal(16 * n + c)
        };
        let values = (0..400).flat_map(|n| (0..16).map(move |c| value(n, c) as f32)).collect();
        let end = |i: u64| stream.substream(1).below(i, 100) as u32;
        let class = |i: u64| if within { 0 } else { stream.substream(2).below(i, 4) as u32 };
        let edge = |e: u32| (e % 400, 4 * end(e.into()) + (e + class(e.into())) % 4, 1.0);
        let adjacency = Csr::from_triplets(400, 400, (0..3200).map(edge).collect()).unwrap();
        let attributes = Matrix::Dense(Dense::from_vec(400, 16, values).unwrap());
        MultiplexGraph::new(vec![Layer { name: "a".into(), adjacency }], attributes).unwrap()
    };
    let fitted = |within: bool, start: &str| {
        let mut settings = Settings::default();
        settings.set("start", start).unwrap();
        let fitted = settings.fit(&graph(within)).unwrap();
        let said = says(&fitted, "start: principal");
        let settings = fitted.settings();
        (settings.start.unwrap(), said)
    };
    assert_eq!(fitted(false, "auto"), (Start::Principal, true));
    assert_eq!(fitted(true, "auto"), (Start::Random, false));
    // What is given stays.
    assert_eq!(fitted(false, "random"), (Start::Random, false));
    assert_eq!(fitted(true, "principal"), (Start::Principal, false));
}

#[test]
fn a_copy_is_left_out_unless_it_is_named() {
    let once = graph(true);
    let copy = Layer { name: "again".into(), ..once.layers()[0].clone() };
    let layers = once.layers().iter().cloned().chain([copy]).collect();
    let twice = MultiplexGraph::new(layers, once.attributes().clone()).unwrap();
    let fitted = Settings::default().fit(&twice).unwrap();
    assert_eq!(fitted.layer_names(), ["pairs"]);
    let said = "layers: again left out: nearly a copy of pairs (they share 100.0 % of their edges)";
    assert!(fitted.decisions()[0].to_string().starts_with(said), "{:?}", fitted.decisions());
    let mut named = Settings::default();
    named.set("layers", "pairs,again").unwrap();
    assert_eq!(named.fit(&twice).unwrap().layer_names(), ["pairs", "again"]);
}

#[test]
fn layers_that_carry_nothing_are_left_out_beside_others() {
    let names = ["a", "b", "c"].map(String::from);
    let signal = |nothing| Signal { likeness: 0.0, closure: 0.0, nothing };
    let chosen = |nothing: [bool; 3]| without_nothing(&names, &nothing.map(signal));
    let (kept, left_out) = chosen([false, true, true]).unwrap();
    assert_eq!((kept, left_out), (vec!["a".to_string()], "b, c".to_string()));
    assert_eq!(chosen([false; 3]), None);
    assert_eq!(chosen([true; 3]), None);
}

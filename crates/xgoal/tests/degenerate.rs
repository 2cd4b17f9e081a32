//! Graphs at the edge of what is one: each trains to finite embeddings, or is refused in words.

use xgoal::graph::{Layer, MultiplexGraph};
use xgoal::matrix::{Csr, Dense, Matrix};
use xgoal::session::{Limits, Plan, Session};
use xgoal::settings::Settings;

type Entries = Vec<(u32, u32, f32)>;

/// Settings on top of the quick ones.
type Set<'a> = &'a [(&'a str, &'a str)];

/// Each given layer over nodes that all have the given number of dense attributes.
fn graph(
    nodes: usize,
    layers: &[Entries],
    attribute: impl Fn(usize, usize) -> f32,
    width: usize,
) -> MultiplexGraph {
    let values =
        (0..nodes).flat_map(|n| (0..width).map(move |a| (n, a))).map(|(n, a)| attribute(n, a));
    let attributes = Matrix::Dense(Dense::from_vec(nodes, width, values.collect()).unwrap());
    let layers = layers.iter().enumerate().map(|(v, entries)| Layer {
        name: format!("layer{v}"),
        adjacency: Csr::from_triplets(nodes, nodes, entries.clone()).unwrap(),
    });
    MultiplexGraph::new(layers.collect(), attributes).unwrap()
}

/// Every node joined to the next, in both directions.
fn ring(nodes: u32, weight: f32) -> Entries {
    (0..nodes).flat_map(|n| [(n, (n + 1) % nodes, weight), ((n + 1) % nodes, n, weight)]).collect()
}

/// Any values that differ.
fn mixed(n: usize, a: usize) -> f32 {
    ((n * 7 + a * 13) % 11) as f32 / 11.0
}

/// Trains a few epochs of both stages.
fn train(graph: &MultiplexGraph, set: Set<'_>) -> xgoal::Result<Dense> {
    let mut settings = Settings::default();
    let quick = [("dim", "4"), ("clusters", "3"), ("max_epochs", "12"), ("cluster_every", "3")];
    for (key, value) in quick.iter().chain(set) {
        settings.set(key, value)?;
    }
    let plan = Plan::of(graph, settings.validate(&graph.layer_names())?, Limits::default());
    let mut history = Vec::new();
    let mut session = Session::start(&plan, &mut history)?;
    while session.next()?.is_some() {}
    let mut outcome = session.finish()?;
    assert!(history.iter().all(|epoch| epoch.loss.is_finite()));
    outcome.embeddings()
}

enum Ends {
    Trains,
    Refused(&'static str),
}
use Ends::{Refused, Trains};

#[test]
fn degenerate_graphs_train_or_are_refused_in_words() {
    let no_edges = || vec![Entries::new(), Entries::new()];
    let rings = |weight: f32| vec![ring(30, weight), ring(30, weight)];
    let pairs: Entries =
        (0..15).flat_map(|p| [(2 * p, 2 * p + 1, 1.0), (2 * p + 1, 2 * p, 1.0)]).collect();
    let all: Entries = (0..30).flat_map(|r| (0..30).map(move |c| (r, c, 1.0))).collect();
    let uneven: Entries = ring(30, 1.0)
        .into_iter()
        .map(|(r, c, _)| (r, c, if r == 0 || c == 0 { 1e30 } else { 1e-30 }))
        .collect();
    let negative = vec![(0, 1, -1.0), (1, 0, -1.0), (2, 3, 1.0)];
    let plain: Set<'_> = &[];
    let principal: Set<'_> = &[("start", "principal")];
    let raw = &[("normalize_edges", "none"), ("normalize_attributes", "none")][..];
    let raw_principal = &[raw[0], raw[1], principal[0]][..];
    let rectified = &[raw[0], raw[1], ("activation", "relu")][..];
    let dots = |_: usize, _: usize| 1.0;
    let cases: Vec<(&str, MultiplexGraph, Set<'_>, Ends)> = vec![
        ("one node", graph(1, &no_edges(), dots, 3), plain, Trains),
        ("one node with itself", graph(1, &[vec![(0, 0, 1.0)]], dots, 3), plain, Trains),
        ("two nodes", graph(2, &[ring(2, 1.0)], mixed, 3), plain, Trains),
        ("no edges", graph(30, &no_edges(), mixed, 5), plain, Trains),
        (
            "no edges, no self-loops",
            graph(30, &no_edges(), mixed, 5),
            &[("self_loops", "none")],
            Trains,
        ),
        ("one layer without edges", graph(30, &[ring(30, 1.0), vec![]], mixed, 5), plain, Trains),
        ("one attribute", graph(30, &rings(1.0), mixed, 1), plain, Trains),
        ("one attribute, all equal", graph(30, &rings(1.0), dots, 1), plain, Trains),
        ("identical rows", graph(30, &rings(1.0), dots, 5), plain, Trains),
        ("no attribute set", graph(30, &rings(1.0), |_, _| 0.0, 5), plain, Trains),
        ("one node, principal", graph(1, &no_edges(), dots, 3), principal, Trains),
        ("two nodes, principal", graph(2, &[ring(2, 1.0)], mixed, 3), principal, Trains),
        ("identical rows, principal", graph(30, &rings(1.0), dots, 5), principal, Trains),
        ("no attribute set, principal", graph(30, &rings(1.0), |_, _| 0.0, 5), principal, Trains),
        (
            "attributes of 1e30 as they are, principal",
            graph(30, &rings(1.0), |n, a| 1e30 * mixed(n, a), 5),
            raw_principal,
            Trains,
        ),
        (
            "more clusters than nodes",
            graph(5, &[ring(5, 1.0)], mixed, 5),
            &[("clusters", "50")],
            Trains,
        ),
        (
            "more clusters than distinct rows",
            graph(30, &rings(1.0), |n, _| (n % 2) as f32, 5),
            &[("clusters", "20")],
            Trains,
        ),
        ("one cluster", graph(30, &rings(1.0), mixed, 5), &[("clusters", "1")], Trains),
        ("one component", graph(30, &rings(1.0), mixed, 5), plain, Trains),
        ("a component for each pair", graph(30, &[pairs], mixed, 5), plain, Trains),
        ("everybody with everybody", graph(30, &[all], mixed, 5), plain, Trains),
        ("weights of 1e30", graph(30, &rings(1e30), mixed, 5), plain, Trains),
        ("the greatest weights", graph(30, &rings(f32::MAX), mixed, 5), plain, Trains),
        ("the least weights", graph(30, &rings(f32::from_bits(1)), mixed, 5), plain, Trains),
        ("weights from 1e-30 to 1e30", graph(30, &[uneven], mixed, 5), plain, Trains),
        ("attributes of 1e30", graph(30, &rings(1.0), |n, a| 1e30 * mixed(n, a), 5), plain, Trains),
        (
            "attributes of 1e30, by Euclid",
            graph(30, &rings(1.0), |n, a| 1e30 * mixed(n, a), 5),
            &[("normalize_attributes", "l2")],
            Trains,
        ),
        ("weights of 1e30 as they are", graph(30, &rings(1e30), mixed, 5), raw, Trains),
        (
            "weights and attributes of 1e30 as they are",
            graph(30, &rings(1e30), |n, a| 1e30 * mixed(n, a), 5),
            raw,
            Refused("epoch 0: l_n is NaN"),
        ),
        (
            "weights of 1e30 as they are, relu",
            graph(30, &rings(1e30), mixed, 5),
            rectified,
            Refused("epoch 0: l_n is NaN"),
        ),
        (
            "negative degrees",
            graph(30, &[negative], mixed, 5),
            plain,
            Refused("weight -1 at row 0, column 1"),
        ),
    ];
    for (name, graph, set, ends) in cases {
        match (train(&graph, set), ends) {
            (Ok(z), Trains) => {
                assert!(z.values().iter().all(|v| v.is_finite()), "{name}: {:?}", z.values());
            }
            (Err(error), Refused(words)) => {
                println!("{name}: {error}");
                assert!(error.to_string().contains(words), "{name}: {error}");
            }
            (Ok(_), Refused(words)) => panic!("{name}: trained, expected a refusal: {words}"),
            (Err(error), Trains) => panic!("{name}: {error}"),
        }
    }
}

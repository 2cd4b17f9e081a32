use super::*;
use crate::random::Purpose;

fn stream() -> Stream {
    Stream::new(0, Purpose::Structure)
}

fn layer(nodes: usize, edges: &[(u32, u32, f32)]) -> Csr {
    let both = edges.iter().filter(|e| e.0 != e.1).map(|e| (e.1, e.0, e.2));
    Csr::from_triplets(nodes, nodes, edges.iter().copied().chain(both).collect()).unwrap()
}

/// Edges at random: within groups of nodes (n % groups) with one chance, else with another.
fn planted(nodes: u32, groups: u32, [within, across]: [f64; 2], seed: u64) -> Csr {
    let stream = Stream::new(seed, Purpose::Planted);
    let pairs = (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b)));
    let edges: Vec<_> = (0..)
        .zip(pairs)
        .filter(|(i, (a, b))| {
            stream.uniform(*i) < if a % groups == b % groups { within } else { across }
        })
        .map(|(i, (a, b))| (a, b, 0.5 + stream.substream(1).uniform(i) as f32))
        .collect();
    layer(nodes as usize, &edges)
}

fn cosine(table: &Dense, a: usize, b: usize) -> f64 {
    table.row(a).iter().zip(table.row(b)).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

/// Lengths are 1 or 0; all is finite.
fn lengths(table: &Dense) -> Vec<u8> {
    let length = |r| {
        let square = cosine(table, r, r);
        assert!(square == 0.0 || (square - 1.0).abs() < 1e-5, "row {r}: {square}");
        u8::from(square > 0.0)
    };
    (0..table.rows()).map(length).collect()
}

/// The definition in the module's words, over dense tables of f64; the cosine of each two nodes.
fn reference(layers: &[&Csr], columns: usize) -> Vec<f64> {
    let nodes = layers[0].rows();
    let (mut information, mut transitions) = (vec![0.0; nodes * nodes], vec![0.0; nodes * nodes]);
    let mut held = vec![0.0; nodes];
    for layer in layers {
        let transpose = layer.transpose();
        let symmetric = *layer == &transpose;
        let mut weights = vec![0.0; nodes * nodes];
        for r in 0..nodes {
            for of in [*layer, &transpose] {
                let (columns, values) = of.row(r);
                for (c, v) in
                    columns.iter().zip(values).filter(|(c, v)| **c as usize != r && **v > 0.0)
                {
                    weights[r * nodes + *c as usize] +=
                        f64::from(*v) * if symmetric { 0.5 } else { 1.0 };
                }
            }
        }
        let degree: Vec<f64> = weights.chunks(nodes).map(|row| row.iter().sum()).collect();
        let all: f64 = degree.iter().sum();
        (0..nodes).filter(|n| degree[*n] > 0.0).for_each(|n| held[n] += 1.0);
        for (at, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let (i, j) = (at / nodes, at % nodes);
            information[at] += (all * w / degree[i] / degree[j]).ln().max(0.0);
            transitions[at] += w / degree[i];
        }
    }
    let Eigen { values, vectors } = eigen(information, nodes);
    let mut z: Vec<f64> = vec![0.0; nodes * columns];
    for (k, (value, vector)) in values.iter().zip(vectors.chunks(nodes)).take(columns).enumerate() {
        (0..nodes).for_each(|n| z[n * columns + k] = value.abs().sqrt() * vector[n]);
    }
    for _ in 0..4 {
        let before = z.clone();
        for n in (0..nodes).filter(|n| held[*n] > 0.0) {
            for k in 0..columns {
                let mean: f64 =
                    (0..nodes).map(|m| transitions[n * nodes + m] * before[m * columns + k]).sum();
                z[n * columns + k] = 0.3 * before[n * columns + k] + 0.7 * mean / held[n];
            }
        }
    }
    let dot = |a: usize, b: usize| -> f64 {
        (0..columns).map(|k| z[a * columns + k] * z[b * columns + k]).sum()
    };
    let pair = |i: usize| {
        let (a, b) = (i / nodes, i % nodes);
        let lengths = (dot(a, a) * dot(b, b)).sqrt();
        if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
    };
    (0..nodes * nodes).map(pair).collect()
}

fn assert_is_reference(layers: &[&Csr], columns: usize, least: f64) {
    let found = structure(layers, columns, stream()).unwrap();
    let nodes = found.rows();
    for (i, expected) in reference(layers, columns.min(nodes)).into_iter().enumerate() {
        let cosine = cosine(&found, i / nodes, i % nodes);
        assert!((cosine - expected).abs() < least, "{i}: {cosine}, expected {expected}");
    }
}

#[test]
fn all_directions_are_those_of_a_plain_computation() {
    let (a, b) = (planted(40, 4, [0.7, 0.1], 1), planted(40, 5, [0.3, 0.02], 2));
    // As many columns as nodes, and more: nothing is left out, so nothing depends on the iteration.
    assert_is_reference(&[&a], 40, 1e-4);
    assert_is_reference(&[&a, &b], 50, 1e-4);
    // A directed layer, with loops and weights that say nothing.
    let stream = Stream::new(3, Purpose::Planted);
    let directed = (0..90u64).map(|i| {
        let end = |k| stream.below(2 * i + k, 40) as u32;
        (end(0), end(1), if i % 9 == 0 { -1.0 } else { 1.0 + (i % 3) as f32 })
    });
    let directed = Csr::from_triplets(40, 40, directed.collect()).unwrap();
    assert_is_reference(&[&directed, &b], 40, 1e-4);
}

#[test]
fn leading_directions_are_those_of_a_plain_computation() {
    // Three groups are three directions far above the rest.
    let groups = planted(150, 3, [0.9, 0.0], 4);
    assert_is_reference(&[&groups], 3, 2e-2);
}

#[test]
fn threads_do_not_matter() {
    let (a, b) = (planted(700, 7, [0.1, 0.01], 1), planted(700, 5, [0.1, 0.01], 2));
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| structure(&[&a, &b], 24, stream()).unwrap())
    };
    let (one, two, four) = (with(1), with(2), with(4));
    assert_eq!(one, two);
    assert_eq!(one, four);
    assert_ne!(one, structure(&[&a, &b], 24, stream().substream(1)).unwrap());
}

#[test]
fn planted_groups_are_closer_within_than_across() {
    let table = structure(&[&planted(600, 6, [0.12, 0.01], 9)], 16, stream()).unwrap();
    let mean = |same: bool| {
        let pairs = (0..600).flat_map(|a| (0..a).map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| (a % 6 == b % 6) == same);
        let (count, sum) =
            pairs.fold((0.0, 0.0), |(n, sum), (a, b)| (n + 1.0, sum + cosine(&table, a, b)));
        sum / count
    };
    assert!(mean(true) > mean(false) + 0.3, "{} and {}", mean(true), mean(false));
}

#[test]
fn a_hub_does_not_draw_groups_together() {
    // The same groups, all joined with one more node.
    let groups = planted(300, 3, [0.2, 0.005], 5);
    let hub = layer(301, &(0..300).map(|n| (n, 300, 1.0)).collect::<Vec<_>>());
    let both = structure(&[&groups.enlarged(301, 301), &hub], 8, stream()).unwrap();
    let (within, across) = (cosine(&both, 0, 3), cosine(&both, 0, 1));
    assert!(within > across, "{within} and {across}");
}

#[test]
fn graphs_of_little_have_rows_of_length_one_or_zero() {
    let of = |layers: &[&Csr], columns| structure(layers, columns, stream()).unwrap();
    // One edge among isolated nodes, and more columns than directions.
    let edge = layer(5, &[(1, 3, 2.0)]);
    let table = of(&[&edge], 8);
    assert_eq!((table.cols(), lengths(&table)), (8, vec![0, 1, 0, 1, 0]));
    assert!((0..5).all(|n| table.row(n)[2..].iter().all(|v| *v == 0.0)));
    // Layers without edges, with loops alone, or with nothing that counts.
    let loops = layer(5, &[(0, 0, 1.0), (4, 4, 3.0)]);
    let negative = layer(5, &[(0, 1, -1.0), (1, 2, 0.0)]);
    for empty in [Csr::empty(5, 5), loops, negative] {
        assert_eq!(lengths(&of(&[&empty], 4)), [0; 5]);
        assert_eq!(lengths(&of(&[&empty, &edge], 4)), [0, 1, 0, 1, 0]);
    }
    // Parts that are not joined, of very different sizes, and fewer columns than parts.
    let clique = (0..30u32).flat_map(|a| (0..a).map(move |b| (a, b, 1.0)));
    let pairs = (30..60).step_by(2).map(|a| (a, a + 1, 1.0));
    let parts = layer(60, &clique.chain(pairs).collect::<Vec<_>>());
    for columns in [1, 3, 60, 100] {
        assert_eq!(lengths(&of(&[&parts], columns)), [1; 60]);
    }
    // Weights at the ends of their range.
    let (tiny, huge) = (f32::from_bits(1), f32::MAX);
    let weights = [(0, 1, huge), (1, 2, huge), (0, 2, tiny), (3, 4, tiny)];
    assert_eq!(lengths(&of(&[&layer(5, &weights)], 4)), [1; 5]);
    let directed = Csr::from_triplets(3, 3, vec![(0, 1, huge), (1, 0, huge), (1, 2, huge)]);
    assert_eq!(lengths(&of(&[&directed.unwrap()], 2)), [1; 3]);
    // Nothing at all.
    assert_eq!(of(&[&edge], 0).cols(), 0);
    assert_eq!(of(&[&Csr::empty(0, 0)], 3).rows(), 0);
    let complete = planted(50, 1, [1.0, 1.0], 1).map(|_| 1.0);
    assert_eq!(lengths(&of(&[&complete], 60)), [1; 50]);
}

#[test]
fn scales_of_weights_do_not_matter() {
    let (a, b) = (planted(60, 3, [0.5, 0.1], 1), planted(60, 4, [0.5, 0.1], 2));
    let plain = structure(&[&a, &b], 60, stream()).unwrap();
    let scaled = structure(&[&a.map(|w| 1e3 * w), &b.map(|w| 1e-5 * w)], 60, stream()).unwrap();
    for (i, j) in (0..60).map(|i| (i, (7 * i + 3) % 60)) {
        assert!((cosine(&plain, i, j) - cosine(&scaled, i, j)).abs() < 1e-3);
    }
}

#[test]
fn layers_that_do_not_fit_are_refused() {
    let square = Csr::empty(3, 3);
    assert!(structure(&[], 4, stream()).unwrap_err().to_string().contains("no layer"));
    for other in [Csr::empty(4, 4), Csr::empty(3, 4)] {
        let message = structure(&[&square, &other], 4, stream()).unwrap_err().to_string();
        assert!(message.contains("(3, 3)") && message.contains('4'), "{message}");
    }
    let known = Dense::zeros(2, 4);
    let refused = |seen: &[Option<u32>]| extend(&[&square], &known, seen).unwrap_err().to_string();
    assert!(refused(&[None]).contains("expected 3"));
    assert!(refused(&[None, Some(2), None]).contains("less than 2"));
}

#[test]
fn unknown_nodes_follow_their_neighbours_and_known_ones_stay() {
    let groups = planted(300, 3, [0.2, 0.005], 5);
    let whole = structure(&[&groups], 8, stream()).unwrap();
    // Known: every second node, held in another order.
    let known = whole.select_rows(&(0..150).map(|r| 2 * (149 - r)).collect::<Vec<_>>());
    let seen: Vec<_> = (0..300).map(|n| (n % 2 == 0).then(|| 149 - n / 2)).collect();
    let table = extend(&[&groups], &known, &seen).unwrap();
    for n in 0..300 {
        if n % 2 == 0 {
            assert_eq!(table.row(n), whole.row(n));
        } else {
            let near: f64 =
                table.row(n).iter().zip(whole.row(n)).map(|(a, b)| f64::from(a * b)).sum();
            assert!(near > 0.9, "{n}: {near}");
        }
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| extend(&[&groups], &known, &seen).unwrap()), table);
}

#[test]
fn what_is_known_reaches_three_steps_and_no_further() {
    // 0 - 1 - 2 - 3 - 4, and 5 alone, in a layer that goes one way.
    let path = Csr::from_triplets(6, 6, (0..4).map(|n| (n, n + 1, 2.0)).collect()).unwrap();
    let known = Dense::from_vec(1, 2, vec![0.6, 0.8]).unwrap();
    let seen = [Some(0), None, None, None, None, None];
    let table = extend(&[&path, &Csr::empty(6, 6)], &known, &seen).unwrap();
    assert_eq!(lengths(&table), [1, 1, 1, 1, 0, 0]);
    assert!((cosine(&table, 0, 3) - 1.0).abs() < 1e-6);
    assert_eq!(extend(&[&path], &Dense::zeros(1, 0), &seen).unwrap().cols(), 0);
}

use super::*;

/// A random matrix with small whole weights, so that sums are exact, and with columns of very different degrees.
fn bipartite(rows: usize, cols: usize, entries: usize, seed: u64) -> Csr {
    let stream = Stream::new(seed, Purpose::Planted);
    let entry = |i: u64| {
        let column = (cols as f64 * stream.uniform(3 * i + 1).powi(3)) as u32;
        (stream.below(3 * i, rows as u64) as u32, column, 1.0 + stream.below(3 * i + 2, 4) as f32)
    };
    Csr::from_triplets(rows, cols, (0..entries as u64).map(entry).collect()).unwrap()
}

/// The product as it is defined, over dense matrices.
fn plain(steps: &[Csr]) -> Vec<Vec<f64>> {
    let dense = |m: &Csr| -> Vec<Vec<f64>> {
        (0..m.rows())
            .map(|r| {
                let mut row = vec![0.0; m.cols()];
                let (columns, values) = m.row(r);
                columns.iter().zip(values).for_each(|(c, v)| row[*c as usize] = f64::from(*v));
                row
            })
            .collect()
    };
    let times = |a: &Vec<Vec<f64>>, b: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        let entry = |row: &Vec<f64>, c: usize| row.iter().zip(b).map(|(x, r)| x * r[c]).sum();
        a.iter().map(|row| (0..b[0].len()).map(|c| entry(row, c)).collect()).collect()
    };
    steps[1..].iter().fold(dense(&steps[0]), |product, step| times(&product, &dense(step)))
}

fn assert_equal(found: &Csr, expected: &[Vec<f64>], binary: bool) {
    for (r, row) in expected.iter().enumerate() {
        let entries = row.iter().enumerate().filter(|(_, v)| **v != 0.0);
        let (columns, values): (Vec<u32>, Vec<f32>) =
            entries.map(|(c, v)| (c as u32, if binary { 1.0 } else { *v as f32 })).unzip();
        assert_eq!(found.row(r), (&columns[..], &values[..]), "row {r}");
    }
}

#[test]
fn equals_the_plain_product_for_random_tables_of_any_length() {
    for seed in 0..40 {
        let draw = Stream::new(seed, Purpose::Shuffle);
        let size = |i: u64| 1 + draw.below(i, 30) as usize;
        let length = 1 + draw.below(0, 4) as usize;
        let sizes: Vec<usize> = (0..=length as u64).map(|i| size(i + 1)).collect();
        let steps: Vec<Csr> = (0..length)
            .map(|i| bipartite(sizes[i], sizes[i + 1], 3 * sizes[i], 100 * seed + i as u64))
            .collect();
        let back: Vec<Csr> = steps.iter().rev().map(Csr::transpose).collect();
        let whole = [steps.clone(), back].concat();
        let expected = plain(&whole);
        for values in [PathValues::Binary, PathValues::Paths] {
            let path = MetaPath::there_and_back(steps.clone()).unwrap().values(values);
            assert_equal(&path.build().unwrap(), &expected, values == PathValues::Binary);
            // A cap that nothing reaches changes nothing.
            for hubs in [Hubs::Drop, Hubs::Sample] {
                assert_eq!(path.clone().cap(90, hubs, 0).build().unwrap(), path.build().unwrap());
            }
            let one_way = MetaPath::new(steps.clone()).unwrap().values(values);
            let there = plain(&steps);
            assert_equal(&one_way.build().unwrap(), &there, values == PathValues::Binary);
        }
    }
}

#[test]
fn dropped_hubs_are_not_there_and_the_rest_is() {
    let steps = vec![bipartite(40, 12, 160, 1), bipartite(12, 9, 60, 2)];
    let path = MetaPath::there_and_back(steps.clone()).unwrap().values(PathValues::Paths);
    let cap = 8;
    let connections = path.connections();
    assert!(connections.iter().flatten().any(|c| *c as usize > cap));
    let keep = |at: usize, thing: u32| connections[at][thing as usize] as usize <= cap;
    let kept = vec![
        steps[0].filtered(|_, c| keep(0, c)),
        steps[1].filtered(|r, c| keep(0, r) && keep(1, c)),
    ];
    let expected = MetaPath::there_and_back(kept).unwrap().values(PathValues::Paths);
    let dropped = path.cap(cap, Hubs::Drop, 0).build().unwrap();
    assert_eq!(dropped, expected.build().unwrap());
    assert_eq!(dropped, dropped.transpose());
}

#[test]
fn sampled_hubs_keep_everyone_joined_symmetrically() {
    let steps = vec![bipartite(300, 5, 900, 3)];
    let path = MetaPath::there_and_back(steps.clone()).unwrap();
    let whole = path.build().unwrap();
    let sampled = path.clone().cap(10, Hubs::Sample, 7).build().unwrap();
    assert_eq!(sampled, path.clone().cap(10, Hubs::Sample, 7).build().unwrap());
    assert_ne!(sampled, path.clone().cap(10, Hubs::Sample, 8).build().unwrap());
    assert_eq!(sampled, sampled.transpose());
    assert!(sampled.nnz() * 2 < whole.nnz(), "{} of {}", sampled.nnz(), whole.nnz());
    for r in 0..300 {
        let (found, all) = (sampled.row(r).0, whole.row(r).0);
        assert!(found.iter().all(|c| all.binary_search(c).is_ok()));
        assert_eq!(found.is_empty(), all.is_empty(), "row {r}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let path = MetaPath::there_and_back(vec![bipartite(900, 60, 3000, 4)]).unwrap();
    for path in [path.clone(), path.values(PathValues::Paths).cap(20, Hubs::Sample, 1)] {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (path.build().unwrap(), path.predict()))
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn predictions_hold() {
    for (entries, cap) in [(300, None), (60_000, None), (60_000, Some(40))] {
        let steps = vec![bipartite(6000, 300, entries, 5)];
        let mut path = MetaPath::there_and_back(steps).unwrap();
        if let Some(cap) = cap {
            path = path.cap(cap, Hubs::Sample, 0);
        }
        let predicted = path.predict();
        let built = path.build().unwrap().nnz() as f64;
        assert!(predicted.at_most as f64 >= built, "{predicted:?} {built}");
        if predicted.at_most > SMALL {
            let ratio = predicted.about as f64 / built;
            assert!((0.8..2.1).contains(&ratio), "{predicted:?} {built}");
        }
    }
    let path = MetaPath::there_and_back(vec![bipartite(6000, 300, 60_000, 5)]).unwrap();
    let cap = path.cap_for(2_000_000).unwrap();
    assert!(path.cap(cap, Hubs::Sample, 0).build().unwrap().nnz() <= 2_000_000);
}

#[test]
fn steps_must_fit() {
    let message = MetaPath::new(vec![bipartite(3, 4, 5, 0), bipartite(5, 3, 5, 0)]).unwrap_err();
    assert!(message.to_string().contains("meta-path: shapes (3, 4) and (5, 3)"), "{message}");
    assert!(MetaPath::new(Vec::new()).is_err());
}

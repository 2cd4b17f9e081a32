use super::*;
use crate::matrix::Dense;
use crate::random::{Purpose, Stream};

/// Points around some directions.
fn points(rows: usize, cols: usize) -> Dense {
    let s = Stream::new(6, Purpose::Planted);
    let value = |i: usize| {
        let (row, col) = (i / cols, i % cols);
        s.substream(1).normal(((row % 20) * cols + col) as u64) + 0.5 * s.normal(i as u64)
    };
    Dense::from_vec(rows, cols, (0..rows * cols).map(|i| value(i) as f32).collect()).unwrap()
}

fn index(matrix: &Dense) -> Index {
    Index::new(matrix.into()).unwrap()
}

/// Every pair, one at a time.
fn plain(matrix: &Dense, query: usize, k: usize) -> Vec<u32> {
    let dot = |a: usize, b: usize| -> f64 {
        matrix.row(a).iter().zip(matrix.row(b)).map(|(p, q)| f64::from(*p) * f64::from(*q)).sum()
    };
    let cosine = |a: usize| dot(query, a) / (dot(query, query) * dot(a, a)).sqrt();
    let mut others: Vec<usize> = (0..matrix.rows()).filter(|r| *r != query).collect();
    others.sort_by(|a, b| cosine(*b).total_cmp(&cosine(*a)));
    others.iter().take(k).map(|r| *r as u32).collect()
}

#[test]
fn exact_search_is_the_plain_one() {
    let matrix = points(5000, 8);
    let rows = index(&matrix);
    let queries: Vec<u32> = (0..5000).step_by(37).collect();
    for k in [1, 10, 200] {
        for (query, found) in queries.iter().zip(rows.nearest(&queries, k).unwrap()) {
            let found: Vec<u32> = found.iter().map(|n| n.node).collect();
            let expected = plain(&matrix, *query as usize, k);
            // Cosines that agree in all digits of f32 may change places.
            let same = found.iter().filter(|r| expected.contains(r)).count();
            assert!(same + 1 >= k, "{query}: {found:?} {expected:?}");
        }
    }
    assert_eq!(rows.nearest(&[7], 9999).unwrap()[0].len(), 4999);
    assert!(rows.nearest(&[7], 0).unwrap()[0].is_empty());
}

#[test]
fn equal_cosines_go_by_row_and_zeros_are_last_but_there() {
    let matrix = Dense::from_vec(4, 1, vec![1.0, 2.0, 0.0, 3.0]).unwrap();
    let found = index(&matrix).nearest(&[3, 2], 3).unwrap();
    let rows = |i: usize| found[i].iter().map(|n: &Neighbor| n.node).collect::<Vec<_>>();
    assert_eq!((rows(0), rows(1)), (vec![0, 1, 2], vec![0, 1, 3]));
    assert_eq!(found[0][2].cosine, 0.0);
}

#[test]
fn the_index_finds_what_it_says_it_finds() {
    let matrix = points(6000, 16);
    let rows = index(&matrix);
    let mut cells = Cells::build(&rows, 0).unwrap();
    let all: Vec<u32> = (0..6000).collect();
    let exact = rows.nearest(&all, 10).unwrap();
    let said = cells.tune(10, 0.9, 0);
    let measured = cells.recall(&all, &exact, 10);
    assert!(said > 0.85 && (said - measured).abs() < 0.05, "{said} {measured}");
    cells.tune(10, 1.1, 0);
    assert_eq!(cells.nearest(&all, 10).unwrap(), exact, "all cells make an exact search");
}

#[test]
fn threads_do_not_change_a_bit() {
    let matrix = points(2000, 5);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let rows = index(&matrix);
            let mut cells = Cells::build(&rows, 3).unwrap();
            let recall = cells.tune(5, 0.9, 3);
            (rows.nearest(&[0, 9, 1999], 20).unwrap(), recall, cells.nearest(&[4, 5], 7).unwrap())
        })
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn unusable_input_is_refused() {
    let index =
        |rows, cols, values| Index::new((&Dense::from_vec(rows, cols, values).unwrap()).into());
    let nan = index(2, 2, vec![0.0, 1.0, 1.0, f32::NAN]).unwrap_err().to_string();
    assert!(nan.contains("row 1 has NaN in column 1"), "{nan}");
    let one = index(1, 1, vec![1.0]).unwrap();
    let missing = one.nearest(&[1], 1).unwrap_err().to_string();
    assert!(missing.contains("node 1 of 1"), "{missing}");
    assert!(one.nearest(&[0], 5).unwrap()[0].is_empty());
    assert!(index(2, 0, vec![]).is_err());
}

//! Sim@k: whether the nearest nodes are of the same class.
//!
//! ```text
//!     Sim@k = mean_i |{ j in N_k(i) : y_j = y_i }| / k
//! ```
//!
//! with `N_k(i)` the k nodes of greatest cosine similarity to node i, itself excluded, equal
//! similarities in the order of their rows. With fewer than k other nodes, all of them are taken
//! and `k` is their number. A row of zeros has similarity 0 to every other.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::matrix::Dense;
use crate::real::{Real, View, ViewMut};

/// Rows whose similarities to all others are held at a time.
const BLOCK: usize = 64;

/// Sim@k of the rows of `embeddings` for each `k`, which must be positive.
pub fn sim_at(embeddings: &Dense<f32>, labels: &[u32], ks: &[usize]) -> BTreeMap<usize, f64> {
    let (rows, cols) = (embeddings.rows(), embeddings.cols());
    let others = rows.saturating_sub(1);
    let unit = unit_rows(embeddings);
    let deepest = ks.iter().copied().max().unwrap_or(0).min(others);
    // Hits are whole numbers, so their sum does not depend on the order of the blocks.
    let hits: Vec<u64> = (0..rows.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let from = block * BLOCK;
            let size = BLOCK.min(rows - from);
            let mut cosines = vec![0.0f32; size * rows];
            f32::gemm(
                1.0,
                View::new(&unit[from * cols..(from + size) * cols], size, cols),
                View::new(&unit, rows, cols).t(),
                0.0,
                &mut ViewMut::new(&mut cosines, size, rows),
            );
            let mut hits = vec![0u64; ks.len()];
            let mut order: Vec<u32> = Vec::with_capacity(rows);
            for i in 0..size {
                let row = &cosines[i * rows..(i + 1) * rows];
                let label = labels[from + i];
                order.clear();
                order.extend((0..rows as u32).filter(|j| *j as usize != from + i));
                let nearer =
                    |a: &u32, b: &u32| row[*b as usize].total_cmp(&row[*a as usize]).then(a.cmp(b));
                if deepest < others {
                    order.select_nth_unstable_by(deepest, nearer);
                }
                let nearest = &mut order[..deepest];
                nearest.sort_unstable_by(nearer);
                for (hits, k) in hits.iter_mut().zip(ks) {
                    let same = nearest.iter().take(*k).filter(|j| labels[**j as usize] == label);
                    *hits += same.count() as u64;
                }
            }
            hits
        })
        .reduce(|| vec![0; ks.len()], |a, b| a.iter().zip(&b).map(|(x, y)| x + y).collect());
    let share = |hits: u64, k: usize| hits as f64 / (rows * k.min(others)).max(1) as f64;
    ks.iter().zip(hits).map(|(k, hits)| (*k, share(hits, *k))).collect()
}

/// Rows divided by their norms; squares of `f32` neither overflow nor vanish in `f64`.
fn unit_rows(embeddings: &Dense<f32>) -> Vec<f32> {
    let mut unit = embeddings.values().to_vec();
    for row in unit.chunks_exact_mut(embeddings.cols().max(1)) {
        let norm = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32);
        }
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_by_angle_not_by_distance() {
        // Two directions; the longest vectors are still among their own.
        let values = vec![1.0, 0.0, 9.0, 0.1, 1.0, 0.2, 0.0, 1.0, 0.1, 9.0, 0.2, 1.0];
        let points = Dense::from_vec(6, 2, values).unwrap();
        let sim = sim_at(&points, &[0, 0, 0, 1, 1, 1], &[1, 2, 4, 100]);
        assert_eq!(sim[&1], 1.0);
        assert_eq!(sim[&2], 1.0);
        assert_eq!(sim[&4], 0.5);
        // Five others exist: two of them are of the same class.
        assert_eq!(sim[&100], 0.4);
    }

    #[test]
    fn equal_similarities_go_by_row() {
        let points = Dense::from_vec(4, 1, vec![1.0, 2.0, 3.0, 0.0]).unwrap();
        // Nearest of rows 0, 1, 2 and 3 (zeros, so 0 to all): rows 1, 0, 0, 0.
        assert_eq!(sim_at(&points, &[0, 1, 0, 0], &[1])[&1], 0.5);
    }

    #[test]
    fn blocks_agree_with_a_plain_search() {
        let stream = crate::random::Stream::new(5, crate::random::Purpose::Planted);
        let values: Vec<f32> = (0..150 * 3).map(|i| stream.normal(i) as f32).collect();
        let points = Dense::from_vec(150, 3, values).unwrap();
        let labels: Vec<u32> = (0..150).map(|i| i % 3).collect();
        let cosine = |a: usize, b: usize| {
            let dot = |x: usize, y: usize| -> f64 {
                points.row(x).iter().zip(points.row(y)).map(|(p, q)| f64::from(p * q)).sum()
            };
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        let mut hits = 0;
        for i in 0..150 {
            let mut others: Vec<usize> = (0..150).filter(|j| *j != i).collect();
            others.sort_by(|a, b| cosine(i, *b).total_cmp(&cosine(i, *a)));
            hits += others[..10].iter().filter(|j| labels[**j] == labels[i]).count();
        }
        let sim = sim_at(&points, &labels, &[10])[&10];
        assert!((sim - hits as f64 / 1500.0).abs() < 2e-3, "{sim}");
    }

    #[test]
    fn a_single_node_has_no_neighbours() {
        let points = Dense::from_vec(1, 2, vec![1.0, 0.0]).unwrap();
        assert_eq!(sim_at(&points, &[0], &[5])[&5], 0.0);
    }
}

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

use crate::error::Result;
use crate::matrix::Dense;
use crate::similar::{Index, Neighbor};

/// Nodes whose neighbors are held at a time.
const BLOCK: usize = 1 << 14;

/// Sim@k of the rows of `embeddings` for each `k`, which must be positive.
pub fn sim_at(
    embeddings: &Dense<f32>,
    labels: &[u32],
    ks: &[usize],
) -> Result<BTreeMap<usize, f64>> {
    let rows = embeddings.rows();
    let others = rows.saturating_sub(1);
    let nodes: Vec<u32> = (0..rows as u32).collect();
    let deepest = ks.iter().copied().max().unwrap_or(0);
    let mut hits = vec![0u64; ks.len()];
    let index = Index::new(embeddings.into())?;
    for nodes in nodes.chunks(BLOCK) {
        for (node, nearest) in nodes.iter().zip(index.nearest(nodes, deepest)?) {
            for (hits, k) in hits.iter_mut().zip(ks) {
                let same = |n: &&Neighbor| labels[n.node as usize] == labels[*node as usize];
                *hits += nearest.iter().take(*k).filter(same).count() as u64;
            }
        }
    }
    let share = |hits: u64, k: usize| hits as f64 / (rows * k.min(others)).max(1) as f64;
    Ok(ks.iter().zip(hits).map(|(k, hits)| (*k, share(hits, *k))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_by_angle_not_by_distance() {
        // Two directions; the longest vectors are still among their own.
        let values = vec![1.0, 0.0, 9.0, 0.1, 1.0, 0.2, 0.0, 1.0, 0.1, 9.0, 0.2, 1.0];
        let points = Dense::from_vec(6, 2, values).unwrap();
        let sim = sim_at(&points, &[0, 0, 0, 1, 1, 1], &[1, 2, 4, 100]).unwrap();
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
        assert_eq!(sim_at(&points, &[0, 1, 0, 0], &[1]).unwrap()[&1], 0.5);
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
        let sim = sim_at(&points, &labels, &[10]).unwrap()[&10];
        assert!((sim - hits as f64 / 1500.0).abs() < 2e-3, "{sim}");
    }

    #[test]
    fn a_single_node_has_no_neighbours() {
        let points = Dense::from_vec(1, 2, vec![1.0, 0.0]).unwrap();
        assert_eq!(sim_at(&points, &[0], &[5]).unwrap()[&5], 0.0);
    }
}

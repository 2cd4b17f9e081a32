//! Clusters of embeddings: k-means, with k given or chosen by the silhouette.
//!
//! For a point i with mean distance `a` to the others of its cluster and mean distance `b` to those of the nearest
//! other cluster, the silhouette is `(b - a) / max(a, b)`: near 1 well inside, near 0 between two, below 0 in the wrong
//! one (0 for the only point of a cluster). Of several k, the one with the greatest mean silhouette is chosen.

use crate::error::{Error, Result};
use crate::kmeans::{Clustering, KMeans};
use crate::matrix::Dense;
use crate::random::{Purpose, Stream};
use crate::real::View;
use rayon::prelude::*;
use serde::Serialize;

/// Points that k-means sees while k is chosen.
const SEEN: usize = 20_000;
/// Points whose silhouettes are taken.
const SCORED: usize = 2_000;

/// How good a number of clusters is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Candidate {
    /// The number.
    pub k: usize,
    /// The mean silhouette of some points.
    pub silhouette: f64,
}

/// Clusters the rows, the largest cluster first.
pub fn cluster(points: &Dense, k: usize, seed: u64) -> Result<Clustering> {
    let stream = Stream::new(seed, Purpose::KMeans);
    let mut found = KMeans::new(k).fit(View::from(points), stream)?;
    let mut sizes = vec![0usize; k];
    found.assignments.iter().for_each(|c| sizes[*c as usize] += 1);
    let mut order: Vec<u32> = (0..k as u32).collect();
    order.sort_by_key(|c| (std::cmp::Reverse(sizes[*c as usize]), *c));
    let mut place = vec![0u32; k];
    order.iter().zip(0..).for_each(|(cluster, at)| place[*cluster as usize] = at);
    found.centers = found.centers.select_rows(&order);
    found.assignments.iter_mut().for_each(|c| *c = place[*c as usize]);
    Ok(found)
}

/// The rows of each cluster that are nearest to its centre, at most `count`, the nearest first.
pub fn central(points: &Dense, clustering: &Clustering, count: usize) -> Vec<Vec<u32>> {
    let mut rows: Vec<Vec<(f64, u32)>> = vec![Vec::new(); clustering.centers.rows()];
    for (row, cluster) in (0..).zip(&clustering.assignments) {
        let center = clustering.centers.row(*cluster as usize);
        let point = points.row(row as usize);
        let distance = point.iter().zip(center).map(|(p, c)| f64::from(p - c).powi(2)).sum();
        rows[*cluster as usize].push((distance, row));
    }
    let nearest = |mut rows: Vec<(f64, u32)>| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        rows.into_iter().take(count).map(|(_, row)| row).collect()
    };
    rows.into_iter().map(nearest).collect()
}

/// Scores every k from 2 to `most`, on a sample of large sets.
pub fn candidates(points: &Dense, most: usize, seed: u64) -> Result<Vec<Candidate>> {
    let stream = Stream::new(seed, Purpose::Clusters);
    let mut order = vec![0; points.rows()];
    stream.permutation(&mut order);
    let seen = points.select_rows(&order[..order.len().min(SEEN)]);
    let most = most.min(seen.rows().saturating_sub(1));
    if most < 2 {
        return Err(Error::Data(format!(
            "choosing a number of clusters: {} points and at most {most} clusters, expected at \
             least 3 points and 2 clusters",
            points.rows()
        )));
    }
    let scored: Vec<u32> = (0..seen.rows().min(SCORED) as u32).collect();
    let distances = distances(&seen.select_rows(&scored));
    (2..=most)
        .map(|k| {
            let kmeans = KMeans { restarts: 3, ..KMeans::new(k) };
            let found = kmeans.fit(View::from(&seen), stream.substream(k as u64))?;
            let silhouette = silhouette(&distances, &found.assignments[..scored.len()], k);
            Ok(Candidate { k, silhouette })
        })
        .collect()
}

/// The mean silhouette of clusters, over at most 2000 points drawn by the seed.
pub fn mean_silhouette(points: &Dense, assignments: &[u32], seed: u64) -> f64 {
    let mut order = vec![0; points.rows()];
    Stream::new(seed, Purpose::Clusters).permutation(&mut order);
    order.truncate(SCORED);
    let assignments: Vec<u32> = order.iter().map(|row| assignments[*row as usize]).collect();
    let clusters = assignments.iter().max().map_or(0, |c| *c as usize + 1);
    silhouette(&distances(&points.select_rows(&order)), &assignments, clusters)
}

/// The best candidate; of equals, the fewest clusters.
pub fn best(candidates: &[Candidate]) -> Option<Candidate> {
    let better = |a: &Candidate, b: &Candidate| b.silhouette > a.silhouette;
    candidates.iter().copied().reduce(|a, b| if better(&a, &b) { b } else { a })
}

/// Distances between all pairs.
fn distances(points: &Dense) -> Vec<Vec<f32>> {
    let distance = |a: usize, b: usize| {
        let squares =
            points.row(a).iter().zip(points.row(b)).map(|(x, y)| f64::from(x - y).powi(2));
        squares.sum::<f64>().sqrt() as f32
    };
    let all = 0..points.rows();
    all.clone().into_par_iter().map(|a| all.clone().map(|b| distance(a, b)).collect()).collect()
}

fn silhouette(distances: &[Vec<f32>], assignments: &[u32], k: usize) -> f64 {
    let of_point = |i: usize| {
        let (mut sums, mut counts) = (vec![0f64; k], vec![0usize; k]);
        for (j, cluster) in assignments.iter().enumerate().filter(|(j, _)| *j != i) {
            sums[*cluster as usize] += f64::from(distances[i][j]);
            counts[*cluster as usize] += 1;
        }
        let own = assignments[i] as usize;
        if counts[own] == 0 {
            return 0.0;
        }
        let inside = sums[own] / counts[own] as f64;
        let others = (0..k).filter(|c| *c != own && counts[*c] > 0);
        let outside = others.map(|c| sums[c] / counts[c] as f64).fold(f64::INFINITY, f64::min);
        match inside.max(outside) {
            largest if largest > 0.0 && outside.is_finite() => (outside - inside) / largest,
            _ => 0.0,
        }
    };
    let each: Vec<f64> = (0..assignments.len()).into_par_iter().map(of_point).collect();
    each.iter().sum::<f64>() / each.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four clusters of different sizes around corners.
    fn points() -> Dense {
        let s = Stream::new(1, Purpose::Planted);
        let value = |i: usize| {
            let (n, d) = (i / 2, i % 2);
            let corner = [0, 0, 0, 1, 1, 2, 3][n % 7];
            f64::from(corner >> d & 1) * 10.0 + s.normal(i as u64)
        };
        Dense::from_vec(350, 2, (0..700).map(|i| value(i) as f32).collect()).unwrap()
    }

    #[test]
    fn the_number_of_planted_clusters_is_found() {
        let candidates = candidates(&points(), 8, 0).unwrap();
        assert_eq!(candidates.len(), 7);
        let chosen = best(&candidates).unwrap();
        assert_eq!(chosen.k, 4);
        assert!(chosen.silhouette > 0.6, "{candidates:?}");
        assert!(super::candidates(&points().select_rows(&[0, 1]), 8, 0).is_err());
    }

    #[test]
    fn the_largest_cluster_comes_first() {
        let found = cluster(&points(), 4, 0).unwrap();
        let size = |c: u32| found.assignments.iter().filter(|a| **a == c).count();
        assert_eq!([size(0), size(1), size(2) + size(3)], [150, 100, 100]);
        for (n, cluster) in found.assignments.iter().enumerate() {
            let center = found.centers.row(*cluster as usize);
            let near = points().row(n).iter().zip(center).all(|(p, c)| (p - c).abs() < 5.0);
            assert!(near, "{n}");
        }
        for (cluster, rows) in central(&points(), &found, 3).iter().enumerate() {
            assert_eq!(rows.len(), 3);
            assert!(rows.iter().all(|r| found.assignments[*r as usize] == cluster as u32));
        }
    }

    #[test]
    fn silhouettes_as_defined() {
        let points = Dense::from_vec(4, 1, vec![0.0, 1.0, 10.0, 30.0]).unwrap();
        let distances = distances(&points);
        let found = silhouette(&distances, &[0, 0, 1, 2], 3);
        assert!((found - (0.9 + (9.0 - 1.0) / 9.0) / 4.0).abs() < 1e-9, "{found}");
        assert_eq!(silhouette(&distances, &[0, 0, 0, 0], 2), 0.0);
        let whole = mean_silhouette(&points, &[0, 0, 1, 2], 0);
        assert!((whole - found).abs() < 1e-12, "{whole}");
    }
}

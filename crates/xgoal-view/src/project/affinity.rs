//! How near points are to each other: for the nearest ones j of i,
//!
//! ```text
//!     p(j|i) ~ exp(- beta_i |z_i - z_j|^2),      |z_i - z_j|^2 = 2 (1 - cos(i, j))
//!     p_ij   = (p(j|i) + p(i|j)) / 2n
//! ```
//!
//! with beta_i such that the distribution of i has the wanted perplexity.

use rayon::prelude::*;
use xgoal::similar::Neighbor;

/// Halvings of the interval beta lies in.
const HALVINGS: usize = 100;

/// A symmetric sparse matrix that sums to 1, row after row.
#[derive(Debug)]
pub struct Affinities {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f32>,
}

impl Affinities {
    pub fn new(neighbours: &[&[Neighbor]], perplexity: f64) -> Self {
        let n = neighbours.len();
        let half = 0.5 / n as f64;
        // By column, so that two rows can be merged.
        let own: Vec<Vec<(u32, f32)>> = neighbours
            .par_iter()
            .map(|near| {
                let p = conditional(near, perplexity);
                let mut row: Vec<(u32, f32)> =
                    near.iter().zip(p).map(|(n, p)| (n.node, (p * half) as f32)).collect();
                row.sort_unstable_by_key(|(column, _)| *column);
                row
            })
            .collect();
        let mut incoming: Vec<Vec<(u32, f32)>> = vec![Vec::new(); n];
        for (i, row) in own.iter().enumerate() {
            row.iter().for_each(|(j, p)| incoming[*j as usize].push((i as u32, *p)));
        }
        let rows: Vec<Vec<(u32, f32)>> =
            own.par_iter().zip(&incoming).map(|(a, b)| merged(a, b)).collect();
        let mut starts = Vec::with_capacity(n + 1);
        starts.push(0);
        for row in &rows {
            starts.push(starts[starts.len() - 1] + row.len());
        }
        let (columns, values) = rows.into_iter().flatten().unzip();
        Self { starts, columns, values }
    }

    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f32)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

/// The sum of two rows that are sorted by column.
fn merged(a: &[(u32, f32)], b: &[(u32, f32)]) -> Vec<(u32, f32)> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let take_a = j == b.len() || (i < a.len() && a[i].0 <= b[j].0);
        let take_b = i == a.len() || (j < b.len() && b[j].0 <= a[i].0);
        let column = if take_a { a[i].0 } else { b[j].0 };
        let mut value = 0.0;
        if take_a {
            value += a[i].1;
            i += 1;
        }
        if take_b {
            value += b[j].1;
            j += 1;
        }
        out.push((column, value));
    }
    out
}

/// p(j|i) of one point.
fn conditional(near: &[Neighbor], perplexity: f64) -> Vec<f64> {
    let distance = |n: &Neighbor| 2.0 * (1.0 - f64::from(n.cosine));
    let least = near.iter().map(distance).fold(f64::INFINITY, f64::min);
    let excess: Vec<f64> = near.iter().map(|n| distance(n) - least).collect();
    let wanted = perplexity.min(near.len() as f64).ln();
    let (mut low, mut high, mut beta) = (0f64, f64::INFINITY, 1f64);
    let mut p = vec![0.0; near.len()];
    for _ in 0..HALVINGS {
        p.iter_mut().zip(&excess).for_each(|(p, d)| *p = (-beta * d).exp());
        let sum: f64 = p.iter().sum();
        let mean = p.iter().zip(&excess).map(|(p, d)| p * d).sum::<f64>() / sum;
        let entropy = sum.ln() + beta * mean;
        p.iter_mut().for_each(|p| *p /= sum);
        if (entropy - wanted).abs() < 1e-5 {
            break;
        }
        if entropy > wanted {
            low = beta;
            beta = if high.is_finite() { f64::midpoint(low, high) } else { 2.0 * beta };
        } else {
            high = beta;
            beta = f64::midpoint(low, high);
        }
        // Neighbours that are all equally far have one distribution, whatever beta.
        if !beta.is_finite() {
            break;
        }
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(cosines: &[f32]) -> Vec<Neighbor> {
        cosines.iter().zip(1..).map(|(c, node)| Neighbor { node, cosine: *c }).collect()
    }

    #[test]
    fn a_distribution_has_the_wanted_perplexity() {
        let cosines: Vec<f32> = (0..60).map(|i| 1.0 - 0.01 * i as f32).collect();
        let p = conditional(&near(&cosines), 20.0);
        let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        assert!((entropy.exp() - 20.0).abs() < 1e-3, "{}", entropy.exp());
        assert!(p.windows(2).all(|w| w[0] >= w[1]));
        let equal = conditional(&near(&[0.5; 4]), 30.0);
        assert_eq!(equal, [0.25; 4]);
    }

    #[test]
    fn the_matrix_is_symmetric_and_sums_to_one() {
        let lists = [
            vec![Neighbor { node: 1, cosine: 0.9 }, Neighbor { node: 2, cosine: 0.1 }],
            vec![Neighbor { node: 0, cosine: 0.9 }, Neighbor { node: 3, cosine: 0.5 }],
            vec![Neighbor { node: 3, cosine: 0.3 }, Neighbor { node: 1, cosine: 0.2 }],
            vec![Neighbor { node: 1, cosine: 0.5 }, Neighbor { node: 2, cosine: 0.3 }],
        ];
        let p = Affinities::new(&lists.each_ref().map(Vec::as_slice), 1.5);
        let entry = |i: usize, j: u32| p.row(i).find(|(c, _)| *c == j).map_or(0.0, |(_, v)| v);
        for i in 0..4 {
            (0..4).for_each(|j| assert_eq!(entry(i, j as u32), entry(j, i as u32)));
        }
        assert!((p.values.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

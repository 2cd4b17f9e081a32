//! Principal components: `Y = (Z - mean) V`, with V the leading eigenvectors of the covariance of the
//! rows Z at length 1.

use super::Point;
use rayon::prelude::*;
use xgoal::matrix::Dense;
use xgoal::random::{Purpose, Stream};
use xgoal::real::{Real, View, ViewMut};

/// Rows that are added to the covariance at a time.
const BLOCK: usize = 512;
/// Directions that are iterated, more than two so that those converge fast.
const DIRECTIONS: usize = 8;
/// Most iterations.
const ITERATIONS: usize = 300;

/// The two leading principal components of the rows at length 1. A component's sign is such that its
/// largest weight is positive.
pub fn pca(points: &Dense) -> Vec<Point> {
    let (rows, cols) = (points.rows(), points.cols());
    let unit: Vec<f32> =
        points.values().par_chunks(cols.max(1)).flat_map_iter(at_length_one).collect();
    let mut mean = vec![0f64; cols];
    for row in unit.chunks_exact(cols.max(1)) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v));
    }
    mean.iter_mut().for_each(|m| *m /= rows.max(1) as f64);
    let covariance = covariance(&unit, &mean);
    let directions = leading(&covariance, cols);
    let component = |row: &[f32], direction: &[f64]| {
        let centred = row.iter().zip(&mean).map(|(v, m)| f64::from(*v) - m);
        centred.zip(direction).map(|(v, d)| v * d).sum::<f64>() as f32
    };
    let of = |row: &[f32]| [component(row, &directions[0]), component(row, &directions[1])];
    unit.par_chunks_exact(cols.max(1)).map(of).collect()
}

fn at_length_one(row: &[f32]) -> Vec<f32> {
    let norm = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
    let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    row.iter().map(|v| (f64::from(*v) * scale) as f32).collect()
}

/// Block after block, so that the sums have one order.
fn covariance(unit: &[f32], mean: &[f64]) -> Vec<f64> {
    let cols = mean.len();
    let mut sum = vec![0f64; cols * cols];
    for block in unit.chunks(BLOCK * cols.max(1)) {
        let centred: Vec<f64> =
            block.iter().zip(mean.iter().cycle()).map(|(v, m)| f64::from(*v) - m).collect();
        let view = View::new(&centred, centred.len() / cols, cols);
        f64::gemm(1.0, view.t(), view, 1.0, &mut ViewMut::new(&mut sum, cols, cols));
    }
    sum
}

/// The two leading eigenvectors of a symmetric matrix, by orthogonal iteration.
fn leading(matrix: &[f64], n: usize) -> [Vec<f64>; 2] {
    let count = DIRECTIONS.min(n);
    let stream = Stream::new(0, Purpose::Projection);
    let start = |k: usize| (0..n).map(|i| stream.normal((k * n + i) as u64)).collect::<Vec<_>>();
    let mut basis: Vec<Vec<f64>> = (0..count).map(start).collect();
    orthonormal(&mut basis);
    for _ in 0..ITERATIONS {
        let last: Vec<Vec<f64>> = basis.iter().take(2).cloned().collect();
        basis = basis.iter().map(|v| product(matrix, v)).collect();
        orthonormal(&mut basis);
        let turned = last.iter().zip(&basis).map(|(a, b)| 1.0 - dot(a, b).abs());
        if turned.fold(0.0, f64::max) < 1e-12 {
            break;
        }
    }
    let mut two = basis.into_iter().take(2).map(|mut v| {
        let largest =
            v.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        if largest < 0.0 {
            v.iter_mut().for_each(|x| *x = -*x);
        }
        v
    });
    std::array::from_fn(|_| two.next().unwrap_or_else(|| vec![0.0; n]))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn product(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(v.len()).map(|row| dot(row, v)).collect()
}

/// Gram-Schmidt, twice for orthogonality in floating point. A direction without variance becomes zero.
fn orthonormal(basis: &mut [Vec<f64>]) {
    for k in 0..basis.len() {
        let (done, rest) = basis.split_at_mut(k);
        let v = &mut rest[0];
        for _ in 0..2 {
            for u in done.iter() {
                let along = dot(u, v);
                v.iter_mut().zip(u).for_each(|(x, y)| *x -= along * y);
            }
        }
        let norm = dot(v, v).sqrt();
        let scale = if norm > 1e-150 { 1.0 / norm } else { 0.0 };
        v.iter_mut().for_each(|x| *x *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directions_of_greatest_variance_come_first() {
        // On a sphere around (1, 0, 0), spread most along the third axis, less along the second.
        let stream = Stream::new(1, Purpose::Planted);
        let mut values = Vec::new();
        for i in 0..400 {
            let (a, b) = (0.05 * stream.normal(2 * i), 0.2 * stream.normal(2 * i + 1));
            values.extend([1.0f32, a as f32, b as f32]);
        }
        let points = Dense::from_vec(400, 3, values.clone()).unwrap();
        let flat = pca(&points);
        for (row, [x, y]) in values.chunks(3).zip(&flat) {
            let norm = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            assert!((row[2] / norm - x).abs() < 0.05, "{row:?} {x}");
            assert!((row[1] / norm - y).abs() < 0.05, "{row:?} {y}");
        }
        let mean = flat.iter().map(|p| p[0]).sum::<f32>() / 400.0;
        assert!(mean.abs() < 1e-6);
    }

    #[test]
    fn few_points_and_columns_have_components_too() {
        let line = Dense::from_vec(2, 1, vec![1.0, -1.0]).unwrap();
        let flat = pca(&line);
        assert_eq!(flat[0], [1.0, 0.0]);
        assert!(pca(&Dense::from_vec(1, 3, vec![0.0; 3]).unwrap())[0].iter().all(|v| *v == 0.0));
    }
}

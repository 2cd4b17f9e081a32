//! All eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations.
//!
//! ```text
//!     A = V^T diag(l) V,    |l_1| >= |l_2| >= ...
//! ```
//!
//! Each rotation makes one pair of entries zero; sweeps over all pairs end when what is left beside the diagonal is rounding.

/// Sweeps converge quadratically: more than this are never needed.
const SWEEPS: usize = 40;

/// Eigenvalues, the largest in size first.
pub(crate) struct Eigen {
    pub values: Vec<f64>,
    /// The eigenvector of each, as a row.
    pub vectors: Vec<f64>,
}

/// Takes a row-major symmetric matrix with rows of this width.
pub(crate) fn eigen(mut matrix: Vec<f64>, width: usize) -> Eigen {
    let mut vectors = vec![0.0; width * width];
    (0..width).for_each(|i| vectors[i * width + i] = 1.0);
    let whole: f64 = matrix.iter().map(|v| v * v).sum();
    for _ in 0..SWEEPS {
        let above = (0..width).flat_map(|i| &matrix[i * width..][i + 1..width]);
        let beside: f64 = above.map(|v| v * v).sum();
        if beside <= 1e-28 * whole {
            break;
        }
        for p in 0..width {
            for q in p + 1..width {
                rotate(&mut matrix, &mut vectors, width, p, q);
            }
        }
    }
    let value = |i: &usize| matrix[i * width + i];
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|a, b| value(b).abs().total_cmp(&value(a).abs()));
    Eigen {
        values: order.iter().map(value).collect(),
        vectors: order.iter().flat_map(|i| &vectors[i * width..][..width]).copied().collect(),
    }
}

/// Turns the plane of p and q, p < q, so that the entry they share becomes zero.
fn rotate(matrix: &mut [f64], vectors: &mut [f64], width: usize, p: usize, q: usize) {
    let (pp, qq, pq) = (matrix[p * width + p], matrix[q * width + q], matrix[p * width + q]);
    // What is below rounding turns nothing.
    if pq.abs() <= f64::EPSILON * 1e-3 * (pp * qq).abs().sqrt() || pq == 0.0 {
        return;
    }
    let theta = (qq - pp) / (2.0 * pq);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = tangent.hypot(1.0).recip();
    let sine = tangent * cosine;
    for rows in [&mut *matrix, vectors] {
        let (head, tail) = rows.split_at_mut(q * width);
        for (a, b) in head[p * width..][..width].iter_mut().zip(&mut tail[..width]) {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
    }
    // The rows were turned; the columns are the same but where p and q meet.
    for k in (0..width).filter(|k| *k != p && *k != q) {
        matrix[k * width + p] = matrix[p * width + k];
        matrix[k * width + q] = matrix[q * width + k];
    }
    matrix[p * width + p] = pp - tangent * pq;
    matrix[q * width + q] = qq + tangent * pq;
    matrix[p * width + q] = 0.0;
    matrix[q * width + p] = 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn vectors_are_orthonormal_and_give_the_matrix_back() {
        let stream = Stream::new(5, Purpose::Weights);
        for (width, rank) in [(0, 0), (1, 1), (2, 2), (9, 9), (40, 40), (40, 3), (12, 0)] {
            let factor = |i: usize, j: usize| stream.normal((i * rank + j) as u64);
            let sign = |j: usize| if j % 3 == 1 { -1.0 } else { 1.0 };
            let entry = |i: usize, j: usize| -> f64 {
                (0..rank).map(|r| factor(i, r) * sign(r) * factor(j, r)).sum()
            };
            let at = |k: usize| entry(k / width, k % width);
            let matrix: Vec<f64> = (0..width * width).map(at).collect();
            let Eigen { values, vectors } = eigen(matrix.clone(), width);
            assert!(values.windows(2).all(|w| w[0].abs() >= w[1].abs()));
            assert!(values.iter().skip(rank).all(|v| v.abs() < 1e-12 * width as f64));
            for (i, j) in (0..width).flat_map(|i| (0..width).map(move |j| (i, j))) {
                let row = |i: usize| &vectors[i * width..][..width];
                let product: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
                let back: f64 = (0..width).map(|k| values[k] * row(k)[i] * row(k)[j]).sum();
                assert!((back - matrix[i * width + j]).abs() < 1e-10, "{width} {i} {j}");
            }
        }
    }
}

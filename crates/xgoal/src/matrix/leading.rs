//! The directions in which a matrix is largest, by orthogonal iteration. Tables are row-major.

/// Leading directions.
pub(crate) struct Leading {
    /// Orthonormal columns, of about the space of the leading eigenvectors.
    pub basis: Vec<f64>,
    /// What the matrix makes of each, about the largest eigenvalues.
    pub values: Vec<f64>,
}

/// The `width` leading directions of a symmetric matrix that is known by its product with a table of so many columns, from a
/// start that is given by the place in it.
///
/// Columns are made orthogonal to those before them, so that the first ones are what they would be without the rest.
pub(crate) fn leading(
    rows: usize,
    width: usize,
    iterations: usize,
    start: impl Fn(usize) -> f64,
    mut product: impl FnMut(&[f64]) -> Vec<f64>,
) -> Leading {
    let mut basis: Vec<f64> = (0..rows * width).map(start).collect();
    orthonormal(&mut basis, width);
    let mut values = vec![0.0; width];
    for _ in 0..iterations {
        let next = product(&basis);
        values.fill(0.0);
        for (row, made) in basis.chunks_exact(width).zip(next.chunks_exact(width)) {
            values.iter_mut().zip(row.iter().zip(made)).for_each(|(sum, (a, b))| *sum += a * b);
        }
        basis = next;
        orthonormal(&mut basis, width);
    }
    Leading { basis, values }
}

/// Gram-Schmidt on the columns of a row-major matrix, the first one first; one of which nothing is left becomes zero.
pub(crate) fn orthonormal(matrix: &mut [f64], width: usize) {
    let rows = matrix.len() / width.max(1);
    // Columns one after another.
    let mut columns: Vec<Vec<f64>> = (0..width).map(|_| Vec::with_capacity(rows)).collect();
    for row in matrix.chunks_exact(width.max(1)) {
        columns.iter_mut().zip(row).for_each(|(column, v)| column.push(*v));
    }
    for w in 0..width {
        let (before, rest) = columns.split_at_mut(w);
        let column = &mut rest[0];
        let whole = norm(column);
        // Twice, because what rounding leaves of the others after the first time counts where little else is left.
        for other in before.iter().chain(before.iter()) {
            let shared: f64 = column.iter().zip(other).map(|(a, b)| a * b).sum();
            column.iter_mut().zip(other).for_each(|(a, b)| *a -= shared * b);
        }
        let left = norm(column);
        let scale = if left > 1e-10 * whole { left.recip() } else { 0.0 };
        column.iter_mut().for_each(|v| *v *= scale);
    }
    for (r, row) in matrix.chunks_exact_mut(width.max(1)).enumerate() {
        row.iter_mut().zip(&columns).for_each(|(v, column)| *v = column[r]);
    }
}

fn norm(column: &[f64]) -> f64 {
    column.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Takes the mean out of every column of a row-major matrix.
pub(crate) fn centre(matrix: &mut [f64], width: usize) {
    let rows = (matrix.len() / width) as f64;
    let mut means = vec![0.0; width];
    for row in matrix.chunks_exact(width) {
        means.iter_mut().zip(row).for_each(|(mean, v)| *mean += v / rows);
    }
    for row in matrix.chunks_exact_mut(width) {
        row.iter_mut().zip(&means).for_each(|(v, mean)| *v -= mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn columns_become_orthonormal_or_zero() {
        let stream = Stream::new(3, Purpose::Weights);
        let mut matrix: Vec<f64> = (0..30 * 4).map(|i| stream.normal(i)).collect();
        // The third column is a combination of the first two.
        matrix.chunks_exact_mut(4).for_each(|row| row[2] = 2.0 * row[0] - row[1]);
        orthonormal(&mut matrix, 4);
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            let product: f64 = matrix.chunks_exact(4).map(|row| row[a] * row[b]).sum();
            let expected = if a == b && a != 2 { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-12, "{a} {b}: {product}");
        }
    }
}

//! Tables of many rows and few columns, in f32: products of two of them, and columns made orthonormal.
//!
//! ```text
//!     G = Y^T Y = R^T R,    Q = Y R^-1
//! ```
//!
//! (Cholesky's factor, rows walked twice in all.) Products are summed in f64 over blocks of rows that depend on their number alone, so that
//! the bits do not depend on threads.

use super::Dense;
use crate::real::{Real, View, ViewMut};
use rayon::prelude::*;

/// Rows that are held in f64 at a time.
const ROWS: usize = 256;
/// Partial sums of a product at most.
const PARTS: usize = 64;
/// A column of which less than this is left, squared, beside those before it becomes zero: f32 says nothing about so little.
const NOTHING: f64 = 1e-11;

/// `A^T B` for tables of the same shape, row-major.
pub(crate) fn product(a: &Dense, b: &Dense) -> Vec<f64> {
    let width = a.cols();
    let rows = a.rows().div_ceil(PARTS).max(1).next_multiple_of(ROWS);
    let part = |(a, b): (&[f32], &[f32])| {
        let mut sum = vec![0.0; width * width];
        for (a, b) in a.chunks(ROWS * width).zip(b.chunks(ROWS * width)) {
            let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
            let (count, a, b) = (a.len() / width, wide(a), wide(b));
            let (a, b) = (View::new(&a, count, width), View::new(&b, count, width));
            f64::gemm(1.0, a.t(), b, 1.0, &mut ViewMut::new(&mut sum, width, width));
        }
        sum
    };
    let pairs = a.values().par_chunks(rows * width).zip(b.values().par_chunks(rows * width));
    let parts: Vec<Vec<f64>> = pairs.map(part).collect();
    let mut sum = vec![0.0; width * width];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    sum
}

/// Takes the mean of the rows that are not zero out of each of them.
pub(crate) fn centre(table: &mut Dense) {
    let width = table.cols();
    let rows = table.rows().div_ceil(PARTS).max(1);
    let is_row = |row: &&[f32]| row.iter().any(|v| *v != 0.0);
    let part = |rows: &[f32]| {
        let mut sum = vec![0.0; width + 1];
        for row in rows.chunks_exact(width).filter(is_row) {
            sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += f64::from(*v));
            sum[width] += 1.0;
        }
        sum
    };
    let parts: Vec<Vec<f64>> = table.values().par_chunks(rows * width).map(part).collect();
    let mut sum = vec![0.0; width + 1];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    table.values_mut().par_chunks_mut(width).filter(|row| is_row(&&**row)).for_each(|row| {
        row.iter_mut()
            .zip(&sum)
            .for_each(|(v, all)| *v = (f64::from(*v) - all / sum[width]) as f32);
    });
}

/// `A M` with M row-major, of as many columns as `out` has.
pub(crate) fn turn(a: &Dense, by: &[f64], out: &mut Dense) {
    let (width, cols) = (a.cols(), out.cols());
    let by: Vec<f32> = by.iter().map(|v| *v as f32).collect();
    let outs = out.values_mut().par_chunks_mut(ROWS * cols);
    outs.zip(a.values().par_chunks(ROWS * width)).for_each(|(out, a)| {
        let count = a.len() / width;
        let (a, by) = (View::new(a, count, width), View::new(&by, width, cols));
        f32::gemm(1.0, a, by, 0.0, &mut ViewMut::new(out, count, cols));
    });
}

/// Makes the columns of `table` orthonormal, or zero where they say nothing beside those before them. The result is in `table`; `room` is
/// of its shape.
///
/// Once leaves them as orthonormal as f32 and their condition allow; twice makes them so.
pub(crate) fn orthonormalize(table: &mut Dense, room: &mut Dense, times: usize) {
    let width = table.cols();
    for _ in 0..times {
        let by = inverse_factor(product(table, table), width);
        turn(table, &by, room);
        std::mem::swap(table, room);
    }
}

/// R^-1 for G = R^T R, upper triangular; rows and columns that depend on those before are zero.
fn inverse_factor(mut gram: Vec<f64>, width: usize) -> Vec<f64> {
    // R takes the place of G's upper triangle, row after row.
    let mut inverse = vec![0.0; width * width];
    let squares: Vec<f64> = (0..width).map(|i| gram[i * width + i]).collect();
    for i in 0..width {
        let (done, rest) = gram.split_at_mut(i * width);
        let row = &mut rest[..width];
        for before in done.chunks_exact(width) {
            let shared = before[i];
            row[i..].iter_mut().zip(&before[i..]).for_each(|(v, b)| *v -= shared * b);
        }
        let pivot = row[i];
        // Not `<=`, so that NaN is nothing as well.
        let scale = if pivot > NOTHING * squares[i] { pivot.sqrt().recip() } else { 0.0 };
        row[i..].iter_mut().for_each(|v| *v *= scale);
        // Column i of R^-1, by the columns before it.
        if scale > 0.0 {
            inverse[i * width + i] = scale;
            for r in 0..i {
                let sum: f64 = (r..i).map(|k| inverse[r * width + k] * gram[k * width + i]).sum();
                inverse[r * width + i] = -scale * sum;
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn table(rows: usize, cols: usize) -> Dense {
        let stream = Stream::new(3, Purpose::Weights);
        let values = (0..rows * cols).map(|i| stream.normal(i as u64) as f32).collect();
        Dense::from_vec(rows, cols, values).unwrap()
    }

    #[test]
    fn columns_become_orthonormal_or_zero() {
        for rows in [5, 300, 40_000] {
            let mut matrix = table(rows, 4);
            // The third column is a combination of the first two; the last is large and nearly the first.
            for row in matrix.values_mut().chunks_exact_mut(4) {
                row[2] = 2.0 * row[0] - row[1];
                row[3] = 1e6 * (row[0] + 1e-3 * row[3]);
            }
            let mut room = Dense::zeros(rows, 4);
            orthonormalize(&mut matrix, &mut room, 2);
            let gram = product(&matrix, &matrix);
            for (i, entry) in gram.iter().enumerate() {
                let expected = if i % 5 == 0 && i != 10 { 1.0 } else { 0.0 };
                assert!((entry - expected).abs() < 1e-6, "{rows} {i}: {entry}");
            }
        }
    }

    #[test]
    fn products_are_those_of_f64() {
        for rows in [0, 1, 255, 257, 20_000] {
            let (a, b) = (table(rows, 3), table(rows, 3));
            let found = product(&a, &b);
            for (i, found) in found.iter().enumerate() {
                let pairs = (0..rows).map(|r| (a.row(r)[i / 3], b.row(r)[i % 3]));
                let exact: f64 = pairs.map(|(a, b)| f64::from(a) * f64::from(b)).sum();
                assert!((found - exact).abs() <= 1e-9 * rows as f64);
            }
            let mut out = Dense::zeros(rows, 2);
            turn(&a, &[1.0, 0.0, 0.0, 0.0, 0.0, -2.0], &mut out);
            assert!((0..rows).all(|r| out.row(r) == [a.row(r)[0], -2.0 * a.row(r)[2]]));
        }
    }
}

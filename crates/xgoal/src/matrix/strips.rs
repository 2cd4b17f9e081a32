//! Products with a matrix that lies in strips, which are read as they are.
//!
//! ```text
//!     C[j][l] += alpha sum_t A[j][t] S[t][l]          l = 0 .. 32 of one strip
//! ```
//!
//! [`Real::gemm`] brings both of its sides into an order of its own, each time. That costs more than it saves where one side
//! is multiplied again and again and the other has few rows: points and the centres of k-means, nodes and the weights of a
//! classifier. Sums go through t in its order.

use crate::real::{Real, View, ViewMut};

/// Columns of a strip.
pub(crate) const STRIP: usize = 32;

/// Rows in strips of 32, each column after column; the last is filled with zeros.
///
/// ```text
///     strip s:  column 0 of rows 32 s .. 32 s + 32,  column 1 of the same rows,  ...
/// ```
#[derive(Debug, Clone)]
pub(crate) struct Strips<T> {
    cols: usize,
    values: Vec<T>,
}

impl<T: Real> Strips<T> {
    /// The rows of a matrix.
    pub fn new(matrix: View<'_, T>) -> Self {
        let mut strips = Self { cols: matrix.cols, values: Vec::new() };
        strips.fill(matrix);
        strips
    }

    /// Takes the rows of another matrix with as many columns.
    pub fn fill(&mut self, matrix: View<'_, T>) {
        self.values.clear();
        self.values.resize(matrix.rows.div_ceil(STRIP) * STRIP * self.cols, T::default());
        for r in 0..matrix.rows {
            let strip = &mut self.values[r / STRIP * STRIP * self.cols..][..STRIP * self.cols];
            for (c, to) in strip.iter_mut().skip(r % STRIP).step_by(STRIP).enumerate() {
                *to = matrix.at(r, c);
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.values.len() / (STRIP * self.cols).max(1)
    }

    /// One of them.
    pub fn strip(&self, strip: usize) -> &[T] {
        let size = STRIP * self.cols;
        &self.values[strip * size..][..size]
    }
}

/// The plain form, which every fast one must equal up to rounding. Rows of `a` are contiguous.
pub(crate) fn plain<T: Real>(alpha: T, a: View<'_, T>, strip: &[T], c: &mut ViewMut<'_, T>) {
    for j in 0..a.rows {
        let mut sums = [T::default(); STRIP];
        let row = &a.values[j * a.row_stride..][..a.cols];
        for (x, values) in row.iter().zip(strip.chunks_exact(STRIP)) {
            sums.iter_mut().zip(values).for_each(|(sum, v)| *sum += *x * *v);
        }
        let out = &mut c.values[j * c.row_stride..][..STRIP];
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out += alpha * sum);
    }
}

/// The form for f32: sums stay in registers.
pub(crate) fn fast(alpha: f32, a: View<'_, f32>, strip: &[f32], c: &mut ViewMut<'_, f32>) {
    pulp::Arch::new().dispatch(Product { alpha, a, strip, c });
}

struct Product<'a, 'b> {
    alpha: f32,
    a: View<'a, f32>,
    strip: &'a [f32],
    c: &'a mut ViewMut<'b, f32>,
}

impl pulp::WithSimd for Product<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) {
        for at in (0..STRIP / S::F32_LANES).step_by(2) {
            let mut j = 0;
            // Twice as many sums as rows; some registers are left for what is added to them.
            if S::REGISTER_COUNT >= 32 {
                while j + 12 <= self.a.rows {
                    self.tile::<S, 12>(simd, at, j);
                    j += 12;
                }
            }
            while j + 6 <= self.a.rows {
                self.tile::<S, 6>(simd, at, j);
                j += 6;
            }
            while j + 3 <= self.a.rows {
                self.tile::<S, 3>(simd, at, j);
                j += 3;
            }
            while j < self.a.rows {
                self.tile::<S, 1>(simd, at, j);
                j += 1;
            }
        }
    }
}

impl Product<'_, '_> {
    /// Two registers' columns, from the register `at` of the strip on, of `ROWS` rows.
    #[inline(always)]
    fn tile<S: pulp::Simd, const ROWS: usize>(&mut self, simd: S, at: usize, from: usize) {
        let Self { alpha, a, strip, c } = self;
        let row = |j: usize| &a.values[(from + j) * a.row_stride..][..a.cols];
        let rows: [&[f32]; ROWS] = std::array::from_fn(row);
        let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
        let (strip, _) = S::as_simd_f32s(strip);
        for (t, values) in strip.chunks_exact(STRIP / S::F32_LANES).enumerate() {
            let (left, right) = (values[at], values[at + 1]);
            for j in 0..ROWS {
                let x = simd.splat_f32s(rows[j][t]);
                sums[j][0] = simd.mul_add_e_f32s(x, left, sums[j][0]);
                sums[j][1] = simd.mul_add_e_f32s(x, right, sums[j][1]);
            }
        }
        let alpha = simd.splat_f32s(*alpha);
        for (j, sums) in sums.into_iter().enumerate() {
            let out = &mut c.values[(from + j) * c.row_stride + at * S::F32_LANES..];
            let (out, _) = S::as_mut_simd_f32s(&mut out[..2 * S::F32_LANES]);
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = simd.mul_add_e_f32s(alpha, sum, *out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn fast_products_equal_plain_ones_for_any_number_of_rows_and_terms() {
        let stream = Stream::new(1, Purpose::Planted);
        let numbers = |n: usize, part: u64| -> Vec<f32> {
            (0..n).map(|i| stream.substream(part).normal(i as u64) as f32).collect()
        };
        for (rows, terms, points) in [(1, 1, 1), (2, 7, 40), (17, 33, 64), (51, 128, 70)] {
            let (a, x) = (numbers(rows * terms, 0), numbers(points * terms, 1));
            let a = View { row_stride: terms, ..View::new(&a, rows, terms) };
            let x = View::new(&x, points, terms);
            let strips = Strips::new(x);
            assert_eq!(strips.count(), points.div_ceil(STRIP));
            for s in 0..strips.count() {
                // Rows of C farther apart than a strip is wide.
                let [mut found, mut expected] = [(); 2].map(|()| vec![0.5; rows * 40]);
                let view = |values| ViewMut { values, rows, cols: STRIP, row_stride: 40 };
                f32::strip(-2.0, a, strips.strip(s), &mut view(&mut found));
                plain(-2.0, a, strips.strip(s), &mut view(&mut expected));
                for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let error = (found - expected).abs();
                    assert!(error <= 1e-4, "{rows} x {terms}, {i}: {found} and {expected}");
                }
                let (j, l) = (rows - 1, (points - 1 - s * STRIP).min(STRIP - 1));
                let sum = (0..terms).map(|t| a.at(j, t) * x.at(s * STRIP + l, t)).sum::<f32>();
                assert!((expected[j * 40 + l] - (0.5 - 2.0 * sum)).abs() <= 1e-4);
            }
        }
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let mut c = vec![3.0f32; STRIP];
        let a = View::new(&[], 1, 0);
        f32::strip(1.0, a, &[], &mut ViewMut::new(&mut c, 1, STRIP));
        assert_eq!(c, [3.0; STRIP]);
        let none = Strips::<f32>::new(View::new(&[], 0, 4));
        assert_eq!(none.count(), 0);
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn shapes_that_do_not_fit_are_refused() {
        let mut c = vec![0.0f32; STRIP];
        let a = View::new(&[0.0; 2], 1, 2);
        f32::strip(1.0, a, &[0.0; STRIP], &mut ViewMut::new(&mut c, 1, STRIP));
    }
}

//! The two floating-point types the numeric code is written for, and their matrix product.
//!
//! `f32` is what training uses; `f64` is what gradients are checked in.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::matrix::Dense;
use crate::matrix::strips::{STRIP, fast, plain};

/// A floating-point number: `f32` or `f64`.
pub trait Real:
    Copy
    + Default
    + Send
    + Sync
    + PartialOrd
    + Debug
    + Display
    + Sum
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// Nearest value of this type.
    fn from_f64(value: f64) -> Self;

    /// The same value, exact.
    fn from_f32(value: f32) -> Self;

    /// The same value as `f64`; exact.
    fn to_f64(self) -> f64;

    /// Square root.
    fn sqrt(self) -> Self;

    /// Exponential.
    fn exp(self) -> Self;

    /// Hyperbolic tangent.
    fn tanh(self) -> Self;

    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;

    /// `c = alpha * a * b + beta * c`, on the calling thread. With `beta` zero, `c` is not read.
    ///
    /// # Panics
    /// When the shapes do not fit or a view reaches past its slice: both are mistakes of the
    /// caller, never of the data.
    fn gemm(
        alpha: Self,
        a: View<'_, Self>,
        b: View<'_, Self>,
        beta: Self,
        c: &mut ViewMut<'_, Self>,
    );

    /// `c += alpha * a * strip` for 32 columns, all that `strip` has: a row of it after another. Rows of `a` are
    /// contiguous.
    ///
    /// # Panics
    /// As [`Real::gemm`].
    fn strip(alpha: Self, a: View<'_, Self>, strip: &[Self], c: &mut ViewMut<'_, Self>);
}

/// A matrix read from a slice: entry (r, c) stands at `r * row_stride + c * col_stride`.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T> {
    /// The slice.
    pub values: &'a [T],
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Distance between two rows.
    pub row_stride: usize,
    /// Distance between two columns.
    pub col_stride: usize,
}

impl<'a, T: Copy> View<'a, T> {
    /// Rows one after another.
    pub fn new(values: &'a [T], rows: usize, cols: usize) -> Self {
        Self { values, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// The transpose, without moving anything.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            values: self.values,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    /// Entry (r, c).
    pub fn at(&self, r: usize, c: usize) -> T {
        self.values[r * self.row_stride + c * self.col_stride]
    }

    fn fits(&self) -> bool {
        spans(self.rows, self.cols, self.row_stride, self.col_stride)
            .is_some_and(|span| span <= self.values.len())
    }
}

impl<'a, T: Copy + Default> From<&'a Dense<T>> for View<'a, T> {
    fn from(matrix: &'a Dense<T>) -> Self {
        Self::new(matrix.values(), matrix.rows(), matrix.cols())
    }
}

/// A matrix written into a slice, rows one after another.
///
/// Only the distance between rows is free, so that two entries can never share a place.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    /// The slice.
    pub values: &'a mut [T],
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Distance between two rows, at least `cols`.
    pub row_stride: usize,
}

impl<'a, T: Copy> ViewMut<'a, T> {
    /// Rows one after another, without gaps.
    pub fn new(values: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self { values, rows, cols, row_stride: cols }
    }

    fn fits(&self) -> bool {
        self.row_stride >= self.cols
            && spans(self.rows, self.cols, self.row_stride, 1)
                .is_some_and(|span| span <= self.values.len())
    }
}

/// Length of the slice a strided matrix reaches into; `None` when it does not fit an `isize`,
/// which is what the product's pointer arithmetic works in.
fn spans(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let last =
        (rows - 1).checked_mul(row_stride)?.checked_add((cols - 1).checked_mul(col_stride)?)?;
    let span = last.checked_add(1)?;
    isize::try_from(span.max(row_stride).max(col_stride)).ok()?;
    Some(span)
}

macro_rules! real {
    ($type:ty, $gemm:path, $exp:path, $strip:path) => {
        impl Real for $type {
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                value as $type
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$type>::sqrt(self)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                <$type>::tanh(self)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }

            fn gemm(
                alpha: Self,
                a: View<'_, Self>,
                b: View<'_, Self>,
                beta: Self,
                c: &mut ViewMut<'_, Self>,
            ) {
                assert!(
                    a.cols == b.rows && a.rows == c.rows && b.cols == c.cols,
                    "gemm: shapes {:?}, {:?} and {:?} do not fit",
                    (a.rows, a.cols),
                    (b.rows, b.cols),
                    (c.rows, c.cols)
                );
                assert!(a.fits() && b.fits() && c.fits(), "gemm: a view reaches past its slice");
                if c.rows == 0 || c.cols == 0 {
                    return;
                }
                // SAFETY: the shapes agree and every (row, column) of the three views lies inside
                // its slice with offsets below isize::MAX, both asserted above. `c` is borrowed
                // mutably, so it overlaps neither `a` nor `b`, and its rows do not overlap each
                // other because row_stride >= cols.
                #[expect(unsafe_code, reason = "the product of a library that takes pointers")]
                unsafe {
                    $gemm(
                        a.rows,
                        a.cols,
                        b.cols,
                        alpha,
                        a.values.as_ptr(),
                        a.row_stride as isize,
                        a.col_stride as isize,
                        b.values.as_ptr(),
                        b.row_stride as isize,
                        b.col_stride as isize,
                        beta,
                        c.values.as_mut_ptr(),
                        c.row_stride as isize,
                        1,
                    );
                }
            }

            fn strip(alpha: Self, a: View<'_, Self>, strip: &[Self], c: &mut ViewMut<'_, Self>) {
                assert!(
                    a.rows == c.rows && c.cols == STRIP && strip.len() == a.cols * STRIP,
                    "strip: shapes {:?}, {} and {:?} do not fit",
                    (a.rows, a.cols),
                    strip.len(),
                    (c.rows, c.cols)
                );
                let fit = a.col_stride == 1 && a.fits() && c.fits();
                assert!(fit, "strip: a view reaches past its slice");
                $strip(alpha, a, strip, c);
            }
        }
    };
}

real!(f32, matrixmultiply::sgemm, exp, fast);
real!(f64, matrixmultiply::dgemm, f64::exp, plain);

/// e^x in operations that vectorise, relative error below 2e-7: `2^n e^r` with r in [-ln 2 / 2, ln 2 / 2]
/// and e^r by its Taylor polynomial. Below -87 it stays at e^-87; above 88 it grows to infinity.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Comparisons that leave NaN as it is.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 89.0 { 89.0 } else { x };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let p = 1.0 / 720.0 + r * (1.0 / 5040.0);
    let p = 1.0
        + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * p)))));
    // In two halves, so that 2^128 is reached by way of infinity and not of a wrong exponent.
    // The sum's last bits are n; a conversion, which minds what does not fit, would be done one by one.
    let n = rounded.to_bits() as i32 - ROUND.to_bits() as i32;
    let half = n / 2;
    let power = |n: i32| f32::from_bits(((n + 127) << 23) as u32);
    p * power(half) * power(n - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product<T: Real>() {
        let numbers = |n: usize| (0..n).map(|i| T::from_f64(i as f64 - 3.0)).collect::<Vec<_>>();
        let (a, b) = (numbers(6), numbers(12));
        let mut c = vec![T::from_f64(1.0); 10];
        // Rows of four in steps of five leave the fifth value of the first row alone.
        let mut view = ViewMut { values: &mut c, rows: 2, cols: 4, row_stride: 5 };
        let (a, b) = (View::new(&a, 3, 2).t(), View::new(&b, 3, 4));
        T::gemm(T::from_f64(2.0), a, b, T::from_f64(1.0), &mut view);
        for r in 0..2 {
            for n in 0..4 {
                let sum = (0..3).map(|k| a.at(r, k) * b.at(k, n)).sum::<T>().to_f64();
                assert_eq!(c[r * 5 + n].to_f64(), 1.0 + 2.0 * sum);
            }
        }
        assert_eq!(c[4].to_f64(), 1.0);
    }

    #[test]
    fn fast_exp_is_close_to_the_exact_one() {
        for i in -86_900..=88_000 {
            let x = i as f32 * 1e-3;
            let (fast, exact) = (Real::exp(x), f64::from(x).exp());
            assert!((f64::from(fast) / exact - 1.0).abs() < 2e-7, "{x}: {fast} and {exact}");
        }
        assert!(Real::exp(-1e30f32) < 2e-38);
        assert_eq!(Real::exp(1e30f32), f32::INFINITY);
        assert!(Real::exp(f32::NAN).is_nan());
        assert_eq!(Real::exp(0f32), 1.0);
    }

    #[test]
    fn gemm_is_the_plain_product() {
        product::<f32>();
        product::<f64>();
    }

    #[test]
    fn an_empty_inner_dimension_leaves_beta_c() {
        let mut c = [3.0f64];
        f64::gemm(
            1.0,
            View::new(&[], 1, 0),
            View::new(&[], 0, 1),
            2.0,
            &mut ViewMut::new(&mut c, 1, 1),
        );
        assert_eq!(c, [6.0]);
    }

    #[test]
    #[should_panic(expected = "past its slice")]
    fn a_view_past_its_slice_is_refused() {
        let mut c = [0.0f32; 4];
        let short = View { values: &[0.0f32; 3], rows: 2, cols: 2, row_stride: 2, col_stride: 1 };
        f32::gemm(1.0, short, short, 0.0, &mut ViewMut::new(&mut c, 2, 2));
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn shapes_that_do_not_fit_are_refused() {
        let mut c = [0.0f32; 4];
        let a = View::new(&[0.0f32; 6], 2, 3);
        f32::gemm(1.0, a, a, 0.0, &mut ViewMut::new(&mut c, 2, 2));
    }
}

//! One node told apart from a negative, the building block of L_N and R_N.
//!
//! ```text
//!     s+ = cos(h, p)    s- = cos(h, n)    x = s- - s+
//!     l  = -log( e^{s+} / (e^{s+} + e^{s-}) ) = softplus(x)
//!
//!     dl/ds- = sigma(x) = -dl/ds+
//!     d cos(a, b) / da = ( b/|b| - cos(a, b) a/|a| ) / |a|
//! ```
//!
//! A row whose norm is below 1e-12 has no direction: its cosine is 0 and it passes no gradient.

use crate::real::Real;

/// Rows of one node.
pub struct Contrast<'a, T> {
    /// h, the anchor.
    pub anchor: &'a [T],
    /// p, which it should agree with.
    pub positive: &'a [T],
    /// n, which it should disagree with.
    pub negative: &'a [T],
}

/// The loss, and the three gradients as coefficients of the three rows.
pub struct Outcome<T> {
    /// softplus(s- - s+).
    pub loss: f64,
    /// d/dh = h * [0] + p * [1] + n * [2].
    pub anchor: [T; 3],
    /// d/dp = h * [0] + p * [1].
    pub positive: [T; 2],
    /// d/dn = h * [0] + n * [1].
    pub negative: [T; 2],
}

const SMALLEST_NORM: f64 = 1e-12;

/// Loss and gradient coefficients of one node, times `weight`.
#[inline(always)]
pub fn contrast<T: Real>(rows: &Contrast<'_, T>, weight: f64) -> Outcome<T> {
    let inverse = |square: T| {
        let norm = square.to_f64().sqrt();
        if norm > SMALLEST_NORM { norm.recip() } else { 0.0 }
    };
    let (h, p, n) = (rows.anchor, rows.positive, rows.negative);
    let (ih, ip, in_) = (inverse(dot(h, h)), inverse(dot(p, p)), inverse(dot(n, n)));
    let s_pos = dot(h, p).to_f64() * ih * ip;
    let s_neg = dot(h, n).to_f64() * ih * in_;
    let x = s_neg - s_pos;
    // x lies in [-2, 2], so neither form can overflow.
    let loss = x.exp().ln_1p();
    let g = weight / (1.0 + (-x).exp());
    let c = T::from_f64;
    Outcome {
        loss,
        anchor: [c(g * (s_pos - s_neg) * ih * ih), c(-g * ip * ih), c(g * in_ * ih)],
        positive: [c(-g * ih * ip), c(g * s_pos * ip * ip)],
        negative: [c(g * ih * in_), c(-g * s_neg * in_ * in_)],
    }
}

/// A dot product with sixteen running sums, in one order for every instruction set.
#[inline(always)]
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::default(); 16];
    let (a_head, a_tail) = a.split_at(a.len() / 16 * 16);
    let (b_head, b_tail) = b.split_at(a_head.len());
    for (x, y) in a_head.chunks_exact(16).zip(b_head.chunks_exact(16)) {
        for i in 0..16 {
            sums[i] += x[i] * y[i];
        }
    }
    let tail: T = a_tail.iter().zip(b_tail).map(|(x, y)| *x * *y).sum();
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            let other = sums[i + half];
            sums[i] += other;
        }
    }
    sums[0] + tail
}

/// `out += sum_i coefficients[i] * rows[i]`.
#[inline(always)]
pub fn add_combination<T: Real, const N: usize>(
    coefficients: [T; N],
    rows: [&[T]; N],
    out: &mut [T],
) {
    for (coefficient, row) in coefficients.into_iter().zip(rows) {
        for (o, r) in out.iter_mut().zip(row) {
            *o += coefficient * *r;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_direction_passes_nothing() {
        let (zero, one) = ([0.0f64; 4], [1.0f64; 4]);
        let out = contrast(&Contrast { anchor: &zero, positive: &one, negative: &one }, 1.0);
        assert_eq!(out.loss, 2f64.ln());
        assert_eq!((out.anchor, out.positive, out.negative), ([0.0; 3], [-0.0, 0.0], [0.0, -0.0]));
    }

    #[test]
    fn dot_is_the_sum_of_products_for_any_length() {
        for n in [0, 1, 15, 16, 17, 128, 131] {
            let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let expected: f64 = a.iter().map(|v| v * v).sum();
            assert_eq!(dot(&a, &a), expected);
        }
    }
}

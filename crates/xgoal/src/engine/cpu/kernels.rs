//! The inner loops, compiled for several instruction sets and chosen at run time.
//!
//! `gather` is the one that matters: `out += scale * sum_i values[i] * table[indices[i], :]`, a sparse
//! row times a dense matrix. Every sparse product of the engine is made of it. For f32 it keeps a strip
//! of the output row in registers while it walks the entries; for f64, which only checks gradients,
//! it is the plain loop.

use crate::real::Real;

/// A [`Real`] with the engine's inner loops.
pub trait Kernels: Real {
    /// `out += scale * sum_i values[i] * table[indices[i], :]`, with rows of `out.len()` in `table`.
    fn gather(table: &[Self], indices: &[u32], values: &[Self], scale: Self, out: &mut [Self]);

    /// Replaces every value by its hyperbolic tangent.
    fn tanh_in_place(values: &mut [Self]);

    /// Runs `work` compiled for the best instruction set of this machine.
    fn vectorized<W: Work>(work: W) -> W::Output;
}

/// Loops that are compiled once per instruction set.
///
/// `run`, and what it calls in its loops, must be `#[inline(always)]`: only code that is inlined is
/// compiled for the instruction set. A closure cannot be forced to be.
pub trait Work {
    /// What it gives back.
    type Output;

    /// Does it.
    fn run(self) -> Self::Output;
}

/// The plain form of [`Kernels::gather`], which every fast one must equal up to rounding.
pub fn gather_plain<T: Real>(table: &[T], indices: &[u32], values: &[T], scale: T, out: &mut [T]) {
    let dim = out.len();
    for (&i, &v) in indices.iter().zip(values) {
        let row = &table[i as usize * dim..][..dim];
        for (o, t) in out.iter_mut().zip(row) {
            *o += scale * v * *t;
        }
    }
}

impl Kernels for f64 {
    fn gather(table: &[f64], indices: &[u32], values: &[f64], scale: f64, out: &mut [f64]) {
        gather_plain(table, indices, values, scale, out);
    }

    fn tanh_in_place(values: &mut [f64]) {
        values.iter_mut().for_each(|v| *v = v.tanh());
    }

    fn vectorized<W: Work>(work: W) -> W::Output {
        work.run()
    }
}

impl Kernels for f32 {
    #[inline]
    fn gather(table: &[f32], indices: &[u32], values: &[f32], scale: f32, out: &mut [f32]) {
        pulp::Arch::new().dispatch(Gather { table, indices, values, scale, out });
    }

    fn tanh_in_place(values: &mut [f32]) {
        Self::vectorized(Tanh(values));
    }

    #[inline]
    fn vectorized<W: Work>(work: W) -> W::Output {
        pulp::Arch::new().dispatch(Run(work))
    }
}

/// `table[indices[i], :] += values[i] * row` for every entry of a list.
pub struct Scatter<'a, T> {
    /// Where to add.
    pub table: &'a mut [T],
    /// Which rows of it.
    pub indices: &'a [u32],
    /// Times what.
    pub values: &'a [T],
    /// What.
    pub row: &'a [T],
}

impl<T: Real> Work for Scatter<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let dim = self.row.len();
        for (&i, &v) in self.indices.iter().zip(self.values) {
            let out = &mut self.table[i as usize * dim..][..dim];
            for (o, r) in out.iter_mut().zip(self.row) {
                *o += v * *r;
            }
        }
    }
}

struct Run<W>(W);

impl<W: Work> pulp::WithSimd for Run<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> W::Output {
        self.0.run()
    }
}

struct Tanh<'a>(&'a mut [f32]);

impl Work for Tanh<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for v in self.0 {
            *v = tanh(*v);
        }
    }
}

/// tanh(x) = x P(x^2) / Q(x^2) on |x| <= 9, relative error below 4e-7 (`scripts/fit_tanh.py`).
#[inline(always)]
fn tanh(x: f32) -> f32 {
    const P: [f32; 5] = [0.999_999_9, 0.133_360_67, 3.440_392_4e-3, 1.962_972_6e-5, 1.187_762_2e-8];
    const Q: [f32; 5] = [1.0, 0.466_694_03, 2.567_171e-2, 3.192_243_8e-4, 7.196_477_5e-7];
    // `max` and `min` would turn NaN into a number, which must stay visible as a NaN loss.
    let c = if x > 9.0 { 9.0 } else { x };
    let c = if c < -9.0 { -9.0 } else { c };
    let y = c * c;
    let p = (((P[4] * y + P[3]) * y + P[2]) * y + P[1]) * y + P[0];
    let q = (((Q[4] * y + Q[3]) * y + Q[2]) * y + Q[1]) * y + Q[0];
    c * p / q
}

struct Gather<'a> {
    table: &'a [f32],
    indices: &'a [u32],
    values: &'a [f32],
    scale: f32,
    out: &'a mut [f32],
}

impl pulp::WithSimd for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) {
        let dim = self.out.len();
        let mut at = 0;
        while at + 8 * S::F32_LANES <= dim {
            self.strip::<S, 8>(simd, at);
            at += 8 * S::F32_LANES;
        }
        while at + S::F32_LANES <= dim {
            self.strip::<S, 1>(simd, at);
            at += S::F32_LANES;
        }
        if at < dim {
            for (&i, &v) in self.indices.iter().zip(self.values) {
                let row = &self.table[i as usize * dim..][at..dim];
                for (o, t) in self.out[at..].iter_mut().zip(row) {
                    *o += self.scale * v * *t;
                }
            }
        }
    }
}

impl Gather<'_> {
    /// `R` registers of the output row, starting at column `at`.
    #[inline(always)]
    fn strip<S: pulp::Simd, const R: usize>(&mut self, simd: S, at: usize) {
        let dim = self.out.len();
        let width = R * S::F32_LANES;
        let (out, _) = S::as_mut_simd_f32s(&mut self.out[at..at + width]);
        let mut sum = [simd.splat_f32s(0.0); R];
        for (&i, &v) in self.indices.iter().zip(self.values) {
            let start = i as usize * dim + at;
            let (row, _) = S::as_simd_f32s(&self.table[start..start + width]);
            let v = simd.splat_f32s(v);
            for r in 0..R {
                sum[r] = simd.mul_add_e_f32s(v, row[r], sum[r]);
            }
        }
        let scale = simd.splat_f32s(self.scale);
        for (out, sum) in out.iter_mut().zip(sum) {
            *out = simd.mul_add_e_f32s(scale, sum, *out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn fast_gather_equals_the_plain_one_for_any_width() {
        let s = Stream::new(1, Purpose::Planted);
        for dim in [1, 3, 8, 16, 31, 64, 100, 128, 129, 256, 300] {
            let table: Vec<f32> = (0..50 * dim).map(|i| s.normal(i as u64) as f32).collect();
            let indices: Vec<u32> = (0..20).map(|i| s.below(1_000_000 + i, 50) as u32).collect();
            let values: Vec<f32> = (0..20).map(|i| s.normal(2_000_000 + i) as f32).collect();
            let mut fast = vec![0.5f32; dim];
            let mut plain = fast.clone();
            f32::gather(&table, &indices, &values, 0.7, &mut fast);
            gather_plain(&table, &indices, &values, 0.7, &mut plain);
            for (a, b) in fast.iter().zip(&plain) {
                assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "dim {dim}: {a} and {b}");
            }
        }
    }

    #[test]
    fn fast_tanh_is_close_to_the_exact_one() {
        let mut values: Vec<f32> = (-20_000..=20_000).map(|i| i as f32 * 1e-3).collect();
        values.extend([1e-30, -1e-8, 1e-4, f32::INFINITY, f32::NEG_INFINITY]);
        let exact: Vec<f64> = values.iter().map(|v| f64::from(*v).tanh()).collect();
        f32::tanh_in_place(&mut values);
        for (v, e) in values.iter().zip(&exact) {
            assert!((f64::from(*v) - e).abs() <= 1e-6 * e.abs(), "{v} and {e}");
        }
        let mut nan = [f32::NAN];
        f32::tanh_in_place(&mut nan);
        assert!(nan[0].is_nan());
    }
}

//! L_N, the node-level loss (Equation 1 of the paper).
//!
//! ```text
//!     L_N = -1/N sum_n log e^{cos(h_n, h_n+)} / ( e^{cos(h_n, h_n+)} + e^{cos(h_n, h_n-)} )
//! ```
//!
//! H, H+, H- are N x d; gradients of one node are in [`super::contrast`].

use super::Rows;
use super::contrast::{Contrast, add_combination, contrast};
use crate::real::Real;

/// Sum of the block's losses; adds `weight` times its gradient to all three views.
#[inline(always)]
pub fn node_loss<T: Real>(
    dim: usize,
    weight: f64,
    anchor: &mut Rows<'_, T>,
    positive: &mut Rows<'_, T>,
    negative: &mut Rows<'_, T>,
) -> f64 {
    let mut sum = 0.0;
    for n in 0..anchor.values.len() / dim {
        let row = n * dim..(n + 1) * dim;
        let (h, p) = (&anchor.values[row.clone()], &positive.values[row.clone()]);
        let m = &negative.values[row.clone()];
        let out = contrast(&Contrast { anchor: h, positive: p, negative: m }, weight);
        add_combination(out.anchor, [h, p, m], &mut anchor.gradient[row.clone()]);
        add_combination(out.positive, [h, p], &mut positive.gradient[row.clone()]);
        add_combination(out.negative, [h, m], &mut negative.gradient[row]);
        sum += out.loss;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let (n, dim) = (3, 5);
        let size = n * dim;
        let inputs = check::normals(3 * size, 1);
        let run = |x: &[f64], g: &mut [f64]| {
            let (h, rest) = g.split_at_mut(size);
            let (p, m) = rest.split_at_mut(size);
            let mut views = [h, p, m]
                .into_iter()
                .enumerate()
                .map(|(i, gradient)| Rows { values: &x[i * size..(i + 1) * size], gradient });
            let mut next = || views.next().unwrap();
            node_loss(dim, 0.7, &mut next(), &mut next(), &mut next())
        };
        let mut gradient = vec![0.0; 3 * size];
        run(&inputs, &mut gradient);
        check::gradient(&inputs, &gradient, |x| 0.7 * run(x, &mut vec![0.0; 3 * size]));
    }
}

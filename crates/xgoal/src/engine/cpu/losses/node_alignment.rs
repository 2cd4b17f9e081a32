//! R_N, the node-level alignment (Equation 5 of the paper).
//!
//! ```text
//!     R_N = -1/Z sum_n sum_v sum_{v' != v}
//!             log e^{cos(h_n^v, h_n^v')} / ( e^{cos(h_n^v, h_n^v')} + e^{cos(h_n^v, h_n^v-)} )
//!     Z   = N V (V - 1)
//! ```
//!
//! It has the form of L_N with the other layer's embedding as the positive; both layers and the
//! negative view receive gradient, by [`super::contrast`].

use super::Rows;
use super::contrast::{Contrast, add_combination, contrast};
use crate::real::Real;

/// Sum over the block and all ordered pairs of layers; adds `weight` times its gradient.
#[inline(always)]
pub fn node_alignment<T: Real>(
    dim: usize,
    weight: f64,
    anchors: &mut [Rows<'_, T>],
    negatives: &mut [Rows<'_, T>],
) -> f64 {
    let layers = anchors.len();
    let nodes = anchors[0].values.len() / dim;
    let mut sum = 0.0;
    for n in 0..nodes {
        let row = n * dim..(n + 1) * dim;
        for v in 0..layers {
            for other in (0..layers).filter(|other| *other != v) {
                let (h, p) = (&anchors[v].values[row.clone()], &anchors[other].values[row.clone()]);
                let m = &negatives[v].values[row.clone()];
                let out = contrast(&Contrast { anchor: h, positive: p, negative: m }, weight);
                add_combination(out.anchor, [h, p, m], &mut anchors[v].gradient[row.clone()]);
                add_combination(out.positive, [h, p], &mut anchors[other].gradient[row.clone()]);
                add_combination(out.negative, [h, m], &mut negatives[v].gradient[row.clone()]);
                sum += out.loss;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let (n, dim, layers) = (2, 4, 3);
        let size = n * dim;
        let inputs = check::normals(2 * layers * size, 2);
        let run = |x: &[f64], g: &mut [f64]| {
            let mut rows: Vec<Rows<'_, f64>> = x
                .chunks(size)
                .zip(g.chunks_mut(size))
                .map(|(values, gradient)| Rows { values, gradient })
                .collect();
            let (anchors, negatives) = rows.split_at_mut(layers);
            node_alignment(dim, 0.3, anchors, negatives)
        };
        let mut gradient = vec![0.0; inputs.len()];
        run(&inputs, &mut gradient);
        check::gradient(&inputs, &gradient, |x| 0.3 * run(x, &mut vec![0.0; x.len()]));
    }
}

//! R_C, the cluster-level alignment (Equations 6 and 7 of the paper).
//!
//! ```text
//!     p_n^v  = softmax( C^v h_n^v  / tau_a )      anchor semantics, a constant
//!     q_n^v' = softmax( C^v h_n^v' / tau_a )      recovered from another layer
//!
//!     R_C^v = 1/(N (V - 1)) sum_n sum_{v' != v} KL( p_n^v || q_n^v' )
//!     R_C   = 1/V sum_v R_C^v
//!
//!     dR_C/dh_n^v' = 1/(N V (V - 1) tau_a) sum_v sum_k ( q_n^v'[k] - p_n^v[k] ) c_k^v
//! ```
//!
//! Theorem 2 bounds the mutual information of the anchor's clusters and the other layer's
//! embeddings. With the clusters' entropy, which its proof leaves out as a constant, the bound is
//! `I(C^v; H^v') >= H(C^v) - 1/N sum_n H(p_n^v, q_n^v')`; what it needs is summed on the way.

use super::{LANES, Rows, log_softmax, logits, logits_backward};
use crate::matrix::Dense;
use crate::real::Real;

/// What one anchor layer's alignment gives for a block.
#[derive(Debug, Default, Clone, Copy)]
pub struct Recovery {
    /// Sum of KL(p || q) over nodes and other layers.
    pub divergence: f64,
    /// Sum of the cross-entropies H(p, q) over nodes and other layers.
    pub cross_entropy: f64,
}

/// Adds the block's p to `marginal` (K sums over nodes), and `weight` times the gradient to every
/// layer but the anchor.
#[inline(always)]
pub fn cluster_alignment<T: Real>(
    anchor: usize,
    (centers, tau): (&Dense<T>, f64),
    weight: f64,
    layers: &mut [Rows<'_, T>],
    (scratch, marginal): (&mut [Vec<T>; 2], &mut [f64]),
) -> Recovery {
    let k = centers.rows();
    let [log_p, log_q] = scratch;
    logits(layers[anchor].values, centers, tau, log_p);
    for row in log_p.chunks_mut(k) {
        log_softmax(row);
        for (m, l) in marginal.iter_mut().zip(row) {
            *m += l.exp().to_f64();
        }
    }
    let mut sum = Recovery::default();
    for (_, rows) in layers.iter_mut().enumerate().filter(|(v, _)| *v != anchor) {
        logits(rows.values, centers, tau, log_q);
        for (log_p, log_q) in log_p.chunks(k).zip(log_q.chunks_mut(k)) {
            log_softmax(log_q);
            // Sums over one row in T, over rows in f64.
            let (mut apart, mut cross) = ([T::default(); LANES], [T::default(); LANES]);
            for (log_p, log_q) in log_p.chunks(LANES).zip(log_q.chunks_mut(LANES)) {
                for (i, (lp, lq)) in log_p.iter().zip(log_q).enumerate() {
                    let p = lp.exp();
                    apart[i] += p * (*lp - *lq);
                    cross[i] -= p * *lq;
                    *lq = lq.exp() - p;
                }
            }
            sum.divergence += apart.into_iter().sum::<T>().to_f64();
            sum.cross_entropy += cross.into_iter().sum::<T>().to_f64();
        }
        logits_backward(log_q, centers, weight / tau, rows.gradient);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn gradient_is_that_of_finite_differences_in_the_recovering_layers() {
        let (n, dim, k, count, anchor) = (3, 4, 5, 3, 1);
        let size = n * dim;
        let centers = Dense::from_vec(k, dim, check::normals(k * dim, 5)).unwrap();
        let inputs = check::normals(count * size, 6);
        let run = |x: &[f64], g: &mut [f64]| {
            let mut layers: Vec<Rows<'_, f64>> = x
                .chunks(size)
                .zip(g.chunks_mut(size))
                .map(|(values, gradient)| Rows { values, gradient })
                .collect();
            let mut scratch = [Vec::new(), Vec::new()];
            let marginal = &mut [0.0; 5];
            let out = cluster_alignment(
                anchor,
                (&centers, 0.5),
                0.2,
                &mut layers,
                (&mut scratch, marginal),
            );
            assert!((marginal.iter().sum::<f64>() - n as f64).abs() < 1e-12);
            out.divergence
        };
        let mut gradient = vec![0.0; inputs.len()];
        run(&inputs, &mut gradient);
        // p is a constant: the anchor's rows get no gradient, and are held still here.
        let (held, moving) = (anchor * size..(anchor + 1) * size, inputs.len());
        assert!(gradient[held.clone()].iter().all(|g| *g == 0.0));
        let free: Vec<usize> = (0..moving).filter(|i| !held.contains(i)).collect();
        let pick = |all: &[f64]| free.iter().map(|i| all[*i]).collect::<Vec<_>>();
        check::gradient(&pick(&inputs), &pick(&gradient), |x| {
            let mut all = inputs.clone();
            free.iter().zip(x).for_each(|(i, v)| all[*i] = *v);
            0.2 * run(&all, &mut vec![0.0; moving])
        });
    }

    #[test]
    fn equal_embeddings_have_no_divergence() {
        let centers = Dense::from_vec(2, 2, vec![1.0f64, 0.0, 0.0, 1.0]).unwrap();
        let x = [0.3, -0.2];
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        let mut layers =
            [Rows { values: &x, gradient: &mut a }, Rows { values: &x, gradient: &mut b }];
        let mut scratch = [Vec::new(), Vec::new()];
        let out =
            cluster_alignment(0, (&centers, 1.0), 1.0, &mut layers, (&mut scratch, &mut [0.0; 2]));
        assert_eq!(out.divergence, 0.0);
        assert_eq!(b, [0.0; 2]);
    }
}

//! L_C, the cluster-level loss (Equations 2 and 3 of the paper).
//!
//! ```text
//!     p(k | h_n) = e^{c_k . h_n / tau} / sum_k' e^{c_k' . h_n / tau}
//!     L_C        = -1/N sum_n log p(k_n | h_n)
//!
//!     dL_C/dh_n  = 1/(N tau) sum_k ( p(k | h_n) - [k = k_n] ) c_k
//! ```
//!
//! H is N x d, C is K x d; the centres and the assignments k_n are constants.

use super::{Rows, log_softmax, logits, logits_backward};
use crate::matrix::Dense;
use crate::real::Real;

/// Prototypes as a block of nodes sees them.
#[derive(Debug)]
pub struct Assigned<'a, T> {
    /// C, a row per cluster.
    pub centers: &'a Dense<T>,
    /// k_n of the block's nodes.
    pub assignments: &'a [u32],
    /// The temperature.
    pub tau: f64,
}

/// Sum of the block's losses; adds `weight` times its gradient.
#[inline(always)]
pub fn cluster_loss<T: Real>(
    prototypes: &Assigned<'_, T>,
    weight: f64,
    rows: &mut Rows<'_, T>,
    scratch: &mut Vec<T>,
) -> f64 {
    let k = prototypes.centers.rows();
    logits(rows.values, prototypes.centers, prototypes.tau, scratch);
    let mut sum = 0.0;
    for (row, &assigned) in scratch.chunks_mut(k).zip(prototypes.assignments) {
        log_softmax(row);
        sum -= row[assigned as usize].to_f64();
        row.iter_mut().for_each(|l| *l = l.exp());
        row[assigned as usize] -= T::from_f64(1.0);
    }
    logits_backward(scratch, prototypes.centers, weight / prototypes.tau, rows.gradient);
    sum
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let (n, dim, k) = (4, 5, 3);
        let centers = Dense::from_vec(k, dim, check::normals(k * dim, 3)).unwrap();
        let inputs = check::normals(n * dim, 4);
        for tau in [1.0, 0.2] {
            let run = |x: &[f64], g: &mut [f64]| {
                let assigned = Assigned { centers: &centers, assignments: &[2, 0, 1, 1], tau };
                cluster_loss(&assigned, 0.4, &mut Rows { values: x, gradient: g }, &mut Vec::new())
            };
            let mut gradient = vec![0.0; n * dim];
            run(&inputs, &mut gradient);
            check::gradient(&inputs, &gradient, |x| 0.4 * run(x, &mut vec![0.0; n * dim]));
        }
    }

    #[test]
    fn large_logits_do_not_overflow() {
        let centers = Dense::from_vec(2, 1, vec![100.0f32, -100.0]).unwrap();
        let assigned = Assigned { centers: &centers, assignments: &[1], tau: 0.01 };
        let mut gradient = [0.0f32];
        let mut rows = Rows { values: &[1.0], gradient: &mut gradient };
        let loss = cluster_loss(&assigned, 1.0, &mut rows, &mut Vec::new());
        assert!((loss - 20_000.0).abs() < 1e-2, "{loss}");
        assert!(gradient[0].is_finite());
    }
}

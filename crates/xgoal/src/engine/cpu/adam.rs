//! Adam with the usual constants.
//!
//! ```text
//!     m = b1 m + (1 - b1) g         v = b2 v + (1 - b2) g^2
//!     w = w - lr / (1 - b1^t) * m / ( sqrt(v / (1 - b2^t)) + eps )
//! ```
//!
//! The first-order encoder is the sum of two linear maps, `A X W + b'` and `X W' + b''`, of which only
//! `b = b' + b''` can be seen. Both biases get the same gradient and so take the same steps: b moves by
//! twice the learning rate. With attributes scaled to a sum of one, activations start out smaller than
//! one step, and this sets how far the weights grow before the warm-up settles.

use super::kernels::{Kernels, Work};
use crate::model::LayerWeights;
use rayon::prelude::*;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Moments for the weights of every layer.
#[derive(Debug, Clone)]
pub struct Adam<T> {
    /// m.
    pub first: Vec<LayerWeights<T>>,
    /// v.
    pub second: Vec<LayerWeights<T>>,
    /// t, the number of updates so far.
    pub updates: u64,
}

impl<T: Kernels> Adam<T> {
    /// No moments yet.
    pub fn new(weights: &[LayerWeights<T>]) -> Self {
        let zeros: Vec<_> = weights.iter().map(LayerWeights::zeros_like).collect();
        Self { first: zeros.clone(), second: zeros, updates: 0 }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        let moments = self.first.iter_mut().chain(&mut self.second);
        moments.flat_map(LayerWeights::tensors_mut).for_each(|t| t.fill(T::default()));
        self.updates = 0;
    }

    /// Moves the weights along the gradients, those of a layer with a rate of 0 excepted.
    pub fn update(
        &mut self,
        learning_rates: &[f64],
        gradients: &[LayerWeights<T>],
        weights: &mut [LayerWeights<T>],
    ) {
        // A saved state may say any number.
        self.updates = self.updates.saturating_add(1);
        let t = self.updates.min(i32::MAX as u64) as i32;
        let unbias_first = 1.0 - BETA1.powi(t);
        let unbias = T::from_f64((1.0 - BETA2.powi(t)).sqrt().recip());
        let moments = self.first.iter_mut().zip(&mut self.second);
        let layers = weights.iter_mut().zip(gradients).zip(moments).zip(learning_rates);
        let moving = layers.filter(|(_, rate)| **rate > 0.0);
        let tensors = moving.flat_map(|(((w, g), (m, v)), rate)| {
            let step = rate / unbias_first;
            let biases = 1.0 + f64::from(w.self_weight.is_some());
            let matrices = 1 + usize::from(w.self_weight.is_some());
            let steps = std::iter::repeat_n(step, matrices).chain([biases * step]);
            let tensors =
                w.tensors_mut().zip(g.tensors()).zip(m.tensors_mut()).zip(v.tensors_mut());
            tensors.zip(steps.map(T::from_f64))
        });
        for ((((w, g), m), v), step) in tensors {
            const CHUNK: usize = 1 << 14;
            let chunks = w
                .par_chunks_mut(CHUNK)
                .zip(g.par_chunks(CHUNK))
                .zip(m.par_chunks_mut(CHUNK))
                .zip(v.par_chunks_mut(CHUNK));
            chunks.for_each(|(((w, g), m), v)| {
                T::vectorized(Move { w, g, m, v, step, unbias });
            });
        }
    }
}

/// The step of some weights.
struct Move<'a, T> {
    w: &'a mut [T],
    g: &'a [T],
    m: &'a mut [T],
    v: &'a mut [T],
    step: T,
    unbias: T,
}

impl<T: Kernels> Work for Move<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { w, g, m, v, step, unbias } = self;
        let [b1, b2, c1, c2, eps] =
            [BETA1, BETA2, 1.0 - BETA1, 1.0 - BETA2, EPSILON].map(T::from_f64);
        for (((w, g), m), v) in w.iter_mut().zip(g).zip(m).zip(v) {
            *m = b1 * *m + c1 * *g;
            *v = b2 * *v + c2 * *g * *g;
            *w -= step * *m / (v.sqrt() * unbias + eps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    #[test]
    fn first_steps_are_those_of_the_definition() {
        let one = |x: f64| LayerWeights {
            weight: Dense::from_vec(1, 1, vec![x]).unwrap(),
            self_weight: None,
            bias: vec![],
        };
        let mut weights = [one(1.0)];
        let mut adam = Adam::new(&weights);
        let (mut w, mut m, mut v) = (1.0f64, 0.0f64, 0.0f64);
        for t in 1..=5 {
            let g = 0.3 * f64::from(t);
            adam.update(&[0.1], &[one(g)], &mut weights);
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            w -=
                0.1 * (m / (1.0 - 0.9f64.powi(t))) / ((v / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-8);
            assert!((weights[0].weight.values()[0] - w).abs() < 1e-12);
        }
    }
}

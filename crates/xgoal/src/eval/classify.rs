//! Softmax regression on frozen embeddings.
//!
//! For embeddings `X` (n x d), classes `y`, weights `W` (d x C) and biases `b`,
//!
//! ```text
//!     Z = X W + b,    P = softmax(Z) by rows,    loss = -1/n sum_i log P[i, y_i]
//!
//!     G = (P - onehot(y)) / n,    dloss/dW = X^T G,    dloss/db = column sums of G
//! ```
//!
//! `log P` is taken as `z - logsumexp(z)`. Weights start Xavier-uniform and biases at zero; Adam
//! takes full-batch steps without regularisation. After every step the validation and test nodes
//! are scored, and the test score at the first step with the best validation score is reported,
//! for Macro-F1 and Micro-F1 separately.

use rayon::prelude::*;

use super::scores;
use crate::matrix::Dense;
use crate::random::Stream;
use crate::real::{Real, View, ViewMut};

/// Embeddings of some nodes and their classes.
#[derive(Debug, Clone)]
pub struct Rows<T = f32> {
    /// One row per node.
    pub values: Dense<T>,
    /// One class per node.
    pub labels: Vec<u32>,
}

/// Test scores of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct F1 {
    /// Macro-F1 at the step with the best validation Macro-F1.
    pub macro_f1: f64,
    /// Micro-F1 at the step with the best validation Micro-F1.
    pub micro_f1: f64,
}

/// How a classifier is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classifier {
    /// Number of classes.
    pub classes: usize,
    /// Adam steps.
    pub steps: usize,
    /// Adam's learning rate.
    pub lr: f64,
}

impl Classifier {
    /// Trains `runs` classifiers, run `r` starting from the weights `stream.substream(r)` gives.
    pub fn runs<T: Real>(
        &self,
        train: &Rows<T>,
        val: &Rows<T>,
        test: &Rows<T>,
        runs: usize,
        stream: Stream,
    ) -> Vec<F1> {
        (0..runs as u64)
            .into_par_iter()
            .map(|r| self.run(train, val, test, stream.substream(r)))
            .collect()
    }

    fn run<T: Real>(&self, train: &Rows<T>, val: &Rows<T>, test: &Rows<T>, stream: Stream) -> F1 {
        let d = train.values.cols();
        let mut model = Linear::xavier(d, self.classes, stream);
        let mut gradient = Linear::zeros(d, self.classes);
        let mut adam = Adam::new(model.parameters.len(), self.lr);
        let longest = train.labels.len().max(val.labels.len()).max(test.labels.len());
        let mut logits = vec![T::default(); longest * self.classes];
        let mut predicted = Vec::with_capacity(longest);
        let mut best = [(f64::NEG_INFINITY, 0.0); 2];
        for _ in 0..self.steps {
            loss_and_gradient(&model, train, &mut logits, &mut gradient);
            adam.step(&mut model.parameters, &gradient.parameters);
            let mut score = |rows: &Rows<T>| {
                model.predict(&rows.values, &mut logits, &mut predicted);
                [
                    scores::macro_f1(&rows.labels, &predicted, self.classes),
                    scores::micro_f1(&rows.labels, &predicted),
                ]
            };
            let (val, test) = (score(val), score(test));
            for ((best, val), test) in best.iter_mut().zip(val).zip(test) {
                if val > best.0 {
                    *best = (val, test);
                }
            }
        }
        F1 { macro_f1: best[0].1, micro_f1: best[1].1 }
    }
}

/// Weights, row after row, followed by biases.
struct Linear<T> {
    inputs: usize,
    classes: usize,
    parameters: Vec<T>,
}

impl<T: Real> Linear<T> {
    fn zeros(inputs: usize, classes: usize) -> Self {
        Self { inputs, classes, parameters: vec![T::default(); (inputs + 1) * classes] }
    }

    fn xavier(inputs: usize, classes: usize, stream: Stream) -> Self {
        let mut model = Self::zeros(inputs, classes);
        let bound = (6.0 / (inputs + classes) as f64).sqrt();
        for (i, w) in model.parameters[..inputs * classes].iter_mut().enumerate() {
            *w = T::from_f64(bound * (2.0 * stream.uniform(i as u64) - 1.0));
        }
        model
    }

    /// `X W + b`, into the front of `logits`.
    fn forward(&self, x: &Dense<T>, logits: &mut [T]) {
        let (weights, biases) = self.parameters.split_at(self.inputs * self.classes);
        let logits = &mut logits[..x.rows() * self.classes];
        for row in logits.chunks_exact_mut(self.classes) {
            row.copy_from_slice(biases);
        }
        let one = T::from_f64(1.0);
        T::gemm(
            one,
            View::from(x),
            View::new(weights, self.inputs, self.classes),
            one,
            &mut ViewMut::new(logits, x.rows(), self.classes),
        );
    }

    /// The first class with the greatest logit, per row.
    fn predict(&self, x: &Dense<T>, logits: &mut [T], predicted: &mut Vec<u32>) {
        self.forward(x, logits);
        predicted.clear();
        predicted.extend(logits[..x.rows() * self.classes].chunks_exact(self.classes).map(|row| {
            let mut best = 0;
            for c in 1..row.len() {
                if row[c] > row[best] {
                    best = c;
                }
            }
            best as u32
        }));
    }
}

/// The mean cross-entropy; its gradient is written over `gradient`.
fn loss_and_gradient<T: Real>(
    model: &Linear<T>,
    rows: &Rows<T>,
    logits: &mut [T],
    gradient: &mut Linear<T>,
) -> f64 {
    let (n, classes) = (rows.labels.len(), model.classes);
    model.forward(&rows.values, logits);
    let logits = &mut logits[..n * classes];
    let (weights, biases) = gradient.parameters.split_at_mut(model.inputs * classes);
    biases.fill(T::default());
    let scale = T::from_f64(1.0 / n as f64);
    let mut loss = 0.0;
    for (row, &label) in logits.chunks_exact_mut(classes).zip(&rows.labels) {
        let label = label as usize;
        let greatest = row.iter().copied().fold(row[0], |a, b| if b > a { b } else { a });
        let at_label = (row[label] - greatest).to_f64();
        let mut sum = T::default();
        for z in row.iter_mut() {
            *z = (*z - greatest).exp();
            sum += *z;
        }
        loss += sum.to_f64().ln() - at_label;
        for z in row.iter_mut() {
            *z /= sum;
        }
        row[label] -= T::from_f64(1.0);
        for (z, bias) in row.iter_mut().zip(biases.iter_mut()) {
            *z *= scale;
            *bias += *z;
        }
    }
    T::gemm(
        T::from_f64(1.0),
        View::from(&rows.values).t(),
        View::new(logits, n, classes),
        T::default(),
        &mut ViewMut::new(weights, model.inputs, classes),
    );
    loss / n as f64
}

/// Adam with the usual betas (0.9, 0.999) and epsilon 1e-8.
struct Adam<T> {
    lr: f64,
    steps: i32,
    first: Vec<T>,
    second: Vec<T>,
}

impl<T: Real> Adam<T> {
    fn new(parameters: usize, lr: f64) -> Self {
        Self {
            lr,
            steps: 0,
            first: vec![T::default(); parameters],
            second: vec![T::default(); parameters],
        }
    }

    fn step(&mut self, parameters: &mut [T], gradient: &[T]) {
        self.steps += 1;
        let (beta1, beta2) = (0.9, 0.999);
        let rate = T::from_f64(self.lr / (1.0 - f64::powi(beta1, self.steps)));
        let correction = T::from_f64(1.0 / (1.0 - f64::powi(beta2, self.steps)).sqrt());
        let [keep1, take1, keep2, take2, epsilon] =
            [beta1, 1.0 - beta1, beta2, 1.0 - beta2, 1e-8].map(T::from_f64);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = keep1 * *m + take1 * *g;
            *v = keep2 * *v + take2 * *g * *g;
            *p -= rate * *m / (v.sqrt() * correction + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// Points around one of `classes` corners, far enough apart for a linear rule.
    fn rows(n: usize, d: usize, classes: usize, stream: Stream) -> Rows<f64> {
        let labels: Vec<u32> = (0..n).map(|i| (i % classes) as u32).collect();
        let noise = |i: usize| 0.3 * stream.normal(i as u64);
        let corner = |i: usize| f64::from(i % d == i / d % classes);
        let values = (0..n * d).map(|i| corner(i) + noise(i)).collect();
        Rows { values: Dense::from_vec(n, d, values).unwrap(), labels }
    }

    #[test]
    fn gradient_agrees_with_finite_differences() {
        let stream = Stream::new(1, Purpose::Planted);
        let rows = rows(17, 5, 4, stream);
        let mut model = Linear::<f64>::xavier(5, 4, stream.substream(0));
        let mut logits = vec![0.0; 17 * 4];
        let (mut gradient, mut unused) = (Linear::zeros(5, 4), Linear::zeros(5, 4));
        loss_and_gradient(&model, &rows, &mut logits, &mut gradient);
        for p in 0..model.parameters.len() {
            let at = model.parameters[p];
            let mut loss = |value| {
                model.parameters[p] = value;
                loss_and_gradient(&model, &rows, &mut logits, &mut unused)
            };
            let difference = (loss(at + 1e-5) - loss(at - 1e-5)) / 2e-5;
            model.parameters[p] = at;
            let error = (difference - gradient.parameters[p]).abs();
            assert!(error < 1e-9, "parameter {p}: {difference} and {}", gradient.parameters[p]);
        }
    }

    #[test]
    fn great_logits_do_not_overflow() {
        let rows = Rows { values: Dense::from_vec(1, 1, vec![1e4]).unwrap(), labels: vec![1] };
        let model = Linear { inputs: 1, classes: 2, parameters: vec![1.0, 0.0, 0.0, 0.0] };
        let mut gradient = Linear::zeros(1, 2);
        assert_eq!(loss_and_gradient(&model, &rows, &mut [0.0; 2], &mut gradient), 1e4);
        assert_eq!(gradient.parameters, [1e4, -1e4, 1.0, -1.0]);
    }

    #[test]
    fn separable_classes_are_learnt() {
        let stream = Stream::new(2, Purpose::Planted);
        let split = |i: u64| rows(90, 6, 3, stream.substream(i));
        let classifier = Classifier { classes: 3, steps: 100, lr: 0.1 };
        let scores = classifier.runs(&split(0), &split(1), &split(2), 4, stream);
        assert_eq!(scores.len(), 4);
        assert!(scores.iter().all(|s| s.macro_f1 > 0.9 && s.micro_f1 > 0.9), "{scores:?}");
    }
}

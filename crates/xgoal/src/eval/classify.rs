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
//! The greatest of a row's logits is taken off it first. Weights start Xavier-uniform and biases at zero; Adam
//! takes full-batch steps without regularisation. The test score at the first step with the best validation score is
//! reported, for Macro-F1 and Micro-F1 separately: validation nodes are scored after every step, test nodes at the end,
//! by the weights kept at those two.
//!
//! The weights of several runs stand below one another, so that one product serves them all, and nodes go through in
//! blocks, a node a column:
//!
//! ```text
//!     [ W_1 | W_2 | ... | W_5 ]^T (5 C x d)  X^T (d x block)  =  [ Z_1 | Z_2 | ... | Z_5 ]^T
//! ```
//!
//! so that softmax and its gradient take several nodes at a time. Which runs do so depends on nothing but their number and that
//! of the classes, and each such group is one thread's.

use rayon::prelude::*;
use std::ops::Range;

use super::scores::Counts;
use crate::matrix::Dense;
use crate::matrix::strips::{STRIP, Strips};
use crate::random::Stream;
use crate::real::{Real, View, ViewMut};

/// Nodes at a time, whole strips: their logits stay in the second cache from one product to the next.
const BLOCK: usize = 4 * STRIP;
/// Rows of the weights of the runs that are trained together, unless one run has more.
const ROWS: usize = 256;
/// Most runs that are trained together, so that there is something to do for every thread.
const TOGETHER: usize = 5;

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

/// The three splits, as they are multiplied.
struct Data<'a, T> {
    train: Nodes<'a, T>,
    /// A strip has columns of X, a row per node: what the gradient is a product with.
    columns: Strips<T>,
    val: Nodes<'a, T>,
    test: &'a Rows<T>,
}

/// Nodes in strips, and their classes.
struct Nodes<'a, T> {
    strips: Strips<T>,
    labels: &'a [u32],
}

impl<'a, T: Real> Nodes<'a, T> {
    fn new(rows: &'a Rows<T>) -> Self {
        Self { strips: Strips::new(View::from(&rows.values)), labels: &rows.labels }
    }

    /// Strips and classes of [`BLOCK`] nodes at a time.
    fn blocks(&self) -> impl Iterator<Item = (Range<usize>, &'a [u32])> {
        self.labels.chunks(BLOCK).enumerate().map(|(block, labels)| {
            let first = block * (BLOCK / STRIP);
            (first..first + labels.len().div_ceil(STRIP), labels)
        })
    }
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
        let columns = Strips::new(View::from(&train.values).t());
        let data = Data { train: Nodes::new(train), columns, val: Nodes::new(val), test };
        let together = (ROWS / self.classes.max(1)).clamp(1, TOGETHER);
        let groups: Vec<Range<usize>> =
            (0..runs).step_by(together).map(|from| from..runs.min(from + together)).collect();
        groups.into_par_iter().flat_map_iter(|runs| self.group(&data, runs, stream)).collect()
    }

    /// Some runs together.
    fn group<T: Real>(&self, data: &Data<'_, T>, runs: Range<usize>, stream: Stream) -> Vec<F1> {
        let streams: Vec<Stream> = runs.map(|r| stream.substream(r as u64)).collect();
        let mut model = Linear::xavier(data.test.values.cols(), self.classes, &streams);
        let mut gradient = model.zeros_like();
        let mut adam = Adam::new(&model, self.lr);
        let mut logits = Vec::new();
        // By Macro-F1 and by Micro-F1: the best validation score of each run, and its weights there.
        let mut best = [0, 1].map(|_| (vec![f64::NEG_INFINITY; streams.len()], model.zeros_like()));
        for _ in 0..self.steps {
            model.gradient(&data.train, &data.columns, &mut logits, &mut gradient);
            adam.step(&mut model, &gradient);
            let mut val = model.no_counts();
            for (strips, labels) in data.val.blocks() {
                model.count(&data.val.strips, strips, labels, &mut logits, &mut val);
            }
            for ((scores, kept), of) in best.iter_mut().zip([Counts::macro_f1, Counts::micro_f1]) {
                for (run, (best, counts)) in scores.iter_mut().zip(&val).enumerate() {
                    let score = of(counts);
                    if score > *best {
                        *best = score;
                        kept.copy_run(run, &model);
                    }
                }
            }
        }
        let mut test = [model.no_counts(), model.no_counts()];
        let (values, labels) = (&data.test.values, &data.test.labels);
        let mut block = Strips::new(View::new(&[], 0, values.cols()));
        for (first, labels) in (0..).step_by(BLOCK).zip(labels.chunks(BLOCK)) {
            let rows = &values.values()[first * values.cols()..][..labels.len() * values.cols()];
            block.fill(View::new(rows, labels.len(), values.cols()));
            for (counts, (_, kept)) in test.iter_mut().zip(&best) {
                kept.count(&block, 0..block.count(), labels, &mut logits, counts);
            }
        }
        let [by_macro, by_micro] = test;
        let scores = by_macro.into_iter().zip(by_micro);
        scores.map(|(a, b)| F1 { macro_f1: a.macro_f1(), micro_f1: b.micro_f1() }).collect()
    }
}

/// The weights of several runs below one another, a row per class.
#[derive(Clone)]
struct Linear<T> {
    inputs: usize,
    classes: usize,
    /// Length of a row: whole strips, filled up with zeros.
    padded: usize,
    /// Rows of inputs: classes times runs.
    weights: Vec<T>,
    biases: Vec<T>,
}

impl<T: Real> Linear<T> {
    /// A run starts from weights of its own stream.
    fn xavier(inputs: usize, classes: usize, streams: &[Stream]) -> Self {
        let (padded, rows) = (inputs.next_multiple_of(STRIP), classes * streams.len());
        let mut weights = vec![T::default(); rows * padded];
        let bound = (6.0 / (inputs + classes) as f64).sqrt();
        for (row, weights) in weights.chunks_exact_mut(padded.max(1)).enumerate() {
            let (run, class) = (row / classes, row % classes);
            for (input, w) in weights[..inputs].iter_mut().enumerate() {
                let uniform = streams[run].uniform((input * classes + class) as u64);
                *w = T::from_f64(bound * (2.0 * uniform - 1.0));
            }
        }
        Self { inputs, classes, padded, weights, biases: vec![T::default(); rows] }
    }

    fn zeros_like(&self) -> Self {
        let mut zeros = self.clone();
        zeros.weights.fill(T::default());
        zeros.biases.fill(T::default());
        zeros
    }

    /// Takes over what another model has for one run.
    fn copy_run(&mut self, run: usize, from: &Self) {
        let rows = run * self.classes..(run + 1) * self.classes;
        let weights = rows.start * self.padded..rows.end * self.padded;
        self.weights[weights.clone()].copy_from_slice(&from.weights[weights]);
        self.biases[rows.clone()].copy_from_slice(&from.biases[rows]);
    }

    /// `W^T X^T + b` of some strips, written over `logits`: rows of [`BLOCK`], of which the first are used.
    fn forward(&self, nodes: &Strips<T>, strips: Range<usize>, logits: &mut Vec<T>) {
        let rows = self.biases.len();
        logits.resize(rows * BLOCK, T::default());
        for (row, bias) in logits.chunks_exact_mut(BLOCK).zip(&self.biases) {
            row.fill(*bias);
        }
        let weights =
            View { row_stride: self.padded, ..View::new(&self.weights, rows, self.inputs) };
        for (at, strip) in strips.enumerate() {
            let values = &mut logits[at * STRIP..];
            let out = &mut ViewMut { values, rows, cols: STRIP, row_stride: BLOCK };
            T::strip(T::from_f64(1.0), weights, nodes.strip(strip), out);
        }
    }

    /// No hit and no miss, for each run.
    fn no_counts(&self) -> Vec<Counts> {
        vec![Counts::new(self.classes); self.biases.len() / self.classes.max(1)]
    }

    /// Adds each run's hits and misses of a block of nodes, where it takes the first class with the greatest logit.
    fn count(
        &self,
        nodes: &Strips<T>,
        strips: Range<usize>,
        labels: &[u32],
        logits: &mut Vec<T>,
        counts: &mut [Counts],
    ) {
        self.forward(nodes, strips, logits);
        for (run, counts) in logits.chunks_exact(self.classes * BLOCK).zip(counts) {
            let predicted = pulp::Arch::new().dispatch(Greatest(run));
            labels.iter().zip(predicted).for_each(|(label, found)| counts.add(*label, found));
        }
    }

    /// The gradient of the mean cross-entropy of each run, written over `gradient`.
    fn gradient(
        &self,
        nodes: &Nodes<'_, T>,
        columns: &Strips<T>,
        logits: &mut Vec<T>,
        gradient: &mut Self,
    ) {
        gradient.weights.fill(T::default());
        gradient.biases.fill(T::default());
        let (rows, one) = (self.biases.len(), T::from_f64(1.0));
        let scale = T::from_f64(1.0 / nodes.labels.len() as f64);
        for (block, (strips, labels)) in nodes.blocks().enumerate() {
            self.forward(&nodes.strips, strips, logits);
            let biases = gradient.biases.chunks_exact_mut(self.classes);
            for (logits, biases) in logits.chunks_exact_mut(self.classes * BLOCK).zip(biases) {
                pulp::Arch::new().dispatch(Softmax { scale, labels, logits, biases });
            }
            let logits = View { row_stride: BLOCK, ..View::new(logits, rows, labels.len()) };
            let here = block * BLOCK * STRIP..(block * BLOCK + labels.len()) * STRIP;
            for strip in 0..columns.count() {
                let values = &mut gradient.weights[strip * STRIP..];
                let out = &mut ViewMut { values, rows, cols: STRIP, row_stride: self.padded };
                T::strip(one, logits, &columns.strip(strip)[here.clone()], out);
            }
        }
    }
}

/// One run's logits of a block of nodes become `scale (P - onehot(y))`, whose sums over nodes are added to `biases`.
struct Softmax<'a, T> {
    scale: T,
    labels: &'a [u32],
    logits: &'a mut [T],
    biases: &'a mut [T],
}

impl<T: Real> pulp::WithSimd for Softmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { scale, labels, logits, biases } = self;
        let classes = biases.len();
        for at in (0..labels.len()).step_by(STRIP) {
            let mut greatest = *strip(logits, at);
            for class in 1..classes {
                let z = strip(logits, class * BLOCK + at);
                for l in 0..STRIP {
                    greatest[l] = if z[l] > greatest[l] { z[l] } else { greatest[l] };
                }
            }
            let mut sums = [T::default(); STRIP];
            for class in 0..classes {
                let z = strip(logits, class * BLOCK + at);
                for l in 0..STRIP {
                    z[l] = (z[l] - greatest[l]).exp();
                    sums[l] += z[l];
                }
            }
            for sum in &mut sums {
                *sum = scale / *sum;
            }
            // Columns of zeros stand for no node.
            for share in sums.iter_mut().skip(labels.len() - at) {
                *share = T::default();
            }
            for class in 0..classes {
                let z = strip(logits, class * BLOCK + at);
                for l in 0..STRIP {
                    z[l] *= sums[l];
                }
            }
        }
        for node in 0..labels.len() {
            logits[labels[node] as usize * BLOCK + node] -= scale;
        }
        for (class, bias) in biases.iter_mut().enumerate() {
            // In lanes, each in the order of its nodes.
            let mut lanes = [T::default(); STRIP];
            for at in (0..labels.len()).step_by(STRIP) {
                let z = strip(logits, class * BLOCK + at);
                for l in 0..STRIP {
                    lanes[l] += z[l];
                }
            }
            for lane in lanes {
                *bias += lane;
            }
        }
    }
}

/// Logits of a strip of nodes, in a place a compiler knows the length of.
#[inline(always)]
fn strip<T>(logits: &mut [T], at: usize) -> &mut [T; STRIP] {
    logits[at..].first_chunk_mut().expect("whole strips")
}

/// For each node of a block, the first class with the greatest of one run's logits.
struct Greatest<'a, T>(&'a [T]);

impl<T: Real> pulp::WithSimd for Greatest<'_, T> {
    type Output = [u32; BLOCK];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [u32; BLOCK] {
        let mut rows = self.0.chunks_exact(BLOCK);
        let (mut best, mut at) = ([T::default(); BLOCK], [0; BLOCK]);
        if let Some(first) = rows.next() {
            best.copy_from_slice(first);
        }
        for (class, row) in (1..).zip(rows) {
            for i in 0..BLOCK {
                let greater = row[i] > best[i];
                best[i] = if greater { row[i] } else { best[i] };
                at[i] = if greater { class } else { at[i] };
            }
        }
        at
    }
}

/// Adam with the usual betas (0.9, 0.999) and epsilon 1e-8.
struct Adam<T> {
    lr: f64,
    steps: i32,
    first: Linear<T>,
    second: Linear<T>,
}

impl<T: Real> Adam<T> {
    fn new(model: &Linear<T>, lr: f64) -> Self {
        Self { lr, steps: 0, first: model.zeros_like(), second: model.zeros_like() }
    }

    fn step(&mut self, model: &mut Linear<T>, gradient: &Linear<T>) {
        self.steps += 1;
        let (beta1, beta2) = (0.9, 0.999);
        let rate = T::from_f64(self.lr / (1.0 - f64::powi(beta1, self.steps)));
        let correction = T::from_f64(1.0 / (1.0 - f64::powi(beta2, self.steps)).sqrt());
        let [keep1, take1, keep2, take2, epsilon] =
            [beta1, 1.0 - beta1, beta2, 1.0 - beta2, 1e-8].map(T::from_f64);
        let (first, second) = (&mut self.first, &mut self.second);
        for (parameters, gradient, first, second) in [
            (&mut model.weights, &gradient.weights, &mut first.weights, &mut second.weights),
            (&mut model.biases, &gradient.biases, &mut first.biases, &mut second.biases),
        ] {
            let moments = first.iter_mut().zip(second);
            for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
                *m = keep1 * *m + take1 * *g;
                *v = keep2 * *v + take2 * *g * *g;
                *p -= rate * *m / (v.sqrt() * correction + epsilon);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::scores::{macro_f1, micro_f1};
    use crate::random::Purpose;

    /// Points around one of `classes` corners, far enough apart for a linear rule.
    fn rows(n: usize, d: usize, classes: usize, stream: Stream) -> Rows<f64> {
        let labels: Vec<u32> = (0..n).map(|i| (i % classes) as u32).collect();
        let noise = |i: usize| 0.3 * stream.normal(i as u64);
        let corner = |i: usize| f64::from(i % d == i / d % classes);
        let values = (0..n * d).map(|i| corner(i) + noise(i)).collect();
        Rows { values: Dense::from_vec(n, d, values).unwrap(), labels }
    }

    /// A logit, term by term: of a node, by one of the rows of weights.
    fn logit(model: &Linear<f64>, rows: &Rows<f64>, node: usize, row: usize) -> f64 {
        let weights = &model.weights[row * model.padded..];
        let terms = rows.values.row(node).iter().zip(weights).map(|(x, w)| x * w);
        model.biases[row] + terms.sum::<f64>()
    }

    /// One run's mean cross-entropy.
    fn loss(model: &Linear<f64>, rows: &Rows<f64>, run: usize) -> f64 {
        let mut sum = 0.0;
        for (i, label) in rows.labels.iter().enumerate() {
            let z = |c: usize| logit(model, rows, i, run * model.classes + c);
            sum += (0..model.classes).map(|c| z(c).exp()).sum::<f64>().ln() - z(*label as usize);
        }
        sum / rows.labels.len() as f64
    }

    fn gradient_of(model: &Linear<f64>, rows: &Rows<f64>) -> Linear<f64> {
        let mut gradient = model.zeros_like();
        let columns = Strips::new(View::from(&rows.values).t());
        model.gradient(&Nodes::new(rows), &columns, &mut Vec::new(), &mut gradient);
        gradient
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let stream = Stream::new(1, Purpose::Planted);
        let rows = rows(2 * BLOCK + 17, 5, 19, stream);
        let streams = [0, 1, 2].map(|run| stream.substream(run));
        let mut model = Linear::<f64>::xavier(5, 19, &streams);
        let gradient = gradient_of(&model, &rows);
        for row in 0..3 * 19 {
            // The last is the bias.
            for input in 0..=5 {
                let place = |model: &mut Linear<f64>, by: f64| match input {
                    5 => model.biases[row] += by,
                    _ => model.weights[row * model.padded + input] += by,
                };
                let mut loss = |by: f64| {
                    place(&mut model, by);
                    let loss = loss(&model, &rows, row / 19);
                    place(&mut model, -by);
                    loss
                };
                let difference = (loss(1e-5) - loss(-1e-5)) / 2e-5;
                let found = match input {
                    5 => gradient.biases[row],
                    _ => gradient.weights[row * gradient.padded + input],
                };
                let error = (difference - found).abs();
                assert!(error < 1e-9, "row {row}, {input}: {difference} and {found}");
            }
        }
        let beyond = gradient.weights.chunks_exact(gradient.padded).flat_map(|row| &row[5..]);
        assert!(beyond.into_iter().all(|g| *g == 0.0));
    }

    #[test]
    fn great_logits_do_not_overflow() {
        let rows = Rows { values: Dense::from_vec(1, 1, vec![1e4]).unwrap(), labels: vec![1] };
        let streams = [Stream::new(1, Purpose::Planted)];
        let mut model = Linear::<f64>::xavier(1, 2, &streams);
        (model.weights[0], model.weights[STRIP]) = (1.0, 0.0);
        let gradient = gradient_of(&model, &rows);
        assert_eq!([gradient.weights[0], gradient.weights[STRIP]], [1e4, -1e4]);
        assert_eq!(gradient.biases, [1.0, -1.0]);
    }

    /// One run by itself, with everything computed at every step.
    fn plain(of: Classifier, splits: &[Rows<f64>; 3], stream: Stream) -> F1 {
        let [train, val, test] = splits;
        let mut model = Linear::<f64>::xavier(train.values.cols(), of.classes, &[stream]);
        let mut adam = Adam::new(&model, of.lr);
        let mut best = [(f64::NEG_INFINITY, 0.0); 2];
        for _ in 0..of.steps {
            let gradient = gradient_of(&model, train);
            adam.step(&mut model, &gradient);
            let scores = |rows: &Rows<f64>| {
                let z = |i: usize, c: usize| logit(&model, rows, i, c);
                let predicted: Vec<u32> = (0..rows.labels.len())
                    .map(|i| {
                        let greater = |a, b| if z(i, b) > z(i, a) { b } else { a };
                        (1..of.classes).fold(0, greater) as u32
                    })
                    .collect();
                [macro_f1(&rows.labels, &predicted, of.classes), micro_f1(&rows.labels, &predicted)]
            };
            for ((best, val), test) in best.iter_mut().zip(scores(val)).zip(scores(test)) {
                if val > best.0 {
                    *best = (val, test);
                }
            }
        }
        F1 { macro_f1: best[0].1, micro_f1: best[1].1 }
    }

    #[test]
    fn runs_side_by_side_are_what_each_is_alone() {
        let stream = Stream::new(3, Purpose::Planted);
        // Noise that hides much, so that the best steps are early for some runs and late for others.
        let noisy = |n: usize, i: u64| {
            let mut rows = rows(n, 7, 4, stream.substream(i));
            let noise = stream.substream(9 + i);
            let values = rows.values.values_mut().iter_mut().enumerate();
            values.for_each(|(at, v)| *v += 0.8 * noise.normal(at as u64));
            rows
        };
        let splits = [noisy(90, 0), noisy(60, 1), noisy(BLOCK + 40, 2)];
        let [train, val, test] = &splits;
        let classifier = Classifier { classes: 4, steps: 40, lr: 0.1 };
        let found = classifier.runs(train, val, test, 7, stream);
        let alone = (0..7).map(|run| plain(classifier, &splits, stream.substream(run)));
        assert_eq!(found, alone.collect::<Vec<_>>());
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

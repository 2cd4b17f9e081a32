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
//! The weights of several runs stand side by side, so that one product serves them all, and nodes go through in blocks:
//!
//! ```text
//!     X (block x d)  [ W_1 | W_2 | ... | W_5 ] (d x 5 C)  =  [ Z_1 | Z_2 | ... | Z_5 ]
//! ```
//!
//! Which runs do so depends on nothing but their number and that of the classes, and each such group is one thread's.

use rayon::prelude::*;
use std::ops::Range;

use super::scores::Counts;
use crate::matrix::Dense;
use crate::random::Stream;
use crate::real::{Real, View, ViewMut};

/// Nodes at a time: their logits stay in the second cache from one product to the next.
const BLOCK: usize = 256;
/// Columns of the weights of the runs that are trained side by side, unless one run has more.
const COLUMNS: usize = 256;
/// Most runs that are trained side by side, so that there is something to do for every thread.
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

/// The three splits, and what is multiplied most in the order in which it is read.
struct Data<'a, T> {
    train: &'a Rows<T>,
    val: &'a Rows<T>,
    test: &'a Rows<T>,
    train_across: Across<T>,
    val_across: Across<T>,
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
        let (train_across, val_across) = (Across::new(&train.values), Across::new(&val.values));
        let data = Data { train, val, test, train_across, val_across };
        let together = (COLUMNS / self.classes.max(1)).clamp(1, TOGETHER);
        let groups: Vec<Range<usize>> =
            (0..runs).step_by(together).map(|from| from..runs.min(from + together)).collect();
        groups.into_par_iter().flat_map_iter(|runs| self.group(&data, runs, stream)).collect()
    }

    /// Some runs side by side.
    fn group<T: Real>(&self, data: &Data<'_, T>, runs: Range<usize>, stream: Stream) -> Vec<F1> {
        let streams: Vec<Stream> = runs.map(|r| stream.substream(r as u64)).collect();
        let mut model = Linear::xavier(data.train.values.cols(), self.classes, &streams);
        let mut gradient = model.zeros_like();
        let mut adam = Adam::new(model.parameters.len(), self.lr);
        let mut logits = Vec::new();
        // By Macro-F1 and by Micro-F1: the best validation score of each run, and its weights there.
        let mut best = [0, 1].map(|_| (vec![f64::NEG_INFINITY; streams.len()], model.zeros_like()));
        for _ in 0..self.steps {
            model.gradient(data.train, &data.train_across, &mut logits, &mut gradient);
            adam.step(&mut model.parameters, &gradient.parameters);
            let val = model.counts(data.val_across.blocks(), &data.val.labels, &mut logits);
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
        let mut test = best.iter().map(|(_, kept)| {
            kept.counts(blocks_of(&data.test.values), &data.test.labels, &mut logits)
        });
        let (by_macro, by_micro) = (test.next(), test.next());
        let scores = by_macro.into_iter().flatten().zip(by_micro.into_iter().flatten());
        scores.map(|(a, b)| F1 { macro_f1: a.macro_f1(), micro_f1: b.micro_f1() }).collect()
    }
}

/// Blocks of rows, each stored column after column: products take them 16 rows at a time.
struct Across<T> {
    rows: usize,
    cols: usize,
    values: Vec<T>,
}

impl<T: Real> Across<T> {
    fn new(x: &Dense<T>) -> Self {
        let mut values = Vec::with_capacity(x.values().len());
        for block in blocks_of(x) {
            let column = |c| (0..block.rows).map(move |r| block.at(r, c));
            values.extend((0..block.cols).flat_map(column));
        }
        Self { rows: x.rows(), cols: x.cols(), values }
    }

    fn blocks(&self) -> impl Iterator<Item = View<'_, T>> {
        (0..self.rows).step_by(BLOCK).map(|from| {
            let rows = BLOCK.min(self.rows - from);
            let values = &self.values[from * self.cols..][..rows * self.cols];
            View::new(values, self.cols, rows).t()
        })
    }
}

/// The same blocks, row after row.
fn blocks_of<T: Real>(x: &Dense<T>) -> impl Iterator<Item = View<'_, T>> {
    (0..x.rows()).step_by(BLOCK).map(|from| {
        let rows = BLOCK.min(x.rows() - from);
        View::new(&x.values()[from * x.cols()..][..rows * x.cols()], rows, x.cols())
    })
}

/// The weights of several runs side by side, row after row, followed by their biases.
struct Linear<T> {
    inputs: usize,
    classes: usize,
    /// Classes times runs.
    width: usize,
    parameters: Vec<T>,
}

impl<T: Real> Linear<T> {
    /// A run starts from weights of its own stream.
    fn xavier(inputs: usize, classes: usize, streams: &[Stream]) -> Self {
        let width = classes * streams.len();
        let mut parameters = vec![T::default(); (inputs + 1) * width];
        let bound = (6.0 / (inputs + classes) as f64).sqrt();
        for (i, w) in parameters[..inputs * width].iter_mut().enumerate() {
            let (row, run, class) = (i / width, i % width / classes, i % classes);
            let uniform = streams[run].uniform((row * classes + class) as u64);
            *w = T::from_f64(bound * (2.0 * uniform - 1.0));
        }
        Self { inputs, classes, width, parameters }
    }

    fn zeros_like(&self) -> Self {
        Self { parameters: vec![T::default(); self.parameters.len()], ..*self }
    }

    /// Takes over what another model has for one run.
    fn copy_run(&mut self, run: usize, from: &Self) {
        let columns = run * self.classes..(run + 1) * self.classes;
        let rows = self.parameters.chunks_exact_mut(self.width);
        for (to, from) in rows.zip(from.parameters.chunks_exact(self.width)) {
            to[columns.clone()].copy_from_slice(&from[columns.clone()]);
        }
    }

    /// `X W + b`, written over `logits`.
    fn forward(&self, x: View<'_, T>, logits: &mut Vec<T>) {
        let (weights, biases) = self.parameters.split_at(self.inputs * self.width);
        logits.clear();
        (0..x.rows).for_each(|_| logits.extend_from_slice(biases));
        let one = T::from_f64(1.0);
        let weights = View::new(weights, self.inputs, self.width);
        T::gemm(one, x, weights, one, &mut ViewMut::new(logits, x.rows, self.width));
    }

    /// Hits and misses of each run, where it takes the first class with the greatest logit.
    fn counts<'a>(
        &self,
        blocks: impl Iterator<Item = View<'a, T>>,
        labels: &[u32],
        logits: &mut Vec<T>,
    ) -> Vec<Counts> {
        let mut counts = vec![Counts::new(self.classes); self.width / self.classes];
        for (x, labels) in blocks.zip(labels.chunks(BLOCK)) {
            self.forward(x, logits);
            let (classes, width) = (self.classes, self.width);
            pulp::Arch::new().dispatch(Predict {
                classes,
                width,
                logits,
                labels,
                counts: &mut counts,
            });
        }
        counts
    }

    /// The gradient of the mean cross-entropy of each run, written over `gradient`.
    fn gradient(
        &self,
        rows: &Rows<T>,
        across: &Across<T>,
        logits: &mut Vec<T>,
        gradient: &mut Self,
    ) {
        let (classes, width) = (self.classes, self.width);
        gradient.parameters.fill(T::default());
        let (weights, biases) = gradient.parameters.split_at_mut(self.inputs * width);
        let scale = T::from_f64(1.0 / rows.labels.len() as f64);
        let blocks = across.blocks().zip(blocks_of(&rows.values));
        for ((across, x), labels) in blocks.zip(rows.labels.chunks(BLOCK)) {
            self.forward(across, logits);
            pulp::Arch::new().dispatch(Softmax { classes, width, scale, labels, logits, biases });
            let one = T::from_f64(1.0);
            let logits = View::new(logits, x.rows, width);
            let weights = &mut ViewMut::new(weights, self.inputs, width);
            T::gemm(one, x.t(), logits, one, weights);
        }
    }
}

/// Rows that are taken through all of softmax before the next ones, to stay in the first cache.
const STRIP: usize = 16;

/// Logits of some nodes become `scale (P - onehot(y))`, whose columns are added to `biases`.
struct Softmax<'a, T> {
    classes: usize,
    width: usize,
    scale: T,
    labels: &'a [u32],
    logits: &'a mut [T],
    biases: &'a mut [T],
}

impl<T: Real> pulp::WithSimd for Softmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { classes, width, scale, labels, logits, biases } = self;
        for (strip, labels) in logits.chunks_mut(STRIP * width).zip(labels.chunks(STRIP)) {
            for run in strip.chunks_exact_mut(classes) {
                let greatest = greatest(run);
                for z in run {
                    *z -= greatest;
                }
            }
            for z in strip.iter_mut() {
                *z = z.exp();
            }
            for (row, label) in strip.chunks_exact_mut(width).zip(labels) {
                for run in row.chunks_exact_mut(classes) {
                    let share = scale / in_lanes(run, T::default(), |a, b| a + b);
                    for z in run.iter_mut() {
                        *z *= share;
                    }
                    run[*label as usize] -= scale;
                }
                for (z, bias) in row.iter().zip(biases.iter_mut()) {
                    *bias += *z;
                }
            }
        }
    }
}

/// Counts what the logits of some nodes say, per run.
struct Predict<'a, T> {
    classes: usize,
    width: usize,
    logits: &'a [T],
    labels: &'a [u32],
    counts: &'a mut [Counts],
}

impl<T: Real> pulp::WithSimd for Predict<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for (row, label) in self.logits.chunks_exact(self.width).zip(self.labels) {
            for (run, counts) in row.chunks_exact(self.classes).zip(self.counts.iter_mut()) {
                let greatest = greatest(run);
                let first = run.iter().position(|z| *z == greatest);
                counts.add(*label, first.unwrap_or(0) as u32);
            }
        }
    }
}

#[inline(always)]
fn greatest<T: Real>(values: &[T]) -> T {
    in_lanes(values, values[0], |a, b| if b > a { b } else { a })
}

/// A reduction in sixteen fixed lanes, which the compiler can turn into vectors.
#[inline(always)]
fn in_lanes<T: Real>(values: &[T], start: T, f: impl Fn(T, T) -> T) -> T {
    const LANES: usize = 16;
    let mut lanes = [start; LANES];
    let chunks = values.chunks_exact(LANES);
    for (lane, v) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = f(*lane, *v);
    }
    for chunk in chunks {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            *lane = f(*lane, *v);
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = f(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
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

    /// One run's mean cross-entropy, term by term.
    fn loss(model: &Linear<f64>, rows: &Rows<f64>, run: usize) -> f64 {
        let mut sum = 0.0;
        for (i, label) in rows.labels.iter().enumerate() {
            let z = |c: usize| {
                let column = run * model.classes + c;
                let x = rows.values.row(i).iter().chain(&[1.0]).enumerate();
                x.map(|(k, v)| v * model.parameters[k * model.width + column]).sum::<f64>()
            };
            sum += (0..model.classes).map(|c| z(c).exp()).sum::<f64>().ln() - z(*label as usize);
        }
        sum / rows.labels.len() as f64
    }

    fn gradient_of(model: &Linear<f64>, rows: &Rows<f64>) -> Linear<f64> {
        let mut gradient = model.zeros_like();
        model.gradient(rows, &Across::new(&rows.values), &mut Vec::new(), &mut gradient);
        gradient
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let stream = Stream::new(1, Purpose::Planted);
        let rows = rows(BLOCK + 17, 5, 19, stream);
        let streams = [0, 1, 2].map(|run| stream.substream(run));
        let mut model = Linear::<f64>::xavier(5, 19, &streams);
        let gradient = gradient_of(&model, &rows);
        for p in 0..model.parameters.len() {
            let at = model.parameters[p];
            let mut loss = |value| {
                model.parameters[p] = value;
                loss(&model, &rows, p % model.width / 19)
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
        let parameters = vec![1.0, 0.0, 0.0, 0.0];
        let model = Linear { inputs: 1, classes: 2, width: 2, parameters };
        assert_eq!(gradient_of(&model, &rows).parameters, [1e4, -1e4, 1.0, -1.0]);
    }

    /// One run by itself, with everything computed at every step.
    fn plain(of: Classifier, splits: &[Rows<f64>; 3], stream: Stream) -> F1 {
        let [train, val, test] = splits;
        let mut model = Linear::<f64>::xavier(train.values.cols(), of.classes, &[stream]);
        let mut adam = Adam::new(model.parameters.len(), of.lr);
        let mut best = [(f64::NEG_INFINITY, 0.0); 2];
        for _ in 0..of.steps {
            let gradient = gradient_of(&model, train);
            adam.step(&mut model.parameters, &gradient.parameters);
            let scores = |rows: &Rows<f64>| {
                let z = |i: usize, c: usize| {
                    let x = rows.values.row(i).iter().chain(&[1.0]).enumerate();
                    x.map(|(k, v)| v * model.parameters[k * of.classes + c]).sum::<f64>()
                };
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

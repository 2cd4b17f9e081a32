//! The whole objective over all layers, block by block of nodes.
//!
//! ```text
//!     warm-up:  sum_v w_v L_N^v + mu_N' R_N
//!     joint:    sum_v w_v (lambda_N L_N^v + lambda_C L_C^v) + mu_N R_N + mu_C R_C
//! ```
//!
//! A block's embeddings are turned in place into `D = dL/dH * act'(Z)`, which for both activations is
//! a function of H: `1 - H^2` for tanh, `[H > 0]` for relu. Sums run per block, then over the blocks
//! in order.

use super::BLOCK;
use super::agreement::add_agreement;
use super::encoder::Views;
use super::kernels::{Kernels, Work};
use super::losses::{
    Assigned, Recovery, Rows, cluster_alignment, cluster_loss, node_alignment, node_loss,
};
use super::rows::PerThread;
use crate::engine::{Prototypes, Stage, Step, Terms};
use crate::matrix::Dense;
use crate::settings::{Activation, Config};
use rayon::prelude::*;

/// The objective of one stage.
#[derive(Debug)]
pub struct Objective<'a, T> {
    config: &'a Config,
    /// Clusters to use; none in the warm-up.
    prototypes: Option<&'a [Prototypes<T>]>,
    lambda_n: f64,
    lambda_c: f64,
    mu_n: f64,
    mu_c: f64,
}

/// Sums over the nodes of a block.
#[derive(Debug, Default, Clone)]
struct Sums {
    /// Per layer.
    l_n: Vec<f64>,
    l_c: f64,
    r_n: f64,
    recovery: Recovery,
    /// Per pair of layers, the sum of cosines.
    agreement: Vec<f64>,
    /// Per anchor layer, the sum of its semantic distributions.
    marginals: Vec<Vec<f64>>,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch<T> {
    gradients: Vec<Vec<T>>,
    logits: [Vec<T>; 2],
}

impl<'a, T: Kernels> Objective<'a, T> {
    /// The terms that belong to a stage.
    pub fn new(
        config: &'a Config,
        step: &Step<'_>,
        prototypes: Option<&'a [Prototypes<T>]>,
    ) -> Self {
        let s = config.settings();
        let aligned = |weight: f64| if config.aligned() { weight } else { 0.0 };
        match step.stage {
            Stage::Warmup => Self {
                config,
                prototypes: None,
                lambda_n: 1.0,
                lambda_c: 0.0,
                mu_n: aligned(s.warmup_mu_n),
                mu_c: 0.0,
            },
            Stage::Joint => Self {
                config,
                prototypes,
                lambda_n: s.lambda_n,
                lambda_c: step.lambda_c,
                mu_n: aligned(s.mu_n),
                mu_c: aligned(s.mu_c),
            },
        }
    }

    /// The terms' values; `views` go in as H, H+, H- and come out as D, D+, D-.
    pub fn evaluate(&self, views: &mut [Views<T>], scratch: &PerThread<Scratch<T>>) -> Terms {
        let nodes = views[0].anchor.rows();
        let dim = views[0].anchor.cols();
        let views_per_block = 3 * views.len();
        let mut blocks: Vec<&mut [T]> = Vec::with_capacity(nodes.div_ceil(BLOCK) * views_per_block);
        // Block after block: anchors of all layers first, then positives, then negatives.
        let split = |view| -> std::slice::ChunksMut<'_, T> {
            Dense::values_mut(view).chunks_mut(BLOCK * dim)
        };
        let (mut anchors, mut positives, mut negatives) = (Vec::new(), Vec::new(), Vec::new());
        for Views { anchor, positive, negative } in views.iter_mut() {
            anchors.push(split(anchor));
            positives.push(split(positive));
            negatives.push(split(negative));
        }
        for _ in 0..nodes.div_ceil(BLOCK) {
            let chunks = anchors.iter_mut().chain(&mut positives).chain(&mut negatives);
            blocks.extend(chunks.filter_map(Iterator::next));
        }
        let sums: Vec<Sums> = blocks
            .par_chunks_mut(views_per_block)
            .enumerate()
            .map(|(block, rows)| {
                scratch.with(|scratch| {
                    T::vectorized(Block { objective: self, block, nodes, rows, scratch })
                })
            })
            .collect();
        self.terms(nodes, &sums)
    }

    #[inline(always)]
    fn block(
        &self,
        block: usize,
        nodes: usize,
        rows: &mut [&mut [T]],
        scratch: &mut Scratch<T>,
    ) -> Sums {
        let layers = self.config.layers().len();
        let dim = self.config.settings().dim;
        let count = rows[0].len() / dim;
        scratch.gradients.resize_with(rows.len(), Vec::new);
        for gradient in &mut scratch.gradients {
            gradient.clear();
            gradient.resize(count * dim, T::default());
        }
        let mut all: Vec<Rows<'_, T>> = rows
            .iter()
            .zip(&mut scratch.gradients)
            .map(|(values, gradient)| Rows { values, gradient })
            .collect();
        let (anchors, rest) = all.split_at_mut(layers);
        let (positives, negatives) = rest.split_at_mut(layers);

        let mut sums = Sums::default();
        add_agreement(dim, anchors, &mut sums.agreement);
        let each = 1.0 / nodes as f64;
        for (v, layer) in self.config.layers().iter().enumerate() {
            let weight = self.lambda_n * layer.weight * each;
            let views = (&mut anchors[v], &mut positives[v], &mut negatives[v]);
            sums.l_n.push(node_loss(dim, weight, views.0, views.1, views.2));
        }
        if self.mu_n > 0.0 {
            let weight = self.mu_n * each / self.pairs();
            sums.r_n = node_alignment(dim, weight, anchors, negatives);
        }
        for (v, prototypes) in self.prototypes.unwrap_or_default().iter().enumerate() {
            let layer = &self.config.layers()[v];
            if self.lambda_c > 0.0 {
                let from = block * BLOCK;
                let assigned = Assigned {
                    centers: &prototypes.centers,
                    assignments: &prototypes.assignments[from..from + count],
                    tau: layer.tau,
                };
                let weight = self.lambda_c * layer.weight * each;
                sums.l_c += layer.weight
                    * cluster_loss(&assigned, weight, &mut anchors[v], &mut scratch.logits[0]);
            }
            if self.mu_c > 0.0 {
                let mut marginal = vec![0.0; prototypes.centers.rows()];
                let recovery = cluster_alignment(
                    v,
                    (&prototypes.centers, layer.align_tau),
                    self.mu_c * each / self.pairs(),
                    anchors,
                    (&mut scratch.logits, &mut marginal),
                );
                sums.recovery.divergence += recovery.divergence;
                sums.recovery.cross_entropy += recovery.cross_entropy;
                sums.marginals.push(marginal);
            }
        }
        for (values, gradient) in rows.iter_mut().zip(&scratch.gradients) {
            through_activation(self.config.settings().activation, values, gradient);
        }
        sums
    }

    /// V (V - 1).
    fn pairs(&self) -> f64 {
        let layers = self.config.layers().len() as f64;
        layers * (layers - 1.0)
    }

    fn terms(&self, nodes: usize, blocks: &[Sums]) -> Terms {
        let mut total = Sums::default();
        for sums in blocks {
            add(&mut total.l_n, &sums.l_n);
            total.l_c += sums.l_c;
            total.r_n += sums.r_n;
            total.recovery.divergence += sums.recovery.divergence;
            total.recovery.cross_entropy += sums.recovery.cross_entropy;
            add(&mut total.agreement, &sums.agreement);
            total.marginals.resize_with(sums.marginals.len(), Vec::new);
            for (total, marginal) in total.marginals.iter_mut().zip(&sums.marginals) {
                add(total, marginal);
            }
        }
        let n = nodes as f64;
        let when = |condition: bool, value: f64| condition.then_some(value);
        let clustered = self.prototypes.is_some();
        let recovered = clustered && self.mu_c > 0.0;
        let means = |sums: &[f64]| sums.iter().map(|sum| sum / n).collect::<Vec<f64>>();
        let layers = means(&total.l_n);
        let weighted =
            layers.iter().zip(self.config.layers()).map(|(l_n, layer)| layer.weight * l_n);
        let mut terms = Terms {
            loss: 0.0,
            l_n: weighted.sum(),
            layers,
            l_c: when(clustered && self.lambda_c > 0.0, total.l_c / n),
            r_n: when(self.mu_n > 0.0, total.r_n / (n * self.pairs())),
            r_c: when(recovered, total.recovery.divergence / (n * self.pairs())),
            agreement: means(&total.agreement),
            mi_node: None,
            mi_cluster: when(recovered, {
                let entropies = total.marginals.iter().map(|m| entropy(m, n));
                entropies.sum::<f64>() / total.marginals.len() as f64
                    - total.recovery.cross_entropy / (n * self.pairs())
            }),
            replaced: false,
        };
        terms.mi_node = terms.r_n.map(|r_n| std::f64::consts::LN_2 - r_n);
        terms.loss = self.lambda_n * terms.l_n
            + self.lambda_c * terms.l_c.unwrap_or(0.0)
            + self.mu_n * terms.r_n.unwrap_or(0.0)
            + self.mu_c * terms.r_c.unwrap_or(0.0);
        terms
    }
}

/// One block's part of the objective.
struct Block<'a, 'b, 'c, T> {
    objective: &'a Objective<'a, T>,
    block: usize,
    nodes: usize,
    rows: &'b mut [&'c mut [T]],
    scratch: &'b mut Scratch<T>,
}

impl<T: Kernels> Work for Block<'_, '_, '_, T> {
    type Output = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        self.objective.block(self.block, self.nodes, self.rows, self.scratch)
    }
}

/// Adds to sums, which may have none yet.
fn add(total: &mut Vec<f64>, sums: &[f64]) {
    total.resize(sums.len(), 0.0);
    total.iter_mut().zip(sums).for_each(|(t, s)| *t += s);
}

/// Entropy of the distribution `sums / n`.
fn entropy(sums: &[f64], n: f64) -> f64 {
    sums.iter().map(|s| s / n).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

/// `H <- dL/dH * act'(Z)`, with act' as a function of H.
#[inline(always)]
fn through_activation<T: Kernels>(activation: Activation, values: &mut [T], gradient: &[T]) {
    let pairs = values.iter_mut().zip(gradient);
    match activation {
        Activation::Tanh => {
            let one = T::from_f64(1.0);
            pairs.for_each(|(h, g)| *h = *g * (one - *h * *h));
        }
        Activation::Relu => {
            pairs.for_each(|(h, g)| *h = if *h > T::default() { *g } else { T::default() });
        }
    }
}

//! The encoder of one layer, forward and backward, for the three views of an epoch.
//!
//! ```text
//!     P = X W    P' = X W'                      both N x d; W, W' are F x d
//!     H  = act( A P + P' + b )                  the graph itself
//!     H- = act( A (pi P) + pi P' + b )          T-: rows of X permuted, so rows of P and P' are
//!     H+ = act( A+ P+ + P+' + b ),  P+ = X+ W   T+: entries of A and X dropped
//!
//!     D = dL/dH * act'(Z)                       likewise D-, D+
//!     G  = A^T D + pi^-1 (A^T D-)    G' = D + pi^-1 D-
//!     dW  = X^T G  + X+^T (A+^T D+)
//!     dW' = X^T G' + X+^T D+
//!     db  = column sums of D + D- + D+
//! ```
//!
//! The plain GCN has no W' and drops every primed term.
//!
//! What belongs to a node alone waits in the view it will become part of: P' in H, pi P' in H-, P+' in
//! H+, and on the way back G' in D and its sum with D+ in D+. So two N x d buffers beside the views are
//! enough, one for the graph itself and one for the dropped graph.

use super::BLOCK;
use super::adjacency::{Adjacency, Product};
use super::attributes::{Attributes, Pair, PairMut};
use super::draw::Draw;
use super::kernels::{Kernels, Work};
use super::phases::{Clock, Phase};
use super::rows::Scratches;
use crate::matrix::Dense;
use crate::model::LayerWeights;
use crate::settings::{Activation, Augmentation, Settings};
use rayon::prelude::*;

/// One layer's embeddings in the three views; after the losses, D, D+ and D- stand in their place.
#[derive(Debug)]
pub struct Views<T> {
    /// H, then D.
    pub anchor: Dense<T>,
    /// H+, then D+.
    pub positive: Dense<T>,
    /// H-, then D-.
    pub negative: Dense<T>,
}

impl<T: Kernels> Views<T> {
    /// Room for the views of `nodes` rows.
    pub fn new(nodes: usize, dim: usize) -> Self {
        let zeros = || Dense::zeros(nodes, dim);
        Self { anchor: zeros(), positive: zeros(), negative: zeros() }
    }
}

/// Room that all layers share.
#[derive(Debug)]
pub struct Workspace<T> {
    /// P, then G.
    pub whole: Dense<T>,
    /// P+, then A+^T D+.
    pub dropped: Dense<T>,
    /// Rows of products that are computed before they are asked for.
    pub room: Vec<T>,
    /// Lists of one row, per thread.
    pub scratch: Scratches<T>,
}

/// What one layer's encoder works on.
#[derive(Debug)]
pub struct LayerEncoder<'a, T> {
    /// X.
    pub attributes: &'a Attributes<T>,
    /// A.
    pub adjacency: &'a Adjacency<T>,
    /// The settings that shape it.
    pub settings: &'a Settings,
}

impl<T: Kernels> LayerEncoder<'_, T> {
    fn survivor_scale(&self) -> T {
        T::from_f64(match self.settings.augmentation {
            Augmentation::Dropout => 1.0 / (1.0 - self.settings.p_drop),
            Augmentation::Mask => 1.0,
        })
    }

    /// H of the undropped graph.
    pub fn embed(&self, weights: &LayerWeights<T>, work: &mut Workspace<T>, out: &mut Dense<T>) {
        let Workspace { whole, room, scratch, .. } = work;
        let own = weights.self_weight.is_some();
        let pair = PairMut { neighbors: &mut *whole, own: own.then_some(&mut *out) };
        self.attributes.project(Pair::of(weights), pair, scratch);
        let product = self.adjacency.forward(whole, None, room, scratch);
        self.activate(&product, weights, out, scratch);
    }

    /// H, H- and H+.
    pub fn forward(
        &self,
        weights: &LayerWeights<T>,
        draw: &Draw,
        work: &mut Workspace<T>,
        views: &mut Views<T>,
        clock: &mut Clock,
    ) {
        let Workspace { whole, dropped, room, scratch } = work;
        let Views { anchor, positive, negative } = views;
        let (scale, own) = (self.survivor_scale(), weights.self_weight.is_some());
        let pair = PairMut { neighbors: &mut *whole, own: own.then_some(&mut *anchor) };
        if self.settings.drop_attributes {
            let own = own.then_some(&mut *positive);
            let survivors = PairMut { neighbors: &mut *dropped, own };
            self.attributes.project_both(
                Pair::of(weights),
                (&draw.attributes, scale),
                pair,
                survivors,
                scratch,
            );
        } else {
            self.attributes.project(Pair::of(weights), pair, scratch);
            if own {
                positive.values_mut().copy_from_slice(anchor.values());
            }
        }
        if own {
            permute(anchor, &draw.permutation, negative);
        }
        clock.stop(Phase::AttributesForward);

        let product = self.adjacency.forward(whole, None, room, scratch);
        self.activate(&product, weights, anchor, scratch);
        let product = self.adjacency.forward(whole, Some(&draw.permutation), room, scratch);
        self.activate(&product, weights, negative, scratch);
        let table = if self.settings.drop_attributes { &*dropped } else { &*whole };
        let product = if self.settings.drop_edges {
            self.adjacency.forward_masked(table, &draw.edges, scale, room)
        } else {
            self.adjacency.forward(table, None, room, scratch)
        };
        self.activate(&product, weights, positive, scratch);
        clock.stop(Phase::EdgesForward);
    }

    /// `out = act(product + out + b)`, row by row; a plain GCN has nothing in `out` to add.
    fn activate(
        &self,
        product: &Product<'_, T>,
        weights: &LayerWeights<T>,
        out: &mut Dense<T>,
        scratch: &Scratches<T>,
    ) {
        let dim = out.cols();
        let own = weights.self_weight.is_some();
        let blocks = out.values_mut().par_chunks_mut(BLOCK * dim).enumerate();
        blocks.for_each(|(block, rows)| {
            scratch.with(|scratch| {
                for (i, row) in rows.chunks_mut(dim).enumerate() {
                    if own {
                        row.iter_mut().zip(&weights.bias).for_each(|(r, b)| *r += *b);
                    } else {
                        row.copy_from_slice(&weights.bias);
                    }
                    product.add_row(block * BLOCK + i, scratch, row);
                }
            });
            activate(self.settings.activation, rows);
        });
    }

    /// The gradients of the layer's weights, from D, D+ and D- in `views`, which are used up.
    pub fn backward(
        &self,
        draw: &Draw,
        views: &mut Views<T>,
        work: &mut Workspace<T>,
        gradients: &mut LayerWeights<T>,
        clock: &mut Clock,
    ) {
        bias_gradient(views, &mut gradients.bias, &work.scratch);
        let Workspace { whole, dropped, room, scratch } = work;
        let Views { anchor, positive, negative } = views;
        let scale = self.survivor_scale();

        let product = self.adjacency.backward(anchor, room, scratch);
        add_product(&product, None, false, whole, scratch);
        let product = self.adjacency.backward(negative, room, scratch);
        add_product(&product, Some(&draw.inverse), true, whole, scratch);
        let product = if self.settings.drop_edges {
            self.adjacency.backward_masked(positive, &draw.edges, scale, room)
        } else {
            self.adjacency.backward(positive, room, scratch)
        };
        add_product(&product, None, false, dropped, scratch);
        clock.stop(Phase::EdgesBackward);

        let own = gradients.self_weight.is_some();
        if own {
            add_permuted(negative, &draw.inverse, anchor);
        }
        let scale = if self.settings.drop_attributes { scale } else { T::from_f64(1.0) };
        add_scaled(scale, whole, dropped);
        if own {
            add_scaled(scale, anchor, positive);
        }
        let survivors = Pair { neighbors: &*dropped, own: own.then_some(&*positive) };
        if self.settings.drop_attributes {
            let all = Pair { neighbors: &*whole, own: own.then_some(&*anchor) };
            self.attributes.pull_both(&draw.attributes, all, survivors, gradients, scratch);
        } else {
            self.attributes.pull(survivors, gradients, scratch);
        }
        clock.stop(Phase::AttributesBackward);
    }
}

/// What an encoder's sums go through.
pub fn activate<T: Kernels>(activation: Activation, values: &mut [T]) {
    match activation {
        Activation::Tanh => T::tanh_in_place(values),
        // Not `max`, which would hide a NaN.
        Activation::Relu => values.iter_mut().for_each(|v| {
            if *v < T::default() {
                *v = T::default();
            }
        }),
    }
}

/// `out (+)= product`, its rows read through `order`.
fn add_product<T: Kernels>(
    product: &Product<'_, T>,
    order: Option<&[u32]>,
    add: bool,
    out: &mut Dense<T>,
    scratch: &Scratches<T>,
) {
    let dim = out.cols();
    out.values_mut().par_chunks_mut(BLOCK * dim).enumerate().for_each(|(block, rows)| {
        scratch.with(|scratch| {
            for (i, row) in rows.chunks_mut(dim).enumerate() {
                let n = block * BLOCK + i;
                if !add {
                    row.fill(T::default());
                }
                product.add_row(order.map_or(n, |o| o[n] as usize), scratch, row);
            }
        });
    });
}

/// `out[n] = rows[order[n]]`.
fn permute<T: Kernels>(rows: &Dense<T>, order: &[u32], out: &mut Dense<T>) {
    let dim = out.cols();
    out.values_mut().par_chunks_mut(BLOCK * dim).enumerate().for_each(|(block, out)| {
        for (i, out) in out.chunks_mut(dim).enumerate() {
            out.copy_from_slice(rows.row(order[block * BLOCK + i] as usize));
        }
    });
}

/// `out[n] += rows[order[n]]`.
fn add_permuted<T: Kernels>(rows: &Dense<T>, order: &[u32], out: &mut Dense<T>) {
    let dim = out.cols();
    out.values_mut().par_chunks_mut(BLOCK * dim).enumerate().for_each(|(block, out)| {
        for (i, out) in out.chunks_mut(dim).enumerate() {
            let row = rows.row(order[block * BLOCK + i] as usize);
            out.iter_mut().zip(row).for_each(|(o, r)| *o += *r);
        }
    });
}

/// `out = scale * out + rows`.
fn add_scaled<T: Kernels>(scale: T, rows: &Dense<T>, out: &mut Dense<T>) {
    let size = BLOCK * out.cols();
    let rows = rows.values().par_chunks(size);
    out.values_mut().par_chunks_mut(size).zip(rows).for_each(|(out, rows)| {
        T::vectorized(AddScaled { scale, rows, out });
    });
}

struct AddScaled<'a, T> {
    scale: T,
    rows: &'a [T],
    out: &'a mut [T],
}

impl<T: Kernels> Work for AddScaled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (o, r) in self.out.iter_mut().zip(self.rows) {
            *o = self.scale * *o + *r;
        }
    }
}

/// Column sums of all three views: block sums first, then the blocks in order.
fn bias_gradient<T: Kernels>(views: &Views<T>, bias: &mut [T], scratch: &Scratches<T>) {
    let dim = bias.len();
    let block = 16 * BLOCK * dim;
    bias.fill(T::default());
    for view in [&views.anchor, &views.negative, &views.positive] {
        let len = view.values().len().div_ceil(block) * dim;
        let mut sums = scratch.parts(len);
        let sums = &mut sums[..len];
        let blocks = view.values().par_chunks(block);
        sums.par_chunks_mut(dim).zip(blocks).for_each(|(sum, rows)| {
            sum.fill(T::default());
            for row in rows.chunks(dim) {
                sum.iter_mut().zip(row).for_each(|(s, r)| *s += *r);
            }
        });
        for sum in sums.chunks(dim) {
            bias.iter_mut().zip(sum).for_each(|(b, s)| *b += *s);
        }
    }
}

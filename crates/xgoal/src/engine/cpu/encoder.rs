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

use super::BLOCK;
use super::adjacency::{Adjacency, Product};
use super::attributes::Attributes;
use super::draw::Draw;
use super::kernels::Kernels;
use super::rows::Scratch;
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

/// Room that all layers share: P and P' forward, G and G' backward.
#[derive(Debug)]
pub struct Workspace<T> {
    /// P, then G.
    pub neighbors: Dense<T>,
    /// P', then G'; empty for a plain GCN.
    pub own: Dense<T>,
    /// Products of distinct rows.
    pub distinct: Vec<T>,
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

    fn project(
        &self,
        weights: &LayerWeights<T>,
        mask: super::attributes::Masked<'_, T>,
        work: &mut Workspace<T>,
    ) {
        let Workspace { neighbors, own, .. } = work;
        match &weights.self_weight {
            Some(self_weight) => self.attributes.project(
                &[&weights.weight, self_weight],
                mask,
                &mut [neighbors, own],
            ),
            None => self.attributes.project(&[&weights.weight], mask, &mut [neighbors]),
        }
    }

    /// H of the undropped graph.
    pub fn embed(&self, weights: &LayerWeights<T>, work: &mut Workspace<T>, out: &mut Dense<T>) {
        self.project(weights, None, work);
        self.undropped(weights, None, work, out);
    }

    /// H, H- and H+.
    pub fn forward(
        &self,
        weights: &LayerWeights<T>,
        draw: &Draw,
        work: &mut Workspace<T>,
        views: &mut Views<T>,
    ) {
        self.embed(weights, work, &mut views.anchor);
        self.undropped(weights, Some(&draw.permutation), work, &mut views.negative);
        let scale = self.survivor_scale();
        if self.settings.drop_attributes {
            self.project(weights, Some((&draw.attributes, scale)), work);
        }
        if self.settings.drop_edges {
            let Workspace { neighbors, own, .. } = work;
            let product = self.adjacency.forward_masked(neighbors, (&draw.edges, scale));
            self.activate(&product, weights, (own, None), &mut views.positive);
        } else {
            self.undropped(weights, None, work, &mut views.positive);
        }
    }

    fn undropped(
        &self,
        weights: &LayerWeights<T>,
        permutation: Option<&[u32]>,
        work: &mut Workspace<T>,
        out: &mut Dense<T>,
    ) {
        let Workspace { neighbors, own, distinct } = work;
        let product = self.adjacency.forward(neighbors, permutation, distinct);
        self.activate(&product, weights, (own, permutation), out);
    }

    /// `out = act(product + own + b)`, row by row.
    fn activate(
        &self,
        product: &Product<'_, T>,
        weights: &LayerWeights<T>,
        (own, permutation): (&Dense<T>, Option<&[u32]>),
        out: &mut Dense<T>,
    ) {
        let dim = out.cols();
        let has_self = weights.self_weight.is_some();
        let blocks = out.values_mut().par_chunks_mut(BLOCK * dim).enumerate();
        blocks.for_each_init(Scratch::default, |scratch, (block, rows)| {
            for (i, row) in rows.chunks_mut(dim).enumerate() {
                let n = block * BLOCK + i;
                row.copy_from_slice(&weights.bias);
                if has_self {
                    let own = own.row(permutation.map_or(n, |p| p[n] as usize));
                    row.iter_mut().zip(own).for_each(|(r, o)| *r += *o);
                }
                product.add_row(n, scratch, row);
            }
            match self.settings.activation {
                Activation::Tanh => T::tanh_in_place(rows),
                // Not `max`, which would hide a NaN.
                Activation::Relu => rows.iter_mut().for_each(|v| {
                    if *v < T::default() {
                        *v = T::default();
                    }
                }),
            }
        });
    }

    /// The gradients of the layer's weights, from D, D+ and D- in `views`.
    pub fn backward(
        &self,
        draw: &Draw,
        views: &Views<T>,
        work: &mut Workspace<T>,
        gradients: &mut LayerWeights<T>,
    ) {
        gradients.tensors_mut().for_each(|t| t.fill(T::default()));
        bias_gradient(views, &mut gradients.bias);
        let has_self = gradients.self_weight.is_some();

        let Workspace { neighbors, own, distinct } = work;
        add_product(&self.adjacency.backward(&views.anchor, distinct), None, false, neighbors);
        let negative = self.adjacency.backward(&views.negative, distinct);
        add_product(&negative, Some(&draw.inverse), true, neighbors);
        if has_self {
            add_own(views, &draw.inverse, own);
        }
        self.pull(neighbors, own, None, gradients);

        let scale = self.survivor_scale();
        let product = if self.settings.drop_edges {
            self.adjacency.backward_masked(&views.positive, (&draw.edges, scale))
        } else {
            self.adjacency.backward(&views.positive, distinct)
        };
        add_product(&product, None, false, neighbors);
        let mask = self.settings.drop_attributes.then_some((&draw.attributes, scale));
        self.pull(neighbors, &views.positive, mask, gradients);
    }

    fn pull(
        &self,
        neighbors: &Dense<T>,
        own: &Dense<T>,
        mask: super::attributes::Masked<'_, T>,
        gradients: &mut LayerWeights<T>,
    ) {
        match &mut gradients.self_weight {
            Some(self_weight) => self.attributes.pull(
                &[neighbors, own],
                mask,
                &mut [&mut gradients.weight, self_weight],
            ),
            None => self.attributes.pull(&[neighbors], mask, &mut [&mut gradients.weight]),
        }
    }
}

/// `out (+)= product`, its rows read through `order`.
fn add_product<T: Kernels>(
    product: &Product<'_, T>,
    order: Option<&[u32]>,
    add: bool,
    out: &mut Dense<T>,
) {
    let dim = out.cols();
    let blocks = out.values_mut().par_chunks_mut(BLOCK * dim).enumerate();
    blocks.for_each_init(Scratch::default, |scratch, (block, rows)| {
        for (i, row) in rows.chunks_mut(dim).enumerate() {
            let n = block * BLOCK + i;
            if !add {
                row.fill(T::default());
            }
            product.add_row(order.map_or(n, |o| o[n] as usize), scratch, row);
        }
    });
}

/// `G' = D + pi^-1 D-`.
fn add_own<T: Kernels>(views: &Views<T>, inverse: &[u32], own: &mut Dense<T>) {
    let dim = own.cols();
    own.values_mut().par_chunks_mut(BLOCK * dim).enumerate().for_each(|(block, rows)| {
        for (i, row) in rows.chunks_mut(dim).enumerate() {
            let n = block * BLOCK + i;
            let (a, b) = (views.anchor.row(n), views.negative.row(inverse[n] as usize));
            row.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = *a + *b);
        }
    });
}

/// Column sums of all three views: block sums first, then the blocks in order.
fn bias_gradient<T: Kernels>(views: &Views<T>, bias: &mut [T]) {
    let dim = bias.len();
    for view in [&views.anchor, &views.negative, &views.positive] {
        let partial: Vec<Vec<T>> = view
            .values()
            .par_chunks(16 * BLOCK * dim)
            .map(|rows| {
                let mut sum = vec![T::default(); dim];
                for row in rows.chunks(dim) {
                    sum.iter_mut().zip(row).for_each(|(s, r)| *s += *r);
                }
                sum
            })
            .collect();
        for sum in partial {
            bias.iter_mut().zip(sum).for_each(|(b, s)| *b += s);
        }
    }
}

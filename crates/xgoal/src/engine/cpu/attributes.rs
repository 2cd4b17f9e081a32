//! The products with the attributes: `X W` forward, `X^T G` backward, with or without a mask.
//!
//! Sparse attributes go row by row through [`Rows`]; dense ones in blocks through a matrix product,
//! with the masked block written into scratch. Backward, every output row (an attribute) is summed
//! over the nodes in one fixed order, so the split over threads does not show in the bits.

use super::BLOCK;
use super::kernels::Kernels;
use super::mask::Mask;
use super::rows::{Rows, Scratch};
use crate::matrix::{Csr, Dense, Matrix};
use crate::real::{View, ViewMut};
use rayon::prelude::*;

/// Attributes a strip of the dense backward product covers.
const STRIP: usize = 64;

/// The attribute matrix in the forms both directions need.
#[derive(Debug)]
pub enum Attributes<T> {
    /// Stored entries, their transpose, and where each entry of the transpose comes from.
    Sparse { rows: Csr<T>, columns: Csr<T>, positions: Vec<u32> },
    /// Every entry.
    Dense(Dense<T>),
}

/// A mask over the entries and what survivors are multiplied by.
pub type Masked<'a, T> = Option<(&'a Mask, T)>;

impl<T: Kernels> Attributes<T> {
    /// Converts the attributes to the engine's precision and transposes them once.
    pub fn new(matrix: &Matrix) -> Self {
        match matrix {
            Matrix::Sparse(m) => {
                let rows = m.map(|v| T::from_f64(f64::from(v)));
                let (columns, positions) = rows.transpose_with_positions();
                Self::Sparse { rows, columns, positions }
            }
            Matrix::Dense(m) => {
                let values = m.values().iter().map(|v| T::from_f64(f64::from(*v))).collect();
                Self::Dense(Dense::from_vec(m.rows(), m.cols(), values).expect("same shape"))
            }
        }
    }

    /// How many entries a mask covers.
    pub fn entries(&self) -> usize {
        match self {
            Self::Sparse { rows, .. } => rows.nnz(),
            Self::Dense(m) => m.values().len(),
        }
    }

    /// `out = X W` for each pair of weights and output.
    pub fn project(&self, weights: &[&Dense<T>], mask: Masked<'_, T>, outs: &mut [&mut Dense<T>]) {
        match self {
            Self::Sparse { rows, .. } => {
                let rows = Rows { mask, ..Rows::plain(rows) };
                sparse_product(rows, weights, false, outs);
            }
            Self::Dense(x) => {
                for (weight, out) in weights.iter().zip(outs) {
                    dense_product(x, weight, mask, out);
                }
            }
        }
    }

    /// `out += X^T G` for each pair of gradient and output.
    pub fn pull(&self, gradients: &[&Dense<T>], mask: Masked<'_, T>, outs: &mut [&mut Dense<T>]) {
        match self {
            Self::Sparse { columns, positions, .. } => {
                let rows = Rows { positions: Some(positions), mask, ..Rows::plain(columns) };
                sparse_product(rows, gradients, true, outs);
            }
            Self::Dense(x) => {
                for (gradient, out) in gradients.iter().zip(outs) {
                    dense_pull(x, gradient, mask, out);
                }
            }
        }
    }
}

/// `out (+)= M table` for one or two tables in one pass over M.
fn sparse_product<T: Kernels>(
    rows: Rows<'_, T>,
    tables: &[&Dense<T>],
    add: bool,
    outs: &mut [&mut Dense<T>],
) {
    let dim = tables[0].cols();
    let clear = |row: &mut [T]| {
        if !add {
            row.fill(T::default());
        }
    };
    match outs {
        [out] => {
            let blocks = out.values_mut().par_chunks_mut(BLOCK * dim).enumerate();
            blocks.for_each_init(Scratch::default, |scratch, (block, out)| {
                for (i, out) in out.chunks_mut(dim).enumerate() {
                    clear(out);
                    rows.gather(block * BLOCK + i, tables[0].values(), scratch, out);
                }
            });
        }
        [a, b] => {
            let a = a.values_mut().par_chunks_mut(BLOCK * dim);
            let b = b.values_mut().par_chunks_mut(BLOCK * dim);
            a.zip(b).enumerate().for_each_init(Scratch::default, |scratch, (block, (a, b))| {
                let pairs = a.chunks_mut(dim).zip(b.chunks_mut(dim));
                for (i, (a, b)) in pairs.enumerate() {
                    clear(a);
                    clear(b);
                    let tables = [tables[0].values(), tables[1].values()];
                    rows.gather_two(block * BLOCK + i, tables, scratch, [a, b]);
                }
            });
        }
        _ => unreachable!("an encoder has one or two weight matrices"),
    }
}

fn dense_product<T: Kernels>(
    x: &Dense<T>,
    weight: &Dense<T>,
    mask: Masked<'_, T>,
    out: &mut Dense<T>,
) {
    let (features, dim) = (x.cols(), weight.cols());
    let blocks = out.values_mut().par_chunks_mut(BLOCK * dim).enumerate();
    blocks.for_each_init(Vec::new, |scratch, (block, out)| {
        let rows = out.len() / dim;
        let first = block * BLOCK;
        let x = &x.values()[first * features..(first + rows) * features];
        let x =
            match mask {
                None => x,
                Some((mask, scale)) => {
                    scratch.clear();
                    scratch.extend(x.iter().enumerate().map(|(i, v)| {
                        *v * scale * T::from_f64(mask.bit(first * features + i) as f64)
                    }));
                    &scratch[..]
                }
            };
        let (one, zero) = (T::from_f64(1.0), T::default());
        T::gemm(
            one,
            View::new(x, rows, features),
            View::from(weight),
            zero,
            &mut ViewMut::new(out, rows, dim),
        );
    });
}

fn dense_pull<T: Kernels>(
    x: &Dense<T>,
    gradient: &Dense<T>,
    mask: Masked<'_, T>,
    out: &mut Dense<T>,
) {
    let (nodes, features, dim) = (x.rows(), x.cols(), gradient.cols());
    let strips = out.values_mut().par_chunks_mut(STRIP * dim).enumerate();
    strips.for_each_init(Vec::new, |scratch, (strip, out)| {
        let width = out.len() / dim;
        let first = strip * STRIP;
        for block in (0..nodes).step_by(BLOCK) {
            let rows = BLOCK.min(nodes - block);
            scratch.clear();
            for n in block..block + rows {
                let x = &x.row(n)[first..first + width];
                match mask {
                    None => scratch.extend_from_slice(x),
                    Some((mask, scale)) => scratch.extend(x.iter().enumerate().map(|(i, v)| {
                        *v * scale * T::from_f64(mask.bit(n * features + first + i) as f64)
                    })),
                }
            }
            let g = &gradient.values()[block * dim..(block + rows) * dim];
            let one = T::from_f64(1.0);
            T::gemm(
                one,
                View::new(scratch, rows, width).t(),
                View::new(g, rows, dim),
                one,
                &mut ViewMut::new(out, width, dim),
            );
        }
    });
}

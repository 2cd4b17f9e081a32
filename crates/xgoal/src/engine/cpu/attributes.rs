//! The products with the attributes: `X W` forward, `X^T G` backward, for the whole graph and for the
//! dropped one in a single pass.
//!
//! Every stored entry either survives (X+) or is dropped (the rest), so each is read once:
//!
//! ```text
//!     X+ W = s (survivors W)                X W = survivors W + (X - survivors) W
//!     X^T G + X+^T G+ = survivors^T (G + s G+) + (X - survivors)^T G
//! ```
//!
//! Sparse attributes go row by row through [`Rows`]; dense ones in blocks through a matrix product,
//! with the surviving block written into scratch. Backward, every output row (an attribute) is summed
//! over the nodes in one fixed order, so the split over threads does not show in the bits.

use super::BLOCK;
use super::kernels::{Kernels, Scatter};
use super::mask::Mask;
use super::rows::{Rows, Scratches, Split};
use crate::matrix::{Csr, Dense, Matrix};
use crate::model::LayerWeights;
use crate::real::{View, ViewMut};
use rayon::prelude::*;

/// Attributes a task of the dense backward product covers.
const STRIP: usize = 64;

/// Nodes a task of a dense product covers.
const DENSE_BLOCK: usize = 256;

/// The attribute matrix in the forms both directions need.
#[derive(Debug)]
pub enum Attributes<T> {
    /// Stored entries, their transpose, and where each entry of the transpose comes from.
    Sparse { rows: Csr<T>, columns: Csr<T>, positions: Vec<u32> },
    /// Every entry.
    Dense(Dense<T>),
}

/// What goes with W, and what goes with W' unless the encoder is a plain GCN.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a, T> {
    /// For W.
    pub neighbors: &'a Dense<T>,
    /// For W'.
    pub own: Option<&'a Dense<T>>,
}

impl<'a, T> Pair<'a, T> {
    /// The weights themselves.
    pub fn of(weights: &'a LayerWeights<T>) -> Self {
        Self { neighbors: &weights.weight, own: weights.self_weight.as_ref() }
    }

    fn both(self) -> impl Iterator<Item = &'a Dense<T>> {
        [Some(self.neighbors), self.own].into_iter().flatten()
    }
}

/// Where results for W and W' go.
#[derive(Debug)]
pub struct PairMut<'a, T> {
    /// For W.
    pub neighbors: &'a mut Dense<T>,
    /// For W'.
    pub own: Option<&'a mut Dense<T>>,
}

impl<'a, T> PairMut<'a, T> {
    fn both(self) -> impl Iterator<Item = &'a mut Dense<T>> {
        [Some(self.neighbors), self.own].into_iter().flatten()
    }
}

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

    /// Whether `X^T G` is better done by reading G in order and adding to the attributes' rows.
    ///
    /// Reading row after row of X, G is read once and the sums of a part stay in the cache; reading
    /// row after row of X^T, a row of G comes from memory for every entry.
    pub fn scatters(rows: &Csr<T>, dim: usize) -> bool {
        let table = rows.rows() * dim * size_of::<T>();
        table >= OUT_OF_CACHE && rows.cols() * 4 * PARTS <= rows.rows()
    }

    /// How many entries a mask covers.
    pub fn entries(&self) -> usize {
        match self {
            Self::Sparse { rows, .. } => rows.nnz(),
            Self::Dense(m) => m.values().len(),
        }
    }

    /// `out = X W`.
    pub fn project(&self, weights: Pair<'_, T>, out: PairMut<'_, T>, scratch: &Scratches<T>) {
        match self {
            Self::Sparse { rows, .. } => {
                sparse_product(rows, weights, out, scratch);
            }
            Self::Dense(x) => {
                for (weight, out) in weights.both().zip(out.both()) {
                    dense_product(x, weight, None, out, scratch);
                }
            }
        }
    }

    /// `out = X W` and `survivors = X+ W`.
    pub fn project_both(
        &self,
        weights: Pair<'_, T>,
        (mask, scale): (&Mask, T),
        out: PairMut<'_, T>,
        survivors: PairMut<'_, T>,
        scratch: &Scratches<T>,
    ) {
        match self {
            Self::Sparse { rows, .. } => {
                let rows = Rows { mask: Some(mask), ..Rows::plain(rows) };
                sparse_product_both(rows, scale, weights, (out, survivors), scratch);
            }
            Self::Dense(x) => {
                let outs = out.both().zip(survivors.both());
                for (weight, (out, survivors)) in weights.both().zip(outs) {
                    dense_product(x, weight, None, out, scratch);
                    dense_product(x, weight, Some((mask, scale)), survivors, scratch);
                }
            }
        }
    }

    /// `gradients = X^T G` for G of W and of W'.
    pub fn pull(&self, g: Pair<'_, T>, gradients: &mut LayerWeights<T>, scratch: &Scratches<T>) {
        let out = PairMut { neighbors: &mut gradients.weight, own: gradients.self_weight.as_mut() };
        match self {
            Self::Sparse { columns, .. } => {
                sparse_product(columns, g, out, scratch);
            }
            Self::Dense(x) => {
                for (g, out) in g.both().zip(out.both()) {
                    dense_pull(x, None, [g, g], out, scratch);
                }
            }
        }
    }

    /// `gradients = survivors^T G+ + (X - survivors)^T G`.
    pub fn pull_both(
        &self,
        mask: &Mask,
        all: Pair<'_, T>,
        survivors: Pair<'_, T>,
        gradients: &mut LayerWeights<T>,
        scratch: &Scratches<T>,
    ) {
        let outs =
            PairMut { neighbors: &mut gradients.weight, own: gradients.self_weight.as_mut() };
        match self {
            Self::Sparse { rows, .. } if Self::scatters(rows, all.neighbors.cols()) => {
                let rows = Rows { mask: Some(mask), ..Rows::plain(rows) };
                for (at, out) in outs.both().enumerate() {
                    let tables = [all, survivors].map(|p| p.both().nth(at).expect("same pair"));
                    scatter_pull_both(rows, tables, out, scratch);
                }
            }
            Self::Sparse { columns, positions, .. } => {
                let positions = Some(&positions[..]);
                let rows = Rows { positions, mask: Some(mask), ..Rows::plain(columns) };
                sparse_pull_both(rows, all, survivors, outs, scratch);
            }
            Self::Dense(x) => {
                for ((all, survivors), out) in all.both().zip(survivors.both()).zip(outs.both()) {
                    dense_pull(x, Some(mask), [all, survivors], out, scratch);
                }
            }
        }
    }
}

/// `out = M table`, in one pass over M for both tables.
fn sparse_product<T: Kernels>(
    matrix: &Csr<T>,
    tables: Pair<'_, T>,
    out: PairMut<'_, T>,
    scratch: &Scratches<T>,
) {
    let rows = Rows::plain(matrix);
    let dim = tables.neighbors.cols();
    let product = |table: &Dense<T>, block: usize, out: &mut [T]| {
        scratch.with(|scratch| {
            for (i, out) in out.chunks_mut(dim).enumerate() {
                out.fill(T::default());
                rows.gather(block * BLOCK + i, table.values(), T::from_f64(1.0), scratch, out);
            }
        });
    };
    let neighbors = out.neighbors.values_mut().par_chunks_mut(BLOCK * dim);
    match out.own.zip(tables.own) {
        None => neighbors.enumerate().for_each(|(b, out)| product(tables.neighbors, b, out)),
        Some((own, table)) => {
            let own = own.values_mut().par_chunks_mut(BLOCK * dim);
            neighbors.zip(own).enumerate().for_each(|(block, (neighbors, own))| {
                product(tables.neighbors, block, neighbors);
                product(table, block, own);
            });
        }
    }
}

/// `all = M table` and `survivors = scale * (M where it survives) table`.
fn sparse_product_both<T: Kernels>(
    rows: Rows<'_, T>,
    scale: T,
    tables: Pair<'_, T>,
    (all, survivors): (PairMut<'_, T>, PairMut<'_, T>),
    scratch: &Scratches<T>,
) {
    let dim = tables.neighbors.cols();
    let size = BLOCK * dim;
    let one = |list: &Split<'_, T>, table: &Dense<T>, all: &mut [T], survivors: &mut [T]| {
        let one = T::from_f64(1.0);
        all.fill(T::default());
        T::gather(table.values(), list.kept.0, list.kept.1, one, all);
        survivors.iter_mut().zip(&*all).for_each(|(s, a)| *s = scale * *a);
        T::gather(table.values(), list.dropped.0, list.dropped.1, one, all);
    };
    let whole = all.neighbors.values_mut().par_chunks_mut(size);
    let kept = survivors.neighbors.values_mut().par_chunks_mut(size);
    let first = |block: usize, i: usize| block * BLOCK + i;
    match (tables.own, all.own, survivors.own) {
        (Some(own), Some(own_whole), Some(own_kept)) => {
            let own_whole = own_whole.values_mut().par_chunks_mut(size);
            let own_kept = own_kept.values_mut().par_chunks_mut(size);
            (whole, kept, own_whole, own_kept).into_par_iter().enumerate().for_each(
                |(block, (whole, kept, own_whole, own_kept))| {
                    scratch.with(|scratch| {
                        let neighbors = whole.chunks_mut(dim).zip(kept.chunks_mut(dim));
                        let owns = own_whole.chunks_mut(dim).zip(own_kept.chunks_mut(dim));
                        for (i, (n, o)) in neighbors.zip(owns).enumerate() {
                            let list = rows.split(first(block, i), scratch);
                            one(&list, tables.neighbors, n.0, n.1);
                            one(&list, own, o.0, o.1);
                        }
                    });
                },
            );
        }
        _ => whole.zip(kept).enumerate().for_each(|(block, (whole, kept))| {
            scratch.with(|scratch| {
                let neighbors = whole.chunks_mut(dim).zip(kept.chunks_mut(dim));
                for (i, (whole, kept)) in neighbors.enumerate() {
                    let list = rows.split(first(block, i), scratch);
                    one(&list, tables.neighbors, whole, kept);
                }
            });
        }),
    }
}

/// `out = survivors table+ + (the rest) table`.
fn sparse_pull_both<T: Kernels>(
    rows: Rows<'_, T>,
    all: Pair<'_, T>,
    survivors: Pair<'_, T>,
    out: PairMut<'_, T>,
    scratch: &Scratches<T>,
) {
    let dim = all.neighbors.cols();
    let one = |list: &Split<'_, T>, all: &Dense<T>, survivors: &Dense<T>, out: &mut [T]| {
        let one = T::from_f64(1.0);
        out.fill(T::default());
        T::gather(survivors.values(), list.kept.0, list.kept.1, one, out);
        T::gather(all.values(), list.dropped.0, list.dropped.1, one, out);
    };
    let neighbors = out.neighbors.values_mut().par_chunks_mut(BLOCK * dim);
    match (out.own, all.own, survivors.own) {
        (Some(out), Some(own), Some(own_survivors)) => {
            let owns = out.values_mut().par_chunks_mut(BLOCK * dim);
            neighbors.zip(owns).enumerate().for_each(|(block, (neighbors, owns))| {
                scratch.with(|scratch| {
                    let outs = neighbors.chunks_mut(dim).zip(owns.chunks_mut(dim));
                    for (i, (n, o)) in outs.enumerate() {
                        let list = rows.split(block * BLOCK + i, scratch);
                        one(&list, all.neighbors, survivors.neighbors, n);
                        one(&list, own, own_survivors, o);
                    }
                });
            });
        }
        _ => neighbors.enumerate().for_each(|(block, outs)| {
            scratch.with(|scratch| {
                for (i, out) in outs.chunks_mut(dim).enumerate() {
                    let list = rows.split(block * BLOCK + i, scratch);
                    one(&list, all.neighbors, survivors.neighbors, out);
                }
            });
        }),
    }
}

/// Parts of the nodes that are summed for themselves.
const PARTS: usize = 8;

/// Bytes of a table from which on reading it in a random order means reading memory.
const OUT_OF_CACHE: usize = 1 << 24;

/// [`sparse_pull_both`] for one table each, over the rows of X; sums run per part, then over parts.
fn scatter_pull_both<T: Kernels>(
    rows: Rows<'_, T>,
    [all, survivors]: [&Dense<T>; 2],
    out: &mut Dense<T>,
    scratch: &Scratches<T>,
) {
    let nodes = rows.matrix.rows();
    let mut parts = scratch.parts(PARTS * out.values().len());
    let size = out.values().len();
    parts.par_chunks_mut(size).enumerate().for_each(|(part, sums)| {
        sums.fill(T::default());
        scratch.with(|scratch| {
            for n in part * nodes / PARTS..(part + 1) * nodes / PARTS {
                let Split { kept, dropped } = rows.split(n, scratch);
                for ((indices, values), table) in [(kept, survivors), (dropped, all)] {
                    T::vectorized(Scatter { table: sums, indices, values, row: table.row(n) });
                }
            }
        });
    });
    const CHUNK: usize = 1 << 12;
    out.values_mut().par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
        out.fill(T::default());
        for part in parts.chunks(size) {
            let part = &part[chunk * CHUNK..][..out.len()];
            out.iter_mut().zip(part).for_each(|(o, p)| *o += *p);
        }
    });
}

/// `out = X W`, or of the survivors times a scale.
fn dense_product<T: Kernels>(
    x: &Dense<T>,
    weight: &Dense<T>,
    mask: Option<(&Mask, T)>,
    out: &mut Dense<T>,
    scratch: &Scratches<T>,
) {
    let (features, dim) = (x.cols(), weight.cols());
    let blocks = out.values_mut().par_chunks_mut(DENSE_BLOCK * dim).enumerate();
    blocks.for_each(|(block, out)| {
        scratch.with(|scratch| {
            let rows = out.len() / dim;
            let from = block * DENSE_BLOCK * features;
            let x = &x.values()[from..from + rows * features];
            let x = match mask {
                None => x,
                Some((mask, scale)) => mask.survivors(x, from, scale, scratch.room(x.len())),
            };
            T::gemm(
                T::from_f64(1.0),
                View::new(x, rows, features),
                View::from(weight),
                T::default(),
                &mut ViewMut::new(out, rows, dim),
            );
        });
    });
}

/// `out = survivors^T G+ + (the rest)^T G`, over strips of attributes.
fn dense_pull<T: Kernels>(
    x: &Dense<T>,
    mask: Option<&Mask>,
    [all, survivors]: [&Dense<T>; 2],
    out: &mut Dense<T>,
    scratch: &Scratches<T>,
) {
    let (nodes, features, dim) = (x.rows(), x.cols(), all.cols());
    let strips = out.values_mut().par_chunks_mut(STRIP * dim).enumerate();
    strips.for_each(|(strip, out)| {
        scratch.with(|scratch| {
            let width = out.len() / dim;
            let first = strip * STRIP;
            let one = T::from_f64(1.0);
            out.fill(T::default());
            let mut add = |x: &[T], g: &Dense<T>, from: usize, rows: usize| {
                T::gemm(
                    one,
                    View::new(x, rows, width).t(),
                    View::new(&g.values()[from * dim..(from + rows) * dim], rows, dim),
                    one,
                    &mut ViewMut::new(out, width, dim),
                );
            };
            for from in (0..nodes).step_by(DENSE_BLOCK) {
                let rows = DENSE_BLOCK.min(nodes - from);
                let (kept, dropped) = scratch.room(2 * rows * width).split_at_mut(rows * width);
                let outs = kept.chunks_mut(width).zip(dropped.chunks_mut(width));
                for (n, (kept, dropped)) in (from..from + rows).zip(outs) {
                    let x = &x.row(n)[first..first + width];
                    match mask {
                        None => kept.copy_from_slice(x),
                        Some(mask) => {
                            mask.survivors(x, n * features + first, one, kept);
                            let pairs = x.iter().zip(&*kept).zip(dropped);
                            pairs.for_each(|((x, k), d)| *d = *x - *k);
                        }
                    }
                }
                add(kept, survivors, from, rows);
                if mask.is_some() {
                    add(dropped, all, from, rows);
                }
            }
        });
    });
}

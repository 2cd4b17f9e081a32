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
const STRIP: usize = 128;

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
                dense_product(x, weights, None, out, scratch);
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
                dense_product(x, weights, None, out, scratch);
                dense_product(x, weights, Some((mask, scale)), survivors, scratch);
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
                dense_pull(x, None, g, g, out, scratch);
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
            // W's product is done before that of W' begins: with both, twice as much would be read all
            // over, and leave the cache.
            Self::Sparse { rows, columns, positions } => {
                let scatters = Self::scatters(rows, all.neighbors.cols());
                for (at, out) in outs.both().enumerate() {
                    let tables = [all, survivors].map(|p| p.both().nth(at).expect("same pair"));
                    if scatters {
                        let rows = Rows { mask: Some(mask), ..Rows::plain(rows) };
                        scatter_pull_both(rows, tables, out, scratch);
                    } else {
                        let positions = Some(&positions[..]);
                        let rows = Rows { positions, mask: Some(mask), ..Rows::plain(columns) };
                        sparse_pull_both(rows, tables, out, scratch);
                    }
                }
            }
            Self::Dense(x) => {
                dense_pull(x, Some(mask), all, survivors, outs, scratch);
            }
        }
    }
}

/// The rows of one block in the results for W and W'.
type Blocks<'a, T> = [Option<&'a mut [T]>; 2];

/// Works on blocks of `rows` rows of both results at once.
fn for_blocks<T: Kernels>(
    out: PairMut<'_, T>,
    rows: usize,
    work: impl Fn(usize, Blocks<'_, T>) + Sync,
) {
    let size = rows * out.neighbors.cols();
    let neighbors = out.neighbors.values_mut().par_chunks_mut(size);
    match out.own {
        None => neighbors.enumerate().for_each(|(block, n)| work(block * rows, [Some(n), None])),
        Some(own) => neighbors
            .zip(own.values_mut().par_chunks_mut(size))
            .enumerate()
            .for_each(|(block, (n, o))| work(block * rows, [Some(n), Some(o)])),
    }
}

/// The same for two pairs of results.
fn for_blocks_of_two<T: Kernels>(
    (out, other): (PairMut<'_, T>, PairMut<'_, T>),
    rows: usize,
    work: impl Fn(usize, Blocks<'_, T>, Blocks<'_, T>) + Sync,
) {
    let size = rows * out.neighbors.cols();
    let neighbors = out.neighbors.values_mut().par_chunks_mut(size);
    let neighbors = neighbors.zip(other.neighbors.values_mut().par_chunks_mut(size));
    match out.own.zip(other.own) {
        None => neighbors
            .enumerate()
            .for_each(|(block, (n, m))| work(block * rows, [Some(n), None], [Some(m), None])),
        Some((own, other)) => {
            let own = own.values_mut().par_chunks_mut(size);
            let own = own.zip(other.values_mut().par_chunks_mut(size));
            neighbors.zip(own).enumerate().for_each(|(block, ((n, m), (o, p)))| {
                work(block * rows, [Some(n), Some(o)], [Some(m), Some(p)]);
            });
        }
    }
}

/// `out = M table`.
fn sparse_product<T: Kernels>(
    matrix: &Csr<T>,
    tables: Pair<'_, T>,
    out: PairMut<'_, T>,
    scratch: &Scratches<T>,
) {
    let rows = Rows::plain(matrix);
    let dim = tables.neighbors.cols();
    let one = T::from_f64(1.0);
    for_blocks(out, BLOCK, |first, outs| {
        scratch.with(|scratch| {
            for (table, out) in tables.both().zip(outs.into_iter().flatten()) {
                for (i, out) in out.chunks_mut(dim).enumerate() {
                    out.fill(T::default());
                    rows.gather(first + i, table.values(), one, scratch, out);
                }
            }
        });
    });
}

/// `all = M table` and `survivors = scale * (M where it survives) table`.
fn sparse_product_both<T: Kernels>(
    rows: Rows<'_, T>,
    scale: T,
    tables: Pair<'_, T>,
    outs: (PairMut<'_, T>, PairMut<'_, T>),
    scratch: &Scratches<T>,
) {
    let dim = tables.neighbors.cols();
    let one = T::from_f64(1.0);
    for_blocks_of_two(outs, BLOCK, |first, mut all, mut survivors| {
        scratch.with(|scratch| {
            let count = all[0].as_ref().map_or(0, |rows| rows.len() / dim);
            for i in 0..count {
                let list = rows.split(first + i, scratch);
                let outs = all.iter_mut().flatten().zip(survivors.iter_mut().flatten());
                for (table, (all, survivors)) in tables.both().zip(outs) {
                    let all = &mut all[i * dim..][..dim];
                    let survivors = &mut survivors[i * dim..][..dim];
                    all.fill(T::default());
                    T::gather(table.values(), list.kept.0, list.kept.1, one, all);
                    survivors.iter_mut().zip(&*all).for_each(|(s, a)| *s = scale * *a);
                    T::gather(table.values(), list.dropped.0, list.dropped.1, one, all);
                }
            }
        });
    });
}

/// `out = survivors table+ + (the rest) table`.
fn sparse_pull_both<T: Kernels>(
    rows: Rows<'_, T>,
    [all, survivors]: [&Dense<T>; 2],
    out: &mut Dense<T>,
    scratch: &Scratches<T>,
) {
    let dim = out.cols();
    let one = T::from_f64(1.0);
    let blocks = out.values_mut().par_chunks_mut(BLOCK * dim).enumerate();
    blocks.for_each(|(block, out)| {
        scratch.with(|scratch| {
            for (i, out) in out.chunks_mut(dim).enumerate() {
                let list = rows.split(block * BLOCK + i, scratch);
                out.fill(T::default());
                T::gather(survivors.values(), list.kept.0, list.kept.1, one, out);
                T::gather(all.values(), list.dropped.0, list.dropped.1, one, out);
            }
        });
    });
}

/// Parts of the nodes that are summed for themselves.
const PARTS: usize = 8;

/// Bytes of a table from which on reading it in a random order means reading memory.
const OUT_OF_CACHE: usize = 1 << 24;

/// [`sparse_pull_both`] over the rows of X; sums run per part, then over parts.
fn scatter_pull_both<T: Kernels>(
    rows: Rows<'_, T>,
    [all, survivors]: [&Dense<T>; 2],
    out: &mut Dense<T>,
    scratch: &Scratches<T>,
) {
    let nodes = rows.matrix.rows();
    let size = out.values().len();
    let mut parts = scratch.parts(PARTS * size);
    let parts = &mut parts[..PARTS * size];
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
    weights: Pair<'_, T>,
    mask: Option<(&Mask, T)>,
    out: PairMut<'_, T>,
    scratch: &Scratches<T>,
) {
    let (features, dim) = (x.cols(), weights.neighbors.cols());
    for_blocks(out, DENSE_BLOCK, |first, outs| {
        scratch.with(|scratch| {
            let rows = DENSE_BLOCK.min(x.rows() - first);
            let from = first * features;
            let x = &x.values()[from..from + rows * features];
            let x = match mask {
                None => x,
                Some((mask, scale)) => {
                    let out = scratch.room(x.len());
                    mask.survivors(x, from, scale, out);
                    out
                }
            };
            for (weight, out) in weights.both().zip(outs.into_iter().flatten()) {
                T::gemm(
                    T::from_f64(1.0),
                    View::new(x, rows, features),
                    View::from(weight),
                    T::default(),
                    &mut ViewMut::new(out, rows, dim),
                );
            }
        });
    });
}

/// `out = survivors^T G+ + (the rest)^T G`, over strips of attributes.
fn dense_pull<T: Kernels>(
    x: &Dense<T>,
    mask: Option<&Mask>,
    all: Pair<'_, T>,
    survivors: Pair<'_, T>,
    out: PairMut<'_, T>,
    scratch: &Scratches<T>,
) {
    let (nodes, features, dim) = (x.rows(), x.cols(), all.neighbors.cols());
    let one = T::from_f64(1.0);
    let add = |x: &[T], g: &Dense<T>, from: usize, rows: usize, out: &mut [T]| {
        let width = out.len() / dim;
        T::gemm(
            one,
            View::new(x, rows, width).t(),
            View::new(&g.values()[from * dim..(from + rows) * dim], rows, dim),
            one,
            &mut ViewMut::new(out, width, dim),
        );
    };
    for_blocks(out, STRIP, |first, mut outs| {
        scratch.with(|scratch| {
            let width = STRIP.min(features - first);
            outs.iter_mut().flatten().for_each(|out| out.fill(T::default()));
            for from in (0..nodes).step_by(DENSE_BLOCK) {
                let rows = DENSE_BLOCK.min(nodes - from);
                let (kept, dropped) = scratch.room(2 * rows * width).split_at_mut(rows * width);
                let blocks = kept.chunks_mut(width).zip(dropped.chunks_mut(width));
                for (n, (kept, dropped)) in (from..from + rows).zip(blocks) {
                    let x = &x.row(n)[first..first + width];
                    kept.copy_from_slice(x);
                    if let Some(mask) = mask {
                        mask.survivors(x, n * features + first, one, kept);
                        let pairs = x.iter().zip(&*kept).zip(dropped);
                        pairs.for_each(|((x, k), d)| *d = *x - *k);
                    }
                }
                let tables = all.both().zip(survivors.both());
                for ((all, survivors), out) in tables.zip(outs.iter_mut().flatten()) {
                    add(kept, survivors, from, rows, out);
                    if mask.is_some() {
                        add(dropped, all, from, rows, out);
                    }
                }
            }
        });
    });
}

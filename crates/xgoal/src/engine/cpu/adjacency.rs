//! The products with one layer's adjacency: `A P` forward, `A^T G` backward.
//!
//! Rows of A that are equal have equal products. Where many are, as in a layer made of cliques, A is
//! also kept as `A = S U`: U holds each distinct row once, S says which one a node has.
//!
//! ```text
//!     A P   = S (U P)          u products, then each node copies its own
//!     A^T G = U^T (S^T G)      gradients summed over equal rows first
//! ```
//!
//! A dropped view has no equal rows left, so it always uses A itself.

use super::kernels::Kernels;
use super::rows::{Rows, Scratch};
use crate::matrix::{Csr, Dense};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// One layer's matrix in the forms both directions need.
#[derive(Debug)]
pub struct Adjacency<T> {
    /// A.
    pub rows: Csr<T>,
    /// A^T.
    pub columns: Csr<T>,
    /// Where each entry of A^T stands in A.
    pub positions: Vec<u32>,
    distinct: Option<Distinct<T>>,
}

#[derive(Debug)]
struct Distinct<T> {
    /// U.
    rows: Csr<T>,
    /// U^T.
    columns: Csr<T>,
    /// S as a list: the distinct row of each node, with a value of one.
    of_node: Csr<T>,
    /// S^T.
    members: Csr<T>,
}

/// Rows and the table to combine them with.
#[derive(Debug)]
pub struct Product<'a, T> {
    rows: Rows<'a, T>,
    table: &'a [T],
}

impl<T: Kernels> Product<'_, T> {
    /// `out += row r of the product`.
    pub fn add_row(&self, r: usize, scratch: &mut Scratch<T>, out: &mut [T]) {
        self.rows.gather(r, self.table, scratch, out);
    }
}

impl<T: Kernels> Adjacency<T> {
    /// Converts a layer to the engine's precision, transposes it and finds its equal rows.
    pub fn new(matrix: &Csr) -> Self {
        let rows = matrix.map(|v| T::from_f64(f64::from(v)));
        let (columns, positions) = rows.transpose_with_positions();
        Self { distinct: Distinct::of(matrix), rows, columns, positions }
    }

    /// How many rows of scratch the products need.
    pub fn scratch_rows(&self) -> usize {
        self.distinct.as_ref().map_or(0, |d| d.rows.rows())
    }

    /// `A (permuted P)` for the undropped graph.
    pub fn forward<'a>(
        &'a self,
        table: &'a Dense<T>,
        permutation: Option<&'a [u32]>,
        scratch: &'a mut [T],
    ) -> Product<'a, T> {
        let Some(distinct) = &self.distinct else {
            let rows = Rows { permutation, ..Rows::plain(&self.rows) };
            return Product { rows, table: table.values() };
        };
        let rows = Rows { permutation, ..Rows::plain(&distinct.rows) };
        fill_rows(rows, table.values(), table.cols(), scratch);
        Product { rows: Rows::plain(&distinct.of_node), table: scratch }
    }

    /// `A^T G` for the undropped graph.
    pub fn backward<'a>(&'a self, table: &'a Dense<T>, scratch: &'a mut [T]) -> Product<'a, T> {
        let Some(distinct) = &self.distinct else {
            return Product { rows: Rows::plain(&self.columns), table: table.values() };
        };
        fill_rows(Rows::plain(&distinct.members), table.values(), table.cols(), scratch);
        Product { rows: Rows::plain(&distinct.columns), table: scratch }
    }

    /// `A+ P` for a dropped graph.
    pub fn forward_masked<'a>(
        &'a self,
        table: &'a Dense<T>,
        mask: (&'a super::mask::Mask, T),
    ) -> Product<'a, T> {
        let rows = Rows { mask: Some(mask), ..Rows::plain(&self.rows) };
        Product { rows, table: table.values() }
    }

    /// `A+^T G` for a dropped graph.
    pub fn backward_masked<'a>(
        &'a self,
        table: &'a Dense<T>,
        mask: (&'a super::mask::Mask, T),
    ) -> Product<'a, T> {
        let positions = Some(&self.positions[..]);
        let rows = Rows { positions, mask: Some(mask), ..Rows::plain(&self.columns) };
        Product { rows, table: table.values() }
    }
}

fn fill_rows<T: Kernels>(rows: Rows<'_, T>, table: &[T], dim: usize, out: &mut [T]) {
    let count = rows.matrix.rows();
    out[..count * dim].par_chunks_mut(dim).enumerate().for_each_init(
        Scratch::default,
        |scratch, (r, out)| {
            out.fill(T::default());
            rows.gather(r, table, scratch, out);
        },
    );
}

/// A row as a key: equal when columns and values are. Values are finite and not -0, so equal
/// values have equal bits.
#[derive(PartialEq)]
struct Row<'a> {
    cols: &'a [u32],
    values: &'a [f32],
}

impl Eq for Row<'_> {}

impl Hash for Row<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.cols.hash(state);
        self.values.iter().for_each(|v| v.to_bits().hash(state));
    }
}

impl<T: Kernels> Distinct<T> {
    /// Equal rows are worth it when they save at least half of the products.
    fn of(matrix: &Csr) -> Option<Self> {
        let n = matrix.rows();
        let mut seen: HashMap<Row<'_>, u32> = HashMap::new();
        let mut of_node = Vec::with_capacity(n);
        let mut firsts = Vec::new();
        for r in 0..n {
            let (cols, values) = matrix.row(r);
            let next = firsts.len() as u32;
            let id = *seen.entry(Row { cols, values }).or_insert(next);
            if id == next {
                firsts.push(r);
            }
            of_node.push(id);
        }
        let kept: usize = firsts.iter().map(|r| matrix.row(*r).0.len()).sum();
        if 2 * kept + n > matrix.nnz() {
            return None;
        }
        let mut indptr = vec![0];
        let (mut indices, mut values) = (Vec::with_capacity(kept), Vec::with_capacity(kept));
        for r in &firsts {
            let (cols, row) = matrix.row(*r);
            indices.extend_from_slice(cols);
            values.extend(row.iter().map(|v| T::from_f64(f64::from(*v))));
            indptr.push(indices.len());
        }
        let one = T::from_f64(1.0);
        let rows =
            Csr::try_new(firsts.len(), n, indptr, indices, values).expect("rows of a matrix");
        let of_node = Csr::try_new(n, firsts.len(), (0..=n).collect(), of_node, vec![one; n])
            .expect("one entry per node");
        Some(Self { columns: rows.transpose(), rows, members: of_node.transpose(), of_node })
    }
}

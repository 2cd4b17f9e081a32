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
//! A dropped view has no equal rows left, so it always uses A itself: its entries, or its [`Bits`] where
//! the layer is 0/1 and dense.

use super::bits::{Bits, Direction};
use super::draw::EdgeDraw;
use super::kernels::Kernels;
use super::rows::{Rows, Scratch, Scratches};
use crate::graph::preprocess::Normalized;
use crate::matrix::{Csr, Dense};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// One layer's matrix in the forms both directions need.
#[derive(Debug)]
pub struct Adjacency<T> {
    form: Form<T>,
    distinct: Option<Distinct<T>>,
}

#[derive(Debug)]
enum Form<T> {
    /// Entries.
    Sparse(Sparse<T>),
    /// `A = R B R`, with B as bits and the diagonal of R.
    Bits(Bits, Vec<T>),
}

#[derive(Debug)]
struct Sparse<T> {
    /// A.
    rows: Csr<T>,
    /// A^T; none where A is symmetric.
    columns: Option<Csr<T>>,
    /// Where each entry of A^T stands in A.
    positions: Vec<u32>,
}

#[derive(Debug)]
struct Distinct<T> {
    /// U.
    rows: Csr<T>,
    /// U^T.
    columns: Csr<T>,
    /// S: the distinct row of each node.
    of_node: Vec<u32>,
    /// S^T.
    members: Csr<T>,
}

/// A product whose rows are asked for one by one.
#[derive(Debug)]
pub enum Product<'a, T> {
    /// Rows to be combined with a table.
    Gather { rows: Rows<'a, T>, table: &'a [T], scale: T },
    /// Rows that are there already, `scale * factors[n] * table[of_node[n]]`.
    Copy { of_node: &'a [u32], factors: Option<&'a [T]>, table: &'a [T], scale: T },
}

impl<T: Kernels> Product<'_, T> {
    /// `out += row r of the product`.
    pub fn add_row(&self, r: usize, scratch: &mut Scratch<T>, out: &mut [T]) {
        match self {
            Product::Gather { rows, table, scale } => {
                rows.gather(r, table, *scale, scratch, out);
            }
            Product::Copy { of_node, factors, table, scale } => {
                let scale = factors.map_or(*scale, |f| *scale * f[r]);
                let row = &table[of_node[r] as usize * out.len()..][..out.len()];
                out.iter_mut().zip(row).for_each(|(o, v)| *o += scale * *v);
            }
        }
    }
}

impl<T: Kernels> Adjacency<T> {
    /// Converts a layer to the engine's precision and chooses its form.
    pub fn new(layer: &Normalized<'_>) -> Self {
        let classes = RowClasses::of(&layer.weights);
        let bits = layer.is_binary().then(|| Bits::of(&layer.weights, &classes.of_node)).flatten();
        let form = match bits {
            Some(bits) => {
                let factors = layer.factors().map(T::from_f64).collect();
                Form::Bits(bits, factors)
            }
            None => Form::Sparse(Sparse::new(layer)),
        };
        Self { distinct: Distinct::of(layer, classes), form }
    }

    /// How many tiles of bits the layer would take, if it would be held as bits.
    pub fn tiles(matrix: &Csr) -> Option<usize> {
        let binary = matrix.values().all(|v| v == 1.0);
        let count = || Bits::count_tiles(matrix, &RowClasses::of(matrix).of_node);
        (binary && Bits::can_hold(matrix)).then(count).flatten()
    }

    /// How many rows of scratch the products need.
    pub fn scratch_rows(&self) -> usize {
        match &self.form {
            Form::Bits(bits, _) => bits.position().len(),
            Form::Sparse(_) => self.distinct.as_ref().map_or(0, |d| d.rows.rows()),
        }
    }

    /// Room for the random part of a dropped view.
    pub fn draw(&self) -> EdgeDraw {
        match &self.form {
            Form::Sparse(sparse) => EdgeDraw::new(sparse.rows.nnz(), 0),
            Form::Bits(bits, _) => EdgeDraw::new(bits.entries(), bits.entries() / 64),
        }
    }

    /// Completes a fresh draw for the way back.
    pub fn prepare(&self, draw: &mut EdgeDraw) {
        if let Form::Bits(bits, _) = &self.form {
            bits.transpose_masked(&draw.mask, &mut draw.across);
        }
    }

    /// `A (permuted P)` for the undropped graph.
    pub fn forward<'a>(
        &'a self,
        table: &'a Dense<T>,
        permutation: Option<&'a [u32]>,
        room: &'a mut [T],
        scratch: &Scratches<T>,
    ) -> Product<'a, T> {
        let one = T::from_f64(1.0);
        match (&self.distinct, &self.form) {
            (Some(distinct), _) => {
                let rows = Rows { permutation, ..Rows::plain(&distinct.rows) };
                fill_rows(rows, table, room, scratch);
                Product::Copy { of_node: &distinct.of_node, factors: None, table: room, scale: one }
            }
            (None, Form::Sparse(sparse)) => {
                let rows = Rows { permutation, ..Rows::plain(&sparse.rows) };
                Product::Gather { rows, table: table.values(), scale: one }
            }
            (None, Form::Bits(bits, factors)) => {
                let room = &mut room[..table.values().len()];
                let table = table.values();
                bits.multiply(Direction::Forward, None, table, permutation, factors, room);
                let factors = Some(&factors[..]);
                Product::Copy { of_node: bits.position(), factors, table: room, scale: one }
            }
        }
    }

    /// `A^T G` for the undropped graph.
    pub fn backward<'a>(
        &'a self,
        table: &'a Dense<T>,
        room: &'a mut [T],
        scratch: &Scratches<T>,
    ) -> Product<'a, T> {
        let one = T::from_f64(1.0);
        match (&self.distinct, &self.form) {
            (Some(distinct), _) => {
                fill_rows(Rows::plain(&distinct.members), table, room, scratch);
                Product::Gather { rows: Rows::plain(&distinct.columns), table: room, scale: one }
            }
            (None, Form::Sparse(sparse)) => {
                let rows = Rows::plain(sparse.columns());
                Product::Gather { rows, table: table.values(), scale: one }
            }
            (None, Form::Bits(bits, factors)) => {
                let room = &mut room[..table.values().len()];
                bits.multiply(Direction::Backward, None, table.values(), None, factors, room);
                let factors = Some(&factors[..]);
                Product::Copy { of_node: bits.position(), factors, table: room, scale: one }
            }
        }
    }

    /// `A+ P` for a dropped graph whose survivors are multiplied by `scale`.
    pub fn forward_masked<'a>(
        &'a self,
        table: &'a Dense<T>,
        draw: &'a EdgeDraw,
        scale: T,
        room: &'a mut [T],
    ) -> Product<'a, T> {
        match &self.form {
            Form::Sparse(sparse) => {
                let rows = Rows { mask: Some(&draw.mask), ..Rows::plain(&sparse.rows) };
                Product::Gather { rows, table: table.values(), scale }
            }
            Form::Bits(bits, factors) => {
                let room = &mut room[..table.values().len()];
                let mask = Some(draw.mask.words());
                bits.multiply(Direction::Forward, mask, table.values(), None, factors, room);
                let factors = Some(&factors[..]);
                Product::Copy { of_node: bits.position(), factors, table: room, scale }
            }
        }
    }

    /// `A+^T G` for a dropped graph whose survivors are multiplied by `scale`.
    pub fn backward_masked<'a>(
        &'a self,
        table: &'a Dense<T>,
        draw: &'a EdgeDraw,
        scale: T,
        room: &'a mut [T],
    ) -> Product<'a, T> {
        match &self.form {
            Form::Sparse(sparse) => {
                let positions = Some(&sparse.positions[..]);
                let mask = Some(&draw.mask);
                let rows = Rows { positions, mask, ..Rows::plain(sparse.columns()) };
                Product::Gather { rows, table: table.values(), scale }
            }
            Form::Bits(bits, factors) => {
                let room = &mut room[..table.values().len()];
                let mask = Some(&draw.across[..]);
                bits.multiply(Direction::Backward, mask, table.values(), None, factors, room);
                let factors = Some(&factors[..]);
                Product::Copy { of_node: bits.position(), factors, table: room, scale }
            }
        }
    }
}

impl<T: Kernels> Sparse<T> {
    fn new(layer: &Normalized<'_>) -> Self {
        let rows = layer.map(|v| T::from_f64(f64::from(v)));
        let (columns, positions) = rows.transpose_with_positions();
        let columns = (columns != rows).then_some(columns);
        Self { rows, columns, positions }
    }

    fn columns(&self) -> &Csr<T> {
        self.columns.as_ref().unwrap_or(&self.rows)
    }
}

fn fill_rows<T: Kernels>(
    rows: Rows<'_, T>,
    table: &Dense<T>,
    out: &mut [T],
    scratch: &Scratches<T>,
) {
    let (count, dim) = (rows.matrix.rows(), table.cols());
    out[..count * dim].par_chunks_mut(dim).enumerate().for_each(|(r, out)| {
        out.fill(T::default());
        let one = T::from_f64(1.0);
        scratch.with(|scratch| rows.gather(r, table.values(), one, scratch, out));
    });
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

/// Which rows of a matrix are equal.
struct RowClasses {
    /// The class of each row, numbered by first appearance.
    of_node: Vec<u32>,
    /// The first row of each class.
    firsts: Vec<usize>,
}

impl RowClasses {
    fn of(matrix: &Csr) -> Self {
        let mut seen: HashMap<Row<'_>, u32> = HashMap::new();
        let mut classes = Self { of_node: Vec::with_capacity(matrix.rows()), firsts: Vec::new() };
        for r in 0..matrix.rows() {
            let (cols, values) = matrix.row(r);
            let next = classes.firsts.len() as u32;
            let class = *seen.entry(Row { cols, values }).or_insert(next);
            if class == next {
                classes.firsts.push(r);
            }
            classes.of_node.push(class);
        }
        classes
    }
}

impl<T: Kernels> Distinct<T> {
    /// Equal rows are worth it when they save at least half of the products.
    ///
    /// Rows with equal weights have equal sums, so they are equal after normalisation too.
    fn of(layer: &Normalized<'_>, classes: RowClasses) -> Option<Self> {
        let matrix = &layer.weights;
        let n = matrix.rows();
        let RowClasses { of_node, firsts } = classes;
        let kept: usize = firsts.iter().map(|r| matrix.row(*r).0.len()).sum();
        if 2 * kept + n > matrix.nnz() {
            return None;
        }
        let mut indptr = vec![0];
        let (mut indices, mut values) = (Vec::with_capacity(kept), Vec::with_capacity(kept));
        for &r in &firsts {
            let (cols, row) = matrix.row(r);
            indices.extend_from_slice(cols);
            let entries = cols.iter().zip(row);
            values.extend(entries.map(|(c, v)| layer.value(r, *c as usize, *v)));
            indptr.push(indices.len());
        }
        let values = values.into_iter().map(|v| T::from_f64(f64::from(v))).collect();
        let rows =
            Csr::try_new(firsts.len(), n, indptr, indices, values).expect("rows of a matrix");
        let ones = vec![T::from_f64(1.0); n];
        let members = Csr::try_new(n, firsts.len(), (0..=n).collect(), of_node.clone(), ones)
            .expect("one entry per node")
            .transpose();
        Some(Self { columns: rows.transpose(), rows, members, of_node })
    }
}

//! What a batch multiplies the weights by: a row per node and view, put together from the rows it needs.
//!
//! ```text
//!     Z = Y W + U W' + b          Y = A X, U = X; of the batch's rows alone, 3 B x F for its three views
//!     dW = Y^T D    dW' = U^T D
//! ```
//!
//! Attributes are added up over neighbours before they meet the weights. A row of Y has few entries, however many of the
//! graph's nodes stand behind it, and dense columns are multiplied once a row, not once a neighbour.

use super::super::BLOCK;
use super::super::kernels::Kernels;
use super::super::mask::Words;
use super::super::rows::PerThread;
use super::source::{Bits, Edge, Source};
use crate::matrix::Dense;
use crate::random::{Shuffle, Stream};
use crate::real::{View, ViewMut};
use rayon::prelude::*;

/// How a view sees the graph.
#[derive(Debug, Clone)]
pub struct Sight {
    /// Which edges survive; all without.
    pub edges: Option<Words>,
    /// Which attributes survive; all without.
    pub attributes: Option<Words>,
    /// What surviving edges and attributes are multiplied by.
    pub scales: [f32; 2],
    /// Whose attributes a node is given; its own without.
    pub shuffle: Option<Shuffle>,
}

impl Sight {
    /// The graph as it is.
    pub const WHOLE: Sight =
        Sight { edges: None, attributes: None, scales: [1.0, 1.0], shuffle: None };
}

/// Which rows a batch is made of.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Whether a node's own attributes are added.
    pub own: bool,
    /// The layers over which its neighbours' are.
    pub layers: (usize, usize),
    /// The nodes.
    pub nodes: &'a [u32],
    /// The views, one after the other.
    pub sights: &'a [Sight],
    /// Most edges of a node that are followed, and by which numbers.
    pub cap: (usize, Stream),
}

/// Sparse rows of at most [`BLOCK`] nodes in one view.
#[derive(Debug, Default)]
struct Piece<T> {
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Kernels> Piece<T> {
    fn clear(&mut self) {
        self.ends.clear();
        self.columns.clear();
        self.values.clear();
    }

    fn rows(&self) -> impl Iterator<Item = (&[u32], &[T])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(from, to)| (&self.columns[from..*to], &self.values[from..*to]))
    }
}

/// The same entries by column.
#[derive(Debug, Default)]
struct ByColumn<T> {
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<T>,
}

/// One operand: Y or U.
#[derive(Debug)]
pub struct Operand<T> {
    pieces: Vec<Piece<T>>,
    by_column: ByColumn<T>,
    dense: Dense<T>,
    rows: usize,
}

/// Adds up sparse rows.
#[derive(Debug, Default)]
pub struct Adder<T> {
    sums: Vec<T>,
    /// In which row a column was last touched.
    touched_in: Vec<u64>,
    row: u64,
    touched: Vec<u32>,
    edges: Vec<Edge<T>>,
}

impl<T: Kernels> Adder<T> {
    fn begin(&mut self, columns: usize) {
        if self.sums.len() < columns {
            self.sums.resize(columns, T::default());
            self.touched_in.resize(columns, 0);
        }
        self.row += 1;
        self.touched.clear();
    }

    #[inline(always)]
    fn add(&mut self, column: u32, value: T) {
        let c = column as usize;
        if self.touched_in[c] == self.row {
            self.sums[c] += value;
        } else {
            self.touched_in[c] = self.row;
            self.sums[c] = value;
            self.touched.push(column);
        }
    }

    fn end(&mut self, piece: &mut Piece<T>) {
        piece.columns.extend_from_slice(&self.touched);
        piece.values.extend(self.touched.iter().map(|c| self.sums[*c as usize]));
        piece.ends.push(piece.columns.len());
    }
}

/// A node's attributes as a view sees them, times a weight, into an adder and a dense row.
struct Attributes<'a> {
    source: &'a Source,
    sight: &'a Sight,
    bits: Option<Bits>,
}

impl<'a> Attributes<'a> {
    fn new(source: &'a Source, sight: &'a Sight) -> Self {
        Self { source, sight, bits: sight.attributes.map(Bits::new) }
    }

    fn add<T: Kernels>(&mut self, node: u32, weight: T, adder: &mut Adder<T>, dense: &mut [T]) {
        let node = self.sight.shuffle.as_ref().map_or(node, |shuffle| shuffle.at(node));
        let scale = self.sight.scales[1];
        if let Some((first, columns, values, factor)) = self.source.sparse(node) {
            let weight = weight * T::from_f32(factor * scale);
            match &mut self.bits {
                None => columns
                    .iter()
                    .zip(values)
                    .for_each(|(c, v)| adder.add(*c, weight * T::from_f32(*v))),
                Some(bits) => {
                    for (place, (c, v)) in (first..).zip(columns.iter().zip(values)) {
                        if bits.survives(place) {
                            adder.add(*c, weight * T::from_f32(*v));
                        }
                    }
                }
            }
        }
        if dense.is_empty() {
            return;
        }
        let mut place = self.source.stored() + u64::from(node) * dense.len() as u64;
        let mut at = 0;
        for (values, factor) in self.source.dense(node) {
            let weight = weight * T::from_f32(factor * scale);
            let out = &mut dense[at..at + values.len()];
            match &mut self.bits {
                None => {
                    out.iter_mut().zip(values).for_each(|(o, v)| *o += weight * T::from_f32(*v))
                }
                Some(bits) => {
                    for (i, (o, v)) in out.iter_mut().zip(values).enumerate() {
                        let kept =
                            if bits.survives(place + i as u64) { weight } else { T::default() };
                        *o += kept * T::from_f32(*v);
                    }
                }
            }
            at += values.len();
            place += values.len() as u64;
        }
    }
}

impl<T: Kernels> Operand<T> {
    /// No rows yet.
    pub fn new() -> Self {
        let by_column = ByColumn::default();
        Self { pieces: Vec::new(), by_column, dense: Dense::zeros(0, 0), rows: 0 }
    }

    /// Rows of A X, of X itself, or of sums of these.
    pub fn gather(&mut self, source: &Source, wanted: &Wanted<'_>, adders: &PerThread<Adder<T>>) {
        let [columns, width] = source.columns();
        let blocks = wanted.nodes.len().div_ceil(BLOCK);
        self.rows = wanted.nodes.len() * wanted.sights.len();
        self.pieces.resize_with(blocks * wanted.sights.len(), Piece::default);
        if (self.dense.rows(), self.dense.cols()) == (self.rows, width) {
            self.dense.values_mut().fill(T::default());
        } else {
            self.dense = Dense::zeros(self.rows, width);
        }
        let mut rest = self.dense.values_mut();
        let mut tasks = Vec::with_capacity(self.pieces.len());
        let parts =
            wanted.sights.iter().flat_map(|s| wanted.nodes.chunks(BLOCK).map(move |n| (s, n)));
        for (piece, (sight, nodes)) in self.pieces.iter_mut().zip(parts) {
            let (dense, after) = rest.split_at_mut(nodes.len() * width);
            rest = after;
            tasks.push((piece, sight, nodes, dense));
        }
        tasks.into_par_iter().for_each(|(piece, sight, nodes, dense)| {
            adders.with(|adder| {
                piece.clear();
                let mut attributes = Attributes::new(source, sight);
                let mut edge_bits = sight.edges.map(Bits::new);
                let edge_scale = T::from_f32(sight.scales[0]);
                let mut edges = std::mem::take(&mut adder.edges);
                for (i, node) in nodes.iter().enumerate() {
                    adder.begin(columns);
                    let dense = &mut dense[i * width..(i + 1) * width];
                    if wanted.own {
                        attributes.add(*node, T::from_f32(1.0), adder, dense);
                    }
                    let (cap, stream) = wanted.cap;
                    for layer in wanted.layers.0..wanted.layers.1 {
                        let stream = stream.substream(layer as u64);
                        source.edges(layer, *node, cap, stream, &mut edges);
                        for edge in &edges {
                            if edge_bits.as_mut().is_none_or(|bits| bits.survives(edge.place)) {
                                attributes.add(edge.to, edge_scale * edge.weight, adder, dense);
                            }
                        }
                    }
                    adder.end(piece);
                }
                adder.edges = edges;
            });
        });
    }

    /// The product with a table.
    pub fn times(&self, table: &Dense<T>) -> Dense<T> {
        let mut out = Dense::zeros(self.rows, table.cols());
        let blocks = out.values_mut().par_chunks_mut(BLOCK * table.cols()).enumerate();
        blocks.for_each(|(block, out)| self.forward(block, table, block * BLOCK, out));
        out
    }

    /// `out += rows of block i times W`.
    pub fn forward(&self, block: usize, weight: &Dense<T>, first_row: usize, out: &mut [T]) {
        let dim = weight.cols();
        let piece = &self.pieces[block];
        for ((columns, values), out) in piece.rows().zip(out.chunks_mut(dim)) {
            T::gather(weight.values(), columns, values, T::from_f32(1.0), out);
        }
        let width = self.dense.cols();
        if width > 0 {
            let rows = out.len() / dim;
            let dense = &self.dense.values()[first_row * width..][..rows * width];
            let below = &weight.values()[(weight.rows() - width) * dim..];
            T::gemm(
                T::from_f32(1.0),
                View::new(dense, rows, width),
                View::new(below, width, dim),
                T::from_f32(1.0),
                &mut ViewMut::new(out, rows, dim),
            );
        }
    }

    /// `gradient = rows^T D`, each attribute's sum over the rows in their order.
    pub fn backward(&mut self, d: &Dense<T>, gradient: &mut Dense<T>) {
        let dim = d.cols();
        let sparse = gradient.rows() - self.dense.cols();
        self.turn(sparse);
        let ByColumn { starts, rows, values } = &self.by_column;
        let (above, below) = gradient.values_mut().split_at_mut(sparse * dim);
        above.par_chunks_mut(16 * dim).enumerate().for_each(|(chunk, out)| {
            for (i, out) in out.chunks_mut(dim).enumerate() {
                out.fill(T::default());
                let (from, to) = (starts[16 * chunk + i], starts[16 * chunk + i + 1]);
                if from < to {
                    let (rows, values) = (&rows[from..to], &values[from..to]);
                    T::gather(d.values(), rows, values, T::from_f32(1.0), out);
                }
            }
        });
        let width = self.dense.cols();
        let strip = STRIP.min(width.max(1));
        below.par_chunks_mut(strip * dim).enumerate().for_each(|(i, out)| {
            let count = out.len() / dim;
            let strip = View {
                values: &self.dense.values()[i * strip..],
                rows: self.rows,
                cols: count,
                row_stride: width,
                col_stride: 1,
            };
            let out = &mut ViewMut::new(out, count, dim);
            T::gemm(T::from_f32(1.0), strip.t(), View::from(d), T::default(), out);
        });
    }

    /// The entries by column, in the order of the rows.
    fn turn(&mut self, columns: usize) {
        let ByColumn { starts, rows, values } = &mut self.by_column;
        starts.clear();
        starts.resize(columns + 1, 0);
        for piece in &self.pieces {
            piece.columns.iter().for_each(|c| starts[*c as usize + 1] += 1);
        }
        for c in 0..columns {
            starts[c + 1] += starts[c];
        }
        let entries = starts[columns];
        rows.resize(entries, 0);
        values.resize(entries, T::default());
        // While they are filled, `starts[c]` is where column c goes on; afterwards all are moved back by one.
        let mut row = 0;
        for piece in &self.pieces {
            for (of_row, row_values) in piece.rows() {
                for (c, v) in of_row.iter().zip(row_values) {
                    let at = &mut starts[*c as usize];
                    rows[*at] = row;
                    values[*at] = *v;
                    *at += 1;
                }
                row += 1;
            }
        }
        starts.copy_within(0..columns, 1);
        starts[0] = 0;
    }
}

/// Dense columns of a task on the way back.
const STRIP: usize = 16;

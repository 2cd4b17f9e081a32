//! Layers as structure sees them, and their products with tables of rows.

use crate::engine::cpu::Kernels;
use crate::error::{Error, Result};
use crate::matrix::{Csr, Dense};
use crate::random::{Purpose, Stream};
use rayon::prelude::*;
use std::borrow::Cow;

/// The layers of a graph.
pub(super) struct Relations<'a>(Vec<Relation<'a>>, usize);

/// A symmetric layer. Its diagonal, and what is not positive, is passed over.
pub(super) struct Relation<'a> {
    weights: Cow<'a, Csr>,
    /// log(s^1/2 / d_i), so that an entry of F is the sum of two of them and log w.
    rarity: Vec<f32>,
}

/// Room for one row's values.
type Scratch = Vec<f32>;

impl<'a> Relations<'a> {
    pub fn new(layers: &[&'a Csr]) -> Result<Self> {
        let Some(first) = layers.first() else {
            return Err(Error::Data("structure: no layer, expected at least one".into()));
        };
        let nodes = first.rows();
        if let Some(bad) = layers.iter().find(|l| l.rows() != nodes || l.cols() != nodes) {
            return Err(Error::Shape {
                operation: "structure of layers over the same nodes",
                left: (nodes, nodes),
                right: (bad.rows(), bad.cols()),
            });
        }
        Ok(Self(layers.iter().map(|layer| Relation::new(layer)).collect(), nodes))
    }

    pub fn nodes(&self) -> usize {
        self.1
    }

    /// `out = F table`.
    pub fn information(&self, table: &Dense, out: &mut Dense) {
        rows(out, |node, scratch, out| {
            out.fill(0.0);
            for relation in &self.0 {
                let columns = relation.information(node, scratch);
                f32::gather(table.values(), columns, scratch, 1.0, out);
            }
        });
    }

    /// `out = own table + (1 - own) P table`; a node without neighbours keeps its row.
    pub fn smooth(&self, table: &Dense, own: f32, out: &mut Dense) {
        rows(out, |node, scratch, out| {
            if self.mean(node, table, scratch, out) {
                let pairs = out.iter_mut().zip(table.row(node));
                pairs.for_each(|(v, before)| *v = own * before + (1.0 - own) * *v);
            } else {
                out.copy_from_slice(table.row(node));
            }
        });
    }

    /// `out = P table` for some nodes.
    pub fn means(&self, table: &Dense, nodes: &[u32], out: &mut Dense) {
        rows(out, |at, scratch, out| {
            self.mean(nodes[at] as usize, table, scratch, out);
        });
    }

    /// Row of `P table`; whether the node has a neighbour.
    fn mean(&self, node: usize, table: &Dense, scratch: &mut Scratch, out: &mut [f32]) -> bool {
        out.fill(0.0);
        let mut layers = 0;
        for relation in &self.0 {
            if let Some(columns) = relation.transitions(node, scratch) {
                f32::gather(table.values(), columns, scratch, 1.0, out);
                layers += 1;
            }
        }
        let scale = 1.0 / layers.max(1) as f32;
        out.iter_mut().for_each(|v| *v *= scale);
        layers > 0
    }
}

/// Fills each row of a table, which has columns.
fn rows(out: &mut Dense, fill: impl Fn(usize, &mut Scratch, &mut [f32]) + Sync) {
    let columns = out.cols();
    let rows = out.values_mut().par_chunks_mut(columns).enumerate();
    rows.for_each_init(Vec::new, |scratch, (node, out)| fill(node, scratch, out));
}

impl<'a> Relation<'a> {
    fn new(layer: &'a Csr) -> Self {
        let weights = if is_symmetric(layer) {
            Cow::Borrowed(layer)
        } else {
            Cow::Owned(layer.symmetric_by(|a, b| (a + b).min(f32::MAX)))
        };
        let mut relation = Self { weights, rarity: Vec::new() };
        let degree = |node| relation.neighbours(node).map(f64::from).sum::<f64>();
        let degrees: Vec<f64> = (0..layer.rows()).into_par_iter().map(degree).collect();
        let half = 0.5 * degrees.iter().sum::<f64>().ln();
        // Where there is no neighbour it is never asked for.
        relation.rarity = degrees.into_iter().map(|d| (half - d.ln()) as f32).collect();
        relation
    }

    /// Weights of a row, 0 where there is no neighbour.
    fn neighbours(&self, node: usize) -> impl Iterator<Item = f32> {
        let (columns, weights) = self.weights.row(node);
        let entries = columns.iter().zip(weights);
        entries.map(move |(c, w)| if *c as usize != node && *w > 0.0 { *w } else { 0.0 })
    }

    /// A row of F.
    fn information(&self, node: usize, values: &mut Scratch) -> &[u32] {
        let columns = self.weights.row(node).0;
        let own = self.rarity[node];
        values.clear();
        values.extend(columns.iter().zip(self.neighbours(node)).map(|(c, w)| {
            let log = if w == 1.0 { 0.0 } else { w.ln() };
            // log 0 is minus infinity, of which the larger is 0; so it is of what NaN such a node has.
            if w > 0.0 { (log + own + self.rarity[*c as usize]).max(0.0) } else { 0.0 }
        }));
        columns
    }

    /// A row of the layer's transition matrix, where it has one.
    fn transitions(&self, node: usize, values: &mut Scratch) -> Option<&[u32]> {
        let degree: f64 = self.neighbours(node).map(f64::from).sum();
        values.clear();
        values.extend(self.neighbours(node).map(|w| (f64::from(w) / degree) as f32));
        (degree > 0.0).then(|| self.weights.row(node).0)
    }
}

/// Whether a matrix equals its transpose, but for a chance of about 2^-63: its entries' words, and those of its transpose, have the
/// same sum.
pub(super) fn is_symmetric(matrix: &Csr) -> bool {
    let stream = Stream::new(0, Purpose::Structure);
    let word = |a: usize, b: usize| stream.word((a as u64) << 32 | b as u64);
    let row = |r: usize| {
        let (columns, values) = matrix.row(r);
        let entries = columns.iter().zip(values);
        let difference = |(c, v): (&u32, &f32)| {
            let odd = u64::from(v.to_bits()) << 1 | 1;
            word(r, *c as usize).wrapping_sub(word(*c as usize, r)).wrapping_mul(odd)
        };
        entries.map(difference).fold(0, u64::wrapping_add)
    };
    (0..matrix.rows()).into_par_iter().map(row).reduce(|| 0, u64::wrapping_add) == 0
}

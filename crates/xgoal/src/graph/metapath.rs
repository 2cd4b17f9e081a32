//! Meta-paths: two nodes are joined when a path leads from one to the other through other things.
//!
//! With `B_1` (nodes x things), `B_2` (things x other things), ... the layer is the product
//!
//! ```text
//!     A = B_1 B_2 ... B_k            paper-author-paper:   B  (papers x authors) times B^T
//! ```
//!
//! as it is (`values = "paths"`: the number of paths, or the sum of the products of their weights) or with 1 for
//! every entry that has a path (`"binary"`). A row is the node's own row of `B_1` times `B_2` times `B_3`, so nothing
//! but the result grows with the number of paths: rows are counted first, then filled into arrays of the right size.
//!
//! A thing with very many connections, a hub, joins everything with everything and says little. With a cap of c a
//! thing with more than c connections is left out (`drop`), or every path through it goes on to c of them, drawn anew
//! for each row, and the result is made symmetric (`sample`).

mod rows;

use crate::error::{Error, Result};
use crate::matrix::Csr;
use crate::random::{Purpose, Stream};
use rayon::prelude::*;
use rows::Product;
use std::sync::Mutex;

/// What an entry of the product is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathValues {
    /// 1 where there is a path.
    #[default]
    Binary,
    /// The number of paths, or the sum over paths of the product of weights.
    Paths,
}

/// What becomes of things with more connections than the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hubs {
    /// Paths through them go on to as many of their connections as the cap says.
    #[default]
    Sample,
    /// There are no paths through them.
    Drop,
}

/// A chain of matrices between nodes and things, and how to multiply it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetaPath {
    steps: Vec<Csr>,
    values: PathValues,
    cap: Option<usize>,
    hubs: Hubs,
    seed: u64,
    /// Whether the chain reads the same from its end.
    mirrored: bool,
}

/// How large the product will be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Number of paths.
    pub paths: f64,
    /// No more than so many entries.
    pub at_most: u64,
    /// About so many entries, from some rows; as `at_most` where that was small enough not to look.
    pub about: u64,
}

/// Rows looked at for a prediction.
const SAMPLE: usize = 512;
/// Products of fewer entries are not worth a closer look.
const SMALL: u64 = 1 << 22;
/// Rows one thread takes at a time.
const CHUNK: usize = 256;

impl MetaPath {
    /// A path that goes through `steps` and back: `steps` times its transpose.
    pub fn there_and_back(steps: Vec<Csr>) -> Result<Self> {
        let back: Vec<Csr> = steps.iter().rev().map(Csr::transpose).collect();
        let mut path = Self::new(steps.into_iter().chain(back).collect())?;
        path.mirrored = true;
        Ok(path)
    }

    /// A path through all of `steps`; the last leads to nodes again.
    pub fn new(steps: Vec<Csr>) -> Result<Self> {
        if steps.is_empty() {
            return Err(Error::Data("a meta-path without steps".into()));
        }
        for pair in steps.windows(2) {
            if pair[0].cols() != pair[1].rows() {
                return Err(Error::Shape {
                    operation: "meta-path",
                    left: (pair[0].rows(), pair[0].cols()),
                    right: (pair[1].rows(), pair[1].cols()),
                });
            }
        }
        Ok(Self {
            steps,
            values: PathValues::default(),
            cap: None,
            hubs: Hubs::default(),
            seed: 0,
            mirrored: false,
        })
    }

    /// What the entries are.
    #[must_use]
    pub fn values(mut self, values: PathValues) -> Self {
        self.values = values;
        self
    }

    /// Caps the connections of things.
    #[must_use]
    pub fn cap(mut self, cap: usize, hubs: Hubs, seed: u64) -> Self {
        (self.cap, self.hubs, self.seed) = (Some(cap), hubs, seed);
        if hubs == Hubs::Drop {
            self.drop_hubs(cap);
        }
        self
    }

    /// For each kind of thing on the way, the number of connections of each, the larger of its two sides.
    pub fn connections(&self) -> Vec<Vec<u32>> {
        let sides = |pair: &[Csr]| {
            let mut connections = vec![0u32; pair[0].cols()];
            pair[0].indices().iter().for_each(|c| connections[*c as usize] += 1);
            for (thing, count) in connections.iter_mut().enumerate() {
                *count = (*count).max(pair[1].row(thing).0.len() as u32);
            }
            connections
        };
        self.steps.windows(2).map(sides).collect()
    }

    /// Takes out every thing with more than `cap` connections on either side, so that a mirrored path stays mirrored.
    fn drop_hubs(&mut self, cap: usize) {
        for (at, connections) in self.connections().into_iter().enumerate() {
            let keep = |thing: u32| connections[thing as usize] as usize <= cap;
            self.steps[at] = self.steps[at].filtered(|_, column| keep(column));
            self.steps[at + 1] = self.steps[at + 1].filtered(|row, _| keep(row));
        }
    }

    fn product(&self) -> Product<'_> {
        let sampled = self.cap.filter(|_| self.hubs == Hubs::Sample);
        let stream = Stream::new(self.seed, Purpose::Hubs);
        Product { steps: &self.steps, values: self.values, sampled, stream }
    }

    /// How many paths leave each node, at most, when every thing is left through `cap` connections or fewer.
    fn paths_per_row(&self, cap: Option<usize>) -> Vec<f64> {
        let mut onward: Vec<f64> = vec![1.0; self.steps[self.steps.len() - 1].cols()];
        for (at, step) in self.steps.iter().enumerate().rev() {
            let cap = cap.filter(|_| at > 0).unwrap_or(usize::MAX);
            let row = |r: usize| {
                let columns = step.row(r).0;
                let sum: f64 = columns.iter().map(|c| onward[*c as usize]).sum();
                sum * (cap as f64 / columns.len().max(1) as f64).min(1.0)
            };
            onward = (0..step.rows()).into_par_iter().map(row).collect();
        }
        onward
    }

    /// How large the product will be, without building it.
    pub fn predict(&self) -> Prediction {
        self.predict_with(self.cap.filter(|_| self.hubs == Hubs::Sample))
    }

    fn predict_with(&self, sampled: Option<usize>) -> Prediction {
        let per_row = self.paths_per_row(sampled);
        let cols = self.steps[self.steps.len() - 1].cols() as f64;
        // Making a sampled product symmetric can double it.
        let factor = if sampled.is_some() { 2.0 } else { 1.0 };
        let bound = |paths: f64| paths.ceil().min(cols);
        let at_most = factor * per_row.iter().map(|p| bound(*p)).sum::<f64>();
        let paths = per_row.iter().sum();
        let mut about = at_most;
        if at_most > SMALL as f64 {
            let rows: Vec<usize> = self.some_rows(per_row.len());
            let product = Product { sampled, ..self.product() };
            let found: usize = rows
                .par_chunks(16)
                .map(|rows| {
                    let mut work = product.workspace();
                    rows.iter().map(|r| product.row(*r, &mut work).len()).sum::<usize>()
                })
                .sum();
            let bounds: f64 = rows.iter().map(|r| bound(per_row[*r])).sum();
            about *= found as f64 / bounds.max(1.0);
        }
        Prediction { paths, at_most: at_most as u64, about: about as u64 }
    }

    fn some_rows(&self, rows: usize) -> Vec<usize> {
        let stream = Stream::new(self.seed, Purpose::Hubs).substream(1);
        (0..SAMPLE as u64).map(|i| stream.below(i, rows as u64) as usize).collect()
    }

    /// The largest of some round caps whose product has about `entries` entries or fewer.
    pub fn cap_for(&self, entries: u64) -> Option<usize> {
        let caps = [5000, 2000, 1000, 500, 200, 100, 50, 20, 10];
        caps.into_iter().find(|cap| self.predict_with(Some(*cap)).about <= entries)
    }

    /// Multiplies.
    pub fn build(&self) -> Result<Csr> {
        let product = self.product();
        let (rows, cols) = (self.steps[0].rows(), self.steps[self.steps.len() - 1].cols());
        let mut counts = vec![0usize; rows];
        let slices = counts.chunks_mut(CHUNK).enumerate();
        shared(slices, &product, |(chunk, counts), work| {
            for (i, count) in counts.iter_mut().enumerate() {
                *count = product.row(chunk * CHUNK + i, work).len();
            }
        });
        let mut indptr = vec![0usize; rows + 1];
        for (r, count) in counts.iter().enumerate() {
            indptr[r + 1] = indptr[r] + count;
        }
        drop(counts);
        let mut indices = vec![0u32; indptr[rows]];
        let mut values = vec![1f32; indptr[rows]];
        let mut slices = Vec::with_capacity(rows.div_ceil(CHUNK));
        let (mut columns, mut numbers) = (&mut indices[..], &mut values[..]);
        for from in (0..rows).step_by(CHUNK) {
            let length = indptr[(from + CHUNK).min(rows)] - indptr[from];
            let (c, rest) = columns.split_at_mut(length);
            columns = rest;
            let (v, rest) = numbers.split_at_mut(length);
            numbers = rest;
            slices.push((from, c, v));
        }
        let indptr_of = &indptr;
        shared(slices.into_iter(), &product, |(from, mut columns, mut numbers), work| {
            for r in from..(from + CHUNK).min(rows) {
                let count = indptr_of[r + 1] - indptr_of[r];
                let (c, rest) = std::mem::take(&mut columns).split_at_mut(count);
                columns = rest;
                let (v, rest) = std::mem::take(&mut numbers).split_at_mut(count);
                numbers = rest;
                product.row(r, work).write(c, v);
            }
        });
        let matrix = Csr::try_new(rows, cols, indptr, indices, values)
            .map_err(|e| Error::Data(e.to_string()))?;
        if self.mirrored && product.sampled.is_some() {
            return Ok(matrix.symmetric_by(f32::max));
        }
        Ok(matrix)
    }
}

/// Lets every thread take pieces of work, with one workspace each.
fn shared<T: Send>(
    pieces: impl Iterator<Item = T> + Send,
    product: &Product<'_>,
    work: impl Fn(T, &mut rows::Workspace) + Sync,
) {
    let pieces = Mutex::new(pieces);
    rayon::broadcast(|_| {
        let mut workspace = product.workspace();
        loop {
            let Some(piece) = pieces.lock().expect("no worker panics").next() else { break };
            work(piece, &mut workspace);
        }
    });
}

#[cfg(test)]
mod tests;

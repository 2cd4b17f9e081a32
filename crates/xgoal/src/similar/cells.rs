//! Approximate search: rows lie in cells around centres (k-means), and a query looks into the cells nearest to it.
//!
//! How many cells that must be is measured: the answers for some rows are compared with the exact ones, and the
//! number of cells is doubled until enough of them are found.

use super::top::Top;
use super::{Index, Neighbor, QUERIES};
use crate::error::Result;
use crate::kmeans::KMeans;
use crate::random::{Purpose, Stream};
use crate::real::View;
use rayon::prelude::*;

/// Queries that are answered together, so that those of one cell share a matrix product.
const TOGETHER: usize = 4096;
/// Rows for each centre that k-means sees.
const SEEN: usize = 40;
/// Queries by which recall is measured.
const MEASURED: usize = 256;

/// Rows in cells.
#[derive(Debug)]
pub struct Cells<'a> {
    index: &'a Index,
    /// The cells' centres, of length 1.
    centres: Vec<f32>,
    /// Rows by cell, and where each cell starts.
    members: Vec<u32>,
    starts: Vec<usize>,
    /// Cells a query looks into.
    probes: usize,
}

impl<'a> Cells<'a> {
    /// Puts the rows into about as many cells as each will hold rows.
    pub fn build(rows: &'a Index, seed: u64) -> Result<Self> {
        let stream = Stream::new(seed, Purpose::Search);
        let count = ((rows.rows as f64).sqrt() as usize).clamp(1, rows.rows.max(1));
        let seen = (SEEN * count).min(rows.rows);
        let mut order = vec![0; rows.rows];
        stream.permutation(&mut order);
        let sample = rows.gather(&order[..seen]);
        let kmeans = KMeans { restarts: 1, max_iterations: 10, ..KMeans::new(count) };
        let found = kmeans.fit(View::new(&sample, seen, rows.cols), stream.substream(1))?;
        let centres = Index::new((&found.centers).into())?.unit;

        let mut cell = vec![0u32; rows.rows];
        cell.par_chunks_mut(QUERIES).enumerate().for_each(|(chunk, cells)| {
            let from = chunk * QUERIES;
            let here = &rows.unit[from * rows.cols..(from + cells.len()) * rows.cols];
            for (cell, nearest) in cells.iter_mut().zip(nearest_cells(rows, &centres, here, 1)) {
                *cell = nearest[0];
            }
        });
        let mut starts = vec![0usize; count + 1];
        cell.iter().for_each(|c| starts[*c as usize + 1] += 1);
        (0..count).for_each(|c| starts[c + 1] += starts[c]);
        let mut next = starts.clone();
        let mut members = vec![0u32; rows.rows];
        for (row, cell) in cell.iter().enumerate() {
            members[next[*cell as usize]] = row as u32;
            next[*cell as usize] += 1;
        }
        Ok(Self { index: rows, centres, members, starts, probes: 1 })
    }

    /// Looks into more cells until a share `recall` of the `k` nearest of some rows is found; returns the share that is
    /// found of other rows' neighbors.
    pub fn tune(&mut self, k: usize, recall: f64, seed: u64) -> f64 {
        let stream = Stream::new(seed, Purpose::Search).substream(2);
        let mut order = vec![0; self.index.rows];
        stream.permutation(&mut order);
        let half = MEASURED.min(order.len() / 2).max(1).min(order.len());
        let (first, rest) = order.split_at(half);
        let cells = self.starts.len() - 1;
        let exact = self.exact(first, k);
        while self.recall(first, &exact, k) < recall && self.probes < cells {
            self.probes = (2 * self.probes).min(cells);
        }
        let second = if rest.is_empty() { first } else { &rest[..half.min(rest.len())] };
        self.recall(second, &self.exact(second, k), k)
    }

    fn exact(&self, nodes: &[u32], k: usize) -> Vec<Vec<Neighbor>> {
        self.index.nearest(nodes, k).expect("rows of the index")
    }

    pub(super) fn recall(&self, queries: &[u32], exact: &[Vec<Neighbor>], k: usize) -> f64 {
        let found = self.search(queries, k);
        let (mut hits, mut all) = (0, 0);
        for (found, exact) in found.iter().zip(exact) {
            all += exact.len();
            hits += exact.iter().filter(|e| found.iter().any(|f| f.node == e.node)).count();
        }
        hits as f64 / all.max(1) as f64
    }

    /// The `k` nearest of each given node among those in its cells, itself excluded.
    pub fn nearest(&self, nodes: &[u32], k: usize) -> Result<Vec<Vec<Neighbor>>> {
        self.index.check(nodes)?;
        Ok(self.search(nodes, k))
    }

    fn search(&self, queries: &[u32], k: usize) -> Vec<Vec<Neighbor>> {
        queries.par_chunks(TOGETHER).flat_map_iter(|queries| self.together(queries, k)).collect()
    }

    fn together(&self, queries: &[u32], k: usize) -> Vec<Vec<Neighbor>> {
        let rows = self.index;
        let mut asked: Vec<Vec<u32>> = vec![Vec::new(); self.starts.len() - 1];
        for (chunk, part) in queries.chunks(QUERIES).enumerate() {
            let here = rows.gather(part);
            let cells = nearest_cells(rows, &self.centres, &here, self.probes);
            for (i, cells) in cells.into_iter().enumerate() {
                let query = (chunk * QUERIES + i) as u32;
                cells.iter().for_each(|c| asked[*c as usize].push(query));
            }
        }
        let mut found: Vec<Top> = queries.iter().map(|_| Top::new(k)).collect();
        let mut cosines = Vec::new();
        for (cell, asking) in asked.iter().enumerate() {
            let members = &self.members[self.starts[cell]..self.starts[cell + 1]];
            if asking.is_empty() || members.is_empty() {
                continue;
            }
            let held = rows.gather(members);
            for asking in asking.chunks(QUERIES) {
                let nodes: Vec<u32> = asking.iter().map(|q| queries[*q as usize]).collect();
                cosines.resize(asking.len() * members.len(), 0.0);
                rows.products(&rows.gather(&nodes), &held, &mut cosines);
                for (cosines, query) in cosines.chunks(members.len()).zip(asking) {
                    let (top, own) = (&mut found[*query as usize], queries[*query as usize]);
                    for (member, cosine) in members.iter().zip(cosines) {
                        if *member != own {
                            top.push(*member, *cosine);
                        }
                    }
                }
            }
        }
        found.into_iter().map(Top::into_sorted).collect()
    }
}

/// The cells whose centres are nearest to each of some rows.
fn nearest_cells(rows: &Index, centres: &[f32], queries: &[f32], count: usize) -> Vec<Vec<u32>> {
    let cells = centres.len() / rows.cols.max(1);
    let mut cosines = vec![0f32; queries.len() / rows.cols.max(1) * cells];
    rows.products(queries, centres, &mut cosines);
    let nearest = |cosines: &[f32]| {
        let mut top = Top::new(count);
        cosines.iter().enumerate().for_each(|(cell, cosine)| top.push(cell as u32, *cosine));
        top.into_sorted().into_iter().map(|n| n.node).collect()
    };
    cosines.chunks(cells.max(1)).map(nearest).collect()
}

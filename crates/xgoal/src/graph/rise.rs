//! Whether attributes show more than chance, by themselves and through a layer.
//!
//! An encoder can make out the directions in which attributes vary together: those of a node for `X W'`, and their mean over
//! neighbours for `A X W`. How far they stand out from noise is seen beside the same numbers dealt out by chance:
//!
//! ```text
//!     rise(M) = sum_i max(0, l_i - l'_1) / l'_1
//! ```
//!
//! with l the twelve largest eigenvalues of M^T M, columns centred, and l'_1 the largest one by chance. For nodes' own attributes
//! M has these as rows, at unit length, and chance deals each column out to other nodes; for a layer the rows of M are the
//! means over a node and its neighbours, and chance exchanges the nodes whose attributes these are.

use super::signal::Attributes;
use super::smooth::smooth;
use super::{MultiplexGraph, sums};
use crate::matrix::{Csr, Dense, centre, leading};
use crate::random::{Purpose, Stream};
use rayon::prelude::*;

/// Attributes of which more than this share is not zero are dense.
const DENSE: f64 = 0.5;
/// Nodes that are looked at, evenly spread.
const NODES: usize = 4096;
/// Neighbours of each that are looked at, evenly spread.
const NEIGHBOURS: usize = 128;
/// Eigenvalues that are counted.
const DIRECTIONS: usize = 12;
/// Vectors that are iterated: a few more, so that those that are counted converge.
const VECTORS: usize = 16;
const ITERATIONS: usize = 30;
/// So many times as many columns as rows, and vectors of the rows' length are iterated instead: M M^T has the same
/// eigenvalues, and vectors as long as a dictionary take most of the time.
const WIDE: usize = 8;

/// (column, value), by column.
type Row = Vec<(u32, f32)>;

impl MultiplexGraph {
    /// How far nodes' own attributes rise above chance.
    pub(crate) fn own_rise(&self) -> f64 {
        let attributes = Attributes::new(self.attributes());
        let nodes = spread(self.nodes(), NODES);
        let own: Vec<Row> = nodes.map(|node| attributes.unit_row(node)).collect();
        let by_chance = eigenvalues(dealt_out(&own));
        rise(eigenvalues(own), by_chance)
    }

    /// How far what neighbours have on average rises above chance, for each layer.
    pub(crate) fn layer_rises(&self) -> Vec<f64> {
        self.rises(&self.layers().iter().map(|layer| &layer.adjacency).collect::<Vec<_>>())
    }

    /// The same for the sum of layers.
    pub(crate) fn sum_rise(&self, names: &[String]) -> f64 {
        self.rises(&[&sums::sum(&self.named(names))])[0]
    }

    /// The same where attributes were smoothed over these layers so many times; each entry of them is stored.
    pub(crate) fn smoothed_rise(&self, names: &[String], passes: usize) -> f64 {
        let attributes = Attributes::new(self.attributes());
        let layers = self.named(names);
        let sum = sums::sum(&layers);
        let smoothed = |of: &dyn Fn(usize) -> usize| {
            let cols = self.attributes().cols();
            let mut rows = Dense::zeros(self.nodes(), cols);
            for (node, row) in rows.values_mut().chunks_exact_mut(cols).enumerate() {
                let entries = attributes.unit_row(of(node));
                entries.into_iter().for_each(|(column, v)| row[column as usize] = v);
            }
            let rows = (0..passes).fold(rows, |rows, _| smooth(&layers, &rows));
            means(&sum, |node| (0..).zip(rows.row(node).iter().copied()).collect())
        };
        let exchanged = self.exchanged();
        let by_chance = eigenvalues(smoothed(&|node| exchanged[node] as usize));
        rise(eigenvalues(smoothed(&|node| node)), by_chance)
    }

    /// Whether most attributes are not zero, however they are stored.
    pub(crate) fn has_dense_attributes(&self) -> bool {
        let attributes = self.attributes();
        attributes.nonzeros() as f64 > DENSE * attributes.rows() as f64 * attributes.cols() as f64
    }

    /// Bytes that measuring any of these takes beside the graph, about: entries by row and by column with a list of columns
    /// between, the vectors that are iterated, the sum of layers, and dense attributes before and after a pass.
    pub(crate) fn rise_bytes(&self) -> u64 {
        let (nodes, columns) = (self.nodes(), self.attributes().cols());
        let looked = nodes.min(NODES) as f64;
        let edges: usize = self.layers().iter().map(|layer| layer.adjacency.nnz()).sum();
        let joined = 1.0 + (edges as f64 / nodes as f64).min(NEIGHBOURS as f64);
        let stored = self.attributes().nonzeros() as f64 / nodes as f64;
        // Nodes' own attributes are there beside those that were dealt out.
        let own = 32.0 * looked * stored;
        let through = 20.0 * looked * (stored * joined).min(columns as f64);
        let at_work = 8.0 * stored * joined * rayon::current_num_threads() as f64;
        let vectors = (8 * VECTORS * 3) as f64 * (looked + columns as f64);
        let smoothed = match self.has_dense_attributes() {
            true => 8 * (nodes * columns) as u64,
            false => 0,
        };
        (own.max(through) + at_work + vectors) as u64 + 8 * edges as u64 + smoothed
    }

    fn rises(&self, layers: &[&Csr]) -> Vec<f64> {
        let attributes = Attributes::new(self.attributes());
        let exchanged = self.exchanged();
        let of_layer = |edges: &&Csr| {
            // One after the other: no larger tables are made for looking at a graph.
            let own = eigenvalues(means(edges, |node| attributes.unit_row(node)));
            let others = |node: usize| attributes.unit_row(exchanged[node] as usize);
            rise(own, eigenvalues(means(edges, others)))
        };
        layers.iter().map(of_layer).collect()
    }

    fn named(&self, names: &[String]) -> Vec<&Csr> {
        let layers = self.layers().iter().filter(|layer| names.contains(&layer.name));
        layers.map(|layer| &layer.adjacency).collect()
    }

    /// Whose attributes each node has by chance.
    fn exchanged(&self) -> Vec<u32> {
        let mut exchanged = vec![0; self.nodes()];
        stream(1).permutation(&mut exchanged);
        exchanged
    }
}

/// The means of the rows of nodes, evenly spread, and their neighbours.
fn means(edges: &Csr, row: impl Fn(usize) -> Row + Sync) -> Vec<Row> {
    let nodes: Vec<usize> = spread(edges.rows(), NODES).collect();
    nodes.par_iter().map(|node| mean(edges, *node, &row)).collect()
}

fn stream(of: u64) -> Stream {
    Stream::new(0, Purpose::Rise).substream(of)
}

/// At most so many of `0..count`, evenly spread.
pub(crate) fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |i| i * count / taken)
}

/// The mean of the rows of a node and its neighbours.
fn mean(edges: &Csr, node: usize, row: impl Fn(usize) -> Row) -> Row {
    let (neighbours, _) = edges.row(node);
    let mut entries = row(node);
    let mut count = 1.0;
    for at in spread(neighbours.len(), NEIGHBOURS) {
        if neighbours[at] as usize != node {
            entries.extend(row(neighbours[at] as usize));
            count += 1.0;
        }
    }
    entries.sort_by_key(|(column, _)| *column);
    let same = entries.chunk_by(|a, b| a.0 == b.0);
    let mut mean: Row =
        same.map(|e| (e[0].0, e.iter().map(|(_, v)| v).sum::<f32>() / count)).collect();
    mean.shrink_to_fit();
    mean
}

/// Every column's values at other rows, each column's by a permutation of its own.
fn dealt_out(rows: &[Row]) -> Vec<Row> {
    let mut dealt = vec![Row::new(); rows.len()];
    for (r, row) in rows.iter().enumerate() {
        for &(column, value) in row {
            let key = stream(2).substream(column.into());
            dealt[elsewhere(r, rows.len(), key)].push((column, value));
        }
    }
    dealt.iter_mut().for_each(|row| row.sort_by_key(|(column, _)| *column));
    dealt
}

/// Where a permutation of `0..count` takes a place. Odd multiples and shifts permute the numbers of so many bits; from a
/// number that is too large it goes on.
fn elsewhere(place: usize, count: usize, key: Stream) -> usize {
    let bits = usize::BITS - count.leading_zeros();
    let mask = (1u64 << bits) - 1;
    let mut x = place as u64;
    loop {
        for round in 0..4 {
            x = x.wrapping_mul(key.word(2 * round) | 1).wrapping_add(key.word(2 * round + 1))
                & mask;
            x ^= x >> (bits / 2 + 1);
        }
        if x < count as u64 {
            return x as usize;
        }
    }
}

fn rise(mut found: Vec<f64>, by_chance: Vec<f64>) -> f64 {
    let chance = by_chance.into_iter().fold(0.0, f64::max);
    found.sort_by(|a, b| b.total_cmp(a));
    let above: f64 = found.iter().take(DIRECTIONS).map(|l| (l - chance).max(0.0)).sum();
    if chance > 0.0 { above / chance } else { 0.0 }
}

/// The largest eigenvalues of M^T M with M's columns centred, over the columns that occur.
fn eigenvalues(mut rows: Vec<Row>) -> Vec<f64> {
    let mut used: Vec<u32> = rows.iter().flatten().map(|(column, _)| *column).collect();
    used.sort_unstable();
    used.dedup();
    used.shrink_to_fit();
    let place = |column: u32| used.binary_search(&column).expect("it occurs");
    let mut lengths = vec![0; used.len()];
    for (column, _) in rows.iter_mut().flatten() {
        let at = place(*column);
        lengths[at] += 1;
        *column = at as u32;
    }
    let columns = used.len();
    let width = VECTORS.min(columns).min(rows.len());
    if width == 0 {
        return Vec::new();
    }
    let mut transposed: Vec<Row> = lengths.into_iter().map(Row::with_capacity).collect();
    for (r, row) in rows.iter().enumerate() {
        row.iter().for_each(|(column, v)| transposed[*column as usize].push((r as u32, *v)));
    }
    let times = |matrix: &[Row], by: &[f64]| -> Vec<f64> {
        let mut products = vec![0.0; matrix.len() * width];
        products.par_chunks_exact_mut(width).zip(matrix).for_each(|(sums, row)| {
            for (at, v) in row {
                let from = &by[*at as usize * width..][..width];
                sums.iter_mut().zip(from).for_each(|(sum, x)| *sum += f64::from(*v) * x);
            }
        });
        products
    };
    let by_columns = |basis: &[f64]| {
        let mut projected = times(&rows, basis);
        centre(&mut projected, width);
        times(&transposed, &projected)
    };
    let by_rows = |basis: &[f64]| {
        let mut basis = basis.to_vec();
        centre(&mut basis, width);
        let mut projected = times(&rows, &times(&transposed, &basis));
        centre(&mut projected, width);
        projected
    };
    let start = |i: usize| stream(3).normal(i as u64);
    match columns > WIDE * rows.len() {
        true => leading(rows.len(), width, ITERATIONS, start, by_rows).values,
        false => leading(columns, width, ITERATIONS, start, by_columns).values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Layer;
    use crate::matrix::Matrix;

    #[test]
    fn few_rows_of_many_columns_have_the_eigenvalues_of_their_columns() {
        // 40 rows in two groups, of 3 columns each and of many that hardly count.
        let entry = |r: u32, c: u32| {
            let own = if c % 2 == r % 2 { 1.0 } else { 0.0 };
            (c, own + 1e-4 * stream(9).normal(u64::from(400 * r + c)) as f32)
        };
        let rows = |columns: u32| -> Vec<Row> {
            (0..40).map(|r| (0..columns).map(|c| entry(r, c)).collect()).collect()
        };
        // On either side of the limit, with columns of zeros.
        let narrow = rows(6);
        let mut wide = narrow.clone();
        for (r, row) in wide.iter_mut().enumerate() {
            row.extend((0..10).map(|c| (6 + 10 * r as u32 + c, 0.0)));
        }
        let (narrow, wide) = (eigenvalues(narrow), eigenvalues(wide));
        assert!((narrow[0] - 60.0).abs() < 0.1, "{narrow:?}");
        for (i, of_columns) in narrow.iter().enumerate() {
            assert!((of_columns - wide[i]).abs() < 1e-6 * narrow[0], "{narrow:?} {wide:?}");
        }
    }

    /// Four classes of 100 nodes, attributes of which `apart` is theirs and the rest noise, and a layer of 8 edges a
    /// node of which a share stays within the class.
    fn planted(apart: f64, within: f64) -> MultiplexGraph {
        let (stream, nodes) = (Stream::new(5, Purpose::Planted), 400u64);
        let class = |n: u64| n % 4;
        let value = |n: u64, c: u64| {
            let centre = apart * stream.normal(1_000_000 + 32 * class(n) + c);
            (centre + stream.normal(32 * n + c)) as f32
        };
        let values = (0..nodes).flat_map(|n| (0..32).map(move |c| value(n, c))).collect();
        let edges = stream.substream(1);
        let entries = (0..8 * nodes).flat_map(|e| {
            let from = e / 8;
            let same = edges.uniform(3 * e) < within;
            let to = edges.below(3 * e + 1, nodes / 4) * 4;
            let to = to + if same { class(from) } else { edges.below(3 * e + 2, 4) };
            [(from as u32, to as u32, 1.0), (to as u32, from as u32, 1.0)]
        });
        let adjacency = Csr::from_triplets(400, 400, entries.collect()).unwrap();
        let attributes = Matrix::Dense(Dense::from_vec(400, 32, values).unwrap());
        MultiplexGraph::new(vec![Layer { name: "a".into(), adjacency }], attributes).unwrap()
    }

    #[test]
    fn noise_does_not_rise() {
        let noise = planted(0.0, 0.9);
        assert!(noise.own_rise() < 0.1, "{}", noise.own_rise());
        let unrelated = planted(1.0, 0.0);
        assert!(unrelated.own_rise() > 1.0, "{}", unrelated.own_rise());
        // Means over strangers vary in the same directions as by chance.
        assert!(unrelated.layer_rises()[0] < 0.5, "{:?}", unrelated.layer_rises());
    }

    #[test]
    fn what_neighbours_share_rises() {
        let shown = planted(0.4, 0.9);
        assert!(shown.layer_rises()[0] > 2.0, "{:?}", shown.layer_rises());
        assert!(shown.layer_rises()[0] > shown.own_rise());
    }

    #[test]
    fn more_of_what_neighbours_share_rises_when_attributes_are_smoothed() {
        let weak = planted(0.2, 0.9);
        let names = weak.layer_names();
        let rises: Vec<f64> = (0..2).map(|passes| weak.smoothed_rise(&names, passes)).collect();
        assert_eq!(rises[0], weak.sum_rise(&names));
        assert!(rises[1] > 1.5 * rises[0], "{rises:?}");
        let unrelated = planted(0.2, 0.0);
        assert!(unrelated.smoothed_rise(&names, 1) < 0.5);
    }

    #[test]
    fn every_place_is_taken_once() {
        for count in [1, 2, 3, 64, 1000] {
            let mut taken: Vec<usize> =
                (0..count).map(|r| elsewhere(r, count, stream(9))).collect();
            assert!(count < 64 || taken.iter().enumerate().filter(|(r, t)| r == *t).count() < 9);
            taken.sort_unstable();
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn eigenvalues_are_those_of_the_centred_matrix() {
        // Columns 3, 2 and 1 times orthogonal vectors without a mean, and a column that is the same everywhere.
        let rows: Vec<Row> =
            [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
                .map(|r| vec![(0, 3.0 * r[0]), (1, 2.0 * r[1]), (2, r[2]), (3, 7.0)])
                .into();
        let mut found = eigenvalues(rows);
        found.sort_by(|a, b| b.total_cmp(a));
        for (found, expected) in found.iter().zip([36.0, 16.0, 4.0, 0.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}

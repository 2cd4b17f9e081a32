//! How much structure should count beside the attributes, told without labels.
//!
//! Columns of attributes are split into halves. Rows of one half, averaged over neighbours, stand beside structure times a
//! share; of a node's nearest ones in that space it is asked how alike they are in the other half, which had no say:
//!
//! ```text
//!     near(s)     = 20 nearest by  cos(m_a, m_b) + s^2 cos(z_a, z_b)      m: averaged rows of a half, z: structure
//!     likeness(s) = (mean over near(s) of cos(x_a, x_b) - mean over any) / sd over any      x: rows of the other half
//! ```
//!
//! Structure counts for as much as it adds:
//!
//! ```text
//!     more  = likeness(s) - likeness(0)                      s: the best of 0.2, 0.5 and 1
//!     share = min(1, more max(6, 1 / likeness(s)))           none where more is chance, or the share less than 0.1
//! ```
//!
//! Attributes whose likeness is chance cannot judge, and structure has its whole share. A share of 1 makes averaged
//! structure as large as averaged attributes vary.

use super::MultiplexGraph;
use super::preprocess::Preprocessing;
use super::rise::spread;
use super::signal::Attributes;
use crate::matrix::{Dense, Matrix};
use crate::random::{Purpose, Stream};
use crate::real::{Real, View, ViewMut};
use rayon::prelude::*;

/// Shares that are compared; the first is none.
const SHARES: [f64; 4] = [0.0, 0.2, 0.5, 1.0];
/// Nodes that are looked at, evenly spread, and those of them whose nearest are asked for.
const NODES: usize = 4096;
const ASKING: usize = 2048;
/// Neighbours of each in a layer, evenly spread.
const NEIGHBOURS: usize = 32;
/// Columns a half is folded to where it has more.
const FOLDED: usize = 512;
/// Nearest nodes.
const NEAREST: usize = 20;
/// A share that is less is none.
const LEAST: f64 = 0.1;
/// What a deviation of likeness is worth.
const WORTH: f64 = 6.0;
/// Pairs of any nodes.
const PAIRS: u64 = 1 << 15;
/// Nodes a task works on.
const BLOCK: usize = 64;

/// How much structure counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Share {
    /// Of what attributes count, to a hundredth.
    pub share: f64,
    /// What rows of structure are to be multiplied by for that.
    pub weight: f64,
    /// How alike nearest nodes are without structure, and at most with it.
    pub likeness: [f64; 2],
}

impl MultiplexGraph {
    /// Bytes that asking for a share takes: four tables of folded attributes, and the cosines of a block on each thread.
    pub(crate) fn share_bytes(nodes: u64, columns: u64, threads: u64) -> u64 {
        let looked = nodes.min(NODES as u64);
        16 * looked * columns.min(FOLDED as u64) + 8 * threads * looked * (BLOCK as u64 + 1)
    }

    /// How much structure should count beside this graph's attributes as they are after preprocessing.
    pub(crate) fn share_of(&self, structure: &Dense, preprocessing: &Preprocessing) -> Share {
        let nodes: Vec<usize> = spread(self.nodes(), NODES).collect();
        let likeness = Halves::new(self, &nodes).likeness(structure, &nodes);
        let best = (0..SHARES.len()).fold(0, |b, i| if likeness[i] > likeness[b] { i } else { b });
        let (with, more) = (likeness[best], likeness[best] - likeness[0]);
        let share = match chance(nodes.len()) {
            chance if with < chance => 1.0,
            chance if more < chance => 0.0,
            _ => (100.0 * more * WORTH.max(1.0 / with)).round().min(100.0) / 100.0,
        };
        let share = if share < LEAST { 0.0 } else { share };
        let weight = match share > 0.0 {
            true => share * self.spread_of_averages(structure, preprocessing, &nodes),
            false => 0.0,
        };
        Share { share, weight, likeness: [likeness[0], likeness[best]] }
    }

    /// How far averaged attributes vary, of how far averaged structure does.
    pub(crate) fn spread_of_averages(
        &self,
        structure: &Dense,
        preprocessing: &Preprocessing,
        nodes: &[usize],
    ) -> f64 {
        let cols = self.attributes().cols();
        let dense = match self.attributes() {
            Matrix::Sparse(_) if !preprocessing.makes_dense() => None,
            _ => Some(preprocessing.dense_attributes(self, preprocessing.columns(self).as_ref())),
        };
        let attributes = self.variance(nodes, cols, true, |node, weight, sum| {
            match (&dense, self.attributes()) {
                (Some(m), _) => add(m.row(node), weight, sum),
                (None, Matrix::Sparse(m)) => {
                    let (columns, values) = m.row(node);
                    let factor = preprocessing.row_factor(values);
                    let entries = columns.iter().zip(values);
                    entries.for_each(|(c, v)| sum[*c as usize] += weight * factor * v);
                }
                (None, Matrix::Dense(m)) => add(m.row(node), weight, sum),
            }
        });
        // Its rows are of unit length, and what all have in common is no reason to make them longer.
        let of_structure = self.variance(nodes, structure.cols(), false, |node, weight, sum| {
            add(structure.row(node), weight, sum);
        });
        let ratio = (attributes / of_structure).sqrt();
        if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
    }

    /// How far rows of a node and the means over its neighbours in each layer, added up, vary about their mean, or about 0.
    fn variance(
        &self,
        nodes: &[usize],
        cols: usize,
        about_mean: bool,
        row: impl Fn(usize, f32, &mut [f32]) + Sync,
    ) -> f64 {
        let blocks: Vec<(Vec<f64>, f64)> = nodes
            .par_chunks(BLOCK)
            .map(|nodes| {
                let (mut sums, mut squares) = (vec![0.0; cols], 0.0);
                let mut own = vec![0.0f32; cols];
                for node in nodes {
                    own.fill(0.0);
                    self.around(*node, |other, weight| row(other, weight, &mut own));
                    for (sum, v) in sums.iter_mut().zip(&own) {
                        *sum += f64::from(*v);
                        squares += f64::from(*v) * f64::from(*v);
                    }
                }
                (sums, squares)
            })
            .collect();
        let mut sums = vec![0.0; cols];
        let mut squares = 0.0;
        for (block, square) in &blocks {
            sums.iter_mut().zip(block).for_each(|(s, b)| *s += b);
            squares += square;
        }
        let count = nodes.len() as f64;
        let mean = if about_mean { sums.iter().map(|s| s * s).sum::<f64>() / count } else { 0.0 };
        (squares - mean) / count
    }

    /// A node with a weight of 1, and its neighbours with weights that add up to 1 in each layer.
    fn around(&self, node: usize, mut with: impl FnMut(usize, f32)) {
        with(node, 1.0);
        for layer in self.layers() {
            let (neighbours, _) = layer.adjacency.row(node);
            let taken = neighbours.len().min(NEIGHBOURS);
            for at in spread(neighbours.len(), NEIGHBOURS) {
                with(neighbours[at] as usize, 1.0 / taken as f32);
            }
        }
    }
}

/// Less likeness than this is chance: twice the deviation of a mean over so many pairs.
fn chance(nodes: usize) -> f64 {
    2.0 / ((nodes.min(ASKING) * NEAREST) as f64).sqrt()
}

fn add(row: &[f32], weight: f32, sum: &mut [f32]) {
    sum.iter_mut().zip(row).for_each(|(s, v)| *s += weight * v);
}

/// Rows of the nodes that are looked at, of either half of the attributes, at unit length.
struct Halves {
    averaged: [Dense; 2],
    own: [Dense; 2],
}

/// Attributes as rows of few columns, of one half of them or all.
struct Folded<'a> {
    attributes: Attributes<'a>,
    stream: Stream,
    columns: usize,
    half: Option<usize>,
}

impl<'a> Folded<'a> {
    fn new(graph: &'a MultiplexGraph, half: Option<usize>) -> Self {
        let attributes = Attributes::new(graph.attributes());
        let stream = Stream::new(0, Purpose::Halves);
        Self { attributes, stream, columns: graph.attributes().cols(), half }
    }

    fn add(&self, node: usize, weight: f32, out: &mut [f32]) {
        for (column, value) in self.attributes.unit_row(node) {
            let word = self.stream.word(u64::from(column));
            if self.half.is_none_or(|half| (word >> 63) as usize == half) {
                // Columns that fall on one place do so with random signs.
                let (place, sign) = match self.columns > FOLDED {
                    true => {
                        (word as usize % out.len(), if word >> 62 & 1 == 0 { 1.0 } else { -1.0 })
                    }
                    false => (column as usize, 1.0),
                };
                out[place] += sign * weight * value;
            }
        }
    }

    /// Rows at unit length, of the nodes themselves or averaged with their neighbours'.
    fn table(&self, graph: &MultiplexGraph, nodes: &[usize], averaged: bool) -> Dense {
        let width = self.columns.min(FOLDED);
        let mut rows = Dense::zeros(nodes.len(), width);
        let chunks = rows.values_mut().par_chunks_mut(width).zip(nodes);
        chunks.for_each(|(out, node)| {
            match averaged {
                true => graph.around(*node, |other, weight| self.add(other, weight, out)),
                false => self.add(*node, 1.0, out),
            }
            unit(out);
        });
        rows
    }
}

impl Halves {
    fn new(graph: &MultiplexGraph, nodes: &[usize]) -> Self {
        let table = |half, averaged| Folded::new(graph, Some(half)).table(graph, nodes, averaged);
        Self { averaged: [table(0, true), table(1, true)], own: [table(0, false), table(1, false)] }
    }

    /// How alike nearest nodes are in what was held out, for each share.
    fn likeness(&self, structure: &Dense, nodes: &[usize]) -> [f64; SHARES.len()] {
        let taken: Vec<u32> = nodes.iter().map(|n| *n as u32).collect();
        let structure = structure.select_rows(&taken);
        let mut sums = [0.0; SHARES.len()];
        for half in 0..2 {
            let (by, other) = (&self.averaged[half], &self.own[1 - half]);
            let (mean, deviation) = any(other);
            for (sum, alike) in
                sums.iter_mut().zip(nearest_alike(by, Some(&structure), other, &SHARES))
            {
                *sum += 0.5 * (alike - mean) / deviation;
            }
        }
        sums.map(|sum| if sum.is_finite() { sum } else { 0.0 })
    }
}

fn unit(row: &mut [f32]) {
    let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|v| *v /= length);
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Mean and deviation of the cosine of any two rows.
fn any(rows: &Dense) -> (f64, f64) {
    let stream = Stream::new(0, Purpose::Halves).substream(1);
    let row = |i: u64| rows.row(stream.below(i, rows.rows() as u64) as usize);
    let cosines: Vec<f64> =
        (0..PAIRS).map(|i| f64::from(dot(row(2 * i), row(2 * i + 1)))).collect();
    let mean = cosines.iter().sum::<f64>() / PAIRS as f64;
    let square = cosines.iter().map(|c| c * c).sum::<f64>() / PAIRS as f64;
    (mean, (square - mean * mean).sqrt())
}

/// The mean cosine of any two rows.
pub(crate) fn mean_cosine(embeddings: &Dense) -> f64 {
    any(&units(embeddings)).0
}

fn units(rows: &Dense) -> Dense {
    let mut units = rows.clone();
    units.values_mut().chunks_mut(rows.cols().max(1)).for_each(unit);
    units
}

/// The mean cosine of nodes with their nearest ones, for each share.
fn nearest_alike(by: &Dense, structure: Option<&Dense>, other: &Dense, shares: &[f64]) -> Vec<f64> {
    let rows = by.rows();
    let asking: Vec<usize> = spread(rows, ASKING).collect();
    let nearest = NEAREST.min(rows.saturating_sub(1)).max(1);
    let of_block = |asking: &[usize]| {
        let cosines = |of: &Dense| {
            let taken: Vec<u32> = asking.iter().map(|n| *n as u32).collect();
            let own = of.select_rows(&taken);
            let mut out = vec![0.0; asking.len() * rows];
            let to = &mut ViewMut::new(&mut out, asking.len(), rows);
            f32::gemm(1.0, View::from(&own), View::from(of).t(), 0.0, to);
            out
        };
        let (near, far) = (cosines(by), structure.map(cosines));
        let mut sums = vec![0.0; shares.len()];
        let mut order: Vec<(f32, u32)> = Vec::with_capacity(rows);
        for (i, node) in asking.iter().enumerate() {
            for (sum, share) in sums.iter_mut().zip(shares) {
                let square = (share * share) as f32;
                let beside = |n: usize| far.as_ref().map_or(0.0, |far| square * far[i * rows + n]);
                let score = |n: usize| near[i * rows + n] + beside(n);
                order.clear();
                order.extend((0..rows).filter(|n| n != node).map(|n| (score(n), n as u32)));
                if order.len() > nearest {
                    let by =
                        |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
                    order.select_nth_unstable_by(nearest - 1, by);
                    order.truncate(nearest);
                    order.sort_unstable_by_key(|(_, n)| *n);
                }
                let alike =
                    order.iter().map(|(_, n)| dot(other.row(*node), other.row(*n as usize)));
                *sum += alike.map(f64::from).sum::<f64>() / order.len().max(1) as f64;
            }
        }
        sums
    };
    let blocks: Vec<Vec<f64>> = asking.par_chunks(BLOCK).map(of_block).collect();
    let mut sums = vec![0.0; shares.len()];
    for block in &blocks {
        sums.iter_mut().zip(block).for_each(|(s, b)| *s += b / asking.len() as f64);
    }
    sums
}

/// What embeddings are held against where two of the same training are compared: the attributes around each node.
#[derive(Debug)]
pub(crate) struct Witness {
    /// The nodes that are looked at.
    pub nodes: Vec<u32>,
    around: Dense,
}

/// What is seen of embeddings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seen {
    /// How alike the attributes around nearest nodes are, in deviations of any two.
    pub likeness: f64,
    /// The mean cosine of any two nodes.
    pub cosine: f64,
}

impl Witness {
    pub(crate) fn of(graph: &MultiplexGraph) -> Self {
        let nodes: Vec<usize> = spread(graph.nodes(), NODES).collect();
        let around = Folded::new(graph, None).table(graph, &nodes, true);
        Self { nodes: nodes.into_iter().map(|n| n as u32).collect(), around }
    }

    /// What is seen of these nodes' embeddings.
    pub(crate) fn see(&self, embeddings: &Dense) -> Seen {
        let rows = units(embeddings);
        let (mean, deviation) = any(&self.around);
        let alike = nearest_alike(&rows, None, &self.around, &[0.0])[0];
        let likeness = (alike - mean) / deviation;
        let likeness = if likeness.is_finite() { likeness } else { 0.0 };
        Seen { likeness, cosine: any(&rows).0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Layer;
    use crate::graph::planted::Planted;
    use crate::matrix::Csr;
    use crate::settings::Settings;

    /// Attributes of one planted graph and layers of another.
    fn graph(attributes: &MultiplexGraph, layers: &MultiplexGraph) -> MultiplexGraph {
        MultiplexGraph::new(layers.layers().to_vec(), attributes.attributes().clone()).unwrap()
    }

    fn planted(noise: f64) -> MultiplexGraph {
        Planted { nodes: 600, noise, ..Planted::default() }.generate().unwrap()
    }

    fn share(graph: &MultiplexGraph) -> Share {
        let preprocessing = Settings::default().preprocessing();
        graph.share_of(&graph.find_structure(16).unwrap(), &preprocessing)
    }

    #[test]
    fn structure_counts_where_it_foretells_attributes() {
        let found = share(&planted(0.5));
        assert!(found.share > 0.0 && found.weight > 0.0, "{found:?}");
        assert!(found.likeness[1] > found.likeness[0], "{found:?}");
    }

    #[test]
    fn structure_of_strangers_is_left_out() {
        // Clear attributes, and layers that join nodes by chance.
        let stream = Stream::new(3, Purpose::Planted);
        let end = |i: u64| stream.below(i, 600) as u32;
        let entries = (0..3000).map(|i| (end(2 * i), end(2 * i + 1), 1.0)).collect();
        let adjacency = Csr::from_triplets(600, 600, entries).unwrap();
        let layers = vec![Layer { name: "chance".into(), adjacency }];
        let clear = planted(0.0);
        let graph = MultiplexGraph::new(layers, clear.attributes().clone()).unwrap();
        let found = share(&graph);
        assert_eq!((found.share, found.weight), (0.0, 0.0), "{found:?}");
    }

    #[test]
    fn attributes_that_say_nothing_cannot_judge() {
        let stream = Stream::new(4, Purpose::Planted);
        let values = (0..600 * 40).map(|i| stream.normal(i) as f32).collect();
        let attributes = Matrix::Dense(Dense::from_vec(600, 40, values).unwrap());
        let layers = planted(0.0).layers().to_vec();
        let found = share(&MultiplexGraph::new(layers, attributes).unwrap());
        assert_eq!(found.share, 1.0, "{found:?}");
    }

    #[test]
    fn averaged_structure_varies_as_far_as_it_is_weighed() {
        let graph = graph(&planted(0.2), &planted(0.2));
        let preprocessing = Settings::default().preprocessing();
        let structure = graph.find_structure(16).unwrap();
        let nodes: Vec<usize> = (0..600).collect();
        let weight = graph.spread_of_averages(&structure, &preprocessing, &nodes);
        let mut twice = structure.clone();
        twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
        let half = graph.spread_of_averages(&twice, &preprocessing, &nodes);
        assert!((weight / half - 2.0).abs() < 1e-3, "{weight} {half}");
    }

    #[test]
    fn a_witness_sees_what_embeddings_keep_and_that_they_collapse() {
        let graph = planted(0.3);
        let witness = Witness::of(&graph);
        let kept = witness.see(&witness.around);
        let stream = Stream::new(5, Purpose::Planted);
        let values = (0..600 * 8).map(|i| stream.normal(i) as f32).collect();
        let lost = witness.see(&Dense::from_vec(600, 8, values).unwrap());
        assert!(kept.likeness > 1.0 && lost.likeness.abs() < 0.1, "{kept:?} {lost:?}");
        let same = witness.see(&Dense::from_vec(600, 2, vec![1.0; 1200]).unwrap());
        assert!(same.cosine > 0.999 && lost.cosine.abs() < 0.1, "{same:?}");
    }
}

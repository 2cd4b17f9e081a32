//! Whether a layer says anything about the nodes it joins.
//!
//! An encoder sees a layer through `A X`, what its neighbours have on average. That says something about a node in two
//! cases: joined nodes are more alike, or less, than others are in their attributes; or the neighbours of a node are
//! joined among themselves, so that whole groups have nearly the same average. A layer that shows neither gives every node
//! the attributes of strangers.
//!
//! ```text
//!     likeness = (mean_e cos(x_a, x_b) - mean_e cos(x_a, x_b')) / sd_e cos(x_a, x_b')
//!     closure  = share of pairs of a node's neighbours that are joined - share of all pairs that are
//! ```
//!
//! over random edges e = (a, b), with b' the end of another one. Sparse attributes count by their rarity,
//! `ln(N / nodes that have it)`; columns of dense ones are centred and scaled first.

use super::columns::moments;
use super::{Layer, MultiplexGraph};
use crate::matrix::{Csr, Dense, Matrix};
use crate::random::{Purpose, Stream};
use rayon::prelude::*;
use serde::Serialize;

/// Edges, and pairs of neighbours, that are looked at.
const SAMPLE: usize = 200_000;
/// Fewer edges than this prove nothing.
const ENOUGH: usize = 20_000;
/// What chance brings about in so many edges.
const BY_CHANCE: f64 = 0.03;
/// What large random graphs come to.
pub(crate) const RANDOM_CLOSURE: f64 = 0.02;
/// Where no layer shows as much, attributes are too noisy to judge any.
pub(crate) const CLEAR: f64 = 0.3;

/// What a layer shows of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Signal {
    /// How much more alike joined nodes are than others, in deviations of the others' cosines.
    pub likeness: f64,
    /// How much more often two neighbours of a node are joined than any two nodes.
    pub closure: f64,
    /// Whether neither is more than chance, there are edges enough to judge by, and another layer shows clearly what
    /// this one lacks.
    pub nothing: bool,
}

impl MultiplexGraph {
    /// What each layer shows of its nodes, the same whenever it is asked.
    pub fn signals(&self) -> Vec<Signal> {
        let attributes = Attributes::new(self.attributes());
        let measured: Vec<(f64, f64)> = self
            .layers()
            .iter()
            .map(|layer| (likeness(&layer.adjacency, &attributes), closure(&layer.adjacency)))
            .collect();
        let clear = measured.iter().any(|(likeness, _)| likeness.abs() >= CLEAR);
        let signal = |(layer, &(likeness, closure)): (&Layer, &(f64, f64))| {
            let shown = likeness.abs() >= BY_CHANCE || closure >= RANDOM_CLOSURE;
            let nothing = clear && !shown && layer.adjacency.nnz() >= ENOUGH;
            Signal { likeness, closure, nothing }
        };
        self.layers().iter().zip(&measured).map(signal).collect()
    }
}

fn likeness(edges: &Csr, attributes: &Attributes<'_>) -> f64 {
    let stream = Stream::new(0, Purpose::Signal);
    let edge = |i: u64| {
        let at = stream.below(i, edges.nnz() as u64) as usize;
        let row = edges.indptr().partition_point(|p| *p <= at) - 1;
        (row, edges.indices()[at] as usize)
    };
    let drawn = if edges.nnz() == 0 { 0 } else { SAMPLE.min(4 * edges.nnz()) as u64 };
    let cosines: Vec<(f64, f64)> = (0..drawn)
        .into_par_iter()
        .filter_map(|i| {
            let ((a, b), (_, other)) = (edge(2 * i), edge(2 * i + 1));
            (a != b && a != other).then(|| (attributes.cosine(a, b), attributes.cosine(a, other)))
        })
        .collect();
    let count = cosines.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| cosines.iter().map(of).sum::<f64>() / count;
    let (joined, other) = (mean(|c| c.0), mean(|c| c.1));
    let spread = (mean(|c| c.1 * c.1) - other * other).sqrt();
    let likeness = (joined - other) / spread;
    if likeness.is_finite() { likeness } else { 0.0 }
}

fn closure(edges: &Csr) -> f64 {
    let stream = Stream::new(0, Purpose::Signal).substream(1);
    let nodes = edges.rows();
    let several: Vec<u32> =
        (0..nodes as u32).filter(|n| edges.row(*n as usize).0.len() > 1).collect();
    if several.is_empty() {
        return 0.0;
    }
    let joined: Vec<bool> = (0..SAMPLE as u64)
        .into_par_iter()
        .filter_map(|i| {
            let node = several[stream.below(3 * i, several.len() as u64) as usize];
            let (neighbours, _) = edges.row(node as usize);
            let draw =
                |k: u64| neighbours[stream.below(3 * i + k, neighbours.len() as u64) as usize];
            let (a, b) = (draw(1), draw(2));
            (a != b && a != node && b != node)
                .then(|| edges.row(a as usize).0.binary_search(&b).is_ok())
        })
        .collect();
    if joined.is_empty() {
        return 0.0;
    }
    let loops = (0..nodes).filter(|n| edges.row(*n).0.binary_search(&(*n as u32)).is_ok()).count();
    let pairs = (nodes as f64 * (nodes as f64 - 1.0)).max(1.0);
    let density = (edges.nnz() - loops) as f64 / pairs;
    joined.iter().filter(|j| **j).count() as f64 / joined.len() as f64 - density
}

/// Attributes with what each column counts for.
pub(super) enum Attributes<'a> {
    /// With the rarity of each.
    Sparse(&'a Csr, Vec<f64>),
    /// With the mean of each and one over its deviation.
    Dense(&'a Dense, Vec<(f64, f64)>),
}

impl<'a> Attributes<'a> {
    pub(super) fn new(matrix: &'a Matrix) -> Self {
        let nodes = matrix.rows() as f64;
        match matrix {
            Matrix::Sparse(m) => {
                let mut holders = vec![0usize; m.cols()];
                m.indices().iter().for_each(|c| holders[*c as usize] += 1);
                let rarity = holders.iter().map(|h| (nodes / (*h).max(1) as f64).ln());
                Self::Sparse(m, rarity.collect())
            }
            Matrix::Dense(m) => {
                let scales = moments(matrix).into_iter().map(|of| (of.mean, of.scale()));
                Self::Dense(m, scales.collect())
            }
        }
    }

    /// A node's attributes as they count, (column, value), at unit length.
    pub(super) fn unit_row(&self, node: usize) -> Vec<(u32, f32)> {
        let counted: Vec<(u32, f64)> = match self {
            Self::Sparse(m, rarity) => {
                let (columns, values) = m.row(node);
                let entries = columns.iter().zip(values);
                entries.map(|(c, v)| (*c, f64::from(*v) * rarity[*c as usize])).collect()
            }
            Self::Dense(m, scales) => (0..)
                .zip(m.row(node).iter().zip(scales))
                .map(|(c, (v, (mean, scale)))| (c, (f64::from(*v) - mean) * scale))
                .collect(),
        };
        let norm = counted.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        let scale = if norm > 0.0 { norm.recip() } else { 0.0 };
        counted.into_iter().map(|(c, v)| (c, (v * scale) as f32)).collect()
    }

    /// 0 where one of them has nothing that counts.
    fn cosine(&self, a: usize, b: usize) -> f64 {
        let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
        match self {
            Self::Sparse(m, rarity) => {
                let row = |r: usize| {
                    let (columns, values) = m.row(r);
                    columns
                        .iter()
                        .zip(values)
                        .map(|(c, v)| (*c, f64::from(*v) * rarity[*c as usize]))
                };
                aa += row(a).map(|(_, v)| v * v).sum::<f64>();
                bb += row(b).map(|(_, v)| v * v).sum::<f64>();
                let mut others = row(b).peekable();
                for (c, v) in row(a) {
                    while others.next_if(|(other, _)| *other < c).is_some() {}
                    ab += others.next_if(|(other, _)| *other == c).map_or(0.0, |(_, w)| v * w);
                }
            }
            Self::Dense(m, scales) => {
                for ((x, y), (mean, scale)) in m.row(a).iter().zip(m.row(b)).zip(scales) {
                    let (x, y) = ((f64::from(*x) - mean) * scale, (f64::from(*y) - mean) * scale);
                    aa += x * x;
                    bb += y * y;
                    ab += x * y;
                }
            }
        }
        if aa > 0.0 && bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted::Planted;

    /// A planted graph that is clear enough, with one more layer.
    fn with_layer(entries: Vec<(u32, u32, f32)>) -> MultiplexGraph {
        let planted = Planted { noise: 0.1, words: 30, ..Planted::default() };
        let parts = planted.generate().unwrap().into_parts();
        let adjacency = Csr::from_triplets(planted.nodes, planted.nodes, entries).unwrap();
        let layers = parts.layers.into_iter().chain([Layer { name: "more".into(), adjacency }]);
        MultiplexGraph::new(layers.collect(), parts.attributes).unwrap()
    }

    fn nothing(graph: &MultiplexGraph) -> Vec<bool> {
        graph.signals().iter().map(|s| s.nothing).collect()
    }

    #[test]
    fn random_and_complete_layers_carry_nothing() {
        let stream = Stream::new(1, Purpose::Planted);
        let node = |i: u64| stream.below(i, 1200) as u32;
        let random: Vec<_> = (0..15_000)
            .flat_map(|i| {
                let (a, b) = (node(2 * i), node(2 * i + 1));
                [(a, b, 1.0), (b, a, 1.0)]
            })
            .collect();
        assert_eq!(nothing(&with_layer(random.clone())), [false, false, true]);
        // Too few to judge by.
        assert_eq!(nothing(&with_layer(random[..9_000].to_vec())), [false; 3]);
        let complete = (0..1200).flat_map(|a| (0..1200).map(move |b| (a, b, 1.0))).collect();
        assert_eq!(nothing(&with_layer(complete)), [false, false, true]);
    }

    #[test]
    fn groups_that_attributes_do_not_know_carry_something() {
        // Cliques of 25 at random.
        let mut places = vec![0; 1200];
        Stream::new(2, Purpose::Planted).permutation(&mut places);
        let clique = |g: &[u32]| -> Vec<(u32, u32, f32)> {
            g.iter().flat_map(|a| g.iter().map(move |b| (*a, *b, 1.0))).collect()
        };
        let graph = with_layer(places.chunks(25).flat_map(clique).collect());
        let signal = graph.signals()[2];
        assert!(
            !signal.nothing && signal.closure > 0.9 && signal.likeness.abs() < 0.1,
            "{signal:?}"
        );
    }

    #[test]
    fn dense_attributes_are_compared_by_column() {
        // The second column says who is joined; the first is far away from zero and says nothing.
        let pairs: Vec<_> =
            (0..100u32).flat_map(|n| [(n, n ^ 1, 1.0), (n, (n + 4) % 100, 1.0)]).collect();
        let values = (0..100).flat_map(|n| [1e3 + (n % 7) as f32, (n / 2 % 2) as f32]).collect();
        let layer = |entries| Layer {
            name: "pairs".into(),
            adjacency: Csr::from_triplets(100, 100, entries).unwrap(),
        };
        let attributes = Matrix::Dense(Dense::from_vec(100, 2, values).unwrap());
        let graph = MultiplexGraph::new(vec![layer(pairs)], attributes).unwrap();
        assert!(graph.signals()[0].likeness > 0.3, "{:?}", graph.signals());
        let empty = MultiplexGraph::new(vec![layer(vec![])], graph.attributes().clone()).unwrap();
        assert_eq!((empty.signals()[0].likeness, empty.signals()[0].closure), (0.0, 0.0));
    }
}

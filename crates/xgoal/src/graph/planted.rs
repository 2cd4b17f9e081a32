//! Planted multiplex graphs: communities that no layer and no attribute shows alone.
//!
//! With C communities, layer v joins them in pairs, and different layers pair them differently. Every
//! community has its own words, but a node holds few of them among many others. With C = 4 and two
//! layers:
//!
//! ```text
//!     community     0 1 2 3
//!     layer 0       a a b b      edges mostly within a and within b
//!     layer 1       d c c d
//! ```
//!
//! Attributes alone are too noisy to tell communities apart. Averaged over the neighbours of one layer
//! they tell its pairs apart, and two layers together tell all communities apart.

use super::{Labels, Layer, MultiplexGraph, Splits};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Matrix};
use crate::random::{Purpose, Stream};

/// The most nodes a graph can have: they are numbered in 32 bits, of which one number is left out.
pub const MOST_NODES: usize = u32::MAX as usize - 1;

/// What to plant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planted {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of communities, even.
    pub communities: usize,
    /// Number of layers.
    pub layers: usize,
    /// Number of attributes.
    pub attributes: usize,
    /// Edges per node and layer, on average.
    pub degree: usize,
    /// Attributes per node, on average.
    pub words: usize,
    /// Share of edges and of attributes that are drawn from anywhere.
    pub noise: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Planted {
    fn default() -> Self {
        Self {
            nodes: 1200,
            communities: 6,
            layers: 2,
            attributes: 600,
            degree: 10,
            words: 6,
            noise: 0.5,
            seed: 0,
        }
    }
}

impl Planted {
    /// Makes the graph; the same parameters give the same graph.
    pub fn generate(&self) -> Result<MultiplexGraph> {
        self.check()?;
        let layers = (0..self.layers).map(|v| self.layer(v)).collect::<Result<_>>()?;
        let graph = MultiplexGraph::new(layers, Matrix::Sparse(self.attribute_matrix()?))?;
        let labels = Labels {
            classes: (0..self.nodes).map(|n| Some(self.community(n) as u32)).collect(),
            names: (0..self.communities).map(|c| self.community_name(c)).collect(),
        };
        graph.with_labels(labels)?.with_splits(self.splits())
    }

    pub(crate) fn community(&self, node: usize) -> usize {
        node % self.communities
    }

    pub(crate) fn community_name(&self, community: usize) -> String {
        format!("community {community}")
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.nodes > MOST_NODES {
            return Err(Error::Data(format!(
                "cannot plant {} nodes; expected at most {MOST_NODES}",
                self.nodes
            )));
        }
        if self.degree >= self.nodes.max(1) {
            return Err(Error::Data(format!(
                "cannot plant {} edges per node among {} nodes; expected at most {}",
                self.degree,
                self.nodes,
                self.nodes.saturating_sub(1)
            )));
        }
        if self.communities < 4
            || self.communities % 2 == 1
            || self.nodes / 5 < self.communities
            || self.attributes < self.communities
            || self.layers == 0
            || !(0.0..=1.0).contains(&self.noise)
        {
            return Err(Error::Data(format!(
                "cannot plant {} communities in {} nodes with {} layers, {} attributes and a noise \
                 of {}; expected an even number of at least 4, 5 nodes and an attribute for each, a \
                 layer, and a noise from 0 to 1",
                self.communities, self.nodes, self.layers, self.attributes, self.noise
            )));
        }
        Ok(())
    }

    /// The group a community belongs to in a layer.
    fn group(&self, layer: usize, community: usize) -> usize {
        let c = self.communities;
        // Layers 0 and 1 pair neighbours on a ring, shifted by one; later ones pair at random.
        let place = match layer {
            0 | 1 => (community + layer) % c,
            _ => {
                let mut places = vec![0; c];
                self.stream(0).substream(layer as u64).permutation(&mut places);
                places[community] as usize
            }
        };
        place / 2
    }

    fn stream(&self, part: u64) -> Stream {
        Stream::new(self.seed, Purpose::Planted).substream(part)
    }

    fn layer(&self, v: usize) -> Result<Layer> {
        let mut edges = Vec::with_capacity(self.nodes * self.degree);
        self.layer_edges(v).each(0..self.nodes, |a, b| edges.extend([(a, b, 1.0), (b, a, 1.0)]));
        // The same pair drawn twice is one edge.
        let (adjacency, _) = Csr::gather(self.nodes, self.nodes, edges, |one, _| one);
        Ok(Layer { name: self.layer_name(v), adjacency })
    }

    pub(crate) fn layer_name(&self, v: usize) -> String {
        format!("layer{v}")
    }

    /// The edges of a layer, to be drawn node by node.
    pub(crate) fn layer_edges(&self, v: usize) -> LayerEdges<'_> {
        let mut groups = vec![[0; 2]; self.communities];
        let mut found = vec![0; self.communities];
        let of = (0..self.communities).map(|c| self.group(v, c)).collect::<Vec<_>>();
        for (community, group) in of.iter().enumerate() {
            groups[*group][found[*group]] = community;
            found[*group] += 1;
        }
        let pairs = of.iter().map(|group| groups[*group]).collect();
        LayerEdges { planted: self, stream: self.stream(1).substream(v as u64), pairs }
    }

    fn attribute_matrix(&self) -> Result<Csr> {
        let mut entries = Vec::with_capacity(self.nodes * self.words);
        for n in 0..self.nodes {
            self.words_of(n, |word| entries.push((n as u32, word, 1.0)));
        }
        Csr::from_triplets(self.nodes, self.attributes, entries)
    }

    /// The words of a node, in the order they are drawn; some may come twice.
    pub(crate) fn words_of(&self, n: usize, mut hand: impl FnMut(u32)) {
        let stream = self.stream(2);
        let (per_topic, topic) = ((self.attributes / self.communities) as u64, self.community(n));
        for w in 0..self.words {
            let at = 2 * (n * self.words + w) as u64;
            let word = if stream.uniform(at) < self.noise {
                stream.below(at + 1, self.attributes as u64)
            } else {
                topic as u64 * per_topic + stream.below(at + 1, per_topic)
            };
            hand(word as u32);
        }
    }

    /// A fifth to train, a tenth to validate, the rest to test, at random.
    pub(crate) fn splits(&self) -> Splits {
        let mut order = vec![0; self.nodes];
        self.stream(3).permutation(&mut order);
        let (train, rest) = order.split_at(self.nodes / 5);
        let (val, test) = rest.split_at(self.nodes / 10);
        Splits { train: train.to_vec(), val: val.to_vec(), test: test.to_vec() }
    }
}

/// One layer's edges; every edge is made by one of its ends.
pub(crate) struct LayerEdges<'a> {
    planted: &'a Planted,
    stream: Stream,
    /// The two communities, in order, that each community's layer group holds.
    pairs: Vec<[usize; 2]>,
}

impl LayerEdges<'_> {
    /// Hands on the edges that these nodes make, some of them twice.
    pub(crate) fn each(&self, nodes: std::ops::Range<usize>, mut hand: impl FnMut(u32, u32)) {
        let Planted { nodes: all, communities, degree, noise, .. } = *self.planted;
        let size = |community: usize| (all - community).div_ceil(communities) as u64;
        for n in nodes {
            let pair = self.pairs[n % communities];
            let members = size(pair[0]) + size(pair[1]);
            // Of an odd degree, every other node makes the larger half.
            for e in 0..(degree + n % 2) / 2 {
                let at = 2 * (n * degree + e) as u64;
                let other = if self.stream.uniform(at) < noise {
                    self.stream.below(at + 1, all as u64) as usize
                } else {
                    // Members in their order: the two communities take turns.
                    let place = self.stream.below(at + 1, members) as usize;
                    place / 2 * communities + pair[place % 2]
                };
                if other != n {
                    hand(n as u32, other as u32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layer_shows_the_communities_alone_and_two_do() {
        let planted = Planted::default();
        let all = || 0..planted.communities;
        for v in 0..5 {
            for c in all() {
                let same = all().filter(|o| planted.group(v, *o) == planted.group(v, c)).count();
                assert_eq!(same, 2, "layer {v} joins communities in pairs");
            }
        }
        let mut pairs: Vec<_> = all().map(|c| (planted.group(0, c), planted.group(1, c))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), planted.communities);
    }

    #[test]
    fn the_graph_is_symmetric_and_repeats() {
        let graph = Planted::default().generate().unwrap();
        assert_eq!(graph, Planted::default().generate().unwrap());
        assert_ne!(graph, Planted { seed: 1, ..Planted::default() }.generate().unwrap());
        for layer in graph.summary().layers {
            assert!(layer.symmetric);
            assert!((8.0..=11.0).contains(&layer.degrees.mean), "{}", layer.degrees.mean);
        }
        assert!(Planted { communities: 5, ..Planted::default() }.generate().is_err());
    }

    #[test]
    fn limits_are_named() {
        let refused = |planted: Planted| planted.check().unwrap_err().to_string();
        let many = refused(Planted { nodes: 100_000_000_000, ..Planted::default() });
        assert_eq!(many, "cannot plant 100000000000 nodes; expected at most 4294967294");
        let dense = refused(Planted { degree: 1200, ..Planted::default() });
        assert_eq!(
            dense,
            "cannot plant 1200 edges per node among 1200 nodes; expected at most 1199"
        );
        assert!(Planted { degree: 1199, ..Planted::default() }.check().is_ok());
    }
}

//! What tells one graph from another, small enough to be kept with every saved state.
//!
//! Sizes are kept to be named when they differ; a number for each part, which changes with any of its
//! values, tells apart what has the same sizes.

use super::MultiplexGraph;
use crate::matrix::{Csr, Matrix};
use serde::{Deserialize, Serialize};

/// Sizes of a graph and a number for the content of each of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    nodes: usize,
    attributes: usize,
    attribute_values: u64,
    ids: u64,
    layers: Vec<LayerPrint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LayerPrint {
    name: String,
    edges: usize,
    values: u64,
}

impl Fingerprint {
    pub(super) fn of(graph: &MultiplexGraph) -> Self {
        let layers = graph.layers().iter().map(|layer| LayerPrint {
            name: layer.name.clone(),
            edges: layer.adjacency.nnz(),
            values: Mix::default().csr(&layer.adjacency).0,
        });
        let attribute_values = match graph.attributes() {
            Matrix::Sparse(m) => Mix::default().csr(m),
            Matrix::Dense(m) => Mix::default().words(m.values().iter().map(|v| v.to_bits().into())),
        };
        Self {
            nodes: graph.nodes(),
            attributes: graph.attributes().cols(),
            attribute_values: attribute_values.0,
            ids: of_ids(graph.ids().into_iter().flatten()),
            layers: layers.collect(),
        }
    }

    /// The layers' names, in order.
    pub fn layer_names(&self) -> Vec<String> {
        self.layers.iter().map(|layer| layer.name.clone()).collect()
    }

    /// That of the same graph whose nodes have no ids: a model does not know them.
    #[must_use]
    pub fn without_ids(self) -> Self {
        Self { ids: of_ids([]), ..self }
    }

    /// The first difference in words, this graph being the earlier one; none if they agree.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let sizes =
            |what: &str, a: usize, b: usize| (a != b).then(|| format!("{a} {what} then, {b} now"));
        let names = |f: &Self| f.layer_names().join(", ");
        let content = |what: &str, same: bool| (!same).then(|| format!("other {what}"));
        sizes("nodes", self.nodes, other.nodes)
            .or_else(|| sizes("attributes", self.attributes, other.attributes))
            .or_else(|| {
                let (a, b) = (names(self), names(other));
                (a != b).then(|| format!("the layers {a} then, {b} now"))
            })
            .or_else(|| {
                self.layers.iter().zip(&other.layers).find_map(|(a, b)| {
                    let name = format!("layer `{}`", a.name);
                    sizes(&format!("edges in {name}"), a.edges, b.edges).or_else(|| {
                        content(&format!("edges or weights in {name}"), a.values == b.values)
                    })
                })
            })
            .or_else(|| {
                content("attribute values", self.attribute_values == other.attribute_values)
            })
            .or_else(|| content("node ids", self.ids == other.ids))
    }
}

fn of_ids<'a>(ids: impl IntoIterator<Item = &'a String>) -> u64 {
    let words = ids.into_iter().flat_map(|id| id.bytes().map(u64::from).chain([u64::MAX]));
    Mix::default().words(words).0
}

/// Mixes words into a number, in their order.
#[derive(Default)]
struct Mix(u64);

impl Mix {
    fn words(mut self, words: impl Iterator<Item = u64>) -> Self {
        for word in words {
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
        }
        self
    }

    fn csr(self, m: &Csr) -> Self {
        self.words(m.indptr().iter().map(|p| *p as u64))
            .words(m.indices().iter().map(|c| u64::from(*c)))
            .words(m.values().map(|v| v.to_bits().into()))
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::planted::Planted;
    use crate::graph::{Layer, MultiplexGraph};
    use crate::matrix::Matrix;

    fn planted() -> MultiplexGraph {
        Planted { nodes: 40, attributes: 12, ..Planted::default() }.generate().unwrap()
    }

    fn changed(change: impl FnOnce(&mut Vec<Layer>, &mut Matrix)) -> Option<String> {
        let parts = planted().into_parts();
        let (mut layers, mut attributes) = (parts.layers, parts.attributes);
        change(&mut layers, &mut attributes);
        let other = MultiplexGraph::new(layers, attributes).unwrap();
        let print = planted().fingerprint();
        let text = serde_json::to_string(&print).unwrap();
        assert_eq!(serde_json::from_str::<super::Fingerprint>(&text).unwrap(), print);
        assert_eq!(print != other.fingerprint(), print.difference(&other.fingerprint()).is_some());
        print.difference(&other.fingerprint())
    }

    #[test]
    fn what_differs_is_named() {
        assert_eq!(changed(|_, _| ()), None);
        let edges = planted().layers()[1].adjacency.nnz();
        let fewer = changed(|layers, _| {
            let m = &layers[1].adjacency;
            let (cols, values) = m.row(0);
            let mut entries: Vec<_> = (1..40u32)
                .flat_map(|r| {
                    let (cols, values) = m.row(r as usize);
                    cols.iter().zip(values).map(move |(c, v)| (r, *c, *v)).collect::<Vec<_>>()
                })
                .collect();
            entries.extend(cols.iter().zip(values).skip(1).map(|(c, v)| (0, *c, *v)));
            layers[1].adjacency = crate::matrix::Csr::from_triplets(40, 40, entries).unwrap();
        });
        let expected = format!("{edges} edges in layer `layer1` then, {} now", edges - 1);
        assert_eq!(fewer, Some(expected));
        let weight = changed(|layers, _| layers[0].adjacency.values_mut()[3] = 7.0);
        assert_eq!(weight.unwrap(), "other edges or weights in layer `layer0`");
        let renamed = changed(|layers, _| layers[0].name = "x".into());
        assert_eq!(renamed.unwrap(), "the layers layer0, layer1 then, x, layer1 now");
        let value = changed(|_, attributes| match attributes {
            Matrix::Sparse(m) => m.values_mut()[0] += 1.0,
            Matrix::Dense(m) => m.values_mut()[0] += 1.0,
        });
        assert_eq!(value.unwrap(), "other attribute values");
        let ids = (0..40).map(|n| format!("p{n}")).collect();
        let named = planted().with_ids(ids).unwrap().fingerprint();
        assert_eq!(planted().fingerprint().difference(&named).unwrap(), "other node ids");
        assert_eq!(named.without_ids(), planted().fingerprint());
    }
}

//! Where the nodes of training stand, for graphs that come later.
//!
//! A node that was there in training keeps its row of structure, whatever its edges are now; one that is new gets what its
//! neighbours have. Nodes are recognised by a hash of their ids, so that a model does not tell which ones it was trained on.

use crate::error::{Error, Result};
use crate::graph::{Fingerprint, MultiplexGraph, structure};
use crate::matrix::{Csr, Dense};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of structure, and who they belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    rows: Arc<Dense>,
    /// Two words of a hash for each node, the lower one first; none where the graph had no ids.
    keys: Option<Vec<u32>>,
}

impl Known {
    /// The structure that stands beside a graph's attributes.
    pub(super) fn of(graph: &MultiplexGraph) -> Option<Self> {
        let rows = graph.shared_structure()?;
        let words = |id: &String| {
            let key = key(id);
            [key as u32, (key >> 32) as u32]
        };
        let keys = graph.ids().map(|ids| ids.iter().flat_map(words).collect());
        Some(Self { rows, keys })
    }

    /// From a file, which may hold anything.
    pub(crate) fn try_new(rows: Dense, keys: Option<Vec<u32>>) -> Result<Self> {
        if let Some(keys) = keys.as_ref().filter(|keys| keys.len() != 2 * rows.rows()) {
            return Err(Error::Data(format!(
                "{} words of keys for {} rows of structure, expected two for each",
                keys.len(),
                rows.rows()
            )));
        }
        if rows.values().iter().any(|v| !v.is_finite()) {
            return Err(Error::Data("rows of structure that are no finite numbers".into()));
        }
        Ok(Self { rows: Arc::new(rows), keys })
    }

    /// A row for each node of training.
    pub fn rows(&self) -> &Dense {
        &self.rows
    }

    /// Two words for each of them, where they had ids.
    pub(crate) fn keys(&self) -> Option<&[u32]> {
        self.keys.as_deref()
    }

    /// Which of these rows each node of a graph has. Where there are no ids to go by, it must be the graph of training.
    fn seen(&self, graph: &MultiplexGraph, trained: Option<&Fingerprint>) -> Vec<Option<u32>> {
        let same = || {
            trained == Some(&graph.fingerprint().without_ids()) && graph.nodes() == self.rows.rows()
        };
        match (graph.ids(), &self.keys) {
            (Some(ids), Some(keys)) => {
                let (pairs, _) = keys.as_chunks::<2>();
                let key_of = |[low, high]: &[u32; 2]| u64::from(*high) << 32 | u64::from(*low);
                let rows: HashMap<u64, u32> = pairs.iter().map(key_of).zip(0..).collect();
                ids.iter().map(|id| rows.get(&key(id)).copied()).collect()
            }
            _ if same() => (0..graph.nodes() as u32).map(Some).collect(),
            _ => vec![None; graph.nodes()],
        }
    }

    /// How many nodes of a graph were there in training.
    pub(super) fn count(&self, graph: &MultiplexGraph, trained: Option<&Fingerprint>) -> usize {
        self.seen(graph, trained).iter().flatten().count()
    }

    /// What it means that none of a graph's nodes was there in training, and what to do; nothing where some were.
    pub(super) fn strangers(
        &self,
        graph: &MultiplexGraph,
        trained: Option<&Fingerprint>,
    ) -> Option<String> {
        if self.count(graph, trained) > 0 {
            return None;
        }
        let why = match (&self.keys, graph.ids()) {
            (None, _) => {
                "the model was trained on a graph without ids and knows that very graph alone; to embed others, train \
                 on a graph with ids"
            }
            (Some(_), None) => {
                "this graph has no ids; give its nodes those they had in training (`ids` in an .npz file, an `id` in \
                 a graph.toml, `ids=` in Python)"
            }
            (Some(_), Some(_)) => {
                "no id of this graph was there in training; if nodes are the same, give them the ids they had there"
            }
        };
        Some(format!(
            "none of {} nodes is known from training, so that all have a structure of zero and embeddings follow from \
             attributes alone: {why}",
            graph.nodes()
        ))
    }

    /// A graph with the rows its nodes have, or their neighbours give them, beside its attributes.
    pub(super) fn beside(
        &self,
        graph: &MultiplexGraph,
        trained: Option<&Fingerprint>,
    ) -> Result<MultiplexGraph> {
        let seen = self.seen(graph, trained);
        let whole = seen.len() == self.rows.rows()
            && seen.iter().zip(0..).all(|(seen, node)| *seen == Some(node));
        let rows = match whole {
            true => self.rows.clone(),
            false => {
                let layers: Vec<&Csr> = graph.layers().iter().map(|l| &l.adjacency).collect();
                Arc::new(structure::extend(&layers, &self.rows, &seen)?)
            }
        };
        graph.clone().with_structure(rows)
    }
}

/// FNV-1a, its bits stirred once more.
fn key(id: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted::Planted;

    #[test]
    fn nodes_of_training_keep_their_rows_and_new_ones_follow_their_neighbours() {
        let graph = Planted { nodes: 200, ..Planted::default() }.generate().unwrap();
        let ids = |from: usize| (from..from + 200).map(|n| format!("n{n}")).collect();
        let rows = Arc::new(graph.find_structure(8).unwrap());
        let trained = graph.clone().with_structure(rows.clone()).unwrap();
        let named = trained.clone().with_ids(ids(0)).unwrap();
        let known = Known::of(&named).unwrap();
        assert_eq!(Known::try_new((*rows).clone(), known.keys.clone()).unwrap(), known);
        assert!(Known::try_new((*rows).clone(), Some(vec![1])).is_err());

        let bare = graph.clone().with_ids(ids(0)).unwrap();
        assert_eq!(known.beside(&bare, None).unwrap().structure(), Some(&*rows));
        // Half of the nodes are new.
        let shifted = graph.clone().with_ids(ids(100)).unwrap();
        assert_eq!(known.count(&shifted, None), 100);
        let found = known.beside(&shifted, None).unwrap();
        let found = found.structure().unwrap();
        assert!((0..100).all(|n| found.row(n) == rows.row(n + 100)));
        assert!((100..200).any(|n| found.row(n).iter().any(|v| *v != 0.0)));
        // Numbers are no names: without ids, the graph must be the same.
        let unnamed = Known::of(&trained).unwrap();
        let print = graph.fingerprint().without_ids();
        assert_eq!(unnamed.count(&graph, Some(&print)), 200);
        assert_eq!(unnamed.count(&graph, None), 0);
        assert_eq!(known.count(&graph, Some(&print)), 200);
        assert_eq!(unnamed.count(&shifted, None), 0);

        let says = |known: &Known, graph: &MultiplexGraph| known.strangers(graph, None).unwrap();
        assert!(says(&known, &graph).contains("this graph has no ids"));
        assert!(says(&unnamed, &bare).contains("trained on a graph without ids"));
        let others = graph.clone().with_ids(ids(200)).unwrap();
        let words = says(&known, &others);
        assert!(words.starts_with("none of 200 nodes is known"), "{words}");
        assert!(words.contains("no id of this graph"), "{words}");
        assert_eq!(known.strangers(&shifted, None), None);
        assert_eq!(known.strangers(&graph, Some(&print)), None);
    }
}

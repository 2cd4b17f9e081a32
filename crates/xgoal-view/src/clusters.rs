//! What a cluster is: how large, how tight, who is typical of it, which attributes set it apart.

use serde::Serialize;
use std::cmp::Ordering;
use xgoal::matrix::{Dense, Matrix};

/// Typical members that are named.
const TYPICAL: usize = 5;
/// Attributes that are named.
const ATTRIBUTES: usize = 6;

/// One cluster in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cluster {
    /// Its number.
    pub id: u32,
    /// How many nodes are in it.
    pub size: usize,
    /// Mean cosine of its nodes to their mean direction.
    pub cohesion: f64,
    /// The nodes nearest to that direction.
    pub typical: Vec<u32>,
    /// Attributes that its nodes have more of than all nodes do, and by how much.
    pub attributes: Vec<Attribute>,
}

/// An attribute that sets a cluster apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its mean in the cluster.
    pub inside: f64,
    /// Its mean over all nodes.
    pub overall: f64,
}

/// The attributes of all nodes and their names.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// A row per node.
    pub values: &'a Matrix,
    /// A name per column, where they are known.
    pub names: Option<&'a [String]>,
}

impl Attributes<'_> {
    fn name(&self, column: usize) -> String {
        match self.names.and_then(|names| names.get(column)) {
            Some(name) => name.clone(),
            None => format!("attribute {column}"),
        }
    }
}

/// Describes every cluster that has nodes.
pub fn describe(
    points: &Dense,
    assignments: &[u32],
    attributes: Option<&Attributes<'_>>,
) -> Vec<Cluster> {
    let count = assignments.iter().max().map_or(0, |c| *c as usize + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    assignments.iter().zip(0..).for_each(|(c, node)| members[*c as usize].push(node));
    let overall = attributes.map(|a| means(a.values, 0..a.values.rows() as u32));
    let mut clusters = Vec::new();
    for (id, nodes) in members.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty()) {
        let cosines = cosines_to_mean(points, nodes);
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by(|a, b| cosines[*b].total_cmp(&cosines[*a]).then(a.cmp(b)));
        let attributes = attributes.zip(overall.as_ref());
        clusters.push(Cluster {
            id: id as u32,
            size: nodes.len(),
            cohesion: cosines.iter().sum::<f64>() / nodes.len() as f64,
            typical: order.iter().take(TYPICAL).map(|i| nodes[*i]).collect(),
            attributes: attributes.map_or_else(Vec::new, |(a, overall)| telling(a, nodes, overall)),
        });
    }
    clusters
}

fn cosines_to_mean(points: &Dense, nodes: &[u32]) -> Vec<f64> {
    let norm = |row: &[f32]| row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let mut mean = vec![0f64; points.cols()];
    for node in nodes {
        let row = points.row(*node as usize);
        let length = norm(row);
        if length > 0.0 {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v) / length);
        }
    }
    let length = mean.iter().map(|m| m * m).sum::<f64>().sqrt();
    let cosine = |node: &u32| {
        let row = points.row(*node as usize);
        let dot: f64 = row.iter().zip(&mean).map(|(v, m)| f64::from(*v) * m).sum();
        let lengths = norm(row) * length;
        if lengths > 0.0 { dot / lengths } else { 0.0 }
    };
    nodes.iter().map(cosine).collect()
}

/// The mean of every attribute over some nodes.
fn means(attributes: &Matrix, nodes: impl ExactSizeIterator<Item = u32>) -> Vec<f64> {
    let count = nodes.len() as f64;
    let mut sums = vec![0f64; attributes.cols()];
    for node in nodes {
        match attributes {
            Matrix::Dense(m) => {
                let row = m.row(node as usize).iter();
                sums.iter_mut().zip(row).for_each(|(s, v)| *s += f64::from(*v));
            }
            Matrix::Sparse(m) => {
                let (columns, values) = m.row(node as usize);
                columns.iter().zip(values).for_each(|(c, v)| sums[*c as usize] += f64::from(*v));
            }
        }
    }
    sums.iter_mut().for_each(|s| *s /= count);
    sums
}

/// The attributes whose mean inside is most above the overall one.
fn telling(attributes: &Attributes<'_>, nodes: &[u32], overall: &[f64]) -> Vec<Attribute> {
    let inside = means(attributes.values, nodes.iter().copied());
    let excess = |c: usize| inside[c] - overall[c];
    let mut order: Vec<usize> = (0..inside.len()).filter(|c| excess(*c) > 0.0).collect();
    let more =
        |a: &usize, b: &usize| -> Ordering { excess(*b).total_cmp(&excess(*a)).then(a.cmp(b)) };
    order.sort_by(more);
    order.truncate(ATTRIBUTES);
    let attribute = |c: &usize| Attribute {
        name: attributes.name(*c),
        inside: inside[*c],
        overall: overall[*c],
    };
    order.iter().map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_have_sizes_middles_and_attributes() {
        let points = Dense::from_vec(4, 2, vec![1.0, 0.0, 1.0, 1.0, 0.0, 2.0, 0.0, 1.0]).unwrap();
        let values = Matrix::Dense(
            Dense::from_vec(4, 2, vec![1.0, 0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 1.0]).unwrap(),
        );
        let names = ["red".to_string(), "blue".to_string()];
        let attributes = Attributes { values: &values, names: Some(&names) };
        let found = describe(&points, &[0, 0, 2, 2], Some(&attributes));
        assert_eq!(found.iter().map(|c| (c.id, c.size)).collect::<Vec<_>>(), [(0, 2), (2, 2)]);
        assert!((found[1].cohesion - 1.0).abs() < 1e-9);
        assert!(found[0].cohesion < 0.95);
        assert_eq!(found[0].attributes.len(), 1);
        assert_eq!(
            (found[0].attributes[0].name.as_str(), found[1].attributes[0].inside),
            ("red", 2.0)
        );
        assert_eq!(found[1].typical, [2, 3]);
    }
}

//! Structure as attributes of the graph's own: which nodes are near each other in its layers, as a few columns.
//!
//! ```text
//!     d_i^v = sum_j w_ij^v,    s^v = sum_i d_i^v
//!     F     = sum_v max(0, log(s^v w_ij^v / (d_i^v d_j^v)))     on edges alone;  F ~ U L U^T
//!     P     = mean over i's layers of w_ij^v / d_i^v
//!     Z     = (0.3 I + 0.7 P)^4 U |L|^(1/2),  each row at unit length
//! ```
//!
//! F is how much more often than by chance a walk goes from i to j (pointwise mutual information), so that neither a hub, nor a
//! layer that joins all with all, says much. U (N x columns) holds the eigenvectors of its eigenvalues of greatest size, by
//! subspace iteration from random columns; smoothing over neighbours takes out what edges happen to be there. Compared with other ways in `docs/decisions/structure.md`.
//!
//! Layers count as symmetric (a directed one as the sum with its transpose), without their diagonals and what is not
//! positive. Entries of F and P are made of the degrees when they are needed and never stored.
//!
//! Cost: `PRODUCTS + PASSES` products of (entries x columns) and a few of (N x columns^2). Memory: two tables of N x (columns + `SPARE`) and N
//! numbers per layer, all f32; a directed layer is copied.

mod relation;
#[cfg(test)]
mod tests;

use self::relation::Relations;
use crate::error::{Error, Result};
use crate::matrix::{Csr, Dense, Eigen, eigen, tall};
use crate::random::Stream;
use rayon::prelude::*;

/// Products with F.
const PRODUCTS: usize = 3;
/// Directions that are iterated beside those asked for, so that the last of these converge too.
const SPARE: usize = 16;
/// How often rows are smoothed.
const PASSES: usize = 4;
/// What a row keeps of its own each time.
const OWN: f32 = 0.3;
/// How often rows are handed on to unknown neighbours.
const STEPS: usize = 3;
/// Eigenvalues below this share of the largest are rounding.
const NO_VALUE: f64 = 1e-6;

/// A row of unit length per node, by the layers alone; zero for a node without any neighbour. The same for any number of threads.
///
/// Columns beyond what the graph has directions for are zero.
pub fn structure(layers: &[&Csr], columns: usize, stream: Stream) -> Result<Dense> {
    let relations = Relations::new(layers)?;
    let nodes = relations.nodes();
    if nodes == 0 || columns == 0 {
        return Ok(Dense::zeros(nodes, columns));
    }
    let width = columns.saturating_add(SPARE).min(nodes);
    let mut table = Dense::zeros(nodes, width);
    let start = |(i, v): (usize, &mut f32)| *v = stream.uniform(i as u64) as f32 - 0.5;
    table.values_mut().par_iter_mut().enumerate().for_each(start);
    let mut next = Dense::zeros(nodes, width);
    for product in 1..PRODUCTS {
        relations.information(&table, &mut next);
        // Only the last has to be orthonormal for what follows; before, columns have to stay apart.
        tall::orthonormalize(&mut next, &mut table, if product + 1 < PRODUCTS { 1 } else { 2 });
        std::mem::swap(&mut table, &mut next);
    }
    relations.information(&table, &mut next);
    let by = scaled_directions(tall::product(&table, &next), width, columns);
    // Never more than two tables at a time.
    drop(table);
    let mut table = Dense::zeros(nodes, columns);
    tall::turn(&next, &by, &mut table);
    drop(next);
    let mut next = Dense::zeros(nodes, columns);
    for _ in 0..PASSES {
        relations.smooth(&table, OWN, &mut next);
        std::mem::swap(&mut table, &mut next);
    }
    unit_rows(&mut table);
    Ok(table)
}

/// Bytes that finding so many columns takes at most: two tables, a number a node for each layer, and copies of directed layers.
pub(crate) fn bytes(layers: &[&Csr], columns: usize) -> u64 {
    let nodes = layers.first().map_or(0, |layer| layer.rows());
    let width = columns.saturating_add(SPARE).min(nodes);
    let of_layer = |layer: &&Csr| match relation::is_symmetric(layer) {
        true => 0,
        // Every entry in both directions, and the transpose that they are made of.
        false => 16 * layer.nnz() as u64 + 8 * nodes as u64 + layer.bytes(),
    };
    let copies: u64 = layers.iter().map(of_layer).sum();
    (8 * width + 4 * layers.len()) as u64 * nodes as u64 + copies
}

/// What turns `F Q` into so many columns of `U |L|^1/2`, given `T = Q^T F Q`: with `T = V L V^T`, U is about `F Q V L^-1`.
fn scaled_directions(mut projected: Vec<f64>, width: usize, columns: usize) -> Vec<f64> {
    for (i, j) in (0..width).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let mean = 0.5 * (projected[i * width + j] + projected[j * width + i]);
        (projected[i * width + j], projected[j * width + i]) = (mean, mean);
    }
    let Eigen { values, vectors } = eigen(projected, width);
    let mut by = vec![0.0; width * columns];
    let leading = values.iter().zip(vectors.chunks_exact(width)).take(columns);
    for (k, (value, vector)) in leading.enumerate() {
        let scale = if value.abs() > NO_VALUE * values[0].abs() {
            value.signum() / value.abs().sqrt()
        } else {
            0.0
        };
        vector.iter().enumerate().for_each(|(r, v)| by[r * columns + k] = scale * v);
    }
    by
}

/// Rows for nodes that were not there when structure was learnt.
///
/// `known` holds rows by [`structure`] and `seen` says which of them each node of `layers` has. The others get the mean of
/// their neighbours' rows, layer by layer and over their layers as in smoothing, three times over, so that nodes two
/// and three steps from a known one get something too; at unit length. Rows of known nodes stay as they are.
pub fn extend(layers: &[&Csr], known: &Dense, seen: &[Option<u32>]) -> Result<Dense> {
    let relations = Relations::new(layers)?;
    let nodes = relations.nodes();
    if seen.len() != nodes {
        let message = format!("structure: {} nodes seen or not, expected {nodes}", seen.len());
        return Err(Error::Data(message));
    }
    if let Some(bad) = seen.iter().flatten().find(|row| **row as usize >= known.rows()) {
        let message = format!("structure: known row {bad}, expected less than {}", known.rows());
        return Err(Error::Data(message));
    }
    let columns = known.cols();
    let mut table = Dense::zeros(nodes, columns);
    if columns == 0 {
        return Ok(table);
    }
    let rows = table.values_mut().chunks_exact_mut(columns);
    for (row, of) in rows.zip(seen).filter_map(|(row, of)| of.map(|of| (row, of))) {
        row.copy_from_slice(known.row(of as usize));
    }
    let unknown: Vec<u32> =
        (0..).zip(seen).filter_map(|(n, of)| of.is_none().then_some(n)).collect();
    let mut made = Dense::zeros(unknown.len(), columns);
    for step in 1..=STEPS {
        relations.means(&table, &unknown, &mut made);
        if step == STEPS {
            unit_rows(&mut made);
        }
        for (node, row) in unknown.iter().zip(made.values().chunks_exact(columns)) {
            table.values_mut()[*node as usize * columns..][..columns].copy_from_slice(row);
        }
    }
    Ok(table)
}

/// Divides each row by its length; rows of zeros stay.
fn unit_rows(table: &mut Dense) {
    let columns = table.cols();
    table.values_mut().par_chunks_mut(columns).for_each(|row| {
        let length = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|v| *v = (f64::from(*v) / length) as f32);
        }
    });
}

//! Rows of a sparse operand as lists of (index, value), after a mask, a scale and a permutation.

use super::kernels::Kernels;
use super::mask::Mask;
use crate::matrix::Csr;

/// A sparse matrix whose rows are combined with a dense table.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    /// The stored entries.
    pub matrix: &'a Csr<T>,
    /// For a transpose: where each entry stands in the matrix the mask was drawn for.
    pub positions: Option<&'a [u32]>,
    /// Which entries survive, and what survivors are multiplied by.
    pub mask: Option<(&'a Mask, T)>,
    /// Replaces each column index, so that the table is read through a permutation.
    pub permutation: Option<&'a [u32]>,
}

/// Room for one row's list, kept between rows.
#[derive(Debug, Default)]
pub struct Scratch<T> {
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<'a, T: Kernels> Rows<'a, T> {
    /// All entries as they are.
    pub fn plain(matrix: &'a Csr<T>) -> Self {
        Self { matrix, positions: None, mask: None, permutation: None }
    }

    /// `out += row r of the matrix times the table`.
    pub fn gather(&self, r: usize, table: &[T], scratch: &mut Scratch<T>, out: &mut [T]) {
        let (indices, values) = self.list(r, scratch);
        T::gather(table, indices, values, out);
    }

    /// `out += row times table` for two tables, whose outputs are the two halves.
    pub fn gather_two(
        &self,
        r: usize,
        tables: [&[T]; 2],
        scratch: &mut Scratch<T>,
        outs: [&mut [T]; 2],
    ) {
        let (indices, values) = self.list(r, scratch);
        for (table, out) in tables.into_iter().zip(outs) {
            T::gather(table, indices, values, out);
        }
    }

    fn list<'s>(&'s self, r: usize, scratch: &'s mut Scratch<T>) -> (&'s [u32], &'s [T]) {
        let (indices, values) = self.matrix.row(r);
        let start = self.matrix.indptr()[r];
        if self.mask.is_none() && self.permutation.is_none() {
            return (indices, values);
        }
        if scratch.indices.len() < indices.len() {
            scratch.indices.resize(indices.len(), 0);
            scratch.values.resize(indices.len(), T::default());
        }
        let (to, to_values) =
            (&mut scratch.indices[..indices.len()], &mut scratch.values[..indices.len()]);
        let mut kept = indices.len();
        match self.mask {
            None => {
                to.copy_from_slice(indices);
                to_values.copy_from_slice(values);
            }
            // Writing always and advancing by the bit avoids a branch that is wrong half the time.
            Some((mask, scale)) => {
                kept = 0;
                for (k, (&i, &v)) in indices.iter().zip(values).enumerate() {
                    let position = self.positions.map_or(start + k, |p| p[start + k] as usize);
                    to[kept] = i;
                    to_values[kept] = v * scale;
                    kept += mask.bit(position);
                }
            }
        }
        if let Some(permutation) = self.permutation {
            to[..kept].iter_mut().for_each(|i| *i = permutation[*i as usize]);
        }
        (&to[..kept], &to_values[..kept])
    }
}

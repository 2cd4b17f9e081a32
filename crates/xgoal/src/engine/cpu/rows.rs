//! Rows of a sparse operand as lists of (index, value), after a mask and a permutation.

use super::kernels::Kernels;
use super::mask::Mask;
use crate::matrix::Csr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A sparse matrix whose rows are combined with a dense table.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    /// The stored entries.
    pub matrix: &'a Csr<T>,
    /// For a transpose: where each entry stands in the matrix the mask was drawn for.
    pub positions: Option<&'a [u32]>,
    /// Which entries survive.
    pub mask: Option<&'a Mask>,
    /// Replaces each column index, so that the table is read through a permutation.
    pub permutation: Option<&'a [u32]>,
}

/// A list of entries: their columns and their values.
pub type List<'a, T> = (&'a [u32], &'a [T]);

/// A row's entries, told apart by a mask.
#[derive(Debug)]
pub struct Split<'a, T> {
    /// Those that survive.
    pub kept: List<'a, T>,
    /// The others.
    pub dropped: List<'a, T>,
}

impl<'a, T: Kernels> Rows<'a, T> {
    /// All entries as they are.
    pub fn plain(matrix: &'a Csr<T>) -> Self {
        Self { matrix, positions: None, mask: None, permutation: None }
    }

    /// `out += scale * row r of the matrix times the table`; with a mask, of its survivors.
    pub fn gather(&self, r: usize, table: &[T], scale: T, scratch: &mut Scratch<T>, out: &mut [T]) {
        let (indices, values) = self.list(r, scratch);
        T::gather(table, indices, values, scale, out);
    }

    fn list<'s>(&'s self, r: usize, scratch: &'s mut Scratch<T>) -> List<'s, T> {
        if self.mask.is_some() {
            return self.split(r, scratch).kept;
        }
        let (indices, values) = self.matrix.row(r);
        let Some(permutation) = self.permutation else {
            return (indices, values);
        };
        let to = scratch.indices(indices.len());
        to.iter_mut().zip(indices).for_each(|(to, i)| *to = permutation[*i as usize]);
        (to, values)
    }

    /// The entries of row `r`, told apart by the mask.
    pub fn split<'s>(&self, r: usize, scratch: &'s mut Scratch<T>) -> Split<'s, T> {
        let (indices, values) = self.matrix.row(r);
        let mask = self.mask.expect("a split needs a mask");
        let start = self.matrix.indptr()[r];
        let (to, to_values) = scratch.list(indices.len());
        // Survivors fill the list from its start, the others from its end. Writing to both places
        // and advancing by the bit avoids a branch that is wrong half the time.
        let (mut kept, mut end) = (0, indices.len());
        let mut place = |i: u32, v: T, survives: usize| {
            to[kept] = i;
            to[end - 1] = i;
            to_values[kept] = v;
            to_values[end - 1] = v;
            kept += survives;
            end -= 1 - survives;
        };
        match self.positions {
            None => {
                for (k, (&i, &v)) in indices.iter().zip(values).enumerate() {
                    place(i, v, mask.bit(start + k));
                }
            }
            Some(positions) => {
                let positions = &positions[start..start + indices.len()];
                for ((&i, &v), &position) in indices.iter().zip(values).zip(positions) {
                    place(i, v, mask.bit(position as usize));
                }
            }
        }
        let (to, rest) = to.split_at(kept);
        let (to_values, rest_values) = to_values.split_at(kept);
        Split { kept: (to, to_values), dropped: (rest, rest_values) }
    }
}

/// Room for one row's list, kept between rows.
#[derive(Debug, Default)]
pub struct Scratch<T> {
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Kernels> Scratch<T> {
    fn indices(&mut self, len: usize) -> &mut [u32] {
        if self.indices.len() < len {
            self.indices.resize(len, 0);
        }
        &mut self.indices[..len]
    }

    /// Room for `len` numbers; what they hold is not said.
    pub fn room(&mut self, len: usize) -> &mut [T] {
        if self.values.len() < len {
            self.values.resize(len, T::default());
        }
        &mut self.values[..len]
    }

    fn list(&mut self, len: usize) -> (&mut [u32], &mut [T]) {
        self.indices(len);
        self.room(len);
        (&mut self.indices[..len], &mut self.values[..len])
    }
}

/// Something for every thread of the pool, so that epochs allocate nothing once each has grown.
#[derive(Debug)]
pub struct PerThread<S>(Vec<Mutex<S>>);

impl<S: Default> PerThread<S> {
    /// One for each thread of the current pool.
    pub fn new() -> Self {
        Self((0..rayon::current_num_threads().max(1)).map(|_| Mutex::default()).collect())
    }

    /// Lends the calling thread's own.
    pub fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        let own = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        work(&mut lock(&self.0[own]))
    }
}

/// What the products of a graph need beside their results.
#[derive(Debug)]
pub struct Scratches<T> {
    threads: PerThread<Scratch<T>>,
    parts: Mutex<Vec<T>>,
}

impl<T: Kernels> Scratches<T> {
    /// For the threads of the current pool.
    pub fn new() -> Self {
        Self { threads: PerThread::new(), parts: Mutex::default() }
    }

    /// Lends the calling thread's scratch.
    pub fn with<R>(&self, work: impl FnOnce(&mut Scratch<T>) -> R) -> R {
        self.threads.with(work)
    }

    /// Lends room for partial sums of `len` numbers or more; what they hold is not said.
    pub fn parts(&self, len: usize) -> MutexGuard<'_, Vec<T>> {
        let mut parts = lock(&self.parts);
        if parts.len() < len {
            parts.resize(len, T::default());
        }
        parts
    }
}

/// A panic elsewhere leaves nothing in scratch that could be wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

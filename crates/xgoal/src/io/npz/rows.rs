//! Sparse matrices that lie in the file as they are kept, read without a second copy.

use std::io::{Read, Seek};

use zip::ZipArchive;

use super::{Group, Parsed};
use crate::error::ParseError;
use crate::io::build::{Budget, is_sparse_shape};
use crate::io::{archive, decode, npy};
use crate::matrix::{Csr, Matrix};

impl Group<'_> {
    /// The matrix, if its rows are sorted, without zeros or repetitions, and within f32.
    ///
    /// Anything else, also an error, is left to the way that can sort, add up and complain.
    pub(super) fn plain_rows<R: Read + Seek>(
        &self,
        (rows, cols): (usize, usize),
        room: u64,
        archive: &mut ZipArchive<R>,
        budget: &mut Budget,
    ) -> Option<Matrix> {
        let mut rest = budget.clone();
        let refused = || ParseError::new("not plain");
        let pointer = |v: f64| decode::whole(v).and_then(|v| usize::try_from(v).ok());
        let column = |v: f64| decode::whole(v).and_then(|v| u32::try_from(v).ok());
        let value = |v: f64| decode::to_f32(v).filter(|v| *v != 0.0);
        let indptr =
            self.list("indptr", room, archive, &mut rest, |v| pointer(v).ok_or_else(refused))?;
        let entries = *indptr.last()?;
        if !is_sparse_shape((rows, cols), entries) {
            return None;
        }
        let indices =
            self.list("indices", room, archive, &mut rest, |v| column(v).ok_or_else(refused))?;
        let values =
            self.list("data", room, archive, &mut rest, |v| value(v).ok_or_else(refused))?;
        let matrix = Csr::try_new(rows, cols, indptr, indices, values).ok()?;
        *budget = rest;
        Some(Matrix::Sparse(matrix))
    }

    fn list<R: Read + Seek, T>(
        &self,
        part: &str,
        room: u64,
        archive: &mut ZipArchive<R>,
        budget: &mut Budget,
        convert: impl FnMut(f64) -> Parsed<T>,
    ) -> Option<Vec<T>> {
        let key = self.find(part)?;
        let reader = archive::entry(archive, key.index, &key.name).ok()?;
        npy::parse_list(&key.name, reader, room, budget, convert).ok()
    }
}

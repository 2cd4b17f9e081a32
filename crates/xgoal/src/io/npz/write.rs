//! Writes archives whose arrays are stored as they are, so that a reader needs no memory to unpack them.
//!
//! A sparse matrix is asked for its rows several times, because each array's size stands before its values: it never
//! has to be in memory as a whole.

use std::io::{self, BufWriter, Seek, Write};

use zip::write::{SimpleFileOptions, ZipWriter};

use crate::io::npy;
use crate::matrix::Csr;

/// An archive in the making.
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

/// Some rows of a sparse matrix, one after another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// Where each row ends.
    pub ends: Vec<usize>,
    /// Column of each entry, rising within a row.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f32>,
}

/// A sparse matrix that can say its rows again and again.
pub trait SparseRows {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Hands on all rows from the first to the last.
    fn each(&self, hand: &mut dyn FnMut(&Rows) -> io::Result<()>) -> io::Result<()>;
}

/// Rows of a matrix in memory that are handed on at a time.
const CHUNK: usize = 1 << 14;

impl SparseRows for Csr {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    fn each(&self, hand: &mut dyn FnMut(&Rows) -> io::Result<()>) -> io::Result<()> {
        for from in (0..self.rows()).step_by(CHUNK) {
            let to = (from + CHUNK).min(self.rows());
            let pointers = &self.indptr()[from..=to];
            let entries = pointers[0]..pointers[pointers.len() - 1];
            hand(&Rows {
                ends: pointers[1..].iter().map(|end| end - entries.start).collect(),
                columns: self.indices()[entries].to_vec(),
                values: (from..to).flat_map(|r| self.row(r).1).copied().collect(),
            })?;
        }
        Ok(())
    }
}

impl<W: Write + Seek> NpzWriter<W> {
    /// An empty archive.
    pub fn new(writer: W) -> Self {
        Self { zip: ZipWriter::new(writer) }
    }

    /// Adds one array; `values` writes its bytes after the header.
    pub fn array(
        &mut self,
        key: &str,
        descr: &str,
        shape: &[usize],
        values: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        // Sizes are not known to the archive before the values are: room for zip64 is always left.
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(true);
        self.zip.start_file(format!("{key}.npy"), options)?;
        let mut writer = BufWriter::with_capacity(1 << 20, &mut self.zip);
        npy::write_header(&mut writer, descr, shape)?;
        values(&mut writer)?;
        writer.flush()
    }

    /// Adds a sparse matrix by rows, under the keys SciPy uses; returns its number of entries.
    ///
    /// An empty `name` makes the file one that `scipy.sparse.load_npz` reads.
    pub fn sparse(&mut self, name: &str, matrix: &impl SparseRows) -> io::Result<usize> {
        let key = |part: &str| match name {
            "" => part.to_owned(),
            name => format!("{name}.{part}"),
        };
        let (rows, cols) = matrix.shape();
        let mut entries = 0;
        matrix.each(&mut |part| {
            entries += part.columns.len();
            Ok(())
        })?;
        // SciPy wants pointers and indices of one type, the smaller one where it suffices.
        let small = entries.max(rows).max(cols) < i32::MAX as usize;
        let descr = if small { "<i4" } else { "<i8" };
        let whole = |writer: &mut dyn Write, numbers: &[u64]| match small {
            true => npy::write_numbers(writer, numbers, |v| (v as u32).to_le_bytes()),
            false => npy::write_numbers(writer, numbers, u64::to_le_bytes),
        };
        self.array(&key("format"), "|S3", &[], |w| w.write_all(b"csr"))?;
        self.array(&key("shape"), "<i8", &[2], |w| {
            npy::write_numbers(w, &[rows as u64, cols as u64], u64::to_le_bytes)
        })?;
        self.array(&key("indptr"), descr, &[rows + 1], |w| {
            let mut before = 0;
            whole(w, &[0])?;
            matrix.each(&mut |part| {
                let ends: Vec<u64> = part.ends.iter().map(|end| before + *end as u64).collect();
                before += part.columns.len() as u64;
                whole(w, &ends)
            })
        })?;
        self.array(&key("indices"), descr, &[entries], |w| {
            matrix.each(&mut |part| match small {
                true => npy::write_numbers(w, &part.columns, u32::to_le_bytes),
                false => npy::write_numbers(w, &part.columns, |c| u64::from(c).to_le_bytes()),
            })
        })?;
        self.array(&key("data"), "<f4", &[entries], |w| {
            matrix.each(&mut |part| npy::write_numbers(w, &part.values, f32::to_le_bytes))
        })?;
        Ok(entries)
    }

    /// Closes the archive.
    pub fn finish(self) -> io::Result<W> {
        Ok(self.zip.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::arrays::Array;
    use crate::io::build::Budget;
    use crate::matrix::Matrix;

    /// Three rows in two parts.
    struct Parts;

    impl SparseRows for Parts {
        fn shape(&self) -> (usize, usize) {
            (3, 3)
        }

        fn each(&self, hand: &mut dyn FnMut(&Rows) -> io::Result<()>) -> io::Result<()> {
            hand(&Rows { ends: vec![1, 1], columns: vec![2], values: vec![0.5] })?;
            hand(&Rows { ends: vec![2], columns: vec![0, 1], values: vec![1.0, 2.0] })
        }
    }

    #[test]
    fn a_sparse_matrix_in_parts_is_read_back() {
        let mut npz = NpzWriter::new(io::Cursor::new(Vec::new()));
        assert_eq!(npz.sparse("", &Parts).unwrap(), 3);
        let bytes = npz.finish().unwrap().into_inner();
        let arrays =
            super::super::parse("a", io::Cursor::new(bytes), &mut Budget::of(1 << 20)).unwrap();
        let entries = vec![(0, 2, 0.5), (2, 0, 1.0), (2, 1, 2.0)];
        let expected = Csr::from_triplets(3, 3, entries).unwrap();
        assert_eq!(arrays.len(), 1);
        assert_eq!(arrays[0].array, Array::Matrix(Matrix::Sparse(expected)));
    }
}

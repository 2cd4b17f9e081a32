use super::Dense;
use crate::error::{Error, ParseError, Result};

/// Compressed sparse rows.
///
/// ```text
///            0 1 2
///     row 0 [ . 5 . ]      indptr  = [0, 1, 3]
///     row 1 [ 7 . 9 ]      indices = [1, 0, 2]
///                          values  = [5, 7, 9]
/// ```
///
/// Column indices rise strictly within a row, so there are no duplicates. Stored zeros are allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T = f32> {
    rows: usize,
    cols: usize,
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy + Default> Csr<T> {
    /// Checks and wraps the three arrays. Rows whose columns do not rise strictly are refused.
    pub fn try_new(
        rows: usize,
        cols: usize,
        indptr: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<T>,
    ) -> std::result::Result<Self, ParseError> {
        if indptr.len() != rows + 1 || indptr[0] != 0 {
            return Err(ParseError::new(format!(
                "sparse matrix: {} row pointers starting at {:?}, expected {} starting at 0",
                indptr.len(),
                indptr.first(),
                rows + 1
            )));
        }
        if indices.len() != values.len() || indptr[rows] != indices.len() {
            return Err(ParseError::new(format!(
                "sparse matrix: {} column indices, {} values and a last row pointer of {}; \
                 the three must be equal",
                indices.len(),
                values.len(),
                indptr[rows]
            )));
        }
        for r in 0..rows {
            let (from, to) = (indptr[r], indptr[r + 1]);
            if from > to || to > indices.len() {
                return Err(ParseError::new(format!(
                    "sparse matrix: row {r} has pointers {from} to {to}, expected rising \
                     pointers up to {}",
                    indices.len()
                )));
            }
            let row = &indices[from..to];
            if let Some(bad) = row.iter().find(|c| **c as usize >= cols) {
                return Err(ParseError::new(format!(
                    "sparse matrix: row {r} has column {bad}, expected less than {cols}"
                )));
            }
            if row.windows(2).any(|w| w[0] >= w[1]) {
                return Err(ParseError::new(format!(
                    "sparse matrix: row {r} has columns that do not rise strictly"
                )));
            }
        }
        Ok(Self { rows, cols, indptr, indices, values })
    }

    /// A matrix without stored entries.
    pub fn empty(rows: usize, cols: usize) -> Self {
        Self { rows, cols, indptr: vec![0; rows + 1], indices: Vec::new(), values: Vec::new() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Where each row starts; one more entry than rows.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Column of each stored entry.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Value of each stored entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Values to be changed in place; the pattern stays.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Row pointers, column indices and values.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<T>) {
        (self.indptr, self.indices, self.values)
    }

    /// Columns and values of one row.
    pub fn row(&self, r: usize) -> (&[u32], &[T]) {
        let range = self.indptr[r]..self.indptr[r + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The transpose, and for each of its entries the position of that entry in `self`.
    pub fn transpose_with_positions(&self) -> (Self, Vec<u32>) {
        let mut positions = vec![0u32; self.nnz()];
        let transpose = self.transpose_and(|slot, at| positions[slot] = at as u32);
        (transpose, positions)
    }

    /// The transpose.
    pub fn transpose(&self) -> Self {
        self.transpose_and(|_, _| {})
    }

    /// Counting sort by column; `moved` hears the new and the old position of each entry.
    fn transpose_and(&self, mut moved: impl FnMut(usize, usize)) -> Self {
        let mut indptr = vec![0usize; self.cols + 1];
        for &c in &self.indices {
            indptr[c as usize + 1] += 1;
        }
        for c in 0..self.cols {
            indptr[c + 1] += indptr[c];
        }
        let mut next = indptr.clone();
        let mut indices = vec![0u32; self.nnz()];
        let mut values = vec![T::default(); self.nnz()];
        for r in 0..self.rows {
            for at in self.indptr[r]..self.indptr[r + 1] {
                let slot = &mut next[self.indices[at] as usize];
                indices[*slot] = r as u32;
                values[*slot] = self.values[at];
                moved(*slot, at);
                *slot += 1;
            }
        }
        Self { rows: self.cols, cols: self.rows, indptr, indices, values }
    }

    /// The same entries in a larger matrix.
    pub(crate) fn enlarged(mut self, rows: usize, cols: usize) -> Self {
        assert!(rows >= self.rows && cols >= self.cols, "rows and columns are only added");
        self.indptr.resize(rows + 1, self.indices.len());
        Self { rows, cols, ..self }
    }

    /// The entries, by row and column, that are to be kept.
    pub(crate) fn filtered(&self, keep: impl Fn(u32, u32) -> bool) -> Self {
        let mut kept = Self::empty(self.rows, self.cols);
        for r in 0..self.rows {
            let (columns, row) = self.row(r);
            for (c, v) in columns.iter().zip(row).filter(|(c, _)| keep(r as u32, **c)) {
                kept.indices.push(*c);
                kept.values.push(*v);
            }
            kept.indptr[r + 1] = kept.indices.len();
        }
        kept
    }

    /// The same pattern with every value mapped.
    pub fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> Csr<U> {
        self.map_entries(|_, _, v| f(v))
    }

    /// The same pattern with every value replaced by a function of its row, column and value.
    pub fn map_entries<U: Copy>(&self, f: impl Fn(usize, usize, T) -> U) -> Csr<U> {
        let mut values = Vec::with_capacity(self.nnz());
        for r in 0..self.rows {
            let (cols, row) = self.row(r);
            values.extend(cols.iter().zip(row).map(|(c, v)| f(r, *c as usize, *v)));
        }
        Csr {
            rows: self.rows,
            cols: self.cols,
            indptr: self.indptr.clone(),
            indices: self.indices.clone(),
            values,
        }
    }
}

impl Csr<f32> {
    /// Sorts (row, column, value) triplets and sums those at the same place.
    pub fn from_triplets(rows: usize, cols: usize, entries: Vec<(u32, u32, f32)>) -> Result<Self> {
        if let Some(bad) = entries.iter().find(|e| e.0 as usize >= rows || e.1 as usize >= cols) {
            return Err(Error::Data(format!(
                "sparse matrix: an entry at ({}, {}), expected row < {rows} and column < {cols}",
                bad.0, bad.1
            )));
        }
        Ok(Self::gather(rows, cols, entries, |a, b| a + b).0)
    }

    /// The non-zeros of a dense matrix.
    pub fn from_dense(dense: &Dense) -> Self {
        let mut matrix = Csr::empty(dense.rows(), dense.cols());
        for r in 0..dense.rows() {
            for (c, v) in dense.row(r).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                matrix.indices.push(c as u32);
                matrix.values.push(*v);
            }
            matrix.indptr[r + 1] = matrix.indices.len();
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Csr {
        Csr::from_triplets(2, 3, vec![(1, 2, 9.0), (0, 1, 5.0), (1, 0, 7.0)]).unwrap()
    }

    #[test]
    fn triplets_are_sorted_and_summed() {
        assert_eq!(small().indptr(), [0, 1, 3]);
        assert_eq!(small().indices(), [1, 0, 2]);
        let summed = Csr::from_triplets(1, 1, vec![(0, 0, 1.0), (0, 0, 2.0)]).unwrap();
        assert_eq!(summed.values(), [3.0]);
        assert!(Csr::from_triplets(1, 1, vec![(0, 1, 1.0)]).is_err());
    }

    #[test]
    fn transpose_keeps_positions() {
        let m = small();
        let (t, positions) = m.transpose_with_positions();
        assert_eq!((t.rows(), t.cols()), (3, 2));
        assert_eq!(t.row(2), (&[1u32][..], &[9.0f32][..]));
        for (at, &p) in positions.iter().enumerate() {
            assert_eq!(t.values()[at], m.values()[p as usize]);
        }
        assert_eq!(t.transpose(), m);
    }

    #[test]
    fn broken_arrays_are_refused() {
        let refused = |indptr: Vec<usize>, indices: Vec<u32>| {
            let values = vec![1.0f32; indices.len()];
            Csr::try_new(2, 3, indptr, indices, values).unwrap_err().message
        };
        assert!(refused(vec![0, 1], vec![0]).contains("row pointers"));
        assert!(refused(vec![0, 2, 1], vec![0]).contains("pointers"));
        assert!(refused(vec![0, 0, 1], vec![3]).contains("less than 3"));
        assert!(refused(vec![0, 2, 2], vec![1, 1]).contains("strictly"));
        assert!(refused(vec![0, 1, 3], vec![0]).contains("equal"));
    }
}

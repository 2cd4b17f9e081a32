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
/// Column indices rise strictly within a row, so there are no duplicates. Stored zeros are allowed. Where all values are the
/// same, as in a layer without weights, they take no room.
#[derive(Debug, Clone)]
pub struct Csr<T = f32> {
    rows: usize,
    cols: usize,
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Values<T>,
}

#[derive(Debug, Clone)]
enum Values<T> {
    /// One for each entry.
    Each(Vec<T>),
    /// The same for all, as often as the longest row has entries: every row is a slice of it.
    Same(Vec<T>),
}

impl<T: Copy + Default + PartialEq> Values<T> {
    fn of(mut each: Vec<T>, indptr: &[usize]) -> Self {
        match each.first().copied() {
            // A zero may be one with a sign.
            Some(first) if first != T::default() && each.iter().all(|v| *v == first) => {
                each.truncate(longest(indptr));
                each.shrink_to_fit();
                Self::Same(each)
            }
            _ => Self::Each(each),
        }
    }
}

/// Entries of the longest row.
fn longest(indptr: &[usize]) -> usize {
    indptr.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
}

impl<T: Copy + Default + PartialEq> PartialEq for Csr<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.cols, &self.indptr, &self.indices)
            == (other.rows, other.cols, &other.indptr, &other.indices)
            && self.values().eq(other.values())
    }
}

impl<T: Copy + Default + PartialEq> Csr<T> {
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
        let values = Values::of(values, &indptr);
        Ok(Self { rows, cols, indptr, indices, values })
    }

    /// A matrix without stored entries.
    pub fn empty(rows: usize, cols: usize) -> Self {
        let values = Values::Each(Vec::new());
        Self { rows, cols, indptr: vec![0; rows + 1], indices: Vec::new(), values }
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
    pub fn values(&self) -> impl Iterator<Item = T> {
        (0..self.rows).flat_map(|r| self.row(r).1.iter().copied())
    }

    /// The value of all entries, where they have the same and there is one.
    pub fn same_value(&self) -> Option<T> {
        match &self.values {
            Values::Same(same) => same.first().copied(),
            Values::Each(_) => None,
        }
    }

    /// Values to be changed in place; the pattern stays. Each entry has one of its own from now on.
    pub fn values_mut(&mut self) -> &mut [T] {
        if let Values::Same(same) = &self.values {
            self.values = Values::Each(vec![same[0]; self.indices.len()]);
        }
        let (Values::Each(values) | Values::Same(values)) = &mut self.values;
        values
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> u64 {
        let (Values::Each(values) | Values::Same(values)) = &self.values;
        (size_of_val(&self.indptr[..]) + size_of_val(&self.indices[..]) + size_of_val(&values[..]))
            as u64
    }

    /// Row pointers, column indices and values.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<T>) {
        let values = match self.values {
            Values::Each(values) => values,
            Values::Same(same) => vec![same[0]; self.indices.len()],
        };
        (self.indptr, self.indices, values)
    }

    /// Columns and values of one row.
    pub fn row(&self, r: usize) -> (&[u32], &[T]) {
        let range = self.indptr[r]..self.indptr[r + 1];
        let columns = &self.indices[range.clone()];
        match &self.values {
            Values::Each(values) => (columns, &values[range]),
            Values::Same(same) => (columns, &same[..columns.len()]),
        }
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
        let mut values = match &self.values {
            Values::Each(values) => Values::Each(vec![T::default(); values.len()]),
            Values::Same(same) => Values::Same(vec![same[0]; longest(&indptr)]),
        };
        for r in 0..self.rows {
            for at in self.indptr[r]..self.indptr[r + 1] {
                let slot = &mut next[self.indices[at] as usize];
                indices[*slot] = r as u32;
                if let (Values::Each(from), Values::Each(to)) = (&self.values, &mut values) {
                    to[*slot] = from[at];
                }
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
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for r in 0..self.rows {
            let (columns, row) = self.row(r);
            for (c, v) in columns.iter().zip(row).filter(|(c, _)| keep(r as u32, **c)) {
                indices.push(*c);
                values.push(*v);
            }
            indptr.push(indices.len());
        }
        let values = Values::of(values, &indptr);
        Self { rows: self.rows, cols: self.cols, indptr, indices, values }
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
            values: Values::Each(values),
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
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for r in 0..dense.rows() {
            for (c, v) in dense.row(r).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(c as u32);
                values.push(*v);
            }
            indptr.push(indices.len());
        }
        let values = Values::of(values, &indptr);
        Self { rows: dense.rows(), cols: dense.cols(), indptr, indices, values }
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
        assert_eq!(summed.row(0).1, [3.0]);
        assert!(Csr::from_triplets(1, 1, vec![(0, 1, 1.0)]).is_err());
    }

    #[test]
    fn transpose_keeps_positions() {
        let m = small();
        let (t, positions) = m.transpose_with_positions();
        assert_eq!((t.rows(), t.cols()), (3, 2));
        assert_eq!(t.row(2), (&[1u32][..], &[9.0f32][..]));
        let values: Vec<f32> = m.values().collect();
        assert!(t.values().zip(&positions).all(|(v, p)| v == values[*p as usize]));
        assert_eq!(t.transpose(), m);
    }

    #[test]
    fn values_that_are_the_same_take_no_room_and_are_there_all_the_same() {
        let entries = |last: f32| vec![(0, 1, 2.0), (0, 2, 2.0), (1, 0, last), (1, 2, 2.0)];
        let of = |last| Csr::from_triplets(2, 3, entries(last)).unwrap();
        let (same, mixed) = (of(2.0), of(3.0));
        assert_eq!((same.same_value(), mixed.same_value()), (Some(2.0), None));
        assert_eq!(mixed.bytes() - same.bytes(), 2 * 4);
        assert_eq!(same.values().collect::<Vec<_>>(), [2.0; 4]);
        assert_eq!(same.row(1), (&[0u32, 2][..], &[2.0f32, 2.0][..]));
        // The longest row of the transpose is another one.
        let wide = Csr::from_triplets(3, 1, (0..3).map(|r| (r, 0, 2.0)).collect()).unwrap();
        assert_eq!(wide.transpose().row(0).1, [2.0; 3]);
        assert_eq!(wide.transpose().transpose(), wide);
        assert_eq!(same.clone().into_parts().2, [2.0; 4]);
        assert_eq!(same.map(|v| v), same);
        let (mut one, mut other) = (same.clone(), mixed.clone());
        one.values_mut()[2] = 3.0;
        assert_eq!(one, mixed);
        other.values_mut()[2] = 2.0;
        assert_eq!(other, same);
        assert_eq!(mixed.filtered(|r, c| (r, c) != (1, 0)).same_value(), Some(2.0));
        let zeros = Csr::try_new(1, 2, vec![0, 2], vec![0, 1], vec![0.0f32, -0.0]).unwrap();
        assert_eq!(zeros.same_value(), None);
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

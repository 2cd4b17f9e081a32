//! Sparse matrices put together from entries in any order, and made symmetric.

use super::Csr;
use rayon::prelude::*;

/// Rows one thread works on at a time.
const CHUNK: usize = 1 << 10;

impl Csr<f32> {
    /// Sorts entries, which must lie within the shape, and merges those at the same place in their order.
    ///
    /// Also says how many entries were merged into an earlier one.
    pub(crate) fn gather(
        rows: usize,
        cols: usize,
        entries: Vec<(u32, u32, f32)>,
        merge: impl Fn(f32, f32) -> f32 + Sync,
    ) -> (Self, usize) {
        let mut starts = vec![0usize; rows + 1];
        entries.iter().for_each(|e| starts[e.0 as usize + 1] += 1);
        (0..rows).for_each(|r| starts[r + 1] += starts[r]);
        let mut next = starts.clone();
        let mut indices = vec![0u32; entries.len()];
        let mut values = vec![0f32; entries.len()];
        for (r, c, v) in &entries {
            let slot = &mut next[*r as usize];
            indices[*slot] = *c;
            values[*slot] = *v;
            *slot += 1;
        }
        let all = entries.len();
        drop((entries, next));

        let mut pieces = pieces(&starts, &mut indices, &mut values);
        let lengths: Vec<Vec<usize>> = pieces
            .par_iter_mut()
            .map(|piece| {
                let mut sorted = Vec::new();
                let rows = piece.rows.clone();
                let tidy = |r| piece.tidy_row(&starts, r, &mut sorted, &merge);
                rows.map(tidy).collect()
            })
            .collect();
        let mut kept = 0;
        let mut indptr = Vec::with_capacity(rows + 1);
        indptr.push(0);
        for (r, length) in lengths.into_iter().flatten().enumerate() {
            // Rows only move forward.
            if kept < starts[r] {
                indices.copy_within(starts[r]..starts[r] + length, kept);
                values.copy_within(starts[r]..starts[r] + length, kept);
            }
            kept += length;
            indptr.push(kept);
        }
        indices.truncate(kept);
        values.truncate(kept);
        let matrix = Self::try_new(rows, cols, indptr, indices, values).expect("sorted rows");
        (matrix, all - kept)
    }

    /// The matrix with every entry in both directions; where both were there, `merge` says what they become.
    ///
    /// The matrix must be square. Its diagonal stays as it is.
    pub(crate) fn symmetric_by(&self, merge: impl Fn(f32, f32) -> f32 + Sync) -> Self {
        let transpose = self.transpose();
        let union = |r: usize, hand: &mut dyn FnMut(u32, f32)| {
            let ((ac, av), (bc, bv)) = (self.row(r), transpose.row(r));
            let (mut a, mut b) = (0, 0);
            while a < ac.len() || b < bc.len() {
                let (left, right) = (ac.get(a), bc.get(b));
                match (left, right) {
                    (Some(l), Some(r_)) if l == r_ => {
                        let diagonal = *l as usize == r;
                        hand(*l, if diagonal { av[a] } else { merge(av[a], bv[b]) });
                        (a, b) = (a + 1, b + 1);
                    }
                    (Some(l), right) if right.is_none_or(|right| l < right) => {
                        hand(*l, av[a]);
                        a += 1;
                    }
                    _ => {
                        hand(bc[b], bv[b]);
                        b += 1;
                    }
                }
            }
        };
        let rows = self.rows();
        let count = |r| {
            let mut count = 0;
            union(r, &mut |_, _| count += 1);
            count
        };
        let counts: Vec<usize> = (0..rows).into_par_iter().with_min_len(CHUNK).map(count).collect();
        let mut indptr = vec![0usize; rows + 1];
        counts.iter().enumerate().for_each(|(r, count)| indptr[r + 1] = indptr[r] + count);
        let mut indices = vec![0u32; indptr[rows]];
        let mut values = vec![0f32; indptr[rows]];
        pieces(&indptr, &mut indices, &mut values).par_iter_mut().for_each(|piece| {
            let mut at = 0;
            for r in piece.rows.clone() {
                union(r, &mut |c, v| {
                    (piece.indices[at], piece.values[at]) = (c, v);
                    at += 1;
                });
            }
        });
        Self::try_new(rows, self.cols(), indptr, indices, values).expect("sorted rows")
    }
}

/// Some rows of a matrix in the making.
struct Piece<'a> {
    rows: std::ops::Range<usize>,
    indices: &'a mut [u32],
    values: &'a mut [f32],
}

impl Piece<'_> {
    /// Sorts a row and merges entries at the same place; returns how many are left.
    fn tidy_row(
        &mut self,
        starts: &[usize],
        row: usize,
        sorted: &mut Vec<(u32, f32)>,
        merge: &impl Fn(f32, f32) -> f32,
    ) -> usize {
        let base = starts[self.rows.start];
        let range = starts[row] - base..starts[row + 1] - base;
        let (indices, values) = (&mut self.indices[range.clone()], &mut self.values[range]);
        if indices.is_sorted_by(|a, b| a < b) {
            return indices.len();
        }
        sorted.clear();
        sorted.extend(indices.iter().copied().zip(values.iter().copied()));
        // Stable, so that entries at the same place are merged in their order.
        sorted.sort_by_key(|e| e.0);
        let mut kept = 0;
        for same in sorted.chunk_by(|a, b| a.0 == b.0) {
            indices[kept] = same[0].0;
            values[kept] = same[1..].iter().fold(same[0].1, |sum, e| merge(sum, e.1));
            kept += 1;
        }
        kept
    }
}

fn pieces<'a>(
    starts: &[usize],
    mut indices: &'a mut [u32],
    mut values: &'a mut [f32],
) -> Vec<Piece<'a>> {
    let rows = starts.len() - 1;
    let mut pieces = Vec::with_capacity(rows.div_ceil(CHUNK));
    for from in (0..rows).step_by(CHUNK) {
        let to = (from + CHUNK).min(rows);
        let (i, rest) = indices.split_at_mut(starts[to] - starts[from]);
        indices = rest;
        let (v, rest) = values.split_at_mut(starts[to] - starts[from]);
        values = rest;
        pieces.push(Piece { rows: from..to, indices: i, values: v });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    fn entries(count: u64, size: u64) -> Vec<(u32, u32, f32)> {
        let s = Stream::new(8, Purpose::Planted);
        let place = |i| s.below(i, size) as u32;
        (0..count).map(|i| (place(3 * i), place(3 * i + 1), 1.0 + (i % 7) as f32)).collect()
    }

    #[test]
    fn entries_are_merged_as_in_a_map() {
        for (count, size) in [(0, 5), (400, 12), (5000, 3000)] {
            let entries = entries(count, size);
            let mut map: BTreeMap<(u32, u32), f32> = BTreeMap::new();
            for (r, c, v) in &entries {
                map.entry((*r, *c)).and_modify(|sum| *sum += v).or_insert(*v);
            }
            let size = size as usize;
            let (found, merged) = Csr::gather(size, size, entries, |a, b| a + b);
            assert_eq!(merged, count as usize - map.len());
            let listed = (0..size).flat_map(|r| {
                let (columns, values) = found.row(r);
                columns.iter().zip(values).map(move |(c, v)| ((r as u32, *c), *v))
            });
            assert_eq!(listed.collect::<BTreeMap<_, _>>(), map);
        }
    }

    #[test]
    fn both_directions_are_there_and_the_diagonal_is_not_doubled() {
        let triplets = vec![(0, 0, 3.0), (0, 1, 1.0), (1, 0, 4.0), (2, 1, 5.0)];
        let matrix = Csr::from_triplets(3, 3, triplets).unwrap();
        let summed = matrix.symmetric_by(|a, b| a + b);
        assert_eq!(summed, summed.transpose());
        assert_eq!(summed.row(0), (&[0u32, 1][..], &[3.0f32, 5.0][..]));
        assert_eq!(summed.row(1), (&[0u32, 2][..], &[5.0f32, 5.0][..]));
        assert_eq!(matrix.symmetric_by(f32::max).into_parts().2, [3.0, 4.0, 4.0, 5.0, 5.0]);
        let large = Csr::gather(3000, 3000, entries(9000, 3000), f32::max).0;
        let both = large.symmetric_by(f32::max);
        assert_eq!(both, both.transpose());
    }
}

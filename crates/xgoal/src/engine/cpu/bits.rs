//! Dense 0/1 layers as bits, and their product by table look-up.
//!
//! A layer of which every entry is 1 before normalisation is `A = R B R` with B binary and R diagonal.
//! Where B is dense, a bit per entry is smaller than an index, a dropped view is `B & mask`, and a
//! product with bits needs no multiplication: for four columns at a time all sixteen sums of the four
//! scaled rows of the table are laid out once, and every row of B picks one of them by its four bits.
//!
//! ```text
//!     columns j .. j+3 of B:  0110  picks  x[j+1] + x[j+2]  out of 16 sums
//! ```
//!
//! B is cut into tiles of 64 x 64 bits and tiles without a bit are not kept. Nodes are ordered so that
//! equal rows stand together, which turns a layer of cliques into few full tiles. Sixteen columns of the
//! table are worked on at a time, so that the sums of a tile (16 x 16 of them) stay in the fastest cache.

use super::kernels::{Kernels, Work};
use super::mask::Mask;
use crate::matrix::Csr;
use rayon::prelude::*;

/// Bits along one side of a tile.
pub const TILE: usize = 64;

/// Row tiles that share one set of sums.
const SHARED: usize = 4;

/// Columns of the table worked on at a time.
const STRIP: usize = 16;

/// Some columns of a row, where a vector register wants them.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Strip<T>([T; STRIP]);

impl<T: Kernels> Strip<T> {
    #[inline(always)]
    fn zero() -> Self {
        Self([T::default(); STRIP])
    }

    #[inline(always)]
    fn add(&mut self, other: &Self) {
        for i in 0..STRIP {
            self.0[i] += other.0[i];
        }
    }
}

/// A binary matrix in tiles.
#[derive(Debug)]
pub struct Bits {
    nodes: usize,
    /// The node at each position.
    order: Vec<u32>,
    /// The position of each node.
    position: Vec<u32>,
    /// Tiles by row, for `B x`.
    rows: Index,
    /// Tiles by column, for `B^T x`.
    columns: Index,
    /// 64 words per tile, a word per row of the tile.
    words: Vec<u64>,
    /// 64 words per tile, a word per column of the tile.
    across: Vec<u64>,
}

/// Which tiles a row (or column) of tiles holds.
#[derive(Debug, Default)]
struct Index {
    starts: Vec<usize>,
    /// The tile's place on the other side, rising within a row, and its number.
    tiles: Vec<(u32, u32)>,
}

impl Index {
    fn of(&self, row: usize) -> &[(u32, u32)] {
        match self.starts.get(row..row + 2) {
            Some(bounds) => &self.tiles[bounds[0]..bounds[1]],
            None => &[],
        }
    }
}

/// Where nodes and tiles go.
struct Layout {
    order: Vec<u32>,
    position: Vec<u32>,
    rows: Index,
}

impl Layout {
    /// Finds the tiles that hold a bit; none if less than a third of their bits would be set, where
    /// look-ups cost more than they save.
    fn of(matrix: &Csr, group: &[u32]) -> Option<Self> {
        if !Bits::can_hold(matrix) {
            return None;
        }
        let nodes = matrix.rows();
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.sort_by_key(|n| group[*n as usize]);
        let mut position = vec![0u32; nodes];
        for (at, n) in order.iter().enumerate() {
            position[*n as usize] = at as u32;
        }
        let most = 3 * matrix.nnz() / (TILE * TILE);
        let mut rows = Index { starts: vec![0], tiles: Vec::new() };
        let mut seen = vec![false; nodes.div_ceil(TILE)];
        for members in order.chunks(TILE) {
            seen.fill(false);
            for &n in members {
                for &c in matrix.row(n as usize).0 {
                    seen[position[c as usize] as usize / TILE] = true;
                }
            }
            for (column, _) in seen.iter().enumerate().filter(|(_, seen)| **seen) {
                rows.tiles.push((column as u32, rows.tiles.len() as u32));
            }
            if rows.tiles.len() > most {
                return None;
            }
            rows.starts.push(rows.tiles.len());
        }
        Some(Self { order, position, rows })
    }
}

/// Which way a product reads the matrix.
#[derive(Debug, Clone, Copy)]
pub enum Direction {
    /// `B x`.
    Forward,
    /// `B^T x`.
    Backward,
}

impl Bits {
    /// Whether a matrix could be worth it at all: a small one never is, and full tiles need entries.
    pub fn can_hold(matrix: &Csr) -> bool {
        matrix.rows() >= 4 * TILE && matrix.nnz() >= matrix.rows() * TILE / 3
    }

    /// How many tiles the pattern of a matrix takes, if they are dense enough to be worth it.
    pub fn count_tiles(matrix: &Csr, group: &[u32]) -> Option<usize> {
        Some(Layout::of(matrix, group)?.rows.tiles.len())
    }

    /// The pattern of a matrix as tiles, if they are dense enough to be worth it.
    ///
    /// `group` names equal rows by equal numbers.
    pub fn of(matrix: &Csr, group: &[u32]) -> Option<Self> {
        let Layout { order, position, rows } = Layout::of(matrix, group)?;
        let mut words = vec![0u64; rows.tiles.len() * TILE];
        let mut number = vec![0; order.len().div_ceil(TILE)];
        for (r, members) in order.chunks(TILE).enumerate() {
            rows.of(r).iter().for_each(|(column, tile)| number[*column as usize] = *tile);
            for (i, &n) in members.iter().enumerate() {
                for &c in matrix.row(n as usize).0 {
                    let at = position[c as usize] as usize;
                    words[number[at / TILE] as usize * TILE + i] |= 1 << (at % TILE);
                }
            }
        }
        let mut across = vec![0; words.len()];
        transpose_tiles(&words, None, &mut across);
        let columns = transposed(&rows, order.len().div_ceil(TILE));
        Some(Self { nodes: order.len(), order, position, rows, columns, words, across })
    }

    /// How many bits a mask must have.
    pub fn entries(&self) -> usize {
        self.words.len() * TILE
    }

    /// The position of each node in a product's rows.
    pub fn position(&self) -> &[u32] {
        &self.position
    }

    /// The transpose of the masked bits, for [`Bits::multiply`] backward.
    pub fn transpose_masked(&self, mask: &Mask, out: &mut [u64]) {
        transpose_tiles(&self.words, Some(mask.words()), out);
    }

    /// `out[position] = sum of scale[n] * table[source(n)]` over the set bits of each row.
    ///
    /// `mask` says which bits count: for a product forward in the order of the words, backward as
    /// [`Bits::transpose_masked`] gives them.
    pub fn multiply<T: Kernels>(
        &self,
        direction: Direction,
        mask: Option<&[u64]>,
        table: &[T],
        permutation: Option<&[u32]>,
        scale: &[T],
        out: &mut [T],
    ) {
        let dim = out.len() / self.nodes;
        let (index, words) = match direction {
            Direction::Forward => (&self.rows, mask.map_or(&self.words[..], |m| m)),
            Direction::Backward => (&self.columns, mask.map_or(&self.across[..], |m| m)),
        };
        // Forward masks hold random bits beyond the pattern; transposed ones do not.
        let pattern = match direction {
            Direction::Forward if mask.is_some() => Some(&self.words[..]),
            _ => None,
        };
        out.par_chunks_mut(SHARED * TILE * dim).enumerate().for_each(|(chunk, out)| {
            let bits = self;
            let chunk = chunk * SHARED;
            T::vectorized(Chunk {
                bits,
                index,
                words,
                pattern,
                chunk,
                table,
                permutation,
                scale,
                dim,
                out,
            });
        });
    }
}

/// The product of `SHARED` rows of tiles.
struct Chunk<'a, T> {
    bits: &'a Bits,
    index: &'a Index,
    words: &'a [u64],
    pattern: Option<&'a [u64]>,
    chunk: usize,
    table: &'a [T],
    permutation: Option<&'a [u32]>,
    scale: &'a [T],
    dim: usize,
    out: &'a mut [T],
}

impl<T: Kernels> Work for Chunk<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        for strip in (0..self.dim).step_by(STRIP) {
            let width = STRIP.min(self.dim - strip);
            let mut sums = [Strip::zero(); SHARED * TILE];
            self.accumulate(strip, width, &mut sums);
            for (row, sums) in self.out.chunks_mut(self.dim).zip(&sums) {
                row[strip..strip + width].copy_from_slice(&sums.0[..width]);
            }
        }
    }
}

impl<T: Kernels> Chunk<'_, T> {
    /// Adds the picked sums of all tiles.
    #[inline(always)]
    fn accumulate(&mut self, strip: usize, width: usize, sums: &mut [Strip<T>; SHARED * TILE]) {
        let mut lists: [&[(u32, u32)]; SHARED] =
            std::array::from_fn(|i| self.index.of(self.chunk + i));
        let mut picks = [[Strip::zero(); 16]; TILE / 4];
        while let Some(column) = lists.iter().filter_map(|l| l.first()).map(|t| t.0).min() {
            for (nibble, picks) in picks.iter_mut().enumerate() {
                let mut leaves = [Strip::zero(); 4];
                for (i, leaf) in leaves.iter_mut().enumerate() {
                    self.leaf(column as usize * TILE + 4 * nibble + i, strip, width, leaf);
                }
                lay_out(&leaves, picks);
            }
            for (list, sums) in lists.iter_mut().zip(sums.chunks_exact_mut(TILE)) {
                let Some(&(_, tile)) = list.first().filter(|t| t.0 == column) else {
                    continue;
                };
                *list = &list[1..];
                let at = tile as usize * TILE;
                let words = &self.words[at..at + TILE];
                let pattern = self.pattern.map_or(words, |p| &p[at..at + TILE]);
                for i in 0..TILE {
                    pick(words[i] & pattern[i], &picks, &mut sums[i]);
                }
            }
        }
    }

    /// Sixteen columns of the table's row for a position, scaled; zeros past the last one.
    #[inline(always)]
    fn leaf(&self, at: usize, strip: usize, width: usize, out: &mut Strip<T>) {
        if let Some(&n) = self.bits.order.get(at) {
            let scale = self.scale[n as usize];
            let from = self.permutation.map_or(n, |p| p[n as usize]) as usize;
            let row = &self.table[from * self.dim + strip..][..width];
            for (o, v) in out.0.iter_mut().zip(row) {
                *o = scale * *v;
            }
        }
    }
}

/// All sixteen sums of four rows.
#[inline(always)]
fn lay_out<T: Kernels>(leaves: &[Strip<T>; 4], out: &mut [Strip<T>; 16]) {
    for (bit, leaf) in leaves.iter().enumerate() {
        for k in 0..1 << bit {
            out[(1 << bit) + k] = out[k];
            out[(1 << bit) + k].add(leaf);
        }
    }
}

/// `sums += ` the sixteen picks a word's nibbles name.
#[inline(always)]
fn pick<T: Kernels>(word: u64, picks: &[[Strip<T>; 16]; TILE / 4], sums: &mut Strip<T>) {
    // Two running sums, as one would wait for itself.
    let (mut even, mut odd) = (*sums, Strip::zero());
    for (pair, picks) in picks.chunks_exact(2).enumerate() {
        let byte = word >> (8 * pair);
        even.add(&picks[0][(byte & 15) as usize]);
        odd.add(&picks[1][(byte >> 4 & 15) as usize]);
    }
    even.add(&odd);
    *sums = even;
}

fn transposed(rows: &Index, side: usize) -> Index {
    let mut lists = vec![Vec::new(); side];
    for r in 0..side {
        for &(column, tile) in rows.of(r) {
            lists[column as usize].push((r as u32, tile));
        }
    }
    let mut index = Index { starts: vec![0], tiles: Vec::with_capacity(rows.tiles.len()) };
    for list in lists {
        index.tiles.extend(list);
        index.starts.push(index.tiles.len());
    }
    index
}

fn transpose_tiles(words: &[u64], mask: Option<&[u64]>, out: &mut [u64]) {
    out.par_chunks_mut(TILE).enumerate().for_each(|(tile, out)| {
        let range = tile * TILE..(tile + 1) * TILE;
        out.copy_from_slice(&words[range.clone()]);
        if let Some(mask) = mask {
            out.iter_mut().zip(&mask[range]).for_each(|(o, m)| *o &= m);
        }
        transpose(out.try_into().expect("a tile"));
    });
}

/// Transposes 64 x 64 bits by swapping halves, then quarters, and so on.
fn transpose(tile: &mut [u64; TILE]) {
    let mut width = 32;
    let mut mask = 0x0000_0000_ffff_ffff_u64;
    while width > 0 {
        for start in (0..TILE).step_by(2 * width) {
            for i in start..start + width {
                let swapped = (tile[i] >> width ^ tile[i + width]) & mask;
                tile[i] ^= swapped << width;
                tile[i + width] ^= swapped;
            }
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Three cliques that overlap, and a few edges anywhere.
    fn cliques(nodes: usize) -> Csr {
        let s = Stream::new(3, Purpose::Planted);
        let clique = |n: usize, k: usize| n % 3 == k || n.is_multiple_of(7 + k);
        let (mut indptr, mut indices) = (vec![0], Vec::new());
        for r in 0..nodes {
            for c in 0..nodes {
                let edge = (0..3).any(|k| clique(r, k) && clique(c, k));
                if edge || s.uniform((r * nodes + c) as u64) < 0.01 {
                    indices.push(c as u32);
                }
            }
            indptr.push(indices.len());
        }
        let values = vec![1.0; indices.len()];
        Csr::try_new(nodes, nodes, indptr, indices, values).unwrap()
    }

    #[test]
    fn tiles_transpose() {
        let s = Stream::new(1, Purpose::Planted);
        let tile: Vec<u64> = (0..64).map(|i| s.word(i)).collect();
        let mut turned: [u64; 64] = tile.clone().try_into().unwrap();
        transpose(&mut turned);
        for (i, row) in tile.iter().enumerate() {
            for (j, column) in turned.iter().enumerate() {
                assert_eq!(row >> j & 1, column >> i & 1);
            }
        }
    }

    #[test]
    fn products_equal_the_plain_ones_in_both_directions_masked_and_not() {
        let (nodes, dim) = (333, 21);
        let matrix = cliques(nodes);
        let group: Vec<u32> = (0..nodes as u32).map(|n| n % 3).collect();
        let bits = Bits::of(&matrix, &group).unwrap();
        let s = Stream::new(2, Purpose::Planted);
        let table: Vec<f64> = (0..nodes * dim).map(|i| s.normal(i as u64)).collect();
        let scale: Vec<f64> = (0..nodes).map(|i| s.uniform(i as u64 + 1_000_000)).collect();
        let mut permutation = vec![0; nodes];
        s.permutation(&mut permutation);
        let mut mask = Mask::new(bits.entries());
        mask.draw(Stream::new(4, Purpose::EdgeMask), 0.5);
        let mut across = vec![0; bits.entries() / 64];
        bits.transpose_masked(&mask, &mut across);

        // Which entries the mask keeps, read through the same positions.
        let kept = |r: usize, c: usize| {
            let (r, c) = (bits.position[r] as usize, bits.position[c] as usize);
            let tiles = bits.rows.of(r / TILE);
            let tile = tiles.iter().find(|t| t.0 as usize == c / TILE).unwrap().1 as usize;
            mask.words()[tile * TILE + r % TILE] >> (c % TILE) & 1 == 1
        };
        for (direction, masked, permuted) in [
            (Direction::Forward, false, true),
            (Direction::Forward, true, false),
            (Direction::Backward, false, false),
            (Direction::Backward, true, false),
        ] {
            let order = permuted.then_some(&permutation[..]);
            let words = masked.then(|| match direction {
                Direction::Forward => mask.words(),
                Direction::Backward => &across[..],
            });
            let mut out = vec![0.0; nodes * dim];
            bits.multiply(direction, words, &table, order, &scale, &mut out);
            let mut plain = vec![0.0; nodes * dim];
            for r in 0..nodes {
                for &c in matrix.row(r).0 {
                    let c = c as usize;
                    if masked && !kept(r, c) {
                        continue;
                    }
                    let (to, from) = match direction {
                        Direction::Forward => (r, c),
                        Direction::Backward => (c, r),
                    };
                    let source = order.map_or(from, |o| o[from] as usize);
                    for d in 0..dim {
                        plain[to * dim + d] += scale[from] * table[source * dim + d];
                    }
                }
            }
            for n in 0..nodes {
                let fast = &out[bits.position[n] as usize * dim..][..dim];
                for (a, b) in fast.iter().zip(&plain[n * dim..][..dim]) {
                    assert!((a - b).abs() < 1e-11, "{direction:?} {masked}: {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn a_sparse_layer_is_not_worth_it() {
        let nodes = 400;
        let indices: Vec<u32> = (0..nodes as u32).map(|n| n * 7 % nodes as u32).collect();
        let m =
            Csr::try_new(nodes, nodes, (0..=nodes).collect(), indices, vec![1.0; nodes]).unwrap();
        assert!(Bits::of(&m, &vec![0; nodes]).is_none());
    }
}

//! Random numbers as a pure function of where they are used.
//!
//! A [`Stream`] is named by (seed, purpose, stage, epoch, layer); its element `i` is
//! `mix(key + (i + 1) * GOLDEN)`, the SplitMix64 sequence read at any place. Nothing depends on the
//! order of calls, so masks are the same for any number of threads, device or split of the rows.

use std::sync::Arc;

/// What a stream is used for, so that two uses never share numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Initial weights.
    Weights = 1,
    /// Which stored attribute entries survive in the positive view.
    AttributeMask = 2,
    /// Which stored adjacency entries survive in the positive view.
    EdgeMask = 3,
    /// The row permutation of the negative view.
    Shuffle = 4,
    /// k-means++ seeding.
    KMeans = 5,
    /// Initial weights of the evaluation's classifier.
    Classifier = 6,
    /// Planted graphs.
    Planted = 7,
    /// Which connections of a hub a meta-path follows.
    Hubs = 20,
    /// Random splits.
    Splits = 21,
    /// What stands in for attributes where there are none.
    StandIn = 22,
    /// Approximate search.
    Search = 23,
    /// Samples by which a number of clusters is chosen.
    Clusters = 24,
    /// Where a projection starts.
    Projection = 25,
    /// Which edges a layer is judged by.
    Signal = 26,
    /// Which settings a search tries.
    Trials = 27,
    /// What a graph loses where embeddings are judged.
    Judge = 28,
    /// What attributes are held against where it is asked whether they show more than chance.
    Rise = 29,
    /// The cloud that clusters are held against.
    Cloud = 30,
    /// Where the directions start in which attributes differ.
    Seen = 31,
    /// The order in which a pass visits nodes.
    Pass = 32,
    /// Which edges of a hub a step follows.
    Cap = 33,
    /// Which nodes prototypes are found among.
    Sample = 34,
    /// Where the columns of structure start.
    Structure = 40,
    /// Which half of the attributes a column is in.
    Halves = 36,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline(always)]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A sequence of random words that can be read at any index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of one purpose under one seed.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Self { key: mix(mix(seed.wrapping_add(GOLDEN)) ^ purpose as u64) }
    }

    /// A stream within this one, for example per stage, epoch or layer.
    #[must_use]
    pub fn substream(self, index: u64) -> Self {
        Self { key: mix(self.key ^ mix(index.wrapping_add(GOLDEN))) }
    }

    /// Word `i`.
    #[inline(always)]
    pub fn word(self, i: u64) -> u64 {
        mix(self.key.wrapping_add(i.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// Number `i`, uniform in [0, 1).
    #[inline(always)]
    pub fn uniform(self, i: u64) -> f64 {
        (self.word(i) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Integer `i`, uniform in 0..bound (bound > 0).
    #[inline(always)]
    pub fn below(self, i: u64, bound: u64) -> u64 {
        ((u128::from(self.word(i)) * u128::from(bound)) >> 64) as u64
    }

    /// Number `i`, standard normal (Box-Muller over a sub-stream).
    pub fn normal(self, i: u64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(2 * i)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(2 * i + 1)).cos()
    }

    /// A uniform permutation of 0..n (Fisher-Yates), written into `out`.
    pub fn permutation(self, out: &mut [u32]) {
        for (i, slot) in out.iter_mut().enumerate() {
            *slot = i as u32;
        }
        for i in (1..out.len()).rev() {
            out.swap(i, self.below(i as u64, i as u64 + 1) as usize);
        }
    }
}

/// A permutation of 0..n that can be read at any place, without a table.
///
/// Four rounds of a Feistel network permute the least power of two that holds n; a place that falls outside 0..n is
/// permuted again until it does not, twice on average at most.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    stream: Stream,
    n: u64,
    /// Bits of the low and of the high half.
    bits: [u32; 2],
}

impl Permutation {
    /// The permutation a stream stands for.
    pub fn new(stream: Stream, n: usize) -> Self {
        let n = n as u64;
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2);
        Self { stream, n, bits: [bits / 2, bits - bits / 2] }
    }

    /// Where it takes `i`, which is less than n.
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        let mut x = i;
        loop {
            x = self.once(x);
            if x < self.n {
                return x;
            }
        }
    }

    #[inline(always)]
    fn once(&self, x: u64) -> u64 {
        let mask = self.bits.map(|bits| (1u64 << bits) - 1);
        let (mut low, mut high) = (x & mask[0], x >> self.bits[0]);
        // Each half in turn is changed by a function of the other: every round can be undone.
        for round in 0..4 {
            high ^= self.stream.word(round << 58 | low) & mask[1];
            low ^= self.stream.word((round + 4) << 58 | high) & mask[0];
        }
        high << self.bits[0] | low
    }
}

/// A permutation of a graph's nodes.
#[derive(Debug, Clone)]
pub enum Shuffle {
    /// Read from a table, where all nodes are visited anyway.
    Table(Arc<[u32]>),
    /// Without one, for steps that visit few nodes of many.
    Network(Permutation),
}

impl Shuffle {
    /// One of so many nodes, of which a step visits some or all.
    pub fn new(stream: Stream, nodes: usize, visited: usize) -> Self {
        if visited < nodes {
            return Self::Network(Permutation::new(stream, nodes));
        }
        let mut table = vec![0; nodes];
        stream.permutation(&mut table);
        Self::Table(table.into())
    }

    /// Where it takes a node.
    #[inline]
    pub fn at(&self, node: u32) -> u32 {
        match self {
            Self::Table(table) => table[node as usize],
            Self::Network(permutation) => permutation.at(u64::from(node)) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_without_a_table_is_one_and_looks_random() {
        for n in [1usize, 2, 3, 5, 64, 1000, 4097] {
            let of = |seed| Permutation::new(Stream::new(seed, Purpose::Pass), n);
            let (one, other) = (of(1), of(2));
            let mut taken: Vec<u64> = (0..n as u64).map(|i| one.at(i)).collect();
            if n >= 1000 {
                let fixed = taken.iter().enumerate().filter(|(i, v)| *i as u64 == **v).count();
                let alike = (0..n as u64).filter(|i| one.at(*i) == other.at(*i)).count();
                let rising = taken.windows(2).filter(|w| w[0] < w[1]).count();
                assert!(fixed < 10 && alike < 10, "{n}: {fixed} fixed, {alike} alike");
                assert!(rising.abs_diff(n / 2) < n / 10, "{n}: {rising} rise");
            }
            taken.sort_unstable();
            assert!(taken.iter().enumerate().all(|(i, v)| i as u64 == *v), "{n}");
        }
    }

    #[test]
    fn streams_differ_and_repeat() {
        let a = Stream::new(0, Purpose::EdgeMask);
        assert_eq!(a.word(7), Stream::new(0, Purpose::EdgeMask).word(7));
        let others = [
            Stream::new(1, Purpose::EdgeMask),
            Stream::new(0, Purpose::Shuffle),
            a.substream(0),
            a.substream(1),
            a.substream(0).substream(0),
        ];
        assert!(others.iter().all(|o| o.word(7) != a.word(7)));
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        let s = Stream::new(3, Purpose::Planted);
        let n = 100_000;
        let mean = (0..n).map(|i| s.uniform(i)).sum::<f64>() / n as f64;
        let square = (0..n).map(|i| s.normal(i).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((square - 1.0).abs() < 0.02, "{square}");
    }

    #[test]
    fn permutation_is_one() {
        let mut p = vec![0u32; 1000];
        Stream::new(9, Purpose::Shuffle).permutation(&mut p);
        let mut sorted = p.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, v)| i as u32 == *v));
        assert!(p.iter().enumerate().filter(|(i, v)| *i as u32 == **v).count() < 10);
    }
}

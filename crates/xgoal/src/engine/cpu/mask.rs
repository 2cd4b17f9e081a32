//! Which stored entries survive in the positive view T+: one bit per entry.
//!
//! Word w of a mask holds entries 64 w to 64 w + 63. A bit is set with probability `keep`: for 1/2
//! it is a bit of one random word; in general the binary digits of `keep`, from the last to the
//! first, combine one random word each (`or` for a 1, `and` for a 0), 64 entries at a time.

use super::kernels::{Kernels, Work};
use crate::random::Stream;
use rayon::prelude::*;

/// Binary digits of `keep` that count: probabilities are rounded to multiples of 2^-24.
const DIGITS: u32 = 24;

/// The words of a mask, each a pure function of its place.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    stream: Stream,
    /// `keep` as a whole number of 2^-24.
    digits: u64,
}

impl Words {
    /// Those of a stream.
    pub fn new(stream: Stream, keep: f64) -> Self {
        Self { stream, digits: (keep * f64::from(1u32 << DIGITS)).round() as u64 }
    }

    /// Word `i`, of entries 64 i to 64 i + 63.
    #[inline]
    pub fn word(&self, i: u64) -> u64 {
        if self.digits == 1 << DIGITS {
            return u64::MAX;
        }
        let base = i * u64::from(DIGITS);
        let mut bits = 0u64;
        for digit in self.digits.trailing_zeros().min(DIGITS)..DIGITS {
            let random = self.stream.word(base + u64::from(digit));
            bits = if self.digits >> digit & 1 == 1 { bits | random } else { bits & random };
        }
        bits
    }
}

/// A bit per stored entry.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    words: Vec<u64>,
}

impl Mask {
    /// Room for `entries` bits.
    pub fn new(entries: usize) -> Self {
        Self { words: vec![0; entries.div_ceil(64)] }
    }

    /// Draws every bit afresh; bit `i` depends on the stream and `i` alone.
    pub fn draw(&mut self, stream: Stream, keep: f64) {
        let drawn = Words::new(stream, keep);
        self.words.par_chunks_mut(4096).enumerate().for_each(|(chunk, words)| {
            for (i, word) in words.iter_mut().enumerate() {
                *word = drawn.word((chunk * 4096 + i) as u64);
            }
        });
    }

    /// The bits, 64 to a word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Writes `values` where entry `from + i` survives, times `scale`, and 0 elsewhere.
    pub fn survivors<T: Kernels>(&self, values: &[T], from: usize, scale: T, out: &mut [T]) {
        T::vectorized(Survivors { mask: self, values, from, scale, out });
    }

    /// Bits `i` to `i + 31`; those past the last word are 0.
    #[inline(always)]
    fn window(&self, i: usize) -> u32 {
        let (word, shift) = (i >> 6, i & 63);
        let low = self.words[word] >> shift;
        let high = if shift > 32 { self.words.get(word + 1).copied().unwrap_or(0) } else { 0 };
        // Shifted in two steps, as a shift by 64 is none.
        (low | high << 1 << (63 - shift)) as u32
    }

    /// Whether entry `i` survives, as 0 or 1.
    #[inline(always)]
    pub fn bit(&self, i: usize) -> usize {
        (self.words[i >> 6] >> (i & 63) & 1) as usize
    }
}

struct Survivors<'a, T> {
    mask: &'a Mask,
    values: &'a [T],
    from: usize,
    scale: T,
    out: &'a mut [T],
}

impl<T: Kernels> Work for Survivors<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let chunks = self.out.chunks_mut(32).zip(self.values.chunks(32));
        for (chunk, (out, values)) in chunks.enumerate() {
            let bits = self.mask.window(self.from + 32 * chunk);
            for (i, (out, v)) in out.iter_mut().zip(values).enumerate() {
                let kept = *v * self.scale;
                *out = if bits >> i & 1 == 1 { kept } else { T::default() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn bits_are_set_as_often_as_asked() {
        for keep in [0.5, 0.3, 0.9, 1.0, 0.001] {
            let n = 200_000;
            let mut mask = Mask::new(n);
            mask.draw(Stream::new(5, Purpose::EdgeMask), keep);
            let share = (0..n).map(|i| mask.bit(i)).sum::<usize>() as f64 / n as f64;
            let deviation = (keep * (1.0 - keep) / n as f64).sqrt();
            assert!((share - keep).abs() <= 4.0 * deviation, "{keep}: {share}");
        }
    }

    #[test]
    fn neighbouring_bits_are_independent() {
        let n = 200_000;
        let mut mask = Mask::new(n + 64);
        mask.draw(Stream::new(6, Purpose::EdgeMask), 0.3);
        for lag in [1, 2, 63, 64] {
            let both = (0..n).map(|i| mask.bit(i) & mask.bit(i + lag)).sum::<usize>();
            let share = both as f64 / n as f64;
            assert!((share - 0.09).abs() < 0.004, "lag {lag}: {share}");
        }
    }

    #[test]
    fn survivors_are_those_of_the_bits_from_any_place() {
        let mut mask = Mask::new(1000);
        mask.draw(Stream::new(7, Purpose::EdgeMask), 0.5);
        let values: Vec<f32> = (1..=300).map(|i| i as f32).collect();
        for from in [0, 1, 31, 33, 63, 64, 700] {
            let mut out = vec![9.0; values.len()];
            mask.survivors(&values, from, 2.0, &mut out);
            for (i, (v, o)) in values.iter().zip(&out).enumerate() {
                assert_eq!(*o, 2.0 * *v * mask.bit(from + i) as f32, "from {from}, entry {i}");
            }
        }
    }
}

//! Which stored entries survive in the positive view T+: one bit per entry.
//!
//! Word w of a mask holds entries 64 w to 64 w + 63. A bit is set with probability `keep`: for 1/2
//! it is a bit of one random word; in general the binary digits of `keep`, from the last to the
//! first, combine one random word each (`or` for a 1, `and` for a 0), 64 entries at a time.

use crate::random::Stream;
use crate::real::Real;
use rayon::prelude::*;

/// Binary digits of `keep` that count: probabilities are rounded to multiples of 2^-24.
const DIGITS: u32 = 24;

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
        let digits = (keep * f64::from(1u32 << DIGITS)).round() as u64;
        if digits == 1 << DIGITS {
            self.words.fill(u64::MAX);
            return;
        }
        let first = digits.trailing_zeros().min(DIGITS);
        self.words.par_chunks_mut(4096).enumerate().for_each(|(chunk, words)| {
            for (i, word) in words.iter_mut().enumerate() {
                let base = (chunk * 4096 + i) as u64 * u64::from(DIGITS);
                let mut bits = 0u64;
                for digit in first..DIGITS {
                    let random = stream.word(base + u64::from(digit));
                    bits = if digits >> digit & 1 == 1 { bits | random } else { bits & random };
                }
                *word = bits;
            }
        });
    }

    /// The bits, 64 to a word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Writes `values` where entry `from + i` survives, times `scale`, and 0 elsewhere.
    pub fn survivors<'a, T: Real>(
        &self,
        values: &[T],
        from: usize,
        scale: T,
        out: &'a mut [T],
    ) -> &'a [T] {
        for (i, (out, v)) in out.iter_mut().zip(values).enumerate() {
            *out = if self.bit(from + i) == 1 { *v * scale } else { T::default() };
        }
        out
    }

    /// Whether entry `i` survives, as 0 or 1.
    #[inline(always)]
    pub fn bit(&self, i: usize) -> usize {
        (self.words[i >> 6] >> (i & 63) & 1) as usize
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
}

//! Seeded changes of an input, as damage and malice make them.

/// A sequence of numbers that a seed decides (splitmix64).
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    /// A part of the bytes, at most 32 long.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        start..(start + 1 + self.below(32)).min(length)
    }
}

/// Numbers that headers of damaged and hostile files claim.
const CLAIMS: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];
/// The same in texts.
const WORDS: [&str; 8] =
    ["0", "-1", "4294967295", "99999999999999999999", "1e400", "nan", "\"", ""];

/// An input changed in one to four places.
pub fn mutated(input: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=draw.below(4) {
        if bytes.is_empty() {
            bytes.push(draw.word() as u8);
        }
        let at = draw.below(bytes.len());
        match draw.below(8) {
            0 => bytes[at] ^= 1 << draw.below(8),
            1 => bytes[at] = draw.word() as u8,
            2 => {
                // A length field, in either byte order.
                let claim = CLAIMS[draw.below(CLAIMS.len())];
                let width = [1, 2, 4, 8][draw.below(4)].min(bytes.len() - at);
                let field = &mut bytes[at..at + width];
                match draw.below(2) {
                    0 => field.copy_from_slice(&claim.to_le_bytes()[..width]),
                    _ => field.copy_from_slice(&claim.to_be_bytes()[8 - width..]),
                }
            }
            3 => drop(bytes.drain(draw.range(bytes.len()))),
            4 => {
                let chunk = bytes[draw.range(bytes.len())].to_vec();
                bytes.splice(at..at, chunk);
            }
            5 => {
                let chunk = bytes[draw.range(bytes.len())].to_vec();
                let end = (at + chunk.len()).min(bytes.len());
                bytes.splice(at..end, chunk);
            }
            6 => {
                // A number in a text.
                let digits = |b: &u8| b.is_ascii_digit();
                let start = at + bytes[at..].iter().position(digits).unwrap_or(0);
                let end = start + bytes[start..].iter().take_while(|b| digits(b)).count();
                bytes.splice(start..end, WORDS[draw.below(WORDS.len())].bytes());
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

//! Bytes that are not trusted, and the numbers in them.
//!
//! Nothing here allocates what a file merely claims: values are handed on one by one while they arrive.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::build::Budget;
use crate::error::{Error, ParseError};
use crate::words::quoted;

/// Bytes read at once; a multiple of every number's size.
const CHUNK: usize = 1 << 16;

/// Opens a file, with the memory its arrays may take.
pub(crate) fn open(path: &Path) -> Result<(BufReader<File>, Budget), Error> {
    let (file, length) = super::open::file(path)?;
    Ok((BufReader::with_capacity(CHUNK, file), Budget::for_file(length)))
}

/// A file's name without folder and extension, for arrays that have no name of their own.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The first bytes of a file that is not what its name says, for a message.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    const LONGEST: usize = 10;
    match bytes {
        [] => "is empty".into(),
        _ => format!("begins with `{}`", bytes[..bytes.len().min(LONGEST)].escape_ascii()),
    }
}

/// An error that begins with the name of the array it is about, once.
pub(crate) fn about(name: &str, error: ParseError) -> ParseError {
    let start = format!("{}: ", quoted(name));
    if error.message.starts_with(&start) {
        return error;
    }
    ParseError { message: start + &error.message, ..error }
}

/// The nearest f32, unless a finite value would become infinite.
pub(crate) fn to_f32(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (narrow.is_finite() || !value.is_finite()).then_some(narrow)
}

/// A number without a fraction as an integer.
pub(crate) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0).then_some(value as i64)
}

/// Byte order of the numbers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endian {
    Little,
    Big,
}

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    /// The upper half of an f32.
    BF16,
    F32,
    F64,
}

impl Kind {
    /// Bytes of one number.
    pub(crate) fn size(self) -> u64 {
        match self {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 | Kind::BF16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Bool => "bool",
            Kind::I8 => "int8",
            Kind::U8 => "uint8",
            Kind::I16 => "int16",
            Kind::U16 => "uint16",
            Kind::I32 => "int32",
            Kind::U32 => "uint32",
            Kind::I64 => "int64",
            Kind::U64 => "uint64",
            Kind::F16 => "float16",
            Kind::BF16 => "bfloat16",
            Kind::F32 => "float32",
            Kind::F64 => "float64",
        })
    }
}

/// How the numbers of an array are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) kind: Kind,
    pub(crate) endian: Endian,
}

impl Number {
    /// Bytes of one number.
    pub(crate) fn size(self) -> usize {
        self.kind.size() as usize
    }

    /// Hands on position and value of each whole number in the bytes; integers beyond 2^53 are rounded.
    ///
    /// Kind and byte order are looked at once, not once per number.
    pub(crate) fn each<E>(
        self,
        bytes: &[u8],
        mut f: impl FnMut(usize, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        macro_rules! each {
            ($number:ty, $to:expr) => {{
                let numbers = bytes.as_chunks::<{ size_of::<$number>() }>().0.iter().enumerate();
                let mut hand = |(i, v): (usize, $number)| f(i, $to(v));
                match self.endian {
                    Endian::Little => numbers
                        .map(|(i, b)| (i, <$number>::from_le_bytes(*b)))
                        .try_for_each(&mut hand),
                    Endian::Big => numbers
                        .map(|(i, b)| (i, <$number>::from_be_bytes(*b)))
                        .try_for_each(&mut hand),
                }
            }};
        }
        match self.kind {
            Kind::Bool => each!(u8, |v| f64::from(u8::from(v != 0))),
            Kind::I8 => each!(i8, f64::from),
            Kind::U8 => each!(u8, f64::from),
            Kind::I16 => each!(i16, f64::from),
            Kind::U16 => each!(u16, f64::from),
            Kind::I32 => each!(i32, f64::from),
            Kind::U32 => each!(u32, f64::from),
            Kind::I64 => each!(i64, |v| v as f64),
            Kind::U64 => each!(u64, |v| v as f64),
            Kind::F16 => each!(u16, half),
            Kind::BF16 => each!(u16, |v| f64::from(f32::from_bits(u32::from(v) << 16))),
            Kind::F32 => each!(f32, f64::from),
            Kind::F64 => each!(f64, |v| v),
        }
    }
}

/// A reader that knows how far it is and says what was missing when it ends too early.
pub(crate) struct Source<R> {
    inner: R,
    at: u64,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl<R: Read> Source<R> {
    /// Starts counting at byte 0.
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, at: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The reader below.
    pub(crate) fn into_inner(self) -> R {
        self.inner
    }

    /// Fills the buffer as far as there are bytes and says how far that was.
    pub(crate) fn fill_some(&mut self, buffer: &mut [u8]) -> Result<usize, ParseError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.unreadable(&e)),
            }
        }
        Ok(filled)
    }

    /// Fills the whole buffer; `what` names its content should the bytes run out.
    pub(crate) fn fill(&mut self, buffer: &mut [u8], what: &str) -> Result<(), ParseError> {
        match self.fill_some(buffer)? {
            n if n == buffer.len() => Ok(()),
            n => Err(self.cut_short(buffer.len() as u64 - n as u64, what)),
        }
    }

    /// Passes over bytes that are not needed.
    pub(crate) fn skip(&mut self, count: u64, what: &str) -> Result<(), ParseError> {
        let skipped = io::copy(&mut self.by_ref().take(count), &mut io::sink())
            .map_err(|e| self.unreadable(&e))?;
        if skipped < count { Err(self.cut_short(count - skipped, what)) } else { Ok(()) }
    }

    /// Passes over everything up to the end, so that a decompressor checks its checksum.
    pub(crate) fn drain(&mut self) -> Result<u64, ParseError> {
        io::copy(&mut self.by_ref(), &mut io::sink()).map_err(|e| self.unreadable(&e))
    }

    /// Reads `count` numbers and hands on their bytes, some whole numbers at a time.
    pub(crate) fn chunks(
        &mut self,
        kind: Kind,
        count: u64,
        what: &str,
        mut each: impl FnMut(&[u8]) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        let Some(mut left) = count.checked_mul(kind.size()) else {
            let message = format!("{count} {what} of {kind}, more bytes than can be counted");
            return Err(ParseError::at(self.at, message));
        };
        let mut chunk = vec![0u8; left.min(CHUNK as u64) as usize];
        while left > 0 {
            let bytes = &mut chunk[..left.min(CHUNK as u64) as usize];
            let got = self.fill_some(bytes)?;
            if got < bytes.len() {
                return Err(self.cut_short(left - got as u64, what));
            }
            left -= got as u64;
            each(bytes)?;
        }
        Ok(())
    }

    /// Reads `count` numbers and hands on each.
    pub(crate) fn values(
        &mut self,
        number: Number,
        count: u64,
        what: &str,
        mut each: impl FnMut(f64) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        self.chunks(number.kind, count, what, |bytes| number.each(bytes, |_, v| each(v)))
    }

    /// The error for bytes that ran out.
    pub(crate) fn cut_short(&self, missing: u64, what: &str) -> ParseError {
        ParseError::at(self.at, format!("cut short: {missing} more bytes of {what} expected"))
    }

    fn unreadable(&self, error: &io::Error) -> ParseError {
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => "cut short",
            _ => "unreadable",
        };
        ParseError::at(self.at, format!("{problem}: {error}"))
    }
}

/// An IEEE half: 1 sign, 5 exponent and 10 fraction bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    match i32::from(bits >> 10 & 0x1f) {
        0 => sign * fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        exponent => sign * (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, endian: Endian, bytes: &[u8], count: u64) -> Result<Vec<f64>, ParseError> {
        let mut values = Vec::new();
        Source::new(bytes).values(Number { kind, endian }, count, "test", |v| {
            values.push(v);
            Ok(())
        })?;
        Ok(values)
    }

    #[test]
    fn numbers_of_both_byte_orders() {
        assert_eq!(read(Kind::I16, Endian::Little, &[0xfe, 0xff, 1, 0], 2).unwrap(), [-2.0, 1.0]);
        assert_eq!(read(Kind::I16, Endian::Big, &[0xff, 0xfe, 0, 1], 2).unwrap(), [-2.0, 1.0]);
        assert_eq!(read(Kind::F64, Endian::Big, &1.5f64.to_be_bytes(), 1).unwrap(), [1.5]);
        assert_eq!(read(Kind::Bool, Endian::Little, &[0, 1, 7], 3).unwrap(), [0.0, 1.0, 1.0]);
    }

    #[test]
    fn halves() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2f64.powi(-24)), (0x7bff, 65504.0)]
        {
            assert_eq!(half(bits), value);
        }
        assert_eq!(half(0xfc00), f64::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
        assert_eq!(read(Kind::BF16, Endian::Little, &[0xc0, 0xbf], 1).unwrap(), [-1.5]);
    }

    #[test]
    fn finite_values_do_not_become_infinite() {
        assert_eq!(to_f32(1.5), Some(1.5));
        assert_eq!(to_f32(1e39), None);
        assert_eq!(to_f32(f64::INFINITY), Some(f32::INFINITY));
        assert!(to_f32(f64::NAN).is_some_and(f32::is_nan));
    }

    #[test]
    fn errors_name_their_array_once_and_briefly() {
        let once = about("a\n", ParseError::at(3, "bad"));
        assert_eq!(once.to_string(), "`a\\n`: bad (at byte 3)");
        assert_eq!(about("a\n", once.clone()), once);
        assert!(about(&"x".repeat(1 << 20), once).message.len() < 200);
    }

    #[test]
    fn a_beginning_is_short_and_printable() {
        assert_eq!(beginning(b"MATLAB 5.0 MAT-file"), "begins with `MATLAB 5.0`");
        assert_eq!(
            beginning(b"\x89PNG\r\n\x1a\n\0\0\0"),
            r"begins with `\x89PNG\r\n\x1a\n\x00\x00`"
        );
        assert_eq!(beginning(b""), "is empty");
    }

    #[test]
    fn values_cross_chunks_and_claims_cost_nothing() {
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let values = read(Kind::U32, Endian::Little, &bytes, 100_000).unwrap();
        assert!(values.iter().enumerate().all(|(i, v)| *v == i as f64));
        let error = read(Kind::U32, Endian::Little, &bytes, 1 << 50).unwrap_err();
        assert!(error.message.starts_with("cut short"), "{error}");
        assert!(read(Kind::U32, Endian::Little, &bytes, u64::MAX).is_err());
    }
}

//! Element types, and reading numbers of any of them from bytes.

use super::allow::wrong;
use super::machine::Machine;
use super::value::{Parsed, Value, quoted};
use crate::error::ParseError;

/// What one element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Unsigned,
    Float,
    /// The upper half of an f32.
    BrainFloat,
    /// Unicode, four bytes a character.
    Text,
    Bytes,
    /// Python objects, kept as a list.
    Object,
}

/// An element type: kind, size in bytes and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) kind: Kind,
    pub(crate) size: usize,
    pub(crate) big_endian: bool,
}

/// Calls `$f` with each element as f64.
macro_rules! each {
    ($bytes:expr, $f:expr, $big:expr, $type:ty, $to:expr) => {{
        let (to, f) = ($to, $f);
        let chunks = $bytes.as_chunks::<{ size_of::<$type>() }>().0;
        if $big {
            chunks.iter().enumerate().try_for_each(|(i, c)| f(i, to(<$type>::from_be_bytes(*c))))
        } else {
            chunks.iter().enumerate().try_for_each(|(i, c)| f(i, to(<$type>::from_le_bytes(*c))))
        }
    }};
}

impl Dtype {
    /// Little-endian numbers.
    pub(crate) const fn little(kind: Kind, size: usize) -> Self {
        Self { kind, size, big_endian: false }
    }

    /// Reads NumPy's name of a type, such as `f8`, `<i4` or `U12`.
    pub(super) fn parse(name: &str, at: u64) -> Parsed<Self> {
        let unknown = || {
            ParseError::at(
                at,
                format!("found dtype {}, expected numbers, bools or strings", quoted(name)),
            )
        };
        let plain = name.trim_start_matches(['<', '>', '|', '=']);
        let mut chars = plain.chars();
        let letter = chars.next().ok_or_else(unknown)?;
        let count: usize = chars.as_str().parse().map_err(|_| unknown())?;
        let (kind, size) = match (letter, count) {
            ('b', 1) => (Kind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Int, count),
            ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, count),
            ('f', 2 | 4 | 8) => (Kind::Float, count),
            ('O', _) => (Kind::Object, 8),
            ('S', 1..) => (Kind::Bytes, count),
            ('U', 1..) => (Kind::Text, count.checked_mul(4).ok_or_else(unknown)?),
            _ => return Err(unknown()),
        };
        Ok(Self { kind, size, big_endian: name.starts_with('>') })
    }

    /// Applies a pickled dtype's state: its byte order. Types with fields are refused.
    pub(super) fn with_state(self, m: &Machine<'_>, state: Value, at: u64) -> Parsed<Self> {
        let Some([_, order, Value::None, Value::None, Value::None, ..]) = m.heap.tuple(state)
        else {
            return Err(wrong(m, at, "a dtype with state", state, "one without fields"));
        };
        match m.heap.name(*order) {
            Some(">") => Ok(Self { big_endian: true, ..self }),
            Some("<" | "|" | "=") => Ok(Self { big_endian: false, ..self }),
            _ => Err(wrong(m, at, "byte order", *order, "`<`, `>` or `|`")),
        }
    }

    pub(crate) fn is_number(self) -> bool {
        !matches!(self.kind, Kind::Text | Kind::Bytes | Kind::Object)
    }

    /// Calls `f` with position and value of each number; stops at the first error.
    ///
    /// The type is looked at once, not once per element.
    pub(crate) fn for_each<E>(
        self,
        bytes: &[u8],
        mut f: impl FnMut(usize, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let (big, f) = (self.big_endian, &mut f);
        match (self.kind, self.size) {
            (Kind::Bool, _) => each!(bytes, f, big, u8, |v| f64::from(u8::from(v != 0))),
            (Kind::Int, 1) => each!(bytes, f, big, i8, f64::from),
            (Kind::Int, 2) => each!(bytes, f, big, i16, f64::from),
            (Kind::Int, 4) => each!(bytes, f, big, i32, f64::from),
            (Kind::Int, 8) => each!(bytes, f, big, i64, |v| v as f64),
            (Kind::Unsigned, 1) => each!(bytes, f, big, u8, f64::from),
            (Kind::Unsigned, 2) => each!(bytes, f, big, u16, f64::from),
            (Kind::Unsigned, 4) => each!(bytes, f, big, u32, f64::from),
            (Kind::Unsigned, 8) => each!(bytes, f, big, u64, |v| v as f64),
            (Kind::Float, 2) => each!(bytes, f, big, u16, |v| f64::from(half(v))),
            (Kind::Float, 4) => each!(bytes, f, big, f32, f64::from),
            (Kind::Float, 8) => each!(bytes, f, big, f64, |v| v),
            (Kind::BrainFloat, _) => {
                each!(bytes, f, big, u16, |v| f64::from(f32::from_bits(u32::from(v) << 16)))
            }
            // Callers ask `is_number` first; other kinds hold no numbers to visit.
            _ => Ok(()),
        }
    }
}

/// An IEEE half as f32.
fn half(bits: u16) -> f32 {
    let magnitude = match (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff)) {
        (0, fraction) => fraction as f32 * f32::exp2(-24.0),
        (31, fraction) => f32::from_bits(0x7f80_0000 | fraction << 13),
        (exponent, fraction) => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

/// The nearest f32, unless a finite value would become infinite.
pub(crate) fn narrow(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (narrow.is_finite() || !value.is_finite()).then_some(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0x0001), 2.0f32.powi(-24));
        assert_eq!(half(0xfc00), f32::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn finite_values_do_not_become_infinite() {
        assert_eq!(narrow(1.5), Some(1.5));
        assert_eq!(narrow(1e39), None);
        assert_eq!(narrow(f64::INFINITY), Some(f32::INFINITY));
        assert!(narrow(f64::NAN).is_some_and(f32::is_nan));
    }

    #[test]
    fn names_of_types() {
        let parsed = |name| Dtype::parse(name, 0);
        assert_eq!(parsed("f8"), Ok(Dtype::little(Kind::Float, 8)));
        assert!(parsed(">i4").is_ok_and(|d| d.big_endian));
        for refused in ["", "f", "f16", "c16", "M8[ns]", "V8", "U0", "U99999999999999999999", "i3"]
        {
            assert!(parsed(refused).is_err(), "{refused}");
        }
    }
}

//! NumPy's element types, as `.npy` headers and pickles write them: `<f4`, `|b1`, `>U12`.

use std::fmt;

use super::decode::{Endian, Kind, Number};
use crate::error::ParseError;
use crate::words::quoted;

/// What one element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Number(Kind),
    /// Bytes per string.
    Bytes(usize),
    /// UTF-32 characters per string.
    Text(usize),
    /// Python objects, which only a pickle holds.
    Object,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Number(kind) => kind.fmt(f),
            Element::Bytes(_) | Element::Text(_) => f.write_str("strings"),
            Element::Object => f.write_str("Python objects"),
        }
    }
}

/// An element type with its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) element: Element,
    pub(crate) endian: Endian,
}

impl Dtype {
    /// Reads a type string.
    pub(crate) fn parse(descr: &str) -> Result<Self, ParseError> {
        let (endian, code) = match descr.as_bytes() {
            [b'>', ..] => (Endian::Big, &descr[1..]),
            [b'<' | b'|' | b'=', ..] => (Endian::Little, &descr[1..]),
            _ => (Endian::Little, descr),
        };
        let length = || code.get(1..).and_then(|n| n.parse::<usize>().ok());
        let element = match (code, code.as_bytes().first()) {
            ("b1" | "?", _) => Element::Number(Kind::Bool),
            ("i1", _) => Element::Number(Kind::I8),
            ("u1", _) => Element::Number(Kind::U8),
            ("i2", _) => Element::Number(Kind::I16),
            ("u2", _) => Element::Number(Kind::U16),
            ("i4", _) => Element::Number(Kind::I32),
            ("u4", _) => Element::Number(Kind::U32),
            ("i8", _) => Element::Number(Kind::I64),
            ("u8", _) => Element::Number(Kind::U64),
            ("f2", _) => Element::Number(Kind::F16),
            ("f4", _) => Element::Number(Kind::F32),
            ("f8", _) => Element::Number(Kind::F64),
            (_, Some(b'O')) => Element::Object,
            (_, Some(b'c')) => return Err(Self::refused(descr, " (complex numbers)")),
            (_, Some(b'M' | b'm')) => return Err(Self::refused(descr, " (dates)")),
            (_, Some(letter @ (b'S' | b'a' | b'U'))) => match (letter, length()) {
                (b'U', Some(n)) if n <= usize::MAX / 4 => Element::Text(n),
                (b'S' | b'a', Some(n)) => Element::Bytes(n),
                _ => return Err(Self::refused(descr, "")),
            },
            _ => return Err(Self::refused(descr, "")),
        };
        Ok(Self { element, endian })
    }

    /// The error for a type that cannot be read.
    pub(crate) fn refused(descr: &str, what: &str) -> ParseError {
        let expected = "expected booleans, integers, floats or strings";
        ParseError::new(format!("type {}{what}, {expected}", quoted(descr)))
    }

    /// Bytes of one element; of a Python object, of the pointer NumPy has in its place.
    pub(crate) fn size(self) -> usize {
        match self.element {
            Element::Number(kind) => kind.size() as usize,
            Element::Bytes(n) => n,
            Element::Text(n) => 4 * n,
            Element::Object => 8,
        }
    }

    /// How the elements are stored, if they are numbers.
    pub(crate) fn number(self) -> Option<Number> {
        match self.element {
            Element::Number(kind) => Some(Number { kind, endian: self.endian }),
            _ => None,
        }
    }

    /// One string, without the NULs that fill it; `None` if it is not valid Unicode or no string.
    pub(crate) fn text(self, element: &[u8]) -> Option<String> {
        let filled = element.len() - element.iter().rev().take_while(|b| **b == 0).count();
        match self.element {
            Element::Bytes(_) => String::from_utf8(element[..filled].to_vec()).ok(),
            Element::Text(_) => {
                let characters = element[..filled.next_multiple_of(4)].as_chunks::<4>().0;
                let code = |b: &[u8; 4]| match self.endian {
                    Endian::Little => u32::from_le_bytes(*b),
                    Endian::Big => u32::from_be_bytes(*b),
                };
                characters.iter().map(|b| char::from_u32(code(b))).collect()
            }
            Element::Number(_) | Element::Object => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        let number = |kind, endian| Ok(Dtype { element: Element::Number(kind), endian });
        assert_eq!(Dtype::parse("f8"), number(Kind::F64, Endian::Little));
        assert_eq!(Dtype::parse(">i4"), number(Kind::I32, Endian::Big));
        assert_eq!(Dtype::parse("<U12").unwrap().size(), 48);
        for refused in ["", "f", "f16", "c16", "M8[ns]", "V8", "U99999999999999999999", "i3"] {
            assert!(Dtype::parse(refused).is_err(), "{refused}");
        }
        assert!(Dtype::parse(&format!("U{}", usize::MAX)).is_err());
    }

    #[test]
    fn strings_of_both_byte_orders() {
        let text = |descr: &str, bytes: &[u8]| Dtype::parse(descr).unwrap().text(bytes);
        assert_eq!(text("<U2", &[0xe9, 0, 0, 0, 0, 0, 0, 0]).as_deref(), Some("é"));
        assert_eq!(text(">U2", &[0, 0, 1, 0, 0, 0, 0, 0]).as_deref(), Some("\u{100}"));
        assert_eq!(text("S3", b"ab\0").as_deref(), Some("ab"));
        assert_eq!(text("S1", b"\xff"), None);
        assert_eq!(text("<U1", &[0xff; 4]), None);
    }
}

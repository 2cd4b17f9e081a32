//! The header of a `.npy` file: magic, version, and a Python dictionary as text.

use std::fmt;
use std::io::Read;

use crate::error::ParseError;
use crate::io::build::Order;
use crate::io::decode::{Endian, Kind, Source};

type Parsed<T> = Result<T, ParseError>;

/// Far above what plain arrays need; NumPy itself stops at 10,000 bytes.
const LONGEST: u32 = 1 << 16;

/// What the data after the header are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) endian: Endian,
    pub(super) order: Order,
    pub(super) shape: Vec<usize>,
}

/// What one element is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Element {
    Number(Kind),
    /// Bytes per string.
    Bytes(usize),
    /// UTF-32 characters per string.
    Text(usize),
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Number(kind) => kind.fmt(f),
            Element::Bytes(_) | Element::Text(_) => f.write_str("strings"),
        }
    }
}

impl Header {
    pub(super) fn read<R: Read>(source: &mut Source<R>) -> Parsed<Self> {
        let mut start = [0; 8];
        source.fill(&mut start, "the NumPy header")?;
        if &start[..6] != b"\x93NUMPY" {
            return Err(ParseError::at(0, "not a NumPy array: it does not start with \\x93NUMPY"));
        }
        let length = match start[6] {
            1 => {
                let mut bytes = [0; 2];
                source.fill(&mut bytes, "the NumPy header")?;
                u32::from(u16::from_le_bytes(bytes))
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                source.fill(&mut bytes, "the NumPy header")?;
                u32::from_le_bytes(bytes)
            }
            other => {
                let message = format!("NumPy format version {other}, expected 1 to 3");
                return Err(ParseError::at(6, message));
            }
        };
        if length > LONGEST {
            let message = format!("a header of {length} bytes, expected at most {LONGEST}");
            return Err(ParseError::at(8, message));
        }
        let at = source.at();
        let mut text = vec![0; length as usize];
        source.fill(&mut text, "the NumPy header")?;
        Literal { text: &text, at: 0 }.dictionary().map_err(|e| ParseError {
            at: e.at.map(|relative| at + relative),
            message: format!("NumPy header: {}", e.message),
        })
    }

    /// Rows and columns; one dimension of n is (n, 1) and a single value is (1, 1).
    pub(super) fn shape_2d(&self) -> Parsed<(usize, usize)> {
        match self.shape[..] {
            [] => Ok((1, 1)),
            [n] => Ok((n, 1)),
            [rows, cols] => Ok((rows, cols)),
            _ => Err(ParseError::new(format!(
                "a shape of {:?}, expected at most two dimensions",
                self.shape
            ))),
        }
    }

    /// Number of elements.
    pub(super) fn count(&self) -> Parsed<u64> {
        let product = |count: u64, n: &usize| count.checked_mul(*n as u64);
        self.shape.iter().try_fold(1, product).ok_or_else(|| {
            ParseError::new(format!(
                "a shape of {:?}, which is more than can be counted",
                self.shape
            ))
        })
    }
}

/// A reader of the few Python literals that occur.
struct Literal<'a> {
    text: &'a [u8],
    at: usize,
}

impl Literal<'_> {
    fn dictionary(mut self) -> Parsed<Header> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.eat(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key.as_str() {
                "descr" if self.peek() == Some(b'[') => {
                    return Err(
                        self.error("an array of records, expected plain numbers or strings")
                    );
                }
                "descr" => descr = Some(element(&self.string()?)?),
                "fortran_order" => order = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return Err(self.error(&format!("an unknown key `{key}`"))),
            }
            if !self.eat(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        let missing = |key: &str| ParseError::new(format!("no `{key}`"));
        let (element, endian) = descr.ok_or_else(|| missing("descr"))?;
        let by_columns = order.ok_or_else(|| missing("fortran_order"))?;
        let order = if by_columns { Order::ColumnMajor } else { Order::RowMajor };
        Ok(Header { element, endian, order, shape: shape.ok_or_else(|| missing("shape"))? })
    }

    fn string(&mut self) -> Parsed<String> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.error("expected a quoted string")),
        };
        let rest = &self.text[self.at + 1..];
        let Some(length) = rest.iter().position(|b| *b == quote) else {
            return Err(self.error("a string without an end"));
        };
        self.at += length + 2;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    fn boolean(&mut self) -> Parsed<bool> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("expected True or False"))
    }

    fn tuple(&mut self) -> Parsed<Vec<usize>> {
        let mut numbers = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            numbers.push(self.number()?);
            // Python 2 wrote long numbers with an L.
            self.eat(b'L');
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(numbers)
    }

    fn number(&mut self) -> Parsed<usize> {
        self.peek();
        let digits = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let number = std::str::from_utf8(&self.text[self.at..self.at + digits])
            .ok()
            .and_then(|d| d.parse().ok())
            .ok_or_else(|| self.error("expected a dimension, a whole number that fits 64 bits"))?;
        self.at += digits;
        Ok(number)
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.eat(byte) {
            return Ok(());
        }
        Err(self.error(&format!("expected `{}`", byte as char)))
    }

    fn error(&self, message: &str) -> ParseError {
        ParseError::at(self.at as u64, message)
    }
}

/// What a type string such as `<f4` means.
fn element(descr: &str) -> Parsed<(Element, Endian)> {
    let refuse = |what: &str| {
        let expected = "expected booleans, integers, floats or strings";
        Err(ParseError::new(format!("type `{descr}`{what}, {expected}")))
    };
    let (endian, code) = match descr.as_bytes() {
        [b'>', ..] => (Endian::Big, &descr[1..]),
        [b'<' | b'|' | b'=', ..] => (Endian::Little, &descr[1..]),
        _ => (Endian::Little, descr),
    };
    let number = match code {
        "b1" | "?" => Kind::Bool,
        "i1" => Kind::I8,
        "u1" => Kind::U8,
        "i2" => Kind::I16,
        "u2" => Kind::U16,
        "i4" => Kind::I32,
        "u4" => Kind::U32,
        "i8" => Kind::I64,
        "u8" => Kind::U64,
        "f2" => Kind::F16,
        "f4" => Kind::F32,
        "f8" => Kind::F64,
        _ => {
            let length = code.get(1..).and_then(|n| n.parse().ok());
            return match (code.as_bytes().first(), length) {
                (Some(b'S' | b'a'), Some(n)) => Ok((Element::Bytes(n), endian)),
                (Some(b'U'), Some(n)) => Ok((Element::Text(n), endian)),
                (Some(b'O'), _) => refuse(" (pickled Python objects)"),
                (Some(b'c'), _) => refuse(" (complex numbers)"),
                (Some(b'M' | b'm'), _) => refuse(" (dates)"),
                _ => refuse(""),
            };
        }
    };
    Ok((Element::Number(number), endian))
}

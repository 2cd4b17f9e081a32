//! The header of a `.npy` file: magic, version, and a Python dictionary as text.

use std::io::Read;

use crate::error::ParseError;
use crate::io::build::Order;
use crate::io::decode::Source;
use crate::io::dtype::{Dtype, Element};

type Parsed<T> = Result<T, ParseError>;

/// Far above what plain arrays need; NumPy itself stops at 10,000 bytes.
const LONGEST: u32 = 1 << 16;

/// What the data after the header are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: Dtype,
    pub(super) order: Order,
    pub(super) shape: Vec<usize>,
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
            ..e
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
                "descr" => descr = Some(dtype(&self.string()?)?),
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
        let dtype = descr.ok_or_else(|| missing("descr"))?;
        let by_columns = order.ok_or_else(|| missing("fortran_order"))?;
        let order = if by_columns { Order::ColumnMajor } else { Order::RowMajor };
        Ok(Header { dtype, order, shape: shape.ok_or_else(|| missing("shape"))? })
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

/// A type whose elements lie in the file.
fn dtype(descr: &str) -> Parsed<Dtype> {
    match Dtype::parse(descr)? {
        Dtype { element: Element::Object, .. } => {
            Err(Dtype::refused(descr, " (pickled Python objects)"))
        }
        dtype => Ok(dtype),
    }
}

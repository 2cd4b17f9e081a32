//! One variable: flags, dimensions, name and values, each an element with its own tag.

use std::io::Read;

use super::{Parsed, word};
use crate::error::ParseError;
use crate::io::arrays::{Array, NamedArray};
use crate::io::build::{ArrayBuilder, Budget, Order, Sparse, SparseIndex};
use crate::io::decode::{Endian, Kind, Number, Source, about, whole};

pub(super) const MI_UTF8: u32 = 16;
const MI_UTF16: u32 = 17;

pub(super) const CLASS_CHAR: u32 = 4;
pub(super) const CLASS_SPARSE: u32 = 5;
pub(super) const CLASS_DOUBLE: u32 = 6;
pub(super) const CLASS_UINT64: u32 = 15;

pub(super) const FLAG_COMPLEX: u32 = 0x800;

/// MATLAB knows no limit, NumPy has 64; a claim beyond it is damage.
const MOST_DIMENSIONS: u64 = 64;
/// MATLAB's own limit is 63.
const LONGEST_NAME: u64 = 4096;

/// The elements of a variable, which must stay within its size.
pub(super) struct Variable<'a, R> {
    source: &'a mut Source<R>,
    endian: Endian,
    end: u64,
}

/// Type and size of an element inside a variable.
struct Tag {
    kind: u32,
    bytes: u64,
    padding: u64,
}

impl<'a, R: Read> Variable<'a, R> {
    pub(super) fn within(source: &'a mut Source<R>, endian: Endian, bytes: u64) -> Self {
        let end = source.at().saturating_add(bytes);
        Self { source, endian, end }
    }

    pub(super) fn read(mut self, budget: &mut Budget) -> Parsed<Option<NamedArray>> {
        let flags = self.integers("array flags", 2, budget)?;
        let Some(&flags) = flags.first() else {
            return Err(ParseError::at(self.source.at(), "a variable without array flags"));
        };
        let flags = flags as u32;
        let class = flags & 0xff;
        let mut array = None;
        if matches!(class, CLASS_CHAR..=CLASS_UINT64) {
            let dimensions = self.integers("dimensions", MOST_DIMENSIONS, budget)?;
            let name = self.name()?;
            if !name.is_empty() {
                array = self
                    .values(&name, class, flags, &dimensions, budget)
                    .map_err(|e| about(&name, e))?;
            }
        }
        self.source.skip(self.end - self.source.at(), "a variable")?;
        Ok(array)
    }

    fn values(
        &mut self,
        name: &str,
        class: u32,
        flags: u32,
        dimensions: &[i64],
        budget: &mut Budget,
    ) -> Parsed<Option<NamedArray>> {
        let shape = match dimensions {
            [rows, cols] => usize::try_from(*rows).ok().zip(usize::try_from(*cols).ok()),
            _ => None,
        };
        let Some(shape) = shape else {
            if class == CLASS_CHAR {
                return Ok(None);
            }
            return Err(ParseError::at(
                self.source.at(),
                format!("dimensions {dimensions:?}, expected rows and columns"),
            ));
        };
        if class == CLASS_CHAR {
            let rows = self.text(shape, budget)?;
            let strings = |rows| NamedArray { name: name.to_owned(), array: Array::Strings(rows) };
            return Ok(rows.map(strings));
        }
        if flags & FLAG_COMPLEX != 0 {
            return Err(ParseError::at(self.source.at(), "complex numbers, expected real ones"));
        }
        if class == CLASS_SPARSE {
            return self.sparse(name, shape, budget).map(Some);
        }
        debug_assert!((CLASS_DOUBLE..=CLASS_UINT64).contains(&class));
        let at = self.source.at();
        let tag = self.tag("values")?;
        let kind = number(tag.kind, at)?;
        let count = tag.bytes / kind.size();
        let expected = (shape.0 as u64).checked_mul(shape.1 as u64);
        if expected != Some(count) || tag.bytes % kind.size() != 0 {
            return Err(ParseError::at(
                at,
                format!(
                    "{} bytes of {kind}, expected {} by {} values",
                    tag.bytes, shape.0, shape.1
                ),
            ));
        }
        let mut builder = ArrayBuilder::new(name, shape, Order::ColumnMajor, budget)?;
        let number = Number { kind, endian: self.endian };
        self.source.chunks(kind, count, "values", |bytes| builder.push(number, bytes))?;
        builder.finish().map(Some)
    }

    fn sparse(
        &mut self,
        name: &str,
        shape: (usize, usize),
        budget: &mut Budget,
    ) -> Parsed<NamedArray> {
        let indices = self.integers("row indices", u64::MAX, budget)?;
        let indptr = self.integers("column pointers", u64::MAX, budget)?;
        let mut values = Vec::new();
        self.numbers("values", u64::MAX, |v| {
            budget.take(8)?;
            values.push(v);
            Ok(())
        })?;
        let index = SparseIndex::Csc { indptr, indices };
        NamedArray::from_sparse(name, Sparse { shape, index, values, logical: false }, budget)
    }

    /// One string per row, without the blanks MATLAB fills rows with; `None` if the rows cannot be told apart.
    fn text(&mut self, shape: (usize, usize), budget: &mut Budget) -> Parsed<Option<Vec<String>>> {
        let at = self.source.at();
        let tag = self.tag("text")?;
        // Characters, and at worst one string for each.
        budget.take(tag.bytes.saturating_mul(32))?;
        let text: Vec<char> = if tag.kind == MI_UTF8 {
            let mut bytes = Vec::new();
            self.source.chunks(Kind::U8, tag.bytes, "text", |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            })?;
            String::from_utf8_lossy(&bytes).chars().collect()
        } else {
            let kind = match number(tag.kind, at)? {
                Kind::I8 => Kind::U8,
                kind => kind,
            };
            let mut units = Vec::new();
            let number = Number { kind, endian: self.endian };
            self.source.values(number, tag.bytes / kind.size(), "text", |u| {
                units.push(u as u16);
                Ok(())
            })?;
            self.source.skip(tag.bytes % kind.size(), "text")?;
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        };
        self.source.skip(tag.padding, "text")?;
        let (rows, cols) = shape;
        let row = |r: usize| text.iter().skip(r).step_by(rows).collect::<String>();
        Ok(match rows {
            0 => Some(Vec::new()),
            _ if cols == 0 => Some(Vec::new()),
            _ if rows == 1 || rows.checked_mul(cols) == Some(text.len()) => {
                Some((0..rows).map(|r| row(r).trim_end_matches([' ', '\0']).to_owned()).collect())
            }
            _ => None,
        })
    }

    fn name(&mut self) -> Parsed<String> {
        let mut name = Vec::new();
        self.numbers("a name", LONGEST_NAME, |b| {
            name.push(b as i64 as u8);
            Ok(())
        })?;
        Ok(String::from_utf8_lossy(&name).into_owned())
    }

    fn integers(&mut self, what: &str, most: u64, budget: &mut Budget) -> Parsed<Vec<i64>> {
        let mut integers = Vec::new();
        let at = self.source.at();
        self.numbers(what, most, |v| {
            budget.take(8)?;
            integers.push(whole(v).ok_or_else(|| {
                ParseError::at(at, format!("{v} among its {what}, expected whole numbers"))
            })?);
            Ok(())
        })?;
        Ok(integers)
    }

    /// Hands on the numbers of the next element, of which there may be at most `most`.
    fn numbers(
        &mut self,
        what: &str,
        most: u64,
        each: impl FnMut(f64) -> Parsed<()>,
    ) -> Parsed<()> {
        let at = self.source.at();
        let tag = self.tag(what)?;
        let kind = number(tag.kind, at)?;
        let count = tag.bytes / kind.size();
        if count > most || tag.bytes % kind.size() != 0 {
            return Err(ParseError::at(at, format!("{} bytes of {kind} for {what}", tag.bytes)));
        }
        self.source.values(Number { kind, endian: self.endian }, count, what, each)?;
        self.source.skip(tag.padding, what)
    }

    fn tag(&mut self, what: &str) -> Parsed<Tag> {
        let at = self.source.at();
        let beyond = |needed: u64| {
            ParseError::at(
                at,
                format!(
                    "{what} of {needed} bytes, expected at most {}",
                    self.end.saturating_sub(at)
                ),
            )
        };
        if self.end.saturating_sub(at) < 8 {
            return Err(beyond(8));
        }
        let mut bytes = [0; 4];
        self.source.fill(&mut bytes, what)?;
        let first = word(&bytes, self.endian);
        let (kind, small) = (first & 0xffff, u64::from(first >> 16));
        if small > 0 {
            if small > 4 {
                return Err(ParseError::at(
                    at,
                    format!("{what}: a small element of {small} bytes"),
                ));
            }
            return Ok(Tag { kind, bytes: small, padding: 4 - small });
        }
        self.source.fill(&mut bytes, what)?;
        let bytes = u64::from(word(&bytes, self.endian));
        let room = self.end - at - 8;
        if bytes > room {
            return Err(beyond(bytes));
        }
        // Some writers leave out the padding of a variable's last element.
        Ok(Tag {
            kind: first,
            bytes,
            padding: (bytes.next_multiple_of(8) - bytes).min(room - bytes),
        })
    }
}

/// How an element's type stores numbers.
fn number(kind: u32, at: u64) -> Parsed<Kind> {
    Ok(match kind {
        1 => Kind::I8,
        2 | MI_UTF8 => Kind::U8,
        3 => Kind::I16,
        4 | MI_UTF16 => Kind::U16,
        5 => Kind::I32,
        6 => Kind::U32,
        7 => Kind::F32,
        9 => Kind::F64,
        12 => Kind::I64,
        13 => Kind::U64,
        _ => {
            return Err(ParseError::at(at, format!("an element of type {kind}, expected numbers")));
        }
    })
}

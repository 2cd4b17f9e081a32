//! NumPy arrays: from their pickled state to named arrays, without a copy of their payload.

use std::borrow::Cow;

use super::allow::wrong;
use super::machine::Machine;
use super::value::{Heap, Object, Parsed, Value, Work};
use crate::error::ParseError;
use crate::io::arrays::{Array, NamedArray};
use crate::io::build::{ArrayBuilder, Budget, Order};
use crate::io::decode::{Endian, Kind, Number, whole};
use crate::io::dtype::{Dtype, Element};

/// An array as pickled; its payload is still somewhere else in the heap.
#[derive(Debug)]
pub(crate) struct NdArray {
    at: u64,
    dtype: Dtype,
    shape: Vec<usize>,
    order: Order,
    data: Value,
}

/// An element type by its name. Strings without room are none that NumPy pickles.
pub(super) fn dtype(name: &str, at: u64) -> Parsed<Dtype> {
    match Dtype::parse(name) {
        Ok(dtype) if dtype.size() > 0 => Ok(dtype),
        Ok(_) => Err(ParseError { at: Some(at), ..Dtype::refused(name, "") }),
        Err(e) => Err(ParseError { at: Some(at), ..e }),
    }
}

/// The byte order in a pickled dtype's state. Types with fields are refused.
pub(super) fn byte_order(m: &Machine<'_>, state: Value, at: u64) -> Parsed<Endian> {
    let Some([_, order, Value::None, Value::None, Value::None, ..]) = m.heap.tuple(state) else {
        return Err(wrong(m, at, "a dtype with state", state, "one without fields"));
    };
    match m.heap.name(*order) {
        Some(">") => Ok(Endian::Big),
        Some("<" | "|" | "=") => Ok(Endian::Little),
        _ => Err(wrong(m, at, "byte order", *order, "`<`, `>` or `|`")),
    }
}

/// `(version, shape, dtype, is_fortran, data)`, the state of a pickled array.
pub(super) fn array_from_state(m: &Machine<'_>, state: Value, at: u64) -> Parsed<Box<NdArray>> {
    let Some([_, shape, dtype, fortran, data]) = m.heap.tuple(state) else {
        return Err(wrong(m, at, "an array with state", state, "a tuple of 5"));
    };
    let fortran = match fortran {
        Value::Bool(fortran) => *fortran,
        Value::Int(fortran) => *fortran != 0,
        other => return Err(wrong(m, at, "an array order", *other, "a bool")),
    };
    array(m, *shape, *dtype, fortran, *data, at)
}

pub(super) fn array(
    m: &Machine<'_>,
    shape: Value,
    dtype: Value,
    fortran: bool,
    data: Value,
    at: u64,
) -> Parsed<Box<NdArray>> {
    let Some(Object::Dtype(dtype)) = m.heap.get(dtype) else {
        return Err(wrong(m, at, "an array of type", dtype, "a dtype"));
    };
    let shape = dimensions(&m.heap, shape, at)?;
    let order = if fortran { Order::ColumnMajor } else { Order::RowMajor };
    Ok(Box::new(NdArray { at, dtype: *dtype, shape, order, data }))
}

/// A tuple of sizes.
pub(super) fn dimensions(heap: &Heap<'_>, shape: Value, at: u64) -> Parsed<Vec<usize>> {
    // NumPy allows 64 dimensions; the limit keeps a shared tuple from being copied at length.
    heap.tuple(shape)
        .filter(|sizes| sizes.len() <= 64)
        .and_then(|sizes| {
            let size = |v: &Value| match v {
                Value::Int(n) => usize::try_from(*n).ok(),
                _ => None,
            };
            sizes.iter().map(size).collect()
        })
        .ok_or_else(|| {
            let found = heap.describe(shape);
            ParseError::at(at, format!("found shape {found}, expected a tuple of sizes"))
        })
}

/// A NumPy scalar, as a plain value.
pub(super) fn scalar(m: &mut Machine<'_>, dtype: Value, data: Value, at: u64) -> Parsed<Value> {
    let array = match m.heap.get(dtype) {
        Some(Object::Dtype(dtype)) => {
            NdArray { at, dtype: *dtype, shape: Vec::new(), order: Order::RowMajor, data }
        }
        _ => return Err(wrong(m, at, "a scalar of type", dtype, "a dtype")),
    };
    let view = array.view(&m.heap, &mut m.work)?;
    let Some(number) = view.dtype.number() else {
        let text = view.strings()?.swap_remove(0);
        return m.add(Object::Text(Cow::Owned(text)), at);
    };
    let mut value = 0.0;
    view.each(|v| {
        value = v;
        Ok(())
    })?;
    let real = matches!(number.kind, Kind::F16 | Kind::BF16 | Kind::F32 | Kind::F64);
    // Beyond 2^53 an f64 no longer tells integers apart.
    Ok(if real || value.abs() > 2f64.powi(53) {
        Value::Float(value)
    } else {
        Value::Int(value as i64)
    })
}

impl NdArray {
    /// The payload, checked against shape and type. Arrays of objects have none.
    pub(super) fn view<'h>(&self, heap: &'h Heap<'_>, work: &mut Work) -> Parsed<View<'h>> {
        let at = heap.at(self.data, self.at);
        let wrong = |found: String| {
            Err(ParseError::at(
                self.at,
                format!(
                    "found an array of shape {:?} with {found}, expected {} bytes an element",
                    self.shape,
                    self.dtype.size()
                ),
            ))
        };
        let bytes = match heap.get(self.data) {
            _ if self.dtype.element == Element::Object => return wrong("Python objects".into()),
            Some(Object::Bytes(bytes)) => Cow::Borrowed(*bytes),
            Some(Object::Latin1(text)) => {
                work.spend(text.len(), at)?;
                latin1(text, at)?
            }
            _ => return wrong(heap.describe(self.data)),
        };
        let (rows, cols) = match self.shape[..] {
            [] => (1, 1),
            [n] => (n, 1),
            [rows, cols] => (rows, cols),
            _ => {
                return Err(ParseError::at(
                    self.at,
                    format!("found an array of shape {:?}, expected at most 2-D", self.shape),
                ));
            }
        };
        let expected = rows.checked_mul(cols).and_then(|n| n.checked_mul(self.dtype.size()));
        if expected != Some(bytes.len()) {
            return wrong(format!("{} bytes", bytes.len()));
        }
        // Rows and columns count too: an array of shape (n, 0) has no payload.
        work.spend(bytes.len(), at)?;
        work.spend(rows, at)?;
        work.spend(cols, at)?;
        Ok(View { at, dtype: self.dtype, shape: (rows, cols), order: self.order, bytes })
    }

    /// A 1-D array of Python objects as the list it is pickled as.
    pub(super) fn objects<'h>(&self, heap: &'h Heap<'_>) -> Option<&'h [Value]> {
        let items = heap.sequence(self.data)?;
        (self.dtype.element == Element::Object && self.shape[..] == [items.len()]).then_some(items)
    }
}

fn latin1(text: &str, at: u64) -> Parsed<Cow<'_, [u8]>> {
    if text.is_ascii() {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    let bytes: Result<Vec<u8>, _> = text.chars().map(|c| u8::try_from(u32::from(c))).collect();
    bytes.map(Cow::Owned).map_err(|_| {
        ParseError::at(at, "found a character beyond U+00FF, expected bytes written as Latin-1")
    })
}

/// An array's payload with all that is needed to read it.
pub(super) struct View<'h> {
    at: u64,
    dtype: Dtype,
    shape: (usize, usize),
    order: Order,
    bytes: Cow<'h, [u8]>,
}

impl View<'_> {
    fn number(&self) -> Parsed<Number> {
        self.dtype.number().ok_or_else(|| {
            ParseError::at(self.at, format!("found {}, expected numbers", self.dtype.element))
        })
    }

    fn each(&self, mut f: impl FnMut(f64) -> Parsed<()>) -> Parsed<()> {
        self.number()?.each(&self.bytes, |_, v| f(v))
    }

    /// The numbers in the order of the payload.
    pub(super) fn values(&self, memory: &mut Budget) -> Parsed<Vec<f64>> {
        memory.take(8 * self.shape.0 as u64 * self.shape.1 as u64)?;
        let mut values = Vec::with_capacity(self.shape.0 * self.shape.1);
        self.each(|v| {
            values.push(v);
            Ok(())
        })?;
        Ok(values)
    }

    /// The numbers as indices.
    pub(super) fn integers(&self, memory: &mut Budget) -> Parsed<Vec<i64>> {
        memory.take(8 * self.shape.0 as u64 * self.shape.1 as u64)?;
        let mut integers = Vec::with_capacity(self.shape.0 * self.shape.1);
        self.each(|v| {
            integers.push(whole(v).ok_or_else(|| {
                ParseError::at(self.at, format!("found {v}, expected whole numbers"))
            })?);
            Ok(())
        })?;
        Ok(integers)
    }

    pub(super) fn is_logical(&self) -> bool {
        self.dtype.element == Element::Number(Kind::Bool)
    }

    /// The elements of an array of strings.
    fn strings(&self) -> Parsed<Vec<String>> {
        let elements = self.bytes.chunks_exact(self.dtype.size()).enumerate();
        elements
            .map(|(i, element)| {
                self.dtype.text(element).ok_or_else(|| {
                    let at = self.at + (i * element.len()) as u64;
                    ParseError::at(at, format!("string {i} is no valid Unicode text"))
                })
            })
            .collect()
    }

    pub(super) fn into_array(self, name: &str, memory: &mut Budget) -> Parsed<NamedArray> {
        let Some(number) = self.dtype.number() else {
            if self.shape.0.min(self.shape.1) > 1 {
                let message = "found a 2-D array of strings, expected numbers";
                return Err(ParseError::at(self.at, message));
            }
            let array = Array::Strings(self.strings()?);
            return Ok(NamedArray { name: name.to_owned(), array });
        };
        let mut builder = ArrayBuilder::new(name, self.shape, self.order, memory)?;
        builder
            .push(number, &self.bytes)
            .and_then(|()| builder.finish())
            .map_err(|e| ParseError { at: Some(self.at), ..e })
    }
}

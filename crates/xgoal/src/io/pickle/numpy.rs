//! NumPy arrays: from their pickled state to matrices, without a dense f64 copy.

use std::borrow::Cow;

use super::allow::wrong;
pub(crate) use super::dtype::Dtype;
use super::dtype::{Kind, narrow};
use super::machine::Machine;
use super::value::{Budget, Heap, Object, Parsed, Value, quoted};
use crate::error::ParseError;
use crate::io::arrays::Array;
use crate::matrix::{Csr, Dense, Matrix};

/// An array as pickled; its payload is still somewhere else in the heap.
#[derive(Debug)]
pub(crate) struct NdArray {
    at: u64,
    dtype: Dtype,
    shape: Vec<usize>,
    fortran: bool,
    data: Value,
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
    Ok(Box::new(NdArray { at, dtype: *dtype, shape, fortran, data }))
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
            NdArray { at, dtype: *dtype, shape: Vec::new(), fortran: false, data }
        }
        _ => return Err(wrong(m, at, "a scalar of type", dtype, "a dtype")),
    };
    let view = array.view(&m.heap, &mut m.budget)?;
    if !view.dtype.is_number() {
        let text = view.strings()?.swap_remove(0);
        return m.add(Object::Text(Cow::Owned(text)), at);
    }
    let mut value = Value::None;
    if matches!(view.dtype.kind, Kind::Int | Kind::Unsigned) {
        view.for_each_integer(|_, v| {
            value = Value::Int(v);
            Ok(())
        })?;
    } else {
        view.for_each(|_, v| {
            value = Value::Float(v);
            Ok(())
        })?;
    }
    Ok(value)
}

impl NdArray {
    /// The payload, checked against shape and type. Arrays of objects have none.
    pub(super) fn view<'h>(&self, heap: &'h Heap<'_>, budget: &mut Budget) -> Parsed<View<'h>> {
        let at = heap.at(self.data, self.at);
        let wrong = |found: String| {
            Err(ParseError::at(
                self.at,
                format!(
                    "found an array of shape {:?} with {found}, expected {} bytes an element",
                    self.shape, self.dtype.size
                ),
            ))
        };
        let bytes = match heap.get(self.data) {
            _ if self.dtype.kind == Kind::Object => return wrong("Python objects".into()),
            Some(Object::Bytes(bytes)) => Cow::Borrowed(*bytes),
            Some(Object::Latin1(text)) => {
                budget.spend(text.len(), at)?;
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
        let expected = rows.checked_mul(cols).and_then(|n| n.checked_mul(self.dtype.size));
        if expected != Some(bytes.len()) {
            return wrong(format!("{} bytes", bytes.len()));
        }
        // Rows and columns count too: an array of shape (n, 0) has no payload.
        budget.spend(bytes.len(), at)?;
        budget.spend(rows, at)?;
        budget.spend(cols, at)?;
        Ok(View { at, dtype: self.dtype, rows, cols, fortran: self.fortran, bytes })
    }

    /// A 1-D array of Python objects as the list it is pickled as.
    pub(super) fn objects<'h>(&self, heap: &'h Heap<'_>) -> Option<&'h [Value]> {
        let items = heap.sequence(self.data)?;
        (self.dtype.kind == Kind::Object && self.shape[..] == [items.len()]).then_some(items)
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
    pub(super) at: u64,
    pub(super) dtype: Dtype,
    pub(super) rows: usize,
    pub(super) cols: usize,
    fortran: bool,
    bytes: Cow<'h, [u8]>,
}

impl View<'_> {
    pub(super) fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Where element `i` of the payload lies in the file.
    pub(super) fn position(&self, i: usize) -> u64 {
        self.at + (i * self.dtype.size) as u64
    }

    /// Calls `f` with each number in the order of the payload.
    pub(super) fn for_each(&self, f: impl FnMut(usize, f64) -> Parsed<()>) -> Parsed<()> {
        if !self.dtype.is_number() {
            return Err(ParseError::at(self.at, "found an array of strings, expected numbers"));
        }
        self.dtype.for_each(&self.bytes, f)
    }

    /// Calls `f` with each element of an integer array, exactly.
    pub(super) fn for_each_integer(
        &self,
        mut f: impl FnMut(usize, i64) -> Parsed<()>,
    ) -> Parsed<()> {
        let Dtype { kind, size, big_endian } = self.dtype;
        if !matches!(kind, Kind::Int | Kind::Unsigned) {
            let message = format!("found an array of {kind:?}, expected integers");
            return Err(ParseError::at(self.at, message));
        }
        for (i, element) in self.bytes.chunks_exact(size).enumerate() {
            let mut little = [0; 8];
            little[..size].copy_from_slice(element);
            if big_endian {
                little[..size].reverse();
            }
            if kind == Kind::Int && little[size - 1] & 0x80 != 0 {
                little[size..].fill(0xff);
            }
            let value = i64::from_le_bytes(little);
            if kind == Kind::Unsigned && value < 0 {
                let message = format!("found {}, expected less than 2^63", value as u64);
                return Err(ParseError::at(self.position(i), message));
            }
            f(i, value)?;
        }
        Ok(())
    }

    /// The elements of an array of strings.
    pub(super) fn strings(&self) -> Parsed<Vec<String>> {
        let elements = self.bytes.chunks_exact(self.dtype.size).enumerate();
        elements
            .map(|(i, element)| {
                let text = match self.dtype.kind {
                    Kind::Text => {
                        element.as_chunks::<4>().0.iter().map(|c| self.character(*c)).collect()
                    }
                    Kind::Bytes => String::from_utf8(element.to_vec()).ok(),
                    _ => None,
                };
                // NumPy pads short strings with NUL.
                text.map(|t: String| t.trim_end_matches('\0').to_owned()).ok_or_else(|| {
                    ParseError::at(self.position(i), format!("string {i} is not valid Unicode"))
                })
            })
            .collect()
    }

    fn character(&self, bytes: [u8; 4]) -> Option<char> {
        let big = self.dtype.big_endian;
        char::from_u32(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(super) fn into_array(self) -> Parsed<Array> {
        if !self.dtype.is_number() {
            return if self.rows.min(self.cols) <= 1 {
                self.strings().map(Array::Strings)
            } else {
                Err(ParseError::at(self.at, "found a 2-D array of strings, expected numbers"))
            };
        }
        if self.rows.min(self.cols) <= 1 {
            let mut values = Vec::with_capacity(self.len());
            self.for_each(|_, v| {
                values.push(v);
                Ok(())
            })?;
            return Ok(Array::Vector { values, shape: (self.rows, self.cols) });
        }
        let mut nonzeros = 0usize;
        self.for_each(|_, v| {
            nonzeros += usize::from(v != 0.0);
            Ok(())
        })?;
        // A square matrix is a layer, and layers are always sparse.
        let dense =
            self.rows != self.cols && share(nonzeros, self.rows, self.cols) > Matrix::DENSE_ABOVE;
        Ok(Array::Matrix(if dense {
            Matrix::Dense(self.dense()?)
        } else {
            Matrix::Sparse(self.sparse(nonzeros)?)
        }))
    }

    /// (outer, inner) sizes of the payload: rows and columns in C order, swapped in Fortran's.
    fn strides(&self) -> (usize, usize) {
        if self.fortran { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    fn narrow(&self, i: usize, value: f64) -> Parsed<f32> {
        narrow(value).ok_or_else(|| {
            let (outer, inner) = (i / self.strides().1, i % self.strides().1);
            let (row, col) = if self.fortran { (inner, outer) } else { (outer, inner) };
            overflow(self.position(i), row, col, value)
        })
    }

    fn dense(&self) -> Parsed<Dense> {
        let mut values = vec![0f32; self.len()];
        let (outer, inner) = self.strides();
        self.for_each(|i, v| {
            let slot = if self.fortran { i % inner * outer + i / inner } else { i };
            values[slot] = self.narrow(i, v)?;
            Ok(())
        })?;
        Dense::from_vec(self.rows, self.cols, values)
            .map_err(|e| ParseError::at(self.at, e.to_string()))
    }

    fn sparse(&self, nonzeros: usize) -> Parsed<Csr> {
        let (outer, inner) = self.strides();
        let mut indptr = Vec::with_capacity(outer + 1);
        let mut indices = Vec::with_capacity(nonzeros);
        let mut values = Vec::with_capacity(nonzeros);
        indptr.push(0);
        for (line, bytes) in self.bytes.chunks_exact(inner * self.dtype.size).enumerate() {
            self.dtype.for_each(bytes, |i, v| {
                if v != 0.0 {
                    indices.push(i as u32);
                    values.push(self.narrow(line * inner + i, v)?);
                }
                Ok(())
            })?;
            indptr.push(indices.len());
        }
        let matrix = Csr::try_new(outer, inner, indptr, indices, values)
            .map_err(|e| ParseError::at(self.at, e.message))?;
        Ok(if self.fortran { matrix.transpose() } else { matrix })
    }
}

/// Share of non-zeros.
pub(super) fn share(nonzeros: usize, rows: usize, cols: usize) -> f64 {
    nonzeros as f64 / (rows as f64 * cols as f64)
}

/// A value too large for the f32 that matrices are kept in.
pub(super) fn overflow(at: u64, row: usize, col: usize, value: f64) -> ParseError {
    ParseError::at(
        at,
        format!(
            "row {row}, column {col}: found {}, expected a value within the range of f32",
            quoted(&value.to_string())
        ),
    )
}

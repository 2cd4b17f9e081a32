//! NumPy's `.npy` files: one array each.
//!
//! ```text
//! \x93NUMPY | major minor | header size | {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } | data
//! ```
//!
//! Versions 1 to 3, both byte orders, booleans, integers, floats and strings are read. Complex numbers, dates,
//! records and pickled objects are refused.

use std::io::{self, Read, Write};
use std::path::Path;

use super::arrays::{Array, NamedArray};
use super::build::{ArrayBuilder, Budget, Order, narrow, size_of_shape};
use super::decode::{self, Kind, Source, about};
use crate::error::ParseError;
use crate::matrix::Dense;

mod header;

use header::Header;

type Parsed<T> = Result<T, ParseError>;

/// Strings longer than this are damage, not ids.
const LONGEST_STRING: usize = 1 << 20;

/// Reads the one array of a file, which gets the file's name without its extension.
pub fn read(path: &Path) -> crate::Result<NamedArray> {
    let (file, mut budget) = decode::open(path)?;
    parse(&decode::stem(path), file, &mut budget).map_err(|e| e.in_file(path))
}

/// Reads a matrix of numbers and keeps every entry, as for embeddings.
pub fn read_f32_matrix(path: &Path) -> crate::Result<Dense> {
    let (file, mut budget) = decode::open(path)?;
    let room = file.get_ref().metadata().map_or(0, |m| m.len());
    parse_f32_matrix(&decode::stem(path), file, room, &mut budget).map_err(|e| e.in_file(path))
}

/// Writes a matrix as little-endian `float32`, row after row.
pub fn write_f32(mut writer: impl Write, matrix: &Dense) -> io::Result<()> {
    write_header(&mut writer, "<f4", &[matrix.rows(), matrix.cols()])?;
    write_numbers(&mut writer, matrix.values(), |v| v.to_le_bytes())?;
    writer.flush()
}

/// Writes the header of an array whose values follow row after row.
pub(crate) fn write_header(writer: &mut dyn Write, descr: &str, shape: &[usize]) -> io::Result<()> {
    let shape = match shape {
        [one] => format!("({one},)"),
        several => {
            let numbers: Vec<String> = several.iter().map(usize::to_string).collect();
            format!("({})", numbers.join(", "))
        }
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // NumPy aligns the data to 64 bytes: 10 bytes come before the text and a line feed ends it.
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let length = u16::try_from(text.len()).map_err(io::Error::other)?;
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(text.as_bytes())
}

/// Writes numbers as bytes, some thousand at a time.
pub(crate) fn write_numbers<T: Copy, const SIZE: usize>(
    writer: &mut dyn Write,
    numbers: &[T],
    bytes_of: impl Fn(T) -> [u8; SIZE],
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(SIZE << 12);
    for chunk in numbers.chunks(1 << 12) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|v| bytes_of(*v)));
        writer.write_all(&bytes)?;
    }
    Ok(())
}

/// Reads one array up to the end of the reader.
pub(crate) fn parse<R: Read>(name: &str, reader: R, budget: &mut Budget) -> Parsed<NamedArray> {
    let mut source = Source::new(reader);
    let header = Header::read(&mut source).map_err(|e| about(name, e))?;
    let array = (|| {
        let shape = header.shape_2d()?;
        if let Some(number) = header.dtype.number() {
            let count = header.count()?;
            let mut builder = ArrayBuilder::new(name, shape, header.order, budget)?;
            source.chunks(number.kind, count, "values", |bytes| builder.push(number, bytes))?;
            return builder.finish();
        }
        if header.shape.len() > 1 {
            return Err(ParseError::new(format!(
                "strings in a shape of {:?}, expected one dimension",
                header.shape
            )));
        }
        let strings = strings(&mut source, &header, budget)?;
        Ok(NamedArray { name: name.to_owned(), array: Array::Strings(strings) })
    })()
    .map_err(|e| about(name, e))?;
    ends(&mut source).map_err(|e| about(name, e))?;
    Ok(array)
}

/// Reads one list of numbers, each converted as it arrives.
///
/// `room` is how many bytes there can be at most, so that memory is reserved for what can exist and not for what the
/// header claims.
pub(crate) fn parse_list<R: Read, T>(
    name: &str,
    reader: R,
    room: u64,
    budget: &mut Budget,
    mut convert: impl FnMut(f64) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    let mut source = Source::new(reader);
    let header = Header::read(&mut source).map_err(|e| about(name, e))?;
    let (Some(number), [count]) = (header.dtype.number(), &header.shape[..]) else {
        let found = header.dtype.element;
        let message = format!("{found} in a shape of {:?}, expected a list", header.shape);
        return Err(about(name, ParseError::new(message)));
    };
    let count = *count as u64;
    budget.take(count.saturating_mul(size_of::<T>() as u64))?;
    let mut list = Vec::with_capacity((room / number.kind.size()).min(count) as usize);
    source
        .values(number, count, "values", |v| {
            list.push(convert(v)?);
            Ok(())
        })
        .map_err(|e| about(name, e))?;
    ends(&mut source).map_err(|e| about(name, e))?;
    Ok(list)
}

/// Whether the header announces booleans.
pub(crate) fn holds_bools<R: Read>(reader: R) -> Parsed<bool> {
    let header = Header::read(&mut Source::new(reader))?;
    Ok(header.dtype.number().is_some_and(|number| number.kind == Kind::Bool))
}

fn parse_f32_matrix<R: Read>(
    name: &str,
    reader: R,
    room: u64,
    budget: &mut Budget,
) -> Parsed<Dense> {
    let mut source = Source::new(reader);
    let header = Header::read(&mut source)?;
    let (Some(number), [rows, cols]) = (header.dtype.number(), &header.shape[..]) else {
        return Err(ParseError::new(format!(
            "{} in a shape of {:?}, expected numbers in rows and columns",
            header.dtype.element, header.shape
        )));
    };
    let (rows, cols) = (*rows, *cols);
    size_of_shape(name, (rows, cols))?;
    let count = header.count()?;
    budget.take(count.saturating_mul(4))?;
    let mut values: Vec<f32> = Vec::with_capacity((room / number.kind.size()).min(count) as usize);
    source.values(number, count, "values", |v| {
        let place = match header.order {
            Order::RowMajor => (values.len() / cols, values.len() % cols),
            Order::ColumnMajor => (values.len() % rows, values.len() / rows),
        };
        values.push(narrow(name, place, v)?);
        Ok(())
    })?;
    ends(&mut source)?;
    if header.order == Order::ColumnMajor && !values.is_empty() {
        budget.take(4 * values.len() as u64)?;
        let by_columns = values;
        values = Vec::with_capacity(by_columns.len());
        for r in 0..rows {
            values.extend(by_columns.iter().skip(r).step_by(rows));
        }
    }
    Dense::from_vec(rows, cols, values).map_err(|e| ParseError::new(e.to_string()))
}

/// Fixed-width strings without the NULs that fill them.
fn strings<R: Read>(
    source: &mut Source<R>,
    header: &Header,
    budget: &mut Budget,
) -> Parsed<Vec<String>> {
    let size = header.dtype.size();
    if size > LONGEST_STRING {
        return Err(ParseError::new(format!(
            "strings of {size} bytes each, expected at most {LONGEST_STRING}"
        )));
    }
    let count = header.count()?;
    // Strings of no bytes could be any number of them without a byte of data.
    if size == 0 && count > 0 {
        return Err(ParseError::new(format!("{count} strings of no bytes, expected at least one")));
    }
    let mut item = vec![0; size];
    let mut strings = Vec::new();
    for at in 0..count {
        source.fill(&mut item, "strings")?;
        let text = header.dtype.text(&item).ok_or_else(|| {
            ParseError::at(source.at(), format!("string {at} is no valid Unicode text"))
        })?;
        budget.take((size_of::<String>() + text.len()) as u64)?;
        strings.push(text);
    }
    Ok(strings)
}

/// There must be nothing after the data; reading on also makes an archive check its checksum.
fn ends<R: Read>(source: &mut Source<R>) -> Parsed<()> {
    let at = source.at();
    match source.fill_some(&mut [0])? {
        0 => Ok(()),
        _ => Err(ParseError::at(at, "more bytes than the header announces")),
    }
}

#[cfg(test)]
pub(crate) mod tests;

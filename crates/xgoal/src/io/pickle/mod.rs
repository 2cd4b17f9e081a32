//! Python pickles as data: arrays are read, and no code in a pickle is ever run.
//!
//! [`read`] takes a pickled dict of name to array, as IMDB, DBLP and Amazon are published: dense
//! NumPy arrays or SciPy sparse matrices. Anything a pickle names that is not on the allow-list
//! ends the reading with that name in the error.

mod allow;
mod cursor;
mod machine;
mod numpy;
mod scipy;
mod tensor;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;
use std::path::Path;

pub(crate) use allow::Dialect;
pub(crate) use machine::load;
pub(crate) use tensor::Strided;
#[cfg(test)]
pub(crate) use tensor::{Storage, storage_kind};
pub(crate) use value::{Heap, Object, Value, Work};

use super::arrays::{Array, NamedArray};
use super::build::Budget;
use super::decode::about;
use crate::error::{ParseError, Result};
use value::Parsed;

/// Reads the arrays of a pickled dict, in the order of the file.
///
/// Square matrices come back sparse, others as their share of non-zeros suggests; lists of
/// numbers are vectors and lists of strings are strings.
///
/// # Errors
/// The file cannot be read, is damaged, names anything but NumPy and SciPy containers, or holds
/// something that is not an array.
pub fn read(path: &Path) -> Result<Vec<NamedArray>> {
    parse(&super::open::mapped(path)?).map_err(|e| e.in_file(path))
}

fn parse(bytes: &[u8]) -> Parsed<Vec<NamedArray>> {
    if bytes.starts_with(super::torch::ZIP_MAGIC) {
        return Err(ParseError::at(
            0,
            "found a zip archive, as PyTorch checkpoints are; expected a pickled dict of arrays",
        ));
    }
    if bytes.starts_with(super::torch::LEGACY_MAGIC) {
        return Err(ParseError::at(
            0,
            "found a PyTorch checkpoint, expected a pickled dict of arrays",
        ));
    }
    let (heap, root) = load(bytes, Dialect::Data)?;
    let length = bytes.len() as u64;
    let (work, memory) = (Work::for_file(length), Budget::for_file(length));
    let mut conversion = Conversion { heap: &heap, work, memory };
    entries(&heap, root)?
        .into_iter()
        .map(|(name, value, at)| conversion.array(name, value, at).map_err(|e| about(name, e)))
        .collect()
}

/// The entries of a dict with string keys, as (key, value, byte); of equal keys the last counts.
pub(crate) fn entries<'h>(heap: &'h Heap<'_>, root: Value) -> Parsed<Vec<(&'h str, Value, u64)>> {
    let root_at = heap.at(root, 0);
    let Some(dict) = heap.dict(root) else {
        let message = format!("found {}, expected a dict of name to array", heap.describe(root));
        return Err(ParseError::at(root_at, message));
    };
    let mut places = HashMap::new();
    let mut out: Vec<(&str, Value, u64)> = Vec::new();
    for (key, value) in dict {
        let at = heap.at(*value, heap.at(*key, root_at));
        let Some(name) = heap.name(*key) else {
            let message = format!("found {} as a key, expected a short name", heap.describe(*key));
            return Err(ParseError::at(at, message));
        };
        let place = *places.entry(name).or_insert(out.len());
        match out.get_mut(place) {
            Some(entry) => *entry = (name, *value, at),
            None => out.push((name, *value, at)),
        }
    }
    Ok(out)
}

fn number(value: Value) -> Option<f64> {
    match value {
        Value::Bool(b) => Some(f64::from(u8::from(b))),
        Value::Int(i) => Some(i as f64),
        Value::Float(f) => Some(f),
        _ => None,
    }
}

/// Objects become arrays, within bounds of work and memory.
struct Conversion<'h, 'a> {
    heap: &'h Heap<'a>,
    work: Work,
    memory: Budget,
}

impl Conversion<'_, '_> {
    fn array(&mut self, name: &str, value: Value, at: u64) -> Parsed<NamedArray> {
        let array = match self.heap.get(value) {
            Some(Object::Array(Some(array))) => match array.objects(self.heap) {
                Some(items) => self.list(items, at)?,
                None => {
                    let view = array.view(self.heap, &mut self.work)?;
                    return view.into_array(name, &mut self.memory);
                }
            },
            Some(Object::Sparse(format, Some(state))) => {
                return scipy::convert(self, name, *format, *state, at);
            }
            Some(Object::List(items) | Object::Tuple(items)) => self.list(items, at)?,
            Some(Object::Text(text)) => {
                self.work.spend(text.len(), at)?;
                Array::Strings(vec![text.clone().into_owned()])
            }
            _ => match number(value) {
                Some(value) => Array::Vector { values: vec![value], shape: (1, 1) },
                None => {
                    let found = self.heap.describe(value);
                    let expected = "an array, a sparse matrix or a list of numbers or strings";
                    return Err(ParseError::at(at, format!("found {found}, expected {expected}")));
                }
            },
        };
        Ok(NamedArray { name: name.to_owned(), array })
    }

    /// A list that is all numbers or all strings.
    fn list(&mut self, items: &[Value], at: u64) -> Parsed<Array> {
        let (heap, work) = (self.heap, &mut self.work);
        work.spend(items.len(), at)?;
        let wrong = |i: usize, expected: &str| {
            let found = heap.describe(items[i]);
            let message = format!("item {i}: found {found}, expected {expected}");
            ParseError::at(heap.at(items[i], at), message)
        };
        if items.first().is_some_and(|first| heap.text(*first).is_some()) {
            let strings = items.iter().enumerate().map(|(i, item)| {
                let text = heap.text(*item).ok_or_else(|| wrong(i, "a string"))?;
                work.spend(text.len(), at)?;
                Ok(text.to_owned())
            });
            return strings.collect::<Parsed<_>>().map(Array::Strings);
        }
        let numbers = items.iter().enumerate();
        let values: Vec<f64> = numbers
            .map(|(i, item)| number(*item).ok_or_else(|| wrong(i, "a number")))
            .collect::<Parsed<_>>()?;
        let shape = (values.len(), 1);
        Ok(Array::Vector { values, shape })
    }
}

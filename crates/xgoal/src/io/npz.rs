//! NumPy's `.npz` archives: a zip of `.npy` arrays, each under a key.
//!
//! | keys | array |
//! |---|---|
//! | `NAME` | the array itself: a matrix, a vector, or strings such as `ids` |
//! | `NAME.data`, `NAME.indices`, `NAME.indptr`, `NAME.shape` | sparse `NAME`, by rows, or by columns if `NAME.format` is `csc` |
//! | `NAME.data`, `NAME.row`, `NAME.col`, `NAME.shape` | sparse `NAME`, entry by entry |
//! | `data`, `indices`, ... without a name | what `scipy.sparse.save_npz` writes: one matrix named after the file |
//!
//! `_` and `/` separate as well as `.`. `NAME.format` is `csr`, `csc` or `coo`; without it indices and pointers mean
//! `csr`. A key that ends in `indices`, `indptr`, `row` or `col`, or two keys of one `NAME`, make a sparse matrix,
//! of which no part may be missing. A lone `NAME.data`, `NAME.shape` or `NAME.format` is an array of that key.
//! Files of the archive that do not end in `.npy` are passed over.
//!
//! Only what the `.npy` headers announce is unpacked, and what the arrays take is bounded by [`Budget`].

use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use zip::ZipArchive;

use super::arrays::{Array, NamedArray};
use super::build::{Budget, Sparse, SparseIndex};
use super::{archive, decode, npy};
use crate::error::ParseError;

mod rows;
pub mod write;

type Parsed<T> = Result<T, ParseError>;

/// The keys of a sparse matrix.
const PARTS: [&str; 7] = ["data", "indices", "indptr", "row", "col", "shape", "format"];
/// Those that nothing but a sparse matrix has.
const TELLTALE: [&str; 4] = ["indices", "indptr", "row", "col"];

/// Reads every array of an archive.
pub fn read(path: &Path) -> crate::Result<Vec<NamedArray>> {
    let (file, mut budget) = decode::open(path)?;
    parse(&decode::stem(path), file, &mut budget).map_err(|e| e.in_file(path))
}

/// One file of the archive, its key split if it may be part of a sparse matrix.
struct Key {
    index: usize,
    name: String,
    part: Option<(String, &'static str)>,
}

/// The keys of one sparse matrix: `prefix` is its name with the separator.
struct Group<'a> {
    prefix: &'a str,
    keys: Vec<&'a Key>,
}

fn parse<R: Read + Seek>(
    stem: &str,
    mut reader: R,
    budget: &mut Budget,
) -> Parsed<Vec<NamedArray>> {
    let size = reader.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut archive = archive::open(reader)?;
    let keys = keys(&archive)?;
    let mut groups: HashMap<&str, Group> = HashMap::new();
    for key in &keys {
        let Some((prefix, _)) = &key.part else { continue };
        groups.entry(prefix).or_insert_with(|| Group { prefix, keys: Vec::new() }).keys.push(key);
    }
    groups.retain(|_, g| g.keys.len() > 1 || TELLTALE.iter().any(|part| g.find(part).is_some()));

    let mut arrays: Vec<NamedArray> = Vec::new();
    let mut names = HashSet::new();
    for key in &keys {
        let group = key.part.as_ref().and_then(|p| groups.get(p.0.as_str()));
        let array = match group {
            None if key.name == "_is_array" => continue,
            None => entry(&mut archive, key, budget)?,
            Some(group) if group.keys[0].index == key.index => {
                group.read(stem, size, &mut archive, budget)?
            }
            Some(_) => continue,
        };
        if !names.insert(array.name.clone()) {
            return Err(ParseError::new(format!("`{}` is there twice", array.name)));
        }
        arrays.push(array);
    }
    if arrays.is_empty() {
        return Err(ParseError::new("the archive holds no NumPy arrays"));
    }
    Ok(arrays)
}

fn keys<R: Read + Seek>(archive: &ZipArchive<R>) -> Parsed<Vec<Key>> {
    let mut keys = Vec::new();
    for (index, name) in archive::names(archive)?.into_iter().enumerate() {
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let part = PARTS.iter().find_map(|part| {
            let prefix = name.strip_suffix(part)?;
            let named = prefix.len() > 1 && prefix.ends_with(['.', '_', '/']);
            (prefix.is_empty() || named).then(|| (prefix.to_owned(), *part))
        });
        keys.push(Key { index, name: name.to_owned(), part });
    }
    Ok(keys)
}

fn entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    key: &Key,
    budget: &mut Budget,
) -> Parsed<NamedArray> {
    npy::parse(&key.name, archive::entry(archive, key.index, &key.name)?, budget)
}

impl Group<'_> {
    fn find(&self, part: &str) -> Option<&Key> {
        self.keys.iter().find(|k| k.part.as_ref().is_some_and(|p| p.1 == part)).copied()
    }

    fn read<R: Read + Seek>(
        &self,
        stem: &str,
        size: u64,
        archive: &mut ZipArchive<R>,
        budget: &mut Budget,
    ) -> Parsed<NamedArray> {
        let name = match self.prefix {
            "" => stem,
            prefix => &prefix[..prefix.len() - 1],
        };
        let format = self.format(name, archive, budget)?;
        let wanted = match format.as_str() {
            "coo" => ["data", "row", "col", "shape"],
            _ => ["data", "indices", "indptr", "shape"],
        };
        let listed = |parts: Vec<&str>| {
            let full: Vec<_> = parts.iter().map(|p| format!("`{}{p}`", self.prefix)).collect();
            full.join(", ")
        };
        let missing: Vec<_> = wanted.into_iter().filter(|p| self.find(p).is_none()).collect();
        let present = self.keys.iter().filter_map(|k| k.part.as_ref().map(|p| p.1)).collect();
        if !missing.is_empty() {
            return Err(ParseError::new(format!(
                "`{name}`: {} belong to a sparse matrix, which also needs {}; a plain array must \
                 have another key",
                listed(present),
                listed(missing)
            )));
        }
        let surplus: Vec<_> =
            present.into_iter().filter(|p| *p != "format" && !wanted.contains(p)).collect();
        if !surplus.is_empty() {
            return Err(ParseError::new(format!(
                "`{name}`: {} do not belong to a sparse matrix of format `{format}`",
                listed(surplus)
            )));
        }
        let mut numbers = |part| self.numbers(name, part, archive, budget);
        let shape = numbers("shape")?;
        let shape = match whole(name, "shape", &shape)?[..] {
            [rows, cols] => usize::try_from(rows).ok().zip(usize::try_from(cols).ok()),
            _ => None,
        }
        .ok_or_else(|| {
            let message = format!("`{name}`: a shape of {shape:?}, expected rows and columns");
            ParseError::new(message)
        })?;
        if format == "csr"
            && let Some(matrix) = self.plain_rows(shape, size, archive, budget)
        {
            return Ok(NamedArray { name: name.to_owned(), array: Array::Matrix(matrix) });
        }
        let mut numbers = |part| self.numbers(name, part, archive, budget);
        let mut indices = |part| whole(name, part, &numbers(part)?);
        let index = match format.as_str() {
            "coo" => SparseIndex::Coo { row: indices("row")?, col: indices("col")? },
            "csc" => SparseIndex::Csc { indptr: indices("indptr")?, indices: indices("indices")? },
            _ => SparseIndex::Csr { indptr: indices("indptr")?, indices: indices("indices")? },
        };
        let values = numbers("data")?;
        let logical = match self.find("data") {
            Some(key) => npy::holds_bools(archive::entry(archive, key.index, &key.name)?)?,
            None => false,
        };
        let entries = match &index {
            SparseIndex::Coo { row, .. } => row.len(),
            SparseIndex::Csr { indices, .. } | SparseIndex::Csc { indices, .. } => indices.len(),
        };
        if entries != values.len() {
            return Err(ParseError::new(format!(
                "`{name}`: {} values and {entries} indices, expected equally many",
                values.len()
            )));
        }
        NamedArray::from_sparse(name, Sparse { shape, index, values, logical }, budget)
    }

    /// `csr`, `csc` or `coo`.
    fn format<R: Read + Seek>(
        &self,
        name: &str,
        archive: &mut ZipArchive<R>,
        budget: &mut Budget,
    ) -> Parsed<String> {
        let Some(key) = self.find("format") else {
            let has = |a, b| self.find(a).or(self.find(b)).is_some();
            let entrywise = has("row", "col") && !has("indices", "indptr");
            return Ok(if entrywise { "coo" } else { "csr" }.to_owned());
        };
        let found = entry(archive, key, budget)?.array;
        match &found {
            Array::Strings(format) if matches!(&format[..], [f] if ["csr", "csc", "coo"].contains(&f.as_str())) => {
                Ok(format[0].clone())
            }
            _ => Err(ParseError::new(format!(
                "`{name}`: a sparse format of {}, expected `csr`, `csc` or `coo`",
                match &found {
                    Array::Strings(format) => format!("`{}`", format.join("`, `")),
                    _ => "numbers".to_owned(),
                }
            ))),
        }
    }

    fn numbers<R: Read + Seek>(
        &self,
        name: &str,
        part: &'static str,
        archive: &mut ZipArchive<R>,
        budget: &mut Budget,
    ) -> Parsed<Vec<f64>> {
        match self.find(part).map(|key| entry(archive, key, budget)).transpose()? {
            Some(NamedArray { array: Array::Vector { values, .. }, .. }) => Ok(values),
            _ => Err(ParseError::new(format!(
                "`{name}`: `{}{part}` is no list of numbers",
                self.prefix
            ))),
        }
    }
}

/// Numbers as indices.
fn whole(name: &str, part: &str, numbers: &[f64]) -> Parsed<Vec<i64>> {
    let integer = |v: &f64| decode::whole(*v).ok_or(*v);
    numbers.iter().map(integer).collect::<Result<_, _>>().map_err(|v| {
        ParseError::new(format!("`{name}`: {v} in its {part}, expected whole numbers"))
    })
}

#[cfg(test)]
mod tests;

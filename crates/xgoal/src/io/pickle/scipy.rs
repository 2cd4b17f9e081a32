//! SciPy sparse matrices, from the attributes each format pickles.
//!
//! ```text
//!     CSR, CSC   _shape, indptr, indices, data
//!     COO        _shape, data, row and col (coords since SciPy 1.13)
//!     LIL        _shape, rows and data: one list of columns and one of values per row
//! ```
//!
//! SciPy allows unsorted columns and entries stored twice, which stand for their sum.

use super::numpy::{View, dimensions};
use super::value::{Heap, Object, Parsed, Value, Work};
use super::{Conversion, number};
use crate::error::ParseError;
use crate::io::arrays::NamedArray;
use crate::io::build::{Budget, Sparse, SparseIndex};

/// How a sparse matrix is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Csr,
    Csc,
    Coo,
    Lil,
}

impl Format {
    /// The class under all its module names: SciPy 1.8 put an underscore before each.
    pub(super) fn find(module: &str, class: &str) -> Option<Self> {
        let module = module.strip_prefix("scipy.sparse.")?;
        let module = module.strip_prefix('_').unwrap_or(module);
        let (format, kind) = class.split_once('_')?;
        if format != module || !matches!(kind, "matrix" | "array") {
            return None;
        }
        match format {
            "csr" => Some(Self::Csr),
            "csc" => Some(Self::Csc),
            "coo" => Some(Self::Coo),
            "lil" => Some(Self::Lil),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csr => "scipy.sparse.csr_matrix",
            Self::Csc => "scipy.sparse.csc_matrix",
            Self::Coo => "scipy.sparse.coo_matrix",
            Self::Lil => "scipy.sparse.lil_matrix",
        }
    }
}

/// Converts a sparse matrix of any format.
pub(super) fn convert(
    conversion: &mut Conversion<'_, '_>,
    name: &str,
    format: Format,
    state: Value,
    at: u64,
) -> Parsed<NamedArray> {
    let Conversion { heap, work, memory } = conversion;
    work.spend(heap.dict(state).map_or(0, <[_]>::len), at)?;
    let attributes = Attributes { heap, state, at };
    let shape = attributes.shape()?;
    let [rows, cols] = shape[..] else {
        return Err(ParseError::at(at, format!("found sparse shape {shape:?}, expected 2-D")));
    };
    work.spend(rows, at)?;
    work.spend(cols, at)?;
    let (index, values, logical) = match format {
        Format::Csr | Format::Csc => {
            let mut integers = |name| attributes.named(name, work)?.integers(memory);
            let (indptr, indices) = (integers("indptr")?, integers("indices")?);
            let data = attributes.named("data", work)?;
            let index = match format {
                Format::Csc => SparseIndex::Csc { indptr, indices },
                _ => SparseIndex::Csr { indptr, indices },
            };
            (index, data.values(memory)?, data.is_logical())
        }
        Format::Coo => {
            let index = attributes.coordinates(work, memory)?;
            let data = attributes.named("data", work)?;
            (index, data.values(memory)?, data.is_logical())
        }
        Format::Lil => {
            let (index, values) = attributes.lists(work, rows)?;
            (index, values, false)
        }
    };
    let sparse = Sparse { shape: (rows, cols), index, values, logical };
    NamedArray::from_sparse(name, sparse, memory)
        .map_err(|e| ParseError { at: e.at.or(Some(at)), ..e })
}

struct Attributes<'h, 'a> {
    heap: &'h Heap<'a>,
    state: Value,
    at: u64,
}

impl<'h> Attributes<'h, '_> {
    fn find(&self, names: &[&str]) -> Parsed<Value> {
        let entries = self.heap.dict(self.state).unwrap_or(&[]);
        let named = |(key, _): &&(Value, Value)| {
            self.heap.name(*key).is_some_and(|key| names.contains(&key))
        };
        entries.iter().rfind(named).map(|(_, value)| *value).ok_or_else(|| {
            let message = format!("found a sparse matrix without `{}`, expected one", names[0]);
            ParseError::at(self.at, message)
        })
    }

    fn shape(&self) -> Parsed<Vec<usize>> {
        dimensions(self.heap, self.find(&["_shape", "shape"])?, self.at)
    }

    fn array(&self, value: Value, name: &str, work: &mut Work) -> Parsed<View<'h>> {
        match self.heap.get(value) {
            Some(Object::Array(Some(array))) => array.view(self.heap, work),
            _ => {
                let found = self.heap.describe(value);
                let message = format!("found `{name}` to be {found}, expected an array");
                Err(ParseError::at(self.at, message))
            }
        }
    }

    fn named(&self, name: &str, work: &mut Work) -> Parsed<View<'h>> {
        self.array(self.find(&[name])?, name, work)
    }

    fn coordinates(&self, work: &mut Work, memory: &mut Budget) -> Parsed<SparseIndex> {
        let [row, col] = match self.find(&["coords"]) {
            Ok(coords) => match self.heap.tuple(coords) {
                Some([row, col]) => [*row, *col],
                _ => return Err(ParseError::at(self.at, "expected `coords` to be two arrays")),
            },
            Err(_) => [self.find(&["row"])?, self.find(&["col"])?],
        };
        let mut integers = |value, name| self.array(value, name, work)?.integers(memory);
        Ok(SparseIndex::Coo { row: integers(row, "row")?, col: integers(col, "col")? })
    }

    fn lists(&self, work: &mut Work, rows: usize) -> Parsed<(SparseIndex, Vec<f64>)> {
        let bad = |message: String| Err(ParseError::at(self.at, message));
        let lists = |name| match self.heap.get(self.find(&[name])?) {
            Some(Object::Array(Some(array))) => Ok(array.objects(self.heap)),
            _ => Ok(None),
        };
        let (Some(columns), Some(data)) = (lists("rows")?, lists("data")?) else {
            return bad("expected `rows` and `data` of a LIL matrix to be arrays of lists".into());
        };
        if columns.len() != rows || data.len() != rows {
            let (c, d) = (columns.len(), data.len());
            return bad(format!("found {c} and {d} lists in a LIL matrix, expected {rows}"));
        }
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (r, (columns, data)) in columns.iter().zip(data).enumerate() {
            let (Some(columns), Some(data)) =
                (self.heap.sequence(*columns), self.heap.sequence(*data))
            else {
                return bad(format!("row {r}: expected a list of columns and one of values"));
            };
            if columns.len() != data.len() {
                let (c, d) = (columns.len(), data.len());
                return bad(format!("row {r}: found {c} columns and {d} values"));
            }
            work.spend(2 * columns.len(), self.at)?;
            for (column, value) in columns.iter().zip(data) {
                match (column, number(*value)) {
                    (Value::Int(column), Some(value)) => {
                        indices.push(*column);
                        values.push(value);
                    }
                    (Value::Int(column), None) => {
                        let found = self.heap.describe(*value);
                        return bad(format!(
                            "row {r}, column {column}: found {found}, expected a number"
                        ));
                    }
                    _ => {
                        let found = self.heap.describe(*column);
                        return bad(format!("row {r}: found {found}, expected a column"));
                    }
                }
            }
            indptr.push(indices.len() as i64);
        }
        Ok((SparseIndex::Csr { indptr, indices }, values))
    }
}

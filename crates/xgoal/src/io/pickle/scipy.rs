//! SciPy sparse matrices, from the attributes each format pickles.
//!
//! ```text
//!     CSR, CSC   _shape, indptr, indices, data
//!     COO        _shape, data, row and col (coords since SciPy 1.13)
//!     LIL        _shape, rows and data: one list of columns and one of values per row
//! ```
//!
//! SciPy allows unsorted columns and entries stored twice, which stand for their sum.

use super::dtype::{Kind, narrow};
use super::numpy::View;
use super::numpy::{dimensions, overflow, share};
use super::value::{Budget, Heap, Object, Parsed, Value};
use crate::error::ParseError;
use crate::io::arrays::Array;
use crate::matrix::{Csr, Dense, Matrix};

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

/// Rows, in any order and possibly with the same column twice.
struct Loose {
    at: u64,
    rows: usize,
    cols: usize,
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    /// Bools add up to a bool.
    logical: bool,
}

/// Converts a sparse matrix of any format.
pub(super) fn convert(
    heap: &Heap<'_>,
    budget: &mut Budget,
    format: Format,
    state: Value,
    at: u64,
) -> Parsed<Array> {
    budget.spend(heap.dict(state).map_or(0, <[_]>::len), at)?;
    let attributes = Attributes { heap, state, at };
    let shape = attributes.shape()?;
    let [rows, cols] = shape[..] else {
        return Err(ParseError::at(at, format!("found sparse shape {shape:?}, expected 2-D")));
    };
    budget.spend(rows, at)?;
    budget.spend(cols, at)?;
    if rows.max(cols) > u32::MAX as usize {
        let message = format!("found sparse shape {shape:?}, expected less than 2^32 a side");
        return Err(ParseError::at(at, message));
    }
    let matrix = match format {
        Format::Csr => attributes.compressed(budget, rows, cols)?.tidy()?,
        Format::Csc => attributes.compressed(budget, cols, rows)?.tidy()?.transpose(),
        Format::Coo => attributes.coordinates(budget, rows, cols)?.tidy()?,
        Format::Lil => attributes.lists(budget, rows, cols)?.tidy()?,
    };
    Ok(store(matrix))
}

/// Applies the same rules as to a dense array: vectors apart, layers sparse, full matrices dense.
fn store(matrix: Csr) -> Array {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let entries = || {
        (0..rows).flat_map(|r| {
            let (columns, values) = matrix.row(r);
            columns.iter().zip(values).map(move |(c, v)| (r * cols + *c as usize, *v))
        })
    };
    if rows.min(cols) <= 1 {
        let mut values = vec![0f64; rows * cols];
        entries().for_each(|(at, v)| values[at] = f64::from(v));
        return Array::Vector { values, shape: (rows, cols) };
    }
    let nonzeros = matrix.values().iter().filter(|v| **v != 0.0).count();
    if rows == cols || share(nonzeros, rows, cols) <= Matrix::DENSE_ABOVE {
        return Array::Matrix(Matrix::Sparse(matrix));
    }
    let mut dense = Dense::zeros(rows, cols);
    entries().for_each(|(at, v)| dense.values_mut()[at] = v);
    Array::Matrix(Matrix::Dense(dense))
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

    fn array(&self, value: Value, name: &str, budget: &mut Budget) -> Parsed<View<'h>> {
        match self.heap.get(value) {
            Some(Object::Array(Some(array))) => array.view(self.heap, budget),
            _ => {
                let found = self.heap.describe(value);
                let message = format!("found `{name}` to be {found}, expected an array");
                Err(ParseError::at(self.at, message))
            }
        }
    }

    fn named(&self, name: &str, budget: &mut Budget) -> Parsed<View<'h>> {
        self.array(self.find(&[name])?, name, budget)
    }

    fn compressed(&self, budget: &mut Budget, rows: usize, cols: usize) -> Parsed<Loose> {
        let pointers = self.named("indptr", budget)?;
        if pointers.len() != rows + 1 {
            let message = format!("found {} row pointers, expected {}", pointers.len(), rows + 1);
            return Err(ParseError::at(pointers.at, message));
        }
        let columns = self.named("indices", budget)?;
        let data = self.named("data", budget)?;
        let room = columns.len().min(data.len());
        let mut indptr = Vec::with_capacity(rows + 1);
        pointers.for_each_integer(|i, pointer| {
            let least = indptr.last().copied().unwrap_or(0);
            match usize::try_from(pointer) {
                Ok(p) if p >= least && p <= room && (i > 0 || p == 0) => indptr.push(p),
                _ => {
                    let message = format!(
                        "found row pointer {pointer} at {i}, expected rising ones from 0 to {room}"
                    );
                    return Err(ParseError::at(pointers.position(i), message));
                }
            }
            Ok(())
        })?;
        // SciPy may keep spare room behind the last entry.
        let used = indptr.last().copied().unwrap_or(0);
        let mut indices = indices(&columns, cols, "column")?;
        indices.truncate(used);
        let row_of = |i: usize| indptr.partition_point(|p| *p <= i).saturating_sub(1);
        let mut values = Vec::with_capacity(data.len());
        data.for_each(|i, v| {
            if i < used {
                values.push(narrow(v).ok_or_else(|| {
                    overflow(data.position(i), row_of(i), indices[i] as usize, v)
                })?);
            }
            Ok(())
        })?;
        let logical = data.dtype.kind == Kind::Bool;
        Ok(Loose { at: self.at, rows, cols, indptr, indices, values, logical })
    }

    fn coordinates(&self, budget: &mut Budget, rows: usize, cols: usize) -> Parsed<Loose> {
        let pair = match self.find(&["coords"]) {
            Ok(coords) => match self.heap.tuple(coords) {
                Some([row, col]) => [*row, *col],
                _ => return Err(ParseError::at(self.at, "expected `coords` to be two arrays")),
            },
            Err(_) => [self.find(&["row"])?, self.find(&["col"])?],
        };
        let row = indices(&self.array(pair[0], "row", budget)?, rows, "row")?;
        let col = indices(&self.array(pair[1], "col", budget)?, cols, "column")?;
        let data = self.named("data", budget)?;
        if row.len() != data.len() || col.len() != data.len() {
            let message = format!(
                "found {} rows, {} columns and {} values, expected as many of each",
                row.len(),
                col.len(),
                data.len()
            );
            return Err(ParseError::at(data.at, message));
        }
        // Counting sort by row; entries of one row keep their order.
        let mut indptr = vec![0usize; rows + 1];
        row.iter().for_each(|r| indptr[*r as usize + 1] += 1);
        (0..rows).for_each(|r| indptr[r + 1] += indptr[r]);
        let mut next = indptr.clone();
        let mut sorted = vec![0u32; row.len()];
        let mut values = vec![0f32; row.len()];
        data.for_each(|i, v| {
            let slot = &mut next[row[i] as usize];
            sorted[*slot] = col[i];
            values[*slot] = narrow(v)
                .ok_or_else(|| overflow(data.position(i), row[i] as usize, col[i] as usize, v))?;
            *slot += 1;
            Ok(())
        })?;
        let logical = data.dtype.kind == Kind::Bool;
        Ok(Loose { at: self.at, rows, cols, indptr, indices: sorted, values, logical })
    }

    fn lists(&self, budget: &mut Budget, rows: usize, cols: usize) -> Parsed<Loose> {
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
        let mut loose = Loose {
            at: self.at,
            rows,
            cols,
            indptr: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
            logical: false,
        };
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
            budget.spend(2 * columns.len(), self.at)?;
            for (column, value) in columns.iter().zip(data) {
                let c = match column {
                    Value::Int(c) if (0..cols as i64).contains(c) => *c as u32,
                    other => {
                        let found = self.heap.describe(*other);
                        return bad(format!("row {r}: found {found}, expected a column < {cols}"));
                    }
                };
                let wide = match value {
                    Value::Bool(b) => f64::from(u8::from(*b)),
                    Value::Int(v) => *v as f64,
                    Value::Float(v) => *v,
                    other => {
                        let found = self.heap.describe(*other);
                        return bad(format!(
                            "row {r}, column {c}: found {found}, expected a number"
                        ));
                    }
                };
                loose.indices.push(c);
                loose
                    .values
                    .push(narrow(wide).ok_or_else(|| overflow(self.at, r, c as usize, wide))?);
            }
            loose.indptr.push(loose.indices.len());
        }
        Ok(loose)
    }
}

/// An index array, each below `limit`.
fn indices(view: &View<'_>, limit: usize, what: &str) -> Parsed<Vec<u32>> {
    let mut out = Vec::with_capacity(view.len());
    view.for_each_integer(|i, v| match u32::try_from(v) {
        Ok(index) if (index as usize) < limit => {
            out.push(index);
            Ok(())
        }
        _ => {
            let message = format!("found {what} {v} at entry {i}, expected 0 to {limit} exclusive");
            Err(ParseError::at(view.position(i), message))
        }
    })?;
    Ok(out)
}

impl Loose {
    /// Sorts the columns of each row and sums entries at the same place.
    fn tidy(self) -> Parsed<Csr> {
        let Self { at, rows, cols, mut indptr, mut indices, mut values, logical } = self;
        let rising = |r: usize| indices[indptr[r]..indptr[r + 1]].windows(2).all(|w| w[0] < w[1]);
        if !(0..rows).all(rising) {
            let mut row: Vec<(u32, f32)> = Vec::new();
            let (mut from, mut kept) = (0, 0);
            for r in 0..rows {
                let to = indptr[r + 1];
                row.clear();
                row.extend(indices[from..to].iter().copied().zip(values[from..to].iter().copied()));
                row.sort_by_key(|e| e.0);
                for same in row.chunk_by(|a, b| a.0 == b.0) {
                    let sum: f64 = same.iter().map(|e| f64::from(e.1)).sum();
                    let sum = if logical { sum.min(1.0) } else { sum };
                    indices[kept] = same[0].0;
                    values[kept] =
                        narrow(sum).ok_or_else(|| overflow(at, r, same[0].0 as usize, sum))?;
                    kept += 1;
                }
                from = to;
                indptr[r + 1] = kept;
            }
            indices.truncate(kept);
            values.truncate(kept);
        }
        Csr::try_new(rows, cols, indptr, indices, values).map_err(|e| ParseError::at(at, e.message))
    }
}

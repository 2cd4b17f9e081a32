//! SciPy's compressed matrices as the library's, in one pass and one copy.

use crate::matrix::{Number, csr, narrow, typed, unexpected};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use xgoal::matrix::Csr;
use xgoal::{Error, Result, machine};

/// An index as SciPy holds it.
pub trait Place: Element + Copy + PartialOrd {
    /// As a place, unless it is negative.
    fn place(self) -> Option<usize>;

    /// As 32 bits, once it is known to fit.
    fn low_bits(self) -> u32;
}

macro_rules! places {
    ($($type:ty),+) => {
        $(impl Place for $type {
            fn place(self) -> Option<usize> {
                usize::try_from(self).ok()
            }

            fn low_bits(self) -> u32 {
                self as u32
            }
        })+
    };
}

places!(i32, i64);

fn not_contiguous() -> Error {
    Error::Data("an array of a sparse matrix is not contiguous".into())
}

/// A SciPy matrix by rows or by columns, as the package hands it over.
#[derive(FromPyObject)]
pub struct Compressed<'py> {
    /// `csr` or `csc`.
    format: String,
    shape: (usize, usize),
    indptr: Bound<'py, PyAny>,
    indices: Bound<'py, PyAny>,
    data: Bound<'py, PyAny>,
    /// Whether the values are bools, handed over as bytes.
    logical: bool,
}

fn places<'py, I: Place>(array: &Bound<'py, PyAny>) -> Result<PyReadonlyArray1<'py, I>> {
    array.cast::<PyArray1<I>>().map(|a| a.readonly()).map_err(|_| unexpected(array))
}

/// The three arrays of a compressed matrix, line by line.
struct Lines<'a, I, V> {
    indptr: &'a [I],
    indices: &'a [I],
    data: &'a [V],
    logical: bool,
}

impl Compressed<'_> {
    /// As compressed rows without duplicates and zeros.
    pub fn to_csr(&self, what: &str) -> Result<Csr> {
        typed!(&self.data, PyArray1, data => {
            let data = data.as_slice().map_err(|_| not_contiguous())?;
            if self.indices.cast::<PyArray1<i32>>().is_ok() {
                self.with_places::<i32, _>(what, data)
            } else {
                self.with_places::<i64, _>(what, data)
            }
        })
    }

    fn with_places<I: Place, V: Number>(&self, what: &str, data: &[V]) -> Result<Csr> {
        let (indptr, indices) = (places::<I>(&self.indptr)?, places::<I>(&self.indices)?);
        let lines = Lines {
            indptr: indptr.as_slice().map_err(|_| not_contiguous())?,
            indices: indices.as_slice().map_err(|_| not_contiguous())?,
            data,
            logical: self.logical,
        };
        let (rows, cols) = self.shape;
        if rows.max(cols) >= u32::MAX as usize {
            return Err(Error::Data(format!(
                "{what}: {rows} x {cols}; expected less than {} in each dimension",
                u32::MAX
            )));
        }
        let lines_and_entries = lines.indptr.len() as u64 + data.len() as u64;
        machine::check_memory("a copy of a sparse matrix", 8 * lines_and_entries)?;
        match self.format.as_str() {
            "csr" => lines.tidy(rows, cols, |r, c, v| narrow(what, r, c, v), what),
            _ if lines.rise(cols) => lines.turned(what, rows, cols),
            _ => {
                let columns = lines.tidy(cols, rows, |c, r, v| narrow(what, r, c, v), what);
                Ok(columns?.transpose())
            }
        }
    }
}

impl<I: Place, V: Number> Lines<'_, I, V> {
    fn value(&self, at: usize) -> f64 {
        let value = self.data[at].wide();
        if self.logical && value != 0.0 { 1.0 } else { value }
    }

    /// Where a line's entries are, if the pointers can be right.
    fn line(&self, what: &str, line: usize) -> Result<std::ops::Range<usize>> {
        let most = self.indices.len().min(self.data.len());
        match (self.indptr[line].place(), self.indptr[line + 1].place()) {
            (Some(from), Some(to)) if from <= to && to <= most => Ok(from..to),
            _ => Err(Error::Data(format!(
                "{what}: the pointers of row or column {line} do not rise within its {most} entries"
            ))),
        }
    }

    fn index(&self, what: &str, at: usize, end: usize) -> Result<u32> {
        let found = self.indices[at].place().filter(|i| *i < end);
        found.and_then(|i| u32::try_from(i).ok()).ok_or_else(|| {
            let index = self.indices[at].place().map_or("negative".into(), |i| i.to_string());
            Error::Data(format!("{what}: an index is {index}; expected less than {end}"))
        })
    }

    fn check(&self, what: &str, lines: usize) -> Result<usize> {
        let stored = self.indptr.last().and_then(|p| p.place()).unwrap_or(0);
        if self.indptr.len() != lines + 1 || stored > self.indices.len() {
            return Err(Error::Data(format!(
                "{what}: {} pointers up to {stored} for {lines} rows or columns and {} entries",
                self.indptr.len(),
                self.indices.len()
            )));
        }
        Ok(stored)
    }

    /// Whether every line's indices rise strictly, so that no two entries share a place.
    fn rise(&self, lines: usize) -> bool {
        self.indptr.len() == lines + 1
            && (0..lines).all(|line| {
                let range = self.line("", line);
                let places = |at: usize| self.indices[at].place();
                range.is_ok_and(|r| r.clone().skip(1).all(|at| places(at - 1) < places(at)))
            })
    }

    /// Whether a line can be taken as it is: rising indices in range, no zero, nothing beyond f32.
    fn is_tidy(&self, range: std::ops::Range<usize>, end: usize) -> bool {
        let indices = &self.indices[range.clone()];
        let (Some(first), Some(last)) = (indices.first(), indices.last()) else { return true };
        // All of a line is looked at, without a way out, so that vectors can do it.
        let rising = indices.windows(2).fold(true, |rising, w| rising & (w[0] < w[1]));
        let fits = |at: usize| {
            let value = self.value(at) as f32;
            value.is_finite() & (value != 0.0)
        };
        rising
            && first.place().is_some()
            && last.place().is_some_and(|last| last < end)
            && range.fold(true, |all, at| all & fits(at))
    }

    /// The lines as rows, each sorted, with sums at equal places and without zeros.
    fn tidy(
        &self,
        rows: usize,
        cols: usize,
        narrow: impl Fn(usize, usize, f64) -> Result<f32>,
        what: &str,
    ) -> Result<Csr> {
        let stored = self.check(what, rows)?;
        let mut indptr = Vec::with_capacity(rows + 1);
        let mut indices = Vec::with_capacity(stored);
        let mut values = Vec::with_capacity(stored);
        let mut sorted: Vec<(u32, f64)> = Vec::new();
        indptr.push(0);
        for r in 0..rows {
            let range = self.line(what, r)?;
            if self.is_tidy(range.clone(), cols) {
                indices.extend(self.indices[range.clone()].iter().map(|i| i.low_bits()));
                values.extend(range.map(|at| self.value(at) as f32));
                indptr.push(indices.len());
                continue;
            }
            let mut push = |col: u32, value: f64| -> Result<()> {
                let value = narrow(r, col as usize, value)?;
                if value != 0.0 {
                    indices.push(col);
                    values.push(value);
                }
                Ok(())
            };
            sorted.clear();
            for at in range {
                sorted.push((self.index(what, at, cols)?, self.value(at)));
            }
            sorted.sort_by_key(|entry| entry.0);
            for same in sorted.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = same.iter().map(|entry| entry.1).sum();
                push(same[0].0, if self.logical { sum.min(1.0) } else { sum })?;
            }
            indptr.push(indices.len());
        }
        csr(what, (rows, cols), indptr, indices, values)
    }

    /// Columns that rise, turned into rows by a counting sort.
    fn turned(&self, what: &str, rows: usize, cols: usize) -> Result<Csr> {
        self.check(what, cols)?;
        let mut indptr = vec![0usize; rows + 1];
        for c in 0..cols {
            for at in self.line(what, c)? {
                let row = self.index(what, at, rows)? as usize;
                indptr[row + 1] += usize::from(narrow(what, row, c, self.value(at))? != 0.0);
            }
        }
        for r in 0..rows {
            indptr[r + 1] += indptr[r];
        }
        let mut next = indptr.clone();
        let mut indices = vec![0u32; indptr[rows]];
        let mut values = vec![0f32; indptr[rows]];
        for c in 0..cols {
            for at in self.line(what, c)? {
                let row = self.index(what, at, rows)? as usize;
                let value = narrow(what, row, c, self.value(at))?;
                if value != 0.0 {
                    indices[next[row]] = c as u32;
                    values[next[row]] = value;
                    next[row] += 1;
                }
            }
        }
        csr(what, (rows, cols), indptr, indices, values)
    }
}

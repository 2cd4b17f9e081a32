//! Tables: a column `id` and a column per dimension (CSV, TSV), or `id` and `vector` (Parquet).

use super::{Embeddings, Layout, Rows};
use crate::error::Result;
use crate::io::table::write::push_field;
use crate::io::table::{Batch, Column, Format, Table};
use crate::matrix::Dense;
use std::io::{self, Write};
use std::path::Path;

/// A line for each row.
#[derive(Debug)]
pub(super) struct Lines {
    pub separator: u8,
    pub columns: usize,
}

impl Layout for Lines {
    fn begin(&mut self, file: &mut dyn Write, _: &Rows<'_>) -> io::Result<()> {
        let separator = self.separator as char;
        let names: String = (0..self.columns).map(|c| format!("{separator}e{c}")).collect();
        writeln!(file, "id{names}")
    }

    fn rows(
        &mut self,
        file: &mut dyn Write,
        rows: &Rows<'_>,
        first: usize,
        some: &Dense,
    ) -> io::Result<()> {
        let mut line = Vec::new();
        for row in 0..some.rows() {
            line.clear();
            push_field(&mut line, self.separator, &rows.id(first + row));
            for value in some.row(row) {
                // The shortest digits that are read back as the same number.
                write!(line, "{}{value}", self.separator as char)?;
            }
            line.push(b'\n');
            file.write_all(&line)?;
        }
        Ok(())
    }
}

/// Reads what is written so and its Parquet sister, or any table of an `id` and numbers.
pub(super) fn read(path: &Path, format: Format) -> Result<Embeddings> {
    let table = Table::open_as(path, format)?;
    let mut columns = vec!["id"];
    columns.extend(table.names().iter().map(String::as_str).filter(|name| *name != "id"));
    if columns.len() == 1 {
        return Err(table.wrong("only an `id`; expected columns of numbers or vectors".into()));
    }
    let mut ids = Vec::new();
    let (mut values, mut width) = (Vec::new(), None);
    table.scan(
        &columns,
        |batch| rows(&table, &columns, &batch),
        |part| {
            let Part { ids: more, values: numbers, width: found, place } = part;
            if !more.is_empty() && *width.get_or_insert(found) != found {
                let message = format!("{place}: {found} numbers; expected as many as before");
                return Err(table.wrong(message));
            }
            ids.extend(more);
            values.extend_from_slice(&numbers);
            Ok(())
        },
    )?;
    let matrix = Dense::from_vec(ids.len(), width.unwrap_or(0), values)?;
    Ok(Embeddings { ids: Some(ids), matrix })
}

struct Part {
    ids: Vec<String>,
    values: Vec<f32>,
    width: usize,
    place: String,
}

fn rows(table: &Table, names: &[&str], batch: &Batch) -> Result<Part> {
    let mut part = Part { ids: Vec::new(), values: Vec::new(), width: 0, place: String::new() };
    let ids = batch.columns[0]
        .ids_or_empty()
        .map_err(|misfit| table.misfit(&batch.place(0), names[0], &misfit))?;
    for row in 0..batch.rows() {
        let misfit = |at: usize, m| table.misfit(&batch.place(row), names[at], &m);
        part.ids.push(ids.get(row).to_owned());
        let before = part.values.len();
        for (at, column) in batch.columns.iter().enumerate().skip(1) {
            match column {
                Column::Vectors(lists) => part.values.extend_from_slice(lists.get(row)),
                _ => {
                    let number = column.single(row).map_err(|m| misfit(at, m))?;
                    part.values.push(number.unwrap_or(f32::NAN));
                }
            }
        }
        let width = part.values.len() - before;
        if row == 0 {
            part.width = width;
            part.place = batch.place(row);
        } else if width != part.width {
            let place = batch.place(row);
            let message = format!("{place}: {width} numbers; expected {}, as before", part.width);
            return Err(table.wrong(message));
        }
        if let Some(bad) = part.values[before..].iter().find(|v| !v.is_finite()) {
            let found = if bad.is_nan() { "a number is missing" } else { "a number beyond f32" };
            return Err(table.wrong(format!("{}: {found}", batch.place(row))));
        }
    }
    Ok(part)
}

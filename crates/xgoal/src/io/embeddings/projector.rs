//! TensorBoard's projector: `NAME.vectors.tsv` with the numbers, `NAME.metadata.tsv` with the ids.
//!
//! A single column of metadata has no header; with classes there are two, under `id` and `class`. A tab, a line break
//! and a backslash of an id are written as in Rust: `\t`, `\n`, `\r`, `\\`.

use super::{Embeddings, Layout, Rows};
use crate::error::{ParseError, Result};
use crate::io::{atomic, open};
use crate::matrix::Dense;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const HEADER: &str = "id\tclass";

/// The file of the ids.
pub(super) fn metadata_path(vectors: &Path) -> PathBuf {
    let name = vectors.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".vectors.tsv").or(name.strip_suffix(".tsv")).unwrap_or(&name);
    vectors.with_file_name(format!("{stem}.metadata.tsv"))
}

/// A line for each row.
#[derive(Debug)]
pub(super) struct Vectors;

impl Layout for Vectors {
    fn begin(&mut self, _: &mut dyn Write, _: &Rows<'_>) -> io::Result<()> {
        Ok(())
    }

    fn rows(
        &mut self,
        file: &mut dyn Write,
        _: &Rows<'_>,
        _: usize,
        some: &Dense,
    ) -> io::Result<()> {
        for row in 0..some.rows() {
            for (i, value) in some.row(row).iter().enumerate() {
                write!(file, "{}{value}", if i == 0 { "" } else { "\t" })?;
            }
            file.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// Writes the file of the ids.
pub(super) fn write_metadata(path: &Path, rows: &Rows<'_>) -> Result<PathBuf> {
    let metadata = metadata_path(path);
    atomic::write(&metadata, |w| {
        if rows.count > 0 && rows.class(0).is_some() {
            writeln!(w, "{HEADER}")?;
        }
        for row in 0..rows.count {
            w.write_all(escaped(&rows.id(row)).as_bytes())?;
            if let Some(class) = rows.class(row) {
                write!(w, "\t{}", escaped(class))?;
            }
            w.write_all(b"\n")?;
        }
        Ok(())
    })?;
    Ok(metadata)
}

pub(super) fn read(path: &Path) -> Result<Embeddings> {
    let wrong = |line: usize, message: String| {
        ParseError::new(format!("line {line}: {message}")).in_file(path)
    };
    let (mut values, mut rows, mut cols) = (Vec::new(), 0, None);
    for (i, line) in open::text(path)?.lines().enumerate() {
        let before = values.len();
        for word in line.split('\t') {
            let value = word.parse::<f32>().ok().filter(|v| v.is_finite());
            let expected = || wrong(i + 1, format!("`{word}`; expected a finite number"));
            values.push(value.ok_or_else(expected)?);
        }
        let found = values.len() - before;
        if *cols.get_or_insert(found) != found {
            return Err(wrong(i + 1, format!("{found} numbers; expected as many as before")));
        }
        rows += 1;
    }
    let metadata = metadata_path(path);
    let mut ids = None;
    if metadata.exists() {
        let text = open::text(&metadata)?;
        let lines = text.lines().skip(usize::from(text.lines().next() == Some(HEADER)));
        let id = |line: &str| unescaped(line.split('\t').next().unwrap_or_default());
        ids = Some(lines.map(id).collect());
    }
    Ok(Embeddings { ids, matrix: Dense::from_vec(rows, cols.unwrap_or(0), values)? })
}

fn escaped(text: &str) -> String {
    let escapes = [("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")];
    escapes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (c, false) => out.push(c),
        }
    }
    out
}

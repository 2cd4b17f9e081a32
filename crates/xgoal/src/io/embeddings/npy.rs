//! A `.npy` matrix and, beside it, the ids of its rows: one per line, or a JSON list where an id has a line break.

use super::{Embeddings, Layout, Rows};
use crate::error::{Error, ParseError, Result};
use crate::io::{atomic, npy, open};
use crate::matrix::Dense;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the ids of an embedding file stand: `ids.txt` in a run folder, else `NAME.ids.txt`.
pub fn ids_path(embeddings: &Path) -> PathBuf {
    match embeddings.file_name().and_then(|n| n.to_str()) {
        Some("embeddings.npy") => embeddings.with_file_name("ids.txt"),
        _ => embeddings.with_extension("ids.txt"),
    }
}

/// Where they stand if some of them have line breaks.
pub(super) fn json_path(embeddings: &Path) -> PathBuf {
    ids_path(embeddings).with_extension("json")
}

/// Row after row.
#[derive(Debug)]
pub(super) struct Npy {
    pub columns: usize,
}

impl Layout for Npy {
    fn begin(&mut self, file: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        npy::write_header(file, "<f4", &[rows.count, self.columns])
    }

    fn rows(
        &mut self,
        file: &mut dyn Write,
        _: &Rows<'_>,
        _: usize,
        some: &Dense,
    ) -> io::Result<()> {
        npy::write_numbers(file, some.values(), f32::to_le_bytes)
    }
}

/// Writes the file beside the embeddings'.
pub(super) fn write_ids(path: &Path, rows: &Rows<'_>) -> Result<PathBuf> {
    let all = 0..rows.count;
    let (lines, json) = (ids_path(path), json_path(path));
    let broken = all.clone().any(|row| rows.id(row).contains(['\n', '\r']));
    let (ids, other) = if broken { (json, lines) } else { (lines, json) };
    atomic::write(&ids, |w| {
        if !broken {
            return all.clone().try_for_each(|row| writeln!(w, "{}", rows.id(row)));
        }
        let list: Vec<String> = all.clone().map(|row| rows.id(row)).collect();
        serde_json::to_writer(w, &list).map_err(Into::into)
    })?;
    // Ids of embeddings that were here before belong to no file now.
    match std::fs::remove_file(&other) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&other, e)),
        _ => Ok(ids),
    }
}

pub(super) fn read(path: &Path) -> Result<Embeddings> {
    let matrix = npy::read_f32_matrix(path)?;
    let (lines, json) = (ids_path(path), json_path(path));
    let (ids, file): (Vec<String>, _) = if json.exists() {
        let list = serde_json::from_str(&open::text(&json)?);
        let wrong = |e| ParseError::new(format!("not a JSON list of ids: {e}")).in_file(&json);
        (list.map_err(wrong)?, json)
    } else if lines.exists() {
        (open::text(&lines)?.lines().map(str::to_owned).collect(), lines)
    } else {
        return Ok(Embeddings { ids: None, matrix });
    };
    if ids.len() != matrix.rows() {
        return Err(Error::Data(format!(
            "{}: {} ids for {} rows of embeddings",
            file.display(),
            ids.len(),
            matrix.rows()
        )));
    }
    Ok(Embeddings { ids: Some(ids), matrix })
}

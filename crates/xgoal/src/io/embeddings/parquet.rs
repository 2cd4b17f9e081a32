//! Parquet: `id`, a string or a whole number, and `vector`, a list of floats.

use super::Rows;
use crate::error::Result;
use crate::io::table::write::{self, Values};
use crate::matrix::Dense;
use std::path::{Path, PathBuf};

pub(super) fn write(path: &Path, embeddings: &Dense, rows: &Rows<'_>) -> Result<Vec<PathBuf>> {
    let ids = rows.column(embeddings.rows());
    let columns = [("id", ids), ("vector", Values::Vectors(embeddings))];
    write::parquet(path, embeddings.rows(), &columns)?;
    Ok(vec![path.to_path_buf()])
}

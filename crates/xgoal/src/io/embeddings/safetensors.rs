//! One tensor `embeddings`; its metadata has `format` = `xgoal-embeddings`, `version` = `1`, `ids`, a JSON list, and
//! a `checksum`.

use super::{Embeddings, Layout, Rows};
use crate::error::{Error, Result};
use crate::io::open;
use crate::io::tensors::{MatrixFile, TensorFile, in_file, wrong};
use crate::matrix::Dense;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

const FORMAT: &str = "xgoal-embeddings";
/// Readers refuse longer headers.
const LONGEST_HEADER: usize = 100_000_000;

/// The file as one tensor.
#[derive(Debug)]
pub(super) struct Tensor(MatrixFile);

/// The ids' list must fit into a header.
pub(super) fn tensor(path: &Path, columns: usize, rows: &Rows<'_>) -> Result<Tensor> {
    let ids: Vec<String> = (0..rows.count).map(|row| rows.id(row)).collect();
    let ids = serde_json::to_string(&ids).expect("plain strings");
    // Quotes and backslashes of the list are escaped once more.
    let escaped = ids.len() + ids.matches(['"', '\\']).count();
    if escaped + 1000 > LONGEST_HEADER {
        return Err(Error::Data(format!(
            "{}: the ids take {escaped} bytes, more than the header of a safetensors file may have; \
             write .npy or .parquet",
            path.display()
        )));
    }
    let metadata = [("format", FORMAT), ("version", "1"), ("ids", &ids)];
    let metadata: BTreeMap<_, _> =
        metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Ok(Tensor(MatrixFile::new("embeddings", (rows.count, columns), metadata)))
}

impl Layout for Tensor {
    fn begin(&mut self, file: &mut dyn Write, _: &Rows<'_>) -> io::Result<()> {
        file.write_all(&self.0.beginning())
    }

    fn rows(
        &mut self,
        file: &mut dyn Write,
        _: &Rows<'_>,
        _: usize,
        some: &Dense,
    ) -> io::Result<()> {
        self.0.rows(file, some)
    }

    fn end(&mut self, file: &mut File, _: &Rows<'_>) -> io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&self.0.beginning())
    }
}

pub(super) fn read(path: &Path) -> Result<Embeddings> {
    let bytes = open::mapped_for_copy(path)?;
    let parse = || {
        let file = TensorFile::parse(&bytes, FORMAT, 1..=1)?;
        let ids = serde_json::from_str(file.entry("ids")?)
            .map_err(|e| wrong(format!("`ids` in the file's metadata cannot be read: {e}")))?;
        Ok(Embeddings { ids: Some(ids), matrix: file.matrix("embeddings")? })
    };
    parse().map_err(|e| in_file(e, path))
}

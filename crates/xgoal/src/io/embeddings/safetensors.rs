//! One tensor `embeddings`; its metadata has `format` = `xgoal-embeddings`, `version` = `1`, `ids`, a JSON list, and
//! a `checksum`.

use super::{Embeddings, Rows};
use crate::error::{Error, Result};
use crate::io::tensors::{TensorFile, Tensors, in_file, wrong};
use crate::io::{atomic, open};
use crate::matrix::Dense;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FORMAT: &str = "xgoal-embeddings";
/// Readers refuse longer headers.
const LONGEST_HEADER: usize = 100_000_000;

pub(super) fn write(path: &Path, embeddings: &Dense, rows: &Rows<'_>) -> Result<Vec<PathBuf>> {
    let ids: Vec<String> = (0..embeddings.rows()).map(|row| rows.id(row)).collect();
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
    let mut tensors = Tensors::default();
    tensors.push_matrix("embeddings".into(), embeddings);
    let metadata = [("format", FORMAT), ("version", "1"), ("ids", &ids)];
    let metadata: BTreeMap<_, _> =
        metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    atomic::write(path, |w| tensors.write(w, metadata))?;
    Ok(vec![path.to_path_buf()])
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

//! `safetensors` files of weights, as models and saved states use them.

use crate::error::{Error, ParseError, Result};
use crate::matrix::Dense;
use crate::model::LayerWeights;
use crate::settings::Encoder;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Named tensors on their way into a file.
#[derive(Debug, Default)]
pub(crate) struct Tensors(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

impl Tensors {
    pub fn push_f32(&mut self, name: String, shape: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.0.push((name, Dtype::F32, shape.to_vec(), bytes));
    }

    pub fn push_u32(&mut self, name: String, values: &[u32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.0.push((name, Dtype::U32, vec![values.len()], bytes));
    }

    pub fn push_matrix(&mut self, name: String, matrix: &Dense) {
        self.push_f32(name, &[matrix.rows(), matrix.cols()], matrix.values());
    }

    pub fn push_weights(&mut self, name: &str, weights: &LayerWeights) {
        self.push_matrix(format!("{name}.weight"), &weights.weight);
        if let Some(own) = &weights.self_weight {
            self.push_matrix(format!("{name}.self_weight"), own);
        }
        self.push_f32(format!("{name}.bias"), &[weights.bias.len()], &weights.bias);
    }

    pub fn write(&self, path: &Path, metadata: HashMap<String, String>) -> Result<()> {
        let file = self.to_bytes(metadata).map_err(|e| in_file(e, path))?;
        super::atomic::write(path, |w| w.write_all(&file))
    }

    pub fn to_bytes(&self, metadata: HashMap<String, String>) -> Result<Vec<u8>> {
        let views = self.0.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes).expect("shape of the values");
            (name.as_str(), view)
        });
        let file = safetensors::serialize(views, Some(metadata));
        Ok(with_sorted_header(file.map_err(|e| Error::Data(e.to_string()))?))
    }
}

/// The crate writes metadata in a hash map's order, which differs from run to run; sorted, equal
/// contents make equal files. The header keeps its length: a little-endian `u64`, then JSON.
fn with_sorted_header(mut file: Vec<u8>) -> Vec<u8> {
    type Header = BTreeMap<String, BTreeMap<String, serde_json::Value>>;
    let (length, rest) = file.split_first_chunk_mut::<8>().expect("a length");
    let header = &mut rest[..u64::from_le_bytes(*length) as usize];
    let sorted: Header = serde_json::from_slice(header).expect("the header just written");
    let sorted = serde_json::to_vec(&sorted).expect("plain numbers and strings");
    header[..sorted.len()].copy_from_slice(&sorted);
    header[sorted.len()..].fill(b' ');
    file
}

/// A file of a known format and version.
#[derive(Debug)]
pub(crate) struct TensorFile<'a> {
    tensors: SafeTensors<'a>,
    metadata: HashMap<String, String>,
}

/// An error to be given its file by [`in_file`].
pub(crate) fn wrong(message: impl Into<String>) -> Error {
    ParseError::new(message).in_file(Path::new(""))
}

/// Names the file an error was found in.
pub(crate) fn in_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Parse { source, .. } => source.in_file(path),
        Error::Data(message) => Error::Data(format!("{}: {message}", path.display())),
        other => other,
    }
}

impl<'a> TensorFile<'a> {
    /// Checks the container, and that `format` and `version` in the metadata are as expected.
    pub fn parse(bytes: &'a [u8], format: &str, newest: u32) -> Result<Self> {
        let damaged = |e| wrong(format!("not a safetensors file, or a damaged one: {e}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let metadata = header.metadata().clone().unwrap_or_default();
        if metadata.get("format").map(String::as_str) != Some(format) {
            return Err(wrong(format!("expected `format` = `{format}` in the file's metadata")));
        }
        match metadata.get("version").and_then(|v| v.parse::<u32>().ok()) {
            Some(version) if version <= newest => {}
            found => {
                let found = found.map_or("no version".to_string(), |v| format!("version {v}"));
                return Err(wrong(format!("{found}; this program reads up to version {newest}")));
            }
        }
        Ok(Self { tensors: SafeTensors::deserialize(bytes).map_err(damaged)?, metadata })
    }

    /// An entry of the metadata that may be absent.
    pub fn optional_entry(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    /// An entry of the metadata.
    pub fn entry(&self, key: &str) -> Result<&str> {
        self.optional_entry(key).ok_or_else(|| wrong(format!("no `{key}` in the file's metadata")))
    }

    fn tensor(&self, name: &str, dtype: Dtype) -> Result<TensorView<'_>> {
        let tensor = self.tensors.tensor(name).map_err(|_| wrong(format!("no tensor `{name}`")))?;
        if tensor.dtype() != dtype {
            let found = tensor.dtype();
            return Err(wrong(format!("tensor `{name}` is {found:?}; expected {dtype:?}")));
        }
        Ok(tensor)
    }

    pub fn f32(&self, name: &str) -> Result<Vec<f32>> {
        let tensor = self.tensor(name, Dtype::F32)?;
        Ok(tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
    }

    pub fn u32(&self, name: &str) -> Result<Vec<u32>> {
        let tensor = self.tensor(name, Dtype::U32)?;
        Ok(tensor.data().as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
    }

    pub fn matrix(&self, name: &str) -> Result<Dense> {
        let tensor = self.tensor(name, Dtype::F32)?;
        match tensor.shape() {
            [rows, cols] => Dense::from_vec(*rows, *cols, self.f32(name)?),
            shape => Err(wrong(format!("tensor `{name}` is {shape:?}; expected a matrix"))),
        }
    }

    pub fn weights(&self, name: &str, encoder: Encoder) -> Result<LayerWeights> {
        Ok(LayerWeights {
            weight: self.matrix(&format!("{name}.weight"))?,
            self_weight: match encoder {
                Encoder::FirstOrder => Some(self.matrix(&format!("{name}.self_weight"))?),
                Encoder::Gcn => None,
            },
            bias: self.f32(&format!("{name}.bias"))?,
        })
    }
}

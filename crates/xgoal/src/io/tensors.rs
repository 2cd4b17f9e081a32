//! `safetensors` files of weights, as models and saved states use them.
//!
//! Tensors are written as they are, one after another by name, without a second copy in memory. The
//! metadata's `checksum` is the CRC-32, in hexadecimal, of the header without that entry (compact JSON, keys
//! sorted, not padded) and the tensors' bytes. It tells damage; it does not keep anybody from forging a file.

use crate::error::{Error, ParseError, Result};
use crate::matrix::Dense;
use crate::model::LayerWeights;
use crate::settings::Encoder;
use safetensors::tensor::{Dtype, SafeTensors, TensorInfo, TensorView};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::Path;

const CHECKSUM: &str = "checksum";

/// Numbers turned into bytes at a time.
const CHUNK: usize = 1 << 12;

/// Named tensors on their way into a file.
#[derive(Debug, Default)]
pub(crate) struct Tensors<'a>(BTreeMap<String, (Vec<usize>, Values<'a>)>);

#[derive(Debug, Clone, Copy)]
enum Values<'a> {
    F32(&'a [f32]),
    U32(&'a [u32]),
}

impl Values<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Values::F32(_) => Dtype::F32,
            Values::U32(_) => Dtype::U32,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Values::F32(values) => size_of_val(*values),
            Values::U32(values) => size_of_val(*values),
        }
    }

    /// Hands on the values as little-endian bytes, some at a time.
    fn each_chunk(&self, mut f: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = [[0; 4]; CHUNK];
        macro_rules! each {
            ($values:expr) => {
                $values.chunks(CHUNK).try_for_each(|chunk| {
                    let bytes = &mut bytes[..chunk.len()];
                    bytes.iter_mut().zip(chunk).for_each(|(b, v)| *b = v.to_le_bytes());
                    f(bytes.as_flattened())
                })
            };
        }
        match self {
            Values::F32(values) => each!(values),
            Values::U32(values) => each!(values),
        }
    }
}

impl<'a> Tensors<'a> {
    pub fn push_f32(&mut self, name: String, shape: &[usize], values: &'a [f32]) {
        self.0.insert(name, (shape.to_vec(), Values::F32(values)));
    }

    pub fn push_u32(&mut self, name: String, values: &'a [u32]) {
        self.0.insert(name, (vec![values.len()], Values::U32(values)));
    }

    pub fn push_matrix(&mut self, name: String, matrix: &'a Dense) {
        self.push_f32(name, &[matrix.rows(), matrix.cols()], matrix.values());
    }

    pub fn push_weights(&mut self, name: &str, weights: &'a LayerWeights) {
        self.push_matrix(format!("{name}.weight"), &weights.weight);
        if let Some(own) = &weights.self_weight {
            self.push_matrix(format!("{name}.self_weight"), own);
        }
        self.push_f32(format!("{name}.bias"), &[weights.bias.len()], &weights.bias);
    }

    /// Writes the file: equal contents make equal files.
    pub fn write(
        &self,
        writer: &mut dyn Write,
        mut metadata: BTreeMap<String, String>,
    ) -> io::Result<()> {
        let mut end = 0;
        let infos = self.0.iter().map(|(name, (shape, values))| {
            let start = end;
            end += values.bytes();
            let (dtype, shape) = (values.dtype(), shape.clone());
            (name.as_str(), TensorInfo { dtype, shape, data_offsets: (start, end) })
        });
        let infos: BTreeMap<&str, TensorInfo> = infos.collect();
        let mut hash = crc32fast::Hasher::new();
        hash.update(&header(&infos, &metadata));
        for (_, values) in self.0.values() {
            values.each_chunk(|bytes| {
                hash.update(bytes);
                Ok(())
            })?;
        }
        writer.write_all(&beginning(&infos, &mut metadata, hash))?;
        self.0.values().try_for_each(|(_, values)| values.each_chunk(|b| writer.write_all(b)))
    }
}

/// A file of one matrix whose rows come one after the other.
#[derive(Debug)]
pub(crate) struct MatrixFile {
    name: String,
    info: TensorInfo,
    metadata: BTreeMap<String, String>,
    hash: crc32fast::Hasher,
}

impl MatrixFile {
    pub fn new(name: &str, shape: (usize, usize), metadata: BTreeMap<String, String>) -> Self {
        let data_offsets = (0, 4 * shape.0 * shape.1);
        let info = TensorInfo { dtype: Dtype::F32, shape: vec![shape.0, shape.1], data_offsets };
        let mut hash = crc32fast::Hasher::new();
        hash.update(&header(&BTreeMap::from([(name, info.clone())]), &metadata));
        Self { name: name.to_owned(), info, metadata, hash }
    }

    /// What comes before the rows. The checksum is that of the rows so far: once they are there, the beginning is written again.
    pub fn beginning(&mut self) -> Vec<u8> {
        let infos = BTreeMap::from([(self.name.as_str(), self.info.clone())]);
        beginning(&infos, &mut self.metadata, self.hash.clone())
    }

    /// The next rows.
    pub fn rows(&mut self, writer: &mut dyn Write, rows: &Dense) -> io::Result<()> {
        Values::F32(rows.values()).each_chunk(|bytes| {
            self.hash.update(bytes);
            writer.write_all(bytes)
        })
    }
}

/// The length of the header, and the header with the checksum.
fn beginning(
    infos: &BTreeMap<&str, TensorInfo>,
    metadata: &mut BTreeMap<String, String>,
    hash: crc32fast::Hasher,
) -> Vec<u8> {
    metadata.insert(CHECKSUM.to_string(), format!("{:08x}", hash.finalize()));
    let header = header(infos, metadata);
    let length = header.len().next_multiple_of(8);
    let mut bytes = (length as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(&header);
    bytes.resize(8 + length, b' ');
    bytes
}

/// The metadata, then the tensors by name.
fn header(tensors: &BTreeMap<&str, TensorInfo>, metadata: &BTreeMap<String, String>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Header<'a> {
        #[serde(rename = "__metadata__")]
        metadata: &'a BTreeMap<String, String>,
        #[serde(flatten)]
        tensors: &'a BTreeMap<&'a str, TensorInfo>,
    }
    serde_json::to_vec(&Header { metadata, tensors }).expect("plain numbers and strings")
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
        // Not what the user asked for but what stands in the file.
        Error::Setting { .. } | Error::UnknownSetting { .. } | Error::UnknownLayer { .. } => {
            ParseError::new(format!("`config` in the file's metadata: {error}")).in_file(path)
        }
        other => other,
    }
}

impl<'a> TensorFile<'a> {
    /// Checks the container and its checksum, and that `format` and `version` in the metadata are as
    /// expected.
    pub fn parse(bytes: &'a [u8], format: &str, versions: RangeInclusive<u32>) -> Result<Self> {
        let damaged = |e| wrong(format!("not a safetensors file, or a damaged one: {e}"));
        let (length, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let metadata = header.metadata().clone().unwrap_or_default();
        if metadata.get("format").map(String::as_str) != Some(format) {
            return Err(wrong(format!("expected `format` = `{format}` in the file's metadata")));
        }
        match metadata.get("version").and_then(|v| v.parse::<u32>().ok()) {
            Some(version) if versions.contains(&version) => {}
            found => {
                let found = found.map_or("no version".to_string(), |v| format!("version {v}"));
                let (oldest, newest) = versions.into_inner();
                let read = match oldest == newest {
                    true => format!("version {newest}"),
                    false => format!("versions {oldest} to {newest}"),
                };
                return Err(wrong(format!("{found}; this program reads {read}")));
            }
        }
        if let Some(expected) = metadata.get(CHECKSUM) {
            let infos = header.tensors();
            let infos = infos.iter().map(|(name, info)| (name.as_str(), (*info).clone())).collect();
            let others = metadata.clone().into_iter().filter(|(key, _)| key != CHECKSUM).collect();
            let mut hash = crc32fast::Hasher::new();
            hash.update(&self::header(&infos, &others));
            hash.update(&bytes[8 + length..]);
            let found = format!("{:08x}", hash.finalize());
            if found != *expected {
                return Err(wrong(format!("damaged: checksum {found}, expected {expected}")));
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

    pub fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
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

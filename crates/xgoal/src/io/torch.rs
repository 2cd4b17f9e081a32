//! PyTorch checkpoints: the state dicts that `torch.save` writes since PyTorch 1.6.
//!
//! ```text
//!     model.pkl (zip)   prefix/data.pkl   a pickle: name -> tensor on storage `key`
//!                       prefix/data/key   the numbers of one storage
//! ```
//!
//! The pickle is read by the same allow-list as data pickles; no code in it is ever run.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use super::build::Budget;
use super::decode::{Endian, Number, beginning, to_f32};
use super::pickle::{self, Dialect, Object, Strided, Work};
use super::{archive, open};
use crate::error::{Error, ParseError, Result};
use crate::words::quoted;

/// The first bytes of a zip archive.
pub(crate) const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Protocol 2 and the number every checkpoint before PyTorch 1.6 starts with.
pub(crate) const LEGACY_MAGIC: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19";
/// More than any pickle of tensor names needs.
const LONGEST_PICKLE: u64 = 1 << 28;
/// How many times longer than the file its pickle may be; PyTorch does not pack at all.
const UNPACKED: u64 = 16;

/// One tensor of a state dict.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its key in the state dict.
    pub name: String,
    /// Its size in each dimension.
    pub shape: Vec<usize>,
    /// Its values, the last dimension fastest.
    pub values: Vec<f32>,
}

/// Whether the file is a zip archive, as a checkpoint is and a data pickle is not.
///
/// Both kinds of file are called `.pkl`, so their first bytes must tell them apart.
///
/// # Errors
/// The file cannot be read.
pub fn is_zip(path: &Path) -> Result<bool> {
    Ok(first_bytes(path)?.starts_with(ZIP_MAGIC))
}

/// Whether a model is a PyTorch checkpoint, by its name or by its first bytes, rather than a run
/// folder or a `safetensors` file.
///
/// # Errors
/// The file cannot be read.
pub fn is_checkpoint(path: &Path) -> Result<bool> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    Ok(!path.is_dir() && (["pkl", "pt", "pth"].contains(&extension) || is_zip(path)?))
}

fn first_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let (file, _) = open::file(path)?;
    file.take(LEGACY_MAGIC.len() as u64).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    Ok(bytes)
}

/// Reads all tensors of a checkpoint, in the order of the file.
///
/// # Errors
/// The file cannot be read, is not a zip-format state dict, is damaged, or names anything but
/// tensors and plain values.
pub fn read_state_dict(path: &Path) -> Result<Vec<Tensor>> {
    let start = first_bytes(path)?;
    if !start.starts_with(ZIP_MAGIC) {
        let message = if start.starts_with(LEGACY_MAGIC) {
            "found a checkpoint from before PyTorch 1.6; load it there and save it again to read \
             it here"
                .to_owned()
        } else {
            let beginning = beginning(&start);
            format!(
                "no zip archive: the file {beginning}, expected a checkpoint that torch.save wrote"
            )
        };
        return Err(ParseError::at(0, message).in_file(path));
    }
    let (file, length) = open::file(path)?;
    Checkpoint::open(BufReader::new(file))
        .and_then(|checkpoint| checkpoint.tensors(length))
        .map_err(|e| e.in_file(path))
}

type Parsed<T> = std::result::Result<T, ParseError>;

struct Checkpoint {
    archive: ZipArchive<BufReader<File>>,
    /// The folder all entries lie in, with its slash.
    prefix: String,
    endian: Endian,
}

impl Checkpoint {
    fn open(file: BufReader<File>) -> Parsed<Self> {
        let archive = archive::open(file)?;
        let folder = |name: String| {
            let prefix = name.strip_suffix("data.pkl")?;
            (prefix.is_empty() || prefix.ends_with('/')).then(|| prefix.to_owned())
        };
        let prefix = archive::names(&archive)?.into_iter().find_map(folder).ok_or_else(|| {
            ParseError::new("found a zip archive without data.pkl, expected a PyTorch checkpoint")
        })?;
        let mut checkpoint = Self { archive, prefix, endian: Endian::Little };
        let order = format!("{}byteorder", checkpoint.prefix);
        if checkpoint.archive.index_for_name(&order).is_some()
            && checkpoint.entry("byteorder", 16)?.starts_with(b"big")
        {
            checkpoint.endian = Endian::Big;
        }
        Ok(checkpoint)
    }

    /// The bytes of an entry, which may not be longer than `limit`.
    fn entry(&mut self, name: &str, limit: u64) -> Parsed<Vec<u8>> {
        let full = format!("{}{name}", self.prefix);
        let shown = quoted(&full);
        let number = self.archive.index_for_name(&full).ok_or_else(|| {
            ParseError::new(format!("{shown}: not in the checkpoint, expected by its pickle"))
        })?;
        let entry = archive::entry(&mut self.archive, number, &full)?;
        // The length an archive claims is not trusted: the buffer grows with what is really there.
        let mut bytes = Vec::new();
        entry
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| ParseError::new(format!("{shown}: {e}")))?;
        if bytes.len() as u64 > limit {
            let message = format!("{shown}: found more than the {limit} bytes expected");
            return Err(ParseError::new(message));
        }
        Ok(bytes)
    }

    fn tensors(mut self, file_length: u64) -> Parsed<Vec<Tensor>> {
        let longest = file_length.saturating_mul(UNPACKED).saturating_add(1 << 20);
        let program = self.entry("data.pkl", longest.min(LONGEST_PICKLE))?;
        let (heap, root) = pickle::load(&program, Dialect::Torch)?;
        let (mut work, mut memory) = (Work::for_file(file_length), Budget::for_file(file_length));
        let mut tensors = Vec::new();
        for (name, value, at) in pickle::entries(&heap, root)? {
            let named = |e: ParseError| ParseError {
                message: format!("tensor {}: {}", quoted(name), e.message),
                at: e.at.or(Some(at)),
                ..e
            };
            let Some(Object::Tensor(strided)) = heap.get(value) else {
                let message = format!("found {}, expected a tensor", heap.describe(value));
                return Err(named(ParseError::new(message)));
            };
            let values = self.values(strided, &mut work, &mut memory, at).map_err(named)?;
            tensors.push(Tensor { name: name.to_owned(), shape: strided.shape.clone(), values });
        }
        Ok(tensors)
    }

    fn values(
        &mut self,
        tensor: &Strided,
        work: &mut Work,
        memory: &mut Budget,
        at: u64,
    ) -> Parsed<Vec<f32>> {
        let count = element_count(tensor)?;
        let storage = &tensor.storage;
        let number = Number { kind: storage.kind, endian: self.endian };
        let bytes = storage
            .length
            .checked_mul(number.size())
            .ok_or_else(|| ParseError::new(format!("found {} elements", storage.length)))?;
        work.spend(bytes, at)?;
        // The bytes, their numbers and those of the tensor.
        memory.take((bytes as u64).saturating_add(4 * (storage.length as u64 + count as u64)))?;
        let raw = self.entry(&format!("data/{}", storage.key), bytes as u64)?;
        if raw.len() != bytes {
            let (found, key) = (raw.len(), quoted(&storage.key));
            let message = format!("storage {key}: found {found} bytes, expected {bytes}");
            return Err(ParseError::new(message));
        }
        let mut stored = Vec::with_capacity(storage.length);
        number.each(&raw, |i, v| {
            stored.push(to_f32(v).ok_or_else(|| {
                let message = format!("element {i}: found {v}, expected a value within f32");
                ParseError::new(message)
            })?);
            Ok(())
        })?;
        Ok(gather(&stored, tensor, count))
    }
}

/// Number of elements; checks that each lies inside the storage.
fn element_count(tensor: &Strided) -> Parsed<usize> {
    let length = tensor.storage.length;
    let outside = || {
        ParseError::new(format!(
            "found shape {:?} with strides {:?} from element {}, expected it inside a storage of \
             {length}",
            tensor.shape, tensor.strides, tensor.offset
        ))
    };
    let count = tensor.shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
    // A tensor that repeats elements through a stride of 0 could claim any size.
    let count = count.filter(|n| *n <= length).ok_or_else(outside)?;
    if count > 0 {
        let steps = tensor.shape.iter().zip(&tensor.strides);
        steps
            .map(|(size, stride)| (size - 1).checked_mul(*stride))
            .try_fold(tensor.offset, |last, step| last.checked_add(step?))
            .filter(|last| *last < length)
            .ok_or_else(outside)?;
    }
    Ok(count)
}

/// The elements in row-major order; the caller has checked their bounds.
fn gather(stored: &[f32], tensor: &Strided, count: usize) -> Vec<f32> {
    let mut values = Vec::with_capacity(count);
    let mut index = vec![0usize; tensor.shape.len()];
    let mut at = tensor.offset;
    for _ in 0..count {
        values.push(stored[at]);
        for d in (0..index.len()).rev() {
            index[d] += 1;
            // The stride of a dimension of size 1 is never checked, and is taken back at once.
            at = at.wrapping_add(tensor.strides[d]);
            if index[d] < tensor.shape[d] {
                break;
            }
            at = at.wrapping_sub(index[d].wrapping_mul(tensor.strides[d]));
            index[d] = 0;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn fixture(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pickle").join(name)
    }

    fn tensor(name: &str, shape: &[usize], values: &[f32]) -> Tensor {
        Tensor { name: name.into(), shape: shape.to_vec(), values: values.to_vec() }
    }

    #[test]
    fn a_module_s_state_dict() {
        let expected = [
            tensor("weight", &[2, 3], &[0., 1., 2., 3., 4., 5.]),
            tensor("bias", &[2], &[0.5, -1.5]),
        ];
        assert_eq!(read_state_dict(&fixture("module.pt")).unwrap(), expected);
    }

    #[test]
    fn types_and_strides() {
        let tensors = read_state_dict(&fixture("tensors.pt")).unwrap();
        let plain = ["f4", "f8", "f2", "bf16", "i8"];
        for (tensor, name) in tensors.iter().zip(plain) {
            assert_eq!(*tensor, self::tensor(name, &[2, 3], &[0., 1., 2., 3., 4., 5.]));
        }
        let rest = [
            tensor("transposed", &[3, 2], &[0., 3., 1., 4., 2., 5.]),
            tensor("tail", &[1, 2], &[4., 5.]),
            tensor("parameter", &[2, 3], &[0., 1., 2., 3., 4., 5.]),
            tensor("scalar", &[], &[2.5]),
        ];
        assert_eq!(tensors[plain.len()..], rest);
    }

    #[test]
    fn other_files_are_told_apart() {
        assert!(is_zip(&fixture("module.pt")).unwrap());
        assert!(!is_zip(&fixture("p4_csr.pkl")).unwrap());
        let message = |name| read_state_dict(&fixture(name)).unwrap_err().to_string();
        assert!(message("legacy.pt").contains("before PyTorch 1.6"));
        assert!(message("p4_csr.pkl").contains("no zip archive"));
        let matlab = read_state_dict(&fixture("../plain.mat")).unwrap_err().to_string();
        assert!(matlab.contains("no zip archive: the file begins with `MATLAB 5.0`"), "{matlab}");
        assert!(matches!(read_state_dict(&fixture("absent.pt")), Err(Error::Io { .. })));
    }

    #[test]
    fn windows_outside_the_storage_are_refused() {
        let count = |offset, shape: &[usize], strides: &[usize]| {
            let kind = pickle::storage_kind("FloatStorage").unwrap();
            let storage = pickle::Storage { kind, key: "0".into(), length: 6 };
            element_count(&Strided {
                storage,
                offset,
                shape: shape.to_vec(),
                strides: strides.to_vec(),
            })
        };
        assert_eq!(count(0, &[2, 3], &[3, 1]), Ok(6));
        assert_eq!(count(9, &[0, 3], &[3, 1]), Ok(0));
        assert_eq!(count(5, &[1], &[usize::MAX]), Ok(1));
        assert!(count(1, &[2, 3], &[3, 1]).is_err());
        assert!(count(0, &[2, 3], &[4, 1]).is_err());
        assert!(count(0, &[7], &[0]).is_err());
        assert!(count(0, &[2], &[usize::MAX]).is_err());
        assert!(count(0, &[usize::MAX, 2], &[1, 1]).is_err());
    }

    #[test]
    fn damaged_checkpoints_never_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged.pt");
        let whole = std::fs::read(fixture("module.pt")).unwrap();
        for end in 0..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(read_state_dict(&path).is_err(), "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            // Some damage lies in padding; it must only not panic.
            let _ = read_state_dict(&path);
        }
    }

    /// Writes a checkpoint with a pickle of the test's own and one storage of 24 bytes, and reads it.
    fn reread(program: &[u8]) -> Result<Vec<Tensor>> {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.pt");
        let mut writer = zip::ZipWriter::new(File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        for (name, bytes) in [("own/data.pkl", program), ("own/data/0", &[0; 24])] {
            writer.start_file(name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap();
        read_state_dict(&path)
    }

    #[test]
    fn code_in_a_checkpoint_is_refused_by_name() {
        let hostile = b"\x80\x02cos\nsystem\nX\x01\x00\x00\x00a\x85R.";
        let message = reread(hostile).unwrap_err().to_string();
        assert!(message.contains("refused: the pickle names `os.system`"), "{message}");
        let old = reread(b"cos\nsystem\n(S'a'\ntR.").unwrap_err().to_string();
        assert!(old.contains("not a pickle of protocol 2 to 5"), "{old}");
    }

    #[test]
    fn damage_behind_a_valid_checksum_never_panics() {
        let file = File::open(fixture("tensors.pt")).unwrap();
        let whole =
            Checkpoint::open(BufReader::new(file)).unwrap().entry("data.pkl", 1 << 16).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            assert!(reread(&bytes).is_err(), "the storages beyond the first are missing");
        }
    }
}

//! PyTorch tensors: a window with strides onto a storage that lies outside the pickle.

use super::allow::{Global, wrong};
use super::dtype::{Dtype, Kind};
use super::machine::Machine;
use super::numpy::dimensions;
use super::value::{Object, Parsed, Value};

/// A run of numbers in a file of its own.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    pub(crate) dtype: Dtype,
    pub(crate) key: String,
    pub(crate) length: usize,
}

/// A tensor: shape, strides in elements and first element.
#[derive(Debug)]
pub(crate) struct Strided {
    pub(crate) storage: Storage,
    pub(crate) offset: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<usize>,
}

/// The element type of `torch.FloatStorage` and its siblings.
pub(crate) fn storage_dtype(class: &str) -> Option<Dtype> {
    let (kind, size) = match class {
        "FloatStorage" => (Kind::Float, 4),
        "DoubleStorage" => (Kind::Float, 8),
        "HalfStorage" => (Kind::Float, 2),
        "BFloat16Storage" => (Kind::BrainFloat, 2),
        "LongStorage" => (Kind::Int, 8),
        "IntStorage" => (Kind::Int, 4),
        _ => return None,
    };
    Some(Dtype::little(kind, size))
}

/// The persistent id `('storage', class, key, location, length)`.
pub(super) fn storage(m: &Machine<'_>, id: Value, at: u64) -> Parsed<Box<Storage>> {
    let expected = "a PyTorch storage";
    let Some([tag, Value::Global(Global::Storage(dtype)), key, _, Value::Int(length)]) =
        m.heap.tuple(id)
    else {
        return Err(wrong(m, at, "a persistent id that is", id, expected));
    };
    // Keys are small numbers; a bound keeps a long one from being copied many times.
    let key = m.heap.name(*key).filter(|key| key.len() <= 64);
    match (m.heap.name(*tag), key, usize::try_from(*length)) {
        (Some("storage"), Some(key), Ok(length)) => {
            Ok(Box::new(Storage { dtype: *dtype, key: key.to_owned(), length }))
        }
        _ => Err(wrong(m, at, "a persistent id that is", id, expected)),
    }
}

/// `_rebuild_tensor_v2(storage, offset, size, stride, ...)`.
pub(super) fn rebuild(m: &Machine<'_>, args: [Value; 4], at: u64) -> Parsed<Box<Strided>> {
    let [storage, offset, size, stride] = args;
    let Some(Object::Storage(storage)) = m.heap.get(storage) else {
        return Err(wrong(m, at, "a tensor on", storage, "a PyTorch storage"));
    };
    let offset = match offset {
        Value::Int(n) if n >= 0 => n as usize,
        other => return Err(wrong(m, at, "a tensor from", other, "an offset")),
    };
    let shape = dimensions(&m.heap, size, at)?;
    let strides = dimensions(&m.heap, stride, at)?;
    if shape.len() != strides.len() {
        return Err(wrong(m, at, "strides", stride, "one for each dimension"));
    }
    Ok(Box::new(Strided { storage: storage.as_ref().clone(), offset, shape, strides }))
}

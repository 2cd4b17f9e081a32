//! PyTorch tensors: a window with strides onto a storage that lies outside the pickle.

use super::allow::{Global, wrong};
use super::machine::Machine;
use super::numpy::dimensions;
use super::value::{Object, Parsed, Value};
use crate::io::decode::Kind;

/// A run of numbers in a file of its own.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    pub(crate) kind: Kind,
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
pub(crate) fn storage_kind(class: &str) -> Option<Kind> {
    Some(match class {
        "FloatStorage" => Kind::F32,
        "DoubleStorage" => Kind::F64,
        "HalfStorage" => Kind::F16,
        "BFloat16Storage" => Kind::BF16,
        "LongStorage" => Kind::I64,
        "IntStorage" => Kind::I32,
        _ => return None,
    })
}

/// The persistent id `('storage', class, key, location, length)`.
pub(super) fn storage(m: &Machine<'_>, id: Value, at: u64) -> Parsed<Box<Storage>> {
    let expected = "a PyTorch storage";
    let Some([tag, Value::Global(Global::Storage(kind)), key, _, Value::Int(length)]) =
        m.heap.tuple(id)
    else {
        return Err(wrong(m, at, "a persistent id that is", id, expected));
    };
    // Keys are small numbers; a bound keeps a long one from being copied many times.
    let key = m.heap.name(*key).filter(|key| key.len() <= 64);
    match (m.heap.name(*tag), key, usize::try_from(*length)) {
        (Some("storage"), Some(key), Ok(length)) => {
            Ok(Box::new(Storage { kind: *kind, key: key.to_owned(), length }))
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

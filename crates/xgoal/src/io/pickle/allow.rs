//! The allow-list: every class and function a pickle may name, and what calling it builds.
//!
//! Python's own unpickler would import and call whatever a file names. Here a name is only looked
//! up in one table; a name that is not in it ends the reading.

use std::borrow::Cow;

use super::machine::Machine;
use super::numpy;
use super::scipy::Format;
use super::tensor;
use super::value::{Object, Parsed, Value};
use crate::error::ParseError;
use crate::io::decode::Kind;
use crate::io::dtype::Dtype;
use crate::words::quoted;

/// Which kind of file is read, and with it which names are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Arrays and plain values.
    Data,
    /// A PyTorch state dict, whose storages lie outside the pickle.
    Torch,
}

/// A class or function a pickle may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Global {
    Reconstruct,
    NdArray,
    Dtype,
    Scalar,
    FromBuffer,
    Encode,
    Bytes,
    OrderedDict,
    Sparse(Format),
    RebuildTensor,
    RebuildParameter,
    Storage(Kind),
}

impl Global {
    /// Looks a name up.
    pub(super) fn find(module: &str, name: &str, dialect: Dialect, at: u64) -> Parsed<Self> {
        let known = Self::common(module, name).or_else(|| match dialect {
            Dialect::Data => None,
            Dialect::Torch => Self::torch(module, name),
        });
        known.ok_or_else(|| {
            let read = match dialect {
                Dialect::Data => "NumPy arrays, SciPy sparse matrices and plain Python values",
                Dialect::Torch => "PyTorch tensors, NumPy arrays and plain Python values",
            };
            ParseError::at(
                at,
                format!(
                    "refused: the pickle names {}; only {read} are read, and no code in a pickle \
                     is ever run",
                    quoted(&format!("{module}.{name}"))
                ),
            )
        })
    }

    fn common(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => {
                Self::Reconstruct
            }
            ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Self::Scalar,
            ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => Self::FromBuffer,
            // `matrix` is what SciPy's `todense` returns: an array that is always 2-D.
            ("numpy", "ndarray" | "matrix") | ("numpy.matrixlib.defmatrix", "matrix") => {
                Self::NdArray
            }
            ("numpy", "dtype") => Self::Dtype,
            ("_codecs", "encode") => Self::Encode,
            // Protocol 2 writes empty bytes as a call without arguments.
            ("__builtin__" | "builtins", "bytes") => Self::Bytes,
            ("collections", "OrderedDict") => Self::OrderedDict,
            _ => Self::Sparse(Format::find(module, name)?),
        })
    }

    fn torch(module: &str, name: &str) -> Option<Self> {
        match (module, name) {
            ("torch._utils", "_rebuild_tensor_v2") => Some(Self::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Some(Self::RebuildParameter),
            ("torch", storage) => tensor::storage_kind(storage).map(Self::Storage),
            _ => None,
        }
    }

    /// A readable name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reconstruct => "numpy.core.multiarray._reconstruct",
            Self::NdArray => "numpy.ndarray",
            Self::Dtype => "numpy.dtype",
            Self::Scalar => "numpy.core.multiarray.scalar",
            Self::FromBuffer => "numpy.core.numeric._frombuffer",
            Self::Encode => "_codecs.encode",
            Self::Bytes => "builtins.bytes",
            Self::OrderedDict => "collections.OrderedDict",
            Self::Sparse(format) => format.name(),
            Self::RebuildTensor => "torch._utils._rebuild_tensor_v2",
            Self::RebuildParameter => "torch._utils._rebuild_parameter",
            Self::Storage(_) => "torch.Storage",
        }
    }
}

/// What `callable(*args)` builds, the pickle's REDUCE.
pub(super) fn call(m: &mut Machine<'_>, callable: Value, args: Value, at: u64) -> Parsed<Value> {
    let Value::Global(global) = callable else {
        return Err(wrong(m, at, "a call of", callable, "a function of the allow-list"));
    };
    let Some(arguments) = m.heap.tuple(args) else {
        return Err(wrong(m, at, "arguments", args, "a tuple"));
    };
    // No allowed function takes more than seven; a copy this small ends the borrow of the heap.
    if arguments.len() > 8 {
        return Err(refused_call(m, global, args, at));
    }
    let arguments = arguments.to_vec();
    let built = match (global, arguments.as_slice()) {
        (Global::Reconstruct, [Value::Global(Global::NdArray), _, _]) => Object::Array(None),
        (Global::Dtype, [name, _, _] | [name, _] | [name]) => {
            let Some(name) = m.heap.name(*name) else {
                return Err(wrong(m, at, "the dtype", *name, "its name"));
            };
            Object::Dtype(numpy::dtype(name, at)?)
        }
        (Global::Scalar, [dtype, bytes]) => return numpy::scalar(m, *dtype, *bytes, at),
        (
            Global::FromBuffer,
            [buffer, dtype, shape, order] | [buffer, dtype, shape, order, Value::None],
        ) => {
            let fortran = match m.heap.name(*order) {
                Some("C") => false,
                Some("F") => true,
                _ => return Err(wrong(m, at, "the array order", *order, "`C` or `F`")),
            };
            Object::Array(Some(numpy::array(m, *shape, *dtype, fortran, *buffer, at)?))
        }
        (Global::Encode, [text, codec]) => match (m.heap.get(*text), m.heap.name(*codec)) {
            (Some(Object::Text(Cow::Borrowed(text))), Some("latin1" | "latin-1")) => {
                Object::Latin1(text)
            }
            _ => return Err(refused_call(m, global, args, at)),
        },
        (Global::Bytes, []) => Object::Bytes(&[]),
        (Global::OrderedDict, []) => Object::Dict(Vec::new()),
        (Global::OrderedDict, [pairs]) => Object::Dict(self::pairs(m, *pairs, at)?),
        (Global::RebuildTensor, [storage, offset, size, stride, ..]) => {
            Object::Tensor(tensor::rebuild(m, [*storage, *offset, *size, *stride], at)?)
        }
        (Global::RebuildParameter, [inner, ..])
            if matches!(m.heap.get(*inner), Some(Object::Tensor(_))) =>
        {
            return Ok(*inner);
        }
        _ => return Err(refused_call(m, global, args, at)),
    };
    m.add(built, at)
}

/// What `class.__new__(class, *args)` builds, the pickle's NEWOBJ.
pub(super) fn new(m: &mut Machine<'_>, class: Value, args: Value, at: u64) -> Parsed<Value> {
    let empty = m.heap.tuple(args).is_some_and(<[Value]>::is_empty);
    match class {
        Value::Global(Global::Sparse(format)) if empty => m.add(Object::Sparse(format, None), at),
        Value::Global(Global::OrderedDict) if empty => m.add(Object::Dict(Vec::new()), at),
        Value::Global(global) => Err(refused_call(m, global, args, at)),
        _ => Err(wrong(m, at, "a new object of", class, "a class of the allow-list")),
    }
}

/// Gives an object its state, the pickle's BUILD.
pub(super) fn build(m: &mut Machine<'_>, target: Value, state: Value, at: u64) -> Parsed<()> {
    let object = match m.heap.get(target) {
        Some(Object::Array(_)) => Object::Array(Some(numpy::array_from_state(m, state, at)?)),
        Some(Object::Dtype(dtype)) => {
            Object::Dtype(Dtype { endian: numpy::byte_order(m, state, at)?, ..*dtype })
        }
        Some(Object::Sparse(format, _)) => {
            let format = *format;
            if m.heap.dict(state).is_none() {
                return Err(wrong(m, at, "a SciPy matrix whose state is", state, "a dict"));
            }
            Object::Sparse(format, Some(state))
        }
        // The metadata PyTorch hangs on an OrderedDict says nothing about the tensors.
        Some(Object::Dict(_)) if m.heap.dict(state).is_some() => return Ok(()),
        _ => {
            let expected = "an array, dtype or sparse matrix";
            return Err(wrong(m, at, "a state for", target, expected));
        }
    };
    if let Some(place) = m.heap.get_mut(target) {
        *place = object;
    }
    Ok(())
}

fn pairs(m: &mut Machine<'_>, list: Value, at: u64) -> Parsed<Vec<(Value, Value)>> {
    let Some(items) = m.heap.sequence(list) else {
        return Err(wrong(m, at, "an OrderedDict of", list, "a list of pairs"));
    };
    m.work.spend(items.len(), at)?;
    items
        .iter()
        .map(|item| match m.heap.sequence(*item) {
            Some([key, value]) => Ok((*key, *value)),
            _ => Err(wrong(m, at, "an OrderedDict entry", *item, "a pair")),
        })
        .collect()
}

fn refused_call(m: &Machine<'_>, global: Global, args: Value, at: u64) -> ParseError {
    let found: Vec<String> =
        m.heap.tuple(args).unwrap_or(&[]).iter().take(8).map(|a| m.heap.describe(*a)).collect();
    ParseError::at(
        at,
        format!(
            "refused: the pickle calls `{}` with ({}), which rebuilds no array",
            global.name(),
            found.join(", ")
        ),
    )
}

/// An error that says what was found and what was expected.
pub(super) fn wrong(
    m: &Machine<'_>,
    at: u64,
    what: &str,
    found: Value,
    expected: &str,
) -> ParseError {
    ParseError::at(at, format!("found {what} {}, expected {expected}", m.heap.describe(found)))
}

//! The values a pickle builds, held in one heap and named by index.
//!
//! Pickles share values through their memo, nest them to any depth and can even make them contain
//! themselves. With indices instead of pointers, sharing costs nothing, dropping never recurses
//! and a cycle is just a number.

use std::borrow::Cow;

use super::allow::Global;
use super::numpy::NdArray;
use super::scipy::Format;
use super::tensor::{Storage, Strided};
use crate::error::ParseError;
use crate::io::dtype::Dtype;
use crate::machine;
use crate::words::quoted;

pub(super) type Parsed<T> = std::result::Result<T, ParseError>;

/// A value on the stack or inside a container.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Global(Global),
    /// An index into the heap.
    Object(u32),
}

/// A value that needs more room than a machine word.
#[derive(Debug)]
pub(crate) enum Object<'a> {
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    /// Bytes written as text, one character each, as protocol 2 does; decoded only when used.
    Latin1(&'a str),
    /// An integer beyond 64 bits: legal, but nothing here can use one.
    BigInt,
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Set(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Dtype(Dtype),
    /// A NumPy array; `None` between its creation and its state.
    Array(Option<Box<NdArray>>),
    /// A SciPy matrix; its state is the dict of its attributes.
    Sparse(Format, Option<Value>),
    Storage(Box<Storage>),
    Tensor(Box<Strided>),
}

struct Node<'a> {
    at: u64,
    object: Object<'a>,
}

/// Longer than any key, dtype or module name in use.
const LONGEST_NAME: usize = 1024;

/// All objects of one pickle, with the byte at which each began.
#[derive(Default)]
pub(crate) struct Heap<'a> {
    nodes: Vec<Node<'a>>,
}

impl<'a> Heap<'a> {
    pub(super) fn add(&mut self, at: u64, object: Object<'a>) -> Value {
        // The machine's budget keeps the number of nodes far below 2^32.
        self.nodes.push(Node { at, object });
        Value::Object((self.nodes.len() - 1) as u32)
    }

    pub(crate) fn get(&self, value: Value) -> Option<&Object<'a>> {
        match value {
            Value::Object(id) => self.nodes.get(id as usize).map(|n| &n.object),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, value: Value) -> Option<&mut Object<'a>> {
        match value {
            Value::Object(id) => self.nodes.get_mut(id as usize).map(|n| &mut n.object),
            _ => None,
        }
    }

    /// Where the object began; scalars are not tracked and answer `otherwise`.
    pub(crate) fn at(&self, value: Value, otherwise: u64) -> u64 {
        match value {
            Value::Object(id) => self.nodes.get(id as usize).map_or(otherwise, |n| n.at),
            _ => otherwise,
        }
    }

    /// Text, also when Python 2 wrote it as a (short) byte string.
    pub(crate) fn text(&self, value: Value) -> Option<&str> {
        match self.get(value)? {
            Object::Text(text) => Some(text),
            Object::Bytes(bytes) if bytes.len() <= LONGEST_NAME => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Text short enough to be a name.
    ///
    /// Names are compared, hashed and parsed wherever they are used, so one of 100 MB that the
    /// memo repeats would cost far more time than the file is long.
    pub(crate) fn name(&self, value: Value) -> Option<&str> {
        self.text(value).filter(|text| text.len() <= LONGEST_NAME)
    }

    pub(super) fn tuple(&self, value: Value) -> Option<&[Value]> {
        match self.get(value)? {
            Object::Tuple(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn sequence(&self, value: Value) -> Option<&[Value]> {
        match self.get(value)? {
            Object::Tuple(items) | Object::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn dict(&self, value: Value) -> Option<&[(Value, Value)]> {
        match self.get(value)? {
            Object::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// What the value is, for an error message.
    pub(crate) fn describe(&self, value: Value) -> String {
        match value {
            Value::None => "None".into(),
            Value::Bool(b) => format!("the bool {b}"),
            Value::Int(i) => format!("the integer {i}"),
            Value::Float(f) => format!("the float {f}"),
            Value::Global(g) => format!("the class or function `{}`", g.name()),
            Value::Object(_) => match self.get(value) {
                Some(Object::Text(text)) => format!("the string {}", quoted(text)),
                Some(Object::Bytes(b)) => format!("{} bytes", b.len()),
                Some(Object::Latin1(_)) => "bytes".into(),
                Some(Object::BigInt) => "an integer beyond 64 bits".into(),
                Some(Object::Tuple(items)) => format!("a tuple of {}", items.len()),
                Some(Object::List(items)) => format!("a list of {}", items.len()),
                Some(Object::Set(items)) => format!("a set of {}", items.len()),
                Some(Object::Dict(entries)) => format!("a dict of {}", entries.len()),
                Some(Object::Dtype(_)) => "a NumPy dtype".into(),
                Some(Object::Array(_)) => "a NumPy array".into(),
                Some(Object::Sparse(..)) => "a SciPy sparse matrix".into(),
                Some(Object::Storage(_)) => "a PyTorch storage".into(),
                Some(Object::Tensor(_)) => "a PyTorch tensor".into(),
                None => "nothing".into(),
            },
        }
    }
}

/// What remains of the work a file may ask for.
///
/// A memoised value is named again in two bytes, so a small file can ask for the same large array
/// a million times; a sparse matrix without entries can claim any number of rows. Both cost
/// time out of proportion to the file, and both run into this limit. What the arrays take in
/// memory is bounded apart, as for every format.
pub(crate) struct Work {
    left: u64,
    /// Whether it is the machine that has no more memory.
    bare: bool,
}

impl Work {
    pub(super) fn new(left: u64) -> Self {
        Self { left, bare: false }
    }

    /// The same, and no more values than half of the memory holds.
    pub(super) fn of_values(left: u64) -> Self {
        let room = machine::available_bytes().map(|bytes| bytes / 2 / size_of::<Value>() as u64);
        match room.filter(|room| *room < left) {
            Some(room) => Self { left: room, bare: true },
            None => Self::new(left),
        }
    }

    /// What arrays may cost: each byte a few times over, and generous room for small files.
    pub(crate) fn for_file(length: u64) -> Self {
        Self::new((1u64 << 24).saturating_add(length.saturating_mul(4)))
    }

    pub(crate) fn spend(&mut self, amount: usize, at: u64) -> Parsed<()> {
        match self.left.checked_sub(amount as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None if self.bare => Err(ParseError {
                out_of_memory: true,
                ..ParseError::at(
                    at,
                    "its values take more than half of the memory there is; use less data or a \
                     larger machine",
                )
            }),
            None => Err(ParseError::at(
                at,
                "found more values than a file of this size can hold; expected each value to be \
                 stored once",
            )),
        }
    }
}

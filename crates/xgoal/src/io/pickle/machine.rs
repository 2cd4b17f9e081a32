//! The pickle machine: opcodes, a stack with marks, and a memo.
//!
//! A pickle is a program for a small stack machine. Protocols 2 to 5 are read; the few text
//! opcodes of protocol 0 among them as far as they need no unescaping. Payloads stay where they lie
//! in the file: a 100 MB array is a slice, not a copy.

use std::borrow::Cow;
use std::collections::HashMap;

use super::allow::{self, Dialect, Global, wrong};
use super::cursor::Cursor;
use super::tensor;
use super::value::{Heap, Object, Parsed, Value, Work};
use crate::error::ParseError;
use crate::io::decode::beginning;
use crate::words::quoted;

/// Stack slots, memo entries and objects one pickle may make, whatever its length and for each of its bytes. An opcode
/// of one byte makes at most an object and a slot; only shared values are counted again where they are used.
const FREE_VALUES: u64 = 1 << 20;
const VALUES_PER_BYTE: u64 = 16;
/// An object's cost in stack slots, by size.
const OBJECT: usize = 4;
/// A hash table entry's cost in stack slots, by size.
const SCATTERED: usize = 4;

pub(super) struct Machine<'a> {
    code: Cursor<'a>,
    dialect: Dialect,
    stack: Vec<Value>,
    marks: Vec<usize>,
    /// Entries 0, 1, 2... as Python numbers them.
    memo: Vec<Value>,
    /// Entries a file numbers in another way; an index is a key here, never a size.
    scattered: HashMap<u32, Value>,
    pub(super) heap: Heap<'a>,
    pub(super) work: Work,
}

/// Runs the program to its end; gives all objects and the one that is the result.
pub(crate) fn load(bytes: &[u8], dialect: Dialect) -> Parsed<(Heap<'_>, Value)> {
    check_protocol(bytes)?;
    let length = bytes.len() as u64;
    let mut machine = Machine {
        code: Cursor::new(bytes),
        dialect,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        scattered: HashMap::new(),
        heap: Heap::default(),
        work: Work::of_values(FREE_VALUES.saturating_add(VALUES_PER_BYTE.saturating_mul(length))),
    };
    loop {
        let at = machine.code.at();
        let opcode = machine.code.byte()?;
        if opcode == b'.' {
            let result = machine.pop(at)?;
            return Ok((machine.heap, result));
        }
        machine.step(opcode, at)?;
    }
}

/// A pickle of protocol 2 to 5 begins with the opcode that says so; what does not is another kind of file.
fn check_protocol(bytes: &[u8]) -> Parsed<()> {
    match bytes {
        [0x80, 2..=5, ..] => Ok(()),
        [0x80, other @ 6..=9, ..] => {
            let message = format!("found pickle protocol {other}, expected 2 to 5");
            Err(ParseError::at(0, message))
        }
        _ => Err(ParseError::at(
            0,
            format!(
                "not a pickle of protocol 2 to 5: the file {}, expected byte 0x80 and the \
                 protocol's number",
                beginning(bytes)
            ),
        )),
    }
}

impl<'a> Machine<'a> {
    fn step(&mut self, opcode: u8, at: u64) -> Parsed<()> {
        match opcode {
            0x80 => self.protocol(at),
            0x95 => self.frame(at),

            b'N' => self.push(Value::None, at),
            0x88 => self.push(Value::Bool(true), at),
            0x89 => self.push(Value::Bool(false), at),
            b'K' => self.code.byte().and_then(|v| self.push(Value::Int(v.into()), at)),
            b'M' => self.code.number(u16::from_le_bytes).and_then(|v| self.push_int(v, at)),
            b'J' => self.code.number(i32::from_le_bytes).and_then(|v| self.push_int(v, at)),
            b'G' => {
                self.code.number(f64::from_be_bytes).and_then(|v| self.push(Value::Float(v), at))
            }
            0x8a => self.code.byte().and_then(|n| self.long(n.into(), at)),
            0x8b => self.code.number(u32::from_le_bytes).and_then(|n| self.long(n.into(), at)),
            b'I' | b'L' | b'F' => self.text_number(opcode, at),

            0x8c => self.code.byte().and_then(|n| self.text(n.into(), at)),
            b'X' => self.code.number(u32::from_le_bytes).and_then(|n| self.text(n.into(), at)),
            0x8d => self.code.number(u64::from_le_bytes).and_then(|n| self.text(n, at)),
            b'C' | b'U' => self.code.byte().and_then(|n| self.binary(n.into(), at)),
            b'B' | b'T' => {
                self.code.number(u32::from_le_bytes).and_then(|n| self.binary(n.into(), at))
            }
            0x8e | 0x96 => self.code.number(u64::from_le_bytes).and_then(|n| self.binary(n, at)),
            b'S' | b'V' => self.quoted_line(opcode, at),

            b'(' => self.mark(at),
            b'0' => self.discard(at),
            b'1' => self.pop_mark(at).map(drop),
            b'2' => self.top(at).and_then(|v| self.push(v, at)),

            b')' => self.push_new(Object::Tuple(Vec::new()), at),
            0x85..=0x87 => self.short_tuple((opcode - 0x84).into(), at),
            b't' => self.pop_mark(at).and_then(|v| self.push_new(Object::Tuple(v), at)),
            b']' => self.push_new(Object::List(Vec::new()), at),
            b'l' => self.pop_mark(at).and_then(|v| self.push_new(Object::List(v), at)),
            b'a' => self.pop(at).and_then(|v| self.append(vec![v], at)),
            b'e' => self.pop_mark(at).and_then(|v| self.append(v, at)),
            0x8f => self.push_new(Object::Set(Vec::new()), at),
            0x90 => self.pop_mark(at).and_then(|v| self.append(v, at)),
            0x91 => self.pop_mark(at).and_then(|v| self.push_new(Object::Set(v), at)),
            b'}' => self.push_new(Object::Dict(Vec::new()), at),
            b'd' => {
                let entries = self.pop_mark(at)?;
                self.push_new(Object::Dict(Vec::new()), at)?;
                self.set_items(entries, at)
            }
            b's' => {
                let value = self.pop(at)?;
                let key = self.pop(at)?;
                self.set_items(vec![key, value], at)
            }
            b'u' => self.pop_mark(at).and_then(|v| self.set_items(v, at)),

            b'q' => self.code.byte().and_then(|n| self.put(n.into(), at)),
            b'r' => self.code.number(u32::from_le_bytes).and_then(|n| self.put(n, at)),
            0x94 => self.put((self.memo.len() + self.scattered.len()) as u32, at),
            b'h' => self.code.byte().and_then(|n| self.get(n.into(), at)),
            b'j' => self.code.number(u32::from_le_bytes).and_then(|n| self.get(n, at)),
            b'p' => self.index_line(at).and_then(|n| self.put(n, at)),
            b'g' => self.index_line(at).and_then(|n| self.get(n, at)),

            b'c' => self.global_lines(at).and_then(|g| self.push(Value::Global(g), at)),
            0x93 => self.stack_global(at),
            b'R' => {
                let args = self.pop(at)?;
                let callable = self.pop(at)?;
                let built = allow::call(self, callable, args, at)?;
                self.push(built, at)
            }
            0x81 => {
                let args = self.pop(at)?;
                let class = self.pop(at)?;
                let built = allow::new(self, class, args, at)?;
                self.push(built, at)
            }
            b'b' => {
                let state = self.pop(at)?;
                let target = self.top(at)?;
                allow::build(self, target, state, at)
            }
            b'Q' if self.dialect == Dialect::Torch => {
                let id = self.pop(at)?;
                let storage = tensor::storage(self, id, at)?;
                self.push_new(Object::Storage(storage), at)
            }
            // Read for its name, so that the refusal can say it.
            b'i' => self.global_lines(at).and_then(|_| Err(unread(opcode, at))),
            _ => Err(unread(opcode, at)),
        }
    }

    fn protocol(&mut self, at: u64) -> Parsed<()> {
        match self.code.byte()? {
            0..=5 => Ok(()),
            other => Err(ParseError::at(
                at,
                format!("found pickle protocol {other}, expected at most 5"),
            )),
        }
    }

    fn frame(&mut self, at: u64) -> Parsed<()> {
        let length = self.code.number(u64::from_le_bytes)?;
        self.code.claim(length, at).map(drop)
    }

    fn push(&mut self, value: Value, at: u64) -> Parsed<()> {
        self.work.spend(1, at)?;
        self.stack.push(value);
        Ok(())
    }

    fn push_int(&mut self, value: impl Into<i64>, at: u64) -> Parsed<()> {
        self.push(Value::Int(value.into()), at)
    }

    fn push_new(&mut self, object: Object<'a>, at: u64) -> Parsed<()> {
        let value = self.add(object, at)?;
        self.push(value, at)
    }

    /// Puts an object on the heap.
    pub(super) fn add(&mut self, object: Object<'a>, at: u64) -> Parsed<Value> {
        self.work.spend(OBJECT, at)?;
        Ok(self.heap.add(at, object))
    }

    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self, at: u64) -> Parsed<Value> {
        let value = self.top(at)?;
        self.stack.pop();
        Ok(value)
    }

    fn top(&self, at: u64) -> Parsed<Value> {
        self.stack[self.floor()..]
            .last()
            .copied()
            .ok_or_else(|| ParseError::at(at, "found an empty stack, expected a value"))
    }

    fn mark(&mut self, at: u64) -> Parsed<()> {
        self.work.spend(1, at)?;
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn pop_mark(&mut self, at: u64) -> Parsed<Vec<Value>> {
        let mark = self
            .marks
            .pop()
            .ok_or_else(|| ParseError::at(at, "found no mark on the stack, expected one"))?;
        // The marks never lie above the top: `pop` stops at the last one.
        Ok(self.stack.split_off(mark))
    }

    /// POP takes the mark when nothing lies above it.
    fn discard(&mut self, at: u64) -> Parsed<()> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop(at).map(drop)
    }

    fn short_tuple(&mut self, length: usize, at: u64) -> Parsed<()> {
        if self.stack.len() - self.floor() < length {
            return Err(ParseError::at(at, format!("expected {length} values on the stack")));
        }
        let items = self.stack.split_off(self.stack.len() - length);
        self.push_new(Object::Tuple(items), at)
    }

    fn append(&mut self, values: Vec<Value>, at: u64) -> Parsed<()> {
        let target = self.top(at)?;
        match self.heap.get_mut(target) {
            Some(Object::List(items) | Object::Set(items)) => {
                items.extend(values);
                Ok(())
            }
            _ => Err(wrong(self, at, "items for", target, "a list or set")),
        }
    }

    fn set_items(&mut self, values: Vec<Value>, at: u64) -> Parsed<()> {
        let target = self.top(at)?;
        match self.heap.get_mut(target) {
            Some(Object::Dict(entries)) if values.len().is_multiple_of(2) => {
                entries.extend(values.chunks_exact(2).map(|pair| (pair[0], pair[1])));
                Ok(())
            }
            Some(Object::Dict(_)) => {
                Err(ParseError::at(at, "found a key without a value, expected pairs"))
            }
            _ => Err(wrong(self, at, "entries for", target, "a dict")),
        }
    }

    fn put(&mut self, index: u32, at: u64) -> Parsed<()> {
        let value = self.top(at)?;
        let place = index as usize;
        if let Some(entry) = self.memo.get_mut(place) {
            *entry = value;
        } else if place == self.memo.len() {
            self.work.spend(1, at)?;
            self.scattered.remove(&index);
            self.memo.push(value);
        } else {
            self.work.spend(SCATTERED, at)?;
            self.scattered.insert(index, value);
        }
        Ok(())
    }

    fn get(&mut self, index: u32, at: u64) -> Parsed<()> {
        let found = self.memo.get(index as usize).or_else(|| self.scattered.get(&index));
        let value = found.copied().ok_or_else(|| {
            ParseError::at(at, format!("found memo entry {index}, which was never stored"))
        })?;
        self.push(value, at)
    }

    fn text(&mut self, length: u64, at: u64) -> Parsed<()> {
        let bytes = self.code.take(length, at)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|e| ParseError::at(at, format!("expected UTF-8 text, found {e}")))?;
        self.push_new(Object::Text(Cow::Borrowed(text)), at)
    }

    fn binary(&mut self, length: u64, at: u64) -> Parsed<()> {
        let bytes = self.code.take(length, at)?;
        // Errors about an array's elements count from the first byte of its payload.
        let start = self.code.at() - bytes.len() as u64;
        self.push_new(Object::Bytes(bytes), start)
    }

    fn long(&mut self, length: u64, at: u64) -> Parsed<()> {
        let bytes = self.code.take(length, at)?;
        if bytes.len() > 8 {
            return self.push_new(Object::BigInt, at);
        }
        let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        self.push_int(i64::from_le_bytes(wide), at)
    }

    fn text_number(&mut self, opcode: u8, at: u64) -> Parsed<()> {
        let line = self.code.line(at)?;
        let value = match (opcode, line) {
            (b'I', "00") => Some(Value::Bool(false)),
            (b'I', "01") => Some(Value::Bool(true)),
            (b'F', _) => line.parse().ok().map(Value::Float),
            _ => line.strip_suffix('L').unwrap_or(line).parse().ok().map(Value::Int),
        };
        match value {
            Some(value) => self.push(value, at),
            None => Err(ParseError::at(at, format!("found {}, expected a number", quoted(line)))),
        }
    }

    fn quoted_line(&mut self, opcode: u8, at: u64) -> Parsed<()> {
        let line = self.code.line(at)?;
        let text = match opcode {
            b'S' => ['\'', '"'].iter().find_map(|q| line.strip_prefix(*q)?.strip_suffix(*q)),
            _ => Some(line),
        };
        match text.filter(|t| !t.contains('\\')) {
            Some(text) => self.push_new(Object::Text(Cow::Borrowed(text)), at),
            None => Err(unread(opcode, at)),
        }
    }

    fn index_line(&mut self, at: u64) -> Parsed<u32> {
        let line = self.code.line(at)?;
        line.parse()
            .map_err(|_| ParseError::at(at, format!("found {}, expected an index", quoted(line))))
    }

    fn global_lines(&mut self, at: u64) -> Parsed<Global> {
        let module = self.code.line(at)?;
        let name = self.code.line(at)?;
        Global::find(module, name, self.dialect, at)
    }

    fn stack_global(&mut self, at: u64) -> Parsed<()> {
        let name = self.pop(at)?;
        let module = self.pop(at)?;
        match (self.heap.name(module), self.heap.name(name)) {
            (Some(module), Some(name)) => {
                let global = Global::find(module, name, self.dialect, at)?;
                self.push(Value::Global(global), at)
            }
            (None, _) => Err(wrong(self, at, "a module called", module, "a short string")),
            _ => Err(wrong(self, at, "a class or function called", name, "a short string")),
        }
    }
}

fn unread(opcode: u8, at: u64) -> ParseError {
    let found = match opcode {
        b'P' | b'Q' => "refused: the pickle refers to an object outside the file".into(),
        0x97 | 0x98 => "refused: the pickle keeps an array outside the file".into(),
        0x82..=0x84 => "refused: the pickle names a class by an extension number".into(),
        b'i' | b'o' | 0x92 => {
            format!("refused: the pickle makes an object by opcode {opcode:#04x}")
        }
        b'S' | b'V' => "found escaped text of pickle protocol 0".into(),
        _ => format!("found byte {opcode:#04x}, which is no pickle opcode"),
    };
    ParseError::at(at, format!("{found}; expected a pickle of protocol 2 to 5"))
}

//! Names and their numbers, in the order they first came.
//!
//! Looking up names of a large table is a miss of the cache each: a slot holds the start of its name, so that a short
//! name needs no second one, and names are looked up in blocks, so that the misses of a block are waited for together.

use super::batch::Texts;
use crate::matrix::prefer_large;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// The number of a name that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// Bytes of a name that its slot holds.
const HEAD: usize = 16;
/// Names looked up together.
const BLOCK: usize = 64;

/// Every name once, without a string of its own for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids {
    text: String,
    ends: Vec<usize>,
    /// A power of two of them, at most three quarters taken; the next free one is the place of a new name.
    slots: Vec<Slot>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    head: [u8; HEAD],
    hash: u64,
    length: u32,
    number: u32,
}

const FREE: Slot = Slot { head: [0; HEAD], hash: 0, length: 0, number: NONE };

fn head_of(name: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let length = name.len().min(HEAD);
    head[..length].copy_from_slice(&name[..length]);
    head
}

impl Ids {
    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name of a number.
    pub(crate) fn name(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }

    /// All names in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|number| self.name(number))
    }

    /// The number of a name.
    pub(crate) fn get(&self, name: &str) -> Option<u32> {
        let name = name.as_bytes();
        let number = self.slots[..].get(self.find(name, self.hasher.hash_one(name))?)?.number;
        (number != NONE).then_some(number)
    }

    /// The number of each name, [`NONE`] for those that are not there.
    pub(crate) fn get_all(&self, names: &Texts) -> Vec<u32> {
        if self.slots.is_empty() {
            return vec![NONE; names.len()];
        }
        let mask = self.slots.len() - 1;
        let mut found = Vec::with_capacity(names.len());
        let mut hashes = [0u64; BLOCK];
        let mut first = [FREE; BLOCK];
        for from in (0..names.len()).step_by(BLOCK) {
            let block = from..(from + BLOCK).min(names.len());
            for (hash, row) in hashes.iter_mut().zip(block.clone()) {
                *hash = self.hasher.hash_one(names.bytes(row));
            }
            for (slot, hash) in first.iter_mut().zip(&hashes[..block.len()]) {
                *slot = self.slots[*hash as usize & mask];
            }
            for (i, row) in block.enumerate() {
                let (name, hash) = (names.bytes(row), hashes[i]);
                let slot = match self.holds(&first[i], name, hash) {
                    true => &first[i],
                    false => &self.slots[self.find(name, hash).expect("slots are there")],
                };
                found.push(slot.number);
            }
        }
        found
    }

    /// The number of a name, a new one if it has none; and whether it is new.
    pub(crate) fn insert(&mut self, name: &str) -> (u32, bool) {
        if self.ends.len() + 1 > self.slots.len() / 4 * 3 {
            self.grow();
        }
        let bytes = name.as_bytes();
        let hash = self.hasher.hash_one(bytes);
        let at = self.find(bytes, hash).expect("slots are there");
        if self.slots[at].number != NONE {
            return (self.slots[at].number, false);
        }
        let number = self.ends.len() as u32;
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.slots[at] = Slot { head: head_of(bytes), hash, length: bytes.len() as u32, number };
        (number, true)
    }

    /// Whether a slot is that of a name.
    #[inline]
    fn holds(&self, slot: &Slot, name: &[u8], hash: u64) -> bool {
        slot.hash == hash
            && slot.length as usize == name.len()
            && slot.number != NONE
            && slot.head == head_of(name)
            && (name.len() <= HEAD || self.name(slot.number).as_bytes() == name)
    }

    /// The slot of a name, or the free one it would have; nothing where there are no slots yet.
    fn find(&self, name: &[u8], hash: u64) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        while self.slots[at].number != NONE && !self.holds(&self.slots[at], name, hash) {
            at = (at + 1) & mask;
        }
        Some(at)
    }

    fn grow(&mut self) {
        let count = (2 * self.slots.len()).max(16);
        let mut slots: Vec<Slot> = Vec::with_capacity(count);
        prefer_large(slots.spare_capacity_mut());
        slots.resize(count, FREE);
        for slot in self.slots.drain(..).filter(|slot| slot.number != NONE) {
            let mut at = slot.hash as usize & (count - 1);
            while slots[at].number != NONE {
                at = (at + 1) & (count - 1);
            }
            slots[at] = slot;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers() {
        let mut ids = Ids::default();
        assert_eq!((ids.get("a"), ids.get_all(&Texts::of(["a"]))), (None, vec![NONE]));
        let long = "a name that is longer than what a slot holds of it";
        let name = |n: u32| match n {
            7 => String::new(),
            _ if n.is_multiple_of(3) => format!("{long} {n}"),
            _ => format!("{n:03}"),
        };
        for round in 0..2 {
            for n in 0..3000 {
                assert_eq!(ids.insert(&name(n)), (n, round == 0));
            }
        }
        assert_eq!((ids.get("011"), ids.get("11"), ids.get("")), (Some(11), None, Some(7)));
        assert_eq!(ids.names().nth(2999), Some(&*name(2999)));
        let names: Vec<String> = (0..3100).rev().map(name).collect();
        let found = ids.get_all(&Texts::of(names.iter().map(String::as_str)));
        let expected = (0..3100).rev().map(|n| if n < 3000 { n } else { NONE });
        assert_eq!(found, expected.collect::<Vec<_>>());
        // A zero at the end is part of a name.
        assert_eq!((ids.insert("x").1, ids.insert("x\0").1, ids.get("x\0\0")), (true, true, None));
    }
}

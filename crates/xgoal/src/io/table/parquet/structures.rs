//! The structures of Parquet's footers and page headers, and which type each of their fields has.
//!
//! The crate reads a field that it knows as what it should be, whatever type the file announces, and passes over one that
//! it does not know by that type. A file whose types are wrong is so two different things to two readers, and what was
//! looked at beforehand is not what the crate goes through. So wrong types are refused.

use super::compact::{Compact, wrong};
use Shape::{Byte, Double, Flag, List, Number, Text, Within};
use std::io::{self, Read};

/// What a field holds.
pub(super) enum Shape {
    Flag,
    Byte,
    /// Of 16, 32 or 64 bits, which are written in one way.
    Number,
    Double,
    Text,
    List(&'static Shape),
    Within(&'static Structure),
}

/// The fields that a structure is known to have, by their numbers.
pub(super) struct Structure(&'static [(i64, Shape)]);

const EMPTY: Structure = Structure(&[]);

const STATISTICS: Structure = Structure(&[
    (1, Text),
    (2, Text),
    (3, Number),
    (4, Number),
    (5, Text),
    (6, Text),
    (7, Flag),
    (8, Flag),
    (9, Number),
]);

/// What a page begins with.
pub(super) const PAGE: Structure = Structure(&[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Within(&DATA_PAGE)),
    (6, Within(&EMPTY)),
    (7, Within(&DICTIONARY_PAGE)),
    (8, Within(&DATA_PAGE_V2)),
]);

const DATA_PAGE: Structure =
    Structure(&[(1, Number), (2, Number), (3, Number), (4, Number), (5, Within(&STATISTICS))]);

const DICTIONARY_PAGE: Structure = Structure(&[(1, Number), (2, Number), (3, Flag)]);

const DATA_PAGE_V2: Structure = Structure(&[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Flag),
    (8, Within(&STATISTICS)),
]);

/// What a file ends with.
pub(super) const FOOTER: Structure = Structure(&[
    (1, Number),
    (2, List(&Within(&SCHEMA_ELEMENT))),
    (3, Number),
    (4, List(&Within(&ROW_GROUP))),
    (5, List(&Within(&KEY_VALUE))),
    (6, Text),
    (7, List(&Within(&EMPTY_CHOICE))),
    (8, Within(&ENCRYPTION)),
    (9, Text),
]);

const SCHEMA_ELEMENT: Structure = Structure(&[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Text),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, Within(&LOGICAL_TYPE)),
]);

const LOGICAL_TYPE: Structure = Structure(&[
    (1, Within(&EMPTY)),
    (2, Within(&EMPTY)),
    (3, Within(&EMPTY)),
    (4, Within(&EMPTY)),
    (5, Within(&DECIMAL)),
    (6, Within(&EMPTY)),
    (7, Within(&TIME)),
    (8, Within(&TIME)),
    (10, Within(&INTEGER)),
    (11, Within(&EMPTY)),
    (12, Within(&EMPTY)),
    (13, Within(&EMPTY)),
    (14, Within(&EMPTY)),
    (15, Within(&EMPTY)),
    (16, Within(&VARIANT)),
    (17, Within(&GEOGRAPHY)),
    (18, Within(&GEOGRAPHY)),
]);

const DECIMAL: Structure = Structure(&[(1, Number), (2, Number)]);
const TIME: Structure = Structure(&[(1, Flag), (2, Within(&EMPTY_CHOICE))]);
const INTEGER: Structure = Structure(&[(1, Byte), (2, Flag)]);
const VARIANT: Structure = Structure(&[(1, Byte)]);
const GEOGRAPHY: Structure = Structure(&[(1, Text), (2, Number)]);

/// One of a few things that say nothing else.
const EMPTY_CHOICE: Structure =
    Structure(&[(1, Within(&EMPTY)), (2, Within(&EMPTY)), (3, Within(&EMPTY))]);

const ROW_GROUP: Structure = Structure(&[
    (1, List(&Within(&COLUMN_CHUNK))),
    (2, Number),
    (3, Number),
    (4, List(&Within(&SORTING_COLUMN))),
    (5, Number),
    (6, Number),
    (7, Number),
]);

const SORTING_COLUMN: Structure = Structure(&[(1, Number), (2, Flag), (3, Flag)]);

const COLUMN_CHUNK: Structure = Structure(&[
    (1, Text),
    (2, Number),
    (3, Within(&COLUMN)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Within(&COLUMN_ENCRYPTION)),
    (9, Text),
]);

const COLUMN: Structure = Structure(&[
    (1, Number),
    (2, List(&Number)),
    (3, List(&Text)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, List(&Within(&KEY_VALUE))),
    (9, Number),
    (10, Number),
    (11, Number),
    (12, Within(&STATISTICS)),
    (13, List(&Within(&PAGE_ENCODING))),
    (14, Number),
    (15, Number),
    (16, Within(&SIZES)),
    (17, Within(&GEOSPATIAL)),
]);

const KEY_VALUE: Structure = Structure(&[(1, Text), (2, Text)]);
const PAGE_ENCODING: Structure = Structure(&[(1, Number), (2, Number), (3, Number)]);
const SIZES: Structure = Structure(&[(1, Number), (2, List(&Number)), (3, List(&Number))]);
const GEOSPATIAL: Structure = Structure(&[(1, Within(&BOUNDS)), (2, List(&Number))]);

const BOUNDS: Structure = Structure(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);

const COLUMN_ENCRYPTION: Structure = Structure(&[(1, Within(&EMPTY)), (2, Within(&COLUMN_KEY))]);
const COLUMN_KEY: Structure = Structure(&[(1, List(&Text)), (2, Text)]);
const ENCRYPTION: Structure = Structure(&[(1, Within(&AES)), (2, Within(&AES))]);
const AES: Structure = Structure(&[(1, Text), (2, Text), (3, Flag)]);

impl Structure {
    /// Goes through a structure to its end, and refuses one whose fields have other types than theirs.
    pub(super) fn check(&self, file: &mut Compact<impl Read>) -> io::Result<()> {
        let mut last = 0;
        while let Some((number, kind)) = file.field(&mut last)? {
            match self.0.iter().find(|(known, _)| *known == number) {
                Some((_, shape)) => shape.check(number, kind, file)?,
                None => file.skip(kind, 0)?,
            }
        }
        Ok(())
    }
}

impl Shape {
    fn check(&self, number: i64, kind: u8, file: &mut Compact<impl Read>) -> io::Result<()> {
        let right = match self {
            Flag => matches!(kind, 1 | 2),
            Byte => kind == 3,
            Number => matches!(kind, 4..=6),
            Double => kind == 7,
            Text => kind == 8,
            List(_) => kind == 9,
            Within(_) => kind == 12,
        };
        if !right {
            return Err(wrong(&format!("field {number} of type {kind}, which it cannot have")));
        }
        match self {
            Within(structure) => structure.check(file),
            List(item) => {
                let (count, kind) = file.list()?;
                (0..count).try_for_each(|_| item.check(number, kind, file))
            }
            _ => file.skip(kind, 0),
        }
    }
}

//! Values of one column, some thousand rows at a time.

use crate::error::ParseError;
use crate::io::build::Budget;
use crate::io::table::batch::{Column, Texts, Vectors};
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer(Width),
    Float,
    Flag,
    /// Lists of floats, or of integers.
    Vector(Option<Width>),
}

/// The integers that a type has, which may be fewer than it is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Width {
    bits: u32,
    signed: bool,
}

impl Width {
    /// What a column announces; none where it says nothing, and all of its storage counts.
    fn announced(column: &ColumnDescriptor) -> Option<Self> {
        if let Some(LogicalType::Integer(integer)) = column.logical_type_ref()
            && let bits @ (8 | 16 | 32 | 64) = integer.bit_width
        {
            return Some(Self { bits: bits as u32, signed: integer.is_signed });
        }
        let (bits, signed) = match column.converted_type() {
            ConvertedType::INT_8 => (8, true),
            ConvertedType::INT_16 => (16, true),
            ConvertedType::INT_32 => (32, true),
            ConvertedType::INT_64 => (64, true),
            ConvertedType::UINT_8 => (8, false),
            ConvertedType::UINT_16 => (16, false),
            ConvertedType::UINT_32 => (32, false),
            ConvertedType::UINT_64 => (64, false),
            _ => return None,
        };
        Some(Self { bits, signed })
    }

    /// Refuses values, stored in so many bits, that the type does not have.
    fn check<T: Copy + Into<i64>>(self, values: &[T], stored: u32) -> Result<(), ParseError> {
        let Self { bits, signed } = self;
        if bits >= stored {
            return Ok(());
        }
        let all = 1i64 << bits;
        let range = if signed { -all / 2..all / 2 } else { 0..all };
        match values.iter().map(|v| (*v).into()).find(|v| !range.contains(v)) {
            Some(found) => Err(ParseError::new(format!(
                "{found}; expected {} to {}, as its type has them",
                range.start,
                range.end - 1
            ))),
            None => Ok(()),
        }
    }
}

impl Kind {
    /// The kind of a stored column, or in words what it holds that cannot be read.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Self, String> {
        let list = column.max_rep_level() > 0;
        if column.max_rep_level() > 1 || (!list && column.path().parts().len() > 1) {
            return Err("structures".into());
        }
        match column.converted_type() {
            ConvertedType::DECIMAL => return Err("decimals".into()),
            ConvertedType::DATE
            | ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
            | ConvertedType::INTERVAL => return Err("dates or times".into()),
            _ => (),
        }
        if matches!(
            column.logical_type_ref(),
            Some(LogicalType::Timestamp { .. } | LogicalType::Time { .. } | LogicalType::Date)
        ) {
            return Err("dates or times".into());
        }
        if matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. })) {
            return Err("decimals".into());
        }
        let integer = |bits| {
            let announced = Width::announced(column);
            Self::Integer(announced.unwrap_or(Width { bits, signed: true }))
        };
        let kind = match column.physical_type() {
            Type::BOOLEAN => Self::Flag,
            Type::INT32 => integer(32),
            Type::INT64 => integer(64),
            Type::FLOAT | Type::DOUBLE => Self::Float,
            Type::BYTE_ARRAY => Self::Text,
            Type::INT96 => return Err("dates or times".into()),
            Type::FIXED_LEN_BYTE_ARRAY => return Err("bytes of fixed length".into()),
        };
        match (list, kind) {
            (false, kind) => Ok(kind),
            (true, Self::Float) => Ok(Self::Vector(None)),
            (true, Self::Integer(width)) => Ok(Self::Vector(Some(width))),
            (true, _) => Err("lists of something else than numbers".into()),
        }
    }
}

/// The values of one column of one row group.
pub(super) struct Values {
    reader: ColumnReader,
    kind: Kind,
    column: ColumnDescPtr,
    /// What texts may still take: a dictionary names a long one again in a few bits.
    budget: Budget,
}

/// Values of some rows with the places of those that are there.
struct Read<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Values {
    pub(super) fn new(
        reader: ColumnReader,
        kind: Kind,
        column: ColumnDescPtr,
        budget: Budget,
    ) -> Self {
        Self { reader, kind, column, budget }
    }

    /// The next rows, all of which must be there.
    pub(super) fn read(&mut self, rows: usize) -> Result<Column, ParseError> {
        match self.read_some(rows)? {
            column if column.rows() == rows => Ok(column),
            column => Err(ParseError::new(format!("{} values for {rows} rows", column.rows()))),
        }
    }

    fn read_some(&mut self, rows: usize) -> Result<Column, ParseError> {
        let (kind, column) = (self.kind, &self.column);
        let is_vector = matches!(kind, Kind::Vector(_));
        let width = match kind {
            Kind::Integer(width) | Kind::Vector(Some(width)) => width,
            _ => Width { bits: 64, signed: true },
        };
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                Ok(Column::Flags(read(reader, column, rows)?.spread(column, |v| *v).collect()))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                width.check(&read.values, 32)?;
                // The upper half of unsigned numbers is stored as the negative ones.
                let whole = |v: &i32| match width {
                    Width { bits: 32, signed: false } => i64::from(*v as u32),
                    _ => i64::from(*v),
                };
                if is_vector {
                    return read.lists(column, |v| whole(v) as f32);
                }
                Ok(Column::Integers(read.spread(column, whole).collect()))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                width.check(&read.values, 64)?;
                let unsigned = width == Width { bits: 64, signed: false };
                if is_vector {
                    return match unsigned {
                        true => read.lists(column, |v| *v as u64 as f32),
                        false => read.lists(column, |v| *v as f32),
                    };
                }
                if unsigned && let Some(large) = read.values.iter().find(|v| **v < 0) {
                    let message = format!("{}; expected less than 2^63", *large as u64);
                    return Err(ParseError::new(message));
                }
                Ok(Column::Integers(read.spread(column, |v| *v).collect()))
            }
            ColumnReader::FloatColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                if is_vector {
                    return read.lists(column, |v| *v);
                }
                let spread = read.spread(column, |v| f64::from(*v));
                Ok(Column::Floats(spread.map(|v| v.unwrap_or(f64::NAN)).collect()))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                if is_vector {
                    return read.lists(column, |v| *v as f32);
                }
                let spread = read.spread(column, |v| *v);
                Ok(Column::Floats(spread.map(|v| v.unwrap_or(f64::NAN)).collect()))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                let mut texts = Texts::default();
                let length: usize = read.values.iter().map(|v| v.len()).sum();
                self.budget.take(length as u64).map_err(|e| match e.out_of_memory {
                    true => e,
                    false => {
                        ParseError::new("its texts take more than those of a file of this size may")
                    }
                })?;
                texts.reserve(rows, length);
                let mut values = read.values.iter();
                let present = |at: usize| read.present(column, at);
                for at in 0..rows {
                    let bytes = match present(at) {
                        true => values.next().ok_or_else(too_few)?.data(),
                        false => b"",
                    };
                    if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
                        return Err(ParseError::new("bytes that are not UTF-8 text"));
                    }
                    texts.push(bytes);
                }
                Ok(Column::Texts(texts))
            }
            _ => Err(ParseError::new("a type that cannot be read")),
        }
    }
}

fn too_few() -> ParseError {
    ParseError::new("fewer values than rows")
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    column: &ColumnDescriptor,
    rows: usize,
) -> Result<Read<T::T>, ParseError> {
    let mut read = Read { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() };
    let mut done = 0;
    while done < rows {
        let (records, ..) = reader
            .read_records(
                rows - done,
                (column.max_def_level() > 0).then_some(&mut read.definitions),
                (column.max_rep_level() > 0).then_some(&mut read.repetitions),
                &mut read.values,
            )
            .map_err(|e| ParseError::new(format!("damaged, or not supported: {e}")))?;
        if records == 0 {
            return Err(ParseError::new(format!("ends {} rows too early", rows - done)));
        }
        done += records;
    }
    Ok(read)
}

impl<T> Read<T> {
    fn present(&self, column: &ColumnDescriptor, at: usize) -> bool {
        column.max_def_level() == 0 || self.definitions[at] == column.max_def_level()
    }

    /// One value per row, `None` for nulls.
    fn spread<'a, U>(
        &'a self,
        column: &'a ColumnDescriptor,
        convert: impl Fn(&T) -> U + 'a,
    ) -> impl Iterator<Item = Option<U>> + 'a {
        let rows =
            if column.max_def_level() == 0 { self.values.len() } else { self.definitions.len() };
        let mut values = self.values.iter();
        (0..rows).map(
            move |at| {
                if self.present(column, at) { values.next().map(&convert) } else { None }
            },
        )
    }

    /// One list per row; a null or empty list has no values.
    fn lists(
        &self,
        column: &ColumnDescriptor,
        convert: impl Fn(&T) -> f32,
    ) -> Result<Column, ParseError> {
        let mut lists = Vectors::default();
        lists.values.reserve(self.values.len());
        let mut values = self.values.iter();
        for (definition, repetition) in self.definitions.iter().zip(&self.repetitions) {
            if *repetition == 0 {
                lists.ends.push(lists.values.len());
            }
            if *definition == column.max_def_level() {
                lists.values.push(convert(values.next().ok_or_else(too_few)?));
            } else if *definition >= column.repeated_ancestor_def_level() {
                let row = lists.ends.len();
                return Err(ParseError::new(format!("row {row}: a list with a missing number")));
            }
        }
        // Starts became ends: the first is 0, and the last end is missing.
        lists.ends.push(lists.values.len());
        lists.ends.remove(0);
        Ok(Column::Vectors(lists))
    }
}

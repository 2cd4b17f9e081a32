//! Values of one column, some thousand rows at a time.

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
    Integer {
        signed: bool,
    },
    Float,
    Flag,
    /// Lists of floats or integers.
    Vector,
}

impl Kind {
    /// The kind of a stored column, or in words what it holds that cannot be read.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Self, String> {
        let list = column.max_rep_level() > 0;
        if column.max_rep_level() > 1 || (!list && column.path().parts().len() > 1) {
            return Err("structures".into());
        }
        let plain = match column.converted_type() {
            ConvertedType::DECIMAL => return Err("decimals".into()),
            ConvertedType::DATE
            | ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
            | ConvertedType::INTERVAL => return Err("dates or times".into()),
            converted => converted,
        };
        if matches!(
            column.logical_type_ref(),
            Some(LogicalType::Timestamp { .. } | LogicalType::Time { .. } | LogicalType::Date)
        ) {
            return Err("dates or times".into());
        }
        let unsigned = matches!(
            plain,
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        );
        let kind = match column.physical_type() {
            Type::BOOLEAN => Self::Flag,
            Type::INT32 | Type::INT64 => Self::Integer { signed: !unsigned },
            Type::FLOAT | Type::DOUBLE => Self::Float,
            Type::BYTE_ARRAY => Self::Text,
            Type::INT96 => return Err("dates or times".into()),
            Type::FIXED_LEN_BYTE_ARRAY => return Err("bytes of fixed length".into()),
        };
        match (list, kind) {
            (false, kind) => Ok(kind),
            (true, Self::Float | Self::Integer { .. }) => Ok(Self::Vector),
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
    pub(super) fn read(&mut self, rows: usize) -> Result<Column, String> {
        match self.read_some(rows)? {
            column if column.rows() == rows => Ok(column),
            column => Err(format!("{} values for {rows} rows", column.rows())),
        }
    }

    fn read_some(&mut self, rows: usize) -> Result<Column, String> {
        let (kind, column) = (self.kind, &self.column);
        let integer = |wide: i64, narrow: Option<i32>| match (kind, narrow) {
            (Kind::Integer { signed: false }, Some(narrow)) => i64::from(narrow as u32),
            _ => wide,
        };
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                Ok(Column::Flags(read(reader, column, rows)?.spread(column, |v| *v).collect()))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                if kind == Kind::Vector {
                    return read.lists(column, |v| *v as f32);
                }
                let spread = read.spread(column, |v| integer(i64::from(*v), Some(*v)));
                Ok(Column::Integers(spread.collect()))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                if kind == Kind::Vector {
                    return read.lists(column, |v| *v as f32);
                }
                if kind == (Kind::Integer { signed: false })
                    && let Some(large) = read.values.iter().find(|v| **v < 0)
                {
                    return Err(format!("{}; expected less than 2^63", *large as u64));
                }
                Ok(Column::Integers(read.spread(column, |v| integer(*v, None)).collect()))
            }
            ColumnReader::FloatColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                if kind == Kind::Vector {
                    return read.lists(column, |v| *v);
                }
                let spread = read.spread(column, |v| f64::from(*v));
                Ok(Column::Floats(spread.map(|v| v.unwrap_or(f64::NAN)).collect()))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                if kind == Kind::Vector {
                    return read.lists(column, |v| *v as f32);
                }
                let spread = read.spread(column, |v| *v);
                Ok(Column::Floats(spread.map(|v| v.unwrap_or(f64::NAN)).collect()))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let read = read(reader, column, rows)?;
                let mut texts = Texts::default();
                let length: usize = read.values.iter().map(|v| v.len()).sum();
                let too_large = "its texts take more than those of a file of this size may";
                self.budget.take(length as u64).map_err(|_| too_large)?;
                texts.reserve(rows, length);
                let mut values = read.values.iter();
                let present = |at: usize| read.present(column, at);
                for at in 0..rows {
                    let bytes = match present(at) {
                        true => values.next().ok_or("fewer values than rows")?.data(),
                        false => b"",
                    };
                    if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
                        return Err("bytes that are not UTF-8 text".into());
                    }
                    texts.push(bytes);
                }
                Ok(Column::Texts(texts))
            }
            _ => Err("a type that cannot be read".into()),
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    column: &ColumnDescriptor,
    rows: usize,
) -> Result<Read<T::T>, String> {
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
            .map_err(|e| format!("damaged, or not supported: {e}"))?;
        if records == 0 {
            return Err(format!("ends {} rows too early", rows - done));
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
    ) -> Result<Column, String> {
        let mut lists = Vectors::default();
        lists.values.reserve(self.values.len());
        let mut values = self.values.iter();
        for (definition, repetition) in self.definitions.iter().zip(&self.repetitions) {
            if *repetition == 0 {
                lists.ends.push(lists.values.len());
            }
            if *definition == column.max_def_level() {
                lists.values.push(convert(values.next().ok_or("fewer values than rows")?));
            } else if *definition >= column.repeated_ancestor_def_level() {
                return Err(format!("row {}: a list with a missing number", lists.ends.len()));
            }
        }
        // Starts became ends: the first is 0, and the last end is missing.
        lists.ends.push(lists.values.len());
        lists.ends.remove(0);
        Ok(Column::Vectors(lists))
    }
}

//! Writes Parquet: required columns of strings, numbers and lists of floats, compressed with Snappy.

use crate::error::Result;
use crate::io::atomic;
use crate::io::table::write::Values;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Numbers of one row group, about, and its rows at most.
const GROUP: usize = 1 << 22;
const ROWS: usize = 1 << 20;

/// Columns as a table in the making has them.
type Columns<'a> = [(&'a str, Values<'a>)];

/// Writes columns of equal length.
pub(crate) fn write(path: &Path, rows: usize, columns: &Columns<'_>) -> Result<()> {
    atomic::write_seekable(path, |file| {
        let mut groups = Groups::begin(BufWriter::new(file), columns)?;
        let height = groups.height();
        for from in (0..rows).step_by(height) {
            groups.put(columns, from..(from + height).min(rows))?;
        }
        groups.finish()?.flush()
    })
}

/// A file on its way to `W`, group after group of rows.
#[derive(Debug)]
pub(crate) struct Groups<W: Write + Send> {
    file: SerializedFileWriter<W>,
    height: usize,
}

impl<W: Write + Send> Groups<W> {
    /// For columns of these names and kinds, whatever rows they have.
    pub fn begin(writer: W, columns: &Columns<'_>) -> io::Result<Self> {
        Self::new(writer, columns).map_err(io::Error::other)
    }

    fn new(writer: W, columns: &Columns<'_>) -> ParquetResult<Self> {
        let fields = columns.iter().map(|(name, values)| Ok(Arc::new(field(name, values)?)));
        let fields = fields.collect::<ParquetResult<Vec<_>>>()?;
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
        let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        for (name, _) in columns.iter().filter(|(_, v)| matches!(v, Values::Vectors(_))) {
            // Hardly a number of an embedding comes twice.
            let leaf = ColumnPath::new(vec![name.to_string(), "list".into(), "element".into()]);
            properties = properties.set_column_dictionary_enabled(leaf, false);
        }
        let width = |values: &Values<'_>| match values {
            Values::Vectors(matrix) => matrix.cols(),
            _ => 1,
        };
        let width: usize = columns.iter().map(|(_, v)| width(v)).sum();
        let height = (GROUP / width.max(1)).clamp(1, ROWS);
        let file = SerializedFileWriter::new(writer, schema, Arc::new(properties.build()))?;
        Ok(Self { file, height })
    }

    /// Rows that a group has at most.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Writes some rows as the next group.
    pub fn put(&mut self, columns: &Columns<'_>, rows: Range<usize>) -> io::Result<()> {
        let mut write = || {
            let mut group = self.file.next_row_group()?;
            for (_, values) in columns {
                let mut column = group.next_column()?.expect("a column for each of the schema");
                put(&mut column, values, rows.clone())?;
                column.close()?;
            }
            group.close().map(|_| ())
        };
        write().map_err(io::Error::other)
    }

    /// Where it goes; some of it may not have got there yet.
    pub fn writer(&mut self) -> &mut W {
        self.file.inner_mut()
    }

    /// Writes what comes after the rows.
    pub fn finish(self) -> io::Result<W> {
        self.file.into_inner().map_err(io::Error::other)
    }
}

fn field(name: &str, values: &Values<'_>) -> ParquetResult<Type> {
    let required =
        |name, kind| Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED);
    match values {
        Values::Texts(_) | Values::Chosen(..) => required(name, PhysicalType::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .build(),
        Values::Integers(_) => required(name, PhysicalType::INT64).build(),
        Values::Floats(_) => required(name, PhysicalType::FLOAT).build(),
        Values::Vectors(_) => {
            let element = required("element", PhysicalType::FLOAT).build()?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

fn put(
    column: &mut SerializedColumnWriter<'_>,
    values: &Values<'_>,
    rows: Range<usize>,
) -> ParquetResult<()> {
    match values {
        Values::Texts(texts) => {
            let texts: Vec<ByteArray> = texts[rows].iter().map(|t| t.as_str().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
        }
        Values::Chosen(texts, numbers) => {
            let text = |n: &u32| ByteArray::from(texts[*n as usize].as_str());
            let texts: Vec<ByteArray> = numbers[rows].iter().map(text).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
        }
        Values::Integers(numbers) => {
            column.typed::<Int64Type>().write_batch(&numbers[rows], None, None)?;
        }
        Values::Floats(numbers) => {
            column.typed::<FloatType>().write_batch(&numbers[rows], None, None)?;
        }
        Values::Vectors(matrix) => {
            let cols = matrix.cols();
            let numbers = &matrix.values()[rows.start * cols..rows.end * cols];
            // Every number is there, and the first of a row begins a list.
            let definitions = vec![1i16; numbers.len()];
            let repetitions: Vec<i16> =
                (0..numbers.len()).map(|i| i16::from(i % cols != 0)).collect();
            let writer = column.typed::<FloatType>();
            writer.write_batch(numbers, Some(&definitions), Some(&repetitions))?;
        }
    }
    Ok(())
}

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
use std::path::Path;
use std::sync::Arc;

/// Numbers of one row group, about, and its rows at most.
const GROUP: usize = 1 << 24;
const ROWS: usize = 1 << 20;

/// Writes columns of equal length.
pub(crate) fn write(path: &Path, rows: usize, columns: &[(&str, Values<'_>)]) -> Result<()> {
    atomic::write_seekable(path, |file| {
        let mut writer = BufWriter::new(file);
        content(&mut writer, rows, columns).map_err(io::Error::other)?;
        writer.flush()
    })
}

fn content(
    writer: &mut (impl Write + Send),
    rows: usize,
    columns: &[(&str, Values<'_>)],
) -> ParquetResult<()> {
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
    let height =
        (GROUP / columns.iter().map(|(_, v)| width(v)).sum::<usize>().max(1)).clamp(1, ROWS);
    let mut file = SerializedFileWriter::new(writer, schema, Arc::new(properties.build()))?;
    for from in (0..rows).step_by(height) {
        let part = from..(from + height).min(rows);
        let mut group = file.next_row_group()?;
        for (_, values) in columns {
            let mut column = group.next_column()?.expect("a column for each of the schema");
            put(&mut column, values, part.clone())?;
            column.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
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
    rows: std::ops::Range<usize>,
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

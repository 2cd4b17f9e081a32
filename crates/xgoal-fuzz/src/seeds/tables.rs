//! Tables: delimited texts, and Parquet in every codec.

use super::{Seed, fixture, seed};
use flate2::{Compression, write::GzEncoder};
use parquet::basic::Compression as Codec;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

const TEXT: &str = "id,name,size\na,\"one, \"\"two\"\"\n\",1\n1,,2.5\r\n\nlast,x,\n";

pub(super) fn delimited() -> Vec<Seed> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(TEXT.as_bytes()).expect("into memory");
    vec![
        seed("plain.csv", TEXT),
        seed("tabs.tsv", "id\tname\na\t\"x\ty\"\n1\t\n"),
        seed("plain.csv.gz", gzip.finish().expect("into memory")),
    ]
}

pub(super) fn parquet() -> Vec<Seed> {
    let codecs = [
        ("none", Codec::UNCOMPRESSED),
        ("snappy", Codec::SNAPPY),
        ("gzip", Codec::GZIP(Default::default())),
        ("zstd", Codec::ZSTD(Default::default())),
        ("lz4", Codec::LZ4_RAW),
    ];
    let mut seeds: Vec<Seed> = Vec::new();
    for (name, codec) in codecs {
        let dictionary = name != "lz4";
        let bytes = parquet_table(codec, dictionary).expect("a table is written");
        seeds.push((format!("{name}.parquet"), bytes));
    }
    seeds.push(fixture!("parquet/holes.parquet"));
    seeds
}

const SCHEMA: &str = "message t {
    required binary id (STRING);
    optional binary kind (STRING);
    optional int64 number;
    required double real;
    optional boolean flag;
    required group vector (LIST) { repeated group list { required float element; } }
}";

/// Four rows of every kind of column that is read.
pub(super) fn parquet_table(codec: Codec, dictionary: bool) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_dictionary_enabled(dictionary)
        .set_created_by("seed".into())
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let texts = |texts: &[&str]| texts.iter().map(|t| ByteArray::from(*t)).collect::<Vec<_>>();
    let there: &[i16] = &[1, 0, 1, 1];
    for at in 0..6 {
        let mut column = group.next_column()?.expect("a column of the schema");
        match at {
            0 => column.typed::<ByteArrayType>().write_batch(
                &texts(&["a", "1", "c", "d"]),
                None,
                None,
            )?,
            1 => column.typed::<ByteArrayType>().write_batch(
                &texts(&["x", "y", "x"]),
                Some(there),
                None,
            )?,
            2 => column.typed::<Int64Type>().write_batch(&[1, -2, 3], Some(there), None)?,
            3 => column.typed::<DoubleType>().write_batch(&[0.5, 1.5, -2.0, 1e30], None, None)?,
            4 => column.typed::<BoolType>().write_batch(&[true, false, true], Some(there), None)?,
            _ => {
                let (defined, repeated) = (&[1; 8], &[0, 1, 0, 1, 0, 1, 0, 1]);
                let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
                column.typed::<FloatType>().write_batch(&numbers, Some(defined), Some(repeated))?
            }
        };
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

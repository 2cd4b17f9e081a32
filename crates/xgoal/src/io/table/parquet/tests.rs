use crate::io::table::{Column, Rows, Table};
use parquet::basic::Encoding;
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILES: [&str; 6] = ["none", "snappy", "gzip", "zstd", "lz4", "plain"];
const COLUMNS: [&str; 8] = ["flag", "id", "kind", "number", "unsigned", "real", "vector", "fixed"];

fn fixture(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parquet");
    folder.join(format!("{name}.parquet"))
}

fn read(name: &str, columns: &[&str]) -> crate::Result<Rows> {
    Table::open(&fixture(name))?.read(columns)
}

#[test]
fn every_codec_and_type() {
    for name in FILES {
        let rows = read(name, &COLUMNS).unwrap();
        assert_eq!(rows.count, 300, "{name}");
        let [flag, id, kind, number, unsigned, real, vector, fixed] = &rows.columns[..] else {
            panic!("{name}")
        };
        let (Column::Vectors(vector), Column::Vectors(fixed)) = (vector, fixed) else {
            panic!("{name}")
        };
        for row in 0..300 {
            let missing = row % 7 == 3;
            let there = |text: &str| if missing { String::new() } else { text.to_owned() };
            assert_eq!(id.ids().unwrap().get(row), format!("nøde, \"{row:03}\"\n"));
            assert_eq!(flag.text(row).unwrap(), there(&(row % 2 == 0).to_string()));
            assert_eq!(kind.text(row).unwrap(), there(["a", "b"][row % 2]));
            assert_eq!(number.number(row).unwrap(), (!missing).then_some(row as f64 - 100.0));
            assert_eq!(unsigned.ids().unwrap().get(row), (4294967295 - row).to_string());
            assert_eq!(real.number(row).unwrap(), (!missing).then_some(row as f64 / 4.0));
            let expected = [row as f32, 0.5];
            assert_eq!(vector.get(row), if missing { &[][..] } else { &expected });
            assert_eq!(fixed.get(row), [row as f32, -1.0]);
        }
        assert_eq!(rows.place(299), "row 300");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let refused = |column: &str| read("none", &[column]).unwrap_err().to_string();
    assert!(refused("day").contains("none.parquet: column `day` holds dates or times; expected"));
    assert!(refused("both").contains("column `both` holds structures"));
    assert!(refused("words").contains("column `words` holds lists of something else"));
    assert!(refused("x").contains("no column `x`; the columns are `id`, `kind`"));
    let holes = read("holes", &["vector"]).unwrap_err().to_string();
    assert!(holes.contains("a list with a missing number"), "{holes}");
}

#[test]
fn damaged_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for name in ["plain", "zstd"] {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Table::open(&path).and_then(|table| table.read(&COLUMNS)).is_ok()
        };
        for cut in (0..bytes.len()).step_by(997) {
            assert!(!read(&bytes[..cut]), "{name} cut at {cut}");
        }
        for at in (0..bytes.len()).step_by(41) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            read(&flipped);
        }
    }
}

#[test]
fn pages_that_are_not_as_they_were_written_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for name in ["checked1", "checked2"] {
        let columns = ["kind", "real", "vector"];
        assert_eq!(read(name, &columns).unwrap().count, 300);
        let bytes = std::fs::read(fixture(name)).unwrap();
        for (column, value) in
            [("real", 7.5f64.to_le_bytes().to_vec()), ("vector", 123f32.to_le_bytes().to_vec())]
        {
            let mut changed = bytes.clone();
            let at = bytes.windows(value.len()).position(|w| w == value).unwrap();
            changed[at + value.len() - 1] ^= 0x40;
            std::fs::write(&path, changed).unwrap();
            let message =
                Table::open(&path).and_then(|t| t.read(&[column])).unwrap_err().to_string();
            assert!(
                message.contains(&format!("column `{column}`")) && message.contains("CRC"),
                "{message}"
            );
        }
    }
}

/// Writes numbers, as they are stored, into columns of a type that nest them in every way.
fn write_integers(path: &Path, stored: &[i64], announced: &str, encoding: Encoding) {
    let element = |name: &str, repetition: &str| {
        let physical = if announced.contains("64") { "int64" } else { "int32" };
        format!("{repetition} {physical} {name} {announced};")
    };
    let list = format!("repeated group list {{ {} }}", element("element", "required"));
    let schema = [
        element("plain", "required"),
        element("optional", "optional"),
        element("repeated", "repeated"),
        format!("required group lists (LIST) {{ {list} }}"),
        format!("optional group within {{ required group lists (LIST) {{ {list} }} }}"),
    ];
    let schema = parse_message_type(&format!("message table {{ {} }}", schema.concat())).unwrap();
    let properties = match encoding {
        Encoding::RLE_DICTIONARY => WriterProperties::builder(),
        other => WriterProperties::builder().set_dictionary_enabled(false).set_encoding(other),
    };
    let file = File::create(path).unwrap();
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    // Levels of definition and repetition of a value that begins a row.
    for levels in [(0, 0), (1, 0), (1, 0), (1, 0), (2, 0)] {
        let mut column = group.next_column().unwrap().unwrap();
        let [definitions, repetitions] = [levels.0, levels.1].map(|l| vec![l; stored.len()]);
        let levels = (Some(&definitions[..]), Some(&repetitions[..]));
        match column.untyped() {
            ColumnWriter::Int32ColumnWriter(column) => {
                let values: Vec<i32> = stored.iter().map(|v| *v as i32).collect();
                column.write_batch(&values, levels.0, levels.1).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(column) => {
                column.write_batch(stored, levels.0, levels.1).unwrap();
            }
            _ => unreachable!("integers only"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

#[test]
fn integers_are_those_of_their_type_however_they_are_stored_and_nested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let encodings = [
        Encoding::PLAIN,
        Encoding::RLE_DICTIONARY,
        Encoding::DELTA_BINARY_PACKED,
        Encoding::BYTE_STREAM_SPLIT,
    ];
    for (bits, signed) in [8, 16, 32, 64].into_iter().flat_map(|b| [(b, true), (b, false)]) {
        let names = [
            format!("(INTEGER({bits},{signed}))"),
            format!("({}INT_{bits})", if signed { "" } else { "U" }),
        ];
        let least = if signed { -(1i128 << (bits - 1)) } else { 0 };
        let most = least + (1i128 << bits) - 1;
        let middle = least + (1i128 << (bits - 1));
        let values = [least, most, middle, middle - 1, 1];
        let stored = values.map(|v| v as i64);
        for (name, encoding) in names.iter().flat_map(|name| encodings.map(|e| (name, e))) {
            write_integers(&path, &stored, name, encoding);
            let table = Table::open(&path).unwrap();
            for column in ["plain", "optional"] {
                if (bits, signed) == (64, false) {
                    let message = table.read(&[column]).unwrap_err().to_string();
                    let expected = format!("column `{column}`: {most}; expected less than 2^63");
                    assert!(message.contains(&expected), "{message}");
                    continue;
                }
                let rows = table.read(&[column]).unwrap();
                let expected = stored.map(Some).to_vec();
                assert_eq!(rows.columns[0], Column::Integers(expected), "{name} {encoding}");
            }
            for column in ["repeated", "lists", "within"] {
                let rows = table.read(&[column]).unwrap();
                let Column::Vectors(lists) = &rows.columns[0] else { panic!("{column}") };
                let read: Vec<f32> = (0..5).flat_map(|row| lists.get(row).to_vec()).collect();
                assert_eq!(read, values.map(|v| v as f32), "{name} {encoding} {column}");
            }
        }
        // Numbers that the storage has and the type has not.
        if bits < 32 {
            for beyond in [least - 1, most + 1] {
                write_integers(&path, &[1, beyond as i64], &names[0], Encoding::PLAIN);
                for column in ["plain", "lists"] {
                    let read = Table::open(&path).and_then(|table| table.read(&[column]));
                    let message = read.unwrap_err().to_string();
                    let expected = format!("`{column}`: {beyond}; expected {least} to {most}");
                    assert!(message.contains(&expected), "{message}");
                }
            }
        }
    }
}

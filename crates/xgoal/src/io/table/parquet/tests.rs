use crate::io::table::{Column, Rows, Table};
use std::path::PathBuf;

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

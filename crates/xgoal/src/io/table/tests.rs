use super::*;
use std::io::Write;
use tempfile::TempDir;

fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn texts(name: &str, bytes: &[u8], columns: &[&str]) -> Result<Vec<Vec<String>>> {
    let (_folder, path) = file(name, bytes);
    let rows = Table::open(&path)?.read(columns)?;
    let column = |c: &Column| (0..rows.count).map(|r| c.text(r).unwrap().into_owned()).collect();
    Ok(rows.columns.iter().map(column).collect())
}

fn refused(name: &str, bytes: &[u8]) -> String {
    texts(name, bytes, &["id", "name"]).unwrap_err().to_string()
}

#[test]
fn fields_with_everything_in_them() {
    let csv = "\u{feff}id,name,more\r\n007,\"a, \"\"b\"\"\nc\",x\r\n\r\nä,,y\r\n\"\",z\"z,\"";
    let csv = format!("{csv}\"");
    let found = texts("t.csv", csv.as_bytes(), &["name", "id"]).unwrap();
    assert_eq!(found, [["a, \"b\"\nc", "", "z\"z"], ["007", "ä", ""]]);
    let tsv = "id\tname\n1\ta,b\n2\t\"c\td\"";
    let found = texts("t.tsv", tsv.as_bytes(), &["id", "name"]).unwrap();
    assert_eq!(found, [["1", "2"], ["a,b", "c\td"]]);
    assert_eq!(texts("t.csv", b"id,name\n", &["id"]).unwrap(), [Vec::<String>::new()]);
}

#[test]
fn gzip_in_several_members() {
    let mut bytes = Vec::new();
    for part in ["id,name\n1,a\n", "2,b\n"] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(part.as_bytes()).unwrap();
        bytes.extend(gz.finish().unwrap());
    }
    assert_eq!(texts("t.csv.gz", &bytes, &["name"]).unwrap(), [["a", "b"]]);
    bytes.truncate(bytes.len() - 9);
    assert!(refused("t.csv.gz", &bytes).contains("damaged, or not gzip"));
    assert!(refused("t.csv.gz", b"id,name\n").contains("damaged, or not gzip"));
}

#[test]
fn mistakes_name_their_line() {
    assert!(refused("t.csv", b"id,name\n1,a\n\n2,b,c\n").contains("line 4: 3 fields; expected 2"));
    assert!(refused("t.csv", b"id,name\n1,a\n2,\xff\n").contains("line 3: not UTF-8"));
    assert!(refused("t.csv", b"id,name\n1,a\n2,\"b\n3,c\n").contains("line 3: a quote"));
    assert!(
        refused("t.csv", b"id,nom\n").contains("no column `name`; the columns are `id`, `nom`")
    );
    assert!(refused("t.csv", b"id,name,id\n").contains("two columns are called `id`"));
    assert!(refused("t.csv", b"\n\n").contains("expected a line of column names"));
    assert!(refused("t.xls", b"").contains("not a table; expected .csv"));
    assert!(refused("t.parquet", b"no").contains("not Parquet"));
}

#[test]
fn many_rows_come_in_their_order_with_their_lines() {
    let mut csv = "id,name\n".to_string();
    for n in 0..200_000 {
        match n % 1000 {
            0 => csv += &format!("{n},\"two\nlines\"\n"),
            _ => csv += &format!("{n},x\n"),
        }
    }
    let (_folder, path) = file("t.csv", csv.as_bytes());
    let rows = Table::open(&path).unwrap().read(&["id"]).unwrap();
    assert_eq!(rows.count, 200_000);
    for n in [0, 1, 999, 1000, 123_456, 199_999] {
        assert_eq!(rows.columns[0].text(n).unwrap(), n.to_string());
        let line = 2 + n + n.div_ceil(1000);
        assert_eq!(rows.place(n), format!("line {line}"));
    }
}

#[test]
fn fields_are_what_they_are_asked_to_be() {
    let (_folder, path) = file("t.csv", b"id,name\n1, 2.5\n2,\n3,x\n4,inf\n");
    let rows = Table::open(&path).unwrap().read(&["name"]).unwrap();
    let number = |row| rows.columns[0].number(row);
    assert_eq!((number(0).unwrap(), number(1).unwrap()), (Some(2.5), None));
    assert_eq!(number(2).unwrap_err().to_string(), "`x`; expected a finite number");
    assert!(number(3).is_err());
    assert_eq!(rows.columns[0].ids().unwrap_err().0, 1);
    for number in [0, 7, -7, i64::MAX, i64::MIN] {
        let integers = Column::Integers(vec![Some(number)]);
        assert_eq!(integers.ids().unwrap().get(0), number.to_string());
    }
    assert_eq!(Column::Integers(vec![Some(1), None]).ids().unwrap_err().0, 1);
    let floats = Column::Floats(vec![1.0, f64::NAN]);
    assert_eq!((floats.number(0), floats.number(1)), (Ok(Some(1.0)), Ok(None)));
    assert!(floats.ids().unwrap_err().1.to_string().contains("a float; expected an id"));
}

#[test]
fn a_gzip_file_unpacks_to_what_a_file_of_its_size_may() {
    use super::delimited::Unpacked;
    use crate::io::build::Budget;
    use std::io::Read;
    let read = |room: u64| {
        let mut unpacked = Unpacked { inner: &[7u8; 100][..], budget: Budget::of(room) };
        unpacked.read_to_end(&mut Vec::new()).map_err(|e| e.to_string())
    };
    assert_eq!(read(100), Ok(100));
    assert!(read(99).unwrap_err().contains("more than a gzip file of its size may"));
}

use super::*;
use crate::graph::{Labels, Layer};
use crate::matrix::{Csr, Matrix};
use std::path::PathBuf;
use tempfile::TempDir;

const IDS: [&str; 14] = [
    "plain",
    "007",
    "7",
    "a, \"b\"",
    "two\nlines",
    "tab\there",
    "\r\n",
    " spaces ",
    "100% é漢🦀",
    "\\n",
    "\u{feff}bom",
    "%20",
    "",
    " ",
];
fn graph(ids: &[&str]) -> MultiplexGraph {
    let n = ids.len();
    let layer = Layer { name: "a".into(), adjacency: Csr::empty(n, n) };
    let attributes = Matrix::Dense(Dense::zeros(n, 1));
    let graph = MultiplexGraph::new(vec![layer], attributes).unwrap();
    graph.with_ids(ids.iter().map(|s| s.to_string()).collect()).unwrap()
}

fn numbers(rows: usize, cols: usize) -> Dense {
    let value = |i: usize| (i as f32 - 7.0) / 3.0 * 10f32.powi(i as i32 % 40 - 20);
    Dense::from_vec(rows, cols, (0..rows * cols).map(value).collect()).unwrap()
}

fn file(folder: &TempDir, format: Format) -> PathBuf {
    folder.path().join(format!("z.{}", format.extension()))
}

#[test]
fn ids_and_numbers_come_back_exactly_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let labels = Labels {
        classes: (0..IDS.len() as u32).map(|n| (n > 3).then_some(n % 2)).collect(),
        names: vec!["x\ty".into(), "z".into()],
    };
    for graph in [graph(&IDS), graph(&IDS).with_labels(labels).unwrap()] {
        for format in Format::ALL.iter().copied() {
            let path = file(&folder, format);
            assert_eq!(Format::of(&path), Some(format));
            assert_eq!(Format::parse(format.as_str()), Some(format));
            let written = write(&path, format, &numbers(14, 5), &graph).unwrap();
            assert!(written.iter().all(|file| file.exists()) && written[0] == path);
            let Embeddings { ids, matrix } = read(&path, None).unwrap();
            assert_eq!(ids.unwrap(), IDS, "{format:?}");
            assert_eq!(matrix, numbers(14, 5), "{format:?}");
        }
    }
}

#[test]
fn blocks_of_rows_become_the_same_file_as_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let numbered = Rows::new(70_000, None).unwrap();
    // Parquet writes so many in several groups.
    let many = Dense::from_vec(70_000, 64, (0..70_000 * 64).map(|i| i as f32).collect()).unwrap();
    for format in Format::ALL.iter().copied() {
        let (graph, few) = (graph(&IDS), numbers(14, 5));
        let (rows, all) = match format {
            Format::Parquet => (numbered, &many),
            _ => (Rows::from(&graph), &few),
        };
        let whole = file(&folder, format);
        write(&whole, format, all, rows).unwrap();
        let path = folder.path().join("parts").with_extension(format.extension());
        let mut writer = Writer::new(&path, format, all.cols(), rows).unwrap();
        let mut from = 0;
        while from < all.rows() {
            let to = all.rows().min(2 * from + 1);
            let some: Vec<u32> = (from as u32..to as u32).collect();
            writer.push(&all.select_rows(&some)).unwrap();
            from = to;
        }
        assert!(!path.exists(), "{format:?}");
        let written = writer.finish().unwrap();
        assert_eq!(written.len(), files(&path, format).iter().filter(|f| f.exists()).count());
        let same = std::fs::read(&path).unwrap() == std::fs::read(&whole).unwrap();
        assert!(same, "{format:?}");
        assert_eq!(read(&path, None).unwrap().matrix, *all);
    }
}

#[test]
fn a_row_for_each_node_or_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let two = graph(&["a", "b"]);
    for format in Format::ALL.iter().copied() {
        for rows in [1, 3] {
            let path = file(&folder, format);
            let refused = write(&path, format, &numbers(rows, 2), &two).unwrap_err().to_string();
            assert_eq!(refused, format!("{rows} embeddings for 2 nodes"));
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn rows_follow_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL.iter().copied() {
        let path = file(&folder, format);
        let z = Dense::from_vec(2, 1, vec![1.0, 2.0]).unwrap();
        write(&path, format, &z, &graph(&["x, \"y\"", "007"])).unwrap();
        let back = read_for(&path, None, &graph(&["007", "x, \"y\""])).unwrap();
        assert_eq!(back.values(), [2.0, 1.0]);
        let missing = read_for(&path, None, &graph(&["007", "8"])).unwrap_err().to_string();
        assert!(missing.contains("no row for the node `8`"), "{missing}");
    }
    assert!(folder.path().join("z.ids.txt").exists());
}

#[test]
fn ids_of_an_earlier_file_do_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, Format::Npy);
    for ids in [["a\nb", "c"], ["d", "e"], ["f\r", "g"]] {
        write(&path, Format::Npy, &numbers(2, 2), &graph(&ids)).unwrap();
        assert_eq!(read(&path, None).unwrap().ids.unwrap(), ids);
    }
    assert!(!folder.path().join("z.ids.txt").exists());
}

#[test]
fn whole_numbers_stay_numbers_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, Format::Parquet);
    let numbered = graph(&["x", "y"]).with_integer_ids(&[7, -3]).unwrap();
    write(&path, Format::Parquet, &numbers(2, 2), &numbered).unwrap();
    let rows = crate::io::table::Table::open(&path).unwrap().read(&["id"]).unwrap();
    assert_eq!(rows.columns[0], crate::io::table::Column::Integers(vec![Some(7), Some(-3)]));
    assert_eq!(read(&path, None).unwrap().ids.unwrap(), ["7", "-3"]);
}

#[test]
fn damage_names_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_for(&path, None, &graph(&["a", "b"])).unwrap_err().to_string()
    };
    assert!(refused("z.vec", "2 2\na 1 2\nb 1\n").contains("z.vec: line 3: 1 numbers; expected 2"));
    assert!(refused("z.vec", "3 1\na 1\nb 1\n").contains("3 words announced, but there are 2"));
    assert!(refused("z.vec", "a 1\n").contains("line 1: expected a line with the number"));
    assert!(refused("z.vec", "1 1\na nan\n").contains("line 2: `nan`; expected a finite"));
    assert!(refused("z.csv", "id,e0\na,1\nb,x\n").contains("line 3, column `e0`: `x`"));
    assert!(refused("z.csv", "id,e0\na,1\nb,\n").contains("line 3: a number is missing"));
    assert!(refused("z.csv", "name,e0\n").contains("no column `id`"));
    assert!(refused("z.csv", "id,e0\na,1\na,2\n").contains("the id `a` stands for two rows"));
    assert!(refused("x.vectors.tsv", "1\t2\n3\n").contains("line 2: 1 numbers"));
    assert!(refused("z.safetensors", "no").contains("not a safetensors file"));
    assert!(refused("z.bin", "no").contains("not embeddings; expected .npy"));
    std::fs::write(folder.path().join("w.metadata.tsv"), "a\n").unwrap();
    assert!(refused("w.vectors.tsv", "1\n2\n").contains("1 ids for 2 rows"));
}

#[test]
fn an_id_stands_for_one_row_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    // A changed safetensors file is refused for its checksum.
    let formats = Format::ALL.iter().copied().filter(|f| *f != Format::Safetensors);
    for format in formats {
        let path = file(&folder, format);
        write(&path, format, &numbers(2, 2), &graph(&["aq", "bq"])).unwrap();
        read(&path, None).unwrap();
        for file in files(&path, format).into_iter().filter(|file| file.exists()) {
            let mut bytes = std::fs::read(&file).unwrap();
            for at in 0..bytes.len() - 1 {
                if &bytes[at..at + 2] == b"bq" {
                    bytes[at] = b'a';
                }
            }
            std::fs::write(file, bytes).unwrap();
        }
        let message = read(&path, None).unwrap_err().to_string();
        assert!(message.contains("the id `aq` stands for two rows"), "{format:?}: {message}");
    }
    let path = folder.path().join("far.csv");
    std::fs::write(&path, "id,e0\na,inf\n").unwrap();
    assert!(read(&path, None).is_err());
}

#[test]
fn rows_without_numbers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, Format::Npy);
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 0), }\n";
    let mut npy = b"\x93NUMPY\x01\0".to_vec();
    npy.extend((text.len() as u16).to_le_bytes());
    npy.extend(text.as_bytes());
    std::fs::write(&path, npy).unwrap();
    let message = read(&path, None).unwrap_err().to_string();
    assert!(message.contains("4000000000 rows without numbers"), "{message}");
}

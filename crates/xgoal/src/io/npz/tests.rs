use std::io::{Cursor, Write};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;
use crate::io::npy::tests::array;
use crate::matrix::{Csr, Matrix};

fn archive(method: CompressionMethod, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn parse_bytes(bytes: &[u8]) -> Parsed<Vec<NamedArray>> {
    parse("stem", Cursor::new(bytes), &mut Budget::of(1 << 20))
}

fn read(files: &[(&str, Vec<u8>)]) -> Parsed<Vec<NamedArray>> {
    parse_bytes(&archive(CompressionMethod::Stored, files))
}

fn refused(files: &[(&str, Vec<u8>)]) -> String {
    read(files).unwrap_err().to_string()
}

fn list(values: &[u8]) -> Vec<u8> {
    array("|u1", &format!("({},)", values.len()), values)
}

fn word(text: &str) -> Vec<u8> {
    array(&format!("|S{}", text.len()), "()", text.as_bytes())
}

fn layer(name: &str) -> NamedArray {
    let entries = vec![(0, 1, 5.0), (2, 0, 7.0)];
    let matrix = Matrix::Sparse(Csr::from_triplets(3, 3, entries).unwrap());
    NamedArray { name: name.into(), array: Array::Matrix(matrix) }
}

/// One array of each sort, with every separator.
fn mixed() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("PAP.npy", array("|u1", "(3, 3)", &[0, 5, 0, 0, 0, 0, 7, 0, 0])),
        ("ids.npy", array("|S1", "(3,)", b"abc")),
        ("A.data.npy", list(&[5, 7])),
        ("A.indices.npy", list(&[1, 0])),
        ("A.indptr.npy", list(&[0, 1, 1, 2])),
        ("A.shape.npy", list(&[3, 3])),
        ("B_C_format.npy", word("csc")),
        ("B_C_data.npy", list(&[7, 5])),
        ("B_C_indices.npy", list(&[2, 0])),
        ("B_C_indptr.npy", list(&[0, 1, 2, 2])),
        ("B_C_shape.npy", list(&[3, 3])),
        ("D/row.npy", list(&[2, 0])),
        ("D/col.npy", list(&[0, 1])),
        ("D/data.npy", list(&[7, 5])),
        ("D/shape.npy", list(&[3, 3])),
        ("train_data.npy", list(&[4])),
        ("README.txt", b"passed over".to_vec()),
    ]
}

#[test]
fn plain_and_sparse_arrays_with_every_separator() {
    let strings = ["a", "b", "c"].map(String::from).to_vec();
    let expected = [
        layer("PAP"),
        NamedArray { name: "ids".into(), array: Array::Strings(strings) },
        layer("A"),
        layer("B_C"),
        layer("D"),
        NamedArray {
            name: "train_data".into(),
            array: Array::Vector { values: vec![4.0], shape: (1, 1) },
        },
    ];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        assert_eq!(parse_bytes(&archive(method, &mixed())).unwrap(), expected);
    }
}

#[test]
fn a_bare_matrix_is_named_after_the_file() {
    let files = [
        ("indices.npy", list(&[1, 0])),
        ("indptr.npy", list(&[0, 1, 1, 2])),
        ("format.npy", word("csr")),
        ("shape.npy", list(&[3, 3])),
        ("data.npy", list(&[5, 7])),
        ("_is_array.npy", array("|b1", "()", &[1])),
    ];
    assert_eq!(read(&files).unwrap(), [layer("stem")]);
}

#[test]
fn numbers_at_one_place_are_summed_and_bools_stay_bools() {
    let value = |data| {
        let files = [
            ("A.data.npy", data),
            ("A.row.npy", list(&[1, 1])),
            ("A.col.npy", list(&[0, 0])),
            ("A.shape.npy", list(&[2, 2])),
        ];
        match &read(&files).unwrap()[0].array {
            Array::Matrix(Matrix::Sparse(layer)) => layer.values().collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(value(list(&[1, 1])), [2.0]);
    assert_eq!(value(array("|b1", "(2,)", &[1, 1])), [1.0]);
}

#[test]
fn errors_name_what_is_missing() {
    let lone = refused(&[("PAP_indices.npy", list(&[1]))]);
    assert!(lone.contains("`PAP_indices` belong"), "{lone}");
    assert!(lone.contains("needs `PAP_data`, `PAP_indptr`, `PAP_shape`"), "{lone}");
    let half = refused(&[("A.row.npy", list(&[1])), ("A.data.npy", list(&[1]))]);
    assert!(half.contains("needs `A.col`, `A.shape`"), "{half}");

    let with = |change: (&'static str, Vec<u8>)| {
        let mut files: Vec<_> = mixed()[2..6].to_vec();
        files.retain(|f| f.0 != change.0);
        files.push(change);
        refused(&files)
    };
    assert!(with(("A.row.npy", list(&[0]))).contains("`A.row` do not belong"));
    assert!(with(("A.format.npy", word("bsr"))).contains("a sparse format of `bsr`"));
    assert!(with(("A.format.npy", list(&[1]))).contains("a sparse format of numbers"));
    assert!(with(("A.shape.npy", list(&[3]))).contains("expected rows and columns"));
    assert!(with(("A.data.npy", list(&[1]))).contains("equally many"));
    assert!(with(("A.data.npy", word("ab"))).contains("`A.data` is no list of numbers"));
    assert!(with(("A.indices.npy", list(&[1, 3]))).contains("column 3"));
    let fractions = [0.5f32.to_le_bytes(), 0f32.to_le_bytes()].concat();
    assert!(with(("A.indices.npy", array("<f4", "(2,)", &fractions))).contains("whole numbers"));
    assert!(with(("A.npy", list(&[1]))).contains("`A` is there twice"));
    assert!(with(("x.npy", array("|O", "(1,)", b""))).contains("`x`: NumPy header: type `|O`"));
    assert!(refused(&[("a.txt", vec![])]).contains("no NumPy arrays"));
    assert!(parse_bytes(b"hello").unwrap_err().message.contains("zip archive"));
}

#[test]
fn bombs_are_bounded() {
    let bomb = array("|u1", "(3000000,)", &vec![1; 3_000_000]);
    let bytes = archive(CompressionMethod::Deflated, &[("x.npy", bomb)]);
    assert!(bytes.len() < 10_000);
    assert!(parse_bytes(&bytes).unwrap_err().message.contains("limit"));
    // More data than the header announces is not unpacked.
    let more = array("|u1", "(1,)", &vec![1; 3_000_000]);
    let bytes = archive(CompressionMethod::Deflated, &[("x.npy", more)]);
    assert!(parse_bytes(&bytes).unwrap_err().message.contains("more bytes"));
}

#[test]
fn cut_anywhere_is_an_error_and_damage_never_panics() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = archive(method, &mixed());
        for cut in 0..bytes.len() {
            assert!(parse_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for _ in 0..3_000 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(3) {
                let at = random(damaged.len());
                damaged[at] = random(256) as u8;
            }
            let _ = parse_bytes(&damaged);
        }
    }
}

#[test]
fn entries_that_share_their_bytes_are_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("a.npy", SimpleFileOptions::default()).unwrap();
    zip.write_all(&list(&[1, 2])).unwrap();
    zip.shallow_copy_file("a.npy", "b.npy").unwrap();
    let message = parse_bytes(&zip.finish().unwrap().into_inner()).unwrap_err().to_string();
    assert!(message.contains("entries overlap"), "{message}");
}

#[test]
fn entries_have_one_name_each() {
    let bytes =
        archive(CompressionMethod::Stored, &[("ab.npy", list(&[1])), ("ac.npy", list(&[2]))]);
    let renamed = |times: usize| {
        let mut bytes = bytes.clone();
        for _ in 0..times {
            let at = bytes.windows(6).position(|w| w == b"ac.npy").unwrap();
            bytes[at + 1] = b'b';
        }
        parse_bytes(&bytes).unwrap_err().to_string()
    };
    // First before the entry alone, then in the list too.
    let message = renamed(1);
    assert!(message.contains("calls `ac.npy` what calls itself `ab.npy`"), "{message}");
    assert!(renamed(2).contains("two entries of one name"));
}

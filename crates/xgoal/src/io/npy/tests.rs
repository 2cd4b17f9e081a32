use super::*;
use crate::matrix::{Csr, Matrix};

/// A file of the given version, header text and data.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = [b"\x93NUMPY", &[version, 0][..]].concat();
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A version 1 file, row after row.
pub(crate) fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    file(1, &text, data)
}

fn parse_bytes(bytes: &[u8]) -> Parsed<Array> {
    parse("x", bytes, &mut Budget::of(1 << 16)).map(|a| a.array)
}

fn refused(bytes: &[u8]) -> String {
    parse_bytes(bytes).unwrap_err().to_string()
}

fn little(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn every_number_type() {
    for (descr, bytes) in [
        ("|b1", vec![0, 1]),
        ("|i1", vec![0, 1]),
        ("|u1", vec![0, 1]),
        ("<i2", vec![0, 0, 1, 0]),
        (">u2", vec![0, 0, 0, 1]),
        ("<i4", vec![0, 0, 0, 0, 1, 0, 0, 0]),
        (">u4", vec![0, 0, 0, 0, 0, 0, 0, 1]),
        ("<i8", [0i64.to_le_bytes(), 1i64.to_le_bytes()].concat()),
        (">u8", [0u64.to_be_bytes(), 1u64.to_be_bytes()].concat()),
        ("<f2", vec![0, 0, 0, 0x3c]),
        (">f4", [0f32.to_be_bytes(), 1f32.to_be_bytes()].concat()),
        ("<f8", little(&[0.0, 1.0])),
    ] {
        let found = parse_bytes(&array(descr, "(2,)", &bytes)).unwrap();
        assert_eq!(found, Array::Vector { values: vec![0.0, 1.0], shape: (2, 1) }, "{descr}");
    }
}

#[test]
fn versions_orders_and_shapes() {
    let data = little(&[0.0, 5.0, 7.0, 0.0]);
    let layer = |a, b| {
        let entries = vec![(0, 1, a), (1, 0, b)];
        Array::Matrix(Matrix::Sparse(Csr::from_triplets(2, 2, entries).unwrap()))
    };
    for version in 1..=3 {
        let text = "{'shape': (2, 2), 'fortran_order': True, 'descr': \"<f8\"}      \n";
        assert_eq!(parse_bytes(&file(version, text, &data)).unwrap(), layer(7.0, 5.0));
    }
    assert_eq!(parse_bytes(&array("<f8", "(2L, 2L)", &data)).unwrap(), layer(5.0, 7.0));
    let single = parse_bytes(&array("<f8", "()", &little(&[3.0]))).unwrap();
    assert_eq!(single, Array::Vector { values: vec![3.0], shape: (1, 1) });
}

#[test]
fn strings_lose_their_padding() {
    let strings = |list: &[&str]| Array::Strings(list.iter().map(|s| s.to_string()).collect());
    let text: Vec<u8> = "aé\0b\0\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    assert_eq!(parse_bytes(&array("<U3", "(2,)", &text)).unwrap(), strings(&["aé", "b"]));
    let text: Vec<u8> = "Ā".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
    assert_eq!(parse_bytes(&array(">U1", "()", &text)).unwrap(), strings(&["Ā"]));
    assert_eq!(parse_bytes(&array("|S3", "(1,)", b"csr")).unwrap(), strings(&["csr"]));
    assert!(refused(&array("|S1", "(1,)", b"\xff")).contains("no valid Unicode"));
    assert!(refused(&array("|S1", "(1, 1)", b"a")).contains("one dimension"));
}

#[test]
fn errors_say_what_is_wrong() {
    assert!(refused(&array("|O", "(1,)", b"")).contains("`x`: NumPy header: type `|O` (pickled"));
    assert!(refused(&array("<c16", "(1,)", b"")).contains("complex"));
    assert!(refused(&array("<M8[ns]", "(1,)", b"")).contains("dates"));
    assert!(refused(&array("<f3", "(1,)", b"")).contains("type `<f3`"));
    assert!(refused(&array("é", "(1,)", b"")).contains("type `é`"));
    assert!(refused(&array("<f8", "(1, 1, 1)", &little(&[1.0]))).contains("two dimensions"));
    assert!(refused(&array("<f8", "(-1,)", b"")).contains("dimension"));
    assert!(refused(&array("<f8", "(1,)", &little(&[1.0, 2.0]))).contains("more bytes"));
    assert!(refused(&array("<f8", "(2, 2)", &little(&[1.0, 0.0, 1e200, 0.0]))).contains("row 1"));
    assert!(refused(&file(1, "{'descr': [('a', '<f4')]}", b"")).contains("records"));
    assert!(
        refused(&file(1, "{'descr': '<f4', 'shape': (1,)}", b"")).contains("no `fortran_order`")
    );
    assert!(refused(&file(4, "", b"")).contains("version 4"));
    assert!(refused(b"PK\x03\x04aaaa").contains("not a NumPy array"));
}

#[test]
fn claims_cost_nothing() {
    assert!(refused(&array("<f8", "(4000000000,)", &little(&[1.0]))).contains("cut short"));
    assert!(refused(&array("<f8", "(4000000000, 4000000000)", b"")).contains("can be counted"));
    assert!(refused(&array("|u1", "(9999999999999999999, 9)", b"")).contains("shape"));
    assert!(refused(&array("|u1", "(99999999999999999999,)", b"")).contains("64 bits"));
    assert!(refused(&array("<U1000000000", "(1,)", b"")).contains("strings of"));
    let mut long = file(2, "", b"");
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(refused(&long).contains("header of 4294967295 bytes"));
    let empty = parse_bytes(&array("<f8", "(0, 4000000000)", b"")).unwrap();
    assert_eq!(empty, Array::Vector { values: vec![], shape: (0, 4_000_000_000) });
}

#[test]
fn matrices_are_written_and_read_back() {
    let matrix = Dense::from_vec(2, 3, vec![1.0, 0.0, -3.5, f32::MAX, 0.0, 1e-40]).unwrap();
    let mut bytes = Vec::new();
    write_f32(&mut bytes, &matrix).unwrap();
    assert_eq!(bytes.len(), 128 + 24);
    let read = |bytes: &[u8]| parse_f32_matrix("x", bytes, 1 << 16, &mut Budget::of(1 << 16));
    assert_eq!(read(&bytes).unwrap(), matrix);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("embeddings.npy");
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(read_f32_matrix(&path).unwrap(), matrix);

    let text = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}";
    let columns = file(1, text, &little(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(read(&columns).unwrap().values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let endless = file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (4000000000, 0)}", b"");
    assert!(read(&endless).unwrap().values().is_empty());
    assert!(read(&array("<f8", "(2,)", &little(&[1.0, 2.0]))).is_err());
}

#[test]
fn cut_anywhere_is_an_error_and_damage_never_panics() {
    let text: Vec<u8> = "node".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    for bytes in [
        array("<f8", "(2, 2)", &little(&[0.0, 5.0, 7.0, 0.0])),
        array(">f4", "(2, 3)", &[1; 24]),
        array("<U2", "(2,)", &text),
    ] {
        assert!(parse_bytes(&bytes).is_ok());
        for cut in 0..bytes.len() {
            assert!(refused(&bytes[..cut]).contains("cut short"), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for byte in 0..=255 {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                let _ = parse_bytes(&damaged);
                let _ = parse_f32_matrix("x", &damaged[..], 1 << 16, &mut Budget::of(1 << 16));
            }
        }
    }
}

#[test]
fn strings_of_no_bytes_are_not_counted_up_to_what_the_header_claims() {
    let message = refused(&array("|S0", "(4000000000,)", &[]));
    assert!(message.contains("4000000000 strings of no bytes"), "{message}");
    assert_eq!(parse_bytes(&array("<U0", "(0,)", &[])).unwrap(), Array::Strings(Vec::new()));
}

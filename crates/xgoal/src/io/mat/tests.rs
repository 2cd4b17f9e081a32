use std::io::Write;

use super::variable::{
    CLASS_CHAR, CLASS_DOUBLE, CLASS_SPARSE, CLASS_UINT64, FLAG_COMPLEX, MI_UTF8,
};
use super::*;
use crate::io::arrays::Array;
use crate::matrix::{Csr, Dense, Matrix};

/// Writes the parts of a MAT file in one byte order.
#[derive(Clone, Copy)]
struct Writer(Endian);

const MI_U8: u32 = 2;
const MI_I32: u32 = 5;
const MI_F64: u32 = 9;

impl Writer {
    fn header(self) -> Vec<u8> {
        let mut bytes = vec![b' '; 124];
        bytes[..19].copy_from_slice(b"MATLAB 5.0 MAT-file");
        match self.0 {
            Endian::Little => bytes.extend(b"\x00\x01IM"),
            Endian::Big => bytes.extend(b"\x01\x00MI"),
        }
        bytes
    }

    fn word(self, word: u32) -> [u8; 4] {
        match self.0 {
            Endian::Little => word.to_le_bytes(),
            Endian::Big => word.to_be_bytes(),
        }
    }

    fn element(self, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        if (1..=4).contains(&data.len()) {
            bytes.extend(self.word((data.len() as u32) << 16 | kind));
        } else {
            bytes.extend(self.word(kind));
            bytes.extend(self.word(data.len() as u32));
        }
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// Numbers in an element type.
    fn numbers(self, kind: u32, numbers: &[f64]) -> Vec<u8> {
        macro_rules! as_bytes {
            ($number:ty) => {
                numbers
                    .iter()
                    .flat_map(|v| match self.0 {
                        Endian::Little => (*v as $number).to_le_bytes(),
                        Endian::Big => (*v as $number).to_be_bytes(),
                    })
                    .collect::<Vec<u8>>()
            };
        }
        let data = match kind {
            1 => as_bytes!(i8),
            2 | 16 => as_bytes!(u8),
            3 => as_bytes!(i16),
            4 | 17 => as_bytes!(u16),
            5 => as_bytes!(i32),
            6 => as_bytes!(u32),
            7 => as_bytes!(f32),
            9 => as_bytes!(f64),
            12 => as_bytes!(i64),
            13 => as_bytes!(u64),
            _ => panic!("no such element type"),
        };
        self.element(kind, &data)
    }

    fn variable(self, name: &str, flags: u32, dims: &[f64], parts: &[Vec<u8>]) -> Vec<u8> {
        let mut body = self.element(6, &[self.word(flags), self.word(0)].concat());
        body.extend(self.numbers(MI_I32, dims));
        body.extend(self.element(1, name.as_bytes()));
        body.extend(parts.concat());
        [&self.word(MI_MATRIX)[..], &self.word(body.len() as u32)[..], &body[..]].concat()
    }

    fn dense(self, name: &str, class: u32, kind: u32, dims: (usize, usize), v: &[f64]) -> Vec<u8> {
        self.variable(name, class, &[dims.0 as f64, dims.1 as f64], &[self.numbers(kind, v)])
    }

    fn compressed(self, variable: &[u8]) -> Vec<u8> {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(variable).unwrap();
        let data = zlib.finish().unwrap();
        [&self.word(MI_COMPRESSED)[..], &self.word(data.len() as u32)[..], &data[..]].concat()
    }

    fn file(self, variables: &[Vec<u8>]) -> Vec<u8> {
        [self.header(), variables.concat()].concat()
    }

    /// A 3 by 3 sparse matrix with 5 at (1, 0) and 7 at (0, 2), and room for one entry more.
    fn sparse(self, flags: u32, kind: u32) -> Vec<u8> {
        let parts = [
            self.numbers(MI_I32, &[1.0, 0.0, 0.0]),
            self.numbers(MI_I32, &[0.0, 1.0, 1.0, 2.0]),
            self.numbers(kind, &[5.0, 7.0, 0.0]),
        ];
        self.variable("S", CLASS_SPARSE | flags, &[3.0, 3.0], &parts)
    }
}

const BOTH: [Writer; 2] = [Writer(Endian::Little), Writer(Endian::Big)];
const LITTLE: Writer = Writer(Endian::Little);

fn parse_bytes(bytes: &[u8]) -> Parsed<Vec<NamedArray>> {
    parse(bytes, &mut Budget::of(1 << 20))
}

fn message(variable: Vec<u8>) -> String {
    parse_bytes(&LITTLE.file(&[variable])).unwrap_err().to_string()
}

fn layer(entries: &[(u32, u32, f32)]) -> Array {
    Array::Matrix(Matrix::Sparse(Csr::from_triplets(3, 3, entries.to_vec()).unwrap()))
}

/// A file with one variable of each sort.
fn mixed(w: Writer) -> Vec<Vec<u8>> {
    let layer = [0., 7., 0., 5., 0., 0., 0., 0., 9.];
    vec![
        w.dense("PAP", CLASS_DOUBLE, MI_U8, (3, 3), &layer),
        w.compressed(&w.dense("PLP", CLASS_DOUBLE, MI_F64, (3, 3), &layer)),
        w.compressed(&w.sparse(0, MI_F64)),
        w.dense("feature", 7, 7, (2, 3), &[1., 4., 2., 5., 3., 6.]),
        w.dense("train_idx", 12, MI_I32, (1, 2), &[4., 70_000.]),
        w.variable("ids", CLASS_CHAR, &[2., 3.], &[w.element(MI_UTF8, b"paxbyc")]),
    ]
}

#[test]
fn every_sort_in_both_byte_orders() {
    for w in BOTH {
        let arrays = parse_bytes(&w.file(&mixed(w))).unwrap();
        let dense = layer(&[(0, 1, 5.), (1, 0, 7.), (2, 2, 9.)]);
        let feature = Dense::from_vec(2, 3, vec![1., 2., 3., 4., 5., 6.]).unwrap();
        let expected = [
            ("PAP", dense.clone()),
            ("PLP", dense),
            ("S", layer(&[(1, 0, 5.), (0, 2, 7.)])),
            ("feature", Array::Matrix(Matrix::Dense(feature))),
            ("train_idx", Array::Vector { values: vec![4., 70_000.], shape: (1, 2) }),
            ("ids", Array::Strings(vec!["pxy".into(), "abc".into()])),
        ];
        assert_eq!(arrays.len(), expected.len());
        for (array, (name, values)) in arrays.iter().zip(expected) {
            assert_eq!((array.name.as_str(), &array.array), (name, &values));
        }
    }
}

#[test]
fn every_class_in_every_type() {
    for w in BOTH {
        for class in CLASS_DOUBLE..=CLASS_UINT64 {
            for kind in [1, 2, 3, 4, 5, 6, 7, 9, 12, 13] {
                let values = vec![1.0, 0.0, 100.0];
                // 0x200 marks a logical array.
                let bytes = w.file(&[w.dense("x", class | 0x200, kind, (3, 1), &values)]);
                let expected = Array::Vector { values, shape: (3, 1) };
                assert_eq!(parse_bytes(&bytes).unwrap()[0].array, expected);
            }
        }
        let logical = parse_bytes(&w.file(&[w.sparse(0x200, MI_U8)])).unwrap();
        assert_eq!(logical[0].array, layer(&[(1, 0, 5.), (0, 2, 7.)]));
    }
}

#[test]
fn unused_kinds_are_passed_over() {
    let [cell, opaque] =
        [1, 17].map(|class| LITTLE.variable("c", class, &[1., 1.], &[vec![9; 40]]));
    let unnamed = LITTLE.dense("", CLASS_DOUBLE, MI_F64, (1, 1), &[1.]);
    let text = LITTLE.variable("t", CLASS_CHAR, &[1., 1., 2.], &[LITTLE.numbers(4, &[65., 66.])]);
    let used = LITTLE.dense("x", CLASS_DOUBLE, MI_F64, (1, 1), &[1.]);
    let arrays = parse_bytes(&LITTLE.file(&[cell, opaque, unnamed, text, used])).unwrap();
    assert_eq!(arrays.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["x"]);
}

#[test]
fn text_of_every_type() {
    for (kind, codes) in [(1, vec![65., 66.]), (MI_U8, vec![65., 66.]), (4, vec![65., 66., 32.])] {
        let dims = [1., codes.len() as f64];
        let text = LITTLE.variable("t", CLASS_CHAR, &dims, &[LITTLE.numbers(kind, &codes)]);
        let arrays = parse_bytes(&LITTLE.file(&[text])).unwrap();
        assert_eq!(arrays[0].array, Array::Strings(vec!["AB".into()]));
    }
    let accent =
        LITTLE.variable("t", CLASS_CHAR, &[1., 1.], &[LITTLE.element(MI_UTF8, "é".as_bytes())]);
    let arrays = parse_bytes(&LITTLE.file(&[accent])).unwrap();
    assert_eq!(arrays[0].array, Array::Strings(vec!["é".into()]));
    // No columns: rows cost nothing in the file and must cost nothing here.
    let empty = LITTLE.variable("t", CLASS_CHAR, &[2e9, 0.], &[LITTLE.element(MI_UTF8, b"")]);
    assert_eq!(parse_bytes(&LITTLE.file(&[empty])).unwrap()[0].array, Array::Strings(vec![]));
}

#[test]
fn errors_name_variable_and_cause() {
    let d = |dims, values: &[f64]| LITTLE.dense("X", CLASS_DOUBLE, MI_F64, dims, values);
    assert!(message(d((2, 2), &[1.])).contains("`X`: 8 bytes of float64, expected 2 by 2 values"));
    assert!(message(d((2, 2), &[0., 1e300, 0., 0.])).contains("`X`: 1e300 at row 1, column 0"));
    let complex = LITTLE.dense("X", CLASS_DOUBLE | FLAG_COMPLEX, MI_F64, (1, 1), &[1.]);
    assert!(message(complex).contains("`X`: complex"));
    let cube = LITTLE.variable("X", CLASS_DOUBLE, &[2., 2., 2.], &[]);
    assert!(message(cube).contains("`X`: dimensions [2, 2, 2], expected rows and columns"));
    let negative = LITTLE.variable("X", CLASS_DOUBLE, &[-1., 2.], &[]);
    assert!(message(negative).contains("`X`: dimensions [-1, 2]"));
    let one = d((1, 1), &[1.]);
    assert!(message([one.clone(), one].concat()).contains("`X` is there twice"));
    let odd = [&LITTLE.word(3)[..], &LITTLE.word(0)[..]].concat();
    assert!(message(odd).contains("type 3, expected a variable"));
    let mut broken = LITTLE.compressed(&d((1, 1), &[1.]));
    let last = broken.len() - 1;
    broken[last] ^= 1;
    assert!(message(broken).contains("unreadable"));
    assert!(message(vec![]).contains("without variables"));
}

#[test]
fn other_versions_are_named() {
    let refused = |bytes: &[u8]| parse_bytes(bytes).unwrap_err().message;
    assert!(refused(b"\x89HDF\r\n").contains("7.3"));
    assert!(refused(b"MATLAB 7.3 MAT-file, ...").contains("7.3"));
    assert!(refused(&[0, 0, 0, 0, 3, 0, 0, 0]).contains("version 4"));
    let mut header = LITTLE.header();
    header[125] = 2;
    assert!(refused(&header).contains("7.3"));
    header[126] = b'x';
    assert!(refused(&header).contains("byte order"));
    assert!(refused(b"MATLAB 5.0").starts_with("cut short"));
}

#[test]
fn claims_cost_nothing() {
    // Three billion values, in a variable that claims to hold them.
    let mut huge = LITTLE.variable("X", CLASS_DOUBLE, &[60_000., 50_000.], &[]);
    huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    huge.extend([LITTLE.word(MI_U8), LITTLE.word(3_000_000_000)].concat());
    assert!(message(huge.clone()).contains("cut short"), "{}", message(huge));
    let parts = [vec![], LITTLE.numbers(MI_I32, &[0., 0., 0.]), vec![]]
        .map(|p| if p.is_empty() { LITTLE.numbers(MI_F64, &[]) } else { p });
    let rows = LITTLE.variable("X", CLASS_SPARSE, &[2e9, 2.], &parts);
    assert!(message(rows).contains("with only 0 entries"));
    // Three megabytes of ones in a few kilobytes.
    let bomb = LITTLE.dense("X", 9, MI_U8, (1, 3_000_000), &vec![1.0; 3_000_000]);
    assert!(message(LITTLE.compressed(&bomb)).contains("limit"));
}

#[test]
fn places_are_whole_numbers() {
    let sparse = |rows: &[f64], pointers: &[f64]| {
        let parts = [rows, pointers, &[5., 7.]].map(|p| LITTLE.numbers(MI_F64, p));
        let bytes = LITTLE.file(&[LITTLE.variable("S", CLASS_SPARSE, &[3., 3.], &parts)]);
        parse_bytes(&bytes).map_err(|e| e.to_string())
    };
    sparse(&[1., 0.], &[0., 1., 2., 2.]).unwrap();
    for bad in [0.9, -0.9, f64::NAN, f64::INFINITY] {
        let message = sparse(&[1., bad], &[0., 1., 2., 2.]).unwrap_err();
        let expected = format!("`S`: {bad} among its row indices, expected whole numbers");
        assert!(message.contains(&expected), "{message}");
        let message = sparse(&[1., 0.], &[0., 1., bad, 2.]).unwrap_err();
        assert!(message.contains("among its column pointers"), "{message}");
    }
    assert!(sparse(&[1., 1e300], &[0., 1., 2., 2.]).is_err());
    // Dimensions that are stored as floats, as no writer does.
    let mut body = LITTLE.element(6, &[LITTLE.word(CLASS_DOUBLE), LITTLE.word(0)].concat());
    body.extend(LITTLE.numbers(MI_F64, &[1.5, 2.]));
    let message = message(LITTLE.element(MI_MATRIX, &body));
    assert!(message.contains("1.5 among its dimensions"), "{message}");
}

#[test]
fn cut_anywhere_is_an_error() {
    for w in BOTH {
        let variables = mixed(w);
        let mut ends = vec![];
        for variable in &variables {
            ends.push(ends.last().unwrap_or(&128) + variable.len());
        }
        let bytes = w.file(&variables);
        for cut in 0..bytes.len() {
            match parse_bytes(&bytes[..cut]) {
                // Between two variables the shorter file is a whole one.
                Ok(_) => assert!(ends.contains(&cut), "cut at {cut}"),
                Err(e) if cut > 128 => assert!(e.message.contains("cut short"), "{cut}: {e}"),
                Err(_) => {}
            }
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for w in BOTH {
        let bytes = w.file(&mixed(w));
        for _ in 0..20_000 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(4) {
                let at = random(damaged.len());
                damaged[at] = random(256) as u8;
            }
            let _ = parse_bytes(&damaged);
        }
    }
}

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;
use crate::matrix::{Csr, Dense, Matrix};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pickle")
}

/// All data pickles of `scripts/fixtures.py`, by name.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pkl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    all.sort();
    assert!(all.len() > 40, "the fixtures are missing");
    all
}

fn get<'a>(arrays: &'a [NamedArray], name: &str) -> &'a Array {
    &arrays.iter().find(|a| a.name == name).unwrap().array
}

fn sparse(rows: usize, cols: usize, entries: &[(u32, u32, f32)]) -> Array {
    Array::Matrix(Matrix::Sparse(Csr::from_triplets(rows, cols, entries.to_vec()).unwrap()))
}

fn layer() -> Array {
    sparse(4, 4, &[(0, 1, 1.0), (1, 0, 1.0), (1, 3, 2.0), (3, 1, 200.0), (3, 3, 5.0)])
}

fn feature() -> Array {
    sparse(4, 5, &[(0, 1, 3.0), (1, 4, 7.0), (3, 0, 9.0)])
}

fn column(values: &[f64]) -> Array {
    Array::Vector { values: values.to_vec(), shape: (values.len(), 1) }
}

fn strings(texts: &[&str]) -> Array {
    Array::Strings(texts.iter().map(|t| (*t).to_owned()).collect())
}

fn refusal(bytes: &[u8]) -> String {
    parse(bytes).unwrap_err().to_string()
}

#[test]
fn every_protocol_format_and_type_gives_the_same_arrays() {
    let label = Dense::from_vec(4, 2, vec![1., 0., 0., 1., 0., 1., 1., 0.]).unwrap();
    let mut seen = 0;
    for (name, bytes) in fixtures().iter().filter(|(name, _)| name.starts_with('p')) {
        if name.starts_with("plain") {
            continue;
        }
        let arrays = parse(bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(*get(&arrays, "layer"), layer(), "{name}");
        assert_eq!(*get(&arrays, "feature"), feature(), "{name}");
        let label = Array::Matrix(Matrix::Dense(label.clone()));
        assert_eq!(*get(&arrays, "label"), label, "{name}");
        assert_eq!(*get(&arrays, "index"), column(&[3.0, 0.0, 2.0]), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 41);
}

#[test]
fn unsorted_columns_are_sorted_duplicates_summed_and_zeros_dropped() {
    let arrays = read(&folder().join("p4_untidy.pkl")).unwrap();
    assert_eq!(*get(&arrays, "coo"), layer());
    let names: Vec<_> = arrays.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["layer", "feature", "label", "index", "coo"]);
}

#[test]
fn bools_and_the_matrix_class() {
    let arrays = read(&folder().join("bools.pkl")).unwrap();
    let ones = [(0, 1, 1.0), (1, 0, 1.0), (1, 3, 1.0), (3, 1, 1.0), (3, 3, 1.0)];
    assert_eq!(*get(&arrays, "layer"), sparse(4, 4, &ones));
    assert_eq!(*get(&arrays, "mask"), sparse(4, 4, &ones));
    assert_eq!(*get(&arrays, "matrix"), feature());
}

#[test]
fn plain_values_are_vectors_and_strings() {
    for protocol in 2..=5 {
        let arrays = read(&folder().join(format!("plain_p{protocol}.pkl"))).unwrap();
        for ids in ["ids", "array_ids", "object_ids"] {
            assert_eq!(*get(&arrays, ids), strings(&["n0", "n1", "é"]), "{ids}");
        }
        assert_eq!(*get(&arrays, "bytes_ids"), strings(&["n0", "n1"]));
        assert_eq!(*get(&arrays, "split"), column(&[3.0, 0.0, 2.0]));
        assert_eq!(*get(&arrays, "scalars"), column(&[3.0, 0.5, 200.0, 1.0]));
        assert_eq!(*get(&arrays, "one"), Array::Vector { values: vec![1.5], shape: (1, 1) });
        assert_eq!(*get(&arrays, "empty"), column(&[]));
    }
}

#[test]
fn unusable_values_are_named_with_their_place() {
    let fixture = |name: &str| read(&folder().join(name)).unwrap_err().to_string();
    let overflow = fixture("overflow.pkl");
    assert!(overflow.contains("`feature`: 1e39 at row 1, column 1"), "{overflow}");
    assert!(overflow.contains("(at byte "), "{overflow}");
    assert!(fixture("object.pkl").contains("`a`: found an array of shape [1, 2]"));
    assert!(refusal(b"\x80\x02]q\x00.").contains("expected a dict"));
    assert!(refusal(b"\x80\x02}X\x01\x00\x00\x00aNs.").contains("`a`: found None"));
    assert!(refusal(b"\x80\x02}K\x01K\x02s.").contains("found the integer 1 as a key"));
    assert!(refusal(b"PK\x03\x04").contains("zip archive"));
    assert!(refusal(b"\x80\x06.").contains("protocol 6"));
    assert!(refusal(crate::io::torch::LEGACY_MAGIC).contains("PyTorch checkpoint"));
    assert!(refusal(b"\x80\x05").contains("end of the file"));
    assert!(refusal(b"\x80\x05\x97.").contains("outside the file"));
    assert!(refusal(b"\x80\x02K\x01Q.").contains("outside the file"));
}

#[test]
fn other_files_and_older_protocols_are_named_up_front() {
    let cases: [(&[u8], &str); 9] = [
        (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", "begins with `MATLAB 5.0`"),
        (b"these are words", "begins with `these are `"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", r"begins with `\x89PNG\r\n\x1a\n\x00\x00`"),
        (b"(dp0\nS'a'\np1\nI1\ns.", r"begins with `(dp0\nS\'a\'\n`"),
        (b"}q\x00X\x01\x00\x00\x00aK\x01s.", "begins with `}q"),
        (b"cos\nsystem\n(S'echo'\ntR.", r"begins with `cos\nsystem`"),
        (b"\x80\x01}.", r"begins with `\x80\x01}.`"),
        (b"\x80", r"begins with `\x80`"),
        (b"", "the file is empty"),
    ];
    for (bytes, found) in cases {
        let message = refusal(bytes);
        assert!(message.starts_with("not a pickle of protocol 2 to 5: the file "), "{message}");
        assert!(message.contains(found), "{message}");
    }
}

#[test]
fn code_is_refused_by_name() {
    let cases: [(&[u8], &str); 9] = [
        (b"\x80\x02cos\nsystem\n(S'echo'\ntR.", "os.system"),
        (b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00echo\x85R.", "posix.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04echo\x85R.", "os.system"),
        (b"\x80\x02(S'echo'\nios\nsystem\n.", "os.system"),
        (b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.", "__builtin__.eval"),
        (b"\x80\x03cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "builtins.eval"),
        (b"\x80\x03cbuiltins\ngetattr\n", "builtins.getattr"),
        (b"\x80\x04\x8c\x05numpy\x8c\x14ndarray.__reduce__.x\x93.", "numpy.ndarray.__reduce__"),
        (b"\x80\x02ctorch\nFloatStorage\n.", "torch.FloatStorage"),
    ];
    for (bytes, name) in cases {
        let message = refusal(bytes);
        assert!(message.starts_with(&format!("refused: the pickle names `{name}")), "{message}");
        assert!(message.contains("no code in a pickle is ever run"), "{message}");
    }
}

#[test]
fn allowed_functions_take_only_the_arguments_numpy_writes() {
    let cases: [&[u8]; 8] = [
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00rot\x86R.",
        b"\x80\x02c_codecs\nencode\n(K\x01K\x01tR.",
        b"\x80\x02cbuiltins\nbytes\nK\x09\x85R.",
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nc_codecs\nencode\nNN\x87R.",
        b"\x80\x02cnumpy\nndarray\n)R.",
        b"\x80\x02cnumpy\nndarray\n)\x81.",
        b"\x80\x02cscipy.sparse.csr\ncsr_matrix\nK\x01\x85\x81.",
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R.",
    ];
    for bytes in cases {
        let message = refusal(bytes);
        assert!(message.starts_with("refused: the pickle calls `"), "{message}");
    }
    assert!(refusal(b"\x80\x02K\x01)R.").contains("a call of the integer 1"));
    assert!(refusal(b"\x80\x02}}b]}b.").contains("a state for a list"));
    for name in ["U0", "S0", "c16", "V8"] {
        let mut call = b"\x80\x04\x8c\x05numpy\x8c\x05dtype\x93\x8c".to_vec();
        call.push(name.len() as u8);
        call.extend_from_slice(name.as_bytes());
        call.extend_from_slice(b"\x85R.");
        assert!(refusal(&call).starts_with(&format!("type `{name}`")), "{name}");
    }
    assert!(refusal(b"\x80\x02(icollections\nOrderedDict\n.").contains("opcode"));
}

#[test]
fn lengths_are_checked_before_anything_is_allocated() {
    for bytes in [
        &b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"[..],
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x80\x02X\xff\xff\xff\xff",
        b"\x80\x02\x8b\xff\xff\xff\xff",
    ] {
        assert!(refusal(bytes).contains("up to the end of the file"));
    }
    // Entries out of order are found again, also once the numbering has caught up with them.
    let arrays = parse(b"\x80\x02}q\x01X\x01\x00\x00\x00aq\x00h\x00q\x01h\x01K\x07s.");
    assert!(arrays.is_err_and(|e| e.message.contains("entries for the string `a`")));
    // A memo index is a key, not a size.
    assert!(refusal(b"\x80\x02}r\xff\xff\xff\xffj\xfe\xff\xff\xff.").contains("never stored"));
    let rows = |n: &[u8]| {
        let mut p = b"\x80\x02}X\x01\x00\x00\x00acscipy.sparse.coo\ncoo_matrix\n)\x81}".to_vec();
        p.extend_from_slice(b"X\x06\x00\x00\x00_shape");
        p.extend_from_slice(n);
        p.extend_from_slice(b"K\x03\x86sbs.");
        refusal(&p)
    };
    assert!(rows(b"J\xff\xff\xff\x7f").contains("found more values"));
    assert!(rows(b"K\x02").contains("without `row`"));
    assert!(rows(b"J\xff\xff\xff\xff").contains("expected a tuple of sizes"));
}

#[test]
fn shared_and_nested_values_do_not_explode() {
    let started = Instant::now();
    // A list of a hundred references to the list before it, sixty deep: 10^120 when expanded.
    let mut laughs = b"\x80\x02]q\x00".to_vec();
    for depth in 0..60u8 {
        laughs.extend_from_slice(b"](");
        (0..100).for_each(|_| laughs.extend_from_slice(&[b'h', depth]));
        laughs.extend_from_slice(&[b'e', b'q', depth + 1]);
    }
    laughs.push(b'.');
    assert!(refusal(&laughs).contains("found a list of 100"));

    // One string of a megabyte, asked for a thousand times.
    let mut long = b"\x80\x02}X\x01\x00\x00\x00a](X\x00\x00\x10\x00".to_vec();
    long.resize(long.len() + (1 << 20), b'x');
    long.extend_from_slice(b"q\x00");
    (0..1000).for_each(|_| long.extend_from_slice(b"h\x00"));
    long.extend_from_slice(b"es.");
    assert!(refusal(&long).contains("found more values"));

    // A name of a megabyte, looked at a hundred thousand times.
    let mut name = b"\x80\x02}(X\x00\x00\x10\x00".to_vec();
    name.resize(name.len() + (1 << 20), b'0');
    name.extend_from_slice(b"q\x00N");
    (0..100_000).for_each(|_| name.extend_from_slice(b"h\x00N"));
    name.extend_from_slice(b"u.");
    assert!(refusal(&name).contains("expected a short name"));

    // Nesting as deep as the file is long must neither recurse nor overflow when dropped.
    let mut deep = b"\x80\x02".to_vec();
    deep.resize(1 << 20, b']');
    deep.resize(deep.len() + (1 << 20) - 3, b'a');
    deep.push(b'.');
    assert!(refusal(&deep).contains("expected a dict"));

    // A list and a dict that contain themselves.
    assert!(refusal(b"\x80\x02}X\x01\x00\x00\x00a]q\x00h\x00as.").contains("item 0"));
    assert!(refusal(b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.").contains("found a dict"));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn every_truncation_is_an_error() {
    for (name, bytes) in fixtures() {
        for end in 0..bytes.len() {
            assert!(parse(&bytes[..end]).is_err(), "{name} cut at {end}");
        }
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let started = Instant::now();
    for (number, (_, bytes)) in fixtures().into_iter().enumerate() {
        for round in 0..400u64 {
            let mut damaged = bytes.clone();
            for flip in 0..1 + round % 4 {
                let draw = mix(number as u64 * 1_000_003 + round * 7 + flip);
                let at = (draw % bytes.len() as u64) as usize;
                damaged[at] = (draw >> 40) as u8;
            }
            // Damage inside a payload is not an error; it must only end, and end soon.
            let _ = parse(&damaged);
        }
    }
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

/// SplitMix64: a fixed sequence, so that a failure can be repeated.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

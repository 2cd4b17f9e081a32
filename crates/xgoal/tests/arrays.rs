//! Files that NumPy and SciPy wrote (`scripts/fixtures.py`) load to the values that went in.

use std::path::PathBuf;

use xgoal::io::arrays::{Array, NamedArray};
use xgoal::io::{mat, npy, npz};
use xgoal::matrix::{Csr, Dense, Matrix};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn named(name: &str, array: Array) -> NamedArray {
    NamedArray { name: name.into(), array }
}

fn layer(name: &str) -> NamedArray {
    let entries = vec![(0, 1, 1.0), (1, 0, 1.0), (2, 3, 2.5), (3, 3, -3.0)];
    named(name, Array::Matrix(Matrix::Sparse(Csr::from_triplets(4, 4, entries).unwrap())))
}

fn feature_values() -> Dense {
    Dense::from_vec(4, 2, (1..9).map(|v| v as f32).collect()).unwrap()
}

fn feature(name: &str) -> NamedArray {
    named(name, Array::Matrix(Matrix::Dense(feature_values())))
}

fn numbers(shape: (usize, usize)) -> NamedArray {
    named("numbers", Array::Vector { values: vec![0.0, 2.0, 70_000.0], shape })
}

fn ids() -> NamedArray {
    named("ids", Array::Strings(["a", "bc", "d", "é"].map(String::from).to_vec()))
}

#[test]
fn matlab_files_of_scipy() {
    let flags = vec![(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 3, 1.0)];
    let small = vec![(0, 1, 1.0), (1, 0, 1.0)];
    let sparse = |cols, entries| {
        Array::Matrix(Matrix::Sparse(Csr::from_triplets(4, cols, entries).unwrap()))
    };
    let expected = [
        layer("PAP"),
        layer("PLP"),
        named("flags", sparse(4, flags)),
        named("small", sparse(2, small)),
        feature("feature"),
        numbers((1, 3)),
        ids(),
    ];
    for file in ["plain.mat", "compressed.mat"] {
        assert_eq!(mat::read(&fixture(file)).unwrap(), expected, "{file}");
    }
}

#[test]
fn numpy_arrays() {
    for name in ["feature", "fortran"] {
        let path = fixture(&format!("{name}.npy"));
        assert_eq!(npy::read(&path).unwrap(), feature(name));
        assert_eq!(npy::read_f32_matrix(&path).unwrap(), feature_values());
    }
    let mut written = Vec::new();
    npy::write_f32(&mut written, &feature_values()).unwrap();
    assert_eq!(written, std::fs::read(fixture("feature.npy")).unwrap());
}

#[test]
fn numpy_and_scipy_archives() {
    let mut arrays = npz::read(&fixture("arrays.npz")).unwrap();
    arrays.sort_by(|a, b| a.name.cmp(&b.name));
    let expected = [layer("PAP"), layer("PLP"), feature("feature"), ids(), numbers((3, 1))];
    assert_eq!(arrays, expected);
    for name in ["csr", "csc_array", "coo"] {
        assert_eq!(npz::read(&fixture(&format!("{name}.npz"))).unwrap(), [layer(name)]);
    }
}

#[test]
fn errors_name_the_file() {
    let missing = mat::read(&fixture("none.mat")).unwrap_err().to_string();
    assert!(missing.contains("none.mat"), "{missing}");
    let wrong = mat::read(&fixture("feature.npy")).unwrap_err().to_string();
    assert!(wrong.contains("feature.npy") && wrong.contains("not a MATLAB file"), "{wrong}");
}

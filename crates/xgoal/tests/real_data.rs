//! The paper's own data sets and checkpoints, where they lie beside the project in `../shared`.
//!
//! They are not the project's to give away, so these tests say that they were skipped where they are not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use xgoal::graph::MultiplexGraph;
use xgoal::io::source::read_source;
use xgoal::io::torch::{is_zip, read_state_dict};

/// Set where this program is to load one file and say what memory that took.
const LOAD: &str = "XGOAL_TEST_LOAD";

fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if folder.join("data").is_dir() {
        return Some(folder);
    }
    // Written past the harness, which would keep a passing test's words to itself.
    std::io::stderr().write_all(b"skipped: ../shared is not there\n").unwrap();
    None
}

fn graph(path: &Path) -> MultiplexGraph {
    read_source(path, None).unwrap_or_else(|e| panic!("{e}"))
}

/// Stored edges of each layer, by name.
fn edges(graph: &MultiplexGraph) -> BTreeMap<&str, usize> {
    graph.layers().iter().map(|l| (l.name.as_str(), l.adjacency.nnz())).collect()
}

/// Rows, columns and non-zeros of the attributes.
fn attributes(graph: &MultiplexGraph) -> (usize, usize, usize) {
    let attributes = graph.attributes();
    (attributes.rows(), attributes.cols(), attributes.nonzeros())
}

/// Sizes of train, validation and test splits, which must not overlap.
fn split_sizes(graph: &MultiplexGraph) -> [usize; 3] {
    let splits = graph.splits().expect("the file has splits");
    let all: BTreeSet<u32> =
        [&splits.train, &splits.val, &splits.test].into_iter().flatten().copied().collect();
    let sizes = [splits.train.len(), splits.val.len(), splits.test.len()];
    assert_eq!(all.len(), sizes.iter().sum::<usize>());
    sizes
}

/// Number of classes; every node of these data sets has one.
fn classes(graph: &MultiplexGraph) -> usize {
    let labels = graph.labels().expect("the file has labels");
    assert!(labels.classes.iter().all(Option::is_some));
    labels.names.len()
}

/// Layers by name and splits as sets: the order of neither means anything.
fn assert_same(small: &MultiplexGraph, published: &MultiplexGraph) {
    for layer in published.layers() {
        let same = small.layers().iter().find(|l| l.name == layer.name);
        let same = same.unwrap_or_else(|| panic!("no layer {}", layer.name));
        assert!(same.adjacency == layer.adjacency, "{} differs", layer.name);
    }
    assert!(small.attributes() == published.attributes(), "the attributes differ");
    assert!(small.labels() == published.labels(), "the labels differ");
    let sets = |graph: &MultiplexGraph| -> [BTreeSet<u32>; 3] {
        let splits = graph.splits().expect("the file has splits");
        [&splits.train, &splits.val, &splits.test].map(|s| s.iter().copied().collect())
    };
    assert!(sets(small) == sets(published), "the splits differ");
}

/// Most memory a fresh process held while it loaded the file.
fn peak_bytes(path: &Path) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "loading_in_a_process_of_its_own", "--nocapture"])
        .env(LOAD, path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|l| l.split_once("VmHWM:")).expect("the process says it").1;
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn loading_in_a_process_of_its_own() {
    let Some(path) = std::env::var_os(LOAD) else { return };
    assert!(graph(Path::new(&path)).nodes() > 0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    // After a line feed, as the harness has begun a line of its own.
    println!("\n{}", status.lines().find(|l| l.starts_with("VmHWM:")).unwrap());
}

#[test]
fn acm_has_the_paper_s_counts() {
    let Some(shared) = shared() else { return };
    let acm = graph(&shared.join("data/acm.mat"));
    assert_eq!(edges(&acm)["PLP"], 2_210_761);
    assert_eq!(edges(&acm)["PAP"], 29_281);
    assert_eq!(edges(&acm).into_keys().collect::<Vec<_>>(), ["PAP", "PLP", "PMP", "PTP"]);
    assert_eq!(attributes(&acm), (3025, 1870, 253_300));
    assert_eq!(split_sizes(&acm), [600, 300, 2125]);
    assert_eq!(classes(&acm), 3);
}

#[test]
fn imdb_has_the_paper_s_counts() {
    let Some(shared) = shared() else { return };
    let imdb = graph(&shared.join("data/imdb.pkl"));
    assert_eq!(edges(&imdb), BTreeMap::from([("MAM", 66_428), ("MDM", 13_788)]));
    assert_eq!(attributes(&imdb), (3550, 2000, 270_527));
    assert_eq!(split_sizes(&imdb), [300, 300, 2950]);
    assert_eq!(classes(&imdb), 3);
}

#[test]
fn published_files_hold_the_same_and_load_within_twice_their_size() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let zipped = File::open(shared.join("data/published.zip")).unwrap();
    zip::ZipArchive::new(zipped).unwrap().extract(folder.path()).unwrap();
    for (name, layers) in [("acm.mat", &["PAP", "PLP", "PTP"][..]), ("imdb.pkl", &["MAM", "MDM"])] {
        let path = folder.path().join(name);
        let published = graph(&path);
        assert_eq!(edges(&published).into_keys().collect::<Vec<_>>(), layers);
        assert_same(&graph(&shared.join("data").join(name)), &published);
        if cfg!(target_os = "linux") {
            let (peak, size) = (peak_bytes(&path), path.metadata().unwrap().len());
            eprintln!("{name}: {size} bytes, {peak} at the peak");
            assert!(peak < 2 * size, "{name}: {peak} bytes for a file of {size}");
        }
    }
}

#[test]
fn published_checkpoints_have_the_encoders_tensors() {
    let Some(shared) = shared() else { return };
    let expected: BTreeMap<String, Vec<usize>> = (0..2)
        .flat_map(|v| {
            let named =
                move |name: &str, shape: &[usize]| (format!("gcn_list.{v}.{name}"), shape.to_vec());
            [
                named("fc.weight", &[128, 1870]),
                named("proj.weight", &[128, 1870]),
                named("bias", &[128]),
                named("proj.bias", &[128]),
            ]
        })
        .collect();
    for name in ["acm_xgoal.pkl", "warmup_acm_xgoal.pkl"] {
        let path = shared.join("checkpoints").join(name);
        assert!(is_zip(&path).unwrap());
        let tensors = read_state_dict(&path).unwrap_or_else(|e| panic!("{e}"));
        let found = tensors.iter().map(|t| (t.name.clone(), t.shape.clone())).collect();
        assert_eq!(expected, found, "{name}");
        for tensor in tensors {
            assert_eq!(tensor.values.len(), tensor.shape.iter().product::<usize>());
            assert!(tensor.values.iter().all(|v| v.is_finite()), "{name}: {}", tensor.name);
            assert!(tensor.values.iter().any(|v| *v != 0.0), "{name}: {}", tensor.name);
        }
    }
}

//! The Debian example: its script and its manifest, on a handful of invented packages.

use crate::common::Sandbox;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/debian").join(name)
}

/// The example's folder with the tables of the sample.
fn debian() -> Sandbox {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.path("debian")).unwrap();
    sandbox.write("debian/graph.toml", std::fs::read(example("graph.toml")).unwrap());
    let built = Command::new("python3")
        .arg(example("build.py"))
        .arg(example("tests/sample.txt"))
        .arg("--out")
        .arg(sandbox.path("debian/tables"))
        .args(["--least", "3"])
        .output()
        .expect("the Debian example needs python3");
    assert!(built.status.success(), "{built:#?}");
    sandbox
}

#[test]
fn from_stanzas_to_scores_and_back_to_names() {
    let sandbox = debian();
    let info = sandbox.xgoal(&["info", "debian", "--json"]).done().json();
    assert_eq!((&info["nodes"], &info["classes"]), (&18.into(), &3.into()));
    let layers = info["layers"].as_array().unwrap();
    let names: Vec<&str> = layers.iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["depends", "suggests", "source", "maintainer"]);
    // Eleven pairs, both ways. Sources of 3, 2 and 3 packages, and ten of one.
    assert_eq!(layers[0]["edges"], 22);
    assert_eq!(layers[2]["edges"], 9 + 4 + 9 + 10);
    assert_eq!(layers[3]["isolated"], 1, "the package that nobody maintains");
    assert_eq!(info["empty_feature_rows"], 1, "the package that nobody describes");

    sandbox.train("debian", "run", &[]);
    let scores = sandbox.xgoal(&["eval", "run", "debian", "--json"]).done().json();
    assert!(scores["macro_f1"]["mean"].as_f64().unwrap() > 0.0, "{scores}");
    let ids = sandbox.text("run/ids.txt");
    assert_eq!(ids.lines().next(), Some("starmap"));
    assert_eq!(ids.lines().count(), 18);
}

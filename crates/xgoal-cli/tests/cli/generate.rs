use crate::common::{Sandbox, assert_keys, assert_says};

const SMALL: [&str; 9] =
    ["generate", "--nodes", "80", "--classes", "4", "--features", "30", "--json", "--out"];

#[test]
fn a_source_that_every_command_reads() {
    let sandbox = Sandbox::empty();
    let args = [&SMALL[..], &["planted", "--layers", "3", "--dense-features", "5"]].concat();
    let report = sandbox.xgoal(&args).done().json();
    assert_keys(&report, &["source", "nodes", "features", "layers", "files", "seconds"]);
    let files = ["dense.npy", "graph.toml", "layer0.npz", "layer1.npz", "layer2.npz", "nodes.csv"];
    assert_eq!(sandbox.list("planted"), [&files[..], &["words.npz"]].concat());

    for source in ["planted", "planted/graph.toml"] {
        let info = sandbox.xgoal(&["info", source, "--json"]).done().json();
        assert_eq!((&info["nodes"], &info["features"]), (&report["nodes"], &report["features"]));
        assert_eq!(info["classes"], 4);
        assert_eq!(info["splits"]["train"], 16);
        for layer in 0..3 {
            let found = &info["layers"][layer];
            assert_eq!(found["edges"], report["layers"][layer]["edges"]);
            assert_eq!((&found["symmetric"], &found["self_loops"]), (&true.into(), &0.into()));
        }
    }
    sandbox.train("planted", "run", &["--layers", "layer2,layer0"]);
    sandbox.xgoal(&["eval", "run", "planted"]).done();
}

#[test]
fn a_seed_makes_the_same_files_for_any_number_of_threads() {
    let sandbox = Sandbox::empty();
    sandbox.xgoal(&[&SMALL[..], &["a", "--threads", "1"]].concat()).done();
    sandbox.xgoal(&[&SMALL[..], &["b", "--threads", "2"]].concat()).done();
    sandbox.xgoal(&[&SMALL[..], &["c", "--seed", "1"]].concat()).done();
    for file in sandbox.list("a") {
        let read = |folder: &str| sandbox.read(&format!("{folder}/{file}"));
        assert!(read("a") == read("b"), "{file}");
        assert!(file == "nodes.csv" || file == "graph.toml" || read("a") != read("c"), "{file}");
    }
}

#[test]
fn what_cannot_be_planted_is_refused() {
    let sandbox = Sandbox::empty();
    let refused =
        |more: &[&str]| sandbox.xgoal(&[&["generate", "--out", "g"], more].concat()).refused(2);
    assert_says(&refused(&["--classes", "5"]), &["--classes 5", "even"]);
    assert_says(&refused(&["--nodes", "20"]), &["--nodes 20", "6 classes"]);
    assert_says(&refused(&["--features", "0"]), &["--features or --dense-features"]);
    assert_says(&refused(&["--degree", "100000"]), &["--degree 100000", "at most 1199", "1200"]);
    let many = refused(&["--nodes", "100000000000"]);
    assert_eq!(many, "--nodes 100000000000: expected at most 4294967294");
    for flag in ["--features", "--dense-features"] {
        let many = refused(&[flag, "4294967296"]);
        assert_eq!(many, format!("{flag} 4294967296: expected at most 268435456"));
    }
    assert!(!sandbox.exists("g"));
    sandbox.xgoal(&["generate", "--out", "g"]).done();
    let again = sandbox.xgoal(&["generate", "--out", "g"]).refused(3);
    assert_says(&again, &["already a source"]);
    let manifest = sandbox.text("g/graph.toml").replace("layer1.npz", "../layer1.npz");
    sandbox.write("g/graph.toml", manifest);
    let escape = sandbox.xgoal(&["info", "g"]).refused(3);
    assert_says(&escape, &["g/graph.toml: line", "`../layer1.npz`", "folder or below"]);
}

//! Embeddings in every format, out and in again.

use crate::common::{HARD_IDS, Sandbox, assert_says, hard_graph};
use crate::npz::Npz;

/// A file's name, the format it is written in, and the file with its ids.
const FILES: [(&str, &str, &str); 7] = [
    ("z.npy", "npy", "z.ids.json"),
    ("z.parquet", "parquet", "z.parquet"),
    ("z.csv", "csv", "z.csv"),
    ("z.tsv", "tsv", "z.tsv"),
    ("z.safetensors", "safetensors", "z.safetensors"),
    ("z.vec", "word2vec", "z.vec"),
    ("z.vectors.tsv", "projector", "z.metadata.tsv"),
];

fn with_hard_run() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", Npz::of(&hard_graph()).bytes());
    sandbox.train("graph.npz", "run", &[]);
    sandbox
}

#[test]
fn every_format_holds_the_same_rows_under_the_same_ids() {
    let sandbox = with_hard_run();
    let scores = |what: &str| sandbox.xgoal(&["eval", what, "graph.npz", "--json"]).done().json();
    let near =
        |what: &str, id: &str| sandbox.xgoal(&["similar", what, "--json", "--", id]).done().json();
    let expected = scores("run");
    for (name, format, ids) in FILES {
        let args = ["embed", "run", "graph.npz", "--out", name, "--json"];
        let report = sandbox.xgoal(&args).done().json();
        assert_eq!(report["format"], format);
        let files = report["files"].as_array().unwrap();
        assert!(files.iter().any(|f| f == ids) && files.iter().any(|f| f == name), "{report}");
        assert_eq!(scores(name), expected, "{name}");
        for id in HARD_IDS {
            let found = near(name, id);
            assert_eq!((&found["node"], &found), (&id.into(), &near("run", id)), "{name}");
        }
    }
}

#[test]
fn a_run_keeps_the_format_it_was_asked_for() {
    let sandbox = with_hard_run();
    for (_, format, _) in FILES {
        let run = format!("run-{format}");
        sandbox.train("graph.npz", &run, &["--format", format]);
        let files = sandbox.list(&run);
        let npy = files.iter().any(|f| f == "embeddings.npy" || f.starts_with("ids."));
        assert_eq!(npy, format == "npy", "{files:?}");
        let eval = |run: &str| sandbox.xgoal(&["eval", run, "graph.npz", "--json"]).done().json();
        assert_eq!(eval(&run), eval("run"), "{format}");
    }
}

#[test]
fn formats_are_told_apart_by_name_or_by_flag() {
    let sandbox = Sandbox::with_run();
    let embed =
        |more: &[&str]| sandbox.xgoal(&[&["embed", "run", "graph.npz", "--out"], more].concat());
    assert_says(&embed(&["z"]).refused(2), &["--out z", ".parquet", "--format"]);
    assert_says(&embed(&["z.mat"]).refused(2), &["--out z.mat", ".npy"]);
    let message = embed(&["z.npy", "--format", "csv"]).refused(2);
    assert_says(&message, &["--format csv", "that of a npy file"]);
    let message = embed(&["z.npy", "--format", "hdf5"]).refused(2);
    assert_says(&message, &["hdf5", "word2vec", "projector"]);
    assert_eq!(sandbox.list("."), ["graph.npz", "run"]);

    // Names that say nothing, or too little.
    for (name, format) in [("z", "csv"), ("y", "parquet"), ("x.tsv", "projector"), ("w", "npy")] {
        embed(&[name, "--format", format]).done();
        let plain = sandbox.xgoal(&["eval", name, "graph.npz"]);
        assert_says(&plain.refused(3), &[name]);
        let flags = ["eval", name, "graph.npz", "--format", format];
        sandbox.xgoal(&flags).done();
    }
    embed(&["v.txt"]).done();
    assert!(sandbox.text("v.txt").starts_with("60 8\n"));
}

#[test]
fn layers_of_any_format_have_their_ids() {
    let sandbox = Sandbox::with_run();
    for (out, layer) in [("z.csv", "z.layer1.csv"), ("z.vectors.tsv", "z.layer1.vectors.tsv")] {
        sandbox.xgoal(&["embed", "run", "graph.npz", "--out", out, "--per-layer"]).done();
        sandbox.xgoal(&["eval", layer, "graph.npz"]).done();
    }
}

#[test]
fn damage_names_file_and_line() {
    let sandbox = Sandbox::with_run();
    sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.csv"]).done();
    let good = sandbox.text("z.csv");
    let refused = |text: &str| {
        sandbox.write("z.csv", text);
        sandbox.xgoal(&["eval", "z.csv", "graph.npz"]).refused(3)
    };
    let cut: Vec<&str> = good.lines().take(60).collect();
    assert_says(&refused(&cut.join("\n")), &["z.csv: no row for the node"]);
    let line = good.lines().nth(4).unwrap();
    let short = line.rsplit_once(',').unwrap().0;
    assert_says(&refused(&good.replace(line, short)), &["z.csv: line 5: 8 fields; expected 9"]);
    let wrong = format!("{short},much");
    assert_says(&refused(&good.replace(line, &wrong)), &["z.csv: line 5, column `e7`: `much`"]);
    let twice = format!("{good}{line}\n");
    assert_says(&refused(&twice), &["z.csv: the id", "stands for two rows"]);
}

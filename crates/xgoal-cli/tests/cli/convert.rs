use crate::common::{HARD_IDS, Sandbox, assert_says, hard_graph};
use crate::npz::Npz;
use serde_json::Value;

/// What `info` says of a source's content.
fn content(sandbox: &Sandbox, source: &str) -> Value {
    let mut info = sandbox.xgoal(&["info", source, "--json"]).done().json();
    let object = info.as_object_mut().unwrap();
    object.remove("read_seconds");
    object.remove("source");
    info
}

#[test]
fn around_all_forms_a_graph_stays_the_same() {
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", Npz::of(&hard_graph()).bytes());
    let forms = [
        ("graph.npz", "csv", None),
        ("csv", "tsv", Some("tsv")),
        ("tsv/graph.toml", "parquet/graph.toml", Some("parquet")),
        ("parquet", "back.npz", None),
    ];
    for (from, to, tables) in forms {
        let mut args = vec!["convert", from, to, "--json"];
        args.extend(tables.iter().flat_map(|kind| ["--tables", kind]));
        let report = sandbox.xgoal(&args).done().json();
        assert_eq!((&report["nodes"], &report["dest"]), (&60.into(), &to.into()));
        assert_eq!(content(&sandbox, to), content(&sandbox, "graph.npz"), "{to}");
    }
    assert_eq!(sandbox.list("parquet").last().unwrap(), "nodes.parquet");
    // Trained on either, with the same seed, the same bits come out.
    sandbox.train("graph.npz", "run", &[]);
    for source in ["csv", "parquet", "back.npz"] {
        let run = format!("run-{}", source.replace('.', "-"));
        sandbox.train(source, &run, &[]);
        let file = |run: &str| sandbox.read(&format!("{run}/embeddings.npy"));
        assert!(file(&run) == file("run"), "{source}");
        let ids = sandbox.text(&format!("{run}/ids.json"));
        let ids: Vec<String> = serde_json::from_str(&ids).unwrap();
        assert_eq!(ids[..HARD_IDS.len()], HARD_IDS);
    }
}

#[test]
fn only_the_layers_asked_for_are_written() {
    let sandbox = Sandbox::with_graph();
    sandbox.xgoal(&["convert", "graph.npz", "one", "--layers", "layer1"]).done();
    assert_eq!(sandbox.list("one"), ["feature.npz", "graph.toml", "layer1.csv", "nodes.csv"]);
    let table = sandbox.text("one/layer1.csv");
    assert!(table.starts_with("source,target\n\"Nº"), "{table}");
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let sandbox = Sandbox::with_graph();
    let refused = |code: i32, args: &[&str]| {
        sandbox.xgoal(&[&["convert", "graph.npz"], args].concat()).refused(code)
    };
    assert_says(&refused(2, &["x.mat"]), &["x.mat: expected an .npz file, or a folder"]);
    assert_says(&refused(2, &["x.npz", "--tables", "csv"]), &["--tables csv: there are none"]);
    assert_says(&refused(2, &["x", "--tables", "xlsx"]), &["xlsx", "parquet"]);
    assert_says(&refused(2, &["x", "--layers", "layer7"]), &["layer7"]);
    assert_says(&refused(3, &["graph.npz/x"]), &["graph.npz"]);
    assert!(!sandbox.exists("x"));
    sandbox.xgoal(&["convert", "graph.npz", "x"]).done();
    assert_says(&refused(3, &["x"]), &["x: there is already a source here"]);
    let missing = sandbox.xgoal(&["convert", "no.npz", "y"]).refused(3);
    assert_says(&missing, &["no.npz: No such file"]);
}

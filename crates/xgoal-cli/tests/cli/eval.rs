use crate::common::{Sandbox, assert_keys, assert_says, keys, overlapping, small_graph};
use crate::npz::Npz;
use xgoal::io::npy::{read_f32_matrix, write_f32};
use xgoal::matrix::Dense;

const BASELINES: [&str; 3] = ["attributes", "averaged", "structure"];

fn npy(matrix: &Dense) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_f32(&mut bytes, matrix).unwrap();
    bytes
}

#[test]
fn json_has_the_documented_shape() {
    let sandbox = Sandbox::with_run();
    let scores = sandbox.xgoal(&["eval", "run", "graph.npz", "--json"]).done().json();
    let baselines = &scores["baselines"];
    assert_keys(baselines, &BASELINES);
    for scores in BASELINES.iter().map(|name| &baselines[name]).chain([&scores]) {
        for name in ["macro_f1", "micro_f1", "nmi"] {
            assert_keys(&scores[name], &["mean", "std"]);
            let mean = scores[name]["mean"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&mean), "{name} is {mean}");
            assert!(scores[name]["std"].as_f64().unwrap() >= 0.0);
        }
        assert_eq!(keys(&scores["sim"]), ["10", "100", "20", "5", "50"]);
        assert!(scores["sim"].as_object().unwrap().values().all(|v| v.is_number()));
    }
}

#[test]
fn the_result_stands_above_what_there_is_without_training() {
    let sandbox = Sandbox::with_run();
    let eval = |flags: &[&str]| {
        sandbox.xgoal(&[&["eval", "run", "graph.npz"], flags].concat()).done().stdout
    };
    let text = eval(&[]);
    assert_says(&text, &["Macro-F1", "Micro-F1", "NMI", "Sim@5", "Sim@100"]);
    let line = |start: &str| text.lines().position(|line| line.starts_with(start)).unwrap();
    assert!(line("embeddings ") < line("attributes alone"), "{text}");
    assert!(line("attributes alone") < line("attributes averaged"), "{text}");
    assert!(line("attributes averaged") < line("structure alone"), "{text}");
    let alone = eval(&["--no-baselines"]);
    assert!(alone.starts_with("Macro-F1 ") && text.ends_with(&alone), "{alone}");
    let json =
        sandbox.xgoal(&["eval", "run", "graph.npz", "--no-baselines", "--json"]).done().json();
    assert!(json.get("baselines").is_none(), "{json}");
}

#[test]
fn a_run_and_its_embeddings_score_the_same() {
    let sandbox = Sandbox::with_run();
    let eval = |what: &str| sandbox.xgoal(&["eval", what, "graph.npz", "--json"]).done().json();
    assert_eq!(eval("run"), eval("run/embeddings.npy"));
}

#[test]
fn rows_are_matched_by_id() {
    let sandbox = Sandbox::with_run();
    let z = read_f32_matrix(&sandbox.path("run/embeddings.npy")).unwrap();
    let reversed: Vec<u32> = (0..60).rev().collect();
    sandbox.write("z.npy", npy(&z.select_rows(&reversed)));
    let ids: Vec<String> = (0..60).rev().map(|n| small_graph().id(n) + "\n").collect();
    sandbox.write("z.ids.txt", ids.concat());
    let eval = |what: &str| sandbox.xgoal(&["eval", what, "graph.npz", "--json"]).done().json();
    assert_eq!(eval("z.npy"), eval("run"));
    // Without ids the order of the rows is all there is.
    std::fs::remove_file(sandbox.path("z.ids.txt")).unwrap();
    assert_ne!(eval("z.npy"), eval("run"));
}

#[test]
fn without_labels_or_splits_there_is_nothing_to_score() {
    let sandbox = Sandbox::with_run();
    for missing in ["label", "val_idx"] {
        let mut npz = Npz::of(&small_graph());
        npz.remove(missing);
        sandbox.write("bare.npz", npz.bytes());
        let message = sandbox.xgoal(&["eval", "run", "bare.npz"]).refused(3);
        assert_says(&message, &["bare.npz", missing]);
    }
}

#[test]
fn splits_that_share_nodes_are_not_scored_but_trained_on() {
    let sandbox = Sandbox::empty();
    sandbox.write("both.npz", overlapping().bytes());
    sandbox.train("both.npz", "run", &[]);
    let first = *small_graph().splits().unwrap().train.iter().min().unwrap() as usize;
    let share = format!("`{}` among them", small_graph().id(first).escape_debug());
    let says = ["the train and the test split share ", " nodes, ", &share];
    let message = sandbox.xgoal(&["eval", "run", "both.npz"]).refused(3);
    assert_says(&message, &[&["run/embeddings.npy on both.npz"], &says[..]].concat());
    let info = sandbox.xgoal(&["info", "both.npz"]).done().stdout;
    assert_says(&info, &[&["note "], &says[..], &["evaluation will refuse"]].concat());
    let notes = sandbox.xgoal(&["info", "both.npz", "--json"]).done().json()["notes"].clone();
    assert_says(notes[0].as_str().unwrap(), &says);
    let report = sandbox.xgoal(&["report", "run", "both.npz"]).done();
    assert_says(&report.stderr, &["no scores: ", "the train and the test split share"]);
    assert!(!sandbox.text("run/report.html").contains("<section id=\"quality\""));
}

#[test]
fn embeddings_of_other_nodes_are_refused() {
    let sandbox = Sandbox::with_run();
    let z = read_f32_matrix(&sandbox.path("run/embeddings.npy")).unwrap();
    let fewer = z.select_rows(&(0..59).collect::<Vec<_>>());
    sandbox.write("z.npy", npy(&fewer));
    let eval = || sandbox.xgoal(&["eval", "z.npy", "graph.npz"]).refused(3);
    assert_says(&eval(), &["z.npy", "59 rows", "60 nodes"]);
    let ids: Vec<String> = (0..60).map(|n| small_graph().id(n) + "\n").collect();
    sandbox.write("z.ids.txt", ids.concat());
    assert_says(&eval(), &["z.ids.txt", "60 ids", "59 rows"]);
    sandbox.write("z.ids.txt", ids[..59].concat());
    assert_says(&eval(), &["z.npy", "no row for the node", &small_graph().id(59)]);
}

#[test]
fn what_is_no_embedding_is_refused() {
    let sandbox = Sandbox::with_run();
    let z = sandbox.read("run/embeddings.npy");
    sandbox.write("cut.npy", &z[..z.len() - 10]);
    let mut nan = z.clone();
    let end = nan.len();
    nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    sandbox.write("nan.npy", nan);
    sandbox.write("words.npy", "no embeddings");
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for name in ["cut.npy", "nan.npy", "words.npy", "missing.npy", "folder"] {
        assert_says(&sandbox.xgoal(&["eval", name, "graph.npz"]).refused(3), &[name]);
    }
}

#[test]
fn a_source_that_needs_its_layers_named_can_be_scored() {
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    npz.floats("paper_author", &[60, 2], &[1.0; 120]);
    sandbox.write("graph.npz", npz.bytes());
    let layers = ["--layers", "layer0,layer1"];
    sandbox.train("graph.npz", "run", &layers);
    sandbox.xgoal(&["eval", "run", "graph.npz"]).done();
    let eval = ["eval", "run/embeddings.npy", "graph.npz"];
    assert_says(&sandbox.xgoal(&eval).refused(3), &["`paper_author` is 60 x 2", "--layers"]);
    sandbox.xgoal(&[&eval[..], &layers].concat()).done();
}

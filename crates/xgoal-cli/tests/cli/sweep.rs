use crate::common::{QUICK, Sandbox, assert_says, planted, small_graph};
use crate::npz::Npz;
use xgoal::graph::planted::Planted;

fn sweep(sandbox: &Sandbox, more: &[&str]) -> crate::common::Outcome {
    let fixed = &QUICK[..2];
    sandbox.xgoal(
        &[&["sweep", "graph.npz", "--out", "s", "--set", "max_epochs=4"], fixed, more].concat(),
    )
}

#[test]
fn every_combination_is_trained_once() {
    let sandbox = Sandbox::with_graph();
    let grid = ["--set", "clusters=3,[4,5]", "--set", "seed=0,1", "--json"];
    let report = sweep(&sandbox, &grid).done().json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[3]["values"], serde_json::json!(["[4,5]", "1"]));
    assert!(rows.iter().all(|r| r["macro_f1"]["mean"].as_f64().unwrap() > 0.0 && r["epochs"] == 8));
    assert!(sandbox.text("s/clusters=4_5,seed=1/config.toml").contains("clusters = [4, 5]"));
    let table = sandbox.text("s/sweep.csv");
    assert!(
        table.starts_with("clusters,seed,epochs,seconds,final_loss,macro_f1,")
            && table.lines().count() == 5
    );
    assert!(sandbox.text("s/sweep.svg").contains("Macro-F1") && sandbox.exists("s/sweep.png"));

    // What is there is not trained again; what is missing is.
    let model = "s/clusters=3,seed=0/model.safetensors";
    let written = |path: &str| std::fs::metadata(sandbox.path(path)).unwrap().modified().unwrap();
    let before = written(model);
    std::fs::remove_file(sandbox.path("s/clusters=3,seed=1/model.safetensors")).unwrap();
    let again = sweep(&sandbox, &grid).done().json();
    assert_eq!(again["rows"][0]["macro_f1"], rows[0]["macro_f1"]);
    assert_eq!(again["rows"][1]["final_loss"], rows[1]["final_loss"]);
    assert_eq!(written(model), before);
    assert!(sandbox.exists("s/clusters=3,seed=1/model.safetensors"));
}

#[test]
fn unusable_grids_are_refused() {
    let sandbox = Sandbox::with_graph();
    for (set, says) in [
        ("clusters=3", "nothing to sweep"),
        ("clusters=3,,4", "a value is missing"),
        ("clusters=3,none", "clusters"),
        ("clutter=3,4", "unknown setting `clutter`"),
    ] {
        let refused = sweep(&sandbox, &["--set", set]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert_says(&refused.stderr, &[says]);
    }
    sweep(&sandbox, &["--set", "clusters=3,4"]).done();
    let other = sweep(&sandbox, &["--set", "clusters=3,4", "--set", "lr=0.5"]);
    assert_eq!(other.code, Some(2));
    assert_says(&other.stderr, &["with other settings"]);
}

#[test]
fn a_number_that_was_found_is_not_another_setting() {
    let sandbox = Sandbox::with_graph();
    let grid = ["--set", "clusters=auto", "--set", "lr=0.001,0.002", "--json"];
    let first = sweep(&sandbox, &grid).done().json();
    assert!(!sandbox.text("s/lr=0.001/config.toml").contains("auto"));
    let model = |run: &str| sandbox.read(&format!("s/{run}/model.safetensors"));
    let before = model("lr=0.002");
    std::fs::remove_file(sandbox.path("s/lr=0.001/model.safetensors")).unwrap();
    let again = sweep(&sandbox, &grid).done().json();
    assert_eq!(first["rows"][0]["final_loss"], again["rows"][0]["final_loss"]);
    assert!(before == model("lr=0.002") && sandbox.exists("s/lr=0.001/model.safetensors"));
    let other = sweep(&sandbox, &["--set", "clusters=3", "--set", "lr=0.001,0.002"]);
    assert_eq!(other.code, Some(2), "{other:?}");
}

#[test]
fn runs_on_another_graph_are_not_taken_for_those_of_this_one() {
    let sandbox = Sandbox::with_graph();
    let given = ["--set", "structure=4", "--set", "structure_weight=0.5"];
    let grid = [&["--set", "lr=0.001,0.002"], &given[..]].concat();
    sweep(&sandbox, &grid).done();
    let like = Planted { nodes: 60, communities: 4, attributes: 24, ..Planted::default() };
    sandbox.write("graph.npz", Npz::of(&planted(&Planted { seed: 5, ..like })).bytes());
    let other = sweep(&sandbox, &grid);
    assert_says(
        &other.refused_after_words(2),
        &["s/lr=0.001: there is a run on another graph here"],
    );
    // Nothing is begun anew either where only some of the folders hold a run.
    std::fs::remove_file(sandbox.path("s/lr=0.001/model.safetensors")).unwrap();
    let other = sweep(&sandbox, &grid);
    assert_says(&other.refused_after_words(2), &["s/lr=0.002: there is a run on another graph"]);
    assert!(sandbox.exists("s/lr=0.001/embeddings.npy"));
}

#[test]
fn labels_that_cannot_score_do_not_end_a_sweep() {
    let sandbox = Sandbox::empty();
    let graph = small_graph();
    let mut npz = Npz::of(&graph);
    let train = graph.splits().unwrap().train[0] as usize;
    let classes = graph.labels().unwrap().classes.iter().enumerate();
    let class = |(n, c): (usize, &Option<u32>)| match n == train {
        true => -1,
        false => c.map_or(-1, i64::from),
    };
    npz.integers("label", &classes.map(class).collect::<Vec<_>>());
    sandbox.write("graph.npz", npz.bytes());
    let outcome = sweep(&sandbox, &["--set", "lr=0.001,0.002"]).done();
    assert_says(&outcome.stderr, &["no scores: ", "of the train split has no label"]);
    assert!(sandbox.text("s/sweep.csv").lines().count() == 3);
}

#[test]
fn what_an_earlier_release_did_not_write_was_the_default() {
    let sandbox = Sandbox::with_graph();
    let grid = ["--set", "lr=0.001,0.002"];
    sweep(&sandbox, &grid).done();
    for run in ["lr=0.001", "lr=0.002"] {
        let path = format!("s/{run}/config.toml");
        let text = sandbox.text(&path);
        let older: String =
            text.lines().filter(|l| !l.starts_with("schedule")).map(|l| format!("{l}\n")).collect();
        assert!(older.len() < text.len(), "{text}");
        std::fs::write(sandbox.path(&path), older).unwrap();
    }
    sweep(&sandbox, &grid).done();
    let other = sweep(&sandbox, &[&grid[..], &["--set", "schedule=paper"]].concat());
    assert_eq!(other.code, Some(2), "{other:?}");
    assert_says(&other.stderr, &["with other settings"]);
}

use crate::common::{Outcome, QUICK, Sandbox, assert_keys, assert_says, overlapping, small_graph};
use crate::npz::Npz;

fn tune(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    sandbox.xgoal(&[&["tune", "graph.npz", "--out", "t"], &QUICK[..], more].concat())
}

const SEARCH: [&str; 5] = ["--search", "lr=0.001,0.01", "--search", "p_drop=0.2,0.5", "--json"];

#[test]
fn settings_are_tried_once_and_ranked() {
    let sandbox = Sandbox::with_graph();
    let report = tune(&sandbox, &SEARCH).done().json();
    assert_eq!((&report["by"], &report["keys"][1]), (&"layers".into(), &"p_drop".into()));
    let trials = report["trials"].as_array().unwrap();
    // All four combinations and the base, whose lr is none of them.
    assert_eq!((trials.len(), &report["runs_done"]), (5, &10.into()));
    let layers: Vec<f64> =
        trials.iter().map(|t| t["criteria"]["layers"].as_f64().unwrap()).collect();
    assert!(layers.windows(2).all(|w| w[0] >= w[1]), "{layers:?}");
    for trial in trials {
        let names = ["seeds", "layers", "views", "silhouette", "edges", "masks"];
        assert_keys(&trial["criteria"], &names);
        assert_keys(&trial["scores"], &["macro_f1", "nmi"]);
        assert_eq!((&trial["epochs"], trial["runs"].as_array().unwrap().len()), (&24.into(), 2));
    }
    assert_keys(&report["correlations"]["masks"], &["macro_f1", "nmi"]);

    let table = sandbox.text("t/tune.csv");
    assert!(table.starts_with("trial,state,lr,p_drop,seeds,layers,"), "{table}");
    assert_eq!(table.lines().count(), 6);
    let best = sandbox.text("t/best.toml");
    let number = format!("trial {} of 5, the best by layers", report["best"]);
    assert_says(&best, &[&number, "dim = 8", "clusters = 6"]);
    let again = ["train", "graph.npz", "--out", "again", "--config", "t/best.toml"];
    sandbox.xgoal(&again).done();
    let run = trials[0]["runs"][0].as_str().unwrap();
    sandbox.assert_same_runs("again", run);

    // What is there is not made again; what was taken away is.
    let model = |run: &str| format!("{run}/model.safetensors");
    let written = |run: &str| sandbox.path(model(run)).metadata().unwrap().modified().unwrap();
    let before = written(run);
    let taken = trials[4]["runs"][1].as_str().unwrap();
    std::fs::remove_file(sandbox.path(model(taken))).unwrap();
    let second = tune(&sandbox, &SEARCH).done();
    assert_says(&second.stderr, &["1 runs to be made, 1 at a time", "1 of 1 runs"]);
    assert_eq!(written(run), before);
    assert!(sandbox.exists(&model(taken)));
    assert_eq!(second.json()["trials"][4]["criteria"], trials[4]["criteria"]);

    // By the labels, and with other threads: nothing is trained, the order may be another.
    let labels = tune(&sandbox, &[&SEARCH[..], &["--labels", "--threads", "1"]].concat()).done();
    assert_says(&labels.stderr, &["0 runs to be made"]);
    let labels = labels.json();
    let scores = labels["trials"].as_array().unwrap().iter();
    let scores: Vec<f64> = scores.map(|t| t["scores"]["macro_f1"].as_f64().unwrap()).collect();
    assert!(scores.windows(2).all(|w| w[0] >= w[1]), "{scores:?}");
    let text = tune(&sandbox, &SEARCH[..4]).done().stdout;
    assert_says(&text, &["layers*", "rank correlation", "--config t/best.toml", "xgoal report t/"]);

    let little = tune(&sandbox, &[&SEARCH[..], &["--memory-limit", "1M"]].concat());
    assert_says(&little.refused(4), &["memory limit"]);
    let other = tune(&sandbox, &[&SEARCH[..], &["--set", "dim=4"]].concat());
    assert_says(&other.refused(2), &["with other settings"]);
}

#[test]
fn what_auto_left_out_does_not_make_settings_differ() {
    let sandbox = Sandbox::empty();
    let graph = small_graph();
    let mut npz = Npz::of(&graph);
    npz.sparse("again", &graph.layers()[0].adjacency);
    sandbox.write("graph.npz", npz.bytes());
    let search = ["--search", "lr=0.001,0.002", "--trials", "5", "--seeds", "1", "--json"];
    let outcome = tune(&sandbox, &search).done();
    assert_says(&outcome.stderr, &["again left out"]);
    assert_eq!(outcome.json()["trials"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_written() {
    let sandbox = Sandbox::with_graph();
    for (more, says) in [
        (&["--search", "lr=0.1,fast"][..], "setting `lr`"),
        (&["--search", "speed=1,2"], "unknown setting `speed`"),
        (&["--search", "p_drop=0.1,2"], "less than 1"),
        (&["--search", "seed=1,2"], "--seeds"),
        (&["--search", "lr"], "expected KEY=VALUE"),
        (&["--by", "seeds", "--seeds", "1"], "--seeds 2 or more"),
        (&["--by", "luck"], "silhouette"),
        (&["--layers", "layer0", "--by", "layers"], "two layers"),
    ] {
        assert_says(&tune(&sandbox, more).refused(2), &[says]);
    }
    let message = tune(&sandbox, &["--memory-limit", "1M"]).refused(4);
    assert_says(&message, &["looking at the graph", "needs about", "memory limit"]);
    assert!(!sandbox.exists("t"));
}

#[test]
fn labels_whose_splits_share_nodes_are_not_searched_by() {
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", overlapping().bytes());
    let says = "the train and the test split share";
    let message = tune(&sandbox, &["--labels"]).refused(3);
    assert_says(&message, &["graph.npz: evaluation: ", says]);
    assert!(!sandbox.exists("t"));
    let without = ["--search", "lr=0.01", "--seeds", "1", "--by", "layers", "--json"];
    let outcome = tune(&sandbox, &without).done();
    assert_says(&outcome.stderr, &["no scores: ", says]);
    assert_eq!(outcome.json()["trials"][0]["scores"], serde_json::json!({}));
}

#[test]
fn a_trial_that_fails_does_not_end_the_search() {
    let sandbox = Sandbox::with_graph();
    let more = ["--search", "warmup_lr=0.005,1e38", "--seeds", "1", "--set", "activation=relu"];
    let outcome = tune(&sandbox, &[&more[..], &["--json"]].concat()).done();
    assert_says(&outcome.stderr, &["trial 2, seed 0 failed"]);
    let report = outcome.json();
    assert_eq!((&report["best"], &report["trials"][1]["trial"]), (&1.into(), &2.into()));
    assert_says(report["trials"][1]["failed"].as_str().unwrap(), &["try a smaller learning rate"]);
    assert!(sandbox.text("t/tune.csv").contains("2,failed,"));

    let all =
        [&more[2..], &["--set", "warmup_lr=1e38", "--search", "tau=1", "--out", "u"]].concat();
    let all = [&["tune", "graph.npz"], &QUICK[..], &all[..]].concat();
    let message = sandbox.xgoal(&all).refused_after_words(3);
    assert_says(&message, &["every trial failed", "try a smaller learning rate"]);
}

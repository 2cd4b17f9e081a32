//! Ctrl-C leaves a run that can be used and gone on with.

use crate::common::{Sandbox, assert_says, planted};
use crate::npz::Npz;
use serde_json::Value;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use xgoal::graph::planted::Planted;

const EPOCHS: usize = 250;

/// A graph whose epochs take long enough to be interrupted.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    let graph = planted(&Planted { nodes: 500, attributes: 200, ..Planted::default() });
    sandbox.write("graph.npz", Npz::of(&graph).bytes());
    sandbox
}

fn send_interrupt(child: &Child) {
    // The shell's own `kill`, as not every machine has the program.
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits until the run's metrics have this many lines, interrupts, and gives the exit code.
fn interrupt_after(lines: usize, sandbox: &Sandbox, run: &str, mut child: Child) -> Option<i32> {
    let metrics = sandbox.path(run).join("metrics.jsonl");
    let started = Instant::now();
    while std::fs::read_to_string(&metrics).map_or(0, |t| t.lines().count()) < lines {
        assert!(child.try_wait().unwrap().is_none(), "ended before it could be interrupted");
        assert!(started.elapsed() < Duration::from_secs(120), "no {lines} epochs in sight");
        std::thread::sleep(Duration::from_millis(2));
    }
    send_interrupt(&child);
    child.wait().unwrap().code()
}

/// Metrics without what differs from run to run.
fn without_seconds(sandbox: &Sandbox, run: &str) -> Vec<Value> {
    let mut lines = sandbox.metrics(run);
    for line in &mut lines {
        assert!(line.as_object_mut().unwrap().remove("seconds").is_some());
    }
    lines
}

#[test]
fn an_interrupted_run_goes_on_as_if_nothing_had_happened() {
    let sandbox = sandbox();
    let epochs = format!("max_epochs={EPOCHS}");
    let settings =
        ["--set", "dim=32", "--set", "clusters=6", "--set", "patience=100000", "--set", &epochs];
    let train = |run| [&["train", "graph.npz", "--out", run], &settings[..]].concat();
    let resume = ["train", "graph.npz", "--out", "stopped", "--resume"];
    sandbox.xgoal(&train("whole")).done();

    // In the warm-up: the folder is a run, with the best embeddings so far.
    let child = sandbox.start(&train("stopped"));
    assert_eq!(interrupt_after(10, &sandbox, "stopped", child), Some(130));
    let lines = sandbox.metrics("stopped").len();
    assert!((10..EPOCHS).contains(&lines), "{lines} epochs");
    sandbox.xgoal(&["eval", "stopped", "graph.npz"]).done();
    sandbox.xgoal(&["embed", "stopped", "graph.npz", "--out", "z.npy"]).done();
    assert!(sandbox.read("z.npy") == sandbox.read("stopped/embeddings.npy"));
    let again = sandbox.xgoal(&train("stopped"));
    assert_says(&again.refused_after_words(3), &["already a run here", "--resume"]);

    // In the joint stage, between two clusterings.
    let child = sandbox.start(&[&resume[..], &["--threads", "1"]].concat());
    assert_eq!(interrupt_after(EPOCHS + 8, &sandbox, "stopped", child), Some(130));
    let lines = sandbox.metrics("stopped").len();
    assert!((EPOCHS + 8..2 * EPOCHS).contains(&lines), "{lines} epochs");
    sandbox.xgoal(&["eval", "stopped", "graph.npz"]).done();

    let report = sandbox.xgoal(&[&resume[..], &["--json"]].concat()).done();
    assert_says(&report.stderr, &[&format!("going on after {lines} epochs")]);
    let stages = &report.json()["stages"];
    assert_eq!((&stages[0]["epochs"], &stages[1]["epochs"]), (&EPOCHS.into(), &EPOCHS.into()));
    for file in ["embeddings.npy", "model.safetensors", "config.toml", "ids.txt"] {
        let read = |run: &str| sandbox.read(&format!("{run}/{file}"));
        assert!(read("stopped") == read("whole"), "{file} differs");
    }
    assert_eq!(without_seconds(&sandbox, "stopped"), without_seconds(&sandbox, "whole"));
    assert_eq!(sandbox.list("stopped"), sandbox.list("whole"));

    let message = sandbox.xgoal(&resume).refused(3);
    assert_says(&message, &["stopped", "nothing to resume"]);
}

#[test]
fn what_an_interrupted_run_cannot_go_on_with_is_refused() {
    let sandbox = sandbox();
    let endless = ["--set", "max_epochs=1000000", "--set", "patience=1000000"];
    let train = [&["train", "graph.npz", "--out", "run"], &endless[..]].concat();
    assert_eq!(interrupt_after(3, &sandbox, "run", sandbox.start(&train)), Some(130));
    let files = sandbox.list("run");
    let metrics = sandbox.read("run/metrics.jsonl");

    let other = Planted { nodes: 500, attributes: 200, seed: 1, ..Planted::default() };
    sandbox.write("other.npz", Npz::of(&planted(&other)).bytes());
    let resume = |source| sandbox.xgoal(&["train", source, "--out", "run", "--resume"]);
    assert_says(&resume("other.npz").refused_after_words(3), &["run:", "another graph"]);
    // A run goes on by its own settings.
    let changed = ["train", "graph.npz", "--out", "run", "--resume", "--set", "dim=3"];
    assert_says(&sandbox.xgoal(&changed).refused(2), &["--resume", "--set"]);
    assert!(sandbox.list("run") == files && sandbox.read("run/metrics.jsonl") == metrics);

    let state = sandbox.read("run/state.safetensors");
    sandbox.write("run/state.safetensors", &state[..state.len() / 2]);
    assert_says(&resume("graph.npz").refused(3), &["run/state.safetensors"]);
}

#[test]
fn a_demo_can_be_interrupted() {
    let sandbox = Sandbox::empty();
    let mut child = sandbox.start(&["demo"]);
    // It says nothing that could be waited for; long before it is done is soon enough.
    std::thread::sleep(Duration::from_millis(1500));
    if child.try_wait().unwrap().is_none() {
        send_interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
    assert!(sandbox.list(".").is_empty());
}

#[test]
fn a_run_that_goes_on_keeps_its_format_unless_told_otherwise() {
    let sandbox = sandbox();
    let epochs = format!("max_epochs={EPOCHS}");
    let train = ["train", "graph.npz", "--out", "run", "--set", "dim=32", "--set", &epochs];
    let child = sandbox.start(&[&train[..], &["--format", "npy"]].concat());
    assert_eq!(interrupt_after(3, &sandbox, "run", child), Some(130));
    assert!(sandbox.exists("run/embeddings.npy") && sandbox.exists("run/ids.txt"));
    let resume = ["train", "graph.npz", "--out", "run", "--resume"];
    let child = sandbox.start(&[&resume[..], &["--format", "csv"]].concat());
    assert_eq!(interrupt_after(EPOCHS + 8, &sandbox, "run", child), Some(130));
    let of_embeddings = || {
        let files = sandbox.list("run");
        files.into_iter().filter(|f| f.starts_with("embeddings") || f.starts_with("ids")).collect()
    };
    let files: Vec<String> = of_embeddings();
    assert_eq!(files, ["embeddings.csv"]);
    sandbox.xgoal(&resume).done();
    let files: Vec<String> = of_embeddings();
    assert_eq!(files, ["embeddings.csv"]);
}

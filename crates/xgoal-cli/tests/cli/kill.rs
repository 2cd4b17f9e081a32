//! `kill -9` at any instant: a run goes on to the same ending. `scripts/kill_test.py` is the long version.

use crate::common::{Sandbox, assert_says, planted};
use crate::npz::Npz;
use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};
use xgoal::graph::planted::Planted;

const SETTINGS: [&str; 8] =
    ["--set", "dim=16", "--set", "clusters=auto", "--set", "max_epochs=60", "--save-every", "4"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    let graph = planted(&Planted { nodes: 300, attributes: 100, ..Planted::default() });
    sandbox.write("graph.npz", Npz::of(&graph).bytes());
    sandbox
}

fn train(run: &str) -> Vec<&str> {
    [&["train", "graph.npz", "--out", run], &SETTINGS[..]].concat()
}

fn resume(run: &str) -> Vec<&str> {
    [&train(run)[..], &["--resume"]].concat()
}

/// Kills the process as soon as the condition holds; false if it ended before.
fn kill_when(mut child: Child, mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !condition() {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return false;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "nothing to wait for");
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

fn lines(sandbox: &Sandbox, run: &str) -> usize {
    let path = sandbox.path(run).join("metrics.jsonl");
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

#[test]
fn a_killed_run_goes_on_as_if_nothing_had_happened() {
    let sandbox = sandbox();
    sandbox.xgoal(&train("whole")).done();
    assert_eq!(lines(&sandbox, "whole"), 120);

    // In the warm-up, twice at its end, and in the joint stage; each time somewhere in an epoch.
    let mut child = sandbox.start(&train("killed"));
    let mut kills = 0;
    for epochs in [5, 31, 59, 60, 83, 119] {
        kills += u32::from(kill_when(child, || lines(&sandbox, "killed") >= epochs));
        child = sandbox.start(&resume("killed"));
    }
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(kills >= 5, "only {kills} kills came in time");
    sandbox.assert_same_runs("killed", "whole");
}

#[test]
fn a_killed_run_over_batches_goes_on_as_if_nothing_had_happened() {
    let sandbox = Sandbox::empty();
    let generate = ["generate", "--nodes", "1500", "--features", "60", "--out", "planted"];
    sandbox.xgoal(&generate).done();
    let train = |run: &'static str, more: &[&'static str]| {
        let train = ["train", "planted", "--out", run, "--set", "batch=256"];
        [&train[..], &SETTINGS, more].concat()
    };
    sandbox.xgoal(&train("whole", &[])).done();
    assert_eq!(lines(&sandbox, "whole"), 120);
    let mut child = sandbox.start(&train("killed", &[]));
    let mut kills = 0;
    for steps in [20, 59, 90] {
        kills += u32::from(kill_when(child, || lines(&sandbox, "killed") >= steps));
        child = sandbox.start(&train("killed", &["--resume"]));
    }
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(kills >= 2, "only {kills} kills came in time");
    sandbox.assert_same_runs("killed", "whole");
}

#[test]
fn a_run_killed_before_its_first_state_is_free_or_goes_on() {
    let sandbox = sandbox();
    sandbox.xgoal(&train("whole")).done();
    for (i, file) in
        ["", ".lock", "metrics.jsonl", "state.safetensors", "config.toml"].iter().enumerate()
    {
        let run = format!("run{i}");
        let path = sandbox.path(&run).join(file);
        assert!(kill_when(sandbox.start(&train(&run)), || path.exists()));
        if sandbox.exists(&format!("{run}/state.safetensors")) {
            assert_says(&sandbox.xgoal(&train(&run)).refused_after_words(3), &["already a run"]);
            sandbox.xgoal(&resume(&run)).done();
        } else {
            let message = sandbox.xgoal(&resume(&run)).refused(3);
            assert_says(&message, &["nothing to resume: no run was begun here"]);
            sandbox.xgoal(&train(&run)).done();
        }
        sandbox.assert_same_runs(&run, "whole");
    }
}

/// A run killed after some states, and one left alone.
fn killed() -> Sandbox {
    let sandbox = sandbox();
    sandbox.xgoal(&train("whole")).done();
    assert!(kill_when(sandbox.start(&train("run")), || lines(&sandbox, "run") >= 30));
    sandbox
}

#[test]
fn a_damaged_state_gives_way_to_the_one_before() {
    let sandbox = killed();
    let newest = "run/state.safetensors";
    let good = sandbox.read(newest);
    let mut flipped = good.clone();
    flipped[good.len() - 100] ^= 1;
    sandbox.write(newest, flipped);
    // A half line, as a full disk leaves, and temporary files of a write that was killed.
    let metrics = sandbox.read("run/metrics.jsonl");
    sandbox.write("run/metrics.jsonl", [&metrics[..], b"{\"stage\": \"wa"].concat());
    sandbox.write("run/.xgoal-state.safetensors-abc123", &good[..1000]);
    sandbox.write("run/.xgoal-model.safetensors-abc123", "half");
    let outcome = sandbox.xgoal(&resume("run")).done();
    assert_says(&outcome.stderr, &["state.safetensors: damaged: checksum", "the state before it"]);
    sandbox.assert_same_runs("run", "whole");
}

#[test]
fn what_is_missing_is_made_again_or_said() {
    let sandbox = killed();
    // As between two renames.
    std::fs::remove_file(sandbox.path("run/state.safetensors")).unwrap();
    std::fs::remove_file(sandbox.path("run/config.toml")).unwrap();
    sandbox.xgoal(&resume("run")).done();
    sandbox.assert_same_runs("run", "whole");

    assert!(kill_when(sandbox.start(&train("other")), || lines(&sandbox, "other") >= 30));
    std::fs::remove_file(sandbox.path("other/metrics.jsonl")).unwrap();
    let outcome = sandbox.xgoal(&resume("other")).done();
    assert_says(&outcome.stderr, &["other/metrics.jsonl: only 0 of ", "lines are lost"]);
    assert!(sandbox.read("other/embeddings.npy") == sandbox.read("whole/embeddings.npy"));
}

#[test]
fn damaged_metrics_are_named_and_without_the_line_the_run_goes_on() {
    let sandbox = killed();
    let metrics = sandbox.text("run/metrics.jsonl");
    let mut lines: Vec<&str> = metrics.split_inclusive('\n').collect();
    lines[2] = "garbage\n";
    sandbox.write("run/metrics.jsonl", lines.concat());
    let message = sandbox.xgoal(&resume("run")).refused_after_words(3);
    let says = ["run/metrics.jsonl: line 3: expected value", "an epoch's metrics", "take the line"];
    assert_says(&message, &says);
    lines.remove(2);
    sandbox.write("run/metrics.jsonl", lines.concat());
    let outcome = sandbox.xgoal(&resume("run")).done();
    assert_says(&outcome.stderr, &["run/metrics.jsonl: only ", "lines are lost"]);
    assert_eq!(sandbox.metrics("run").len(), 119);
    assert!(sandbox.read("run/embeddings.npy") == sandbox.read("whole/embeddings.npy"));
    sandbox.xgoal(&["report", "run", "--projection", "pca"]).done();
}

#[test]
fn a_folder_in_use_is_refused_and_a_killed_process_holds_nothing() {
    let sandbox = sandbox();
    let endless = ["--set", "max_epochs=1000000", "--set", "patience=1000000"];
    let train = [&train("run")[..], &endless].concat();
    let mut first = sandbox.start(&train);
    let started = Instant::now();
    while lines(&sandbox, "run") < 9 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
    let id = format!("in use by another process ({})", first.id());
    let resume = ["train", "graph.npz", "--out", "run", "--resume"];
    assert_says(&sandbox.xgoal(&resume).refused(3), &["run: ", &id]);
    assert_says(&sandbox.xgoal(&train).refused_after_words(3), &["already a run here"]);
    assert!(first.try_wait().unwrap().is_none(), "the first goes on");
    first.kill().unwrap();
    first.wait().unwrap();

    let before = lines(&sandbox, "run");
    assert!(kill_when(sandbox.start(&resume), || lines(&sandbox, "run") > before + 5));
}

#[test]
fn numbers_that_leave_the_range_stop_training_and_the_last_good_state_stays() {
    let sandbox = sandbox();
    let wild = ["--set", "warmup=off", "--set", "lr=1e38", "--save-every", "1"];
    let outcome = sandbox.xgoal(&[&train("run")[..8], &wild].concat());
    let message = outcome.refused_after_words(3);
    assert_says(
        &message,
        &["joint epoch ", " is ", "try a smaller learning rate", "begin another"],
    );
    let resume = ["train", "graph.npz", "--out", "run", "--resume", "--save-every", "1"];
    let again = sandbox.xgoal(&resume);
    assert_eq!(again.refused_after_words(3), message, "the state leads to the same end");
}

#[test]
fn a_run_whose_folder_was_replaced_writes_nothing_into_it() {
    let sandbox = sandbox();
    sandbox.xgoal(&train("whole")).done();
    let endless = ["--set", "max_epochs=1000000", "--set", "patience=1000000", "--seed", "1"];
    let begin = || {
        let mut child = sandbox.start_heard(&[&train("run")[..], &endless].concat());
        while lines(&sandbox, "run") < 3 {
            assert!(child.try_wait().unwrap().is_none(), "ended before its folder was replaced");
            std::thread::sleep(Duration::from_millis(2));
        }
        std::fs::remove_dir_all(sandbox.path("run")).unwrap_or_else(|_| {
            // A file came while the folder was emptied.
            std::fs::remove_dir_all(sandbox.path("run")).unwrap();
        });
        child
    };
    let refused = |mut child: Child| {
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
        assert_says(&said, &["error: "]);
        assert!(!said.contains("--resume"), "{said}");
        said
    };
    refused(begin());
    assert!(!sandbox.exists("run"), "nothing is made again");

    let first = begin();
    sandbox.xgoal(&train("run")).done();
    refused(first);
    sandbox.assert_same_runs("run", "whole");
}

#[test]
fn a_link_in_a_run_s_folder_leads_to_no_harm() {
    let sandbox = killed();
    let link = |name: &str| {
        sandbox.write("victim", "precious");
        let path = sandbox.path(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink("../victim", path).unwrap();
    };
    for name in ["run/.lock", "run/metrics.jsonl"] {
        let kept = std::fs::read(sandbox.path(name)).unwrap();
        link(name);
        let message = sandbox.xgoal(&resume("run")).refused_after_words(3);
        assert_says(&message, &[name]);
        assert_eq!(sandbox.text("victim"), "precious");
        std::fs::remove_file(sandbox.path(name)).unwrap();
        sandbox.write(name, kept);
    }
    sandbox.xgoal(&resume("run")).done();
    sandbox.assert_same_runs("run", "whole");
    std::fs::create_dir(sandbox.path("new")).unwrap();
    for name in ["new/.lock", "new/metrics.jsonl", "new/model.safetensors"] {
        link(name);
        for there in [true, false] {
            if !there {
                std::fs::remove_file(sandbox.path("victim")).unwrap();
            }
            assert_says(&sandbox.xgoal(&train("new")).refused_after_words(3), &[name]);
            assert_eq!(sandbox.exists("victim"), there);
        }
        std::fs::remove_file(sandbox.path(name)).unwrap();
    }
}

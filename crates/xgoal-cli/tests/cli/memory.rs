//! What does not fit into memory is refused before it starts, with code 4, and never killed.

use crate::common::{Sandbox, assert_says};

const TRAIN: &str =
    "train planted --threads 2 --quiet --set max_epochs=1 --set clusters=4 --set kmeans_restarts=1";

/// A graph that takes little itself, but half a gigabyte in 2048 dimensions.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.xgoal(&["generate", "--nodes", "4000", "--out", "planted"]).done();
    sandbox
}

#[test]
fn a_limit_is_kept_and_the_sum_is_said() {
    let sandbox = sandbox();
    let train = |limit: &str| {
        sandbox
            .shell(&format!("exec \"$0\" {TRAIN} --set dim=2048 --out run --memory-limit {limit}"))
    };
    let message = train("200M").refused(4);
    assert_says(&message, &["training needs about ", "(program 10 MB, graph ", "weights "]);
    assert_says(&message, &["200 MB are allowed by the memory limit", "dim = 512 would fit"]);
    assert!(!sandbox.exists("run"));
    assert_says(&train("much").refused(2), &["--memory-limit", "800M, 2G or 1.5GiB"]);
    let bench = ["bench", "planted", "--set", "dim=2048", "--memory-limit", "200MB"];
    assert_says(&sandbox.xgoal(&bench).refused(4), &["allowed by the memory limit"]);
    train("2GiB").done();
}

#[test]
fn under_a_limit_of_the_shell_it_is_refused_and_not_killed() {
    let sandbox = sandbox();
    let mut codes = Vec::new();
    for megabytes in [250, 350, 450, 550, 650, 750, 850, 1000, 1200] {
        let kilobytes = megabytes * 1000;
        let limited =
            format!("ulimit -v {kilobytes}; exec \"$0\" {TRAIN} --set dim=2048 --out run");
        let outcome = sandbox.shell(&limited);
        codes.push(outcome.code);
        if outcome.code == Some(0) {
            std::fs::remove_dir_all(sandbox.path("run")).unwrap();
            continue;
        }
        let message = outcome.refused(4);
        assert_says(&message, &["training needs about ", "address space (`ulimit -v`)"]);
        assert!(!sandbox.exists("run"));
    }
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(4)), "{codes:?}");
}

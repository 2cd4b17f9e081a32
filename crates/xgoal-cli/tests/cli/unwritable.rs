//! Writes that fail at every point: a clear error each time, and the last good state goes on.

use crate::common::{Outcome, Sandbox, assert_says};
use std::collections::BTreeSet;

const TRAIN: &str = "train graph.npz --quiet --set dim=8 --set clusters=6";
const OFTEN: &str = "--set max_epochs=20 --save-every 3";

fn sandbox(schedule: &str) -> Sandbox {
    let sandbox = Sandbox::with_graph();
    sandbox.shell(&format!("\"$0\" {TRAIN} {schedule} --out whole")).done();
    sandbox
}

/// Files of a run, of which a message must name one.
const FILES: [&str; 9] = [
    "run/.lock",
    "run/metrics.jsonl",
    "run/config.toml",
    "run/state.safetensors",
    "run/embeddings.npy",
    "run/ids.txt",
    "run/model.safetensors",
    "run/warmup.safetensors",
    "run: ",
];

#[track_caller]
fn assert_failed_clearly(outcome: Outcome, cause: &str) -> String {
    let message = outcome.refused(3);
    assert_says(&message, &[cause]);
    assert!(FILES.iter().any(|file| message.contains(file)), "{message}");
    assert!(!message.contains(".xgoal-"), "{message}");
    message
}

#[test]
fn files_that_may_not_grow() {
    let mut failed = BTreeSet::<&str>::new();
    // States are the largest files; without them the metrics, and after few epochs the models.
    for schedule in [
        OFTEN,
        "--set max_epochs=20 --save-every 1000",
        "--set max_epochs=2 --save-every 1000",
        "--set max_epochs=2 --save-every 1000 --set warmup=off",
    ] {
        let sandbox = sandbox(schedule);
        let train = format!("\"$0\" {TRAIN} {schedule} --out run");
        // In blocks of 512 bytes: from nothing at all up to what a whole run takes.
        for blocks in [0, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64] {
            let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec {train}");
            let outcome = sandbox.shell(&limited);
            if outcome.code != Some(0) {
                let message = assert_failed_clearly(outcome, "File too large");
                failed.extend(FILES.iter().find(|file| message.contains(**file)));
                let begun = sandbox.exists("run/state.safetensors");
                let resume = if begun { "--resume" } else { "" };
                // Going on with the limit still there is refused in the same manner, and loses nothing.
                let again = sandbox.shell(&format!("{limited} {resume}"));
                assert_failed_clearly(again, "File too large");
                sandbox.shell(&format!("{train} {resume}")).done();
            }
            sandbox.assert_same_runs("run", "whole");
            std::fs::remove_dir_all(sandbox.path("run")).unwrap();
        }
    }
    for file in ["state.safetensors", "metrics.jsonl", "warmup.safetensors", "model.safetensors"] {
        assert!(
            failed.contains(format!("run/{file}").as_str()),
            "writes failed only at {failed:?}"
        );
    }
}

/// Runs a script beside a file system of its own under `run`; false where that is not allowed.
fn with_mount(sandbox: &Sandbox, size: &str, script: &str) -> bool {
    std::fs::create_dir_all(sandbox.path("run")).unwrap();
    let mount = format!("mount -t tmpfs -o size={size} xgoal run");
    let possible = sandbox.shell(&format!("unshare -rm sh -c '{mount}'")).code == Some(0);
    if !possible {
        eprintln!("skipped: this user may not mount a file system of his own");
        return false;
    }
    sandbox.write("script.sh", format!("set -u\n{mount}\n{script}"));
    let outcome = sandbox.shell("exec unshare -rm sh script.sh \"$0\"");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    println!("{}", outcome.stderr);
    true
}

#[test]
fn a_full_file_system() {
    let sandbox = sandbox(OFTEN);
    let mut sizes = 0;
    for size in ["4k", "8k", "12k", "16k", "24k", "32k", "40k", "48k", "64k"] {
        // Full until there is room; then it goes on, or begins where nothing was begun.
        let script = format!(
            "\"$1\" {TRAIN} {OFTEN} --out run > out1 2> err1; echo $? > code1
             ls -A run > files1
             mount -o remount,size=10m run
             [ -e run/state.safetensors ] && more=--resume || more=
             [ -e run/model.safetensors ] && [ -z \"$more\" ] || \"$1\" {TRAIN} {OFTEN} --out run $more > out2 2> err2 || exit 1
             rm -rf copy; cp -r run copy"
        );
        if !with_mount(&sandbox, size, &script) {
            return;
        }
        if sandbox.text("code1").trim() != "0" {
            sizes += 1;
            assert_eq!(sandbox.text("code1").trim(), "3", "{size}: {}", sandbox.text("err1"));
            let message = sandbox.text("err1");
            assert_says(&message, &["error: ", "No space left on device"]);
            assert!(FILES.iter().any(|file| message.contains(file)), "{message}");
            assert!(!message.contains(".xgoal-") && !message.contains("panicked"), "{message}");
        }
        sandbox.assert_same_runs("copy", "whole");
    }
    assert!(sizes >= 4, "only {sizes} sizes were too small");
}

#[test]
fn a_folder_that_may_only_be_read() {
    let sandbox = sandbox(OFTEN);
    let script = format!(
        "\"$1\" {TRAIN} {OFTEN} --out run > out0 2> err0
         mount -o remount,ro run
         \"$1\" generate --out run/new > out4 2> err4; echo $? > code4
         \"$1\" convert none.npz run/g.npz > out5 2> err5; echo $? > code5
         \"$1\" {TRAIN} {OFTEN} --out run --resume > out1 2> err1; echo $? > code1
         \"$1\" {TRAIN} {OFTEN} --out run/new > out2 2> err2; echo $? > code2
         mount -o remount,rw,size=10m run
         \"$1\" {TRAIN} {OFTEN} --out run --resume > out3 2> err3 || exit 1
         rm -rf copy; cp -r run copy"
    );
    if !with_mount(&sandbox, "40k", &script) {
        return;
    }
    assert_says(&sandbox.text("err0"), &["No space left on device"]);
    for (code, message) in [("code1", "err1"), ("code2", "err2")] {
        assert_eq!(sandbox.text(code).trim(), "3");
        assert_says(&sandbox.text(message), &["error: run/", "Read-only file system"]);
    }
    // Before the source is looked for, and without the name of a temporary file.
    for (code, message, named) in [("code4", "err4", "run/new"), ("code5", "err5", "run")] {
        assert_eq!(sandbox.text(code).trim(), "3");
        let message = sandbox.text(message);
        let says = format!("error: {named}: Read-only file system");
        assert!(message.starts_with(&says), "{message}");
        assert!(!message.contains(".xgoal-"), "{message}");
    }
    sandbox.assert_same_runs("copy", "whole");
}

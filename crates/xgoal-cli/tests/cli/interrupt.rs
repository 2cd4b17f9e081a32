//! Ctrl-C leaves a run that can be used and gone on with.

use crate::common::{Sandbox, assert_says, planted, with_layers};
use crate::npz::Npz;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc;
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

/// Longer than signals count as one interruption.
const LATER: Duration = Duration::from_millis(1300);

fn send_interrupt(child: &Child) {
    send("INT", 1, child);
}

/// Sends a signal, several times in a row.
fn send(signal: &str, times: usize, child: &Child) {
    // The shell's own `kill`, as not every machine has the program.
    let kill = format!("kill -{signal} {};", child.id()).repeat(times);
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits until the run's metrics have this many lines, interrupts, and gives the exit code.
fn interrupt_after(lines: usize, sandbox: &Sandbox, run: &str, mut child: Child) -> Option<i32> {
    wait_for(lines, sandbox, run, &mut child);
    send_interrupt(&child);
    child.wait().unwrap().code()
}

/// Waits until the run's metrics have this many lines.
fn wait_for(lines: usize, sandbox: &Sandbox, run: &str, child: &mut Child) {
    let metrics = sandbox.path(run).join("metrics.jsonl");
    let started = Instant::now();
    while std::fs::read_to_string(&metrics).map_or(0, |t| t.lines().count()) < lines {
        assert!(child.try_wait().unwrap().is_none(), "ended before it could be interrupted");
        assert!(started.elapsed() < Duration::from_secs(120), "no {lines} epochs in sight");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Training that nobody would wait for.
const ENDLESS: [&str; 9] = [
    "train",
    "graph.npz",
    "--quiet",
    "--set",
    "max_epochs=1000000",
    "--set",
    "patience=1000000",
    "--out",
    "run",
];

#[test]
fn signals_that_come_together_are_one_interruption() {
    let sandbox = sandbox();
    // As `timeout` does, which signals the process and its group.
    for times in [2, 5] {
        let mut child = sandbox.start(&ENDLESS);
        wait_for(3, &sandbox, "run", &mut child);
        send("INT", times, &child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        sandbox.xgoal(&["eval", "run", "graph.npz"]).done();
        std::fs::remove_dir_all(sandbox.path("run")).unwrap();
    }
}

#[test]
fn signals_ignored_from_the_start_stay_so() {
    let sandbox = sandbox();
    for (ignored, other) in [("HUP", "INT"), ("INT", "HUP")] {
        let script = format!("trap '' {ignored}; exec \"$0\" {}", ENDLESS.join(" "));
        let mut child = sandbox.start_shell(&script);
        wait_for(3, &sandbox, "run", &mut child);
        send(ignored, 1, &child);
        let epochs = sandbox.metrics("run").len();
        wait_for(epochs + 20, &sandbox, "run", &mut child);
        send(other, 1, &child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        std::fs::remove_dir_all(sandbox.path("run")).unwrap();
    }
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
    sandbox.assert_same_runs("stopped", "whole");

    let message = sandbox.xgoal(&resume).refused(3);
    assert_says(&message, &["stopped", "nothing to resume"]);
}

#[test]
fn a_preset_that_is_named_again_knows_its_layers_by_their_other_names() {
    let sandbox = sandbox();
    sandbox.write("graph.npz", with_layers(&planted(&Planted::default()), &["PAP", "PSP"]).bytes());
    let endless = [&ENDLESS[..], &["--preset", "acm", "--set", "dim=4"]].concat();
    assert_eq!(interrupt_after(3, &sandbox, "run", sandbox.start(&endless)), Some(130));
    let again = [&endless[..], &["--resume"]].concat();
    let lines = sandbox.metrics("run").len() + 3;
    assert_eq!(interrupt_after(lines, &sandbox, "run", sandbox.start(&again)), Some(130));
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
    let message = resume("other.npz").refused_after_words(3);
    assert_says(&message, &["run:", "another graph", "edges in layer `layer0` then, "]);
    let smaller = Planted { nodes: 400, attributes: 200, ..Planted::default() };
    sandbox.write("smaller.npz", Npz::of(&planted(&smaller)).bytes());
    let message = resume("smaller.npz").refused_after_words(3);
    assert_says(&message, &["another graph", "500 nodes then, 400 now"]);

    // A run goes on by its own settings: the same ones may be named again, others not.
    let changed = ["--resume", "--set", "dim=3", "--seed", "5", "--method", "xgoal"];
    let changed = [&["train", "graph.npz", "--out", "run"], &changed[..]].concat();
    let message = sandbox.xgoal(&changed).refused(2);
    assert_says(&message, &["run: ", "`dim` was 128, now 3", "`seed` was 0, now 5"]);
    assert!(!message.contains("method"), "{message}");
    let preset = ["train", "graph.npz", "--out", "run", "--resume", "--preset", "acm"];
    assert_says(&sandbox.xgoal(&preset).refused(2), &["`tau` was ", "`layers` was "]);
    // What `auto` left open was chosen when the run was begun.
    let auto = [&train[..], &["--resume", "--preset", "auto", "--set", "dim=3"]].concat();
    let message = sandbox.xgoal(&auto).refused(2);
    assert!(message.contains("other settings: `dim` was 128, now 3; leave"), "{message}");
    let config = sandbox.text("run/config.toml");
    sandbox.write("run/config.toml", config.replace("dim = 128", "dim = 64"));
    let message = resume("graph.npz").refused(3);
    assert_says(&message, &["run/config.toml: changed", "`dim` was 128, now 64"]);
    sandbox.write("run/config.toml", config);
    assert!(sandbox.list("run") == files && sandbox.read("run/metrics.jsonl") == metrics);

    for state in ["run/state.safetensors", "run/state.previous.safetensors"] {
        let bytes = sandbox.read(state);
        sandbox.write(state, &bytes[..bytes.len() / 2]);
    }
    let message = resume("graph.npz").refused(3);
    assert_says(
        &message,
        &["run/state.safetensors: ", "damaged", "run/state.previous.safetensors: "],
    );
}

#[test]
fn an_interrupted_search_goes_on() {
    let sandbox = sandbox();
    let epochs = format!("max_epochs={EPOCHS}");
    let settings = ["--set", "dim=32", "--set", "clusters=6", "--set", "patience=100000"];
    let search = ["--set", &epochs, "--search", "lr=0.002", "--seeds", "2", "--threads", "1"];
    let tune = [&["tune", "graph.npz", "--out", "t"], &settings[..], &search[..]].concat();
    // Only the search itself hears of it; the run is stopped with it.
    let run = "t/trials/001-lr=0.002/seed0";
    assert_eq!(interrupt_after(10, &sandbox, run, sandbox.start(&tune)), Some(130));
    let lines = || std::fs::read_to_string(sandbox.path(run).join("metrics.jsonl")).unwrap();
    let before = lines();
    std::thread::sleep(Duration::from_millis(200));
    assert!(lines() == before && !sandbox.exists("t/best.toml"));

    let report = sandbox.xgoal(&[&tune[..], &["--json"]].concat()).done().json();
    assert_eq!((&report["runs_done"], &report["best"]), (&2.into(), &1.into()));
    let whole = ["train", "graph.npz", "--out", "whole", "--config", "t/best.toml"];
    sandbox.xgoal(&whole).done();
    sandbox.assert_same_runs("whole", run);
}

/// Training whose first clusters take as long as nobody would wait.
const LONG: [&str; 10] = [
    "train",
    "graph.npz",
    "--set",
    "warmup=off",
    "--set",
    "clusters=6",
    "--set",
    "kmeans_restarts=200000",
    "--out",
    "run",
];

#[test]
fn a_second_interruption_ends_it_though_nobody_reads_the_answer_to_the_first() {
    let sandbox = sandbox();
    let (_unread, pipe) = std::io::pipe().unwrap();
    let mut full = pipe.try_clone().unwrap();
    let mut child = sandbox.start_into(pipe, &LONG);
    while !sandbox.exists("run/config.toml") {
        assert!(child.try_wait().unwrap().is_none(), "ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Until nothing goes in any more.
    std::thread::spawn(move || while full.write_all(&[b' '; 4096]).is_ok() {});
    std::thread::sleep(Duration::from_millis(500));
    send_interrupt(&child);
    std::thread::sleep(LATER);
    assert!(child.try_wait().unwrap().is_none(), "clusters are still being found");
    send_interrupt(&child);
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("the second interruption was not heard");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interruption_is_answered_at_once() {
    let sandbox = sandbox();
    let mut child = sandbox.start_heard(&LONG);
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || stderr.lines().try_for_each(|line| sender.send(line.unwrap())));
    let soon = Duration::from_secs(30);
    while !sandbox.exists("run/config.toml") {
        assert!(child.try_wait().unwrap().is_none(), "ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    send_interrupt(&child);
    while !lines.recv_timeout(soon).unwrap().starts_with("stopping after this epoch") {}
    std::thread::sleep(LATER);
    assert!(child.try_wait().unwrap().is_none(), "clusters are still being found");
    send_interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let mut quiet = sandbox.start_heard(&[&LONG[..9], &["other", "--quiet"]].concat());
    while !sandbox.exists("other/config.toml") {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    send_interrupt(&quiet);
    std::thread::sleep(LATER);
    send_interrupt(&quiet);
    let mut said = String::new();
    quiet.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((quiet.wait().unwrap().code(), said.as_str()), (Some(130), ""));
}

#[test]
fn a_terminal_shows_that_clusters_are_being_found() {
    let sandbox = sandbox();
    if sandbox.shell("script --version").code != Some(0) {
        eprintln!("skipped: there is no program `script` to make a terminal");
        return;
    }
    let train = LONG.join(" ");
    // Two seconds are enough to see it; then it is ended.
    let outcome = sandbox.shell(&format!(
        "script -qfec \"timeout -s INT -k 1 2 $0 {train}\" screen.txt > shown.txt; echo done"
    ));
    assert_says(&outcome.stdout, &["done"]);
    assert_says(&String::from_utf8_lossy(&sandbox.read("screen.txt")), &["finding clusters"]);
}

/// Interrupts a command as soon as something of what it writes is there.
fn interrupt_when(sandbox: &Sandbox, args: &[&str], is_there: impl Fn(&Sandbox) -> bool) {
    let mut child = sandbox.start(args);
    let started = Instant::now();
    while !is_there(sandbox) {
        assert!(child.try_wait().unwrap().is_none(), "ended before it could be interrupted");
        assert!(started.elapsed() < Duration::from_secs(120), "nothing to wait for");
        std::thread::sleep(Duration::from_micros(200));
    }
    send_interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".xgoal-")
}

#[test]
fn an_interrupted_source_leaves_nothing() {
    let sandbox = Sandbox::empty();
    let generate = |out| ["generate", "--nodes", "200000", "--out", out];
    // At its beginning, and with files that are whole already.
    interrupt_when(&sandbox, &generate("a/g"), |s| s.exists("a/g"));
    let whole = |s: &Sandbox| {
        s.exists("a/g/nodes.csv") && s.list("a/g").iter().any(|name| is_temporary(name))
    };
    interrupt_when(&sandbox, &generate("a/g"), whole);
    assert!(sandbox.list(".").is_empty());
    // What was there before stays.
    std::fs::create_dir(sandbox.path("mine")).unwrap();
    sandbox.write("mine/notes.txt", "mine");
    sandbox.write("mine/.xgoal-nodes.csv-abc123", "left by a process that was killed");
    interrupt_when(&sandbox, &generate("mine"), |s| s.exists("mine/words.npz"));
    assert_eq!(sandbox.list("mine"), ["notes.txt"]);

    sandbox.xgoal(&generate("g")).done();
    let convert = |dest| ["convert", "g", dest];
    interrupt_when(&sandbox, &convert("tables"), |s| s.exists("tables/nodes.csv"));
    assert_eq!(sandbox.list("."), ["g", "mine"]);
    let begun = |s: &Sandbox| s.list(".").iter().any(|name| name.starts_with(".xgoal-out.npz-"));
    interrupt_when(&sandbox, &convert("out.npz"), begun);
    // One file may have become whole before the interruption came.
    if sandbox.exists("out.npz") {
        sandbox.xgoal(&["info", "out.npz"]).done();
        std::fs::remove_file(sandbox.path("out.npz")).unwrap();
    }
    assert_eq!(sandbox.list("."), ["g", "mine"]);
}

#[test]
fn what_a_killed_process_left_goes_when_the_same_is_written_again() {
    let sandbox = Sandbox::with_graph();
    let left = |names: &[&str]| names.iter().for_each(|name| sandbox.write(name, "half"));
    let convert = |dest: &str| sandbox.xgoal(&["convert", "graph.npz", dest]).done();
    for folder in ["tables", "g"] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
    }
    left(&["tables/.xgoal-nodes.csv-abc123"]);
    left(&["tables/.xgoal-graph.toml-abc123", "g/.xgoal-layer1.npz-abc123"]);
    convert("out.npz");
    convert("tables");
    sandbox.xgoal(&["generate", "--out", "g"]).done();
    for folder in [".", "tables", "g"] {
        assert!(
            !sandbox.list(folder).iter().any(|name| is_temporary(name)),
            "{:?}",
            sandbox.list(folder)
        );
    }
}

#[test]
fn a_demo_can_be_interrupted() {
    let sandbox = Sandbox::empty();
    let mut child = sandbox.start(&["demo"]);
    // It says nothing that could be waited for; long before it is done is soon enough.
    std::thread::sleep(Duration::from_millis(1500));
    send_interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
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

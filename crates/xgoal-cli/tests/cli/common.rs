//! A folder to work in, the executable in it, and what it answered.

use crate::npz::Npz;
use serde_json::Value;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use xgoal::graph::MultiplexGraph;
use xgoal::graph::planted::Planted;

/// Settings that train in a moment.
pub const QUICK: [&str; 6] = ["--set", "dim=8", "--set", "clusters=6", "--set", "max_epochs=6"];

/// A folder that goes with the test, which every command runs in.
pub struct Sandbox(tempfile::TempDir);

impl Sandbox {
    /// An empty one.
    pub fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One with the small graph as `graph.npz`.
    pub fn with_graph() -> Self {
        let sandbox = Self::empty();
        sandbox.write("graph.npz", Npz::of(&small_graph()).bytes());
        sandbox
    }

    /// One with the small graph, and a run on it in `run`.
    pub fn with_run() -> Self {
        let sandbox = Self::with_graph();
        sandbox.train("graph.npz", "run", &[]);
        sandbox
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// The names of the files in a folder, sorted.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    /// The lines of a run's metrics.
    pub fn metrics(&self, run: &str) -> Vec<Value> {
        let text = self.text(&format!("{run}/metrics.jsonl"));
        assert!(text.ends_with('\n'), "the last line is whole");
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    /// Two runs must have ended bit for bit the same, but for the time it took.
    #[track_caller]
    pub fn assert_same_runs(&self, one: &str, other: &str) {
        assert_eq!(self.list(one), self.list(other));
        for file in self.list(one).iter().filter(|file| *file != "metrics.jsonl") {
            let read = |run: &str| self.read(&format!("{run}/{file}"));
            assert!(read(one) == read(other), "{file} of {one} is not that of {other}");
        }
        let [one_lines, other_lines] = [one, other].map(|run| {
            let mut lines = self.metrics(run);
            for line in &mut lines {
                assert!(line.as_object_mut().unwrap().remove("seconds").is_some());
            }
            lines
        });
        assert_eq!(one_lines, other_lines);
    }

    /// Runs `xgoal` to its end.
    pub fn xgoal(&self, args: &[&str]) -> Outcome {
        Outcome::of(args.join(" "), self.command(args).output().unwrap())
    }

    /// Runs a script of the shell, in which `$0` is the executable.
    #[cfg(unix)]
    pub fn shell(&self, script: &str) -> Outcome {
        Outcome::of(script.to_string(), self.shell_command(script).output().unwrap())
    }

    /// Starts such a script and leaves it running, unheard.
    #[cfg(unix)]
    pub fn start_shell(&self, script: &str) -> Child {
        self.shell_command(script).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    #[cfg(unix)]
    fn shell_command(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_xgoal")]).current_dir(self.0.path());
        command.stdin(Stdio::null());
        hears_signals(&mut command);
        command
    }

    /// Starts `xgoal` and leaves it running, unheard.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Starts `xgoal`, whose words on standard error can be read.
    pub fn start_heard(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts `xgoal`, which says on standard error what it has to say to this pipe.
    pub fn start_into(&self, pipe: PipeWriter, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(pipe).spawn().unwrap()
    }

    /// Starts `xgoal`, whose reader goes away before a word was said.
    pub fn start_unread(&self, args: &[&str]) -> Child {
        let piped = |args| self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = piped(args).unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        child
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xgoal"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        hears_signals(&mut command);
        command
    }

    /// Trains quickly; later settings win over the quick ones.
    pub fn train(&self, source: &str, run: &str, more: &[&str]) -> Outcome {
        let args = [&["train", source, "--out", run], &QUICK[..], more].concat();
        self.xgoal(&args).done()
    }
}

/// Has a command hear signals that the tests themselves may have been started to ignore, as jobs in the background are.
fn hears_signals(command: &mut Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let reset = || {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // SAFETY: one call of the system, which takes no memory and no locks.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: between fork and exec, nothing but these calls.
        unsafe { command.pre_exec(reset) };
    }
    #[cfg(not(unix))]
    let _ = command;
}

/// What a command that ended said.
#[derive(Debug)]
pub struct Outcome {
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    fn of(command: String, output: std::process::Output) -> Self {
        Self {
            command,
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It must have succeeded, and kept bars and colours to terminals.
    pub fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert!(!self.stderr.contains(['\r', '\x1b']), "{self:#?}");
        self
    }

    /// Its one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }

    /// It must have failed with this code and said nothing but one message, which is returned.
    pub fn refused(self, code: i32) -> String {
        assert!(self.stderr.starts_with("error: "), "{self:#?}");
        self.refused_after_words(code)
    }

    /// The same where progress may have been told before.
    pub fn refused_after_words(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.stdout.is_empty(), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        let messages: Vec<&str> = self.stderr.split("error: ").collect();
        let [_, message] = messages[..] else { panic!("{self:#?}") };
        // Read by eye with `--nocapture`.
        println!("xgoal {}\n    {}", self.command, self.stderr.trim_end());
        message.trim_end().to_string()
    }
}

/// 60 nodes with ids of their own, two layers, classes and splits.
pub fn small_graph() -> MultiplexGraph {
    planted(&Planted { nodes: 60, communities: 4, attributes: 24, ..Planted::default() })
}

/// The small graph, whose test split is its training split.
pub fn overlapping() -> Npz {
    let mut npz = Npz::of(&small_graph());
    let train = &small_graph().splits().unwrap().train.clone();
    npz.integers("test_idx", &train.iter().map(|n| i64::from(*n)).collect::<Vec<_>>());
    npz
}

/// A graph with other names for its layers.
pub fn with_layers(graph: &MultiplexGraph, names: &[&str]) -> Npz {
    let mut npz = Npz::of(graph);
    for (layer, name) in graph.layers().iter().zip(names) {
        npz.remove(&layer.name);
        npz.sparse(name, &layer.adjacency);
    }
    npz
}

/// A planted graph whose ids are no numbers.
pub fn planted(planted: &Planted) -> MultiplexGraph {
    let ids = (0..planted.nodes).rev().map(|n| format!("Nº {n}, \"p\"")).collect();
    planted.generate().unwrap().with_ids(ids).unwrap()
}

/// Ids that are hard to write.
pub const HARD_IDS: [&str; 8] =
    ["007", "7", "a, \"b\"", "two\nlines", "tab\there", "é漢 🦀", "100%\\n", " "];

/// A planted graph whose first ids are hard to write.
pub fn hard_graph() -> MultiplexGraph {
    let like = Planted { nodes: 60, communities: 4, attributes: 24, ..Planted::default() };
    let hard = HARD_IDS.iter().map(|id| id.to_string());
    let ids = hard.chain((HARD_IDS.len()..60).map(|n| format!("n{n}"))).collect();
    like.generate().unwrap().with_ids(ids).unwrap()
}

/// A message must hold every one of these.
#[track_caller]
pub fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// The keys of an object, sorted.
#[track_caller]
pub fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// An object must have at least these keys.
#[track_caller]
pub fn assert_keys(value: &Value, expected: &[&str]) {
    let found = keys(value);
    assert!(expected.iter().all(|k| found.contains(k)), "{expected:?} are not all in {found:?}");
}

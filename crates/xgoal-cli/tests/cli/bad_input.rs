//! Damaged, hostile and unusable files: one message, exit code 3, nothing written.

use crate::common::{Sandbox, assert_says, small_graph};
use crate::npz::Npz;
use std::path::PathBuf;
use xgoal::matrix::Csr;

/// `info` and `train` must both refuse the source, in the same words and saying them once.
#[track_caller]
fn refused(sandbox: &Sandbox, source: &str, parts: &[&str]) {
    let message = sandbox.xgoal(&["info", source]).refused(3);
    assert_says(&message, parts);
    assert_eq!(message.matches(source).count(), 1, "{message}");
    let cause = message.rsplit(": ").next().unwrap();
    assert_eq!(message.matches(cause).count(), 1, "{message}");
    let trained = sandbox.xgoal(&["train", source, "--out", "run"]).refused(3);
    assert_eq!(trained, message);
    assert!(!sandbox.exists("run"));
}

/// The small graph after a change must be refused.
#[track_caller]
fn refused_after(change: impl FnOnce(&mut Npz), parts: &[&str]) {
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    change(&mut npz);
    sandbox.write("graph.npz", npz.bytes());
    refused(&sandbox, "graph.npz", &[&["graph.npz"], parts].concat());
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../xgoal/tests/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

/// Over this file, which fuzzing made, the Parquet crate panics. Nobody is to see that.
#[test]
fn what_makes_a_library_panic_is_an_error_like_any_other() {
    let sandbox = Sandbox::empty();
    sandbox.write("rows.parquet", fixture("parquet/contradiction.parquet"));
    let message = sandbox.xgoal(&["cluster", "rows.parquet"]).refused(3);
    assert_says(&message, &["rows.parquet: damaged: its contents contradict each other"]);
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn cut_and_damaged_files() {
    let sources = [
        ("a.npz", Npz::of(&small_graph()).bytes()),
        ("a.mat", fixture("plain.mat")),
        ("b.mat", fixture("compressed.mat")),
        ("a.pkl", fixture("pickle/p4_csr.pkl")),
    ];
    let layers = ["layer0", "PAP", "PAP", "layer"];
    let sandbox = Sandbox::empty();
    for ((name, bytes), layer) in sources.iter().zip(layers) {
        sandbox.write(name, bytes);
        sandbox.xgoal(&["info", name, "--layers", layer]).done();
        for end in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            sandbox.write(name, &bytes[..end]);
            refused(&sandbox, name, &[name]);
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 3..][..40].fill(0xA7);
        sandbox.write(name, damaged);
        refused(&sandbox, name, &[name]);
        sandbox.write(name, "these are words");
        refused(&sandbox, name, &[name]);
    }
}

#[test]
fn a_pickle_runs_nothing() {
    let sandbox = Sandbox::empty();
    sandbox.write("evil.pkl", b"\x80\x02cos\nsystem\nX\x0b\x00\x00\x00touch pwned\x85R.");
    refused(&sandbox, "evil.pkl", &["evil.pkl", "os", "system"]);
    assert_eq!(sandbox.list("."), ["evil.pkl"]);
}

/// Names from files that would rename the window of a terminal, or move its cursor.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let (title, shown) = ("\x1b]0;owned\x07", "\\u{1b}]0;owned\\u{7}");
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    npz.sparse(title, &small_graph().layers()[0].adjacency);
    sandbox.write("graph.npz", npz.bytes());
    let plain = |text: &str| {
        let raw = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!text.contains(raw), "{text:?}");
        assert_says(text, &[shown]);
    };
    plain(&sandbox.xgoal(&["info", "graph.npz"]).done().stdout);
    plain(&sandbox.train("graph.npz", "run", &[]).stderr);
    plain(&sandbox.xgoal(&["info", "graph.npz", "--layers", "x"]).refused(2));
    // JSON has a way of its own.
    let info = sandbox.xgoal(&["info", "graph.npz", "--json"]).done().json();
    let layers = info["layers"].as_array().unwrap();
    assert!(layers.iter().any(|layer| layer["name"] == title), "{info}");

    let refused = |name: &str, text: &str, args: &[&str]| {
        sandbox.write(name, text);
        plain(&sandbox.xgoal(args).refused(3));
    };
    let train = ["train", "graph.npz", "--out", "other", "--config", "my.toml"];
    refused("my.toml", &format!("dim = {title}\n"), &train);
    let cluster = |file| ["cluster", file];
    refused("z.vec", &format!("1 1\na {title}\n"), &cluster("z.vec"));
    refused("z.vectors.tsv", &format!("{title}\n"), &cluster("z.vectors.tsv"));
    sandbox.write("ids.txt", format!("{title}\n"));
    plain(&sandbox.xgoal(&["similar", "run", "--queries", "ids.txt"]).refused(3));
    plain(&sandbox.xgoal(&["similar", "run", title]).refused(2));
}

#[test]
fn other_files_called_pickles_are_named_by_how_they_begin() {
    let sandbox = Sandbox::with_graph();
    sandbox.write("graph.pkl", fixture("plain.mat"));
    let says = ["graph.pkl: not a pickle of protocol 2 to 5", "begins with `MATLAB 5.0`"];
    refused(&sandbox, "graph.pkl", &says);
    let model = ["embed", "graph.pkl", "graph.npz", "--out", "z.npy"];
    let says = ["graph.pkl: no zip archive", "begins with `MATLAB 5.0`", "torch.save"];
    assert_says(&sandbox.xgoal(&model).refused(3), &says);
}

#[test]
fn what_is_no_source() {
    let sandbox = Sandbox::with_graph();
    refused(&sandbox, "missing.npz", &["missing.npz", "No such file"]);
    refused(&sandbox, "missing.csv", &["missing.csv", "No such file"]);
    sandbox.write("graph.csv", "a,b\n");
    refused(&sandbox, "graph.csv", &["graph.csv", ".mat, .pkl or .npz"]);
    std::fs::create_dir(sandbox.path("folder.npz")).unwrap();
    refused(&sandbox, "folder.npz", &["folder.npz"]);
    sandbox.write("graph.mat", sandbox.read("graph.npz"));
    refused(&sandbox, "graph.mat", &["graph.mat"]);
}

#[test]
fn matrices_of_the_wrong_size() {
    refused_after(
        |npz| npz.sparse("layer1", &Csr::empty(60, 59)),
        &["`layer1` is 60 x 59", "must be 60 x 60"],
    );
    refused_after(
        |npz| npz.sparse("layer1", &Csr::empty(61, 61)),
        &["`layer1` is 61 x 61", "must be 60 x 60"],
    );
    refused_after(|npz| npz.integers("label", &[0; 59]), &["59 labels for 60 nodes"]);
    refused_after(|npz| npz.integers("labels", &[0; 60]), &["both `label` and `labels`"]);
    let mut one_hot: Vec<f32> = (0..60).flat_map(|_| [1.0, 0.0, 0.0]).collect();
    one_hot[7 * 3] = f32::NAN;
    refused_after(
        |npz| npz.floats("label", &[60, 3], &one_hot),
        &["`label`: NaN at row 7, column 0; expected 0 or 1"],
    );
    refused_after(|npz| npz.strings("ids", &["a".into(), "b".into()]), &["2 ids for 60 nodes"]);
    refused_after(|npz| npz.integers("test_idx", &[60]), &["test", "node 60"]);
    refused_after(|npz| npz.integers("train_idx", &[-1]), &["train_idx", "-1"]);
    refused_after(|npz| npz.strings("ids", &vec!["same".to_string(); 60]), &["`same`"]);
    refused_after(|npz| npz.remove("feature"), &["no attributes", "`feature`", "layer0"]);
    refused_after(
        |npz| {
            npz.remove("layer0");
            npz.remove("layer1");
        },
        &["no layer"],
    );
    refused_after(|npz| npz.remove("layer0.indptr"), &["layer0", "indptr"]);
}

#[test]
fn values_that_are_no_numbers() {
    for (value, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        let place = [word, "row 7, column 3", "finite"];
        let sparse = Csr::from_triplets(60, 60, vec![(7, 3, value)]).unwrap();
        refused_after(|npz| npz.sparse("layer1", &sparse), &[&["layer1"], &place[..]].concat());
        let sparse = Csr::from_triplets(60, 24, vec![(7, 3, value)]).unwrap();
        refused_after(
            |npz| npz.sparse("feature", &sparse),
            &[&["attributes"], &place[..]].concat(),
        );
        let mut dense = vec![1.0; 60 * 24];
        dense[7 * 24 + 3] = value;
        refused_after(
            |npz| {
                npz.remove("feature");
                npz.floats("feature", &[60, 24], &dense);
            },
            &[&["attributes"], &place[..]].concat(),
        );
    }
}

#[test]
fn places_that_cannot_be_written() {
    let sandbox = Sandbox::with_run();
    sandbox.write("file", "in the way");
    let train = ["train", "graph.npz", "--quiet", "--out"];
    for (out, says) in [("file/run", "file/run: Not a directory"), ("file", "file: a file; ")] {
        assert_says(&sandbox.xgoal(&[&train[..], &[out]].concat()).refused(3), &[says]);
    }
    for (out, says) in
        [("file/z.npy", "file: Not a directory"), ("nowhere/z.npy", "nowhere: No such file")]
    {
        let message = sandbox.xgoal(&["embed", "run", "graph.npz", "--out", out]).refused(3);
        assert_says(&message, &[says]);
    }
    assert_eq!(sandbox.text("file"), "in the way");
    assert_eq!(sandbox.list("."), ["file", "graph.npz", "run"]);
}

/// Sources are missing here, but the target is told of: it is looked at first.
#[test]
fn a_target_that_cannot_be_written_is_refused_before_the_work() {
    let sandbox = Sandbox::with_run();
    sandbox.write("file", "in the way");
    for folder in ["folder", "z.npy", "c.csv", "g.npz"] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
    }
    let before = sandbox.list(".");
    let is_file = |path: &str| format!("{path}: a file; expected a folder, or a name that is free");
    let is_folder =
        |path: &str| format!("{path}: a folder; expected a file, or a name that is free");
    let two = ["--set", "clusters=3,4"];
    for (args, says) in [
        (&["demo", "--out", "file"][..], is_file("file")),
        (&["demo", "--out", "run"], "run: there is already a run here".into()),
        (&["train", "none.npz", "--out", "file"], is_file("file")),
        (&["train", "none.npz", "--out", "run"], "run: there is already a run here".into()),
        (&["report", "run", "--out", "folder"], is_folder("folder")),
        (&["report", "run", "--out", "nowhere/r.html"], "nowhere: No such file".into()),
        (&["plot", "run", "--out", "file"], is_file("file")),
        (&["plot", "run", "--out", "file/plots"], "file/plots: Not a directory".into()),
        (&["embed", "run", "none.npz", "--out", "z.npy"], is_folder("z.npy")),
        (&["embed", "run", "none.npz", "--out", "nowhere/z.npy"], "nowhere: No such file".into()),
        (&["cluster", "none.csv", "--out", "c.csv"], is_folder("c.csv")),
        (&["similar", "none.csv", "a", "--out", "c.csv"], is_folder("c.csv")),
        (&["convert", "none.npz", "g.npz"], is_folder("g.npz")),
        (&["convert", "none.npz", "file"], is_file("file")),
        (&["generate", "--out", "file"], is_file("file")),
        (&["generate", "--out", "file/g"], "file/g: Not a directory".into()),
        (&["sweep", "none.npz", "--out", "file", two[0], two[1]], is_file("file")),
        (&["tune", "none.npz", "--out", "file"], is_file("file")),
    ] {
        let message = sandbox.xgoal(args).refused(3);
        assert!(message.starts_with(&says), "{args:?}: {message}");
    }
    assert_eq!(sandbox.list("."), before);
    sandbox.write("folder/graph.toml", "");
    let message = sandbox.xgoal(&["convert", "none.npz", "folder"]).refused(3);
    assert_says(&message, &["folder: there is already a source here"]);
}

#[test]
fn folders_that_cannot_be_resumed() {
    let sandbox = Sandbox::with_run();
    let resume = |run| sandbox.xgoal(&["train", "graph.npz", "--out", run, "--resume"]).refused(3);
    assert_says(&resume("run"), &["run: nothing to resume", "a finished run has none"]);
    assert_says(&resume("nowhere"), &["nowhere: nothing to resume", "no such folder"]);
    assert!(!sandbox.exists("nowhere"));
}

//! What is kept from harm: files that are read, shells that hints are copied into, and the user's time.

use crate::common::{Sandbox, assert_says};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Tables of four nodes.
fn tables(sandbox: &Sandbox, folder: &str) {
    std::fs::create_dir(sandbox.path(folder)).unwrap();
    let write = |name: &str, text: &str| sandbox.write(&format!("{folder}/{name}"), text);
    write("nodes.csv", "id,x,y\na,1,2\nb,2,1\nc,1,1\nd,4,2\n");
    write("edges.csv", "from,to\na,b\nb,c\nc,d\nd,a\n");
    write(
        "graph.toml",
        "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n[[features]]\nnumeric = [\"x\", \"y\"]\n\
         [[layers]]\nname = \"e\"\nedges = \"edges.csv\"\nsource = \"from\"\ntarget = \"to\"\n",
    );
}

#[test]
fn nothing_is_written_over_what_is_read() {
    let sandbox = Sandbox::with_run();
    tables(&sandbox, "t");
    sandbox.train("t", "trained", &["--set", "clusters=2"]);
    std::os::unix::fs::symlink("t/nodes.csv", sandbox.path("link.csv")).unwrap();
    let nodes = sandbox.read("t/nodes.csv");
    for out in ["t/nodes.csv", "t/edges.csv", "t/../t/nodes.csv", "link.csv"] {
        let message = sandbox.xgoal(&["embed", "trained", "t", "--out", out]).refused(3);
        assert_says(&message, &[out, "would take the place of t/", "which is read"]);
    }
    assert!(sandbox.read("t/nodes.csv") == nodes);
    sandbox.xgoal(&["embed", "trained", "t", "--out", "t/new.csv"]).done();
    // Again over the file of before.
    sandbox.xgoal(&["embed", "trained", "t", "--out", "t/new.csv"]).done();
    let embeddings = sandbox.read("t/new.csv");
    for command in [&["cluster", "t/new.csv", "--k", "2"][..], &["similar", "t/new.csv", "a"]] {
        let message = sandbox.xgoal(&[command, &["--out", "t/new.csv"]].concat()).refused(3);
        assert_says(&message, &["would take the place of t/new.csv"]);
    }
    assert!(sandbox.read("t/new.csv") == embeddings);
}

#[test]
fn an_id_of_two_rows_is_refused_by_all_who_read_embeddings() {
    let sandbox = Sandbox::empty();
    sandbox.write("z.csv", "id,e0\na,1\na,2\nb,5\n");
    for args in [&["cluster", "z.csv", "--k", "2"][..], &["similar", "z.csv", "b"]] {
        assert_says(&sandbox.xgoal(args).refused(3), &["z.csv: the id `a` stands for two rows"]);
    }
}

#[test]
fn a_pipe_is_not_waited_for() {
    let sandbox = Sandbox::empty();
    tables(&sandbox, "t");
    assert_eq!(
        sandbox.shell("rm t/nodes.csv && mkfifo t/nodes.csv p.pkl p.npz p.mat z.csv").code,
        Some(0)
    );
    let started = Instant::now();
    for args in [
        &["info", "t"][..],
        &["info", "p.pkl"],
        &["info", "p.npz"],
        &["info", "p.mat"],
        &["cluster", "z.csv", "--k", "2"],
    ] {
        let mut child = sandbox.start_heard(args);
        while child.try_wait().unwrap().is_none() {
            if started.elapsed() > Duration::from_secs(120) {
                child.kill().unwrap();
                panic!("{args:?} waits");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(child.wait().unwrap().code(), Some(3), "{args:?}");
    }
    assert_says(&sandbox.xgoal(&["info", "t"]).refused(3), &["t/nodes.csv: a pipe"]);
}

#[test]
fn hints_can_be_copied_into_a_shell() {
    let sandbox = Sandbox::empty();
    tables(&sandbox, "it's $HOME");
    let outcome = sandbox.train("it's $HOME", "a b", &["--set", "clusters=2"]);
    let hint = outcome.stdout.lines().find_map(|l| l.trim().strip_prefix("look:  xgoal ")).unwrap();
    assert_eq!(hint, r"report 'a b' 'it'\''s $HOME'");
    sandbox.shell(&format!("exec \"$0\" {hint}")).done();
    assert!(sandbox.exists("a b/report.html"));
}

#[test]
fn settings_inside_a_model_are_not_the_user_s() {
    let sandbox = Sandbox::with_graph();
    for (config, says) in [
        ("layers = [\\\"layer0\\\"]\\ndim = -1\\n", "setting `dim`: found -1"),
        ("layers = [\\\"layer0\\\"]\\ndimm = 1\\n", "unknown setting `dimm`"),
    ] {
        let header = format!(
            "{{\"__metadata__\":{{\"format\":\"xgoal\",\"version\":\"1\",\"config\":\"{config}\"}}}}"
        );
        let length = (header.len() as u64).to_le_bytes();
        sandbox.write("m.safetensors", [&length[..], header.as_bytes()].concat());
        let embed = ["embed", "m.safetensors", "graph.npz", "--out", "z.npy"];
        assert_says(&sandbox.xgoal(&embed).refused(3), &["m.safetensors: `config` in", says]);
    }
}

#[test]
fn a_killed_source_can_be_written_again() {
    let sandbox = Sandbox::empty();
    let generate = ["generate", "--nodes", "20000", "--out", "g"];
    sandbox.xgoal(&generate).done();
    let whole = sandbox.list("g");
    assert_says(&sandbox.xgoal(&generate).refused(3), &["g: there is already a source here"]);
    for file in ["g/nodes.csv", "g/layer1.npz"] {
        std::fs::remove_dir_all(sandbox.path("g")).unwrap();
        let mut child = sandbox.start(&generate);
        while !sandbox.exists(file) {
            assert!(child.try_wait().unwrap().is_none(), "ended before it could be killed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        sandbox.xgoal(&generate).done();
        assert_eq!(sandbox.list("g"), whole);
        sandbox.xgoal(&["info", "g"]).done();
    }
    // The user's own files stay.
    std::fs::create_dir(sandbox.path("mine")).unwrap();
    sandbox.write("mine/nodes.csv", "mine");
    let into = ["generate", "--nodes", "100", "--out", "mine"];
    assert_says(&sandbox.xgoal(&into).refused(3), &["mine/nodes.csv: already there"]);
    assert_eq!(sandbox.list("mine"), ["nodes.csv"]);
}

#[test]
fn many_columns_take_no_longer_than_they_are_long() {
    let sandbox = Sandbox::empty();
    let columns = 150_000;
    let mut text = "id".to_owned();
    (0..columns).for_each(|c| write!(text, ",e{c}").unwrap());
    for (row, id) in ["a", "b", "c"].iter().enumerate() {
        write!(text, "\n{id}").unwrap();
        (0..columns).for_each(|c| write!(text, ",{}", (c + row) % 3).unwrap());
    }
    sandbox.write("z.csv", &text);
    let names: Vec<String> = (0..columns).map(|c| format!("\"e{c}\"")).collect();
    tables(&sandbox, "t");
    sandbox.write("t/nodes.csv", text);
    sandbox.write("t/edges.csv", "from,to\na,b\nb,c\n");
    let manifest = sandbox.text("t/graph.toml").replace("\"x\", \"y\"", &names.join(","));
    sandbox.write("t/graph.toml", manifest);
    let started = Instant::now();
    sandbox.xgoal(&["cluster", "z.csv", "--k", "2"]).done();
    sandbox.xgoal(&["convert", "t", "t.npz"]).done();
    // Two seconds on an idle machine; where each column is looked for among all, three minutes.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

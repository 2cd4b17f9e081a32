//! What is chosen where settings are `auto`, from end to end.

use crate::common::{Sandbox, assert_says, planted, small_graph};
use crate::npz::Npz;
use xgoal::graph::planted::Planted;
use xgoal::matrix::Csr;
use xgoal::random::{Purpose, Stream};

/// A clear graph with one more layer of edges between any two nodes.
fn with_noise() -> Sandbox {
    let like = Planted { noise: 0.1, words: 30, ..Planted::default() };
    let stream = Stream::new(1, Purpose::Planted);
    let node = |i: u64| stream.below(i, like.nodes as u64) as u32;
    let pairs = (0..15_000).map(|i| (node(2 * i), node(2 * i + 1)));
    let edges = pairs.flat_map(|(a, b)| [(a, b, 1.0), (b, a, 1.0)]).collect();
    let mut npz = Npz::of(&planted(&like));
    npz.sparse("noise", &Csr::from_triplets(like.nodes, like.nodes, edges).unwrap());
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", npz.bytes());
    sandbox
}

/// 400 nodes with 16 attributes each, and layers of edges between any two of them.
fn unrelated(values: &[f32], stream: Stream, layers: &[&str]) -> Sandbox {
    let mut npz = Npz::of(&planted(&Planted { nodes: 400, ..Planted::default() }));
    for name in ["feature", "layer0", "layer1"] {
        npz.remove(name);
    }
    npz.floats("feature", &[400, 16], values);
    for (name, of) in layers.iter().zip(1..) {
        let node = |i: u64| stream.substream(of).below(i, 400) as u32;
        let edges = (0..2000).map(|i| (node(2 * i), node(2 * i + 1), 1.0)).collect();
        npz.sparse(name, &Csr::from_triplets(400, 400, edges).unwrap());
    }
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", npz.bytes());
    sandbox
}

#[test]
fn a_layer_that_carries_nothing_is_left_out_unless_it_is_named() {
    let sandbox = with_noise();
    let info = sandbox.xgoal(&["info", "graph.npz", "--json"]).done().json();
    let nothing: Vec<_> =
        info["signals"].as_array().unwrap().iter().map(|s| s["nothing"] == true).collect();
    assert_eq!((nothing, info["layers"].as_array().unwrap().len()), (vec![false, false, true], 3));
    assert_eq!(info["settings"]["layers"], serde_json::json!(["layer0", "layer1"]));
    let text = sandbox.xgoal(&["info", "graph.npz"]).done().stdout;
    assert_says(&text, &["(carries nothing)", "auto      layers: noise left out"]);

    let trained = sandbox.train("graph.npz", "run", &[]);
    assert_says(&trained.stderr, &["layers: noise left out", "layers layer0, layer1"]);
    let config = sandbox.text("run/config.toml");
    assert!(config.starts_with("# layers: noise left out"), "{config}");
    assert!(config.contains("layers = [\"layer0\", \"layer1\"]"), "{config}");
    sandbox.xgoal(&["eval", "run", "graph.npz"]).done();

    sandbox.train("graph.npz", "all", &["--layers", "layer0,layer1,noise"]);
    assert!(sandbox.text("all/config.toml").contains("\"noise\"]"));
    // A value for each of the three names them as well.
    sandbox.train("graph.npz", "each", &["--set", "tau=1,1,0.5"]);
    assert!(sandbox.text("each/config.toml").contains("\"noise\"]"));
}

#[test]
fn dense_noisy_attributes_have_the_plain_encoder_with_loops() {
    let sandbox = Sandbox::with_graph();
    let mut npz = Npz::of(&small_graph());
    let stream = Stream::new(2, Purpose::Planted);
    let values: Vec<f32> = (0..60 * 10).map(|i| stream.normal(i) as f32).collect();
    npz.remove("feature");
    npz.floats("feature", &[60, 10], &values);
    sandbox.write("dense.npz", npz.bytes());
    sandbox.train("dense.npz", "run", &[]);
    let config = sandbox.text("run/config.toml");
    for chosen in [
        "# encoder: gcn with self-loops",
        "encoder = \"gcn\"",
        "self_loops = \"all\"",
        "normalize_attributes = \"l2\"",
        "# normalize_columns: center",
        "normalize_columns = \"center\"",
    ] {
        assert!(config.contains(chosen), "{chosen}: {config}");
    }
    // The same settings for other nodes, and what is given stays.
    sandbox.xgoal(&["embed", "run", "dense.npz", "--out", "e.npy"]).done();
    sandbox.train("dense.npz", "given", &["--set", "encoder=first-order"]);
    let given = sandbox.text("given/config.toml");
    assert!(given.contains("encoder = \"first-order\"") && given.contains("\"isolated\""));
}

#[test]
fn layers_that_show_nothing_by_themselves_are_added_up_unless_they_are_named() {
    // Words of four classes, and edges between any two nodes.
    let stream = Stream::new(3, Purpose::Planted);
    let word = |n: u64, c: u64| stream.uniform(16 * n + c) < if c / 4 == n % 4 { 0.6 } else { 0.1 };
    let words = (0..400).flat_map(|n| (0..16).map(move |c| f32::from(u8::from(word(n, c)))));
    let words: Vec<f32> = words.collect();
    let sandbox = unrelated(&words, stream, &["a", "b", "c"]);

    let info = sandbox.xgoal(&["info", "graph.npz"]).done().stdout;
    assert_says(&info, &["auto      layers: added up to one, because none by itself"]);
    sandbox.train("graph.npz", "run", &[]);
    let config = sandbox.text("run/config.toml");
    assert!(config.contains("layers = [\"a+b+c\"]"), "{config}");
    sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.npy"]).done();
    assert!(sandbox.read("z.npy") == sandbox.read("run/embeddings.npy"));

    sandbox.train("graph.npz", "some", &["--layers", "c,a+b"]);
    assert!(sandbox.text("some/config.toml").contains("[\"c\", \"a+b\"]"));
    let missing = ["train", "graph.npz", "--out", "none", "--layers", "a+d"];
    let refused = sandbox.xgoal(&missing).refused(2);
    assert_says(&refused, &["`a+d`", "a, b, c"]);
}

#[test]
fn what_all_nodes_have_in_common_does_not_hide_what_they_do_not() {
    // Six columns far from zero, and a little that two classes have of their own.
    let stream = Stream::new(6, Purpose::Planted);
    let nodes = 300u64;
    let value = |n: u64, c: u64| {
        let class = if n.is_multiple_of(2) { 0.7 } else { -0.7 };
        (50.0 * (c + 1) as f64 + class + stream.normal(6 * n + c)) as f32
    };
    let values: Vec<f32> = (0..nodes).flat_map(|n| (0..6).map(move |c| value(n, c))).collect();
    let edges = (0..2400u64).flat_map(|e| {
        let (from, to) = (e % nodes, 2 * stream.substream(1).below(2 * e, nodes / 2));
        let class = if stream.substream(1).uniform(2 * e + 1) < 0.9 { from } else { from + 1 };
        let (a, b) = (from as u32, (to + class % 2) as u32);
        [(a, b, 1.0), (b, a, 1.0)]
    });
    let mut npz = Npz::of(&planted(&Planted { nodes: 300, ..Planted::default() }));
    for name in ["feature", "layer0", "layer1", "label"] {
        npz.remove(name);
    }
    npz.floats("feature", &[300, 6], &values);
    npz.sparse("a", &Csr::from_triplets(300, 300, edges.collect()).unwrap());
    let label: Vec<f32> = (0..nodes).flat_map(|n| [n % 2, 1 - n % 2].map(|v| v as f32)).collect();
    npz.floats("label", &[300, 2], &label);
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", npz.bytes());
    let set = ["--set", "max_epochs=300", "--set", "dim=16"];
    let nmi = |run: &str| {
        let scores = sandbox.xgoal(&["eval", run, "graph.npz", "--json"]).done().json();
        scores["nmi"]["mean"].as_f64().unwrap()
    };
    sandbox.xgoal(&[&["train", "graph.npz", "--out", "run"][..], &set].concat()).done();
    assert!(nmi("run") > 0.8, "{}", nmi("run"));
    let raw = ["--set", "normalize_columns=none", "--set", "smooth_attributes=0"];
    sandbox.xgoal(&[&["train", "graph.npz", "--out", "raw"][..], &set, &raw].concat()).done();
    assert!(nmi("raw") < 0.3, "{}", nmi("raw"));
    // The model keeps the means, for this graph and for others.
    sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.npy"]).done();
    assert!(sandbox.read("z.npy") == sandbox.read("run/embeddings.npy"));
    let many = ["train", "graph.npz", "--out", "none", "--set", "smooth_attributes=9"];
    assert_says(&sandbox.xgoal(&many).refused(2), &["smooth_attributes", "9", "from 0 to 8"]);
}

#[test]
fn attributes_that_tell_more_than_layers_are_started_along() {
    // Attributes of four classes, and edges between any two nodes.
    let stream = Stream::new(4, Purpose::Planted);
    let value = |n: u64, c: u64| {
        stream.normal(1_000_000 + 16 * (n % 4) + c) + 0.5 * stream.normal(16 * n + c)
    };
    let values: Vec<f32> =
        (0..400).flat_map(|n| (0..16).map(move |c| value(n, c) as f32)).collect();
    let sandbox = unrelated(&values, stream, &["a"]);

    let info = sandbox.xgoal(&["info", "graph.npz"]).done().stdout;
    assert_says(&info, &["auto      start: principal, because attributes show more"]);
    sandbox.train("graph.npz", "run", &[]);
    let config = sandbox.text("run/config.toml");
    for chosen in ["# start: principal", "start = \"principal\""] {
        assert!(config.contains(chosen), "{chosen}: {config}");
    }
    sandbox.train("graph.npz", "given", &["--set", "start=random"]);
    let given = sandbox.text("given/config.toml");
    assert!(given.contains("start = \"random\""));
    assert!(sandbox.read("given/embeddings.npy") != sandbox.read("run/embeddings.npy"));
    let unknown = ["train", "graph.npz", "--out", "none", "--set", "start=pca"];
    let refused = sandbox.xgoal(&unknown).refused(2);
    assert_says(&refused, &["start", "pca", "\"random\" or \"principal\""]);
}

#[test]
fn clusters_count_as_far_as_they_stand_out_unless_their_weight_is_given() {
    let weight = |sandbox: &Sandbox, run: &str| -> f64 {
        let config = sandbox.text(&format!("{run}/config.toml"));
        let line = config.lines().find_map(|line| line.strip_prefix("lambda_c = "));
        line.unwrap_or_else(|| panic!("{config}")).parse().unwrap()
    };
    let clear = Sandbox::empty();
    let like = Planted { noise: 0.1, words: 30, nodes: 400, ..Planted::default() };
    clear.write("graph.npz", Npz::of(&planted(&like)).bytes());
    let said = clear.train("graph.npz", "run", &[]).stderr;
    assert_says(&said, &["lambda_c: 0.1, because clusters stand out"]);
    assert_eq!(weight(&clear, "run"), 0.1);

    let stream = Stream::new(5, Purpose::Planted);
    let values: Vec<f32> = (0..400 * 16).map(|i| stream.normal(i) as f32).collect();
    let noise = unrelated(&values, stream, &["a", "b"]);
    noise.train("graph.npz", "run", &[]);
    assert_says(&noise.text("run/config.toml"), &["lambda_c", "hardly stand out"]);
    assert!(weight(&noise, "run") < 0.02, "{}", weight(&noise, "run"));
    noise.train("graph.npz", "given", &["--set", "lambda_c=0.03"]);
    assert_eq!(weight(&noise, "given"), 0.03);
    assert!(!noise.text("given/config.toml").contains("# lambda_c"));
}

#[test]
fn a_layer_that_is_a_copy_is_left_out_unless_it_is_named() {
    let graph = small_graph();
    let mut npz = Npz::of(&graph);
    npz.sparse("again", &graph.layers()[0].adjacency);
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", npz.bytes());
    let original = &graph.layers()[0].name;
    let info = sandbox.xgoal(&["info", "graph.npz"]).done().stdout;
    // Whichever comes first is kept.
    assert_says(&info, &["left out: nearly a copy of", "again", original]);
    sandbox.train("graph.npz", "all", &["--layers", &format!("{original},again")]);
    assert!(sandbox.text("all/config.toml").contains("\"again\"]"));
}

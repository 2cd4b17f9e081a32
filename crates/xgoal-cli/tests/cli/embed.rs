use crate::common::{Sandbox, assert_says, planted, small_graph};
use crate::npz::Npz;
use xgoal::graph::planted::Planted;
use xgoal::io::npy::read_f32_matrix;

#[test]
fn a_run_and_its_model_file_give_the_run_s_embeddings() {
    let sandbox = Sandbox::with_run();
    for (model, out) in [("run", "a.npy"), ("run/model.safetensors", "b.npy")] {
        let args = ["embed", model, "graph.npz", "--out", out, "--json"];
        let report = sandbox.xgoal(&args).done().json();
        assert_eq!((&report["nodes"], &report["dim"]), (&60.into(), &8.into()));
        assert!(sandbox.read(out) == sandbox.read("run/embeddings.npy"), "{model}");
    }
    assert_eq!(sandbox.text("a.ids.txt"), sandbox.text("run/ids.txt"));
}

#[test]
fn layers_are_written_each_and_their_mean_is_the_whole() {
    let sandbox = Sandbox::with_graph();
    sandbox.train("graph.npz", "run", &[]);
    sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.npy", "--per-layer"]).done();
    assert!(sandbox.read("z.npy") == sandbox.read("run/embeddings.npy"));
    let read = |name: &str| read_f32_matrix(&sandbox.path(name)).unwrap();
    let (mean, a, b) = (read("z.npy"), read("z.layer0.npy"), read("z.layer1.npy"));
    assert!(a != b);
    for ((m, a), b) in mean.values().iter().zip(a.values()).zip(b.values()) {
        assert!((m - (a + b) / 2.0).abs() <= 1e-6, "{m} is not the mean of {a} and {b}");
    }
}

#[test]
fn a_graph_never_seen_is_encoded() {
    let sandbox = Sandbox::with_run();
    let like = Planted { communities: 4, attributes: 24, ..Planted::default() };
    let other = planted(&Planted { nodes: 83, seed: 9, ..like });
    sandbox.write("other.npz", Npz::of(&other).bytes());
    let args = ["embed", "run", "other.npz", "--out", "other.npy", "--json"];
    assert_eq!(sandbox.xgoal(&args).done().json()["nodes"], 83);
    assert_eq!(sandbox.text("other.ids.txt").lines().count(), 83);
    sandbox.xgoal(&["eval", "other.npy", "other.npz"]).done();
}

#[test]
fn a_graph_of_strangers_is_encoded_with_a_word_on_its_ids() {
    let sandbox = Sandbox::with_graph();
    sandbox.train("graph.npz", "run", &["--set", "structure=4", "--set", "structure_weight=0.5"]);
    let mut npz = Npz::of(&small_graph());
    npz.remove("ids");
    sandbox.write("same.npz", npz.bytes());
    let like = Planted { nodes: 83, seed: 9, communities: 4, attributes: 24, ..Planted::default() };
    let mut npz = Npz::of(&planted(&like));
    let other = planted(&like).with_ids((0..83).map(|n| format!("other {n}")).collect()).unwrap();
    sandbox.write("other.npz", Npz::of(&other).bytes());
    npz.remove("ids");
    sandbox.write("bare.npz", npz.bytes());
    let embed =
        |graph: &str| sandbox.xgoal(&["embed", "run", graph, "--out", "z.npy"]).done().stderr;
    assert_eq!(embed("same.npz"), "");
    assert_eq!(embed("graph.npz"), "");
    assert_says(&embed("bare.npz"), &["none of 83 nodes is known", "this graph has no ids"]);
    assert_says(&embed("other.npz"), &["none of 83 nodes is known", "no id of this graph"]);
}

#[test]
fn the_model_knows_its_layers() {
    let sandbox = Sandbox::with_graph();
    sandbox.train("graph.npz", "run", &["--layers", "layer1"]);
    let embed = |layers: &str| {
        sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.npy", "--layers", layers])
    };
    let message = embed("layer0,layer1").refused(2);
    assert_says(&message, &["--layers layer0,layer1", "trained on layer1"]);
    assert!(!sandbox.exists("z.npy"));
    embed("layer1").done();
    assert!(sandbox.read("z.npy") == sandbox.read("run/embeddings.npy"));
}

#[test]
fn a_graph_the_model_does_not_fit_is_refused() {
    let sandbox = Sandbox::with_run();
    let wider = Planted { nodes: 60, communities: 4, attributes: 30, ..Planted::default() };
    sandbox.write("wider.npz", Npz::of(&planted(&wider)).bytes());
    let embed = |source| sandbox.xgoal(&["embed", "run", source, "--out", "z.npy", "--per-layer"]);
    assert_says(&embed("wider.npz").refused(3), &["24 attributes", "30"]);

    let mut npz = Npz::of(&small_graph());
    npz.remove("layer1");
    sandbox.write("fewer.npz", npz.bytes());
    let message = embed("fewer.npz").refused(3);
    assert_says(&message, &["run: ", "trained on the layers layer0, layer1; fewer.npz has layer0"]);
    assert_eq!(sandbox.list("."), ["fewer.npz", "graph.npz", "run", "wider.npz"]);
}

#[test]
fn no_layer_s_file_takes_another_s_place() {
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    npz.sparse("layer 0", &small_graph().layers()[0].adjacency);
    npz.sparse("layer+0", &small_graph().layers()[1].adjacency);
    sandbox.write("graph.npz", npz.bytes());
    // Copies are kept where each has a value of its own.
    sandbox.train("graph.npz", "run", &["--set", "tau=1,1,1,1"]);
    let embed = ["embed", "run", "graph.npz", "--out", "z.npy"];
    let message = sandbox.xgoal(&[&embed[..], &["--per-layer"]].concat()).refused(2);
    assert_says(&message, &["--per-layer", "two layers", "z.layer_0.npy"]);
    assert_eq!(sandbox.list("."), ["graph.npz", "run"]);
    sandbox.xgoal(&embed).done();
}

#[test]
fn what_is_no_model_is_refused() {
    let sandbox = Sandbox::with_run();
    let model = sandbox.read("run/model.safetensors");
    sandbox.write("cut.safetensors", &model[..model.len() / 2]);
    sandbox.write("words.safetensors", "no model");
    sandbox.write("words.pt", "no checkpoint");
    for (name, says) in [
        ("cut.safetensors", "damaged"),
        ("words.safetensors", "not a safetensors file"),
        ("words.pt", "torch.save"),
        ("missing", "No such file"),
        ("graph.npz", "PyTorch"),
        ("graph.npz/model", "Not a directory"),
    ] {
        let message = sandbox.xgoal(&["embed", name, "graph.npz", "--out", "z.npy"]).refused(3);
        assert_says(&message, &[name, says]);
        assert!(!sandbox.exists("z.npy") && !sandbox.exists("z.ids.txt"));
    }
}

use crate::common::{Sandbox, assert_keys, assert_says, small_graph};
use crate::npz::Npz;
use serde_json::{Value, json};
use xgoal::matrix::Csr;

#[test]
fn json_has_the_documented_keys_and_the_graph_s_counts() {
    let sandbox = Sandbox::with_graph();
    let info = sandbox.xgoal(&["info", "graph.npz", "--json"]).done().json();
    let graph = small_graph();
    assert_eq!(info["nodes"], 60);
    assert_eq!(info["features"], 24);
    assert_eq!(info["feature_nnz"], graph.attributes().nonzeros());
    assert_eq!(info["classes"], 4);
    let splits = graph.splits().unwrap();
    assert_eq!(
        info["splits"],
        json!({"train": splits.train.len(), "val": splits.val.len(), "test": splits.test.len()})
    );
    assert!(info["memory_estimate_bytes"].as_u64().unwrap() > 0);
    let layers = info["layers"].as_array().unwrap();
    assert_eq!(layers.len(), 2);
    for (found, layer) in layers.iter().zip(graph.layers()) {
        assert_keys(found, &["name", "edges", "self_loops", "isolated"]);
        assert_eq!(found["name"], layer.name);
        assert_eq!(found["edges"], layer.adjacency.nnz());
        assert_eq!(found["self_loops"], 0);
        assert_eq!(found["isolated"], 0);
    }
}

#[test]
fn text_says_the_same() {
    let sandbox = Sandbox::with_graph();
    let info = sandbox.xgoal(&["info", "graph.npz"]).done();
    let edges = small_graph().layers()[0].adjacency.nnz().to_string();
    assert_says(&info.stdout, &["nodes     60", "features  24", "classes   4", &edges, "splits"]);
    assert!(serde_json::from_str::<Value>(&info.stdout).is_err());
}

#[test]
fn layers_are_selected_and_ordered() {
    let sandbox = Sandbox::with_graph();
    let names = small_graph().layer_names();
    let reversed = format!("{},{}", names[1], names[0]);
    let info = sandbox.xgoal(&["info", "graph.npz", "--json", "--layers", &reversed]).done().json();
    assert_eq!(info["layers"][0]["name"], names[1].as_str());
    assert_eq!(info["layers"][1]["name"], names[0].as_str());
    let one = sandbox.xgoal(&["info", "graph.npz", "--json", "--layers", &names[1]]).done().json();
    assert_eq!(one["layers"].as_array().unwrap().len(), 1);
}

#[test]
fn numbers_that_skip_some_are_as_many_classes_as_occur() {
    let sandbox = Sandbox::with_run();
    let classes = small_graph().labels().unwrap().classes.clone();
    let mut npz = Npz::of(&small_graph());
    let skipping = |c: &Option<u32>| c.map_or(-1, |c| 5 * i64::from(c) + 1);
    npz.integers("label", &classes.iter().map(skipping).collect::<Vec<_>>());
    sandbox.write("skips.npz", npz.bytes());
    sandbox.xgoal(&["convert", "skips.npz", "skips"]).done();
    sandbox.xgoal(&["convert", "graph.npz", "graph"]).done();
    for (source, same) in [("skips.npz", "graph.npz"), ("skips", "graph")] {
        let info = sandbox.xgoal(&["info", source, "--json"]).done().json();
        assert_eq!(info["classes"], 4, "{source}");
        let eval = |source: &str| sandbox.xgoal(&["eval", "run", source, "--json"]).done().json();
        assert_eq!(eval(source), eval(same), "{source}");
    }
}

#[test]
fn negative_weights_are_noted_and_refused_with_their_source() {
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    npz.sparse("layer1", &Csr::from_triplets(60, 60, vec![(3, 4, -2.0), (4, 3, 1.0)]).unwrap());
    sandbox.write("graph.npz", npz.bytes());
    sandbox.xgoal(&["convert", "graph.npz", "tables"]).done();
    for source in ["graph.npz", "tables"] {
        let info = sandbox.xgoal(&["info", source]).done().stdout;
        let says = "note      layer `layer1` has negative weights (1 of 2); training will refuse";
        assert_says(&info, &[says]);
        let message = sandbox.xgoal(&["train", source, "--out", "run"]).refused_after_words(3);
        let says = format!("{source}: layer `layer1`: weight -2 at row 3, column 4; ");
        assert!(message.starts_with(&says), "{message}");
        assert!(!sandbox.exists("run"));
    }
}

#[test]
fn a_source_without_labels_says_so() {
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    for key in ["label", "train_idx", "val_idx", "test_idx"] {
        npz.remove(key);
    }
    sandbox.write("graph.npz", npz.bytes());
    let info = sandbox.xgoal(&["info", "graph.npz", "--json"]).done().json();
    assert_eq!((&info["classes"], &info["splits"]), (&Value::Null, &Value::Null));
    let text = sandbox.xgoal(&["info", "graph.npz"]).done().stdout;
    assert_says(&text, &["no labels in this source"]);
}

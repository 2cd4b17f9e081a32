use crate::common::{Sandbox, assert_keys, assert_says};
use serde_json::Value;

fn rows(report: &Value) -> (&Value, &[Value]) {
    report["rows"].as_array().unwrap().split_last().unwrap()
}

#[test]
fn all_layers_together_beat_each_part() {
    let sandbox = Sandbox::empty();
    let demo = sandbox.xgoal(&["demo", "--json", "--out", "run"]).done();
    assert_says(&demo.stderr, &["A planted graph"]);
    let report = demo.json();
    let (all, parts) = rows(&report);
    assert_says(all["name"].as_str().unwrap(), &["X-GOAL"]);
    assert_eq!(parts.len(), 3, "the attributes and two layers");
    for row in parts.iter().chain([all]) {
        assert_keys(row, &["name", "macro_f1", "micro_f1", "nmi", "sim"]);
    }
    assert!(sandbox.exists("run/embeddings.npy"));

    let score = |row: &Value, name: &str| row[name]["mean"].as_f64().unwrap();
    for part in parts {
        for name in ["nmi", "macro_f1"] {
            let (all, part) = (score(all, name), score(part, name));
            assert!(all > part, "{name}: {all} with all, {part} in {report}");
        }
    }
}

use crate::common::{Sandbox, assert_keys, assert_says};
use serde_json::Value;

/// The text of an element of the page.
fn element(page: &str, id: &str) -> String {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, after) = page.split_once(&start).unwrap_or_else(|| panic!("no element `{id}`"));
    after.split_once("</script>").unwrap().0.to_string()
}

fn json(page: &str, id: &str) -> Value {
    serde_json::from_str(&element(page, id)).unwrap()
}

/// Base64 as 32-bit words.
fn words(page: &str, id: &str) -> Vec<u32> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{c} in base64"),
    };
    let mut bits = Vec::new();
    for c in element(page, id).trim_end_matches('=').bytes() {
        (0..6).rev().for_each(|b| bits.push(value(c) >> b & 1));
    }
    let bytes: Vec<u8> =
        bits.chunks_exact(8).map(|b| b.iter().fold(0, |byte, bit| byte << 1 | bit)).collect();
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn a_page_holds_everything_and_needs_nothing() {
    let sandbox = Sandbox::with_run();
    let report =
        sandbox.xgoal(&["report", "run", "graph.npz", "--json", "--seed", "3"]).done().json();
    assert_keys(&report, &["file", "bytes", "nodes", "clusters", "panels", "seconds"]);
    assert_eq!((&report["nodes"], &report["panels"]), (&60.into(), &6.into()));
    let page = sandbox.text("run/report.html");
    assert_eq!(page.len() as u64, report["bytes"].as_u64().unwrap());
    for section in ["map", "layers", "training", "clusters", "quality", "settings"] {
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    assert!(page.contains("Was training worth it?") && page.contains("structure alone</th>"));
    assert!(page.contains("Agreement of layers") && page.contains("before the joint stage"));
    assert!(page.contains("default-src 'none'") && !page.contains("http://www.w3.org/1999"));
    let addresses =
        page.matches("://").count() - page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(addresses, 0, "an address in the page");

    // The neighbours are those of `xgoal similar`, bit by bit.
    let (meta, ids) = (json(&page, "meta"), json(&page, "ids"));
    let near = &meta["neighbours"];
    let k = near["k"].as_u64().unwrap() as usize;
    let rows = words(&page, near["rows"].as_str().unwrap());
    let cosines = words(&page, near["cosines"].as_str().unwrap());
    for node in [0, 31, 59] {
        let id = ids[node].as_str().unwrap();
        let answer = sandbox.xgoal(&["similar", "run", id, "--json"]).done().json();
        for (i, neighbor) in answer["neighbors"].as_array().unwrap().iter().enumerate() {
            assert_eq!(neighbor["id"], ids[rows[node * k + i] as usize]);
            let cosine = f32::from_bits(cosines[node * k + i]);
            assert_eq!(neighbor["cosine"].as_f64().unwrap() as f32, cosine);
        }
    }
}

#[test]
fn the_same_page_for_any_number_of_threads() {
    let sandbox = Sandbox::with_run();
    let page = |threads: &str, out: &str| {
        let args = ["report", "run", "graph.npz", "--threads", threads, "--out", out, "--quiet"];
        sandbox.xgoal(&args).done();
        sandbox.read(out)
    };
    assert!(page("1", "a.html") == page("3", "b.html"), "the bits depend on the threads");
}

#[test]
fn what_takes_no_training_can_be_left_out() {
    let sandbox = Sandbox::with_run();
    sandbox.xgoal(&["report", "run", "graph.npz", "--no-baselines"]).done();
    let page = sandbox.text("run/report.html");
    assert!(page.contains("<section id=\"quality\"") && !page.contains("Was training worth it?"));
}

#[test]
fn a_run_alone_has_a_page_too() {
    let sandbox = Sandbox::with_run();
    let args =
        ["report", "run", "--out", "x.html", "--projection", "pca", "--title", "</title><b>"];
    sandbox.xgoal(&args).done();
    let page = sandbox.text("x.html");
    assert!(page.contains("<section id=\"clusters\"") && !page.contains("<section id=\"quality\""));
    assert!(page.contains("&lt;/title&gt;&lt;b&gt;") && !page.contains("</title><b>"));
    assert!(!sandbox.exists("run/report.html"));
}

#[test]
fn columns_of_a_table_are_shown_as_text() {
    let sandbox = Sandbox::with_run();
    let ids = sandbox.text("run/ids.txt");
    let quoted = |id: &str| id.replace('"', "\"\"");
    let line = |(i, id): (usize, &str)| format!("\"{}\",</script><b>{},{i}.5\n", quoted(id), i % 2);
    let table: String = ids.lines().enumerate().map(line).collect();
    sandbox.write("more.csv", format!("id,kind<i>,size\n{table}"));
    sandbox.xgoal(&["report", "run", "--columns", "more.csv"]).done();
    let page = sandbox.text("run/report.html");
    let columns = json(&page, "meta")["columns"].clone();
    let of =
        |i: usize| (columns[i]["name"].as_str().unwrap(), columns[i]["kind"].as_str().unwrap());
    assert_eq!(
        (of(0), of(1), of(2)),
        (("cluster", "category"), ("kind<i>", "category"), ("size", "number"))
    );
    assert_eq!(columns[1]["names"], serde_json::json!(["</script><b>0", "</script><b>1"]));
    assert!(!page.contains("<b>0") && !page.contains("kind<i>"));
}

#[test]
fn what_cannot_be_looked_at_is_named() {
    let sandbox = Sandbox::with_run();
    let missing = sandbox.xgoal(&["report", "nowhere"]);
    assert_eq!(missing.code, Some(3));
    assert_says(&missing.stderr, &["nowhere"]);
    let clusters = sandbox.xgoal(&["report", "run", "--clusters", "61"]);
    assert_eq!(clusters.code, Some(3));
    assert_says(&clusters.stderr, &["61 clusters for 60 points"]);
    let perplexity = sandbox.xgoal(&["report", "run", "--perplexity", "0"]);
    assert_eq!(perplexity.code, Some(2));
    sandbox.write("run/metrics.jsonl", "{}\n");
    let broken = sandbox.xgoal(&["report", "run"]);
    assert_eq!(broken.code, Some(3));
    assert_says(&broken.stderr, &["metrics.jsonl", "line 1"]);
    assert!(!sandbox.exists("run/report.html"));
}

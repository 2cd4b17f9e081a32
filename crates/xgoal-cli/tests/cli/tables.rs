//! Tables of the user's own, from `graph.toml` to embeddings.

use crate::common::{Sandbox, assert_says};
use std::fmt::Write;

const MANIFEST: &str = r#"
[nodes]
file = "papers.csv"
id = "paper"

[[features]]
text = ["title", "abstract"]
min_df = 2

[[features]]
numeric = ["year"]

[[layers]]
name = "cites"
edges = "cites.tsv"
source = "from"
target = "to"

[[layers]]
name = "same author"
path = [{ file = "wrote.csv", from = "paper", to = "author" }]

[labels]
column = "field"
"#;

/// Papers of two fields, with words, authors and citations of their own.
fn papers(count: usize) -> Sandbox {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.path("papers")).unwrap();
    let field = |n: usize| n % 2;
    let words = [["graph", "node", "edge", "path"], ["cell", "gene", "tissue", "protein"]];
    let mut table = "paper,title,abstract,year,field\n".to_string();
    let (mut cites, mut wrote) = ("from\tto\n".to_string(), "author,paper\n".to_string());
    for n in 0..count {
        let word = |i: usize| words[field(n)][(n / 2 + i) % 4];
        let (a, b, c) = (word(0), word(1), word(2));
        let name = ["graphs", "cells"][field(n)];
        writeln!(table, "\"p, {n:03}\",On {a},\"{b}s, a {c} of {a}\",{},{name}", 1990 + n).unwrap();
        writeln!(cites, "p, {n:03}\tp, {:03}", (n + 2) % count).unwrap();
        writeln!(wrote, "{}{},\"p, {n:03}\"", ["Ada", "Bob"][field(n)], n / 6).unwrap();
    }
    sandbox.write("papers/graph.toml", MANIFEST);
    sandbox.write("papers/papers.csv", table);
    sandbox.write("papers/cites.tsv", cites);
    sandbox.write("papers/wrote.csv", wrote);
    sandbox
}

#[test]
fn from_tables_to_scores() {
    let sandbox = papers(60);
    let info = sandbox.xgoal(&["info", "papers", "--json"]).done().json();
    assert_eq!((&info["nodes"], &info["classes"]), (&60.into(), &2.into()));
    assert_eq!(info["layers"][0]["edges"], 120);
    assert_eq!(info["layers"][1]["edges"], 60 * 3);
    assert_eq!(info["splits"]["train"], 12);
    assert_eq!(info["source"]["drawn_split"]["seed"], 0);
    let blocks = &info["source"]["features"];
    assert_eq!((&blocks[0]["kind"], &blocks[1]["kind"]), (&"text".into(), &"numeric".into()));

    let trained = sandbox.train("papers", "run", &[]);
    assert_says(&trained.stderr, &["no [splits]: 20 % of each class train"]);
    sandbox.xgoal(&["eval", "run", "papers", "--json"]).done();
    assert_eq!(sandbox.text("run/ids.txt").lines().nth(7), Some("p, 007"));
}

#[test]
fn new_papers_are_embedded_by_the_names_of_their_words() {
    let sandbox = papers(60);
    sandbox.train("papers", "run", &[]);
    sandbox.xgoal(&["embed", "run", "papers", "--out", "old.npy"]).done();
    // One more paper, which nothing refers to: the others keep their embeddings.
    let table = sandbox.text("papers/papers.csv") + "new,On graph,unheard of edges,2050,\n";
    sandbox.write("papers/papers.csv", table);
    let embedded = sandbox.xgoal(&["embed", "run", "papers", "--out", "new.npy", "--json"]).done();
    assert_says(&embedded.stderr, &["features title+abstract:", "have no column in the model"]);
    let words = &embedded.json()["features"][0];
    assert_eq!((&words["kind"], &words["left_out"]), (&"text".into(), &false.into()));
    // "unheard" and "of" are new, "edges" was too rare to be a column.
    let unseen = words["unseen"].as_u64().unwrap();
    assert!(unseen >= 1 && words["unseen_occurrences"].as_u64().unwrap() >= unseen, "{words}");
    let numbers = |file: &str| -> Vec<f32> {
        let bytes = &sandbox.read(file)[128..];
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    };
    let (old, new) = (numbers("old.npy"), numbers("new.npy"));
    assert_eq!((old.len(), new.len()), (60 * 8, 61 * 8));
    let apart = old.iter().zip(&new).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-6, "{apart}");
    assert!(new[old.len()..].iter().any(|v| *v != 0.0), "the new paper is encoded too");

    let manifest = MANIFEST.replace("numeric = [\"year\"]", "categorical = [\"year\"]");
    sandbox.write("papers/graph.toml", manifest);
    let refused = sandbox.xgoal(&["embed", "run", "papers", "--out", "x.npy"]).refused(3);
    assert_says(&refused, &["`year` are categorical here; the model was trained on numeric ones"]);
}

#[test]
fn info_reports_what_is_wrong_with_a_source() {
    let sandbox = papers(12);
    let table = sandbox.text("papers/papers.csv");
    let table = table + "\"p, 003\",again,,1,graphs\nalone,,,2,graphs\n";
    sandbox.write("papers/papers.csv", table);
    let more =
        "[[layers]]\nname = \"none\"\nedges = \"none.csv\"\nsource = \"a\"\ntarget = \"b\"\n";
    sandbox.write("papers/none.csv", "a,b\n");
    sandbox.write("papers/graph.toml", format!("{MANIFEST}\n{more}"));
    let info = sandbox.xgoal(&["info", "papers"]).done().stdout;
    assert_says(&info, &["1 nodes are in no edge", "(empty)"]);
    assert_says(&info, &["1 rows of the node table repeat an id: `p, 003` (line 5 and line 14)"]);
    let json = sandbox.xgoal(&["info", "papers", "--json"]).done().json();
    assert_eq!((&json["unconnected"], &json["nodes"]), (&1.into(), &13.into()));
    assert_eq!(json["source"]["duplicate_ids"]["rows"], 1);
    let refused = sandbox.xgoal(&["train", "papers", "--out", "run"]).refused(3);
    assert_says(&refused, &["papers.csv: 1 rows repeat an id", "line 5 and line 14"]);
    assert!(!sandbox.exists("run"));
}

#[test]
fn mistakes_name_file_line_and_column() {
    let sandbox = papers(12);
    let refused = |file: &str, from: &str, to: &str| {
        let path = format!("papers/{file}");
        let good = sandbox.text(&path);
        assert!(good.contains(from));
        sandbox.write(&path, good.replacen(from, to, 1));
        let message = sandbox.xgoal(&["info", "papers"]).refused(3);
        sandbox.write(&path, good);
        message
    };
    let unknown = refused("cites.tsv", "p, 004", "p4");
    assert_says(&unknown, &["papers/cites.tsv: 1 id is not in papers/papers.csv: `p4` (line 4,"]);
    assert_says(
        &refused("papers.csv", "1993", "n/a"),
        &["papers.csv: line 5, column `year`: `n/a`"],
    );
    assert_says(
        &refused("papers.csv", ",field", ",group"),
        &["no column `field`; the columns are"],
    );
    assert_says(&refused("graph.toml", "min_df", "mindf"), &["line 8: unknown key `mindf`"]);
    assert_says(&refused("graph.toml", "wrote.csv", "../x.csv"), &["in the manifest's folder"]);
    assert_says(
        &refused("graph.toml", "wrote.csv", "authors.csv"),
        &["papers/authors.csv: No such"],
    );
}

#[test]
fn unknown_ids_are_skipped_or_added_and_counted() {
    let sandbox = papers(12);
    sandbox.write("papers/cites.tsv", sandbox.text("papers/cites.tsv") + "p, 001\tx\ny\tz\n");
    let refused = sandbox.xgoal(&["info", "papers"]).refused(3);
    assert_says(&refused, &["cites.tsv: 3 ids are not in", "`x` (line 14", "`y` (line 15"]);
    for (how, nodes, edges) in [("skip", 12, 24), ("add", 15, 28)] {
        let manifest = MANIFEST.replace("[nodes]", &format!("[nodes]\non_unknown = \"{how}\""));
        sandbox.write("papers/graph.toml", manifest);
        let info = sandbox.xgoal(&["info", "papers", "--json"]).done().json();
        assert_eq!((&info["nodes"], &info["layers"][0]["edges"]), (&nodes.into(), &edges.into()));
        assert_eq!(info["source"]["added_nodes"], nodes - 12);
        let text = sandbox.xgoal(&["info", "papers"]).done().stdout;
        assert_says(&text, &["cites.tsv (layer cites): 14 rows name 3 times an unknown node"]);
    }
    sandbox.train("papers", "run", &[]);
    assert!(sandbox.text("run/ids.txt").ends_with("\np, 011\nx\ny\nz\n"));
}

#[test]
fn parquet_names_its_rows() {
    let sandbox = Sandbox::with_graph();
    sandbox.xgoal(&["convert", "graph.npz", "tables", "--tables", "parquet"]).done();
    sandbox.write("tables/nodes.csv", "id\nsomeone\n");
    let manifest = sandbox.text("tables/graph.toml");
    let manifest = manifest.split("[[features]]").next().unwrap().replace(".parquet", ".csv");
    let layer = "[[layers]]\nname = \"a\"\nedges = \"layer0.parquet\"\nsource = \"source\"\n";
    let refused = |more: &str| {
        sandbox.write("tables/graph.toml", format!("{manifest}{layer}{more}"));
        sandbox.xgoal(&["info", "tables"]).refused(3)
    };
    let unknown = refused("target = \"target\"\n");
    assert_says(&unknown, &["tables/layer0.parquet", "(row 1, column `source`)", "nodes.csv"]);
    let columns = "no column `to`; the columns are `source`, `target`";
    assert_says(&refused("target = \"to\"\n"), &["tables/layer0.parquet", columns]);
    let whole = sandbox.read("tables/layer0.parquet");
    sandbox.write("tables/layer0.parquet", &whole[..whole.len() / 2]);
    assert_says(&refused("target = \"target\"\n"), &["tables/layer0.parquet"]);
}

#[test]
fn a_path_that_does_not_fit_is_refused_with_advice() {
    let sandbox = Sandbox::empty();
    let count = 300_000;
    let nodes: String = (0..count).map(|n| format!("{n},all\n")).collect();
    sandbox.write("nodes.csv", format!("id,group\n{nodes}"));
    sandbox.write(
        "graph.toml",
        "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n[[layers]]\nname = \"group\"\n\
         path = [{ file = \"nodes.csv\", from = \"id\", to = \"group\" }]\n",
    );
    // 90 billion edges; no machine this runs on has 720 GB to spare.
    let message = sandbox.xgoal(&["info", "."]).refused(4);
    assert_says(&message, &["layer `group` would have about 90000000000 edges", "`all` (300000)"]);
    assert_says(&message, &["set hub_cap = "]);
}

use crate::common::{Sandbox, assert_says, keys};
use serde_json::Value;

/// Points on a circle, so that the nearest are the next ones around.
fn circle(count: usize) -> Sandbox {
    let sandbox = Sandbox::empty();
    let point = |n: usize| (n as f64 / count as f64 * 3.0).sin_cos();
    let rows: String =
        (0..count).map(|n| format!("n{n},{},{}\n", point(n).0, point(n).1)).collect();
    sandbox.write("z.csv", format!("id,e0,e1\n{rows}"));
    sandbox
}

fn ids(found: &Value) -> Vec<&str> {
    found["neighbors"].as_array().unwrap().iter().map(|n| n["id"].as_str().unwrap()).collect()
}

#[test]
fn one_node_s_neighbors() {
    let sandbox = circle(40);
    let found = sandbox.xgoal(&["similar", "z.csv", "n0", "--k", "3", "--json"]).done().json();
    assert_eq!(keys(&found), ["neighbors", "node"]);
    assert_eq!((&found["node"], ids(&found)), (&"n0".into(), vec!["n1", "n2", "n3"]));
    let cosine = found["neighbors"][0]["cosine"].as_f64().unwrap();
    assert!((cosine - (3.0f64 / 40.0).cos()).abs() < 1e-6);
    let text = sandbox.xgoal(&["similar", "z.csv", "n0", "-k", "1"]).done().stdout;
    assert_eq!(text, "n0\n   0.997  n1\n");
}

#[test]
fn several_nodes_and_a_file_of_them() {
    let sandbox = circle(40);
    sandbox.write("some.txt", "n39\nn7\n");
    sandbox.write("some.tsv", "x\tid\n1\tn39\n2\tn7\n");
    for file in ["some.txt", "some.tsv"] {
        let args = ["similar", "z.csv", "n0", "--queries", file, "--k", "2", "--json"];
        let found = sandbox.xgoal(&args).done().json();
        assert_eq!((&found["approximate"], &found["recall"]), (&false.into(), &1.0.into()));
        let results = found["results"].as_array().unwrap();
        let nodes: Vec<&Value> = results.iter().map(|r| &r["node"]).collect();
        assert_eq!(nodes, ["n0", "n39", "n7"]);
        assert_eq!(ids(&results[1]), ["n38", "n37"]);
    }
    let args = ["similar", "z.csv", "--queries", "some.txt", "--k", "2", "--out", "near.csv"];
    assert_says(&sandbox.xgoal(&args).done().stdout, &["near.csv: the 2 nearest of 2 nodes"]);
    let table = sandbox.text("near.csv");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines.len(), lines[0]), (5, "id,rank,neighbor,cosine"));
    assert!(lines[1].starts_with("n39,1,n38,0.99") && lines[4].starts_with("n7,2,n"), "{table}");
}

#[test]
fn rows_without_ids_are_numbered() {
    let sandbox = Sandbox::with_run();
    std::fs::remove_file(sandbox.path("run/ids.txt")).unwrap();
    let found = sandbox.xgoal(&["similar", "run", "59", "--json"]).done().json();
    assert_eq!((&found["node"], ids(&found).len()), (&"59".into(), 10));
    assert_says(&sandbox.xgoal(&["similar", "run", "60"]).refused(2), &["no node `60`"]);
    assert_says(&sandbox.xgoal(&["similar", "run", "059"]).refused(2), &["no node `059`"]);
}

#[test]
fn an_approximate_search_says_what_it_finds() {
    let sandbox = circle(3000);
    sandbox.write("some.txt", (0..300).map(|n| format!("n{}\n", n * 10)).collect::<String>());
    let similar = |how: &str| {
        let args = ["similar", "z.csv", "--queries", "some.txt", "--k", "5", how, "--json"];
        sandbox.xgoal(&args).done()
    };
    let approximate = similar("--approximate");
    assert_says(&approximate.stderr, &["approximate: finds", "--exact finds all"]);
    let (found, exact) = (approximate.json(), similar("--exact").json());
    assert_eq!((&found["approximate"], &exact["approximate"]), (&true.into(), &false.into()));
    let said = found["recall"].as_f64().unwrap();
    let results = |found: &Value| found["results"].as_array().unwrap().clone();
    let pairs = results(&found).into_iter().zip(results(&exact));
    let hits: usize =
        pairs.map(|(f, e)| ids(&e).iter().filter(|id| ids(&f).contains(id)).count()).sum();
    let measured = hits as f64 / 1500.0;
    assert!(said >= 0.9 && (said - measured).abs() < 0.1, "{said} {measured}");
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let sandbox = circle(10);
    let refused = |code: i32, args: &[&str]| {
        sandbox.xgoal(&[&["similar", "z.csv"], args].concat()).refused(code)
    };
    assert_says(&refused(2, &[]), &["no nodes", "--queries"]);
    assert_says(&refused(2, &["n0", "N1"]), &["z.csv: there is no node `N1`"]);
    assert_says(&refused(2, &["n0", "--k", "0"]), &["above 0"]);
    assert_says(&refused(2, &["n0", "--out", "x.txt"]), &["--out x.txt"]);
    assert_says(&refused(2, &["n0", "--exact", "--approximate"]), &["cannot be used with"]);
    sandbox.write("some.txt", "n1\nm2\nn3\nm4\n");
    let message = refused(3, &["--queries", "some.txt"]);
    assert_says(&message, &["some.txt: line 2: `m2` is no node of z.csv, nor are 1 others"]);
    sandbox.write("some.txt", "n1\n\nn3\n");
    let message = refused(3, &["--queries", "some.txt"]);
    assert_says(&message, &["some.txt: line 2: blank; expected an id"]);
    sandbox.write("some.txt", "");
    assert_says(&refused(3, &["--queries", "some.txt"]), &["some.txt: no ids"]);
    assert_says(&refused(3, &["n0", "--queries", "some.txt"]), &["some.txt: no ids"]);
    sandbox.write("some.csv", "name\nn1\n");
    assert_says(&refused(3, &["--queries", "some.csv"]), &["some.csv: no column `id`"]);
    assert_says(&refused(3, &["--queries", "none.txt"]), &["none.txt: No such file"]);
}

use crate::common::{Sandbox, assert_keys, assert_says};

#[test]
fn nodes_go_into_clusters_and_a_table() {
    let sandbox = Sandbox::with_run();
    let args = ["cluster", "run", "--k", "4", "--out", "c.csv", "--json"];
    let found = sandbox.xgoal(&args).done().json();
    assert_keys(&found, &["nodes", "k", "candidates", "inertia", "clusters", "out"]);
    assert_eq!((&found["k"], &found["nodes"]), (&4.into(), &60.into()));
    let clusters = found["clusters"].as_array().unwrap();
    let sizes: Vec<u64> = clusters.iter().map(|c| c["size"].as_u64().unwrap()).collect();
    assert!(sizes.len() == 4 && sizes.iter().sum::<u64>() == 60);
    assert!(sizes.is_sorted_by(|a, b| a >= b), "the largest comes first");

    let table = sandbox.text("c.csv");
    assert!(table.starts_with("id,cluster\n"));
    assert_eq!(table.lines().count(), 61);
    for (cluster, size) in sizes.iter().enumerate() {
        let ending = format!(",{cluster}");
        assert_eq!(table.lines().filter(|l| l.ends_with(&ending)).count() as u64, *size);
    }
    // The same again, with another number of threads and from another format.
    sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.parquet"]).done();
    let args = ["cluster", "z.parquet", "--k", "4", "--out", "d.csv", "--threads", "1"];
    let text = sandbox.xgoal(&args).done().stdout;
    assert_says(&text, &["cluster", "nearest to the centre", "d.csv: the cluster of each of 60"]);
    assert_eq!(sandbox.text("d.csv"), table);
    sandbox.xgoal(&["cluster", "run", "--k", "4", "--out", "c.parquet"]).done();
    let ids = sandbox.xgoal(&["similar", "run", "--queries", "c.parquet", "--json"]).done().json();
    assert_eq!(ids["results"].as_array().unwrap().len(), 60);
}

#[test]
fn their_number_is_chosen_where_it_is_not_given() {
    let sandbox = Sandbox::empty();
    // Three tight groups.
    let point = |n: u32| (n % 3 * 10 + n * 7 % 11 % 5, n % 3 % 2 * 9 + n * 5 % 13 % 4);
    let rows: String = (0..60).map(|n| format!("n{n},{},{}\n", point(n).0, point(n).1)).collect();
    sandbox.write("z.csv", format!("id,e0,e1\n{rows}"));
    let found = sandbox.xgoal(&["cluster", "z.csv", "--most", "6", "--json"]).done().json();
    assert_eq!(found["k"], 3);
    assert_eq!(found["candidates"].as_array().unwrap().len(), 5);
    assert_eq!(found["clusters"][2]["size"], 20);
    let text = sandbox.xgoal(&["cluster", "z.csv"]).done().stdout;
    assert_says(&text, &["silhouette", "chosen"]);
}

#[test]
fn what_cannot_be_clustered_is_refused() {
    let sandbox = Sandbox::with_run();
    let refused = |code: i32, args: &[&str]| {
        sandbox.xgoal(&[&["cluster", "run"], args].concat()).refused(code)
    };
    assert_says(&refused(2, &["--k", "0"]), &["--k", "above 0"]);
    assert_says(&refused(2, &["--k", "3", "--most", "4"]), &["cannot be used with"]);
    assert_says(&refused(2, &["--out", "c.npy"]), &["--out c.npy", ".csv, .tsv or .parquet"]);
    assert_says(&refused(2, &["--k", "61"]), &["--k 61", "60 nodes", "at most 60"]);
    assert_says(&refused(2, &["-k", "61"]), &["--k 61"]);
    assert_says(&refused(3, &["--k", "2", "--out", "no/c.csv"]), &["no: No such file"]);
    let missing = sandbox.xgoal(&["cluster", "nowhere.csv"]).refused(3);
    assert_says(&missing, &["nowhere.csv: No such file"]);
    sandbox.write("z.csv", "id,e0\na,1\nb,2\n");
    let few = sandbox.xgoal(&["cluster", "z.csv"]).refused(3);
    assert_says(&few, &["2 points", "at least 3"]);
}

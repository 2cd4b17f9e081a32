use super::*;

const CITES: &str = "[[layers]]\nname = \"cites\"\nedges = \"cites.csv\"\n\
                     source = \"from\"\ntarget = \"to\"\n";
const SAME_AUTHOR: &str = "[[layers]]\nname = \"PAP\"\n\
                           path = [{ file = \"wrote.csv\", from = \"paper\", to = \"author\" }]\n";
const WROTE: &str = "author,paper\nA,p1\nA,p2\nB,p2\nB,p3\nB,p2\n";

fn cites(more: &str, table: &str) -> Source {
    Source::papers(&format!("{CITES}{more}"), &[("cites.csv", table)])
}

#[test]
fn edges_go_both_ways_unless_told_otherwise() {
    let table = "from,to\np1,p2\np2,p1\np1,p2\np3,p3\np3,p1\n";
    let (graph, report) = cites("", table).read();
    let joined = [[0., 1., 1., 0.], [1., 0., 0., 0.], [1., 0., 1., 0.], [0.; 4]];
    assert_eq!(adjacency(&graph, 0), joined);
    assert_eq!((report.tables[0].rows, report.tables[0].duplicates), (5, 1));
    let (graph, _) = cites("symmetric = false\n", table).read();
    assert_eq!(
        adjacency(&graph, 0),
        [[0., 1., 0., 0.], [1., 0., 0., 0.], [1., 0., 1., 0.], [0.; 4]]
    );
    let (graph, _) = cites("duplicates = \"sum\"\n", table).read();
    assert_eq!(adjacency(&graph, 0)[0], [0., 3., 1., 0.]);
}

#[test]
fn weights_are_summed_or_the_largest_is_kept() {
    let table = "from,to,w\np1,p2,0.5\np1,p2,2\np3,p2,0\n";
    let (graph, _) = cites("weight = \"w\"\n", table).read();
    assert_eq!(adjacency(&graph, 0)[1], [2.5, 0., 0., 0.]);
    let (graph, _) = cites("weight = \"w\"\nduplicates = \"join\"\n", table).read();
    assert_eq!(adjacency(&graph, 0)[1], [2., 0., 0., 0.]);
    let refused = |weight: &str| cites("weight = \"w\"\n", &table.replace("0.5", weight)).refused();
    assert_says(&refused("x"), &["cites.csv: line 2, column `w`: `x`; expected a finite number"]);
    assert_says(&refused(""), &["line 2, column `w`: nothing; expected a number"]);
    assert_says(&refused("1e39"), &["within f32"]);
}

#[test]
fn unknown_nodes_are_listed_skipped_or_added() {
    let table = "from,to\np1,x\np2,p3\n\"y, z\",p1\nx,x\n";
    let message = cites("", table).refused();
    assert_says(
        &message,
        &[
            "cites.csv: 4 ids are not in ",
            "nodes.csv: `y, z` (line 4, column `from`), `x` (line 5, column `from`), `x` (line 2, \
             column `to`)",
            "on_unknown = \"skip\" or \"add\"",
        ],
    );
    let (graph, report) = cites("on_unknown = \"skip\"\n", table).read();
    assert_eq!((graph.nodes(), graph.layers()[0].adjacency.nnz()), (4, 2));
    assert_eq!(report.tables[0].unknown, 4);
    let (graph, report) = cites("on_unknown = \"add\"\n", table).read();
    assert_eq!((graph.nodes(), report.added_nodes), (6, 2));
    assert_eq!([graph.id(4), graph.id(5)], ["x", "y, z"]);
    assert_eq!(adjacency(&graph, 0)[4], [1., 0., 0., 0., 1., 0.]);
}

#[test]
fn without_a_node_table_nodes_are_what_edges_name() {
    let manifest = format!("{CITES}{SAME_AUTHOR}");
    let files = [("cites.csv", "from,to\n7,007\n"), ("wrote.csv", "author,paper\nA,7\nA,x\n")];
    let (graph, report) = Source::new(&manifest, &files).read();
    assert_eq!((0..3).map(|n| graph.id(n)).collect::<Vec<_>>(), ["7", "007", "x"]);
    assert_eq!(adjacency(&graph, 0), [[0., 1., 0.], [1., 0., 0.], [0.; 3]]);
    assert_eq!(adjacency(&graph, 1), [[1., 0., 1.], [0.; 3], [1., 0., 1.]]);
    assert_eq!(report.features[0].kind, "stand-in");
    assert!(report.remarks().iter().any(|r| r.contains("stand in for attributes")));
}

fn papers_of_authors(more: &str) -> Source {
    Source::papers(&format!("{SAME_AUTHOR}{more}"), &[("wrote.csv", WROTE)])
}

#[test]
fn paths_join_what_shares_a_thing() {
    let (graph, report) = papers_of_authors("").read();
    let shared = [[1., 1., 0., 0.], [1., 1., 1., 0.], [0., 1., 1., 0.], [0.; 4]];
    assert_eq!(adjacency(&graph, 0), shared);
    assert_eq!((report.paths[0].paths, report.paths[0].edges), (8.0, 7));
    assert_eq!(report.tables[0].duplicates, 1);
    let (graph, _) = papers_of_authors("values = \"paths\"\n").read();
    let counted = [[1., 1., 0., 0.], [1., 2., 1., 0.], [0., 1., 1., 0.], [0.; 4]];
    assert_eq!(adjacency(&graph, 0), counted);
    let (graph, _) = papers_of_authors("self_loops = false\n").read();
    assert_eq!(adjacency(&graph, 0)[1], [1., 0., 1., 0.]);
}

#[test]
fn longer_paths_and_one_way_paths() {
    let step = "path = [{ file = \"wrote.csv\", from = \"paper\", to = \"author\" }";
    let knows = "{ file = \"knows.csv\", from = \"who\", to = \"what\", weight = \"w\" }";
    let longer = format!("[[layers]]\nname = \"PATAP\"\nvalues = \"paths\"\n{step}, {knows}]\n");
    let files = [("wrote.csv", WROTE), ("knows.csv", "who,what,w\nA,t,2\nB,t,1\nC,u,1\n")];
    let (graph, _) = Source::papers(&longer, &files).read();
    // p1: A, p2: A and B, p3: B; both know t, A twice as well.
    let expected = [[4., 6., 2., 0.], [6., 9., 3., 0.], [2., 3., 1., 0.], [0.; 4]];
    assert_eq!(adjacency(&graph, 0), expected);

    let to_paper = "{ file = \"edited.csv\", from = \"who\", to = \"paper\" }";
    let one_way = format!("[[layers]]\nname = \"PAP\"\nback = false\n{step}, {to_paper}]\n");
    let files = [("wrote.csv", WROTE), ("edited.csv", "who,paper\nA,p4\nB,p1\n")];
    let (graph, _) = Source::papers(&one_way, &files).read();
    assert_eq!(adjacency(&graph, 0)[0], [0., 1., 1., 1.]);
    let (graph, _) = Source::papers(&format!("{one_way}symmetric = false\n"), &files).read();
    assert_eq!(adjacency(&graph, 0)[0], [0., 0., 0., 1.]);
    let unknown = Source::papers(&one_way, &files).change("edited.csv", "p4", "p5").refused();
    assert_says(&unknown, &["edited.csv: 1 id is not in", "`p5` (line 2, column `paper`)"]);
}

#[test]
fn hubs_are_capped_and_paths_that_do_not_fit_refused() {
    let table: String =
        (0..300).map(|n| format!("{},{n}\n", if n < 290 { "hub" } else { "b" })).collect();
    let nodes: String = (0..300).map(|n| format!("{n}\n")).collect();
    let source = |more: &str| {
        let source = papers_of_authors(more);
        source.write("nodes.csv", &format!("id\n{nodes}"));
        source.write("wrote.csv", &format!("author,paper\n{table}"));
        source
    };
    let (graph, _) = source("").read();
    assert_eq!(graph.layers()[0].adjacency.nnz(), 290 * 290 + 100);
    let (graph, report) = source("hub_cap = 20\nhubs = \"drop\"\n").read();
    assert_eq!((graph.layers()[0].adjacency.nnz(), report.paths[0].hubs), (100, 1));
    let (graph, report) = source("hub_cap = 20\n").read();
    let edges = graph.layers()[0].adjacency.nnz();
    assert!((290 * 20..290 * 40 + 100).contains(&edges), "{edges}");
    assert!(report.paths[0].predicted_edges as usize >= edges);

    let tight = ReadOptions { memory: Some(300_000), ..Default::default() };
    let error = source("").try_read(&tight).unwrap_err();
    assert!(matches!(error, Error::LayerMemory { .. }));
    assert_says(
        &error.to_string(),
        &["layer `PAP` would have about 84200 edges", "`hub` (290)", "set hub_cap = 20"],
    );
    source("hub_cap = 20\n").try_read(&tight).unwrap();
}

#[test]
fn ids_of_tables_must_be_there() {
    let message = cites("", "from,to\n,p1\n").refused();
    assert_says(&message, &["cites.csv: line 2, column `from`: nothing; expected an id"]);
    let message = papers_of_authors("").change("wrote.csv", "A,p1", ",p1").refused();
    assert_says(&message, &["wrote.csv: line 2, column `author`: nothing; expected an id"]);
    let message = papers_of_authors("").change("graph.toml", "\"author\"", "\"writer\"").refused();
    assert_says(&message, &["wrote.csv: no column `writer`; the columns are `author`, `paper`"]);
}

#[test]
fn repeated_ids_are_reported_where_the_source_is_only_looked_at() {
    let source = cites("", "from,to\np1,p2\n").change("nodes.csv", "p4,", "p1,");
    assert_says(
        &source.refused(),
        &["1 rows repeat an id of column `id`: `p1` (line 2 and line 5)"],
    );
    let inspect = ReadOptions { inspect: true, ..Default::default() };
    let (graph, report) = source.try_read(&inspect).unwrap();
    assert_eq!((graph.nodes(), report.duplicate_ids.rows), (3, 1));
    assert_says(&report.remarks()[0], &["`p1` (line 2 and line 5)"]);
}

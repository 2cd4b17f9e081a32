use super::*;
use crate::graph::features::{FeatureColumns, FeatureSpace};

const LAYER: &str =
    "[[layers]]\nname = \"cites\"\nedges = \"cites.csv\"\nsource = \"from\"\ntarget = \"to\"\n";

fn papers(features: &str, files: &[(&str, &str)]) -> Source {
    let source = Source::papers(&format!("{LAYER}{features}"), files);
    source.write("cites.csv", "from,to\np1,p2\n");
    source
}

/// The attributes of four other papers in the columns of the first.
fn encoded(source: &Source, nodes: &str, space: &FeatureSpace) -> (Vec<Vec<f32>>, Report) {
    source.write("nodes.csv", nodes);
    let options = ReadOptions { features: Some(space), ..Default::default() };
    let (graph, report) = source.try_read(&options).unwrap();
    (dense(graph.attributes()), report)
}

#[test]
fn texts_become_bags_of_words() {
    let text = "[[features]]\ntext = \"title\"\nmin_df = 1\nmax_df = 1.0\n";
    let (graph, _) = papers(text, &[]).read();
    // and, graphs, trees
    assert_eq!(dense(graph.attributes()), [[1., 2., 0.], [0., 0., 1.], [0., 1., 1.], [0.; 3]]);
    let words = |more: &str| {
        let (graph, _) = papers(&format!("{text}{more}"), &[]).read();
        let FeatureColumns::Text { terms } = &graph.features().unwrap().blocks[0].columns else {
            panic!("text")
        };
        terms.iter().map(|t| t.term.clone()).collect::<Vec<_>>()
    };
    assert_eq!(words("terms = 1\n"), ["graphs"]);
    assert_eq!(words("stop_words = [\"AND\"]\n"), ["graphs", "trees"]);
    assert_eq!(words("min_length = 6\n"), ["graphs"]);
    let limits = text.replace("min_df = 1", "min_df = 2");
    assert_eq!(papers(&limits, &[]).read().0.attributes().cols(), 2);
    let limits = text.replace("max_df = 1.0", "max_df = 1");
    assert_eq!(papers(&limits, &[]).read().0.attributes().cols(), 1);
    let idf = |df: f32| (5.0 / (1.0 + df)).ln() + 1.0;
    let (graph, _) = papers(&format!("{text}weight = \"tf-idf\"\n"), &[]).read();
    assert_eq!(dense(graph.attributes())[0], [idf(1.0), 2.0 * idf(2.0), 0.0]);
}

#[test]
fn numbers_are_standardised_and_categories_are_columns() {
    let blocks = "[[features]]\nnumeric = [\"year\"]\n[[features]]\ncategorical = \"venue\"\n";
    let (graph, _) = papers(blocks, &[]).read();
    let rows = dense(graph.attributes());
    let deviation = 2f32.sqrt();
    assert_eq!(rows[0], [-2.0 / deviation, 1., 0.]);
    assert_eq!(rows[1], [0., 0., 1.]);
    assert_eq!(rows[3], [0., 0., 0.]);
    let wrong = papers(blocks, &[]).change("nodes.csv", "2005", "soon").refused();
    assert_says(&wrong, &["nodes.csv: line 4, column `year`: `soon`; expected a finite number"]);
    let missing = papers(blocks, &[]).change("nodes.csv", "2005", "");
    assert_says(
        &missing.refused(),
        &["line 4, column `year`: nothing; expected a number, or missing"],
    );
    let mean = missing.change("graph.toml", "[\"year\"]", "[\"year\"]\nmissing = \"mean\"");
    assert_eq!(dense(mean.read().0.attributes())[2][0], 0.0);
}

#[test]
fn a_constant_column_is_zero() {
    let source = papers("[[features]]\nnumeric = [\"year\"]\n", &[]);
    source.write("nodes.csv", "id,year\na,0.1\nb,0.1\nc,0.1\n");
    source.write("cites.csv", "from,to\na,b\n");
    assert_eq!(dense(source.read().0.attributes()), [[0.], [0.], [0.]]);
}

#[test]
fn numbers_of_any_size_are_standardised() {
    let block = "[[features]]\nnumeric = [\"year\"]\n";
    let source = papers(block, &[]);
    source.write("cites.csv", "from,to\na,b\n");
    let standard = |values: [f64; 4]| {
        let lines = ["a", "b", "c", "d"].iter().zip(values).map(|(id, v)| format!("{id},{v:e}\n"));
        source.write("nodes.csv", &format!("id,year\n{}", lines.collect::<String>()));
        dense(source.read().0.attributes()).concat()
    };
    let expected = standard([1.0, -1.0, 1.0, 0.0]);
    assert!(expected.iter().all(|v| v.abs() > 0.2), "{expected:?}");
    for size in
        [2f64.powi(1000), 2f64.powi(1023), 2f64.powi(600), 2f64.powi(-900), 2f64.powi(-1000)]
    {
        assert_eq!(standard([size, -size, size, 0.0]), expected, "{size:e}");
    }
    // One that is huge tells itself from the others.
    let one = standard([3.0, 1e200, 1.0, 2.0]);
    assert!((one[1] - 3f32.sqrt()).abs() < 1e-6 && one[0] < -0.5, "{one:?}");

    source.write("nodes.csv", "id,year\na,1\nb,2\nc,3\nd,3\n");
    let (graph, _) = source.read();
    source.write("nodes.csv", "id,year\na,1\nb,1e300\n");
    let options = ReadOptions { features: graph.features(), ..Default::default() };
    let message = source.try_read(&options).unwrap_err().to_string();
    assert_says(&message, &["nodes.csv: line 3, column `year`: 1e300; expected a number nearer"]);
}

#[test]
fn triplets_and_other_tables_are_found_by_id() {
    let triplets = "[[features]]\ntriplets = \"words.tsv\"\nid = \"paper\"\nfeature = \"word\"\n\
                    value = \"n\"\n";
    let table = "paper\tword\tn\np2\tb\t2\np1\ta\t1\np2\tb\t0.5\n";
    let (graph, report) = papers(triplets, &[("words.tsv", table)]).read();
    assert_eq!(dense(graph.attributes()), [[1., 0.], [0., 2.5], [0., 0.], [0., 0.]]);
    assert_eq!(report.tables[1].duplicates, 1);
    let unknown = papers(triplets, &[("words.tsv", &table.replace("p1", "p9"))]).refused();
    assert_says(&unknown, &["words.tsv: 1 id is not in", "`p9` (line 3, column `paper`)"]);

    let other = "[[features]]\ncategorical = [\"kind\"]\nfile = \"kinds.csv\"\nid = \"paper\"\n";
    let source = papers(other, &[("kinds.csv", "paper,kind\np3,x\np1,y\n")]);
    assert_eq!(dense(source.read().0.attributes()), [[0., 1.], [0., 0.], [1., 0.], [0., 0.]]);
    let twice = source.change("kinds.csv", "p1", "p3").refused();
    assert_says(&twice, &["kinds.csv: line 3, column `paper`: `p3` stands in line 2 already"]);
}

#[test]
fn new_graphs_are_encoded_by_name() {
    let blocks = "[[features]]\ntext = \"title\"\nmin_df = 1\nmax_df = 1.0\n\
                  [[features]]\nnumeric = [\"year\"]\n[[features]]\ncategorical = \"venue\"\n";
    let source = papers(blocks, &[]);
    let (graph, _) = source.read();
    let space = graph.features().unwrap().clone();
    // The same nodes have the same attributes, also when others are there.
    let more = format!("p0,Forests of trees,2009,ICML,\n{}", NODES.split_once('\n').unwrap().1);
    let nodes = format!("id,title,year,venue,class\n{more}");
    let (rows, report) = encoded(&source, &nodes, &space);
    assert_eq!(rows[1..], dense(graph.attributes()));
    assert_eq!(rows[0], [0., 0., 1., (6.0 / 2f64.sqrt()) as f32, 0., 0.]);
    let unseen: Vec<_> = report.features.iter().map(|b| (b.unseen, b.unseen_occurrences)).collect();
    assert_eq!(unseen, [(2, 2), (0, 0), (1, 1)]);
    assert!(report.remarks().iter().any(|r| r.contains("features title: 2 names have no column")));

    let options = ReadOptions { features: Some(&space), ..Default::default() };
    let without = papers("[[features]]\nnumeric = [\"year\"]\n", &[]);
    let message = without.try_read(&options).unwrap_err().to_string();
    assert_says(&message, &["trained on text features called `title`; the manifest has year"]);
    let more = format!("{blocks}[[features]]\nname = \"extra\"\ncategorical = \"class\"\n");
    let (graph, report) = papers(&more, &[]).try_read(&options).unwrap();
    assert_eq!(graph.features(), Some(&space));
    assert!(report.remarks().iter().any(|r| r == "features extra: unknown to the model, left out"));
}

#[test]
fn triplets_of_a_new_graph_go_to_their_columns() {
    let triplets = "[[features]]\ntriplets = \"words.csv\"\nid = \"paper\"\nfeature = \"word\"\n";
    let source = papers(triplets, &[("words.csv", "paper,word\np1,b\np2,a\n")]);
    let space = source.read().0.features().unwrap().clone();
    source.write("words.csv", "paper,word\np1,c\np1,a\np3,b\np2,c\n");
    let (rows, report) = encoded(&source, NODES, &space);
    assert_eq!(rows, [[1., 0.], [0., 0.], [0., 1.], [0., 0.]]);
    assert_eq!((report.features[0].unseen, report.features[0].unseen_occurrences), (1, 2));
}

#[test]
fn what_stands_in_for_attributes_depends_on_the_id_alone() {
    let source = papers("", &[]);
    let (graph, report) = source.read();
    assert_eq!(report.features[0].kind, "stand-in");
    let rows = dense(graph.attributes());
    assert!(rows.iter().all(|r| r.iter().any(|v| *v != 0.0)) && rows[0] != rows[1]);
    let space = graph.features().unwrap().clone();
    let (others, _) = encoded(&source, "id\np2\nnew\np1\n", &space);
    assert_eq!((&others[0], &others[2]), (&rows[1], &rows[0]));
}

#[test]
fn labels_and_splits_come_from_columns_or_are_drawn() {
    let (graph, report) = papers("[labels]\ncolumn = \"class\"\n", &[]).read();
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes, [Some(0), Some(1), Some(0), None]);
    assert_eq!(labels.names, ["a", "b"]);
    assert_eq!(report.drawn_split.unwrap().left_out, 3);
    let elsewhere = "[labels]\nfile = \"classes.tsv\"\nid = \"p\"\ncolumn = \"c\"\n\
                     [splits]\nfile = \"classes.tsv\"\nid = \"p\"\ncolumn = \"s\"\n";
    let table = "p\tc\ts\np3\t7\ttrain\np1\t7\ttest\n";
    let (graph, report) = papers(elsewhere, &[("classes.tsv", table)]).read();
    assert_eq!(graph.labels().unwrap().classes, [Some(0), None, Some(0), None]);
    assert_eq!((&graph.splits().unwrap().train[..], report.drawn_split), (&[2][..], None));
}

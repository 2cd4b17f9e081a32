use super::*;
use crate::graph::planted::Planted;
use crate::graph::{Labels, Layer};
use crate::io::source::read_source;
use crate::matrix::{Csr, Dense, Matrix};

const IDS: [&str; 6] = ["plain", "007", "a, \"b\"", "two\nlines", "é漢🦀\ttab", " "];

/// One symmetric and one directed layer with weights, and attributes of which one column is empty.
fn graph(ids: &[&str]) -> MultiplexGraph {
    let layer = |name: &str, entries: &[(u32, u32, f32)]| Layer {
        name: name.into(),
        adjacency: Csr::from_triplets(6, 6, entries.to_vec()).unwrap(),
    };
    let both = [(0, 1, 0.1), (1, 0, 0.1), (2, 2, -3.5), (3, 5, 1e-30), (5, 3, 1e-30)];
    let directed = [(0, 1, 1.0), (1, 0, 1.0), (4, 2, 1.0)];
    let layers = vec![layer("both \"ways\"", &both), layer("a/b", &directed), layer("a b", &[])];
    let attributes = Csr::from_triplets(6, 9, vec![(0, 0, 0.3), (1, 8, 2.0), (5, 4, 1.0)]).unwrap();
    let labels = Labels {
        classes: vec![Some(1), None, Some(0), Some(1), Some(0), None],
        names: vec!["x, y".into(), "z\nw".into()],
    };
    let splits = crate::graph::Splits { train: vec![0, 2], val: vec![3], test: vec![4] };
    let graph = MultiplexGraph::new(layers, Matrix::Sparse(attributes)).unwrap();
    let graph = graph.with_ids(ids.iter().map(|s| s.to_string()).collect()).unwrap();
    graph.with_labels(labels).unwrap().with_splits(splits).unwrap()
}

#[track_caller]
fn assert_same(found: &MultiplexGraph, expected: &MultiplexGraph) {
    assert_eq!(found.layers(), expected.layers());
    assert_eq!(found.attributes(), expected.attributes());
    assert_eq!(found.labels(), expected.labels());
    assert_eq!(found.splits(), expected.splits());
    let ids = |g: &MultiplexGraph| (0..g.nodes()).map(|n| g.id(n)).collect::<Vec<_>>();
    assert_eq!(ids(found), ids(expected));
}

/// To a destination and back.
fn around(graph: &MultiplexGraph, folder: &Path, name: &str, kind: TableKind) -> MultiplexGraph {
    let path = folder.join(name);
    let written = write(graph, &Destination::of(&path).unwrap(), kind).unwrap();
    assert!(written.files.iter().all(|f| f.exists()));
    read_source(&path, None).unwrap()
}

#[test]
fn every_form_gives_back_the_same_graph() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&IDS);
    assert_same(&around(&graph, folder.path(), "g.npz", TableKind::Csv), &graph);
    for kind in TableKind::ALL {
        let tables = around(&graph, folder.path(), kind.as_str(), *kind);
        assert_same(&tables, &graph);
        let npz = format!("{}.npz", kind.as_str());
        assert_same(&around(&tables, folder.path(), &npz, *kind), &graph);
    }
}

#[test]
fn planted_graphs_and_dense_attributes_too() {
    let folder = tempfile::tempdir().unwrap();
    let planted = Planted { nodes: 90, communities: 6, attributes: 40, ..Planted::default() };
    let sparse = planted.generate().unwrap();
    let (layers, labels) = (sparse.layers().to_vec(), sparse.labels().unwrap().clone());
    let values = (0..90 * 3).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let dense = Matrix::Dense(Dense::from_vec(90, 3, values).unwrap());
    let dense = MultiplexGraph::new(layers, dense).unwrap().with_labels(labels).unwrap();
    for (name, graph) in [("sparse", &sparse), ("dense", &dense)] {
        for kind in TableKind::ALL {
            let to = format!("{name}-{}", kind.as_str());
            let found = around(graph, folder.path(), &to, *kind);
            assert_eq!((found.layers(), found.attributes()), (graph.layers(), graph.attributes()));
            assert_eq!(found.labels(), graph.labels());
            assert_eq!(found.id(89), "89");
            assert_eq!(found.has_integer_ids(), *kind == TableKind::Parquet);
        }
        let npz = around(graph, folder.path(), &format!("{name}.npz"), TableKind::Csv);
        assert_same(&npz, graph);
    }
}

#[test]
fn words_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    let rows = "p1,the cat sat,3,x\np2,a cat and a dog,4,y\np3,\"the dog, the dog\",8,x\n";
    std::fs::write(own.join("nodes.csv"), format!("id,text,size,kind\n{rows}")).unwrap();
    std::fs::write(own.join("e.csv"), "a,b\np1,p2\np2,p3\n").unwrap();
    let manifest = r#"
        [nodes]
        file = "nodes.csv"
        id = "id"
        [[features]]
        text = ["text"]
        weight = "tf-idf"
        max_df = 1.0
        [[features]]
        numeric = ["size"]
        [[features]]
        categorical = ["kind"]
        [[layers]]
        name = "e"
        edges = "e.csv"
        source = "a"
        target = "b"
    "#;
    std::fs::write(own.join("graph.toml"), manifest).unwrap();
    let graph = read_source(&own, None).unwrap();
    for kind in TableKind::ALL {
        let found = around(&graph, folder.path(), kind.as_str(), *kind);
        assert_same(&found, &graph);
        let text = std::fs::read_to_string(folder.path().join(kind.as_str()).join("graph.toml"));
        assert!(text.unwrap().contains("triplets = \"text."));
    }
    let words = std::fs::read_to_string(folder.path().join("csv/text.csv")).unwrap();
    assert!(words.contains("p2,cat,"), "{words}");

    // Without attributes, what stands in for them is drawn from the same ids.
    let bare = manifest.lines().take_while(|l| !l.contains("[[features]]")).collect::<Vec<_>>();
    let layer = "[[layers]]\nname = \"e\"\nedges = \"e.csv\"\nsource = \"a\"\ntarget = \"b\"\n";
    std::fs::write(own.join("graph.toml"), format!("{}\n{layer}", bare.join("\n"))).unwrap();
    let graph = read_source(&own, None).unwrap();
    assert_same(&around(&graph, folder.path(), "bare", TableKind::Csv), &graph);
}

#[test]
fn what_a_form_cannot_hold_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |graph: &MultiplexGraph, name: &str| {
        let to = Destination::of(&folder.path().join(name)).unwrap();
        write(graph, &to, TableKind::Csv).unwrap_err().to_string()
    };
    let empty = graph(&["a", "", "c", "d", "e", "f"]);
    assert!(refused(&empty, "t").contains("node 1 has an empty id"));
    assert!(!folder.path().join("t").exists());
    assert_same(&around(&empty, folder.path(), "e.npz", TableKind::Csv), &empty);
    let zero = graph(&["a", "b\0", "c", "d", "e", "f"]);
    assert!(refused(&zero, "z.npz").contains("ends in a zero"));
    let renamed = |name: &str| {
        let layer = Layer { name: name.into(), adjacency: Csr::empty(1, 1) };
        MultiplexGraph::new(vec![layer], Matrix::Dense(Dense::zeros(1, 1))).unwrap()
    };
    assert!(refused(&renamed("ids"), "l.npz").contains("a layer called `ids`"));
    assert!(refused(&renamed("a,b"), "l").contains("a layer is called `a,b`"));
    around(&graph(&IDS), folder.path(), "twice", TableKind::Csv);
    assert!(refused(&graph(&IDS), "twice").contains("already a source"));
    assert!(Destination::of(Path::new("x.mat")).is_err());
}

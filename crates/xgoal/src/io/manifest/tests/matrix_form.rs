use super::*;
use crate::graph::planted::Planted;
use crate::io::generate::{self, Generated};

fn planted() -> Planted {
    Planted { nodes: 60, communities: 4, attributes: 24, ..Planted::default() }
}

fn source() -> Source {
    let source = Source(tempfile::tempdir().unwrap());
    generate::write(source.0.path(), &Generated { planted: planted(), dense: 3 }).unwrap();
    source
}

#[test]
fn layers_are_selected_and_ordered() {
    let source = source();
    let manifest = manifest_of(source.0.path()).unwrap();
    assert_eq!(manifest_of(&manifest), Some(manifest.clone()));
    let with = |layers: &[&str]| {
        let layers: Vec<String> = layers.iter().map(|l| l.to_string()).collect();
        source.try_read(&ReadOptions { layers: Some(&layers), ..Default::default() })
    };
    let (graph, _) = with(&["layer1", "layer0"]).unwrap();
    assert_eq!(graph.layer_names(), ["layer1", "layer0"]);
    assert_eq!(graph.id(7), "7");
    let message = with(&["x"]).unwrap_err().to_string();
    assert_eq!(message, "no layer is called `x`; the graph has layer0, layer1");
    assert!(with(&["layer0", "layer0"]).is_err());
}

#[test]
fn blocks_stand_side_by_side() {
    let source = source();
    let words = planted().generate().unwrap();
    let (graph, _) = source.read();
    let all = dense(graph.attributes());
    let words = dense(words.attributes());
    let more = crate::io::npy::read_f32_matrix(&source.path("dense.npy")).unwrap();
    for r in 0..60 {
        assert_eq!(all[r], [&words[r][..], more.row(r)].concat());
    }
    let columns: Vec<usize> =
        graph.features().unwrap().blocks.iter().map(|b| b.columns.count()).collect();
    assert_eq!(columns, [24, 3]);
}

#[test]
fn mistakes_in_the_files_name_them() {
    let shorter = source();
    let text = fs::read_to_string(shorter.path("nodes.csv")).unwrap();
    shorter.write("nodes.csv", &text.lines().take(60).collect::<Vec<_>>().join("\n"));
    assert_says(&shorter.refused(), &["layer0.npz: 60 x 60; expected 59 x 59"]);
    let twice = source().change("nodes.csv", "\n7,", "\n8,").refused();
    assert_says(
        &twice,
        &["nodes.csv: 1 rows repeat an id of column `id`: `8` (line 9 and line 10)"],
    );
    let ragged = source().change("nodes.csv", "\n7,", "\n7,x,").refused();
    assert_says(&ragged, &["nodes.csv: line 9: 4 fields; expected 3"]);
    let part = source().change("nodes.csv", "test", "tset").refused();
    assert_says(&part, &["nodes.csv: line 2, column `split`: `tset`; expected train, val, test"]);
    let column = source().change("graph.toml", "\"class\"", "\"section\"").refused();
    assert_says(
        &column,
        &["nodes.csv: no column `section`; the columns are `id`, `class`, `split`"],
    );
    let twice = source().change("graph.toml", "layer1", "layer0").refused();
    assert_says(&twice, &["graph.toml: line 19: two layers are called `layer0`"]);
    let missing = source().change("graph.toml", "layer1.npz", "layer9.npz").refused();
    assert_says(&missing, &["layer9.npz"]);
    let wrong = source().change("graph.toml", "layer1.npz", "words.npz").refused();
    assert_says(&wrong, &["words.npz: 60 x 24; expected 60 x 60"]);
    let no_matrix = source().change("graph.toml", "words.npz", "nodes.csv").refused();
    assert_says(&no_matrix, &["nodes.csv: expected a matrix in an .npz or .npy"]);
}

#[test]
fn rows_without_columns_take_no_memory() {
    let source = source();
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 0), }\n";
    let mut npy = b"\x93NUMPY\x01\0".to_vec();
    npy.extend((text.len() as u16).to_le_bytes());
    npy.extend(text.as_bytes());
    fs::write(source.path("dense.npy"), npy).unwrap();
    assert_says(&source.refused(), &["dense.npy: 4000000000 x 0; expected at least one row"]);
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_the_folder() {
    let (here, elsewhere) = (source(), source());
    let link = |to: &Path| {
        fs::remove_file(here.path("nodes.csv")).unwrap();
        std::os::unix::fs::symlink(to, here.path("nodes.csv")).unwrap();
    };
    fs::copy(here.path("nodes.csv"), here.path("inside.csv")).unwrap();
    link(Path::new("inside.csv"));
    here.read();
    link(&elsewhere.path("nodes.csv"));
    assert_says(&here.refused(), &["graph.toml: `nodes.csv` is a link to /", "in the manifest's"]);
    assert!(node_table(&here.path("graph.toml")).is_err());
}

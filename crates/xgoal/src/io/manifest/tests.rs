use super::*;
use crate::graph::planted::Planted;
use crate::io::generate::{self, Generated};
use crate::matrix::Matrix;
use std::fs;
use tempfile::TempDir;

fn planted() -> Planted {
    Planted { nodes: 60, communities: 4, attributes: 24, ..Planted::default() }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    generate::write(folder.path(), &Generated { planted: planted(), dense: 3 }).unwrap();
    folder
}

/// What is said once a file was changed.
fn refused(file: &str, change: impl Fn(String) -> String) -> String {
    let folder = folder();
    let path = folder.path().join(file);
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    let manifest = folder.path().join("graph.toml");
    read(&manifest, None).unwrap_err().to_string()
}

#[test]
fn layers_are_selected_and_ordered() {
    let folder = folder();
    let manifest = manifest_of(folder.path()).unwrap();
    assert_eq!(manifest_of(&manifest), Some(manifest.clone()));
    let names = ["layer1".to_string(), "layer0".to_string()];
    let graph = read(&manifest, Some(&names)).unwrap();
    assert_eq!(graph.layer_names(), names);
    assert_eq!(graph.id(7), "7");
    let message = read(&manifest, Some(&["x".to_string()])).unwrap_err().to_string();
    assert_eq!(message, "no layer is called `x`; the graph has layer0, layer1");
    assert!(read(&manifest, Some(&[names[0].clone(), names[0].clone()])).is_err());
}

#[test]
fn blocks_stand_side_by_side() {
    let folder = folder();
    let graph = read(&folder.path().join("graph.toml"), None).unwrap();
    let words = planted().generate().unwrap();
    let (Matrix::Dense(all), Matrix::Sparse(words)) = (graph.attributes(), words.attributes())
    else {
        panic!("27 columns, more than a quarter of which are not zero")
    };
    let dense = crate::io::npy::read_f32_matrix(&folder.path().join("dense.npy")).unwrap();
    for r in 0..60 {
        let (columns, values) = words.row(r);
        let mut row = vec![0.0; 24];
        columns.iter().zip(values).for_each(|(c, v)| row[*c as usize] = *v);
        row.extend_from_slice(dense.row(r));
        assert_eq!(all.row(r), row);
    }
}

#[test]
fn mistakes_in_the_node_table_name_it() {
    let shorter = refused("nodes.csv", |t| t.lines().take(60).collect::<Vec<_>>().join("\n"));
    assert!(shorter.contains("words.npz: 60 rows; expected 59"), "{shorter}");
    let twice = refused("nodes.csv", |t| t.replace("\n7,", "\n8,"));
    assert!(twice.contains("nodes.csv: the id `8` stands for two nodes"), "{twice}");
    let ragged = refused("nodes.csv", |t| t.replace("\n7,", "\n7,x,"));
    assert!(ragged.contains("nodes.csv: line 9: 4 fields; expected 3"), "{ragged}");
    let part = refused("nodes.csv", |t| t.replacen(",test", ",tset", 1));
    assert!(part.contains("`tset` in column `split`; expected train, val, test"), "{part}");
    let column = refused("graph.toml", |t| t.replace("\"class\"", "\"section\""));
    assert!(
        column.contains("nodes.csv: no column `section`; the columns are id, class, split"),
        "{column}"
    );
}

#[test]
fn mistakes_in_the_manifest_name_it() {
    let unknown = refused("graph.toml", |t| t.replace("id = ", "ids = "));
    assert!(unknown.contains("graph.toml: line 3: [nodes]: no `id`"), "{unknown}");
    let twice = refused("graph.toml", |t| t.replace("layer1", "layer0"));
    assert!(twice.contains("graph.toml: two layers are called `layer0`"), "{twice}");
    let missing = refused("graph.toml", |t| t.replace("layer1.npz", "layer9.npz"));
    assert!(missing.contains("layer9.npz"), "{missing}");
    let wrong = refused("graph.toml", |t| t.replace("layer1.npz", "words.npz"));
    assert!(wrong.contains("words.npz: 60 x 24; expected 60 x 60"), "{wrong}");
    let no_matrix = refused("graph.toml", |t| t.replace("words.npz", "nodes.csv"));
    assert!(no_matrix.contains("nodes.csv: expected a matrix in an .npz or .npy"), "{no_matrix}");
}

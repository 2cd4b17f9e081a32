//! Model files: `safetensors` of our own, and the authors' PyTorch checkpoints.
//!
//! A model file holds, for layer `v` from 0, the tensors `layers.v.weight` (attributes x dim),
//! `layers.v.self_weight` (the same shape, absent for a plain GCN) and `layers.v.bias` (dim), all f32;
//! where columns lose their means `columns.mean`, and where they are divided by their deviations `columns.scale`, one over
//! these (attributes);
//! and in its metadata `format` = `xgoal`, `version` = `1`, `config`, the resolved settings as TOML, what a graph must
//! have (`attributes`, their number, and `layers`, their names as JSON), a `checksum`, where the source named its
//! attributes `features`, what each column is, as JSON, and `graph`, what tells the graph that was trained on from others, as
//! JSON. Files of the first release have only the first three.

use super::tensors::{TensorFile, Tensors, in_file, wrong};
use super::torch::{self, Tensor};
use super::{atomic, open};
use crate::error::{Error, ParseError, Result};
use crate::graph::preprocess::Columns;
use crate::matrix::Dense;
use crate::model::{Known, LayerWeights, Model};
use crate::settings::{ColumnNorm, Encoder, Settings};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

/// The version this library writes; it reads this and older ones.
const VERSION: u32 = 1;

/// Writes a model.
pub fn write(path: &Path, model: &Model) -> Result<()> {
    let (tensors, metadata) = content(model);
    atomic::write(path, |w| tensors.write(w, metadata))
}

/// The bytes of a model's file.
pub fn to_bytes(model: &Model) -> Result<Vec<u8>> {
    let (tensors, metadata) = content(model);
    let mut bytes = Vec::new();
    tensors.write(&mut bytes, metadata).expect("writing to memory");
    Ok(bytes)
}

fn content(model: &Model) -> (Tensors<'_>, BTreeMap<String, String>) {
    let layers: Vec<&str> = model.config().layers().iter().map(|l| l.name.as_str()).collect();
    let mut metadata = BTreeMap::from([
        ("format".to_string(), "xgoal".to_string()),
        ("version".to_string(), VERSION.to_string()),
        ("config".to_string(), model.config().to_toml()),
        ("attributes".to_string(), model.features().to_string()),
        ("layers".to_string(), serde_json::to_string(&layers).expect("plain strings")),
    ]);
    if let Some(space) = model.space() {
        let text = serde_json::to_string(space).expect("plain numbers and strings");
        metadata.insert("features".to_string(), text);
    }
    if let Some(graph) = model.graph() {
        let text = serde_json::to_string(graph).expect("plain numbers and strings");
        metadata.insert("graph".to_string(), text);
    }
    let mut tensors = Tensors::default();
    for (name, values) in [
        ("columns.mean", model.columns().map(Columns::means)),
        ("columns.scale", model.columns().and_then(Columns::scales)),
    ] {
        if let Some(values) = values {
            tensors.push_f32(name.into(), &[values.len()], values);
        }
    }
    if let Some(known) = model.structure() {
        tensors.push_matrix("structure".into(), known.rows());
        if let Some(keys) = known.keys() {
            tensors.push_u32("structure.keys".into(), keys);
        }
    }
    for (v, weights) in model.weights().iter().enumerate() {
        tensors.push_weights(&format!("layers.{v}"), weights);
    }
    (tensors, metadata)
}

/// Reads a model file.
pub fn read(path: &Path) -> Result<Model> {
    from_bytes(&open::mapped_for_copy(path)?).map_err(|e| in_file(e, path))
}

/// JSON in a file's metadata, if it is there.
fn described<T: DeserializeOwned>(file: &TensorFile<'_>, entry: &str) -> Result<Option<T>> {
    let read = |text| {
        serde_json::from_str(text)
            .map_err(|e| wrong(format!("`{entry}` in the file's metadata cannot be read: {e}")))
    };
    file.optional_entry(entry).map(read).transpose()
}

/// Reads the bytes of a model's file.
pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
    let file = TensorFile::parse(bytes, "xgoal", 1..=VERSION)?;
    let mut settings = Settings::default();
    settings.read_toml(file.entry("config")?)?;
    let layers = settings.layers.clone().ok_or_else(|| wrong("`config` names no layers"))?;
    let encoder = settings.encoder.unwrap_or_default();
    let weights = (0..layers.len())
        .map(|v| file.weights(&format!("layers.{v}"), encoder))
        .collect::<Result<Vec<_>>>()?;
    let space = described(&file, "features")?;
    let graph = described(&file, "graph")?;
    let columns = match settings.normalize_columns.unwrap_or_default() {
        ColumnNorm::None => None,
        ColumnNorm::Center => Some(Columns::try_new(file.f32("columns.mean")?, None)?),
        ColumnNorm::Standard => {
            let scales = Some(file.f32("columns.scale")?);
            Some(Columns::try_new(file.f32("columns.mean")?, scales)?)
        }
    };
    let structure = match settings.structure.unwrap_or_default() {
        0 => None,
        _ => {
            let keys =
                file.has("structure.keys").then(|| file.u32("structure.keys")).transpose()?;
            Some(Known::try_new(file.matrix("structure")?, keys)?)
        }
    };
    let model = Model::new(settings.validate(&layers)?, weights)?;
    let model = model.with_structure(structure)?;
    let model = model.with_space(space)?.with_columns(columns)?.with_graph(graph);
    // What the metadata says for others to read must be what the tensors are.
    if let Some(found) = file.optional_entry("attributes") {
        file.entry("checksum")?;
        let expected = model.features().to_string();
        if found != expected {
            let message = format!("`attributes` is {found}, but the weights are for {expected}");
            return Err(wrong(message));
        }
    }
    if let Some(found) = file.optional_entry("layers")
        && serde_json::from_str::<Vec<String>>(found).ok().as_ref() != Some(&layers)
    {
        let expected = layers.join(", ");
        return Err(wrong(format!("`layers` is {found}, but the configuration has {expected}")));
    }
    Ok(model)
}

/// Reads one of the authors' PyTorch checkpoints.
///
/// It names its layers by number only and keeps no settings, so both must be given.
pub fn read_checkpoint(path: &Path, mut settings: Settings, layers: &[String]) -> Result<Model> {
    let tensors = torch::read_state_dict(path)?;
    let weights = checkpoint_layers(&tensors).map_err(|e| e.in_file(path))?;
    if weights.len() != layers.len() {
        return Err(Error::Data(format!(
            "{}: a checkpoint of {} layers, but {} were named ({}); use --layers or --preset to \
             name the layers in the checkpoint's order",
            path.display(),
            weights.len(),
            layers.len(),
            layers.join(", ")
        )));
    }
    settings.dim = weights[0].bias.len();
    let own = weights[0].self_weight.is_some();
    settings.encoder = Some(if own { Encoder::FirstOrder } else { Encoder::Gcn });
    Model::new(settings.validate(layers)?, weights).map_err(|e| in_file(e, path))
}

/// `gcn_list.{v}.` for several layers, `gcn.` for one; `fc` is W, `proj` is W', the biases add up.
fn checkpoint_layers(tensors: &[Tensor]) -> std::result::Result<Vec<LayerWeights>, ParseError> {
    let find = |name: &str| tensors.iter().find(|t| t.name == name);
    let mut prefixes: Vec<String> = (0..)
        .map(|v| format!("gcn_list.{v}."))
        .take_while(|prefix| find(&format!("{prefix}fc.weight")).is_some())
        .collect();
    if prefixes.is_empty() {
        prefixes.push("gcn.".to_string());
    }
    let layer = |prefix: &String| {
        let transposed = |name: &str| find(&format!("{prefix}{name}")).map(transpose).transpose();
        let missing = || {
            let names: Vec<&str> = tensors.iter().map(|t| t.name.as_str()).collect();
            ParseError::new(format!(
                "no tensor `{prefix}fc.weight`; the checkpoint has {}",
                names.join(", ")
            ))
        };
        let weight = transposed("fc.weight")?.ok_or_else(missing)?;
        let mut bias = vec![0.0; weight.cols()];
        for name in ["bias", "proj.bias"] {
            let Some(tensor) = find(&format!("{prefix}{name}")) else { continue };
            if tensor.values.len() != bias.len() {
                return Err(ParseError::new(format!(
                    "`{prefix}{name}` has {} values, expected {}",
                    tensor.values.len(),
                    bias.len()
                )));
            }
            bias.iter_mut().zip(&tensor.values).for_each(|(b, t)| *b += t);
        }
        Ok(LayerWeights { weight, self_weight: transposed("proj.weight")?, bias })
    };
    prefixes.iter().map(layer).collect()
}

fn transpose(tensor: &Tensor) -> std::result::Result<Dense, ParseError> {
    let [rows, cols] = tensor.shape[..] else {
        let (name, shape) = (&tensor.name, &tensor.shape);
        return Err(ParseError::new(format!("`{name}` is {shape:?}; expected a matrix")));
    };
    // A matrix without rows could claim any number of columns.
    if rows == 0 || cols == 0 {
        let (name, shape) = (&tensor.name, &tensor.shape);
        return Err(ParseError::new(format!("`{name}` is {shape:?}; expected at least one value")));
    }
    let mut out = Dense::zeros(cols, rows);
    for (r, row) in tensor.values.chunks(cols).enumerate() {
        for (c, v) in row.iter().enumerate() {
            out.values_mut()[c * rows + r] = *v;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::features::{FeatureBlock, FeatureColumns, FeatureSpace, Scale, Term};
    use crate::model::random_weights;

    #[test]
    fn columns_come_back_and_must_be_there() {
        for norm in ["center", "standard"] {
            let mut settings = Settings::default();
            settings.set("dim", "2").unwrap();
            settings.set("normalize_columns", norm).unwrap();
            let config = settings.validate(&["a".into()]).unwrap();
            let weights = random_weights(&config, 3);
            let bare = Model::new(config, weights).unwrap();
            let scales = (norm == "standard").then(|| vec![0.5, 0.0, 7.0]);
            let columns = Columns::try_new(vec![1.5, -2.0, 0.25], scales).unwrap();
            let model = bare.clone().with_columns(Some(columns)).unwrap();
            assert_eq!(from_bytes(&to_bytes(&model).unwrap()).unwrap(), model);
            let message = from_bytes(&to_bytes(&bare).unwrap()).unwrap_err().to_string();
            assert!(message.contains("columns."), "{message}");
            let few = Columns::try_new(vec![1.0], None).unwrap();
            let message = bare.clone().with_columns(Some(few)).unwrap_err().to_string();
            assert_eq!(message, "a model of 3 attributes, but means of 1 columns");
            let message = bare.with_columns(None).unwrap_err().to_string();
            assert!(message.contains(&format!("`{norm}`")), "{message}");
        }
    }

    fn model(encoder: &str) -> Model {
        let mut settings = Settings::default();
        settings.set("dim", "3").unwrap();
        settings.set("encoder", encoder).unwrap();
        settings.set("clusters", "4,5").unwrap();
        let config = settings.validate(&["a".into(), "b \"quoted\"".into()]).unwrap();
        let weights = random_weights(&config, 5);
        let terms = ["a", "b \"c\""].map(|t| Term { term: t.into(), weight: 0.1 + 0.2 });
        let scale = Scale { column: "year".into(), mean: 2001.1, deviation: 1.0 / 3.0 };
        let blocks = vec![
            FeatureBlock {
                name: "words".into(),
                columns: FeatureColumns::Text { terms: terms.to_vec() },
            },
            FeatureBlock {
                name: "numbers".into(),
                columns: FeatureColumns::Numeric { scales: vec![scale.clone(), scale] },
            },
            FeatureBlock { name: "x".into(), columns: FeatureColumns::Numbered { count: 1 } },
        ];
        Model::new(config, weights).unwrap().with_space(Some(FeatureSpace { blocks })).unwrap()
    }

    #[test]
    fn a_model_survives_a_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        for encoder in ["first-order", "gcn"] {
            let path = folder.path().join("model.safetensors");
            let model = model(encoder);
            write(&path, &model).unwrap();
            assert_eq!(read(&path).unwrap(), model);
            let bytes = std::fs::read(&path).unwrap();
            assert!(to_bytes(&model).unwrap() == bytes);
            for _ in 0..5 {
                write(&path, &model).unwrap();
                assert!(std::fs::read(&path).unwrap() == bytes, "equal models, equal files");
            }
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        write(&path, &model("gcn")).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            assert!(from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x41;
            assert!(from_bytes(&flipped).is_err(), "byte {at}");
        }
    }

    #[test]
    fn metadata_must_fit_what_is_there() {
        let model = model("gcn");
        for (key, value, says) in [
            ("version", "9", "version 9; this program reads version 1"),
            ("format", "other", "expected `format` = `xgoal`"),
            ("attributes", "7", "`attributes` is 7, but the weights are for 5"),
            ("layers", "[\"a\"]", "`layers` is [\"a\"], but the configuration has a, b"),
        ] {
            let (tensors, mut metadata) = content(&model);
            metadata.insert(key.to_string(), value.to_string());
            let mut bytes = Vec::new();
            tensors.write(&mut bytes, metadata).unwrap();
            let message = from_bytes(&bytes).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn checkpoints_are_transposed_and_their_biases_added() {
        let tensor = |name: &str, shape: &[usize], values: &[f32]| Tensor {
            name: name.into(),
            shape: shape.to_vec(),
            values: values.to_vec(),
        };
        let tensors = [
            tensor("gcn.bias", &[2], &[1.0, 2.0]),
            tensor("gcn.fc.weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            tensor("gcn.proj.weight", &[2, 3], &[0.0; 6]),
            tensor("gcn.proj.bias", &[2], &[10.0, 20.0]),
        ];
        let layers = checkpoint_layers(&tensors).unwrap();
        assert_eq!(layers[0].weight.values(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(layers[0].bias, [11.0, 22.0]);
        let message = checkpoint_layers(&tensors[..1]).unwrap_err().message;
        assert!(message.contains("no tensor `gcn.fc.weight`"), "{message}");
    }
    #[test]
    fn sizes_of_checkpoints_without_values_are_not_believed() {
        let shape = vec![1 << 40, 0];
        let empty = Tensor { name: "gcn.fc.weight".into(), shape, values: Vec::new() };
        let message = checkpoint_layers(&[empty]).unwrap_err().message;
        assert!(message.contains("expected at least one value"), "{message}");
    }

    #[test]
    fn contradictions_in_the_metadata_are_errors() {
        let refused =
            |space: FeatureSpace| model("gcn").with_space(Some(space)).unwrap_err().to_string();
        let block = |columns| FeatureBlock { name: "x".into(), columns };
        let huge = block(FeatureColumns::Numbered { count: usize::MAX });
        let message = refused(FeatureSpace { blocks: vec![huge.clone(), huge] });
        assert!(message.contains("a model of 5 attributes"), "{message}");
        let drawn = block(FeatureColumns::StandIn { count: 5, per_node: usize::MAX });
        let message = refused(FeatureSpace { blocks: vec![drawn] });
        assert!(message.contains("expected at most 5"), "{message}");
        let config = Settings::default().validate(&[]).unwrap();
        let message = Model::new(config, Vec::new()).unwrap_err().to_string();
        assert!(message.contains("without layers"), "{message}");
    }
}

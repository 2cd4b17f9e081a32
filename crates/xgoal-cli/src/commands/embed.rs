use super::chosen;
use crate::Ending;
use crate::args::EmbedArgs;
use crate::output::{Output, Usage, count};
use serde::Serialize;
use std::path::PathBuf;
use xgoal::Error;
use xgoal::graph::MultiplexGraph;
use xgoal::io::{embeddings, model, source::read_source, torch};
use xgoal::model::{Model, mean_of_layers};
use xgoal::run::model_file;

#[derive(Serialize)]
struct Report {
    nodes: usize,
    dim: usize,
    layers: Vec<String>,
    files: Vec<PathBuf>,
}

pub fn run(args: &EmbedArgs, output: &Output) -> anyhow::Result<Ending> {
    if args.out.extension().and_then(|e| e.to_str()) != Some("npy") {
        return Err(Usage(format!(
            "--out {}: expected a name that ends in .npy",
            args.out.display()
        ))
        .into());
    }
    let (model, graph) = load(args)?;
    embeddings::check_ids(&graph)?;
    let layers = model.embed(&graph)?;
    let mean = mean_of_layers(&layers);
    let mut files = Vec::new();
    if args.per_layer {
        for name in graph.layer_names() {
            let path = args.out.with_extension(format!("{}.npy", file_name(&name)));
            if files.contains(&path) {
                let path = path.display();
                let message = format!("--per-layer: two layers would be written to {path}");
                return Err(Usage(message).into());
            }
            files.push(path);
        }
        for (path, layer) in files.iter().zip(&layers) {
            embeddings::write_matrix(path, layer)?;
        }
    }
    embeddings::write(&args.out, &mean, &graph)?;
    files.push(args.out.clone());
    files.push(embeddings::ids_path(&args.out));
    let report =
        Report { nodes: mean.rows(), dim: mean.cols(), layers: graph.layer_names(), files };
    output.result(&report, || {
        format!(
            "{}: {} nodes x {} from the layers {}\n  score: xgoal eval {} {}",
            args.out.display(),
            count(report.nodes),
            report.dim,
            report.layers.join(", "),
            args.out.display(),
            args.source.display()
        )
    })?;
    Ok(Ending::Done)
}

/// A layer's name as part of a file name.
fn file_name(layer: &str) -> String {
    layer.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect()
}

/// The model, and the graph with the model's layers in the model's order.
fn load(args: &EmbedArgs) -> anyhow::Result<(Model, MultiplexGraph)> {
    let path = &args.model;
    if torch::is_checkpoint(path)? {
        let settings = chosen(&args.choice)?;
        let graph = read_source(&args.source, settings.layers.as_deref())?;
        let model = model::read_checkpoint(path, settings, &graph.layer_names())?;
        return Ok((model, graph));
    }
    let model = model::read(&model_file(path))?;
    let trained: Vec<String> = model.config().layers().iter().map(|l| l.name.clone()).collect();
    if args.choice.preset.is_some() {
        return Err(
            Usage("--preset is for checkpoints; this model holds its own settings".into()).into()
        );
    }
    // Naming layers again is allowed, to map a graph that calls them otherwise is not.
    if let Some(layers) = args.choice.layers.as_ref().filter(|layers| **layers != trained) {
        return Err(Usage(format!(
            "--layers {}: this model was trained on {}",
            layers.join(","),
            trained.join(",")
        ))
        .into());
    }
    let graph = read_source(&args.source, Some(&trained)).map_err(|error| match error {
        Error::UnknownLayer { available, .. } => Error::Data(format!(
            "{}: the model was trained on the layers {}; {} has {}",
            path.display(),
            trained.join(", "),
            args.source.display(),
            available.join(", ")
        )),
        other => other,
    })?;
    Ok((model, graph))
}

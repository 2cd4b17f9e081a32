use super::{chosen, load as load_source};
use crate::Ending;
use crate::args::EmbedArgs;
use crate::output::{Output, Usage, count, word};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xgoal::Error;
use xgoal::graph::MultiplexGraph;
use xgoal::io::embeddings::{self, Format, Writer};
use xgoal::io::manifest::BlockReport;
use xgoal::io::{model, source, target, torch};
use xgoal::model::{Model, mean_of_layers};
use xgoal::run::model_file;

#[derive(Serialize)]
struct Report {
    nodes: usize,
    dim: usize,
    layers: Vec<String>,
    format: &'static str,
    files: Vec<PathBuf>,
    /// Each block of attributes, and what of it the model does not know, where the source is a manifest.
    features: Option<Vec<BlockReport>>,
}

/// Refuses embeddings that could not be written, or the ids beside them, or that would take the place of what is read.
fn check(path: &Path, format: Format, read: &[PathBuf]) -> xgoal::Result<()> {
    embeddings::files(path, format).iter().try_for_each(|file| {
        target::check_file(file)?;
        target::check_apart(file, read)
    })
}

pub fn run(args: &EmbedArgs, output: &Output) -> anyhow::Result<Ending> {
    let format = format_of(&args.out, args.format)?;
    let read: Vec<PathBuf> =
        source::files(&args.source)?.into_iter().chain([model_file(&args.model)]).collect();
    check(&args.out, format, &read)?;
    let Loaded { model, graph, features } = load(args, output)?;
    let mut outputs: Vec<PathBuf> = Vec::new();
    if args.per_layer {
        for name in &graph.layer_names() {
            let path = of_layer(&args.out, format, name);
            if outputs.contains(&path) {
                let path = path.display();
                let message = format!("--per-layer: two layers would be written to {path}");
                return Err(Usage(message).into());
            }
            check(&path, format, &read)?;
            outputs.push(path);
        }
    }
    match model.known_nodes(&graph) {
        Some(0) => model.strangers(&graph).iter().for_each(|words| output.say(words)),
        Some(known) if known < graph.nodes() => output.say(format!(
            "{} of {} nodes were there in training; where the others stand follows from their neighbours",
            count(known),
            count(graph.nodes())
        )),
        _ => {}
    }
    let dim = model.config().settings().dim;
    let begin = |path: &Path| Writer::new(path, format, dim, &graph);
    let mut of_layers =
        outputs.iter().map(|path| begin(path)).collect::<xgoal::Result<Vec<_>>>()?;
    let mut of_mean = begin(&args.out)?;
    model.embed_blocks(&graph, &mut |_, layers| {
        of_layers.iter_mut().zip(&layers).try_for_each(|(writer, layer)| writer.push(layer))?;
        of_mean.push(&mean_of_layers(&layers))
    })?;
    let mut files = Vec::new();
    for writer in of_layers.into_iter().chain([of_mean]) {
        files.extend(writer.finish()?);
    }
    let report = Report {
        nodes: graph.nodes(),
        dim,
        layers: graph.layer_names(),
        format: format.as_str(),
        files,
        features,
    };
    output.result(&report, || {
        format!(
            "{}: {} nodes x {} from the layers {}\n  score: xgoal eval {} {}",
            args.out.display(),
            count(report.nodes),
            report.dim,
            report.layers.join(", "),
            word(&args.out),
            word(&args.source)
        )
    })?;
    Ok(Ending::Done)
}

/// The format asked for, else that of the file's name.
fn format_of(out: &Path, asked: Option<Format>) -> Result<Format, Usage> {
    let out_name = out.display();
    match (asked, Format::of(out)) {
        (Some(asked), None) => Ok(asked),
        // Both are tables of tabs.
        (Some(Format::Projector), Some(Format::Tsv)) => Ok(Format::Projector),
        (Some(asked), Some(named)) if asked != named => Err(Usage(format!(
            "--out {out_name} --format {}: the name is that of a {} file",
            asked.as_str(),
            named.as_str()
        ))),
        (_, Some(named)) => Ok(named),
        (None, None) => Err(Usage(format!(
            "--out {out_name}: expected a name that ends in {}, or --format",
            embeddings::EXPECTED
        ))),
    }
}

/// The file of one layer: its name before the extension of the whole.
fn of_layer(out: &Path, format: Format, layer: &str) -> PathBuf {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let extension = format.extension();
    let stem = match name.strip_suffix(&format!(".{extension}")) {
        Some(stem) => stem,
        None => name.rsplit_once('.').map_or(&*name, |(stem, _)| stem),
    };
    out.with_file_name(format!("{stem}.{}.{extension}", file_name(layer)))
}

/// A layer's name as part of a file name.
fn file_name(layer: &str) -> String {
    layer.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect()
}

/// The model, and the graph with the model's layers in the model's order.
struct Loaded {
    model: Model,
    graph: MultiplexGraph,
    features: Option<Vec<BlockReport>>,
}

fn load(args: &EmbedArgs, output: &Output) -> anyhow::Result<Loaded> {
    let path = &args.model;
    if torch::is_checkpoint(path)? {
        let mut settings = chosen(&args.choice)?;
        let graph = load_source(&args.source, settings.layers.as_deref(), None, output)?.0;
        if let Some(called) = settings.call_layers(&graph.layer_names()) {
            output.say(called);
        }
        let model = model::read_checkpoint(path, settings, &graph.layer_names())?;
        return Ok(Loaded { model, graph, features: None });
    }
    let model = model::read(&model_file(path))?;
    let trained = model.config().layer_names();
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
    let loaded = load_source(&args.source, Some(&trained), model.space(), output);
    let (graph, report) = loaded.map_err(|error| match error {
        Error::UnknownLayer { available, .. } => Error::Data(format!(
            "{}: the model was trained on the layers {}; {} has {}",
            path.display(),
            trained.join(", "),
            args.source.display(),
            available.join(", ")
        )),
        other => other,
    })?;
    Ok(Loaded { model, graph, features: report.map(|r| r.features) })
}

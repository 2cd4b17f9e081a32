//! What `report` and `plot` share: a run read back, and everything computed that there is to see.

use super::{eval, load};
use crate::args::LookArgs;
use crate::output::{Output, count, shown};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use xgoal::Error;
use xgoal::eval::baselines::Comparison;
use xgoal::graph::MultiplexGraph;
use xgoal::graph::features::FeatureSpace;
use xgoal::io::columns::{self, NodeColumn};
use xgoal::io::{embeddings, manifest, model};
use xgoal::matrix::Dense;
use xgoal::model::{Model, mean_of_layers};
use xgoal::run::{config_path, embeddings_path, metrics_path, model_path, warmup_path};
use xgoal_view::clusters::Attributes;
use xgoal_view::column::Column;
use xgoal_view::project::Method;
use xgoal_view::quality::Quality;
use xgoal_view::scene::{Input, Options, Scene, Stage};
use xgoal_view::training::Training;

/// A run, ready to be shown.
pub struct Seen {
    pub ids: Vec<String>,
    pub dim: usize,
    pub layers: Vec<String>,
    pub settings: String,
    pub training: Training,
    pub scene: Scene,
    pub quality: Option<Quality>,
}

/// What there is to be beside the map.
pub struct Wanted {
    /// Nearest nodes of each node.
    pub neighbors: usize,
    /// Scores, where there are labels.
    pub scores: bool,
    /// Those of what takes no training, too.
    pub baselines: bool,
}

/// Reads the run and the source, and computes the scene.
pub fn look(args: &LookArgs, wanted: &Wanted, output: &Output) -> anyhow::Result<Seen> {
    let run = &args.run;
    let config = config_path(run);
    let settings = std::fs::read_to_string(&config).map_err(|e| Error::io(&config, e))?;
    let training = Training::read(&metrics_path(run))?;
    let model = model::read(&model_path(run))?;
    let layers = model.config().layer_names();
    let read = |source: &Path| load(source, Some(&layers), model.space(), output);
    let graph = args.source.as_deref().map(read).transpose()?.map(|(graph, _)| graph);
    let (ids, matrix) = rows(&embeddings_path(run), graph.as_ref())?;
    let (dim, nodes) = (matrix.cols(), matrix.rows());
    let scored = graph.as_ref().filter(|_| wanted.scores);
    let quality = scored.and_then(|graph| {
        let mut quality = score(&matrix, graph, args.seed, output)?;
        if wanted.baselines {
            match Comparison::quick(&matrix, graph, args.seed, None) {
                Ok(compared) => quality.compared = Some(compared),
                Err(error) => output.say(format!("no baselines: {error}")),
            }
        }
        Some(quality)
    });

    let mut stages = Vec::new();
    if let Some(graph) = &graph {
        let warmup = warmup_path(run);
        if warmup.exists() {
            stages.push(stage("before the joint stage", &model::read(&warmup)?, graph)?);
        }
        let name = if stages.is_empty() { "after training" } else { "after the joint stage" };
        stages.push(stage(name, &model, graph)?);
    }
    let names = graph.as_ref().and_then(|g| g.features()).and_then(FeatureSpace::names);
    let attributes =
        graph.as_ref().map(|g| Attributes { values: g.attributes(), names: names.as_deref() });
    let input = Input {
        embeddings: matrix,
        layers: layers.clone(),
        stages,
        columns: columns_of(args, graph.as_ref(), &ids)?,
        attributes,
    };
    let options = Options {
        method: if args.projection == "pca" { Method::Pca } else { Method::Tsne },
        perplexity: args.perplexity,
        clusters: args.clusters,
        neighbours: wanted.neighbors,
        seed: args.seed,
    };
    output.say(format!("{}: laying out {} nodes", run.display(), count(nodes)));
    let bar = bar(output);
    let scene = Scene::new(input, &options, &mut |what, share| {
        bar.set_message(shown(what).into_owned());
        bar.set_position((share * 1000.0) as u64);
    })?;
    bar.finish_and_clear();
    Ok(Seen { ids, dim, layers, settings, training, scene, quality })
}

/// What a model makes of the graph.
fn stage(name: &str, model: &Model, graph: &MultiplexGraph) -> xgoal::Result<Stage> {
    let layers = model.embed(graph)?;
    let combined = mean_of_layers(&layers);
    Ok(Stage { name: name.into(), layers, combined })
}

/// A bar on a terminal, nothing elsewhere.
fn bar(output: &Output) -> ProgressBar {
    let bar = if output.quiet { ProgressBar::hidden() } else { ProgressBar::new(1000) };
    let style =
        ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}").expect("a fixed template");
    bar.set_style(style);
    bar
}

/// The embeddings and the ids of their rows, in the order of the graph where there is one.
fn rows(path: &Path, graph: Option<&MultiplexGraph>) -> xgoal::Result<(Vec<String>, Dense)> {
    if let Some(graph) = graph {
        let matrix = embeddings::read_for(path, None, graph)?;
        return Ok(((0..graph.nodes()).map(|n| graph.id(n)).collect(), matrix));
    }
    let embeddings = embeddings::read(path, None)?;
    let ids = (0..embeddings.matrix.rows()).map(|row| embeddings.id(row)).collect();
    Ok((ids, embeddings.matrix))
}

/// Scores where the source has what the protocol needs; otherwise says why there are none.
fn score(matrix: &Dense, graph: &MultiplexGraph, seed: u64, output: &Output) -> Option<Quality> {
    graph.labels()?;
    match eval::score(matrix, graph, seed) {
        Ok(report) => Some(Quality::new(&report, graph)),
        Err(error) => {
            output.say(format!("no scores: {error}"));
            None
        }
    }
}

/// The classes, and the columns of the table that is given or that the source has its nodes in.
fn columns_of(
    args: &LookArgs,
    graph: Option<&MultiplexGraph>,
    ids: &[String],
) -> xgoal::Result<Vec<Column>> {
    let labels = graph.and_then(MultiplexGraph::labels);
    let class = labels.map(|l| Column::categories("class", l.names.clone(), l.classes.clone()));
    let own = args.source.as_deref().map(manifest::node_table).transpose()?.flatten();
    let table = match (&args.columns, own) {
        (Some(path), _) => Some((path.clone(), None)),
        (None, Some((path, id))) => Some((path, Some(id))),
        (None, None) => None,
    };
    let read = table.map(|(path, id)| columns::read(&path, id.as_deref(), ids)).transpose()?;
    // The column that the classes were read from would be there twice.
    let known =
        |node: usize| labels.and_then(|l| l.classes[node].map(|c| l.names[c as usize].as_str()));
    let is_class = |c: &NodeColumn| {
        labels.is_some() && c.texts.iter().enumerate().all(|(n, t)| t == known(n).unwrap_or(""))
    };
    let more = read.into_iter().flatten().filter(|c| !is_class(c));
    let more = more.map(|c| Column::from_texts(&c.name, c.texts));
    Ok(class.into_iter().chain(more).collect())
}

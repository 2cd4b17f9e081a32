use crate::Ending;
use crate::args::EvalArgs;
use crate::output::Output;
use serde::Serialize;
use std::path::Path;
use xgoal::Error;
use xgoal::eval::baselines::{Baselines, Comparison};
use xgoal::eval::{Protocol, Report, Summary, Task, evaluate};
use xgoal::graph::MultiplexGraph;
use xgoal::io::{embeddings, source::read_source};
use xgoal::matrix::Dense;
use xgoal::run::{config_path, embeddings_of};
use xgoal::settings::Settings;

pub fn run(args: &EvalArgs, output: &Output) -> anyhow::Result<Ending> {
    let layers = match &args.layers {
        Some(layers) => Some(layers.clone()),
        None => run_layers(&args.input.embeddings)?,
    };
    let graph = read_source(&args.source, layers.as_deref())?;
    let path = embeddings_of(&args.input.embeddings);
    let matrix = embeddings::read_for(&path, args.input.format, &graph)?;
    let protocol = Protocol { seed: args.seed, ..Protocol::default() };
    let named = |error: Error| match error {
        Error::Data(message) => {
            Error::Data(format!("{} on {}: {message}", path.display(), args.source.display()))
        }
        other => other,
    };
    let task = Task::of(&graph).map_err(named)?;
    let report = evaluate(&matrix, &task, &protocol).map_err(named)?;
    let mut scores = Scores { report, baselines: None, sampled: None };
    if !args.no_baselines {
        match compare(&matrix, &graph, &task, &protocol) {
            Ok((baselines, sampled)) => {
                (scores.baselines, scores.sampled) = (Some(baselines), sampled);
            }
            Err(error @ Error::Memory { .. }) => output.say(format!("no baselines: {error}")),
            Err(error) => return Err(error.into()),
        }
    }
    output.result(&scores, || text(&scores))?;
    Ok(Ending::Done)
}

/// Scores of embeddings, and of what there is without any training.
#[derive(Serialize)]
struct Scores {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    baselines: Option<Baselines>,
    /// Where baselines were scored on some of the test nodes: what the embeddings come to on these.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<Sampled>,
}

#[derive(Serialize)]
struct Sampled {
    test_nodes: usize,
    embeddings: Report,
    #[serde(skip)]
    words: Option<String>,
}

/// Test nodes beyond which baselines are scored on a sample.
const MOST: usize = 20_000;

/// Scores baselines: on all nodes or, where these are many, on some, and the embeddings on these too.
fn compare(
    matrix: &Dense,
    graph: &MultiplexGraph,
    task: &Task<'_>,
    protocol: &Protocol,
) -> xgoal::Result<(Baselines, Option<Sampled>)> {
    if [task.train, task.val, task.test].iter().all(|split| split.len() <= MOST) {
        return Ok((Baselines::of(graph, task, matrix.cols(), protocol)?, None));
    }
    let compared = Comparison::of(matrix, graph, protocol, MOST, None)?;
    let words = compared.sampled();
    let Comparison { scored, embeddings, baselines, .. } = compared;
    Ok((baselines, Some(Sampled { test_nodes: scored, embeddings, words })))
}

/// The layers a run was trained on, so that its source is read as it was then.
fn run_layers(embeddings: &Path) -> xgoal::Result<Option<Vec<String>>> {
    let config = config_path(embeddings);
    if !config.exists() {
        return Ok(None);
    }
    let mut settings = Settings::default();
    settings.read_file(&config)?;
    Ok(settings.layers)
}

/// The paper's protocol on the labels and splits of a graph.
pub fn score(embeddings: &Dense, graph: &MultiplexGraph, seed: u64) -> xgoal::Result<Report> {
    evaluate(embeddings, &Task::of(graph)?, &Protocol { seed, ..Protocol::default() })
}

fn text(scores: &Scores) -> String {
    let report = &scores.report;
    let line = |name: &str, s: &Summary| format!("{name:<22}{:.3} +- {:.3}", s.mean, s.std);
    let mut lines = Vec::new();
    if let Some(baselines) = &scores.baselines {
        let sampled = scores.sampled.as_ref();
        lines.extend(beside(sampled.map_or(report, |s| &s.embeddings), baselines));
        lines.extend(sampled.and_then(|s| s.words.clone()).map(|words| format!("({words})")));
        lines.push("\nThe embeddings in full:".into());
    }
    lines.extend([
        line("Macro-F1", &report.macro_f1),
        line("Micro-F1", &report.micro_f1),
        line("NMI", &report.nmi),
        line("ARI", &report.ari),
        line("clustering accuracy", &report.clustering_accuracy),
    ]);
    lines.extend(report.sim.iter().map(|(k, v)| format!("{:<22}{v:.3}", format!("Sim@{k}"))));
    lines.join("\n")
}

/// Embeddings above what there is without training, and what of that is as good.
pub fn beside(embeddings: &Report, baselines: &Baselines) -> Vec<String> {
    let rows = baselines.0.iter().map(|(baseline, report)| (baseline.about, report));
    let mut lines = table(std::iter::once(("embeddings", embeddings)).chain(rows));
    lines.extend(baselines.ahead_of(embeddings));
    lines
}

/// The main scores, a row for each name.
pub fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a Report)> + Clone) -> Vec<String> {
    let width = rows.clone().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let header =
        format!("{:<width$}{:>10}{:>10}{:>8}{:>8}", "", "Macro-F1", "Micro-F1", "NMI", "Sim@5");
    let row = |(name, report): (&str, &Report)| {
        let [macro_f1, micro_f1, nmi, sim] = report.main().map(|(_, score)| score);
        format!("{name:<width$}{macro_f1:>10.3}{micro_f1:>10.3}{nmi:>8.3}{sim:>8.3}")
    };
    std::iter::once(header).chain(rows.map(row)).collect()
}

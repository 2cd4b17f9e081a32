use crate::Ending;
use crate::args::EvalArgs;
use crate::output::Output;
use serde::Serialize;
use std::path::Path;
use xgoal::Error;
use xgoal::eval::baselines::Baselines;
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
    let report = Task::of(&graph).and_then(|task| evaluate(&matrix, &task, &protocol));
    let report = report.map_err(|e| match e {
        Error::Data(message) => {
            Error::Data(format!("{} on {}: {message}", path.display(), args.source.display()))
        }
        other => other,
    })?;
    let baselines = || Baselines::of(&graph, matrix.cols(), &protocol);
    let baselines = (!args.no_baselines).then(baselines).transpose()?;
    let scores = Scores { report, baselines };
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
        let rows = baselines.0.iter().map(|(baseline, report)| (baseline.about, report));
        lines.extend(table(std::iter::once(("embeddings", report)).chain(rows)));
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

/// The main scores, a row for each name.
pub fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a Report)> + Clone) -> Vec<String> {
    let width = rows.clone().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let header =
        format!("{:<width$}{:>10}{:>10}{:>8}{:>8}", "", "Macro-F1", "Micro-F1", "NMI", "Sim@5");
    let row = |(name, s): (&str, &Report)| {
        format!(
            "{name:<width$}{:>10.3}{:>10.3}{:>8.3}{:>8.3}",
            s.macro_f1.mean,
            s.micro_f1.mean,
            s.nmi.mean,
            s.sim.get(&5).copied().unwrap_or(f64::NAN)
        )
    };
    std::iter::once(header).chain(rows.map(row)).collect()
}

use crate::Ending;
use crate::args::EvalArgs;
use crate::output::Output;
use std::path::Path;
use xgoal::Error;
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
    let report = score(&matrix, &graph, args.seed).map_err(|e| match e {
        Error::Data(message) => {
            Error::Data(format!("{} on {}: {message}", path.display(), args.source.display()))
        }
        other => other,
    })?;
    output.result(&report, || text(&report))?;
    Ok(Ending::Done)
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
    evaluate(embeddings, &task(graph)?, &Protocol { seed, ..Protocol::default() })
}

/// The labels and splits of a graph that has both, and can be scored by them.
pub fn task(graph: &MultiplexGraph) -> xgoal::Result<Task<'_>> {
    let missing = |what: &str| {
        Error::Data(format!(
            "the source has no {what}; the protocol needs `label`, `train_idx`, `val_idx` and \
             `test_idx`"
        ))
    };
    let labels = graph.labels().ok_or_else(|| missing("labels"))?;
    let splits = graph.splits().ok_or_else(|| missing("train/val/test split"))?;
    let parts = [("training", &splits.train), ("validation", &splits.val), ("test", &splits.test)];
    if let Some((name, _)) = parts.iter().find(|(_, nodes)| nodes.is_empty()) {
        return Err(missing(&format!("{name} nodes")));
    }
    let task = Task {
        labels: &labels.classes,
        classes: labels.names.len(),
        train: &splits.train,
        val: &splits.val,
        test: &splits.test,
        ids: graph.ids(),
    };
    task.check()?;
    Ok(task)
}

fn text(report: &Report) -> String {
    let line = |name: &str, s: &Summary| format!("{name:<22}{:.3} +- {:.3}", s.mean, s.std);
    let mut lines = vec![
        line("Macro-F1", &report.macro_f1),
        line("Micro-F1", &report.micro_f1),
        line("NMI", &report.nmi),
        line("ARI", &report.ari),
        line("clustering accuracy", &report.clustering_accuracy),
    ];
    lines.extend(report.sim.iter().map(|(k, v)| format!("{:<22}{v:.3}", format!("Sim@{k}"))));
    lines.join("\n")
}

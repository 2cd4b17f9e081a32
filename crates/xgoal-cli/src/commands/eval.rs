use crate::Ending;
use crate::args::EvalArgs;
use crate::output::Output;
use xgoal::Error;
use xgoal::eval::{Protocol, Report, Summary, Task, evaluate};
use xgoal::graph::MultiplexGraph;
use xgoal::io::{embeddings, source::read_source};
use xgoal::matrix::Dense;
use xgoal::run::embeddings_path;

pub fn run(args: &EvalArgs, output: &Output) -> anyhow::Result<Ending> {
    let graph = read_source(&args.source, None)?;
    let path = if args.embeddings.is_dir() {
        embeddings_path(&args.embeddings)
    } else {
        args.embeddings.clone()
    };
    let matrix = embeddings::read_for(&path, &graph)?;
    let report = score(&matrix, &graph, args.seed)?;
    output.result(&report, || text(&report))?;
    Ok(Ending::Done)
}

/// The paper's protocol on the labels and splits of a graph.
pub fn score(embeddings: &Dense, graph: &MultiplexGraph, seed: u64) -> xgoal::Result<Report> {
    let (Some(labels), Some(splits)) = (graph.labels(), graph.splits()) else {
        return Err(Error::Data(
            "the source has no labels or no train/val/test split; the protocol needs both".into(),
        ));
    };
    let task = Task {
        labels: &labels.classes,
        classes: labels.names.len(),
        train: &splits.train,
        val: &splits.val,
        test: &splits.test,
    };
    evaluate(embeddings, &task, &Protocol { seed, ..Protocol::default() })
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

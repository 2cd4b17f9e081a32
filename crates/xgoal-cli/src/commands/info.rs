use super::chosen;
use crate::Ending;
use crate::args::InfoArgs;
use crate::output::{Output, bytes, count};
use serde::Serialize;
use std::time::Instant;
use xgoal::graph::{Signal, Summary};
use xgoal::io::manifest::{ReadOptions, Report};
use xgoal::io::source;
use xgoal::machine;
use xgoal::session::{Limits, Plan};

#[derive(Serialize)]
struct Info {
    #[serde(flatten)]
    summary: Summary,
    memory_estimate_bytes: u64,
    /// What each layer shows of its nodes, in the layers' order.
    signals: Vec<Signal>,
    /// The settings that training would have, as far as they are known before it.
    settings: serde_json::Value,
    /// What was chosen among them, and why.
    reasons: Vec<String>,
    /// How long the source took to read.
    read_seconds: f64,
    /// What was found while its files were read, where the source is a manifest.
    source: Option<Report>,
}

pub fn run(args: &InfoArgs, output: &Output) -> anyhow::Result<Ending> {
    let mut settings = chosen(&args.choice)?;
    let options = ReadOptions {
        layers: settings.layers.as_deref(),
        memory: machine::available_bytes(),
        inspect: true,
        ..Default::default()
    };
    let started = Instant::now();
    let (graph, report) = source::load(&args.source, &options)?;
    let read_seconds = started.elapsed().as_secs_f64();
    if let Some(called) = settings.call_layers(&graph.layer_names()) {
        output.say(called);
    }
    let (summary, signals) = (graph.summary(), graph.signals());
    let plan = Plan::look(graph, settings, Limits::default())?;
    let config = plan.config();
    let info = Info {
        summary,
        memory_estimate_bytes: plan.peak_bytes(),
        signals,
        settings: serde_json::to_value(config.settings().to_table())?,
        reasons: config.decisions().iter().map(ToString::to_string).collect(),
        read_seconds,
        source: report,
    };
    output.result(&info, || text(&info))?;
    Ok(Ending::Done)
}

fn text(info: &Info) -> String {
    let s = &info.summary;
    let mut lines = vec![
        format!("nodes     {}", count(s.nodes)),
        format!(
            "features  {}, {} non-zero ({:.1} per node), {} nodes without any",
            count(s.features),
            count(s.feature_nnz),
            s.feature_nnz as f64 / s.nodes as f64,
            count(s.empty_feature_rows)
        ),
    ];
    let width = s.layers.iter().map(|l| l.name.chars().count()).max().unwrap_or(0).max(5);
    lines.push(format!(
        "\n{:width$}  {:>12}  {:>10}  {:>8}  degree: {:>5} {:>7} {:>9} {:>7}  {:>8}  {:>7}",
        "layer",
        "edges",
        "self-loops",
        "isolated",
        "least",
        "median",
        "mean",
        "most",
        "likeness",
        "closure"
    ));
    for (l, signal) in s.layers.iter().zip(&info.signals) {
        lines.push(format!(
            "{:width$}  {:>12}  {:>10}  {:>8}          {:>5} {:>7} {:>9.1} {:>7}  {:>8.2}  {:>7.2}{}",
            l.name,
            count(l.edges),
            count(l.self_loops),
            count(l.isolated),
            l.degrees.min,
            l.degrees.median,
            l.degrees.mean,
            l.degrees.max,
            signal.likeness,
            signal.closure,
            match l {
                _ if l.edges == 0 => "  (empty)",
                _ if signal.nothing => "  (carries nothing)",
                _ if !l.symmetric => "  (not symmetric)",
                _ => "",
            }
        ));
    }
    if s.unconnected > 0 {
        lines.push(format!("{} nodes are in no edge of any layer", count(s.unconnected)));
    }
    lines.push(String::new());
    lines.push(match s.classes {
        Some(classes) => format!("classes   {classes}"),
        None => "classes   none: no labels in this source".to_string(),
    });
    lines.push(match &s.splits {
        Some(p) => format!(
            "splits    train {}, val {}, test {}",
            count(p.train),
            count(p.val),
            count(p.test)
        ),
        None => "splits    none".to_string(),
    });
    lines.push(format!("memory    about {} to train", bytes(info.memory_estimate_bytes)));
    lines.extend(info.reasons.iter().map(|reason| format!("auto      {reason}")));
    let remarks = info.source.iter().flat_map(|r| r.remarks()).chain(s.notes.iter().cloned());
    lines.extend(remarks.map(|remark| format!("note      {remark}")));
    lines.join("\n")
}

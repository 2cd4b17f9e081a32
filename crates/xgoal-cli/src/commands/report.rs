use super::look::{Seen, Wanted, look};
use crate::Ending;
use crate::args::ReportArgs;
use crate::output::{Output, bytes, count};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xgoal::io::{atomic, target};
use xgoal_view::report;

#[derive(Serialize)]
struct Report {
    file: PathBuf,
    bytes: usize,
    nodes: usize,
    clusters: usize,
    panels: usize,
    seconds: f64,
}

pub fn run(args: &ReportArgs, output: &Output) -> anyhow::Result<Ending> {
    let started = Instant::now();
    let file = args.out.clone().unwrap_or_else(|| args.look.run.join("report.html"));
    // What is no run at all is told below.
    if args.look.run.is_dir() {
        target::check_file(&file)?;
    }
    let wanted = Wanted { neighbors: args.neighbors, scores: true, baselines: !args.no_baselines };
    let seen = look(&args.look, &wanted, output)?;
    let html = page(args, &seen).html();
    atomic::write(&file, |w| w.write_all(html.as_bytes()))?;
    let report = Report {
        file,
        bytes: html.len(),
        nodes: seen.ids.len(),
        clusters: seen.scene.clusters.len(),
        panels: seen.scene.panels.len(),
        seconds: started.elapsed().as_secs_f64(),
    };
    output.result(&report, || {
        let (file, size) = (report.file.display(), bytes(report.bytes as u64));
        format!("{file}: {} nodes, {size}, in {:.1} s", count(report.nodes), report.seconds)
    })?;
    Ok(Ending::Done)
}

fn page<'a>(args: &ReportArgs, seen: &'a Seen) -> report::Report<'a> {
    report::Report {
        title: args.title.clone().unwrap_or_else(|| name(&args.look.run)),
        ids: &seen.ids,
        dim: seen.dim,
        layers: &seen.layers,
        scene: &seen.scene,
        training: &seen.training,
        quality: seen.quality.as_ref(),
        settings: &seen.settings,
        provenance: provenance(args, seen),
    }
}

/// What a path is called, without the folders it lies in: a page is sent to others.
fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
}

fn provenance(args: &ReportArgs, seen: &Seen) -> Vec<(String, String)> {
    let look = &args.look;
    let source = look.source.as_deref().map_or_else(|| "not given".to_string(), name);
    let layout = match look.projection.as_str() {
        "tsne" => format!("t-SNE, perplexity {}, seed {}", look.perplexity, look.seed),
        _ => "PCA".to_string(),
    };
    let lines = [
        ("made by", format!("xgoal {}", env!("CARGO_PKG_VERSION"))),
        ("run", name(&look.run)),
        ("source", source),
        ("layout", layout),
        ("nearest nodes", format!("{} by cosine, exact", args.neighbors.min(seen.ids.len() - 1))),
        ("clusters", format!("k-means, {}, seed {}", seen.scene.clusters.len(), look.seed)),
    ];
    lines.map(|(name, value)| (name.to_string(), value)).into()
}

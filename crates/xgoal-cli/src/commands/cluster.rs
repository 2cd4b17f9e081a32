use crate::Ending;
use crate::args::ClusterArgs;
use crate::output::{Output, Usage, count};
use serde::Serialize;
use std::path::Path;
use xgoal::cluster::{self, Candidate};
use xgoal::io::answers;
use xgoal::io::embeddings::{self, Embeddings};
use xgoal::io::target;
use xgoal::kmeans::Clustering;
use xgoal::run::embeddings_of;

/// Nodes that are named for each cluster.
const NAMED: usize = 5;

#[derive(Serialize)]
struct Report {
    nodes: usize,
    k: usize,
    /// The numbers that were tried, where it was not given.
    candidates: Option<Vec<Candidate>>,
    inertia: f64,
    clusters: Vec<Cluster>,
    out: Option<String>,
}

#[derive(Serialize)]
struct Cluster {
    cluster: usize,
    size: usize,
    /// The nodes nearest to its centre.
    central: Vec<String>,
}

pub fn run(args: &ClusterArgs, output: &Output) -> anyhow::Result<Ending> {
    check_table(args.out.as_deref())?;
    let path = embeddings_of(&args.input.embeddings);
    if let Some(out) = &args.out {
        target::check_apart(out, std::slice::from_ref(&path))?;
    }
    let embeddings = embeddings::read(&path, args.input.format)?;
    let points = &embeddings.matrix;
    if let Some(k) = args.k.filter(|k| *k > points.rows()) {
        let nodes = points.rows();
        let message =
            format!("--k {k}: {} has {nodes} nodes; expected at most {nodes}", path.display());
        return Err(Usage(message).into());
    }
    let (k, candidates) = match args.k {
        Some(k) => (k, None),
        None => {
            let candidates = cluster::candidates(points, args.most, args.seed)?;
            let best = cluster::best(&candidates).expect("two clusters at least were tried");
            (best.k, Some(candidates))
        }
    };
    let found = cluster::cluster(points, k, args.seed)?;
    if let Some(out) = &args.out {
        answers::write_clusters(out, &embeddings, &found.assignments)?;
    }
    let report = Report {
        nodes: points.rows(),
        k,
        candidates,
        inertia: found.inertia,
        clusters: clusters(&embeddings, &found),
        out: args.out.as_ref().map(|out| out.display().to_string()),
    };
    output.result(&report, || text(&report))?;
    Ok(Ending::Done)
}

/// Answers are written as tables only, where one can be written.
pub fn check_table(out: Option<&Path>) -> anyhow::Result<()> {
    let Some(out) = out else { return Ok(()) };
    if !answers::is_table(out) {
        return Err(Usage(format!(
            "--out {}: expected a name that ends in .csv, .tsv or .parquet",
            out.display()
        ))
        .into());
    }
    Ok(target::check_file(out)?)
}

fn clusters(embeddings: &Embeddings, found: &Clustering) -> Vec<Cluster> {
    let central = cluster::central(&embeddings.matrix, found, NAMED);
    let size =
        |cluster: usize| found.assignments.iter().filter(|c| **c as usize == cluster).count();
    let named = |rows: Vec<u32>| rows.into_iter().map(|row| embeddings.id(row as usize)).collect();
    let clusters = central.into_iter().enumerate();
    clusters
        .map(|(cluster, rows)| Cluster { cluster, size: size(cluster), central: named(rows) })
        .collect()
}

fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    if let Some(candidates) = &report.candidates {
        lines.push("clusters  silhouette".to_owned());
        for Candidate { k, silhouette } in candidates {
            let mark = if *k == report.k { "  chosen" } else { "" };
            lines.push(format!("{k:>8}  {silhouette:>10.3}{mark}"));
        }
        lines.push(String::new());
    }
    lines.push("cluster      nodes   share  nearest to the centre".to_owned());
    for Cluster { cluster, size, central } in &report.clusters {
        let share = 100.0 * *size as f64 / report.nodes.max(1) as f64;
        let central: Vec<String> = central.iter().map(|id| id.escape_debug().to_string()).collect();
        lines.push(format!(
            "{cluster:>7}  {:>9}  {share:>5.1} %  {}",
            count(*size),
            central.join(", ")
        ));
    }
    if let Some(out) = &report.out {
        lines.push(format!("\n{out}: the cluster of each of {} nodes", count(report.nodes)));
    }
    lines.join("\n")
}

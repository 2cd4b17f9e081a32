use crate::Ending;
use crate::args::GenerateArgs;
use crate::output::{Output, Usage, bytes, count, word};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use xgoal::graph::planted::{MOST_NODES, Planted};
use xgoal::io::generate::{self, Generated, MOST_FEATURES, Written};
use xgoal::machine;

#[derive(Serialize)]
struct Report {
    source: String,
    #[serde(flatten)]
    written: Written,
    seconds: f64,
    peak_rss_bytes: Option<u64>,
}

pub fn run(args: &GenerateArgs, output: &Output) -> anyhow::Result<Ending> {
    let started = Instant::now();
    let generated = generated(args)?;
    let written = generate::write(&args.out, &generated)?;
    let report = Report {
        source: args.out.display().to_string(),
        written,
        seconds: started.elapsed().as_secs_f64(),
        peak_rss_bytes: machine::peak_rss_bytes(),
    };
    output.result(&report, || text(&report))?;
    Ok(Ending::Done)
}

fn generated(args: &GenerateArgs) -> anyhow::Result<Generated> {
    let usage = |message: String| Err(Usage(message).into());
    if args.classes < 4 || !args.classes.is_multiple_of(2) {
        return usage(format!("--classes {}: expected an even number, 4 or more", args.classes));
    }
    if args.nodes / 5 < args.classes {
        return usage(format!(
            "--nodes {}: expected 5 or more for each of the {} classes",
            args.nodes, args.classes
        ));
    }
    if args.nodes > MOST_NODES {
        return usage(format!("--nodes {}: expected at most {MOST_NODES}", args.nodes));
    }
    for (flag, given) in [("features", args.features), ("dense-features", args.dense_features)] {
        if given > MOST_FEATURES {
            return usage(format!("--{flag} {given}: expected at most {MOST_FEATURES}"));
        }
    }
    if args.degree >= args.nodes {
        return usage(format!(
            "--degree {}: expected at most {}, all other nodes of {}",
            args.degree,
            args.nodes - 1,
            args.nodes
        ));
    }
    let words = if args.features == 0 { 0 } else { args.features_per_node };
    if words == 0 && args.dense_features == 0 {
        return usage("no attributes: expected --features or --dense-features".into());
    }
    if words > 0 && args.features < args.classes {
        return usage(format!(
            "--features {}: expected at least one for each of the {} classes, or 0",
            args.features, args.classes
        ));
    }
    let planted = Planted {
        nodes: args.nodes,
        communities: args.classes,
        layers: args.layers,
        // Without words their number is never looked at, only checked.
        attributes: args.features.max(args.classes),
        degree: args.degree,
        words,
        noise: args.noise,
        seed: args.seed,
    };
    Ok(Generated { planted, dense: args.dense_features })
}

fn text(report: &Report) -> String {
    let (written, source) = (&report.written, word(Path::new(&report.source)));
    let memory = report.peak_rss_bytes.map_or(String::new(), |b| format!(", {}", bytes(b)));
    let layers: Vec<String> = written
        .layers
        .iter()
        .map(|layer| format!("{} ({} edges)", layer.name, count(layer.edges)))
        .collect();
    format!(
        "{}: {} nodes, {} features, layers {} in {:.1} s{memory}\n  \
         look:  xgoal info {source}\n  learn: xgoal train {source} --out run",
        report.source,
        count(written.nodes),
        count(written.features),
        layers.join(", "),
        report.seconds
    )
}

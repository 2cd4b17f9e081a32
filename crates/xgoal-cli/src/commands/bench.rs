use super::{fitted, resolved, say_chosen, train};
use crate::Ending;
use crate::args::BenchArgs;
use crate::output::{Output, bytes, count};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;
use xgoal::engine::cpu::{Clock, CpuEngine, Phase};
use xgoal::engine::{Engine, Stage};
use xgoal::io::source::read_source;
use xgoal::machine;
use xgoal::settings::Config;
use xgoal::train::{Choice, MemoryEstimate, finds_prototypes, step};

/// Epochs run before the timed ones: caches fill and scratch memory grows.
const UNTIMED: u32 = 3;

#[derive(Serialize)]
struct Report {
    warmup_epoch_seconds: Seconds,
    joint_epoch_seconds: Seconds,
    /// By stage, seconds of a mean epoch by phase; they add up to the mean.
    phases: BTreeMap<&'static str, BTreeMap<&'static str, f64>>,
    epochs: u32,
    threads: usize,
    /// From the moment the graph is in memory.
    peak_rss_bytes: Option<u64>,
    memory_estimate_bytes: u64,
}

#[derive(Serialize)]
struct Seconds {
    median: f64,
    min: f64,
    mean: f64,
}

pub fn run(args: &BenchArgs, output: &Output) -> anyhow::Result<Ending> {
    let settings = resolved(&args.tuning)?;
    let graph = read_source(&args.source, settings.layers.as_deref())?;
    let (config, graph) = fitted(settings, graph, args.memory.memory_limit)?;
    let memory = MemoryEstimate::of(&graph, config.settings());
    memory.check(args.memory.memory_limit)?;
    say_chosen(&config, output);
    output.say(format!(
        "{}: {} nodes, layers {}",
        args.source.display(),
        count(graph.nodes()),
        graph.layer_names().join(", ")
    ));
    machine::forget_peak();
    let mut engine = train::engine(&graph, &config)?;
    let mut phases = BTreeMap::new();
    let mut stage = |stage: Stage| -> xgoal::Result<Seconds> {
        let timed = time_epochs(&mut engine, &config, stage, args.epochs)?;
        phases.insert(stage.as_str(), timed.phases);
        Ok(timed.seconds)
    };
    let warmup_epoch_seconds = stage(Stage::Warmup)?;
    let joint_epoch_seconds = stage(Stage::Joint)?;
    let report = Report {
        warmup_epoch_seconds,
        joint_epoch_seconds,
        phases,
        epochs: args.epochs,
        threads: rayon::current_num_threads(),
        peak_rss_bytes: machine::peak_rss_bytes(),
        memory_estimate_bytes: memory.bytes,
    };
    output.result(&report, || text(&report))?;
    Ok(Ending::Done)
}

struct Timed {
    seconds: Seconds,
    phases: BTreeMap<&'static str, f64>,
}

/// Times at least `epochs` epochs in whole periods; a period's epochs count as equally long.
fn time_epochs(
    engine: &mut CpuEngine,
    config: &Config,
    stage: Stage,
    epochs: u32,
) -> xgoal::Result<Timed> {
    let settings = config.settings();
    let (rate, period) = match stage {
        Stage::Warmup => (settings.warmup_lr, 1),
        Stage::Joint => (settings.lr, settings.cluster_every as u32),
    };
    let rates = vec![rate; config.layers().len()];
    let choice = match finds_prototypes(config, stage, 0) {
        true => Some(Choice::new(config, engine)?),
        false => None,
    };
    let epoch = |engine: &mut CpuEngine, epoch: u32| -> xgoal::Result<()> {
        engine.evaluate(&step(config, choice.as_ref(), stage, epoch))?;
        engine.update(&rates)?;
        Ok(())
    };
    let untimed = UNTIMED.next_multiple_of(period);
    for e in 0..untimed {
        epoch(engine, e)?;
    }
    let before = engine.clock().clone();
    let started = Instant::now();
    let mut each = Vec::new();
    for p in 0..epochs.div_ceil(period) {
        let started = Instant::now();
        for e in 0..period {
            epoch(engine, untimed + p * period + e)?;
        }
        each.push(started.elapsed().as_secs_f64() / f64::from(period));
    }
    let mean = started.elapsed().as_secs_f64() / (each.len() as f64 * f64::from(period));
    each.sort_by(f64::total_cmp);
    let median = (each[(each.len() - 1) / 2] + each[each.len() / 2]) / 2.0;
    let count = (each.len() * period as usize) as f64;
    Ok(Timed {
        phases: phases(&before, engine.clock(), count, mean),
        seconds: Seconds { median, min: each[0], mean },
    })
}

fn phases(before: &Clock, after: &Clock, epochs: f64, mean: f64) -> BTreeMap<&'static str, f64> {
    let spent = |p: Phase| (after.seconds(p) - before.seconds(p)) / epochs;
    let mut phases: BTreeMap<_, _> = Phase::ALL.map(|p| (p.as_str(), spent(p))).into();
    let sum: f64 = phases.values().sum();
    phases.insert("other", (mean - sum).max(0.0));
    phases
}

fn text(report: &Report) -> String {
    let mut lines = vec![format!(
        "{:20}  {:>10}  {:>10}",
        format!("ms per epoch, {} threads", report.threads),
        "warm-up",
        "joint"
    )];
    let mut row = |name: &str, warmup: f64, joint: f64| {
        lines.push(format!("{name:24}  {:>6.2}  {:>10.2}", 1e3 * warmup, 1e3 * joint));
    };
    let (warmup, joint) = (&report.warmup_epoch_seconds, &report.joint_epoch_seconds);
    row("median", warmup.median, joint.median);
    row("least", warmup.min, joint.min);
    row("mean", warmup.mean, joint.mean);
    let names = Phase::ALL.map(Phase::as_str).into_iter().chain(["other"]);
    for name in names {
        let of = |stage: &str| report.phases[stage][name];
        row(&format!("  {}", name.replace('_', " ")), of("warmup"), of("joint"));
    }
    if let Some(peak) = report.peak_rss_bytes {
        let estimate = bytes(report.memory_estimate_bytes);
        lines.push(format!("peak memory {}, {estimate} estimated", bytes(peak)));
    }
    lines.join("\n")
}

use super::{resolved, say_decisions};
use crate::Ending;
use crate::args::BenchArgs;
use crate::output::{Output, bytes, count};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;
use xgoal::engine::{Engine, Stage};
use xgoal::io::source::read_source;
use xgoal::machine;
use xgoal::session;
use xgoal::settings::Config;
use xgoal::train::{Choice, finds_prototypes, step};

/// Epochs run before the timed ones: caches fill and scratch memory grows.
const UNTIMED: u32 = 3;

#[derive(Serialize)]
struct Report {
    warmup_step_seconds: Seconds,
    joint_step_seconds: Seconds,
    /// Nodes a step goes over.
    nodes_per_step: usize,
    /// The same by the name of an epoch, where that is what a step is.
    #[serde(flatten)]
    whole: Option<Whole>,
    /// By stage, seconds of a mean epoch by phase; they add up to the mean.
    phases: BTreeMap<&'static str, BTreeMap<&'static str, f64>>,
    /// The phases in the order of an epoch.
    #[serde(skip)]
    names: Vec<&'static str>,
    epochs: u32,
    threads: usize,
    /// From the moment the graph is in memory.
    peak_rss_bytes: Option<u64>,
    memory_estimate_bytes: u64,
}

/// Times of steps that go over all nodes.
#[derive(Serialize)]
struct Whole {
    warmup_epoch_seconds: Seconds,
    joint_epoch_seconds: Seconds,
}

#[derive(Clone, Copy, Serialize)]
struct Seconds {
    median: f64,
    min: f64,
    mean: f64,
}

pub fn run(args: &BenchArgs, output: &Output) -> anyhow::Result<Ending> {
    let settings = resolved(&args.tuning)?;
    let graph = read_source(&args.source, settings.layers.as_deref())?;
    let plan = session::plan(graph, settings, args.memory.limits())?;
    say_decisions(&plan, output);
    output.say(format!(
        "{}: {} nodes, layers {}",
        args.source.display(),
        count(plan.graph().nodes()),
        plan.graph().layer_names().join(", ")
    ));
    machine::forget_peak();
    let mut engine = plan.engine()?;
    let names = engine.phases().into_iter().map(|(name, _)| name).chain(["other"]).collect();
    let mut phases = BTreeMap::new();
    let mut stage = |stage: Stage| -> xgoal::Result<Seconds> {
        let timed = time_epochs(&mut engine, plan.config(), stage, args.epochs)?;
        phases.insert(stage.as_str(), timed.phases);
        Ok(timed.seconds)
    };
    let warmup_step_seconds = stage(Stage::Warmup)?;
    let joint_step_seconds = stage(Stage::Joint)?;
    let nodes = plan.graph().nodes();
    let nodes_per_step = plan.config().nodes_per_step(nodes);
    let report = Report {
        warmup_step_seconds,
        joint_step_seconds,
        nodes_per_step,
        whole: (nodes_per_step == nodes).then_some(Whole {
            warmup_epoch_seconds: warmup_step_seconds,
            joint_epoch_seconds: joint_step_seconds,
        }),
        phases,
        names,
        epochs: args.epochs,
        threads: rayon::current_num_threads(),
        peak_rss_bytes: machine::peak_rss_bytes(),
        memory_estimate_bytes: plan.peak_bytes(),
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
    engine: &mut Box<dyn Engine>,
    config: &Config,
    stage: Stage,
    epochs: u32,
) -> xgoal::Result<Timed> {
    let settings = config.settings();
    let (rate, period) = match stage {
        Stage::Warmup => (settings.warmup_lr, 1),
        Stage::Joint => (settings.lr, settings.clusters_every() as u32),
    };
    let rates = vec![rate; config.layers().len()];
    let choice = match finds_prototypes(config, stage, 0) {
        true => Some(Choice::new(config, engine)?),
        false => None,
    };
    let epoch = |engine: &mut Box<dyn Engine>, epoch: u32| -> xgoal::Result<()> {
        engine.evaluate(&step(config, choice.as_ref(), stage, epoch))?;
        engine.update(&rates)?;
        Ok(())
    };
    let untimed = UNTIMED.next_multiple_of(period);
    for e in 0..untimed {
        epoch(engine, e)?;
    }
    let before = engine.phases();
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
        phases: phases(&before, &engine.phases(), count, mean),
        seconds: Seconds { median, min: each[0], mean },
    })
}

/// Seconds spent by an engine, by phase.
type Spent = [(&'static str, f64)];

fn phases(before: &Spent, after: &Spent, epochs: f64, mean: f64) -> BTreeMap<&'static str, f64> {
    let spent = before.iter().zip(after).map(|(b, a)| (a.0, (a.1 - b.1) / epochs));
    let mut phases: BTreeMap<_, _> = spent.collect();
    let sum: f64 = phases.values().sum();
    phases.insert("other", (mean - sum).max(0.0));
    phases
}

fn text(report: &Report) -> String {
    let step = match report.whole {
        Some(_) => "epoch".into(),
        None => format!("step of {} nodes", count(report.nodes_per_step)),
    };
    let head = format!("ms per {step}, {} threads", report.threads);
    let width = head.len().max(22);
    let mut lines = vec![format!("{head:width$}  {:>10}  {:>10}", "warm-up", "joint")];
    let mut row = |name: &str, warmup: f64, joint: f64| {
        lines.push(format!("{name:width$}  {:>10.2}  {:>10.2}", 1e3 * warmup, 1e3 * joint));
    };
    let (warmup, joint) = (&report.warmup_step_seconds, &report.joint_step_seconds);
    row("median", warmup.median, joint.median);
    row("least", warmup.min, joint.min);
    row("mean", warmup.mean, joint.mean);
    for name in &report.names {
        let of = |stage: &str| report.phases[stage][name];
        row(&format!("  {}", name.replace('_', " ")), of("warmup"), of("joint"));
    }
    if let Some(peak) = report.peak_rss_bytes {
        let estimate = bytes(report.memory_estimate_bytes);
        lines.push(format!("peak memory {}, {estimate} estimated", bytes(peak)));
    }
    lines.join("\n")
}

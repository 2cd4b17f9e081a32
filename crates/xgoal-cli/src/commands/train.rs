use super::{load, resolved};
use crate::args::TrainArgs;
use crate::output::{Output, bytes, count};
use crate::progress::Progress;
use crate::{Ending, interrupt};
use serde::Serialize;
use std::time::{Duration, Instant};
use xgoal::engine::Engine;
use xgoal::engine::cpu::CpuEngine;
use xgoal::graph::MultiplexGraph;
use xgoal::machine;
use xgoal::matrix::Dense;
use xgoal::model::{Model, initial_weights, mean_of_layers};
use xgoal::run::Run;
use xgoal::settings::Config;
use xgoal::train::{MemoryEstimate, StageReport, Trainer};

/// How often the state of a run in progress is saved.
const SAVE_EVERY: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Report {
    run: String,
    stages: Vec<StageReport>,
    seconds: f64,
    peak_rss_bytes: Option<u64>,
    interrupted: bool,
}

pub fn run(args: &TrainArgs, output: &Output) -> anyhow::Result<Ending> {
    let started = Instant::now();
    let saved = if args.resume { Some(Run::open_state(&args.out)?) } else { None };
    let settings = match &saved {
        Some(saved) => saved.settings.clone(),
        None => resolved(&args.tuning)?,
    };
    let (graph, _) = load(&args.source, settings.layers.as_deref(), None, output)?;
    let config = settings.validate(&graph.layer_names())?;
    check_memory(&graph, &config)?;
    output.say(format!(
        "{}: {} nodes, {} attributes, layers {}",
        args.source.display(),
        count(graph.nodes()),
        count(graph.attributes().cols()),
        graph.layer_names().join(", ")
    ));

    let engine = engine(&graph, &config)?;
    let (trainer, mut run) = match saved {
        None => (Trainer::new(engine, config.clone()), Run::create(&args.out, &config)?),
        Some(saved) => {
            let epochs: u32 = saved.progress.stages.iter().map(|s| s.epochs).sum();
            output.say(format!("going on after {epochs} epochs"));
            let run = Run::reopen(&args.out, &saved, &graph)?;
            (Trainer::resume(engine, config.clone(), saved.engine, saved.progress)?, run)
        }
    };
    if let Some(format) = args.format {
        run = run.with_format(format);
    }
    let learned = learn(trainer, &graph, Some(&mut run), output)?;
    let report = Report {
        run: args.out.display().to_string(),
        stages: learned.stages,
        seconds: started.elapsed().as_secs_f64(),
        peak_rss_bytes: machine::peak_rss_bytes(),
        interrupted: learned.interrupted,
    };
    output.result(&report, || text(&report, args))?;
    Ok(if learned.interrupted { Ending::Interrupted } else { Ending::Done })
}

/// Refuses before working what will not fit.
pub fn check_memory(graph: &MultiplexGraph, config: &Config) -> xgoal::Result<()> {
    machine::check_memory(MemoryEstimate::of(graph, config.settings()).bytes)
}

/// An engine with fresh weights.
pub fn engine(graph: &MultiplexGraph, config: &Config) -> xgoal::Result<CpuEngine> {
    let weights = initial_weights(config, graph.attributes().cols());
    CpuEngine::new(config, &config.preprocessing().apply(graph)?, weights)
}

/// What training came to.
pub struct Learned {
    /// The mean of the layers' embeddings.
    pub embeddings: Dense,
    /// One report per stage.
    pub stages: Vec<StageReport>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Trains to the end or until interrupted, and saves into the run, if there is one.
pub fn learn(
    mut trainer: Trainer<CpuEngine>,
    graph: &MultiplexGraph,
    mut run: Option<&mut Run>,
    output: &Output,
) -> anyhow::Result<Learned> {
    let interruption = interrupt::hold();
    let config = trainer.config().clone();
    let mut progress = Progress::new(output, config.settings().patience);
    let mut saved = Instant::now();
    let mut told = trainer.progress().stages.len().saturating_sub(1);
    let mut interrupted = false;
    while let Some(record) = trainer.step()? {
        progress.epoch(&record);
        if let Some(run) = &mut run {
            run.record(&record)?;
            if saved.elapsed() >= SAVE_EVERY {
                run.save_state(&trainer, graph)?;
                saved = Instant::now();
            }
        }
        let finished = trainer.progress().stages.len()
            - usize::from(trainer.progress().epoch > 0 && !trainer.progress().done);
        if finished > told {
            progress.stage(output, &trainer.progress().stages[told]);
            told = finished;
        }
        if interruption.asked() {
            interrupted = !trainer.progress().done;
            break;
        }
    }
    progress.finish();
    if interrupted && let Some(run) = &mut run {
        run.save_state(&trainer, graph)?;
    }
    let stages = trainer.progress().stages.clone();
    let mut engine = trainer.into_engine();
    let embeddings = mean_of_layers(&engine.embed());
    if let Some(run) = run {
        let model = Model::new(config, engine.weights())?.with_space(graph.features().cloned())?;
        run.finish(&model, &embeddings, graph, interrupted)?;
    }
    Ok(Learned { embeddings, stages, interrupted })
}

fn text(report: &Report, args: &TrainArgs) -> String {
    let run = &report.run;
    let mut lines = Vec::new();
    if report.interrupted {
        lines.push(format!(
            "interrupted; {run} holds the embeddings so far\n  go on: xgoal train {} --out {run} --resume",
            args.source.display()
        ));
    } else {
        let epochs: u32 = report.stages.iter().map(|s| s.epochs).sum();
        let memory = report.peak_rss_bytes.map_or(String::new(), |b| format!(", {}", bytes(b)));
        lines.push(format!("{run}: {epochs} epochs in {:.1} s{memory}", report.seconds));
    }
    lines.push(format!("  score: xgoal eval {run} {}", args.source.display()));
    lines.join("\n")
}

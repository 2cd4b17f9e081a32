use super::{fitted, load, resolved, resumed, say_chosen};
use crate::args::TrainArgs;
use crate::output::{Output, bytes, count, word};
use crate::progress::Progress;
use crate::{Ending, interrupt};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use xgoal::engine::cpu::CpuEngine;
use xgoal::engine::{Engine, Stage};
use xgoal::graph::MultiplexGraph;
use xgoal::machine;
use xgoal::matrix::Dense;
use xgoal::model::{Model, final_mean, initial_weights};
use xgoal::run::{Run, Saves, Unfinished};
use xgoal::settings::Config;
use xgoal::train::{MemoryEstimate, StageReport, Trainer, finds_prototypes};

#[derive(Serialize)]
struct Report {
    run: String,
    stages: Vec<StageReport>,
    saves: Saves,
    seconds: f64,
    peak_rss_bytes: Option<u64>,
    interrupted: bool,
}

pub fn run(args: &TrainArgs, output: &Output) -> anyhow::Result<Ending> {
    let started = Instant::now();
    let unfinished = if args.resume { Some(Unfinished::open(&args.out)?) } else { None };
    let settings = match &unfinished {
        Some(run) => resumed(&args.tuning, run.settings(), &args.out)?,
        None => {
            let settings = resolved(&args.tuning)?;
            Run::check(&args.out)?;
            settings
        }
    };
    let (graph, _) = load(&args.source, settings.layers.as_deref(), None, output)?;
    let (config, graph) = fitted(settings, graph, args.memory.memory_limit)?;
    MemoryEstimate::of(&graph, config.settings()).check(args.memory.memory_limit)?;
    say_chosen(&config, output);
    output.say(format!(
        "{}: {} nodes, {} attributes, layers {}",
        args.source.display(),
        count(graph.nodes()),
        count(graph.attributes().cols()),
        graph.layer_names().join(", ")
    ));

    let (trainer, run) = start(&args.out, &graph, config, unfinished, output)?;
    let mut run = run.with_cadence(args.save_every);
    if let Some(format) = args.format {
        run = run.with_format(format);
    }
    if args.tensorboard {
        run = run.with_tensorboard(&graph.layer_names(), trainer.progress().epochs())?;
    }
    let learned = learn(trainer, &graph, Some(&mut run), output).map_err(|error| {
        match hint(&error, &run, args) {
            Some(hint) => {
                let message = format!("{error}; {hint}");
                error.context(message)
            }
            None => error,
        }
    })?;
    let report = Report {
        run: args.out.display().to_string(),
        stages: learned.stages,
        saves: run.saves(),
        seconds: started.elapsed().as_secs_f64(),
        peak_rss_bytes: machine::peak_rss_bytes(),
        interrupted: learned.interrupted,
    };
    output.result(&report, || text(&report, args))?;
    Ok(if learned.interrupted { Ending::Interrupted } else { Ending::Done })
}

/// What can be done with the run after an error.
fn hint(error: &anyhow::Error, run: &Run, args: &TrainArgs) -> Option<String> {
    if !run.is_there() {
        return None;
    }
    if let Some(xgoal::Error::NonFinite { .. }) = error.downcast_ref() {
        return Some("going on with this run would lead to it again; begin another".into());
    }
    let kept = match run.saved_epochs() {
        0 => "the run".to_string(),
        epochs => format!("the run up to epoch {epochs}"),
    };
    let (source, out) = (word(&args.source), word(&args.out));
    Some(format!("{kept} is kept: xgoal train {source} --out {out} --resume"))
}

/// A run from its beginning, or from where it was saved.
pub fn start(
    folder: &Path,
    graph: &MultiplexGraph,
    config: Config,
    unfinished: Option<Unfinished>,
    output: &Output,
) -> xgoal::Result<(Trainer<CpuEngine>, Run)> {
    let engine = engine(graph, &config)?;
    let Some(unfinished) = unfinished else {
        let run = Run::create(folder, &config, graph)?;
        run.remarks().iter().for_each(|remark| output.say(remark));
        return Ok((Trainer::new(engine, config), run));
    };
    let (run, saved) = unfinished.go_on(graph)?;
    run.remarks().iter().for_each(|remark| output.say(remark));
    output.say(format!("going on after {} epochs", saved.progress.epochs()));
    Ok((Trainer::resume(engine, config, saved.engine, saved.progress)?, run))
}

/// An engine with fresh weights.
pub fn engine(graph: &MultiplexGraph, config: &Config) -> xgoal::Result<CpuEngine> {
    let graph = config.preprocessing().apply(graph)?;
    let weights = initial_weights(config, &graph);
    CpuEngine::new(config, &graph, weights)
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
    let mut progress = Progress::new(output, trainer.config().settings());
    let interruption = interrupt::hold(progress.stopping(output));
    let mut told = finished(trainer.progress());
    let mut chosen = trainer.progress().choice.is_some();
    let mut interrupted = false;
    loop {
        let at = trainer.progress();
        if at.joint && at.epoch == 0 && finds_prototypes(trainer.config(), Stage::Joint, 0) {
            progress.finding_clusters();
        }
        let Some(record) = trainer.step()? else { break };
        progress.epoch(&record);
        let finished = finished(trainer.progress());
        if finished > told {
            let stage = &trainer.progress().stages[told];
            progress.stage(output, stage);
            // Before any state that knows that the warm-up is over.
            if let Some(run) = &run
                && stage.name == Stage::Warmup.as_str()
            {
                let config = trainer.config().clone();
                run.keep_warmup(&Model::trained(config, trainer.weights(), graph)?)?;
            }
            told = finished;
        }
        if let Some(choice) = trainer.progress().choice.as_ref().filter(|_| !chosen) {
            chosen = true;
            let found = trainer.resolved() != *trainer.config();
            if let Some(run) = run.as_ref().filter(|_| found) {
                run.keep_choice(&trainer)?;
            }
            choice.reasons().into_iter().for_each(|reason| progress.say(output, reason));
        }
        if let Some(run) = &mut run {
            run.epoch(&record, &trainer)?;
        }
        if interruption.asked() {
            interrupted = !trainer.progress().done;
            break;
        }
    }
    progress.finish();
    if interrupted && let Some(run) = &mut run {
        run.save(&trainer)?;
    }
    let stages = trainer.progress().stages.clone();
    let config = trainer.resolved();
    let mut engine = trainer.into_engine();
    let embeddings = final_mean(&config, &engine.embed());
    if let Some(run) = run {
        let model = Model::trained(config, engine.weights(), graph)?;
        run.finish(&model, &embeddings, graph, interrupted)?;
    }
    Ok(Learned { embeddings, stages, interrupted })
}

/// How many stages are over.
fn finished(progress: &xgoal::train::Progress) -> usize {
    progress.stages.len() - usize::from(progress.epoch > 0 && !progress.done)
}

fn text(report: &Report, args: &TrainArgs) -> String {
    let (run, source) = (word(&args.out), word(&args.source));
    let mut lines = Vec::new();
    if report.interrupted {
        lines.push(format!(
            "interrupted; {} holds the embeddings so far\n  go on: xgoal train {source} --out {run} --resume",
            report.run
        ));
    } else {
        let epochs: u32 = report.stages.iter().map(|s| s.epochs).sum();
        let memory = report.peak_rss_bytes.map_or(String::new(), |b| format!(", {}", bytes(b)));
        lines.push(format!("{}: {epochs} epochs in {:.1} s{memory}", report.run, report.seconds));
    }
    lines.push(format!("  score: xgoal eval {run} {source}"));
    lines.push(format!("  look:  xgoal report {run} {source}"));
    lines.join("\n")
}

use super::{eval, load, resolved, resumed, say_decisions};
use crate::args::TrainArgs;
use crate::output::{Output, bytes, count, word};
use crate::progress::Progress;
use crate::{Ending, interrupt};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use xgoal::eval::Report as Scores;
use xgoal::eval::baselines::{Baselines, Comparison};
use xgoal::machine;
use xgoal::matrix::Dense;
use xgoal::run::{Run, Saves, Unfinished};
use xgoal::session::{self, Event, Outcome, Plan, RunFolder, Session, Sink};
use xgoal::train::StageReport;

#[derive(Serialize)]
struct Report {
    run: String,
    stages: Vec<Trained>,
    saves: Saves,
    parts: Parts,
    seconds: f64,
    peak_rss_bytes: Option<u64>,
    interrupted: bool,
    /// Where the graph has labels and splits.
    scores: Option<Quick>,
}

/// A quick look at the embeddings beside what there is without training.
#[derive(Serialize)]
struct Quick {
    #[serde(flatten)]
    scores: Scores,
    baselines: Baselines,
    test_nodes: usize,
    seconds: f64,
    #[serde(skip)]
    sampled: Option<String>,
}

/// What a stage came to, and how far it went through the graph.
#[derive(Serialize)]
struct Trained {
    #[serde(flatten)]
    stage: StageReport,
    /// Updates of the weights: one an epoch.
    steps: u32,
    /// How often a node was visited, in the mean.
    passes: f64,
}

impl Trained {
    fn new(stage: StageReport, plan: &Plan<'_>) -> Self {
        let (steps, nodes) = (stage.epochs, plan.graph().nodes());
        let share = plan.config().nodes_per_step(nodes) as f64 / nodes as f64;
        Self { stage, steps, passes: f64::from(steps) * share }
    }
}

/// Seconds by what they were spent on.
#[derive(Serialize)]
struct Parts {
    reading: f64,
    /// Looking at the graph for what is `auto`, and finding structure.
    planning: f64,
    training: f64,
    /// Encoding all nodes and writing what was learnt.
    writing: f64,
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
    let mut before = started;
    let mut part = || std::mem::replace(&mut before, Instant::now()).elapsed().as_secs_f64();
    let (graph, _) = load(&args.source, settings.layers.as_deref(), None, output)?;
    let reading = part();
    let plan = session::plan(graph, settings, args.memory.limits())?;
    let planning = part();
    say_decisions(&plan, output);
    output.say(format!(
        "{}: {} nodes, {} attributes, layers {}",
        args.source.display(),
        count(plan.graph().nodes()),
        count(plan.graph().attributes().cols()),
        plan.graph().layer_names().join(", ")
    ));

    let mut folder = folder(&args.out, unfinished, &plan)
        .with_cadence(args.save_every)
        .with_format(args.format)
        .with_tensorboard(args.tensorboard);
    let session = start(&plan, &mut folder, output)?;
    let mut training = 0.0;
    let trained = to_the_end(session, output).and_then(|session| {
        training = part();
        session.finish()
    });
    let mut outcome = trained.map_err(|error| match hint(&error, &folder, args) {
        Some(hint) => {
            let message = format!("{error}; {hint}");
            anyhow::Error::new(error).context(message)
        }
        None => error.into(),
    })?;
    let writing = part();
    let interrupted = outcome.interrupted;
    let looked_at = !interrupted && !args.no_baselines && can_look(&plan, output);
    let embeddings = if looked_at { Some(outcome.embeddings()?) } else { None };
    // The engine gives its memory back.
    let stages = { outcome }.stages;
    let report = Report {
        run: args.out.display().to_string(),
        stages: stages.into_iter().map(|stage| Trained::new(stage, &plan)).collect(),
        saves: folder.saves(),
        parts: Parts { reading, planning, training, writing },
        seconds: started.elapsed().as_secs_f64(),
        peak_rss_bytes: machine::peak_rss_bytes(),
        interrupted,
        scores: embeddings.and_then(|embeddings| quick(&embeddings, &plan, args, output)),
    };
    output.result(&report, || text(&report, args))?;
    Ok(if interrupted { Ending::Interrupted } else { Ending::Done })
}

/// The most nodes of a graph whose embeddings are held against what takes no training, which goes over all of them.
const LOOKED_AT: usize = 200_000;

/// Whether there are labels to look by, and few enough nodes.
fn can_look(plan: &Plan<'_>, output: &Output) -> bool {
    let graph = plan.graph();
    let labelled = graph.labels().is_some() && graph.splits().is_some();
    let few = graph.nodes() <= LOOKED_AT;
    if labelled && !few {
        output.say(format!(
            "no quick look at the scores of more than {} nodes; xgoal eval has them in full",
            count(LOOKED_AT)
        ));
    }
    labelled && few
}

/// Scores of what was trained and of what is not. The run stands whatever comes of it.
fn quick(embeddings: &Dense, plan: &Plan<'_>, args: &TrainArgs, output: &Output) -> Option<Quick> {
    let (graph, settings) = (plan.graph(), plan.config().settings());
    let started = Instant::now();
    match Comparison::quick(embeddings, graph, settings.seed, args.memory.memory_limit) {
        Ok(compared) => {
            let sampled = compared.sampled();
            let Comparison { scored, embeddings, baselines, .. } = compared;
            let seconds = started.elapsed().as_secs_f64();
            Some(Quick { scores: embeddings, baselines, test_nodes: scored, seconds, sampled })
        }
        Err(error) => {
            output.say(format!("no scores: {error}"));
            None
        }
    }
}

/// What can be done with the run after an error.
fn hint(error: &xgoal::Error, folder: &RunFolder<'_>, args: &TrainArgs) -> Option<String> {
    if !folder.is_there() {
        return None;
    }
    if let xgoal::Error::NonFinite { .. } = error {
        return Some("going on with this run would lead to it again; begin another".into());
    }
    let kept = match folder.saved_epochs() {
        0 => "the run".to_string(),
        epochs => format!("the run up to epoch {epochs}"),
    };
    let (source, out) = (word(&args.source), word(&args.out));
    Some(format!("{kept} is kept: xgoal train {source} --out {out} --resume"))
}

/// The folder of a new run, or of one to go on with.
pub fn folder<'a>(out: &Path, unfinished: Option<Unfinished>, plan: &'a Plan<'_>) -> RunFolder<'a> {
    match unfinished {
        None => RunFolder::create(out, plan),
        Some(unfinished) => RunFolder::resume(unfinished, plan),
    }
}

/// Begins what is planned in a run folder, or goes on there.
pub fn start<'f, 'a>(
    plan: &Plan<'_>,
    folder: &'f mut RunFolder<'a>,
    output: &Output,
) -> xgoal::Result<Session<&'f mut RunFolder<'a>>> {
    let session = Session::start(plan, folder)?;
    session.sink().remarks().iter().for_each(|remark| output.say(remark));
    if session.sink().goes_on() {
        output.say(format!("going on after {} epochs", session.progress().epochs()));
    }
    Ok(session)
}

/// Trains to the end, or until interrupted, and shows how it goes.
pub fn learn<S: Sink>(session: Session<S>, output: &Output) -> xgoal::Result<Outcome> {
    to_the_end(session, output)?.finish()
}

/// The same, before anything is made of what was learnt.
fn to_the_end<S: Sink>(mut session: Session<S>, output: &Output) -> xgoal::Result<Session<S>> {
    let mut progress = Progress::new(output, session.config().settings());
    let interruption = interrupt::hold(progress.stopping(output));
    while let Some(event) = session.next()? {
        match event {
            Event::FindingClusters { first: true } => progress.finding_clusters(),
            Event::Epoch(record) => progress.epoch(&record),
            Event::StageEnded(stage) => progress.stage(output, &stage),
            Event::Decided(decision) => progress.say(output, decision.to_string()),
            _ => {}
        }
        if interruption.asked() {
            session.stop();
        }
    }
    progress.finish();
    Ok(session)
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
        let epochs: u32 = report.stages.iter().map(|s| s.steps).sum();
        let memory = report.peak_rss_bytes.map_or(String::new(), |b| format!(", {}", bytes(b)));
        lines.push(format!("{}: {epochs} epochs in {:.1} s{memory}", report.run, report.seconds));
    }
    if let Some(quick) = &report.scores {
        let on = quick.sampled.as_ref().map_or(String::new(), |words| format!(", {words}"));
        lines.push(format!("A quick look{on}; `xgoal eval` scores in full:"));
        lines.extend(eval::beside(&quick.scores, &quick.baselines));
    }
    lines.push(format!("  score: xgoal eval {run} {source}"));
    lines.push(format!("  look:  xgoal report {run} {source}"));
    lines.join("\n")
}

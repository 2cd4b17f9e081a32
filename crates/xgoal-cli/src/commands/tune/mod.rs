//! A search over settings: a few runs for each, compared without labels.

mod processes;
mod report;
mod space;

use self::processes::Job;
use self::report::{By, Report, Row};
use self::space::{Space, Trial};
use super::trials::{self, Found};
use super::{load, resolved, resolved_with, say_decisions};
use crate::Ending;
use crate::args::TuneArgs;
use crate::output::{Output, Usage, count};
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use xgoal::Error;
use xgoal::cluster;
use xgoal::criteria::{self, Criterion, Judge};
use xgoal::eval::Task;
use xgoal::graph::MultiplexGraph;
use xgoal::io::{atomic, embeddings, model, target};
use xgoal::run::{embeddings_path, model_path};
use xgoal::session::Plan;
use xgoal::settings::Config;

/// Most clusters to compare clusterings by.
const MOST_CLUSTERS: usize = 20;

pub fn run(args: &TuneArgs, output: &Output) -> anyhow::Result<Ending> {
    let settings = resolved(&args.tuning)?;
    target::check_folder(&args.out)?;
    let (graph, _) = load(&args.source, settings.layers.as_deref(), None, output)?;
    let plan = Plan::look(graph, settings, args.memory.limits())?;
    let (base, graph) = (plan.config(), plan.graph());
    let by = by(args, graph)?;
    let space = Space::new(&args.search, base)?;
    let all = space.trials(base, args.trials, |set| {
        let set = [&args.tuning.set[..], set].concat();
        Ok(plan.alike(resolved_with(&args.tuning, &set)?)?.config().clone())
    })?;
    let jobs = jobs(args, &all, graph)?;
    let threads = threads(args, &all, &jobs, &plan)?;
    say_decisions(&plan, output);
    trials::say_unscored(graph, output);
    let runs = all.len() * args.seeds;
    let at_a_time = match threads.len() {
        0 => String::new(),
        processes => format!(", {processes} at a time"),
    };
    output.say(format!(
        "{}: {} trials with {} seeds, {} runs to be made{at_a_time}",
        args.source.display(),
        count(all.len()),
        args.seeds,
        count(jobs.len())
    ));
    for trial in &all {
        let path = settings_path(&args.out, trial);
        target::make_folder(atomic::folder_of(&path))?;
        atomic::write(&path, |w| w.write_all(trial.config.to_toml().as_bytes()))?;
    }

    let made = jobs.len();
    let ended = processes::run(jobs, &args.source, &threads, output)?;
    let mut report = Report::new(by, &space, runs);
    report.runs_done = runs - made + ended.done;
    if ended.interrupted {
        report.interrupted = true;
        output.result(&report, || report.text(args))?;
        return Ok(Ending::Interrupted);
    }
    let Some(first) = all.iter().find(|trial| !ended.failed.contains_key(&trial.number)) else {
        let reason = ended.failed.values().next().cloned().unwrap_or_default();
        return Err(anyhow!("every trial failed, the first one by: {reason}"));
    };
    let folders = |trial: &Trial| -> Vec<PathBuf> {
        seeds(args, base).map(|seed| run_folder(&args.out, trial, seed)).collect()
    };
    let clusters = clusters(&folders(first)[0], graph, base)?;
    report.clusters = Some(clusters);
    let judge = Judge::new(graph, base, clusters)?;
    for trial in &all {
        output.say(format!("comparing: trial {} of {}", trial.number, all.len()));
        report.rows.push(match ended.failed.get(&trial.number) {
            Some(reason) => Row::failed(trial, reason),
            None => row(trial, &folders(trial), graph, &judge)?,
        });
    }
    report.finish(&args.out, &all)?;
    output.result(&report, || report.text(args))?;
    Ok(Ending::Done)
}

/// What trials are compared by; what cannot be had on this graph is refused.
fn by(args: &TuneArgs, graph: &MultiplexGraph) -> anyhow::Result<By> {
    if args.labels {
        Task::of(graph).map_err(|e| match e {
            Error::Data(message) => Error::Data(format!("{}: {message}", args.source.display())),
            other => other,
        })?;
        return Ok(By::Labels);
    }
    let layers = graph.layers().len();
    let criterion = args.by.unwrap_or(Criterion::default_for(layers));
    let needed = match criterion {
        Criterion::Layers if layers < 2 => "two layers or more; the source has one",
        Criterion::Seeds if args.seeds < 2 => "--seeds 2 or more",
        _ => return Ok(By::Criterion(criterion)),
    };
    Err(Usage(format!("--by {}: expected {needed}", criterion.as_str())).into())
}

/// The seeds of every trial.
fn seeds(args: &TuneArgs, base: &Config) -> impl Iterator<Item = u64> {
    let first = base.settings().seed;
    (0..args.seeds as u64).map(move |i| first.saturating_add(i))
}

fn trial_folder(out: &Path, trial: &Trial) -> PathBuf {
    out.join("trials").join(&trial.name)
}

fn settings_path(out: &Path, trial: &Trial) -> PathBuf {
    trial_folder(out, trial).join("settings.toml")
}

fn run_folder(out: &Path, trial: &Trial, seed: u64) -> PathBuf {
    trial_folder(out, trial).join(format!("seed{seed}"))
}

/// The runs that are not there yet. Folders with other runs are refused.
fn jobs(args: &TuneArgs, all: &[Trial], graph: &MultiplexGraph) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    let print = graph.fingerprint().without_ids();
    for trial in all {
        for seed in seeds(args, &trial.config) {
            let mut settings = trial.config.settings().clone();
            settings.set("seed", &seed.to_string())?;
            let folder = run_folder(&args.out, trial, seed);
            let found = trials::found(&folder, &settings.validate(&graph.layer_names())?, &print)?;
            if found != Found::Finished {
                let resume = found == Found::Unfinished;
                let settings = settings_path(&args.out, trial);
                jobs.push(Job { trial: trial.number, seed, folder, settings, resume });
            }
        }
    }
    Ok(jobs)
}

/// Threads of each process: as many processes as threads, memory and runs allow.
fn threads(
    args: &TuneArgs,
    all: &[Trial],
    jobs: &[Job],
    plan: &Plan<'_>,
) -> xgoal::Result<Vec<usize>> {
    let estimates = all.iter().map(|t| plan.with(t.config.clone()).memory().clone());
    let Some(largest) = estimates.max_by_key(|estimate| estimate.bytes) else {
        return Ok(Vec::new());
    };
    // Comparing takes about as much as training does, in this process.
    largest.check(args.memory.memory_limit)?;
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let fit = largest.processes(args.memory.memory_limit)?;
    let threads = rayon::current_num_threads();
    let processes = threads.min(fit).min(jobs.len());
    let share = |i: usize| threads / processes + usize::from(i < threads % processes);
    Ok((0..processes).map(share).collect())
}

/// The number of clusters by which all trials are compared: the best silhouette on the embeddings of one run.
fn clusters(run: &Path, graph: &MultiplexGraph, base: &Config) -> xgoal::Result<usize> {
    let points = embeddings::read_for(&embeddings_path(run), None, graph)?;
    let candidates = cluster::candidates(&points, MOST_CLUSTERS, base.settings().seed)?;
    Ok(cluster::best(&candidates).map_or(2, |best| best.k))
}

/// What the runs of a trial came to.
fn row(
    trial: &Trial,
    folders: &[PathBuf],
    graph: &MultiplexGraph,
    judge: &Judge<'_>,
) -> anyhow::Result<Row> {
    let (mut judged, mut measured) = (Vec::new(), Vec::new());
    for folder in folders {
        judged.push(judge.judge(&model::read(&model_path(folder))?)?);
        measured.push(trials::measure(folder, graph)?);
    }
    let each = |c: &Criterion| Some((c.as_str(), criteria::value(*c, &judged)?));
    let scores: Option<Vec<[f64; 4]>> = measured.iter().map(|m| m.main_scores()).collect();
    let scores = scores.map(|scores| {
        let mean = |at: usize| scores.iter().map(|s| s[at]).sum::<f64>() / scores.len() as f64;
        trials::SCORES.into_iter().zip(0..).map(|(name, at)| (name, mean(at))).collect()
    });
    Ok(Row {
        criteria: Criterion::ALL.iter().filter_map(each).collect(),
        epochs: measured.iter().map(|m| m.epochs).sum(),
        seconds: measured.iter().map(|m| m.seconds).sum(),
        scores: scores.unwrap_or_default(),
        runs: folders.iter().map(|folder| folder.display().to_string()).collect(),
        ..Row::of(trial)
    })
}

//! One file per command.

pub mod bench;
pub mod cluster;
pub mod convert;
pub mod demo;
pub mod embed;
pub mod eval;
pub mod generate;
pub mod info;
mod look;
pub mod plot;
pub mod report;
pub mod similar;
pub mod sweep;
pub mod train;
mod trials;
pub mod tune;

use crate::args::{Choice, Tuning};
use crate::output::{Output, Usage};
use std::path::Path;
use xgoal::graph::MultiplexGraph;
use xgoal::graph::features::FeatureSpace;
use xgoal::io::manifest::{ReadOptions, Report};
use xgoal::machine;
use xgoal::session::Plan;
use xgoal::settings::{Preset, Settings};

/// The settings a preset and a choice of layers stand for.
pub fn chosen(choice: &Choice) -> anyhow::Result<Settings> {
    let preset = match &choice.preset {
        None => Preset::Auto,
        Some(name) => Preset::parse(name).ok_or_else(|| {
            Usage(format!("no preset is called `{name}`; there are {}", Preset::CHOICES.join(", ")))
        })?,
    };
    let mut settings = preset.settings();
    if let Some(layers) = &choice.layers {
        settings.choose_layers(layers.clone());
    }
    Ok(settings)
}

/// Preset, then file, then single settings, then flags.
pub fn resolved(args: &Tuning) -> anyhow::Result<Settings> {
    resolved_with(args, &args.set)
}

/// The same with other single settings than those on the command line.
pub fn resolved_with(args: &Tuning, set: &[String]) -> anyhow::Result<Settings> {
    tuned(args, set, chosen(&args.choice)?)
}

/// The settings of a run that was begun. What is asked for besides must be the same.
pub fn resumed(args: &Tuning, begun: &Settings, run: &Path) -> anyhow::Result<Settings> {
    // Without a preset, only what was named is asked for.
    let base = if args.choice.preset.is_some() { chosen(&args.choice)? } else { begun.clone() };
    let mut asked = tuned(args, &args.set, base)?.settled_as(begun);
    asked.call_layers(begun.layers.as_deref().unwrap_or_default());
    match begun.difference(&asked) {
        // A run that was begun before there were these has done without.
        None => Ok(Settings {
            normalize_columns: Some(asked.normalize_columns.unwrap_or_default()),
            smooth_attributes: Some(asked.smooth_attributes.unwrap_or_default()),
            ..asked
        }),
        Some(difference) => Err(Usage(format!(
            "{}: this run was begun with other settings: {difference}; leave them out to go on, or \
             choose another folder",
            run.display()
        ))
        .into()),
    }
}

/// File, then single settings, then flags, on top of what is there.
fn tuned(args: &Tuning, set: &[String], mut settings: Settings) -> anyhow::Result<Settings> {
    if let Some(file) = &args.config {
        settings.read_file(file)?;
    }
    for assignment in set {
        let (key, value) = assignment.split_once('=').ok_or_else(|| {
            Usage(format!("--set {assignment}: expected KEY=VALUE, for example --set dim=64"))
        })?;
        settings.set(key.trim(), value)?;
    }
    if let Some(layers) = &args.choice.layers {
        settings.choose_layers(layers.clone());
    }
    if let Some(seed) = args.seed {
        settings.set("seed", &seed.to_string())?;
    }
    if let Some(method) = &args.method {
        settings.set("method", method)?;
    }
    Ok(settings)
}

/// Says what was decided; after all that may refuse the work, whose message is to stand alone.
pub fn say_decisions(plan: &Plan<'_>, output: &Output) {
    plan.decisions().iter().for_each(|decision| output.say(decision));
}

/// Reads a source, into the columns of a trained model where they are given, and says what is to be said about it.
pub fn load(
    source: &Path,
    layers: Option<&[String]>,
    features: Option<&FeatureSpace>,
    output: &Output,
) -> xgoal::Result<(MultiplexGraph, Option<Report>)> {
    let options =
        ReadOptions { layers, features, memory: machine::available_bytes(), inspect: false };
    let (graph, report) = xgoal::io::source::load(source, &options)?;
    for remark in report.iter().flat_map(|r| r.remarks()) {
        output.say(remark);
    }
    Ok((graph, report))
}

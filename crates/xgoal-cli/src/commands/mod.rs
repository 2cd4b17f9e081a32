//! One file per command.

pub mod bench;
pub mod demo;
pub mod embed;
pub mod eval;
pub mod generate;
pub mod info;
pub mod train;

use crate::args::{Choice, Tuning};
use crate::output::Usage;
use std::path::Path;
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
    tuned(args, chosen(&args.choice)?)
}

/// The settings of a run that was begun. What is asked for besides must be the same.
pub fn resumed(args: &Tuning, begun: &Settings, run: &Path) -> anyhow::Result<Settings> {
    // Without a preset, only what was named is asked for.
    let base = if args.choice.preset.is_some() { chosen(&args.choice)? } else { begun.clone() };
    let mut asked = tuned(args, base)?;
    asked.layers = asked.layers.or_else(|| begun.layers.clone());
    match begun.difference(&asked) {
        None => Ok(asked),
        Some(difference) => Err(Usage(format!(
            "{}: this run was begun with other settings: {difference}; leave them out to go on, or \
             choose another folder",
            run.display()
        ))
        .into()),
    }
}

/// File, then single settings, then flags, on top of what is there.
fn tuned(args: &Tuning, mut settings: Settings) -> anyhow::Result<Settings> {
    if let Some(file) = &args.config {
        settings.read_file(file)?;
    }
    for assignment in &args.set {
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

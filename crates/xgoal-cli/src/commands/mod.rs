//! One file per command.

pub mod bench;
pub mod demo;
pub mod embed;
pub mod eval;
pub mod generate;
pub mod info;
mod look;
pub mod plot;
pub mod report;
pub mod train;

use crate::args::{Choice, Tuning};
use crate::output::Usage;
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
    let mut settings = chosen(&args.choice)?;
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

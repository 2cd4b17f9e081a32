//! One file per command.

pub mod demo;
pub mod embed;
pub mod eval;
pub mod generate;
pub mod info;
pub mod train;

use crate::args::Choice;
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

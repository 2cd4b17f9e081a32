//! Training as it goes: a line that rewrites itself on a terminal, a line per stage elsewhere.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};
use xgoal::settings::Settings;
use xgoal::train::{EpochRecord, StageReport};

/// Shows epochs as they come.
pub struct Progress {
    bar: ProgressBar,
    /// When the last seconds' epochs began, and how many there were.
    window: (Instant, u32),
    rate: f64,
    patience: usize,
    max_epochs: usize,
}

impl Progress {
    /// Hidden unless standard error is a terminal and words are wanted.
    pub fn new(output: &Output, settings: &Settings) -> Self {
        let bar = if output.quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a fixed template"));
        Self {
            bar,
            window: (Instant::now(), 0),
            rate: 0.0,
            patience: settings.patience,
            max_epochs: settings.max_epochs,
        }
    }

    /// Shows that the first clusters are being found, which takes longer than an epoch.
    pub fn finding_clusters(&self) {
        if !self.bar.is_hidden() {
            self.bar.set_message("joint  finding clusters");
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Says that training stops, once it is told to.
    pub fn stopping(&self, output: &Output) -> impl Fn() + Send + Sync + 'static {
        let (bar, output) = (self.bar.clone(), *output);
        move || {
            bar.suspend(|| output.say("stopping after this epoch; once more to stop at once"));
        }
    }

    /// Shows one epoch.
    pub fn epoch(&mut self, record: &EpochRecord) {
        self.bar.disable_steady_tick();
        self.window.1 += 1;
        let elapsed = self.window.0.elapsed();
        if elapsed >= Duration::from_secs(1) || self.rate == 0.0 {
            self.rate = f64::from(self.window.1) / elapsed.as_secs_f64().max(1e-9);
            self.window = (Instant::now(), 0);
        }
        if self.bar.is_hidden() {
            return;
        }
        let term = |name: &str, value: Option<f64>| {
            value.map_or_else(String::new, |v| format!("  {name} {v:.4}"))
        };
        self.bar.set_message(format!(
            "{:<6} epoch {:>4}  loss {:.5}{}{}{}{}  {:.1} epochs/s  patience {}/{}{}",
            record.stage,
            record.epoch,
            record.loss,
            term("L_N", Some(record.l_n)),
            term("L_C", record.l_c),
            term("R_N", record.r_n),
            term("R_C", record.r_c),
            self.rate,
            record.patience_left,
            self.patience,
            self.left(record),
        ));
        self.bar.tick();
    }

    /// How long the stage will still take: as long as its patience if nothing improves any more, as long
    /// as its last epoch at most.
    fn left(&self, record: &EpochRecord) -> String {
        let most = self.max_epochs.saturating_sub(record.epoch as usize + 1);
        let least = (record.patience_left as usize).min(most);
        let time = |epochs: usize| short_time(epochs as f64 / self.rate.max(1e-9));
        match (least, most) {
            (0, _) => String::new(),
            (least, most) if least == most => format!("  {} left", time(most)),
            (least, most) => format!("  {} to {} left", time(least), time(most)),
        }
    }

    /// Leaves a line about a stage that ended.
    pub fn stage(&self, output: &Output, stage: &StageReport) {
        let line = format!(
            "{}: {} epochs in {:.1} s ({:.1} per second), loss {:.5}",
            stage.name,
            stage.epochs,
            stage.seconds,
            f64::from(stage.epochs) / stage.seconds.max(1e-9),
            stage.final_loss
        );
        self.say(output, line);
    }

    /// Leaves a line.
    pub fn say(&self, output: &Output, line: String) {
        self.bar.suspend(|| output.say(line));
    }

    /// Takes the rewriting line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A time in the unit that suits it.
fn short_time(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let texts = [0.2, 45.0, 300.0, 8000.0].map(short_time);
        assert_eq!(texts, ["0 s", "45 s", "5 min", "2 h"]);
    }
}

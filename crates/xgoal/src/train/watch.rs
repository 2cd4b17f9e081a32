//! When a loss has come to rest.
//!
//! One epoch's loss is judged by itself or as the mean of the last ones. A judged loss counts as a new best if it is
//! less than the last best by at least a share of all that was gained so far; a loss is at rest when there was no new
//! best for as long as patience allows.

use crate::engine::Stage;
use crate::settings::{Schedule, Settings, Start};
use serde::{Deserialize, Serialize};

/// The share of what a stage gained so far that a new best must add.
const MIN_GAIN: f64 = 0.02;
/// That where most is gained early: over batches, beside whose noise what comes late is small, and in a warm-up from weights along
/// principal directions, which begin near where it leads.
const EARLY: f64 = 0.1;
/// That where both are so.
const AT_ONCE: f64 = 0.25;

/// How a loss is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge {
    /// Losses that are averaged.
    pub window: usize,
    /// The share of what was gained that a new best must add.
    pub min_gain: f64,
}

impl Judge {
    /// How the losses of a stage are judged. Where a share of the gain is asked for, it must show through what one epoch's
    /// views differ from the next one's; in the joint stage, which gains little at a time, that takes the mean of more.
    pub(super) fn of(stage: Stage, settings: &Settings) -> Self {
        let Settings { patience, schedule, .. } = *settings;
        let near = settings.start == Some(Start::Principal);
        let (window, min_gain) = match (schedule, settings.batches(), stage) {
            (Schedule::Paper, ..) => (1, 0.0),
            (_, true, _) => (patience / 2, if near { AT_ONCE } else { EARLY }),
            (_, false, Stage::Warmup) => (patience / 5, if near { EARLY } else { MIN_GAIN }),
            (_, false, Stage::Joint) => (patience / 2, MIN_GAIN),
        };
        Self { window, min_gain }
    }
}

/// Follows one loss.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Watch {
    /// The first loss as it is judged.
    first: Option<f64>,
    /// The last best that counted.
    best: Option<f64>,
    /// Epochs since that one.
    since_best: u32,
    /// The least loss of a single epoch.
    least: Option<f64>,
    /// The last losses, as many as are averaged.
    recent: Vec<f64>,
}

impl Watch {
    /// Sees the loss of the next epoch; whether it is the least of all.
    pub(super) fn see(&mut self, loss: f64, judge: Judge) -> bool {
        self.recent.push(loss);
        let window = judge.window.max(1);
        if self.recent.len() > window {
            self.recent.remove(0);
        }
        // One that cannot be judged yet counts.
        let counts = self.recent.len() < window || {
            let judged = self.recent.iter().sum::<f64>() / window as f64;
            let first = *self.first.get_or_insert(judged);
            let enough = |best: f64| judged < best - judge.min_gain * (first - best);
            let counts = self.best.is_none_or(enough);
            if counts {
                self.best = Some(judged);
            }
            counts
        };
        self.since_best = if counts { 0 } else { self.since_best + 1 };
        let least = self.least.is_none_or(|least| loss < least);
        if least {
            self.least = Some(loss);
        }
        least
    }

    /// Epochs without a new best that are still allowed.
    pub(super) fn left(&self, patience: usize) -> u32 {
        u32::try_from(patience).unwrap_or(u32::MAX).saturating_sub(self.since_best)
    }

    /// Whether it can stand like this after so many epochs; a file may say anything.
    pub(super) fn is_possible(&self, epochs: u32, judge: Judge) -> bool {
        self.since_best <= epochs && self.recent.len() <= judge.window.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Epochs until a loss is at rest.
    fn rest(losses: impl IntoIterator<Item = f64>, patience: usize, judge: Judge) -> Option<usize> {
        let mut watch = Watch::default();
        losses.into_iter().position(|loss| {
            watch.see(loss, judge);
            watch.left(patience) == 0
        })
    }

    #[test]
    fn one_lucky_loss_among_many_is_no_rest() {
        let mut losses: Vec<f64> = (0..60).map(|i| 2.0 - 0.01 * f64::from(i)).collect();
        losses[10] = 1.2;
        losses.extend([3.0; 30]);
        let by = |window| rest(losses.clone(), 20, Judge { window, min_gain: 0.0 });
        assert_eq!(by(1), Some(30));
        // The mean of four falls with the trend, and for twenty epochs after its end nothing does.
        assert_eq!(by(4), Some(79));
    }

    #[test]
    fn a_loss_that_creeps_is_at_rest_when_little_is_gained() {
        // Falls by half within seven epochs, and then by a thousandth each.
        let loss = |i: i32| 1.0 + 0.9_f64.powi(i) - 1e-3 * f64::from(i);
        let by = |min_gain| rest((0..200).map(loss), 10, Judge { window: 2, min_gain });
        assert_eq!(by(0.0), None);
        // Ten epochs gain two hundredths of 1 until about the fortieth.
        let epochs = by(0.02).unwrap();
        assert!((40..60).contains(&epochs), "{epochs}");
        assert!(by(0.2).unwrap() < epochs);
    }

    #[test]
    fn a_joint_stage_that_gains_less_than_its_noise_goes_on() {
        // What ACM's joint stage gains at first, and how its L_N differs from one shuffle to the next.
        let loss =
            |stream: Stream, i: u64| 0.9 - 7e-5 * i as f64 + 0.05 * (stream.uniform(i) - 0.5);
        let early = |judge| {
            let streams = (0..20).map(|seed| Stream::new(seed, Purpose::Weights));
            streams.filter(|s| rest((0..600).map(|i| loss(*s, i)), 100, judge).is_some()).count()
        };
        let settings = Settings::default();
        assert!(early(Judge { window: 20, min_gain: MIN_GAIN }) > 5);
        assert_eq!(early(Judge::of(Stage::Joint, &settings)), 0);
    }

    #[test]
    fn a_first_loss_that_is_never_reached_again_does_not_count_as_the_start() {
        // The first epoch's loss is by chance below all others for long; what is gained is measured from the mean.
        let loss = |i: i32| if i == 0 { 0.5 } else { 0.7 * 0.99_f64.powi(i) };
        let by = |window| rest((0..400).map(loss), 20, Judge { window, min_gain: 0.02 });
        assert_eq!(by(1), Some(20));
        assert!(by(4).unwrap() > 200, "{:?}", by(4));
    }

    #[test]
    fn the_least_loss_is_known() {
        let mut watch = Watch::default();
        let judge = Judge { window: 3, min_gain: 0.1 };
        let least: Vec<bool> = [3.0, 2.0, 2.5, 1.9, 1.9].map(|loss| watch.see(loss, judge)).into();
        assert_eq!(least, [true, true, false, true, false]);
    }
}

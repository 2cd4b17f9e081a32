//! How often a state is saved.

use crate::error::{Error, Result};
use std::str::FromStr;
use std::time::Duration;

/// When the next state is due.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Cadence {
    /// Every ten seconds, or as rarely as it takes for saving to cost at most one part in a hundred.
    #[default]
    Automatic,
    /// After so many epochs, whatever it costs.
    Epochs(u32),
    /// After so much time, whatever it costs.
    Time(Duration),
}

/// Least time between two states.
const LEAST: Duration = Duration::from_secs(10);

/// Time between two states, in times of what saving one takes.
const SHARE: u32 = 100;

/// Bytes a second that a disk is trusted with before a first state has been timed.
const UNTIMED: f64 = 1e8;

impl Cadence {
    /// Whether a state is due, so long after the last one.
    pub(super) fn is_due(self, since: Since) -> bool {
        match self {
            Cadence::Automatic => since.time >= LEAST.max(SHARE * since.cost),
            Cadence::Epochs(epochs) => since.epochs >= epochs,
            Cadence::Time(time) => since.time >= time,
        }
    }
}

/// What has passed since the last state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    pub epochs: u32,
    pub time: Duration,
    /// What saving a state takes.
    pub cost: Duration,
}

/// What saving a first state of so many bytes will take.
pub(super) fn first_cost(bytes: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / UNTIMED)
}

impl FromStr for Cadence {
    type Err = Error;

    /// `20` for epochs, `30s` for seconds, `auto`.
    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Cadence::Automatic);
        }
        let seconds = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
        let cadence = match text.strip_suffix('s') {
            Some(text) => seconds(text).map(Cadence::Time),
            None => text.parse().ok().filter(|n| *n > 0).map(Cadence::Epochs),
        };
        let expected = "a number of epochs, such as 20, or of seconds, such as 30s";
        cadence.ok_or_else(|| Error::Data(format!("found {text}, expected {expected}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_states_are_saved_rarely_unless_asked_for() {
        let since = |seconds: f64, cost: f64| Since {
            epochs: 3,
            time: Duration::from_secs_f64(seconds),
            cost: Duration::from_secs_f64(cost),
        };
        assert!(!Cadence::Automatic.is_due(since(9.0, 0.0)));
        assert!(Cadence::Automatic.is_due(since(10.0, 0.1)));
        assert!(!Cadence::Automatic.is_due(since(99.0, 1.0)));
        assert!(Cadence::Automatic.is_due(since(100.0, 1.0)));
        assert!(Cadence::Epochs(3).is_due(since(0.0, 1.0)));
        assert!(!Cadence::Epochs(4).is_due(since(100.0, 0.0)));
        assert!(Cadence::Time(Duration::from_millis(500)).is_due(since(0.5, 1.0)));
        assert_eq!(first_cost(200_000_000), Duration::from_secs(2));
    }

    #[test]
    fn words_are_understood() {
        assert_eq!("auto".parse::<Cadence>().unwrap(), Cadence::default());
        assert_eq!("20".parse::<Cadence>().unwrap(), Cadence::Epochs(20));
        assert_eq!("0.5s".parse::<Cadence>().unwrap(), Cadence::Time(Duration::from_millis(500)));
        for text in ["", "0", "s", "-1", "-1s", "1e999s", "nans", "5m"] {
            assert!(text.parse::<Cadence>().is_err(), "{text}");
        }
    }
}

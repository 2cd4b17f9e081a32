//! Where an epoch's time goes.

use std::time::{Duration, Instant};

/// A part of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Masks and permutations.
    Draw,
    /// `X W` and `X+ W`.
    AttributesForward,
    /// Products with A, and the activation.
    EdgesForward,
    /// k-means.
    Cluster,
    /// The four terms and their gradients.
    Losses,
    /// Products with A^T.
    EdgesBackward,
    /// `X^T G` and `X+^T G+`.
    AttributesBackward,
    /// Adam.
    Update,
}

impl Phase {
    /// All phases, in the order of an epoch.
    pub const ALL: [Phase; 8] = [
        Phase::Draw,
        Phase::AttributesForward,
        Phase::EdgesForward,
        Phase::Cluster,
        Phase::Losses,
        Phase::EdgesBackward,
        Phase::AttributesBackward,
        Phase::Update,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Draw => "draw",
            Phase::AttributesForward => "attributes_forward",
            Phase::EdgesForward => "edges_forward",
            Phase::Cluster => "cluster",
            Phase::Losses => "losses",
            Phase::EdgesBackward => "edges_backward",
            Phase::AttributesBackward => "attributes_backward",
            Phase::Update => "update",
        }
    }
}

/// Time spent in each phase so far.
#[derive(Debug, Clone)]
pub struct Clock {
    spent: [Duration; Phase::ALL.len()],
    since: Instant,
}

impl Clock {
    /// Nothing spent yet.
    pub(super) fn new() -> Self {
        Self { spent: [Duration::ZERO; Phase::ALL.len()], since: Instant::now() }
    }

    /// Starts anew without counting the time since the last phase.
    pub(super) fn start(&mut self) {
        self.since = Instant::now();
    }

    /// Counts the time since the last call as the given phase.
    pub(super) fn stop(&mut self, phase: Phase) {
        let now = Instant::now();
        self.spent[phase as usize] += now - self.since;
        self.since = now;
    }

    /// Seconds spent in a phase since the beginning.
    pub(super) fn seconds(&self, phase: Phase) -> f64 {
        self.spent[phase as usize].as_secs_f64()
    }
}

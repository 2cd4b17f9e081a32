//! What an epoch computes.

use super::Choice;
use crate::engine::{Recluster, Stage, Step};
use crate::settings::{Config, Schedule};

/// First seedings of k-means for each one beside centres that are followed.
const SEEDINGS_PER_FRESH_ONE: usize = 5;

/// How much more compact clusters from a fresh seeding must be to take the place of those that were followed.
const ADVANTAGE: f64 = 0.01;

/// Whether prototypes are found in an epoch.
pub fn finds_prototypes(config: &Config, stage: Stage, epoch: u32) -> bool {
    let settings = config.settings();
    let used = config.lambda_c() > 0.0 || (config.aligned() && settings.mu_c > 0.0);
    stage == Stage::Joint && used && (epoch as usize).is_multiple_of(settings.clusters_every())
}

/// How prototypes are found: so many in each layer.
pub fn recluster<'a>(config: &Config, counts: &'a [usize]) -> Recluster<'a> {
    let restarts = config.settings().kmeans_restarts;
    let fresh = restarts.div_ceil(SEEDINGS_PER_FRESH_ONE);
    let anew = config.settings().schedule == Schedule::Paper;
    let together = !anew && config.aligned();
    Recluster { counts, together, anew, restarts, fresh, advantage: ADVANTAGE }
}

/// What an engine is asked for in an epoch. Nothing is clustered before there is a choice.
pub fn step<'a>(config: &Config, choice: Option<&'a Choice>, stage: Stage, epoch: u32) -> Step<'a> {
    let choice_now = choice.filter(|_| finds_prototypes(config, stage, epoch));
    Step {
        stage,
        epoch,
        recluster: choice_now.map(|choice| recluster(config, &choice.clusters)),
        lambda_c: choice.and_then(|c| c.lambda_c).unwrap_or_else(|| config.lambda_c()),
    }
}

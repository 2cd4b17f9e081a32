//! What an epoch computes.

use super::Choice;
use crate::engine::{Recluster, Stage, Step};
use crate::settings::{Config, PrototypeSource, Schedule};

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

/// How prototypes are found: so many in each layer, of clusters of its own or of shared ones.
pub fn recluster<'a>(
    config: &Config,
    counts: &'a [usize],
    source: PrototypeSource,
) -> Recluster<'a> {
    let restarts = config.settings().kmeans_restarts;
    let fresh = restarts.div_ceil(SEEDINGS_PER_FRESH_ONE);
    let anew = config.settings().schedule == Schedule::Paper;
    let together = !anew && config.aligned() && source == PrototypeSource::Own;
    Recluster { counts, source, together, anew, restarts, fresh, advantage: ADVANTAGE }
}

/// What an engine is asked for in an epoch. Nothing is clustered before there is a choice.
pub fn step<'a>(config: &Config, choice: Option<&'a Choice>, stage: Stage, epoch: u32) -> Step<'a> {
    let prototypes = |choice: &'a Choice| {
        let source = choice.prototypes.unwrap_or_else(|| config.prototypes());
        recluster(config, &choice.clusters, source)
    };
    Step {
        stage,
        epoch,
        recluster: choice.filter(|_| finds_prototypes(config, stage, epoch)).map(prototypes),
        lambda_c: choice.and_then(|c| c.lambda_c).unwrap_or_else(|| config.lambda_c()),
    }
}

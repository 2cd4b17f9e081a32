//! What `auto` makes of a graph before training begins.
//!
//! - `layers`: one that carries nothing is left out. Its encoder would give every node the attributes of strangers, and the
//!   final mean would hold them. So is one that is nearly a copy of another: the mean would count it twice.
//! - `layers`, too: three or more, of sparse attributes, of which none shows by itself more than chance would, or much less than their sum, are added
//!   up. Each encoder sees one layer, and where the signal is in all of them together each would learn noise.
//! - `start`: along the principal directions of the attributes where these show much more than chance would and no layer does.
//!   What can be learnt is in the attributes then, and random weights, with what contrast makes of them, keep less of it.
//! - `encoder` and `self_loops`: the plain GCN with a self-loop at every node for noisy attributes: dense ones that hardly
//!   tell who is joined, and counts so few that nodes' own show no more than chance would. The mean over neighbours and
//!   layers takes out their noise, but a node's own goes through `X W'` into every layer at full weight; as one neighbour
//!   among others it does not.
//! - `start` of such encoders: along the principal directions. A random projection stretches some directions several times
//!   as far as others, and what few counts come to is so small that the bias outweighs it, in all nodes alike.
//! - `normalize_columns`: columns of dense attributes lose their means. What all nodes have in common says nothing about
//!   any, but means over neighbours hold little else, and contrast cannot begin. Columns of very different sizes are also
//!   divided by their deviations, lest one of them is all that counts.
//! - `smooth_attributes`: noisy dense attributes are smoothed over the layers where there are several, or much more rises
//!   above chance then.
//! - `normalize_attributes`: rows of dense or noisy attributes are brought to unit length, those of other counts to a sum of 1.

use super::{
    AttributeNorm, Batch, ColumnNorm, Config, Decision, Encoder, PerLayer, SelfLoops, Settings,
    Start, When,
};
use crate::error::Result;
use crate::graph::{CLEAR, MultiplexGraph, RANDOM_CLOSURE, Signal};
use std::cell::LazyCell;
use toml::Value;

/// Attributes that are less alike than this over the edges of every layer do not tell who is joined; dense ones are mostly
/// noise then.
const TELLING: f64 = 0.5;
/// A layer that rises less above chance does not show enough by itself.
const BY_ITSELF: f64 = 0.6;
/// Layers of sparse attributes whose sum rises so many times as far as the best of them show more together.
const TOGETHER: f64 = 1.15;
/// Sparse attributes that rise less above chance are mostly noise.
const OWN: f64 = 0.3;
/// Counts on fewer nodes than this prove nothing.
const ENOUGH_NODES: usize = 256;
/// Attributes that rise so far are not noise, and where no layer rises by `HARDLY` they are what there is to learn from.
const TELLS: f64 = 4.0;
/// Columns of which the widest is so many times as wide as the median one are of different kinds.
const WIDER: f64 = 30.0;
/// Attributes are smoothed where the layers' sum rises so many times as far then,
const SMOOTHER: f64 = 1.5;
/// or there are so many layers: what one blurs, others tell apart.
const SEVERAL: usize = 3;
/// What rises by less is nothing to speak of.
const NOTHING: f64 = 0.1;
/// Attributes that were smoothed are smoothed again only while the layers' sum rises by less.
const ENOUGH: f64 = 1.0;
/// Most often that they are.
const PASSES: usize = 3;
/// The most nodes that steps go over all of.
const WHOLE: usize = 4096;
/// Nodes of a step in larger graphs.
pub(crate) const BATCH: usize = 512;
/// A layer that rises less above chance is not what there is to learn from.
const HARDLY: f64 = 1.0;

impl Settings {
    /// Whether the graph is looked at for what is `auto`.
    pub(crate) fn looks_at_graph(&self) -> bool {
        (self.layers.is_none() && !self.any_per_layer())
            || self.encoder.is_none()
            || self.start.is_none()
    }

    /// Looks at the graph where settings are `auto`, and checks every range. The configuration's layers are those to be
    /// trained, which may be fewer than the graph has.
    pub fn fit(self, graph: &MultiplexGraph) -> Result<Config> {
        self.fit_by(graph, || graph.signals())
    }

    /// The same where the layers' signals are wanted for other things too; they are asked for only if they are needed.
    pub fn fit_by(
        mut self,
        graph: &MultiplexGraph,
        signals: impl FnOnce() -> Vec<Signal>,
    ) -> Result<Config> {
        if graph.nodes() > WHOLE {
            self.batch.get_or_insert(Batch::Nodes(BATCH));
        }
        let mut decisions = Vec::new();
        let mut decide = |key: &str, value: Value, reason: String| {
            decisions.push(Decision::new(When::Start, key, value, reason));
        };
        let mut names = graph.layer_names();
        let open = self.layers.is_none() && !self.any_per_layer();
        let dense = graph.has_dense_attributes();
        let rise = LazyCell::new(|| graph.layer_rises().into_iter().fold(0.0, f64::max));
        let own = LazyCell::new(|| graph.own_rise());
        let vague = || match dense {
            true => *own < TELLS,
            false => graph.nodes() >= ENOUGH_NODES && *own < OWN,
        };
        let signals = match open || (self.encoder.is_none() && vague()) {
            true => signals(),
            false => Vec::new(),
        };
        if open && let Some((kept, left_out)) = without_nothing(&names, &signals) {
            names = kept;
            decide(
                "layers",
                names.clone().into(),
                format!(
                    "{left_out} left out: nodes that are joined there are no more alike than others, and their \
                     neighbours are not joined; to keep it, name the layers"
                ),
            );
        }
        if open {
            for (name, original, shared) in copied(graph) {
                // A copy of a layer that carries nothing is left out already.
                if names.contains(&name) && names.contains(&original) {
                    names.retain(|kept| *kept != name);
                    decide(
                        "layers",
                        names.clone().into(),
                        format!(
                            "{name} left out: nearly a copy of {original} (they share {:.1} % of their edges); \
                             to keep it, name the layers",
                            100.0 * shared
                        ),
                    );
                }
            }
        }
        let likeness = signals.iter().map(|s| s.likeness.abs()).fold(0.0, f64::max);
        let unclear = likeness < TELLING && signals.iter().all(|s| s.closure < RANDOM_CLOSURE);
        let sum_has_a_name = names.len() > 2 && !names.iter().any(|name| name.contains('+'));
        let noisy = !signals.is_empty() && likeness < TELLING && vague();
        let plain = self.encoder.is_none() && noisy;
        if self.smooth_attributes.is_none() && plain && dense {
            let rises = smoothing(graph, &names, *rise);
            let passes = rises.len() - 1;
            self.smooth_attributes = Some(passes);
            if passes > 0 {
                let (before, after) = (rises[0], rises[passes]);
                let because = match after > before {
                    true => "more rises above chance then",
                    false => "what one of several layers blurs others tell apart",
                };
                decide(
                    "smooth_attributes",
                    Value::Integer(passes as i64),
                    format!("{passes}, because {because} (rise {after:.2}, before {before:.2})"),
                );
            }
        }
        // Dense ones that were smoothed over all layers hold what these show together already, and noisy counts are better
        // apart, even where no layer shows anything by itself.
        if open
            && unclear
            && sum_has_a_name
            && !dense
            && !noisy
            && let Some(because) = shows_more_added_up(graph, &names, likeness, *rise)
        {
            names = vec![names.join("+")];
            decide(
                "layers",
                names.clone().into(),
                format!("added up to one, because {because}; to keep them apart, name the layers"),
            );
            // The layers' rises say nothing about their sum.
            self.start.get_or_insert_default();
        }
        if self.start.is_none() && *rise < HARDLY && *own >= TELLS {
            self.start = Some(Start::Principal);
            decide(
                "start",
                Start::Principal.as_str().into(),
                format!(
                    "principal, because attributes show more than chance would (rise {:.2}) and layers hardly do \
                     ({:.2})",
                    *own, *rise
                ),
            );
        }
        if self.normalize_columns.is_none()
            && dense
            && let Some((norm, because)) = column_norm(graph)
        {
            self.normalize_columns = Some(norm);
            let value = norm.as_str();
            decide("normalize_columns", value.into(), format!("{value}, because {because}"));
        }
        if self.normalize_attributes.is_none() && (dense || plain) {
            self.normalize_attributes = Some(AttributeNorm::L2);
            let because = if dense { "most attributes are not zero" } else { "attributes are few" };
            let value = AttributeNorm::L2.as_str();
            decide("normalize_attributes", value.into(), format!("{value}, because {because}"));
        }
        if plain {
            let because = match dense {
                true => {
                    format!("dense attributes hardly tell who is joined (likeness {likeness:.2})")
                }
                false => format!(
                    "nodes' own attributes show no more than chance would (rise {:.2})",
                    *own
                ),
            };
            let reason = self.count_own_as_a_neighbour(&because);
            decide("encoder", Encoder::Gcn.as_str().into(), reason);
            if self.start.is_none() {
                self.start = Some(Start::Principal);
                decide(
                    "start",
                    Start::Principal.as_str().into(),
                    "principal, because a random projection of noisy attributes is uneven".into(),
                );
            }
        }
        Ok(self.validate(&names)?.with_decisions(decisions))
    }

    /// What is open here, as it is in settings that were fitted before.
    #[must_use]
    pub fn settled_as(mut self, fitted: &Settings) -> Self {
        self.layers = self.layers.or_else(|| fitted.layers.clone());
        self.encoder = self.encoder.or(fitted.encoder);
        self.start = self.start.or(fitted.start);
        self.structure = self.structure.or(fitted.structure);
        self.structure_weight = self.structure_weight.or(fitted.structure_weight);
        self.batch = self.batch.or(fitted.batch);
        self.cluster_every = self.cluster_every.or(fitted.cluster_every);
        self.normalize_attributes = self.normalize_attributes.or(fitted.normalize_attributes);
        self.normalize_columns = self.normalize_columns.or(fitted.normalize_columns);
        self.smooth_attributes = self.smooth_attributes.or(fitted.smooth_attributes);
        self.self_loops = self.self_loops.or(fitted.self_loops);
        self
    }

    /// A plain GCN with self-loops, and in words why.
    fn count_own_as_a_neighbour(&mut self, because: &str) -> String {
        self.encoder = Some(Encoder::Gcn);
        let loops = match self.self_loops.get_or_insert(SelfLoops::All) {
            SelfLoops::All => " with self-loops",
            _ => "",
        };
        format!("gcn{loops}, because {because}")
    }

    fn any_per_layer(&self) -> bool {
        matches!(self.clusters, PerLayer::Each(_))
            || matches!(self.tau, PerLayer::Each(_))
            || matches!(self.layer_weights, PerLayer::Each(_))
    }
}

/// What to do to the columns of dense attributes, and why. Nothing would be left of columns of which none varies.
fn column_norm(graph: &MultiplexGraph) -> Option<(ColumnNorm, String)> {
    let mut widths: Vec<f64> = graph.column_deviations().into_iter().filter(|w| *w > 0.0).collect();
    widths.sort_by(f64::total_cmp);
    let times = widths.last()? / widths[widths.len() / 2];
    Some(match times >= WIDER {
        true => {
            let because = format!("the widest column is {times:.0} times as wide as the median");
            (ColumnNorm::Standard, because)
        }
        false => (ColumnNorm::Center, "most attributes are not zero".into()),
    })
}

/// How far the sum of these layers, of which the best rises so far, rises before any pass of smoothing, and after each that
/// is worth it.
fn smoothing(graph: &MultiplexGraph, layers: &[String], best: f64) -> Vec<f64> {
    let mut rises = vec![graph.sum_rise(layers)];
    while rises.len() <= PASSES {
        let (passes, before) = (rises.len(), rises[rises.len() - 1]);
        if passes > 1 && before >= ENOUGH {
            break;
        }
        let after = graph.smoothed_rise(layers, passes);
        let times = match passes {
            1 if layers.len() >= SEVERAL => 0.0,
            // Where no layer shows anything, there is nothing to lose.
            1 if best < BY_ITSELF => 1.0,
            _ => SMOOTHER,
        };
        if after < (times * before).max(NOTHING) {
            break;
        }
        rises.push(after);
    }
    rises
}

/// Why layers of sparse attributes should be added up, in words, if they should.
fn shows_more_added_up(
    graph: &MultiplexGraph,
    names: &[String],
    likeness: f64,
    rise: f64,
) -> Option<String> {
    if likeness < CLEAR && rise < BY_ITSELF {
        return Some(format!("none by itself shows more than chance would (rise {rise:.2})"));
    }
    let together = graph.sum_rise(names);
    (together >= TOGETHER * rise).then(|| {
        format!("together they show more (rise {together:.2}) than the best one ({rise:.2})")
    })
}

/// The layers that are nearly copies, with their originals and how much they share.
fn copied(graph: &MultiplexGraph) -> Vec<(String, String, f64)> {
    let names = graph.layer_names();
    let copies = names.iter().zip(graph.copies());
    copies
        .filter_map(|(name, copy)| copy.map(|(u, shared)| (name.clone(), names[u].clone(), shared)))
        .collect()
}

/// The layers that carry something, and the names of the others, unless all are of one kind.
fn without_nothing(names: &[String], signals: &[Signal]) -> Option<(Vec<String>, String)> {
    let of_kind = |nothing: bool| -> Vec<String> {
        let layers = names.iter().zip(signals).filter(|(_, s)| s.nothing == nothing);
        layers.map(|(name, _)| name.clone()).collect()
    };
    let (kept, left_out) = (of_kind(false), of_kind(true));
    (!kept.is_empty() && !left_out.is_empty()).then(|| (kept, left_out.join(", ")))
}

#[cfg(test)]
mod tests;

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
//! - `mean_weights`: layers in which joined nodes are more alike count more in the final mean, where that is all layers
//!   show.
//! - `normalize_attributes`: rows of dense or noisy attributes are brought to unit length, those of other counts to a sum of 1.

use super::{AttributeNorm, ColumnNorm, Config, Encoder, PerLayer, SelfLoops, Settings, Start};
use crate::error::Result;
use crate::graph::{CLEAR, MultiplexGraph, RANDOM_CLOSURE, Signal};
use std::cell::LazyCell;

/// Attributes of which more than this share is not zero are dense.
const DENSE: f64 = 0.5;
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
/// Attributes that rise so far where no layer rises by `HARDLY` are what there is to learn from.
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
/// The least weight of a layer in the final mean, where the best has 1.
const LEAST_WEIGHT: f64 = 0.25;
/// A layer that rises less above chance is not what there is to learn from.
const HARDLY: f64 = 1.0;

impl Settings {
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
        let mut reasons = Vec::new();
        let mut names = graph.layer_names();
        let open = self.layers.is_none() && !self.any_per_layer();
        let dense = is_dense(graph);
        let rise = LazyCell::new(|| graph.layer_rises().into_iter().fold(0.0, f64::max));
        let own = LazyCell::new(|| graph.own_rise());
        // Dense attributes are judged by who is joined alone.
        let vague = || dense || (graph.nodes() >= ENOUGH_NODES && *own < OWN);
        let weighed = self.mean_weights.is_none() && names.len() > 1;
        let signals = match open || weighed || (self.encoder.is_none() && vague()) {
            true => signals(),
            false => Vec::new(),
        };
        if open && let Some((kept, left_out)) = without_nothing(&names, &signals) {
            reasons.push(format!(
                "layers: {left_out} left out: nodes that are joined there are no more alike than others, and their \
                 neighbours are not joined; to keep it, name the layers"
            ));
            names = kept;
        }
        if open {
            for (name, original, shared) in copied(graph) {
                // A copy of a layer that carries nothing is left out already.
                if names.contains(&name) && names.contains(&original) {
                    names.retain(|kept| *kept != name);
                    reasons.push(format!(
                        "layers: {name} left out: nearly a copy of {original} (they share {:.1} % of their edges); \
                         to keep it, name the layers",
                        100.0 * shared
                    ));
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
                reasons.push(format!(
                    "smooth_attributes: {passes}, because {because} (rise {after:.2}, before {before:.2})"
                ));
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
            reasons.push(format!(
                "layers: added up to one, because {because}; to keep them apart, name the layers"
            ));
            // The layers' rises say nothing about their sum.
            self.start.get_or_insert_default();
        }
        if weighed && let Some((weights, because)) = worth(graph, &names, &signals) {
            self.mean_weights = Some(PerLayer::Each(weights));
            reasons.push(because);
        }
        if self.start.is_none() && *rise < HARDLY && *own >= TELLS {
            self.start = Some(Start::Principal);
            reasons.push(format!(
                "start: principal, because attributes show more than chance would (rise {:.2}) and layers hardly do \
                 ({:.2})",
                *own, *rise
            ));
        }
        if self.normalize_columns.is_none()
            && dense
            && let Some((norm, because)) = column_norm(graph)
        {
            self.normalize_columns = Some(norm);
            reasons.push(format!("normalize_columns: {}, because {because}", norm.as_str()));
        }
        if self.normalize_attributes.is_none() && (dense || plain) {
            self.normalize_attributes = Some(AttributeNorm::L2);
            let because = if dense { "most attributes are not zero" } else { "attributes are few" };
            reasons.push(format!("normalize_attributes: l2, because {because}"));
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
            reasons.push(self.count_own_as_a_neighbour(&because));
            if self.start.is_none() {
                self.start = Some(Start::Principal);
                reasons.push(
                    "start: principal, because a random projection of noisy attributes is uneven"
                        .into(),
                );
            }
        }
        Ok(self.validate(&names)?.with_reasons(reasons))
    }

    /// What is open here, as it is in settings that were fitted before.
    #[must_use]
    pub fn settled_as(mut self, fitted: &Settings) -> Self {
        self.layers = self.layers.or_else(|| fitted.layers.clone());
        self.encoder = self.encoder.or(fitted.encoder);
        self.start = self.start.or(fitted.start);
        self.warmup_min_gain = self.warmup_min_gain.or(fitted.warmup_min_gain);
        self.mean_weights = self.mean_weights.or_else(|| fitted.mean_weights.clone());
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
        format!("encoder: gcn{loops}, because {because}")
    }

    fn any_per_layer(&self) -> bool {
        matches!(self.clusters, PerLayer::Each(_))
            || matches!(self.tau, PerLayer::Each(_))
            || matches!(self.layer_weights, PerLayer::Each(_))
            || matches!(self.mean_weights, Some(PerLayer::Each(_)))
    }
}

fn is_dense(graph: &MultiplexGraph) -> bool {
    let attributes = graph.attributes();
    attributes.nonzeros() as f64 > DENSE * attributes.rows() as f64 * attributes.cols() as f64
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

/// How much each of these layers should count in the final mean, and why; nothing where they count alike.
///
/// An encoder's embeddings are the noisier the less neighbours have in common. Where they are joined among themselves a
/// layer shows more than that, and likeness is not what it is worth.
fn worth(
    graph: &MultiplexGraph,
    names: &[String],
    signals: &[Signal],
) -> Option<(Vec<f64>, String)> {
    let of = |name: &String| graph.layer_names().iter().position(|layer| layer == name);
    let signals: Vec<&Signal> =
        names.iter().map(|name| Some(&signals[of(name)?])).collect::<Option<_>>()?;
    let best = signals.iter().map(|s| s.likeness.abs()).fold(0.0, f64::max);
    if best == 0.0 || signals.iter().any(|s| s.closure >= RANDOM_CLOSURE) {
        return None;
    }
    // To a hundredth, as it is written.
    let weight = |s: &&Signal| (s.likeness.abs() / best).sqrt().max(LEAST_WEIGHT);
    let weights: Vec<f64> = signals.iter().map(|s| (100.0 * weight(s)).round() / 100.0).collect();
    let words = |values: &mut dyn Iterator<Item = f64>| {
        values.map(|value| format!("{value:.2}")).collect::<Vec<_>>().join(", ")
    };
    let because = format!(
        "mean_weights: {}, because joined nodes are more alike in some layers than in others (likeness {})",
        words(&mut weights.iter().copied()),
        words(&mut signals.iter().map(|s| s.likeness))
    );
    weights.iter().any(|weight| *weight < 1.0).then_some((weights, because))
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
mod tests {
    use super::*;
    use crate::graph::Layer;
    use crate::matrix::{Csr, Dense, Matrix};
    use crate::random::{Purpose, Stream};

    /// A layer of pairs, whose attributes are alike or are not.
    fn graph(alike: bool) -> MultiplexGraph {
        let pairs = (0..200u32).map(|n| (n, n ^ 1, 1.0)).collect();
        let adjacency = Csr::from_triplets(200, 200, pairs).unwrap();
        let stream = Stream::new(0, Purpose::Planted);
        let value = |n: u64, c: u64| stream.normal(16 * (if alike { n / 2 } else { n }) + c) as f32;
        let values = (0..200).flat_map(|n| (0..16).map(move |c| value(n, c))).collect();
        let attributes = Matrix::Dense(Dense::from_vec(200, 16, values).unwrap());
        MultiplexGraph::new(vec![Layer { name: "pairs".into(), adjacency }], attributes).unwrap()
    }

    #[test]
    fn dense_attributes_that_say_little_are_not_held_against_the_neighbours() {
        let noisy = Settings::default().fit(&graph(false)).unwrap();
        assert_eq!(noisy.encoder(), Encoder::Gcn);
        assert_eq!(noisy.settings().normalize_attributes, Some(AttributeNorm::L2));
        assert_eq!(noisy.settings().self_loops, Some(SelfLoops::All));
        assert!(noisy.reasons().iter().any(|r| r.starts_with("encoder: gcn")));
        assert_eq!(noisy.settings().start, Some(Start::Principal));
        assert!(noisy.reasons().iter().any(|r| r.starts_with("start: principal")));
        let telling = Settings::default().fit(&graph(true)).unwrap();
        assert_eq!(telling.encoder(), Encoder::FirstOrder);
        assert_eq!(telling.settings().start, Some(Start::Random));
        // What is given stays.
        let mut given = Settings::default();
        given.set("encoder", "first-order").unwrap();
        given.set("normalize_attributes", "none").unwrap();
        given.set("start", "random").unwrap();
        given.set("normalize_columns", "none").unwrap();
        let given = given.fit(&graph(false)).unwrap();
        assert_eq!(given.encoder(), Encoder::FirstOrder);
        assert_eq!(given.settings().normalize_attributes, Some(AttributeNorm::None));
        assert!(given.reasons().is_empty());
    }

    #[test]
    fn what_is_open_is_settled_as_before() {
        let fitted = Settings::default().fit(&graph(false)).unwrap();
        let again = Settings::default().settled_as(fitted.settings());
        assert_eq!(fitted.settings().difference(&again), None);
        let mut other = Settings::default();
        other.set("encoder", "first-order").unwrap();
        let difference = fitted.settings().difference(&other.settled_as(fitted.settings()));
        assert_eq!(difference.unwrap(), "`encoder` was \"gcn\", now \"first-order\"");
    }

    #[test]
    fn columns_of_dense_attributes_lose_their_means() {
        let chosen = |widest: f32, set: &[(&str, &str)]| {
            let base = graph(false);
            let Matrix::Dense(mut values) = base.attributes().clone() else { panic!("is dense") };
            values.values_mut().iter_mut().step_by(16).for_each(|v| *v *= widest);
            let graph = MultiplexGraph::new(base.layers().to_vec(), Matrix::Dense(values)).unwrap();
            let mut settings = Settings::default();
            set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
            let fitted = settings.fit(&graph).unwrap();
            let said = fitted.reasons().iter().any(|r| r.starts_with("normalize_columns"));
            (fitted.settings().normalize_columns.unwrap(), said)
        };
        assert_eq!(chosen(1.0, &[]), (ColumnNorm::Center, true));
        assert_eq!(chosen(100.0, &[]), (ColumnNorm::Standard, true));
        assert_eq!(chosen(100.0, &[("normalize_columns", "none")]), (ColumnNorm::None, false));
        // Where all nodes have the same, it is all there is.
        let ones = Matrix::Dense(Dense::from_vec(200, 2, vec![0.1; 400]).unwrap());
        let same = MultiplexGraph::new(graph(false).layers().to_vec(), ones).unwrap();
        let same = Settings::default().fit(&same).unwrap();
        assert_eq!(same.settings().normalize_columns, Some(ColumnNorm::None));
    }

    #[test]
    fn noisy_dense_attributes_are_smoothed_where_layers_show_more_then() {
        // Four classes that attributes hardly show, and edges that stay within one or do not.
        let stream = Stream::new(7, Purpose::Planted);
        let nodes = 1200u64;
        let value = |n: u64, c: u64| {
            0.25 * stream.normal(1_000_000 + 32 * (n % 4) + c) + stream.normal(32 * n + c)
        };
        let values = (0..nodes).flat_map(|n| (0..32).map(move |c| value(n, c) as f32)).collect();
        let attributes = Matrix::Dense(Dense::from_vec(1200, 32, values).unwrap());
        let layer = |name: &str, of: u64, within: f64| {
            let draw = stream.substream(of);
            let edges = (0..6 * nodes).flat_map(|e| {
                let (from, to) = (e % nodes, 4 * draw.below(3 * e, nodes / 4));
                let class =
                    if draw.uniform(3 * e + 1) < within { from } else { draw.below(3 * e + 2, 4) };
                let (a, b) = (from as u32, (to + class % 4) as u32);
                [(a, b, 1.0), (b, a, 1.0)]
            });
            let adjacency = Csr::from_triplets(1200, 1200, edges.collect()).unwrap();
            Layer { name: name.into(), adjacency }
        };
        let fitted = |within: f64, set: &[(&str, &str)]| {
            let layers = [("a", 1), ("b", 2), ("c", 3)].map(|(name, of)| layer(name, of, within));
            let mut settings = Settings::default();
            set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
            let graph = MultiplexGraph::new(layers.into(), attributes.clone()).unwrap();
            let fitted = settings.fit(&graph).unwrap();
            assert_eq!(fitted.layer_names(), ["a", "b", "c"]);
            let said = fitted.reasons().iter().any(|r| r.starts_with("smooth_attributes: 1"));
            (fitted.settings().smooth_attributes.unwrap(), said)
        };
        assert_eq!(fitted(0.5, &[]), (1, true));
        // What is given stays; attributes that count for themselves are not mixed with others.
        assert_eq!(fitted(0.5, &[("smooth_attributes", "0")]), (0, false));
        assert_eq!(fitted(0.5, &[("encoder", "first-order")]), (0, false));
    }

    #[test]
    fn layers_that_join_likes_more_often_count_more_in_the_mean() {
        let stream = Stream::new(8, Purpose::Planted);
        let nodes = 1200u64;
        let value = |n: u64, c: u64| {
            0.5 * stream.normal(1_000_000 + 16 * (n % 4) + c) + stream.normal(16 * n + c)
        };
        let values = (0..nodes).flat_map(|n| (0..16).map(move |c| value(n, c) as f32)).collect();
        let attributes = Matrix::Dense(Dense::from_vec(1200, 16, values).unwrap());
        // Edges that stay within a class or do not, or join whole groups of eight.
        let layer = |name: &str, of: u64, within: Option<f64>| {
            let draw = stream.substream(of);
            let edge = |e: u64| {
                let from = e % nodes;
                let Some(within) = within else {
                    return (from as u32, (from / 8 * 8 + e / nodes) as u32, 1.0);
                };
                let class =
                    if draw.uniform(3 * e) < within { from } else { draw.below(3 * e + 1, 4) };
                let to = 4 * draw.below(3 * e + 2, nodes / 4) + class % 4;
                (from as u32, to as u32, 1.0)
            };
            let adjacency = Csr::from_triplets(1200, 1200, (0..8 * nodes).map(edge).collect());
            Layer { name: name.into(), adjacency: adjacency.unwrap() }
        };
        let fitted = |shares: [Option<f64>; 2], set: &[(&str, &str)]| {
            let layers = [("a", 1), ("b", 2)].into_iter().zip(shares);
            let layers = layers.map(|((name, of), share)| layer(name, of, share)).collect();
            let graph = MultiplexGraph::new(layers, attributes.clone()).unwrap();
            let mut settings = Settings::default();
            set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
            let fitted = settings.fit(&graph).unwrap();
            let said = fitted.reasons().iter().any(|r| r.starts_with("mean_weights: 1.00, 0."));
            let weights: Vec<f64> = fitted.layers().iter().map(|l| l.mean_weight).collect();
            (weights, said)
        };
        let (weights, said) = fitted([Some(0.8), Some(0.4)], &[]);
        assert!(said && weights[0] == 1.0 && (0.5..0.9).contains(&weights[1]), "{weights:?}");
        // The same where layers are named; what shows nothing keeps a little.
        assert_eq!(fitted([Some(0.8), Some(0.4)], &[("layers", "a,b")]), (weights, true));
        assert_eq!(fitted([Some(0.8), Some(0.0)], &[]), (vec![1.0, 0.25], true));
        // What is given stays, and likeness is not all that groups show.
        let given = fitted([Some(0.8), Some(0.4)], &[("mean_weights", "1")]);
        assert_eq!(given, (vec![1.0, 1.0], false));
        assert_eq!(fitted([Some(0.8), None], &[]), (vec![1.0, 1.0], false));
    }

    #[test]
    fn few_counts_are_one_neighbour_among_others_and_layers_stay_apart() {
        // Three words of 300 on each node, at random; or one of the pair's own, and the same on the nodes it is joined to.
        let words = |alike: bool| {
            let stream = Stream::new(3, Purpose::Planted);
            let word = |n: u32, k: u32| stream.below(u64::from(3 * n + k), 300) as u32;
            let of = |n: u32| if alike { n / 2 * 2 } else { n };
            let words = (0..600).flat_map(|n| (0..3).map(move |k| (n, word(of(n), k), 1.0)));
            Matrix::Sparse(Csr::from_triplets(600, 300, words.collect()).unwrap())
        };
        let layer = |name: &str, of: u64| {
            let stream = Stream::new(4, Purpose::Planted).substream(of);
            let end = |i: u32| if of == 0 { i ^ 1 } else { stream.below(i.into(), 600) as u32 };
            let edges = (0..600 * if of == 0 { 1 } else { 4 }).map(|e| (e % 600, end(e), 1.0));
            let adjacency = Csr::from_triplets(600, 600, edges.collect()).unwrap();
            Layer { name: name.into(), adjacency }
        };
        let fitted = |alike: bool, set: &[(&str, &str)]| {
            let layers = vec![layer("a", 0), layer("b", 1), layer("c", 2)];
            let graph = MultiplexGraph::new(layers, words(alike)).unwrap();
            let mut settings = Settings::default();
            set.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
            let fitted = settings.fit(&graph).unwrap();
            let Settings { normalize_attributes, self_loops, start, .. } = *fitted.settings();
            let layers = fitted.layer_names().len();
            (layers, fitted.encoder(), normalize_attributes, self_loops, start)
        };
        let (l1, l2) = (Some(AttributeNorm::L1), Some(AttributeNorm::L2));
        let (isolated, all) = (Some(SelfLoops::Isolated), Some(SelfLoops::All));
        let (random, principal) = (Some(Start::Random), Some(Start::Principal));
        assert_eq!(fitted(false, &[]), (3, Encoder::Gcn, l2, all, principal));
        assert_eq!(fitted(false, &[("layers", "a,b,c")]), fitted(false, &[]));
        assert_eq!(fitted(true, &[]), (3, Encoder::FirstOrder, l1, isolated, random));
        // What is given stays.
        let given = fitted(false, &[("encoder", "first-order")]);
        assert_eq!(given, (3, Encoder::FirstOrder, l1, isolated, random));
        let given = fitted(false, &[("start", "random"), ("normalize_attributes", "l1")]);
        assert_eq!(given, (3, Encoder::Gcn, l1, all, random));
    }

    #[test]
    fn layers_that_show_more_together_are_added_up() {
        // Four classes, words that are a little more common in one, and layers that join a class a little more often.
        let stream = Stream::new(6, Purpose::Planted);
        let nodes = 1200u64;
        let word = |n: u64, k: u64| {
            let (draw, at) = (stream.substream(1), 10 * n + k);
            match draw.uniform(2 * at) < 0.3 {
                true => 20 * (n % 4) + draw.below(2 * at + 1, 20),
                false => draw.below(2 * at + 1, 80),
            }
        };
        let words = (0..nodes).flat_map(|n| (0..10).map(move |k| (n, k)));
        let words = words.map(|(n, k)| (n as u32, word(n, k) as u32, 1.0)).collect();
        let attributes = Matrix::Sparse(Csr::from_triplets(1200, 80, words).unwrap());
        let layer = |name: &str, of: u64, within: f64| {
            let draw = stream.substream(of);
            let end = |e: u64| {
                let class =
                    if draw.uniform(3 * e) < within { e % 4 } else { draw.below(3 * e + 1, 4) };
                4 * draw.below(3 * e + 2, nodes / 4) + class
            };
            let edges = (0..4 * nodes).flat_map(|e| {
                let (a, b) = ((e % nodes) as u32, end(e) as u32);
                [(a, b, 1.0), (b, a, 1.0)]
            });
            let adjacency = Csr::from_triplets(1200, 1200, edges.collect()).unwrap();
            Layer { name: name.into(), adjacency }
        };
        let named = |names: [&str; 3], shares: [f64; 3]| {
            let layers = names.iter().zip(shares).zip(2..);
            let layers = layers.map(|((name, share), of)| layer(name, of, share)).collect();
            Settings::default()
                .fit(&MultiplexGraph::new(layers, attributes.clone()).unwrap())
                .unwrap()
        };
        let fitted = |others: f64| named(["a", "b", "c"], [0.35, others, others]);
        let alike = fitted(0.35);
        assert_eq!(alike.layer_names(), ["a+b+c"], "{:?}", alike.reasons());
        assert!(alike.reasons()[0].contains("together they show more"), "{:?}", alike.reasons());
        // Layers that show nothing do not add to the one that does.
        assert_eq!(fitted(0.0).layer_names(), ["a", "b", "c"]);
        // Nor does any by itself here.
        let nothing = named(["a", "b", "c"], [0.0; 3]);
        assert_eq!(nothing.layer_names(), ["a+b+c"]);
        assert!(nothing.reasons()[0].contains("none by itself"), "{:?}", nothing.reasons());
        // A name that a sum could not have.
        assert_eq!(named(["a", "b", "c++"], [0.35; 3]).layer_names(), ["a", "b", "c++"]);
    }

    #[test]
    fn attributes_that_tell_more_than_layers_are_started_along() {
        // Four classes of nodes, and edges between any two or within a class.
        let stream = Stream::new(2, Purpose::Planted);
        let graph = |within: bool| {
            let value = |n: u64, c: u64| {
                stream.normal(1_000_000 + 16 * (n % 4) + c) + 0.5 * stream.normal(16 * n + c)
            };
            let values = (0..400).flat_map(|n| (0..16).map(move |c| value(n, c) as f32)).collect();
            let end = |i: u64| stream.substream(1).below(i, 100) as u32;
            let class = |i: u64| if within { 0 } else { stream.substream(2).below(i, 4) as u32 };
            let edge = |e: u32| (e % 400, 4 * end(e.into()) + (e + class(e.into())) % 4, 1.0);
            let adjacency = Csr::from_triplets(400, 400, (0..3200).map(edge).collect()).unwrap();
            let attributes = Matrix::Dense(Dense::from_vec(400, 16, values).unwrap());
            MultiplexGraph::new(vec![Layer { name: "a".into(), adjacency }], attributes).unwrap()
        };
        let fitted = |within: bool, start: &str| {
            let mut settings = Settings::default();
            settings.set("start", start).unwrap();
            let fitted = settings.fit(&graph(within)).unwrap();
            let said = fitted.reasons().iter().any(|r| r.starts_with("start: principal"));
            let settings = fitted.settings();
            (settings.start.unwrap(), settings.warmup_min_gain.unwrap(), said)
        };
        assert_eq!(fitted(false, "auto"), (Start::Principal, 0.1, true));
        assert_eq!(fitted(true, "auto"), (Start::Random, 0.02, false));
        // What is given stays.
        assert_eq!(fitted(false, "random"), (Start::Random, 0.02, false));
        assert_eq!(fitted(true, "principal"), (Start::Principal, 0.1, false));
    }

    #[test]
    fn a_copy_is_left_out_unless_it_is_named() {
        let once = graph(true);
        let copy = Layer { name: "again".into(), ..once.layers()[0].clone() };
        let layers = once.layers().iter().cloned().chain([copy]).collect();
        let twice = MultiplexGraph::new(layers, once.attributes().clone()).unwrap();
        let fitted = Settings::default().fit(&twice).unwrap();
        assert_eq!(fitted.layer_names(), ["pairs"]);
        let said =
            "layers: again left out: nearly a copy of pairs (they share 100.0 % of their edges)";
        assert!(fitted.reasons()[0].starts_with(said), "{:?}", fitted.reasons());
        let mut named = Settings::default();
        named.set("layers", "pairs,again").unwrap();
        assert_eq!(named.fit(&twice).unwrap().layer_names(), ["pairs", "again"]);
    }

    #[test]
    fn layers_that_carry_nothing_are_left_out_beside_others() {
        let names = ["a", "b", "c"].map(String::from);
        let signal = |nothing| Signal { likeness: 0.0, closure: 0.0, nothing };
        let chosen = |nothing: [bool; 3]| without_nothing(&names, &nothing.map(signal));
        let (kept, left_out) = chosen([false, true, true]).unwrap();
        assert_eq!((kept, left_out), (vec!["a".to_string()], "b, c".to_string()));
        assert_eq!(chosen([false; 3]), None);
        assert_eq!(chosen([true; 3]), None);
    }
}

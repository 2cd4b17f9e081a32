//! How good settings are where there are no labels, by the models they lead to.
//!
//! | criterion | what | better |
//! |---|---|---|
//! | `seeds` | mean NMI between the clusters of runs with different seeds | more |
//! | `layers` | mean NMI between the clusters of the layers' own embeddings | more |
//! | `views` | NMI between the clusters of the graph and of the same without 30 % of its edges and attributes | more |
//! | `silhouette` | mean silhouette of the clusters, see [`cluster`] | more |
//! | `edges` | share of hidden edges above pairs without one, by cosine | more |
//! | `masks` | mean L_N on masks that never were in training | less |
//!
//! Clusters are those of k-means with one k for all settings that are compared. What a graph loses, and the masks, are
//! the same for all too. All but `seeds` are means over the runs of the settings.

mod edges;
mod masks;
mod ranks;
mod views;

pub use ranks::spearman;

use self::edges::HiddenEdges;
use crate::cluster;
use crate::error::Result;
use crate::eval::scores::nmi;
use crate::graph::MultiplexGraph;
use crate::matrix::Dense;
use crate::model::{Model, mean_of_layers};
use crate::random::{Purpose, Stream};
use crate::settings::choices::choices;
use crate::settings::{Config, Settings};

/// Share of edges and attributes that the other view loses.
const LOST: f64 = 0.3;

choices! {
    /// What settings are compared by.
    Criterion {
        /// Clusters stay the same under another seed.
        Seeds = "seeds",
        /// Layers lead to the same clusters.
        Layers = "layers",
        /// Clusters stay the same on a thinner graph.
        Views = "views",
        /// Clusters are apart.
        Silhouette = "silhouette",
        /// Hidden edges are found.
        Edges = "edges",
        /// The loss is low on unseen masks.
        Masks = "masks",
    }
}

impl Criterion {
    /// The one to go by where none is asked for.
    pub fn default_for(layers: usize) -> Self {
        if layers > 1 { Criterion::Layers } else { Criterion::Views }
    }

    /// The value as a number of which more is better.
    pub fn goodness(self, value: f64) -> f64 {
        if self == Criterion::Masks { -value } else { value }
    }
}

/// What one run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    assignments: Vec<u32>,
    layers: Option<f64>,
    views: f64,
    silhouette: f64,
    edges: Option<f64>,
    masks: f64,
}

/// The same measures for every run on a graph.
#[derive(Debug)]
pub struct Judge<'a> {
    graph: &'a MultiplexGraph,
    like: Settings,
    clusters: usize,
    thinned: MultiplexGraph,
    hidden: HiddenEdges,
}

impl<'a> Judge<'a> {
    /// Clusters are so many, and masks are drawn as this configuration has it.
    pub fn new(graph: &'a MultiplexGraph, like: &Config, clusters: usize) -> Result<Self> {
        let stream = Stream::new(like.settings().seed, Purpose::Judge);
        Ok(Self {
            graph,
            like: like.settings().clone(),
            clusters,
            thinned: views::thinned(graph, LOST, stream.substream(0))?,
            hidden: HiddenEdges::new(graph, stream.substream(1))?,
        })
    }

    /// Measures a run by its model.
    pub fn judge(&self, model: &Model) -> Result<Judged> {
        let layers = model.embed(self.graph)?;
        let each = layers.iter().map(|layer| self.assignments(layer));
        let layers_agree = match layers.len() {
            1 => None,
            _ => agreement(&each.collect::<Result<Vec<_>>>()?),
        };
        let mean = mean_of_layers(&layers);
        let assignments = self.assignments(&mean)?;
        let thinned = self.assignments(&mean_of_layers(&model.embed(&self.thinned)?))?;
        let hidden = mean_of_layers(&model.embed(&self.hidden.graph)?);
        Ok(Judged {
            layers: layers_agree,
            views: nmi(&assignments, &thinned),
            silhouette: cluster::mean_silhouette(&mean, &assignments, self.like.seed),
            edges: self.hidden.score(&hidden),
            masks: masks::unseen_loss(model, self.graph, &self.like)?,
            assignments,
        })
    }

    fn assignments(&self, points: &Dense) -> Result<Vec<u32>> {
        Ok(cluster::cluster(points, self.clusters, self.like.seed)?.assignments)
    }
}

/// The value of a criterion for settings with these runs, where it has one.
pub fn value(criterion: Criterion, runs: &[Judged]) -> Option<f64> {
    let each =
        |of: fn(&Judged) -> Option<f64>| mean(&runs.iter().filter_map(of).collect::<Vec<_>>());
    let value = match criterion {
        Criterion::Seeds => {
            agreement(&runs.iter().map(|run| &run.assignments[..]).collect::<Vec<_>>())
        }
        Criterion::Layers => each(|run| run.layers),
        Criterion::Views => each(|run| Some(run.views)),
        Criterion::Silhouette => each(|run| Some(run.silhouette)),
        Criterion::Edges => each(|run| run.edges),
        Criterion::Masks => each(|run| Some(run.masks)),
    };
    value.filter(|v| v.is_finite())
}

/// The mean NMI of every two clusterings; nothing for one alone.
fn agreement(clusterings: &[impl AsRef<[u32]>]) -> Option<f64> {
    let pairs = clusterings.iter().enumerate().flat_map(|(i, one)| {
        clusterings[i + 1..].iter().map(move |other| nmi(one.as_ref(), other.as_ref()))
    });
    mean(&pairs.collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted::Planted;
    use crate::session::{Limits, Plan, Session};

    #[test]
    fn agreement_is_over_all_pairs() {
        let (a, b) = (vec![0, 0, 1, 1], vec![0, 1, 0, 1]);
        assert_eq!(agreement(&[&a]), None);
        let found = agreement(&[&a, &a, &b]).unwrap();
        assert!((found - 1.0 / 3.0).abs() < 1e-12, "{found}");
    }

    fn model(graph: &MultiplexGraph, epochs: usize, seed: u64) -> Model {
        let mut settings = Settings { max_epochs: epochs, seed, dim: 16, ..Settings::default() };
        settings.set("clusters", "6").unwrap();
        let config = settings.validate(&graph.layer_names()).unwrap();
        let plan = Plan::of(graph, config, Limits::default());
        let mut session = Session::start(&plan, ()).unwrap();
        while session.next().unwrap().is_some() {}
        session.finish().unwrap().model
    }

    #[test]
    fn every_criterion_prefers_training_to_none() {
        let graph = Planted { nodes: 240, attributes: 120, noise: 0.2, ..Planted::default() };
        let graph = graph.generate().unwrap();
        let judge = Judge::new(&graph, model(&graph, 1, 0).config(), 6).unwrap();
        let runs =
            |epochs: usize| [0, 1].map(|seed| judge.judge(&model(&graph, epochs, seed)).unwrap());
        let (little, much) = (runs(1), runs(60));
        assert_eq!(much, runs(60));
        for criterion in Criterion::ALL {
            let good = |runs: &[Judged]| criterion.goodness(value(*criterion, runs).unwrap());
            let (little, much) = (good(&little), good(&much));
            assert!(much > little, "{}: {little} and {much}", criterion.as_str());
        }
        assert_eq!(value(Criterion::Seeds, &much[..1]), None);
    }

    #[test]
    fn one_layer_has_nothing_to_agree_with() {
        let graph = Planted { nodes: 60, attributes: 24, layers: 1, ..Planted::default() };
        let graph = graph.generate().unwrap();
        let model = model(&graph, 3, 0);
        let judged = Judge::new(&graph, model.config(), 3).unwrap().judge(&model).unwrap();
        assert_eq!(value(Criterion::Layers, std::slice::from_ref(&judged)), None);
        assert!(value(Criterion::default_for(1), &[judged]).is_some());
    }
}

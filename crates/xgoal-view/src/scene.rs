//! Everything there is to see of a run, computed once for the report and the pictures.

use crate::clusters::{Attributes, Cluster, describe};
use crate::column::Column;
use crate::project::{Method, Point, Tsne, pca};
use xgoal::cluster;
use xgoal::error::Result;
use xgoal::matrix::Dense;
use xgoal::similar::{Index, Neighbor};

/// Nodes up to which small panels show all of them; of more, a sample.
pub const PANEL_NODES: usize = 4000;
/// Most clusters that are tried where their number is not given, as `xgoal cluster` does.
const MOST_CLUSTERS: usize = 20;
/// Nodes whose nearest ones are found between two words of progress.
const STRIDE: usize = 4096;

/// What a scene is made from.
#[derive(Debug)]
pub struct Input<'a> {
    /// A row per node.
    pub embeddings: Dense,
    /// The layers' names.
    pub layers: Vec<String>,
    /// Embeddings by stage of training, one matrix per layer: before and after the joint stage, or
    /// after alone, or none where the source was not given.
    pub stages: Vec<Stage>,
    /// What is known about the nodes.
    pub columns: Vec<Column>,
    /// The nodes' attributes, where the source was given.
    pub attributes: Option<Attributes<'a>>,
}

/// The layers' embeddings at some time.
#[derive(Debug)]
pub struct Stage {
    /// When.
    pub name: String,
    /// One matrix per layer.
    pub layers: Vec<Dense>,
    /// The mean over them that the model gives.
    pub combined: Dense,
}

/// How a scene is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How nodes are laid out.
    pub method: Method,
    /// t-SNE's perplexity.
    pub perplexity: f64,
    /// Clusters; chosen by the silhouette where not given.
    pub clusters: Option<usize>,
    /// Nearest nodes kept of each.
    pub neighbours: usize,
    /// Seed of the layout and of the clusters.
    pub seed: u64,
}

/// A run, ready to be drawn.
#[derive(Debug)]
pub struct Scene {
    /// How nodes were laid out.
    pub method: Method,
    /// A place per node.
    pub map: Vec<Point>,
    /// Colours and what is shown of a node; the clusters are among them.
    pub columns: Vec<Column>,
    /// The nearest nodes of each.
    pub neighbours: Vec<Vec<Neighbor>>,
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// The nodes that the panels show.
    pub sample: Vec<u32>,
    /// One panel per stage and layer, and one for the layers' mean.
    pub panels: Vec<Panel>,
}

/// A small map.
#[derive(Debug)]
pub struct Panel {
    /// The layer, or "combined".
    pub title: String,
    /// When in training.
    pub stage: String,
    /// A place per node of the sample.
    pub points: Vec<Point>,
}

/// Hears what is being done and the share of it that is.
pub type Progress<'a> = dyn FnMut(&str, f64) + 'a;

impl Scene {
    /// Computes everything.
    pub fn new(input: Input<'_>, options: &Options, progress: &mut Progress<'_>) -> Result<Self> {
        let Input { embeddings, layers, stages, mut columns, attributes } = input;
        let layout = Layout {
            options,
            tsne: Tsne { perplexity: options.perplexity, seed: options.seed, ..Tsne::default() },
        };
        let n = embeddings.rows();
        let mut neighbours = layout.nearest(&embeddings, "nearest nodes", progress)?;
        let map = layout.place(&embeddings, &neighbours, None, "map", progress);
        neighbours.iter_mut().for_each(|near| {
            near.truncate(options.neighbours);
            near.shrink_to_fit();
        });

        progress("clusters", 0.0);
        let (assignments, count) = assign(&embeddings, options)?;
        let clusters = describe(&embeddings, &assignments, attributes.as_ref());
        let names = (0..count).map(|c| format!("cluster {c}")).collect();
        let codes = assignments.iter().map(|c| Some(*c)).collect();
        let place = columns.iter().take_while(|c| c.name == "class").count();
        columns.insert(place, Column::categories("cluster", names, codes));

        let sample: Vec<u32> = match n <= PANEL_NODES {
            true => (0..n as u32).collect(),
            // One out of each run of nodes that follow each other.
            false => (0..PANEL_NODES).map(|i| (i * n / PANEL_NODES) as u32).collect(),
        };
        let guide: Vec<Point> = sample.iter().map(|i| map[*i as usize]).collect();
        let mut panels = Vec::new();
        for (at, stage) in stages.iter().enumerate() {
            let last = at + 1 == stages.len();
            let combined = (stage.layers.len() > 1).then_some(&stage.combined);
            let titles = layers.iter().cloned().chain(["combined".to_string()]);
            for (title, points) in titles.zip(stage.layers.iter().chain(combined)) {
                // The last mean is the map itself, with all its nodes.
                let points = match last && title == "combined" && n <= PANEL_NODES {
                    true => map.clone(),
                    false => {
                        let points = points.select_rows(&sample);
                        let what = format!("{title}, {}", stage.name);
                        let near = layout.nearest(&points, &what, progress)?;
                        layout.place(&points, &near, Some(&guide), &what, progress)
                    }
                };
                panels.push(Panel { title, stage: stage.name.clone(), points });
            }
        }
        Ok(Self { method: options.method, map, columns, neighbours, clusters, sample, panels })
    }
}

struct Layout<'a> {
    options: &'a Options,
    tsne: Tsne,
}

impl Layout<'_> {
    fn nearest(
        &self,
        points: &Dense,
        what: &str,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Vec<Neighbor>>> {
        let n = points.rows();
        let index = Index::new(points.into())?;
        let wanted = match self.options.method {
            Method::Tsne => self.tsne.neighbours(n).max(self.options.neighbours),
            Method::Pca => self.options.neighbours,
        };
        let nodes: Vec<u32> = (0..n as u32).collect();
        let mut found = Vec::with_capacity(n);
        for some in nodes.chunks(STRIDE) {
            progress(what, found.len() as f64 / n as f64);
            found.extend(index.nearest(some, wanted)?);
        }
        Ok(found)
    }

    fn place(
        &self,
        points: &Dense,
        nearest: &[Vec<Neighbor>],
        guide: Option<&[Point]>,
        what: &str,
        progress: &mut Progress<'_>,
    ) -> Vec<Point> {
        match self.options.method {
            Method::Tsne => {
                let near = self.tsne.neighbours(points.rows());
                let nearest: Vec<&[Neighbor]> =
                    nearest.iter().map(|n| &n[..near.min(n.len())]).collect();
                self.tsne.fit(points, &nearest, guide, |share| progress(what, share))
            }
            Method::Pca => pca(points),
        }
    }
}

/// A cluster per node, and how many there are: as many as asked for, or by the best silhouette.
fn assign(points: &Dense, options: &Options) -> Result<(Vec<u32>, usize)> {
    let k = match options.clusters {
        Some(k) => k,
        // Fewer points cannot be told into clusters.
        None if points.rows() < 3 => 1,
        None => {
            let candidates = cluster::candidates(points, MOST_CLUSTERS, options.seed)?;
            cluster::best(&candidates).map_or(1, |best| best.k)
        }
    };
    Ok((cluster::cluster(points, k, options.seed)?.assignments, k))
}

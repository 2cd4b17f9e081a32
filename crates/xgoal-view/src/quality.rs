//! Scores, and beside them what the paper reports for its own data sets.

use xgoal::eval::Report;
use xgoal::eval::baselines::Comparison;
use xgoal::graph::MultiplexGraph;

/// A data set of the paper: how it is told, and X-GOAL's Macro-F1, Micro-F1, NMI and Sim@5 on it.
struct Published {
    name: &'static str,
    nodes: usize,
    attributes: usize,
    classes: usize,
    scores: [f64; 4],
}

const PAPER: [Published; 4] = [
    Published {
        name: "ACM",
        nodes: 3025,
        attributes: 1870,
        classes: 3,
        scores: [0.922, 0.921, 0.773, 0.924],
    },
    Published {
        name: "IMDB",
        nodes: 3550,
        attributes: 1007,
        classes: 3,
        scores: [0.661, 0.663, 0.221, 0.613],
    },
    Published {
        name: "DBLP",
        nodes: 7907,
        attributes: 2000,
        classes: 4,
        scores: [0.830, 0.819, 0.615, 0.809],
    },
    Published {
        name: "Amazon",
        nodes: 7621,
        attributes: 2000,
        classes: 4,
        scores: [0.858, 0.857, 0.556, 0.907],
    },
];

/// Scores to be shown.
#[derive(Debug, Clone)]
pub struct Quality {
    /// The paper's data set, if it is one.
    pub dataset: Option<String>,
    /// One line per score.
    pub rows: Vec<Row>,
    /// The run beside what takes no training.
    pub compared: Option<Comparison>,
}

/// One score.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// Its mean over runs.
    pub mean: f64,
    /// Its standard deviation over runs, where there were several.
    pub std: Option<f64>,
    /// X-GOAL's in the paper.
    pub paper: Option<f64>,
}

impl Quality {
    /// Puts scores beside the paper's, where the graph has the size of one of its own data sets.
    pub fn new(report: &Report, graph: &MultiplexGraph) -> Self {
        let classes = graph.labels().map_or(0, |l| l.names.len());
        let size = (graph.nodes(), graph.attributes().cols(), classes);
        let published = PAPER.iter().find(|p| (p.nodes, p.attributes, p.classes) == size);
        let paper = |at: usize| published.map(|p| p.scores[at]);
        let row = |name: &str, mean: f64, std: Option<f64>, paper: Option<f64>| Row {
            name: name.into(),
            mean,
            std,
            paper,
        };
        let mut rows = vec![
            row("Macro-F1", report.macro_f1.mean, Some(report.macro_f1.std), paper(0)),
            row("Micro-F1", report.micro_f1.mean, Some(report.micro_f1.std), paper(1)),
            row("NMI", report.nmi.mean, Some(report.nmi.std), paper(2)),
            row("ARI", report.ari.mean, Some(report.ari.std), None),
        ];
        rows.extend(report.sim.iter().map(|(k, value)| {
            row(&format!("Sim@{k}"), *value, None, if *k == 5 { paper(3) } else { None })
        }));
        Self { dataset: published.map(|p| p.name.to_string()), rows, compared: None }
    }
}

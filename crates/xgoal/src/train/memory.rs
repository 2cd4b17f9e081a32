//! How much memory training takes, before it starts.

use crate::engine::cpu::{before, finding_structure};
use crate::engine::{Backend, Footprint};
use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::machine::{self, Available, format_bytes};
use crate::settings::Settings;

/// Bytes that training needs at its peak; the sum is written out in `docs/performance.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// The largest sum over time.
    pub bytes: u64,
    /// What it is made of.
    pub parts: Footprint,
    /// Powers of two below `dim`, the largest first, and the sum with each of them.
    smaller: Vec<(usize, u64)>,
}

impl MemoryEstimate {
    /// What training a graph with the given settings will take.
    pub fn of(backend: &dyn Backend, graph: &MultiplexGraph, settings: &Settings) -> Self {
        let smaller = (3..16).rev().map(|power| 1 << power).filter(|dim| *dim < settings.dim);
        let dims: Vec<usize> = std::iter::once(settings.dim).chain(smaller).collect();
        let footprints = backend.footprints(graph, settings, &dims);
        let mut sums = dims.into_iter().zip(footprints.iter().map(Footprint::sum));
        let bytes = sums.next().map_or(0, |(_, bytes)| bytes);
        Self { bytes, parts: footprints[0], smaller: sums.collect() }
    }

    /// Refuses to look at a graph for settings that are `auto` where that does not fit, by the same limit as training.
    pub fn check_look(
        graph: &MultiplexGraph,
        settings: &Settings,
        limit: Option<u64>,
    ) -> Result<()> {
        if !settings.looks_at_graph() {
            return Ok(());
        }
        let needed = before(graph) + graph.rise_bytes();
        match free(limit) {
            Some(available) if needed > available.bytes => Err(Error::Memory {
                job: "looking at the graph for what is `auto`",
                sum: String::new(),
                needed,
                available: available.bytes,
                bound: available.bound,
                advice: "give `layers`, `encoder` and `start`, or use fewer \
                         attributes or a larger machine"
                    .into(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses to find structure where that does not fit, by the same limit as training; says what it takes.
    pub(crate) fn check_structure(
        graph: &MultiplexGraph,
        columns: usize,
        limit: Option<u64>,
    ) -> Result<u64> {
        let needed = finding_structure(graph, columns);
        match free(limit) {
            Some(available) if needed > available.bytes => Err(Error::Memory {
                job: "finding structure",
                sum: String::new(),
                needed,
                available: available.bytes,
                bound: available.bound,
                advice:
                    "give `structure` fewer columns, or 0 to do without, or use a larger machine"
                        .into(),
            }),
            _ => Ok(needed),
        }
    }

    /// Refuses a training that does not fit into `limit` bytes, or without one into what the machine has.
    pub fn check(&self, limit: Option<u64>) -> Result<()> {
        match free(limit) {
            Some(available) if self.bytes > available.bytes => Err(self.refusal(available)),
            _ => Ok(()),
        }
    }

    /// How many such trainings fit at a time, as processes beside this one, into `limit` bytes or without one into what
    /// the machine has. Where it is none, that is the error.
    pub fn processes(&self, limit: Option<u64>) -> Result<usize> {
        let held = machine::rss_bytes().unwrap_or(0);
        let left = |limit: u64| Available {
            bytes: limit.saturating_sub(held),
            bound: "are left by the memory limit beside the graph that the search itself holds",
        };
        match limit.map(left).or_else(machine::available) {
            None => Ok(usize::MAX),
            Some(available) => match available.bytes / self.bytes.max(1) {
                0 => Err(self.refusal(available)),
                count => Ok(count as usize),
            },
        }
    }

    fn refusal(&self, available: Available) -> Error {
        let parts = self.parts.parts();
        let sum: Vec<String> = (parts.iter().filter(|(_, bytes)| *bytes > 0))
            .map(|(name, bytes)| format!("{name} {}", format_bytes(*bytes)))
            .collect();
        Error::Memory {
            job: "training",
            sum: format!(" ({})", sum.join(", ")),
            needed: self.bytes,
            available: available.bytes,
            bound: available.bound,
            advice: match self.dim_within(available.bytes) {
                Some(dim) => {
                    format!("dim = {dim} would fit; or use fewer layers or a larger machine")
                }
                None => "use fewer layers, fewer attributes or a larger machine".into(),
            },
        }
    }

    /// The largest power of two, and at least 8, with which it takes no more than so many bytes.
    fn dim_within(&self, bytes: u64) -> Option<usize> {
        self.smaller.iter().find(|(_, sum)| *sum <= bytes).map(|(dim, _)| *dim)
    }
}

/// What there is for a job of this process. The graph is in memory already and part of the job's sum, so what the process
/// holds counts as free.
fn free(limit: Option<u64>) -> Option<Available> {
    let held = machine::rss_bytes().unwrap_or(0);
    match limit {
        Some(bytes) => Some(Available { bytes, bound: "are allowed by the memory limit" }),
        None => {
            machine::available().map(|a| Available { bytes: a.bytes.saturating_add(held), ..a })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::DEFAULT;
    use crate::graph::Layer;
    use crate::graph::planted::Planted;
    use crate::matrix::{Csr, Dense, Matrix};

    /// One layer that is kept as bits, and what looks at attributes first.
    #[test]
    fn what_is_said_to_fit_does_where_the_beginning_takes_the_most() {
        let nodes = 640;
        let all = (0..nodes).flat_map(|n| (0..nodes).map(move |m| (n, m, 1.0)));
        let adjacency = Csr::from_triplets(640, 640, all.collect()).unwrap();
        let values = (0..640 * 30).map(|i| (i % 7) as f32).collect();
        let attributes = Matrix::Dense(Dense::from_vec(640, 30, values).unwrap());
        let layers = vec![Layer { name: "all".into(), adjacency }];
        let graph = MultiplexGraph::new(layers, attributes).unwrap();
        let of = |dim: usize| {
            let mut settings = Settings { dim, ..Settings::default() };
            settings.set("start", "principal").unwrap();
            MemoryEstimate::of(DEFAULT, &graph, &settings)
        };
        let whole = of(128);
        let plain = MemoryEstimate::of(DEFAULT, &graph, &Settings::default());
        assert!(whole.bytes > plain.bytes + 1_000_000, "{whole:?}");
        let message = whole.check(Some(whole.bytes - 1)).unwrap_err().to_string();
        assert!(message.contains("directions of the attributes"), "{message}");
        // Advice is given where fewer dimensions do take less, for all that sixteen bytes an edge stay.
        assert_eq!(message.contains("would fit"), of(8).bytes < whole.bytes, "{message}");
        for limit in (0..whole.bytes).step_by(whole.bytes as usize / 50) {
            if let Some(dim) = whole.dim_within(limit) {
                of(dim).check(Some(limit)).unwrap();
            }
        }
    }

    #[test]
    fn a_look_that_does_not_fit_is_refused_and_none_is_not() {
        let graph = Planted { nodes: 2000, attributes: 100, ..Planted::default() }.generate();
        let graph = graph.unwrap();
        let open = Settings::default();
        MemoryEstimate::check_look(&graph, &open, Some(u64::MAX)).unwrap();
        let message = MemoryEstimate::check_look(&graph, &open, Some(1000)).unwrap_err();
        assert!(message.to_string().starts_with("looking at the graph"), "{message}");
        let mut given = open;
        for (key, value) in [("layers", "layer0,layer1"), ("encoder", "gcn"), ("start", "random")] {
            given.set(key, value).unwrap();
        }
        MemoryEstimate::check_look(&graph, &given, Some(1000)).unwrap();
    }

    fn estimate(dim: usize) -> MemoryEstimate {
        let graph = Planted { nodes: 2000, attributes: 100, ..Planted::default() }.generate();
        MemoryEstimate::of(DEFAULT, &graph.unwrap(), &Settings { dim, ..Settings::default() })
    }

    #[test]
    fn a_refusal_says_the_sum_and_what_would_fit() {
        let whole = estimate(1024);
        assert_eq!(whole.bytes, whole.parts.parts().iter().map(|p| p.1).sum::<u64>());
        whole.check(Some(whole.bytes)).unwrap();
        let message = whole.check(Some(whole.bytes / 2)).unwrap_err().to_string();
        for part in ["(program 10 MB, graph ", "weights ", "memory limit; dim = 256 would fit"] {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
        // What is said to fit does.
        estimate(256).check(Some(whole.bytes / 2)).unwrap();
        // This process itself holds some of a limit.
        let many = whole.processes(Some(20 * whole.bytes)).unwrap();
        assert!((1..=20).contains(&many), "{many}");
        let message = whole.processes(Some(1000)).unwrap_err().to_string();
        assert!(message.contains("left by the memory limit"), "{message}");
        let message = whole.check(Some(1000)).unwrap_err().to_string();
        assert!(message.contains("use fewer layers, fewer attributes"), "{message}");
    }
}

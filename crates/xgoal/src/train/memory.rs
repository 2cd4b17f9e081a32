//! How much memory training takes, before it starts.

use crate::engine::cpu::Footprint;
use crate::error::{Error, Result};
use crate::graph::MultiplexGraph;
use crate::machine::{self, Available, format_bytes};
use crate::settings::Settings;

/// Bytes that training needs at its peak; the sum is written out in `docs/performance.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// The largest sum over time.
    pub bytes: u64,
    /// What it is made of.
    pub parts: Footprint,
    dim: usize,
}

impl MemoryEstimate {
    /// What training a graph with the given settings will take.
    pub fn of(graph: &MultiplexGraph, settings: &Settings) -> Self {
        let parts = Footprint::of(graph, settings);
        Self { bytes: parts.sum(), parts, dim: settings.dim }
    }

    /// Refuses a training that does not fit into `limit` bytes, or without one into what the machine has.
    ///
    /// The graph is in memory already and part of the sum, so what this process holds counts as free.
    pub fn check(&self, limit: Option<u64>) -> Result<()> {
        let held = machine::rss_bytes().unwrap_or(0);
        let free = |a: Available| Available { bytes: a.bytes.saturating_add(held), ..a };
        let available = match limit {
            Some(bytes) => Some(Available { bytes, bound: "are allowed by the memory limit" }),
            None => machine::available().map(free),
        };
        match available {
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
        let sum: Vec<String> =
            parts.iter().map(|(name, bytes)| format!("{name} {}", format_bytes(*bytes))).collect();
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

    /// The largest power of two, and at least 8, that brings the sum below so many bytes.
    fn dim_within(&self, bytes: u64) -> Option<usize> {
        let growing = self.parts.growing_with_dim();
        let slope = growing as f64 / self.dim as f64;
        let fixed = (self.bytes - growing) as f64;
        let dims = (3..16).rev().map(|power| 1usize << power);
        dims.filter(|dim| *dim < self.dim).find(|dim| fixed + slope * *dim as f64 <= bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted::Planted;

    fn estimate(dim: usize) -> MemoryEstimate {
        let graph = Planted { nodes: 2000, attributes: 100, ..Planted::default() }.generate();
        MemoryEstimate::of(&graph.unwrap(), &Settings { dim, ..Settings::default() })
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

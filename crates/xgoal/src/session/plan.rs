//! What a training will do, found out before it starts.

use crate::engine::Engine;
use crate::engine::backend::{self, Backend};
use crate::error::Result;
use crate::graph::{MultiplexGraph, Signal};
use crate::machine::format_bytes;
use crate::settings::{Batch, Config, Decision, Settings, Start, When};
use crate::train::MemoryEstimate;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Where a training may run, and how much it may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What computes.
    pub backend: &'static dyn Backend,
    /// Bytes of memory; what the machine has where there is no number.
    pub memory: Option<u64>,
}

impl Default for Limits {
    /// This machine, and all it has.
    fn default() -> Self {
        Self { backend: backend::DEFAULT, memory: None }
    }
}

/// A training that can be started: resolved settings, and a graph with the layers that are to be trained.
#[derive(Debug)]
pub struct Plan<'a> {
    graph: Cow<'a, MultiplexGraph>,
    config: Config,
    limits: Limits,
    memory: OnceLock<MemoryEstimate>,
    /// Bytes that finding structure took, where it was found for this plan.
    before: u64,
    signals: OnceLock<Vec<Signal>>,
}

impl From<MultiplexGraph> for Cow<'_, MultiplexGraph> {
    fn from(graph: MultiplexGraph) -> Self {
        Cow::Owned(graph)
    }
}

impl<'a> From<&'a MultiplexGraph> for Cow<'a, MultiplexGraph> {
    fn from(graph: &'a MultiplexGraph) -> Self {
        Cow::Borrowed(graph)
    }
}

/// Plans a training: looks at the graph for what is `auto`, selects its layers and checks every setting. What would not
/// fit into memory is refused.
pub fn plan<'a>(
    graph: impl Into<Cow<'a, MultiplexGraph>>,
    settings: Settings,
    limits: Limits,
) -> Result<Plan<'a>> {
    let plan = Plan::look(graph, settings, limits)?;
    plan.check()?;
    Ok(plan)
}

impl<'a> Plan<'a> {
    /// Plans without asking whether the training itself would fit into memory, which [`Plan::check`] does.
    pub fn look(
        graph: impl Into<Cow<'a, MultiplexGraph>>,
        mut settings: Settings,
        limits: Limits,
    ) -> Result<Self> {
        let mut graph: Cow<'a, MultiplexGraph> = graph.into();
        let called = settings.call_layers(&graph.layer_names());
        if let Some(names) = settings.layers.as_ref().filter(|names| **names != graph.layer_names())
        {
            graph = Cow::Owned(graph.into_owned().select_layers(names)?);
        }
        MemoryEstimate::check_look(&graph, &settings, limits.memory)?;
        let asked = Asked::of(&settings);
        let config = settings.fit(&graph)?;
        let config = called.into_iter().fold(config, Config::decided);
        let names = config.layer_names();
        let graph = match graph.layer_names() == names {
            true => graph,
            false => Cow::Owned(graph.into_owned().select_layers(&names)?),
        };
        let (config, graph, before) = structured(config, graph.into_owned(), asked, limits.memory)?;
        Ok(Self { before, ..Self::of(graph, config, limits) })
    }

    /// A graph as it is configured, without a look at it.
    pub fn of(graph: impl Into<Cow<'a, MultiplexGraph>>, config: Config, limits: Limits) -> Self {
        let (memory, signals) = (OnceLock::new(), OnceLock::new());
        Self { graph: graph.into(), config, limits, memory, before: 0, signals }
    }

    /// The same graph and layers by other settings; the graph is looked at once for all of them.
    pub fn alike(&self, settings: Settings) -> Result<Plan<'_>> {
        let settings = Settings { layers: Some(self.config.layer_names()), ..settings };
        let signals = || self.signals.get_or_init(|| self.graph.signals()).clone();
        let own = self.config.settings();
        let asked = Asked {
            structure: settings.structure.or(own.structure),
            weight: settings.structure_weight.or(own.structure_weight),
            ..Asked::of(&settings)
        };
        let config = settings.fit_by(&self.graph, signals)?;
        let limit = self.limits.memory;
        let (config, graph, before) = structured(config, self.graph().clone(), asked, limit)?;
        Ok(Plan { before, ..Plan::of(graph, config, self.limits) })
    }

    /// The same graph by another configuration of its layers.
    pub fn with(&self, config: Config) -> Plan<'_> {
        Plan::of(self.graph(), config, self.limits)
    }

    /// Refuses what would not fit into memory.
    pub fn check(&self) -> Result<()> {
        self.memory().check(self.limits.memory)
    }

    /// The graph with the layers that are to be trained.
    pub fn graph(&self) -> &MultiplexGraph {
        &self.graph
    }

    /// The settings as they are resolved so far.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What was decided where settings are `auto`.
    pub fn decisions(&self) -> &[Decision] {
        self.config.decisions()
    }

    /// The most bytes that planning or training takes.
    pub fn peak_bytes(&self) -> u64 {
        self.memory().bytes.max(self.before)
    }

    /// What the training takes; planning is over then.
    pub fn memory(&self) -> &MemoryEstimate {
        let of = || MemoryEstimate::of(self.limits.backend, &self.graph, self.config.settings());
        self.memory.get_or_init(of)
    }

    /// An engine at the beginning of the training.
    pub fn engine(&self) -> Result<Box<dyn Engine>> {
        self.limits.backend.engine(&self.config, &self.graph, None)
    }
}

/// Columns of structure where no number is asked for.
const COLUMNS: usize = 128;

/// What was asked for of what follows from structure.
#[derive(Clone, Copy)]
struct Asked {
    structure: Option<usize>,
    weight: Option<f64>,
    batch: Option<Batch>,
    cluster_every: Option<usize>,
    start: Option<Start>,
}

impl Asked {
    fn of(settings: &Settings) -> Self {
        Self {
            structure: settings.structure,
            weight: settings.structure_weight,
            batch: settings.batch,
            cluster_every: settings.cluster_every,
            start: settings.start,
        }
    }

    /// With so much structure. What it and attributes say is kept from the start, and noise of batches keeps training from
    /// leaving it.
    fn with(&self, config: Config, columns: usize, weight: f64) -> Config {
        let mut settings = config.with_structure(columns, weight);
        if columns > 0 && weight > 0.0 {
            settings.follow_structure(
                self.batch.is_none(),
                self.cluster_every.is_none(),
                self.start.is_none(),
            );
        }
        settings
    }
}

/// Settings and graph with as much structure beside the attributes as is asked for, or pays, and the bytes that finding it took.
fn structured(
    config: Config,
    graph: MultiplexGraph,
    asked: Asked,
    limit: Option<u64>,
) -> Result<(Config, MultiplexGraph, u64)> {
    let (columns, weight) = (asked.structure, asked.weight);
    let wanted = columns.unwrap_or(COLUMNS);
    if wanted == 0 || weight == Some(0.0) {
        return Ok((config.with_structure(0, 1.0), graph.without_structure(), 0));
    }
    let (graph, bytes) = match graph.structure() {
        Some(structure) if structure.cols() == wanted => (graph, 0),
        _ => {
            let bytes = MemoryEstimate::check_structure(&graph, wanted, limit)?;
            let structure = graph.find_structure(wanted)?;
            (graph.with_structure(Arc::new(structure))?, bytes)
        }
    };
    if let Some(weight) = weight {
        return Ok((asked.with(config, wanted, weight), graph, bytes));
    }
    let structure = graph.structure().expect("just put there");
    let found = graph.share_of(structure, &config.preprocessing());
    let [without, with] = found.likeness;
    if found.share == 0.0 && columns.is_none() {
        let why = format!(
            "0, because nearest nodes are no more alike with it in attributes that were held out (likeness {without:.2})"
        );
        let config = config.with_structure(0, 1.0);
        let decision = Decision::new(When::Start, "structure", 0, why);
        return Ok((config.decided(decision), graph.without_structure(), bytes));
    }
    // To four digits, as it is written.
    let weight = (1e4 * found.weight).round() / 1e4;
    let share = found.share;
    let why = match with < SAYS_NOTHING {
        true => {
            format!("{weight}, as far as attributes vary, because these say nothing of each other")
        }
        false => format!(
            "{weight}, {share} of how far attributes vary, because nearest nodes are more alike so in attributes that were held \
             out (likeness {with:.2}, {without:.2} without)"
        ),
    };
    let kept = format_bytes(4 * (structure.values().len() + 2 * graph.nodes()) as u64);
    let why = format!("{why}; the model keeps {wanted} numbers a node for it ({kept})");
    let decision = Decision::new(When::Start, "structure_weight", weight, why);
    Ok((asked.with(config, wanted, weight).decided(decision), graph, bytes))
}

/// Less likeness than this cannot judge.
const SAYS_NOTHING: f64 = 0.05;

//! `[[layers]]`: a matrix, a table of edges, or a meta-path.

use super::{OnUnknown, Parsed, file, on_unknown, optional_file};
use crate::graph::metapath::{Hubs, PathValues};
use crate::io::manifest::section::Section;
use std::path::{Path, PathBuf};

/// One relation.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct LayerSpec {
    pub name: String,
    pub line: usize,
    pub source: LayerSource,
}

/// Where a layer comes from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) enum LayerSource {
    Matrix(PathBuf),
    Edges(EdgeSpec),
    Path(PathSpec),
}

/// A table with a row per edge.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct EdgeSpec {
    pub file: PathBuf,
    pub source: String,
    pub target: String,
    pub weight: Option<String>,
    pub symmetric: bool,
    pub duplicates: Duplicates,
    pub on_unknown: OnUnknown,
}

/// What several rows for one edge become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io::manifest) enum Duplicates {
    /// An edge of the sum of their weights.
    Sum,
    /// An edge of the largest of their weights.
    Join,
}

/// Relations that are followed one after another.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct PathSpec {
    pub steps: Vec<StepSpec>,
    /// Whether the path goes back the way it came.
    pub back: bool,
    pub values: PathValues,
    pub cap: Option<usize>,
    pub hubs: Hubs,
    pub seed: u64,
    pub self_loops: bool,
    pub symmetric: bool,
    pub on_unknown: OnUnknown,
}

/// One table of a path.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct StepSpec {
    pub file: PathBuf,
    pub from: String,
    pub to: String,
    pub weight: Option<String>,
}

impl LayerSpec {
    pub(super) fn parse(mut section: Section<'_>, unknown: OnUnknown) -> Parsed<Self> {
        let line = section.line();
        let name = section.required("name", "cites")?;
        if name.is_empty() || name.contains(',') {
            return Err(section.wrong(&format!(
                "`name` is `{name}`; expected a name without commas, as --layers lists names"
            )));
        }
        let matrix = optional_file(&mut section, "matrix")?;
        let edges = optional_file(&mut section, "edges")?;
        let steps = section.tables("path")?;
        let kinds = ["matrix", "edges", "path"];
        let source = match (matrix, edges, steps.is_empty()) {
            (Some(file), None, true) => LayerSource::Matrix(file),
            (None, Some(file), true) => {
                section.forget(&kinds);
                LayerSource::Edges(EdgeSpec::parse(&mut section, file, unknown)?)
            }
            (None, None, false) => {
                section.forget(&kinds);
                LayerSource::Path(PathSpec::parse(&mut section, steps, unknown)?)
            }
            _ => {
                return Err(section.wrong("expected one of matrix, edges, path"));
            }
        };
        section.close()?;
        Ok(Self { name, line, source })
    }
}

impl LayerSpec {
    /// Every file it is read from.
    pub(super) fn files(&self) -> Vec<&Path> {
        match &self.source {
            LayerSource::Matrix(file) => vec![file],
            LayerSource::Edges(edges) => vec![&edges.file],
            LayerSource::Path(path) => path.steps.iter().map(|s| s.file.as_path()).collect(),
        }
    }
}

impl EdgeSpec {
    fn parse(section: &mut Section<'_>, file: PathBuf, unknown: OnUnknown) -> Parsed<Self> {
        let source = section.required("source", "from")?;
        let target = section.required("target", "to")?;
        let weight = section.string("weight")?;
        let choices = [("sum", Duplicates::Sum), ("join", Duplicates::Join)];
        let duplicates = section.choice("duplicates", &choices)?;
        // Rows without weights say that there is an edge, and saying so twice says no more.
        let usual = if weight.is_some() { Duplicates::Sum } else { Duplicates::Join };
        Ok(Self {
            file,
            source,
            target,
            weight,
            symmetric: section.flag("symmetric")?.unwrap_or(true),
            duplicates: duplicates.unwrap_or(usual),
            on_unknown: on_unknown(section, unknown)?,
        })
    }
}

impl PathSpec {
    fn parse(
        section: &mut Section<'_>,
        steps: Vec<Section<'_>>,
        unknown: OnUnknown,
    ) -> Parsed<Self> {
        let steps = steps.into_iter().map(StepSpec::parse).collect::<Parsed<_>>()?;
        let values = [("binary", PathValues::Binary), ("paths", PathValues::Paths)];
        let hubs = [("sample", Hubs::Sample), ("drop", Hubs::Drop)];
        let back = section.flag("back")?.unwrap_or(true);
        Ok(Self {
            steps,
            back,
            values: section.choice("values", &values)?.unwrap_or_default(),
            cap: section.count("hub_cap", 1)?.map(|cap| cap as usize),
            hubs: section.choice("hubs", &hubs)?.unwrap_or_default(),
            seed: section.count("seed", 0)?.unwrap_or(0),
            self_loops: section.flag("self_loops")?.unwrap_or(true),
            // What goes back the way it came is symmetric anyway.
            symmetric: !back && section.flag("symmetric")?.unwrap_or(true),
            on_unknown: on_unknown(section, unknown)?,
        })
    }
}

impl StepSpec {
    fn parse(mut section: Section<'_>) -> Parsed<Self> {
        let step = Self {
            file: file(&mut section, "file", "wrote.csv")?,
            from: section.required("from", "paper")?,
            to: section.required("to", "author")?,
            weight: section.string("weight")?,
        };
        section.close()?;
        Ok(step)
    }
}

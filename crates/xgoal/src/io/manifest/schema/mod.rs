//! The manifest's text, as what it says.

pub(super) mod features;
pub(super) mod labels;
pub(super) mod layers;

use super::section::{Section, line_of, wrong};
use crate::error::ParseError;
use features::FeatureSpec;
use labels::{LabelSpec, SplitSpec};
use layers::LayerSpec;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use toml::de::DeTable;

type Parsed<T> = Result<T, ParseError>;

/// What a `graph.toml` says; files are relative to it and not looked at yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manifest {
    /// Without it, nodes are what the layers name.
    pub nodes: Option<NodeSpec>,
    pub features: Vec<FeatureSpec>,
    pub layers: Vec<LayerSpec>,
    pub labels: Option<LabelSpec>,
    pub splits: Option<SplitSpec>,
}

/// The node table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeSpec {
    pub file: PathBuf,
    pub id: String,
}

/// What becomes of a row that names a node which is not in the node table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnUnknown {
    Error,
    Skip,
    Add,
}

impl OnUnknown {
    /// Attributes and labels of a node that is nowhere else are of no use.
    pub(super) fn without_add(self) -> Self {
        if self == Self::Add { Self::Skip } else { self }
    }
}

/// A table with the column of its ids; without one, columns are the node table's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TableSpec {
    pub file: PathBuf,
    pub id: String,
    pub on_unknown: OnUnknown,
}

impl Manifest {
    pub(super) fn parse(text: &str) -> Parsed<Self> {
        let table = DeTable::parse(text).map_err(|e| {
            let line = e.span().map_or(1, |span| line_of(text, span.start));
            wrong(line, &format!("not valid TOML: {}", e.message()))
        })?;
        let mut document = Section::document(text, &table);
        let nodes = document.table("nodes")?;
        let features = document.tables("features")?;
        let layers = document.tables("layers")?;
        let labels = document.table("labels")?;
        let splits = document.table("splits")?;
        document.close()?;

        let (nodes, unknown) = nodes.map(NodeSpec::parse).transpose()?.unzip();
        let unknown = unknown.unwrap_or(OnUnknown::Add);
        if layers.is_empty() {
            return Err(wrong(1, "no [[layers]]; expected at least one"));
        }
        let manifest = Self {
            features: FeatureSpec::parse_all(features, unknown)?,
            layers: layers
                .into_iter()
                .map(|section| LayerSpec::parse(section, unknown))
                .collect::<Parsed<_>>()?,
            labels: labels.map(|section| LabelSpec::parse(section, unknown)).transpose()?,
            splits: splits.map(|section| SplitSpec::parse(section, unknown)).transpose()?,
            nodes,
        };
        manifest.check()?;
        Ok(manifest)
    }

    /// Every file it names.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let tables = [
            self.labels.as_ref().and_then(|l| l.table.as_ref()),
            self.splits.as_ref().and_then(SplitSpec::table),
        ];
        let nodes = self.nodes.iter().map(|n| n.file.as_path());
        nodes
            .chain(self.features.iter().filter_map(FeatureSpec::file))
            .chain(self.layers.iter().flat_map(LayerSpec::files))
            .chain(tables.into_iter().flatten().map(|t| t.file.as_path()))
    }

    /// Names are unique, and columns of the node table are asked for only where there is one.
    fn check(&self) -> Parsed<()> {
        let names = self.layers.iter().map(|l| &l.name).collect::<Vec<_>>();
        if let Some(i) = repeated(&names) {
            let line = self.layers[i].line;
            return Err(wrong(line, &format!("two layers are called `{}`", names[i])));
        }
        let names = self.features.iter().map(|f| &f.name).collect::<Vec<_>>();
        if let Some(i) = repeated(&names) {
            let message = "two blocks of features are called";
            return Err(wrong(
                self.features[i].line,
                &format!("{message} `{}`; give them a `name` each", names[i]),
            ));
        }
        if self.nodes.is_some() {
            return Ok(());
        }
        let features = self.features.iter().filter(|f| f.needs_node_table()).map(|f| f.line);
        let labels = self.labels.iter().filter(|l| l.table.is_none()).map(|l| l.line);
        let splits = self.splits.iter().filter(|s| s.needs_node_table()).map(|s| s.line);
        match features.chain(labels).chain(splits).next() {
            None => Ok(()),
            Some(line) => Err(wrong(
                line,
                "columns of the node table, but there is no [nodes]; expected a `file` and its \
                 `id` column here, or a [nodes]",
            )),
        }
    }
}

impl NodeSpec {
    fn parse(mut section: Section<'_>) -> Parsed<(Self, OnUnknown)> {
        let file = file(&mut section, "file", "nodes.csv")?;
        let id = section.required("id", "id")?;
        let unknown = on_unknown(&mut section, OnUnknown::Error)?;
        section.close()?;
        Ok((Self { file, id }, unknown))
    }
}

impl TableSpec {
    /// `file` and `id`, or neither.
    fn parse(section: &mut Section<'_>, default: OnUnknown) -> Parsed<Option<Self>> {
        let Some(file) = optional_file(section, "file")? else { return Ok(None) };
        let id = section.required("id", "id")?;
        let on_unknown = known_only(section, default)?;
        Ok(Some(Self { file, id, on_unknown }))
    }
}

fn on_unknown(section: &mut Section<'_>, default: OnUnknown) -> Parsed<OnUnknown> {
    let choices = [("error", OnUnknown::Error), ("skip", OnUnknown::Skip), ("add", OnUnknown::Add)];
    Ok(section.choice("on_unknown", &choices)?.unwrap_or(default))
}

fn known_only(section: &mut Section<'_>, default: OnUnknown) -> Parsed<OnUnknown> {
    let choices = [("error", OnUnknown::Error), ("skip", OnUnknown::Skip)];
    Ok(section.choice("on_unknown", &choices)?.unwrap_or(default.without_add()))
}

/// A file named by the manifest: below its folder, as a manifest may come from a stranger.
fn file(section: &mut Section<'_>, key: &'static str, example: &str) -> Parsed<PathBuf> {
    optional_file(section, key)?
        .ok_or_else(|| section.wrong(&format!("no `{key}`; expected {key} = \"{example}\"")))
}

fn optional_file(section: &mut Section<'_>, key: &'static str) -> Parsed<Option<PathBuf>> {
    let Some(text) = section.string(key)? else { return Ok(None) };
    let path = Path::new(&text);
    let inside = path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    // A drive or a backslash means something elsewhere than here.
    if !inside || text.is_empty() || text.contains(['\\', ':']) {
        return Err(section.wrong(&format!(
            "`{key}` is `{text}`; expected a file in the manifest's folder or below it"
        )));
    }
    Ok(Some(path.to_path_buf()))
}

/// Where a name stands that stood before.
fn repeated(names: &[impl AsRef<str>]) -> Option<usize> {
    let mut seen = HashSet::new();
    names.iter().position(|name| !seen.insert(name.as_ref()))
}

/// The name of a file without its folder and extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;

//! `[labels]` and `[splits]`.

use super::{OnUnknown, Parsed, TableSpec};
use crate::io::manifest::section::Section;

/// The column of the classes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct LabelSpec {
    pub line: usize,
    pub column: String,
    pub table: Option<TableSpec>,
}

/// Which nodes train, validate and test.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct SplitSpec {
    pub line: usize,
    pub source: SplitSource,
}

/// Where a split comes from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) enum SplitSource {
    Column { column: String, table: Option<TableSpec> },
    Random(Shares),
}

/// A random split: the rest tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::io::manifest) struct Shares {
    pub train: f64,
    pub val: f64,
    pub seed: u64,
}

impl Default for Shares {
    fn default() -> Self {
        Self { train: 0.2, val: 0.1, seed: 0 }
    }
}

impl LabelSpec {
    pub(super) fn parse(mut section: Section<'_>, unknown: OnUnknown) -> Parsed<Self> {
        let line = section.line();
        let column = section.required("column", "class")?;
        let table = TableSpec::parse(&mut section, unknown)?;
        section.close()?;
        Ok(Self { line, column, table })
    }
}

impl SplitSpec {
    pub(super) fn parse(mut section: Section<'_>, unknown: OnUnknown) -> Parsed<Self> {
        let line = section.line();
        let source = match section.string("column")? {
            Some(column) => {
                let table = TableSpec::parse(&mut section, unknown)?;
                SplitSource::Column { column, table }
            }
            None => {
                let usual = Shares::default();
                let train = section.share("train")?.unwrap_or(usual.train);
                let val = section.share("val")?.unwrap_or(usual.val);
                let seed = section.count("seed", 0)?.unwrap_or(usual.seed);
                if train <= 0.0 || val <= 0.0 || train + val >= 1.0 {
                    return Err(section.wrong(&format!(
                        "train = {train} and val = {val}; expected shares above 0 that leave some \
                         nodes to test, or the `column` of a split"
                    )));
                }
                SplitSource::Random(Shares { train, val, seed })
            }
        };
        section.close()?;
        Ok(Self { line, source })
    }

    /// The table of its column, where that is not the node table.
    pub(super) fn table(&self) -> Option<&TableSpec> {
        match &self.source {
            SplitSource::Column { table, .. } => table.as_ref(),
            SplitSource::Random(_) => None,
        }
    }

    pub(super) fn needs_node_table(&self) -> bool {
        matches!(&self.source, SplitSource::Column { table: None, .. })
    }
}

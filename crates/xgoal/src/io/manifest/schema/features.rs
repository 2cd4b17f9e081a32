//! `[[features]]`: one block of attributes each.

use super::{OnUnknown, Parsed, TableSpec, known_only, optional_file, repeated, stem};
use crate::io::manifest::section::{Limit, Section};
use std::path::{Path, PathBuf};

/// One block of attributes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct FeatureSpec {
    pub name: String,
    pub line: usize,
    pub source: FeatureSource,
}

/// Where a block comes from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) enum FeatureSource {
    Matrix(PathBuf),
    Triplets(TripletSpec),
    Numeric { table: Option<TableSpec>, columns: Vec<String>, missing: Missing },
    Categorical { table: Option<TableSpec>, columns: Vec<String> },
    Vector { table: Option<TableSpec>, column: String },
    Text { table: Option<TableSpec>, columns: Vec<String>, words: Words },
}

/// A table of (id, feature, value).
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct TripletSpec {
    pub file: PathBuf,
    pub id: String,
    pub feature: String,
    pub value: Option<String>,
    pub on_unknown: OnUnknown,
}

/// What becomes of a number that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io::manifest) enum Missing {
    Error,
    Mean,
}

/// Which words of a text count, and how much.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::manifest) struct Words {
    pub min_df: Limit,
    pub max_df: Limit,
    pub terms: usize,
    pub min_length: usize,
    pub stop_words: Vec<String>,
    pub weight: WordWeight,
}

/// What an entry of a bag of words is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io::manifest) enum WordWeight {
    Count,
    TfIdf,
}

const KINDS: [&str; 6] = ["matrix", "triplets", "numeric", "categorical", "text", "vector"];

impl FeatureSpec {
    pub(super) fn parse_all(sections: Vec<Section<'_>>, unknown: OnUnknown) -> Parsed<Vec<Self>> {
        sections.into_iter().map(|section| Self::parse(section, unknown)).collect()
    }

    fn parse(mut section: Section<'_>, unknown: OnUnknown) -> Parsed<Self> {
        let line = section.line();
        let name = section.string("name")?;
        let matrix = optional_file(&mut section, "matrix")?;
        let triplets = optional_file(&mut section, "triplets")?;
        let numeric = section.strings("numeric")?;
        let categorical = section.strings("categorical")?;
        let text = section.strings("text")?;
        let vector = section.string("vector")?;
        let there = [
            matrix.is_some(),
            triplets.is_some(),
            numeric.is_some(),
            categorical.is_some(),
            text.is_some(),
            vector.is_some(),
        ];
        if there.iter().filter(|t| **t).count() != 1 {
            let found: Vec<&str> =
                KINDS.iter().zip(there).filter(|(_, t)| *t).map(|(k, _)| *k).collect();
            let found = if found.is_empty() { "none".into() } else { found.join(", ") };
            return Err(
                section.wrong(&format!("expected one of {}; found {found}", KINDS.join(", ")))
            );
        }
        for columns in [&numeric, &categorical, &text].into_iter().flatten() {
            if let Some(name) = repeated(columns).map(|at| &columns[at]) {
                return Err(section.wrong(&format!("column `{name}` twice; expected it once")));
            }
        }
        // Keys of the kinds that were not chosen are unknown ones.
        section.forget(&KINDS);
        let joined = |columns: &[String]| columns.join("+");
        let (default, source) = if let Some(matrix) = matrix {
            (stem(&matrix), FeatureSource::Matrix(matrix))
        } else if let Some(file) = triplets {
            let spec = TripletSpec {
                id: section.required("id", "id")?,
                feature: section.required("feature", "word")?,
                value: section.string("value")?,
                on_unknown: known_only(&mut section, unknown)?,
                file,
            };
            (stem(&spec.file), FeatureSource::Triplets(spec))
        } else if let Some(columns) = numeric {
            let choices = [("error", Missing::Error), ("mean", Missing::Mean)];
            let missing = section.choice("missing", &choices)?.unwrap_or(Missing::Error);
            let table = TableSpec::parse(&mut section, unknown)?;
            (joined(&columns), FeatureSource::Numeric { table, columns, missing })
        } else if let Some(columns) = categorical {
            let table = TableSpec::parse(&mut section, unknown)?;
            (joined(&columns), FeatureSource::Categorical { table, columns })
        } else if let Some(columns) = text {
            let words = Words::parse(&mut section)?;
            let table = TableSpec::parse(&mut section, unknown)?;
            (joined(&columns), FeatureSource::Text { table, columns, words })
        } else {
            let column = vector.unwrap_or_default();
            let table = TableSpec::parse(&mut section, unknown)?;
            (column.clone(), FeatureSource::Vector { table, column })
        };
        section.close()?;
        Ok(Self { name: name.unwrap_or(default), line, source })
    }

    /// The file it is read from, where that is not the node table.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.source {
            FeatureSource::Matrix(file) => Some(file),
            FeatureSource::Triplets(spec) => Some(&spec.file),
            FeatureSource::Numeric { table, .. }
            | FeatureSource::Categorical { table, .. }
            | FeatureSource::Vector { table, .. }
            | FeatureSource::Text { table, .. } => table.as_ref().map(|t| t.file.as_path()),
        }
    }

    pub(super) fn needs_node_table(&self) -> bool {
        match &self.source {
            FeatureSource::Matrix(_) => true,
            FeatureSource::Triplets(_) => false,
            FeatureSource::Numeric { table, .. }
            | FeatureSource::Categorical { table, .. }
            | FeatureSource::Vector { table, .. }
            | FeatureSource::Text { table, .. } => table.is_none(),
        }
    }

    /// What a block of this kind is called.
    pub(in crate::io::manifest) fn kind(&self) -> &'static str {
        match &self.source {
            FeatureSource::Matrix(_) | FeatureSource::Vector { .. } => "matrix",
            FeatureSource::Triplets(_) => "triplets",
            FeatureSource::Numeric { .. } => "numeric",
            FeatureSource::Categorical { .. } => "categorical",
            FeatureSource::Text { .. } => "text",
        }
    }

    /// The columns of the node table it needs.
    pub(in crate::io::manifest) fn node_columns(&self) -> Vec<&str> {
        match &self.source {
            FeatureSource::Numeric { table: None, columns, .. }
            | FeatureSource::Categorical { table: None, columns }
            | FeatureSource::Text { table: None, columns, .. } => {
                columns.iter().map(String::as_str).collect()
            }
            FeatureSource::Vector { table: None, column } => vec![column],
            _ => Vec::new(),
        }
    }
}

impl Words {
    fn parse(section: &mut Section<'_>) -> Parsed<Self> {
        let choices = [("count", WordWeight::Count), ("tf-idf", WordWeight::TfIdf)];
        Ok(Self {
            min_df: section.limit("min_df")?.unwrap_or(Limit::Count(2)),
            max_df: section.limit("max_df")?.unwrap_or(Limit::Share(0.5)),
            terms: section.count("terms", 1)?.unwrap_or(2000) as usize,
            min_length: section.count("min_length", 1)?.unwrap_or(2) as usize,
            stop_words: section.strings("stop_words")?.unwrap_or_default(),
            weight: section.choice("weight", &choices)?.unwrap_or(WordWeight::Count),
        })
    }
}

//! What the columns of the attributes stand for, so that another graph can be given the same columns.
//!
//! A model keeps the space it was trained in. A graph with new nodes is then encoded by name: its words, categories
//! and numbers go to the columns they had in training, numbers with the scaling they had, and what training did not
//! see is counted and left out.

use serde::{Deserialize, Serialize};

/// The blocks of the attributes, side by side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FeatureSpace {
    /// In the order of their columns.
    pub blocks: Vec<FeatureBlock>,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureBlock {
    /// Its name, by which a new graph's block is found.
    pub name: String,
    /// What its columns are.
    #[serde(flatten)]
    pub columns: FeatureColumns,
}

/// What the columns of a block are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FeatureColumns {
    /// Columns of a matrix or of vectors, known by their number only.
    Numbered {
        /// How many.
        count: usize,
    },
    /// Features named in triplets.
    Named {
        /// The name of each column.
        names: Vec<String>,
    },
    /// Standardised numbers.
    Numeric {
        /// Each column's table column, mean and standard deviation.
        scales: Vec<Scale>,
    },
    /// One column per category.
    Categorical {
        /// Each table column and its categories.
        categories: Vec<Categories>,
    },
    /// One column per word.
    Text {
        /// What a word's number of occurrences is multiplied by.
        terms: Vec<Term>,
    },
    /// No attributes: what stands in for them is drawn from the nodes' ids.
    StandIn {
        /// How many columns.
        count: usize,
        /// How many of them a node has.
        per_node: usize,
    },
}

/// How a number is standardised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// The table column.
    pub column: String,
    /// Mean in training.
    pub mean: f64,
    /// Standard deviation in training; 0 for a constant, which becomes 0.
    pub deviation: f64,
}

impl Scale {
    /// A number's distance from the mean, in standard deviations.
    pub fn standard(&self, value: f64) -> f64 {
        match value - self.mean {
            distance if distance.is_finite() => distance / self.deviation,
            // Each by itself is a number.
            _ => value / self.deviation - self.mean / self.deviation,
        }
    }
}

/// The categories of a table column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Categories {
    /// The table column.
    pub column: String,
    /// In the order of their columns.
    pub values: Vec<String>,
}

/// A word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The word.
    pub term: String,
    /// Its weight, 1 unless words are weighted by how rare they are.
    pub weight: f32,
}

impl FeatureSpace {
    /// The number of columns of all blocks.
    pub fn columns(&self) -> usize {
        // A description may come from a file and claim any number.
        self.blocks.iter().fold(0, |sum, b| b.columns.count().saturating_add(sum))
    }

    /// What no space can be, where this one, out of a file, is so.
    pub(crate) fn contradiction(&self) -> Option<String> {
        self.blocks.iter().find_map(|block| match block.columns {
            FeatureColumns::StandIn { count, per_node } if per_node > count => Some(format!(
                "block `{}` gives a node {per_node} of {count} columns; expected at most {count}",
                block.name
            )),
            _ => None,
        })
    }

    /// A name for each column, where every block has them; of several blocks, after the block's own and a colon.
    pub fn names(&self) -> Option<Vec<String>> {
        let several = self.blocks.len() > 1;
        let of_block = |block: &FeatureBlock| {
            let whole =
                |name: String| if several { format!("{}:{name}", block.name) } else { name };
            Some(block.columns.names()?.into_iter().map(whole).collect::<Vec<_>>())
        };
        self.blocks.iter().map(of_block).collect::<Option<Vec<_>>>().map(|blocks| blocks.concat())
    }
}

impl FeatureColumns {
    /// The number of columns.
    pub fn count(&self) -> usize {
        match self {
            Self::Numbered { count } | Self::StandIn { count, .. } => *count,
            Self::Named { names } => names.len(),
            Self::Numeric { scales } => scales.len(),
            Self::Categorical { categories } => categories.iter().map(|c| c.values.len()).sum(),
            Self::Text { terms } => terms.len(),
        }
    }

    /// A name for each column, where they have some; `COLUMN=CATEGORY` for categories.
    pub fn names(&self) -> Option<Vec<String>> {
        let of_column = |c: &Categories| {
            c.values.iter().map(|v| format!("{}={v}", c.column)).collect::<Vec<_>>()
        };
        match self {
            Self::Numbered { .. } | Self::StandIn { .. } => None,
            Self::Named { names } => Some(names.clone()),
            Self::Numeric { scales } => Some(scales.iter().map(|s| s.column.clone()).collect()),
            Self::Categorical { categories } => {
                Some(categories.iter().flat_map(of_column).collect())
            }
            Self::Text { terms } => Some(terms.iter().map(|t| t.term.clone()).collect()),
        }
    }

    /// What a block of this kind is called.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Numbered { .. } => "matrix",
            Self::Named { .. } => "triplets",
            Self::Numeric { .. } => "numeric",
            Self::Categorical { .. } => "categorical",
            Self::Text { .. } => "text",
            Self::StandIn { .. } => "stand-in",
        }
    }
}

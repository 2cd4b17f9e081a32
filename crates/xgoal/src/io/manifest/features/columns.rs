//! Numbers, categories and vectors in columns of a table.

use super::{Encoded, Unseen, numbered};
use crate::error::Result;
use crate::graph::features::{Categories, FeatureColumns, Scale};
use crate::io::manifest::matrices::by_density;
use crate::io::manifest::nodes::Keyed;
use crate::io::manifest::schema::features::Missing;
use crate::io::table::{Column, Ids};
use crate::matrix::{Csr, Dense, Matrix};
use crate::words::quoted;
use std::collections::HashSet;

/// Each column less its mean, by its standard deviation; a node without a row has the mean.
pub(super) fn numeric(
    keyed: &Keyed,
    columns: &[String],
    missing: Missing,
    nodes: usize,
    known: Option<&FeatureColumns>,
) -> Result<Encoded> {
    if let Some(FeatureColumns::Numeric { scales: trained }) = known
        && trained.iter().map(|s| &s.column).ne(columns)
    {
        let trained: Vec<&str> = trained.iter().map(|s| s.column.as_str()).collect();
        let there: HashSet<&str> = trained.iter().copied().collect();
        let unknown = columns.iter().find(|name| !there.contains(name.as_str()));
        let trained = trained.join(", ");
        return Err(keyed.wrong_table(match unknown {
            Some(name) => {
                format!("column `{name}` is unknown to the model, which was trained on {trained}")
            }
            None => {
                let columns = columns.join(", ");
                format!("numeric columns {columns}; the model was trained on {trained}")
            }
        }));
    }
    let mut scales = Vec::with_capacity(columns.len());
    let mut matrix = Dense::zeros(nodes, columns.len());
    for (at, name) in columns.iter().enumerate() {
        let column = keyed.column(name);
        let mut values: Vec<Option<f64>> = Vec::with_capacity(nodes);
        for row in (0..nodes).map(|node| keyed.row(node)) {
            let Some(row) = row else {
                values.push(None);
                continue;
            };
            let number = column.number(row).map_err(|m| keyed.misfit(row, name, &m))?;
            if number.is_none() && missing == Missing::Error {
                let message = "nothing; expected a number, or missing = \"mean\"";
                return Err(keyed.wrong(row, name, message));
            }
            values.push(number);
        }
        let scale = match known {
            Some(FeatureColumns::Numeric { scales }) => {
                scales.get(at).expect("checked above").clone()
            }
            _ => fitted(name, &values),
        };
        for (node, value) in values.into_iter().enumerate() {
            if let Some(value) = value.filter(|_| scale.deviation > 0.0) {
                let standard = scale.standard(value) as f32;
                if !standard.is_finite() {
                    let row = keyed.row(node).expect("a value stands in a row");
                    let message = format!(
                        "{value:e}; expected a number nearer to the mean {:e}, by the standard deviation {:e}",
                        scale.mean, scale.deviation
                    );
                    return Err(keyed.wrong(row, name, &message));
                }
                matrix.values_mut()[node * columns.len() + at] = standard;
            }
        }
        scales.push(scale);
    }
    let columns = FeatureColumns::Numeric { scales };
    Ok(Encoded { columns, matrix: by_density(matrix), unseen: Unseen::default() })
}

/// Mean and standard deviation. Values are brought near 1 for as long as they are squared, by a power of two, which
/// changes no digit.
fn fitted(name: &str, values: &[Option<f64>]) -> Scale {
    let there = || values.iter().flatten();
    let largest = there().fold(0f64, |largest, v| largest.max(v.abs()));
    // Both the power and its inverse are numbers.
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    let unit = 2f64.powi(exponent.clamp(-1000, 1000));
    let near = || there().map(|v| v / unit);
    let count = there().count().max(1) as f64;
    let mean = near().sum::<f64>() / count;
    let variance = near().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    // What rounding leaves of a constant is no deviation.
    let constant = there().all(|v| Some(v) == there().next());
    let deviation = if constant { 0.0 } else { variance.sqrt() * unit };
    Scale { column: name.to_owned(), mean: mean * unit, deviation }
}

/// A column for each category, in the order of their names; a missing one has none.
pub(super) fn categorical(
    keyed: &Keyed,
    columns: &[String],
    nodes: usize,
    known: Option<&FeatureColumns>,
) -> Result<Encoded> {
    let mut categories = Vec::with_capacity(columns.len());
    let mut entries = Vec::new();
    let mut unseen = Unseen::default();
    let mut before = 0;
    for (at, name) in columns.iter().enumerate() {
        let column = keyed.column(name);
        let mut found = Ids::default();
        let mut of_node = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let Some(row) = keyed.row(node) else { continue };
            let text = column.text(row).map_err(|m| keyed.misfit(row, name, &m))?;
            if !text.is_empty() {
                of_node.push((node as u32, found.insert(&text).0));
            }
        }
        let trained = match known {
            Some(FeatureColumns::Categorical { categories }) => {
                // In the order of training as a rule.
                let here = categories.get(at).filter(|c| c.column == *name);
                let trained = here.or_else(|| categories.iter().find(|c| c.column == *name));
                Some(trained.ok_or_else(|| {
                    keyed.wrong_table(format!("column `{name}` is unknown to the model"))
                })?)
            }
            _ => None,
        };
        let values = match trained {
            Some(trained) => trained.values.clone(),
            None => {
                let mut values: Vec<String> = found.names().map(str::to_owned).collect();
                values.sort_unstable();
                values
            }
        };
        let places = places(&found, &values);
        unseen.different += places.iter().filter(|p| p.is_none()).count();
        for (node, category) in of_node {
            match places[category as usize] {
                Some(place) => entries.push((node, before + place, 1.0)),
                None => unseen.occurrences += 1,
            }
        }
        before += values.len() as u32;
        categories.push(Categories { column: name.clone(), values });
    }
    let (matrix, _) = Csr::gather(nodes, before as usize, entries, |a, _| a);
    let columns = FeatureColumns::Categorical { categories };
    Ok(Encoded { columns, matrix: Matrix::Sparse(matrix), unseen })
}

/// The column of each name found, where it has one.
pub(super) fn places(found: &Ids, columns: &[String]) -> Vec<Option<u32>> {
    let mut known = Ids::default();
    columns.iter().for_each(|name| {
        known.insert(name);
    });
    found.names().map(|name| known.get(name)).collect()
}

/// A list of numbers for each node, all of one length; a node without a row has zeros.
pub(super) fn vector(
    keyed: &Keyed,
    name: &str,
    nodes: usize,
    known: Option<&FeatureColumns>,
) -> Result<Encoded> {
    let Column::Vectors(lists) = keyed.column(name) else {
        return Err(keyed.wrong_table(format!(
            "column `{name}` holds no lists of numbers; expected a vector for each node, as Parquet has them"
        )));
    };
    let mut length = None;
    let mut values = Vec::new();
    let mut empty = Vec::new();
    for node in 0..nodes {
        let list = keyed.row(node).map(|row| (row, lists.get(row)));
        let Some((row, list)) = list.filter(|(_, list)| !list.is_empty()) else {
            empty.push(node);
            continue;
        };
        let expected = *length.get_or_insert(list.len());
        if list.len() != expected {
            let message = format!("{} numbers; expected {expected}, as before", list.len());
            return Err(keyed.wrong(row, name, &message));
        }
        if let Some(bad) = list.iter().find(|v| !v.is_finite()) {
            return Err(keyed.wrong(row, name, &format!("{bad}; expected finite numbers")));
        }
        values.extend_from_slice(list);
    }
    let Some(cols) = length else {
        return Err(keyed.wrong_table(format!("column {} holds no vectors", quoted(name))));
    };
    numbered(cols, known).map_err(|message| keyed.wrong_table(message))?;
    let mut matrix = Dense::zeros(nodes, cols);
    let (mut given, mut empty) = (values.chunks(cols), empty.into_iter().peekable());
    for (node, row) in matrix.values_mut().chunks_mut(cols).enumerate() {
        if empty.next_if_eq(&node).is_none() {
            row.copy_from_slice(given.next().expect("one for each node that is not empty"));
        }
    }
    let columns = FeatureColumns::Numbered { count: cols };
    Ok(Encoded { columns, matrix: by_density(matrix), unseen: Unseen::default() })
}

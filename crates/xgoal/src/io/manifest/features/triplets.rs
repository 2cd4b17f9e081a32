//! Sparse attributes as rows of (id, feature, value).

use super::columns::places;
use super::{Encoded, Unseen};
use crate::error::Result;
use crate::graph::features::FeatureColumns;
use crate::io::manifest::nodes::NodeSet;
use crate::io::manifest::pairs::{Side, read_pairs};
use crate::io::manifest::report::{Report, TableReport};
use crate::io::manifest::schema::OnUnknown;
use crate::io::manifest::schema::features::TripletSpec;
use crate::io::table::{Ids, Table};
use crate::matrix::{Csr, Matrix};
use std::path::Path;
use std::sync::RwLock;

/// Columns in the order of their names; values of the same entry add up.
pub(super) fn read(
    folder: &Path,
    name: &str,
    spec: &TripletSpec,
    nodes: &NodeSet,
    known: Option<&FeatureColumns>,
    report: &mut Report,
) -> Result<Encoded> {
    let table = Table::open(&folder.join(&spec.file))?;
    let found = RwLock::new(Ids::default());
    let node = Side { column: &spec.id, ids: &nodes.ids, on_unknown: spec.on_unknown };
    let feature = Side { column: &spec.feature, ids: &found, on_unknown: OnUnknown::Add };
    let pairs = read_pairs(&table, [node, feature], spec.value.as_deref())?;
    let [unknown, _] = pairs.unknown;
    unknown.check(&table, spec.on_unknown, nodes)?;

    let found = found.into_inner().expect("no reader panics");
    let names = match known {
        Some(FeatureColumns::Named { names }) => names.clone(),
        _ => {
            let mut names: Vec<String> = found.names().map(str::to_owned).collect();
            names.sort_unstable();
            names
        }
    };
    let places = places(&found, &names);
    let mut unseen =
        Unseen { different: places.iter().filter(|p| p.is_none()).count(), occurrences: 0 };
    let mut entries = pairs.entries;
    entries.retain_mut(|(_, feature, _)| match places[*feature as usize] {
        Some(column) => {
            *feature = column;
            true
        }
        None => {
            unseen.occurrences += 1;
            false
        }
    });
    let (matrix, duplicates) = Csr::gather(nodes.count(), names.len(), entries, |a, b| a + b);
    report.tables.push(TableReport {
        file: spec.file.display().to_string(),
        used_for: format!("features {name}"),
        rows: pairs.rows,
        unknown: unknown.count,
        duplicates,
    });
    Ok(Encoded { columns: FeatureColumns::Named { names }, matrix: Matrix::Sparse(matrix), unseen })
}

//! Nodes: their ids, and tables that say something about each.

use super::report::{Duplicates, Report, TableReport};
use super::schema::{NodeSpec, OnUnknown, TableSpec};
use crate::error::Result;
use crate::io::table::{Column, Ids, Misfit, NONE, Rows, Table};
use std::collections::HashMap;
use std::path::Path;
use std::sync::RwLock;

/// Ids or rows that a message lists before it says how many more there are.
const LISTED: usize = 5;

/// All nodes: those of the node table first, then those that layers add.
#[derive(Default)]
pub(super) struct NodeSet {
    pub ids: RwLock<Ids>,
    /// How many nodes the node table lists.
    pub listed: usize,
    pub table: Option<Keyed>,
}

/// Columns of a table, by node.
pub(super) struct Keyed {
    table: Table,
    /// The column of the ids.
    id: String,
    /// Where each column that was read is among the rows' columns.
    places: HashMap<String, usize>,
    rows: Rows,
    /// The row of each node; where every row is the node of its number, nothing.
    row_of: Option<Vec<u32>>,
}

impl NodeSet {
    /// Reads the node table with the columns that others need.
    ///
    /// An id that stands there twice is an error, except where the source is only looked at.
    pub(super) fn read(
        folder: &Path,
        spec: &NodeSpec,
        columns: &[&str],
        inspect: bool,
        report: &mut Report,
    ) -> Result<Self> {
        let table = Table::open(&folder.join(&spec.file))?;
        let mut names = vec![spec.id.as_str()];
        names.extend(columns.iter().filter(|c| **c != spec.id));
        names.sort_unstable();
        names.dedup();
        let rows = table.read(&names)?;
        let id = names.iter().position(|n| *n == spec.id).expect("asked for");
        let mut ids = Ids::default();
        let mut first_row: Vec<u32> = Vec::new();
        let mut duplicates = Duplicates::default();
        let names_of_rows = rows.columns[id]
            .ids()
            .map_err(|(row, misfit)| table.misfit(&rows.place(row), &spec.id, &misfit))?;
        for row in 0..rows.count {
            let name = names_of_rows.get(row);
            let (number, new) = ids.insert(name);
            if new {
                first_row.push(row as u32);
                continue;
            }
            duplicates.rows += 1;
            if duplicates.examples.len() < LISTED {
                let first = rows.place(first_row[number as usize] as usize);
                duplicates.examples.push(format!("`{name}` ({first} and {})", rows.place(row)));
            }
        }
        if duplicates.rows > 0 && !inspect {
            return Err(table.wrong(format!(
                "{} rows repeat an id of column `{}`: {}{}; expected a row per node",
                duplicates.rows,
                spec.id,
                duplicates.examples.join(", "),
                if duplicates.rows > LISTED { ", ..." } else { "" }
            )));
        }
        if ids.len() == 0 {
            return Err(table.wrong("no rows; expected a row per node".into()));
        }
        let row_of = (duplicates.rows > 0).then_some(first_row);
        report.duplicate_ids = duplicates;
        let listed = ids.len();
        let places = places(&names);
        let table = Some(Keyed { table, id: spec.id.clone(), places, rows, row_of });
        Ok(Self { ids: RwLock::new(ids), listed, table })
    }

    /// How many nodes there are by now.
    pub(super) fn count(&self) -> usize {
        self.ids.read().expect("no reader panics").len()
    }

    /// What messages call the set of known nodes.
    pub(super) fn called(&self) -> String {
        match &self.table {
            Some(keyed) => keyed.table.path().display().to_string(),
            None => "the layers".into(),
        }
    }
}

fn places(names: &[&str]) -> HashMap<String, usize> {
    names.iter().enumerate().map(|(at, name)| ((*name).to_owned(), at)).collect()
}

impl Keyed {
    /// Reads columns of another table than the node table.
    pub(super) fn read(
        folder: &Path,
        spec: &TableSpec,
        columns: &[&str],
        nodes: &NodeSet,
        used_for: String,
        report: &mut Report,
    ) -> Result<Self> {
        let table = Table::open(&folder.join(&spec.file))?;
        let mut names = vec![spec.id.as_str()];
        names.extend_from_slice(columns);
        let rows = table.read(&names)?;
        let ids = nodes.ids.read().expect("no reader panics");
        let mut row_of = vec![NONE; ids.len()];
        let mut unknown = Unknown::default();
        let names_of_rows = rows.columns[0]
            .ids()
            .map_err(|(row, misfit)| table.misfit(&rows.place(row), &spec.id, &misfit))?;
        for (row, node) in ids.get_all(&names_of_rows).into_iter().enumerate() {
            let place = || rows.place(row);
            let name = names_of_rows.get(row);
            match Some(node).filter(|node| *node != NONE) {
                None => unknown.add(name, place, &spec.id),
                Some(node) if row_of[node as usize] == NONE => row_of[node as usize] = row as u32,
                Some(node) => {
                    let first = rows.place(row_of[node as usize] as usize);
                    return Err(table.wrong(format!(
                        "{}, column `{}`: `{name}` stands in {first} already; expected one row per node",
                        place(),
                        spec.id
                    )));
                }
            }
        }
        unknown.check(&table, spec.on_unknown, nodes)?;
        report.tables.push(TableReport {
            file: spec.file.display().to_string(),
            used_for,
            rows: rows.count,
            unknown: unknown.count,
            duplicates: 0,
        });
        let places = places(&names);
        Ok(Self { table, id: spec.id.clone(), places, rows, row_of: Some(row_of) })
    }

    /// A column that was asked for.
    pub(super) fn column(&self, name: &str) -> &Column {
        &self.rows.columns[self.places[name]]
    }

    /// Whether the file has the ids as numbers.
    pub(super) fn has_integer_ids(&self) -> bool {
        matches!(self.column(&self.id), Column::Integers(_))
    }

    /// The row of a node.
    pub(super) fn row(&self, node: usize) -> Option<usize> {
        match &self.row_of {
            None => Some(node).filter(|node| *node < self.rows.count),
            Some(rows) => rows.get(node).filter(|row| **row != NONE).map(|row| *row as usize),
        }
    }

    /// An error about a field.
    pub(super) fn misfit(&self, row: usize, column: &str, misfit: &Misfit) -> crate::Error {
        self.table.misfit(&self.rows.place(row), column, misfit)
    }

    /// An error about a field, in words.
    pub(super) fn wrong(&self, row: usize, column: &str, message: &str) -> crate::Error {
        let place = self.rows.place(row);
        self.table.wrong(format!("{place}, column `{column}`: {message}"))
    }

    /// An error about the table.
    pub(super) fn wrong_table(&self, message: String) -> crate::Error {
        self.table.wrong(message)
    }
}

/// Rows that name a node which is not known.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    pub count: usize,
    examples: Vec<String>,
}

impl Unknown {
    pub(super) fn add(&mut self, name: &str, place: impl FnOnce() -> String, column: &str) {
        self.count += 1;
        if self.examples.len() < LISTED {
            let name = crate::words::quoted(name);
            self.examples.push(format!("{name} ({}, column `{column}`)", place()));
        }
    }

    /// Those of one batch after those of the batches before.
    pub(super) fn append(&mut self, more: Self) {
        self.count += more.count;
        let room = LISTED - self.examples.len();
        self.examples.extend(more.examples.into_iter().take(room));
    }

    /// An error, where unknown nodes are one.
    pub(super) fn check(&self, table: &Table, rule: OnUnknown, nodes: &NodeSet) -> Result<()> {
        if self.count == 0 || rule != OnUnknown::Error {
            return Ok(());
        }
        Err(table.wrong(format!(
            "{} {} not in {}: {}{}; correct them, or set on_unknown = \"skip\" or \"add\"",
            self.count,
            if self.count == 1 { "id is" } else { "ids are" },
            nodes.called(),
            self.examples.join(", "),
            if self.count > self.examples.len() { ", ..." } else { "" }
        )))
    }
}

//! Tables of pairs: edges, and who has what on the way of a meta-path.

use crate::error::Result;
use crate::io::manifest::nodes::Unknown;
use crate::io::manifest::schema::OnUnknown;
use crate::io::table::{Batch, Ids, NONE, Table};
use std::sync::RwLock;

/// One end of the pairs: the column of its names, and the names that are known.
pub(super) struct Side<'a> {
    pub column: &'a str,
    pub ids: &'a RwLock<Ids>,
    pub on_unknown: OnUnknown,
}

/// All rows of a table of pairs.
pub(super) struct Pairs {
    /// Both ends and the weight; rows of weight 0 are no pairs.
    pub entries: Vec<(u32, u32, f32)>,
    /// Rows of the table.
    pub rows: usize,
    /// Names of either side that were unknown, whatever became of them.
    pub unknown: [Unknown; 2],
}

/// The rows of a batch. Names that are new wait for their number.
#[derive(Default)]
struct Part {
    entries: Vec<(u32, u32, f32)>,
    new: Vec<New>,
    rows: usize,
    unknown: [Unknown; 2],
}

struct New {
    entry: u32,
    side: usize,
    name: String,
}

/// Reads pairs; names that are to be added get the next numbers, in the order of the file.
pub(super) fn read_pairs(
    table: &Table,
    sides: [Side<'_>; 2],
    weight: Option<&str>,
) -> Result<Pairs> {
    let mut columns = vec![sides[0].column, sides[1].column];
    columns.extend(weight);
    let mut pairs = Pairs { entries: Vec::new(), rows: 0, unknown: Default::default() };
    table.scan(
        &columns,
        |batch| part(table, &sides, weight, &batch),
        |mut part| {
            for New { entry, side, name } in &part.new {
                let number = sides[*side].ids.write().expect("no reader panics").insert(name).0;
                let entry = &mut part.entries[*entry as usize];
                if *side == 0 {
                    entry.0 = number;
                } else {
                    entry.1 = number;
                }
            }
            pairs.rows += part.rows;
            for (all, more) in pairs.unknown.iter_mut().zip(part.unknown) {
                all.append(more);
            }
            pairs.entries.extend_from_slice(&part.entries);
            Ok(())
        },
    )?;
    Ok(pairs)
}

fn part(table: &Table, sides: &[Side<'_>; 2], weight: Option<&str>, batch: &Batch) -> Result<Part> {
    let names = [0, 1].map(|at| {
        batch.columns[at]
            .ids()
            .map_err(|(row, misfit)| table.misfit(&batch.place(row), sides[at].column, &misfit))
    });
    let [from, to] = names;
    let names = [from?, to?];
    let numbers = [0, 1].map(|at| {
        let known = sides[at].ids.read().expect("no reader panics");
        known.get_all(&names[at])
    });
    let mut part = Part { rows: batch.rows(), ..Part::default() };
    part.entries.reserve(batch.rows());
    let both = numbers[0].iter().zip(&numbers[1]).map(|(from, to)| [*from, *to]);
    for (row, ends) in both.enumerate() {
        let value = match weight {
            None => 1.0,
            Some(column) => weight_of(table, batch, row, column)?,
        };
        let (mut skipped, before) = (value == 0.0, part.new.len());
        for (at, _) in ends.iter().enumerate().filter(|(_, end)| **end == NONE) {
            let (side, name) = (&sides[at], names[at].get(row));
            part.unknown[at].add(name, || batch.place(row), side.column);
            if side.on_unknown == OnUnknown::Add {
                let entry = part.entries.len() as u32;
                part.new.push(New { entry, side: at, name: name.to_owned() });
            } else {
                skipped = true;
            }
        }
        if skipped {
            part.new.truncate(before);
        } else {
            part.entries.push((ends[0], ends[1], value));
        }
    }
    Ok(part)
}

fn weight_of(table: &Table, batch: &Batch, row: usize, column: &str) -> Result<f32> {
    let found = batch.columns[2].single(row);
    let number = found.map_err(|misfit| table.misfit(&batch.place(row), column, &misfit))?;
    number.ok_or_else(|| {
        let place = batch.place(row);
        table.wrong(format!("{place}, column `{column}`: nothing; expected a number"))
    })
}

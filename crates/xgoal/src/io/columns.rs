//! What a table says about nodes, to be shown: every column as text.

use super::table::{Ids, Table};
use crate::error::Result;
use std::path::Path;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeColumn {
    /// Its name.
    pub name: String,
    /// A text per node; empty where the table has none.
    pub texts: Vec<String>,
}

/// Reads all columns of a table but that of the ids, in the order of `nodes`. The ids are in the column
/// `id` names, or else in one called `id`, or else in the first. Columns of lists are left out, as are
/// rows of other nodes.
pub fn read(path: &Path, id: Option<&str>, nodes: &[String]) -> Result<Vec<NodeColumn>> {
    let table = Table::open(path)?;
    let names = table.names().to_vec();
    let called_id = || names.iter().find(|n| *n == "id").or(names.first());
    let Some(id) = id.map(str::to_owned).or_else(|| called_id().cloned()) else {
        return Err(table.wrong("no columns; expected one of ids, and others".into()));
    };
    let mut wanted: Vec<&str> = vec![&id];
    wanted.extend(names.iter().map(String::as_str).filter(|n| *n != id));
    let rows = table.read(&wanted)?;
    let ids = rows.columns[0]
        .ids()
        .map_err(|(row, misfit)| table.misfit(&rows.place(row), &id, &misfit))?;
    let mut row_of = Ids::default();
    let mut first = Vec::new();
    for row in 0..rows.count {
        let (number, new) = row_of.insert(ids.get(row));
        if !new {
            let (name, before): (&str, usize) = (ids.get(row), first[number as usize]);
            let message = format!("`{name}` stands in {} already", rows.place(before));
            let place = rows.place(row);
            return Err(table
                .wrong(format!("{place}, column `{id}`: {message}; expected one row per node")));
        }
        first.push(row);
    }
    let place: Vec<Option<u32>> = nodes.iter().map(|n| row_of.get(n)).collect();
    let mut found = Vec::new();
    for (name, column) in wanted.iter().zip(&rows.columns).skip(1) {
        let text = |row: &Option<u32>| match row {
            Some(row) => column.text(*row as usize).map(|t| t.into_owned()),
            None => Ok(String::new()),
        };
        if let Ok(texts) = place.iter().map(text).collect() {
            found.push(NodeColumn { name: (*name).to_owned(), texts });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_the_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nodes.csv");
        std::fs::write(&path, "name,id,size\n\"<b>, \"\"x\"\"\",7,1\n,8,\nz,9,3\n").unwrap();
        let nodes = ["8", "7", "5"].map(String::from);
        let found = read(&path, None, &nodes).unwrap();
        assert_eq!(found[0].name, "name");
        assert_eq!(found[0].texts, ["", "<b>, \"x\"", ""]);
        assert_eq!(found[1].texts, ["", "1", ""]);
        let empty = read(&path, Some("name"), &nodes).unwrap_err().to_string();
        assert!(empty.contains("line 3, column `name`"), "{empty}");
        std::fs::write(&path, "id,name\n9,z\n").unwrap();
        let named = read(&path, Some("name"), &["z".to_string()]).unwrap();
        assert_eq!((named[0].name.as_str(), named[0].texts[0].as_str()), ("id", "9"));
        std::fs::write(&path, "id,a\n1,x\n1,y\n").unwrap();
        let twice = read(&path, None, &nodes).unwrap_err().to_string();
        assert!(twice.contains("line 3") && twice.contains("line 2 already"), "{twice}");
    }
}

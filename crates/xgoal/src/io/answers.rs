//! What is asked of embeddings and what comes of it, as tables: ids in, clusters and neighbors out.

use super::embeddings::Embeddings;
use super::table::write::{self, Values};
use super::table::{Format, Table};
use crate::error::{ParseError, Result};
use crate::io::open;
use crate::similar::Neighbor;
use std::path::Path;

/// An id that a file asks for, and where it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The id.
    pub id: String,
    /// Its line or row, in words.
    pub place: String,
}

/// Reads ids, one or more: the column `id` of a table, or the lines of any other file.
pub fn read_queries(path: &Path) -> Result<Vec<Query>> {
    let queries = queries(path)?;
    if queries.is_empty() {
        return Err(ParseError::new("no ids; expected one or more").in_file(path));
    }
    Ok(queries)
}

fn queries(path: &Path) -> Result<Vec<Query>> {
    if Format::of(path).is_some() {
        let table = Table::open(path)?;
        let rows = table.read(&["id"])?;
        let ids = rows.columns[0]
            .ids()
            .map_err(|(row, misfit)| table.misfit(&rows.place(row), "id", &misfit))?;
        let query = |row| Query { id: ids.get(row).to_owned(), place: rows.place(row) };
        return Ok((0..rows.count).map(query).collect());
    }
    let text = open::text(path)?;
    let query = |(at, line): (usize, &str)| {
        let place = format!("line {}", at + 1);
        match line {
            "" => Err(ParseError::new(format!("{place}: blank; expected an id")).in_file(path)),
            id => Ok(Query { id: id.to_owned(), place }),
        }
    };
    text.lines().enumerate().map(query).collect()
}

/// Whether a file's name is that of a table that can be written.
pub fn is_table(path: &Path) -> bool {
    matches!(Format::of(path), Some(Format::Parquet | Format::Delimited { gzip: false, .. }))
}

/// Writes `id` and `cluster`, a row per node.
pub fn write_clusters(path: &Path, embeddings: &Embeddings, assignments: &[u32]) -> Result<()> {
    let clusters = assignments.iter().map(|c| i64::from(*c)).collect();
    let ids = ids(embeddings, 0..assignments.len());
    write::write(path, assignments.len(), &[("id", ids), ("cluster", Values::Integers(clusters))])
}

/// Writes `id`, `rank` from 1, `neighbor` and `cosine`, a row per neighbor of each query.
pub fn write_neighbors(
    path: &Path,
    embeddings: &Embeddings,
    queries: &[u32],
    found: &[Vec<Neighbor>],
) -> Result<()> {
    let each =
        || queries.iter().zip(found).flat_map(|(q, found)| found.iter().map(move |n| (q, n)));
    let ranks = found.iter().flat_map(|found| 1..=found.len() as i64).collect();
    let columns = [
        ("id", ids(embeddings, each().map(|(query, _)| *query as usize))),
        ("rank", Values::Integers(ranks)),
        ("neighbor", ids(embeddings, each().map(|(_, n)| n.node as usize))),
        ("cosine", Values::Floats(each().map(|(_, n)| n.cosine).collect())),
    ];
    write::write(path, each().count(), &columns)
}

fn ids(embeddings: &Embeddings, rows: impl Iterator<Item = usize>) -> Values<'static> {
    match embeddings.ids {
        Some(_) => Values::Texts(rows.map(|row| embeddings.id(row)).collect()),
        None => Values::Integers(rows.map(|row| row as i64).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    #[test]
    fn tables_of_answers_hold_the_ids_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let ids = ["a,\"b\"", "007", "x\ny"];
        let embeddings =
            Embeddings { ids: Some(ids.map(String::from).to_vec()), matrix: Dense::zeros(3, 1) };
        for name in ["t.csv", "t.tsv", "t.parquet"] {
            let path = folder.path().join(name);
            assert!(is_table(&path));
            write_clusters(&path, &embeddings, &[1, 0, 0]).unwrap();
            let found: Vec<String> =
                read_queries(&path).unwrap().into_iter().map(|q| q.id).collect();
            assert_eq!(found, ids, "{name}");
            let near = [Neighbor { node: 2, cosine: 0.1 }, Neighbor { node: 0, cosine: 0.0 }];
            write_neighbors(&path, &embeddings, &[1], &[near.to_vec()]).unwrap();
            let rows = Table::open(&path).unwrap().read(&["rank", "neighbor", "cosine"]).unwrap();
            let row = |at: usize| {
                rows.columns.iter().map(|c| c.text(at).unwrap().into_owned()).collect::<Vec<_>>()
            };
            assert_eq!(
                (row(0)[..2].to_vec(), row(1)),
                (
                    vec!["1".to_owned(), "x\ny".into()],
                    vec!["2".into(), "a,\"b\"".into(), "0".into()]
                )
            );
            assert_eq!(rows.columns[2].single(0).unwrap(), Some(0.1));
        }
        assert!(!is_table(Path::new("t.csv.gz")) && !is_table(Path::new("t.npy")));
    }

    #[test]
    fn queries_know_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            read_queries(&path)
        };
        let query = |id: &str, place: &str| Query { id: id.into(), place: place.into() };
        let both = vec![query("a b", "line 1"), query("c", "line 2")];
        assert_eq!(read("q.txt", "a b\nc\n").unwrap(), both);
        let table = read("q.csv", "x,id\n1,a b\n2,c\n").unwrap();
        assert_eq!(table, [query("a b", "line 2"), query("c", "line 3")]);
        let refused = |name, text| read(name, text).unwrap_err().to_string();
        assert!(refused("q.txt", "a b\n\nc\n").ends_with("q.txt: line 2: blank; expected an id"));
        assert!(refused("q.txt", "a\r\n\r\n").contains("line 2: blank"));
        assert!(refused("q.csv", "x,id\n1,\n").contains("line 2"));
        for (name, text) in [("q.txt", ""), ("q.csv", "x,id\n")] {
            assert!(refused(name, text).ends_with("no ids; expected one or more"));
        }
        assert!(read("q.csv", "x\n1\n").unwrap_err().to_string().contains("no column `id`"));
    }
}

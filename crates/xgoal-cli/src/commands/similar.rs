use super::cluster::check_table;
use crate::Ending;
use crate::args::SimilarArgs;
use crate::output::{Output, Usage, count};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xgoal::ParseError;
use xgoal::io::answers;
use xgoal::io::embeddings::{self, Embeddings};
use xgoal::io::target;
use xgoal::run::embeddings_of;
use xgoal::similar::{Cells, Index, Neighbor};

/// Multiply-and-adds from which on an exact search is slow: some ten seconds on two cores.
const SLOW: f64 = 5e11;

/// Nodes with their neighbors, and how they were found.
#[derive(Serialize)]
struct Report {
    results: Vec<Found>,
    #[serde(flatten)]
    search: Search,
}

/// The neighbors are in a table.
#[derive(Serialize)]
struct Written {
    queries: usize,
    k: usize,
    out: String,
    #[serde(flatten)]
    search: Search,
}

#[derive(Serialize)]
struct Found {
    node: String,
    neighbors: Vec<Near>,
}

#[derive(Serialize)]
struct Near {
    id: String,
    cosine: f32,
}

#[derive(Serialize)]
struct Search {
    approximate: bool,
    /// Share of the exact neighbors found, measured on nodes of the same embeddings; 1 for an exact search.
    recall: f64,
}

pub fn run(args: &SimilarArgs, output: &Output) -> anyhow::Result<Ending> {
    check_table(args.out.as_deref())?;
    if args.ids.is_empty() && args.queries.is_none() {
        return Err(Usage("no nodes: expected one ID or more, or --queries FILE".into()).into());
    }
    let path = embeddings_of(&args.input.embeddings);
    if let Some(out) = &args.out {
        let read: Vec<PathBuf> = args.queries.iter().cloned().chain([path.clone()]).collect();
        target::check_apart(out, &read)?;
    }
    let embeddings = embeddings::read(&path, args.input.format)?;
    let rows = rows(args, &embeddings, &path)?;
    let index = Index::new((&embeddings.matrix).into())?;
    let (found, search) = search(args, &index, &rows)?;
    if search.approximate {
        output.say(format!(
            "approximate: finds {:.1} % of the {} nearest, measured on other nodes; --exact finds all",
            100.0 * search.recall,
            args.k
        ));
    }
    if let Some(out) = &args.out {
        answers::write_neighbors(out, &embeddings, &rows, &found)?;
        let out = out.display().to_string();
        let written = Written { queries: rows.len(), k: args.k, out, search };
        output.result(&written, || {
            format!("{}: the {} nearest of {} nodes", written.out, args.k, count(written.queries))
        })?;
        return Ok(Ending::Done);
    }
    let name = |row: &u32| embeddings.id(*row as usize);
    let near = |n: &Neighbor| Near { id: name(&n.node), cosine: n.cosine };
    let each = rows.iter().zip(&found);
    let mut results: Vec<Found> = each
        .map(|(row, found)| Found { node: name(row), neighbors: found.iter().map(near).collect() })
        .collect();
    // One node asked for by name is answered by one object.
    if args.queries.is_none() && results.len() == 1 && !search.approximate {
        let only = results.remove(0);
        output.result(&only, || text(&only))?;
        return Ok(Ending::Done);
    }
    let report = Report { results, search };
    output.result(&report, || report.results.iter().map(text).collect::<Vec<_>>().join("\n\n"))?;
    Ok(Ending::Done)
}

/// The rows of all nodes asked for.
fn rows(args: &SimilarArgs, embeddings: &Embeddings, path: &Path) -> anyhow::Result<Vec<u32>> {
    let queries = match &args.queries {
        Some(file) => answers::read_queries(file)?,
        None => Vec::new(),
    };
    let asked = args.ids.iter().map(String::as_str).chain(queries.iter().map(|q| q.id.as_str()));
    let rows = embeddings.rows_of(asked);
    let (given, read) = rows.split_at(args.ids.len());
    if let Some(at) = given.iter().position(Option::is_none) {
        let message = format!("{}: there is no node `{}`", path.display(), args.ids[at]);
        return Err(Usage(message).into());
    }
    if let (Some(at), Some(file)) = (read.iter().position(Option::is_none), &args.queries) {
        let query = &queries[at];
        let missing = read.iter().filter(|r| r.is_none()).count();
        let message = format!(
            "{}: `{}` is no node of {}{}",
            query.place,
            query.id,
            path.display(),
            if missing > 1 { format!(", nor are {} others", missing - 1) } else { String::new() }
        );
        return Err(ParseError::new(message).in_file(file).into());
    }
    Ok(rows.into_iter().flatten().collect())
}

/// Exact, unless that would take long or is not wanted.
fn search(
    args: &SimilarArgs,
    index: &Index,
    rows: &[u32],
) -> xgoal::Result<(Vec<Vec<Neighbor>>, Search)> {
    if args.exact || (!args.approximate && index.work(rows.len()) < SLOW) {
        return Ok((index.nearest(rows, args.k)?, Search { approximate: false, recall: 1.0 }));
    }
    let mut cells = Cells::build(index, 0)?;
    let recall = cells.tune(args.k, args.recall, 0);
    Ok((cells.nearest(rows, args.k)?, Search { approximate: true, recall }))
}

fn text(found: &Found) -> String {
    let mut lines = vec![found.node.escape_debug().to_string()];
    let line = |n: &Near| format!("  {:>6.3}  {}", n.cosine, n.id.escape_debug());
    lines.extend(found.neighbors.iter().map(line));
    lines.join("\n")
}

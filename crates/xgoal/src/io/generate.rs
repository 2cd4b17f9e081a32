//! Planted graphs of any size, written as a source without ever being in memory as a whole.
//!
//! What a node's row holds is drawn from streams that can be read at any place. Attributes are drawn in chunks of
//! rows. An edge belongs to two rows but is drawn once, so a layer is made in bands of rows: all edges are drawn and
//! those with an end in the band are kept. A band holds 16 million entries or so; a smaller layer is one band.

use super::npz::write::{NpzWriter, Rows, SparseRows};
use super::unfinished::Draft;
use super::{atomic, npy};
use crate::error::{Error, Result};
use crate::graph::planted::{LayerEdges, Planted};
use crate::random::{Purpose, Stream};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Entries of a layer that are in memory at a time, 12 bytes each.
const BAND: usize = 1 << 24;
/// Rows that are drawn at a time, by all threads together.
const CHUNK: usize = 1 << 16;
/// Rows that one thread draws at a time.
const STEP: usize = 1 << 12;

/// A planted graph, and dense attributes beside or in place of its words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generated {
    /// The graph; without words where `words` is 0.
    pub planted: Planted,
    /// Dense attributes per node: a normal noise around a centre of the node's community.
    pub dense: usize,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Written {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of attributes, of both kinds.
    pub features: usize,
    /// Stored entries of the sparse attributes.
    pub feature_entries: usize,
    /// Number of classes.
    pub classes: usize,
    /// The layers in order.
    pub layers: Vec<WrittenLayer>,
    /// The files in the folder; the manifest is the last.
    pub files: Vec<String>,
}

/// Most attributes of one kind: a source may have more, but a row of so many is a gigabyte.
pub const MOST_FEATURES: usize = 1 << 28;

/// One layer that was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WrittenLayer {
    /// Its name.
    pub name: String,
    /// Stored entries: both directions of an edge.
    pub edges: usize,
}

/// Writes a graph into a folder, which must not hold a source yet.
pub fn write(folder: &Path, generated: &Generated) -> Result<Written> {
    let Generated { planted, dense } = generated;
    planted.check()?;
    let features = planted.attributes.max(*dense);
    if features > MOST_FEATURES {
        return Err(Error::Data(format!(
            "cannot write {features} attributes; expected at most {MOST_FEATURES}"
        )));
    }
    if planted.words == 0 && *dense == 0 {
        return Err(Error::Data("no attributes to write: expected sparse or dense ones".into()));
    }
    let mut draft = Draft::new(folder)?;
    let mut new = |name: &str| {
        let path = folder.join(name);
        draft.add(&path).map(|()| path)
    };
    let mut files = vec!["nodes.csv".to_owned()];
    let mut text = format!(
        "# A planted multiplex graph: {} nodes in {} communities, seed {}.\n\n\
         [nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n",
        planted.nodes, planted.communities, planted.seed
    );
    write_nodes(&new("nodes.csv")?, planted)?;
    let mut feature_entries = 0;
    if planted.words > 0 {
        feature_entries = write_sparse(&new("words.npz")?, &Words(planted))?;
        text += "\n[[features]]\nname = \"words\"\nmatrix = \"words.npz\"\n";
        files.push("words.npz".into());
    }
    if *dense > 0 {
        write_dense(&new("dense.npy")?, planted, *dense)?;
        text += "\n[[features]]\nname = \"dense\"\nmatrix = \"dense.npy\"\n";
        files.push("dense.npy".into());
    }
    let mut layers = Vec::new();
    for v in 0..planted.layers {
        let name = planted.layer_name(v);
        let file = format!("{name}.npz");
        let edges = planted.layer_edges(v);
        let entries = write_sparse(&new(&file)?, &Bands { planted, edges, band: BAND })?;
        let _ = write!(text, "\n[[layers]]\nname = \"{name}\"\nmatrix = \"{file}\"\n");
        layers.push(WrittenLayer { name, edges: entries });
        files.push(file);
    }
    text += "\n[labels]\ncolumn = \"class\"\n\n[splits]\ncolumn = \"split\"\n";
    // Last, so that a folder with a manifest is a whole source.
    atomic::write(&new("graph.toml")?, |w| w.write_all(text.as_bytes()))?;
    draft.keep();
    files.push("graph.toml".into());
    let words = if planted.words > 0 { planted.attributes } else { 0 };
    Ok(Written {
        nodes: planted.nodes,
        features: words + dense,
        feature_entries,
        classes: planted.communities,
        layers,
        files,
    })
}

fn write_sparse(path: &Path, matrix: &impl SparseRows) -> Result<usize> {
    let mut entries = 0;
    atomic::write_seekable(path, |file| {
        let mut npz = NpzWriter::new(file);
        entries = npz.sparse("", matrix)?;
        npz.finish()?;
        Ok(())
    })?;
    Ok(entries)
}

fn write_nodes(path: &Path, planted: &Planted) -> Result<()> {
    let splits = planted.splits();
    let mut part = vec![""; planted.nodes];
    for (name, nodes) in [("train", &splits.train), ("val", &splits.val), ("test", &splits.test)] {
        nodes.iter().for_each(|n| part[*n as usize] = name);
    }
    let names: Vec<String> = (0..planted.communities).map(|c| planted.community_name(c)).collect();
    atomic::write(path, |w| {
        writeln!(w, "id,class,split")?;
        let mut line =
            |(n, part): (usize, &&str)| writeln!(w, "{n},{},{part}", names[planted.community(n)]);
        part.iter().enumerate().try_for_each(&mut line)
    })
}

fn write_dense(path: &Path, planted: &Planted, dense: usize) -> Result<()> {
    let stream = Stream::new(planted.seed, Purpose::Planted).substream(4);
    let (centre, noise) = (stream.substream(0), stream.substream(1));
    // Communities lie about as far apart as a node from its centre, whatever the number of columns.
    let spread = (2.0 / dense as f64).sqrt() * 3.0;
    let places = 0..(planted.communities * dense) as u64;
    let centres: Vec<f64> = places.map(|i| spread * centre.normal(i)).collect();
    let row = |n: usize, out: &mut [f32]| {
        let centre = &centres[planted.community(n) * dense..][..dense];
        for (j, (value, centre)) in out.iter_mut().zip(centre).enumerate() {
            *value = (centre + noise.normal((n * dense + j) as u64)) as f32;
        }
    };
    let rows = (CHUNK * 64 / dense).clamp(1, CHUNK);
    atomic::write(path, |w| {
        npy::write_header(w, "<f4", &[planted.nodes, dense])?;
        let mut values = vec![0f32; rows * dense];
        for from in (0..planted.nodes).step_by(rows) {
            let count = rows.min(planted.nodes - from);
            let chunk = &mut values[..count * dense];
            let numbered = chunk.par_chunks_mut(dense).enumerate();
            numbered.for_each(|(i, out)| row(from + i, out));
            npy::write_numbers(w, chunk, f32::to_le_bytes)?;
        }
        Ok(())
    })
}

/// The sparse attributes.
struct Words<'a>(&'a Planted);

impl SparseRows for Words<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.0.nodes, self.0.attributes)
    }

    fn each(&self, hand: &mut dyn FnMut(&Rows) -> io::Result<()>) -> io::Result<()> {
        let nodes = self.0.nodes;
        for chunk in (0..nodes).step_by(CHUNK) {
            let end = (chunk + CHUNK).min(nodes);
            let steps: Vec<Rows> = (chunk..end)
                .into_par_iter()
                .step_by(STEP)
                .map(|from| self.rows(from..(from + STEP).min(end)))
                .collect();
            steps.iter().try_for_each(&mut *hand)?;
        }
        Ok(())
    }
}

impl Words<'_> {
    fn rows(&self, nodes: std::ops::Range<usize>) -> Rows {
        let mut rows = Rows::default();
        let mut words = Vec::with_capacity(self.0.words);
        for n in nodes {
            words.clear();
            self.0.words_of(n, |word| words.push(word));
            words.sort_unstable();
            for same in words.chunk_by(|a, b| a == b) {
                rows.columns.push(same[0]);
                rows.values.push(same.len() as f32);
            }
            rows.ends.push(rows.columns.len());
        }
        rows
    }
}

/// A layer, band by band.
struct Bands<'a> {
    planted: &'a Planted,
    edges: LayerEdges<'a>,
    /// Entries of one band, about.
    band: usize,
}

impl SparseRows for Bands<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.planted.nodes, self.planted.nodes)
    }

    fn each(&self, hand: &mut dyn FnMut(&Rows) -> io::Result<()>) -> io::Result<()> {
        let nodes = self.planted.nodes;
        let height = (self.band / self.planted.degree.max(1)).clamp(1, nodes);
        for from in (0..nodes).step_by(height) {
            hand(&self.rows(from..(from + height).min(nodes)))?;
        }
        Ok(())
    }
}

impl Bands<'_> {
    /// The rows of one band: all edges are drawn, those that touch it are kept.
    fn rows(&self, band: std::ops::Range<usize>) -> Rows {
        let nodes = self.planted.nodes;
        let drawn: Vec<Vec<(u32, u32)>> = (0..nodes)
            .into_par_iter()
            .step_by(STEP)
            .map(|from| {
                let mut kept = Vec::new();
                self.edges.each(from..(from + STEP).min(nodes), |a, b| {
                    for (row, column) in [(a, b), (b, a)] {
                        if band.contains(&(row as usize)) {
                            kept.push((row - band.start as u32, column));
                        }
                    }
                });
                kept
            })
            .collect();
        let mut starts = vec![0usize; band.len() + 1];
        drawn.iter().flatten().for_each(|(row, _)| starts[*row as usize + 1] += 1);
        (0..band.len()).for_each(|r| starts[r + 1] += starts[r]);
        let mut columns = vec![0u32; starts[band.len()]];
        let mut next = starts.clone();
        for (row, column) in drawn.into_iter().flatten() {
            let slot = &mut next[row as usize];
            columns[*slot] = column;
            *slot += 1;
        }
        let mut ends = Vec::with_capacity(band.len());
        let mut kept = 0;
        for range in starts.windows(2) {
            columns[range[0]..range[1]].sort_unstable();
            let row = kept;
            for at in range[0]..range[1] {
                // The same pair drawn twice is one edge.
                if kept == row || columns[kept - 1] != columns[at] {
                    columns[kept] = columns[at];
                    kept += 1;
                }
            }
            ends.push(kept);
        }
        columns.truncate(kept);
        let values = vec![1.0; columns.len()];
        Rows { ends, columns, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::source::read_source;
    use crate::matrix::Matrix;

    fn small() -> Planted {
        Planted { nodes: 303, communities: 6, attributes: 50, degree: 7, ..Planted::default() }
    }

    #[test]
    fn what_is_written_is_what_is_generated_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path(), &Generated { planted: small(), dense: 0 }).unwrap();
        let read = read_source(folder.path(), None).unwrap();
        let graph = small().generate().unwrap();
        assert_eq!(read.layers(), graph.layers());
        assert_eq!(read.attributes(), graph.attributes());
        assert_eq!(read.labels(), graph.labels());
        let sorted = |part: &[u32]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        };
        let (found, expected) = (read.splits().unwrap(), graph.splits().unwrap());
        assert_eq!(found.train, sorted(&expected.train));
        assert_eq!(found.val, sorted(&expected.val));
        assert_eq!(found.test, sorted(&expected.test));
        assert_eq!(written.layers[1].edges, graph.layers()[1].adjacency.nnz());
        let again = write(folder.path(), &Generated { planted: small(), dense: 0 });
        assert!(again.unwrap_err().to_string().contains("already a source"));
    }

    #[test]
    fn bands_do_not_change_a_layer() {
        let planted = small();
        let whole = |band| {
            let bands = Bands { planted: &planted, edges: planted.layer_edges(1), band };
            let (mut lengths, mut columns) = (Vec::new(), Vec::new());
            bands
                .each(&mut |rows| {
                    let mut before = 0;
                    for end in &rows.ends {
                        lengths.push(end - before);
                        before = *end;
                    }
                    columns.extend_from_slice(&rows.columns);
                    Ok(())
                })
                .unwrap();
            (lengths, columns)
        };
        assert_eq!(whole(1 << 20), whole(50));
    }

    #[test]
    fn dense_attributes_stand_beside_or_in_place_of_words() {
        let folder = tempfile::tempdir().unwrap();
        let both = folder.path().join("both");
        write(&both, &Generated { planted: small(), dense: 9 }).unwrap();
        assert_eq!(read_source(&both, None).unwrap().attributes().cols(), 59);
        let alone = folder.path().join("alone");
        let planted = Planted { words: 0, ..small() };
        let written = write(&alone, &Generated { planted, dense: 9 }).unwrap();
        assert_eq!((written.features, written.feature_entries), (9, 0));
        let graph = read_source(&alone, None).unwrap();
        assert!(matches!(graph.attributes(), Matrix::Dense(m) if m.cols() == 9));
        assert!(write(&alone.join("x"), &Generated { planted, dense: 0 }).is_err());
    }
}

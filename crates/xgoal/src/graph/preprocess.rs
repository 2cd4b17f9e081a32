//! What is done to a graph before it is encoded.
//!
//! - attributes: columns lose what all nodes have in common ([`Columns`]), if asked; then each row is divided by its sum of absolute values (`l1`), by its Euclidean norm (`l2`),
//!   or left alone (`none`); empty rows stay zero. If asked they are then smoothed over the layers, so many times, and rows are
//!   divided again. Columns without their means, and smoothed rows, are stored dense;
//! - edges: a node whose row is empty gets a self-loop of weight 1 (`self_loops = "isolated"`), or every node that has
//!   none gets one as heavy as its edges are on average (`all`); then
//!   `D^-1/2 A D^-1/2` with `D` the row sums (`symmetric`), or no scaling (`none`).
//!
//! Sums run in f64, so weights up to f32's range are safe.

pub use super::columns::Columns;
use super::smooth::smooth;
use super::{Layer, MultiplexGraph};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Dense, Matrix};
use crate::settings::{AttributeNorm, ColumnNorm, EdgeNorm, SelfLoops};
use std::borrow::Cow;

/// The preprocessing part of the settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preprocessing {
    /// How attribute rows are scaled.
    pub attributes: AttributeNorm,
    /// What is done to their columns first.
    pub columns: ColumnNorm,
    /// How often they are smoothed over the layers.
    pub smooth: usize,
    /// How edge weights are scaled.
    pub edges: EdgeNorm,
    /// Who gets a self-loop.
    pub self_loops: SelfLoops,
    /// What the rows of structure are multiplied by where they stand beside the attributes.
    pub structure: f32,
}

/// A graph ready for the engine. What preprocessing leaves as it is, is borrowed.
#[derive(Debug, Clone)]
pub struct Preprocessed<'a> {
    /// Normalised layers, in order.
    pub layers: Vec<Normalized<'a>>,
    /// Normalised attributes.
    pub attributes: Cow<'a, Matrix>,
}

/// A layer and what its entries are multiplied by: entry (i, j) is `factor_i * weight * factor_j`.
#[derive(Debug, Clone)]
pub struct Normalized<'a> {
    /// The entries before normalisation, self-loops included.
    pub weights: Cow<'a, Csr>,
    factors: Option<Vec<f64>>,
}

impl Normalized<'_> {
    /// The normalised value of an entry.
    pub fn value(&self, row: usize, col: usize, weight: f32) -> f32 {
        match &self.factors {
            None => weight,
            Some(f) => (f64::from(weight) * f[row] * f[col]) as f32,
        }
    }

    /// The normalised entries, each passed through `f`.
    pub fn map<T: Copy + Default>(&self, f: impl Fn(f32) -> T) -> Csr<T> {
        self.weights.map_entries(|r, c, v| f(self.value(r, c, v)))
    }

    /// Whether every entry is 1 before normalisation.
    pub fn is_binary(&self) -> bool {
        self.weights.values().all(|v| v == 1.0)
    }

    /// The factor of each node.
    pub fn factors(&self) -> impl Iterator<Item = f64> {
        let nodes = 0..self.weights.rows();
        nodes.map(|n| self.factors.as_ref().map_or(1.0, |f| f[n]))
    }
}

impl Preprocessing {
    /// Applies the settings to a graph that is to be trained on.
    pub fn apply<'a>(&self, graph: &'a MultiplexGraph) -> Result<Preprocessed<'a>> {
        self.apply_with(graph, self.columns(graph).as_ref())
    }

    /// What the columns of this graph's attributes lose, where they do.
    pub fn columns(&self, graph: &MultiplexGraph) -> Option<Columns> {
        Columns::of(graph.attributes(), self.columns)
    }

    /// Applies the settings to a graph whose columns lose what those of another one do.
    pub fn apply_with<'a>(
        &self,
        graph: &'a MultiplexGraph,
        columns: Option<&Columns>,
    ) -> Result<Preprocessed<'a>> {
        let layers = graph.layers().iter().map(|l| self.layer(l)).collect::<Result<_>>();
        Ok(Preprocessed {
            layers: layers.map_err(|e| graph.name_source(e))?,
            attributes: self.attributes(graph, columns),
        })
    }

    /// Whether attributes are stored dense whatever they were.
    pub(crate) fn makes_dense(&self) -> bool {
        self.columns != ColumnNorm::None || self.smooth > 0
    }

    /// What a row of sparse attributes is multiplied by.
    pub(crate) fn row_factor(&self, row: &[f32]) -> f32 {
        size(self.attributes, row).filter(|s| *s > 0.0).map_or(1.0, |s| (1.0 / s) as f32)
    }

    /// The graph's own attributes, and its structure beside them.
    fn attributes<'a>(
        &self,
        graph: &'a MultiplexGraph,
        columns: Option<&Columns>,
    ) -> Cow<'a, Matrix> {
        let own = match self.makes_dense() {
            false => scale_rows(self.attributes, Cow::Borrowed(graph.attributes())),
            true => Cow::Owned(Matrix::Dense(self.dense_attributes(graph, columns))),
        };
        match graph.structure() {
            None => own,
            Some(structure) => Cow::Owned(own.beside(structure, self.structure)),
        }
    }

    /// The graph's own attributes, every entry stored.
    pub(crate) fn dense_attributes(
        &self,
        graph: &MultiplexGraph,
        columns: Option<&Columns>,
    ) -> Dense {
        let mut attributes = dense(graph.attributes());
        if let Some(columns) = columns {
            columns.apply(&mut attributes);
        }
        self.attributes.scale(&mut attributes);
        let layers: Vec<&Csr> = graph.layers().iter().map(|layer| &layer.adjacency).collect();
        for _ in 0..self.smooth {
            attributes = smooth(&layers, &attributes);
            self.attributes.scale(&mut attributes);
        }
        attributes
    }

    fn layer<'a>(&self, layer: &'a Layer) -> Result<Normalized<'a>> {
        let weights = match self.self_loops {
            SelfLoops::None => Cow::Borrowed(&layer.adjacency),
            loops => with_loops(&layer.adjacency, |r| own_loop(loops, &layer.adjacency, r)),
        };
        let factors = match self.edges {
            EdgeNorm::None => None,
            EdgeNorm::Symmetric => Some(symmetric(&layer.name, &weights, |_| 0.0)?),
        };
        Ok(Normalized { weights, factors })
    }
}

/// The self-loop a node is given, where that is not among the stored entries.
pub(crate) fn own_loop(loops: SelfLoops, m: &Csr, r: usize) -> Option<f32> {
    match loops {
        SelfLoops::Isolated => of_isolated(m, r),
        SelfLoops::All => of_all(m, r),
        SelfLoops::None => None,
    }
}

/// What a layer's entries are multiplied by in symmetric normalisation, self-loops counted.
pub(crate) fn degree_factors(layer: &Layer, loops: SelfLoops) -> Result<Vec<f32>> {
    let of = |r| own_loop(loops, &layer.adjacency, r).map_or(0.0, f64::from);
    let factors = symmetric(&layer.name, &layer.adjacency, of)?;
    Ok(factors.into_iter().map(|f| f as f32).collect())
}

/// A copy with every entry stored.
fn dense(matrix: &Matrix) -> Dense {
    match matrix {
        Matrix::Dense(m) => m.clone(),
        Matrix::Sparse(m) => {
            let mut dense = Dense::zeros(m.rows(), m.cols());
            for r in 0..m.rows() {
                let (columns, values) = m.row(r);
                let row = &mut dense.values_mut()[r * m.cols()..][..m.cols()];
                columns.iter().zip(values).for_each(|(c, v)| row[*c as usize] = *v);
            }
            dense
        }
    }
}

fn scale_rows(norm: AttributeNorm, mut attributes: Cow<'_, Matrix>) -> Cow<'_, Matrix> {
    if norm == AttributeNorm::None {
        return attributes;
    }
    match attributes.to_mut() {
        Matrix::Sparse(m) => {
            let indptr = m.indptr().to_vec();
            for w in indptr.windows(2) {
                scale_row(norm, &mut m.values_mut()[w[0]..w[1]]);
            }
        }
        Matrix::Dense(m) => norm.scale(m),
    }
    attributes
}

impl AttributeNorm {
    /// Scales every row; rows of zeros stay.
    pub(crate) fn scale(self, m: &mut Dense) {
        let cols = m.cols();
        m.values_mut().chunks_mut(cols).for_each(|row| scale_row(self, row));
    }
}

/// The size of a row, where rows are divided by it.
fn size(norm: AttributeNorm, row: &[f32]) -> Option<f64> {
    match norm {
        AttributeNorm::None => None,
        AttributeNorm::L1 => Some(row.iter().map(|v| f64::from(v.abs())).sum::<f64>()),
        AttributeNorm::L2 => Some(row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()),
    }
}

fn scale_row(norm: AttributeNorm, row: &mut [f32]) {
    if let Some(size) = size(norm, row).filter(|size| *size > 0.0) {
        row.iter_mut().for_each(|v| *v = (f64::from(*v) / size) as f32);
    }
}

/// Adds self-loops to the rows that want one, of the weight given for each.
fn with_loops(m: &Csr, wanted: impl Fn(usize) -> Option<f32>) -> Cow<'_, Csr> {
    let n = m.rows();
    if !(0..n).any(|r| wanted(r).is_some()) {
        return Cow::Borrowed(m);
    }
    let mut entries = Vec::with_capacity(m.nnz());
    let mut indptr = vec![0usize];
    let mut indices = Vec::with_capacity(m.nnz());
    for r in 0..n {
        let (cols, values) = m.row(r);
        let own = wanted(r);
        let (before, after) = match own {
            None => (cols.len(), cols.len()),
            // A zero that is stored there makes room.
            Some(_) => (
                cols.partition_point(|c| (*c as usize) < r),
                cols.partition_point(|c| *c as usize <= r),
            ),
        };
        indices.extend_from_slice(&cols[..before]);
        entries.extend_from_slice(&values[..before]);
        indices.extend(own.map(|_| r as u32));
        entries.extend(own);
        indices.extend_from_slice(&cols[after..]);
        entries.extend_from_slice(&values[after..]);
        indptr.push(indices.len());
    }
    Cow::Owned(Csr::try_new(n, n, indptr, indices, entries).expect("rows stay sorted"))
}

/// A loop of weight 1 for a row without an edge.
fn of_isolated(m: &Csr, r: usize) -> Option<f32> {
    m.row(r).1.iter().all(|v| *v == 0.0).then_some(1.0)
}

/// A loop as heavy as an edge of the row is on average, for a row that has none yet.
fn of_all(m: &Csr, r: usize) -> Option<f32> {
    let (columns, values) = m.row(r);
    let own = columns.binary_search(&(r as u32)).is_ok_and(|at| values[at] != 0.0);
    let edges = values.iter().filter(|v| **v != 0.0);
    let sum: f64 = edges.clone().map(|v| f64::from(*v)).sum();
    let mean = (sum / edges.count() as f64) as f32;
    (!own).then_some(if mean > 0.0 { mean } else { 1.0 })
}

/// The inverse roots of the row sums, with what is added to each.
fn symmetric(name: &str, m: &Csr, more: impl Fn(usize) -> f64) -> Result<Vec<f64>> {
    let n = m.rows();
    let mut inverse_root = vec![0f64; n];
    for (r, inverse) in inverse_root.iter_mut().enumerate() {
        let (cols, values) = m.row(r);
        if let Some(at) = values.iter().position(|v| *v < 0.0) {
            return Err(Error::Data(format!(
                "layer `{name}`: weight {} at row {r}, column {}; symmetric normalisation needs \
                 weights of at least 0 (or set normalize_edges = \"none\")",
                values[at], cols[at]
            )));
        }
        let degree = values.iter().map(|v| f64::from(*v)).sum::<f64>() + more(r);
        if degree > 0.0 {
            *inverse = degree.sqrt().recip();
        }
    }
    Ok(inverse_root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    fn graph(entries: Vec<(u32, u32, f32)>) -> MultiplexGraph {
        let adjacency = Csr::from_triplets(3, 3, entries).unwrap();
        let values = vec![1.0, 3.0, 0.0, 0.0, -3.0, 4.0];
        MultiplexGraph::new(
            vec![Layer { name: "a".into(), adjacency }],
            Matrix::Dense(Dense::from_vec(3, 2, values).unwrap()),
        )
        .unwrap()
    }

    fn preprocessing(attributes: AttributeNorm) -> Preprocessing {
        Preprocessing {
            attributes,
            columns: ColumnNorm::None,
            smooth: 0,
            edges: EdgeNorm::Symmetric,
            self_loops: SelfLoops::Isolated,
            structure: 1.0,
        }
    }

    #[test]
    fn isolated_nodes_get_a_loop_then_degrees_divide() {
        let g = graph(vec![(0, 1, 2.0), (1, 0, 2.0), (1, 1, 6.0)]);
        let out = preprocessing(AttributeNorm::L1).apply(&g).unwrap();
        let a = out.layers[0].map(|v| v);
        assert_eq!(a.row(2), (&[2u32][..], &[1.0f32][..]));
        assert_eq!(a.row(0).1, [0.5]); // 2 / sqrt(2 * 8)
        assert_eq!(a.row(1).1, [0.5, 0.75]);
    }

    #[test]
    fn every_node_gets_a_loop_like_its_edges() {
        let g = graph(vec![(0, 1, 2.0), (0, 2, 4.0), (1, 0, 2.0), (1, 1, 6.0)]);
        let all = Preprocessing {
            edges: EdgeNorm::None,
            self_loops: SelfLoops::All,
            ..preprocessing(AttributeNorm::None)
        };
        let out = all.apply(&g).unwrap();
        let weights = &out.layers[0].weights;
        assert_eq!(weights.row(0), (&[0u32, 1, 2][..], &[3.0f32, 2.0, 4.0][..]));
        assert_eq!(weights.row(1).1, [2.0, 6.0]);
        assert_eq!(weights.row(2), (&[2u32][..], &[1.0f32][..]));
    }

    #[test]
    fn attribute_rows_are_scaled() {
        let g = graph(vec![(0, 1, 1.0)]);
        let values = |norm| match preprocessing(norm).apply(&g).unwrap().attributes.into_owned() {
            Matrix::Dense(m) => m.into_values(),
            Matrix::Sparse(_) => panic!("stays dense"),
        };
        assert_eq!(values(AttributeNorm::L1), [0.25, 0.75, 0.0, 0.0, -3.0 / 7.0, 4.0 / 7.0]);
        assert_eq!(values(AttributeNorm::L2)[4..], [-0.6, 0.8]);
        assert_eq!(values(AttributeNorm::None)[..2], [1.0, 3.0]);
    }

    #[test]
    fn columns_then_rows_then_neighbours() {
        let g = graph(vec![(0, 1, 2.0)]);
        let with = |columns, smooth, norm| {
            let all = Preprocessing { columns, smooth, ..preprocessing(norm) };
            let sparse = Matrix::Sparse(g.attributes().clone().into_csr());
            let sparse = MultiplexGraph::new(g.layers().to_vec(), sparse).unwrap();
            // However they are stored, the same comes of it.
            let out = all.apply(&g).unwrap().attributes.into_owned();
            assert_eq!(out, all.apply(&sparse).unwrap().attributes.into_owned());
            match out {
                Matrix::Dense(m) => m.into_values(),
                Matrix::Sparse(_) => panic!("is dense"),
            }
        };
        let (center, none) = (ColumnNorm::Center, ColumnNorm::None);
        let third = 1.0 / 3.0;
        let centred = with(center, 0, AttributeNorm::None);
        let expected = [1.0 + 2.0 * third, 2.0 * third, 2.0 * third, -7.0 * third];
        assert!(centred.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{centred:?}");
        // The first node becomes the mean of itself, (0.25, 0.75), and of its neighbour, (0, 0), and is scaled again.
        assert_eq!(with(none, 1, AttributeNorm::L1)[..4], [0.25, 0.75, 0.0, 0.0]);
        assert_eq!(with(none, 1, AttributeNorm::None)[..4], [0.5, 1.5, 0.0, 0.0]);
        assert_eq!(with(none, 2, AttributeNorm::None)[..4], [0.25, 0.75, 0.0, 0.0]);
    }

    #[test]
    fn another_graph_loses_what_the_first_did() {
        let g = graph(vec![(0, 1, 1.0)]);
        let all = Preprocessing { columns: ColumnNorm::Center, ..preprocessing(AttributeNorm::L2) };
        let columns = all.columns(&g).unwrap();
        let one = Matrix::Dense(Dense::from_vec(1, 2, vec![1.0, 3.0]).unwrap());
        let alone = Layer { name: "a".into(), adjacency: Csr::empty(1, 1) };
        let one = MultiplexGraph::new(vec![alone], one).unwrap();
        let row = |p: &Preprocessed<'_>| match &*p.attributes {
            Matrix::Dense(m) => m.row(0).to_vec(),
            Matrix::Sparse(_) => panic!("is dense"),
        };
        let whole = row(&all.apply(&g).unwrap());
        assert_eq!(row(&all.apply_with(&one, Some(&columns)).unwrap()), whole);
        // By its own mean nothing would be left of it.
        assert_eq!(row(&all.apply(&one).unwrap()), [0.0, 0.0]);
    }

    #[test]
    fn huge_weights_normalise_and_negative_ones_are_refused() {
        let g = graph(vec![(0, 1, 1e30), (1, 0, 1e30), (2, 2, 1e30)]);
        let out = preprocessing(AttributeNorm::L1).apply(&g).unwrap();
        assert_eq!(out.layers[0].map(|v| v).values().collect::<Vec<_>>(), [1.0, 1.0, 1.0]);
        let negative = graph(vec![(1, 2, -1.0)]);
        let message = preprocessing(AttributeNorm::L1).apply(&negative).unwrap_err().to_string();
        assert!(message.contains("layer `a`: weight -1 at row 1, column 2"), "{message}");
    }
}

//! Attributes as encoders see them, and the directions in which nodes differ the most there.
//!
//! ```text
//!     M = X + sum_v A_v X                columns centred; without the X alone for a plain GCN
//! ```
//!
//! M is never made: it is known by its products, and its leading right singular vectors come from a few steps of
//! orthogonal iteration. What training is held against is told in the same way: M = X, and M = A A X with A an average over
//! neighbours.

use crate::graph::preprocess::Normalized;
use crate::matrix::{Csr, Dense, Matrix, centre, leading};
use crate::random::Stream;
use crate::real::{Real, View, ViewMut};
use crate::settings::Encoder;
use rayon::prelude::*;

/// Steps of the iteration.
const ITERATIONS: usize = 12;
/// How many more columns than there are the table of random numbers has that the iteration starts from: those of a seed
/// stay what they were when so many more were iterated.
const UNREAD: usize = 16;
/// Rows of dense attributes that are multiplied at a time.
const BLOCK: usize = 256;

/// The attributes as encoders see them: a node's own, and through every layer.
pub(crate) struct Seen<'a> {
    attributes: &'a Matrix,
    /// Their transpose, of sparse ones.
    columns: Option<Csr>,
    /// Each layer and its transpose.
    layers: Vec<(Csr, Csr)>,
    own: bool,
    /// How often rows go through the layers.
    times: usize,
}

impl<'a> Seen<'a> {
    pub fn new(encoder: Encoder, attributes: &'a Matrix, layers: &[Normalized<'_>]) -> Self {
        let layers = layers.iter().map(|layer| layer.map(|v| v)).collect();
        Self::of(attributes, layers, encoder == Encoder::FirstOrder, 1)
    }

    /// The attributes as they are.
    pub fn plain(attributes: &'a Matrix) -> Self {
        Self::of(attributes, Vec::new(), true, 1)
    }

    /// The attributes after so many products with a matrix.
    pub fn multiplied(attributes: &'a Matrix, by: Csr, times: usize) -> Self {
        Self::of(attributes, vec![by], false, times)
    }

    fn of(attributes: &'a Matrix, layers: Vec<Csr>, own: bool, times: usize) -> Self {
        let columns = match attributes {
            Matrix::Sparse(m) => Some(m.transpose()),
            Matrix::Dense(_) => None,
        };
        let layers = layers.into_iter().map(|layer| {
            let transposed = layer.transpose();
            (layer, transposed)
        });
        Self { attributes, columns, layers: layers.collect(), own, times }
    }

    /// Bytes that finding so many directions takes, of layers with so many entries.
    pub fn bytes(attributes: &Matrix, entries: impl IntoIterator<Item = u64>, kept: u64) -> u64 {
        let (nodes, features) = (attributes.rows() as u64, attributes.cols() as u64);
        let width = kept.min(features);
        let columns = match attributes {
            Matrix::Sparse(m) => 8 * (m.nnz() as u64 + features),
            Matrix::Dense(_) => 0,
        };
        let layers = entries.into_iter().map(|e| 16 * (e + nodes)).sum::<u64>();
        columns + layers + 8 * width * (2 * nodes + 3 * features)
    }

    /// About the leading right singular vectors of M, F x `width`.
    pub fn leading(&self, width: usize, stream: Stream) -> Vec<f64> {
        let features = self.attributes.cols();
        let product = |basis: &[f64]| {
            let layers = self.layers.iter().map(|(layer, _)| layer);
            let mut seen = self.through(layers, &self.project(basis, width), width);
            centre(&mut seen, width);
            let transposed = self.layers.iter().map(|(_, transposed)| transposed);
            self.pull(&self.through(transposed, &seen, width), width)
        };
        let wide = (width + UNREAD).min(features);
        let start = |i: usize| stream.normal((i / width * wide + i % width) as u64);
        leading(features, width, ITERATIONS, start, product).basis
    }

    /// The root mean square over layers, nodes and coordinates of what goes into the activations, about its mean.
    pub fn size(&self, basis: &[f64], kept: usize, dim: usize) -> f64 {
        let projected = self.project(basis, kept);
        let square = |layer: &Csr| {
            let mut seen = self.through([layer], &projected, kept);
            centre(&mut seen, kept);
            seen.iter().map(|v| v * v).sum::<f64>()
        };
        let squares: f64 = self.layers.iter().map(|(layer, _)| square(layer)).sum();
        (squares / (self.layers.len() * self.attributes.rows() * dim) as f64).sqrt()
    }

    /// M B, a row per node, B being about so many leading right singular vectors of M.
    pub fn rows<T: Real>(&self, kept: usize, stream: Stream) -> Dense<T> {
        let kept = kept.min(self.attributes.cols());
        let layers = self.layers.iter().map(|(layer, _)| layer);
        let basis = self.leading(kept, stream);
        let seen = self.through(layers, &self.project(&basis, kept), kept);
        let values = seen.into_iter().map(T::from_f64).collect();
        Dense::from_vec(self.attributes.rows(), kept, values).expect("a row per node")
    }

    /// The rows of a table for each node itself, where the encoder has them, and through layers, added up.
    fn through<'b>(
        &self,
        layers: impl IntoIterator<Item = &'b Csr> + Clone,
        table: &[f64],
        width: usize,
    ) -> Vec<f64> {
        let once = |table: &[f64]| {
            let mut sum = if self.own { table.to_vec() } else { vec![0.0; table.len()] };
            layers.clone().into_iter().for_each(|layer| add_product(layer, table, width, &mut sum));
            sum
        };
        (1..self.times).fold(once(table), |sum, _| once(&sum))
    }

    /// X B.
    fn project(&self, basis: &[f64], width: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.attributes.rows() * width];
        match self.attributes {
            Matrix::Sparse(m) => add_product(m, basis, width, &mut out),
            Matrix::Dense(m) => {
                let blocks = out.par_chunks_mut(BLOCK * width);
                blocks.zip(m.values().par_chunks(BLOCK * m.cols())).for_each(|(out, x)| {
                    let x: Vec<f64> = x.iter().copied().map(f64::from).collect();
                    let rows = x.len() / m.cols();
                    let basis = View::new(basis, m.cols(), width);
                    let into = &mut ViewMut::new(out, rows, width);
                    f64::gemm(1.0, View::new(&x, rows, m.cols()), basis, 0.0, into);
                });
            }
        }
        out
    }

    /// X^T Z.
    fn pull(&self, rows: &[f64], width: usize) -> Vec<f64> {
        let features = self.attributes.cols();
        let mut out = vec![0.0; features * width];
        match (&self.columns, self.attributes) {
            (Some(columns), _) => add_product(columns, rows, width, &mut out),
            (None, Matrix::Dense(m)) => {
                // Block after block, so that sums have one order.
                let blocks = m.values().chunks(BLOCK * features);
                for (x, z) in blocks.zip(rows.chunks(BLOCK * width)) {
                    let x: Vec<f64> = x.iter().copied().map(f64::from).collect();
                    let count = z.len() / width;
                    let into = &mut ViewMut::new(&mut out, features, width);
                    let x = View::new(&x, count, features).t();
                    f64::gemm(1.0, x, View::new(z, count, width), 1.0, into);
                }
            }
            (None, Matrix::Sparse(_)) => unreachable!("sparse attributes have their transpose"),
        }
        out
    }
}

/// `out += matrix * table`.
fn add_product(matrix: &Csr, table: &[f64], width: usize, out: &mut [f64]) {
    out.par_chunks_mut(width).enumerate().for_each(|(r, out)| {
        let (columns, values) = matrix.row(r);
        for (column, value) in columns.iter().zip(values) {
            let from = &table[*column as usize * width..][..width];
            out.iter_mut().zip(from).for_each(|(o, v)| *o += f64::from(*value) * v);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Layer, MultiplexGraph};
    use crate::random::Purpose;
    use crate::settings::Settings;

    const NODES: usize = 120;
    const FEATURES: usize = 30;

    /// Attributes that say in three columns which of six groups a node is of, beside noise.
    fn graph(sparse: bool) -> MultiplexGraph {
        let stream = Stream::new(8, Purpose::Planted);
        let value = |n: usize, c: usize| {
            let group = if (n % 6) >> c & 1 == 1 && c < 3 { 2.0 } else { 0.0 };
            group + 0.1 * stream.uniform((FEATURES * n + c) as u64) as f32
        };
        let values = (0..NODES * FEATURES).map(|i| value(i / FEATURES, i % FEATURES)).collect();
        let attributes = Dense::from_vec(NODES, FEATURES, values).unwrap();
        let attributes = match sparse {
            true => Matrix::Sparse(Csr::from_dense(&attributes)),
            false => Matrix::Dense(attributes),
        };
        let edges = (0..NODES as u32).map(|n| (n, (n + 6) % NODES as u32, 1.0)).collect();
        let adjacency = Csr::from_triplets(NODES, NODES, edges).unwrap();
        MultiplexGraph::new(vec![Layer { name: "ring".into(), adjacency }], attributes).unwrap()
    }

    #[test]
    fn what_training_is_held_against_is_seen_likewise() {
        let dense = |rows: usize, cols: usize, values: Vec<f32>| {
            Matrix::Dense(Dense::from_vec(rows, cols, values).unwrap())
        };
        // Three nodes that differ in one direction, each moved on by one, twice.
        let attributes = dense(3, 2, vec![3.0, 4.0, 0.0, 0.0, -3.0, -4.0]);
        let ring = Csr::from_triplets(3, 3, vec![(0, 1, 0.5), (1, 2, 0.5), (2, 0, 0.5)]).unwrap();
        let stream = Stream::new(1, Purpose::Seen);
        let close = |seen: &Seen<'_>, expected: [f64; 3]| {
            let rows = seen.rows::<f64>(1, stream);
            let product: f64 = rows.values().iter().zip(expected).map(|(a, b)| a * b).sum();
            let sign = product.signum();
            for (a, b) in rows.values().iter().zip(expected) {
                assert!((sign * a - b).abs() < 1e-9, "{rows:?} and {expected:?}");
            }
        };
        close(&Seen::plain(&attributes), [5.0, 0.0, -5.0]);
        close(&Seen::multiplied(&attributes, ring.clone(), 1), [0.0, -2.5, 2.5]);
        close(&Seen::multiplied(&attributes, ring, 2), [-1.25, 1.25, 0.0]);
    }

    /// Sum over columns of the squares about their means.
    fn scatter(mut rows: Vec<f64>, width: usize) -> f64 {
        centre(&mut rows, width);
        rows.iter().map(|v| v * v).sum()
    }

    #[test]
    fn rows_keep_what_varies_most() {
        for (sparse, encoder) in [(true, "first-order"), (false, "first-order"), (true, "gcn")] {
            let graph = graph(sparse);
            let mut settings = Settings::default();
            settings.set("encoder", encoder).unwrap();
            settings.set("normalize_attributes", "none").unwrap();
            let config = settings.validate(&graph.layer_names()).unwrap();
            let graph = config.preprocessing().apply(&graph).unwrap();
            let seen = Seen::new(config.encoder(), &graph.attributes, &graph.layers);
            let identity: Vec<f64> =
                (0..FEATURES * FEATURES).map(|i| f64::from(i % (FEATURES + 1) == 0)).collect();
            let layers = seen.layers.iter().map(|(layer, _)| layer);
            let all = seen.through(layers, &seen.project(&identity, FEATURES), FEATURES);
            let all = scatter(all, FEATURES);
            let of = |kept: usize| {
                let rows = seen.rows::<f32>(kept, Stream::new(1, Purpose::Seen));
                assert_eq!((rows.rows(), rows.cols()), (NODES, kept.min(FEATURES)));
                let cols = rows.cols();
                scatter(rows.values().iter().copied().map(f64::from).collect(), cols) / all
            };
            // Three directions hold nearly everything, two do not, and all of them hold it all.
            assert!(of(3) > 0.97 && of(2) < 0.85, "{encoder}: {} {}", of(3), of(2));
            assert!((of(FEATURES + 5) - 1.0).abs() < 1e-5, "{encoder}: {}", of(FEATURES + 5));
        }
    }
}

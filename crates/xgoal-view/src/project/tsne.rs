//! t-SNE (van der Maaten and Hinton): points y of the plane whose similarities q are like the
//! affinities p of the rows.
//!
//! ```text
//!     C = sum_ij p_ij log(p_ij / (q_ij / Z)),      Z = sum_ij q_ij
//!     dC/dy_i = 4 (sum_j p_ij q_ij (y_i - y_j)  -  sum_j q_ij^2 (y_i - y_j) / Z)
//! ```
//!
//! Gradient descent with momentum and gains from the principal components, the affinities first 12 times
//! too large so that clusters find their places; step sizes after Belkina et al. (2019). All pairs up to
//! [`Tsne::EXACT`] points, a tree beyond.

use super::affinity::Affinities;
use super::repulsion::{Push, Tree, exact};
use super::{Point, pca};
use rayon::prelude::*;
use xgoal::matrix::Dense;
use xgoal::random::{Purpose, Stream};
use xgoal::similar::Neighbor;

/// Spread of the first component at the start.
const START: f32 = 1e-4;
/// Longest step of a point in one iteration.
const LONGEST: f32 = 5.0;
const MOMENTUM: f32 = 0.8;

/// How t-SNE lays points out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tsne {
    /// How many neighbours count, about.
    pub perplexity: f64,
    /// Iterations with exaggerated affinities.
    pub early: usize,
    /// Iterations after them.
    pub late: usize,
    /// Side over distance below which a square of points counts as one.
    pub theta: f32,
    /// Seed of the start's noise, which parts equal points.
    pub seed: u64,
}

impl Default for Tsne {
    fn default() -> Self {
        Self { perplexity: 30.0, early: 250, late: 500, theta: 0.5, seed: 0 }
    }
}

impl Tsne {
    /// Points up to which every pair is looked at.
    pub const EXACT: usize = 1000;
    const EXAGGERATION: f32 = 12.0;

    /// Nearest ones of each point that the layout looks at.
    pub fn neighbours(&self, points: usize) -> usize {
        let wanted = (3.0 * self.perplexity).ceil() as usize;
        wanted.min(points.saturating_sub(1))
    }

    /// Lays out the rows, given the nearest ones of each (itself not among them). It starts from the
    /// principal components, or from another layout of the same nodes, so that the two can be compared.
    /// `progress` hears the share that is done.
    pub fn fit(
        &self,
        points: &Dense,
        nearest: &[&[Neighbor]],
        guide: Option<&[Point]>,
        mut progress: impl FnMut(f64),
    ) -> Vec<Point> {
        let n = points.rows();
        let mut y = self.start(guide.map_or_else(|| pca(points), <[Point]>::to_vec));
        if n < 2 {
            return y;
        }
        let perplexity = self.perplexity.min((n - 1) as f64 / 3.0).max(1.0);
        let affinities = Affinities::new(nearest, perplexity);
        let mut descent = Descent::new(n, self.theta);
        let all = self.early + self.late;
        for iteration in 0..all {
            let exaggeration = if iteration < self.early { Self::EXAGGERATION } else { 1.0 };
            descent.step(&affinities, exaggeration, &mut y);
            progress((iteration + 1) as f64 / all as f64);
        }
        y
    }

    fn start(&self, mut y: Vec<Point>) -> Vec<Point> {
        let square = y.iter().map(|p| f64::from(p[0]).powi(2)).sum::<f64>();
        let spread = (square / y.len().max(1) as f64).sqrt() as f32;
        let scale = if spread > 0.0 { START / spread } else { 0.0 };
        let stream = Stream::new(self.seed, Purpose::Projection).substream(1);
        for (i, p) in y.iter_mut().enumerate() {
            let noise = |d: u64| 0.01 * START * stream.normal(2 * i as u64 + d) as f32;
            *p = [p[0] * scale + noise(0), p[1] * scale + noise(1)];
        }
        y
    }
}

/// What gradient descent remembers.
struct Descent {
    theta: f32,
    tree: Tree,
    pushes: Vec<Push>,
    moving: Vec<(Point, Point)>,
}

impl Descent {
    fn new(n: usize, theta: f32) -> Self {
        let moving = vec![([0.0; 2], [1.0; 2]); n];
        Self { theta, tree: Tree::default(), pushes: Vec::new(), moving }
    }

    fn step(&mut self, affinities: &Affinities, exaggeration: f32, y: &mut [Point]) {
        let n = y.len();
        match n <= Tsne::EXACT {
            true => exact(y, &mut self.pushes),
            false => self.tree.repulsion(y, self.theta, &mut self.pushes),
        }
        let z = self.pushes.iter().map(|p| f64::from(p.z)).sum::<f64>().max(f64::MIN_POSITIVE);
        let (scale, rate) = ((1.0 / z) as f32, n as f32 / exaggeration);
        let (here, pushes) = (&*y, &self.pushes);
        self.moving.par_iter_mut().enumerate().for_each(|(i, (step, gain))| {
            let mut pull = [0f32; 2];
            for (j, p) in affinities.row(i) {
                let (dx, dy) = (here[i][0] - here[j as usize][0], here[i][1] - here[j as usize][1]);
                let pq = p / (1.0 + dx * dx + dy * dy);
                pull[0] += pq * dx;
                pull[1] += pq * dy;
            }
            for d in 0..2 {
                let gradient = exaggeration * pull[d] - scale * pushes[i].force[d];
                let same = (gradient > 0.0) == (step[d] > 0.0);
                gain[d] = if same { (gain[d] * 0.8).max(0.01) } else { gain[d] + 0.2 };
                step[d] = MOMENTUM * step[d] - rate * gain[d] * gradient;
            }
            let length = step[0].hypot(step[1]);
            if length > LONGEST {
                step.iter_mut().for_each(|s| *s *= LONGEST / length);
            }
        });
        let mut mean = [0f64; 2];
        for (y, (step, _)) in y.iter_mut().zip(&self.moving) {
            for d in 0..2 {
                y[d] += step[d];
                mean[d] += f64::from(y[d]);
            }
        }
        let mean = mean.map(|m| (m / n as f64) as f32);
        y.iter_mut().for_each(|y| *y = [y[0] - mean[0], y[1] - mean[1]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xgoal::similar::Index;

    /// Points around `groups` corners of a cube of many dimensions.
    fn groups(n: usize, groups: usize) -> Dense {
        let stream = Stream::new(4, Purpose::Planted);
        let value = |i: usize| {
            let corner = if (i / 16 % groups) == i % 16 { 3.0 } else { 0.0 };
            (corner + 0.4 * stream.normal(i as u64)) as f32
        };
        Dense::from_vec(n, 16, (0..n * 16).map(value).collect()).unwrap()
    }

    fn layout(points: &Dense, tsne: &Tsne) -> Vec<Point> {
        let nodes: Vec<u32> = (0..points.rows() as u32).collect();
        let index = Index::new(points.into()).unwrap();
        let nearest = index.nearest(&nodes, tsne.neighbours(points.rows())).unwrap();
        let nearest: Vec<&[Neighbor]> = nearest.iter().map(Vec::as_slice).collect();
        tsne.fit(points, &nearest, None, |_| ())
    }

    /// The share of points whose nearest one on the plane is of their group.
    fn kept(flat: &[Point], groups: usize) -> f64 {
        let nearest = |i: usize| {
            let distance =
                |j: usize| (flat[i][0] - flat[j][0]).powi(2) + (flat[i][1] - flat[j][1]).powi(2);
            let others = (0..flat.len()).filter(|j| *j != i);
            others.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap()
        };
        let same = (0..flat.len()).filter(|i| nearest(*i) % groups == i % groups).count();
        same as f64 / flat.len() as f64
    }

    #[test]
    fn groups_stay_together_exactly_and_by_the_tree() {
        for n in [400, 1500] {
            let flat = layout(&groups(n, 5), &Tsne::default());
            assert!(flat.iter().flatten().all(|v| v.is_finite()));
            assert!(kept(&flat, 5) > 0.99, "{n}: {}", kept(&flat, 5));
            // Five islands: far wider than one is.
            let of = |g: usize| flat.iter().skip(g).step_by(5);
            let middle = |g: usize| {
                let count = of(g).count() as f32;
                [0, 1].map(|d| of(g).map(|p| p[d]).sum::<f32>() / count)
            };
            let (a, b) = (middle(0), middle(1));
            let spread =
                of(0).map(|p| (p[0] - a[0]).hypot(p[1] - a[1])).sum::<f32>() / of(0).count() as f32;
            assert!((a[0] - b[0]).hypot(a[1] - b[1]) > 2.0 * spread, "{a:?} {b:?} {spread}");
        }
    }

    #[test]
    fn the_bits_depend_on_the_seed_alone() {
        let points = groups(1200, 4);
        let tsne = Tsne { early: 20, late: 20, ..Tsne::default() };
        let with = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| layout(&points, &Tsne { seed, ..tsne }))
        };
        assert_eq!(with(1, 0), with(3, 0));
        assert_ne!(with(1, 0), with(1, 1));
    }

    #[test]
    fn few_and_equal_points_have_places() {
        for n in 1..6 {
            let points = Dense::from_vec(n, 2, vec![1.0; 2 * n]).unwrap();
            assert!(layout(&points, &Tsne::default()).iter().flatten().all(|v| v.is_finite()));
        }
        let zeros = Dense::zeros(50, 3);
        assert!(layout(&zeros, &Tsne::default()).iter().flatten().all(|v| v.is_finite()));
    }
}

//! What every point does to every other: for each i,
//!
//! ```text
//!     z_i = sum_j q_ij,      f_i = sum_j q_ij^2 (y_i - y_j),      q_ij = 1 / (1 + |y_i - y_j|^2)
//! ```
//!
//! exactly, or by Barnes and Hut's tree: a square of points that looks small from i counts as one point
//! of their mass in their middle.
//!
//! The tree stands in one array in the order of a walk that visits a square before its quarters, so
//! that a walk goes forward or skips: no recursion, no stack. Points lie in the order of the curve that
//! fills the square (Morton's), so the points of a square are neighbours in memory.

use super::Point;
use rayon::prelude::*;

/// Points that are walked by one task.
const BLOCK: usize = 256;
/// Points up to which a square is not divided.
const LEAF: usize = 8;
/// Divisions, as many as the curve's 16 bits a side tell apart.
const DEEPEST: u32 = 16;

/// The force on a point and its part of the normaliser; its own q of 1 is not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Push {
    pub force: Point,
    pub z: f32,
}

impl Push {
    #[inline(always)]
    fn add(&mut self, at: Point, from: Point, mass: f32) {
        let (dx, dy) = (at[0] - from[0], at[1] - from[1]);
        self.take(dx, dy, dx * dx + dy * dy, mass);
    }

    #[inline(always)]
    fn take(&mut self, dx: f32, dy: f32, square: f32, mass: f32) {
        let q = 1.0 / (1.0 + square);
        let mq = mass * q;
        self.z += mq;
        self.force[0] += mq * q * dx;
        self.force[1] += mq * q * dy;
    }
}

/// All pairs.
pub fn exact(points: &[Point], out: &mut Vec<Push>) {
    let one = |at: &Point| {
        let mut push = Push { z: -1.0, ..Push::default() };
        points.iter().for_each(|from| push.add(*at, *from, 1.0));
        push
    };
    points.par_iter().map(one).collect_into_vec(out);
}

/// A square of the plane with points in it.
#[derive(Debug, Clone, Copy)]
struct Square {
    middle: Point,
    mass: f32,
    /// Seen from beyond this squared distance it counts as one point.
    reach: f32,
    /// Where the walk goes on without it.
    skip: u32,
    /// Its points in the curve's order; none where it is divided.
    points: (u32, u32),
}

/// The tree and its memory, used again in every iteration.
#[derive(Debug, Default)]
pub struct Tree {
    keys: Vec<u64>,
    sorted: Vec<Point>,
    squares: Vec<Square>,
    pushes: Vec<Push>,
}

impl Tree {
    /// The pushes on all points, with squares whose side is less than `theta` times their distance taken
    /// as one point.
    pub fn repulsion(&mut self, points: &[Point], theta: f32, out: &mut Vec<Push>) {
        self.build(points, theta);
        let (sorted, squares) = (&self.sorted, &self.squares);
        self.pushes.resize(points.len(), Push::default());
        self.pushes.par_chunks_mut(BLOCK).zip(sorted.par_chunks(BLOCK)).for_each(
            |(out, points)| {
                out.iter_mut().zip(points).for_each(|(out, at)| *out = walk(squares, sorted, *at));
            },
        );
        out.resize(points.len(), Push::default());
        for (key, push) in self.keys.iter().zip(&self.pushes) {
            out[*key as u32 as usize] = *push;
        }
    }

    fn build(&mut self, points: &[Point], theta: f32) {
        let (mut low, mut high) = (points[0], points[0]);
        for p in points {
            for d in 0..2 {
                low[d] = low[d].min(p[d]);
                high[d] = high[d].max(p[d]);
            }
        }
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let cells = f64::from(1u32 << DEEPEST);
        let place = |p: &Point, d: usize| {
            let at = f64::from(p[d] - low[d]) / f64::from(side) * cells;
            (at as u32).min((1 << DEEPEST) - 1)
        };
        let key = |(i, p): (usize, &Point)| {
            (spread(place(p, 0)) | spread(place(p, 1)) << 1) << 32 | i as u64
        };
        points.par_iter().enumerate().map(key).collect_into_vec(&mut self.keys);
        self.keys.par_sort_unstable();
        self.sorted.clear();
        self.sorted.extend(self.keys.iter().map(|key| points[*key as u32 as usize]));
        self.squares.clear();
        self.divide(0, points.len(), 0, (side / theta).powi(2));
    }

    /// Adds the square with the points `from..to`, and its quarters.
    fn divide(&mut self, from: usize, to: usize, depth: u32, reach: f32) {
        let at = self.squares.len();
        let whole = to - from <= LEAF || depth == DEEPEST;
        let mut square =
            Square { middle: [0.0; 2], mass: (to - from) as f32, reach, skip: 0, points: (0, 0) };
        if whole {
            square.points = (from as u32, to as u32);
            let mut sum = [0f64; 2];
            for p in &self.sorted[from..to] {
                (0..2).for_each(|d| sum[d] += f64::from(p[d]));
            }
            square.middle = sum.map(|s| (s / (to - from) as f64) as f32);
        }
        self.squares.push(square);
        if !whole {
            let mut sum = [0f64; 2];
            let shift = 32 + 2 * (DEEPEST - 1 - depth);
            let mut start = from;
            for quarter in 0..4 {
                let here = &self.keys[start..to];
                let end = start + here.partition_point(|key| (key >> shift & 3) <= quarter);
                if end > start {
                    let child = self.squares.len();
                    self.divide(start, end, depth + 1, reach / 4.0);
                    let child = &self.squares[child];
                    (0..2)
                        .for_each(|d| sum[d] += f64::from(child.middle[d]) * f64::from(child.mass));
                }
                start = end;
            }
            self.squares[at].middle = sum.map(|s| (s / (to - from) as f64) as f32);
        }
        self.squares[at].skip = self.squares.len() as u32;
    }
}

/// Bits of a 16-bit number with gaps between them.
fn spread(x: u32) -> u64 {
    let mut x = u64::from(x);
    x = (x | x << 8) & 0x00FF_00FF;
    x = (x | x << 4) & 0x0F0F_0F0F;
    x = (x | x << 2) & 0x3333_3333;
    (x | x << 1) & 0x5555_5555
}

fn walk(squares: &[Square], sorted: &[Point], at: Point) -> Push {
    let mut push = Push { z: -1.0, ..Push::default() };
    let mut i = 0;
    while let Some(square) = squares.get(i) {
        let (dx, dy) = (at[0] - square.middle[0], at[1] - square.middle[1]);
        let distance = dx * dx + dy * dy;
        if distance > square.reach {
            push.take(dx, dy, distance, square.mass);
            i = square.skip as usize;
        } else if square.points.1 > square.points.0 {
            let inside = square.points.0 as usize..square.points.1 as usize;
            sorted[inside].iter().for_each(|from| push.add(at, *from, 1.0));
            i = square.skip as usize;
        } else {
            i += 1;
        }
    }
    push
}

#[cfg(test)]
mod tests {
    use super::*;
    use xgoal::random::{Purpose, Stream};

    fn points(n: u64) -> Vec<Point> {
        let stream = Stream::new(2, Purpose::Planted);
        let clump = |i: u64| 30.0 * (i % 3) as f64;
        (0..n).map(|i| [0, 1].map(|d| (clump(i) + 5.0 * stream.normal(2 * i + d)) as f32)).collect()
    }

    #[test]
    fn the_tree_agrees_with_all_pairs() {
        let mut points = points(700);
        // Twenty points in one place, which no division parts.
        points.extend([[7.0, 7.0]; 20]);
        let (mut all, mut fast, mut tree) = (Vec::new(), Vec::new(), Tree::default());
        exact(&points, &mut all);
        tree.repulsion(&points, 0.001, &mut fast);
        for (a, b) in all.iter().zip(&fast) {
            assert!((a.z - b.z).abs() < 1e-3 * a.z, "{a:?} {b:?}");
        }
        tree.repulsion(&points, 0.5, &mut fast);
        let sum = |p: &[Push]| p.iter().map(|p| f64::from(p.z)).sum::<f64>();
        assert!((sum(&all) / sum(&fast) - 1.0).abs() < 0.01, "{} {}", sum(&all), sum(&fast));
        let square = |f: Point| f64::from(f[0]).powi(2) + f64::from(f[1]).powi(2);
        let pairs = || all.iter().zip(&fast).map(|(a, b)| (a.force, b.force));
        let off: f64 = pairs().map(|(a, b)| square([a[0] - b[0], a[1] - b[1]])).sum();
        let whole: f64 = pairs().map(|(a, _)| square(a)).sum();
        assert!((off / whole).sqrt() < 0.05, "{}", (off / whole).sqrt());
    }
}

//! One row of the product: the node's row of the first matrix, times the second, times the third.

use super::PathValues;
use crate::matrix::Csr;
use crate::random::Stream;

/// What is multiplied.
pub(super) struct Product<'a> {
    pub steps: &'a [Csr],
    pub values: PathValues,
    /// Most connections by which a path leaves a thing.
    pub sampled: Option<usize>,
    pub stream: Stream,
}

/// Room for one row after each step.
pub(super) struct Workspace {
    stages: Vec<Stage>,
}

/// A sparse row that is being added up: which columns were seen, in that order, and their sums.
struct Stage {
    sums: Vec<f64>,
    /// The round in which a column was last seen.
    seen: Vec<u32>,
    round: u32,
    columns: Vec<u32>,
}

/// A row that is done.
pub(super) struct Row<'a> {
    stage: &'a mut Stage,
    values: PathValues,
}

impl Product<'_> {
    pub(super) fn workspace(&self) -> Workspace {
        let stage = |step: &Csr| Stage {
            // Only sums need a place for each column's value.
            sums: vec![0.0; if self.values == PathValues::Paths { step.cols() } else { 0 }],
            seen: vec![0; step.cols()],
            round: 0,
            columns: Vec::new(),
        };
        Workspace { stages: self.steps.iter().map(stage).collect() }
    }

    /// Multiplies out one row.
    pub(super) fn row<'w>(&self, r: usize, work: &'w mut Workspace) -> Row<'w> {
        let paths = self.values == PathValues::Paths;
        for (at, step) in self.steps.iter().enumerate() {
            let (before, stage) = work.stages.split_at_mut(at);
            let stage = &mut stage[0];
            stage.start();
            let Some(before) = before.last() else {
                let (columns, values) = step.row(r);
                stage.add_all(columns.iter().zip(values), 1.0, paths);
                continue;
            };
            for &thing in &before.columns {
                let (columns, values) = step.row(thing as usize);
                let weight = if paths { before.sums[thing as usize] } else { 1.0 };
                match self.sampled {
                    Some(cap) if columns.len() > cap => {
                        let place = (r as u64) << 32 | u64::from(thing);
                        let draw = self.stream.substream(at as u64).substream(place);
                        let places = spread(draw, columns.len(), cap);
                        let drawn = places.map(|i| (&columns[i], &values[i]));
                        stage.add_all(drawn, weight, paths);
                    }
                    _ => stage.add_all(columns.iter().zip(values), weight, paths),
                }
            }
        }
        Row { stage: work.stages.last_mut().expect("a path has steps"), values: self.values }
    }
}

/// `count` different places below `length`: every so many-th from a random one on.
fn spread(draw: Stream, length: usize, count: usize) -> impl Iterator<Item = usize> {
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let start = draw.below(0, length as u64) as usize;
    let mut stride = 1 + draw.below(1, length as u64) as usize;
    while gcd(stride, length) != 1 {
        stride += 1;
    }
    (0..count)
        .map(move |i| ((start as u128 + i as u128 * stride as u128) % length as u128) as usize)
}

impl Stage {
    fn start(&mut self) {
        self.columns.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.round = 1;
        }
    }

    fn add_all<'a>(
        &mut self,
        entries: impl Iterator<Item = (&'a u32, &'a f32)>,
        weight: f64,
        paths: bool,
    ) {
        for (&c, &v) in entries {
            let column = c as usize;
            let new = self.seen[column] != self.round;
            if new {
                self.seen[column] = self.round;
                self.columns.push(c);
            }
            if paths {
                let term = weight * f64::from(v);
                self.sums[column] = if new { term } else { self.sums[column] + term };
            }
        }
    }
}

impl Row<'_> {
    /// How many entries the row has.
    pub(super) fn len(&self) -> usize {
        self.stage.columns.len()
    }

    /// Writes the row in the order of its columns.
    pub(super) fn write(self, columns: &mut [u32], values: &mut [f32]) {
        let stage = self.stage;
        // Walking over all columns beats sorting when a good part of them is there.
        if stage.columns.len() > stage.seen.len() / 16 {
            let there = stage.seen.iter().enumerate().filter(|(_, seen)| **seen == stage.round);
            columns.iter_mut().zip(there).for_each(|(c, (at, _))| *c = at as u32);
        } else {
            stage.columns.sort_unstable();
            columns.copy_from_slice(&stage.columns);
        }
        if self.values == PathValues::Paths {
            for (c, v) in columns.iter().zip(values) {
                *v = stage.sums[*c as usize] as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn a_sample_is_of_different_places() {
        let stream = Stream::new(1, Purpose::Hubs);
        for length in 1..60usize {
            for count in 0..=length {
                let mut places: Vec<_> =
                    spread(stream.substream(length as u64), length, count).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), count);
                assert!(places.iter().all(|p| *p < length));
            }
        }
    }
}

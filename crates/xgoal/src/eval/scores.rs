//! Scores of predicted classes and of clusters, as scikit-learn defines them.

use std::collections::BTreeMap;

/// How often each class was true, predicted, and both.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// Per class: hits, and occurrences in either list, which are 2 tp + fp + fn.
    classes: Vec<(u32, u32)>,
}

impl Counts {
    pub fn new(classes: usize) -> Self {
        Self { classes: vec![(0, 0); classes] }
    }

    /// One more node.
    #[inline(always)]
    pub fn add(&mut self, truth: u32, predicted: u32) {
        self.classes[truth as usize].0 += u32::from(truth == predicted);
        self.classes[truth as usize].1 += 1;
        self.classes[predicted as usize].1 += 1;
    }

    fn of(truth: &[u32], predicted: &[u32], classes: usize) -> Self {
        let mut counts = Self::new(classes);
        truth.iter().zip(predicted).for_each(|(t, p)| counts.add(*t, *p));
        counts
    }

    pub fn macro_f1(&self) -> f64 {
        let occurring = self.classes.iter().filter(|(_, occurrences)| *occurrences > 0);
        let (sum, count) = occurring.fold((0.0, 0usize), |(sum, count), (tp, n)| {
            (sum + 2.0 * f64::from(*tp) / f64::from(*n), count + 1)
        });
        sum / count.max(1) as f64
    }

    pub fn micro_f1(&self) -> f64 {
        let sums = self.classes.iter().map(|(tp, n)| (u64::from(*tp), u64::from(*n)));
        let (hits, occurrences) = sums.fold((0, 0), |(a, b), (tp, n)| (a + tp, b + n));
        hits as f64 / (occurrences / 2).max(1) as f64
    }
}

/// Macro-F1: the plain mean, over the classes that occur in `truth` or `predicted`, of
/// `2 tp / (2 tp + fp + fn)`. All classes must be less than `classes`.
pub fn macro_f1(truth: &[u32], predicted: &[u32], classes: usize) -> f64 {
    Counts::of(truth, predicted, classes).macro_f1()
}

/// Micro-F1 over all classes. With one class per node this is the share of hits: every miss is one
/// false positive and one false negative.
pub fn micro_f1(truth: &[u32], predicted: &[u32]) -> f64 {
    let hits = truth.iter().zip(predicted).filter(|(t, p)| t == p).count();
    hits as f64 / truth.len().max(1) as f64
}

/// How often each pair of a class and a cluster occurs.
struct Contingency {
    cells: BTreeMap<(u32, u32), u64>,
    rows: BTreeMap<u32, u64>,
    cols: BTreeMap<u32, u64>,
    total: u64,
}

impl Contingency {
    fn new(a: &[u32], b: &[u32]) -> Self {
        let (mut cells, mut rows, mut cols) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (x, y) in a.iter().zip(b) {
            *cells.entry((*x, *y)).or_default() += 1;
            *rows.entry(*x).or_default() += 1;
            *cols.entry(*y).or_default() += 1;
        }
        Self { cells, rows, cols, total: a.len().min(b.len()) as u64 }
    }
}

/// Normalised mutual information `2 I(a; b) / (H(a) + H(b))`; 1 when neither side is split, 0 when
/// only one is.
pub fn nmi(a: &[u32], b: &[u32]) -> f64 {
    let table = Contingency::new(a, b);
    if table.rows.len() <= 1 && table.cols.len() <= 1 {
        return 1.0;
    }
    let n = table.total as f64;
    let entropy = |counts: &BTreeMap<u32, u64>| -> f64 {
        counts.values().map(|c| *c as f64 / n).map(|p| -p * p.ln()).sum()
    };
    let information: f64 = table
        .cells
        .iter()
        .map(|((x, y), c)| {
            let (c, r, k) = (*c as f64, table.rows[x] as f64, table.cols[y] as f64);
            c / n * (c * n / (r * k)).ln()
        })
        .sum();
    // Independent labellings can come out a rounding error below zero.
    let normaliser = 0.5 * (entropy(&table.rows) + entropy(&table.cols));
    (information / normaliser).clamp(0.0, 1.0)
}

/// Adjusted Rand index: agreement on pairs, 0 for chance and 1 for equal partitions.
pub fn ari(a: &[u32], b: &[u32]) -> f64 {
    let table = Contingency::new(a, b);
    let pairs = |n: u64| n as f64 * (n as f64 - 1.0) / 2.0;
    let both: f64 = table.cells.values().map(|c| pairs(*c)).sum();
    let rows: f64 = table.rows.values().map(|c| pairs(*c)).sum();
    let cols: f64 = table.cols.values().map(|c| pairs(*c)).sum();
    // Equal partitions, among them those for which the quotient below is 0 / 0.
    if both == rows && both == cols {
        return 1.0;
    }
    let expected = rows * cols / pairs(table.total);
    (both - expected) / (0.5 * (rows + cols) - expected)
}

/// Share of points in the right class when each cluster stands for at most one class, under the
/// best such matching.
pub fn clustering_accuracy(classes: &[u32], clusters: &[u32]) -> f64 {
    let table = Contingency::new(classes, clusters);
    let size = table.rows.len().max(table.cols.len());
    let row_of: BTreeMap<u32, usize> = table.rows.keys().copied().zip(0..).collect();
    let col_of: BTreeMap<u32, usize> = table.cols.keys().copied().zip(0..).collect();
    let mut cost = vec![vec![0i64; size]; size];
    for ((x, y), c) in &table.cells {
        cost[row_of[x]][col_of[y]] = -(*c as i64);
    }
    let matched: i64 = assignment(&cost).iter().enumerate().map(|(r, c)| -cost[r][*c]).sum();
    matched as f64 / table.total.max(1) as f64
}

/// The column of each row in a matching of least cost, by the Hungarian method with potentials,
/// O(n^3). Rows enter one by one along a shortest augmenting path.
fn assignment(cost: &[Vec<i64>]) -> Vec<usize> {
    let n = cost.len();
    // Index 0 stands for "none": rows and columns are counted from 1 here.
    let (mut row_potential, mut col_potential) = (vec![0i64; n + 1], vec![0i64; n + 1]);
    let mut row_of = vec![0usize; n + 1];
    let mut came_from = vec![0usize; n + 1];
    for row in 1..=n {
        row_of[0] = row;
        let mut col = 0;
        let mut slack = vec![i64::MAX; n + 1];
        let mut visited = vec![false; n + 1];
        while row_of[col] != 0 {
            visited[col] = true;
            let from = row_of[col];
            let (mut step, mut next) = (i64::MAX, 0);
            for c in 1..=n {
                if visited[c] {
                    continue;
                }
                let reduced = cost[from - 1][c - 1] - row_potential[from] - col_potential[c];
                if reduced < slack[c] {
                    slack[c] = reduced;
                    came_from[c] = col;
                }
                if slack[c] < step {
                    (step, next) = (slack[c], c);
                }
            }
            for c in 0..=n {
                if visited[c] {
                    row_potential[row_of[c]] += step;
                    col_potential[c] -= step;
                } else {
                    slack[c] = slack[c].saturating_sub(step);
                }
            }
            col = next;
        }
        while col != 0 {
            row_of[col] = row_of[came_from[col]];
            col = came_from[col];
        }
    }
    let mut col_of = vec![0; n];
    for col in 1..=n {
        col_of[row_of[col] - 1] = col - 1;
    }
    col_of
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(f: impl Fn(u32) -> u32) -> Vec<u32> {
        (0..60).map(f).collect()
    }

    /// The numbers are scikit-learn's; `scripts/golden_scores.py` prints them.
    #[test]
    fn scores_are_those_of_scikit_learn() {
        let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-14, "{got}");
        let truth = labels(|i| (i * i + i / 7) % 4);
        let found = labels(|i| (i * i + i / 9) % 4);
        close(macro_f1(&truth, &found, 4), 0.25435945129039755);
        close(micro_f1(&truth, &found), 0.26666666666666666);
        close(nmi(&truth, &found), 0.2769220451265687);
        close(ari(&truth, &found), 0.14344705790690226);
        close(clustering_accuracy(&truth, &found), 0.5166666666666667);

        let truth = labels(|i| i * 7 % 3);
        let found = labels(|i| if i % 5 == 0 { 3 } else { i * 7 % 3 / 2 * 2 });
        close(macro_f1(&truth, &found, 6), 0.37606837606837606);
        close(micro_f1(&truth, &found), 0.5333333333333333);
        close(nmi(&truth, &found), 0.4830709073143113);
        close(ari(&truth, &found), 0.38972305638972304);
        close(clustering_accuracy(&truth, &found), 0.6);
    }

    #[test]
    fn cluster_scores_ignore_names_and_are_symmetric() {
        let a = labels(|i| i * i % 7);
        let renamed: Vec<u32> = a.iter().map(|c| (c + 3) * 1_000_000).collect();
        assert!((nmi(&a, &renamed) - 1.0).abs() < 1e-14);
        assert_eq!(ari(&a, &renamed), 1.0);
        assert_eq!(clustering_accuracy(&a, &renamed), 1.0);
        let b = labels(|i| i / 11);
        assert!((nmi(&a, &b) - nmi(&b, &a)).abs() < 1e-14);
        assert!((ari(&a, &b) - ari(&b, &a)).abs() < 1e-14);
        assert_eq!(clustering_accuracy(&a, &b), clustering_accuracy(&b, &a));
    }

    #[test]
    fn degenerate_partitions_have_the_usual_values() {
        let (one, each) = (labels(|_| 5), labels(|i| i));
        assert_eq!((nmi(&one, &one), ari(&one, &one)), (1.0, 1.0));
        assert_eq!((nmi(&one, &each), ari(&one, &each)), (0.0, 0.0));
        assert_eq!(ari(&each, &each), 1.0);
        assert_eq!(clustering_accuracy(&one, &each), 1.0 / 60.0);
    }

    #[test]
    fn matching_beats_every_permutation() {
        let value = |r: usize, c: usize| ((r * 31 + c * 17 + r * c * 7) % 23) as i64;
        let cost: Vec<Vec<i64>> = (0..5).map(|r| (0..5).map(|c| value(r, c)).collect()).collect();
        fn least(cost: &[Vec<i64>], row: usize, used: u32) -> i64 {
            let free = (0..cost.len()).filter(|c| used & (1 << c) == 0);
            free.map(|c| cost[row][c] + rest(cost, row + 1, used | (1 << c))).min().unwrap()
        }
        fn rest(cost: &[Vec<i64>], row: usize, used: u32) -> i64 {
            if row == cost.len() { 0 } else { least(cost, row, used) }
        }
        let found: i64 = assignment(&cost).iter().enumerate().map(|(r, c)| cost[r][*c]).sum();
        assert_eq!(found, least(&cost, 0, 0));
    }
}

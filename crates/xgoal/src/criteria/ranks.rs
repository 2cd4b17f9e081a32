//! Ranks, and two scores that are made of them.

/// The rank of each value from 1, the least first; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let (mut ranks, mut less) = (vec![0.0; values.len()], 0);
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = less as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|at| ranks[*at] = rank);
        less += equal.len();
    }
    ranks
}

/// Spearman's rank correlation: Pearson's of the ranks.
///
/// Nothing for fewer than three pairs, or where one side has one value only.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 3 {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let middle = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

/// The chance that one of `high` is above one of `low`, equal ones counting half (the area under the ROC curve).
pub(super) fn area_under_curve(high: &[f64], low: &[f64]) -> Option<f64> {
    if high.is_empty() || low.is_empty() {
        return None;
    }
    let all: Vec<f64> = high.iter().chain(low).copied().collect();
    let sum: f64 = ranks(&all)[..high.len()].iter().sum();
    let (h, l) = (high.len() as f64, low.len() as f64);
    Some((sum - h * (h + 1.0) / 2.0) / (h * l))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, -2.0]), [3.5, 2.0, 3.5, 1.0]);
    }

    /// The last number by hand: ranks 1, 3.5, 3.5, 2, so 1.5 / sqrt(5 * 4.5).
    #[test]
    fn correlations_are_those_of_ranks() {
        let a = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(spearman(&a, &[1.0, 10.0, 11.0, 1e9]), Some(1.0));
        assert_eq!(spearman(&a, &[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(spearman(&a, &[5.0; 4]), None);
        assert_eq!(spearman(&a[..2], &[1.0, 2.0]), None);
        let tied = spearman(&a, &[1.0, 3.0, 3.0, 2.0]).unwrap();
        assert!((tied - 0.316_227_766_016_837_94).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn the_area_counts_pairs_in_order() {
        assert_eq!(area_under_curve(&[2.0, 3.0], &[0.0, 1.0]), Some(1.0));
        assert_eq!(area_under_curve(&[2.0, 0.0], &[1.0, 1.0]), Some(0.5));
        assert_eq!(area_under_curve(&[1.0], &[1.0, 0.0]), Some(0.75));
        assert_eq!(area_under_curve(&[], &[1.0]), None);
    }
}

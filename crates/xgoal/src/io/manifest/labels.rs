//! Classes and splits, from columns or drawn.

use super::nodes::Keyed;
use super::report::DrawnSplit;
use super::schema::labels::Shares;
use crate::error::Result;
use crate::graph::{Labels, Splits};
use crate::random::{Purpose, Stream};

/// Classes by their names; an empty field is unknown.
pub(super) fn labels(keyed: &Keyed, column: &str, nodes: usize) -> Result<Labels> {
    let values = keyed.column(column);
    let mut of_node: Vec<Option<String>> = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let Some(row) = keyed.row(node) else {
            of_node.push(None);
            continue;
        };
        let text = values.text(row).map_err(|m| keyed.misfit(row, column, &m))?;
        of_node.push(Some(text.into_owned()).filter(|text| !text.is_empty()));
    }
    let of_node: Vec<Option<&str>> = of_node.iter().map(Option::as_deref).collect();
    Ok(Labels::of_words(&of_node))
}

/// A split from a column of `train`, `val`, `test` and nothing.
pub(super) fn splits(keyed: &Keyed, column: &str, nodes: usize) -> Result<Splits> {
    let values = keyed.column(column);
    let mut splits = Splits::default();
    for node in 0..nodes {
        let Some(row) = keyed.row(node) else { continue };
        let part = values.text(row).map_err(|m| keyed.misfit(row, column, &m))?;
        match &*part {
            "train" => splits.train.push(node as u32),
            "val" => splits.val.push(node as u32),
            "test" => splits.test.push(node as u32),
            "" => {}
            other => {
                let message = format!("`{other}`; expected train, val, test or nothing");
                return Err(keyed.wrong(row, column, &message));
            }
        }
    }
    Ok(splits)
}

/// Draws the same shares of every class; the rest tests.
///
/// Every class of three nodes or more has one in each part, smaller ones are left out.
pub(super) fn draw(labels: &Labels, shares: Shares) -> (Splits, DrawnSplit) {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); labels.names.len()];
    for (node, class) in labels.classes.iter().enumerate() {
        if let Some(class) = class {
            members[*class as usize].push(node as u32);
        }
    }
    let stream = Stream::new(shares.seed, Purpose::Splits);
    let mut splits = Splits::default();
    let mut left_out = 0;
    for (class, nodes) in members.iter().enumerate() {
        let count = nodes.len();
        if count < 3 {
            left_out += count;
            continue;
        }
        let mut order = vec![0; count];
        stream.substream(class as u64).permutation(&mut order);
        let part =
            |share: f64, most: usize| ((share * count as f64).round() as usize).clamp(1, most);
        let train = part(shares.train, count - 2);
        let val = part(shares.val, count - train - 1);
        let drawn = |range: std::ops::Range<usize>| order[range].iter().map(|i| nodes[*i as usize]);
        splits.train.extend(drawn(0..train));
        splits.val.extend(drawn(train..train + val));
        splits.test.extend(drawn(train + val..count));
    }
    splits.train.sort_unstable();
    splits.val.sort_unstable();
    splits.test.sort_unstable();
    let Shares { train, val, seed } = shares;
    (splits, DrawnSplit { train, val, seed, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_split_is_stratified_and_repeats() {
        let sizes = [100, 37, 3, 2];
        let classes: Vec<Option<u32>> = (0..200)
            .map(|n| (0..4).find(|c| n < sizes[..=*c].iter().sum()).map(|c| c as u32))
            .collect();
        let labels = Labels { classes, names: (0..4).map(|c| c.to_string()).collect() };
        let (splits, drawn) = draw(&labels, Shares::default());
        assert_eq!(draw(&labels, Shares::default()).0, splits);
        assert_ne!(draw(&labels, Shares { seed: 1, ..Shares::default() }).0, splits);
        assert_eq!(drawn.left_out, 2);
        let of = |part: &[u32], class: u32| {
            part.iter().filter(|n| labels.classes[**n as usize] == Some(class)).count()
        };
        for (class, parts) in [(0, [20, 10, 70]), (1, [7, 4, 26]), (2, [1, 1, 1]), (3, [0, 0, 0])] {
            let found = [&splits.train, &splits.val, &splits.test].map(|p| of(p, class));
            assert_eq!(found, parts, "class {class}");
        }
        let mut all = [splits.train, splits.val, splits.test].concat();
        all.sort_unstable();
        assert_eq!(all, (0..140).collect::<Vec<_>>());
    }
}

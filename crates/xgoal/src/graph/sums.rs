//! Layers by name. `a+b` is the sum of the layers `a` and `b`, unless a layer has that very name.

use crate::error::{Error, Result};
use crate::matrix::Csr;
use std::collections::{HashMap, HashSet};

/// Layers of the paper's data sets, as the authors' files call them and as others do, the paper among them.
const ALIASES: [(&str, &str); 2] = [("PLP", "PSP"), ("PPrefP", "PPP")];

/// What else a layer is called.
pub(crate) fn alias(name: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(known, _)| *known == name).map(|(_, other)| *other)
}

/// The layers that names stand for, by their places among those available: one, or those that are added up.
pub fn resolve(names: &[String], available: &[String]) -> Result<Vec<Vec<usize>>> {
    // Of equal names the first.
    let places = available.iter().enumerate().rev().map(|(at, name)| (name.as_str(), at));
    let places: HashMap<&str, usize> = places.collect();
    let place = |name: &str| {
        let other = || alias(name).filter(|other| !names.iter().any(|name| name == other));
        places.get(name).or_else(|| places.get(other()?)).copied()
    };
    let twice = |name: &str| Error::Setting {
        key: "layers",
        found: format!("`{name}` twice"),
        expected: "each layer once".into(),
    };
    let mut resolved = Vec::with_capacity(names.len());
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(twice(name));
        }
        let places: Option<Vec<usize>> = match place(name) {
            Some(at) => Some(vec![at]),
            None => name.split('+').map(place).collect(),
        };
        let Some(places) = places else {
            return Err(Error::UnknownLayer { name: name.clone(), available: available.into() });
        };
        let mut added = HashSet::new();
        if let Some(again) = places.iter().find(|place| !added.insert(**place)) {
            return Err(twice(&available[*again]));
        }
        resolved.push(places);
    }
    Ok(resolved)
}

/// Entries at the same place are added, in the order of the layers.
pub(crate) fn sum(layers: &[&Csr]) -> Csr {
    let (rows, cols) = (layers[0].rows(), layers[0].cols());
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    let mut row: Vec<(u32, f32)> = Vec::new();
    for r in 0..rows {
        row.clear();
        for layer in layers {
            let (columns, weights) = layer.row(r);
            row.extend(columns.iter().copied().zip(weights.iter().copied()));
        }
        row.sort_by_key(|(column, _)| *column);
        for same in row.chunk_by(|a, b| a.0 == b.0) {
            indices.push(same[0].0);
            values.push(same.iter().map(|(_, weight)| weight).sum());
        }
        indptr.push(indices.len());
    }
    Csr::try_new(rows, cols, indptr, indices, values).expect("rows are sorted and within bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_string()).collect()
    }

    #[test]
    fn a_name_is_a_layer_or_a_sum_of_layers() {
        let available = names(&["a", "b", "c", "b+c"]);
        let resolve = |asked: &[&str]| resolve(&names(asked), &available);
        assert_eq!(resolve(&["c", "a+b+c", "a"]).unwrap(), [vec![2], vec![0, 1, 2], vec![0]]);
        // A layer of that very name comes first.
        assert_eq!(resolve(&["b+c"]).unwrap(), [vec![3]]);
        for bad in [&["d"][..], &["a+d"], &["a+"], &[""]] {
            let message = resolve(bad).unwrap_err().to_string();
            assert!(message.contains(bad[0]) && message.contains("b+c"), "{message}");
        }
        assert!(resolve(&["a", "a"]).unwrap_err().to_string().contains("`a` twice"));
        assert!(resolve(&["c+a+c"]).unwrap_err().to_string().contains("`c` twice"));
    }

    #[test]
    fn a_layer_with_two_names_is_found_by_the_one_it_has() {
        let of = |asked: &[&str], available: &[&str]| resolve(&names(asked), &names(available));
        assert_eq!(of(&["PLP", "PAP"], &["PAP", "PSP"]).unwrap(), [vec![1], vec![0]]);
        assert_eq!(of(&["PAP+PPrefP"], &["PAP", "PPP"]).unwrap(), [vec![0, 1]]);
        // Its own name comes first, and the other one may be asked for as well.
        assert_eq!(of(&["PLP", "PSP"], &["PSP", "PLP"]).unwrap(), [vec![1], vec![0]]);
        for (asked, available) in
            [(["PLP", "PSP"], ["PSP", "PAP"]), (["PSP", "PAP"], ["PLP", "PAP"])]
        {
            let message = of(&asked, &available).unwrap_err().to_string();
            assert!(message.contains("no layer is called"), "{message}");
        }
    }

    #[test]
    fn entries_at_the_same_place_are_added() {
        let of = |entries: Vec<(u32, u32, f32)>| Csr::from_triplets(3, 3, entries).unwrap();
        let a = of(vec![(0, 2, 1.0), (2, 0, 1.5)]);
        let b = of(vec![(0, 1, 4.0), (0, 2, 2.0)]);
        assert_eq!(sum(&[&a, &b]), of(vec![(0, 1, 4.0), (0, 2, 3.0), (2, 0, 1.5)]));
    }
}

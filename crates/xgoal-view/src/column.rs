//! What is known about each node: classes, clusters, columns of a table.

use crate::plot::palette;
use std::collections::HashMap;

/// Different values up to which a column can be a colour; with more it is only shown.
const MOST_CATEGORIES: usize = 200;
/// Different numbers up to which they are names of something.
const FEW_NUMBERS: usize = 12;

/// One value per node.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// The values.
    pub values: Values,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// One of a few names each, or none.
    Categories {
        /// The names.
        names: Vec<String>,
        /// The place of each node's name.
        codes: Vec<Option<u32>>,
    },
    /// A number each; NaN where there is none.
    Numbers(Vec<f32>),
    /// Any text.
    Text(Vec<String>),
}

impl Column {
    /// A column of categories. With more of them than colours the largest come first, to be the ones that have one.
    pub fn categories(name: &str, names: Vec<String>, codes: Vec<Option<u32>>) -> Self {
        let column =
            |names, codes| Self { name: name.into(), values: Values::Categories { names, codes } };
        if names.len() <= palette::COLOURS {
            return column(names, codes);
        }
        let mut sizes = vec![0usize; names.len()];
        codes.iter().flatten().for_each(|code| sizes[*code as usize] += 1);
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|code| std::cmp::Reverse(sizes[*code]));
        let mut places = vec![0; names.len()];
        order.iter().zip(0..).for_each(|(code, place)| places[*code] = place);
        let names = order.iter().map(|code| names[*code].clone()).collect();
        let codes = codes.iter().map(|code| code.map(|code| places[code as usize])).collect();
        column(names, codes)
    }

    /// Finds out what texts are: numbers, a few names (the most frequent first), or any text. An empty
    /// text is no value.
    pub fn from_texts(name: &str, texts: Vec<String>) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for text in texts.iter().filter(|t| !t.is_empty()) {
            *counts.entry(text).or_default() += 1;
        }
        let number = |text: &&str| text.parse::<f32>().is_ok_and(f32::is_finite);
        let values = if counts.len() > FEW_NUMBERS && counts.keys().all(number) {
            Values::Numbers(texts.iter().map(|t| t.parse().unwrap_or(f32::NAN)).collect())
        } else if counts.len() <= MOST_CATEGORIES {
            let mut order: Vec<(&str, usize)> = counts.into_iter().collect();
            order.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let place: HashMap<&str, u32> =
                order.iter().zip(0..).map(|((t, _), i)| (*t, i)).collect();
            let codes = texts.iter().map(|t| place.get(t.as_str()).copied()).collect();
            let names = order.iter().map(|(t, _)| t.to_string()).collect();
            Values::Categories { names, codes }
        } else {
            Values::Text(texts)
        };
        Self { name: name.into(), values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_many_categories_come_first() {
        let of = |count: u32| {
            let names = (0..count).map(|i| format!("c{i}")).collect();
            // Category i has i + 1 nodes.
            let codes = (0..count).flat_map(|i| vec![Some(i); i as usize + 1]).chain([None]);
            let Values::Categories { names, codes } =
                Column::categories("class", names, codes.collect()).values
            else {
                panic!()
            };
            (names[0].clone(), codes[0], codes[codes.len() - 2], codes[codes.len() - 1])
        };
        let few = palette::COLOURS as u32;
        assert_eq!(of(few), ("c0".into(), Some(0), Some(few - 1), None));
        assert_eq!(of(few + 1), (format!("c{few}"), Some(few), Some(0), None));
    }

    #[test]
    fn texts_are_names_numbers_or_texts() {
        let texts = |f: &dyn Fn(usize) -> String| (0..500).map(f).collect::<Vec<_>>();
        let names = Column::from_texts("a", texts(&|i| ["x", "y", ""][(i % 7).min(2)].to_string()));
        let Values::Categories { names, codes } = names.values else { panic!() };
        assert_eq!((names, codes[0], codes[6]), (vec!["x".into(), "y".into()], Some(0), None));
        let numbers = Column::from_texts("b", texts(&|i| format!("{}e-1", i)));
        assert!(matches!(numbers.values, Values::Numbers(v) if v[3] == 0.3));
        let few = Column::from_texts("c", texts(&|i| (i % 3).to_string()));
        assert!(matches!(few.values, Values::Categories { .. }));
        let any = Column::from_texts("d", texts(&|i| format!("t{i}")));
        assert!(matches!(any.values, Values::Text(_)));
    }
}

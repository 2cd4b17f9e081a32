//! Bags of words: text columns, cut into words and counted.
//!
//! A word is a run of letters, digits and underscores, in lower case, as scikit-learn's `CountVectorizer` has it.
//! With n texts of which df hold a word, the words with `min_df <= df <= max_df` are columns, at most `terms` of them:
//! the most frequent ones. An entry is the number of times t the word occurs, or with `weight = "tf-idf"`
//!
//! ```text
//!     t (ln((1 + n) / (1 + df)) + 1)
//! ```

use super::columns::places;
use super::{Encoded, Unseen};
use crate::error::Result;
use crate::graph::features::{FeatureColumns, Term};
use crate::io::manifest::nodes::Keyed;
use crate::io::manifest::schema::features::{WordWeight, Words};
use crate::io::table::Ids;
use crate::matrix::{Csr, Matrix};
use rayon::prelude::*;

/// Texts one thread cuts at a time.
const CHUNK: usize = 1 << 10;

/// Words of some texts.
#[derive(Default)]
struct Counted {
    words: Ids,
    /// For each text in order, its different words and how often they occur.
    entries: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

pub(super) fn bag_of_words(
    keyed: &Keyed,
    columns: &[String],
    words: &Words,
    nodes: usize,
    known: Option<&FeatureColumns>,
) -> Result<Encoded> {
    let counted = count(keyed, columns, words, nodes)?;
    let terms = match known {
        Some(FeatureColumns::Text { terms }) => terms.clone(),
        _ => choose(&counted, words, nodes),
    };
    let names: Vec<String> = terms.iter().map(|t| t.term.clone()).collect();
    let places = places(&counted.words, &names);
    let mut unseen = Unseen::default();
    let mut entries = Vec::new();
    let mut from = 0;
    let mut is_unseen = vec![false; places.len()];
    for (node, end) in counted.ends.iter().enumerate() {
        for (word, times) in &counted.entries[from..*end] {
            match places[*word as usize] {
                Some(column) => {
                    let value = *times as f32 * terms[column as usize].weight;
                    entries.push((node as u32, column, value));
                }
                None => {
                    is_unseen[*word as usize] = true;
                    unseen.occurrences += u64::from(*times);
                }
            }
        }
        from = *end;
    }
    unseen.different = is_unseen.iter().filter(|u| **u).count();
    if known.is_none() {
        // Words that were not chosen are no surprise.
        unseen = Unseen::default();
    }
    let (matrix, _) = Csr::gather(nodes, terms.len(), entries, |a, b| a + b);
    let columns = FeatureColumns::Text { terms };
    Ok(Encoded { columns, matrix: Matrix::Sparse(matrix), unseen })
}

/// Counts the words of every node's texts.
fn count(keyed: &Keyed, columns: &[String], words: &Words, nodes: usize) -> Result<Counted> {
    let texts: Vec<_> = columns.iter().map(|name| (name, keyed.column(name))).collect();
    let stop: Vec<String> = words.stop_words.iter().map(|w| w.to_lowercase()).collect();
    let part = |from: usize| -> Result<Counted> {
        let mut part = Counted::default();
        let mut here: Vec<u32> = Vec::new();
        for node in from..(from + CHUNK).min(nodes) {
            here.clear();
            if let Some(row) = keyed.row(node) {
                for (name, column) in &texts {
                    let text = column.text(row).map_err(|m| keyed.misfit(row, name, &m))?;
                    for_each_word(&text, words.min_length, |word| {
                        if !stop.iter().any(|s| s == word) {
                            here.push(part.words.insert(word).0);
                        }
                    });
                }
            }
            here.sort_unstable();
            for same in here.chunk_by(|a, b| a == b) {
                part.entries.push((same[0], same.len() as u32));
            }
            part.ends.push(part.entries.len());
        }
        Ok(part)
    };
    let parts: Vec<Result<Counted>> = (0..nodes).into_par_iter().step_by(CHUNK).map(part).collect();
    let mut all = Counted::default();
    for part in parts {
        let part = part?;
        let numbers: Vec<u32> = part.words.names().map(|word| all.words.insert(word).0).collect();
        let before = all.entries.len();
        all.entries.extend(part.entries.iter().map(|(word, n)| (numbers[*word as usize], *n)));
        all.ends.extend(part.ends.iter().map(|end| before + end));
    }
    Ok(all)
}

/// The words that become columns, in the order of the alphabet.
fn choose(counted: &Counted, words: &Words, nodes: usize) -> Vec<Term> {
    let mut document_frequency = vec![0usize; counted.words.len()];
    let mut occurrences = vec![0u64; counted.words.len()];
    for (word, times) in &counted.entries {
        document_frequency[*word as usize] += 1;
        occurrences[*word as usize] += u64::from(*times);
    }
    let (least, most) = (words.min_df.of(nodes), words.max_df.of(nodes));
    let within = |word: &u32| {
        let df = document_frequency[*word as usize] as f64;
        least <= df && df <= most
    };
    let mut chosen: Vec<u32> = (0..counted.words.len() as u32).filter(within).collect();
    let name = |word: u32| counted.words.name(word);
    chosen.sort_by_key(|word| (std::cmp::Reverse(occurrences[*word as usize]), name(*word)));
    chosen.truncate(words.terms);
    chosen.sort_by_key(|word| name(*word));
    let weight = |word: u32| match words.weight {
        WordWeight::Count => 1.0,
        WordWeight::TfIdf => {
            let (n, df) = (nodes as f64, document_frequency[word as usize] as f64);
            (((1.0 + n) / (1.0 + df)).ln() + 1.0) as f32
        }
    };
    chosen.into_iter().map(|w| Term { term: name(w).to_owned(), weight: weight(w) }).collect()
}

/// Hands on each word of a text in lower case.
fn for_each_word(text: &str, least: usize, mut hand: impl FnMut(&str)) {
    let mut lower = String::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if word.is_empty() {
            continue;
        }
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            lower.push_str(&word.to_lowercase());
        }
        if least <= 1 || lower.chars().nth(least - 1).is_some() {
            hand(&lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let mut words = Vec::new();
        for_each_word("Don't use C++11: ÄPFEL_x (a I) 3D--2d", 2, |w| words.push(w.to_owned()));
        assert_eq!(
            words,
            ["don", "use", "c", "11", "äpfel_x", "3d", "2d"]
                .iter()
                .filter(|w| w.chars().count() > 1)
                .copied()
                .collect::<Vec<_>>()
        );
    }
}

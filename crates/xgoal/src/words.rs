//! What messages say with: text of files that may hold anything, and the name that was meant.

/// Text of a file inside a message: escaped, in back quotes and not too long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 100;
    let short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(LONGEST).is_some() { "..." } else { "" };
    format!("`{short}{more}`")
}

/// The name nearest to a word, if it is close: a third of its letters, at most three, are other ones, left out, too many, or
/// two of them swapped.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let far = |name: &&str| distance(&word, name);
    let name = names.iter().copied().min_by_key(far)?;
    let most = (name.chars().count() / 3).clamp(1, 3);
    (far(&name) <= most).then_some(name)
}

/// How many letters are other ones, left out, too many or swapped with the next: with the last two rows of the table of
/// all beginnings of both words.
fn distance(one: &str, other: &str) -> usize {
    let [one, other] = [one, other].map(|word| word.chars().collect::<Vec<_>>());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::KEYS;

    #[test]
    fn slips_are_close_and_other_words_are_not() {
        for (word, name) in [
            ("p_dorp", "p_drop"),
            ("p-drop", "p_drop"),
            ("Dim", "dim"),
            ("tua", "tau"),
            ("cluster", "clusters"),
            ("kmean_restart", "kmeans_restarts"),
        ] {
            assert_eq!(nearest(word, KEYS), Some(name), "{word}");
        }
        for word in ["", "dimension", "colour", "learning_rate", "x"] {
            assert_eq!(nearest(word, KEYS), None, "{word}");
        }
    }
}

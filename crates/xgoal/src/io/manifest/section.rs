//! One table of the manifest: values are asked for by key, and what nobody asked for is an error.

use crate::error::ParseError;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

type Parsed<T> = Result<T, ParseError>;

/// A table, with what it is called in messages.
pub(super) struct Section<'a> {
    text: &'a str,
    called: String,
    line: usize,
    entries: Vec<(&'a str, usize, &'a Spanned<DeValue<'a>>)>,
    asked: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(super) fn document(text: &'a str, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self::of(text, "the manifest".into(), 1, table.get_ref())
    }

    fn of(text: &'a str, called: String, line: usize, table: &'a DeTable<'a>) -> Self {
        let entry = |(key, value): (&'a Spanned<_>, _)| {
            let (key, start): (&'a std::borrow::Cow<'a, str>, _) =
                (key.get_ref(), key.span().start);
            (&**key, line_of(text, start), value)
        };
        Self { text, called, line, entries: table.iter().map(entry).collect(), asked: Vec::new() }
    }

    /// The line it begins in.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Does not list these keys as known ones, where another of them was chosen.
    pub(super) fn forget(&mut self, keys: &[&str]) {
        self.asked.retain(|key| !keys.contains(key));
    }

    /// An error about this table.
    pub(super) fn wrong(&self, message: &str) -> ParseError {
        wrong(self.line, &format!("{}: {message}", self.called))
    }

    fn value(&mut self, key: &'static str) -> Option<(usize, &'a Spanned<DeValue<'a>>)> {
        self.asked.push(key);
        let at = self.entries.iter().position(|(found, ..)| *found == key)?;
        let (_, line, value) = self.entries.swap_remove(at);
        Some((line, value))
    }

    /// An error about one key of this table.
    fn expected(&self, line: usize, key: &str, value: &DeValue<'_>, what: &str) -> ParseError {
        let found = match value.type_str() {
            found @ ("array" | "integer") => format!("an {found}"),
            found => format!("a {found}"),
        };
        wrong(line, &format!("`{key}` in {} is {found}; expected {what}", self.called))
    }

    /// A string.
    pub(super) fn string(&mut self, key: &'static str) -> Parsed<Option<String>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(text.to_string())),
            other => Err(self.expected(line, key, other, "a string")),
        }
    }

    /// A string that must be there.
    pub(super) fn required(&mut self, key: &'static str, example: &str) -> Parsed<String> {
        self.string(key)?
            .ok_or_else(|| self.wrong(&format!("no `{key}`; expected {key} = \"{example}\"")))
    }

    /// One string, or a list of at least one.
    pub(super) fn strings(&mut self, key: &'static str) -> Parsed<Option<Vec<String>>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        let what = "a string, or a list of strings";
        let list = match value.get_ref() {
            DeValue::String(text) => return Ok(Some(vec![text.to_string()])),
            DeValue::Array(list) if !list.is_empty() => list,
            other => return Err(self.expected(line, key, other, what)),
        };
        let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(self.expected(line, key, other, what)),
        };
        list.iter().map(text).collect::<Parsed<_>>().map(Some)
    }

    /// True or false.
    pub(super) fn flag(&mut self, key: &'static str) -> Parsed<Option<bool>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(*flag)),
            other => Err(self.expected(line, key, other, "true or false")),
        }
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Parsed<Option<T>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        let words: Vec<String> = choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let words = words.join(" or ");
        match value.get_ref() {
            DeValue::String(text) => match choices.iter().find(|(word, _)| word == text) {
                Some((_, choice)) => Ok(Some(*choice)),
                None => {
                    let called = &self.called;
                    Err(wrong(line, &format!("`{key}` in {called} is `{text}`; expected {words}")))
                }
            },
            other => Err(self.expected(line, key, other, &words)),
        }
    }

    /// A whole number of at least `least`.
    pub(super) fn count(&mut self, key: &'static str, least: u64) -> Parsed<Option<u64>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(number) => whole(number),
            other => {
                let what = format!("a whole number of at least {least}");
                return Err(self.expected(line, key, other, &what));
            }
        };
        match number {
            Some(number) if number >= least => Ok(Some(number)),
            _ => Err(wrong(
                line,
                &format!(
                    "`{key}` in {} is out of range; expected a whole number of at least {least}",
                    self.called
                ),
            )),
        }
    }

    /// A share from 0 to 1.
    pub(super) fn share(&mut self, key: &'static str) -> Parsed<Option<f64>> {
        match self.limit(key)? {
            None => Ok(None),
            Some(Limit::Share(share)) => Ok(Some(share)),
            Some(Limit::Count(whole @ (0 | 1))) => Ok(Some(whole as f64)),
            Some(Limit::Count(_)) => {
                Err(self.wrong(&format!("`{key}` is above 1; expected a share from 0 to 1")))
            }
        }
    }

    /// A number of documents, or with a decimal point a share of them.
    pub(super) fn limit(&mut self, key: &'static str) -> Parsed<Option<Limit>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        let what = "a whole number, or a share from 0.0 to 1.0";
        let limit = match value.get_ref() {
            DeValue::Integer(number) => whole(number).map(Limit::Count),
            DeValue::Float(number) => {
                let share = number.as_str().replace('_', "").parse::<f64>().ok();
                share.filter(|share| (0.0..=1.0).contains(share)).map(Limit::Share)
            }
            other => return Err(self.expected(line, key, other, what)),
        };
        let out_of_range =
            || wrong(line, &format!("`{key}` in {} is out of range; expected {what}", self.called));
        limit.map(Some).ok_or_else(out_of_range)
    }

    /// A table within this one.
    pub(super) fn table(&mut self, key: &'static str) -> Parsed<Option<Section<'a>>> {
        let Some((line, value)) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(table) => {
                Ok(Some(Section::of(self.text, format!("[{key}]"), line, table)))
            }
            other => Err(self.expected(line, key, other, &format!("a table, [{key}]"))),
        }
    }

    /// A list of tables.
    pub(super) fn tables(&mut self, key: &'static str) -> Parsed<Vec<Section<'a>>> {
        let Some((line, value)) = self.value(key) else { return Ok(Vec::new()) };
        let what = format!("a list of tables, each under [[{key}]] or in {{ }}");
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.expected(line, key, value.get_ref(), &what));
        };
        let tables = list.iter().map(|item| {
            let line = line_of(self.text, item.span().start);
            match item.get_ref() {
                DeValue::Table(table) => {
                    Ok(Section::of(self.text, format!("[[{key}]]"), line, table))
                }
                other => Err(self.expected(line, key, other, &what)),
            }
        });
        tables.collect()
    }

    /// Everything that is there must have been asked for.
    pub(super) fn close(mut self) -> Parsed<()> {
        self.entries.sort_by_key(|(_, line, _)| *line);
        let Some((key, line, _)) = self.entries.first() else { return Ok(()) };
        let called = &self.called;
        let known = self.asked.join(", ");
        Err(wrong(*line, &format!("unknown key `{key}` in {called}; expected {known}")))
    }
}

/// A number of rows, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// So many.
    Count(u64),
    /// This part of all.
    Share(f64),
}

impl Limit {
    /// How many of `all` that is.
    pub(super) fn of(self, all: usize) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Share(share) => share * all as f64,
        }
    }
}

fn whole(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

/// An error in a line of the manifest.
pub(super) fn wrong(line: usize, message: &str) -> ParseError {
    ParseError::new(format!("line {line}: {message}"))
}

/// The line of a byte, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

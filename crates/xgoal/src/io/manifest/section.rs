//! One table of the manifest: values are asked for by key, and what nobody asked for is an error.

use crate::error::ParseError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
        let what = format!("tables, each under [[{key}]]");
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

/// An error in a line of the manifest.
pub(super) fn wrong(line: usize, message: &str) -> ParseError {
    ParseError::new(format!("line {line}: {message}"))
}

/// The line of a byte, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

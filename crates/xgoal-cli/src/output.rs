//! Where words go: JSON on standard output, everything said along the way on standard error.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
pub use xgoal::machine::format_bytes as bytes;

/// How much to say, and in which form.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// One JSON document on standard output.
    pub json: bool,
    /// Nothing on standard error but errors.
    pub quiet: bool,
}

/// A request that cannot be meant; exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Why a command failed, as one process tells another.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What users read.
    pub message: String,
}

impl Failure {
    /// Says it on standard error, in words or as a line of JSON.
    pub fn tell(&self, json: bool) {
        match serde_json::to_string(self) {
            Ok(line) if json => drop(writeln!(std::io::stderr(), "{line}")),
            _ => tell(format_args!("error: {}", self.message)),
        }
    }

    /// What a process said last, if that was a failure.
    pub fn heard(said: &[u8]) -> Option<Self> {
        let last = said.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?;
        serde_json::from_slice(last).ok()
    }
}

impl Output {
    /// Says something along the way.
    pub fn say(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            tell(text);
        }
    }

    /// Prints the result: the document as JSON, or the text.
    pub fn result(
        &self,
        document: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let line = match self.json {
            true => serde_json::to_string(document)?,
            false => shown(&text()).into_owned(),
        };
        let mut out = std::io::stdout().lock();
        // A reader that closed the pipe has seen what it wanted.
        match writeln!(out, "{}", line.trim_end()).and_then(|()| out.flush()) {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }
}

/// A line on standard error. Where nobody reads it any more, the work goes on without words.
pub fn tell(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", shown(&text.to_string()));
}

/// Text as a terminal may have it. Names and ids come from files and may hold anything: control characters other than line
/// breaks and tabs would move its cursor, name its window and more, and are escaped.
pub fn shown(text: &str) -> Cow<'_, str> {
    let escaped = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escaped(c) { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    out.into()
}

/// A path as a word of a shell's command, to be copied from a hint.
pub fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// A number with thousands separated.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_where_they_are_no_breaks() {
        let plain = "é漢 🦀\tone\ntwo \\u{1b} \"x\"";
        assert_eq!(shown(plain), plain);
        assert_eq!(shown("a\x1b]0;b\x07\r\x7f\u{9b}c"), "a\\u{1b}]0;b\\u{7}\\r\\u{7f}\\u{9b}c");
    }

    #[test]
    fn a_failure_is_heard_as_it_was_said() {
        let message = "a.mat: error: \u{1b}[2J two\nlines".to_string();
        let line = serde_json::to_string(&Failure { code: 4, message: message.clone() }).unwrap();
        let heard = Failure::heard(format!("words\n{line}\n").as_bytes()).unwrap();
        assert_eq!((heard.code, heard.message), (4, message));
        assert!(Failure::heard(b"error: words\n").is_none() && Failure::heard(b"").is_none());
    }

    #[test]
    fn paths_are_one_word_each() {
        let word = |path: &str| word(Path::new(path));
        assert_eq!(word("runs/über-1.npz"), "runs/über-1.npz");
        assert_eq!(word("a b"), "'a b'");
        assert_eq!(word("it's; rm -rf $HOME"), "'it'\\''s; rm -rf $HOME'");
        assert_eq!(word("~x"), "'~x'");
        assert_eq!(word(""), "''");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(7), "7");
        assert_eq!(count(2_210_761), "2,210,761");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(bytes(2_340_000_000), "2.3 GB");
    }
}

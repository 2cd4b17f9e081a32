//! Where words go: JSON on standard output, everything said along the way on standard error.

use serde::Serialize;
use std::io::Write;
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
        let line = if self.json { serde_json::to_string(document)? } else { text() };
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
    let _ = writeln!(std::io::stderr(), "{text}");
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
    fn numbers_are_readable() {
        assert_eq!(count(7), "7");
        assert_eq!(count(2_210_761), "2,210,761");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(bytes(2_340_000_000), "2.3 GB");
    }
}

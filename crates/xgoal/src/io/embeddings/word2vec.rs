//! The text format of word2vec: a line with rows and columns, then on each line a word and its numbers.
//!
//! Words have no white space, so an id's white space, control characters and `%` are written as in URLs: `a b` is
//! `a%20b`.

use super::{Embeddings, Layout, Rows};
use crate::error::{Error, ParseError, Result};
use crate::io::open;
use crate::matrix::Dense;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// A line for each row.
#[derive(Debug)]
pub(super) struct Words {
    pub columns: usize,
}

impl Layout for Words {
    fn begin(&mut self, file: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        writeln!(file, "{} {}", rows.count, self.columns)
    }

    fn rows(
        &mut self,
        file: &mut dyn Write,
        rows: &Rows<'_>,
        first: usize,
        some: &Dense,
    ) -> io::Result<()> {
        for row in 0..some.rows() {
            file.write_all(escaped(&rows.id(first + row)).as_bytes())?;
            some.row(row).iter().try_for_each(|value| write!(file, " {value}"))?;
            file.write_all(b"\n")?;
        }
        Ok(())
    }
}

pub(super) fn read(path: &Path) -> Result<Embeddings> {
    let (file, _) = open::file(path)?;
    let mut lines = BufReader::new(file).lines().enumerate().map(|(i, line)| {
        let line = line.map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => {
                ParseError::new(format!("line {}: not UTF-8 text", i + 1)).in_file(path)
            }
            _ => Error::io(path, e),
        })?;
        Ok::<_, Error>((i + 1, line))
    });
    let wrong = |line: usize, message: String| {
        ParseError::new(format!("line {line}: {message}")).in_file(path)
    };
    let first = lines.next().transpose()?.map(|(_, line)| line).unwrap_or_default();
    let sizes: Vec<usize> = first.split(' ').filter_map(|n| n.parse().ok()).collect();
    let [rows, cols] = sizes[..] else {
        let message = "expected a line with the number of words and of dimensions".into();
        return Err(wrong(1, message));
    };
    let (mut ids, mut values) = (Vec::new(), Vec::new());
    for line in lines {
        let (number, line) = line?;
        let mut words = line.trim_end().split(' ');
        ids.push(unescaped(words.next().unwrap_or_default()));
        let before = values.len();
        for word in words {
            let value = word.parse::<f32>().ok().filter(|v| v.is_finite());
            let expected = || wrong(number, format!("`{word}`; expected a finite number"));
            values.push(value.ok_or_else(expected)?);
        }
        if values.len() - before != cols {
            let found = values.len() - before;
            return Err(wrong(number, format!("{found} numbers; expected {cols}")));
        }
    }
    if ids.len() != rows {
        let found = ids.len();
        return Err(wrong(1, format!("{rows} words announced, but there are {found}")));
    }
    Ok(Embeddings { ids: Some(ids), matrix: Dense::from_vec(rows, cols, values)? })
}

fn escaped(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for c in id.chars() {
        if c.is_whitespace() || c.is_control() || c == '%' {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|b| out.push_str(&format!("%{b:02X}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Undoes `escaped`; what was not escaped stays.
fn unescaped(word: &str) -> String {
    let bytes = word.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|d| std::str::from_utf8(d).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| bytes[at] == b'%') {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_words_and_back() {
        for id in ["a", "a b", "100%", "%20", "x\n\ty", "é\u{a0}ü", "\u{2028}", "007", "+1%+2"] {
            assert!(!escaped(id).contains(char::is_whitespace), "{id:?}");
            assert_eq!(unescaped(&escaped(id)), id);
        }
        assert_eq!(unescaped("50% of"), "50% of");
        assert_eq!(unescaped("%FF"), "%FF");
    }
}

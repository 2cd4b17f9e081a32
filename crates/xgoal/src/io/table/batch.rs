//! Some rows of a table, and what can be asked of their fields.

use crate::words::quoted;
use std::borrow::Cow;
use std::fmt;

/// Some rows, with the columns that were asked for, in that order.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) columns: Vec<Column>,
    places: Places,
}

/// Where the rows stand in the file.
#[derive(Debug)]
pub(super) enum Places {
    /// The line of each.
    Lines(Vec<u32>),
    /// The number of the first, from 1, and how many there are.
    Rows(u32, usize),
}

impl Batch {
    pub(super) fn new(columns: Vec<Column>, places: Places) -> Self {
        Self { columns, places }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        match &self.places {
            Places::Lines(lines) => lines.len(),
            Places::Rows(_, count) => *count,
        }
    }

    /// Line or number of a row.
    pub(crate) fn number(&self, row: usize) -> u32 {
        match &self.places {
            Places::Lines(lines) => lines[row],
            Places::Rows(first, _) => first + row as u32,
        }
    }

    pub(super) fn has_lines(&self) -> bool {
        matches!(self.places, Places::Lines(_))
    }

    /// Where a row stands, in words.
    pub(crate) fn place(&self, row: usize) -> String {
        let word = if self.has_lines() { "line" } else { "row" };
        format!("{word} {}", self.number(row))
    }
}

/// The values of one column. An empty field and a null are missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    /// Text, also of numbers where the file has no types.
    Texts(Texts),
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Numbers; NaN is missing.
    Floats(Vec<f64>),
    /// Booleans.
    Flags(Vec<Option<bool>>),
    /// Lists of numbers; an empty one is missing.
    Vectors(Vectors),
}

impl Default for Column {
    fn default() -> Self {
        Self::Texts(Texts::default())
    }
}

/// Strings one after another.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Lists of numbers one after another.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Vectors {
    pub(super) values: Vec<f32>,
    pub(super) ends: Vec<usize>,
}

/// A field that is not what it should be.
#[derive(Debug, PartialEq)]
pub(crate) struct Misfit {
    found: String,
    expected: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.found, self.expected)
    }
}

impl Texts {
    /// Adds a string, which must be valid UTF-8.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.ends.reserve(rows);
        self.bytes.reserve(bytes);
    }

    #[cfg(test)]
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text.as_bytes()));
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    pub(crate) fn get(&self, row: usize) -> &str {
        std::str::from_utf8(self.bytes(row)).expect("checked when the batch was read")
    }
}

impl Vectors {
    pub(crate) fn get(&self, row: usize) -> &[f32] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.values[start..self.ends[row]]
    }
}

impl Column {
    /// How many rows there are.
    #[cfg(feature = "parquet")]
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Integers(numbers) => numbers.len(),
            Self::Floats(numbers) => numbers.len(),
            Self::Flags(flags) => flags.len(),
            Self::Vectors(lists) => lists.ends.len(),
        }
    }

    /// Adds the rows of another batch, which has the same type.
    pub(super) fn append(&mut self, more: Column) {
        match (self, more) {
            (Self::Texts(all), Self::Texts(more)) => {
                let before = all.bytes.len();
                all.bytes.extend_from_slice(&more.bytes);
                all.ends.extend(more.ends.iter().map(|end| before + end));
            }
            (Self::Integers(all), Self::Integers(more)) => all.extend(more),
            (Self::Floats(all), Self::Floats(more)) => all.extend(more),
            (Self::Flags(all), Self::Flags(more)) => all.extend(more),
            (Self::Vectors(all), Self::Vectors(more)) => {
                let before = all.values.len();
                all.values.extend_from_slice(&more.values);
                all.ends.extend(more.ends.iter().map(|end| before + end));
            }
            _ => unreachable!("a column keeps its type"),
        }
    }

    /// All fields as ids; an error names the first row that has none.
    pub(crate) fn ids(&self) -> Result<Cow<'_, Texts>, (usize, Misfit)> {
        let ids = self.ids_or_empty().map_err(|misfit| (0, misfit))?;
        match (0..ids.len()).find(|row| ids.bytes(*row).is_empty()) {
            Some(row) => Err((row, Misfit { found: "nothing".into(), expected: AN_ID })),
            None => Ok(ids),
        }
    }

    /// All fields as ids, empty ones too.
    pub(crate) fn ids_or_empty(&self) -> Result<Cow<'_, Texts>, Misfit> {
        Ok(match self {
            Self::Texts(texts) => Cow::Borrowed(texts),
            Self::Integers(numbers) => {
                let mut texts = Texts::default();
                texts.reserve(numbers.len(), 8 * numbers.len());
                for number in numbers {
                    if let Some(number) = number {
                        push_digits(&mut texts.bytes, *number);
                    }
                    texts.ends.push(texts.bytes.len());
                }
                Cow::Owned(texts)
            }
            other => {
                let found = match other {
                    Self::Floats(_) => "a float",
                    Self::Flags(_) => "a boolean",
                    _ => "a list",
                };
                return Err(Misfit { found: found.into(), expected: AN_ID });
            }
        })
    }

    /// The field as a number, `None` where it is missing.
    pub(crate) fn number(&self, row: usize) -> Result<Option<f64>, Misfit> {
        let expected = "a finite number";
        let number = match self {
            Self::Texts(texts) => match texts.get(row).trim() {
                "" => return Ok(None),
                text => match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => number,
                    _ => return Err(Misfit { found: quoted(text), expected }),
                },
            },
            Self::Integers(numbers) => return Ok(numbers[row].map(|n| n as f64)),
            Self::Floats(numbers) => numbers[row],
            Self::Flags(flags) => return Ok(flags[row].map(|f| f64::from(u8::from(f)))),
            Self::Vectors(_) => return Err(Misfit { found: "a list".into(), expected }),
        };
        match number {
            missing if missing.is_nan() => Ok(None),
            number if number.is_finite() => Ok(Some(number)),
            other => Err(Misfit { found: other.to_string(), expected }),
        }
    }

    /// The field in single precision: digits are read as such, without a rounding to `f64` before.
    pub(crate) fn single(&self, row: usize) -> Result<Option<f32>, Misfit> {
        if let Self::Texts(texts) = self
            && let Ok(number) = texts.get(row).trim().parse::<f32>()
            && number.is_finite()
        {
            return Ok(Some(number));
        }
        let number = self.number(row)?;
        match number.map(|n| n as f32) {
            Some(single) if !single.is_finite() => {
                let found = number.unwrap_or_default().to_string();
                Err(Misfit { found, expected: "a number within f32" })
            }
            single => Ok(single),
        }
    }

    /// The field as text, empty where it is missing.
    pub(crate) fn text(&self, row: usize) -> Result<Cow<'_, str>, Misfit> {
        Ok(match self {
            Self::Texts(texts) => Cow::Borrowed(texts.get(row)),
            Self::Integers(numbers) => shown(numbers[row]),
            Self::Floats(numbers) => shown(Some(numbers[row]).filter(|v| !v.is_nan())),
            Self::Flags(flags) => shown(flags[row]),
            Self::Vectors(_) => {
                return Err(Misfit { found: "a list".into(), expected: "text or a number" });
            }
        })
    }
}

const AN_ID: &str = "an id, a string or a whole number";

/// Decimal digits; the formatting machinery would take most of the time of reading ids.
fn push_digits(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

fn shown<T: ToString>(value: Option<T>) -> Cow<'static, str> {
    Cow::Owned(value.map_or_else(String::new, |v| v.to_string()))
}

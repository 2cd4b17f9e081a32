//! Reading and writing settings by key: a TOML file, `--set key=value`, and `config.toml`.

use super::{Batch, Count, PerLayer, Settings};
use crate::error::{Error, ParseError, Result};
use std::path::Path;
use toml::Value;
use toml::de::{DeTable, DeValue};

macro_rules! keys {
    ($($key:ident: $reader:ident),+ $(,)?) => {
        /// Every setting there is, in the order `config.toml` writes them.
        pub const KEYS: &[&str] = &[$(stringify!($key)),+];

        impl Settings {
            /// Sets one key from a TOML value.
            pub fn set_value(&mut self, key: &str, value: &Value) -> Result<()> {
                match key {
                    $(stringify!($key) => {
                        let expected = <$reader as Reader>::EXPECTED;
                        self.$key = <$reader as Reader>::read(value)
                            .ok_or_else(|| setting(stringify!($key), value, expected))?;
                    })+
                    _ => {
                        return Err(Error::UnknownSetting {
                            key: key.to_string(), file: None, line: None, known: KEYS.to_vec(),
                        });
                    }
                }
                Ok(())
            }

            /// Refuses a value that is out of the key's range.
            pub(super) fn check(&self, key: &str) -> Result<()> {
                let outside = match key {
                    $(stringify!($key) => <$reader as Reader>::outside(&self.$key)
                        .map(|(found, range)| (stringify!($key), found, range)),)+
                    _ => None,
                };
                match outside {
                    None => Ok(()),
                    Some((key, found, range)) => {
                        Err(Error::Setting { key, found, expected: range.to_string() })
                    }
                }
            }

            /// The settings as a TOML table that [`Settings::read_file`] reads back.
            pub fn to_table(&self) -> toml::Table {
                let mut table = toml::Table::new();
                $(if let Some(value) = <$reader as Reader>::write(&self.$key) {
                    table.insert(stringify!($key).to_string(), value);
                })+
                table
            }
        }
    };
}

/// How a kind of setting is read and written, and what it may be.
trait Reader {
    type Out;
    const EXPECTED: &'static str;
    /// Where there may be one for each layer.
    const EXPECTED_EACH: &'static str = "one value, or a list with one per layer";
    fn read(value: &Value) -> Option<Self::Out>;
    fn write(out: &Self::Out) -> Option<Value>;
    /// A value that is out of range, in words, and the range.
    fn outside(_: &Self::Out) -> Option<(String, &'static str)> {
        None
    }
}

/// Kinds of numbers: what they are in memory, their test, what is expected of a value, and of a number.
macro_rules! numbers {
    ($($name:ident: $of:ident, $test:expr, $expected:literal, $range:literal;)+) => {
        $(struct $name;
        impl Reader for $name {
            type Out = $of;
            const EXPECTED: &'static str = $expected;
            const EXPECTED_EACH: &'static str = concat!($expected, ", or a list with one per layer");
            fn read(value: &Value) -> Option<$of> {
                Number::read(value)
            }
            fn write(out: &$of) -> Option<Value> {
                Some(out.write())
            }
            fn outside(out: &$of) -> Option<(String, &'static str)> {
                let test: fn($of) -> bool = $test;
                (!test(*out)).then(|| (out.to_string(), $range))
            }
        })+
    };
}

numbers! {
    Dim: usize, |n| (1..=65536).contains(&n), "a whole number from 1 to 65536", "from 1 to 65536";
    Many: usize, |n| (1..=1 << 31).contains(&n), "a whole number from 1 to 2^31", "from 1 to 2^31";
    Columns: usize, |n| n <= 1024, "a whole number from 0 to 1024", "from 0 to 1024";
    Passes: usize, |n| n <= 8, "a whole number from 0 to 8", "from 0 to 8";
    Part: f64, |x| (0.0..1.0).contains(&x),
        "a number of at least 0 and less than 1", "at least 0 and less than 1";
    Weight: f64, |x| x.is_finite() && x >= 0.0,
        "a finite number of at least 0", "a finite number of at least 0";
    Positive: f64, |x| x.is_finite() && x > 0.0,
        "a finite number above 0", "a finite number above 0";
}

/// A number in memory.
trait Number: Sized {
    fn read(value: &Value) -> Option<Self>;
    fn write(self) -> Value;
}

impl Number for usize {
    fn read(value: &Value) -> Option<Self> {
        usize::try_from(value.as_integer()?).ok()
    }
    fn write(self) -> Value {
        Value::Integer(self as i64)
    }
}

impl Number for f64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_float().or_else(|| value.as_integer().map(|i| i as f64))
    }
    fn write(self) -> Value {
        Value::Float(self)
    }
}

struct ManyOrAuto;
impl Reader for ManyOrAuto {
    type Out = Count;
    const EXPECTED: &'static str = "a whole number from 1 to 2^31, or \"auto\"";
    const EXPECTED_EACH: &'static str =
        "a whole number from 1 to 2^31 or \"auto\", or a list with one of these per layer";
    fn read(value: &Value) -> Option<Count> {
        match value.as_str() {
            Some("auto") => Some(Count::Auto),
            _ => Many::read(value).map(Count::Fixed),
        }
    }
    fn write(out: &Count) -> Option<Value> {
        match out {
            Count::Auto => Some(Value::String("auto".into())),
            Count::Fixed(count) => Many::write(count),
        }
    }
    fn outside(out: &Count) -> Option<(String, &'static str)> {
        match out {
            Count::Auto => None,
            Count::Fixed(count) => Many::outside(count),
        }
    }
}

struct BatchChoice;
impl Reader for BatchChoice {
    type Out = Batch;
    const EXPECTED: &'static str = "\"all\" or a whole number from 1 to 2^31";
    fn read(value: &Value) -> Option<Batch> {
        match value.as_str() {
            Some("all") => Some(Batch::All),
            _ => Many::read(value).map(Batch::Nodes),
        }
    }
    fn write(out: &Batch) -> Option<Value> {
        match out {
            Batch::All => Some(Value::String("all".into())),
            Batch::Nodes(count) => Many::write(count),
        }
    }
    fn outside(out: &Batch) -> Option<(String, &'static str)> {
        match out {
            Batch::All => None,
            Batch::Nodes(count) => Many::outside(count),
        }
    }
}

struct Seed;
impl Reader for Seed {
    type Out = u64;
    const EXPECTED: &'static str = "a whole number from 0 to 2^63 - 1";
    fn read(value: &Value) -> Option<u64> {
        u64::try_from(value.as_integer()?).ok()
    }
    fn write(out: &u64) -> Option<Value> {
        Some(Value::Integer(*out as i64))
    }
}

struct Switch;
impl Reader for Switch {
    type Out = bool;
    const EXPECTED: &'static str = "true or false";
    fn read(value: &Value) -> Option<bool> {
        match value {
            Value::Boolean(b) => Some(*b),
            Value::String(s) if s == "on" => Some(true),
            Value::String(s) if s == "off" => Some(false),
            _ => None,
        }
    }
    fn write(out: &bool) -> Option<Value> {
        Some(Value::Boolean(*out))
    }
}

struct Names;
impl Reader for Names {
    type Out = Option<Vec<String>>;
    const EXPECTED: &'static str = "a list of one layer name or more";
    fn read(value: &Value) -> Option<Self::Out> {
        let names = value.as_array().filter(|names| !names.is_empty())?.iter();
        let name = |v: &Value| match v {
            Value::String(name) => Some(name.clone()),
            // A layer may be called 1 as well.
            Value::Integer(number) => Some(number.to_string()),
            _ => None,
        };
        names.map(name).collect::<Option<Vec<_>>>().map(Some)
    }
    fn write(out: &Self::Out) -> Option<Value> {
        let names = out.as_ref()?;
        Some(Value::Array(names.iter().cloned().map(Value::String).collect()))
    }
}

struct Each<R>(std::marker::PhantomData<R>);
impl<R: Reader> Reader for Each<R> {
    type Out = PerLayer<R::Out>;
    const EXPECTED: &'static str = R::EXPECTED_EACH;
    fn read(value: &Value) -> Option<Self::Out> {
        match value {
            Value::Array(list) => {
                list.iter().map(R::read).collect::<Option<Vec<_>>>().map(PerLayer::Each)
            }
            one => R::read(one).map(PerLayer::One),
        }
    }
    fn write(out: &Self::Out) -> Option<Value> {
        match out {
            PerLayer::One(one) => R::write(one),
            PerLayer::Each(list) => {
                list.iter().map(R::write).collect::<Option<_>>().map(Value::Array)
            }
        }
    }
    fn outside(out: &Self::Out) -> Option<(String, &'static str)> {
        match out {
            PerLayer::One(one) => R::outside(one),
            PerLayer::Each(list) => list.iter().find_map(R::outside),
        }
    }
}

type EachCount = Each<ManyOrAuto>;
type EachPositive = Each<Positive>;
type EachWeight = Each<Weight>;

macro_rules! choice_reader {
    ($($reader:ident = $choice:ident: $expected:literal),+ $(,)?) => {
        $(struct $reader;
        impl Reader for $reader {
            type Out = super::$choice;
            const EXPECTED: &'static str = $expected;
            fn read(value: &Value) -> Option<Self::Out> {
                super::$choice::parse(value.as_str()?)
            }
            fn write(out: &Self::Out) -> Option<Value> {
                Some(Value::String(out.as_str().to_string()))
            }
        })+
    };
}

/// A choice, or `auto`.
macro_rules! or_auto {
    ($($name:ident = $reader:ident: $expected:literal),+ $(,)?) => {
        $(struct $name;
        impl Reader for $name {
            type Out = Option<<$reader as Reader>::Out>;
            const EXPECTED: &'static str = $expected;
            fn read(value: &Value) -> Option<Self::Out> {
                match value.as_str() {
                    Some("auto") => Some(None),
                    _ => $reader::read(value).map(Some),
                }
            }
            fn write(out: &Self::Out) -> Option<Value> {
                out.as_ref().map_or(Some(Value::String("auto".into())), $reader::write)
            }
            fn outside(out: &Self::Out) -> Option<(String, &'static str)> {
                out.as_ref().and_then($reader::outside)
            }
        })+
    };
}

or_auto! {
    EncoderOrAuto = EncoderChoice: "\"auto\", \"first-order\" or \"gcn\"",
    BatchOrAuto = BatchChoice: "\"auto\", \"all\" or a whole number from 1 to 2^31",
    EveryOrAuto = Many: "\"auto\" or a whole number from 1 to 2^31",
    ColumnsOrAuto = Columns: "\"auto\" or a whole number from 0 to 1024",
    WeightOrAuto = Weight: "\"auto\" or a finite number of at least 0",
    StartOrAuto = StartChoice: "\"auto\", \"random\" or \"principal\"",
    AttributeOrAuto = AttributeChoice: "\"auto\", \"l1\", \"l2\" or \"none\"",
    ColumnOrAuto = ColumnChoice: "\"auto\", \"none\", \"center\" or \"standard\"",
    PassesOrAuto = Passes: "\"auto\" or a whole number from 0 to 8",
    LoopOrAuto = LoopChoice: "\"auto\", \"isolated\", \"all\" or \"none\"",
}

choice_reader! {
    ScheduleChoice = Schedule: "\"smooth\" or \"paper\"",
    MethodChoice = Method: "\"xgoal\" or \"goal\"",
    ActivationChoice = Activation: "\"tanh\" or \"relu\"",
    EncoderChoice = Encoder: "\"first-order\" or \"gcn\"",
    StartChoice = Start: "\"random\" or \"principal\"",
    AugmentationChoice = Augmentation: "\"dropout\" or \"mask\"",
    AttributeChoice = AttributeNorm: "\"l1\", \"l2\" or \"none\"",
    ColumnChoice = ColumnNorm: "\"none\", \"center\" or \"standard\"",
    EdgeChoice = EdgeNorm: "\"symmetric\" or \"none\"",
    LoopChoice = SelfLoops: "\"isolated\", \"all\" or \"none\"",
}

keys! {
    method: MethodChoice,
    layers: Names,
    structure: ColumnsOrAuto,
    structure_weight: WeightOrAuto,
    dim: Dim,
    activation: ActivationChoice,
    encoder: EncoderOrAuto,
    p_drop: Part,
    augmentation: AugmentationChoice,
    drop_attributes: Switch,
    drop_edges: Switch,
    clusters: EachCount,
    tau: EachPositive,
    cluster_every: EveryOrAuto,
    kmeans_restarts: Many,
    lambda_n: Weight,
    lambda_c: WeightOrAuto,
    mu_n: Weight,
    mu_c: Weight,
    align_tau: EachPositive,
    layer_weights: EachWeight,
    lr: Positive,
    start: StartOrAuto,
    warmup: Switch,
    warmup_lr: Positive,
    warmup_mu_n: Weight,
    max_epochs: Many,
    patience: Many,
    schedule: ScheduleChoice,
    batch: BatchOrAuto,
    seed: Seed,
    normalize_attributes: AttributeOrAuto,
    normalize_columns: ColumnOrAuto,
    smooth_attributes: PassesOrAuto,
    normalize_edges: EdgeChoice,
    self_loops: LoopOrAuto,
}

fn setting(key: &'static str, value: &Value, expected: &str) -> Error {
    Error::Setting { key, found: value.to_string(), expected: expected.to_string() }
}

impl Settings {
    /// Sets one key from text: a TOML literal, a bare word, or a comma-separated list of either.
    ///
    /// ```
    /// let mut settings = xgoal::settings::Settings::default();
    /// settings.set("clusters", "30,5")?;
    /// settings.set("activation", "relu")?;
    /// assert!(settings.set("colour", "red").is_err());
    /// # Ok::<(), xgoal::Error>(())
    /// ```
    pub fn set(&mut self, key: &str, text: &str) -> Result<()> {
        let literal = |text: &str| {
            let parsed = toml::from_str::<toml::Table>(&format!("v = {text}")).ok();
            parsed
                .and_then(|mut t| t.remove("v"))
                .unwrap_or_else(|| Value::String(text.to_string()))
        };
        let text = text.trim();
        let value = match literal(text) {
            Value::String(s) if s == text && text.contains(',') => {
                Value::Array(text.split(',').map(|part| literal(part.trim())).collect())
            }
            value => value,
        };
        let value = match value {
            one @ (Value::String(_) | Value::Integer(_)) if key == "layers" => {
                Value::Array(vec![one])
            }
            value => value,
        };
        if key == "layers"
            && let Some(Some(names)) = Names::read(&value)
        {
            self.choose_layers(names);
            return Ok(());
        }
        self.set_value(key, &value)
    }

    /// Every key whose value is another one in `other`, in words: first the value here, then there.
    pub fn difference(&self, other: &Settings) -> Option<String> {
        let (here, there) = (self.to_table(), other.to_table());
        let text = |value: Option<&Value>| value.map_or("not set".into(), Value::to_string);
        let differing = KEYS.iter().filter(|key| here.get(**key) != there.get(**key));
        let words: Vec<String> = differing
            .map(|key| {
                format!("`{key}` was {}, now {}", text(here.get(*key)), text(there.get(*key)))
            })
            .collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Sets every key of a TOML file on top of what is there. A value must be in its range, too.
    pub fn read_file(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        self.read_lines(&text, |error, line| match error {
            Error::UnknownSetting { key, known, .. } => {
                Error::UnknownSetting { key, file: Some(path.to_path_buf()), line, known }
            }
            Error::Setting { key, found, expected } => {
                let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
                let found = format!("{found} in {}{line}", path.display());
                Error::Setting { key, found, expected }
            }
            Error::Parse { source, .. } => source.in_file(path),
            other => other,
        })
    }

    /// Sets every key of a TOML text on top of what is there. A value must be in its range, too.
    pub fn read_toml(&mut self, text: &str) -> Result<()> {
        self.read_lines(text, |error, _| error)
    }

    /// The first mistake is handed on with its line.
    fn read_lines(
        &mut self,
        text: &str,
        placed: impl Fn(Error, Option<usize>) -> Error,
    ) -> Result<()> {
        let table = DeTable::parse(text).map_err(|e| {
            // This one shows the line.
            let e = toml::from_str::<toml::Table>(text).err().unwrap_or(e);
            let error = ParseError::new(e.to_string().trim_end().to_string());
            placed(error.in_file(Path::new("")), None)
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let line = text[..key.span().start].matches('\n').count() + 1;
            let written = text.get(value.span()).filter(|text| !text.contains('\n'));
            let set = self.set_value(key.get_ref(), &plain(value.get_ref()));
            let set = set.and_then(|()| self.check(key.get_ref()));
            set.map_err(|error| match (error, written, value.get_ref()) {
                // In a list, it is one of its values that was found.
                (error, _, DeValue::Array(_) | DeValue::Table(_)) => error,
                (Error::Setting { key, expected, .. }, Some(written), _) => {
                    Error::Setting { key, found: written.to_string(), expected }
                }
                (error, ..) => error,
            })
            .map_err(|error| placed(error, Some(line)))?;
        }
        Ok(())
    }
}

/// A value as it is written; a number that is too large is the nearest one there is, which no setting takes.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Float(number.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(time) => Value::Datetime(*time),
        DeValue::Array(list) => Value::Array(list.iter().map(|v| plain(v.get_ref())).collect()),
        DeValue::Table(table) => {
            let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                (key.to_string(), plain(value.get_ref()))
            };
            Value::Table(table.iter().map(entry).collect())
        }
    }
}

#[cfg(test)]
mod tests;

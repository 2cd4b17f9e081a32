//! Reading and writing settings by key: a TOML file, `--set key=value`, and `config.toml`.

use super::{Count, PerLayer, Settings};
use crate::error::{Error, ParseError, Result};
use std::path::Path;
use toml::Value;

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
                            key: key.to_string(), file: None, known: KEYS.to_vec(),
                        });
                    }
                }
                Ok(())
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

/// How a kind of setting is read and written. Ranges are checked later, by `validate`.
trait Reader {
    type Out;
    const EXPECTED: &'static str;
    /// Where there may be one for each layer.
    const EXPECTED_EACH: &'static str = "a number, or a list with one number per layer";
    fn read(value: &Value) -> Option<Self::Out>;
    fn write(out: &Self::Out) -> Option<Value>;
}

struct Whole;
impl Reader for Whole {
    type Out = usize;
    const EXPECTED: &'static str = "a whole number of at least 0";
    fn read(value: &Value) -> Option<usize> {
        usize::try_from(value.as_integer()?).ok()
    }
    fn write(out: &usize) -> Option<Value> {
        Some(Value::Integer(*out as i64))
    }
}

struct WholeOrAuto;
impl Reader for WholeOrAuto {
    type Out = Count;
    const EXPECTED: &'static str = "a whole number of at least 0, or \"auto\"";
    const EXPECTED_EACH: &'static str =
        "a whole number or \"auto\", or a list with one of these per layer";
    fn read(value: &Value) -> Option<Count> {
        match value.as_str() {
            Some("auto") => Some(Count::Auto),
            _ => Whole::read(value).map(Count::Fixed),
        }
    }
    fn write(out: &Count) -> Option<Value> {
        match out {
            Count::Auto => Some(Value::String("auto".into())),
            Count::Fixed(count) => Whole::write(count),
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

struct Number;
impl Reader for Number {
    type Out = f64;
    const EXPECTED: &'static str = "a number";
    fn read(value: &Value) -> Option<f64> {
        value.as_float().or_else(|| value.as_integer().map(|i| i as f64))
    }
    fn write(out: &f64) -> Option<Value> {
        Some(Value::Float(*out))
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
    const EXPECTED: &'static str = "a list of layer names";
    fn read(value: &Value) -> Option<Self::Out> {
        let names = value.as_array()?.iter();
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
}

type EachCount = Each<WholeOrAuto>;
type EachNumber = Each<Number>;

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
        })+
    };
}

or_auto! {
    EncoderOrAuto = EncoderChoice: "\"auto\", \"first-order\" or \"gcn\"",
    PrototypesOrAuto = PrototypesChoice: "\"auto\", \"own\" or \"shared\"",
    NumberOrAuto = Number: "\"auto\" or a number",
    EachNumberOrAuto = EachNumber: "\"auto\", a number, or a list with one number per layer",
    StartOrAuto = StartChoice: "\"auto\", \"random\" or \"principal\"",
    AttributeOrAuto = AttributeChoice: "\"auto\", \"l1\", \"l2\" or \"none\"",
    ColumnOrAuto = ColumnChoice: "\"auto\", \"none\", \"center\" or \"standard\"",
    PassesOrAuto = Whole: "\"auto\" or a whole number",
    LoopOrAuto = LoopChoice: "\"auto\", \"isolated\", \"all\" or \"none\"",
}

choice_reader! {
    MethodChoice = Method: "\"xgoal\" or \"goal\"",
    ActivationChoice = Activation: "\"tanh\" or \"relu\"",
    EncoderChoice = Encoder: "\"first-order\" or \"gcn\"",
    PrototypesChoice = PrototypeSource: "\"own\" or \"shared\"",
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
    dim: Whole,
    activation: ActivationChoice,
    encoder: EncoderOrAuto,
    p_drop: Number,
    augmentation: AugmentationChoice,
    drop_attributes: Switch,
    drop_edges: Switch,
    clusters: EachCount,
    tau: EachNumber,
    cluster_every: Whole,
    kmeans_restarts: Whole,
    cluster_attributes: Switch,
    prototypes: PrototypesOrAuto,
    lambda_n: Number,
    lambda_c: NumberOrAuto,
    mu_n: Number,
    mu_c: Number,
    align_tau: Number,
    layer_weights: EachNumber,
    mean_weights: EachNumberOrAuto,
    lr: Number,
    start: StartOrAuto,
    shared_start: Switch,
    warmup: Switch,
    warmup_lr: Number,
    warmup_mu_n: Number,
    warmup_draws: Whole,
    warmup_min_gain: NumberOrAuto,
    max_epochs: Whole,
    patience: Whole,
    reset_patience: Switch,
    min_gain: Number,
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

    /// Sets every key of a TOML file on top of what is there.
    pub fn read_file(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        self.read_toml(&text).map_err(|e| match e {
            Error::UnknownSetting { key, known, .. } => {
                Error::UnknownSetting { key, file: Some(path.to_path_buf()), known }
            }
            Error::Setting { key, found, expected } => {
                Error::Setting { key, found: format!("{found} in {}", path.display()), expected }
            }
            Error::Parse { source, .. } => source.in_file(path),
            other => other,
        })
    }

    /// Sets every key of a TOML text on top of what is there.
    pub fn read_toml(&mut self, text: &str) -> Result<()> {
        let table: toml::Table = toml::from_str(text).map_err(|e| {
            ParseError::new(e.to_string().trim_end().to_string()).in_file(Path::new(""))
        })?;
        for (key, value) in &table {
            self.set_value(key, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Activation, Preset};

    #[test]
    fn every_preset_survives_a_round_trip() {
        for name in Preset::CHOICES {
            let settings = Preset::parse(name).unwrap().settings();
            let text = toml::to_string(&settings.to_table()).unwrap();
            let mut back = Preset::Amazon.settings();
            back.layers = None;
            back.read_toml(&text).unwrap();
            assert_eq!(back, settings, "{name}");
        }
    }

    #[test]
    fn text_values_are_understood() {
        let mut s = Settings::default();
        s.set("layers", "PLP").unwrap();
        assert_eq!(s.layers, Some(vec!["PLP".to_string()]));
        s.set("layers", "PLP, PAP").unwrap();
        assert_eq!(s.layers.as_ref().map(Vec::len), Some(2));
        s.set("tau", "0.02,1").unwrap();
        assert_eq!(s.tau, PerLayer::Each(vec![0.02, 1.0]));
        s.set("warmup", "off").unwrap();
        assert!(!s.warmup);
        s.set("activation", "relu").unwrap();
        assert_eq!(s.activation, Activation::Relu);
    }

    #[test]
    fn every_differing_key_is_named_with_both_values() {
        let one = Settings::default();
        let mut other = one.clone();
        assert_eq!(one.difference(&other), None);
        other.set("dim", "7").unwrap();
        other.set("tau", "0.5,1").unwrap();
        other.set("layers", "a").unwrap();
        let expected = format!(
            "`layers` was not set, now [\"a\"]; `dim` was {}, now 7; `tau` was {}, now [0.5, 1.0]",
            one.dim,
            text_of(&one, "tau")
        );
        assert_eq!(one.difference(&other), Some(expected));
    }

    fn text_of(settings: &Settings, key: &str) -> String {
        settings.to_table()[key].to_string()
    }

    #[test]
    fn mistakes_name_the_key_and_what_was_expected() {
        let mut s = Settings::default();
        let say = |r: Result<()>| r.unwrap_err().to_string();
        assert!(say(s.set("tua", "1")).starts_with("unknown setting `tua`; the settings are"));
        assert_eq!(
            say(s.set("activation", "gelu")),
            "setting `activation`: found \"gelu\", expected \"tanh\" or \"relu\""
        );
        assert!(say(s.set("dim", "-3")).contains("`dim`: found -3"));
        assert!(say(s.read_toml("dim = ")).contains("dim = "));
    }
}

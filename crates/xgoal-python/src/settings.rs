//! Settings by name, as keyword arguments give them.

use crate::errors::raise;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use toml::Value;
use xgoal::Error;
use xgoal::settings::{KEYS, Preset};

/// Lists within one another that a setting may have; none needs more than two.
const DEEPEST: usize = 4;

/// Characters of a wrong value that a message shows.
const LONGEST: usize = 200;

/// Unchecked settings; they are validated where they meet a graph.
#[pyclass(frozen, module = "xgoal._xgoal")]
pub struct Settings(pub xgoal::settings::Settings);

#[pymethods]
impl Settings {
    /// A preset, then the chosen layers, then single values.
    #[new]
    fn new(preset: &str, values: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut settings = Preset::parse(preset)
            .ok_or_else(|| {
                raise(Error::Setting {
                    key: "preset",
                    found: format!("\"{preset}\""),
                    expected: Preset::CHOICES.join(", "),
                })
            })?
            .settings();
        if let Some(names) = values.get_item("layers")? {
            let names = names.extract().map_err(|_| wrong("layers", &names))?;
            settings.choose_layers(names);
        }
        for (key, value) in values {
            let key: String = key.extract()?;
            if key != "layers" {
                let value = to_toml(&value, DEEPEST).ok_or_else(|| wrong(&key, &value))?;
                settings.set_value(&key, &value).map_err(raise)?;
            }
        }
        Ok(Self(settings))
    }

    /// The layers to use, in order; none when all of the graph's are.
    #[getter]
    fn layers(&self) -> Option<Vec<String>> {
        self.0.layers.clone()
    }
}

/// A value that no setting can have.
fn wrong(key: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let mut found = value.repr().map_or_else(|_| "?".to_string(), |r| r.to_string());
    if let Some((end, _)) = found.char_indices().nth(LONGEST) {
        found.truncate(end);
        found += "...";
    }
    raise(match KEYS.iter().find(|known| **known == key) {
        Some(key) => {
            let expected = if *key == "layers" {
                "a list of layer names"
            } else {
                "a number, a word, true or false, or a list of numbers (docs/settings.md)"
            };
            Error::Setting { key, found, expected: expected.to_string() }
        }
        None => Error::UnknownSetting {
            key: key.to_string(),
            file: None,
            line: None,
            known: KEYS.to_vec(),
        },
    })
}

/// A value of TOML; none where lists are in one another more than so many times, as of a list that contains itself.
fn to_toml(value: &Bound<'_, PyAny>, deepest: usize) -> Option<Value> {
    if let Ok(value) = value.cast::<PyBool>() {
        Some(Value::Boolean(value.is_true()))
    } else if let Ok(value) = value.cast::<PyInt>() {
        Some(Value::Integer(value.extract().ok()?))
    } else if let Ok(value) = value.cast::<PyFloat>() {
        Some(Value::Float(value.value()))
    } else if let Ok(value) = value.cast::<PyString>() {
        Some(Value::String(value.to_str().ok()?.to_string()))
    } else {
        let list = value.cast::<PyList>().ok()?;
        let deepest = deepest.checked_sub(1)?;
        list.iter().map(|item| to_toml(&item, deepest)).collect::<Option<_>>().map(Value::Array)
    }
}

/// Settings as JSON text.
pub fn to_json(settings: &xgoal::settings::Settings) -> String {
    serde_json::to_string(&settings.to_table()).expect("plain values")
}

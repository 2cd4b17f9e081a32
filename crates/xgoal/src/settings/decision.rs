//! What was decided where settings are `auto`, as data; doors turn it into words.

use serde::{Deserialize, Serialize};
use std::fmt;
use toml::Value;

/// A setting that was `auto` and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The setting.
    pub key: String,
    /// Its value, as a configuration has it.
    pub value: Value,
    /// What that is and why, in words.
    pub reason: String,
    /// When it was decided.
    pub when: When,
}

/// When something is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before training, by the graph.
    Start,
    /// Once the joint stage has begun, by what the warm-up led to.
    Joint,
    /// When training is over, by what it led to.
    End,
}

impl Decision {
    pub(crate) fn new(when: When, key: &str, value: impl Into<Value>, reason: String) -> Self {
        Self { key: key.into(), value: value.into(), reason, when }
    }
}

/// The line that users read.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_data_that_is_kept_and_words_that_are_shown() {
        for value in [Value::from(7), Value::from(0.25), Value::from(vec!["a", "b"])] {
            let made = Decision::new(When::Joint, "clusters", value, "many, because".into());
            assert_eq!(made.to_string(), "clusters: many, because");
            let kept = serde_json::to_string(&made).unwrap();
            assert_eq!(serde_json::from_str::<Decision>(&kept).unwrap(), made, "{kept}");
        }
    }
}

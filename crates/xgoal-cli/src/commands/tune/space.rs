//! Which settings are tried.

use crate::commands::trials;
use crate::output::Usage;
use std::collections::BTreeSet;
use xgoal::random::{Purpose, Stream};
use xgoal::settings::{Config, Count, Settings};

/// Longest part of a folder's name that says the settings.
const NAMED: usize = 80;

/// Settings and the values each may have.
#[derive(Debug)]
pub struct Space {
    keys: Vec<String>,
    lists: Vec<Vec<String>>,
}

/// Settings that are tried.
#[derive(Debug)]
pub struct Trial {
    /// From 1; the first is the base.
    pub number: usize,
    /// The name of its folder.
    pub name: String,
    /// A value per key.
    pub values: Vec<String>,
    /// All settings, with the first seed.
    pub config: Config,
}

impl Space {
    /// What was asked for, or steps around the base in the settings that matter most.
    pub fn new(search: &[String], base: &Config) -> anyhow::Result<Self> {
        let mut pairs = Vec::new();
        for text in search {
            let (key, values) = trials::assignment("--search", text)?;
            let instead = match key.as_str() {
                "seed" => "every trial has the same seeds: --seed and --seeds",
                "layers" => "every trial has the same layers: --layers",
                _ if pairs.iter().any(|(other, _)| *other == key) => {
                    "expected each setting once, with all its values"
                }
                _ => {
                    pairs.push((key, values));
                    continue;
                }
            };
            return Err(Usage(format!("--search {text}: {instead}")).into());
        }
        if pairs.is_empty() {
            pairs = around(base);
        }
        let (keys, lists) = pairs.into_iter().unzip();
        Ok(Self { keys, lists })
    }

    /// The settings that differ between trials.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The base, and different combinations in a random order: a search for more begins with the same ones.
    pub fn trials(
        &self,
        base: &Config,
        count: usize,
        resolve: impl Fn(&[String]) -> anyhow::Result<Config>,
    ) -> anyhow::Result<Vec<Trial>> {
        // A value that is not drawn is to be a good one as well.
        for (key, list) in self.keys.iter().zip(&self.lists) {
            for value in list {
                resolve(&[format!("{key}={value}")])?;
            }
        }
        let size = self.lists.iter().fold(1u64, |all, list| all.saturating_mul(list.len() as u64));
        let stream = Stream::new(base.settings().seed, Purpose::Trials);
        let mut trials = vec![self.trial(1, base.clone())];
        let (mut seen, mut draws) = (BTreeSet::new(), 0);
        while trials.len() < count && (seen.len() as u64) < size {
            let at = stream.below(draws, size);
            draws += 1;
            if seen.insert(at) {
                let config = resolve(&self.combination(at))?;
                if trials.iter().all(|trial| trial.config.settings() != config.settings()) {
                    trials.push(self.trial(trials.len() + 1, config));
                }
            }
        }
        Ok(trials)
    }

    fn trial(&self, number: usize, config: Config) -> Trial {
        let table = config.settings().to_table();
        let value = |key: &String| {
            let text = table.get(key).map_or_else(String::new, |value| value.to_string());
            text.replace('"', "")
        };
        let values: Vec<String> = self.keys.iter().map(value).collect();
        let named: String =
            trials::name(self.keys.iter().zip(&values)).chars().take(NAMED).collect();
        Trial { number, name: format!("{number:03}-{named}"), values, config }
    }

    /// A combination by its number, the first setting changing fastest.
    fn combination(&self, mut at: u64) -> Vec<String> {
        let pairs = self.keys.iter().zip(&self.lists);
        let assignment = |(key, list): (&String, &Vec<String>)| {
            let value = &list[(at % list.len() as u64) as usize];
            at /= list.len() as u64;
            format!("{key}={value}")
        };
        pairs.map(assignment).collect()
    }
}

/// Steps around a base, in settings that have an effect there.
fn around(base: &Config) -> Vec<(String, Vec<String>)> {
    let settings = base.settings();
    let mut lists = vec![
        ("clusters", clusters(base)),
        ("lr", times(settings.lr, [0.5, 1.0, 2.5])),
        ("lambda_c", lambda_c(settings)),
        ("p_drop", times(settings.p_drop.min(0.64), [0.6, 1.0, 1.4])),
    ];
    if base.aligned() {
        lists.push(("mu_n", times(settings.mu_n, [0.1, 1.0, 10.0])));
    }
    lists.into_iter().map(|(key, list)| (key.to_string(), list)).collect()
}

fn lambda_c(settings: &Settings) -> Vec<String> {
    match settings.lambda_c {
        Some(weight) => times(weight, [0.1, 1.0, 10.0]),
        None => ["auto", "0.01", "0.1"].map(String::from).to_vec(),
    }
}

fn clusters(base: &Config) -> Vec<String> {
    let counts: Option<Vec<usize>> = base
        .layers()
        .iter()
        .map(|layer| match layer.clusters {
            Count::Fixed(count) => Some(count),
            Count::Auto => None,
        })
        .collect();
    let Some(counts) = counts else {
        return ["auto", "5", "15", "50"].map(String::from).to_vec();
    };
    let scaled = |factor: f64| {
        let scaled = counts.iter().map(|k| ((*k as f64 * factor).round() as usize).max(2));
        format!("{:?}", scaled.collect::<Vec<_>>())
    };
    [0.5, 1.0, 2.0].map(scaled).to_vec()
}

fn times(value: f64, factors: [f64; 3]) -> Vec<String> {
    factors.map(|f| rounded(value * f)).to_vec()
}

/// A number to three digits: products of short ones are to be short.
fn rounded(value: f64) -> String {
    format!("{value:.2e}").parse::<f64>().map_or_else(|_| value.to_string(), |v| v.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(set: &[String]) -> anyhow::Result<Config> {
        let mut settings = Settings::default();
        for text in set {
            let (key, value) = text.split_once('=').unwrap();
            settings.set(key, value)?;
        }
        Ok(settings.validate(&["a".to_string(), "b".to_string()])?)
    }

    fn trials(search: &[&str], count: usize) -> anyhow::Result<Vec<Trial>> {
        let base = config(&[])?;
        let search: Vec<String> = search.iter().map(|s| s.to_string()).collect();
        Space::new(&search, &base)?.trials(&base, count, config)
    }

    #[test]
    fn the_base_comes_first_and_nothing_twice() {
        let all = trials(&["clusters=3,[4,5]", "lr=0.001,1e-3,0.002"], 100).unwrap();
        // Of 2 x 2 different combinations none is the base, whose clusters are found.
        assert_eq!(all.len(), 5);
        assert_eq!(all[0].values, ["auto", "0.002"]);
        let mut names: Vec<&str> = all[1..].iter().map(|t| &t.name[4..]).collect();
        names.sort_unstable();
        assert_eq!(names[0], "clusters=3,lr=0.001");
        assert_eq!(names[3], "clusters=4__5,lr=0.002");
        assert_eq!(trials(&["lr=0.002"], 3).unwrap().len(), 1);
    }

    #[test]
    fn a_longer_search_begins_with_the_shorter_one() {
        let names = |count| -> Vec<String> {
            trials(&[], count).unwrap().into_iter().map(|t| t.name).collect()
        };
        let long = names(20);
        assert_eq!((long.len(), &long[..12]), (20, &names(12)[..]));
        assert_eq!(long[0], "001-clusters=auto,lr=0.002,lambda_c=auto,p_drop=0.5,mu_n=0.001");
    }

    #[test]
    fn steps_are_around_the_base() {
        let lists = around(&config(&["clusters=30,5".into(), "p_drop=0.9".into()]).unwrap());
        assert_eq!(lists[0].1, ["[15, 3]", "[30, 5]", "[60, 10]"]);
        assert_eq!(lists[1].1, ["0.001", "0.002", "0.005"]);
        assert_eq!(lists[3].1, ["0.384", "0.64", "0.896"]);
        let goal = config(&["method=goal".into()]).unwrap();
        assert_eq!(around(&goal).len(), 4);
    }

    #[test]
    fn what_cannot_be_tried_is_refused() {
        for wrong in ["seed=1,2", "layers=a", "lr", "lr=0.1,", "lr=0.1,fast", "speed=1", "p_drop=2"]
        {
            assert!(trials(&[wrong], 1).is_err(), "{wrong}");
        }
        assert!(trials(&["lr=0.1", "lr=0.2"], 1).is_err());
    }
}

//! What a search came to: a table, the best settings, and how the criteria compare.

use super::space::{Space, Trial};
use crate::args::TuneArgs;
use crate::commands::trials;
use crate::output::word;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xgoal::criteria::{Criterion, spearman};
use xgoal::io::atomic;

/// Scores that criteria are compared with.
const COMPARED: [&str; 2] = ["macro_f1", "nmi"];

/// What trials are compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum By {
    /// Something that needs no labels.
    Criterion(Criterion),
    /// Macro-F1.
    Labels,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Criterion(criterion) => criterion.as_str(),
            By::Labels => "macro_f1",
        }
    }

    /// What a trial came to, where that is known.
    fn value(self, row: &Row) -> Option<f64> {
        let values = if self == By::Labels { &row.scores } else { &row.criteria };
        values.get(self.name()).copied()
    }

    /// The same as a number of which more is better.
    fn goodness(self, row: &Row) -> Option<f64> {
        let value = self.value(row)?;
        Some(match self {
            By::Criterion(criterion) => criterion.goodness(value),
            By::Labels => value,
        })
    }
}

/// One trial.
#[derive(Debug, Default, Serialize)]
pub struct Row {
    pub trial: usize,
    /// A value per key.
    pub values: Vec<String>,
    /// Its run folders, a seed each.
    pub runs: Vec<String>,
    /// Why there is nothing else.
    pub failed: Option<String>,
    pub criteria: BTreeMap<&'static str, f64>,
    /// Of all its runs together.
    pub epochs: usize,
    pub seconds: f64,
    /// Means over its runs, where the source has labels and splits.
    pub scores: BTreeMap<&'static str, f64>,
}

impl Row {
    /// Without results.
    pub fn of(trial: &Trial) -> Self {
        Self { trial: trial.number, values: trial.values.clone(), ..Self::default() }
    }

    /// Of a trial that failed.
    pub fn failed(trial: &Trial, reason: &str) -> Self {
        Self { failed: Some(reason.to_string()), ..Self::of(trial) }
    }
}

/// The whole search.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What trials are compared by.
    by: &'static str,
    #[serde(skip)]
    ranking: By,
    keys: Vec<String>,
    /// Number of clusters that the criteria are about.
    pub clusters: Option<usize>,
    /// The best first.
    #[serde(rename = "trials")]
    pub rows: Vec<Row>,
    best: Option<usize>,
    /// By criterion and score, Spearman's rank correlation over the trials; above 0 where the criterion is right.
    correlations: BTreeMap<&'static str, BTreeMap<&'static str, f64>>,
    files: Vec<PathBuf>,
    runs: usize,
    pub runs_done: usize,
    pub interrupted: bool,
}

impl Report {
    /// Before anything is known.
    pub fn new(ranking: By, space: &Space, runs: usize) -> Self {
        Self {
            by: ranking.name(),
            ranking,
            keys: space.keys().to_vec(),
            clusters: None,
            rows: Vec::new(),
            best: None,
            correlations: BTreeMap::new(),
            files: Vec::new(),
            runs,
            runs_done: 0,
            interrupted: false,
        }
    }

    /// Sorts the trials and writes the table and the best settings.
    pub fn finish(&mut self, out: &Path, trials: &[Trial]) -> xgoal::Result<()> {
        let table = out.join("tune.csv");
        atomic::write(&table, |w| w.write_all(self.csv().as_bytes()))?;
        self.files.push(table);
        let by = self.ranking;
        let good = |row: &Row| by.goodness(row).unwrap_or(f64::NEG_INFINITY);
        // Of equals the earlier one stays first.
        self.rows.sort_by(|a, b| {
            a.failed.is_some().cmp(&b.failed.is_some()).then(good(b).total_cmp(&good(a)))
        });
        let first = self.rows.first();
        let best = first.and_then(|row| Some((by.value(row)?, trials.get(row.trial - 1)?)));
        if let Some((value, trial)) = best {
            let text = format!(
                "# xgoal tune: trial {} of {}, the best by {} ({value:.4})\n{}",
                trial.number,
                trials.len(),
                self.by,
                trial.config.to_toml()
            );
            let path = out.join("best.toml");
            atomic::write(&path, |w| w.write_all(text.as_bytes()))?;
            self.files.push(path);
            self.best = Some(trial.number);
        }
        let criteria = Criterion::ALL.iter().map(|c| (c.as_str(), self.correlations_of(*c)));
        self.correlations = criteria.filter(|(_, scores)| !scores.is_empty()).collect();
        Ok(())
    }

    fn correlations_of(&self, criterion: Criterion) -> BTreeMap<&'static str, f64> {
        let of_score = |score: &'static str| {
            let pairs = self.rows.iter().filter_map(|row| {
                let good = By::Criterion(criterion).goodness(row)?;
                Some((good, *row.scores.get(score)?))
            });
            let (good, scores): (Vec<f64>, Vec<f64>) = pairs.unzip();
            Some((score, spearman(&good, &scores)?))
        };
        COMPARED.into_iter().filter_map(of_score).collect()
    }

    fn csv(&self) -> String {
        let names = |all: &[&str]| all.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let mut head = names(&["trial", "state"]);
        head.extend(self.keys.clone());
        head.extend(names(Criterion::CHOICES));
        head.extend(names(&["epochs", "seconds"]));
        head.extend(names(&trials::SCORES));
        let mut lines = vec![head.join(",")];
        for row in &self.rows {
            let state = if row.failed.is_some() { "failed" } else { "done" };
            let mut fields = vec![row.trial.to_string(), state.to_string()];
            fields.extend(row.values.iter().map(|v| trials::quoted(v)));
            let number = |values: &BTreeMap<&str, f64>, name: &&str| {
                values.get(name).map_or_else(String::new, f64::to_string)
            };
            fields.extend(Criterion::CHOICES.iter().map(|name| number(&row.criteria, name)));
            fields.extend([row.epochs.to_string(), format!("{:.3}", row.seconds)]);
            fields.extend(trials::SCORES.iter().map(|name| number(&row.scores, name)));
            lines.push(fields.join(","));
        }
        lines.join("\n") + "\n"
    }

    /// For people to read.
    pub fn text(&self, args: &TuneArgs) -> String {
        if self.interrupted {
            let (out, done, runs) = (args.out.display(), self.runs_done, self.runs);
            return format!(
                "{out}: interrupted after {done} of {runs} runs; the same command goes on"
            );
        }
        let mut lines = aligned(&self.cells());
        let failed = self.rows.iter().filter_map(|row| Some((row.trial, row.failed.as_ref()?)));
        lines.extend(failed.map(|(trial, reason)| format!("trial {trial} failed: {reason}")));
        if !self.correlations.is_empty() {
            lines.push("\nrank correlation with the labels' scores, over the trials".into());
            lines.extend(aligned(&self.correlation_cells()));
        }
        lines.push(String::new());
        lines.extend(self.files.iter().map(|f| f.display().to_string()));
        if let Some(best) = self.rows.first().filter(|_| self.best.is_some()) {
            lines.push(format!("the best by {}: trial {}", self.by, best.trial));
            let (source, config) = (word(&args.source), word(&args.out.join("best.toml")));
            lines.push(format!("  train: xgoal train {source} --out RUN --config {config}"));
            let runs = best.runs.iter().take(1).map(|run| word(Path::new(run)));
            lines.extend(runs.map(|run| format!("  look:  xgoal report {run} {source}")));
        }
        lines.join("\n")
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let any = |of: fn(&Row) -> &BTreeMap<&'static str, f64>, names: &[&'static str]| {
            let is_there = |name: &&str| self.rows.iter().any(|row| of(row).contains_key(name));
            names.iter().copied().filter(is_there).collect::<Vec<_>>()
        };
        let criteria = any(|row| &row.criteria, Criterion::CHOICES);
        let scores = any(|row| &row.scores, &trials::SCORES);
        let mut head = vec!["trial".to_string()];
        head.extend(self.keys.clone());
        let marked = |name: &&str| {
            if *name == self.by { format!("{name}*") } else { name.to_string() }
        };
        head.extend(criteria.iter().map(marked));
        head.extend(["epochs", "seconds"].map(String::from));
        head.extend(scores.iter().map(marked));
        let mut cells = vec![head];
        for row in &self.rows {
            let number = |values: &BTreeMap<&str, f64>, name: &&str| {
                values.get(name).map_or_else(|| "-".into(), |v| format!("{v:.3}"))
            };
            let mut line = vec![row.trial.to_string()];
            line.extend(row.values.clone());
            line.extend(criteria.iter().map(|name| number(&row.criteria, name)));
            line.extend([row.epochs.to_string(), format!("{:.1}", row.seconds)]);
            line.extend(scores.iter().map(|name| number(&row.scores, name)));
            cells.push(line);
        }
        cells
    }

    fn correlation_cells(&self) -> Vec<Vec<String>> {
        let head = ["criterion"].iter().chain(&COMPARED).map(|name| name.to_string()).collect();
        let mut cells: Vec<Vec<String>> = vec![head];
        for (criterion, scores) in &self.correlations {
            let number = |name: &&str| scores.get(name).map_or("-".into(), |v| format!("{v:.2}"));
            let numbers = COMPARED.iter().map(number);
            cells.push([criterion.to_string()].into_iter().chain(numbers).collect());
        }
        cells
    }
}

/// Cells as lines whose columns end below each other.
fn aligned(cells: &[Vec<String>]) -> Vec<String> {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| cells.iter().filter_map(|row| row.get(at)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| -> String {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        padded.collect::<Vec<_>>().join("  ")
    };
    cells.iter().map(line).collect()
}

use super::{eval, fitted, load, plot, resolved_with, train};
use crate::Ending;
use crate::args::SweepArgs;
use crate::output::{Output, Usage, count};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xgoal::Error;
use xgoal::eval::Report as Scores;
use xgoal::graph::MultiplexGraph;
use xgoal::io::{atomic, embeddings};
use xgoal::run::{Run, Unfinished, config_path, embeddings_path, metrics_path};
use xgoal::settings::{Config, Settings};
use xgoal::train::MemoryEstimate;
use xgoal_view::plot::sweep::{Score, Sweep};
use xgoal_view::training::Training;

#[derive(Serialize)]
struct Report {
    keys: Vec<String>,
    rows: Vec<Row>,
    files: Vec<PathBuf>,
    interrupted: bool,
}

/// One run.
#[derive(Serialize)]
struct Row {
    run: String,
    /// A value per key.
    values: Vec<String>,
    epochs: usize,
    seconds: f64,
    final_loss: f64,
    #[serde(flatten)]
    scores: Option<Scores>,
}

/// The settings that are swept, and those that are the same for all runs.
struct Grid {
    swept: Vec<(String, Vec<String>)>,
    fixed: Vec<String>,
}

pub fn run(args: &SweepArgs, output: &Output) -> anyhow::Result<Ending> {
    let grid = Grid::new(&args.tuning.set)?;
    let points = grid.points();
    // Every setting is checked before the first run.
    let all: Vec<Settings> = points
        .iter()
        .map(|p| resolved_with(&args.tuning, &grid.set(p)))
        .collect::<Result<_, _>>()?;
    let (graph, _) = load(&args.source, all[0].layers.as_deref(), None, output)?;
    let (first, graph) = fitted(all[0].clone(), graph, output)?;
    // The same layers for all.
    let with_layers = |s: Settings| Settings { layers: Some(first.layer_names()), ..s };
    let configs: Vec<Config> =
        all.into_iter().map(|s| with_layers(s).fit(&graph)).collect::<Result<_, _>>()?;
    output.say(format!("{}: {} runs", args.source.display(), count(points.len())));
    std::fs::create_dir_all(&args.out).map_err(|e| Error::io(&args.out, e))?;

    let (mut rows, mut interrupted) = (Vec::new(), false);
    for (i, (point, config)) in points.iter().zip(&configs).enumerate() {
        let name = grid.name(point);
        output.say(format!("{} of {}: {name}", i + 1, points.len()));
        let folder = args.out.join(&name);
        if !one(&folder, &graph, config, output)? {
            interrupted = true;
            break;
        }
        rows.push(row(&folder, name, point, &graph)?);
    }
    let mut report = Report {
        keys: grid.swept.iter().map(|(k, _)| k.clone()).collect(),
        rows,
        files: Vec::new(),
        interrupted,
    };
    if !report.rows.is_empty() {
        let table = args.out.join("sweep.csv");
        atomic::write(&table, |w| w.write_all(csv(&report).as_bytes()))?;
        report.files.push(table);
        plot::write(
            &args.out,
            "sweep",
            &grid.figure(&points, &report.rows).picture(),
            &mut report.files,
        )?;
    }
    output.result(&report, || text(&report))?;
    Ok(if interrupted { Ending::Interrupted } else { Ending::Done })
}

/// Trains one run unless it is there already; false when interrupted.
fn one(
    folder: &Path,
    graph: &MultiplexGraph,
    config: &Config,
    output: &Output,
) -> anyhow::Result<bool> {
    let path = config_path(folder);
    if path.exists() {
        let there = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
        if there != config.to_toml() {
            let folder = folder.display();
            let message =
                format!("{folder}: there is a run with other settings here; choose another --out");
            return Err(Usage(message).into());
        }
        if Run::is_finished(folder) {
            return Ok(true);
        }
    }
    let unfinished = Run::is_resumable(folder).then(|| Unfinished::open(folder)).transpose()?;
    if unfinished.is_none() && path.exists() {
        // Its model was taken away: it begins again.
        std::fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
    }
    MemoryEstimate::of(graph, config.settings()).check(None)?;
    let (trainer, mut run) = train::start(folder, graph, config.clone(), unfinished, output)?;
    Ok(!train::learn(trainer, graph, Some(&mut run), output)?.interrupted)
}

fn row(
    folder: &Path,
    name: String,
    values: &[String],
    graph: &MultiplexGraph,
) -> anyhow::Result<Row> {
    let training = Training::read(&metrics_path(folder))?;
    let matrix = embeddings::read_for(&embeddings_path(folder), None, graph)?;
    let scored = graph.labels().is_some() && graph.splits().is_some();
    let scores = scored.then(|| eval::score(&matrix, graph, 0)).transpose()?;
    Ok(Row {
        run: name,
        values: values.to_vec(),
        epochs: training.epochs.len(),
        seconds: training.epochs.iter().map(|e| e.seconds).sum(),
        final_loss: training.epochs.last().map_or(f64::NAN, |e| e.loss),
        scores,
    })
}

impl Grid {
    fn new(set: &[String]) -> anyhow::Result<Self> {
        let (mut swept, mut fixed) = (Vec::new(), Vec::new());
        for assignment in set {
            let (key, value) = assignment.split_once('=').ok_or_else(|| {
                Usage(format!(
                    "--set {assignment}: expected KEY=VALUE,VALUE,..., for example clusters=3,4,5"
                ))
            })?;
            let values = values(value);
            if values.iter().any(String::is_empty) {
                return Err(Usage(format!("--set {assignment}: a value is missing")).into());
            }
            match values.len() {
                1 => fixed.push(assignment.clone()),
                _ => swept.push((key.trim().to_string(), values)),
            }
        }
        if swept.is_empty() {
            let message =
                "nothing to sweep: expected several values, for example --set clusters=3,4,5";
            return Err(Usage(message.into()).into());
        }
        Ok(Self { swept, fixed })
    }

    /// Every combination, the last setting changing fastest.
    fn points(&self) -> Vec<Vec<String>> {
        let mut points = vec![Vec::new()];
        for (_, values) in &self.swept {
            let with = |p: &Vec<String>, v: &String| p.iter().chain([v]).cloned().collect();
            points = points.iter().flat_map(|p| values.iter().map(move |v| with(p, v))).collect();
        }
        points
    }

    fn set(&self, point: &[String]) -> Vec<String> {
        let swept = self.swept.iter().zip(point).map(|((key, _), value)| format!("{key}={value}"));
        self.fixed.iter().cloned().chain(swept).collect()
    }

    /// A name for a run's folder.
    fn name(&self, point: &[String]) -> String {
        let parts = self.swept.iter().zip(point).map(|((key, _), value)| {
            let keep = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
            let value: String = value.trim_matches(['[', ']']).chars().map(keep).collect();
            format!("{key}={value}")
        });
        parts.collect::<Vec<_>>().join(",")
    }

    /// Scores over the first setting, a line for each combination of the others.
    fn figure(&self, points: &[Vec<String>], rows: &[Row]) -> Sweep {
        let (key, values) = &self.swept[0];
        let rest = |p: &[String]| -> String {
            let names = self.swept[1..].iter().zip(&p[1..]).map(|((k, _), v)| format!("{k}={v}"));
            names.collect::<Vec<_>>().join(", ")
        };
        let mut lines: Vec<String> = Vec::new();
        for point in points {
            if !lines.contains(&rest(point)) {
                lines.push(rest(point));
            }
        }
        let score = |name: &str, of: &dyn Fn(&Row) -> Option<f64>| Score {
            name: name.into(),
            lines: lines
                .iter()
                .map(|line| {
                    let at = |v: &String| {
                        rows.iter().find(|r| r.values[0] == *v && rest(&r.values) == *line)
                    };
                    values.iter().map(|v| at(v).and_then(of)).collect()
                })
                .collect(),
        };
        let scored = rows.iter().any(|r| r.scores.is_some());
        let mean = |f: fn(&Scores) -> f64| move |r: &Row| r.scores.as_ref().map(f);
        let scores = match scored {
            true => vec![
                score("Macro-F1", &mean(|s| s.macro_f1.mean)),
                score("NMI", &mean(|s| s.nmi.mean)),
            ],
            false => vec![score("Loss at the end", &|r| Some(r.final_loss))],
        };
        Sweep { key: key.clone(), values: values.clone(), lines, scores }
    }
}

/// Values between commas; commas in brackets are part of a value.
fn values(text: &str) -> Vec<String> {
    let (mut out, mut depth) = (vec![String::new()], 0usize);
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => (),
        }
        match out.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => out.push(String::new()),
        }
    }
    out.iter().map(|v| v.trim().to_string()).collect()
}

const COLUMNS: [&str; 4] = ["macro_f1", "micro_f1", "nmi", "sim@5"];

fn scores(row: &Row) -> Option<[f64; 4]> {
    let s = row.scores.as_ref()?;
    let sim = s.sim.get(&5).copied().unwrap_or(f64::NAN);
    Some([s.macro_f1.mean, s.micro_f1.mean, s.nmi.mean, sim])
}

fn csv(report: &Report) -> String {
    let quoted = |v: &String| format!("\"{}\"", v.replace('"', "\"\""));
    let mut head: Vec<String> = report.keys.clone();
    head.extend(["epochs", "seconds", "final_loss"].map(String::from));
    head.extend(COLUMNS.map(String::from));
    let mut lines = vec![head.join(",")];
    for row in &report.rows {
        let mut fields: Vec<String> = row.values.iter().map(quoted).collect();
        fields.extend([
            row.epochs.to_string(),
            format!("{:.3}", row.seconds),
            row.final_loss.to_string(),
        ]);
        let scores = scores(row).map(|s| s.map(|v| v.to_string()));
        fields.extend(scores.unwrap_or_default());
        lines.push(fields.join(","));
    }
    lines.join("\n") + "\n"
}

fn text(report: &Report) -> String {
    let width = report.rows.iter().map(|r| r.run.chars().count()).max().unwrap_or(0).max(4);
    let mut lines = vec![format!(
        "{:width$}  {:>6}  {:>8}  {:>9}  {:>8}  {:>8}  {:>6}  {:>6}",
        "run", "epochs", "seconds", "loss", "Macro-F1", "Micro-F1", "NMI", "Sim@5"
    )];
    for row in &report.rows {
        let scores = scores(row).map_or_else(String::new, |[a, b, c, d]| {
            format!("  {a:>8.3}  {b:>8.3}  {c:>6.3}  {d:>6.3}")
        });
        let (epochs, seconds, loss) = (row.epochs, row.seconds, row.final_loss);
        lines.push(format!("{:width$}  {epochs:>6}  {seconds:>8.1}  {loss:>9.5}{scores}", row.run));
    }
    if report.interrupted {
        lines.push("interrupted; the same command goes on".into());
    }
    lines.extend(report.files.iter().map(|f| f.display().to_string()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_combinations() {
        assert_eq!(values("3, 4,[30,5]"), ["3", "4", "[30,5]"]);
        let set = ["clusters=3,[4,5]", "seed=0,1", "dim=8"].map(String::from);
        let grid = Grid::new(&set).unwrap();
        let points = grid.points();
        assert_eq!(points.len(), 4);
        assert_eq!(grid.name(&points[2]), "clusters=4_5,seed=0");
        assert_eq!(grid.set(&points[1]), ["dim=8", "clusters=3", "seed=1"]);
        assert!(Grid::new(&["dim=8".to_string()]).is_err());
    }
}

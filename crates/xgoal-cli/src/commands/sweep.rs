use super::trials::{self, Found, Measured};
use super::{load, plot, resolved_with, say_decisions, train};
use crate::Ending;
use crate::args::SweepArgs;
use crate::output::{Output, Usage, count};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xgoal::eval::Report as Scores;
use xgoal::io::{atomic, target};
use xgoal::run::{Run, Unfinished};
use xgoal::session::{Limits, Plan};
use xgoal::settings::Settings;
use xgoal_view::plot::sweep::{Score, Sweep};

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
    #[serde(flatten)]
    measured: Measured,
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
    target::check_folder(&args.out)?;
    let (graph, _) = load(&args.source, all[0].layers.as_deref(), None, output)?;
    let first = Plan::look(graph, all[0].clone(), Limits::default())?;
    let graph = first.graph();
    let plans: Vec<Plan<'_>> =
        all.into_iter().map(|settings| first.alike(settings)).collect::<Result<_, _>>()?;
    say_decisions(&first, output);
    trials::say_unscored(graph, output);
    output.say(format!("{}: {} runs", args.source.display(), count(points.len())));
    let print = graph.fingerprint().without_ids();
    // Nothing is trained where one of the folders holds another run.
    let found = |(point, plan): (&Vec<String>, &Plan<'_>)| {
        trials::found(&args.out.join(grid.name(point)), plan.config(), &print)
    };
    let found: Vec<Found> = points.iter().zip(&plans).map(found).collect::<Result<_, _>>()?;
    target::make_folder(&args.out)?;

    let (mut rows, mut interrupted) = (Vec::new(), false);
    for (i, (point, plan)) in points.iter().zip(&plans).enumerate() {
        let name = grid.name(point);
        output.say(format!("{} of {}: {name}", i + 1, points.len()));
        let folder = args.out.join(&name);
        if !one(&folder, found[i], plan, output)? {
            interrupted = true;
            break;
        }
        let measured = trials::measure(&folder, graph)?;
        rows.push(Row { run: name, values: point.clone(), measured });
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
fn one(folder: &Path, found: Found, plan: &Plan<'_>, output: &Output) -> anyhow::Result<bool> {
    let unfinished = match found {
        Found::Finished => return Ok(true),
        Found::Unfinished => Some(Unfinished::open(folder)?),
        Found::Nothing => None,
    };
    if unfinished.is_none() {
        Run::clear(folder)?;
    }
    plan.check()?;
    let mut folder = train::folder(folder, unfinished, plan);
    let session = train::start(plan, &mut folder, output)?;
    Ok(!train::learn(session, output)?.interrupted)
}

impl Grid {
    fn new(set: &[String]) -> anyhow::Result<Self> {
        let (mut swept, mut fixed) = (Vec::new(), Vec::new());
        for assignment in set {
            let (key, values) = trials::assignment("--set", assignment)?;
            match values.len() {
                1 => fixed.push(assignment.clone()),
                _ => swept.push((key, values)),
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
        trials::name(self.swept.iter().map(|(key, _)| key).zip(point))
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
        let scored = rows.iter().any(|r| r.measured.scores.is_some());
        let mean = |f: fn(&Scores) -> f64| move |r: &Row| r.measured.scores.as_ref().map(f);
        let scores = match scored {
            true => vec![
                score("Macro-F1", &mean(|s| s.macro_f1.mean)),
                score("NMI", &mean(|s| s.nmi.mean)),
            ],
            false => vec![score("Loss at the end", &|r| Some(r.measured.final_loss))],
        };
        Sweep { key: key.clone(), values: values.clone(), lines, scores }
    }
}

fn csv(report: &Report) -> String {
    let mut head: Vec<String> = report.keys.clone();
    head.extend(["epochs", "seconds", "final_loss"].map(String::from));
    head.extend(trials::SCORES.map(String::from));
    let mut lines = vec![head.join(",")];
    for row in &report.rows {
        let mut fields: Vec<String> = row.values.iter().map(|v| trials::quoted(v)).collect();
        let measured = &row.measured;
        fields.extend([
            measured.epochs.to_string(),
            format!("{:.3}", measured.seconds),
            measured.final_loss.to_string(),
        ]);
        let scores = measured.main_scores().map(|s| s.map(|v| v.to_string()));
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
        let measured = &row.measured;
        let scores = measured.main_scores().map_or_else(String::new, |[a, b, c, d]| {
            format!("  {a:>8.3}  {b:>8.3}  {c:>6.3}  {d:>6.3}")
        });
        let (epochs, seconds, loss) = (measured.epochs, measured.seconds, measured.final_loss);
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
    fn combinations_have_names_and_settings() {
        let set = ["clusters=3,[4,5]", "seed=0,1", "dim=8"].map(String::from);
        let grid = Grid::new(&set).unwrap();
        let points = grid.points();
        assert_eq!(points.len(), 4);
        assert_eq!(grid.name(&points[2]), "clusters=4_5,seed=0");
        assert_eq!(grid.set(&points[1]), ["dim=8", "clusters=3", "seed=1"]);
        assert!(Grid::new(&["dim=8".to_string()]).is_err());
    }
}

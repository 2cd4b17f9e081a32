use super::look::{Seen, Wanted, look};
use crate::Ending;
use crate::args::PlotArgs;
use crate::output::{Output, Usage};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xgoal::io::{atomic, target};
use xgoal_view::column::{Column, Values};
use xgoal_view::plot::picture::Picture;
use xgoal_view::plot::svg::Place;
use xgoal_view::plot::{chart, curves, map, png, svg};

#[derive(Serialize)]
struct Report {
    files: Vec<PathBuf>,
    color: Option<String>,
}

pub fn run(args: &PlotArgs, output: &Output) -> anyhow::Result<Ending> {
    let folder = args.out.clone().unwrap_or_else(|| args.look.run.join("plots"));
    // What is no run at all is told below.
    if args.look.run.is_dir() {
        target::check_folder(&folder)?;
    }
    let wanted = Wanted { neighbors: 1, scores: false, baselines: false };
    let seen = look(&args.look, &wanted, output)?;
    let column = column(args, &seen)?;
    target::make_folder(&folder)?;
    let mut files = Vec::new();
    let title = format!("{}, {}", seen.layers.join(" + "), seen.scene.method.as_str());
    write(&folder, "map", &map::map(&seen.scene, column, &title), &mut files)?;
    if !seen.scene.panels.is_empty() {
        write(&folder, "layers", &map::layers(&seen.scene, column, &title), &mut files)?;
    }
    let charts = chart::charts(&seen.training, &seen.layers);
    if !charts.is_empty() {
        write(&folder, "curves", &curves(&charts, "Training by epoch"), &mut files)?;
    }
    let report = Report { files, color: column.map(|c| c.name.clone()) };
    output.result(&report, || {
        let files: Vec<String> = report.files.iter().map(|f| f.display().to_string()).collect();
        files.join("\n")
    })?;
    Ok(Ending::Done)
}

/// Writes a picture in both forms.
pub fn write(
    folder: &Path,
    name: &str,
    picture: &Picture,
    files: &mut Vec<PathBuf>,
) -> xgoal::Result<()> {
    let text = svg(picture, Place::File).into_bytes();
    for (extension, content) in [("svg", text), ("png", png(picture)?)] {
        let file = folder.join(format!("{name}.{extension}"));
        atomic::write(&file, |w| w.write_all(&content))?;
        files.push(file);
    }
    Ok(())
}

fn column<'a>(args: &PlotArgs, seen: &'a Seen) -> anyhow::Result<Option<&'a Column>> {
    let usable = || seen.scene.columns.iter().filter(|c| !matches!(c.values, Values::Text(_)));
    let Some(wanted) = &args.color else { return Ok(usable().next()) };
    let names: Vec<&str> = usable().map(|c| c.name.as_str()).collect();
    match usable().find(|c| c.name == *wanted) {
        Some(column) => Ok(Some(column)),
        None => {
            let message =
                format!("--color {wanted}: no such column; there are {}", names.join(", "));
            Err(Usage(message).into())
        }
    }
}

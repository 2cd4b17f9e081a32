use super::load;
use crate::Ending;
use crate::args::ConvertArgs;
use crate::output::{Output, Usage, count};
use serde::Serialize;
use xgoal::io::convert::{self, Converted, Destination, TableKind};

#[derive(Serialize)]
struct Report {
    dest: String,
    #[serde(flatten)]
    converted: Converted,
}

pub fn run(args: &ConvertArgs, output: &Output) -> anyhow::Result<Ending> {
    let to = Destination::of(&args.dest).map_err(|e| Usage(e.to_string()))?;
    if let (Some(kind), Destination::Npz(path)) = (&args.tables, &to) {
        let path = path.display();
        return Err(Usage(format!("--tables {kind}: there are none in {path}")).into());
    }
    to.check()?;
    let kind = args.tables.as_deref().and_then(TableKind::parse).unwrap_or(TableKind::Csv);
    let (graph, _) = load(&args.source, args.layers.as_deref(), None, output)?;
    let converted = convert::write(&graph, &to, kind)?;
    let report = Report { dest: args.dest.display().to_string(), converted };
    output.result(&report, || text(&report))?;
    Ok(Ending::Done)
}

fn text(report: &Report) -> String {
    let Converted { nodes, features, layers, files } = &report.converted;
    let mut lines = vec![format!(
        "{}: {} nodes, {} attributes, {} layers",
        report.dest,
        count(*nodes),
        count(*features),
        layers.len()
    )];
    lines.extend(files.iter().map(|file| format!("  {}", file.display())));
    lines.join("\n")
}

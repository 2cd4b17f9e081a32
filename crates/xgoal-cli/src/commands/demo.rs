use super::{eval, train};
use crate::Ending;
use crate::args::DemoArgs;
use crate::output::{Output, count};
use serde::Serialize;
use std::time::Instant;
use xgoal::eval::Report;
use xgoal::graph::MultiplexGraph;
use xgoal::graph::planted::Planted;
use xgoal::matrix::{Dense, Matrix};
use xgoal::run::Run;
use xgoal::session::{Limits, Plan, RunFolder, Session};
use xgoal::settings::{Method, Settings};

/// Epochs after which a stage ends here, so that the demo stays short.
const LONGEST_STAGE: usize = 600;

#[derive(Serialize)]
struct Demo {
    nodes: usize,
    communities: usize,
    rows: Vec<Row>,
    seconds: f64,
}

#[derive(Serialize)]
struct Row {
    name: String,
    #[serde(flatten)]
    scores: Report,
}

pub fn run(args: &DemoArgs, output: &Output) -> anyhow::Result<Ending> {
    let started = Instant::now();
    if let Some(out) = &args.out {
        Run::check(out)?;
    }
    let planted = Planted { seed: args.seed, ..Planted::default() };
    let graph = planted.generate()?;
    output.say(format!(
        "A planted graph: {} nodes in {} communities, {} layers, {} attributes. Each layer joins the \
         communities\nin pairs, each in other pairs, and the attributes are noisy: none of them shows \
         all communities alone.\n",
        count(planted.nodes),
        planted.communities,
        planted.layers,
        planted.attributes
    ));

    let mut rows = vec![Row {
        name: "attributes alone".into(),
        scores: eval::score(&dense(graph.attributes()), &graph, 0)?,
    }];
    for name in graph.layer_names() {
        output.say(format!("GOAL on {name} alone"));
        let Some(row) = learn(&graph, &[name], Method::Goal, args, None, output)? else {
            return Ok(Ending::Interrupted);
        };
        rows.push(row);
    }
    output.say("X-GOAL on all layers");
    let all = graph.layer_names();
    let Some(row) = learn(&graph, &all, Method::Xgoal, args, args.out.as_deref(), output)? else {
        return Ok(Ending::Interrupted);
    };
    rows.push(row);

    let demo = Demo {
        nodes: planted.nodes,
        communities: planted.communities,
        rows,
        seconds: started.elapsed().as_secs_f64(),
    };
    output.result(&demo, || text(&demo))?;
    Ok(Ending::Done)
}

fn dense(attributes: &Matrix) -> Dense {
    match attributes {
        Matrix::Dense(m) => m.clone(),
        Matrix::Sparse(m) => {
            let mut out = Dense::zeros(m.rows(), m.cols());
            for r in 0..m.rows() {
                let (cols, values) = m.row(r);
                let start = r * m.cols();
                cols.iter()
                    .zip(values)
                    .for_each(|(c, v)| out.values_mut()[start + *c as usize] = *v);
            }
            out
        }
    }
}

/// Trains on the named layers and scores; `None` when interrupted.
fn learn(
    graph: &MultiplexGraph,
    layers: &[String],
    method: Method,
    args: &DemoArgs,
    out: Option<&std::path::Path>,
    output: &Output,
) -> anyhow::Result<Option<Row>> {
    let graph = graph.clone().select_layers(layers)?;
    let settings =
        Settings { method, seed: args.seed, max_epochs: LONGEST_STAGE, ..Settings::default() };
    let plan = Plan::of(graph, settings.validate(layers)?, Limits::default());
    let folder = out.map(|folder| RunFolder::create(folder, &plan));
    let mut outcome = train::learn(Session::start(&plan, folder)?, output)?;
    if outcome.interrupted {
        return Ok(None);
    }
    let name = match method {
        Method::Goal => format!("GOAL, {} alone", layers[0]),
        Method::Xgoal => "X-GOAL, all layers".to_string(),
    };
    Ok(Some(Row { name, scores: eval::score(&outcome.embeddings()?, plan.graph(), 0)? }))
}

fn text(demo: &Demo) -> String {
    let mut lines = vec![String::new()];
    lines.extend(eval::table(demo.rows.iter().map(|row| (row.name.as_str(), &row.scores))));
    lines.push(format!(
        "\nNo label was used to train; they were only used to score. {:.0} s in all.\n\n\
         Next, with a graph of your own (.mat, .pkl, .npz, or a graph.toml for tables):\n  \
         xgoal info FILE                  what is in it\n  \
         xgoal train FILE --out run       learn embeddings\n  \
         xgoal eval run FILE              score them, where there are labels",
        demo.seconds
    ));
    lines.join("\n")
}

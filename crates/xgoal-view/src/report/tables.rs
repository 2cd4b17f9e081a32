//! The page's tables.

use super::grouped;
use crate::clusters::{Attribute, Cluster};
use crate::plot::svg::escape;
use crate::quality::Quality;
use crate::training::Training;
use xgoal::eval::baselines::Comparison;

/// Letters of an id or a name that a table shows.
const SHOWN: usize = 60;

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => escape(&text[..at]) + "\u{2026}",
        None => escape(text),
    }
}

pub fn clusters(clusters: &[Cluster], ids: &[String]) -> Option<String> {
    if clusters.is_empty() {
        return None;
    }
    let attributes = clusters.iter().any(|c| !c.attributes.is_empty());
    let heading = if attributes { "<th scope=\"col\">More than elsewhere</th>" } else { "" };
    let mut out = format!(
        "<p class=\"note\">Found by k-means in the combined embeddings. Cohesion is the mean cosine to the cluster's \
         middle; typical members are nearest to it{}.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th \
         scope=\"col\">Cluster</th><th scope=\"col\" class=\"number\">Nodes</th><th scope=\"col\" class=\"number\">\
         Cohesion</th><th scope=\"col\">Typical members</th>{heading}</tr></thead>\n<tbody>\n",
        if attributes {
            ", attributes are those whose mean stands out most (here / everywhere)"
        } else {
            ""
        },
    );
    for cluster in clusters {
        let member = |node: &u32| {
            let id = short(&ids[*node as usize]);
            format!("<button type=\"button\" class=\"pick\" data-pick=\"{node}\">{id}</button>")
        };
        let members: String = cluster.typical.iter().map(member).collect();
        let named: Vec<String> = cluster.attributes.iter().map(attribute).collect();
        let named =
            if attributes { format!("<td>{}</td>", named.join(", ")) } else { String::new() };
        out += &format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{:.3}</td><td>{members}</td>\
             {named}</tr>\n",
            cluster.id,
            grouped(cluster.size),
            cluster.cohesion
        );
    }
    Some(out + "</tbody>\n</table></div>\n")
}

fn attribute(a: &Attribute) -> String {
    let (name, inside, overall) = (short(&a.name), digits(a.inside), digits(a.overall));
    format!("{name} <span class=\"more\">{inside} / {overall}</span>")
}

/// Two digits that count.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    }
}

pub fn quality(quality: &Quality) -> String {
    let paper = quality.dataset.as_ref();
    let heading = paper.map_or_else(String::new, |name| {
        format!("<th scope=\"col\" class=\"number\">X-GOAL in the paper, {}</th>", escape(name))
    });
    let mut out = format!(
        "<p class=\"note\">By the paper's protocol, on the source's labels and splits. No label was used to \
         train.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Score</th><th scope=\"col\" \
         class=\"number\">This run</th><th scope=\"col\" class=\"number\">&plusmn;</th>{heading}</tr></thead>\n<tbody>\n"
    );
    for row in &quality.rows {
        let std = row.std.map_or_else(String::new, |s| format!("{s:.3}"));
        let published = row.paper.map_or_else(String::new, |p| format!("{p:.3}"));
        let published =
            paper.map_or_else(String::new, |_| format!("<td class=\"number\">{published}</td>"));
        out += &format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{:.3}</td><td class=\"number more\">{std}</td>{published}</tr>\n",
            escape(&row.name),
            row.mean
        );
    }
    out += "</tbody>\n</table></div>\n";
    quality.compared.iter().for_each(|compared| out += &beside(compared));
    out
}

/// The run beside what takes no training.
fn beside(compared: &Comparison) -> String {
    let names = compared.embeddings.main().map(|(name, _)| name);
    let heading: String =
        names.iter().map(|n| format!("<th scope=\"col\" class=\"number\">{n}</th>")).collect();
    let sampled = compared.sampled().map_or(String::new(), |words| format!(", {words}"));
    let baselines = compared.baselines.0.iter().map(|(baseline, report)| (baseline.about, report));
    let rows: String = std::iter::once(("this run", &compared.embeddings))
        .chain(baselines)
        .map(|(name, report)| {
            let cell = |(_, score): (&str, f64)| format!("<td class=\"number\">{score:.3}</td>");
            let cells: String = report.main().map(cell).concat();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(name))
        })
        .collect();
    let ahead = compared.baselines.ahead_of(&compared.embeddings);
    let ahead = ahead.map_or(String::new(), |words| format!("<p>{}.</p>\n", escape(&words)));
    format!(
        "<h3>Was training worth it?</h3>\n<p class=\"note\">A quick look{sampled}: one classifier and one run of k-means \
         for each.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\"></th>{heading}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n{ahead}"
    )
}

/// A sentence on how long each stage took.
pub fn stages(training: &Training) -> String {
    let starts = training.stages();
    let words: Vec<String> = starts
        .iter()
        .enumerate()
        .map(|(i, (from, name))| {
            let to = starts.get(i + 1).map_or(training.epochs.len(), |(at, _)| *at);
            let seconds: f64 = training.epochs[*from..to].iter().map(|e| e.seconds).sum();
            let name = if *name == "warmup" { "warm-up" } else { name };
            format!("{} {} epochs in {seconds:.1} s", escape(name), grouped(to - from))
        })
        .collect();
    format!("<p class=\"note\">{}.</p>\n", super::capital(&words.join("; ")))
}

pub fn settings(toml: &str, provenance: &[(String, String)]) -> String {
    let facts: String = provenance
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)))
        .collect();
    let lines: Vec<String> = toml.trim_end().lines().map(escape).collect();
    format!(
        "<p class=\"note\">The run's <code>config.toml</code>: given to <code>xgoal train --config</code>, it trains the \
         same again.</p>\n<dl class=\"facts\">\n{facts}</dl>\n<pre tabindex=\"0\" aria-label=\"Settings\">{}</pre>\n",
        lines.join("\n")
    )
}

//! One page to look at a run: a file that needs nothing else, not even a network.
//!
//! Tables, curves and words are HTML and SVG, made here. What a script draws (the map, the layers) is
//! handed to it as data: small things as JSON, rows of numbers as base64 of little-endian 16-bit or
//! 32-bit numbers, each in a `<script>` element that no browser runs. Whatever a source says (ids, names,
//! values) is escaped on its way into the page and only ever becomes text there.

mod data;
mod tables;

use crate::plot::chart::charts;
use crate::plot::svg::{Place, escape, svg};
use crate::quality::Quality;
use crate::scene::Scene;
use crate::training::Training;
use data::Data;
use std::fmt::Write;

const PAGE: &str = include_str!("../../assets/page/page.html");
const STYLE: &str = include_str!("../../assets/page/page.css");
const SCRIPT: [&str; 6] = [
    include_str!("../../assets/page/data.js"),
    include_str!("../../assets/page/plot.js"),
    include_str!("../../assets/page/colour.js"),
    include_str!("../../assets/page/node.js"),
    include_str!("../../assets/page/search.js"),
    include_str!("../../assets/page/main.js"),
];

/// What goes on the page.
#[derive(Debug)]
pub struct Report<'a> {
    /// Its heading.
    pub title: String,
    /// An id per node.
    pub ids: &'a [String],
    /// Length of an embedding.
    pub dim: usize,
    /// The layers' names.
    pub layers: &'a [String],
    /// What is drawn.
    pub scene: &'a Scene,
    /// How training went.
    pub training: &'a Training,
    /// Scores, where there are labels.
    pub quality: Option<&'a Quality>,
    /// The run's `config.toml`.
    pub settings: &'a str,
    /// What made the file, line by line: a name and a value.
    pub provenance: Vec<(String, String)>,
}

impl Report<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let mut sections = vec![("map", "Map")];
        let mut body = String::new();
        let mut section = |id: &'static str, title: &'static str, content: Option<String>| {
            if let Some(content) = content {
                sections.push((id, title));
                write!(
                    body,
                    "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n\
                     {content}</section>\n"
                )
                .expect("writing to memory");
            }
        };
        section("layers", "Layers", self.panels());
        section("training", "Training", self.curves());
        section("clusters", "Clusters", tables::clusters(&self.scene.clusters, self.ids));
        section("quality", "Quality", self.quality.map(tables::quality));
        section("settings", "Settings", Some(tables::settings(self.settings, &self.provenance)));
        let links: Vec<String> =
            sections.iter().map(|(id, title)| format!("<a href=\"#{id}\">{title}</a>")).collect();
        let generator = format!("xgoal {}", env!("CARGO_PKG_VERSION"));
        let parts = [
            ("title", escape(&self.title)),
            ("generator", generator.clone()),
            ("style", STYLE.to_string()),
            ("summary", escape(&self.summary())),
            ("sections", links.join("\n")),
            ("map_note", escape(&self.map_note())),
            ("body", body),
            (
                "footer",
                format!("<p>Made by {generator}. Nothing on this page leaves your computer.</p>"),
            ),
            ("data", Data::new(self).html()),
            ("script", format!("\"use strict\";\n(() => {{\n{}}})();", SCRIPT.join("\n"))),
        ];
        fill(PAGE, &parts)
    }

    fn summary(&self) -> String {
        let layers = match self.layers {
            [] => String::new(),
            [one] => format!(" from the layer {one}"),
            several => format!(" from the layers {}", several.join(", ")),
        };
        format!("{} nodes, {} dimensions{layers}", grouped(self.ids.len()), self.dim)
    }

    fn map_note(&self) -> String {
        format!(
            "The combined embeddings on a plane ({}). Nodes that are close here are similar; distances \
             between far groups mean little.",
            self.scene.method.as_str()
        )
    }

    fn panels(&self) -> Option<String> {
        let panels = &self.scene.panels;
        if panels.is_empty() {
            return None;
        }
        let mut out = String::from(
            "<p class=\"note\">Each layer's own embeddings beside their mean. The colours are the map's; a node \
             chosen in one is marked in all.",
        );
        if self.scene.sample.len() < self.ids.len() {
            let (shown, all) = (grouped(self.scene.sample.len()), grouped(self.ids.len()));
            write!(out, " {shown} of the {all} nodes, evenly taken.").expect("memory");
        }
        out.push_str("</p>\n");
        let mut stage = "";
        for (i, panel) in panels.iter().enumerate() {
            if panel.stage != stage {
                let close = if i > 0 { "</div>\n" } else { "" };
                stage = &panel.stage;
                write!(
                    out,
                    "{close}<h3>{}</h3>\n<div class=\"panels\">\n",
                    escape(&capital(stage))
                )
                .expect("memory");
            }
            let title = escape(&panel.title);
            writeln!(
                out,
                "<figure class=\"panel\"><div id=\"panel-{i}\" class=\"canvas\" role=\"img\" aria-label=\"{title}, \
                 {}\"></div><figcaption>{title}</figcaption></figure>",
                escape(stage)
            )
            .expect("memory");
        }
        Some(out + "</div>\n")
    }

    fn curves(&self) -> Option<String> {
        let charts = charts(self.training, self.layers);
        if charts.is_empty() {
            return None;
        }
        let pictures: String =
            charts.iter().map(|chart| svg(&chart.picture(), Place::Page)).collect();
        Some(format!("{}<div class=\"charts\">\n{pictures}</div>\n", tables::stages(self.training)))
    }
}

/// Puts texts in the places of a template; what they hold is not looked at again.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let size = template.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>();
    let mut out = String::with_capacity(size);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a place that is closed");
        let text = parts.iter().find(|(n, _)| *n == name).map(|(_, text)| text.as_str());
        out.push_str(before);
        out.push_str(text.expect("a place that has a text"));
        rest = after;
    }
    out + rest
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

/// A number with thousands separated.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

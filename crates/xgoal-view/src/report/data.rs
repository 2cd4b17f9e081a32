//! What the page's script is given.

use super::Report;
use crate::column::{Column, Values};
use crate::plot::map::{frame, range};
use crate::plot::palette;
use crate::project::Point;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::fmt::Write;

/// No category.
const NONE: u16 = u16::MAX;
/// Steps of the colours for numbers.
const STEPS: usize = 64;

/// JSON and blobs in elements.
pub struct Data {
    meta: Meta,
    elements: Vec<String>,
}

#[derive(Serialize)]
struct Meta {
    palette: Vec<u32>,
    other: u32,
    ramp: Vec<u32>,
    map: String,
    columns: Vec<Shown>,
    neighbours: Neighbours,
    sample: Option<String>,
    panels: Vec<String>,
}

#[derive(Serialize)]
struct Neighbours {
    k: usize,
    rows: String,
    cosines: String,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
enum Shown {
    Category { name: String, names: Vec<String>, data: String },
    Number { name: String, least: f32, most: f32, data: String },
    Text { name: String, data: String },
}

impl Data {
    pub fn new(report: &Report<'_>) -> Self {
        let scene = report.scene;
        let mut data = Self {
            meta: Meta {
                palette: (0..palette::COLOURS).map(palette::category).collect(),
                other: palette::OTHER,
                ramp: (0..STEPS).map(|i| palette::ramp(i as f64 / (STEPS - 1) as f64)).collect(),
                map: String::new(),
                columns: Vec::new(),
                neighbours: Neighbours { k: 0, rows: String::new(), cosines: String::new() },
                sample: None,
                panels: Vec::new(),
            },
            elements: Vec::new(),
        };
        data.meta.map = data.points(&scene.map);
        data.json("ids", &report.ids);
        let k = scene.neighbours.iter().map(Vec::len).min().unwrap_or(0);
        let near = || scene.neighbours.iter().flat_map(|near| &near[..k]);
        let rows: Vec<u8> = near().flat_map(|n| n.node.to_le_bytes()).collect();
        let cosines: Vec<u8> = near().flat_map(|n| n.cosine.to_le_bytes()).collect();
        data.meta.neighbours =
            Neighbours { k, rows: data.blob(&rows), cosines: data.blob(&cosines) };
        for column in &scene.columns {
            let shown = data.column(column);
            data.meta.columns.push(shown);
        }
        if scene.sample.len() < report.ids.len() {
            let nodes: Vec<u8> = scene.sample.iter().flat_map(|n| n.to_le_bytes()).collect();
            data.meta.sample = Some(data.blob(&nodes));
        }
        for panel in &scene.panels {
            let points = data.points(&panel.points);
            data.meta.panels.push(points);
        }
        data
    }

    /// The elements; the meta data come first.
    pub fn html(mut self) -> String {
        let meta = script("meta", &json(&self.meta));
        self.elements.insert(0, meta);
        self.elements.concat()
    }

    fn name(&self) -> String {
        format!("blob-{}", self.elements.len())
    }

    fn blob(&mut self, bytes: &[u8]) -> String {
        let name = self.name();
        self.elements.push(script(&name, &STANDARD.encode(bytes)));
        name
    }

    fn json(&mut self, name: &str, value: &impl Serialize) {
        self.elements.push(script(name, &json(value)));
    }

    /// Places as 16-bit numbers in the square around them.
    fn points(&mut self, points: &[Point]) -> String {
        let (middle, half) = frame(points);
        let number = |p: &Point, d: usize| {
            let share = (f64::from(p[d]) - middle[d]) / (2.0 * half) + 0.5;
            (share * f64::from(u16::MAX)).round() as u16
        };
        let bytes: Vec<u8> = points
            .iter()
            .flat_map(|p| [number(p, 0), number(p, 1)])
            .flat_map(u16::to_le_bytes)
            .collect();
        self.blob(&bytes)
    }

    fn column(&mut self, column: &Column) -> Shown {
        let name = column.name.clone();
        match &column.values {
            Values::Categories { names, codes } => {
                // More categories than there are colours by far: the last ones are none.
                let code = |c: &Option<u32>| c.map_or(NONE, |c| c.min(u32::from(NONE)) as u16);
                let bytes: Vec<u8> = codes.iter().flat_map(|c| code(c).to_le_bytes()).collect();
                Shown::Category { name, names: names.clone(), data: self.blob(&bytes) }
            }
            Values::Numbers(numbers) => {
                let (least, most) = range(numbers);
                let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
                Shown::Number { name, least, most, data: self.blob(&bytes) }
            }
            Values::Text(texts) => {
                let data = self.name();
                self.json(&data, texts);
                Shown::Text { name, data }
            }
        }
    }
}

/// JSON that can stand in a `<script>`: nothing in it begins a tag or a comment.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("plain values");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", c as u32).expect("writing to memory");
            }
            c => out.push(c),
        }
    }
    out
}

fn script(id: &str, text: &str) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">{text}</script>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_script() {
        let hostile = ["</script><script>alert(1)</script>", "<!--", "]]>", "\"'&\u{2028}"];
        let text = json(&hostile);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, hostile);
    }
}

//! Lines over epochs.

use super::font;
use super::palette;
use super::picture::{Anchor, Paint, Picture, Shape, fitted};
use crate::training::{Epoch, Training};

/// Sheet of one chart.
pub const WIDTH: f64 = 380.0;
/// Sheet of one chart.
pub const HEIGHT: f64 = 230.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 34.0;
const SIZE: f64 = 11.0;

/// Some lines over the same epochs.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What is shown.
    pub title: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// Where stages begin, with their names.
    pub stages: Vec<(usize, String)>,
    /// Where prototypes were found.
    pub reclusterings: Vec<usize>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name; empty where it is the only one.
    pub name: String,
    /// A value per epoch, where there is one.
    pub values: Vec<Option<f64>>,
}

/// The charts of a training: the objective, its four terms, both bounds on mutual information, how far
/// layers agree, and the time of an epoch.
pub fn charts(training: &Training, layers: &[String]) -> Vec<Chart> {
    let stages: Vec<(usize, String)> = training
        .stages()
        .into_iter()
        .map(|(at, name)| (at, stage_name(name).to_string()))
        .collect();
    let reclusterings = training.reclusterings();
    let chart = |title: &str, lines: Vec<Line>| Chart {
        title: title.into(),
        lines,
        stages: stages.clone(),
        reclusterings: reclusterings.clone(),
    };
    let line = |name: &str, value: &dyn Fn(&Epoch) -> Option<f64>| Line {
        name: name.into(),
        values: training.epochs.iter().map(value).collect(),
    };
    let pairs: Vec<String> = (0..layers.len())
        .flat_map(|v| (v + 1..layers.len()).map(move |other| (v, other)))
        .map(|(v, other)| format!("{} and {}", layers[v], layers[other]))
        .collect();
    let agreement =
        pairs.iter().enumerate().map(|(i, name)| line(name, &|e| e.agreement.get(i).copied()));
    let all = vec![
        chart("Loss", vec![line("", &|e| Some(e.loss))]),
        chart("L_N: nodes against their shuffled selves", vec![line("", &|e| Some(e.l_n))]),
        chart("L_C: nodes to their prototypes", vec![line("", &|e| e.l_c)]),
        chart("R_N: layers aligned node by node", vec![line("", &|e| e.r_n)]),
        chart("R_C: layers aligned by clusters", vec![line("", &|e| e.r_c)]),
        chart(
            "Lower bounds on mutual information (nats)",
            vec![line("nodes", &|e| e.mi_node), line("clusters", &|e| e.mi_cluster)],
        ),
        chart("Agreement of layers (mean cosine)", agreement.collect()),
        chart("Time of an epoch (ms)", vec![line("", &|e| Some(1e3 * e.seconds))]),
    ];
    let shown = |line: &Line| line.values.iter().any(Option::is_some);
    all.into_iter()
        .map(|mut chart| {
            chart.lines.retain(shown);
            chart
        })
        .filter(|chart| !chart.lines.is_empty())
        .collect()
}

/// The top of the scale: the greatest value, or where a few stand far above all others, the greatest of
/// those others, and whether that cuts any.
fn top(mut values: Vec<f64>) -> (f64, bool) {
    values.sort_by(f64::total_cmp);
    let Some(greatest) = values.last().copied() else { return (f64::NEG_INFINITY, false) };
    let most = values[(values.len() - 1) * 98 / 100];
    if values.len() >= 100 && greatest > 4.0 * most && most > 0.0 {
        return (1.5 * most, true);
    }
    (greatest, false)
}

fn stage_name(name: &str) -> &str {
    if name == "warmup" { "warm-up" } else { name }
}

impl Chart {
    /// Draws it.
    pub fn picture(&self) -> Picture {
        let mut picture = Picture::new(WIDTH, HEIGHT, format!("{} by epoch", self.title));
        let epochs = self.lines.iter().map(|l| l.values.len()).max().unwrap_or(0);
        let values = || self.lines.iter().flat_map(|l| l.values.iter().flatten().copied());
        let low = values().fold(f64::INFINITY, f64::min);
        let (high, cut) = top(values().collect());
        let title = if cut { format!("{}; outliers cut", self.title) } else { self.title.clone() };
        let title = fitted(&title, 13.0, WIDTH - 24.0);
        picture.text([12.0, 18.0], 13.0, Anchor::Start, Paint::Ink, title);
        let ticks = ticks(low, high, 5);
        let (low, high) = (ticks[0].min(low), ticks[ticks.len() - 1].max(high));
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let x = |epoch: f64| LEFT + (right - LEFT) * epoch / (epochs.max(2) - 1) as f64;
        let y = |value: f64| bottom - (bottom - TOP) * (value.min(high) - low) / (high - low);

        for tick in &ticks {
            picture.line([LEFT, y(*tick)], [right, y(*tick)], Paint::Grid, false);
            let label = label(*tick, ticks[1] - ticks[0]);
            picture.text([LEFT - 6.0, y(*tick) + 4.0], SIZE, Anchor::End, Paint::Muted, label);
        }
        self.draw_epochs(&mut picture, epochs, &x);
        self.draw_stages(&mut picture, epochs, &x);
        for (i, line) in self.lines.iter().enumerate() {
            let stroke = Paint::Colour(palette::category(i));
            let pieces = pieces(&line.values, (right - LEFT) as usize, &x, &y);
            picture.shapes.push(Shape::Lines { pieces, stroke, width: 1.5, dashed: false });
        }
        self.draw_legend(&mut picture);
        picture
    }

    fn draw_epochs(&self, picture: &mut Picture, epochs: usize, x: &dyn Fn(f64) -> f64) {
        let bottom = HEIGHT - BOTTOM;
        picture.line([LEFT, bottom], [WIDTH - RIGHT, bottom], Paint::Muted, false);
        if !self.reclusterings.is_empty() {
            let (first, last) =
                (self.reclusterings[0], self.reclusterings[self.reclusterings.len() - 1]);
            let (from, to) = (x(first as f64), x(last as f64));
            // Marks that would run into each other are a band.
            if (to - from) / (self.reclusterings.len() as f64) < 3.0 {
                picture.rect([from, bottom - 3.0, (to - from).max(1.0), 3.0], Paint::Muted);
            } else {
                let mark = |e: &usize| vec![[x(*e as f64), bottom], [x(*e as f64), bottom - 4.0]];
                let pieces = self.reclusterings.iter().map(mark).collect();
                let stroke = Paint::Muted;
                picture.shapes.push(Shape::Lines { pieces, stroke, width: 0.7, dashed: false });
            }
        }
        let last = epochs.saturating_sub(1) as f64;
        let labels = ticks(0.0, last.max(1.0), 6);
        for tick in labels.iter().filter(|t| **t <= last.max(1.0)) {
            let text = label(*tick, 1.0);
            picture.text([x(*tick), bottom + 15.0], SIZE, Anchor::Middle, Paint::Muted, text);
        }
        picture.text(
            [WIDTH - RIGHT, HEIGHT - 4.0],
            SIZE,
            Anchor::End,
            Paint::Muted,
            self.caption(),
        );
    }

    /// Says what the marks are, and how far apart where that is always the same.
    fn caption(&self) -> String {
        let steps: Vec<usize> = self.reclusterings.windows(2).map(|w| w[1] - w[0]).collect();
        match (self.reclusterings.is_empty(), steps.first()) {
            (true, _) => "epoch".into(),
            (false, Some(step)) if steps.iter().all(|s| s == step) => {
                format!("epoch; marks: re-clustering, every {step}")
            }
            _ => "epoch; marks: re-clustering".into(),
        }
    }

    fn draw_stages(&self, picture: &mut Picture, epochs: usize, x: &dyn Fn(f64) -> f64) {
        for (i, (from, name)) in self.stages.iter().enumerate() {
            let to = self.stages.get(i + 1).map_or(epochs.saturating_sub(1), |(at, _)| *at);
            let (from, to) = (x(*from as f64), x(to as f64));
            if i > 0 {
                picture.line([from, TOP - 8.0], [from, HEIGHT - BOTTOM], Paint::Muted, true);
            }
            let width = font::width(name, SIZE) + 6.0;
            let at = TOP - 8.0;
            if self.stages.len() > 1 && width <= to - from {
                picture.text([from + 3.0, at], SIZE, Anchor::Start, Paint::Muted, name.clone());
            } else if i == 0 && self.stages.len() > 1 && width <= to {
                // The first one may reach over the scale.
                picture.text([to - 3.0, at], SIZE, Anchor::End, Paint::Muted, name.clone());
            }
        }
    }

    /// In a row at the top right, as many names as there is room for.
    fn draw_legend(&self, picture: &mut Picture) {
        let mut right = WIDTH - RIGHT;
        for (i, line) in self.lines.iter().enumerate().rev().filter(|(_, l)| !l.name.is_empty()) {
            let name = fitted(&line.name, SIZE, 110.0);
            let left = right - font::width(&name, SIZE) - 16.0;
            if left < WIDTH * 0.3 {
                break;
            }
            picture.rect([left, TOP - 11.0, 12.0, 3.0], Paint::Colour(palette::category(i)));
            picture.text([left + 15.0, TOP - 6.0], SIZE, Anchor::Start, Paint::Ink, name);
            right = left - 10.0;
        }
    }
}

/// The line in pieces without gaps. Where there are more epochs than pixels, a pixel keeps the least and
/// the greatest of its values.
fn pieces(
    values: &[Option<f64>],
    pixels: usize,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> Vec<Vec<[f64; 2]>> {
    let bucket = values.len().div_ceil(pixels.max(1)).max(1);
    let mut pieces: Vec<Vec<[f64; 2]>> = vec![Vec::new()];
    for (i, chunk) in values.chunks(bucket).enumerate() {
        let known = || chunk.iter().enumerate().filter_map(|(j, v)| v.map(|v| (i * bucket + j, v)));
        let least = known().min_by(|a, b| a.1.total_cmp(&b.1));
        let greatest = known().max_by(|a, b| a.1.total_cmp(&b.1));
        let piece = pieces.last_mut().expect("at least one");
        match (least, greatest) {
            (Some(a), Some(b)) => {
                let (first, second) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                piece.push([x(first.0 as f64), y(first.1)]);
                if second.0 != first.0 {
                    piece.push([x(second.0 as f64), y(second.1)]);
                }
            }
            _ if !piece.is_empty() => pieces.push(Vec::new()),
            _ => (),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// About `count` round numbers that cover an interval.
pub fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let (low, high) = match (low.is_finite() && high.is_finite(), high - low) {
        (false, _) => (0.0, 1.0),
        (true, span) if span <= 1e-9 * high.abs().max(1e-9) => {
            let half = (0.05 * high.abs()).max(0.5e-3);
            (low - half, high + half)
        }
        (true, _) => (low, high),
    };
    let raw = (high - low) / count as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw).unwrap_or(raw);
    let first = (low / step).floor() as i64;
    let last = (high / step).ceil() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A tick with as many digits as its step needs.
pub fn label(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.digits$}");
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        format!("{:.digits$}", 0.0)
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover() {
        assert_eq!(ticks(0.0, 1.0, 5).len(), 6);
        assert_eq!(ticks(0.63, 0.71, 5), [0.62, 0.64, 0.66, 0.68, 0.7000000000000001, 0.72]);
        let flat = ticks(3.0, 3.0, 5);
        assert!(flat[0] < 3.0 && flat[flat.len() - 1] > 3.0 && flat.len() < 10, "{flat:?}");
        assert!(ticks(f64::INFINITY, f64::NEG_INFINITY, 5).len() > 2);
        assert_eq!(label(0.70000001, 0.02), "0.70");
        assert_eq!(label(-0.0, 0.1), "0.0");
    }

    #[test]
    fn a_few_outliers_do_not_flatten_the_rest() {
        let mut values: Vec<f64> = (0..500).map(|i| 50.0 + f64::from(i % 10)).collect();
        assert_eq!(top(values.clone()), (59.0, false));
        values[7] = 9000.0;
        assert_eq!(top(values), (88.5, true));
        assert_eq!(top(vec![1.0, 100.0]), (100.0, false));
    }

    #[test]
    fn gaps_part_lines_and_extremes_survive() {
        let mut values: Vec<Option<f64>> = (0..1000).map(|i| Some(f64::from(i % 10))).collect();
        values[500] = Some(99.0);
        let x = |e: f64| e;
        let found = pieces(&values, 100, &x, &x);
        assert!(found[0].iter().any(|p| p[1] == 99.0) && found[0].len() <= 200);
        let gap = pieces(&[Some(1.0), None, Some(2.0)], 10, &x, &x);
        assert_eq!(gap, [vec![[0.0, 1.0]], vec![[2.0, 2.0]]]);
    }
}

//! Scores over the values of a setting, as in the paper's figure on the number of clusters.

use super::chart::{label, ticks};
use super::font;
use super::palette;
use super::picture::{Anchor, Paint, Picture, Shape, fitted};

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
const SIZE: f64 = 11.0;

/// What a sweep came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The setting.
    pub key: String,
    /// Its values, in the order they were given.
    pub values: Vec<String>,
    /// The names of the lines; one without a name where only this setting was swept.
    pub lines: Vec<String>,
    /// The scores.
    pub scores: Vec<Score>,
}

/// One score of all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// What it is called.
    pub name: String,
    /// Per line, one per value where there is one.
    pub lines: Vec<Vec<Option<f64>>>,
}

impl Sweep {
    /// A panel per score, two in a row, and a legend where there are several lines.
    pub fn picture(&self) -> Picture {
        let columns = self.scores.len().clamp(1, 2);
        let rows = self.scores.len().div_ceil(columns).max(1);
        let named = self.lines.len() > 1;
        let legend = if named { 22.0 * self.lines.len() as f64 + 12.0 } else { 0.0 };
        let (width, height) = (WIDTH * columns as f64, HEIGHT * rows as f64 + legend);
        let mut sheet = Picture::new(width, height, format!("Scores by {}", self.key));
        for (i, score) in self.scores.iter().enumerate() {
            let (x, y) = ((i % columns) as f64 * WIDTH, (i / columns) as f64 * HEIGHT);
            sheet.place(self.panel(score), x, y);
        }
        for (i, name) in self.lines.iter().enumerate().filter(|_| named) {
            let y = HEIGHT * rows as f64 + 14.0 + 22.0 * i as f64;
            sheet.rect([LEFT, y - 8.0, 14.0, 4.0], Paint::Colour(palette::category(i)));
            let name = fitted(name, SIZE, width - LEFT - 40.0);
            sheet.text([LEFT + 20.0, y - 2.0], SIZE, Anchor::Start, Paint::Ink, name);
        }
        sheet
    }

    fn panel(&self, score: &Score) -> Picture {
        let mut picture = Picture::new(WIDTH, HEIGHT, &score.name);
        picture.text([12.0, 20.0], 13.0, Anchor::Start, Paint::Ink, score.name.clone());
        let known = || score.lines.iter().flatten().flatten().copied();
        let low = known().fold(f64::INFINITY, f64::min);
        let high = known().fold(f64::NEG_INFINITY, f64::max);
        let ticks = ticks(low, high, 5);
        let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let step = (right - LEFT - 24.0) / (self.values.len().max(2) - 1) as f64;
        let x = |i: usize| LEFT + 12.0 + step * i as f64;
        let y = |v: f64| bottom - (bottom - TOP) * (v - low) / (high - low);
        for tick in &ticks {
            picture.line([LEFT, y(*tick)], [right, y(*tick)], Paint::Grid, false);
            let text = label(*tick, ticks[1] - ticks[0]);
            picture.text([LEFT - 6.0, y(*tick) + 4.0], SIZE, Anchor::End, Paint::Muted, text);
        }
        picture.line([LEFT, bottom], [right, bottom], Paint::Muted, false);
        // Names that would touch the last one are left out.
        let mut free = f64::NEG_INFINITY;
        for (i, value) in self.values.iter().enumerate() {
            let name = fitted(value, SIZE, 90.0);
            let half = font::width(&name, SIZE) / 2.0;
            if x(i) - half > free + 4.0 {
                picture.text([x(i), bottom + 16.0], SIZE, Anchor::Middle, Paint::Muted, name);
                free = x(i) + half;
            }
        }
        let middle = f64::midpoint(LEFT, right);
        let key = fitted(&self.key, 12.0, right - LEFT);
        picture.text([middle, HEIGHT - 10.0], 12.0, Anchor::Middle, Paint::Ink, key);
        for (i, line) in score.lines.iter().enumerate() {
            let stroke = Paint::Colour(palette::category(i));
            let known = line.iter().enumerate().filter_map(|(i, v)| v.map(|v| [x(i), y(v)]));
            let points: Vec<[f64; 2]> = known.collect();
            let pieces = vec![points.clone()];
            picture.shapes.push(Shape::Lines { pieces, stroke, width: 1.8, dashed: false });
            picture.shapes.push(Shape::Dots { points, radius: 3.2, fill: stroke, opacity: 1.0 });
        }
        picture
    }
}

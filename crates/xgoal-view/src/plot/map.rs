//! Nodes on a plane, coloured by a column.

use super::palette;
use super::picture::{Anchor, Paint, Picture, Shape, fitted};
use crate::column::{Column, Values};
use crate::project::Point;
use crate::scene::{Panel, Scene};

const SIDE: f64 = 640.0;
const LEGEND: f64 = 190.0;
const PANEL: f64 = 300.0;
/// Names a legend has room for.
const NAMED: usize = 24;

/// The map with its legend.
pub fn map(scene: &Scene, column: Option<&Column>, title: &str) -> Picture {
    let mut picture = Picture::new(SIDE + LEGEND, SIDE + 36.0, title);
    picture.text(
        [14.0, 24.0],
        15.0,
        Anchor::Start,
        Paint::Ink,
        fitted(title, 15.0, SIDE + LEGEND - 28.0),
    );
    let all: Vec<u32> = (0..scene.map.len() as u32).collect();
    let radius = match scene.map.len() {
        0..=1_000 => 3.2,
        1_001..=5_000 => 2.2,
        5_001..=20_000 => 1.5,
        _ => 0.9,
    };
    dots(
        &mut picture,
        &Spot { points: &scene.map, nodes: &all, column, radius, at: [0.0, 36.0], side: SIDE },
    );
    if let Some(column) = column {
        legend(&mut picture, column);
    }
    picture
}

/// Each layer beside the combined map, a row per stage of training.
pub fn layers(scene: &Scene, column: Option<&Column>, title: &str) -> Picture {
    let mut stages: Vec<&str> = scene.panels.iter().map(|p| p.stage.as_str()).collect();
    stages.dedup();
    let rows: Vec<Vec<&Panel>> =
        stages.iter().map(|s| scene.panels.iter().filter(|p| p.stage == *s).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut picture =
        Picture::new(PANEL * columns as f64, (PANEL + 30.0) * rows.len() as f64, title);
    for (r, row) in rows.iter().enumerate() {
        for (c, panel) in row.iter().enumerate() {
            let at = [PANEL * c as f64, (PANEL + 30.0) * r as f64];
            let name = format!("{}, {}", panel.title, panel.stage);
            let middle = [at[0] + PANEL / 2.0, at[1] + 20.0];
            picture.text(
                middle,
                13.0,
                Anchor::Middle,
                Paint::Ink,
                fitted(&name, 13.0, PANEL - 16.0),
            );
            let spot = Spot {
                points: &panel.points,
                nodes: &scene.sample,
                column,
                radius: 1.4,
                at: [at[0], at[1] + 30.0],
                side: PANEL,
            };
            dots(&mut picture, &spot);
        }
    }
    picture
}

/// Points to be drawn in a square.
struct Spot<'a> {
    points: &'a [Point],
    nodes: &'a [u32],
    column: Option<&'a Column>,
    radius: f64,
    at: [f64; 2],
    side: f64,
}

/// The middle and half the side of the square around some points.
pub fn frame(points: &[Point]) -> ([f64; 2], f64) {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for p in points {
        for d in 0..2 {
            low[d] = low[d].min(f64::from(p[d]));
            high[d] = high[d].max(f64::from(p[d]));
        }
    }
    if points.is_empty() {
        return ([0.0; 2], 1.0);
    }
    let half = (0..2).map(|d| (high[d] - low[d]) / 2.0).fold(0.0, f64::max);
    ([0, 1].map(|d| f64::midpoint(low[d], high[d])), if half > 0.0 { half } else { 1.0 })
}

fn dots(picture: &mut Picture, spot: &Spot<'_>) {
    let (middle, half) = frame(spot.points);
    let margin = 10.0 + spot.radius;
    let scale = (spot.side - 2.0 * margin) / (2.0 * half);
    let place = |p: &Point| {
        let shift = |d: usize| (f64::from(p[d]) - middle[d]) * scale + spot.side / 2.0;
        // Up on the plane is up on the sheet.
        [spot.at[0] + shift(0), spot.at[1] + spot.side - shift(1)]
    };
    let colour = colours(spot.column);
    let mut groups: Vec<(u32, Vec<[f64; 2]>)> = Vec::new();
    let mut place_of: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
    for (p, node) in spot.points.iter().zip(spot.nodes) {
        let rgb = colour(*node);
        let at = *place_of.entry(rgb).or_insert_with(|| {
            groups.push((rgb, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(place(p));
    }
    // Grey below, then the largest groups, so that small ones are seen.
    groups.sort_by_key(|(rgb, points)| {
        (*rgb != palette::OTHER, std::cmp::Reverse(points.len()), *rgb)
    });
    for (rgb, points) in groups {
        let (radius, fill) = (spot.radius, Paint::Colour(rgb));
        picture.shapes.push(Shape::Dots { points, radius, fill, opacity: 0.75 });
    }
}

/// The least and the greatest of some numbers that are there.
pub fn range(numbers: &[f32]) -> (f32, f32) {
    let known = || numbers.iter().copied().filter(|v| v.is_finite());
    (known().fold(f32::INFINITY, f32::min), known().fold(f32::NEG_INFINITY, f32::max))
}

/// The colour of every node.
fn colours<'a>(column: Option<&'a Column>) -> Box<dyn Fn(u32) -> u32 + 'a> {
    match column.map(|c| &c.values) {
        Some(Values::Categories { codes, .. }) => Box::new(|node| {
            codes[node as usize].map_or(palette::OTHER, |code| palette::category(code as usize))
        }),
        Some(Values::Numbers(numbers)) => {
            let (low, high) = range(numbers);
            // In steps, so that there are few groups.
            let step = move |v: f32| (f64::from((v - low) / (high - low)) * 31.0).round() / 31.0;
            Box::new(move |node| match numbers[node as usize] {
                v if v.is_finite() => palette::ramp(step(v)),
                _ => palette::OTHER,
            })
        }
        _ => Box::new(|_| palette::category(0)),
    }
}

fn legend(picture: &mut Picture, column: &Column) {
    let (left, mut top) = (SIDE + 8.0, 60.0);
    let width = LEGEND - 40.0;
    picture.text(
        [left, top],
        13.0,
        Anchor::Start,
        Paint::Ink,
        fitted(&column.name, 13.0, LEGEND - 16.0),
    );
    top += 22.0;
    match &column.values {
        Values::Categories { names, codes } => {
            let named = if names.len() > NAMED { NAMED - 1 } else { names.len() };
            for (i, name) in names.iter().enumerate().take(named) {
                picture.rect([left, top - 9.0, 11.0, 11.0], Paint::Colour(palette::category(i)));
                picture.text(
                    [left + 18.0, top],
                    12.0,
                    Anchor::Start,
                    Paint::Ink,
                    fitted(name, 12.0, width),
                );
                top += 20.0;
            }
            if names.len() > named {
                let more = format!("and {} more", names.len() - named);
                picture.text([left + 18.0, top], 12.0, Anchor::Start, Paint::Muted, more);
                top += 20.0;
            }
            if codes.iter().any(Option::is_none) {
                picture.rect([left, top - 9.0, 11.0, 11.0], Paint::Colour(palette::OTHER));
                picture.text([left + 18.0, top], 12.0, Anchor::Start, Paint::Muted, "none");
            }
        }
        Values::Numbers(numbers) => {
            let (low, high) = range(numbers);
            for i in 0..32 {
                let fill = Paint::Colour(palette::ramp(1.0 - f64::from(i) / 31.0));
                picture.rect([left, top + 5.0 * f64::from(i), 14.0, 5.5], fill);
            }
            picture.text(
                [left + 22.0, top + 8.0],
                12.0,
                Anchor::Start,
                Paint::Ink,
                format!("{high}"),
            );
            picture.text(
                [left + 22.0, top + 160.0],
                12.0,
                Anchor::Start,
                Paint::Ink,
                format!("{low}"),
            );
        }
        Values::Text(_) => (),
    }
}

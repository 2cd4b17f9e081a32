//! Pictures for papers: maps and curves as SVG and PNG.

pub mod chart;
mod font;
pub mod map;
pub mod palette;
pub mod picture;
mod png;
pub mod svg;
pub mod sweep;

pub use png::png;
pub use svg::svg;

use chart::Chart;
use picture::Picture;

/// All charts of a training on one sheet, three in a row.
pub fn curves(charts: &[Chart], title: &str) -> Picture {
    let columns = charts.len().clamp(1, 3);
    let rows = charts.len().div_ceil(columns).max(1);
    let (width, height) = (chart::WIDTH * columns as f64, chart::HEIGHT * rows as f64);
    let mut sheet = Picture::new(width, height, title);
    for (i, chart) in charts.iter().enumerate() {
        let (x, y) = ((i % columns) as f64 * chart::WIDTH, (i / columns) as f64 * chart::HEIGHT);
        sheet.place(chart.picture(), x, y);
    }
    sheet
}

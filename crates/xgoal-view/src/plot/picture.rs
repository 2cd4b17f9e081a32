//! A picture: shapes on a white or dark sheet, to be written as SVG or PNG.

use super::font;

/// What a shape is painted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// The sheet.
    Background,
    /// Text and axes.
    Ink,
    /// Text and lines that step back.
    Muted,
    /// Lines behind the data.
    Grid,
    /// A colour of its own, as 0xRRGGBB.
    Colour(u32),
}

/// Which end of a text its position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The left one.
    Start,
    /// The middle.
    Middle,
    /// The right one.
    End,
}

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A filled rectangle.
    Rect {
        /// Left, top, width, height.
        at: [f64; 4],
        /// Its colour.
        fill: Paint,
    },
    /// Lines through points, one after another; separate pieces are separate lists.
    Lines {
        /// The pieces.
        pieces: Vec<Vec<[f64; 2]>>,
        /// Their colour.
        stroke: Paint,
        /// Their width.
        width: f64,
        /// Whether they are broken into dashes.
        dashed: bool,
    },
    /// Many discs of one size and colour.
    Dots {
        /// Their middles.
        points: Vec<[f64; 2]>,
        /// Their radius.
        radius: f64,
        /// Their colour.
        fill: Paint,
        /// How much they cover.
        opacity: f64,
    },
    /// One line of text.
    Text {
        /// Where its anchor is, on the base line.
        at: [f64; 2],
        /// Height of the font.
        size: f64,
        /// Which end is at the position.
        anchor: Anchor,
        /// Its colour.
        fill: Paint,
        /// What it says.
        text: String,
    },
}

/// Shapes on a sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Width of the sheet.
    pub width: f64,
    /// Height of the sheet.
    pub height: f64,
    /// What it shows, for readers who do not see it.
    pub title: String,
    /// The shapes, later ones over earlier ones.
    pub shapes: Vec<Shape>,
}

impl Picture {
    /// An empty sheet.
    pub fn new(width: f64, height: f64, title: impl Into<String>) -> Self {
        Self { width, height, title: title.into(), shapes: Vec::new() }
    }

    /// Adds a filled rectangle.
    pub fn rect(&mut self, at: [f64; 4], fill: Paint) {
        self.shapes.push(Shape::Rect { at, fill });
    }

    /// Adds one straight line.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: Paint, dashed: bool) {
        let pieces = vec![vec![from, to]];
        self.shapes.push(Shape::Lines { pieces, stroke, width: 1.0, dashed });
    }

    /// Adds a text.
    pub fn text(
        &mut self,
        at: [f64; 2],
        size: f64,
        anchor: Anchor,
        fill: Paint,
        text: impl Into<String>,
    ) {
        self.shapes.push(Shape::Text { at, size, anchor, fill, text: text.into() });
    }

    /// Adds another picture's shapes at a place.
    pub fn place(&mut self, other: Picture, x: f64, y: f64) {
        self.shapes.extend(other.shapes.into_iter().map(|shape| moved(shape, x, y)));
    }
}

fn moved(shape: Shape, x: f64, y: f64) -> Shape {
    let shift = |p: [f64; 2]| [p[0] + x, p[1] + y];
    match shape {
        Shape::Rect { at: [left, top, w, h], fill } => {
            Shape::Rect { at: [left + x, top + y, w, h], fill }
        }
        Shape::Lines { pieces, stroke, width, dashed } => {
            let pieces =
                pieces.into_iter().map(|piece| piece.into_iter().map(shift).collect()).collect();
            Shape::Lines { pieces, stroke, width, dashed }
        }
        Shape::Dots { points, radius, fill, opacity } => {
            let points = points.into_iter().map(shift).collect();
            Shape::Dots { points, radius, fill, opacity }
        }
        Shape::Text { at, size, anchor, fill, text } => {
            Shape::Text { at: shift(at), size, anchor, fill, text }
        }
    }
}

/// A text cut so that it is no wider than `width`.
pub fn fitted(text: &str, size: f64, width: f64) -> String {
    // Nothing that long is ever shown.
    let text: String = text.chars().take(400).collect();
    if font::width(&text, size) <= width {
        return text;
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let cut: String = kept.iter().collect::<String>().trim_end().to_string() + "\u{2026}";
        if font::width(&cut, size) <= width {
            return cut;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_to_fit() {
        assert_eq!(fitted("short", 12.0, 100.0), "short");
        let cut = fitted(&"long ".repeat(2000), 12.0, 100.0);
        assert!(cut.ends_with('\u{2026}') && font::width(&cut, 12.0) <= 100.0, "{cut}");
        assert_eq!(fitted("x", 12.0, 1.0), "");
    }
}

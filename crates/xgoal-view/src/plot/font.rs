//! The font that pictures are measured and PNG files are drawn with: DejaVu Sans, cut down to Latin,
//! Greek and Cyrillic letters. A letter it does not have is an empty box.

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

fn face() -> Face<'static> {
    Face::parse(FONT, 0).expect("the font that is built in")
}

fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).unwrap_or(GlyphId(0))
}

/// How wide a text is.
pub fn width(text: &str, size: f64) -> f64 {
    let face = face();
    let advance = |c| f64::from(face.glyph_hor_advance(glyph(&face, c)).unwrap_or(0));
    text.chars().map(advance).sum::<f64>() * size / f64::from(face.units_per_em())
}

/// The outline of a text from its left end on the base line.
pub fn outline(text: &str, size: f64) -> Option<Path> {
    let face = face();
    let scale = size as f32 / f32::from(face.units_per_em());
    let mut pen = Pen { builder: PathBuilder::new(), x: 0.0 };
    for letter in text.chars() {
        let id = glyph(&face, letter);
        face.outline_glyph(id, &mut pen);
        pen.x += f32::from(face.glyph_hor_advance(id).unwrap_or(0));
    }
    // Letters stand upward, rows of a picture go down.
    pen.builder.finish()?.transform(Transform::from_scale(scale, -scale))
}

struct Pen {
    builder: PathBuilder,
    x: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.builder.move_to(self.x + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.builder.line_to(self.x + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.builder.quad_to(self.x + x1, y1, self.x + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.builder.cubic_to(self.x + x1, y1, self.x + x2, y2, self.x + x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

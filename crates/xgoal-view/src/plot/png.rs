//! Pictures as PNG, at twice their size.

use super::font;
use super::picture::{Anchor, Paint, Picture, Shape};
use super::svg::on_white;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::Write;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Ink, Path, PathBuilder, Pixmap, Rect, Stroke,
    StrokeDash, Transform,
};
use xgoal::error::{Error, Result};

/// Pixels for each unit of a picture.
const SCALE: f32 = 2.0;

/// Draws a picture on white.
pub fn png(picture: &Picture) -> Result<Vec<u8>> {
    let size = |length: f64| (length as f32 * SCALE).ceil() as u32;
    let too_large = || {
        Error::Data(format!(
            "a picture of {} x {}: too large to draw",
            picture.width, picture.height
        ))
    };
    let mut sheet = Pixmap::new(size(picture.width), size(picture.height)).ok_or_else(too_large)?;
    sheet.fill(Color::WHITE);
    picture.shapes.iter().for_each(|shape| draw(&mut sheet, shape));
    encode(&sheet).map_err(|e| Error::Data(format!("writing a PNG: {e}")))
}

/// The file: a signature, then chunks with their length, name and checksum. A sheet is opaque, so colours
/// are written without how much they cover.
fn encode(sheet: &Pixmap) -> std::io::Result<Vec<u8>> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in sheet.data().chunks_exact(4 * sheet.width() as usize) {
        // No filter: most of a picture is one colour.
        packed.write_all(&[0])?;
        let colours: Vec<u8> = row.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
        packed.write_all(&colours)?;
    }
    let mut header = [sheet.width().to_be_bytes(), sheet.height().to_be_bytes()].concat();
    // Eight bits of red, green and blue, row after row.
    header.extend([8, 2, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in [(b"IHDR", header), (b"IDAT", packed.finish()?), (b"IEND", Vec::new())] {
        let mut checksum = Crc::new();
        checksum.update(name);
        checksum.update(&content);
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(name);
        file.extend(content);
        file.extend(checksum.sum().to_be_bytes());
    }
    Ok(file)
}

fn ink(paint: Paint, opacity: f64) -> Ink<'static> {
    let rgb = on_white(paint);
    let mut ink = Ink::default();
    let [_, r, g, b] = rgb.to_be_bytes();
    ink.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    ink.anti_alias = true;
    ink
}

fn draw(sheet: &mut Pixmap, shape: &Shape) {
    let scale = Transform::from_scale(SCALE, SCALE);
    let mut fill = |path: &Path, ink: &Ink<'_>, at: Transform| {
        sheet.fill_path(path, ink, FillRule::Winding, at, None);
    };
    match shape {
        Shape::Rect { at, fill: paint } => {
            let [x, y, w, h] = at.map(|v| v as f32);
            if let Some(rect) = Rect::from_xywh(x, y, w, h) {
                fill(&PathBuilder::from_rect(rect), &ink(*paint, 1.0), scale);
            }
        }
        Shape::Lines { pieces, stroke, width, dashed } => {
            let mut builder = PathBuilder::new();
            for piece in pieces {
                for (i, [x, y]) in piece.iter().enumerate() {
                    match i {
                        0 => builder.move_to(*x as f32, *y as f32),
                        _ => builder.line_to(*x as f32, *y as f32),
                    }
                }
            }
            let stroke_style = Stroke {
                width: *width as f32,
                line_join: LineJoin::Round,
                line_cap: LineCap::Butt,
                dash: if *dashed { StrokeDash::new(vec![4.0, 3.0], 0.0) } else { None },
                ..Stroke::default()
            };
            if let Some(path) = builder.finish() {
                sheet.stroke_path(&path, &ink(*stroke, 1.0), &stroke_style, scale, None);
            }
        }
        Shape::Dots { points, radius, fill: paint, opacity } => {
            let ink = ink(*paint, *opacity);
            let disc = PathBuilder::from_circle(0.0, 0.0, *radius as f32);
            for (disc, [x, y]) in disc.iter().cycle().zip(points) {
                fill(disc, &ink, scale.pre_translate(*x as f32, *y as f32));
            }
        }
        Shape::Text { at: [x, y], size, anchor, fill: paint, text } => {
            let back = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => 0.5,
                Anchor::End => 1.0,
            };
            let left = x - back * font::width(text, *size);
            if let Some(path) = font::outline(text, *size) {
                fill(&path, &ink(*paint, 1.0), scale.pre_translate(left as f32, *y as f32));
            }
        }
    }
}

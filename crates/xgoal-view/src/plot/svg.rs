//! Pictures as SVG.

use super::picture::{Anchor, Paint, Picture, Shape};
use std::fmt::Write;

/// Where a picture will be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a file of its own, on white.
    File,
    /// In the report, whose colours are light or dark.
    Page,
}

/// Writes a picture.
pub fn svg(picture: &Picture, place: Place) -> String {
    let (w, h) = (picture.width, picture.height);
    let mut out = String::new();
    let size =
        if place == Place::File { format!(" width=\"{w}\" height=\"{h}\"") } else { String::new() };
    let title = escape(&picture.title);
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\"{size} role=\"img\" \
         aria-label=\"{title}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n<title>{title}</title>\n"
    )
    .expect("writing to memory");
    if place == Place::File {
        writeln!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>").expect("memory");
    }
    for shape in &picture.shapes {
        write_shape(&mut out, shape, place).expect("writing to memory");
    }
    out + "</svg>\n"
}

/// The colour of a paint on white.
pub fn on_white(paint: Paint) -> u32 {
    match paint {
        Paint::Background => 0xFFFFFF,
        Paint::Ink => 0x1A1D21,
        Paint::Muted => 0x5B6470,
        Paint::Grid => 0xE1E5EA,
        Paint::Colour(rgb) => rgb,
    }
}

fn colour(paint: Paint, place: Place) -> String {
    match (place, paint) {
        (Place::Page, Paint::Background) => "var(--card)".into(),
        (Place::Page, Paint::Ink) => "var(--ink)".into(),
        (Place::Page, Paint::Muted) => "var(--muted)".into(),
        (Place::Page, Paint::Grid) => "var(--grid)".into(),
        (_, paint) => format!("#{:06x}", on_white(paint)),
    }
}

/// A hundredth is less than anyone sees.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn write_shape(out: &mut String, shape: &Shape, place: Place) -> std::fmt::Result {
    match shape {
        Shape::Rect { at: [x, y, w, h], fill } => {
            let [x, y, w, h] = [x, y, w, h].map(|v| number(*v));
            let fill = colour(*fill, place);
            writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{fill}\"/>"
            )
        }
        Shape::Lines { pieces, stroke, width, dashed } => {
            write!(
                out,
                "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"",
                colour(*stroke, place)
            )?;
            if *dashed {
                write!(out, " stroke-dasharray=\"4 3\"")?;
            }
            write!(out, " stroke-linejoin=\"round\" d=\"")?;
            for piece in pieces {
                for (i, [x, y]) in piece.iter().enumerate() {
                    let command = if i == 0 { "M" } else { "L" };
                    write!(out, "{command}{} {}", number(*x), number(*y))?;
                }
            }
            writeln!(out, "\"/>")
        }
        Shape::Dots { points, radius, fill, opacity } => {
            // Lines of no length with round ends: the shortest way to write many discs.
            write!(
                out,
                "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{opacity}\" \
                 stroke-linecap=\"round\" d=\"",
                colour(*fill, place),
                number(2.0 * radius)
            )?;
            for [x, y] in points {
                write!(out, "M{:.1} {:.1}h0", x, y)?;
            }
            writeln!(out, "\"/>")
        }
        Shape::Text { at: [x, y], size, anchor, fill, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
                number(*x),
                number(*y),
                colour(*fill, place),
                escape(text)
            )
        }
    }
}

/// Text for XML and HTML; what XML cannot hold becomes the sign for it.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c < ' ' || c == '\u{FFFE}' || c == '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        let mut picture = Picture::new(10.0, 10.0, "</title><script>");
        picture.text([1.0, 2.0], 8.0, Anchor::End, Paint::Ink, "a & \"b\" <c>\u{1}");
        let text = svg(&picture, Place::File);
        assert!(text.contains("a &amp; &quot;b&quot; &lt;c&gt;\u{FFFD}</text>"), "{text}");
        assert!(!text.contains("<script"));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Drawings as text: what charts have in common.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::failure::{Exit, Failure, Result};

/// Told apart without colour vision, too (Okabe and Ito), and a grey for what is not measured.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);
pub const GREY: RGBColor = RGBColor(120, 120, 120);

/// Where it is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What becomes of it.
pub type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What `draw` draws on so many pixels; `what` is named where it fails.
pub fn text(what: &str, size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    draw(&root).map_err(|error| {
        let message = format!("drawing {what}: {error}");
        Failure::new(Exit::Impossible, message, "report this defect")
    })?;
    drop(root);
    Ok(text)
}

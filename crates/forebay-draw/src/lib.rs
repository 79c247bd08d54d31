// SPDX-License-Identifier: Apache-2.0
//! Charts as SVG ([`Bars`], [`Timeline`], [`Lines`]), an [`HtmlPage`] that needs nothing else (no
//! script, no font, no network), and pages of [`text`] as plain data. Callers give names, numbers
//! and units; how charts and HTML look is decided here.
#![forbid(unsafe_code)]

mod chart;
mod html;
mod picture;
pub mod text;

pub use chart::{
    BLUE, Bars, Colour, Error, GREEN, GREY, Line, Lines, ORANGE, PURPLE, Series, Timeline,
};
pub use html::{HtmlPage, Tile, date};
pub use picture::Picture;

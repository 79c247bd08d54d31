// SPDX-License-Identifier: Apache-2.0
//! Charts as SVG ([`Bars`], [`Timeline`], [`Lines`]), and a [`Page`] of HTML that needs nothing
//! else: no script, no font, no network. Callers give names, numbers and units; how it looks is
//! decided here.
#![forbid(unsafe_code)]

mod chart;
mod page;

pub use chart::{
    BLUE, Bars, Colour, Error, GREEN, GREY, Line, Lines, ORANGE, PURPLE, Series, Timeline,
};
pub use page::{Page, Tile, date};

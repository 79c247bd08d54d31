// SPDX-License-Identifier: Apache-2.0
//! `forebay pe list`: which processing elements there are, and what can be set.

use forebay_pipeline::{Element, Paths};
use serde::Serialize;

use crate::args::PeListArgs;
use crate::failure::{Exit, Result};
use crate::home;
use crate::render::{Grid, Page};
use crate::report;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    elements: Vec<Element>,
}

/// Runs it.
pub fn run(args: &PeListArgs) -> Result<Exit> {
    let paths = Paths::new(&home::find()?, &args.path.pe_path);
    let elements = paths
        .elements()
        .iter()
        .map(|(name, folder)| Element::load(folder, name))
        .collect::<forebay_pipeline::Result<Vec<_>>>()?;
    let report = Report {
        schema: "forebay.elements/1",
        version: env!("CARGO_PKG_VERSION"),
        elements,
    };
    if report::emit(&report)? {
        return Ok(Exit::Good);
    }
    let mut page = Page::of_hardware("Processing elements");
    let headers = ["element", "setting", "bits", ">default", "range", "is"];
    let mut grid = Grid::new(&headers).wrap(5, 60);
    for element in &report.elements {
        let none = String::new();
        grid.row([
            &element.name,
            &none,
            &none,
            &none,
            &none,
            &element.description,
        ]);
        for (name, setting) in &element.settings {
            grid.row([
                String::new(),
                name.clone(),
                format!("{}:{}", setting.high, setting.low),
                setting.show(setting.default),
                match setting.flag {
                    true => "true, false".to_owned(),
                    false => format!("{} … {}", setting.least, setting.most),
                },
                setting.description.clone(),
            ]);
        }
    }
    page.grid(grid);
    page.print();
    Ok(Exit::Good)
}

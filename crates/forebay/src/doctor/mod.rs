// SPDX-License-Identifier: Apache-2.0
//! `forebay doctor`: what will work on this machine, by files and by comparing bytes.

mod check;

use forebay_vfio::topology::Function;
use forebay_vfio::{Sysfs, Topology};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::{self, Grid, Page};
use crate::report;
use check::Checked;

/// Width of the columns with sentences.
const SENTENCE: u16 = 72;

#[derive(Serialize)]
struct Doctor<'a> {
    schema: &'static str,
    version: &'static str,
    works: bool,
    #[serde(flatten)]
    topology: &'a Topology,
    /// What comparing bytes has shown, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Checked<'a>>,
}

/// Says what will work on this machine, and why the rest will not.
pub fn run(args: &DoctorArgs) -> Result<Exit> {
    if let Some(option) = args.senseless() {
        return Err(Failure::input(
            option,
            "given",
            "without --check nothing is taken from its driver",
            "add --check",
        ));
    }
    let sysfs = Sysfs::default();
    // Before the check, with the devices where they belong.
    let mut topology = Topology::of(&sysfs)?;
    let outcome = args.check.then(|| check::run(&sysfs, args));
    let checked = outcome.as_ref().map(Checked::of);
    if let Some(measured) = checked.as_ref().and_then(Checked::measured) {
        topology.judge(&measured);
    }
    let works = topology.variants.iter().any(|variant| variant.works);
    let report = Doctor {
        schema: "forebay.doctor/1",
        version: env!("CARGO_PKG_VERSION"),
        works,
        topology: &topology,
        check: checked,
    };
    if !report::emit(&report)? {
        show(&topology, works, report.check.as_ref());
    }
    match outcome {
        Some(Err(failure)) => Err(failure),
        // Who has compared wants to know just that; what works, the text tells.
        Some(Ok(report)) if report.is_good() => Ok(Exit::Good),
        Some(Ok(_)) => Ok(Exit::BadResult),
        None if works => Ok(Exit::Good),
        None => Ok(Exit::Impossible),
    }
}

fn show(topology: &Topology, works: bool, checked: Option<&Checked<'_>>) {
    let mut page = Page::of_hardware("Doctor");
    if topology
        .functions
        .iter()
        .any(|function| function.kind.is_some())
    {
        page.heading("PCI Express").grid(tree(&topology.functions));
    }
    page.heading("Looked for");
    let mut grid = Grid::new(&["", "what", "found"]).wrap(2, SENTENCE);
    for check in &topology.checks {
        grid.row([&render::mark(check.good), check.what, &check.found]);
        if !check.good {
            grid.row(["", "", &format!("→ {}", check.remedy)]);
        }
    }
    page.grid(grid);
    if let Some(checked) = checked {
        checked.show(&mut page);
    }
    page.heading("What can work here");
    let mut grid = Grid::new(&["", "variant", "why"]).wrap(2, SENTENCE);
    for variant in &topology.variants {
        let why = variant.why.join("; ");
        grid.row([&render::mark(variant.works), variant.name, &why]);
    }
    page.grid(grid);
    page.verdict(
        works,
        match works {
            true => "something can work here",
            false => "nothing can work here as it is; everything runs in simulation all the same",
        },
    );
    page.print();
}

/// Drives, cards, and the bridges above them, indented by depth.
fn tree(functions: &[Function]) -> Grid {
    let headers = ["function", "is", "group", ">MPS", ">MRRS", "ACS", "link"];
    let mut grid = Grid::new(&headers);
    let dash = || "–".to_owned();
    for function in functions.iter().filter(|function| function.kind.is_some()) {
        let pci = &function.pci;
        let acs = function.acs.map_or_else(dash, |acs| {
            if acs.redirects() { "redirects" } else { "off" }.into()
        });
        let link = pci.link.as_ref().map_or_else(dash, |link| {
            format!(
                "{} x{} of {} x{}",
                link.speed, link.width, link.max_speed, link.max_width
            )
        });
        let size = |bytes: Option<u32>| bytes.map_or_else(dash, |bytes| bytes.to_string());
        grid.row([
            format!("{}{}", "  ".repeat(pci.above.len()), pci.address),
            function.kind.map_or_else(dash, str::to_owned),
            pci.group.map_or_else(dash, |group| group.to_string()),
            size(function.sizes.map(|sizes| sizes.payload)),
            size(function.sizes.map(|sizes| sizes.read_request)),
            acs,
            link,
        ]);
    }
    grid
}

// SPDX-License-Identifier: Apache-2.0
//! `forebay doctor`: what will work on this machine, by files and by comparing bytes.

use std::path::Path;

use forebay_app::compare::{CompareSpec, Compared, compare};
use forebay_app::store::{FoundArray, arrays, drives};
use forebay_draw::text::{Grid, Page, mark, or_dash};
use forebay_vfio::topology::Function;
use forebay_vfio::{Sysfs, Topology};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

/// Width of the columns with sentences.
const SENTENCE: u16 = 72;

#[derive(Serialize)]
struct Doctor<'a> {
    works: bool,
    #[serde(flatten)]
    topology: &'a Topology,
    /// Arrays of which this machine has members.
    arrays: Vec<FoundArray>,
    /// What comparing bytes has shown, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Compared<'a>>,
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
    let outcome = args.check.then(|| compare(&sysfs, &spec(args)));
    let checked = outcome.as_ref().map(Compared::of);
    if let Some(measured) = checked.as_ref().and_then(Compared::measured) {
        topology.judge(&measured);
    }
    let works = topology.variants.iter().any(|variant| variant.works);
    let found = Doctor {
        works,
        topology: &topology,
        arrays: arrays(Path::new("/dev"), drives()),
        check: checked,
    };
    let report = Report::new("forebay.doctor/1", found);
    report::show(&report, || page(&report.found))?;
    match outcome {
        Some(Err(failure)) => Err(failure),
        // Who has compared wants to know just that; what works, the text tells.
        Some(Ok(report)) if report.is_good() => Ok(Exit::Good),
        Some(Ok(_)) => Ok(Exit::BadResult),
        None if works => Ok(Exit::Good),
        None => Ok(Exit::Impossible),
    }
}

/// What is compared.
fn spec(args: &DoctorArgs) -> CompareSpec {
    CompareSpec {
        settings: args.bus.settings(args.peer.map(|peer| peer.device)),
        drive: args.bus.ssd,
        namespace: args.namespace,
        card: args.bus.fpga,
        peer: args.peer,
        largest: args.largest,
        scratch: args.scratch,
        seed: args.seed,
    }
}

fn page(found: &Doctor<'_>) -> Page {
    let Doctor {
        works,
        topology,
        arrays,
        check,
    } = found;
    let mut page = Page::of_hardware("Doctor");
    if topology
        .functions
        .iter()
        .any(|function| function.kind.is_some())
    {
        page.heading("PCI Express").grid(tree(&topology.functions));
    }
    page.heading("Looked for");
    let mut grid = Grid::new(" | what | found").wrap(2, SENTENCE);
    for check in &topology.checks {
        grid.row([mark(check.good), check.what, &check.found]);
        if !check.good {
            grid.row(["", "", &format!("→ {}", check.remedy)]);
        }
    }
    page.grid(grid);
    if !arrays.is_empty() {
        page.heading("Recordings over several drives");
        let mut grid = Grid::new(" | array | found").wrap(2, SENTENCE);
        for array in arrays {
            grid.row([mark(array.opens()), &array.uuid, &members(array)]);
        }
        page.grid(grid);
    }
    if let Some(compared) = check {
        compared.draw(&mut page);
    }
    page.heading("What can work here");
    let mut grid = Grid::new(" | variant | why").wrap(2, SENTENCE);
    for variant in &topology.variants {
        let why = variant.why.join("; ");
        grid.row([mark(variant.works), variant.name, &why]);
    }
    page.grid(grid);
    page.verdict(
        *works,
        match works {
            true => "something can work here",
            false => "nothing can work here as it is; everything runs in simulation all the same",
        },
    );
    page
}

/// Which members of an array are here.
fn members(array: &FoundArray) -> String {
    let all = array.members.len();
    let here = array.members.iter().flatten();
    let here: Vec<_> = here.map(String::as_str).collect();
    let what = match (array.missing(), array.opens()) {
        (0, _) => "",
        (_, true) => ": the parity stands for the other",
        (_, false) => ": the others are missing",
    };
    format!("{} of {all} members, {}{what}", here.len(), here.join(", "))
}

/// Drives, cards, and the bridges above them, indented by depth.
fn tree(functions: &[Function]) -> Grid {
    let mut grid = Grid::new("function | is | group | >MPS | >MRRS | ACS | link");
    for function in functions.iter().filter(|function| function.kind.is_some()) {
        let pci = &function.pci;
        let acs = function.acs.map(|acs| match acs.redirects() {
            true => "redirects",
            false => "off",
        });
        let link = pci.link.as_ref().map(|link| {
            format!(
                "{} x{} of {} x{}",
                link.speed, link.width, link.max_speed, link.max_width
            )
        });
        grid.row([
            format!("{}{}", "  ".repeat(pci.above.len()), pci.address),
            or_dash(function.kind),
            or_dash(pci.group),
            or_dash(function.sizes.map(|sizes| sizes.payload)),
            or_dash(function.sizes.map(|sizes| sizes.read_request)),
            or_dash(acs),
            or_dash(link),
        ]);
    }
    grid
}

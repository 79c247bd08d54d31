// SPDX-License-Identifier: Apache-2.0
//! `forebay devices`: drives and cards of this machine.

use forebay_vfio::topology::Function;
use forebay_vfio::{Bound, Sysfs, Topology};
use serde::Serialize;

use crate::args::DevicesArgs;
use crate::failure::{Exit, Result};
use crate::render::{self, Grid, Page};
use crate::report;

/// Width of the column with who uses a device.
const USES: u16 = 36;

#[derive(Serialize)]
struct Devices<'a> {
    schema: &'static str,
    version: &'static str,
    devices: Vec<&'a Function>,
}

/// Lists drives and cards.
pub fn run(args: &DevicesArgs) -> Result<Exit> {
    let sysfs = Sysfs::default();
    if let Some(device) = args.give_back {
        Bound::give_back(&sysfs, device)?;
    }
    let topology = Topology::of(&sysfs)?;
    let report = Devices {
        schema: "forebay.devices/1",
        version: env!("CARGO_PKG_VERSION"),
        devices: topology.devices().collect(),
    };
    if !report::emit(&report)? {
        let mut page = Page::of_hardware("Devices");
        if report.devices.is_empty() {
            page.line(
                "  No NVMe drive and no FPGA card; `forebay doctor` says what it looked for.",
            );
        } else {
            page.grid(grid(report.devices.iter().copied()));
        }
        page.print();
    }
    Ok(Exit::Good)
}

fn grid<'a>(devices: impl Iterator<Item = &'a Function>) -> Grid {
    let headers = ["address", "is", "ids", "driver", "group", "BARs", "in use"];
    let mut grid = Grid::new(&headers).wrap(6, USES);
    for device in devices {
        let pci = &device.pci;
        let bars: Vec<_> = pci
            .bars
            .iter()
            .map(|bar| format!("{}: {}", bar.index, render::bytes(bar.size)))
            .collect();
        grid.row([
            pci.address.to_string(),
            device.kind.unwrap_or("–").into(),
            format!("{:04x}:{:04x}", pci.vendor, pci.device),
            pci.driver.clone().unwrap_or("–".into()),
            pci.group.map_or("–".into(), |group| group.to_string()),
            bars.join(", "),
            device.uses.join("; "),
        ]);
    }
    grid
}

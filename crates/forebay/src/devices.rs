// SPDX-License-Identifier: Apache-2.0
//! `forebay devices`: drives and cards of this machine.

use forebay_draw::text::{Grid, Page, or_dash};
use forebay_pipeline::units::bytes;
use forebay_vfio::topology::Function;
use forebay_vfio::{Bound, Sysfs, Topology};
use serde::Serialize;

use crate::args::DevicesArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

/// Width of the column with who uses a device.
const USES: u16 = 36;

#[derive(Serialize)]
struct Devices<'a> {
    devices: Vec<&'a Function>,
}

/// Lists drives and cards.
pub fn run(args: &DevicesArgs) -> Result<Exit> {
    let sysfs = Sysfs::default();
    if let Some(device) = args.give_back {
        Bound::give_back(&sysfs, device)?;
    }
    let topology = Topology::of(&sysfs)?;
    let devices: Vec<_> = topology.devices().collect();
    let found = Devices {
        devices: devices.clone(),
    };
    report::show(&Report::new("forebay.devices/1", found), || {
        let mut page = Page::of_hardware("Devices");
        if devices.is_empty() {
            page.line(
                "  No NVMe drive and no FPGA card; `forebay doctor` says what it looked for.",
            );
        } else {
            page.grid(grid(&devices));
        }
        page
    })?;
    Ok(Exit::Good)
}

fn grid(devices: &[&Function]) -> Grid {
    let mut grid = Grid::new("address | is | ids | driver | group | BARs | in use").wrap(6, USES);
    for device in devices {
        let pci = &device.pci;
        let bars: Vec<_> = pci
            .bars
            .iter()
            .map(|bar| format!("{}: {}", bar.index, bytes(bar.size)))
            .collect();
        grid.row([
            pci.address.to_string(),
            or_dash(device.kind),
            format!("{:04x}:{:04x}", pci.vendor, pci.device),
            or_dash(pci.driver.as_ref()),
            or_dash(pci.group),
            bars.join(", "),
            device.uses.join("; "),
        ]);
    }
    grid
}

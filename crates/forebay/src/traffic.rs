// SPDX-License-Identifier: Apache-2.0
//! What crossed PCIe, as a table.

use crate::render::{self, Grid};

pub use forebay_app::traffic::{Hop, Traffic};

/// Links that carried something, under the names of the measurements.
pub fn grid<'a>(measured: impl IntoIterator<Item = (&'a str, &'a Traffic)>) -> Grid {
    let mut grid = Grid::new(&[
        "",
        ">PCIe bytes per byte",
        "link",
        ">packets",
        ">payload",
        ">on the wire",
        ">of the link",
    ]);
    for (name, traffic) in measured {
        let per_byte = render::ratio(traffic.pcie_bytes_per_byte);
        let mut head = (name, per_byte.as_str());
        for hop in traffic.hops.iter().filter(|hop| hop.messages > 0) {
            grid.row([
                head.0.to_owned(),
                head.1.to_owned(),
                hop.name(),
                render::count(hop.messages),
                render::bytes(hop.payload_bytes),
                render::bytes(hop.wire_bytes),
                hop.link_share
                    .map_or("–".into(), |share| format!("{:.1} %", share * 100.0)),
            ]);
            head = ("", "");
        }
    }
    grid
}

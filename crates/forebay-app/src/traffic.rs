// SPDX-License-Identifier: Apache-2.0
//! What crossed PCIe while something was measured: each link, each way.

use forebay_draw::text::{Grid, or_dash, ratio};
use forebay_model::{Direction, HopCount, Node, SECOND, Time};
use forebay_pipeline::units::{bytes, count};
use serde::{Deserialize, Serialize};

/// What crossed a link one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// Whose link: `host`, `fpga`, `ssd0`.
    pub link: String,
    /// `up` to the switch, or `down` from it.
    pub direction: String,
    /// Packets.
    pub messages: u64,
    /// Bytes of payload.
    pub payload_bytes: u64,
    /// Bytes with headers and framing.
    pub wire_bytes: u64,
    /// What the link carries at most; 0 is without limit.
    pub link_bytes_per_second: u64,
    /// Share of that which was used, 0 to 1; none where there is no limit.
    pub link_share: Option<f64>,
}

/// What crossed all links in a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// The links.
    pub hops: Vec<Hop>,
    /// The time.
    pub pcie_seconds: f64,
    /// Payload bytes that all devices put on PCIe for each byte moved between user and drive. A
    /// transfer counts once, however many links it crosses.
    pub pcie_bytes_per_byte: Option<f64>,
}

impl From<&HopCount> for Hop {
    fn from(hop: &HopCount) -> Self {
        Self {
            link: match hop.node {
                Node::Host => "host".into(),
                Node::Fpga => "fpga".into(),
                Node::Ssd(number) => format!("ssd{number}"),
            },
            direction: match hop.direction {
                Direction::Up => "up".into(),
                Direction::Down => "down".into(),
            },
            messages: hop.messages,
            payload_bytes: hop.payload,
            wire_bytes: hop.wire,
            link_bytes_per_second: hop.bytes_per_second,
            link_share: None,
        }
    }
}

impl Hop {
    fn count(&mut self, more: &Self) {
        self.messages += more.messages;
        self.payload_bytes += more.payload_bytes;
        self.wire_bytes += more.wire_bytes;
    }

    fn share(&mut self, seconds: f64) {
        let possible = self.link_bytes_per_second as f64 * seconds;
        self.link_share = (possible > 0.0).then(|| self.wire_bytes as f64 / possible);
    }

    /// The link and the way, for people.
    pub fn name(&self) -> String {
        let node = match self.link.as_str() {
            "fpga" => "FPGA card",
            "host" => "host",
            "ssd0" => "drive",
            other => other,
        };
        let arrow = if self.direction == "up" { "→" } else { "←" };
        format!("{node} {arrow} switch")
    }
}

impl Traffic {
    /// Of these counts, in this time, for `bytes` between user and drive.
    pub fn new(hops: &[HopCount], duration: Time, bytes: u64) -> Self {
        let hops = hops.iter().map(Hop::from).collect();
        Self::of(hops, duration as f64 / SECOND as f64, bytes)
    }

    /// Several measurements of the same machine, one after the other, of `bytes` in all.
    pub fn together<'a>(runs: impl IntoIterator<Item = &'a Self>, bytes: u64) -> Self {
        let mut hops: Vec<Hop> = Vec::new();
        let mut seconds = 0.0;
        for run in runs {
            seconds += run.pcie_seconds;
            if hops.is_empty() {
                hops.clone_from(&run.hops);
                continue;
            }
            for (hop, more) in hops.iter_mut().zip(&run.hops) {
                hop.count(more);
            }
        }
        Self::of(hops, seconds, bytes)
    }

    /// Counts more on a link, one that is not there yet included, in the same time.
    pub fn add(&mut self, more: Hop) {
        let seconds = self.pcie_seconds;
        let same = |hop: &&mut Hop| hop.link == more.link && hop.direction == more.direction;
        match self.hops.iter_mut().find(same) {
            Some(hop) => {
                hop.count(&more);
                hop.share(seconds);
            }
            None => self.hops.push(more),
        }
    }

    fn of(mut hops: Vec<Hop>, seconds: f64, bytes: u64) -> Self {
        hops.iter_mut().for_each(|hop| hop.share(seconds));
        // What goes up to the switch is sent; what comes down has been counted.
        let sent = hops.iter().filter(|hop| hop.direction == "up");
        let sent: u64 = sent.map(|hop| hop.payload_bytes).sum();
        Self {
            hops,
            pcie_seconds: seconds,
            pcie_bytes_per_byte: (bytes > 0).then(|| sent as f64 / bytes as f64),
        }
    }
}

/// Links that carried something, under the names of the measurements.
pub fn grid<'a>(measured: impl IntoIterator<Item = (&'a str, &'a Traffic)>) -> Grid {
    let mut grid = Grid::new(
        " | >PCIe bytes per byte | link | >packets | >payload | >on the wire | >of the link",
    );
    for (name, traffic) in measured {
        let mut head = (name.to_owned(), ratio(traffic.pcie_bytes_per_byte));
        for hop in traffic.hops.iter().filter(|hop| hop.messages > 0) {
            let (name, per_byte) = std::mem::take(&mut head);
            grid.row([
                name,
                per_byte,
                hop.name(),
                count(hop.messages),
                bytes(hop.payload_bytes),
                bytes(hop.wire_bytes),
                or_dash(
                    hop.link_share
                        .map(|share| format!("{:.1} %", share * 100.0)),
                ),
            ]);
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(node: Node, direction: Direction, payload: u64) -> HopCount {
        HopCount {
            node,
            direction,
            messages: 1,
            payload,
            wire: 2 * payload,
            bytes_per_second: 1000,
        }
    }

    #[test]
    fn each_transfer_counts_once() {
        let hops = [
            hop(Node::Fpga, Direction::Up, 100),
            hop(Node::Host, Direction::Down, 100),
            hop(Node::Host, Direction::Up, 100),
            hop(Node::Ssd(0), Direction::Down, 100),
        ];
        let through_host = Traffic::new(&hops, SECOND, 100);
        assert_eq!(through_host.pcie_bytes_per_byte, Some(2.0));
        assert_eq!(through_host.hops[0].link_share, Some(0.2));
        let twice = Traffic::together([&through_host, &through_host], 200);
        assert_eq!(twice.pcie_bytes_per_byte, Some(2.0));
        assert_eq!(twice.hops[0].link_share, Some(0.2));
        assert_eq!(twice.hops[0].payload_bytes, 200);
    }

    #[test]
    fn without_limit_or_bytes_there_is_no_share() {
        let mut hops = [hop(Node::Fpga, Direction::Up, 0)];
        hops[0].bytes_per_second = 0;
        let traffic = Traffic::new(&hops, SECOND, 0);
        assert_eq!(traffic.pcie_bytes_per_byte, None);
        assert_eq!(traffic.hops[0].link_share, None);
        assert_eq!(Traffic::together([], 0), Traffic::default());
    }
}

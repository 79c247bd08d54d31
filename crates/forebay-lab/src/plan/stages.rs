// SPDX-License-Identifier: Apache-2.0
//! What each part of the way from source to flash carries at most.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::{CLOCK_PERIOD, Design, RTL_ANSWER, measure};
use forebay_model::profile::{
    FabricProfile, Limit, LinkProfile, LoadAccess, LoadDirection, Measurement, Quantity,
};
use forebay_model::{DramProfile, Node, Profile, SECOND, Time};
use forebay_spec::net::ethernet;
use serde::Serialize;

use crate::failure::Result;
use crate::interrupt;
use crate::progress::Progress;

/// Bytes of a beat of the streams.
const BEAT: u64 = 64;
/// Bytes of a command with which a drive is measured, and how many are outstanding.
const COMMAND: u64 = 128 << 10;
const DEPTH: u16 = 16;
pub const COMMANDS: u64 = 512;
/// As many as show whether a number matters.
pub const FEW_COMMANDS: u64 = 64;
/// Names of parts whose rate a profile has.
pub const CARD_LINK: &str = "card's link";
pub const DRIVE_LINKS: &str = "drives' links";
pub const DRAM: &str = "DRAM";

/// A part of the way.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Which.
    pub name: String,
    /// What it carries.
    pub bytes_per_second: f64,
    /// Why that.
    pub because: String,
}

impl Stage {
    /// The same where of what it carries only this share is payload, the rest parity.
    pub fn with_parity(mut self, share: f64) -> Self {
        self.bytes_per_second *= share;
        if share < 1.0 {
            self.because += ", parity taken off";
        }
        self
    }

    fn new(name: &str, bytes_per_second: f64, because: String) -> Self {
        Self {
            name: name.into(),
            bytes_per_second,
            because,
        }
    }
}

/// The network: what is left of `rate` bytes a second behind the headers of Ethernet, IPv4, UDP and
/// ours, with preamble, check sequence and gap. None where there is no wire, or no room for payload.
pub fn wire(rate: u64, mtu: u64) -> Option<Stage> {
    let bytes = usize::try_from(mtu).ok()?;
    let payload = ethernet::payload_of_mtu(bytes, ethernet::IPV4_BYTES)?;
    let frame = (ethernet::HEADER_BYTES + bytes).max(ethernet::LEAST_BYTES) + ethernet::WIRE_BYTES;
    let because = format!(
        "{} Gb/s in frames of {frame} B, {payload} B of payload in each",
        rate as f64 * 8e-9
    );
    let rate = rate as f64 * payload as f64 / frame as f64;
    (rate > 0.0).then(|| Stage::new("wire", rate, because))
}

/// The streamer's data path.
pub fn datapath() -> Stage {
    beats("datapath", CLOCK_PERIOD)
}

/// The recorder's stream, at its clock.
pub fn stream(clock: Time) -> Stage {
    beats("stream", clock)
}

/// A beat in each cycle of a clock.
fn beats(name: &str, period: Time) -> Stage {
    let clock = SECOND as f64 / period as f64;
    let because = format!("{BEAT} B a cycle at {:.0} MHz", clock / 1e6);
    Stage::new(name, BEAT as f64 * clock, because)
}

/// Bytes that a memory's bus moves in a second, what refreshes take taken off.
pub fn bus(dram: &DramProfile) -> f64 {
    let timing = &dram.timing;
    let column = timing.burst.max(timing.column_short).max(1);
    let peak = dram.access_bytes as f64 * SECOND as f64 / column as f64;
    let refreshing = match timing.refresh_every {
        0 => 0.0,
        every => timing.refresh as f64 / every as f64,
    };
    peak * f64::from(dram.channels) * (1.0 - refreshing)
}

/// On-board DRAM that holds the payload.
pub fn dram(dram: &DramProfile) -> Stage {
    let because = format!(
        "{}: each byte crosses its bus twice, refreshes taken off",
        dram.name
    );
    Stage::new(DRAM, bus(dram) / 2.0, because)
}

/// What a link carries of data that a drive reads: completions with their headers.
fn read_over(link: &LinkProfile, fabric: &FabricProfile) -> f64 {
    let payload = f64::from(fabric.max_payload);
    match link.bytes_per_second {
        0 => f64::INFINITY,
        rate => rate as f64 * payload / (payload + f64::from(fabric.completion_header)),
    }
}

/// The card's PCIe link.
pub fn card_link(fabric: &FabricProfile) -> Stage {
    let because = format!(
        "PCIe link of the card, payloads of {} B",
        fabric.max_payload
    );
    Stage::new(CARD_LINK, read_over(&fabric.fpga, fabric), because)
}

/// The links of `drives` drives.
pub fn drive_links(fabric: &FabricProfile, drives: u64) -> Stage {
    let rate = drives as f64 * read_over(&fabric.ssd, fabric);
    let because = format!(
        "{drives} PCIe links of drives, payloads of {} B",
        fabric.max_payload
    );
    Stage::new(DRIVE_LINKS, rate, because)
}

/// `drives` drives, one of which writes at the rate `one`.
pub fn drives(one: f64, drives: u64, state: &str) -> Stage {
    let because = format!("{drives} × {:.2} GB/s, {state}", one / 1e9);
    Stage::new("drives", drives as f64 * one, because)
}

/// What one drive writes from the card's memory in `commands` commands, on the model: bytes per second.
///
/// # Errors
/// Where the drive fails, or the user stops.
pub fn measured(profile: &Profile, seed: u64, commands: u64) -> Result<f64> {
    let load = Measurement {
        title: "one drive".into(),
        direction: LoadDirection::Write,
        access: LoadAccess::Sequential,
        bytes: COMMAND,
        depth: DEPTH,
        count: commands,
        full_cache: false,
        setup: 0,
        limit: Limit::Drive,
        gave: Vec::new(),
    };
    let design = Design {
        queues: Node::Fpga,
        data: Node::Fpga,
        in_order: true,
    };
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::also(Arc::clone(&stop));
    let _progress = Progress::stage("one drive, model");
    let mut profile = profile.clone();
    profile.fabric.fpga.completer += RTL_ANSWER;
    let run = measure::run(&profile, &load, design, seed, stop)?;
    Ok(measure::value(&run, &load, Quantity::Rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 0.005
    }

    #[test]
    fn parts_carry_what_they_should() {
        assert!(wire(0, 1500).is_none() && wire(12_500_000_000, 60).is_none());
        // `forebay bench net` stores 12.36 GB/s of 100 Gb/s in jumbo frames.
        let jumbo = wire(12_500_000_000, 9000).expect("a wire");
        assert!((jumbo.bytes_per_second - 12.364e9).abs() < 1e6, "{jumbo:?}");
        let usual = wire(12_500_000_000, 1500).expect("a wire");
        assert!(near(usual.bytes_per_second, 12.5e9 * 1440.0 / 1538.0));
        assert!(near(datapath().bytes_per_second, 19.2e9));
        let fabric = Profile::builtin("990pro-2tb").expect("there").fabric;
        assert!(near(drive_links(&fabric, 2).bytes_per_second, 2.0 * 7.31e9));
        assert!(near(card_link(&fabric).bytes_per_second, 14.6e9));
        let memory = DramProfile::builtin("ddr4-2400").expect("there");
        assert!((8.9e9..9.6e9).contains(&dram(&memory).bytes_per_second));
        let ideal = Profile::builtin("ideal").expect("there").fabric;
        assert_eq!(card_link(&ideal).bytes_per_second, f64::INFINITY);
    }
}

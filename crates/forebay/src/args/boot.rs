// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay boot`: bring-up of drives without a CPU.

use clap::{Args, value_parser};
use forebay_app::boot::{BootFault, BootSpec, QemuSpec};
use forebay_app::recorder::CHUNK_BYTES;
use forebay_cosim::Stall;
use forebay_model::Time;

use super::seq::{RootDrive, RootTarget, drive, target};
use super::values::{self, StallSpec};

/// Options that say what models do.
const OF_MODELS: [&str; 7] = [
    "profile",
    "drives",
    "levels",
    "link",
    "fault",
    "clock",
    "interpreted",
];

#[derive(Args, Debug)]
pub struct BootArgs {
    /// Bring up drives that are not our models, by the RTL of a recorder
    #[arg(long, value_parser = target(), requires = "ssd", conflicts_with_all = OF_MODELS)]
    pub on: Option<RootTarget>,
    /// Put an NVMe controller of QEMU's below the root port: FILE[:OPTION,…][+FILE[:OPTION,…]…], as
    /// for `forebay vm run`; +switch behind one: all are behind a switch
    #[arg(long, requires = "on", value_name = "FILE[:OPTIONS][+switch]", value_parser = drive)]
    pub ssd: Vec<RootDrive>,
    /// Record this number of bytes on the drives from address 0 on, and read them back; whole chunks
    /// of 128KiB
    #[arg(long, requires = "on", value_name = "SIZE", default_value = "0", value_parser = chunks)]
    pub record: u64,
    /// Drives and fabric by name, or TOML files; again for each further drive
    #[arg(long, value_name = "NAME|FILE", default_value = "ideal")]
    pub profile: Vec<String>,
    /// Drives, 0 to 8
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u8).range(0..=8))]
    pub drives: u8,
    /// Switches in a row above the drives; by default one where there are several. Four are too many
    /// for the program
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(0..=12))]
    pub levels: Option<u8>,
    /// Most entries of an I/O queue: a power of two from 2 to 1024
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = entries)]
    pub queue_entries: u16,
    /// For how long PERST# is asserted, and what passes from link-up to the first request; PCI
    /// Express has 100ms
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = seconds)]
    pub reset: Time,
    /// Time from PERST# to link-up
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = seconds)]
    pub link: Time,
    /// The failure of one drive ends the bring-up
    #[arg(long)]
    pub together: bool,
    /// For how long drives that are ready are watched
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = seconds)]
    pub watch: Time,
    /// Interpret the program, without RTL
    #[arg(long, conflicts_with_all = ["stall", "clock"])]
    pub interpreted: bool,
    /// Period of the RTL's clock: a fraction of a microsecond
    #[arg(long, value_name = "TIME", default_value = "4ns", value_parser = clock)]
    pub clock: Time,
    /// Pause all ports at random: CHANCE[:CYCLES]
    #[arg(long, value_name = "PAUSE", value_parser = stall)]
    pub stall: Option<StallSpec>,
    /// What goes wrong: no-link, link-down=ACCESSES, [DRIVE/]silent=ACCESSES, [DRIVE/]retry=ACCESSES,
    /// [DRIVE/]fatal=TIME
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    pub fault: Vec<BootFault>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl BootArgs {
    /// What is brought up of QEMU's, and how; none: models are.
    pub fn qemu(&self) -> Option<QemuSpec> {
        let RootTarget::Qemu = self.on?;
        Some(QemuSpec {
            ssds: self.ssd.iter().map(|drive| drive.ssd.clone()).collect(),
            switch: self.ssd.iter().any(|drive| drive.switch),
            queue_entries: self.queue_entries,
            reset_us: self.reset_us(),
            together: self.together,
            watch: self.watch,
            stall: self.stall(),
            record: self.record,
            seed: self.seed,
        })
    }

    fn reset_us(&self) -> u64 {
        self.reset.div_ceil(forebay_model::MICROSECOND)
    }

    fn stall(&self) -> Stall {
        self.stall.as_ref().map_or(Stall::NONE, StallSpec::stall)
    }

    /// What is brought up of models, and how.
    pub fn spec(&self) -> BootSpec {
        BootSpec {
            profiles: self.profile.clone(),
            drives: self.drives,
            levels: self.levels,
            queue_entries: self.queue_entries,
            reset_us: self.reset_us(),
            link_after: self.link,
            together: self.together,
            watch: self.watch,
            faults: self.fault.clone(),
            stall: self.stall(),
            period: (!self.interpreted).then_some(self.clock),
            seed: self.seed,
        }
    }
}

/// Reads `--queue-entries`.
pub(super) fn entries(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(entries @ 2..=1024) if u16::is_power_of_two(entries) => Ok(entries),
        _ => Err(format!("`{text}` is no power of two from 2 to 1024")),
    }
}

/// Reads `--record`.
fn chunks(text: &str) -> Result<u64, String> {
    match values::size(text)? {
        bytes if bytes.is_multiple_of(CHUNK_BYTES) => Ok(bytes),
        bytes => Err(format!(
            "{bytes} bytes are no whole chunks of 128KiB; choose 1MiB"
        )),
    }
}

/// Reads a time of up to ten seconds.
pub(super) fn seconds(text: &str) -> Result<Time, String> {
    match values::time(text)? {
        time if time <= 10 * forebay_model::SECOND => Ok(time),
        _ => Err(format!("`{text}` is over 10s; choose a shorter time")),
    }
}

/// Reads `--stall`: all ports pause alike.
pub(super) fn stall(text: &str) -> Result<StallSpec, String> {
    match values::stall(text)? {
        of if of.is_of_all() => Ok(of),
        _ => Err(format!(
            "`{text}` names a port; write CHANCE or CHANCE:CYCLES, for all ports"
        )),
    }
}

/// Reads `--clock`.
pub(super) fn clock(text: &str) -> Result<Time, String> {
    match values::time(text)? {
        period @ 1_000..=1_000_000 if forebay_model::MICROSECOND.is_multiple_of(period) => {
            Ok(period)
        }
        _ => Err(format!(
            "`{text}` does not divide a microsecond, or is not from 1ns to 1us; choose 4ns, 5ns, 10ns"
        )),
    }
}

/// Reads `--fault`.
fn fault(text: &str) -> Result<BootFault, String> {
    let bad = || {
        format!(
            "`{text}` is no fault; write no-link, link-down=N, [DRIVE/]silent=N, [DRIVE/]retry=N or \
             [DRIVE/]fatal=TIME"
        )
    };
    let (drive, rest) = match text.split_once('/') {
        Some((drive, rest)) => (drive.parse().map_err(|_| bad())?, rest),
        None => (0, text),
    };
    let Some((kind, value)) = rest.split_once('=') else {
        return match text {
            "no-link" => Ok(BootFault::NoLink),
            _ => Err(bad()),
        };
    };
    let number = || value.parse().map_err(|_| bad());
    match kind {
        "link-down" if rest == text => Ok(BootFault::LinkDown(number()?)),
        "silent" => Ok(BootFault::Silent(drive, number()?)),
        "retry" => Ok(BootFault::Retry(drive, number()?)),
        "fatal" => Ok(BootFault::Fatal(drive, values::time(value)?)),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults() {
        assert_eq!(fault("no-link"), Ok(BootFault::NoLink));
        assert_eq!(fault("link-down=7"), Ok(BootFault::LinkDown(7)));
        assert_eq!(fault("2/silent=0"), Ok(BootFault::Silent(2, 0)));
        assert_eq!(fault("retry=3"), Ok(BootFault::Retry(0, 3)));
        for text in [
            "",
            "no-link=1",
            "1/link-down=2",
            "silent",
            "x/retry=1",
            "fatal=x",
        ] {
            assert!(fault(text).is_err(), "{text}");
        }
    }

    #[test]
    fn periods_and_entries() {
        assert_eq!(clock("4ns"), Ok(4_000));
        assert!(clock("3ns").is_err() && clock("2us").is_err());
        assert_eq!(entries("64"), Ok(64));
        assert!(entries("3").is_err() && entries("2048").is_err());
        assert_eq!(chunks("256KiB"), Ok(256 << 10));
        assert!(chunks("1000").is_err() && chunks("x").is_err());
    }
}

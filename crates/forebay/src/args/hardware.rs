// SPDX-License-Identifier: Apache-2.0
//! Options that name this machine's own hardware.

use clap::{ArgGroup, Args};
use forebay_app::{Failure, Result};
use forebay_driver::{Options, Outbound, PciAddress};
use forebay_vfio::Settings;

use super::values::{self, PeerMemory};

/// Devices that are taken from their drivers, and how they reach memory.
#[derive(Args, Clone, Debug, Default)]
pub struct HardwareBusArgs {
    /// The drive, as `forebay devices` lists it. It is taken from its driver, unless it is in use,
    /// and given back at the end
    #[arg(long, value_name = "ADDRESS")]
    pub ssd: Option<PciAddress>,
    /// The FPGA card with the streamer, taken and given back likewise
    #[arg(long, value_name = "ADDRESS")]
    pub fpga: Option<PciAddress>,
    /// Go on where no IOMMU keeps the devices from memory that is not theirs: a wrong address can
    /// then overwrite any of it. Takes a kernel with CONFIG_VFIO_NOIOMMU, which is tainted by it,
    /// its switch enable_unsafe_noiommu_mode, root, and huge pages
    #[arg(long, hide_short_help = true)]
    pub no_iommu: bool,
    /// Take memory for devices from the huge pages that the system reserves (vm.nr_hugepages)
    #[arg(long, hide_short_help = true)]
    pub huge_pages: bool,
    /// What the card adds to the address of each doorbell, modulo 2^64, where its bridge translates
    /// an aperture: where that begins, less the bus address of its first byte (docs/how-to/board.md)
    #[arg(long, value_name = "OFFSET", default_value = "0", value_parser = values::size)]
    #[arg(hide_short_help = true)]
    pub doorbell_offset: u64,
    /// The same for payload in on-board DRAM or host memory
    #[arg(long, value_name = "OFFSET", default_value = "0", value_parser = values::size)]
    #[arg(hide_short_help = true)]
    pub memory_offset: u64,
}

impl HardwareBusArgs {
    /// What to open: drive, card, and these further devices.
    pub fn settings(&self, further: impl IntoIterator<Item = PciAddress>) -> Settings {
        Settings {
            devices: self
                .ssd
                .into_iter()
                .chain(self.fpga)
                .chain(further)
                .collect(),
            huge_pages: self.huge_pages,
            no_iommu: self.no_iommu,
            ..Settings::default()
        }
    }

    /// How the driver brings them up, with queues of this depth.
    pub fn options(&self, queue_depth: Option<u32>) -> Options {
        let mut options = Options {
            nvme: self.ssd,
            ..Options::default()
        };
        options.fpga.device = self.fpga;
        options.fpga.outbound = Outbound {
            doorbells: self.doorbell_offset,
            memory: self.memory_offset,
        };
        if let Some(depth) = queue_depth {
            options.queue_entries = depth as u16;
        }
        options
    }
}

/// Whether a drive of this machine may be overwritten.
#[derive(Args, Clone, Debug, Default)]
pub struct ConsentArgs {
    /// Overwrite the drive
    #[arg(long, conflicts_with = "serial")]
    pub yes: bool,
    /// Overwrite the drive if this is its serial number
    #[arg(long, value_name = "NUMBER")]
    pub serial: Option<String>,
}

impl ConsentArgs {
    /// Whether either is given.
    pub const fn is_given(&self) -> bool {
        self.yes || self.serial.is_some()
    }

    /// Refuses to go on without leave to overwrite the drive, before it is brought up; its serial
    /// number is compared after that.
    pub fn require(&self) -> Result<()> {
        match self.is_given() {
            true => Ok(()),
            false => self.check("the drive", None),
        }
    }

    /// Allows a drive to be overwritten; `serial` is its serial number, where that is known.
    pub fn check(&self, drive: &str, serial: Option<&str>) -> Result<()> {
        let known = serial.map_or("none that Linux tells".to_owned(), |it| {
            it.trim().to_owned()
        });
        match &self.serial {
            _ if self.yes => Ok(()),
            Some(wanted) if serial.is_some_and(|it| it.trim() == wanted) => Ok(()),
            Some(wanted) => Err(Failure::input(
                "--serial",
                wanted,
                &format!("the serial number of {drive} is {known}"),
                "make sure that it is the drive that you mean",
            )),
            None => Err(Failure::input(
                "--yes",
                "missing",
                &format!("what is on {drive} would be overwritten (serial number: {known})"),
                "add --yes, or --serial with its serial number",
            )),
        }
    }
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("to").args(["fpga", "peer"]))]
pub struct DoctorArgs {
    /// Find out by comparing bytes whether the drive reaches the card's memory and is reached by
    /// it. Takes both from their drivers and gives them back; writes nothing to the drive
    #[arg(long, requires = "ssd", requires = "to")]
    pub check: bool,
    #[command(flatten)]
    pub bus: HardwareBusArgs,
    /// With --check: instead of the card, memory in a BAR of any device. It is overwritten, and
    /// restored at the end
    #[arg(long, value_name = "ADDRESS:BAR:OFFSET[:SIZE]", value_parser = values::peer)]
    pub peer: Option<PeerMemory>,
    /// With --check: the drive's namespace [default: its first]
    #[arg(long, value_name = "NSID", requires = "check")]
    pub namespace: Option<u32>,
    /// With --check: most bytes of a command [default: what drive and memory allow]
    #[arg(long, value_name = "SIZE", value_parser = values::length, requires = "check")]
    pub largest: Option<u64>,
    /// With --check: also WRITE to the drive, from this block on as much as one command moves. What
    /// was there is put back, unless something fails meanwhile
    #[arg(long, value_name = "LBA", value_parser = values::size, requires = "check")]
    pub scratch: Option<u64>,
    /// With --check: decides places and patterns
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

impl DoctorArgs {
    /// An option that makes no sense without `--check`.
    pub fn senseless(&self) -> Option<&'static str> {
        let given = [
            (self.bus.ssd.is_some(), "--ssd"),
            (self.bus.fpga.is_some(), "--fpga"),
            (self.peer.is_some(), "--peer"),
            (self.bus.no_iommu, "--no-iommu"),
            (self.bus.huge_pages, "--huge-pages"),
        ];
        let (_, option) = given.into_iter().find(|(given, _)| *given && !self.check)?;
        Some(option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_overwritten_with_consent_alone() {
        let consent = |yes, serial: Option<&str>| ConsentArgs {
            yes,
            serial: serial.map(Into::into),
        };
        assert!(consent(true, None).check("x", None).is_ok());
        assert!(consent(false, Some("S1")).check("x", Some(" S1  ")).is_ok());
        for (wanted, there) in [
            (None, Some("S1")),
            (Some("S2"), Some("S1")),
            (Some("S1"), None),
        ] {
            let refused = consent(false, wanted).check("x", there);
            let text = refused.expect_err("no consent").to_string();
            assert!(text.contains(there.unwrap_or("none")), "{text}");
        }
    }
}

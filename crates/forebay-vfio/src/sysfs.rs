// SPDX-License-Identifier: Apache-2.0
//! PCI functions as the kernel's files show them.

use std::fs;
use std::path::{Path, PathBuf};

use forebay_driver::PciAddress;
use forebay_spec::{pci, streamer};
use serde::Serialize;

use crate::error::{Error, Result};

/// A memory BAR in `resource`: bit 9 of its flags (Linux, `include/linux/ioport.h`).
const MEMORY: u64 = 0x200;
/// BARs of a function; `resource` has a ROM and a bridge's windows behind them.
const BARS: usize = 6;

/// Where the kernel's files are: `/sys`, `/proc`, `/dev`, or a test's.
#[derive(Clone, Debug)]
pub struct Sysfs {
    root: PathBuf,
}

/// A memory BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// Number, 0–5.
    pub index: u8,
    /// Address on the bus.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// A link's speed and width, as it is and as it could be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Transfers per second, in the kernel's words: `16.0 GT/s PCIe`.
    pub speed: String,
    /// Lanes.
    pub width: u8,
    /// The most that the function can.
    pub max_speed: String,
    /// The most that the function can.
    pub max_width: u8,
}

/// A PCI function and what the kernel says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pci {
    /// Where it stands.
    pub address: PciAddress,
    /// Bridges above it, the outermost first.
    pub above: Vec<PciAddress>,
    /// Vendor identifier.
    pub vendor: u16,
    /// Device identifier.
    pub device: u16,
    /// Class code, 24 bits.
    pub class: u32,
    /// The driver bound to it.
    pub driver: Option<String>,
    /// Its IOMMU group.
    pub group: Option<u32>,
    /// Memory BARs.
    pub bars: Vec<Bar>,
    /// Its link, where it has one.
    pub link: Option<Link>,
}

impl Pci {
    /// An NVMe controller, by its class.
    pub const fn is_nvme(&self) -> bool {
        self.class == pci::CLASS_NVME
    }

    /// An FPGA card with Forebay's streamer, by its identifiers.
    pub const fn is_fpga(&self) -> bool {
        self.vendor == streamer::PCI_VENDOR && self.device == streamer::PCI_DEVICE
    }

    /// A bridge: base class 06.
    pub const fn is_bridge(&self) -> bool {
        self.class >> 16 == 0x06
    }
}

impl Default for Sysfs {
    fn default() -> Self {
        Self::at("/")
    }
}

impl Sysfs {
    /// The files below another folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A path of the system, such as `sys/bus/pci/devices`.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The folder of a function.
    pub fn folder(&self, device: PciAddress) -> PathBuf {
        self.path(&format!("sys/bus/pci/devices/{device}"))
    }

    /// Every PCI function, by address; none where the kernel shows no PCI bus.
    ///
    /// # Errors
    /// Where a function's files cannot be read, or say what makes no sense.
    pub fn functions(&self) -> Result<Vec<Pci>> {
        let folder = self.path("sys/bus/pci/devices");
        let mut found = Vec::new();
        for name in names(&folder) {
            if let Ok(address) = name.parse() {
                match self.function(address) {
                    // It may be unplugged while we look.
                    Err(Error::NoDevice { .. }) => {}
                    other => found.push(other?),
                }
            }
        }
        found.sort_by_key(|function| function.address);
        Ok(found)
    }

    /// One function.
    ///
    /// # Errors
    /// Where it is not there, or its files say what makes no sense.
    pub fn function(&self, address: PciAddress) -> Result<Pci> {
        let folder = self.folder(address);
        let hex = |name: &str| -> Result<u64> {
            let path = folder.join(name);
            let text = read(&path).ok_or_else(|| Error::NoDevice {
                device: address,
                path: path.clone(),
            })?;
            let digits = text.trim_start_matches("0x");
            u64::from_str_radix(digits, 16).map_err(|_| nonsense(&path, &text))
        };
        Ok(Pci {
            address,
            above: above(&folder, address),
            vendor: hex("vendor")? as u16,
            device: hex("device")? as u16,
            class: hex("class")? as u32,
            driver: link_name(&folder.join("driver")),
            group: link_name(&folder.join("iommu_group")).and_then(|name| name.parse().ok()),
            bars: bars(&folder.join("resource"))?,
            link: link(&folder),
        })
    }

    /// What configuration space shows: 64 bytes to anyone, all of it to root.
    pub fn config(&self, device: PciAddress) -> Result<Vec<u8>> {
        let path = self.folder(device).join("config");
        fs::read(&path).map_err(Error::io("reading", &path))
    }
}

/// Names of what is in a folder; none where there is no such folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// A file's text without space around it.
pub(crate) fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The last part of what a link leads to.
pub(crate) fn link_name(path: &Path) -> Option<String> {
    let to = fs::read_link(path).ok()?;
    Some(to.file_name()?.to_str()?.to_owned())
}

fn nonsense(path: &Path, text: &str) -> Error {
    Error::Refused {
        field: path.display().to_string(),
        value: format!("`{text:.40}`"),
        limit: "it should hold numbers",
        remedy: "report this with the kernel's version",
    }
}

/// Each line: first address, last address, flags.
fn bars(path: &Path) -> Result<Vec<Bar>> {
    let Some(text) = read(path) else {
        return Ok(Vec::new());
    };
    let mut bars = Vec::new();
    for (index, line) in text.lines().take(BARS).enumerate() {
        let numbers: Option<Vec<u64>> = line
            .split_whitespace()
            .map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
            .collect();
        let Some(&[first, last, flags]) = numbers.as_deref() else {
            return Err(nonsense(path, line));
        };
        let size = last.wrapping_sub(first).wrapping_add(1);
        if flags & MEMORY != 0 && last > first {
            bars.push(Bar {
                index: index as u8,
                address: first,
                size,
            });
        }
    }
    Ok(bars)
}

/// Bridges on the way to a function: the folders above its own.
fn above(folder: &Path, address: PciAddress) -> Vec<PciAddress> {
    let real = folder.canonicalize().unwrap_or_default();
    let parts = real.components();
    parts
        .filter_map(|part| part.as_os_str().to_str()?.parse().ok())
        .filter(|bridge| *bridge != address)
        .collect()
}

fn link(folder: &Path) -> Option<Link> {
    let text = |name: &str| read(&folder.join(name));
    let width = |name: &str| text(name)?.parse().ok();
    let link = Link {
        speed: text("current_link_speed")?,
        width: width("current_link_width")?,
        max_speed: text("max_link_speed")?,
        max_width: width("max_link_width")?,
    };
    (link.width != 0).then_some(link)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine of files: a root port, a drive behind it, a card beside it.
    pub(crate) struct Fake {
        pub(crate) folder: tempfile::TempDir,
    }

    impl Fake {
        pub(crate) fn new() -> Self {
            let fake = Self {
                folder: tempfile::tempdir().expect("folder"),
            };
            fake.function(
                "0000:00:04.0",
                "pci0000:00/0000:00:04.0",
                "0x060400",
                "0x1b36",
            );
            let drive = "pci0000:00/0000:00:04.0/0000:01:00.0";
            fake.function("0000:01:00.0", drive, "0x010802", "0x144d");
            let card = "pci0000:00/0000:02:00.0";
            fake.function("0000:02:00.0", card, "0x120000", "0x144d");
            fake
        }

        pub(crate) fn sysfs(&self) -> Sysfs {
            Sysfs::at(self.folder.path())
        }

        pub(crate) fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
            fs::write(path, text).expect("file");
        }

        pub(crate) fn link(&self, path: &str, to: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
            fs::create_dir_all(self.folder.path().join(to)).expect("folder");
            symlink(self.folder.path().join(to), path).expect("link");
        }

        fn function(&self, name: &str, place: &str, class: &str, vendor: &str) {
            let place = format!("sys/devices/{place}");
            self.link(&format!("sys/bus/pci/devices/{name}"), &place);
            for (file, text) in [
                ("class", class),
                ("vendor", vendor),
                ("device", "0xa80c"),
                (
                    "resource",
                    "0x00000000fe800000 0x00000000fe803fff 0x0000000000140204\n\
                     0x0000000000000000 0x0000000000000000 0x0000000000000000\n\
                     0x000000000000c000 0x000000000000c03f 0x0000000000040101\n",
                ),
                ("driver_override", "(null)\n"),
            ] {
                self.write(&format!("{place}/{file}"), text);
            }
        }
    }

    #[test]
    fn functions_are_read() {
        let fake = Fake::new();
        fake.link(
            "sys/bus/pci/devices/0000:01:00.0/driver",
            "sys/bus/pci/drivers/nvme",
        );
        fake.link(
            "sys/bus/pci/devices/0000:01:00.0/iommu_group",
            "sys/kernel/iommu_groups/7",
        );
        let all = fake.sysfs().functions().expect("read");
        assert_eq!(all.len(), 3);
        let drive = &all[1];
        assert!(drive.is_nvme() && !drive.is_fpga() && all[0].is_bridge());
        assert_eq!(drive.above, [PciAddress::new(0, 4, 0)]);
        assert_eq!((drive.vendor, drive.device), (0x144d, 0xa80c));
        assert_eq!(
            (drive.driver.as_deref(), drive.group),
            (Some("nvme"), Some(7))
        );
        let bar = Bar {
            index: 0,
            address: 0xfe80_0000,
            size: 0x4000,
        };
        assert_eq!(drive.bars, [bar], "the I/O BAR is none of ours");
        assert_eq!(drive.link, None);
    }

    #[test]
    fn nonsense_is_an_error_and_absence_is_none() {
        let fake = Fake::new();
        assert!(Sysfs::at("/nowhere").functions().expect("read").is_empty());
        let missing = fake.sysfs().function(PciAddress::new(9, 0, 0));
        assert!(missing.is_err_and(|error| error.to_string().contains("0000:09:00.0")));
        fake.write("sys/bus/pci/devices/0000:01:00.0/vendor", "samsung");
        let odd = fake.sysfs().functions().expect_err("refused");
        assert!(odd.to_string().contains("samsung"), "{odd}");
    }
}

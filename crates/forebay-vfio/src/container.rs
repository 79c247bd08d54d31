// SPDX-License-Identifier: Apache-2.0
//! VFIO's objects: a container (an IOMMU address space), its groups, their devices.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use forebay_driver::PciAddress;

use crate::error::{Error, Result};
use crate::kernel::{
    self, DeviceInfo, DmaUnmap, GroupStatus, IommuInfo, IrqInfo, IrqSet, NumberCall, Region,
    RegionInfo,
};
use crate::sysfs::Sysfs;
use crate::unguarded;

/// `VFIO_TYPE1v2_IOMMU`.
const TYPE1_V2: u64 = 3;
/// `VFIO_NOIOMMU_IOMMU`.
const NO_IOMMU: u64 = 8;
/// `VFIO_GROUP_FLAGS_VIABLE`.
const VIABLE: u32 = 1;
/// `VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE`.
const IOVA_RANGES: u16 = 1;
/// `VFIO_REGION_INFO_FLAG_MMAP`.
const MAPPABLE: u32 = 4;
/// `VFIO_PCI_CONFIG_REGION_INDEX`; below are the six BARs.
const CONFIG: u32 = 7;
/// `VFIO_PCI_MSIX_IRQ_INDEX`.
const MSIX: u32 = 2;

/// `VFIO_PCI_REQ_IRQ_INDEX`: the kernel wants the device back.
const REQUEST: u32 = 4;

/// An IOMMU address space that several devices share.
#[derive(Debug)]
pub struct Container {
    file: File,
    groups: Vec<(u32, File)>,
    guarded: bool,
}

/// A device, as VFIO gives it to a program.
#[derive(Debug)]
pub struct Device {
    fd: File,
    address: PciAddress,
}

/// A region of a device: a BAR, or configuration space.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    pub offset: u64,
    pub size: u64,
    pub mappable: bool,
}

impl Container {
    /// A new address space, without devices. Not guarded: that of physical memory.
    pub fn new(sysfs: &Sysfs, guarded: bool) -> Result<Self> {
        if !guarded {
            unguarded::check_kernel(sysfs)?;
        }
        let path = sysfs.path("dev/vfio/vfio");
        let file = open(&path)?;
        let refuse = "update the kernel, or load its module: modprobe vfio_iommu_type1";
        let version = kernel::call_number(&file, NumberCall::GetApiVersion, 0)
            .map_err(Error::vfio("its version", refuse))?;
        let kind = if guarded { TYPE1_V2 } else { NO_IOMMU };
        let extension = kernel::call_number(&file, NumberCall::CheckExtension, kind)
            .map_err(Error::vfio("its IOMMU types", refuse))?;
        if (version, extension) != (0, 1) {
            return Err(Error::Refused {
                field: format!("VFIO's version and support of IOMMU type {kind}"),
                value: format!("{version} and {extension}"),
                limit: "0 and 1 are needed",
                remedy: refuse,
            });
        }
        Ok(Self {
            file,
            groups: Vec::new(),
            guarded,
        })
    }

    /// Opens a device into this address space.
    pub fn add(&mut self, sysfs: &Sysfs, address: PciAddress) -> Result<Device> {
        let Some(group) = sysfs.function(address)?.group else {
            return Err(Error::Refused {
                field: format!("the IOMMU group of {address}"),
                value: "none".into(),
                limit: "VFIO takes only devices that an IOMMU guards",
                remedy: "switch the IOMMU on in the firmware and on the kernel's command line \
                         (Intel: intel_iommu=on); `forebay doctor` shows the groups",
            });
        };
        if !self.guarded {
            unguarded::check_group(sysfs, address, group)?;
        }
        let name = CString::new(address.to_string()).unwrap_or_default();
        let file = self.group(sysfs, group)?;
        let fd = kernel::open_device(file, &name).map_err(Error::vfio(
            format!("the device {address}"),
            "check that no other program has it open",
        ))?;
        let device = Device {
            fd: fd.into(),
            address,
        };
        let mut info = DeviceInfo::default();
        device.call(&mut info, "what the device has")?;
        if info.regions <= CONFIG {
            return Err(Error::Refused {
                field: format!("the number of regions of {address}"),
                value: info.regions.to_string(),
                limit: "a PCI device has more than 7",
                remedy: "report this with the kernel's version",
            });
        }
        Ok(device)
    }

    /// The group, which is added to the container when it is first asked for.
    fn group(&mut self, sysfs: &Sysfs, number: u32) -> Result<&File> {
        if let Some(index) = self.groups.iter().position(|(known, _)| *known == number) {
            return Ok(&self.groups[index].1);
        }
        let prefix = if self.guarded { "" } else { "noiommu-" };
        let group = open(&sysfs.path(&format!("dev/vfio/{prefix}{number}")))?;
        let mut status = GroupStatus::default();
        kernel::call(&group, &mut status).map_err(Error::vfio(
            format!("the state of group {number}"),
            "check that no other program has it open",
        ))?;
        if status.flags & VIABLE == 0 {
            return Err(Error::Refused {
                field: format!("IOMMU group {number}"),
                value: "not viable".into(),
                limit: "all its devices must be bound to vfio-pci, or to no driver",
                remedy: "`forebay doctor` shows who else is in the group: put the card into \
                         another slot, or unbind the others",
            });
        }
        kernel::set_container(&group, self.file.as_raw_fd()).map_err(Error::vfio(
            format!("group {number} in one address space with the others"),
            "check that no other program has it open",
        ))?;
        if self.groups.is_empty() {
            let kind = if self.guarded { TYPE1_V2 } else { NO_IOMMU };
            kernel::call_number(&self.file, NumberCall::SetIommu, kind).map_err(Error::vfio(
                format!("an IOMMU of type {kind}"),
                "where dmesg says that interrupts are not remapped: load vfio_iommu_type1 with \
                 allow_unsafe_interrupts=1, which trusts the devices",
            ))?;
        }
        self.groups.push((number, group));
        Ok(&self.groups[self.groups.len() - 1].1)
    }

    /// Addresses that devices may use. Only once it has a group.
    pub fn iova_ranges(&self) -> Result<Vec<RangeInclusive<u64>>> {
        let mut info = IommuInfo::default();
        kernel::call(&self.file, &mut info).map_err(Error::vfio(
            "what the IOMMU can do",
            "report this with the kernel's version",
        ))?;
        let ahead = size_of::<IommuInfo>() - info.behind.len();
        Ok(ranges(&info.behind, info.capabilities as usize, ahead))
    }

    /// Lets devices reach a region at this address.
    pub fn map(&self, region: &Region, iova: u64) -> io::Result<()> {
        kernel::map_dma(&self.file, region, iova)
    }

    /// Ends that.
    pub fn unmap(&self, iova: u64, bytes: u64) -> io::Result<()> {
        let mut unmap = DmaUnmap {
            iova,
            bytes,
            ..DmaUnmap::default()
        };
        kernel::call(&self.file, &mut unmap).map(drop)
    }
}

/// Walks the capabilities behind a structure of `ahead` bytes; offsets count from its start. The
/// list is bounded by its bytes, as each entry has to lie behind the one before.
fn ranges(behind: &[u8], first: usize, ahead: usize) -> Vec<RangeInclusive<u64>> {
    let u32_at = |at: usize| {
        let bytes = behind.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_ne_bytes(*bytes))
    };
    let u64_at = |at: usize| {
        let bytes = behind.get(at..)?.first_chunk::<8>()?;
        Some(u64::from_ne_bytes(*bytes))
    };
    let mut found = Vec::new();
    let mut at = first.checked_sub(ahead);
    while let Some(here) = at {
        let (Some(head), Some(next)) = (u32_at(here), u32_at(here + 4)) else {
            break;
        };
        if head as u16 == IOVA_RANGES {
            let count = u32_at(here + 8).unwrap_or(0) as usize;
            let pairs = (0..count).map(|index| here + 16 + 16 * index);
            found.extend(
                pairs
                    .map_while(|pair| Some(u64_at(pair)?..=u64_at(pair + 8)?))
                    .filter(|range| !range.is_empty()),
            );
        }
        at = (next as usize)
            .checked_sub(ahead)
            .filter(|next| *next > here);
    }
    if found.is_empty() {
        // Kernels before 5.4 do not say: what each IOMMU can do, around the interrupt window.
        found = vec![0..=0xfedf_ffff, 0xfef0_0000..=(1 << 39) - 1];
    }
    found
}

impl Device {
    fn call<T: kernel::Argument>(&self, argument: &mut T, what: &'static str) -> Result<i32> {
        let remedy = "the device may have been removed: look at dmesg";
        kernel::call(&self.fd, argument)
            .map_err(Error::vfio(format!("{what} ({})", self.address), remedy))
    }

    pub const fn file(&self) -> &File {
        &self.fd
    }

    /// A BAR.
    pub fn bar(&self, index: u8) -> Result<Part> {
        self.part(u32::from(index))
    }

    /// Configuration space.
    pub fn config(&self) -> Result<Part> {
        self.part(CONFIG)
    }

    fn part(&self, index: u32) -> Result<Part> {
        let mut info = RegionInfo {
            index,
            ..RegionInfo::default()
        };
        self.call(&mut info, "a region")?;
        Ok(Part {
            offset: info.offset,
            size: info.bytes,
            mappable: info.flags & MAPPABLE != 0,
        })
    }

    /// Resets the function, where it can be.
    pub fn reset(&self) -> io::Result<()> {
        kernel::call_number(&self.fd, NumberCall::DeviceReset, 0).map(drop)
    }

    /// MSI-X vectors that the device has.
    pub fn vectors(&self) -> Result<u32> {
        let mut info = IrqInfo {
            index: MSIX,
            ..IrqInfo::default()
        };
        self.call(&mut info, "its interrupts")?;
        Ok(info.count)
    }

    /// Lets the first MSI-X vectors signal these; none: switches MSI-X off.
    pub fn set_vectors(&self, events: &[OwnedFd]) -> Result<()> {
        self.set_events(MSIX, events)
    }

    /// Signals this when the kernel wants the device back: it waits until the device is closed.
    pub fn set_request(&self, event: &OwnedFd) -> Result<()> {
        self.set_events(REQUEST, std::slice::from_ref(event))
    }

    fn set_events<E: AsRawFd>(&self, index: u32, events: &[E]) -> Result<()> {
        const NO_DATA: u32 = 1;
        const EVENTS: u32 = 4;
        const TRIGGER: u32 = 32;
        if events.len() > kernel::IRQS_MOST {
            return Err(Error::Refused {
                field: "the number of interrupts".into(),
                value: events.len().to_string(),
                limit: "64 are the most at once",
                remedy: "ask for fewer",
            });
        }
        let data = if events.is_empty() { NO_DATA } else { EVENTS };
        let mut set = IrqSet {
            flags: data | TRIGGER,
            index,
            count: events.len() as u32,
            ..IrqSet::default()
        };
        for (slot, event) in set.descriptors.iter_mut().zip(events) {
            *slot = event.as_raw_fd();
        }
        self.call(&mut set, "interrupts")?;
        Ok(())
    }

    /// Signals a vector as if the device had: shows that the way from there on works.
    pub fn trigger(&self, vector: u32) -> Result<()> {
        const NO_DATA_TRIGGER: u32 = 1 | 32;
        let mut set = IrqSet {
            flags: NO_DATA_TRIGGER,
            index: MSIX,
            start: vector,
            count: 1,
            ..IrqSet::default()
        };
        self.call(&mut set, "an interrupt for a test")?;
        Ok(())
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open(path: &std::path::Path) -> Result<File> {
    File::options()
        .read(true)
        .write(true)
        .open(path)
        .map_err(Error::io("opening", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_walked_and_never_trusted() {
        let ahead = 24;
        let mut behind = vec![0_u8; 128];
        let put = |behind: &mut Vec<u8>, at: usize, value: u32| {
            behind[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        // An unknown entry, then two ranges.
        put(&mut behind, 0, 3);
        put(&mut behind, 4, 24 + 16);
        put(&mut behind, 16, u32::from(IOVA_RANGES) | 1 << 16);
        put(&mut behind, 24, 2);
        put(&mut behind, 40, 0xfff);
        put(&mut behind, 48, 0x2000);
        put(&mut behind, 56, 0x2fff);
        assert_eq!(ranges(&behind, 24, ahead), [0..=0xfff, 0x2000..=0x2fff]);
        // A list that leads back, one that leads out, a count that is too great.
        put(&mut behind, 20, 24);
        assert_eq!(ranges(&behind, 24, ahead).len(), 2);
        put(&mut behind, 20, u32::MAX);
        put(&mut behind, 24, u32::MAX);
        assert!(!ranges(&behind, 24, ahead).is_empty());
        for first in [0, 7, 23, 4000, usize::MAX] {
            assert_eq!(ranges(&behind, first, ahead).len(), 2, "the fallback");
        }
    }
}

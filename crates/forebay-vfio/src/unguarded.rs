// SPDX-License-Identifier: Apache-2.0
//! VFIO without an IOMMU: devices use physical addresses, and nothing keeps them from memory that
//! is not theirs. Only where the user asks for it by name.
//!
//! Debian's kernels are built without it, so that only the refusals have been run so far.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use forebay_driver::PciAddress;

use crate::error::{Error, Result};
use crate::kernel::Region;
use crate::sysfs::Sysfs;

/// Whether the kernel allows it.
const SWITCH: &str = "sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
/// The name that VFIO gives to groups it makes up for it.
const GROUP_NAME: &str = "vfio-noiommu";
/// Entries of pagemap (Linux, `Documentation/admin-guide/mm/pagemap.rst`): 64 bits a page.
const ENTRY_BYTES: u64 = 8;
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// Refuses where the kernel does.
pub fn check_kernel(sysfs: &Sysfs) -> Result<()> {
    let path = sysfs.path(SWITCH);
    match fs::read_to_string(&path).as_deref().map(str::trim) {
        Ok("Y" | "1") => Ok(()),
        Ok(value) => Err(Error::Refused {
            field: path.display().to_string(),
            value: value.to_owned(),
            limit: "it must be Y for devices without an IOMMU",
            remedy: "better switch the IOMMU on; or, trusting the devices with all memory, write \
                     1 into it",
        }),
        Err(_) => Err(Error::Refused {
            field: path.display().to_string(),
            value: "missing".into(),
            limit: "devices without an IOMMU need a kernel with CONFIG_VFIO_NOIOMMU",
            remedy: "switch the IOMMU on (Intel: intel_iommu=on) and leave this mode; Debian's \
                     kernels are built without it",
        }),
    }
}

/// Refuses a device that an IOMMU guards after all.
pub fn check_group(sysfs: &Sysfs, device: PciAddress, group: u32) -> Result<()> {
    let path = sysfs.path(&format!("sys/kernel/iommu_groups/{group}/name"));
    match fs::read_to_string(path).as_deref().map(str::trim) {
        Ok(GROUP_NAME) => Ok(()),
        _ => Err(Error::Refused {
            field: format!("IOMMU group {group} of {device}"),
            value: "a real one".into(),
            limit: "without an IOMMU there would be none",
            remedy: "an IOMMU guards this device: leave the mode without one",
        }),
    }
}

/// The physical address of a region, which must lie in one page, however huge.
pub fn physical(region: &Region, page: u64) -> io::Result<u64> {
    let pagemap = File::open(Path::new("/proc/self/pagemap"))?;
    let mut entry = [0; ENTRY_BYTES as usize];
    let at = region.address();
    pagemap.read_exact_at(&mut entry, at / page * ENTRY_BYTES)?;
    address_in(u64::from_ne_bytes(entry), page)
}

fn address_in(entry: u64, page: u64) -> io::Result<u64> {
    // Without the right to see it, the frame reads as zero.
    match entry & FRAME {
        frame if entry & PRESENT != 0 && frame != 0 => Ok(frame * page),
        _ => Err(io::Error::other(
            "the kernel does not tell its physical address: that takes CAP_SYS_ADMIN",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Fake;

    #[test]
    fn only_a_kernel_that_allows_it_will_do() {
        let fake = Fake::new();
        let refused = || {
            check_kernel(&fake.sysfs())
                .expect_err("refused")
                .to_string()
        };
        assert!(refused().contains("CONFIG_VFIO_NOIOMMU"), "{}", refused());
        fake.write(SWITCH, "N\n");
        assert!(refused().contains("is N"), "{}", refused());
        fake.write(SWITCH, "Y\n");
        assert!(check_kernel(&fake.sysfs()).is_ok());
    }

    #[test]
    fn a_guarded_device_is_refused() {
        let fake = Fake::new();
        let check = || check_group(&fake.sysfs(), PciAddress::new(1, 0, 0), 7);
        assert!(check().is_err_and(|error| error.remedy().contains("guards")));
        fake.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
        assert!(check().is_ok());
    }

    #[test]
    fn frames_become_addresses() {
        assert_eq!(address_in(PRESENT | 0x1234, 4096).ok(), Some(0x123_4000));
        assert!(address_in(0x1234, 4096).is_err(), "not present");
        assert!(address_in(PRESENT, 4096).is_err(), "hidden");
    }
}

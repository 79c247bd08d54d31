// SPDX-License-Identifier: Apache-2.0
//! Giving a function to vfio-pci, and back.

use std::fs;
use std::path::Path;

use forebay_driver::PciAddress;

use crate::error::{Error, Result};
use crate::sysfs::{Sysfs, link_name, read};
use crate::usage;

const DRIVER: &str = "vfio-pci";
/// How the kernel shows an override that is not set.
const NONE: &str = "(null)";

/// A function that belongs to vfio-pci until this is dropped; then its former driver has it again.
#[derive(Debug)]
pub struct Bound {
    sysfs: Sysfs,
    device: PciAddress,
    /// What to put back; none where the function was vfio-pci's already.
    before: Option<Before>,
}

#[derive(Debug)]
struct Before {
    driver: Option<String>,
    preferred: String,
}

impl Bound {
    /// Takes a function that is not in use.
    ///
    /// # Errors
    /// Where it is in use, does not exist, has no IOMMU group, or the kernel refuses. Then its
    /// former driver has it again.
    pub fn take(sysfs: &Sysfs, device: PciAddress) -> Result<Self> {
        let function = sysfs.function(device)?;
        // Held until the namespaces are gone: none can be mounted in between.
        let claim = usage::claim(sysfs, device)?;
        if function.is_bridge() {
            return Err(Error::Refused {
                field: format!("the class of {device}"),
                value: format!("{:06x}, a bridge", function.class),
                limit: "only devices can be given to vfio-pci",
                remedy: "name the device behind it",
            });
        }
        let mut bound = Self {
            sysfs: sysfs.clone(),
            device,
            before: None,
        };
        if function.driver.as_deref() == Some(DRIVER) {
            return Ok(bound);
        }
        if !sysfs
            .path(&format!("sys/bus/pci/drivers/{DRIVER}"))
            .is_dir()
        {
            return Err(Error::Refused {
                field: format!("the driver {DRIVER}"),
                value: "missing".into(),
                limit: "it has to be loaded",
                remedy: "modprobe vfio-pci",
            });
        }
        let preferred = read(&sysfs.folder(device).join("driver_override"));
        bound.before = Some(Before {
            driver: function.driver,
            preferred: preferred.filter(|name| name != NONE).unwrap_or_default(),
        });
        // From here on, dropping `bound` undoes what was done.
        let handed_over = bound.hand_over(DRIVER);
        // Before anything is undone: a namespace that is held keeps its name from the new one.
        drop(claim);
        handed_over?;
        match link_name(&sysfs.folder(device).join("driver")) {
            Some(driver) if driver == DRIVER => Ok(bound),
            other => Err(Error::Refused {
                field: format!("the driver of {device}"),
                value: other.unwrap_or_else(|| "none".into()),
                limit: "it should be vfio-pci by now",
                remedy: "see dmesg; without an IOMMU group VFIO takes nothing: switch the IOMMU \
                         on (Intel: intel_iommu=on)",
            }),
        }
    }

    /// Gives a function back to whichever driver the kernel finds for it, after a program that
    /// had taken it was killed and could not do so. Returns that driver.
    ///
    /// # Errors
    /// Where it is not vfio-pci's, or the kernel refuses.
    pub fn give_back(sysfs: &Sysfs, device: PciAddress) -> Result<Option<String>> {
        let driver = sysfs.function(device)?.driver;
        if driver.as_deref() != Some(DRIVER) {
            return Err(Error::Refused {
                field: format!("the driver of {device}"),
                value: driver.unwrap_or_else(|| "none".into()),
                limit: "only what vfio-pci has can be given back",
                remedy: "`forebay devices` lists who has what",
            });
        }
        let bound = Self {
            sysfs: sysfs.clone(),
            device,
            before: None,
        };
        bound.hand_over("")?;
        Ok(link_name(&sysfs.folder(device).join("driver")))
    }

    /// The function.
    pub const fn device(&self) -> PciAddress {
        self.device
    }

    /// Unbinds the driver that has the function, and lets the kernel look for one again.
    fn hand_over(&self, preferred: &str) -> Result<()> {
        let folder = self.sysfs.folder(self.device);
        write(&folder.join("driver_override"), &format!("{preferred}\n"))?;
        if folder.join("driver").exists() {
            write(&folder.join("driver/unbind"), &self.device.to_string())?;
        }
        let probe = self.sysfs.path("sys/bus/pci/drivers_probe");
        write(&probe, &self.device.to_string())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        // Best effort: the device may have been unplugged meanwhile.
        let _undone = self.hand_over(&before.preferred);
        let now = link_name(&self.sysfs.folder(self.device).join("driver"));
        if before.driver.is_none() && now.is_some() {
            let unbind = self.sysfs.folder(self.device).join("driver/unbind");
            let _undone = write(&unbind, &self.device.to_string());
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(Error::io("writing", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Fake;

    const DRIVE: PciAddress = PciAddress::new(1, 0, 0);
    const FOLDER: &str = "sys/bus/pci/devices/0000:01:00.0";

    fn text(fake: &Fake, path: &str) -> String {
        fs::read_to_string(fake.folder.path().join(path)).expect("a file")
    }

    #[test]
    fn a_refusal_of_the_kernel_is_undone() {
        let fake = Fake::new();
        fake.link(&format!("{FOLDER}/driver"), "sys/bus/pci/drivers/nvme");
        fake.link("sys/bus/pci/drivers/vfio-pci/here", "sys/x");
        // Files do not bind anything: the driver stays nvme, as with a kernel that refuses.
        let error = Bound::take(&fake.sysfs(), DRIVE).expect_err("refused");
        assert!(error.to_string().contains("is nvme"), "{error}");
        assert!(error.remedy().contains("IOMMU"));
        assert_eq!(text(&fake, &format!("{FOLDER}/driver_override")), "\n");
        assert_eq!(
            text(&fake, "sys/bus/pci/drivers/nvme/unbind"),
            "0000:01:00.0"
        );
        assert_eq!(text(&fake, "sys/bus/pci/drivers_probe"), "0000:01:00.0");
    }

    #[test]
    fn what_vfio_has_already_is_left_alone() {
        let fake = Fake::new();
        fake.link(&format!("{FOLDER}/driver"), "sys/bus/pci/drivers/vfio-pci");
        drop(Bound::take(&fake.sysfs(), DRIVE).expect("taken"));
        assert_eq!(
            text(&fake, &format!("{FOLDER}/driver_override")),
            "(null)\n"
        );
        // Files bind nothing: the driver is still the one that the link shows.
        let now = Bound::give_back(&fake.sysfs(), DRIVE).expect("given back");
        assert_eq!(now.as_deref(), Some("vfio-pci"));
        assert_eq!(text(&fake, &format!("{FOLDER}/driver_override")), "\n");
        let error = Bound::give_back(&fake.sysfs(), PciAddress::new(2, 0, 0));
        assert!(error.is_err_and(|error| error.to_string().contains("is none")));
    }

    #[test]
    fn what_cannot_be_taken_is_not_touched() {
        let fake = Fake::new();
        let refused = |device| Bound::take(&fake.sysfs(), device).expect_err("refused");
        assert!(refused(DRIVE).remedy().contains("modprobe"));
        assert!(
            refused(PciAddress::new(0, 4, 0))
                .to_string()
                .contains("bridge")
        );
        fake.write(&format!("{FOLDER}/nvme/nvme0/nvme0n1/dev"), "259:1\n");
        fake.write("sys/class/block/nvme0n1/dev", "259:1\n");
        fake.write(
            "proc/self/mountinfo",
            "1 1 259:1 / / rw - ext4 /dev/root rw\n",
        );
        assert!(refused(DRIVE).to_string().contains("mounted at /"));
        assert_eq!(
            text(&fake, &format!("{FOLDER}/driver_override")),
            "(null)\n"
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Whether a drive is in use: then nothing may be done to it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use forebay_driver::PciAddress;

use crate::error::{Error, Result};
use crate::sysfs::{Sysfs, link_name, names, read};

/// `O_EXCL`: of a block device, an exclusive claim, which mounts, swap, RAID and others hold.
const EXCLUSIVE: i32 = 0o200;

/// Holds a drive's namespaces, so that no other program can begin to use them; ends when dropped.
#[derive(Debug)]
pub struct Claim(#[allow(dead_code, reason = "held, not used")] Vec<File>);

/// Claims a drive that is not in use.
///
/// # Errors
/// Where it is, with all that use it.
pub fn claim(sysfs: &Sysfs, drive: PciAddress) -> Result<Claim> {
    let mut uses = uses(sysfs, drive)?;
    let mut held = Vec::new();
    if uses.is_empty() {
        // Of whole namespaces only: those keep others from partitions, too, and also us.
        for device in namespaces(sysfs, drive) {
            match open_exclusive(sysfs, &device) {
                Ok(file) => held.push(file),
                Err(error) if is_busy(&error) => uses.push(claimed(&device)),
                // Without a device file no other program can use it either.
                Err(_) => {}
            }
        }
    }
    if uses.is_empty() {
        return Ok(Claim(held));
    }
    Err(Error::InUse {
        device: drive,
        uses,
    })
}

/// What uses a drive: mounts, swap, layers on top, and other claims.
///
/// # Errors
/// Where the kernel's list of mounts cannot be read: then nothing is certain.
pub fn uses(sysfs: &Sysfs, drive: PciAddress) -> Result<Vec<String>> {
    uses_of(sysfs, block_devices(sysfs, drive))
}

/// Who uses a block device of any kind, such as `nvme0n1` or `sda2`, or its partitions; and that it
/// has some, or is one.
pub fn block_uses(sysfs: &Sysfs, device: &str) -> Result<Vec<String>> {
    let folder = sysfs.path(&format!("sys/class/block/{device}"));
    let mut devices = names(&folder);
    devices.retain(|name| folder.join(name).join("partition").exists());
    let mut found: Vec<_> = devices
        .iter()
        .map(|partition| format!("{device} has the partition {partition}"))
        .collect();
    if folder.join("partition").exists() {
        found.push(format!("{device} is a partition"));
    }
    devices.insert(0, device.to_owned());
    found.extend(uses_of(sysfs, devices)?);
    Ok(found)
}

/// The name of a block device, by its numbers.
pub fn block_name(sysfs: &Sysfs, major: u32, minor: u32) -> Option<String> {
    link_name(&sysfs.path(&format!("sys/dev/block/{major}:{minor}")))
}

/// Claims a block device, so that no other program can begin to use it while this is held. `None`:
/// it is in use.
pub fn claim_block(sysfs: &Sysfs, device: &str) -> Option<Claim> {
    let file = open_exclusive(sysfs, device).ok()?;
    Some(Claim(vec![file]))
}

fn uses_of(sysfs: &Sysfs, devices: Vec<String>) -> Result<Vec<String>> {
    let mut uses = Vec::new();
    if devices.is_empty() {
        return Ok(uses);
    }
    let path = sysfs.path("proc/self/mountinfo");
    let mounts = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
    let swaps = fs::read_to_string(sysfs.path("proc/swaps")).unwrap_or_default();
    for device in devices {
        let before = uses.len();
        let folder = sysfs.path(&format!("sys/class/block/{device}"));
        let number = read(&folder.join("dev"));
        for mount in mounts.lines().filter_map(Mount::parse) {
            // By number, as a source may have any name; by name, as some file systems have
            // numbers of their own.
            if Some(mount.number) == number.as_deref() || mount.source == format!("/dev/{device}") {
                uses.push(format!("{device} is mounted at {}", mount.at));
            }
        }
        if swaps
            .lines()
            .any(|line| line.split_whitespace().next() == Some(&format!("/dev/{device}")))
        {
            uses.push(format!("{device} is swapped to"));
        }
        for holder in names(&folder.join("holders")) {
            uses.push(format!("{device} is part of {holder}"));
        }
        if uses.len() == before
            && open_exclusive(sysfs, &device).is_err_and(|error| is_busy(&error))
        {
            uses.push(claimed(&device));
        }
    }
    Ok(uses)
}

/// Namespaces of a drive as block devices, and their partitions.
fn block_devices(sysfs: &Sysfs, drive: PciAddress) -> Vec<String> {
    let mut found = namespaces(sysfs, drive);
    for namespace in found.clone() {
        let partitions = names(&sysfs.path(&format!("sys/class/block/{namespace}")));
        found.extend(partitions.into_iter().filter(|name| {
            let rest = name.strip_prefix(&namespace);
            rest.is_some_and(is_partition)
        }));
    }
    found
}

/// Namespaces of a drive as block devices.
fn namespaces(sysfs: &Sysfs, drive: PciAddress) -> Vec<String> {
    let controllers = sysfs.folder(drive).join("nvme");
    let entries = names(&controllers)
        .into_iter()
        .flat_map(|controller| names(&controllers.join(controller)));
    let mut found: Vec<_> = entries.filter_map(|entry| head(&entry)).collect();
    found.sort();
    found.dedup();
    found
}

/// The block device of a namespace's entry: `nvme0n1`, also where it reads `nvme0c1n1` because
/// several controllers may lead to it.
fn head(entry: &str) -> Option<String> {
    let (instance, rest) = number(entry.strip_prefix("nvme")?)?;
    let rest = match rest.strip_prefix('c') {
        Some(path) => number(path)?.1,
        None => rest,
    };
    let (namespace, rest) = number(rest.strip_prefix('n')?)?;
    rest.is_empty()
        .then(|| format!("nvme{instance}n{namespace}"))
}

fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| text.split_at(end))
}

fn is_partition(rest: &str) -> bool {
    rest.strip_prefix('p')
        .and_then(number)
        .is_some_and(|(_, rest)| rest.is_empty())
}

/// A line of mountinfo (Linux, `Documentation/filesystems/proc.rst`).
struct Mount<'a> {
    number: &'a str,
    at: &'a str,
    source: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        Some(Self {
            number: left.next()?,
            at: left.nth(1)?,
            source: right.split(' ').nth(1)?,
        })
    }
}

/// Asks the kernel itself, which knows of every claim.
fn open_exclusive(sysfs: &Sysfs, device: &str) -> io::Result<File> {
    let path = sysfs.path(&format!("dev/{device}"));
    File::options()
        .read(true)
        .custom_flags(EXCLUSIVE)
        .open(path)
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

fn claimed(device: &str) -> String {
    format!("{device} is claimed by a program or a file system")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Fake;

    const DRIVE: PciAddress = PciAddress::new(1, 0, 0);

    /// A drive with two namespaces, the first with a partition; a system mounted from elsewhere.
    fn with_drive() -> Fake {
        let fake = Fake::new();
        for name in ["nvme0n1", "nvme0n2"] {
            let folder = format!("sys/bus/pci/devices/0000:01:00.0/nvme/nvme0/{name}");
            fake.write(&format!("{folder}/dev"), "259:0\n");
            fake.link(&format!("sys/class/block/{name}"), &folder);
        }
        fake.write("sys/class/block/nvme0n1/dev", "259:1\n");
        fake.write("sys/class/block/nvme0n2/dev", "259:2\n");
        fake.write("sys/class/block/nvme0n1/nvme0n1p1/dev", "259:3\n");
        fake.write("sys/class/block/nvme0n1p1/dev", "259:3\n");
        mounts(&fake, "254:0", "/dev/vda");
        fake
    }

    fn mounts(fake: &Fake, number: &str, source: &str) {
        let line = format!("29 1 {number} / /srv rw,relatime shared:1 - ext4 {source} rw\n");
        fake.write("proc/self/mountinfo", &line);
    }

    fn found(fake: &Fake) -> String {
        uses(&fake.sysfs(), DRIVE).expect("read").join("; ")
    }

    #[test]
    fn a_drive_at_rest_is_free() {
        let fake = with_drive();
        assert_eq!(found(&fake), "");
        assert!(claim(&fake.sysfs(), DRIVE).is_ok());
        assert!(claim(&fake.sysfs(), PciAddress::new(2, 0, 0)).is_ok());
    }

    #[test]
    fn mounts_are_found_by_number_and_by_name() {
        let fake = with_drive();
        mounts(&fake, "259:3", "/dev/disk/by-label/data");
        assert_eq!(found(&fake), "nvme0n1p1 is mounted at /srv");
        mounts(&fake, "0:42", "/dev/nvme0n2");
        assert_eq!(found(&fake), "nvme0n2 is mounted at /srv");
        let error = claim(&fake.sysfs(), DRIVE).expect_err("refused");
        assert!(
            error
                .to_string()
                .contains("0000:01:00.0 is in use: nvme0n2")
        );
        assert!(error.remedy().contains("unmount"));
    }

    #[test]
    fn swap_and_layers_are_found() {
        let fake = with_drive();
        fake.write(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/nvme0n1p1 partition 1 0 -2\n",
        );
        assert_eq!(found(&fake), "nvme0n1p1 is swapped to");
        fake.write("proc/swaps", "");
        fake.write("sys/class/block/nvme0n2/holders/md0/x", "");
        assert_eq!(found(&fake), "nvme0n2 is part of md0");
    }

    #[test]
    fn without_the_list_of_mounts_nothing_is_certain() {
        let fake = with_drive();
        fs::remove_file(fake.folder.path().join("proc/self/mountinfo")).expect("removed");
        assert!(uses(&fake.sysfs(), DRIVE).is_err());
    }

    #[test]
    fn partitions_count_as_use_of_a_block_device() {
        let fake = with_drive();
        let found = |device| block_uses(&fake.sysfs(), device).expect("read").join("; ");
        assert_eq!(found("nvme0n2"), "");
        fake.write("sys/class/block/nvme0n1/nvme0n1p1/partition", "1\n");
        fake.write("sys/class/block/nvme0n1p1/partition", "1\n");
        assert_eq!(found("nvme0n1"), "nvme0n1 has the partition nvme0n1p1");
        mounts(&fake, "259:3", "/dev/nvme0n1p1");
        assert!(found("nvme0n1").ends_with("nvme0n1p1 is mounted at /srv"));
        assert!(found("nvme0n1p1").starts_with("nvme0n1p1 is a partition; nvme0n1p1 is mounted"));
        fake.link("sys/dev/block/259:2", "sys/devices/block/nvme0n2");
        assert_eq!(
            block_name(&fake.sysfs(), 259, 2).as_deref(),
            Some("nvme0n2")
        );
        assert_eq!(block_name(&fake.sysfs(), 1, 1), None);
    }

    #[test]
    fn names_of_namespaces() {
        assert_eq!(head("nvme3c1n12").as_deref(), Some("nvme3n12"));
        assert_eq!(head("nvme0n1").as_deref(), Some("nvme0n1"));
        for other in ["ng0n1", "nvme0", "nvme0n1p1", "nvmen1", "power", "nvme0cn1"] {
            assert_eq!(head(other), None, "{other}");
        }
    }
}

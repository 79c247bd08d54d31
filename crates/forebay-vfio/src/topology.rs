// SPDX-License-Identifier: Apache-2.0
//! What this machine offers to a drive and a card that are to talk to each other.

use std::collections::BTreeMap;

use forebay_driver::PciAddress;
use forebay_spec::streamer::bar0;
use serde::Serialize;

use crate::capability::{self, Acs, Sizes};
use crate::error::Result;
use crate::sysfs::{Pci, Sysfs};
use crate::usage;

/// Everything that decides.
#[derive(Clone, Debug, Serialize)]
pub struct Topology {
    /// All PCI functions.
    pub functions: Vec<Function>,
    /// IOMMU groups, with the functions in each.
    pub groups: BTreeMap<u32, Vec<PciAddress>>,
    /// What was looked for, and what was found.
    pub checks: Vec<Check>,
    /// Ways to hold the payload, and which of them works here.
    pub variants: Vec<Variant>,
}

/// A PCI function and its place.
#[derive(Clone, Debug, Serialize)]
pub struct Function {
    /// What sysfs says.
    #[serde(flatten)]
    pub pci: Pci,
    /// `NVMe controller`, `FPGA card`, `bridge`, or nothing of interest.
    pub kind: Option<&'static str>,
    /// Packet sizes, where they can be read.
    pub sizes: Option<Sizes>,
    /// Access control, where there is any and root asks.
    pub acs: Option<Acs>,
    /// Of a drive: who uses it.
    pub uses: Vec<String>,
}

/// Something looked for.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// Whether it is as it should be.
    pub good: bool,
    /// What was found, and where.
    pub found: String,
    /// What to do; empty where it is good.
    pub remedy: &'static str,
}

/// A way to hold the payload between stream and drive.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// Whether it can work here: as far as files tell, or by what was measured.
    pub works: bool,
    /// Why, or why not.
    pub why: Vec<String>,
}

/// What comparing bytes between two devices has shown; none where no test could tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// The drive.
    pub drive: PciAddress,
    /// The other device.
    pub peer: PciAddress,
    /// The drive's bytes arrive at the peer.
    pub drive_to_peer: Option<bool>,
    /// The peer's bytes arrive at the drive.
    pub peer_to_drive: Option<bool>,
}

impl Topology {
    /// Judges the variants anew: what was measured takes the place of what files let one guess.
    pub fn judge(&mut self, measured: &Measured) {
        self.variants = variants(&self.functions, &self.checks, Some(measured));
    }

    /// Looks at everything; changes nothing.
    pub fn of(sysfs: &Sysfs) -> Result<Self> {
        let functions = sysfs
            .functions()?
            .into_iter()
            .map(|pci| function(sysfs, pci))
            .collect::<Result<Vec<_>>>()?;
        let mut groups = BTreeMap::<u32, Vec<_>>::new();
        for function in &functions {
            if let Some(group) = function.pci.group {
                groups.entry(group).or_default().push(function.pci.address);
            }
        }
        let checks = checks(sysfs, &functions, &groups);
        let variants = variants(&functions, &checks, None);
        Ok(Self {
            functions,
            groups,
            checks,
            variants,
        })
    }

    /// Drives and cards, without the rest.
    pub fn devices(&self) -> impl Iterator<Item = &Function> {
        self.functions
            .iter()
            .filter(|function| function.pci.is_nvme() || function.pci.is_fpga())
    }
}

fn function(sysfs: &Sysfs, pci: Pci) -> Result<Function> {
    // Unreadable configuration space is as good as an unprivileged user's short one.
    let config = sysfs.config(pci.address).unwrap_or_default();
    let uses = match pci.is_nvme() {
        true => usage::uses(sysfs, pci.address)?,
        false => Vec::new(),
    };
    Ok(Function {
        kind: match () {
            () if pci.is_nvme() => Some("NVMe controller"),
            () if pci.is_fpga() => Some("FPGA card"),
            () if pci.is_bridge() => Some("bridge"),
            () => None,
        },
        sizes: capability::sizes(&config),
        acs: capability::acs(&config),
        pci,
        uses,
    })
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    texts.join(", ")
}

fn checks(
    sysfs: &Sysfs,
    functions: &[Function],
    groups: &BTreeMap<u32, Vec<PciAddress>>,
) -> Vec<Check> {
    let drives: Vec<_> = functions.iter().filter(|f| f.pci.is_nvme()).collect();
    let cards: Vec<_> = functions.iter().filter(|f| f.pci.is_fpga()).collect();
    let free: Vec<_> = drives
        .iter()
        .filter(|drive| drive.uses.is_empty())
        .collect();
    let addresses = |all: &[&Function]| list(all.iter().map(|function| function.pci.address));
    let mut checks = vec![
        check(
            "PCI bus",
            !functions.is_empty(),
            format!("{} functions in /sys/bus/pci/devices", functions.len()),
            "this machine shows no PCI bus: a container or a small virtual machine, perhaps",
        ),
        check(
            "NVMe drive",
            !drives.is_empty(),
            match drives.is_empty() {
                true => "no function of class 010802".into(),
                false => addresses(&drives),
            },
            "plug one in; behind a RAID controller it cannot be seen",
        ),
        check(
            "FPGA card",
            !cards.is_empty(),
            match cards.is_empty() {
                true => "no function with the streamer's identifiers".into(),
                false => addresses(&cards),
            },
            "load the bitstream, then scan the bus: echo 1 > /sys/bus/pci/rescan",
        ),
        check(
            "IOMMU",
            !groups.is_empty(),
            format!("{} groups in /sys/kernel/iommu_groups", groups.len()),
            "switch it on in the firmware (VT-d, AMD-Vi), and on the kernel's command line: \
             intel_iommu=on",
        ),
        vfio(sysfs),
    ];
    if !drives.is_empty() {
        checks.push(check(
            "drive not in use",
            !free.is_empty(),
            match drives
                .iter()
                .flat_map(|drive| &drive.uses)
                .collect::<Vec<_>>()
            {
                uses if uses.is_empty() => format!("{} of {}", free.len(), drives.len()),
                uses => list(uses),
            },
            "use a drive that holds nothing you need: unmount it first",
        ));
    }
    let pair: Vec<_> = drives.iter().chain(&cards).copied().collect();
    if !pair.is_empty() {
        checks.push(alone(&pair, functions, groups));
    }
    if let (Some(drive), Some(card)) = (drives.first(), cards.first()) {
        checks.push(payload(drive, card));
        checks.push(path(drive, card, functions));
        checks.push(order(drive, card));
    }
    checks
}

fn check(what: &'static str, good: bool, found: String, remedy: &'static str) -> Check {
    Check {
        what,
        good,
        found,
        remedy: if good { "" } else { remedy },
    }
}

fn vfio(sysfs: &Sysfs) -> Check {
    let driver = sysfs.path("sys/bus/pci/drivers/vfio-pci").is_dir();
    let device = sysfs.path("dev/vfio/vfio").exists();
    let said = |there| if there { "there" } else { "missing" };
    check(
        "VFIO",
        driver && device,
        format!(
            "driver vfio-pci {}, /dev/vfio/vfio {}",
            said(driver),
            said(device)
        ),
        "modprobe vfio-pci",
    )
}

/// VFIO takes whole groups only: beside drives and cards there may be bridges, nothing else.
fn alone(
    pair: &[&Function],
    functions: &[Function],
    groups: &BTreeMap<u32, Vec<PciAddress>>,
) -> Check {
    let ours = |address: &PciAddress| pair.iter().any(|function| function.pci.address == *address);
    let bridge = |address: &PciAddress| {
        let found = functions.iter().find(|f| f.pci.address == *address);
        found.is_some_and(|function| function.pci.is_bridge())
    };
    let own_groups: Vec<_> = pair
        .iter()
        .filter_map(|function| function.pci.group)
        .collect();
    let strangers: Vec<_> = groups
        .iter()
        .filter(|(number, _)| own_groups.contains(number))
        .flat_map(|(_, members)| members)
        .filter(|address| !ours(address) && !bridge(address))
        .collect();
    let all_have_one = own_groups.len() == pair.len();
    check(
        "groups of their own",
        all_have_one && strangers.is_empty(),
        match strangers.is_empty() {
            true => format!(
                "{} of {} devices have a group",
                own_groups.len(),
                pair.len()
            ),
            false => format!("in the same groups: {}", list(strangers)),
        },
        "put the card into a slot of the processor itself, where each port has its own group",
    )
}

/// What one may send, the other has to take: packets are not split on the way (2.2.2).
fn payload(drive: &Function, card: &Function) -> Check {
    let fits = |from: &Function, to: &Function| match (from.sizes, to.sizes) {
        (Some(from), Some(to)) => from.payload <= to.payload_supported,
        _ => true,
    };
    let said = |function: &Function| match function.sizes {
        Some(sizes) => format!(
            "{} sends {}, takes {}",
            function.pci.address, sizes.payload, sizes.payload_supported
        ),
        None => format!("{} is not readable", function.pci.address),
    };
    check(
        "payload size",
        fits(drive, card) && fits(card, drive),
        format!("{}; {}", said(drive), said(card)),
        "let the kernel set one size for all: pci=pcie_bus_peer2peer",
    )
}

/// How the two reach each other.
fn path(drive: &Function, card: &Function, functions: &[Function]) -> Check {
    let (a, b) = (&drive.pci, &card.pci);
    let shared = a
        .above
        .iter()
        .zip(&b.above)
        .take_while(|(a, b)| a == b)
        .count();
    let redirected = functions.iter().any(|function| {
        let own = |pci: &Pci| pci.above[shared..].contains(&function.pci.address);
        (own(a) || own(b)) && function.acs.is_some_and(Acs::redirects)
    });
    let same_root = a.address.segment == b.address.segment;
    check(
        "path between them",
        same_root,
        match (shared, redirected) {
            _ if !same_root => "they are behind different host bridges".into(),
            (0, _) => {
                "through the root complex: not every processor forwards between its ports".into()
            }
            (_, true) => {
                "through a switch, but access control (ACS) sends it up to the root".into()
            }
            (_, false) => "straight through a switch".to_owned(),
        },
        "put both behind the same processor, best behind the same switch",
    )
}

/// The check of what the order of payload and completion entries rests on, where the payload is in
/// host memory. The streamer cannot see it (docs/how-to/board.md).
const ORDER: &str = "order in host memory";

/// Payload and completion entry of a drive part where their ways do. Behind one root port the card's
/// read of the payload follows it on the same link and cannot pass it (2.4.1), unless the drive may
/// relax the order of its writes.
fn order(drive: &Function, card: &Function) -> Check {
    let port = |function: &Function| function.pci.above.first().copied();
    let one_port = port(drive).is_some() && port(drive) == port(card);
    let relaxed = drive.sizes.is_some_and(|sizes| sizes.relaxed_ordering);
    let ports = match one_port {
        true => "one root port",
        false => "different root ports: the root complex decides the order",
    };
    let writes = match (drive.sizes, relaxed) {
        (None, _) => "Device Control is not readable",
        (_, true) => "relaxed ordering is enabled in its Device Control",
        (_, false) => "relaxed ordering is disabled",
    };
    check(
        ORDER,
        one_port && !relaxed && drive.sizes.is_some(),
        format!("drive and card are behind {ports}; of the drive, {writes}"),
        "keep the payload in the card, or put both behind one switch and clear bit 4 of the \
         drive's Device Control (setpci -s DRIVE CAP_EXP+8.w=0:10)",
    )
}

/// What speaks against queues and payload in the card, and what for it.
fn between(
    functions: &[Function],
    measured: Option<&Measured>,
) -> Option<(Vec<String>, &'static str)> {
    // Another device than a card says nothing about the card's slot.
    let card = |measured: &&Measured| {
        let found = functions.iter().find(|f| f.pci.address == measured.peer);
        found.is_some_and(|function| function.pci.is_fpga())
    };
    let measured = measured.filter(card)?;
    let ways = [
        ("drive to card", measured.drive_to_peer),
        ("card to drive", measured.peer_to_drive),
    ];
    let against = ways
        .iter()
        .filter_map(|(way, good)| match good {
            Some(true) => None,
            Some(false) => Some(format!("{way}: bytes compared, they differ")),
            None => Some(format!("{way}: could not be compared")),
        })
        .collect();
    Some((against, "bytes compared in both directions, none differs"))
}

/// What speaks against payload in the card's own DRAM: the BAR of a design without it.
fn too_small(functions: &[Function]) -> Vec<String> {
    let cards = functions.iter().filter(|function| function.pci.is_fpga());
    let bars = cards.filter_map(|card| card.pci.bars.iter().find(|bar| bar.index == 0));
    let most = bars.map(|bar| bar.size).max();
    most.filter(|size| *size < bar0::BYTES_DRAM)
        .map(|size| {
            format!(
                "the card's BAR 0 has {} MiB, with on-board DRAM {}: load a design with \
                 fb_top_dram or fb_top_host_dram",
                size >> 20,
                bar0::BYTES_DRAM >> 20
            )
        })
        .into_iter()
        .collect()
}

fn variants(functions: &[Function], checks: &[Check], measured: Option<&Measured>) -> Vec<Variant> {
    let failing = |skipped: &[&str]| -> Vec<String> {
        checks
            .iter()
            .filter(|check| !check.good && check.what != ORDER && !skipped.contains(&check.what))
            .map(|check| format!("{}: {}", check.what, check.found))
            .collect()
    };
    let variant = |name, mut why: Vec<String>, good: String| {
        let works = why.is_empty();
        if works {
            why.push(good);
        }
        Variant { name, works, why }
    };
    // Without a card the drive alone has to be fit.
    let host = functions
        .iter()
        .any(|function| function.pci.is_nvme() && function.uses.is_empty())
        .then(|| failing(&["FPGA card", "path between them", "payload size"]));
    let (card, good) = match between(functions, measured) {
        Some((against, good)) => {
            let mut why = failing(&["path between them", "payload size"]);
            why.extend(against);
            (why, good)
        }
        None => (
            failing(&[]),
            "as far as files tell: only comparing bytes proves it (forebay doctor --check)",
        ),
    };
    // It may be kept all the same: that is for who knows the root complex and the drive.
    let order = checks
        .iter()
        .find(|check| check.what == ORDER && !check.good);
    let order = order.map_or_else(String::new, |check| {
        format!("; not certain is the {ORDER}: {}", check.found)
    });
    let with = |more: Vec<String>| [card.clone(), more].concat();
    let says = |what: &str| format!("{what}; {good}");
    vec![
        variant(
            "on-chip buffer",
            with(Vec::new()),
            says("queues and payload in the card"),
        ),
        variant(
            "on-board DRAM",
            with(too_small(functions)),
            says("queues in the card, payload in its DRAM"),
        ),
        // The queues are in the card here, too: the drive has to reach it all the same.
        variant(
            "host DRAM",
            with(Vec::new()),
            says("queues in the card, payload in host memory") + &order,
        ),
        variant(
            "host driver only",
            host.unwrap_or_else(|| vec!["there is no drive that is not in use".into()]),
            "queues and payload in host memory, no card needed: a check of the drive".into(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Fake;

    fn check_of<'a>(topology: &'a Topology, what: &str) -> &'a Check {
        let found = topology.checks.iter().find(|check| check.what == what);
        found.unwrap_or_else(|| panic!("no check `{what}`"))
    }

    #[test]
    fn a_machine_without_anything_says_what_was_looked_for() {
        let nothing = tempfile::tempdir().expect("folder");
        let topology = Topology::of(&Sysfs::at(nothing.path())).expect("read");
        assert!(topology.checks.iter().all(|check| !check.good));
        assert!(topology.checks.iter().all(|check| !check.remedy.is_empty()));
        assert!(topology.variants.iter().all(|variant| !variant.works));
        assert!(
            check_of(&topology, "PCI bus")
                .found
                .contains("/sys/bus/pci")
        );
    }

    #[test]
    fn a_drive_alone_can_be_checked_by_the_host() {
        let fake = Fake::new();
        for (device, group) in [
            ("0000:00:04.0", 1),
            ("0000:01:00.0", 1),
            ("0000:02:00.0", 2),
        ] {
            let to = format!("sys/kernel/iommu_groups/{group}");
            fake.link(&format!("sys/bus/pci/devices/{device}/iommu_group"), &to);
        }
        fake.write("sys/bus/pci/drivers/vfio-pci/bind", "");
        fake.write("dev/vfio/vfio", "");
        let topology = Topology::of(&fake.sysfs()).expect("read");
        let works = |name: &str| {
            let mut all = topology.variants.iter();
            all.find(|variant| variant.name == name)
                .map(|variant| variant.works)
        };
        assert_eq!(works("host driver only"), Some(true), "{topology:#?}");
        assert_eq!(works("on-chip buffer"), Some(false));
        assert!(
            check_of(&topology, "groups of their own").good,
            "a bridge may be there"
        );
        assert_eq!(topology.groups[&1].len(), 2);
        assert_eq!(topology.devices().count(), 1);

        // A stranger in the drive's group spoils it.
        let link = fake
            .folder
            .path()
            .join("sys/bus/pci/devices/0000:02:00.0/iommu_group");
        std::fs::remove_file(link).expect("removed");
        fake.link(
            "sys/bus/pci/devices/0000:02:00.0/iommu_group",
            "sys/kernel/iommu_groups/1",
        );
        let topology = Topology::of(&fake.sysfs()).expect("read");
        let alone = check_of(&topology, "groups of their own");
        assert!(
            !alone.good && alone.found.contains("0000:02:00.0"),
            "{alone:?}"
        );
    }

    const CARD: &str = "sys/bus/pci/devices/0000:02:00.0";

    /// A drive and one of our cards, each in an IOMMU group of its own.
    fn grouped() -> Fake {
        let fake = Fake::new();
        for (device, group) in [("0000:01:00.0", 1), ("0000:02:00.0", 2)] {
            let to = format!("sys/kernel/iommu_groups/{group}");
            fake.link(&format!("sys/bus/pci/devices/{device}/iommu_group"), &to);
        }
        fake.write("sys/bus/pci/drivers/vfio-pci/bind", "");
        fake.write("dev/vfio/vfio", "");
        fake.write(&format!("{CARD}/vendor"), "0x10ee\n");
        fake.write(&format!("{CARD}/device"), "0xfb01\n");
        fake
    }

    #[test]
    fn what_was_measured_takes_the_place_of_guesses() {
        let fake = grouped();
        let mut topology = Topology::of(&fake.sysfs()).expect("read");
        let measured = |to: Option<bool>, from: Option<bool>| Measured {
            drive: PciAddress::new(1, 0, 0),
            peer: PciAddress::new(2, 0, 0),
            drive_to_peer: to,
            peer_to_drive: from,
        };
        let mut judged = |measured: Measured| {
            topology.judge(&measured);
            let works = |name: &str| {
                let found = topology
                    .variants
                    .iter()
                    .find(|variant| variant.name == name);
                found.map(|variant| (variant.works, variant.why.join("; ")))
            };
            // The host's own queues need neither direction.
            assert!(works("host driver only").is_some_and(|(works, _)| works));
            assert_eq!(
                works("host DRAM").map(|(works, _)| works),
                works("on-chip buffer").map(|(works, _)| works)
            );
            works("on-chip buffer").expect("a variant")
        };
        let (works, why) = judged(measured(Some(true), Some(true)));
        assert!(works && why.contains("none differs"), "{why}");
        let (works, why) = judged(measured(Some(true), Some(false)));
        assert!(!works && why.contains("card to drive"), "{why}");
        let (works, why) = judged(measured(Some(false), None));
        assert!(!works && why.contains("could not be compared"), "{why}");
        // Another device than the card says nothing about it.
        let other = Measured {
            peer: PciAddress::new(0, 4, 0),
            ..measured(Some(true), Some(true))
        };
        assert!(judged(other).1.contains("only comparing bytes proves it"));
    }

    /// A drive behind the same port as the card or another one, which may relax its order or not.
    #[test]
    fn the_limit_of_the_order_is_looked_for() {
        let found = |together: bool, control: Option<u16>| {
            let fake = grouped();
            if together {
                // The folder moves below the port; group and files with it.
                let root = fake.folder.path().join("sys/devices/pci0000:00");
                let below = root.join("0000:00:04.0/0000:02:00.0");
                std::fs::rename(root.join("0000:02:00.0"), &below).expect("moved");
                let link = fake.folder.path().join(CARD);
                std::fs::remove_file(&link).expect("removed");
                fake.link(CARD, "sys/devices/pci0000:00/0000:00:04.0/0000:02:00.0");
            }
            if let Some(control) = control {
                let mut config = vec![0; 256];
                config[0x06] = 0x10;
                config[0x34] = 0x60;
                config[0x60] = 0x10;
                config[0x68..0x6a].copy_from_slice(&control.to_le_bytes());
                let drive = fake.folder.path().join("sys/bus/pci/devices/0000:01:00.0");
                std::fs::write(drive.join("config"), config).expect("written");
            }
            let topology = Topology::of(&fake.sysfs()).expect("read");
            let check = check_of(&topology, ORDER).clone();
            let mut all = topology.variants.iter();
            let host = all.find(|variant| variant.name == "host DRAM");
            let why = host.expect("a variant").why.join("; ");
            assert_eq!(why.contains(ORDER), !check.good, "{why}");
            (check.good, check.found)
        };
        assert!(found(true, Some(0x2000)).0);
        for (together, control, reason) in [
            (true, Some(0x2010), "relaxed ordering is enabled"),
            (true, None, "not readable"),
            (false, Some(0x2000), "different root ports"),
        ] {
            let (good, text) = found(together, control);
            assert!(!good && text.contains(reason), "{text}");
        }
    }

    #[test]
    fn payload_in_dram_needs_the_larger_bar() {
        let fake = grouped();
        let on_board = |bar: u64| {
            let last = 0x8_0000_0000 + bar - 1;
            fake.write(
                &format!("{CARD}/resource"),
                &format!("0x0000000800000000 {last:#018x} 0x000000000014220c\n"),
            );
            let mut topology = Topology::of(&fake.sysfs()).expect("read");
            topology.judge(&Measured {
                drive: PciAddress::new(1, 0, 0),
                peer: PciAddress::new(2, 0, 0),
                drive_to_peer: Some(true),
                peer_to_drive: Some(true),
            });
            let mut all = topology.variants.into_iter();
            let found = all.find(|variant| variant.name == "on-board DRAM");
            let found = found.expect("a variant");
            (found.works, found.why.join("; "))
        };
        let (works, why) = on_board(bar0::BYTES_DRAM);
        assert!(works && why.contains("payload in its DRAM"), "{why}");
        let (works, why) = on_board(bar0::BYTES);
        assert!(!works && why.contains("BAR 0 has 64 MiB"), "{why}");
    }

    #[test]
    fn a_drive_in_use_is_shown_with_its_user() {
        let fake = Fake::new();
        let folder = "sys/bus/pci/devices/0000:01:00.0/nvme/nvme0/nvme0n1";
        fake.write(&format!("{folder}/dev"), "259:1\n");
        fake.write("sys/class/block/nvme0n1/dev", "259:1\n");
        fake.write(
            "proc/self/mountinfo",
            "1 1 259:1 / /home rw - ext4 /dev/root rw\n",
        );
        let topology = Topology::of(&fake.sysfs()).expect("read");
        let check = check_of(&topology, "drive not in use");
        assert!(!check.good && check.found.contains("/home"), "{check:?}");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Which drive, which card, which namespace.

use crate::admin::{self, AdminQueue};
use crate::bus::{Bus, PciAddress};
use crate::discover::{self, Function};
use crate::error::Error;
use crate::facts::ControllerFacts;
use crate::options::{Options, QueuePlacement};

/// The chosen devices.
pub(crate) struct Devices {
    /// One, or those of the array.
    pub(crate) nvme: Vec<Function>,
    pub(crate) fpga: Option<Function>,
}

/// Looks for the drive and, where wanted, the card.
pub(crate) fn devices(bus: &mut dyn Bus, options: &Options) -> Result<Devices, Error> {
    let all = discover::discover(bus)?;
    let mut drives: Vec<_> = all
        .iter()
        .filter(|function| function.is_nvme())
        .cloned()
        .collect();
    let mut cards: Vec<_> = all
        .iter()
        .filter(|function| function.is_fpga())
        .cloned()
        .collect();
    let nvme = match options.array {
        Some(array) => members(drives, array.drives)?,
        None => vec![only(
            &mut drives,
            options.nvme,
            "an NVMe controller (class 01 08 02)",
            "check that the drive is plugged in, seen on the bus and given to this driver; where \
             there are several, name one by its PCI address",
        )?],
    };
    let fpga = match options.placement {
        QueuePlacement::Host => None,
        QueuePlacement::Fpga => Some(only(
            &mut cards,
            options.fpga.device,
            "an FPGA card with Forebay's streamer",
            "check that the card is plugged in, its bitstream loaded before the bus was scanned, \
             and given to this driver; where there are several, name one by its PCI address",
        )?),
    };
    if let Some(card) = &fpga {
        for nvme in &nvme {
            check_payload(nvme, card)?;
            check_payload(card, nvme)?;
        }
    }
    Ok(Devices { nvme, fpga })
}

/// Drive and card write to each other, and no one cuts their packets on the way: what one may send
/// the other has to take (PCI Express Base 5.0, 2.2.2).
fn check_payload(from: &Function, to: &Function) -> Result<(), Error> {
    let (Some(sender), Some(receiver)) = (from.express, to.express) else {
        return Ok(());
    };
    if sender.payload <= receiver.payload_supported {
        return Ok(());
    }
    Err(Error::Refused {
        field: "the payload size (MPS)",
        value: format!("{} bytes at {}", sender.payload, from.address),
        limit: format!(
            "{} takes {} at most",
            to.address, receiver.payload_supported
        ),
        remedy: "let firmware or kernel set one size for all (Linux: pci=pcie_bus_safe or \
                 pci=pcie_bus_peer2peer)",
    })
}

/// A session without a drive.
pub(crate) fn no_drive() -> Error {
    Error::parameter("number of drives", 0_u64, "a streamer needs one at least")
}

/// The drives of an array: all there are, as many as were asked for.
fn members(mut drives: Vec<Function>, wanted: u8) -> Result<Vec<Function>, Error> {
    drives.sort_by_key(|drive| drive.address);
    if drives.len() == usize::from(wanted) {
        return Ok(drives);
    }
    let seen: Vec<_> = drives.iter().map(|d| d.address.to_string()).collect();
    Err(Error::NotFound {
        what: "the drives of the array",
        seen: format!("{wanted} were asked for, there are [{}]", seen.join(", ")),
        remedy: "ask for as many drives as are given to this driver",
    })
}

/// The function asked for, or the only one: never a guess, as the wrong drive may hold a system.
fn only(
    functions: &mut Vec<Function>,
    wanted: Option<PciAddress>,
    what: &'static str,
    remedy: &'static str,
) -> Result<Function, Error> {
    if let Some(wanted) = wanted {
        functions.retain(|function| function.address == wanted);
    }
    match (functions.len(), functions.pop()) {
        (1, Some(function)) => Ok(function),
        (count, last) => {
            let seen = match (wanted, last) {
                (_, Some(last)) => {
                    let others = functions.iter().map(|other| other.address.to_string());
                    let list: Vec<_> = others.chain([last.address.to_string()]).collect();
                    format!("{count} to choose from: {}", list.join(", "))
                }
                (Some(wanted), None) => format!("there is none at {wanted}"),
                (None, None) => "there is none on the bus".into(),
            };
            Err(Error::NotFound { what, seen, remedy })
        }
    }
}

/// Active namespaces and the one to use.
pub(crate) struct NamespaceList {
    pub(crate) active: Vec<u32>,
    pub(crate) chosen: u32,
}

/// Lists the active namespaces and chooses the one wanted, or the first.
pub(crate) fn namespaces(
    bus: &mut dyn Bus,
    admin: &mut AdminQueue,
    controller: &ControllerFacts,
    wanted: Option<u32>,
) -> Result<NamespaceList, Error> {
    let mut active = match admin.active_namespaces(bus, 0) {
        // Controllers of NVMe 1.0 have no such list; there all up to NN are active.
        Err(error) if admin::is_unsupported(&error) => {
            (1..=controller.namespaces.min(1024)).collect()
        }
        other => other?,
    };
    if let Some(wanted) = wanted.filter(|wanted| *wanted > 1024 && !active.contains(wanted)) {
        active.extend(admin.active_namespaces(bus, wanted - 1)?);
    }
    let chosen = wanted
        .or(active.first().copied())
        .filter(|nsid| active.contains(nsid));
    let Some(chosen) = chosen else {
        let shown: Vec<_> = active.iter().take(8).map(u32::to_string).collect();
        return Err(Error::NotFound {
            what: "an active namespace",
            seen: match wanted {
                Some(wanted) => {
                    format!("{wanted} was asked for, active are [{}]", shown.join(", "))
                }
                None => "the controller lists none".into(),
            },
            remedy: "choose an active one, or create and attach one (nvme create-ns, attach-ns)",
        });
    };
    Ok(NamespaceList { active, chosen })
}

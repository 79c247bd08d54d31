// SPDX-License-Identifier: Apache-2.0
//! From a cold bus to a running queue, step by step.
//!
//! Every step is bounded in time, nothing a device says is used unchecked, and a failure leaves
//! the drive unable to touch memory.

use forebay_spec::nvme::identify::cns;

use crate::admin::{self, AdminQueue, QueueAt};
use crate::array::{ArrayFacts, Layout};
use crate::bus::{Bus, DmaBuffer, PciAddress};
use crate::choose::{self, Devices};
use crate::controller::{Controller, PAGE_BYTES};
use crate::discover::{self, Function};
use crate::error::Error;
use crate::facts::{ControllerFacts, Namespace};
use crate::fpga;
use crate::options::Options;
use crate::queue_pair::{QueuePair, TRANSFER_MOST};
use crate::session::{Facts, Member, Session};
use crate::steps::{Failure, Observer, Recorder, StepName};
use crate::streamer::Streamer;

/// Brings a drive up, and with [`QueuePlacement::Fpga`](crate::QueuePlacement::Fpga) the streamer
/// that is to feed it.
///
/// # Errors
/// The step that failed, why, and what to do.
pub fn bring_up(bus: &mut dyn Bus, options: &Options) -> Result<Session, Failure> {
    bring_up_observed(bus, options, &mut |_| {})
}

/// As [`bring_up`], and tells of each step as it is done.
///
/// # Errors
/// The step that failed, why, and what to do.
pub fn bring_up_observed(
    bus: &mut dyn Bus,
    options: &Options,
    observer: Observer<'_>,
) -> Result<Session, Failure> {
    let mut recorder = Recorder::new(bus, observer);
    let devices = recorder.step(StepName::Discover, |bus| {
        let devices = choose::devices(bus, options)?;
        let mut found = Vec::new();
        for function in devices.nvme.iter().chain(&devices.fpga) {
            discover::enable(bus, function.address)?;
            found.push(function.to_string());
        }
        Ok((devices, found.join(", ")))
    })?;
    let mut parts = Parts::default();
    match set_up(&mut recorder, options, &devices, &mut parts) {
        Ok(first) => {
            let steps = recorder.finish();
            Ok(Session::new(first, parts, *options, steps))
        }
        Err(failure) => {
            let all = devices.nvme.iter().chain(&devices.fpga);
            parts.abandon(recorder.bus(), all.map(|function| function.address));
            Err(failure)
        }
    }
}

/// What a bring-up has made so far.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) streamer: Option<Streamer>,
    /// The segments of a buffer in host memory: for writes, then for reads.
    pub(crate) segments: Vec<DmaBuffer>,
    pub(crate) members: Vec<Member>,
    /// The admin queue of a drive that is being brought up.
    pub(crate) admin: Option<AdminQueue>,
}

impl Parts {
    /// Stops everything at once, then gives the memory back. Errors are of no use here: the devices
    /// are being left as they are, and the next bring-up resets them.
    pub(crate) fn abandon(self, bus: &mut dyn Bus, devices: impl IntoIterator<Item = PciAddress>) {
        if let Some(streamer) = &self.streamer {
            let _ = streamer.stop(bus);
        }
        // Memory that a device might still write to must not be used for anything else.
        let mut silent = true;
        for device in devices {
            silent &= discover::silence(bus, device).is_ok();
        }
        if silent {
            self.admin.into_iter().for_each(|admin| admin.free(bus));
            for Member { admin, pair, .. } in self.members {
                admin.free(bus);
                pair.into_iter().for_each(|pair| pair.free_memory(bus));
            }
            let segments = self.segments.into_iter();
            segments.for_each(|segment| bus.dma_free(segment));
        }
    }
}

/// Drive by drive, then what they share.
fn set_up(
    recorder: &mut Recorder<'_>,
    options: &Options,
    devices: &Devices,
    parts: &mut Parts,
) -> Result<Member, Failure> {
    let windows = match &devices.fpga {
        Some(card) => Some(fpga::attach(recorder, options, card, parts)?),
        None => None,
    };
    for nvme in &devices.nvme {
        start_drive(recorder, options, nvme, parts)?;
    }
    for member in &mut parts.members {
        member.facts.fpga.clone_from(&devices.fpga);
    }
    let layout = match options.array {
        None => Layout::ONE,
        Some(array) => recorder.step(StepName::Array, |_| {
            let facts = array_facts(Layout::new(array)?, &parts.members)?;
            let (layout, found) = (facts.layout, facts.to_string());
            for member in &mut parts.members {
                member.facts.array = Some(facts.clone());
            }
            Ok((layout, found))
        })?,
    };
    let Some(windows) = &windows else {
        for member in &mut parts.members {
            create_in_host(recorder, member)?;
        }
        return first(recorder, parts);
    };
    let least = parts
        .members
        .iter()
        .map(|member| member.facts.queue_entries);
    let entries = least.min().unwrap_or(2).min(windows.parameters.queue_depth);
    for (number, member) in (0..).zip(&mut parts.members) {
        member.facts.streamer = Some(windows.parameters);
        member.facts.queue_entries = entries;
        fpga::create_in_fpga(recorder, windows, number, member)?;
    }
    let config = fpga::start_streamer(recorder, options, windows, &parts.members, layout)?;
    for member in &mut parts.members {
        member.facts.config = Some(config.clone());
    }
    first(recorder, parts)
}

/// Takes the first drive out of what was made: a session has one at least.
fn first(recorder: &mut Recorder<'_>, parts: &mut Parts) -> Result<Member, Failure> {
    if parts.members.is_empty() {
        return recorder.step(StepName::Discover, |_| Err(choose::no_drive()));
    }
    Ok(parts.members.remove(0))
}

fn array_facts(layout: Layout, members: &[Member]) -> Result<ArrayFacts, Error> {
    let namespaces: Vec<_> = members
        .iter()
        .map(|member| member.facts.namespace)
        .collect();
    let sectors = layout.sectors(&namespaces)?;
    let all: u128 = namespaces.iter().map(|n| u128::from(n.bytes())).sum();
    Ok(ArrayFacts {
        layout: layout.measured(sectors),
        bytes: sectors << 9,
        unused_bytes: u64::try_from(all - u128::from(layout.stretched(sectors) << 9))
            .unwrap_or(u64::MAX),
    })
}

/// Starts a controller anew and asks it what it is.
fn start_drive(
    recorder: &mut Recorder<'_>,
    options: &Options,
    nvme: &Function,
    parts: &mut Parts,
) -> Result<(), Failure> {
    let limits = options.limits;
    let mut controller = recorder.step(StepName::Disable, |bus| {
        let controller = Controller::new(nvme)?;
        let was_enabled = controller.disable(bus, limits.ready)?;
        let found = if was_enabled {
            "was enabled"
        } else {
            "was disabled already"
        };
        Ok((controller, found.into()))
    })?;
    let capabilities = recorder.step(StepName::Capabilities, |bus| {
        let found = controller.capabilities(bus)?;
        controller.check_doorbells(options.queue_id)?;
        let text = format!(
            "NVMe {}.{}, queues of up to {} entries, doorbells every {} bytes, ready within {:?}",
            found.version_major,
            found.version_minor,
            found.queue_entries,
            found.doorbell_stride,
            found.ready_limit
        );
        Ok((found, text))
    })?;
    let slot = &mut parts.admin;
    let admin = recorder.step(StepName::Enable, |bus| {
        // Kept at once: where this step fails the drive may know the addresses of the queues
        // already.
        let admin = slot.insert(AdminQueue::new(bus, controller.clone(), limits.command)?);
        // The drive fetches admin commands by itself. It was reset, so it does nothing else.
        discover::set_master(bus, nvme.address)?;
        let (sq, cq) = (admin.submission(), admin.completion());
        controller.enable(bus, sq, cq, admin::ENTRIES, limits.ready)?;
        let found = format!("ready, admin queues of {} entries", admin::ENTRIES);
        Ok((admin, found))
    })?;
    let identified = recorder.step(StepName::IdentifyController, |bus| {
        const NAME: &str = "Identify Controller";
        let facts = ControllerFacts::new(&*admin.identify(bus, NAME, cns::CONTROLLER, 0)?)?;
        let most = facts
            .transfer_bytes
            .map_or("any size".into(), |b| format!("up to {b} bytes"));
        let found = format!(
            "{} (serial {}, firmware {}), commands of {most}{}",
            facts.model,
            facts.serial,
            facts.firmware,
            if facts.volatile_write_cache {
                ", volatile write cache"
            } else {
                ""
            }
        );
        Ok((facts, found))
    })?;
    let namespaces = recorder.step(StepName::Namespaces, |bus| {
        let list = choose::namespaces(bus, admin, &identified, options.nsid)?;
        let found = format!("{} active, using {}", list.active.len(), list.chosen);
        Ok((list, found))
    })?;
    let namespace = recorder.step(StepName::IdentifyNamespace, |bus| {
        let namespace = identify_namespace(bus, admin, namespaces.chosen)?;
        let (blocks, bytes) = (namespace.blocks, namespace.block_bytes());
        Ok((namespace, format!("{blocks} blocks of {bytes} bytes")))
    })?;
    let granted = recorder.step(StepName::QueueCount, |bus| {
        let granted = grant_queues(bus, admin, options)?;
        Ok((granted, format!("{granted} pairs granted")))
    })?;
    let facts = Facts {
        nvme: nvme.clone(),
        fpga: None,
        capabilities,
        transfer_bytes: transfer_bytes(&identified, options),
        controller: identified,
        namespaces: namespaces.active,
        namespace,
        array: None,
        queue_pairs: granted,
        queue_id: options.queue_id,
        queue_entries: u32::from(options.queue_entries).min(capabilities.queue_entries),
        streamer: None,
        config: None,
    };
    let admin = parts.admin.take();
    parts.members.extend(admin.map(|admin| Member {
        controller,
        admin,
        pair: None,
        facts,
    }));
    Ok(())
}

fn create_in_host(recorder: &mut Recorder<'_>, member: &mut Member) -> Result<(), Failure> {
    const PLACE: &str = "host memory";
    let Member {
        controller,
        admin,
        pair,
        facts,
    } = member;
    let entries = u16::try_from(facts.queue_entries).unwrap_or(u16::MAX);
    let submission = recorder.step(StepName::CompletionQueue, |bus| {
        let (id, most) = (facts.queue_id, facts.transfer_bytes);
        let pair = pair.insert(QueuePair::new(bus, controller.clone(), id, entries, most)?);
        admin.create_cq(bus, pair.completion_at())?;
        Ok((
            pair.submission_at(),
            place_text(PLACE, pair.completion_at()),
        ))
    })?;
    recorder.step(StepName::SubmissionQueue, |bus| {
        admin.create_sq(bus, submission)?;
        Ok(((), place_text(PLACE, submission)))
    })
}

pub(crate) fn identify_namespace(
    bus: &mut dyn Bus,
    admin: &mut AdminQueue,
    nsid: u32,
) -> Result<Namespace, Error> {
    Namespace::new(
        nsid,
        &*admin.identify(bus, "Identify Namespace", cns::NAMESPACE, nsid)?,
    )
}

fn grant_queues(
    bus: &mut dyn Bus,
    admin: &mut AdminQueue,
    options: &Options,
) -> Result<u32, Error> {
    if options.queue_id == 0 {
        return Err(Error::parameter("queue_id", 0_u64, "0 is the admin queue"));
    }
    if let Some(bytes) = options.max_transfer
        && (bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES))
    {
        let limit = "a multiple of 4096 is needed";
        return Err(Error::parameter("max_transfer", bytes, limit));
    }
    if options.queue_entries < 2 {
        let limit = "a queue has at least 2";
        return Err(Error::parameter(
            "queue_entries",
            options.queue_entries,
            limit,
        ));
    }
    let wanted = options.queue_id.saturating_add(options.more_queues);
    let count = admin.set_queue_count(bus, wanted)?;
    let granted = count.submission.min(count.completion);
    if granted < u32::from(options.queue_id) {
        return Err(Error::Refused {
            field: "the number of I/O queues granted",
            value: granted.to_string(),
            limit: format!("queue {} is wanted", options.queue_id),
            remedy: "choose a lower queue number",
        });
    }
    Ok(granted)
}

/// Most bytes of one command: the drive's limit or the caller's, never less than a page.
fn transfer_bytes(controller: &ControllerFacts, options: &Options) -> u64 {
    [controller.transfer_bytes, options.max_transfer]
        .into_iter()
        .flatten()
        .fold(TRANSFER_MOST, u64::min)
}

pub(crate) fn place_text(place: &str, queue: QueueAt) -> String {
    format!(
        "queue {}, {} entries in {place} at {:#x}",
        queue.id, queue.entries, queue.address
    )
}

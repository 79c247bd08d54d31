// SPDX-License-Identifier: Apache-2.0
//! From a cold bus to a running queue, step by step.
//!
//! Every step is bounded in time, nothing a device says is used unchecked, and a failure leaves
//! the drive unable to touch memory.

use forebay_spec::nvme::identify::cns;

use crate::admin::{self, AdminQueue, QueueAt};
use crate::bus::{Bus, DmaBuffer, PciAddress};
use crate::choose::{self, Devices};
use crate::controller::{Capabilities, Controller, PAGE_BYTES};
use crate::discover;
use crate::error::Error;
use crate::facts::{ControllerFacts, Namespace};
use crate::fpga::{self, Windows};
use crate::options::Options;
use crate::queue_pair::{QueuePair, TRANSFER_MOST};
use crate::session::{Facts, Session};
use crate::steps::{Failure, Observer, Recorder, StepName};
use crate::streamer::Streamer;

/// Brings a drive up, and with [`QueuePlacement::Fpga`](crate::QueuePlacement::Fpga) the streamer that is to feed it.
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
        discover::enable(bus, devices.nvme.address)?;
        let mut found = devices.nvme.to_string();
        if let Some(fpga) = &devices.fpga {
            discover::enable(bus, fpga.address)?;
            found = format!("{found}, {fpga}");
        }
        Ok((devices, found))
    })?;
    let mut parts = Parts::default();
    let nvme = devices.nvme.address;
    let started = match reset(&mut recorder, options, &devices, &mut parts) {
        Ok(started) => started,
        Err(failure) => {
            parts.abandon(recorder.bus(), nvme, None);
            return Err(failure);
        }
    };
    let (controller, mut admin) = (started.controller.clone(), started.admin);
    let base = Base {
        capabilities: started.capabilities,
        controller: &controller,
        devices,
    };
    match set_up(
        &mut recorder,
        options,
        base,
        started.windows,
        &mut admin,
        &mut parts,
    ) {
        Ok(facts) => {
            let steps = recorder.finish();
            Ok(Session::new(
                controller, admin, parts, facts, *options, steps,
            ))
        }
        Err(failure) => {
            parts.abandon(recorder.bus(), nvme, Some(admin));
            Err(failure)
        }
    }
}

/// What a bring-up has made so far, beside the admin queue.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) streamer: Option<Streamer>,
    pub(crate) pair: Option<QueuePair>,
    /// The streamer's buffer, where it is in host memory: pieces for writes, then for reads.
    pub(crate) pieces: Vec<DmaBuffer>,
}

impl Parts {
    /// Stops everything at once, then gives the memory back. Errors are of no use here: the drive
    /// is being left as it is, and the next bring-up resets it.
    pub(crate) fn abandon(self, bus: &mut dyn Bus, nvme: PciAddress, admin: Option<AdminQueue>) {
        if let Some(streamer) = &self.streamer {
            let _ = streamer.stop(bus);
        }
        // Memory that a drive might still write to must not be used for anything else.
        if discover::silence(bus, nvme).is_ok() {
            admin.into_iter().for_each(|admin| admin.free(bus));
            self.pair.into_iter().for_each(|pair| pair.free_memory(bus));
            self.pieces
                .into_iter()
                .for_each(|piece| bus.dma_free(piece));
        }
    }
}

/// A controller that has been reset and is ready again.
struct Started {
    controller: Controller,
    capabilities: Capabilities,
    admin: AdminQueue,
    windows: Option<Windows>,
}

/// Stops what may still run from before, and starts the controller anew.
fn reset(
    recorder: &mut Recorder<'_>,
    options: &Options,
    devices: &Devices,
    parts: &mut Parts,
) -> Result<Started, Failure> {
    let limits = options.limits;
    let windows = match &devices.fpga {
        Some(card) => Some(fpga::attach(recorder, options, card, parts)?),
        None => None,
    };
    let mut controller = recorder.step(StepName::Disable, |bus| {
        let controller = Controller::new(&devices.nvme)?;
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
            "NVMe {}.{}, queues of up to {} entries, doorbells {} bytes apart, ready within {:?}",
            found.version_major,
            found.version_minor,
            found.queue_entries,
            found.doorbell_stride,
            found.ready_limit
        );
        Ok((found, text))
    })?;
    let admin = recorder.step(StepName::Enable, |bus| {
        let queue = AdminQueue::new(bus, controller.clone(), limits.command)?;
        let (sq, cq) = (queue.submission(), queue.completion());
        if let Err(error) = controller.enable(bus, sq, cq, admin::ENTRIES, limits.ready) {
            // It may know the queues' addresses already.
            if discover::silence(bus, devices.nvme.address).is_ok() {
                queue.free(bus);
            }
            return Err(error);
        }
        Ok((
            queue,
            format!("ready, admin queues of {} entries", admin::ENTRIES),
        ))
    })?;
    Ok(Started {
        controller,
        capabilities,
        admin,
        windows,
    })
}

/// What is known before the first command.
struct Base<'a> {
    capabilities: Capabilities,
    controller: &'a Controller,
    devices: Devices,
}

/// Asks the controller what it is, and creates the queues.
fn set_up(
    recorder: &mut Recorder<'_>,
    options: &Options,
    base: Base<'_>,
    windows: Option<Windows>,
    admin: &mut AdminQueue,
    parts: &mut Parts,
) -> Result<Facts, Failure> {
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
    let Base {
        capabilities,
        controller,
        devices,
    } = base;
    let depth = windows
        .as_ref()
        .map_or(u32::MAX, |windows| windows.parameters.queue_depth);
    let mut facts = Facts {
        nvme: devices.nvme,
        fpga: devices.fpga,
        capabilities,
        transfer_bytes: transfer_bytes(&identified, options),
        controller: identified,
        namespaces: namespaces.active,
        namespace,
        queue_pairs: granted,
        queue_id: options.queue_id,
        queue_entries: u32::from(options.queue_entries)
            .min(capabilities.queue_entries)
            .min(depth),
        streamer: windows.as_ref().map(|windows| windows.parameters),
        config: None,
    };
    match &windows {
        Some(windows) => {
            fpga::create_in_fpga(recorder, windows, &facts, admin)?;
            facts.config = Some(fpga::start_streamer(
                recorder, options, windows, &facts, controller,
            )?);
        }
        None => create_in_host(recorder, &facts, controller, admin, parts)?,
    }
    Ok(facts)
}

fn create_in_host(
    recorder: &mut Recorder<'_>,
    facts: &Facts,
    controller: &Controller,
    admin: &mut AdminQueue,
    parts: &mut Parts,
) -> Result<(), Failure> {
    const PLACE: &str = "host memory";
    let entries = u16::try_from(facts.queue_entries).unwrap_or(u16::MAX);
    let submission = recorder.step(StepName::CompletionQueue, |bus| {
        let (id, most) = (facts.queue_id, facts.transfer_bytes);
        let pair = QueuePair::new(bus, controller.clone(), id, entries, most)?;
        let pair = parts.pair.insert(pair);
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
    let parameter = |parameter, value: u16, limit: &str| Error::Parameter {
        parameter,
        value: value.into(),
        limit: limit.into(),
    };
    if options.queue_id == 0 {
        return Err(parameter("queue_id", 0, "0 is the admin queue"));
    }
    if let Some(bytes) = options.max_transfer
        && (bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES))
    {
        return Err(Error::Parameter {
            parameter: "max_transfer",
            value: bytes,
            limit: "a multiple of 4096 is needed".into(),
        });
    }
    if options.queue_entries < 2 {
        return Err(parameter(
            "queue_entries",
            options.queue_entries,
            "a queue has at least 2",
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

// SPDX-License-Identifier: Apache-2.0
//! The steps of bring-up that concern the FPGA card.

use forebay_spec::streamer::{bar0, window};

use crate::admin::QueueAt;
use crate::array::Layout;
use crate::bring_up::{Parts, place_text};
use crate::bus::{Bus, BusError, DmaBuffer};
use crate::controller::PAGE_BYTES;
use crate::discover::{self, Function};
use crate::error::Error;
use crate::options::Options;
use crate::session::Member;
use crate::steps::{Failure, Recorder, StepName};
use crate::streamer::{Config, DramPlaces, DrivePlace, HostPlaces, Memory, Parameters, Streamer};

/// Most pages of one of the streamer's commands: 1 MiB.
const TRANSFER_PAGES_MOST: u64 = 256;

/// A streamer, what was built into it, and the bus addresses of its windows.
pub(crate) struct Windows {
    streamer: Streamer,
    pub(crate) parameters: Parameters,
    queues: u64,
    data: u64,
    dram: Option<DramPlaces>,
    host: Option<HostPlaces>,
}

/// Looks at the streamer and stops it.
pub(crate) fn attach(
    recorder: &mut Recorder<'_>,
    options: &Options,
    fpga: &Function,
    parts: &mut Parts,
) -> Result<Windows, Failure> {
    recorder.step(StepName::Attach, |bus| {
        let place = &options.fpga;
        let size = fpga.bar(place.bar).map_or(0, |bar| bar.size);
        check_window(place.control, bar0::CONTROL_BYTES, size)?;
        let streamer = Streamer::attach(bus, fpga.address, place.bar, place.control)?;
        parts.streamer = Some(streamer.clone());
        // One that still runs would ring doorbells in the middle of the drive's reset.
        streamer.stop(bus)?;
        let parameters = streamer.parameters(bus)?;
        let depth = u64::from(parameters.queue_depth);
        let drives = u64::from(parameters.drives);
        let queues = place.queues.unwrap_or(bar0::queues(depth, drives));
        check_window(queues, window::queue_window_bytes(depth, drives), size)?;
        let wanted = options.array.map_or(1, |array| u64::from(array.drives));
        if wanted > drives {
            return Err(Error::Refused {
                field: "the number of drives",
                value: wanted.to_string(),
                limit: format!("the streamer is built for {drives}"),
                remedy: "use fewer drives, or build it with a greater parameter Drives",
            });
        }
        let most = u64::from(parameters.parity_pages) * PAGE_BYTES;
        if let Some(array) = options
            .array
            .filter(|array| array.parity && array.stripe_unit > most)
        {
            return Err(Error::Refused {
                field: "the stripe unit of an array with parity",
                value: format!("{} bytes", array.stripe_unit),
                limit: match most {
                    0 => "the streamer is built without parity".into(),
                    most => format!("the streamer is built for stripe units of up to {most} bytes"),
                },
                remedy: "use a smaller stripe unit, or build it with a greater parameter ParityPages",
            });
        }
        let (usual, bytes) = streamer.data_window(&parameters);
        let data = place.data.unwrap_or(usual);
        check_window(data, bytes, size)?;
        if streamer.memory() != Memory::OnChip {
            check_window(place.lists, window::PRP_LISTS_BYTES, size)?;
        }
        let base = bus.bar_address(fpga.address, place.bar)?;
        let found = if streamer.is_extended() {
            let (major, minor, patch) = version_parts(parameters.version);
            let pages = parameters.pages;
            let memory = match streamer.memory() {
                Memory::OnChip => format!("{pages} pages"),
                Memory::OnBoard => "payload in on-board DRAM".into(),
                Memory::Host => "payload in host DRAM".into(),
            };
            format!("streamer {major}.{minor}.{patch}, queue depth {depth}, {memory}")
        } else {
            format!("streamer with SNAcc's registers, queue depth {depth}")
        };
        let (queues, data) = (base.wrapping_add(queues), base.wrapping_add(data));
        if !data.is_multiple_of(bytes) {
            return Err(Error::Refused {
                field: "the data window",
                value: format!("{data:#x}"),
                limit: format!("a multiple of its {bytes:#x} bytes"),
                remedy: "align the BAR to its size, or give another offset of the window",
            });
        }
        let prp_lists = base.wrapping_add(place.lists);
        // It rings doorbells, and with its payload in host memory reaches that.
        discover::set_master(bus, fpga.address)?;
        let dram = (streamer.memory() == Memory::OnBoard).then_some(DramPlaces {
            prp_lists,
            read: place.dram_read,
            write: place.dram_write,
        });
        let host = match streamer.memory() {
            Memory::Host => Some(host_places(bus, prp_lists, &mut parts.segments)?),
            Memory::OnChip | Memory::OnBoard => None,
        };
        Ok((
            Windows {
                streamer,
                parameters,
                queues,
                data,
                dram,
                host,
            },
            found,
        ))
    })
}

/// Allocates the buffer of a streamer that has it in host memory: for writes, then for reads.
fn host_places(
    bus: &mut dyn Bus,
    prp_lists: u64,
    segments: &mut Vec<DmaBuffer>,
) -> Result<HostPlaces, Error> {
    let bytes = window::HOST_SEGMENT_BYTES as usize;
    let mut direction = || -> Result<[u64; window::HOST_SEGMENTS], Error> {
        let mut addresses = [0; window::HOST_SEGMENTS];
        for address in &mut addresses {
            let segment = bus.dma_alloc(bytes, bytes);
            let segment = segment.map_err(|error| short(error, segments.len()))?;
            *address = segment.address;
            segments.push(segment);
        }
        Ok(addresses)
    };
    Ok(HostPlaces {
        prp_lists,
        write: direction()?,
        read: direction()?,
    })
}

/// Only this number of segments could be allocated.
fn short(error: BusError, segments: usize) -> Error {
    match error {
        BusError::OutOfMemory { .. } | BusError::Carrier { .. } => Error::Refused {
            field: "host memory for the payload",
            value: format!("{segments} segments of 4 MiB ({error})"),
            limit: "this streamer keeps its payload there: 32 segments, 128 MiB in all".into(),
            remedy: "let it lock as much (ulimit -l 262144, or run it as root) where that much is \
                     free, or load a bitstream with its buffer on the card",
        },
        error => error.into(),
    }
}

/// Creates the I/O queues of a drive in the streamer's queue window.
pub(crate) fn create_in_fpga(
    recorder: &mut Recorder<'_>,
    windows: &Windows,
    number: u64,
    member: &mut Member,
) -> Result<(), Failure> {
    const PLACE: &str = "the FPGA";
    let Member { admin, facts, .. } = member;
    let (id, entries) = (facts.queue_id, facts.queue_entries);
    let depth = u64::from(windows.parameters.queue_depth);
    let sq_address = (windows.queues).wrapping_add(number * window::queue_pair_bytes(depth));
    let submission = QueueAt {
        id,
        address: sq_address,
        entries,
    };
    let cq_address = sq_address.wrapping_add(windows.parameters.cq_offset);
    let completion = QueueAt {
        address: cq_address,
        ..submission
    };
    recorder.step(StepName::CompletionQueue, |bus| {
        check_page(completion)?;
        admin.create_cq(bus, completion)?;
        Ok(((), place_text(PLACE, completion)))
    })?;
    recorder.step(StepName::SubmissionQueue, |bus| {
        check_page(submission)?;
        admin.create_sq(bus, submission)?;
        Ok(((), place_text(PLACE, submission)))
    })
}

/// Writes the streamer's registers and lets it run.
pub(crate) fn start_streamer(
    recorder: &mut Recorder<'_>,
    options: &Options,
    windows: &Windows,
    members: &[Member],
    layout: Layout,
) -> Result<Config, Failure> {
    let Windows {
        streamer,
        parameters,
        data,
        dram,
        host,
        ..
    } = windows;
    let config = recorder.step(StepName::Configure, |bus| {
        let [Member { facts: first, .. }, ..] = members else {
            return Err(Error::NotFound {
                what: "a drive for the streamer",
                seen: "there is none".into(),
                remedy: "report this defect",
            });
        };
        let transfer = members.iter().map(|member| member.facts.transfer_bytes);
        let pages = transfer.min().unwrap_or(PAGE_BYTES) / PAGE_BYTES;
        let mut drives = Vec::new();
        for Member {
            controller, facts, ..
        } in members
        {
            let doorbells = bus.bar_address(controller.device(), 0)?;
            drives.push(DrivePlace {
                sq_doorbell: doorbells.wrapping_add(controller.sq_doorbell(facts.queue_id)),
                cq_doorbell: doorbells.wrapping_add(controller.cq_doorbell(facts.queue_id)),
                nsid: facts.namespace.nsid,
            });
        }
        // It must not be asked for anything, nor reach the bus.
        let missing = options.array.and_then(|array| array.missing);
        if let Some(member) = missing.and_then(|number| members.get(usize::from(number))) {
            discover::silence(bus, member.facts.nvme.address)?;
        }
        let units = parameters.pages.saturating_sub(parameters.reserve_pages);
        let room = (u64::from(units) << parameters.unit_shift).max(1);
        let config = Config {
            drives,
            layout,
            missing,
            data_window: *data,
            dram: *dram,
            host: host.clone(),
            outbound: options.fpga.outbound,
            block_shift: first.namespace.block_shift,
            transfer_pages: pages.min(TRANSFER_PAGES_MOST).min(room) as u16,
            namespace_sectors: first
                .array
                .as_ref()
                .map_or(first.namespace.sectors, |a| layout.stretched(a.bytes >> 9)),
            timeout_cycles: options.timeout_cycles,
            retry_limit: options.retry_limit,
            queue_entries: first.queue_entries,
            chunk_pages: options.chunk_pages,
            busy_commands: options.busy_commands,
        };
        streamer.configure(bus, &config)?;
        let doorbells: Vec<_> = (config.drives.iter())
            .map(|drive| format!("{:#x} and {:#x}", drive.sq_doorbell, drive.cq_doorbell))
            .collect();
        let found = format!(
            "commands of up to {} KiB, doorbells at {}, data window at {:#x}",
            4 * config.transfer_pages,
            doorbells.join(", "),
            config.data_window
        );
        Ok((config, found))
    })?;
    recorder.step(StepName::Start, |bus| {
        streamer.enable(bus, options.limits.streamer)?;
        Ok(((), "ready".into()))
    })?;
    Ok(config)
}

fn check_window(offset: u64, bytes: u64, size: u64) -> Result<(), Error> {
    if offset.checked_add(bytes).is_some_and(|end| end <= size) {
        return Ok(());
    }
    Err(Error::Refused {
        field: "the size of the FPGA card's BAR",
        value: format!("{size:#x} bytes"),
        limit: format!("a window of {bytes:#x} bytes is to stand at {offset:#x}"),
        remedy: "load the right bitstream, or give the offsets at which its windows stand",
    })
}

fn check_page(queue: QueueAt) -> Result<(), Error> {
    if queue.address.is_multiple_of(PAGE_BYTES) {
        return Ok(());
    }
    let limit = "a queue starts at a multiple of 4096";
    Err(Error::parameter(
        "bus address of the queue",
        queue.address,
        limit,
    ))
}

const fn version_parts(version: u32) -> (u32, u32, u32) {
    (version >> 16, version >> 8 & 0xff, version & 0xff)
}

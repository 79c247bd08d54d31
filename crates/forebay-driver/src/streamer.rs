// SPDX-License-Identifier: Apache-2.0
//! The streamer's control registers: what it is, set-up, start and stop.
//!
//! What it reports is in [`crate::inspect`].
//!
//! Also drives SNAcc's published streamer, which has the first six registers only: see
//! [`Streamer::is_extended`].

use std::time::Duration;

use forebay_spec::streamer::{self, bar0, regs, window};
use serde::Serialize;

use crate::array::Layout;
use crate::bus::{Bus, PciAddress};
use crate::error::{Error, answered};
use crate::options::Outbound;
use crate::poll;

/// Where a streamer keeps its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In the FPGA.
    OnChip,
    /// In DRAM on the card.
    OnBoard,
    /// In host memory.
    Host,
}

/// Where a streamer with its payload in on-board DRAM finds what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DramPlaces {
    /// Bus address of the PRP lists, a multiple of 8 MiB; with a list for each command, of 256 KiB.
    pub prp_lists: u64,
    /// Address of the buffer for reads, on the memory's side, a multiple of 64 MiB.
    pub read: u64,
    /// Address of the buffer for writes, on the memory's side, a multiple of 64 MiB.
    pub write: u64,
}

/// Where a streamer with its payload in host memory finds what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPlaces {
    /// Bus address of the PRP lists, a multiple of 8 MiB; with a list for each command, of 256 KiB.
    pub prp_lists: u64,
    /// Bus addresses of the segments of the buffer for reads, multiples of 4 MiB.
    pub read: [u64; window::HOST_SEGMENTS],
    /// Bus addresses of the segments of the buffer for writes, multiples of 4 MiB.
    pub write: [u64; window::HOST_SEGMENTS],
}

/// What the RTL was built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Version of the register map, `major.minor.patch` in bits 31:16, 15:8, 7:0.
    pub version: u32,
    /// Most entries of the queue pair.
    pub queue_depth: u32,
    /// Units of the payload buffer.
    pub pages: u32,
    /// log2 of the 4 KiB pages of a unit.
    pub unit_shift: u32,
    /// Offset of the completion queue in the queue window, bytes.
    pub cq_offset: u64,
    /// Units kept for each direction.
    pub reserve_pages: u32,
    /// Most drives.
    pub drives: u32,
    /// Most 4 KiB pages of a stripe unit of an array with parity; 0: it has none.
    pub parity_pages: u32,
}

/// Where a drive is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DrivePlace {
    /// Bus address of the submission doorbell.
    pub sq_doorbell: u64,
    /// Bus address of the completion doorbell.
    pub cq_doorbell: u64,
    /// Namespace identifier.
    pub nsid: u32,
}

/// What the driver writes before it enables the streamer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Config {
    /// The drives, one or more.
    pub drives: Vec<DrivePlace>,
    /// How they make one address space, where the streamer is built for several.
    pub layout: Layout,
    /// The drive of an array that is done without, from the first command on.
    pub missing: Option<u8>,
    /// Bus address of the data window, a multiple of 8 MiB; with DRAM, of 128 MiB.
    pub data_window: u64,
    /// Where the payload is in on-board DRAM.
    pub dram: Option<DramPlaces>,
    /// Where the payload is in host memory.
    pub host: Option<HostPlaces>,
    /// What is added to addresses on their way out.
    pub outbound: Outbound,
    /// log2 of the logical block: 9 or 12.
    pub block_shift: u8,
    /// Most 4 KiB pages of one command, 1–256.
    pub transfer_pages: u16,
    /// Size of the namespace, or of all together, in units of 512 bytes.
    pub namespace_sectors: u64,
    /// Cycles after which a command is given up; 0 is never.
    pub timeout_cycles: u32,
    /// How often a command is sent again, 0–15.
    pub retry_limit: u8,
    /// Entries of the queue pair.
    pub queue_entries: u32,
    /// Buffered pages worth a write command while the SSD has little to do; `None` leaves the
    /// default.
    pub chunk_pages: Option<u16>,
    /// Outstanding commands from which on the SSD counts as busy; `None` leaves the default.
    pub busy_commands: Option<u8>,
}

/// A register's name, its offset, and what is written there.
macro_rules! register {
    ($name:ident, $value:expr) => {
        (stringify!($name), regs::$name::OFFSET, $value)
    };
}

/// Handle of a streamer: where its control registers stand.
#[derive(Clone, Debug)]
pub struct Streamer {
    pub(crate) device: PciAddress,
    bar: u8,
    base: u64,
    extended: bool,
    memory: Memory,
}

impl Streamer {
    /// Looks at the identity registers at `base` of a BAR.
    ///
    /// # Errors
    /// Where there is no streamer that the driver knows.
    pub fn attach(
        bus: &mut dyn Bus,
        device: PciAddress,
        bar: u8,
        base: u64,
    ) -> Result<Self, Error> {
        let mut streamer = Self {
            device,
            bar,
            base,
            extended: false,
            memory: Memory::OnChip,
        };
        let identity = streamer.read(bus, regs::identity::OFFSET)?;
        let identity = answered(device, identity, "when the streamer's identity was read")?;
        let version = streamer.read(bus, regs::version::OFFSET)?;
        streamer.extended = regs::version::MAGIC.get(version) == u64::from(streamer::VERSION_MAGIC);
        streamer.memory = match regs::identity::IDENTITY.get(identity) {
            streamer::IDENTITY_ONCHIP => Memory::OnChip,
            // SNAcc's with DRAM has its PRP lists otherwise.
            streamer::IDENTITY_ONBOARD if streamer.extended => Memory::OnBoard,
            streamer::IDENTITY_HOST if streamer.extended => Memory::Host,
            _ => {
                return Err(Error::Refused {
                    field: "the streamer's identity",
                    value: format!("{identity:#010x}"),
                    limit: format!(
                        "{:#010x} is the one with the on-chip buffer, {:#010x} Forebay's with \
                         on-board DRAM, {:#010x} Forebay's with host DRAM",
                        streamer::IDENTITY_ONCHIP,
                        streamer::IDENTITY_ONBOARD,
                        streamer::IDENTITY_HOST
                    ),
                    remedy: "load the right bitstream, or give the offset at which its registers \
                             stand",
                });
            }
        };
        Ok(streamer)
    }

    /// Whether the registers from 0x200 on are there. They are not in SNAcc's streamer.
    pub const fn is_extended(&self) -> bool {
        self.extended
    }

    /// Where it keeps its payload.
    pub const fn memory(&self) -> Memory {
        self.memory
    }

    /// Where its data window stands unless said otherwise, and how many bytes it has.
    pub(crate) const fn data_window(&self, parameters: &Parameters) -> (u64, u64) {
        match self.memory {
            Memory::OnChip => {
                let bytes = window::data_window_bytes(parameters.pages as u64);
                (bar0::data(bytes), bytes)
            }
            Memory::OnBoard => (bar0::DATA_DRAM, window::DRAM_WINDOW_BYTES),
            // The SSD reads its PRP lists there, and nothing else.
            Memory::Host => (bar0::PRP_LISTS, window::PRP_LISTS_BYTES),
        }
    }

    /// Bytes of the payload buffer in its BAR or in host memory.
    pub(crate) const fn payload_bytes(&self, parameters: &Parameters) -> u64 {
        match self.memory {
            Memory::OnChip => {
                (parameters.pages as u64 * window::PAGE_BYTES) << parameters.unit_shift
            }
            Memory::OnBoard | Memory::Host => window::DRAM_WINDOW_BYTES,
        }
    }

    /// Reads a register by its offset.
    pub fn read(&self, bus: &mut dyn Bus, offset: u64) -> Result<u64, Error> {
        Ok(bus.bar_read64(self.device, self.bar, self.base + offset)?)
    }

    /// Writes a register by its offset.
    pub fn write(&self, bus: &mut dyn Bus, offset: u64, value: u64) -> Result<(), Error> {
        Ok(bus.bar_write64(self.device, self.bar, self.base + offset, value)?)
    }

    /// What the RTL was built with, checked. SNAcc's has 64 entries and 1024 pages.
    ///
    /// # Errors
    /// Where the registers contradict themselves.
    pub fn parameters(&self, bus: &mut dyn Bus) -> Result<Parameters, Error> {
        if !self.extended {
            let cq_offset = window::cq_offset(64);
            return Ok(Parameters {
                version: 0,
                queue_depth: 64,
                pages: 1024,
                unit_shift: 0,
                cq_offset,
                reserve_pages: 0,
                drives: 1,
                parity_pages: 0,
            });
        }
        let version = self.read(bus, regs::version::OFFSET)? as u32;
        let bits = self.read(bus, regs::parameters::OFFSET)?;
        let depth = regs::parameters::QUEUE_DEPTH.get(bits);
        let cq_offset = regs::parameters::CQ_OFFSET.get(bits) << 6;
        let depths = window::QUEUE_DEPTH_LEAST..=window::QUEUE_DEPTH_MOST;
        if !depths.contains(&depth) || cq_offset != window::cq_offset(depth) {
            return Err(Error::Refused {
                field: "the streamer's parameters",
                value: format!("depth {depth}, completion queue at {cq_offset:#x}"),
                limit:
                    "a depth of 2 to 1024, and the completion queue behind the submission queue \
                        at a multiple of 4096"
                        .into(),
                remedy: "driver and bitstream are of different versions: build both anew",
            });
        }
        let unit_shift = regs::parameters::UNIT_SHIFT.get(bits) as u32;
        let most = match self.memory {
            Memory::OnChip => 0,
            Memory::OnBoard | Memory::Host => window::DRAM_UNIT_SHIFT,
        };
        if unit_shift > most {
            return Err(Error::Refused {
                field: "the streamer's parameters",
                value: format!("units of {} pages", 1u32 << unit_shift),
                limit: format!("at most {} with its memory", 1u32 << most),
                remedy: "driver and bitstream are of different versions: build both anew",
            });
        }
        let pages = regs::parameters::PAGES.get(bits);
        let counts = match self.memory {
            Memory::OnChip => window::BUFFER_PAGES_LEAST..=window::BUFFER_PAGES_MOST,
            Memory::OnBoard | Memory::Host => window::BUFFER_PAGES..=window::BUFFER_PAGES,
        };
        if !counts.contains(&pages) || !pages.is_power_of_two() {
            return Err(Error::Refused {
                field: "the streamer's parameters",
                value: format!("a buffer of {pages} units"),
                limit: format!("a power of two from {} to {}", counts.start(), counts.end()),
                remedy: "driver and bitstream are of different versions: build both anew",
            });
        }
        let drives = regs::parameters::DRIVES_MOST.get(bits).max(1) as u32;
        let layout = match drives {
            1 => 0,
            _ => self.read(bus, regs::layout::OFFSET)?,
        };
        Ok(Parameters {
            version,
            queue_depth: depth as u32,
            pages: pages as u32,
            unit_shift,
            cq_offset,
            reserve_pages: regs::parameters::RESERVE_PAGES.get(bits) as u32,
            drives,
            parity_pages: regs::layout::PARITY_PAGES.get(layout) as u32,
        })
    }

    /// Clears `enable`, after waiting up to `limit` for what is under way. Returns whether the
    /// streamer had come to rest: if not, transactions were cut off.
    ///
    /// # Errors
    /// Where the bus fails or the card has gone.
    pub fn disable(&self, bus: &mut dyn Bus, limit: Duration) -> Result<bool, Error> {
        let enabled = regs::enable::ENABLE.get(self.read(bus, regs::enable::OFFSET)?) != 0;
        let mut rested = true;
        if enabled && self.extended {
            rested = poll::wait(bus, limit, |bus| {
                let status = self.status(bus)?;
                Ok((status.idle || status.halted).then_some(status.idle))
            })?
            .unwrap_or(false);
        }
        self.stop(bus)?;
        Ok(rested)
    }

    /// Clears `enable` at once.
    pub fn stop(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        self.write(bus, regs::enable::OFFSET, 0)
    }

    /// Writes the registers and reads them back. The streamer must be disabled.
    ///
    /// # Errors
    /// Where a value does not fit, or does not stick.
    pub fn configure(&self, bus: &mut dyn Bus, config: &Config) -> Result<(), Error> {
        self.check(config)?;
        // Of on-board DRAM each half has a register of its own: writes below, reads above.
        let data = config.data_window;
        let mut writes = match config.dram {
            Some(_) => vec![
                register!(data_write, data),
                register!(data_read, data + window::DRAM_BUFFER_BYTES),
            ],
            None => vec![register!(data_window, data)],
        };
        for (drive, number) in config.drives.iter().zip(0..) {
            let offsets = match number {
                0 => [
                    regs::sq_doorbell::OFFSET,
                    regs::cq_doorbell::OFFSET,
                    regs::nsid::OFFSET,
                ],
                n => [
                    regs::drive_sq_doorbell::of(n),
                    regs::drive_cq_doorbell::of(n),
                    regs::drive_nsid::of(n),
                ],
            };
            writes.extend([
                ("sq_doorbell", offsets[0], drive.sq_doorbell),
                ("cq_doorbell", offsets[1], drive.cq_doorbell),
                ("nsid", offsets[2], u64::from(drive.nsid)),
            ]);
        }
        if config.layout.drives() > 1 {
            let layout = self.read(bus, regs::layout::OFFSET)?;
            writes.push(register!(layout, config.layout.register(layout)));
            let region = config.layout.region().unwrap_or(0) >> 9;
            writes.push(register!(region, region));
            // In place of what an earlier life has left.
            for drive in 0..config.layout.drives() {
                let offline = config.missing.is_some_and(|one| u64::from(one) == drive);
                let state = regs::drive_state::OFFLINE.put(u64::from(offline));
                writes.push(("drive_state", regs::drive_state::of(drive), state));
            }
        }
        if let Some(dram) = config.dram {
            let outbound = |address: u64| address.wrapping_add(config.outbound.memory);
            writes.extend([
                register!(prp_lists, dram.prp_lists),
                register!(dram_read, outbound(dram.read)),
                register!(dram_write, outbound(dram.write)),
            ]);
        }
        if let Some(host) = &config.host {
            writes.push(register!(prp_lists, host.prp_lists));
            let tables = [
                register!(host_read, host.read),
                register!(host_write, host.write),
            ];
            for (name, table, segments) in tables {
                let places = (table..).step_by(8).zip(segments);
                writes.extend(places.map(|(offset, segment)| (name, offset, segment)));
            }
        }
        if self.extended {
            let mut chunk = self.read(bus, regs::chunk::OFFSET)?;
            if let Some(pages) = config.chunk_pages {
                chunk = regs::chunk::PAGES.set(chunk, u64::from(pages));
            }
            if let Some(busy) = config.busy_commands {
                chunk = regs::chunk::BUSY_COMMANDS.set(chunk, u64::from(busy));
            }
            writes.extend([
                register!(doorbell_offset, config.outbound.doorbells),
                register!(memory_offset, config.outbound.memory),
                register!(block_shift, config.block_shift.into()),
                register!(transfer_pages, config.transfer_pages.into()),
                register!(namespace_sectors, config.namespace_sectors),
                register!(timeout_cycles, config.timeout_cycles.into()),
                register!(retry_limit, config.retry_limit.into()),
                register!(queue_entries, config.queue_entries.into()),
                register!(chunk, chunk),
            ]);
        }
        for (name, offset, value) in writes {
            self.write(bus, offset, value)?;
            // SNAcc's registers do not all read back.
            let seen = if self.extended {
                self.read(bus, offset)?
            } else {
                value
            };
            if seen != value {
                return Err(Error::Refused {
                    field: "a streamer register",
                    value: format!("`{name}` reads {seen:#x}"),
                    limit: format!("{value:#x} was written"),
                    remedy: "driver and bitstream are of different versions, or the registers \
                             stand elsewhere in the BAR",
                });
            }
        }
        Ok(())
    }

    /// Refuses what the streamer cannot hold.
    fn check(&self, config: &Config) -> Result<(), Error> {
        let drives = config.drives.iter().flat_map(|drive| {
            let DrivePlace { nsid, .. } = *drive;
            let doorbell = |name, at: u64| (name, at, at.is_multiple_of(4), "a multiple of 4");
            [
                doorbell("sq_doorbell", drive.sq_doorbell),
                doorbell("cq_doorbell", drive.cq_doorbell),
                ("nsid", nsid.into(), nsid != 0, "not 0"),
            ]
        });
        let data = config.data_window;
        let holds_dram = config.dram.is_none() || data.is_multiple_of(window::DRAM_WINDOW_BYTES);
        let pages = |name, pages: u64| (name, pages, (1..=256).contains(&pages), "1 to 256");
        let (entries, retries) = (config.queue_entries, config.retry_limit);
        let outbound = config.outbound;
        let checks = [
            (
                "data_window",
                data,
                data.is_multiple_of(window::DATA_WINDOW_BYTES),
                "a multiple of 8 MiB, so that one bit selects the PRP lists: the BAR must be \
                 aligned to its size",
            ),
            (
                "data_window",
                data,
                holds_dram,
                "a multiple of 128 MiB, as large as both buffers in DRAM",
            ),
            (
                "doorbell_offset",
                outbound.doorbells,
                outbound.doorbells.is_multiple_of(4096),
                "a multiple of 4 KiB",
            ),
            (
                "memory_offset",
                outbound.memory,
                outbound.memory.is_multiple_of(window::DRAM_BUFFER_BYTES),
                "a multiple of 64 MiB",
            ),
            pages("transfer_pages", config.transfer_pages.into()),
            ("queue_entries", entries.into(), entries >= 2, "at least 2"),
            ("retry_limit", retries.into(), retries <= 15, "0 to 15"),
            pages("chunk_pages", config.chunk_pages.unwrap_or(1).into()),
        ];
        let segments = config.host.iter().flat_map(|host| {
            let segments = host.read.iter().chain(&host.write);
            segments.map(|segment| {
                let good = segment.is_multiple_of(window::HOST_SEGMENT_BYTES);
                let limit = "a multiple of 4 MiB, the size of a segment";
                ("host buffer", *segment, good, limit)
            })
        });
        for (parameter, value, good, limit) in drives.chain(checks).chain(segments) {
            if !good {
                let limit = format!("it must be {limit}");
                return Err(Error::parameter(parameter, value, limit));
            }
        }
        if !self.extended && (config.block_shift != 9 || config.transfer_pages != 256) {
            return Err(Error::Refused {
                field: "what the drive needs",
                value: format!(
                    "blocks of {} bytes, commands of up to {} KiB",
                    1u64 << (config.block_shift & 63),
                    4 * u32::from(config.transfer_pages)
                ),
                limit: "this streamer has no registers for that: 512 bytes and 1024 KiB are fixed"
                    .into(),
                remedy: "use Forebay's streamer, or a drive with these values",
            });
        }
        Ok(())
    }

    /// Sets `enable` and waits until the tables are swept.
    ///
    /// # Errors
    /// Where it is not ready within `limit`.
    pub fn enable(&self, bus: &mut dyn Bus, limit: Duration) -> Result<(), Error> {
        self.write(bus, regs::enable::OFFSET, 1)?;
        if !self.extended {
            return Ok(());
        }
        let mut last = None;
        let done = poll::wait(bus, limit, |bus| {
            let status = self.status(bus)?;
            last = Some(status);
            Ok((status.ready && status.enabled && !status.halted).then_some(()))
        })?;
        done.ok_or_else(|| Error::Timeout {
            what: "the streamer's start (status.ready)",
            limit,
            seen: format!("its status is {last:?}"),
            remedy: "check that its clock runs and its reset is released",
        })
    }
}

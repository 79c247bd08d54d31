// SPDX-License-Identifier: Apache-2.0
//! An NVMe drive: PCI function, controller, medium, and the time they take.
//!
//! A command's way through these files is the way through a drive:
//!
//! 1. `doorbells`: the host writes a doorbell in BAR 0; announced entries are fetched.
//! 2. `controller`: registers, reset, readiness; entries arrive and become commands.
//! 3. `admin`, `queue_admin`, `feature`, `log_page`, `io`: what a command asks for is checked.
//! 4. `prp`, `transfer`: its data move between the caller's pages and the medium.
//! 5. `flash`: how long that takes, with `store` (buffer and SLC cache), `heat` and `pauses`.
//!    Without timing everything happens at once, in the same step.
//! 6. `complete`: the completion entry is written, perhaps with a `fault`.
//!
//! `record` keeps the last events on this way, for those who look into a queue that hangs.
//!
//! Follows *NVMe Base 2.0c* and *NVM Command Set 1.0c*; reports version 1.4. What it does not
//! know it refuses with the specified status. Does not implement: SGLs, metadata, fused commands,
//! weighted arbitration, power states but one, firmware update, namespace management, sanitize.

mod admin;
mod commands;
mod complete;
mod controller;
mod doorbells;
mod events;
mod fault;
mod feature;
mod flash;
mod format;
mod heat;
mod history;
mod io;
mod log_page;
mod msix;
mod pages;
mod pauses;
mod prp;
mod queue_admin;
mod queues;
mod record;
mod registers;
mod store;
mod transfer;

pub use fault::{Fault, FaultAction, FaultPlan, Trigger};
pub use history::{History, Pages};
pub use pages::PageEvent;
pub use record::{RECORD_EVENTS, Record, RecordEntry};

use crate::pci::{ConfigSpace, Function, Identity, MsixTable};
use crate::profile::ssd_profile;
use crate::{Arrival, Fabric, FabricProfile, Medium, ModelError, Node, SsdProfile, Time};
use commands::{Commands, Reads};
use events::{Event, EventQueue};
use feature::Features;
use flash::Flash;
use forebay_spec::nvme::{Sqe, regs};
use forebay_spec::pci;
use log_page::Log;
use msix::Msix;
use queues::{CompletionQueue, SubmissionQueue};
use registers::Registers;
use std::ops::Range;

/// PCI vendor of the model. Not assigned by the PCI-SIG: it occurs in simulation only.
pub const PCI_VENDOR: u16 = 0xfb1e;
/// PCI device of the model.
pub const PCI_DEVICE: u16 = 0x0001;

/// Greatest number of interrupt vectors offered.
const MAX_VECTORS: u16 = 64;

/// What a drive has done since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SsdStats {
    /// I/O commands fetched.
    pub commands: u64,
    /// Read commands completed without error.
    pub reads: u64,
    /// Write commands completed without error.
    pub writes: u64,
    /// Flush commands completed without error.
    pub flushes: u64,
    /// Bytes read from the medium.
    pub bytes_read: u64,
    /// Bytes written to the medium.
    pub bytes_written: u64,
    /// Commands, admin ones included, completed with an error status.
    pub failed: u64,
    /// Reads of submission entries; one fetches several.
    pub fetches: u64,
    /// Doorbell writes with a value that cannot be, or to no queue.
    pub invalid_doorbells: u64,
    /// Completions that had to wait because their queue was full.
    pub completions_delayed: u64,
    /// Accesses to BAR 0 that are not 4 or 8 bytes wide, or not aligned.
    pub odd_accesses: u64,
    /// Faults committed.
    pub faults: u64,
}

/// A namespace and its place on the medium.
#[derive(Clone, Copy, Debug)]
struct Namespace {
    base: u64,
    bytes: u64,
    blocks: u64,
    shift: u8,
}

/// A drive on the fabric. See the [module](self).
#[derive(Debug)]
pub struct Ssd {
    node: Node,
    profile: SsdProfile,
    /// Serial number: two drives of one machine have to differ in it.
    serial: String,
    config: ConfigSpace,
    msix: Msix,
    registers: Registers,
    /// Counts enablings and disablings, so that events of an earlier life are known.
    epoch: u32,
    /// Counts submission queues made, for the same reason.
    queue_epoch: u32,
    running: bool,
    submission: Vec<Option<SubmissionQueue>>,
    completion: Vec<Option<CompletionQueue>>,
    /// The submission queue that is served first when commands can be fetched again.
    turn: u16,
    commands: Commands,
    reads: Reads,
    /// Entries asked for and not yet arrived.
    fetching: u32,
    /// Announced entries were left where they are, since too many commands are under way.
    starved: bool,
    events: EventQueue,
    flash: Option<Flash>,
    features: Features,
    log: Log,
    namespaces: Vec<Namespace>,
    medium: Medium,
    faults: FaultPlan,
    stats: SsdStats,
    record: Record,
    history: Option<History>,
    page_events: Option<Vec<PageEvent>>,
}

impl Ssd {
    /// A drive that has just got power, as [`Node::Ssd`]`(0)`.
    ///
    /// # Errors
    /// Where the profile's values cannot be, or the medium is too small.
    pub fn new(profile: &SsdProfile, medium: Medium, seed: u64) -> Result<Self, ModelError> {
        ssd_profile(profile)?;
        if medium.len() < profile.bytes() {
            return Err(ModelError::MediumTooSmall {
                medium: medium.len(),
                namespaces: profile.bytes(),
            });
        }
        let controller = &profile.controller;
        let queues = controller.io_queues as usize + 1;
        let vectors = (controller.io_queues + 1).min(MAX_VECTORS);
        // BAR 0: registers, doorbells, then table and pending bits of MSI-X in pages of their own.
        let doorbells_end = regs::sq_doorbell(queues as u16, controller.doorbell_stride);
        let table = doorbells_end.next_multiple_of(4096);
        let pending = (table + vectors as u64 * pci::msix::ENTRY_BYTES).next_multiple_of(4096);
        let identity = Identity {
            vendor: PCI_VENDOR,
            device: PCI_DEVICE,
            class: pci::CLASS_NVME,
            revision: 0,
        };
        let msix_table = MsixTable {
            vectors,
            table: table as u32,
            pending: pending as u32,
        };
        let mut base = 0;
        let namespaces = profile.namespaces.iter().map(|namespace| {
            let start = base;
            base += namespace.bytes;
            let shift = namespace.block_shift;
            Namespace {
                base: start,
                bytes: namespace.bytes,
                blocks: namespace.bytes >> shift,
                shift,
            }
        });
        Ok(Self {
            node: Node::Ssd(0),
            config: ConfigSpace::new(identity, pending + 4096, Some(msix_table)),
            msix: Msix::new(msix_table),
            registers: Registers::new(controller),
            epoch: 0,
            queue_epoch: 0,
            running: false,
            submission: (0..queues).map(|_| None).collect(),
            completion: (0..queues).map(|_| None).collect(),
            turn: 0,
            commands: Commands::default(),
            reads: Reads::default(),
            fetching: 0,
            starved: false,
            events: EventQueue::default(),
            flash: profile.timing.map(|timing| Flash::new(timing, seed)),
            features: Features::new(controller),
            log: Log::default(),
            namespaces: namespaces.collect(),
            medium,
            faults: FaultPlan::none(),
            stats: SsdStats::default(),
            record: Record::default(),
            history: None,
            page_events: None,
            // 13 digits are left of the field's 20 characters.
            serial: format!("FOREBAY{:04}", seed % 10_000_000_000_000),
            profile: profile.clone(),
        })
    }

    /// The same drive at another node.
    #[must_use]
    pub fn at(mut self, node: Node) -> Self {
        self.node = node;
        self
    }

    /// Where it is.
    pub const fn node(&self) -> Node {
        self.node
    }

    /// Sets the faults to commit from now on.
    pub fn set_faults(&mut self, faults: FaultPlan) {
        if let Some(time) = faults.fatal_at {
            self.events.push(time, Event::Fatal);
        }
        if let Some(time) = faults.not_ready_at {
            self.events.push(time, Event::NotReady);
        }
        self.faults = faults;
    }

    /// Reads the dword at an offset of configuration space.
    pub fn config_read(&self, offset: u16) -> u32 {
        self.config.read(offset)
    }

    /// Writes the dword at an offset of configuration space.
    pub fn config_write(&mut self, offset: u16, value: u32) {
        self.config.write(offset, value);
    }

    /// CSTS.RDY is set.
    pub const fn is_ready(&self) -> bool {
        self.registers.csts.ready
    }

    /// Lets configuration space say which payloads the fabric carries.
    pub fn set_payload(&mut self, fabric: &FabricProfile) {
        self.config.set_payload(fabric);
    }

    /// Supports payload of up to this number of bytes, and leaves it to software what is in use.
    pub fn offer_payload(&mut self, bytes: u32) {
        self.config.offer_payload(bytes);
    }

    /// The interrupt vectors, and where their table and pending bits stand in BAR 0.
    pub const fn msix_table(&self) -> &MsixTable {
        self.msix.place()
    }

    /// Bytes of BAR 0, a power of two.
    pub const fn bar_bytes(&self) -> u64 {
        self.config.bar_bytes()
    }

    /// Bus addresses of BAR 0 once placed and enabled, for [`Fabric::map`].
    pub fn bar_range(&self) -> Option<Range<u64>> {
        self.config.bar_range()
    }

    /// Does everything that is due by now.
    pub fn step(&mut self, now: Time, fabric: &mut Fabric) {
        self.send_pending(now, fabric);
        loop {
            let mut idle = true;
            while let Some((time, event)) = self.events.pop(now) {
                idle = false;
                self.happen(time, fabric, event);
            }
            while let Some(arrival) = fabric.poll(now, self.node) {
                idle = false;
                match arrival {
                    Arrival::Request {
                        request, ticket, ..
                    } => {
                        self.access(now, fabric, request, ticket);
                    }
                    Arrival::Completion(completion) => self.answered(now, fabric, completion),
                }
            }
            if self.starved && self.room() > 0 {
                self.starved = false;
                idle = false;
                self.fetch_all(now, fabric);
            }
            if idle {
                return;
            }
        }
    }

    /// When the drive next has something to do by itself; `None`: it only waits for others.
    pub fn next_event(&self) -> Option<Time> {
        match self.msix.is_due(&self.config) {
            true => Some(0),
            false => self.events.next_time(),
        }
    }

    /// Whether it has scheduled a step of a command or of its controller's life: then it will go on
    /// by itself, however long its flash takes.
    pub const fn is_working(&self) -> bool {
        self.events.has_work()
    }

    /// What it has done so far.
    pub const fn stats(&self) -> &SsdStats {
        &self.stats
    }

    /// Its profile.
    pub const fn profile(&self) -> &SsdProfile {
        &self.profile
    }

    /// What is stored.
    pub const fn medium(&self) -> &Medium {
        &self.medium
    }

    /// What is stored, to prepare or damage it.
    pub const fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// From now on keeps all that it is given to store, for [`Self::history`]: memory for each byte.
    pub fn keep_history(&mut self) {
        self.history = Some(History::default());
    }

    /// What it was given to store since [`Self::keep_history`].
    pub const fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// I/O commands fetched and not yet completed.
    pub fn in_flight(&self) -> u32 {
        self.commands.io_in_flight()
    }

    /// The same, each with its entry and when it was fetched, the oldest first.
    pub fn outstanding(&self) -> Vec<(Time, Sqe)> {
        self.commands.io_under_way()
    }
}

impl Function for Ssd {
    fn config_read(&self, offset: u16) -> u32 {
        self.config.read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        self.config.write(offset, value);
    }

    fn memory(&self) -> Vec<Range<u64>> {
        self.config.memory()
    }

    fn reset(&mut self) {
        self.function_reset();
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A scripted bus: one NVMe controller and one FPGA card that do what a test tells them to.
//!
//! Just enough of a controller to answer the driver, and every way of answering it wrongly.

use std::collections::BTreeMap;
use std::time::Duration;

use forebay_driver::{Bus, BusError, BusResult, DmaBuffer, PciAddress};
use forebay_spec::nvme::identify::{self, IdentifyController, IdentifyNamespace, LbaFormat};
use forebay_spec::nvme::log::ErrorEntry;
use forebay_spec::nvme::regs::{self, Aqa, Cap};
use forebay_spec::nvme::{Cqe, Sqe, Status};
use forebay_spec::streamer::{self as spec, bar0, regs as sregs};

/// Where the drive stands.
pub const NVME: PciAddress = PciAddress::new(1, 0, 0);
/// Where the card stands.
pub const FPGA: PciAddress = PciAddress::new(2, 0, 0);
/// Bus address of the drive's BAR 0.
pub const NVME_BAR: u64 = 0x8000_0000;
/// Bus address of the card's BAR 0.
pub const FPGA_BAR: u64 = 0x9000_0000;
/// Bus address of the first byte of host memory.
const MEMORY: u64 = 0x1_0000_0000;

/// What the controller does wrongly.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// CSTS.RDY does not turn to 1.
    pub never_ready: bool,
    /// CSTS.RDY does not turn to 1 before this time.
    pub ready_at: Duration,
    /// CSTS.RDY does not turn to 0.
    pub never_disabled: bool,
    /// CSTS.RDY turns to 0 at shutdown.
    pub shutdown_ends_ready: bool,
    /// CSTS.CFS is 1, and CSTS.RDY is 0, until the next reset.
    pub fatal_until_reset: bool,
    /// CSTS.CFS turns to 1 as this admin command (0 upwards) is to be answered.
    pub fatal_at: Option<u32>,
    /// This admin command is not answered.
    pub silent_at: Option<u32>,
    /// CSTS.SHST does not become complete.
    pub never_shut_down: bool,
    /// Admin completions have the wrong phase.
    pub wrong_phase: bool,
    /// Number of completions of unknown commands before each true one.
    pub rogue_cids: u16,
    /// All bits read as one from this access on.
    pub removed_at: Option<u64>,
    /// Commands with this opcode on the admin queue get this status.
    pub status: Option<(u8, Status)>,
    /// Identify does not know the active namespace list.
    pub no_namespace_list: bool,
    /// The streamer's `status.ready` stays 0.
    pub streamer_not_ready: bool,
    /// This streamer register reads back wrongly.
    pub deaf_register: Option<u64>,
    /// The command register of this function cannot be changed.
    pub deaf_command: Option<PciAddress>,
    /// No memory is left for this allocation (0 upwards) and those behind it.
    pub short_at: Option<u32>,
}

/// A queue pair that the driver has created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Bus address of the submission queue.
    pub sq: u64,
    /// Bus address of the completion queue.
    pub cq: u64,
    /// Entries.
    pub entries: u32,
    head: u32,
    tail: u32,
    cq_tail: u32,
    flipped: bool,
}

/// The bus, the devices and what they saw.
pub struct Fake {
    /// CAP.
    pub cap: u64,
    /// Identify Controller.
    pub controller: [u8; identify::BYTES],
    /// Identify Namespace, for any identifier.
    pub namespace: [u8; identify::BYTES],
    /// Active namespace list.
    pub active: [u8; identify::BYTES],
    /// Result of Set Features, number of queues.
    pub granted: u32,
    /// What goes wrong.
    pub faults: Faults,
    /// I/O queues by identifier.
    pub queues: BTreeMap<u16, Queue>,
    /// I/O commands in the order of fetching. The test answers them with [`Fake::answer`].
    pub fetched: Vec<Sqe>,
    /// Error Information log, newest first.
    pub error_log: Vec<ErrorEntry>,
    /// Eight bytes at an offset of the streamer's queue window.
    pub queue_window: BTreeMap<u64, u64>,
    /// The streamer's registers.
    pub streamer: BTreeMap<u64, u64>,
    /// Commands that the streamer's status reports as outstanding.
    pub outstanding: u64,
    /// What `trace_head` reads from the second time on.
    pub trace_head_later: Option<u64>,
    /// Time passes no more.
    pub frozen: bool,
    /// The controller was disabled or enabled while the streamer ran.
    pub reset_under_streamer: bool,
    /// CC.EN was cleared while the controller was starting, which has undefined results (3.1.3.5).
    pub reset_while_starting: bool,
    /// The drive could send requests before CC.EN and CSTS.RDY were 0.
    pub master_before_reset: bool,
    /// Opcodes of admin commands seen.
    pub admin: Vec<u8>,
    /// Bytes of DMA memory that are taken.
    pub taken: usize,
    /// Accesses of any kind.
    pub accesses: u64,
    /// Configuration space of drive and card: 64 registers each.
    pub config: BTreeMap<PciAddress, [u32; 64]>,
    /// Bytes of BAR 0 of drive and card.
    pub bar_bytes: BTreeMap<PciAddress, u64>,
    registers: BTreeMap<u64, u32>,
    admin_queue: Queue,
    memory: Vec<u8>,
    next: usize,
    allocations: u32,
    time: Duration,
}

impl Fake {
    /// A good drive of 1 MiB in blocks of 512 bytes, and a card with queue depth 64.
    pub fn new() -> Self {
        let cap = Cap {
            max_queue_entries: 1024,
            contiguous_queues: true,
            timeout: 4,
            doorbell_stride: 0,
            nvm_command_set: true,
            page_min: 0,
            page_max: 0,
        };
        let mut fake = Self {
            cap: cap.bits(),
            controller: [0; identify::BYTES],
            namespace: [0; identify::BYTES],
            active: [0; identify::BYTES],
            granted: 7 << 16 | 7,
            faults: Faults::default(),
            queues: BTreeMap::new(),
            fetched: Vec::new(),
            error_log: Vec::new(),
            queue_window: BTreeMap::new(),
            streamer: sregs::ALL.iter().map(|(_, offset)| (*offset, 0)).collect(),
            outstanding: 0,
            trace_head_later: None,
            frozen: false,
            reset_under_streamer: false,
            reset_while_starting: false,
            master_before_reset: false,
            admin: Vec::new(),
            taken: 0,
            accesses: 0,
            config: BTreeMap::new(),
            bar_bytes: BTreeMap::from([(NVME, 0x4000), (FPGA, bar0::BYTES)]),
            registers: BTreeMap::new(),
            admin_queue: Queue::default(),
            memory: vec![0; 32 << 20],
            next: 0,
            allocations: 0,
            time: Duration::ZERO,
        };
        fake.set_controller(|_| {});
        fake.set_namespace(2048, 9, 0);
        identify::write_active_list(&mut fake.active, [1].into_iter(), 0);
        for (offset, value) in [
            (
                sregs::identity::OFFSET,
                forebay_spec::streamer::IDENTITY_ONCHIP,
            ),
            (sregs::version::OFFSET, sregs::version::RESET),
            (
                sregs::parameters::OFFSET,
                64 | 1024 << 16 | 0x40 << 32 | 64 << 48,
            ),
            (sregs::chunk::OFFSET, sregs::chunk::RESET),
        ] {
            fake.streamer.insert(offset, value);
        }
        fake.config
            .insert(NVME, config(0x1234_144d, 0x0108_0200, NVME_BAR));
        let ids = u32::from(spec::PCI_DEVICE) << 16 | u32::from(spec::PCI_VENDOR);
        fake.config.insert(FPGA, config(ids, 0x1200_0000, FPGA_BAR));
        fake
    }

    /// Changes CAP.
    pub fn set_cap(&mut self, change: impl FnOnce(&mut Cap)) {
        let mut cap = Cap::from_bits(self.cap);
        change(&mut cap);
        self.cap = cap.bits();
    }

    /// Writes Identify Controller anew.
    pub fn set_controller(&mut self, change: impl FnOnce(&mut IdentifyController)) {
        let mut controller = IdentifyController {
            mdts: 8,
            namespaces: 1,
            vwc: 1,
            ..Default::default()
        };
        controller.set_names("SERIAL", "A scripted drive", "1.0");
        change(&mut controller);
        controller.write_to(&mut self.controller);
    }

    /// Writes Identify Namespace anew, with one format.
    pub fn set_namespace(&mut self, size: u64, shift: u8, metadata: u16) {
        let mut namespace = IdentifyNamespace {
            size,
            format_count: 1,
            ..Default::default()
        };
        namespace.formats[0] = LbaFormat {
            metadata,
            shift,
            performance: 0,
        };
        namespace.write_to(&mut self.namespace);
    }

    /// The drive or the card may send requests.
    pub fn bus_master(&self) -> bool {
        self.config.values().any(|space| space[1] & 4 != 0)
    }

    /// The drive as a program that was killed leaves it: enabled, and bus master.
    pub fn leave_enabled(&mut self) {
        self.registers.insert(regs::CC, 1);
        self.config.get_mut(&NVME).expect("there")[1] |= 4;
    }

    /// CC.EN.
    pub fn enabled(&self) -> bool {
        self.registers.get(&regs::CC).is_some_and(|cc| cc & 1 != 0)
    }

    /// Puts a completion into an I/O completion queue.
    pub fn answer(&mut self, queue: u16, entry: Cqe) {
        let mut at = self.queues[&queue];
        self.post(&mut at, entry, false);
        self.queues.insert(queue, at);
    }

    /// Reads memory as a device does.
    pub fn device_read(&self, address: u64, length: usize) -> &[u8] {
        let at = (address - MEMORY) as usize;
        &self.memory[at..at + length]
    }

    fn post(&mut self, queue: &mut Queue, mut entry: Cqe, wrong_phase: bool) {
        entry.phase = !queue.flipped ^ wrong_phase;
        let at = (queue.cq - MEMORY) as usize + queue.cq_tail as usize * Cqe::BYTES;
        self.memory[at..at + Cqe::BYTES].copy_from_slice(&entry.to_bytes());
        queue.cq_tail = (queue.cq_tail + 1) % queue.entries;
        queue.flipped ^= queue.cq_tail == 0;
    }

    fn csts(&self) -> u32 {
        let cc = self.registers.get(&regs::CC).copied().unwrap_or(0);
        let Faults {
            ready_at,
            shutdown_ends_ready,
            fatal_until_reset,
            ..
        } = self.faults;
        let stopped = fatal_until_reset || shutdown_ends_ready && cc >> 14 & 3 != 0;
        let ready = match cc & 1 {
            0 => self.faults.never_disabled,
            _ => !self.faults.never_ready && self.time >= ready_at && !stopped,
        };
        let fatal = self
            .faults
            .fatal_at
            .is_some_and(|n| (n as usize) < self.admin.len());
        let fatal = fatal || fatal_until_reset;
        let shut = if cc >> 14 & 3 == 0 {
            0
        } else if self.faults.never_shut_down {
            1
        } else {
            2
        };
        u32::from(ready) | u32::from(fatal) << 1 | shut << 2
    }

    fn nvme_write(&mut self, offset: u64, value: u32) {
        if offset == regs::CC && value & 1 == 0 && self.enabled() {
            self.reset_while_starting |= self.csts() == 0;
            self.master_before_reset |= self.config[&NVME][1] & 4 != 0;
            self.faults.fatal_until_reset = false;
        }
        self.registers.insert(offset, value);
        let streams = self.streamer[&sregs::enable::OFFSET] != 0;
        self.reset_under_streamer |= offset == regs::CC && streams;
        if offset == regs::CC && value & 1 == 0 {
            self.queues.clear();
            self.admin_queue = Queue::default();
        }
        let stride = 4u64 << Cap::from_bits(self.cap).doorbell_stride;
        if offset < regs::DOORBELLS || !(offset - regs::DOORBELLS).is_multiple_of(2 * stride) {
            return;
        }
        match ((offset - regs::DOORBELLS) / (2 * stride)) as u16 {
            0 => self.admin_doorbell(value),
            id => self.io_doorbell(id, value),
        }
    }

    fn admin_doorbell(&mut self, tail: u32) {
        let mut queue = self.admin_queue;
        if queue.entries == 0 {
            let half = |offset| u64::from(self.registers.get(&offset).copied().unwrap_or(0));
            let aqa = self.registers.get(&regs::AQA).copied().unwrap_or(0);
            queue = Queue {
                sq: half(regs::ASQ) | half(regs::ASQ + 4) << 32,
                cq: half(regs::ACQ) | half(regs::ACQ + 4) << 32,
                entries: Aqa::from_bits(aqa).sq_entries.into(),
                ..Queue::default()
            };
        }
        while queue.head != tail % queue.entries {
            let entry = self.fetch(&mut queue);
            let number = self.admin.len() as u32;
            self.admin.push(entry.opcode);
            let (status, result) = self.admin_command(&entry);
            if [self.faults.silent_at, self.faults.fatal_at].contains(&Some(number)) {
                continue;
            }
            let sq_head = queue.head as u16;
            let answer = Cqe {
                cid: entry.cid,
                status,
                result,
                sq_head,
                ..Cqe::default()
            };
            for n in 0..self.faults.rogue_cids {
                let rogue = Cqe {
                    cid: entry.cid ^ (0x8000 + n),
                    ..answer
                };
                self.post(&mut queue, rogue, false);
            }
            self.post(&mut queue, answer, self.faults.wrong_phase);
        }
        self.admin_queue = queue;
    }

    fn admin_command(&mut self, entry: &Sqe) -> (Status, u32) {
        if let Some((_, status)) = self.faults.status.filter(|(code, _)| *code == entry.opcode) {
            return (status, 0);
        }
        if matches!(entry.opcode, 0x01 | 0x05)
            && (entry.cdw11() & 1 == 0 || entry.cdw10() >> 16 == 0)
        {
            return (Status::INVALID_FIELD, 0);
        }
        let (id, size) = (entry.cdw10() as u16, (entry.cdw10() >> 16) + 1);
        match entry.opcode {
            0x00 | 0x04 => drop(self.queues.remove(&id)),
            0x01 => {
                // Contiguous, for the completion queue of the same number and size.
                let cq = (entry.cdw11() >> 16) as u16;
                match self.queues.get_mut(&id) {
                    Some(queue) if cq == id && queue.entries == size => queue.sq = entry.prp1,
                    _ => return (Status::CQ_INVALID, 0),
                }
            }
            0x05 => {
                let queue = Queue {
                    cq: entry.prp1,
                    entries: size,
                    ..Queue::default()
                };
                self.queues.insert(id, queue);
            }
            0x02 => {
                let bytes = (entry.cdw10() as usize >> 16) * 4 + 4;
                let log: Vec<u8> = self
                    .error_log
                    .iter()
                    .flat_map(ErrorEntry::to_bytes)
                    .collect();
                let at = (entry.prp1 - MEMORY) as usize;
                let count = bytes.min(log.len());
                self.memory[at..at + count].copy_from_slice(&log[..count]);
            }
            0x06 if entry.cdw10() == 2 && self.faults.no_namespace_list => {
                return (Status::INVALID_FIELD, 0);
            }
            0x06 => {
                let page = match entry.cdw10() as u8 {
                    1 => self.controller,
                    2 => self.active,
                    _ => self.namespace,
                };
                let at = (entry.prp1 - MEMORY) as usize;
                self.memory[at..at + page.len()].copy_from_slice(&page);
            }
            0x09 => return (Status::SUCCESS, self.granted),
            _ => return (Status::INVALID_OPCODE, 0),
        }
        (Status::SUCCESS, 0)
    }

    fn io_doorbell(&mut self, id: u16, tail: u32) {
        // A driver misled about the stride may ring for a queue that is not whole yet, or is in the
        // card, from where nothing is fetched here.
        let whole = |queue: &Queue| queue.sq >= MEMORY && queue.entries != 0;
        let Some(mut queue) = self.queues.get(&id).copied().filter(whole) else {
            return;
        };
        while queue.head != tail % queue.entries {
            let entry = self.fetch(&mut queue);
            self.fetched.push(entry);
        }
        self.queues.insert(id, queue);
    }

    fn fetch(&self, queue: &mut Queue) -> Sqe {
        let bytes = self.device_read(queue.sq + u64::from(queue.head) * 64, Sqe::BYTES);
        queue.head = (queue.head + 1) % queue.entries;
        Sqe::from_bytes(bytes.try_into().expect("64 bytes"))
    }

    /// Counts an access; whether the device is gone.
    fn gone(&mut self) -> bool {
        self.accesses += 1;
        if !self.frozen {
            self.time += Duration::from_nanos(100);
        }
        self.faults.removed_at.is_some_and(|at| self.accesses > at)
    }

    fn check(&self, device: PciAddress, bar: u8, offset: u64, width: u64) -> BusResult<()> {
        let size = self
            .bar_bytes
            .get(&device)
            .copied()
            .filter(|_| bar == 0)
            .unwrap_or(0);
        if offset + width > size || !offset.is_multiple_of(width) {
            return Err(BusError::OutsideBar {
                device,
                bar,
                offset,
                size,
            });
        }
        Ok(())
    }

    fn streamer_read(&self, offset: u64) -> u64 {
        let enabled = self.streamer[&sregs::enable::OFFSET];
        match offset {
            sregs::status::OFFSET => {
                let outstanding = sregs::status::OUTSTANDING.set(0, self.outstanding);
                u64::from(!self.faults.streamer_not_ready) | 1 << 2 | enabled << 3 | outstanding
            }
            _ => self.streamer.get(&offset).copied().unwrap_or(0),
        }
    }
}

impl Bus for Fake {
    fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
        Ok(self.config.keys().copied().collect())
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> BusResult<u32> {
        assert_eq!(offset % 4, 0, "unaligned access to configuration space");
        if self.gone() {
            return Ok(u32::MAX);
        }
        Ok(self
            .config
            .get(&device)
            .map_or(u32::MAX, |space| space[usize::from(offset / 4) % 64]))
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> BusResult<()> {
        self.gone();
        if offset == 0x04 && self.faults.deaf_command == Some(device) {
            return Ok(());
        }
        self.master_before_reset |= offset == 0x04
            && device == NVME
            && value & !self.config[&NVME][1] & 4 != 0
            && (self.enabled() || self.csts() & 1 != 0);
        let size = self.bar_bytes[&device];
        let space = self.config.get_mut(&device).expect("there");
        let register = &mut space[usize::from(offset / 4) % 64];
        *register = match offset {
            0x04 => *register & 0xffff_0000 | value & 0x406,
            0x10 if size == 0 => 0,
            0x10 => value & !(size as u32 - 1) | 4,
            0x14 if size == 0 => 0,
            0x14 => value,
            _ => *register,
        };
        Ok(())
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u32> {
        self.check(device, bar, offset, 4)?;
        if self.gone() {
            return Ok(u32::MAX);
        }
        Ok(match offset {
            regs::VS => regs::VERSION_1_4,
            regs::CSTS => self.csts(),
            _ => self.registers.get(&offset).copied().unwrap_or(0),
        })
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        self.check(device, bar, offset, 8)?;
        if self.gone() {
            return Ok(u64::MAX);
        }
        if device == FPGA {
            if (bar0::QUEUES..bar0::CONTROL).contains(&offset) {
                let word = self.queue_window.get(&(offset - bar0::QUEUES));
                return Ok(word.copied().unwrap_or(0));
            }
            let register = offset.wrapping_sub(bar0::CONTROL);
            let value = self.streamer_read(register);
            if let Some(later) = self.trace_head_later
                && register == sregs::trace_head::OFFSET
            {
                self.streamer.insert(register, later);
            }
            return Ok(value);
        }
        Ok(if offset == regs::CAP { self.cap } else { 0 })
    }

    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> BusResult<()> {
        self.check(device, bar, offset, 4)?;
        if !self.gone() && device == NVME {
            self.nvme_write(offset, value);
        }
        Ok(())
    }

    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> BusResult<()> {
        self.check(device, bar, offset, 8)?;
        if self.gone() {
            return Ok(());
        }
        if device == FPGA {
            let register = offset.wrapping_sub(bar0::CONTROL);
            let deaf = self.faults.deaf_register == Some(register);
            self.streamer
                .insert(register, if deaf { !value } else { value });
        } else {
            self.registers.insert(offset, value as u32);
            self.registers.insert(offset + 4, (value >> 32) as u32);
        }
        Ok(())
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64> {
        self.check(device, bar, 0, 4)?;
        Ok(if device == NVME { NVME_BAR } else { FPGA_BAR })
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        let at = self.next.next_multiple_of(align);
        let short = self.faults.short_at.is_some_and(|n| self.allocations >= n);
        self.allocations += 1;
        if short || at + len > self.memory.len() {
            return Err(BusError::OutOfMemory {
                len,
                align,
                free: self.memory.len() - self.next,
            });
        }
        self.next = at + len;
        self.taken += len;
        Ok(DmaBuffer {
            address: MEMORY + at as u64,
            len,
        })
    }

    fn dma_free(&mut self, buffer: DmaBuffer) {
        self.taken -= buffer.len;
        let at = (buffer.address - MEMORY) as usize;
        self.memory[at..at + buffer.len].fill(0);
        if self.taken == 0 {
            self.next = 0;
        }
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        data.copy_from_slice(self.device_read(buffer.address + offset as u64, data.len()));
        Ok(())
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()> {
        let end = buffer.check(offset, data.len())?;
        let at = (buffer.address - MEMORY) as usize;
        self.memory[at + offset..at + end].copy_from_slice(data);
        Ok(())
    }

    fn now(&mut self) -> Duration {
        self.time
    }

    fn relax(&mut self, _: Duration) -> BusResult<()> {
        if !self.frozen {
            self.time += Duration::from_millis(1);
        }
        Ok(())
    }
}

/// A configuration space with a 64-bit BAR and a PCI Express capability at 0x70 (Gen4 x4).
fn config(ids: u32, class: u32, bar: u64) -> [u32; 64] {
    let mut space = [0; 64];
    space[0] = ids;
    space[1] = 0x0010_0000;
    space[2] = class;
    space[4] = bar as u32 | 4;
    space[5] = (bar >> 32) as u32;
    space[0x34 / 4] = 0x40;
    space[0x40 / 4] = 0x7001;
    space[0x70 / 4] = 0x10;
    // 512 bytes of payload supported, 256 set, reads of 512; Gen4 x4.
    space[0x74 / 4] = 2;
    space[0x78 / 4] = 2 << 12 | 1 << 5;
    space[0x80 / 4] = 0x44 << 16;
    space
}

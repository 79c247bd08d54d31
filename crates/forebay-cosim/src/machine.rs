// SPDX-License-Identifier: Apache-2.0
//! What stands around the FPGA card: fabric, drives, host memory, PCI configuration, time. It also
//! runs alone, as the host of the reference: see [`crate::reference`].

use std::ops::Range;
use std::time::Duration;

use forebay_driver::{BusError, BusResult, DmaBuffer, PciAddress};
use forebay_model::pci::ConfigSpace;
use forebay_model::{
    Completion, Fabric, FabricProfile, HostMemory, Medium, ModelError, Node, PageEvent, Poison,
    Request, Ssd, Time,
};
use forebay_spec::nvme::{IoOpcode, Sqe};
use forebay_spec::pci::{self, command, offset};

use crate::card;
use crate::config::Drive;

/// Where the FPGA card stands.
pub const FPGA: PciAddress = PciAddress::new(1, 0, 0);
/// Where the first drive stands; each further one is on the next bus.
pub const SSD: PciAddress = PciAddress::new(2, 0, 0);

/// Bus address of host memory.
const HOST_BASE: u64 = 0x1_0000_0000;
/// Where the firmware places BAR 0 of the FPGA card, of the first drive, and how far from it that of
/// the next.
const FPGA_BAR: u64 = 0x20_0000_0000;
const SSD_BAR: u64 = 0xe000_0000;
const SSD_BAR_STEP: u64 = 0x100_0000;
/// Rounds in which host, drive and FPGA may answer one another within one moment.
const ROUNDS: u32 = 4096;

/// Identifiers that a message names of the commands which a drive holds.
const CIDS_TOLD: usize = 8;

/// Everything but the RTL.
pub(crate) struct Machine {
    pub fabric: Fabric,
    pub ssds: Vec<Ssd>,
    pub host: HostMemory,
    pub now: Time,
    /// What drives learnt of memory that commands name, in the last [`Machine::settle`].
    pub page_events: Vec<(usize, PageEvent)>,
    /// Host memory that a drive is going to fill is poisoned first.
    pub poison: bool,
    fpga: Option<ConfigSpace>,
    tag: u32,
}

impl Machine {
    /// `fpga_bar`: bytes of the FPGA card's BAR 0, where there is a card. BARs are placed, as firmware
    /// does before any driver runs.
    pub fn new(
        fabric: &FabricProfile,
        drives: Vec<Drive>,
        seed: u64,
        host_memory: usize,
        fpga_bar: Option<u64>,
    ) -> Result<Self, ModelError> {
        let mut ssds = Vec::with_capacity(drives.len());
        for (number, drive) in (0..).zip(drives) {
            let Drive {
                profile,
                medium,
                faults,
            } = drive;
            let medium = medium.unwrap_or_else(|| Medium::in_memory(profile.bytes()));
            let seed = seed.wrapping_add(u64::from(number));
            let mut ssd = Ssd::new(&profile, medium, seed)?.at(Node::Ssd(number));
            ssd.set_faults(faults);
            ssd.set_payload(fabric);
            ssds.push(ssd);
        }
        let mut machine = Self {
            fabric: Fabric::new(fabric, ssds.len() as u8),
            ssds,
            host: HostMemory::new(HOST_BASE, host_memory),
            now: 0,
            page_events: Vec::new(),
            poison: false,
            fpga: fpga_bar.map(|bytes| {
                let mut config = card::config_space(bytes, None);
                config.set_payload(fabric);
                config
            }),
            tag: 0,
        };
        machine.fabric.map(Node::Host, machine.host.range());
        machine
            .fabric
            .map(Node::Host, HostMemory::interrupt_range());
        for device in machine.devices() {
            let base = match ssd_number(device) {
                Some(number) => SSD_BAR + number as u64 * SSD_BAR_STEP,
                None => FPGA_BAR,
            };
            machine.config_write(device, offset::BAR0, base as u32);
            machine.config_write(device, offset::BAR0 + 4, (base >> 32) as u32);
            machine.config_write(device, offset::COMMAND, u32::from(command::MEMORY_SPACE));
        }
        Ok(machine)
    }

    /// PCI functions that are there.
    pub fn devices(&self) -> Vec<PciAddress> {
        let drives = (0..self.ssds.len()).map(ssd_address);
        self.fpga.iter().map(|_| FPGA).chain(drives).collect()
    }

    fn ssd(&self, device: PciAddress) -> Option<&Ssd> {
        self.ssds.get(ssd_number(device)?)
    }

    pub fn config_read(&self, device: PciAddress, offset: u16) -> u32 {
        match (self.ssd(device), &self.fpga) {
            (Some(ssd), _) => ssd.config_read(offset),
            (None, Some(fpga)) if device == FPGA => fpga.read(offset),
            _ => u32::MAX,
        }
    }

    pub fn config_write(&mut self, device: PciAddress, offset: u16, value: u32) {
        let ssd = ssd_number(device).and_then(|number| self.ssds.get_mut(number));
        let node = match (ssd, &mut self.fpga) {
            (Some(ssd), _) => {
                ssd.config_write(offset, value);
                ssd.node()
            }
            (None, Some(fpga)) if device == FPGA => {
                fpga.write(offset, value);
                Node::Fpga
            }
            _ => return,
        };
        // BARs and the enable bit decide who answers at which address.
        if (pci::offset::COMMAND..pci::offset::BAR0 + 8).contains(&offset) {
            self.fabric.unmap(node);
            if let Some(range) = self.bar(device) {
                self.fabric.map(node, range);
            }
        }
    }

    /// Bus addresses of BAR 0 of a function, once placed and enabled.
    pub fn bar(&self, device: PciAddress) -> Option<Range<u64>> {
        match (self.ssd(device), &self.fpga) {
            (Some(ssd), _) => ssd.bar_range(),
            (None, Some(fpga)) if device == FPGA => fpga.bar_range(),
            _ => None,
        }
    }

    /// The bus address of an access to a BAR.
    pub fn bar_place(
        &self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        bytes: u64,
    ) -> BusResult<u64> {
        if !self.devices().contains(&device) {
            return Err(BusError::NoDevice { device });
        }
        let range = if bar == 0 { self.bar(device) } else { None };
        let range = range.unwrap_or(0..0);
        let size = range.end - range.start;
        match offset.checked_add(bytes) {
            Some(end) if end <= size => Ok(range.start + offset),
            _ => Err(BusError::OutsideBar {
                device,
                bar,
                offset,
                size,
            }),
        }
    }

    /// The host sends a read; the answer bears the tag returned.
    pub fn host_read(&mut self, addr: u64, len: u32) -> u32 {
        self.tag = self.tag.wrapping_add(1);
        let tag = self.tag;
        let request = Request::Read { addr, len, tag };
        self.fabric.request(self.now, Node::Host, request);
        tag
    }

    /// The host sends a posted write.
    pub fn host_write(&mut self, addr: u64, data: Box<[u8]>) {
        self.fabric
            .request(self.now, Node::Host, Request::Write { addr, data });
    }

    /// The answer to the host's read with this tag, if it has come.
    pub fn host_answer(&mut self, tag: u32) -> Option<Completion> {
        while let Some(completion) = self.host.take_completion() {
            if completion.tag == tag {
                return Some(completion);
            }
        }
        None
    }

    /// When something next happens by itself.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        let drives = self.ssds.iter().filter_map(Ssd::next_event);
        drives.chain(self.fabric.next_event()).min()
    }

    /// A drive goes on by itself, though nothing may move until then.
    pub fn is_working(&self) -> bool {
        self.ssds.iter().any(Ssd::is_working)
    }

    /// What drives hold, in words: commands that they have not completed.
    pub fn waiting(&self, period: Time) -> impl Iterator<Item = String> {
        let now = self.now;
        self.ssds.iter().enumerate().filter_map(move |(drive, ssd)| {
            let outstanding = ssd.outstanding();
            let (since, oldest) = outstanding.first()?;
            let cids = outstanding.iter().map(|(_, sqe)| sqe.cid.to_string());
            let cids: Vec<_> = cids.take(CIDS_TOLD).collect();
            let more = if outstanding.len() > CIDS_TOLD { ", …" } else { "" };
            let scheduled = if ssd.is_working() {
                "works on them"
            } else {
                "has nothing scheduled"
            };
            Some(format!(
                "drive {drive} holds commands {}{more} and {scheduled}, the oldest ({}) was fetched \
                 {} cycles ago",
                cids.join(", "),
                io_command(oldest),
                (now - since) / period
            ))
        })
    }

    /// Does everything that is due by now; `fpga` takes what has arrived at the FPGA card.
    #[inline]
    pub fn settle(&mut self, mut fpga: impl FnMut(Time, &mut Fabric)) {
        for _ in 0..ROUNDS {
            if self.next_event().is_none_or(|time| time > self.now) {
                break;
            }
            for (number, ssd) in self.ssds.iter_mut().enumerate() {
                ssd.step(self.now, &mut self.fabric);
                for event in ssd.take_page_events() {
                    // Before the drive's data get there.
                    if self.poison
                        && let PageEvent::Named {
                            fills: true,
                            address,
                            bytes,
                            ..
                        } = event
                    {
                        poison(&mut self.host, address, bytes);
                    }
                    self.page_events.push((number, event));
                }
            }
            self.host.step(self.now, &mut self.fabric);
            fpga(self.now, &mut self.fabric);
        }
    }

    pub fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        let address = self.host.alloc(len as u64, align as u64);
        let address = address.ok_or(BusError::OutOfMemory {
            len,
            align,
            free: 0,
        })?;
        Ok(DmaBuffer { address, len })
    }

    pub fn dma_read(&self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()> {
        let end = buffer.check(offset, data.len())?;
        let done = self.host.read(buffer.address + offset as u64, data);
        found(done, buffer, offset, end)
    }

    pub fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()> {
        let end = buffer.check(offset, data.len())?;
        let done = self.host.write(buffer.address + offset as u64, data);
        found(done, buffer, offset, end)
    }

    /// Simulated time as the driver sees it.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now / 1000)
    }
}

/// Whether there is host memory at the buffer.
fn found(done: bool, buffer: &DmaBuffer, offset: usize, end: usize) -> BusResult<()> {
    done.then_some(()).ok_or(BusError::OutsideBuffer {
        address: buffer.address,
        len: 0,
        offset,
        end,
    })
}

/// Poisons host memory, where there is some.
pub(crate) fn poison(host: &mut HostMemory, address: u64, bytes: u32) {
    let mut data = vec![0; bytes as usize];
    Poison::Freed.fill(address, &mut data);
    host.write(address, &data);
}

/// An I/O command in words.
fn io_command(sqe: &Sqe) -> String {
    match IoOpcode::from_number(sqe.opcode) {
        Some(opcode @ (IoOpcode::Read | IoOpcode::Write)) => {
            let (cid, blocks, slba) = (sqe.cid, sqe.blocks(), sqe.slba());
            format!("{opcode:?} {cid}, {blocks} blocks at {slba}")
        }
        Some(opcode) => format!("{opcode:?} {}", sqe.cid),
        None => format!("opcode {:#04x}, {}", sqe.opcode, sqe.cid),
    }
}

/// Where a drive stands.
const fn ssd_address(number: usize) -> PciAddress {
    PciAddress::new(SSD.bus + number as u8, SSD.device, SSD.function)
}

/// Which drive stands there, if there is one.
fn ssd_number(device: PciAddress) -> Option<usize> {
    let number = usize::from(device.bus.checked_sub(SSD.bus)?);
    (device == ssd_address(number)).then_some(number)
}

/// Implements the driver's `Bus` for a type that is a [`Host`]; to be called with this module's names
/// in scope.
macro_rules! impl_bus {
    ($system:ty) => {
        impl forebay_driver::Bus for $system {
            fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
                Ok(self.machine().devices())
            }

            fn config_read32(&mut self, device: PciAddress, at: u16) -> BusResult<u32> {
                Ok(self.machine().config_read(device, at))
            }

            fn config_write32(&mut self, device: PciAddress, at: u16, value: u32) -> BusResult<()> {
                self.machine_mut().config_write(device, at, value);
                Ok(())
            }

            fn bar_read32(&mut self, device: PciAddress, bar: u8, at: u64) -> BusResult<u32> {
                let place = self.machine().bar_place(device, bar, at, 4)?;
                Ok(machine::host_read(self, place, 4)? as u32)
            }

            fn bar_read64(&mut self, device: PciAddress, bar: u8, at: u64) -> BusResult<u64> {
                let place = self.machine().bar_place(device, bar, at, 8)?;
                machine::host_read(self, place, 8)
            }

            fn bar_write32(
                &mut self,
                device: PciAddress,
                bar: u8,
                at: u64,
                value: u32,
            ) -> BusResult<()> {
                let place = self.machine().bar_place(device, bar, at, 4)?;
                let data = value.to_le_bytes().into();
                self.machine_mut().host_write(place, data);
                self.pass()
            }

            fn bar_write64(
                &mut self,
                device: PciAddress,
                bar: u8,
                at: u64,
                value: u64,
            ) -> BusResult<()> {
                let place = self.machine().bar_place(device, bar, at, 8)?;
                machine::host_write_bytes(self, place, &value.to_le_bytes())
            }

            fn bar_write_bytes(
                &mut self,
                device: PciAddress,
                bar: u8,
                at: u64,
                data: &[u8],
            ) -> BusResult<()> {
                let bytes = data.len().next_multiple_of(8) as u64;
                let place = self.machine().bar_place(device, bar, at, bytes)?;
                machine::host_write_bytes(self, place, data)
            }

            fn bar_read_bytes(
                &mut self,
                device: PciAddress,
                bar: u8,
                at: u64,
                data: &mut [u8],
            ) -> BusResult<()> {
                let bytes = data.len().next_multiple_of(8) as u64;
                let place = self.machine().bar_place(device, bar, at, bytes)?;
                machine::host_read_bytes(self, place, data)
            }

            fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64> {
                self.machine().bar_place(device, bar, 0, 0)
            }

            fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
                self.machine_mut().dma_alloc(len, align)
            }

            fn dma_free(&mut self, buffer: DmaBuffer) {
                self.machine_mut().host.free(buffer.address);
            }

            fn dma_read(
                &mut self,
                buffer: &DmaBuffer,
                offset: usize,
                data: &mut [u8],
            ) -> BusResult<()> {
                self.machine().dma_read(buffer, offset, data)
            }

            fn dma_write(
                &mut self,
                buffer: &DmaBuffer,
                offset: usize,
                data: &[u8],
            ) -> BusResult<()> {
                self.machine_mut().dma_write(buffer, offset, data)
            }

            fn now(&mut self) -> Duration {
                self.machine().elapsed()
            }

            fn relax(&mut self, _: Duration) -> BusResult<()> {
                self.rest()
            }

            fn interrupts(&mut self) -> BusResult<u64> {
                Ok(self.raised())
            }
        }
    };
}
pub(crate) use impl_bus;

/// What [`impl_bus`] stands on.
pub(crate) trait Host {
    fn machine(&self) -> &Machine;
    fn machine_mut(&mut self) -> &mut Machine;
    /// Lets a posted write go its way.
    fn pass(&mut self) -> BusResult<()>;
    /// Lets a little time pass while the host waits for the answer to a read.
    fn await_answer(&mut self) -> BusResult<()>;
    /// Lets time pass until something may have changed.
    fn rest(&mut self) -> BusResult<()>;
    /// How often the card has raised its interrupt.
    fn raised(&self) -> u64 {
        0
    }
}

/// A read of the host that goes nowhere ends after this time, as on PCIe (completion time-out,
/// PCI Express Base 5.0, 2.8: 50 ms at most by default).
const ANSWER_WITHIN: Time = 50 * forebay_model::MILLISECOND;

/// Widest access of a CPU to memory of a device.
const ACCESS: usize = 64;

/// Reads up to 8 bytes. An unmapped address reads as all ones, as on a real machine.
pub(crate) fn host_read(system: &mut impl Host, address: u64, bytes: u32) -> BusResult<u64> {
    let answer = host_request(system, address, bytes)?;
    let mut word = [0xff; 8];
    if let Some(data) = &answer {
        word = [0; 8];
        let count = data.len().min(8);
        word[..count].copy_from_slice(&data[..count]);
    }
    Ok(u64::from_le_bytes(word))
}

/// Reads by a request on the fabric; none where nothing answers, or refuses.
pub(crate) fn host_request(
    system: &mut impl Host,
    address: u64,
    bytes: u32,
) -> BusResult<Option<Box<[u8]>>> {
    let tag = system.machine_mut().host_read(address, bytes);
    let start = system.machine().now;
    loop {
        if let Some(completion) = system.machine_mut().host_answer(tag) {
            return Ok(completion.result.ok());
        }
        if system.machine().now - start > ANSWER_WITHIN {
            return Ok(None);
        }
        system.await_answer()?;
    }
}

/// Reads any number of bytes; unmapped addresses read as ones.
pub(crate) fn host_read_bytes(
    system: &mut impl Host,
    address: u64,
    data: &mut [u8],
) -> BusResult<()> {
    for (at, part) in (address..).step_by(ACCESS).zip(data.chunks_mut(ACCESS)) {
        let bytes = part.len().next_multiple_of(8) as u32;
        part.fill(0xff);
        if let Some(answer) = host_request(system, at, bytes)? {
            let count = part.len().min(answer.len());
            part[..count].copy_from_slice(&answer[..count]);
        }
    }
    Ok(())
}

/// Writes any number of bytes, the last word filled with zeros.
pub(crate) fn host_write_bytes(system: &mut impl Host, address: u64, data: &[u8]) -> BusResult<()> {
    for (at, part) in (address..).step_by(ACCESS).zip(data.chunks(ACCESS)) {
        let mut part = part.to_vec();
        part.resize(part.len().next_multiple_of(8), 0);
        system.machine_mut().host_write(at, part.into());
        system.pass()?;
    }
    Ok(())
}

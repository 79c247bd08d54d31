// SPDX-License-Identifier: Apache-2.0
//! QEMU's devices as a `Bus`, over qtest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use forebay_driver::{Bus, BusError, BusResult, DmaBuffer, PciAddress};
pub use forebay_qtest::available;
use forebay_qtest::{BAR_SPACE, ECAM, Error, MEMORY_BYTES, Machine, PROGRAM};

/// Guest memory for DMA: above the low megabyte, below the machine's end.
const MEMORY: std::ops::Range<u64> = 0x10_0000..MEMORY_BYTES;

/// A running QEMU, and what the test has given out of its address space.
pub struct Qtest {
    machine: Machine,
    functions: Vec<(PciAddress, [u64; 6])>,
    next_byte: u64,
    origin: Instant,
}

impl Qtest {
    /// Starts QEMU with these devices (arguments after the machine's), in `directory`.
    pub fn start(directory: &Path, devices: &[String]) -> io::Result<Self> {
        let mut qemu = Command::new(PROGRAM);
        qemu.args(devices);
        let machine = Machine::start(directory, qemu).map_err(io::Error::other)?;
        let mut qtest = Self {
            machine,
            functions: Vec::new(),
            next_byte: MEMORY.start,
            origin: Instant::now(),
        };
        qtest.assign_addresses().map_err(io::Error::other)?;
        Ok(qtest)
    }

    /// What QEMU's controller has to say against the driver.
    pub fn complaints(&self) -> io::Result<Vec<String>> {
        self.machine.complaints().map_err(io::Error::other)
    }

    /// Does what firmware does: gives every memory BAR an address.
    fn assign_addresses(&mut self) -> BusResult<()> {
        let mut next = BAR_SPACE;
        for device in 0..32 {
            let address = PciAddress::new(0, device, 0);
            if self.config_read32(address, 0)? as u16 == 0xffff {
                continue;
            }
            let mut bars = [0; 6];
            // Bridges and the chipset's own functions are of no interest here.
            if self.config_read32(address, 8)? >> 24 == 0x01 {
                self.assign_bars(address, &mut bars, &mut next)?;
            }
            self.functions.push((address, bars));
        }
        Ok(())
    }

    fn assign_bars(
        &mut self,
        address: PciAddress,
        bars: &mut [u64; 6],
        next: &mut u64,
    ) -> BusResult<()> {
        let mut index = 0;
        while index < 6 {
            let at = 0x10 + 4 * index as u16;
            self.config_write32(address, at, u32::MAX)?;
            let mask = self.config_read32(address, at)?;
            let wide = mask & 0b111 == 0b100;
            if mask & !0xf != 0 && mask & 1 == 0 {
                let size = u64::from(!(mask & !0xf)) + 1;
                *next = next.next_multiple_of(size);
                bars[index] = *next;
                self.config_write32(address, at, *next as u32)?;
                if wide {
                    self.config_write32(address, at + 4, (*next >> 32) as u32)?;
                }
                *next += size;
            }
            index += if wide { 2 } else { 1 };
        }
        Ok(())
    }

    fn place(&self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        let bars = self
            .functions
            .iter()
            .find(|(address, _)| *address == device);
        let (_, bars) = bars.ok_or(BusError::NoDevice { device })?;
        match bars.get(usize::from(bar)) {
            Some(base) if *base != 0 => Ok(base + offset),
            _ => Err(BusError::OutsideBar {
                device,
                bar,
                offset,
                size: 0,
            }),
        }
    }
}

impl Bus for Qtest {
    fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
        Ok(self.functions.iter().map(|(address, _)| *address).collect())
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> BusResult<u32> {
        self.machine.read32(ecam(device, offset)).map_err(carrier)
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> BusResult<()> {
        let at = ecam(device, offset);
        self.machine.write32(at, value).map_err(carrier)
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u32> {
        let at = self.place(device, bar, offset)?;
        self.machine.read32(at).map_err(carrier)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        let at = self.place(device, bar, offset)?;
        self.machine.read64(at).map_err(carrier)
    }

    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> BusResult<()> {
        let at = self.place(device, bar, offset)?;
        self.machine.write32(at, value).map_err(carrier)
    }

    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> BusResult<()> {
        let at = self.place(device, bar, offset)?;
        self.machine.write64(at, value).map_err(carrier)
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64> {
        self.place(device, bar, 0)
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        let address = self.next_byte.next_multiple_of(align as u64);
        let end = address.saturating_add(len as u64);
        if end > MEMORY.end {
            let free = (MEMORY.end - self.next_byte) as usize;
            return Err(BusError::OutOfMemory { len, align, free });
        }
        self.next_byte = end;
        let zeros = vec![0; len];
        let cleared = self.machine.write_memory(address, &zeros);
        cleared.map_err(carrier)?;
        Ok(DmaBuffer { address, len })
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        let at = buffer.address + offset as u64;
        self.machine.read_memory(at, data).map_err(carrier)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        let at = buffer.address + offset as u64;
        self.machine.write_memory(at, data).map_err(carrier)
    }

    fn now(&mut self) -> Duration {
        self.origin.elapsed()
    }

    fn relax(&mut self, _: Duration) -> BusResult<()> {
        std::thread::sleep(Duration::from_micros(50));
        Ok(())
    }
}

fn ecam(device: PciAddress, offset: u16) -> u64 {
    let function = u64::from(device.device) << 3 | u64::from(device.function);
    ECAM | u64::from(device.bus) << 20 | function << 12 | u64::from(offset)
}

fn carrier(error: Error) -> BusError {
    BusError::Carrier {
        what: "qtest".into(),
        source: error.into(),
    }
}

/// A raw image and the arguments that make it a drive of the guest.
pub struct Image {
    /// The file.
    pub path: PathBuf,
    /// Its bytes as they should be.
    pub expected: Vec<u8>,
}

impl Image {
    /// Makes an image of random content.
    pub fn new(
        directory: &Path,
        name: &str,
        bytes: usize,
        random: &mut super::Random,
    ) -> io::Result<Self> {
        let path = directory.join(name);
        let expected = random.bytes(bytes);
        fs::write(&path, &expected)?;
        Ok(Self { path, expected })
    }

    /// `-drive` arguments under this identifier.
    pub fn drive(&self, id: &str) -> [String; 2] {
        let path = self.path.display();
        [
            "-drive".into(),
            format!("file={path},if=none,id={id},format=raw,cache=writeback"),
        ]
    }

    /// Compares the file byte by byte with what it should hold; returns the first difference.
    pub fn difference(&self) -> io::Result<Option<usize>> {
        let found = fs::read(&self.path)?;
        if found.len() != self.expected.len() {
            return Ok(Some(found.len().min(self.expected.len())));
        }
        Ok(found.iter().zip(&self.expected).position(|(a, b)| a != b))
    }
}

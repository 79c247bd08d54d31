// SPDX-License-Identifier: Apache-2.0
//! A bus on which a device is not quite where it should be, or not quite memory.

use std::time::Duration;

use forebay_driver::{Bus, BusResult as Result, DmaBuffer, PciAddress};

/// What is wrong with the device's BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// Other devices reach it so far off.
    Elsewhere(u64),
    /// The processor reads and writes one bit wrong of the word at this offset, and so does not
    /// notice by itself.
    Damaged(u64),
    /// What the processor writes to the word at this offset is lost.
    Stuck(u64),
    /// Of the drive: it says that it lacks Compare.
    NoCompare,
}

/// The bus, and the device that is bent.
pub struct Bent<'a> {
    pub bus: &'a mut dyn Bus,
    pub device: PciAddress,
    pub bar: u8,
    pub bend: Bend,
}

impl Bent<'_> {
    fn is(&self, device: PciAddress, bar: u8, bend: Bend) -> bool {
        (device, bar, bend) == (self.device, self.bar, self.bend)
    }

    /// Bits of a word that are wrong.
    fn wrong(&self, device: PciAddress, bar: u8, offset: u64) -> u64 {
        u64::from(self.is(device, bar, Bend::Damaged(offset))) << 42
    }
}

impl Bus for Bent<'_> {
    fn devices(&mut self) -> Result<Vec<PciAddress>> {
        self.bus.devices()
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> Result<u32> {
        self.bus.config_read32(device, offset)
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> Result<()> {
        self.bus.config_write32(device, offset, value)
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> Result<u32> {
        self.bus.bar_read32(device, bar, offset)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> Result<u64> {
        let value = self.bus.bar_read64(device, bar, offset)?;
        Ok(value ^ self.wrong(device, bar, offset))
    }

    fn bar_write32(&mut self, device: PciAddress, bar: u8, offset: u64, value: u32) -> Result<()> {
        self.bus.bar_write32(device, bar, offset, value)
    }

    fn bar_write64(&mut self, device: PciAddress, bar: u8, offset: u64, value: u64) -> Result<()> {
        if self.is(device, bar, Bend::Stuck(offset)) {
            return Ok(());
        }
        let value = value ^ self.wrong(device, bar, offset);
        self.bus.bar_write64(device, bar, offset, value)
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> Result<u64> {
        let address = self.bus.bar_address(device, bar)?;
        Ok(match self.bend {
            Bend::Elsewhere(off) if (device, bar) == (self.device, self.bar) => address + off,
            _ => address,
        })
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> Result<DmaBuffer> {
        self.bus.dma_alloc(len, align)
    }

    fn dma_free(&mut self, buffer: DmaBuffer) {
        self.bus.dma_free(buffer);
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> Result<()> {
        self.bus.dma_read(buffer, offset, data)?;
        // Identify Controller is known by its entry sizes; ONCS stands behind them.
        if self.bend == Bend::NoCompare && data.get(512..514) == Some(&[0x66, 0x44]) {
            data[520] &= !1;
        }
        Ok(())
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> Result<()> {
        self.bus.dma_write(buffer, offset, data)
    }

    fn now(&mut self) -> Duration {
        self.bus.now()
    }

    fn relax(&mut self, waited: Duration) -> Result<()> {
        self.bus.relax(waited)
    }
}

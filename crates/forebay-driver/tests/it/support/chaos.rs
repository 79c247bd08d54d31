// SPDX-License-Identifier: Apache-2.0
//! A good drive and card whose every answer may be spoiled: for tests and for the fuzzer.

use std::time::Duration;

use forebay_driver::flight::Ask;
use forebay_driver::{Bus, BusResult, DmaBuffer, Flight, Options, PciAddress, bring_up};

use super::fake::Fake;

/// Accesses after which a bring-up counts as hanging: a step may wait 128 s in polls of 1 ms, with
/// a handful of accesses each.
pub const ACCESSES_MOST: u64 = 2_000_000;

/// [`Fake`], with each thing that is read from a device passed through a function.
pub struct Chaos<'a> {
    /// The devices behind it.
    pub fake: Fake,
    spoil: Box<dyn FnMut(u64) -> u64 + 'a>,
}

impl<'a> Chaos<'a> {
    /// `spoil` gets what a good device would answer, and says what is read instead.
    pub fn new(spoil: impl FnMut(u64) -> u64 + 'a) -> Self {
        Self {
            fake: Fake::new(),
            spoil: Box::new(spoil),
        }
    }

    fn spoil(&mut self, good: u64) -> u64 {
        assert!(self.fake.accesses < ACCESSES_MOST, "it hangs");
        (self.spoil)(good)
    }
}

/// Everything in the life of a session: bring-up, looking inside, recovery, shutdown.
pub fn live(bus: &mut Chaos<'_>, options: &Options) {
    let Ok(mut session) = bring_up(bus, options) else {
        return;
    };
    if let Some(streamer) = session.streamer().cloned() {
        let _ = streamer.trace(bus);
        let _ = streamer.counters(bus);
        let _ = streamer.error_cause(bus);
    }
    let ask = Ask {
        error_log: Some(Duration::from_millis(1)),
        ..Ask::default()
    };
    assert!(
        !Flight::take(&mut session, bus, &ask)
            .diagnosis
            .text
            .is_empty()
    );
    if let Ok(session) = session.recover(bus, &mut |_| {}) {
        let _ = session.shutdown(bus);
    }
}

impl Bus for Chaos<'_> {
    fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
        self.fake.devices()
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> BusResult<u32> {
        let good = self.fake.config_read32(device, offset)?;
        Ok(self.spoil(good.into()) as u32)
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> BusResult<()> {
        self.fake.config_write32(device, offset, value)
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u32> {
        let good = self.fake.bar_read32(device, bar, offset)?;
        Ok(self.spoil(good.into()) as u32)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        let good = self.fake.bar_read64(device, bar, offset)?;
        Ok(self.spoil(good))
    }

    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> BusResult<()> {
        self.fake.bar_write32(device, bar, offset, value)
    }

    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> BusResult<()> {
        self.fake.bar_write64(device, bar, offset, value)
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64> {
        self.fake.bar_address(device, bar)
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        self.fake.dma_alloc(len, align)
    }

    fn dma_free(&mut self, buffer: DmaBuffer) {
        self.fake.dma_free(buffer);
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()> {
        self.fake.dma_read(buffer, offset, data)?;
        for dword in data.chunks_exact_mut(4) {
            let good = u32::from_le_bytes([dword[0], dword[1], dword[2], dword[3]]);
            let bytes = (self.spoil(good.into()) as u32).to_le_bytes();
            dword.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()> {
        self.fake.dma_write(buffer, offset, data)
    }

    fn now(&mut self) -> Duration {
        self.fake.now()
    }

    fn relax(&mut self, waited: Duration) -> BusResult<()> {
        self.fake.relax(waited)
    }
}

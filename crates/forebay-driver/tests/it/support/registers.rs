// SPDX-License-Identifier: Apache-2.0
//! Buses of tests that have one card, and of it nothing but registers.

/// The rest of [`Bus`](forebay_driver::Bus) beside `bar_read64`, `bar_write64`, `now` and `relax`.
macro_rules! registers_only {
    ($card:expr) => {
        fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
            Ok(vec![$card])
        }

        fn config_read32(&mut self, _: PciAddress, _: u16) -> BusResult<u32> {
            Ok(0)
        }

        fn config_write32(&mut self, _: PciAddress, _: u16, _: u32) -> BusResult<()> {
            Ok(())
        }

        fn bar_read32(&mut self, at: PciAddress, bar: u8, offset: u64) -> BusResult<u32> {
            self.bar_read64(at, bar, offset).map(|word| word as u32)
        }

        fn bar_write32(
            &mut self,
            at: PciAddress,
            bar: u8,
            offset: u64,
            word: u32,
        ) -> BusResult<()> {
            self.bar_write64(at, bar, offset, word.into())
        }

        fn bar_address(&mut self, _: PciAddress, _: u8) -> BusResult<u64> {
            Ok(0)
        }

        fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
            let free = 0;
            Err(BusError::OutOfMemory { len, align, free })
        }

        fn dma_read(&mut self, buffer: &DmaBuffer, at: usize, data: &mut [u8]) -> BusResult<()> {
            buffer.check(at, data.len()).map(drop)
        }

        fn dma_write(&mut self, buffer: &DmaBuffer, at: usize, data: &[u8]) -> BusResult<()> {
            buffer.check(at, data.len()).map(drop)
        }
    };
}
pub(crate) use registers_only;

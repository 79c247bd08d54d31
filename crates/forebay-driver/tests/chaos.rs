// SPDX-License-Identifier: Apache-2.0
//! Whatever a device says: no panic, no hang, nothing left behind.

mod support;

use std::time::Duration;

use forebay_driver::{Bus, BusError, DmaBuffer, Options, PciAddress, QueuePlacement, bring_up};
use forebay_spec::nvme::regs::Cap;
use forebay_spec::streamer::regs;
use proptest::collection::vec;
use proptest::prelude::*;
use support::Random;
use support::fake::{Fake, NVME};

/// Accesses after which a bring-up counts as hanging: a step may wait 128 s in polls of 1 ms, with
/// a handful of accesses each.
const ACCESSES_MOST: u64 = 2_000_000;

/// A good drive and card, but one read in `rate` yields something else.
struct Chaos {
    fake: Fake,
    random: Random,
    rate: u64,
}

impl Chaos {
    fn spoil(&mut self, good: u64) -> u64 {
        assert!(self.fake.accesses < ACCESSES_MOST, "it hangs");
        if self.random.below(self.rate) != 0 {
            return good;
        }
        match self.random.below(4) {
            0 => 0,
            1 => u64::MAX,
            2 => good ^ 1 << self.random.below(64),
            _ => self.random.next(),
        }
    }
}

impl Bus for Chaos {
    fn devices(&mut self) -> Result<Vec<PciAddress>, BusError> {
        self.fake.devices()
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> Result<u32, BusError> {
        let good = self.fake.config_read32(device, offset)?;
        Ok(self.spoil(good.into()) as u32)
    }

    fn config_write32(
        &mut self,
        device: PciAddress,
        offset: u16,
        value: u32,
    ) -> Result<(), BusError> {
        self.fake.config_write32(device, offset, value)
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> Result<u32, BusError> {
        let good = self.fake.bar_read32(device, bar, offset)?;
        Ok(self.spoil(good.into()) as u32)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> Result<u64, BusError> {
        let good = self.fake.bar_read64(device, bar, offset)?;
        Ok(self.spoil(good))
    }

    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> Result<(), BusError> {
        self.fake.bar_write32(device, bar, offset, value)
    }

    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> Result<(), BusError> {
        self.fake.bar_write64(device, bar, offset, value)
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> Result<u64, BusError> {
        self.fake.bar_address(device, bar)
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> Result<DmaBuffer, BusError> {
        self.fake.dma_alloc(len, align)
    }

    fn dma_free(&mut self, buffer: DmaBuffer) {
        self.fake.dma_free(buffer);
    }

    fn dma_read(
        &mut self,
        buffer: &DmaBuffer,
        offset: usize,
        data: &mut [u8],
    ) -> Result<(), BusError> {
        self.fake.dma_read(buffer, offset, data)?;
        for piece in data.chunks_exact_mut(4) {
            let good = u32::from_le_bytes([piece[0], piece[1], piece[2], piece[3]]);
            let bytes = (self.spoil(good.into()) as u32).to_le_bytes();
            piece.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn dma_write(
        &mut self,
        buffer: &DmaBuffer,
        offset: usize,
        data: &[u8],
    ) -> Result<(), BusError> {
        self.fake.dma_write(buffer, offset, data)
    }

    fn now(&mut self) -> Duration {
        self.fake.now()
    }

    fn relax(&mut self) -> Result<(), BusError> {
        self.fake.relax()
    }
}

fn options(host: bool) -> Options {
    let placement = if host {
        QueuePlacement::Host
    } else {
        QueuePlacement::Fpga
    };
    Options {
        placement,
        nvme: Some(NVME),
        ..Options::default()
    }
}

/// Values near a good one, and now and then any.
fn near(good: u64) -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(good),
        4 => (0u32..64).prop_map(move |bit| good ^ 1 << bit),
        1 => any::<u64>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn reads_that_lie_now_and_then_are_survived(seed: u64, power in 1u32..10, host: bool) {
        let random = Random::new(seed);
        let mut bus = Chaos { fake: Fake::new(), random, rate: 1 << power };
        if let Ok(session) = bring_up(&mut bus, &options(host)) {
            if let Some(streamer) = session.streamer().cloned() {
                let _ = streamer.trace(&mut bus);
                let _ = streamer.counters(&mut bus);
                let _ = streamer.error_cause(&mut bus);
            }
            if let Ok(session) = session.recover(&mut bus, &mut |_| {}) {
                let _ = session.shutdown(&mut bus);
            }
        }
        prop_assert_eq!(bus.fake.taken, 0);
    }

    #[test]
    fn arbitrary_registers_and_identify_data_are_survived(
        cap in near(Fake::new().cap),
        granted: u32,
        parameters in near(Fake::new().streamer[&regs::parameters::OFFSET]),
        edits in vec((0usize..3, 0usize..600, any::<u8>()), 0..12),
        rogue_cids in 0u16..5,
        host: bool,
    ) {
        let mut fake = Fake::new();
        fake.cap = cap;
        fake.granted = granted;
        fake.faults.rogue_cids = rogue_cids;
        fake.streamer.insert(regs::parameters::OFFSET, parameters);
        for (page, at, value) in edits {
            let page = match page {
                0 => &mut fake.controller,
                1 => &mut fake.namespace,
                _ => &mut fake.active,
            };
            page[at] = value;
        }
        match bring_up(&mut fake, &options(host)) {
            Ok(session) => {
                let facts = session.facts();
                let most = Cap::from_bits(cap).max_queue_entries.min(1024);
                prop_assert!(matches!(facts.namespace.block_shift, 9 | 12));
                prop_assert!(facts.namespace.blocks > 0 && facts.namespace.sectors < 1 << 48);
                prop_assert!((2..=most).contains(&facts.queue_entries));
                prop_assert!((8192..=2 << 20).contains(&facts.transfer_bytes));
                session.shutdown(&mut fake).expect("shuts down");
            }
            Err(failure) => prop_assert!(!failure.remedy().is_empty()),
        }
        prop_assert_eq!(fake.taken, 0);
        prop_assert!(!fake.bus_master());
        prop_assert!(fake.accesses < ACCESSES_MOST);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Memory behind a BAR.

use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::controller::PAGE_BYTES;
use crate::discover;
use crate::error::Error;
use crate::options::FpgaPlace;
use crate::streamer::{self, Streamer};

/// Bytes of an access of the processor.
const WORD: usize = 8;

/// Memory of a device, reached through one of its BARs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The device.
    pub device: PciAddress,
    /// The base address register.
    pub bar: u8,
    /// Offset of the first byte, a multiple of 4096.
    pub offset: u64,
    /// Bytes, a multiple of 4096 and not 0.
    pub bytes: u64,
}

impl Memory {
    /// The payload buffer of a streamer. It is disabled for that, and stays so: do this before the
    /// drive is brought up, as one that runs would ring the drive's doorbells.
    ///
    /// # Errors
    /// Where there is no streamer at that place.
    pub fn of_streamer(
        bus: &mut dyn Bus,
        device: PciAddress,
        place: &FpgaPlace,
    ) -> Result<Self, Error> {
        discover::answer(bus, device)?;
        let streamer = Streamer::attach(bus, device, place.bar, place.control)?;
        streamer.stop(bus)?;
        if streamer.memory() == streamer::Memory::Host {
            return Err(Error::Refused {
                field: "the streamer's payload buffer",
                value: "in host memory".into(),
                limit: "the drive is to reach memory of the card".into(),
                remedy: "load a bitstream with its buffer on the card, or name other memory",
            });
        }
        let parameters = streamer.parameters(bus)?;
        Ok(Self {
            device,
            bar: place.bar,
            offset: place.data.unwrap_or(streamer.data_window(&parameters).0),
            bytes: streamer.payload_bytes(&parameters),
        })
    }

    /// Where other devices reach it. The device answers accesses from now on.
    pub(super) fn address(&self, bus: &mut dyn Bus) -> Result<u64, Error> {
        discover::answer(bus, self.device)?;
        let bad = |parameter, value: u64, limit| Err(Error::parameter(parameter, value, limit));
        if self.bytes == 0 || !self.bytes.is_multiple_of(PAGE_BYTES) {
            let limit = "it is a multiple of 4096, and not 0";
            return bad("size of the peer's memory", self.bytes, limit);
        }
        let base = bus.bar_address(self.device, self.bar)?;
        match base.checked_add(self.offset) {
            Some(address) if address.is_multiple_of(PAGE_BYTES) => {
                if address.checked_add(self.bytes).is_none() {
                    let limit = "it ends past 64 bits";
                    return bad("offset of the peer's memory", self.offset, limit);
                }
                // Both ends are in the BAR.
                self.read(bus, 0, &mut [0; WORD])?;
                self.read(bus, self.bytes - WORD as u64, &mut [0; WORD])?;
                Ok(address)
            }
            _ => {
                let limit = "the drive needs a multiple of 4096";
                bad("offset of the peer's memory", self.offset, limit)
            }
        }
    }

    /// Reads whole words at an offset.
    pub(super) fn read(&self, bus: &mut dyn Bus, at: u64, into: &mut [u8]) -> Result<(), Error> {
        let (words, _) = into.as_chunks_mut::<WORD>();
        for (place, word) in (self.offset + at..).step_by(WORD).zip(words) {
            *word = bus.bar_read64(self.device, self.bar, place)?.to_le_bytes();
        }
        Ok(())
    }

    /// Writes whole words at an offset, and waits until they are there.
    pub(super) fn write(&self, bus: &mut dyn Bus, at: u64, data: &[u8]) -> Result<(), Error> {
        let (words, _) = data.as_chunks::<WORD>();
        for (place, word) in (self.offset + at..).step_by(WORD).zip(words) {
            bus.bar_write64(self.device, self.bar, place, u64::from_le_bytes(*word))?;
        }
        // The doorbell goes another way, on which it could overtake these: a read pushes them.
        self.read(bus, at, &mut [0; WORD])
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Registers of the processing elements: what a pipeline sets beside the words of the recorder, such
//! as tables, keys, and settings by stream.

use std::fmt;

use forebay_spec::recorder::elements::{
    BYTES, CHAIN, IDENTITY, IDENTITY_AT, PRESENT_AT, REFUSED_AT, SILENT_AT, WINDOW_BYTES,
};
use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::error::Error;

/// Bytes that are written into registers before a recording begins.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct RegisterWrite {
    /// The first byte, from the window of the first element on; a multiple of 4.
    pub offset: u64,
    /// Whole words of 32 bits. They may be a key: nothing shows them.
    #[serde(skip)]
    pub data: Vec<u8>,
}

impl fmt::Debug for RegisterWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.data.len(), self.offset)
    }
}

/// The windows of a chain's elements in a BAR.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    device: PciAddress,
    bar: u8,
    base: u64,
}

impl Elements {
    /// Finds them at `base` of a BAR.
    ///
    /// # Errors
    /// Where there is another thing, or nothing; a failure of the bus.
    pub fn attach(
        bus: &mut dyn Bus,
        device: PciAddress,
        bar: u8,
        base: u64,
    ) -> Result<Self, Error> {
        let elements = Self { device, bar, base };
        let found = elements.read(bus, IDENTITY_AT)?;
        match found == IDENTITY {
            true => Ok(elements),
            false => Err(Error::NotFound {
                what: "the registers of the processing elements",
                seen: format!(
                    "their identity reads as {found:#010x}, not {IDENTITY:#010x}: the card has none, \
                     or those of another version"
                ),
                remedy: "build the card with RTL of this release, and s_axil_pe connected",
            }),
        }
    }

    fn read(&self, bus: &mut dyn Bus, offset: u64) -> Result<u32, Error> {
        let at = self.base.saturating_add(CHAIN + offset);
        Ok(bus.bar_read32(self.device, self.bar, at)?)
    }

    /// Writes all, in order.
    ///
    /// # Errors
    /// A write that is no whole words, or reaches past the windows; an element that the chain does
    /// not have, that refuses a word, or does not answer; a failure of the bus.
    pub fn write(&self, bus: &mut dyn Bus, writes: &[RegisterWrite]) -> Result<(), Error> {
        let present = self.read(bus, PRESENT_AT)?;
        for write in writes {
            let (offset, bytes) = (write.offset, write.data.len() as u64);
            if offset % 4 != 0 || bytes % 4 != 0 || offset.saturating_add(bytes) > BYTES {
                return Err(Error::Parameter {
                    parameter: "the offset of a register of processing elements",
                    value: offset,
                    limit: format!("words of 4 bytes stand below {BYTES:#x}"),
                });
            }
            let element = offset / WINDOW_BYTES;
            if offset < CHAIN && present >> element & 1 == 0 {
                return Err(Error::Refused {
                    field: "the chain of processing elements",
                    value: format!(
                        "of elements with registers at the places {}",
                        places(present)
                    ),
                    limit: format!("element {element} of the pipeline has registers, too"),
                    remedy: "build the card with the chain of this pipeline",
                });
            }
        }
        let before = self.read(bus, REFUSED_AT)?;
        for write in writes {
            for (at, word) in (write.offset..).step_by(4).zip(write.data.chunks_exact(4)) {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(word);
                let at = self.base.saturating_add(at);
                bus.bar_write32(self.device, self.bar, at, u32::from_le_bytes(bytes))?;
            }
        }
        // The answers to writes do not reach the host; a read comes behind them.
        let refused = self.read(bus, REFUSED_AT)?.wrapping_sub(before);
        match refused {
            0 => Ok(()),
            _ => Err(Error::Refused {
                field: "words written into registers of processing elements",
                value: format!(
                    "{refused} without effect; elements that do not answer: {}",
                    places(self.read(bus, SILENT_AT)?)
                ),
                limit: "each has to be taken".into(),
                remedy: "compare the element's manifest with its RTL, and the card with the pipeline",
            }),
        }
    }
}

/// Places of elements, of which each has a bit.
fn places(bits: u32) -> String {
    let places: Vec<_> = (0..32)
        .filter(|at| bits >> at & 1 == 1)
        .map(|at| at.to_string())
        .collect();
    match places.is_empty() {
        true => "none".into(),
        false => places.join(", "),
    }
}

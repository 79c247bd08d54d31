// SPDX-License-Identifier: Apache-2.0
//! Registers of the processing elements: what a pipeline sets beside the words of the recorder, such
//! as tables, keys, and per-stream settings.

use std::fmt;

use forebay_spec::recorder::elements::{
    BYTES, CHAIN, IDENTITY, IDENTITY_AT, PRESENT_AT, REFUSED_AT, SILENT_AT,
};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::bus::{Bus, PciAddress};
use crate::error::Error;

/// Bytes that are written into registers before a recording begins.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct RegisterWrite {
    /// The first byte, from the window of the first element on; a multiple of 4.
    pub offset: u64,
    /// Whole words of 32 bits. They may be a key: nothing shows them, and they are zeroed
    /// when they are freed.
    #[serde(skip)]
    pub data: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for RegisterWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.data.len(), self.offset)
    }
}

/// What of a chain has registers, and per-stream settings: a bit for each element, the first one lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Elements with registers.
    pub registers: u8,
    /// Elements with per-stream settings.
    pub per_stream: u8,
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (registers, streams) = (
            places(self.registers.into()),
            places(self.per_stream.into()),
        );
        write!(
            f,
            "registers at the places {registers}, per-stream settings at {streams}"
        )
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

    /// Writes all, in order; the chain has to be built for them.
    ///
    /// # Errors
    /// Another chain; a write that is no whole words, or reaches past the windows; an element that
    /// refuses a word, or does not answer; a failure of the bus.
    pub fn write(
        &self,
        bus: &mut dyn Bus,
        chain: Chain,
        writes: &[RegisterWrite],
    ) -> Result<(), Error> {
        let found = self.read(bus, PRESENT_AT)?;
        let built = Chain {
            registers: found as u8,
            per_stream: (found >> 8) as u8,
        };
        if built != chain || found >> 16 != 0 {
            return Err(Error::Refused {
                field: "the chain of processing elements",
                value: format!("one with {built}"),
                limit: format!("the pipeline's has {chain}"),
                remedy: "build the card with the chain of this pipeline",
            });
        }
        for write in writes {
            let (offset, bytes) = (write.offset, write.data.len() as u64);
            if offset % 4 != 0 || bytes % 4 != 0 || offset.saturating_add(bytes) > BYTES {
                return Err(Error::Parameter {
                    parameter: "the offset of a register of processing elements",
                    value: offset,
                    limit: format!("words of 4 bytes stand below {BYTES:#x}"),
                });
            }
        }
        let mut before = self.read(bus, REFUSED_AT)?;
        for write in writes {
            for (at, word) in (write.offset..).step_by(4).zip(write.data.chunks_exact(4)) {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(word);
                let at = self.base.saturating_add(at);
                bus.bar_write32(self.device, self.bar, at, u32::from_le_bytes(bytes))?;
            }
            // The answers to writes do not reach the host; a read comes behind them.
            let now = self.read(bus, REFUSED_AT)?;
            let refused = now.wrapping_sub(before);
            before = now;
            if refused != 0 {
                let silent = self.read(bus, SILENT_AT)?;
                return Err(Error::Refused {
                    field: "what was written into registers of processing elements",
                    value: format!(
                        "{refused} words without effect, from {:#x} on; elements that do not \
                         answer: {}",
                        write.offset,
                        places(silent)
                    ),
                    limit: "each has to be taken".into(),
                    remedy: "compare the element's manifest with its RTL; one that does not answer \
                             is asked again after a reset of the card",
                });
            }
        }
        match self.read(bus, IDENTITY_AT)? {
            IDENTITY => Ok(()),
            _ => Err(Error::Gone {
                device: self.device,
                during: "while registers of processing elements were written",
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

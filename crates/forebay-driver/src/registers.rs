// SPDX-License-Identifier: Apache-2.0
//! A block of 64-bit registers in a BAR.

use crate::bus::{Bus, PciAddress};
use crate::error::Error;

/// Where a block of registers stands.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    device: PciAddress,
    bar: u8,
    base: u64,
}

impl Registers {
    pub const fn new(device: PciAddress, bar: u8, base: u64) -> Self {
        Self { device, bar, base }
    }

    pub fn read(&self, bus: &mut dyn Bus, offset: u64) -> Result<u64, Error> {
        let at = self.base.saturating_add(offset);
        Ok(bus.bar_read64(self.device, self.bar, at)?)
    }

    pub fn write(&self, bus: &mut dyn Bus, offset: u64, value: u64) -> Result<(), Error> {
        let at = self.base.saturating_add(offset);
        Ok(bus.bar_write64(self.device, self.bar, at, value)?)
    }

    pub fn write_all(&self, bus: &mut dyn Bus, writes: &[(u64, u64)]) -> Result<(), Error> {
        writes
            .iter()
            .try_for_each(|(offset, value)| self.write(bus, *offset, *value))
    }

    /// The version register bears the same magic and major version as `expected` and no older minor
    /// one, as our register maps have it: magic in the upper half, major version in bits 31:16, minor
    /// in 15:8. False where the magic is another.
    pub fn is_known(
        &self,
        bus: &mut dyn Bus,
        what: &'static str,
        offset: u64,
        expected: u64,
    ) -> Result<bool, Error> {
        let found = self.read(bus, offset)?;
        if found >> 32 != expected >> 32 {
            return Ok(false);
        }
        if found >> 16 == expected >> 16 && minor(found) >= minor(expected) {
            return Ok(true);
        }
        Err(Error::Refused {
            field: what,
            value: format!("of version {}.{}", found >> 16 & 0xffff, minor(found)),
            limit: format!(
                "the driver needs version {}.{} or a later one of {0}",
                expected >> 16 & 0xffff,
                minor(expected)
            ),
            remedy: "use driver and RTL of the same release",
        })
    }
}

/// The minor version in a version register.
const fn minor(version: u64) -> u64 {
    version >> 8 & 0xff
}

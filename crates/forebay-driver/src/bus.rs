// SPDX-License-Identifier: Apache-2.0
//! What the driver needs of the machine it runs on, and nothing more.
//!
//! The driver never knows where a [`Bus`] leads: to a co-simulation, to QEMU's devices or, through
//! VFIO, to real ones. Addresses that devices use (*bus addresses*, IOVAs) are plain `u64`; memory
//! of the host is reached through [`DmaBuffer`] handles only.

use std::error::Error as StdError;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Where a PCI function stands; shown and parsed as `0000:01:00.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// PCI segment group, 0 on most machines.
    pub segment: u16,
    /// Bus number.
    pub bus: u8,
    /// Device on the bus, 0–31.
    pub device: u8,
    /// Function of the device, 0–7.
    pub function: u8,
}

impl PciAddress {
    /// An address in segment 0.
    pub const fn new(bus: u8, device: u8, function: u8) -> Self {
        Self {
            segment: 0,
            bus,
            device,
            function,
        }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            segment,
            bus,
            device,
            function,
        } = self;
        write!(f, "{segment:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

impl serde::Serialize for PciAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text is no PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no PCI address: write segment:bus:device.function, such as 0000:01:00.0")]
pub struct BadPciAddress(String);

impl FromStr for PciAddress {
    type Err = BadPciAddress;

    fn from_str(text: &str) -> Result<Self, BadPciAddress> {
        let parse = || {
            let (rest, function) = text.rsplit_once('.')?;
            let (rest, device) = rest.rsplit_once(':')?;
            let (segment, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
            let address = Self {
                segment: u16::from_str_radix(segment, 16).ok()?,
                bus: u8::from_str_radix(bus, 16).ok()?,
                device: u8::from_str_radix(device, 16).ok()?,
                function: function.parse().ok()?,
            };
            (address.device < 32 && address.function < 8).then_some(address)
        };
        parse().ok_or_else(|| BadPciAddress(text.to_owned()))
    }
}

/// Host memory that devices can reach, contiguous in bus addresses.
///
/// A handle, not an owner: the memory lives until it is given to [`Bus::dma_free`] or the bus ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaBuffer {
    /// Bus address of the first byte.
    pub address: u64,
    /// Bytes.
    pub len: usize,
}

/// Why an access to the machine failed.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// No such function, or it has gone.
    #[error("no PCI function answers at {device}")]
    NoDevice {
        /// Where it was looked for.
        device: PciAddress,
    },
    /// An access past the end of a BAR, or to one that does not exist.
    #[error("offset {offset:#x} is outside BAR {bar} of {device}, which has {size:#x} bytes")]
    OutsideBar {
        /// The function.
        device: PciAddress,
        /// The base address register.
        bar: u8,
        /// Offset of the access.
        offset: u64,
        /// Bytes of the BAR, 0 where there is none.
        size: u64,
    },
    /// No memory for devices left.
    #[error("no memory for devices: {len} bytes aligned to {align} wanted, {free} are free")]
    OutOfMemory {
        /// Bytes asked for.
        len: usize,
        /// Alignment asked for.
        align: usize,
        /// Bytes left.
        free: usize,
    },
    /// An access past the end of a DMA buffer.
    #[error(
        "bytes {offset:#x}..{end:#x} are outside the DMA buffer at {address:#x}, {len:#x} bytes"
    )]
    OutsideBuffer {
        /// The buffer's bus address.
        address: u64,
        /// The buffer's bytes.
        len: usize,
        /// First byte of the access.
        offset: usize,
        /// End of the access.
        end: usize,
    },
    /// [`Bus::now`] stays the same however often [`Bus::relax`] is called.
    #[error("time stands still: it is {now:?} after {calls} calls of Bus::relax")]
    TimeStandsStill {
        /// The time it shows.
        now: Duration,
        /// Calls in a row without progress.
        calls: u32,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// What carries the bus has failed: a socket, a file, a simulation.
    #[error("{what}: {source}")]
    Carrier {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl DmaBuffer {
    /// Checks that an access lies inside and returns its end.
    ///
    /// # Errors
    /// [`BusError::OutsideBuffer`].
    pub fn check(&self, offset: usize, len: usize) -> BusResult<usize> {
        let end = offset.saturating_add(len);
        if end > self.len {
            let (address, len) = (self.address, self.len);
            return Err(BusError::OutsideBuffer {
                address,
                len,
                offset,
                end,
            });
        }
        Ok(end)
    }
}

/// Result of an access.
pub type BusResult<T> = Result<T, BusError>;

/// Access to PCI functions, to memory they can reach, and to time.
///
/// A method fails where the access cannot be made.
pub trait Bus {
    /// Every PCI function that is there, of whatever kind.
    fn devices(&mut self) -> BusResult<Vec<PciAddress>>;

    /// Reads 32 bits of configuration space; `offset` is a multiple of 4. Absent: all ones.
    fn config_read32(&mut self, device: PciAddress, offset: u16) -> BusResult<u32>;

    /// Writes 32 bits of configuration space; `offset` is a multiple of 4.
    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> BusResult<()>;

    /// Reads 32 bits of a BAR; `offset` is a multiple of 4.
    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u32>;

    /// Reads 64 bits of a BAR; `offset` is a multiple of 8.
    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64>;

    /// Writes 32 bits of a BAR; `offset` is a multiple of 4. The write is posted, and comes after
    /// all earlier writes to DMA memory (a doorbell needs that).
    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> BusResult<()>;

    /// Writes 64 bits of a BAR; `offset` is a multiple of 8. Posted as [`Bus::bar_write32`].
    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> BusResult<()>;

    /// Writes many bytes of a BAR that is memory behind; `offset` is a multiple of 8. A last word
    /// that is not full is filled with zeros. Posted as [`Bus::bar_write32`], in any order and in
    /// parts of any size.
    ///
    /// The default writes word by word; a bus that has wider accesses does better.
    fn bar_write_bytes(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        data: &[u8],
    ) -> BusResult<()> {
        for (at, bytes) in (offset..).step_by(8).zip(data.chunks(8)) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.bar_write64(device, bar, at, u64::from_le_bytes(word))?;
        }
        Ok(())
    }

    /// Reads many bytes of a BAR that is memory behind, whole words of 8 bytes; `offset` is a
    /// multiple of 8. It comes after all earlier writes to the BAR.
    ///
    /// The default reads word by word; a bus that has wider accesses does better.
    fn bar_read_bytes(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        data: &mut [u8],
    ) -> BusResult<()> {
        for (at, bytes) in (offset..).step_by(8).zip(data.chunks_mut(8)) {
            let word = self.bar_read64(device, bar, at)?.to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
        Ok(())
    }

    /// The address under which *other devices* reach a BAR: bus address or IOVA, never a pointer.
    fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64>;

    /// Memory that devices can reach, filled with zeros; `align` is a power of two.
    fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer>;

    /// Gives memory back. No device may use it any more. The default keeps it until the bus ends.
    fn dma_free(&mut self, buffer: DmaBuffer) {
        let _ = buffer;
    }

    /// Reads host memory as it is now; what a device has written is seen in the order of writing.
    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()>;

    /// Writes host memory.
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()>;

    /// Time since some fixed moment; never runs backwards.
    fn now(&mut self) -> Duration;

    /// Lets time pass until something may have changed: a simulation steps, hardware spins or, where
    /// this wait has lasted for some time, sleeps a little. [`Bus::now`] must have moved on after
    /// finitely many calls.
    ///
    /// # Errors
    /// [`BusError::Interrupted`] where the user wants to stop.
    fn relax(&mut self, waited: Duration) -> BusResult<()>;

    /// Interrupts of the card since the bus was opened; none where they are not let in. A carrier
    /// that has them ends [`Bus::relax`] with one.
    fn interrupts(&mut self) -> BusResult<u64> {
        Ok(0)
    }
}

/// Buffers of these lengths, or none at all.
pub(crate) fn alloc_all<const N: usize>(
    bus: &mut dyn Bus,
    lengths: [usize; N],
    align: usize,
) -> BusResult<[DmaBuffer; N]> {
    let mut buffers = [const { DmaBuffer { address: 0, len: 0 } }; N];
    for (taken, len) in lengths.into_iter().enumerate() {
        match bus.dma_alloc(len, align) {
            Ok(buffer) => buffers[taken] = buffer,
            Err(error) => {
                let taken = buffers.into_iter().take(taken);
                taken.for_each(|buffer| bus.dma_free(buffer));
                return Err(error);
            }
        }
    }
    Ok(buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_a_round_trip() {
        let address = PciAddress {
            segment: 1,
            bus: 0xaf,
            device: 31,
            function: 7,
        };
        assert_eq!(address.to_string(), "0001:af:1f.7");
        assert_eq!("0001:af:1f.7".parse(), Ok(address));
        assert_eq!("01:00.0".parse(), Ok(PciAddress::new(1, 0, 0)));
        for bad in ["", "1", "01:20.0", "01:00.8", "g:00.0", "01:00"] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_buffer_refuses_what_is_outside() {
        let buffer = DmaBuffer {
            address: 0x1000,
            len: 16,
        };
        assert_eq!(buffer.check(0, 16).ok(), Some(16));
        assert!(buffer.check(1, 16).is_err());
        assert!(buffer.check(usize::MAX, 2).is_err());
    }
}

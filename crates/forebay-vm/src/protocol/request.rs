// SPDX-License-Identifier: Apache-2.0
//! What is asked for, by either side.

use std::ops::RangeInclusive;

use super::fields::{Append, Fields};
use super::{Command, DATA_MOST, Header, Kind, Malformed, Version, irq, region};

/// A command with its fields. Descriptors travel beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Version and capabilities.
    Version(Version),
    /// Memory that the device may access; with a descriptor, directly.
    DmaMap(DmaMap),
    /// Memory that it may no longer access.
    DmaUnmap(DmaUnmap),
    /// Number of regions and interrupt types.
    DeviceInfo {
        /// Bytes that the sender has room for.
        argsz: u32,
    },
    /// Size and kind of a region.
    RegionInfo {
        /// Bytes that the sender has room for.
        argsz: u32,
        /// The region, see [`region`].
        index: u32,
    },
    /// Number and kind of interrupts.
    IrqInfo {
        /// The type, see [`irq`].
        index: u32,
    },
    /// Where interrupts go.
    SetIrqs(SetIrqs),
    /// The guest reads a region.
    RegionRead {
        /// The region.
        region: u32,
        /// Offset in it.
        offset: u64,
        /// Bytes, 1 to [`DATA_MOST`].
        count: u32,
    },
    /// The guest writes a region.
    RegionWrite {
        /// The region.
        region: u32,
        /// Offset in it.
        offset: u64,
        /// The bytes, 1 to [`DATA_MOST`].
        data: Vec<u8>,
    },
    /// The device reads memory.
    DmaRead {
        /// Address as the device sees it.
        address: u64,
        /// Bytes, 1 to [`DATA_MOST`].
        count: u32,
    },
    /// The device writes memory.
    DmaWrite {
        /// Address as the device sees it.
        address: u64,
        /// The bytes, 1 to [`DATA_MOST`].
        data: Vec<u8>,
    },
    /// Reset of the function.
    Reset,
}

/// Memory that the device may access ("VFIO_USER_DMA_MAP", with the fields of
/// `struct vfio_iommu_type1_dma_map` and the file's offset in place of a pointer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaMap {
    /// Offset in the file of the descriptor, if one comes with it.
    pub offset: u64,
    /// Addresses as the device sees them. Inclusive: the last may be 2^64 − 1.
    pub range: RangeInclusive<u64>,
    /// The device may read it.
    pub readable: bool,
    /// The device may write it.
    pub writable: bool,
}

/// Memory that the device may no longer access ("VFIO_USER_DMA_UNMAP").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaUnmap {
    /// Addresses as the device sees them; they need not be those of a map. `None`: all.
    pub range: Option<RangeInclusive<u64>>,
}

/// Where interrupts of a type go ("VFIO_USER_DEVICE_SET_IRQS").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetIrqs {
    /// The type, see [`irq`].
    pub index: u32,
    /// The first interrupt meant.
    pub start: u32,
    /// How many; none of them turns all of the type off where the action is [`Action::Trigger`].
    pub count: u32,
    /// What is to be done.
    pub action: Action,
    /// With what.
    pub data: IrqData,
}

/// What is to be done with interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Keep them back.
    Mask,
    /// Let them through.
    Unmask,
    /// With descriptors: signal them there from now on. Otherwise: raise them now.
    Trigger,
}

/// What comes with [`SetIrqs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IrqData {
    /// Nothing: all of them are meant.
    None,
    /// A flag for each of them.
    Flags(Vec<bool>),
    /// Descriptors beside the message: one for each, or none at all, which takes them away.
    Descriptors,
}

/// Flags of DMA_MAP and DMA_UNMAP (`VFIO_DMA_MAP_FLAG_*`, `VFIO_DMA_UNMAP_FLAG_*`).
const READABLE: u32 = 1 << 0;
const WRITABLE: u32 = 1 << 1;
const ALL: u32 = 1 << 1;

/// Flags of SET_IRQS (`VFIO_IRQ_SET_*`).
const DATA_NONE: u32 = 1 << 0;
const DATA_BOOL: u32 = 1 << 1;
const DATA_EVENTFD: u32 = 1 << 2;
const MASK: u32 = 1 << 3;
const UNMASK: u32 = 1 << 4;
const TRIGGER: u32 = 1 << 5;

/// Interrupts of one type that a PCI function can have (MSI-X table size, PCIe 7.7.2.2).
const IRQS_MOST: u32 = 2048;

impl Request {
    /// Reads the body of a command.
    ///
    /// # Errors
    /// [`Malformed`] where a field cannot be, or the command is none that we know.
    pub fn parse(command: Command, body: &[u8]) -> Result<Self, Malformed> {
        let fields = |least| Fields::new(command, body, least);
        match command {
            Command::VERSION => Version::parse(body).map(Self::Version),
            Command::DMA_MAP => DmaMap::parse(&fields(32)?).map(Self::DmaMap),
            Command::DMA_UNMAP => DmaUnmap::parse(&fields(24)?).map(Self::DmaUnmap),
            Command::DEVICE_GET_INFO => Ok(Self::DeviceInfo {
                argsz: fields(16)?.argsz(16)?,
            }),
            Command::DEVICE_GET_REGION_INFO => {
                let fields = fields(32)?;
                let index = index(&fields, 8, region::COUNT)?;
                let argsz = fields.argsz(32)?;
                Ok(Self::RegionInfo { argsz, index })
            }
            Command::DEVICE_GET_IRQ_INFO => {
                let fields = fields(16)?;
                fields.argsz(16)?;
                let index = index(&fields, 8, irq::COUNT)?;
                Ok(Self::IrqInfo { index })
            }
            Command::DEVICE_SET_IRQS => SetIrqs::parse(&fields(20)?).map(Self::SetIrqs),
            Command::REGION_READ | Command::REGION_WRITE => {
                let fields = fields(16)?;
                let (offset, region) = (fields.u64(0), index(&fields, 8, region::COUNT)?);
                let count = count(&fields, fields.u32(12).into())?;
                if offset.checked_add(count.into()).is_none() {
                    return Err(fields.wrong("region offset", offset, "below 2^64 with count"));
                }
                if command == Command::REGION_READ {
                    return Ok(Self::RegionRead {
                        region,
                        offset,
                        count,
                    });
                }
                let data = data(&fields, count)?;
                Ok(Self::RegionWrite {
                    region,
                    offset,
                    data,
                })
            }
            Command::DMA_READ | Command::DMA_WRITE => {
                let fields = fields(16)?;
                let (address, count) = (fields.u64(0), count(&fields, fields.u64(8))?);
                span(&fields, address, count.into())?;
                if command == Command::DMA_READ {
                    return Ok(Self::DmaRead { address, count });
                }
                let data = data(&fields, count)?;
                Ok(Self::DmaWrite { address, data })
            }
            Command::DEVICE_RESET => Ok(Self::Reset),
            _ => {
                let limit = "one of 1 to 5 and 7 to 13";
                Err(Malformed::new(command, "command", command.0, limit))
            }
        }
    }

    /// The command's number.
    pub const fn command(&self) -> Command {
        match self {
            Self::Version(_) => Command::VERSION,
            Self::DmaMap(_) => Command::DMA_MAP,
            Self::DmaUnmap(_) => Command::DMA_UNMAP,
            Self::DeviceInfo { .. } => Command::DEVICE_GET_INFO,
            Self::RegionInfo { .. } => Command::DEVICE_GET_REGION_INFO,
            Self::IrqInfo { .. } => Command::DEVICE_GET_IRQ_INFO,
            Self::SetIrqs(_) => Command::DEVICE_SET_IRQS,
            Self::RegionRead { .. } => Command::REGION_READ,
            Self::RegionWrite { .. } => Command::REGION_WRITE,
            Self::DmaRead { .. } => Command::DMA_READ,
            Self::DmaWrite { .. } => Command::DMA_WRITE,
            Self::Reset => Command::DEVICE_RESET,
        }
    }

    /// The whole message; `replied`: its sender waits for a reply.
    pub fn to_bytes(&self, id: u16, replied: bool) -> Vec<u8> {
        let kind = Kind::Command { replied };
        Header::around(id, self.command(), kind, &self.body())
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Version(version) => return version.body(),
            Self::DmaMap(map) => map.write_to(&mut body),
            Self::DmaUnmap(unmap) => unmap.write_to(&mut body),
            Self::DeviceInfo { argsz } => {
                body.u32(*argsz).u32(0).u64(0);
            }
            Self::RegionInfo { argsz, index } => {
                body.u32(*argsz).u32(0).u32(*index).u32(0).u64(0).u64(0);
            }
            Self::IrqInfo { index } => {
                body.u32(16).u32(0).u32(*index).u32(0);
            }
            Self::SetIrqs(set) => set.write_to(&mut body),
            Self::RegionRead {
                region,
                offset,
                count,
            } => {
                body.u64(*offset).u32(*region).u32(*count);
            }
            Self::RegionWrite {
                region,
                offset,
                data,
            } => {
                body.u64(*offset).u32(*region).u32(data.len() as u32);
                body.extend_from_slice(data);
            }
            Self::DmaRead { address, count } => {
                body.u64(*address).u64(u64::from(*count));
            }
            Self::DmaWrite { address, data } => {
                body.u64(*address).u64(data.len() as u64);
                body.extend_from_slice(data);
            }
            Self::Reset => {}
        }
        body
    }
}

impl DmaMap {
    fn parse(fields: &Fields<'_>) -> Result<Self, Malformed> {
        fields.argsz(32)?;
        let (flags, offset) = (fields.u32(4), fields.u64(8));
        if flags & !(READABLE | WRITABLE) != 0 {
            return Err(fields.wrong("flags", flags, "readable (1), writable (2), or both"));
        }
        let range = span(fields, fields.u64(16), fields.u64(24))?;
        if offset.checked_add(range.end() - range.start()).is_none() {
            return Err(fields.wrong("offset", offset, "below 2^64 with size"));
        }
        Ok(Self {
            offset,
            range,
            readable: flags & READABLE != 0,
            writable: flags & WRITABLE != 0,
        })
    }

    fn write_to(&self, body: &mut Vec<u8>) {
        let writable = if self.writable { WRITABLE } else { 0 };
        let flags = u32::from(self.readable) | writable;
        body.u32(32).u32(flags).u64(self.offset);
        write_span(body, Some(&self.range));
    }
}

impl DmaUnmap {
    fn parse(fields: &Fields<'_>) -> Result<Self, Malformed> {
        fields.argsz(24)?;
        let flags = fields.u32(4);
        if flags & !ALL != 0 {
            let limit = "0 or all (2): dirty pages are not tracked";
            return Err(fields.wrong("flags", flags, limit));
        }
        let range = match flags & ALL {
            0 => Some(span(fields, fields.u64(8), fields.u64(16))?),
            _ => None,
        };
        Ok(Self { range })
    }

    pub(super) fn write_to(&self, body: &mut Vec<u8>) {
        let flags = if self.range.is_none() { ALL } else { 0 };
        body.u32(24).u32(flags);
        write_span(body, self.range.as_ref());
    }
}

impl SetIrqs {
    fn parse(fields: &Fields<'_>) -> Result<Self, Malformed> {
        fields.argsz(20)?;
        let index = index(fields, 8, irq::COUNT)?;
        let (flags, start, count) = (fields.u32(4), fields.u32(12), fields.u32(16));
        match start.checked_add(count) {
            Some(end) if end <= IRQS_MOST => {}
            _ => {
                let limit = format!("at most {IRQS_MOST} with start {start}");
                return Err(fields.wrong("count", count, limit));
            }
        }
        let action = match flags & !(DATA_NONE | DATA_BOOL | DATA_EVENTFD) {
            MASK => Action::Mask,
            UNMASK => Action::Unmask,
            TRIGGER => Action::Trigger,
            _ => return Err(fields.wrong("flags", flags, "one of mask, unmask and trigger")),
        };
        let data = match flags & (DATA_NONE | DATA_BOOL | DATA_EVENTFD) {
            DATA_NONE => IrqData::None,
            DATA_BOOL => {
                let bytes = fields.tail(20);
                let flags = bytes.get(..count as usize);
                let flags = flags.ok_or_else(|| {
                    let limit = format!("at most the {} bytes sent", bytes.len());
                    fields.wrong("count", count, limit)
                })?;
                IrqData::Flags(flags.iter().map(|flag| *flag != 0).collect())
            }
            DATA_EVENTFD => IrqData::Descriptors,
            _ => return Err(fields.wrong("flags", flags, "one of none, bool and eventfd")),
        };
        Ok(Self {
            index,
            start,
            count,
            action,
            data,
        })
    }

    fn write_to(&self, body: &mut Vec<u8>) {
        let action = match self.action {
            Action::Mask => MASK,
            Action::Unmask => UNMASK,
            Action::Trigger => TRIGGER,
        };
        let (data, flags): (_, &[bool]) = match &self.data {
            IrqData::None => (DATA_NONE, &[]),
            IrqData::Flags(flags) => (DATA_BOOL, flags),
            IrqData::Descriptors => (DATA_EVENTFD, &[]),
        };
        body.u32(20 + flags.len() as u32).u32(action | data);
        body.u32(self.index).u32(self.start).u32(self.count);
        body.extend(flags.iter().map(|flag| u8::from(*flag)));
    }
}

/// The index of a region or interrupt type.
fn index(fields: &Fields<'_>, at: usize, count: u32) -> Result<u32, Malformed> {
    match fields.u32(at) {
        index if index < count => Ok(index),
        index => Err(fields.wrong("index", index, format!("below {count}"))),
    }
}

/// The bytes of an access.
fn count(fields: &Fields<'_>, count: u64) -> Result<u32, Malformed> {
    match u32::try_from(count) {
        Ok(count @ 1..=DATA_MOST) => Ok(count),
        _ => Err(fields.wrong("count", count, format!("1 to {DATA_MOST}"))),
    }
}

/// The data behind the 16 bytes of an access.
fn data(fields: &Fields<'_>, count: u32) -> Result<Vec<u8>, Malformed> {
    let tail = fields.tail(16);
    match tail.get(..count as usize) {
        Some(data) => Ok(data.to_vec()),
        None => {
            let limit = format!("at most the {} bytes sent", tail.len());
            Err(fields.wrong("count", count, limit))
        }
    }
}

/// A range of addresses, which may end at 2^64.
fn span(fields: &Fields<'_>, start: u64, size: u64) -> Result<RangeInclusive<u64>, Malformed> {
    let last = size.checked_sub(1).and_then(|more| start.checked_add(more));
    match last {
        Some(last) => Ok(start..=last),
        None => Err(fields.wrong("size", size, format!("1 to 2^64 − {start:#x}"))),
    }
}

/// Start and size. All 2^64 addresses at once have no size that could be said.
fn write_span(body: &mut Vec<u8>, range: Option<&RangeInclusive<u64>>) {
    let (start, size) = range.map_or((0, 0), |range| {
        (
            *range.start(),
            (range.end() - range.start()).wrapping_add(1),
        )
    });
    body.u64(start).u64(size);
}

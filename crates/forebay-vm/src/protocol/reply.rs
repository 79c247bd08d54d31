// SPDX-License-Identifier: Apache-2.0
//! What is answered, by either side.

use super::fields::{Append, Fields};
use super::{Command, DmaUnmap, Errno, Header, Kind, Malformed, Request, Version, irq, region};

/// The reply to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The version agreed on.
    Version(Version),
    /// To commands whose reply is but a header.
    Done(Command),
    /// What was unmapped.
    DmaUnmap(DmaUnmap),
    /// What kind of device it is.
    DeviceInfo(DeviceInfo),
    /// A region.
    RegionInfo {
        /// The region.
        info: RegionInfo,
        /// Bytes the client has room for: what does not fit is left out, and it asks again.
        argsz: u32,
    },
    /// Interrupts of a type.
    IrqInfo(IrqInfo),
    /// What the guest reads.
    RegionRead {
        /// The region.
        region: u32,
        /// Offset in it.
        offset: u64,
        /// The bytes.
        data: Vec<u8>,
    },
    /// What the guest wrote.
    RegionWrite {
        /// The region.
        region: u32,
        /// Offset in it.
        offset: u64,
        /// How many bytes.
        count: u32,
    },
    /// What the device reads.
    DmaRead {
        /// Address as the device sees it.
        address: u64,
        /// The bytes.
        data: Vec<u8>,
    },
    /// The command was not carried out.
    Failure(Command, Errno),
}

/// Numbers of regions and interrupt types ("VFIO_USER_DEVICE_GET_INFO").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// It takes [`Request::Reset`].
    pub resettable: bool,
    /// Regions.
    pub regions: u32,
    /// Interrupt types.
    pub irqs: u32,
}

/// A region ("VFIO_USER_DEVICE_GET_REGION_INFO").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionInfo {
    /// Its number.
    pub index: u32,
    /// Its size in bytes; 0 is no region at all.
    pub bytes: u64,
    /// Where it starts in the file of the descriptor, if parts are mapped.
    pub offset: u64,
    /// Parts that the client may map by the descriptor beside the reply; other accesses to the
    /// region are messages.
    pub mapped: Vec<Area>,
}

/// A part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Offset in the region.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Interrupts of a type ("VFIO_USER_DEVICE_GET_IRQ_INFO"). They are signalled by eventfd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrqInfo {
    /// The type.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

/// Flags of the device (`VFIO_DEVICE_FLAGS_*`).
const DEVICE_RESET: u32 = 1 << 0;
const DEVICE_PCI: u32 = 1 << 1;
/// Flags of a region (`VFIO_REGION_INFO_FLAG_*`).
const REGION_READ_WRITE: u32 = 0b11;
const REGION_MMAP: u32 = 1 << 2;
const REGION_CAPS: u32 = 1 << 3;
/// `VFIO_REGION_INFO_CAP_SPARSE_MMAP`, version 1.
const SPARSE_MMAP: u16 = 1;
const SPARSE_MMAP_VERSION: u16 = 1;
/// `VFIO_IRQ_INFO_EVENTFD`.
const IRQ_EVENTFD: u32 = 1 << 0;
/// Bytes of the region structure, of the sparse capability without its areas, and of an area.
const REGION_BYTES: u32 = 32;
const SPARSE_BYTES: u32 = 16;
const AREA_BYTES: u32 = 16;

impl Reply {
    /// The command that it answers.
    pub const fn command(&self) -> Command {
        match self {
            Self::Version(_) => Command::VERSION,
            Self::Done(command) | Self::Failure(command, _) => *command,
            Self::DmaUnmap(_) => Command::DMA_UNMAP,
            Self::DeviceInfo(_) => Command::DEVICE_GET_INFO,
            Self::RegionInfo { .. } => Command::DEVICE_GET_REGION_INFO,
            Self::IrqInfo(_) => Command::DEVICE_GET_IRQ_INFO,
            Self::RegionRead { .. } => Command::REGION_READ,
            Self::RegionWrite { .. } => Command::REGION_WRITE,
            Self::DmaRead { .. } => Command::DMA_READ,
        }
    }

    /// The whole message; `id` is that of the command.
    pub fn to_bytes(&self, id: u16) -> Vec<u8> {
        let kind = match self {
            Self::Failure(_, errno) => Kind::Failure(*errno),
            _ => Kind::Reply,
        };
        Header::around(id, self.command(), kind, &self.body())
    }

    /// Reads the body of a reply.
    ///
    /// # Errors
    /// [`Malformed`] where a field cannot be, or the message is no reply.
    pub fn parse(header: &Header, body: &[u8]) -> Result<Self, Malformed> {
        let command = header.command;
        match header.kind {
            Kind::Failure(errno) => return Ok(Self::Failure(command, errno)),
            Kind::Reply => {}
            Kind::Command { .. } => {
                return Err(Malformed::new(command, "flags", 0u32, "those of a reply"));
            }
        }
        let fields = |least| Fields::new(command, body, least);
        match command {
            Command::VERSION => Version::parse(body).map(Self::Version),
            Command::DMA_MAP
            | Command::DEVICE_SET_IRQS
            | Command::DEVICE_RESET
            | Command::DMA_WRITE => Ok(Self::Done(command)),
            Command::DEVICE_GET_INFO => {
                let fields = fields(16)?;
                Ok(Self::DeviceInfo(DeviceInfo {
                    resettable: fields.u32(4) & DEVICE_RESET != 0,
                    regions: fields.u32(8),
                    irqs: fields.u32(12),
                }))
            }
            Command::DEVICE_GET_REGION_INFO => RegionInfo::parse(&fields(REGION_BYTES as usize)?),
            Command::DEVICE_GET_IRQ_INFO => {
                let fields = fields(16)?;
                let (index, count) = (fields.u32(8), fields.u32(12));
                if index >= irq::COUNT {
                    return Err(fields.wrong("index", index, format!("below {}", irq::COUNT)));
                }
                Ok(Self::IrqInfo(IrqInfo { index, count }))
            }
            Command::REGION_WRITE => {
                let fields = fields(16)?;
                Ok(Self::RegionWrite {
                    offset: fields.u64(0),
                    region: fields.u32(8),
                    count: fields.u32(12),
                })
            }
            // The fields of the command come back; those of a read with data behind them, as they
            // stand in a write.
            _ => {
                let same = match command {
                    Command::REGION_READ => Command::REGION_WRITE,
                    Command::DMA_READ => Command::DMA_WRITE,
                    other => other,
                };
                Ok(match Request::parse(same, body)? {
                    Request::DmaUnmap(unmap) => Self::DmaUnmap(unmap),
                    Request::RegionWrite {
                        region,
                        offset,
                        data,
                    } => Self::RegionRead {
                        region,
                        offset,
                        data,
                    },
                    Request::DmaWrite { address, data } => Self::DmaRead { address, data },
                    _ => Self::Done(command),
                })
            }
        }
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Version(version) => return version.body(),
            Self::Done(_) | Self::Failure(..) => {}
            Self::DmaUnmap(unmap) => unmap.write_to(&mut body),
            Self::DeviceInfo(info) => {
                let flags = DEVICE_PCI | if info.resettable { DEVICE_RESET } else { 0 };
                body.u32(16).u32(flags).u32(info.regions).u32(info.irqs);
            }
            Self::RegionInfo { info, argsz } => info.write_to(&mut body, *argsz),
            Self::IrqInfo(info) => {
                let flags = if info.count > 0 { IRQ_EVENTFD } else { 0 };
                body.u32(16).u32(flags).u32(info.index).u32(info.count);
            }
            Self::RegionRead {
                region,
                offset,
                data,
            } => {
                body.u64(*offset).u32(*region).u32(data.len() as u32);
                body.extend_from_slice(data);
            }
            Self::RegionWrite {
                region,
                offset,
                count,
            } => {
                body.u64(*offset).u32(*region).u32(*count);
            }
            Self::DmaRead { address, data } => {
                body.u64(*address).u64(data.len() as u64);
                body.extend_from_slice(data);
            }
        }
        body
    }
}

impl RegionInfo {
    fn parse(fields: &Fields<'_>) -> Result<Reply, Malformed> {
        let command = Command::DEVICE_GET_REGION_INFO;
        let (argsz, flags) = (fields.u32(0), fields.u32(4));
        let (index, caps) = (fields.u32(8), fields.u32(12));
        if index >= region::COUNT {
            return Err(fields.wrong("index", index, format!("below {}", region::COUNT)));
        }
        let mut info = Self {
            index,
            bytes: fields.u64(16),
            offset: fields.u64(24),
            mapped: Vec::new(),
        };
        // Where the room was too small for it, only its place is told.
        let here = fields.tail(REGION_BYTES as usize).len() >= SPARSE_BYTES as usize;
        if flags & REGION_CAPS != 0 && caps == REGION_BYTES && here {
            let caps = Fields::new(command, fields.tail(caps as usize), SPARSE_BYTES as usize)?;
            let areas = caps
                .tail(SPARSE_BYTES as usize)
                .chunks_exact(AREA_BYTES as usize);
            for area in areas.take(caps.u32(8) as usize) {
                let area = Fields::new(command, area, AREA_BYTES as usize)?;
                info.mapped.push(Area {
                    offset: area.u64(0),
                    bytes: area.u64(8),
                });
            }
        }
        Ok(Reply::RegionInfo { info, argsz })
    }

    /// The structure; the capability follows where it fits into `argsz`.
    fn write_to(&self, body: &mut Vec<u8>, argsz: u32) {
        let areas = self.mapped.len() as u32;
        let sparse = match areas {
            0 => 0,
            areas => SPARSE_BYTES + AREA_BYTES * areas,
        };
        let needed = REGION_BYTES + sparse;
        let mut flags = if self.bytes > 0 { REGION_READ_WRITE } else { 0 };
        if areas > 0 {
            flags |= REGION_MMAP | REGION_CAPS;
        }
        let fits = areas > 0 && argsz >= needed;
        // QEMU refuses an offset of 0 beside the flag, also where the room ends before.
        let caps = if areas > 0 { REGION_BYTES } else { 0 };
        body.u32(needed).u32(flags).u32(self.index).u32(caps);
        body.u64(self.bytes).u64(self.offset);
        if fits {
            body.u16(SPARSE_MMAP).u16(SPARSE_MMAP_VERSION).u32(0);
            body.u32(areas).u32(0);
            for area in &self.mapped {
                body.u64(area.offset).u64(area.bytes);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Controller registers in BAR 0 (3.1.3).

/// Controller capabilities, 64 bits (3.1.3.1).
pub const CAP: u64 = 0x00;
/// Version, 32 bits (3.1.3.2).
pub const VS: u64 = 0x08;
/// Interrupt mask set, 32 bits (3.1.3.3).
pub const INTMS: u64 = 0x0c;
/// Interrupt mask clear, 32 bits (3.1.3.4).
pub const INTMC: u64 = 0x10;
/// Controller configuration, 32 bits (3.1.3.5).
pub const CC: u64 = 0x14;
/// Controller status, 32 bits (3.1.3.6).
pub const CSTS: u64 = 0x1c;
/// Subsystem reset, 32 bits (3.1.3.7).
pub const NSSR: u64 = 0x20;
/// Admin queue attributes, 32 bits (3.1.3.8).
pub const AQA: u64 = 0x24;
/// Admin submission queue base, 64 bits (3.1.3.9).
pub const ASQ: u64 = 0x28;
/// Admin completion queue base, 64 bits (3.1.3.10).
pub const ACQ: u64 = 0x30;
/// First doorbell (PCIe Transport 1.0c, 3.1.2).
pub const DOORBELLS: u64 = 0x1000;

/// Version 1.4.0 as the VS register holds it.
pub const VERSION_1_4: u32 = 0x0001_0400;

/// Offset of a queue's submission tail doorbell, with a doorbell stride of `4 << dstrd` bytes.
pub const fn sq_doorbell(queue: u16, dstrd: u8) -> u64 {
    DOORBELLS + 2 * queue as u64 * (4u64 << (dstrd & 15))
}

/// Offset of a queue's completion head doorbell, with a doorbell stride of `4 << dstrd` bytes.
pub const fn cq_doorbell(queue: u16, dstrd: u8) -> u64 {
    DOORBELLS + (2 * queue as u64 + 1) * (4u64 << (dstrd & 15))
}

/// Controller capabilities (3.1.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cap {
    /// Maximum queue entries supported, *not* 0's based here: 2–65536.
    pub max_queue_entries: u32,
    /// Queues must be physically contiguous.
    pub contiguous_queues: bool,
    /// Worst time to become ready or not ready, in units of 500 ms.
    pub timeout: u8,
    /// Doorbell stride: `4 << stride` bytes from one doorbell to the next.
    pub doorbell_stride: u8,
    /// The NVM command set can be selected.
    pub nvm_command_set: bool,
    /// Least memory page: `4096 << page_min` bytes.
    pub page_min: u8,
    /// Greatest memory page: `4096 << page_max` bytes.
    pub page_max: u8,
}

impl Cap {
    /// Reads the register.
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            max_queue_entries: (bits & 0xffff) as u32 + 1,
            contiguous_queues: bits >> 16 & 1 != 0,
            timeout: (bits >> 24) as u8,
            doorbell_stride: (bits >> 32 & 0xf) as u8,
            nvm_command_set: bits >> 37 & 1 != 0,
            page_min: (bits >> 48 & 0xf) as u8,
            page_max: (bits >> 52 & 0xf) as u8,
        }
    }

    /// The register's value.
    pub const fn bits(self) -> u64 {
        (self.max_queue_entries.wrapping_sub(1) & 0xffff) as u64
            | (self.contiguous_queues as u64) << 16
            | (self.timeout as u64) << 24
            | ((self.doorbell_stride & 0xf) as u64) << 32
            | (self.nvm_command_set as u64) << 37
            | ((self.page_min & 0xf) as u64) << 48
            | ((self.page_max & 0xf) as u64) << 52
    }
}

/// Shutdown notification, CC.SHN (3.1.3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shutdown {
    /// None (also the reserved value 3).
    #[default]
    None,
    /// Normal: caches are to be saved.
    Normal,
    /// Abrupt.
    Abrupt,
}

/// Controller configuration (3.1.3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cc {
    /// Enable.
    pub enable: bool,
    /// Command set selected; 0 is NVM.
    pub command_set: u8,
    /// Memory page: `4096 << page` bytes.
    pub page: u8,
    /// Arbitration selected; 0 is round robin.
    pub arbitration: u8,
    /// Shutdown notification.
    pub shutdown: Shutdown,
    /// log2 of the bytes of a submission entry.
    pub sqe_shift: u8,
    /// log2 of the bytes of a completion entry.
    pub cqe_shift: u8,
}

impl Cc {
    /// Reads the register.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            enable: bits & 1 != 0,
            command_set: (bits >> 4 & 7) as u8,
            page: (bits >> 7 & 0xf) as u8,
            arbitration: (bits >> 11 & 7) as u8,
            shutdown: match bits >> 14 & 3 {
                1 => Shutdown::Normal,
                2 => Shutdown::Abrupt,
                _ => Shutdown::None,
            },
            sqe_shift: (bits >> 16 & 0xf) as u8,
            cqe_shift: (bits >> 20 & 0xf) as u8,
        }
    }

    /// The register's value.
    pub const fn bits(self) -> u32 {
        self.enable as u32
            | ((self.command_set & 7) as u32) << 4
            | ((self.page & 0xf) as u32) << 7
            | ((self.arbitration & 7) as u32) << 11
            | (self.shutdown as u32) << 14
            | ((self.sqe_shift & 0xf) as u32) << 16
            | ((self.cqe_shift & 0xf) as u32) << 20
    }
}

/// What enables a controller with entries of 64 and 16 bytes and pages of 4 KiB.
pub const CC_ENABLE: Cc = Cc {
    enable: true,
    command_set: 0,
    page: 0,
    arbitration: 0,
    shutdown: Shutdown::None,
    sqe_shift: 6,
    cqe_shift: 4,
};

/// Progress of a shutdown, CSTS.SHST (3.1.3.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShutdownStatus {
    /// Normal operation.
    #[default]
    Normal,
    /// Shutdown processing occurs.
    Occurring,
    /// Shutdown processing is complete.
    Complete,
}

/// Controller status (3.1.3.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Csts {
    /// Ready.
    pub ready: bool,
    /// Controller fatal status.
    pub fatal: bool,
    /// Progress of a shutdown.
    pub shutdown: ShutdownStatus,
}

impl Csts {
    /// Reads the register. All ones, the answer of an absent function, reads as fatal.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            ready: bits & 1 != 0,
            fatal: bits & 2 != 0,
            shutdown: match bits >> 2 & 3 {
                0 => ShutdownStatus::Normal,
                1 => ShutdownStatus::Occurring,
                _ => ShutdownStatus::Complete,
            },
        }
    }

    /// The register's value.
    pub const fn bits(self) -> u32 {
        self.ready as u32 | (self.fatal as u32) << 1 | (self.shutdown as u32) << 2
    }
}

/// Admin queue attributes (3.1.3.8); sizes in entries, *not* 0's based here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aqa {
    /// Entries of the admin submission queue, 2–4096.
    pub sq_entries: u16,
    /// Entries of the admin completion queue, 2–4096.
    pub cq_entries: u16,
}

impl Aqa {
    /// Reads the register.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            sq_entries: (bits & 0xfff) as u16 + 1,
            cq_entries: (bits >> 16 & 0xfff) as u16 + 1,
        }
    }

    /// The register's value.
    pub const fn bits(self) -> u32 {
        (self.sq_entries.wrapping_sub(1) & 0xfff) as u32
            | ((self.cq_entries.wrapping_sub(1) & 0xfff) as u32) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_survive_a_round_trip() {
        let cap = 0x0040_002a_1901_03ff & !(0x3f << 38) & !(0x7f << 17);
        assert_eq!(Cap::from_bits(cap).bits(), cap);
        for bits in [0, 1, 0x0046_0001, 0x0046_4001, 0x0046_8981] {
            assert_eq!(Cc::from_bits(bits).bits(), bits);
        }
        for bits in [0, 1, 2, 5, 9] {
            assert_eq!(Csts::from_bits(bits).bits(), bits);
        }
        assert_eq!(Aqa::from_bits(0x0fff_001f).bits(), 0x0fff_001f);
        assert_eq!(
            Aqa::from_bits(0x001f_003f),
            Aqa {
                sq_entries: 64,
                cq_entries: 32
            }
        );
    }

    #[test]
    fn doorbells_stand_at_their_stride() {
        assert_eq!((sq_doorbell(1, 0), cq_doorbell(1, 0)), (0x1008, 0x100c));
        assert_eq!((sq_doorbell(1, 2), cq_doorbell(1, 2)), (0x1020, 0x1030));
    }
}

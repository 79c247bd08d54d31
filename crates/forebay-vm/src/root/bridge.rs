// SPDX-License-Identifier: Apache-2.0
//! What a bridge in an FPGA makes of accesses, where the port is QEMU's.
//!
//! Bus 0 has the root port alone, as device 0; QEMU's other devices on its bus 0 read as absent.
//! Memory is what a bridge passes on: the room for windows and BARs. PERST# is the port's Secondary
//! Bus Reset; while it is asserted, the link is down.

use forebay_qtest::{BAR_SPACE, BAR_SPACE_END, ECAM, Error, Line};
use forebay_spec::pci::{capability, offset};

/// The root port's slot on QEMU's bus 0.
pub(super) const SLOT: u64 = 3;
/// Bytes of configuration space of a function, and of a bus.
const FUNCTION_BYTES: u32 = 0x1000;
const BUS_BYTES: u32 = 0x10_0000;
/// Capabilities of a function: more do not fit.
const CAPABILITIES_MOST: usize = 48;
/// Link Status, in the upper half of the dword, bit 13: the data link layer is active (7.5.3.8).
const LINK_STATUS: u64 = 0x10;
const LINK_ACTIVE: u64 = 1 << 29;
/// Bridge Control, in the upper half of the dword, bit 6: Secondary Bus Reset (7.5.1.3.13).
const BUS_RESET: u32 = 1 << 22;

/// What becomes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// QEMU is asked.
    Line(Line),
    /// The answer is known: a dword, any for a write; none: in error.
    Known(Option<u32>),
}

/// The bridge.
#[derive(Debug)]
pub(super) struct Bridge {
    /// Where the port's PCI Express capability is.
    express: u64,
    /// PERST# is asserted.
    pub reset: bool,
}

impl Bridge {
    /// Looks for the port's capability.
    pub fn find<E: From<Error>>(mut ask: impl FnMut(Line) -> Result<u64, E>) -> Result<Self, E> {
        let mut next = ask(Line::Read32(port(offset::CAPABILITIES.into())))?;
        for _ in 0..CAPABILITIES_MOST {
            let at = port(next & 0xfc);
            let found = ask(Line::Read32(at))?;
            if found as u8 == capability::PCI_EXPRESS {
                return Ok(Self {
                    express: at,
                    reset: false,
                });
            }
            next = found >> 8;
        }
        Err(E::from(Error::Answer {
            line: "the capabilities of the root port".into(),
            answer: format!("{next:#x}"),
        }))
    }

    /// Reads a dword of configuration space.
    pub fn config_read(&self, ecam: u32) -> Access {
        self.config(ecam, u32::MAX, Line::Read32)
    }

    /// Writes one.
    pub fn config_write(&self, ecam: u32, value: u32) -> Access {
        self.config(ecam, 0, |at| Line::Write32(at, value))
    }

    /// `absent`: where nothing is.
    fn config(&self, ecam: u32, absent: u32, line: impl FnOnce(u64) -> Line) -> Access {
        match ecam {
            0..FUNCTION_BYTES => Access::Line(line(port(ecam.into()))),
            FUNCTION_BYTES..BUS_BYTES => Access::Known(Some(absent)),
            // A bridge answers in error what is below a link that is down.
            _ if self.reset => Access::Known(None),
            _ => Access::Line(line(ECAM + u64::from(ecam))),
        }
    }

    /// Reads a dword of memory.
    pub fn memory_read(&self, address: u64) -> Access {
        self.memory(address, Line::Read32(address))
    }

    /// Writes one.
    pub fn memory_write(&self, address: u64, value: u32) -> Access {
        self.memory(address, Line::Write32(address, value))
    }

    fn memory(&self, address: u64, line: Line) -> Access {
        match !self.reset && (BAR_SPACE..BAR_SPACE_END).contains(&address) {
            true => Access::Line(line),
            false => Access::Known(None),
        }
    }

    /// Reads what [`Bridge::is_up`] is told.
    pub const fn link_status(&self) -> Line {
        Line::Read32(self.express + LINK_STATUS)
    }

    /// The link is up.
    pub const fn is_up(&self, status: u64) -> bool {
        !self.reset && status & LINK_ACTIVE != 0
    }

    /// Reads what [`Bridge::set_reset`] is told.
    pub const fn control(&self) -> Line {
        Line::Read32(port(offset::INTERRUPT as u64))
    }

    /// Does what PERST# asks for.
    pub const fn set_reset(&self, control: u64, asserted: bool) -> Line {
        let control = control as u32 & !BUS_RESET;
        let reset = if asserted { BUS_RESET } else { 0 };
        Line::Write32(port(offset::INTERRUPT as u64), control | reset)
    }
}

/// Where QEMU has the root port's configuration space.
const fn port(offset: u64) -> u64 {
    function(SLOT) + offset
}

/// Where QEMU has the configuration space of a slot on its bus 0.
pub(super) const fn function(slot: u64) -> u64 {
    ECAM + (slot << 15)
}

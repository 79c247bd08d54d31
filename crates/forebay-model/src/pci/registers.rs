// SPDX-License-Identifier: Apache-2.0
//! Registers of configuration space, as headers of both types have them.

use forebay_spec::pci::{
    PortType, bar, capability, command, express, header, msix, offset, status,
};
use std::ops::Range;

use super::{Bar, Identity, MsixTable};

/// Dwords that are modelled; the extended space reads as zeros.
const DWORDS: usize = 64;
/// Where the capabilities stand.
pub(super) const EXPRESS: u16 = 0x40;
pub(super) const MSI_X: u16 = 0x80;
/// Where those of a list without end stand.
const CIRCLE: [u16; 2] = [0xc0, 0xd0];

/// Read requests of 512 bytes, the value after a reset (7.5.3.4).
const READ_REQUEST_RESET: u32 = 2;
/// Bits of a payload or read request size.
const SIZE: u32 = 0x7;

/// What registers hold, what a reset leaves in them, and which bits software writes.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    words: [u32; DWORDS],
    initial: [u32; DWORDS],
    writable: [u32; DWORDS],
}

impl Registers {
    /// A header with a PCI Express capability.
    pub(super) fn new(identity: Identity, header_type: u8, port_type: PortType) -> Self {
        let mut registers = Self {
            words: [0; DWORDS],
            initial: [0; DWORDS],
            writable: [0; DWORDS],
        };
        let enables = command::MEMORY_SPACE | command::BUS_MASTER | command::INTERRUPT_DISABLE;
        registers.define(offset::VENDOR_ID, two(identity.vendor, identity.device), 0);
        registers.define(
            offset::COMMAND,
            two(0, status::CAPABILITY_LIST),
            enables as u32,
        );
        registers.define(
            offset::CLASS_REVISION,
            identity.class << 8 | identity.revision as u32,
            0,
        );
        registers.define(offset::HEADER_TYPE, (header_type as u32) << 16, 0);
        registers.define(offset::CAPABILITIES, EXPRESS as u32, 0);
        registers.define(offset::INTERRUPT, 0, 0xff);
        registers.define(
            EXPRESS,
            capability::PCI_EXPRESS as u32
                | 2 << express::VERSION_SHIFT
                | (port_type.number() as u32) << express::PORT_TYPE_SHIFT,
            0,
        );
        registers
    }

    /// Makes a register: what it holds from a reset on, and which bits software writes.
    pub(super) fn define(&mut self, at: u16, value: u32, writable: u32) {
        let index = at as usize / 4;
        self.words[index] = value;
        self.initial[index] = value;
        self.writable[index] = writable;
    }

    /// Makes the BARs, in the order of their registers, as far as there are `count` of these.
    pub(super) fn define_bars(&mut self, bars: &[Bar], count: u8) {
        let end = offset::BAR0 + 4 * count as u16;
        let mut at = offset::BAR0;
        for bar in bars {
            let (flags, address) = bar.bits();
            let next = at + if is_wide(flags) { 8 } else { 4 };
            if next > end {
                return;
            }
            self.define(at, flags, address as u32);
            if is_wide(flags) {
                self.define(at + 4, 0, (address >> 32) as u32);
            }
            if flags & bar::IO != 0 {
                self.writable[offset::COMMAND as usize / 4] |= command::IO_SPACE as u32;
            }
            at = next;
        }
    }

    /// Says that the device may have more functions.
    pub(super) fn define_multi_function(&mut self) {
        let header_type = self.read(offset::HEADER_TYPE);
        let bit = (header::MULTI_FUNCTION as u32) << 16;
        self.define(offset::HEADER_TYPE, header_type | bit, 0);
    }

    /// Adds the MSI-X capability.
    pub(super) fn define_msix(&mut self, table: MsixTable) {
        let control = table.vectors.saturating_sub(1) & 0x7ff;
        let writable = msix::ENABLE | msix::FUNCTION_MASK;
        self.define(EXPRESS, self.read(EXPRESS) | (MSI_X as u32) << 8, 0);
        self.define(
            MSI_X,
            two(capability::MSI_X as u16, control),
            (writable as u32) << 16,
        );
        self.define(MSI_X + 4, table.table, 0);
        self.define(MSI_X + 8, table.pending, 0);
    }

    /// Payload and read requests have these sizes, supported and in use, whatever is written.
    pub(super) fn fix_payload(&mut self, payload: u32, read_request: u32) {
        let payload = size_code(payload);
        let control = payload << express::PAYLOAD_SHIFT
            | size_code(read_request) << express::READ_REQUEST_SHIFT;
        self.define(EXPRESS + express::DEVICE_CAPABILITIES, payload, 0);
        self.define(EXPRESS + express::DEVICE_CONTROL, control, 0);
    }

    /// Payload of up to this size is supported. Software says what is in use: 128 bytes after a reset.
    pub(super) fn offer_payload(&mut self, payload: u32) {
        let control = READ_REQUEST_RESET << express::READ_REQUEST_SHIFT;
        let writable = SIZE << express::PAYLOAD_SHIFT | SIZE << express::READ_REQUEST_SHIFT;
        self.define(
            EXPRESS + express::DEVICE_CAPABILITIES,
            size_code(payload),
            0,
        );
        self.define(EXPRESS + express::DEVICE_CONTROL, control, writable);
    }

    /// Puts two capabilities in front of the list that lead to each other.
    pub(super) fn define_circle(&mut self) {
        self.define(offset::CAPABILITIES, CIRCLE[0] as u32, 0);
        for (at, next) in [(CIRCLE[0], CIRCLE[1]), (CIRCLE[1], CIRCLE[0])] {
            let head = capability::POWER_MANAGEMENT as u32 | (next as u32) << 8;
            self.define(at, head, 0);
        }
    }

    /// Reads the dword at an offset; bits 1:0 are ignored.
    pub(super) fn read(&self, at: u16) -> u32 {
        self.words.get(at as usize / 4).copied().unwrap_or(0)
    }

    /// Software writes the dword at an offset. Read-only bits keep their value.
    pub(super) fn write(&mut self, at: u16, value: u32) {
        if let Some(writable) = self.writable.get(at as usize / 4) {
            self.update(at, *writable, value);
        }
    }

    /// Hardware changes bits of the dword at an offset.
    pub(super) fn update(&mut self, at: u16, mask: u32, value: u32) {
        if let Some(word) = self.words.get_mut(at as usize / 4) {
            *word = *word & !mask | value & mask;
        }
    }

    /// Everything is as it was defined.
    pub(super) fn reset(&mut self) {
        self.words = self.initial;
    }

    /// A bit of the command register is set.
    pub(super) fn is_enabled(&self, bit: u16) -> bool {
        self.read(offset::COMMAND) as u16 & bit != 0
    }

    /// Greatest payload to send, in bytes, as software has set it.
    pub(super) fn payload(&self) -> u32 {
        128 << (self.read(EXPRESS + express::DEVICE_CONTROL) >> express::PAYLOAD_SHIFT & SIZE)
    }

    /// Greatest read request, in bytes, as software has set it.
    pub(super) fn read_request(&self) -> u32 {
        128 << (self.read(EXPRESS + express::DEVICE_CONTROL) >> express::READ_REQUEST_SHIFT & SIZE)
    }

    /// Bytes of the memory BAR at an offset; 0 where there is none.
    pub(super) const fn bar_bytes(&self, at: u16) -> u64 {
        let index = at as usize / 4;
        if self.initial[index] & bar::IO != 0 {
            return 0;
        }
        let mut address = self.writable[index] as u64;
        if is_wide(self.initial[index]) {
            address |= (self.writable[index + 1] as u64) << 32;
        }
        // Bits below the size are not writable.
        address & address.wrapping_neg()
    }

    /// Bus addresses of the memory BAR at an offset, if there is one that is placed and enabled.
    pub(super) fn bar_range(&self, at: u16) -> Option<Range<u64>> {
        let low = self.read(at);
        let mut base = (low & !bar::FLAGS) as u64;
        if is_wide(low) {
            base |= (self.read(at + 4) as u64) << 32;
        }
        let bytes = self.bar_bytes(at);
        let answers = self.is_enabled(command::MEMORY_SPACE) && base != 0 && bytes != 0;
        answers.then(|| base..base.saturating_add(bytes))
    }

    /// The same of all BARs of a type 0 header.
    pub(super) fn bar_ranges(&self) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut at = offset::BAR0;
        while at < offset::BAR0 + 4 * bar::COUNT as u16 {
            ranges.extend(self.bar_range(at));
            at += if is_wide(self.read(at)) { 8 } else { 4 };
        }
        ranges
    }
}

/// A BAR whose flags are these takes two registers.
const fn is_wide(flags: u32) -> bool {
    flags & bar::IO == 0 && flags & bar::MEMORY_64 != 0
}

/// Two halves of a dword.
const fn two(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

/// How registers express a size of payload or read requests (7.5.3.3).
fn size_code(bytes: u32) -> u32 {
    bytes.clamp(128, 4096).ilog2() - 7
}

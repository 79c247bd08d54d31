// SPDX-License-Identifier: Apache-2.0
//! A bridge between buses: type 1 header (7.5.1.3) of a root port or of a port of a switch.

use forebay_spec::pci::{self, PortType, bar, bridge, command, express, header, offset};
use std::ops::{Range, RangeInclusive};

use super::registers::{EXPRESS, Registers};
use super::{Bar, Identity};
use crate::ssd::PCI_VENDOR;

/// Payload that a bridge supports, in bytes.
const PAYLOAD: u32 = 512;
/// Generation and lanes of its link.
const LINK: (u8, u8) = (3, 4);

/// Bits of a window's base and limit that software writes.
const WINDOW: u32 = 0xfff0_fff0;
const WINDOW_64: u32 = bridge::WINDOW_64 as u32 | (bridge::WINDOW_64 as u32) << 16;

const LINK_ACTIVE: u32 = (express::LINK_ACTIVE as u32) << 16;

/// Configuration space of a bridge, and what it forwards. It has no I/O window.
///
/// After a reset its windows are not closed but at address 0, and nothing is enabled.
#[derive(Clone, Debug)]
pub struct Bridge {
    registers: Registers,
    port_type: PortType,
}

impl Bridge {
    /// A bridge of the model's own make. Its device number is its type's.
    pub fn new(port_type: PortType) -> Self {
        let identity = Identity {
            vendor: PCI_VENDOR,
            device: 0x100 | port_type.number() as u16,
            class: pci::CLASS_BRIDGE,
            revision: 0,
        };
        Self::with_identity(identity, port_type)
    }

    /// A bridge that is what `identity` says.
    pub fn with_identity(identity: Identity, port_type: PortType) -> Self {
        let mut registers = Registers::new(identity, header::TYPE_1, port_type);
        registers.define(bridge::BUS_NUMBERS, 0, 0x00ff_ffff);
        registers.define(bridge::MEMORY, 0, WINDOW);
        registers.define(bridge::PREFETCHABLE, WINDOW_64, WINDOW);
        registers.define(bridge::PREFETCHABLE_BASE_UPPER, 0, u32::MAX);
        registers.define(bridge::PREFETCHABLE_LIMIT_UPPER, 0, u32::MAX);
        registers.offer_payload(PAYLOAD);
        let bridge = Self {
            registers,
            port_type,
        };
        bridge.link(LINK.0, LINK.1)
    }

    /// The same bridge, which says that its device may have more functions.
    #[must_use]
    pub fn multi_function(mut self) -> Self {
        self.registers.define_multi_function();
        self
    }

    /// The same bridge with a BAR of its own, number 0.
    #[must_use]
    pub fn bar(mut self, bar: Bar) -> Self {
        self.registers.define_bars(&[bar], bridge::BARS);
        self
    }

    /// The same bridge, which supports payload of up to this number of bytes.
    #[must_use]
    pub fn payload_supported(mut self, bytes: u32) -> Self {
        self.registers.offer_payload(bytes);
        self
    }

    /// The same bridge with a link of this generation and number of lanes.
    #[must_use]
    pub fn link(mut self, generation: u8, lanes: u8) -> Self {
        let speed = generation as u32 & express::LINK_SPEED as u32;
        let link = speed | (lanes as u32 & 0x3f) << express::LINK_WIDTH_SHIFT;
        let reported = match self.tells_link() {
            true => express::LINK_ACTIVE_REPORTED,
            false => 0,
        };
        self.registers
            .define(EXPRESS + express::LINK_CAPABILITIES, link | reported, 0);
        self.registers
            .define(EXPRESS + express::LINK_CONTROL, link << 16, 0);
        self
    }

    /// The same bridge with a fault: its list of capabilities goes in a circle, in which there is none
    /// that software looks for.
    #[must_use]
    pub fn circular_capabilities(mut self) -> Self {
        self.registers.define_circle();
        self
    }

    /// Reads the dword at an offset of configuration space.
    pub fn read(&self, offset: u16) -> u32 {
        self.registers.read(offset)
    }

    /// Writes the dword at an offset of configuration space. Read-only fields keep their value.
    pub fn write(&mut self, offset: u16, value: u32) {
        self.registers.write(offset, value);
    }

    /// Nothing is enabled or set, and the link is down.
    pub fn reset(&mut self) {
        self.registers.reset();
    }

    /// Number of the bus that begins below it.
    pub fn secondary(&self) -> u8 {
        *self.buses().start()
    }

    /// Numbers of all buses below it.
    pub fn buses(&self) -> RangeInclusive<u8> {
        let numbers = self.read(bridge::BUS_NUMBERS);
        (numbers >> 8) as u8..=(numbers >> 16) as u8
    }

    /// Bus addresses for which it forwards memory requests from above.
    pub fn windows(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let upper = |at| (self.read(at) as u64) << 32;
        let low = window(self.read(bridge::MEMORY), 0, 0);
        let prefetchable = window(
            self.read(bridge::PREFETCHABLE),
            upper(bridge::PREFETCHABLE_BASE_UPPER),
            upper(bridge::PREFETCHABLE_LIMIT_UPPER),
        );
        let on = self.registers.is_enabled(command::MEMORY_SPACE);
        let windows = [low, prefetchable].into_iter();
        windows.filter(move |window| on && !window.is_empty())
    }

    /// It forwards memory requests to this address from above.
    pub fn forwards(&self, address: u64) -> bool {
        self.windows().any(|window| window.contains(&address))
    }

    /// It forwards requests from below.
    pub fn bus_master(&self) -> bool {
        self.registers.is_enabled(command::BUS_MASTER)
    }

    /// Greatest payload to send, in bytes.
    pub fn payload(&self) -> u32 {
        self.registers.payload()
    }

    /// Greatest read request, in bytes.
    pub fn read_request(&self) -> u32 {
        self.registers.read_request()
    }

    /// The address in its own BAR 0, where it has a BAR.
    pub fn bar_base(&self) -> u64 {
        let upper = (self.read(offset::BAR0 + 4) as u64) << 32;
        (self.read(offset::BAR0) & !bar::FLAGS) as u64 | upper
    }

    /// The link below it is up.
    pub fn link_up(&self) -> bool {
        self.read(EXPRESS + express::LINK_CONTROL) & LINK_ACTIVE != 0
    }

    /// The link below it comes up or goes down.
    pub(super) fn set_link_up(&mut self, up: bool) {
        let value = if up { LINK_ACTIVE } else { 0 };
        self.registers
            .update(EXPRESS + express::LINK_CONTROL, LINK_ACTIVE, value);
    }

    /// An upstream port's link is the one above it, which software asks the port there about.
    fn tells_link(&self) -> bool {
        self.port_type != PortType::UpstreamPort
    }
}

/// A window by its register and by the upper address bits of its base and limit.
fn window(register: u32, base_upper: u64, limit_upper: u64) -> Range<u64> {
    let base = base_upper | ((register & 0xfff0) as u64) << 16;
    let limit = limit_upper | (register & 0xfff0_0000) as u64 | (bridge::WINDOW_GRANULE - 1);
    // The last byte of all is in no window: its end could not be told.
    base..limit.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_spec::pci::capability;

    #[test]
    fn windows_open_and_close() {
        let mut bridge = Bridge::new(PortType::DownstreamPort);
        assert_eq!(bridge.windows().count(), 0);
        bridge.write(offset::COMMAND, command::MEMORY_SPACE as u32);
        // As after a reset: both at address 0.
        let first = 0..bridge::WINDOW_GRANULE;
        assert_eq!(
            bridge.windows().collect::<Vec<_>>(),
            [first.clone(), first.clone()]
        );
        bridge.write(bridge::PREFETCHABLE, 0x0000_fff0);
        assert_eq!(bridge.read(bridge::PREFETCHABLE), 0x0001_fff1);
        bridge.write(bridge::MEMORY, 0xe12f_e00f);
        assert_eq!(bridge.read(bridge::MEMORY), 0xe120_e000);
        let low = 0xe000_0000..0xe130_0000;
        assert!(bridge.windows().eq(std::iter::once(low)));
        assert!(bridge.forwards(0xe12f_ffff) && !bridge.forwards(0xe130_0000));
        bridge.write(bridge::PREFETCHABLE, 0x0010_fff0);
        bridge.write(bridge::PREFETCHABLE_BASE_UPPER, 0x20);
        bridge.write(bridge::PREFETCHABLE_LIMIT_UPPER, 0x21);
        let high = 0x20_fff0_0000..0x21_0020_0000;
        assert_eq!(bridge.windows().last(), Some(high));
        bridge.write(bridge::PREFETCHABLE, 0xfff0_fff0);
        bridge.write(bridge::PREFETCHABLE_LIMIT_UPPER, u32::MAX);
        assert!(bridge.forwards(u64::MAX - 1) && !bridge.forwards(0x1f_ffff_ffff));
        bridge.write(offset::COMMAND, command::BUS_MASTER as u32);
        assert_eq!(bridge.windows().count(), 0);
        assert!(bridge.bus_master());
    }

    #[test]
    fn it_says_what_it_is() {
        let identity = Identity {
            vendor: 0x10ee,
            device: 0x9134,
            class: 0x06_07_00,
            revision: 2,
        };
        let mut bridge = Bridge::with_identity(identity, PortType::RootPort)
            .bar(Bar::Memory32(1 << 31))
            .payload_supported(1024)
            .multi_function()
            .link(4, 8);
        assert_eq!(bridge.read(offset::VENDOR_ID), 0x9134_10ee);
        assert_eq!(bridge.read(offset::CLASS_REVISION), 0x0607_0002);
        assert_eq!(bridge.read(offset::HEADER_TYPE) >> 16, 0x81);
        let at = bridge.read(offset::CAPABILITIES) as u16;
        assert_eq!(bridge.read(at) as u8, capability::PCI_EXPRESS);
        assert_eq!(bridge.read(at) >> express::PORT_TYPE_SHIFT, 4);
        assert_eq!(bridge.read(at + express::DEVICE_CAPABILITIES), 3);
        bridge.write(at + express::DEVICE_CONTROL, 2 << 5 | 1 << 12);
        assert_eq!((bridge.payload(), bridge.read_request()), (512, 256));
        assert_eq!(
            bridge.read(at + express::LINK_CAPABILITIES),
            0x10_0000 | 0x84
        );
        assert_eq!(bridge.read(at + express::LINK_CONTROL) >> 16, 0x84);
        bridge.set_link_up(true);
        assert_eq!(bridge.read(at + express::LINK_CONTROL) >> 16, 0x2084);
        bridge.write(bridge::BUS_NUMBERS, 0xff03_0100);
        assert_eq!(bridge.read(bridge::BUS_NUMBERS), 0x0003_0100);
        assert_eq!(bridge.buses(), 1..=3);
        bridge.write(offset::BAR0, u32::MAX);
        bridge.write(offset::BAR0 + 4, u32::MAX);
        assert_eq!(bridge.bar_base(), 0x8000_0000);
        bridge.reset();
        assert_eq!((bridge.bar_base(), bridge.link_up()), (0, false));
        assert_eq!((bridge.payload(), bridge.buses()), (128, 0..=0));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Bit fields of registers.

/// A bit field of a 64-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lowest bit.
    pub low: u32,
    /// Number of bits.
    pub width: u32,
}

impl Field {
    /// The field of `width` bits from bit `low` on.
    pub(crate) const fn new(low: u32, width: u32) -> Self {
        Self { low, width }
    }

    /// The largest value that fits.
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The field's bits in its register.
    pub const fn mask(self) -> u64 {
        self.max() << self.low
    }

    /// The field's value in a register's value.
    pub const fn get(self, register: u64) -> u64 {
        (register >> self.low) & self.max()
    }

    /// A register's value with nothing but this field; bits of `value` that do not fit are dropped.
    pub const fn put(self, value: u64) -> u64 {
        self.set(0, value)
    }

    /// A register's value with this field replaced; bits of `value` that do not fit are dropped.
    pub const fn set(self, register: u64, value: u64) -> u64 {
        (register & !self.mask()) | ((value & self.max()) << self.low)
    }
}

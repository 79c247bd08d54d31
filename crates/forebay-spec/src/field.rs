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

/// Declares a map of registers of 64 bits: a module for each, with its offset, its reset value and
/// its fields (lowest bit, number of bits); and lists of them all.
///
/// `+` is the distance of the next copy, `[]` the words of a memory, `counts` what a counter counts.
macro_rules! registers {
    ($($register:ident @ $offset:literal $(+ $stride:literal)? $([$entries:literal])?
        $(= $reset:literal)? $title:literal $(counts $meaning:literal)? {
            $($field:ident = $low:literal, $width:literal, $text:literal;)*
        }
    )*) => {
        $(
            #[doc = concat!($title $(, ": ", $meaning)?)]
            pub mod $register {
                /// Offset in bytes.
                pub const OFFSET: u64 = $offset;
                $(
                    /// Offset of number `n`.
                    pub const fn of(n: u64) -> u64 {
                        OFFSET + n * $stride
                    }
                )?
                $(
                    /// Words of 8 bytes.
                    pub const ENTRIES: usize = $entries;
                )?
                $(
                    /// Value after reset.
                    pub const RESET: u64 = $reset;
                )?
                $(
                    #[doc = $text]
                    pub const $field: $crate::field::Field = $crate::field::Field::new($low, $width);
                )*
            }
        )*

        /// Every register and memory: name and offset, by offset.
        pub const ALL: &[(&str, u64)] = &[$((stringify!($register), $register::OFFSET)),*];

        /// Registers that count: name, offset and meaning, by offset.
        pub const COUNTERS: &[(&str, u64, &str)] = &[
            $($((stringify!($register), $register::OFFSET, $meaning),)?)*
        ];

        /// Every field: name of its register, its own name, and where it is.
        pub const FIELDS: &[(&str, &str, $crate::field::Field)] = &[
            $($((stringify!($register), stringify!($field), $register::$field),)*)*
        ];
    };
}
pub(crate) use registers;

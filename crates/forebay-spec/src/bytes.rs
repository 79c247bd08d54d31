// SPDX-License-Identifier: Apache-2.0
//! Little-endian fields in byte arrays.
//!
//! Offsets are constants of this crate and checked by its tests, so these index directly.

pub(crate) const fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) const fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) const fn get_u64(bytes: &[u8], at: usize) -> u64 {
    get_u32(bytes, at) as u64 | (get_u32(bytes, at + 4) as u64) << 32
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Copies ASCII text into a field padded with blanks, as Identify wants it (5.17.2.1).
pub(crate) fn put_text(field: &mut [u8], text: &str) {
    field.fill(b' ');
    let n = text.len().min(field.len());
    field[..n].copy_from_slice(&text.as_bytes()[..n]);
}

/// A value in little-endian bytes.
pub(crate) trait Wire {
    fn get(bytes: &[u8], at: usize) -> Self;

    fn put(&self, bytes: &mut [u8], at: usize);
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Wire for $number {
            fn get(bytes: &[u8], at: usize) -> Self {
                let mut number = [0; size_of::<Self>()];
                number.copy_from_slice(&bytes[at..at + size_of::<Self>()]);
                Self::from_le_bytes(number)
            }

            fn put(&self, bytes: &mut [u8], at: usize) {
                put(bytes, at, &self.to_le_bytes());
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64);

impl<T: Wire, const N: usize> Wire for [T; N] {
    fn get(bytes: &[u8], at: usize) -> Self {
        core::array::from_fn(|n| T::get(bytes, at + n * size_of::<T>()))
    }

    fn put(&self, bytes: &mut [u8], at: usize) {
        for (n, value) in self.iter().enumerate() {
            value.put(bytes, at + n * size_of::<T>());
        }
    }
}

/// Declares a structure with the offset of each field in its bytes.
macro_rules! wire {
    ($(#[$meta:meta])* $name:ident, $bytes:literal {
        $($(#[$doc:meta])* $field:ident: $type:ty = $at:literal;)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// Bytes on the wire.
            pub const BYTES: usize = $bytes;

            /// Reads it.
            pub fn from_bytes(b: &[u8; $bytes]) -> Self {
                Self { $($field: $crate::bytes::Wire::get(b, $at),)* }
            }

            /// Its bytes.
            pub fn to_bytes(&self) -> [u8; $bytes] {
                let mut b = [0; $bytes];
                $($crate::bytes::Wire::put(&self.$field, &mut b, $at);)*
                b
            }
        }
    };
}
pub(crate) use wire;

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

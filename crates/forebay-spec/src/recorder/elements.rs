// SPDX-License-Identifier: Apache-2.0
//! Where the registers of processing elements stand: a window for each element of a chain, and one of
//! the chain itself. All are 32 bits wide.

/// Elements that a chain has at most.
pub const COUNT: u64 = 8;
/// Bytes of a window. That of element i begins at i times as many.
pub const WINDOW_BYTES: u64 = 0x1000;
/// Offset of the chain's own window.
pub const CHAIN: u64 = COUNT * WINDOW_BYTES;
/// Bytes of all windows, to a power of two.
pub const BYTES: u64 = 2 * CHAIN;

/// What the register [`IDENTITY_AT`] reads as; the lower half counts versions.
pub const IDENTITY: u32 = 0xfb9e_0001;
/// Offset of the identity in the chain's window.
pub const IDENTITY_AT: u64 = 0;
/// Elements that have registers, one bit each, the first of the chain lowest; from bit 8 on, those that
/// have per-stream settings.
pub const PRESENT_AT: u64 = 4;
/// Accesses that were answered with an error since a reset, modulo 2^32.
pub const REFUSED_AT: u64 = 8;
/// Elements that did not answer, one bit each.
pub const SILENT_AT: u64 = 12;
/// Per-stream settings, write-only: of element i and of streams whose number ends with the four bits
/// s, the lower half of 64 bits at 128 i + 8 s, and behind it the upper one, with which it counts.
pub const SETTINGS_AT: u64 = 0x400;
/// Streams that may have settings of their own at once.
pub const STREAMS: u64 = 16;
/// Bytes of the settings of an element.
pub const SETTINGS_BYTES: u64 = 8 * STREAMS;

/// Key slots of an element that encrypts, from the beginning of its window on.
pub const KEYS: u64 = 8;
/// Bytes of a slot: first the key, byte by byte, write-only.
pub const KEY_SLOT_BYTES: u64 = 0x40;
/// Offset of a slot's control word; what is written there is done when it is answered.
pub const KEY_CONTROL_AT: u64 = 0x20;
/// Control word: the key of 128 bits counts.
pub const KEY_LOAD_128: u32 = 1;
/// Control word: the key of 256 bits counts.
pub const KEY_LOAD_256: u32 = 2;
/// Control word: the slot has no key.
pub const KEY_CLEAR: u32 = 3;

const _: () = assert!(SETTINGS_AT + COUNT * SETTINGS_BYTES <= WINDOW_BYTES);

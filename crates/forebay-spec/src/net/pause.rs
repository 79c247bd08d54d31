// SPDX-License-Identifier: Apache-2.0
//! Pause frames (IEEE 802.3 annex 31B) and priority pause (802.1Q clause 36).

use super::ethernet::{HEADER_BYTES, LEAST_BYTES, TYPE_MAC_CONTROL};

/// Where pause frames go: an address that no bridge passes on.
pub const ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// Operation code of a pause frame.
pub const OPCODE: u16 = 0x0001;
/// Operation code of a priority pause frame.
pub const PRIORITY_OPCODE: u16 = 0x0101;
/// Classes of priority pause.
pub const CLASSES: usize = 8;
/// Bit times of a quantum, the unit of the time that a frame asks for.
pub const QUANTUM_BITS: u32 = 512;
/// Cycles of the MAC's clock (322.265625 MHz at 100 Gb/s) in [`QUANTA`] quanta.
pub const CYCLES: u32 = 33;
/// Quanta of [`CYCLES`] cycles.
pub const QUANTA: u32 = 20;

/// What a pause frame asks for, in quanta; 0 lets the sender go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The whole link.
    Link(u16),
    /// Those classes that have a time.
    Priority([Option<u16>; CLASSES]),
}

impl Pause {
    /// The frame, sent by `source`.
    pub fn to_frame(&self, source: [u8; 6]) -> [u8; LEAST_BYTES] {
        let mut frame = [0; LEAST_BYTES];
        frame[..6].copy_from_slice(&ADDRESS);
        frame[6..12].copy_from_slice(&source);
        frame[12..14].copy_from_slice(&TYPE_MAC_CONTROL.to_be_bytes());
        let body = &mut frame[HEADER_BYTES..];
        match self {
            Self::Link(quanta) => {
                body[..2].copy_from_slice(&OPCODE.to_be_bytes());
                body[2..4].copy_from_slice(&quanta.to_be_bytes());
            }
            Self::Priority(classes) => {
                body[..2].copy_from_slice(&PRIORITY_OPCODE.to_be_bytes());
                for (class, quanta) in classes.iter().enumerate() {
                    if let Some(quanta) = quanta {
                        body[3] |= 1 << class;
                        body[4 + 2 * class..][..2].copy_from_slice(&quanta.to_be_bytes());
                    }
                }
            }
        }
        frame
    }

    /// Reads a frame; `None` if it is no pause frame.
    pub fn from_frame(frame: &[u8]) -> Option<Self> {
        let frame: &[u8; LEAST_BYTES] = frame.first_chunk()?;
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame[..6] != ADDRESS || word(12) != TYPE_MAC_CONTROL {
            return None;
        }
        match word(14) {
            OPCODE => Some(Self::Link(word(16))),
            PRIORITY_OPCODE => {
                let mut classes = [None; CLASSES];
                for (class, quanta) in classes.iter_mut().enumerate() {
                    if frame[17] & 1 << class != 0 {
                        *quanta = Some(word(18 + 2 * class));
                    }
                }
                Some(Self::Priority(classes))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(quanta: u16, classes: [Option<u16>; CLASSES]) {
            for pause in [Pause::Link(quanta), Pause::Priority(classes)] {
                prop_assert_eq!(Pause::from_frame(&pause.to_frame([2; 6])), Some(pause));
            }
        }

        #[test]
        fn any_bytes_can_be_read(frame: Vec<u8>) {
            let _ = Pause::from_frame(&frame);
        }
    }

    #[test]
    fn a_quantum_is_so_many_cycles() {
        // 512 bits at 100 Gb/s, in cycles of 322.265625 MHz.
        let cycles = f64::from(QUANTUM_BITS) / 100e9 * 322.265_625e6;
        assert!((cycles - f64::from(CYCLES) / f64::from(QUANTA)).abs() < 1e-12);
    }
}

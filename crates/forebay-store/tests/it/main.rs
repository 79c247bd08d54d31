// SPDX-License-Identifier: Apache-2.0
//! Integration tests of recordings, in one executable: linking takes longer than most tests.

mod array;
mod capture;
mod files;
mod power;
mod repair;
mod roundtrip;

/// A result of a recording without a schema of its own: a class and a score.
fn judged(class: u16, score: f32) -> [u8; 64] {
    let mut result = [0; 64];
    result[..2].copy_from_slice(&class.to_le_bytes());
    result[2..6].copy_from_slice(&score.to_le_bytes());
    result
}

/// Index records of a full block of such a recording.
const ROWS: usize = 63;

// SPDX-License-Identifier: Apache-2.0
//! What the program keeps of each drive.

use forebay_spec::boot::ram;

/// What the program keeps of a drive, as [`ram`] lays it out. What was not learned is 0, or empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// ECAM offset of the function.
    pub ecam: u32,
    /// Bus address of BAR 0.
    pub bar: u64,
    /// Bytes of BAR 0.
    pub bar_bytes: u64,
    /// Number of the code that it failed with; 0: none.
    pub code: u8,
    /// What was read where it failed.
    pub found: u64,
    /// Identifier of the namespace.
    pub nsid: u32,
    /// Logical blocks of the namespace.
    pub blocks: u64,
    /// Bytes of a logical block.
    pub block_bytes: u64,
    /// Most bytes of a transfer; 0: no limit.
    pub transfer_bytes: u64,
    /// Entries of each I/O queue.
    pub entries: u16,
    /// Model number.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Firmware revision.
    pub firmware: String,
}

impl Drive {
    /// The drives that the program found, in the order in which it found them.
    pub fn all(ram: &[u64; ram::BYTES as usize / 8]) -> Vec<Self> {
        let words = |at: u16, bytes: u16| {
            let first = usize::from(at) / 8;
            &ram[first..first + usize::from(bytes) / 8]
        };
        let records = words(ram::DRIVES, ram::DRIVE_BYTES * ram::DRIVES_MOST);
        records
            .chunks_exact(usize::from(ram::DRIVE_BYTES) / 8)
            .map_while(Self::of)
            .collect()
    }

    /// One record; none: it is empty, as no drive is on bus 0.
    fn of(record: &[u64]) -> Option<Self> {
        let word = |at: u16| record[usize::from(at) / 8];
        let text = |at: u16, words: usize| {
            let first = usize::from(at) / 8;
            printable(&record[first..first + words])
        };
        (word(ram::BDF) != 0).then(|| Self {
            ecam: word(ram::BDF) as u32,
            bar: word(ram::BAR),
            bar_bytes: word(ram::BAR_BYTES),
            code: word(ram::CODE) as u8,
            found: word(ram::FOUND),
            nsid: word(ram::NSID) as u32,
            blocks: word(ram::BLOCKS),
            block_bytes: match word(ram::BLOCK_SHIFT) {
                shift @ 1..64 => 1 << shift,
                _ => 0,
            },
            transfer_bytes: word(ram::TRANSFER),
            entries: word(ram::ENTRIES) as u16,
            model: text(ram::MODEL, 5),
            serial: text(ram::SERIAL, 3),
            firmware: text(ram::FIRMWARE, 1),
        })
    }
}

/// Characters as the console shows them, without the blanks and zeros behind them.
fn printable(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().rposition(|&byte| byte & !b' ' != 0);
    let kept = &bytes[..end.map_or(0, |end| end + 1)];
    let shown = kept.iter().map(|&byte| match byte {
        b' '..=b'~' => char::from(byte),
        _ => '.',
    });
    shown.collect()
}

// SPDX-License-Identifier: Apache-2.0
//! Recordings of all layouts, and what can be read of them.

use std::collections::BTreeMap;

use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::Mode;
use forebay_store::{Damage, Disk, Entry, Extent, Format, IndexSize, Memory, Recording, Writer};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

const IMAGE: usize = (3 << 20) + (3 << 19);

/// A number below a limit.
pub fn below(random: &mut Pcg64Mcg, limit: u64) -> u64 {
    random.next_u64() % limit.max(1)
}

/// How objects lie there.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub mode: Mode,
    pub small: bool,
    pub ring: bool,
    pub alignment: u32,
}

/// All of them.
pub const LAYOUTS: [Layout; 12] = {
    const fn layout(mode: Mode, small: bool, ring: bool) -> Layout {
        aligned(mode, small, ring, 4096)
    }
    const fn aligned(mode: Mode, small: bool, ring: bool, alignment: u32) -> Layout {
        Layout {
            mode,
            small,
            ring,
            alignment,
        }
    }
    [
        layout(Mode::Objects, false, false),
        layout(Mode::Objects, false, true),
        layout(Mode::Objects, true, false),
        layout(Mode::Objects, true, true),
        layout(Mode::Samples, false, false),
        layout(Mode::Samples, false, true),
        layout(Mode::Packets, false, false),
        aligned(Mode::Objects, false, false, 8192),
        aligned(Mode::Objects, false, true, 16_384),
        aligned(Mode::Objects, true, true, 16_384),
        aligned(Mode::Samples, false, true, 8192),
        aligned(Mode::Packets, false, false, 16_384),
    ]
};

/// Makes a recording, in half of the cases one that was not closed.
pub fn record(layout: Layout, random: &mut Pcg64Mcg) -> Vec<u8> {
    let disk = Memory::new(vec![0; IMAGE]);
    let settings = Format {
        mode: layout.mode,
        small: layout.small,
        ring: layout.ring,
        alignment: layout.alignment,
        stride: if layout.mode == Mode::Samples {
            8192
        } else {
            0
        },
        index: IndexSize::Rows(1000),
        ..Format::default()
    };
    forebay_store::format(&disk, &settings).expect("room");
    let mut writer = Writer::new(&disk).expect("nothing in it");
    if below(random, 2) == 0 {
        writer = writer.with_open_batches();
    }
    let largest = [600, 5000, 20_000][below(random, 3) as usize];
    let often = 20 + below(random, 100);
    // A sender that is started anew counts from 0.
    let anew = 30 + below(random, 200);
    for number in 0..60 + below(random, 240) {
        let length = match layout.mode {
            Mode::Packets => 4096 * (1 + below(random, 3)),
            _ => below(random, largest),
        };
        let about = Extent {
            stream: (number % 3) as u16,
            object: number % anew,
            time: 1000 + number,
            sequence: 7 * number as u32,
            epoch: number as u32,
            result: (number % 4 == 0).then_some(crate::judged(number as u16, 0.25)),
            ..Extent::default()
        };
        let mut bytes = vec![0; length as usize];
        Pcg64Mcg::seed_from_u64(number).fill_bytes(&mut bytes);
        writer.put(&about, &mut &bytes[..], length).expect("room");
        if below(random, often) == 0 {
            writer.sync().expect("memory");
        }
    }
    if below(random, 2) == 0 {
        writer.close().expect("memory");
    }
    disk.bytes()
}

/// What tells an extent from all others: place, stream, object, offset.
pub type Key = (u64, u16, u64, u64);

/// Extents that can be read, and their bytes; with `front` only those whose page or header is good,
/// too.
pub fn readable(disk: &dyn Disk, front: bool) -> BTreeMap<Key, Vec<u8>> {
    let recording = Recording::open(disk).expect("a recording");
    let mut all = BTreeMap::new();
    for row in rows(&recording) {
        let mut bytes = Vec::new();
        let damage = recording.payload(&row, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        });
        let good = match damage.expect("a vector") {
            None => true,
            Some(Damage::Page(_)) => !front,
            Some(_) => false,
        };
        if good {
            all.insert((row.address, row.stream, row.object, row.offset), bytes);
        }
    }
    all
}

/// Index records of what is stored.
pub fn rows(recording: &Recording<'_>) -> Vec<Row> {
    let rows = recording.rows().filter_map(|entry| match entry {
        Entry::Row {
            row, wrong: None, ..
        } if row.stored() => Some(row),
        _ => None,
    });
    rows.collect()
}

/// First bytes of the blocks of the index.
pub fn blocks(disk: &dyn Disk) -> Vec<u64> {
    let recording = Recording::open(disk).expect("a recording");
    let superblock = recording.superblock();
    let first = recording.blocks().saturating_sub(superblock.index_slots());
    (first..recording.blocks())
        .map(|number| superblock.block_at(number))
        .collect()
}

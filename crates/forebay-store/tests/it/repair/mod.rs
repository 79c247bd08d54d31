// SPDX-License-Identifier: Apache-2.0
//! Recordings of all layouts with bad sectors, flipped bits, and EIO that goes away: nothing is
//! written over that could be read later, a second repair has nothing to do, and object header
//! blocks are rebuilt from their index records.

mod cases;
mod faulty;
mod recording;
mod unreadable;

use std::collections::BTreeMap;

use faulty::{Faulty, SECTOR};
use forebay_spec::store::index::Row;
use forebay_store::{Disk, Memory, Options, Recording, Repair, repair};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use recording::{Key, LAYOUTS, below, blocks, readable, record, rows};

/// Repairs as a user does who gives no option.
fn mend(disk: &dyn Disk) -> Repair {
    repair(disk, Options::default(), &mut |_| true).expect("a repair ends")
}

fn mended(bytes: &[u8]) -> (Memory, Repair) {
    let disk = Memory::new(bytes.to_vec());
    let report = mend(&disk);
    (disk, report)
}

/// A place where a fault is told from another: a block of the index, a page or header, a payload, a
/// superblock, or where the data end.
fn place(bytes: &[u8], random: &mut Pcg64Mcg) -> u64 {
    let disk = Memory::new(bytes.to_vec());
    let recording = Recording::open(&disk).expect("a recording");
    let superblock = *recording.superblock();
    let newest = rows(&recording).last().map(|row| recording.extent(row).end);
    // Of extents, also such that have no index record yet.
    let (repaired, _) = mended(bytes);
    let all = rows(&Recording::open(&repaired).expect("a recording"));
    let row = all.get(below(random, all.len() as u64) as usize);
    let at = row.map_or(superblock.data.at, |row| row.address);
    let blocks = blocks(&disk);
    let base = match below(random, 6) {
        0 | 1 if !blocks.is_empty() => blocks[below(random, blocks.len() as u64) as usize],
        // Where the next block would lie.
        2 => superblock.block_at(recording.blocks()),
        3 => at - superblock.front(),
        4 => at,
        // Behind the newest extent, where there may be some without an index record.
        _ => newest.unwrap_or(at) + SECTOR * below(random, 60),
    };
    let within = below(random, 8) * SECTOR;
    (base + within).min(superblock.data.end() - 1)
}

fn holds(name: &str, seed: u64, all: &BTreeMap<Key, Vec<u8>>, some: &BTreeMap<Key, Vec<u8>>) {
    for (key, bytes) in some {
        assert!(
            all.get(key) == Some(bytes),
            "seed {seed}, {name}: {key:?} could be read, and no more"
        );
    }
}

/// Bad sectors, for ever or until they were read some times.
fn bad_sectors(seed: u64, random: &mut Pcg64Mcg, bytes: &[u8]) {
    let places: Vec<u64> = (0..1 + below(random, 3))
        .map(|_| place(bytes, random))
        .collect();
    let stays = below(random, 2) == 0;
    let reads = if stays {
        u64::MAX
    } else {
        1 + below(random, 12)
    };
    let without = readable(&mended(bytes).0, true);
    // In a ring an extent counts no more where a newer one that is recovered ends in its page.
    let mut before = readable(&Memory::new(bytes.to_vec()), true);
    before.retain(|key, _| without.contains_key(key));
    let disk = Faulty::new(bytes.to_vec(), &places, reads, false);
    let report = mend(&disk);
    if stays {
        let left = disk.disk.bytes();
        let again = mend(&disk);
        assert!(!again.changed, "seed {seed}: {report:?}, then {again:?}");
        assert!(disk.disk.bytes() == left, "seed {seed}: written again");
    }
    // The fault is gone.
    let name = format!("{places:?} fail {reads} times, {report:?}");
    holds(&name, seed, &readable(&disk.disk, false), &before);
    let (later, last) = mended(&disk.disk.bytes());
    holds(&name, seed, &readable(&later, true), &without);
    assert!(!mend(&later).changed, "seed {seed}: {name}, then {last:?}");
}

/// A bit of an index block, of a page or header, or of a payload.
fn flipped_bits(seed: u64, random: &mut Pcg64Mcg, bytes: &[u8]) {
    let mut bad = bytes.to_vec();
    let whole = Memory::new(bytes.to_vec());
    let recording = Recording::open(&whole).expect("a recording");
    let (rows, blocks) = (rows(&recording), blocks(&whole));
    let mut spoilt = Vec::new();
    // In a ring newer extents without an index record may lie on others.
    let intact = readable(&whole, true);
    let mut flip = |at: u64, bit: u64| bad[(at + bit / 8) as usize] ^= 1 << (bit % 8);
    for at in &blocks {
        if below(random, 2) == 0 {
            flip(*at, below(random, 4096 * 8));
        }
    }
    let is_intact = |row: &&Row| intact.keys().any(|key| key.0 == row.address);
    for row in rows.iter().filter(is_intact) {
        let extent = recording.extent(row);
        let front = extent.payload - extent.at;
        match below(random, 12) {
            0 if front > 0 => flip(extent.at, below(random, front * 8)),
            1 if row.length > 0 => {
                flip(extent.payload, below(random, extent.length * 8));
                spoilt.push(row.address);
            }
            _ => {}
        }
    }
    let (good, _) = mended(bytes);
    let mut expected = readable(&good, true);
    expected.retain(|key, _| !spoilt.contains(&key.0));
    let (disk, report) = mended(&bad);
    let found = readable(&disk, true);
    holds(&format!("{report:?}"), seed, &found, &expected);
    // What is merely damaged keeps its record.
    let records = |disk: &Memory| self::rows(&Recording::open(disk).expect("a recording"));
    let kept = records(&disk);
    for row in records(&good)
        .iter()
        .filter(|row| spoilt.contains(&row.address))
    {
        let same = |other: &Row| (other.address, other.time) == (row.address, row.time);
        assert!(kept.iter().any(same), "seed {seed}: {row:?}, {report:?}");
    }
    let again = mend(&disk);
    assert!(!again.changed, "seed {seed}: {report:?}, then {again:?}");
}

/// Blocks of the index of which nothing is left.
fn lost_blocks(seed: u64, random: &mut Pcg64Mcg, bytes: &[u8], pages: bool) {
    let mut bad = bytes.to_vec();
    let all = blocks(&Memory::new(bytes.to_vec()));
    let lost: Vec<u64> = all.into_iter().filter(|_| below(random, 3) == 0).collect();
    for at in &lost {
        rand_core::RngCore::fill_bytes(random, &mut bad[*at as usize..*at as usize + 4096]);
    }
    let (expected, _) = mended(bytes);
    let (disk, report) = mended(&bad);
    if pages {
        let (found, all) = (readable(&disk, true), readable(&expected, true));
        holds(&format!("{lost:?} {report:?}"), seed, &found, &all);
    } else {
        // What stands nowhere else is not made worse.
        let before = readable(&Memory::new(bad.clone()), true);
        holds(
            &format!("{report:?}"),
            seed,
            &readable(&disk, true),
            &before,
        );
        let closed = Recording::open(&Memory::new(bytes.to_vec()))
            .expect("one")
            .superblock()
            .closed
            .is_some();
        for at in lost.iter().filter(|_| closed) {
            let place = *at as usize..*at as usize + 4096;
            assert!(disk.bytes()[place.clone()] == bad[place], "seed {seed}");
        }
    }
    let again = mend(&disk);
    assert!(!again.changed, "seed {seed}: {report:?}, then {again:?}");
}

#[test]
fn whatever_could_be_read_can_be_read_after_a_repair() {
    let number = |name: &str, or: u64| {
        std::env::var(name).map_or(or, |text| text.parse().expect("a number"))
    };
    let first = number("SEED", 0);
    for seed in first..first + number("RECORDINGS", 200) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let layout = LAYOUTS[seed as usize % LAYOUTS.len()];
        let bytes = record(layout, &mut random);
        bad_sectors(seed, &mut random, &bytes);
        flipped_bits(seed, &mut random, &bytes);
        let pages = layout.mode == forebay_spec::store::superblock::Mode::Objects;
        lost_blocks(seed, &mut random, &bytes, pages);
    }
}

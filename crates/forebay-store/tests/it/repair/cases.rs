// SPDX-License-Identifier: Apache-2.0
//! One fault each, and what becomes of it.

use forebay_spec::store::page::Facts;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::Mode;
use forebay_store::{
    Disk, Entry, Extent, Format, Memory, Options, Recording, Writer, format, repair, undo,
};

use super::faulty::{Faulty, SECTOR};
use super::mend;
use super::recording::{Layout, readable, rows};

const EVER: u64 = u64::MAX;

/// Objects of one length, numbered from 0, and then once more; open, with `behind` of them behind
/// the last block of the index.
fn open(layout: Layout, objects: u64, behind: u64) -> Memory {
    let disk = Memory::new(vec![0; 6 << 20]);
    let settings = Format {
        mode: layout.mode,
        small: layout.small,
        ring: layout.ring,
        alignment: layout.alignment,
        stride: if layout.mode == Mode::Samples {
            layout.alignment.into()
        } else {
            0
        },
        ..Format::default()
    };
    format(&disk, &settings).expect("room");
    let mut writer = Writer::new(&disk).expect("nothing in it");
    for number in 0..objects + behind {
        let about = Extent {
            object: number % objects,
            time: number,
            sequence: 3 * number as u32,
            epoch: 9,
            result: Some(crate::judged(5, 0.5)),
            ..Extent::default()
        };
        let payload = vec![number as u8; 3000];
        writer.put(&about, &mut &payload[..], 3000).expect("room");
        if number + 1 == objects {
            writer.sync().expect("memory");
        }
    }
    disk
}

const OBJECTS: Layout = Layout {
    mode: Mode::Objects,
    small: false,
    ring: false,
    alignment: 4096,
};
const SMALL: Layout = Layout {
    mode: Mode::Objects,
    small: true,
    ring: false,
    alignment: 4096,
};
const RING: Layout = Layout {
    mode: Mode::Objects,
    small: false,
    ring: true,
    alignment: 4096,
};
const SAMPLES: Layout = Layout {
    mode: Mode::Samples,
    small: false,
    ring: false,
    alignment: 4096,
};
const SAMPLES_RING: Layout = Layout {
    mode: Mode::Samples,
    small: false,
    ring: true,
    alignment: 4096,
};
const ALIGNED: Layout = Layout {
    alignment: 8192,
    ..OBJECTS
};
const ALIGNED_RING: Layout = Layout {
    alignment: 8192,
    ..RING
};

const EACH: [Layout; 7] = [
    OBJECTS,
    SMALL,
    RING,
    SAMPLES,
    SAMPLES_RING,
    ALIGNED,
    ALIGNED_RING,
];

fn block_at(disk: &dyn Disk, number: u64) -> u64 {
    let recording = Recording::open(disk).expect("a recording");
    recording.superblock().block_at(number)
}

fn flip(disk: &dyn Disk, at: u64) {
    let mut byte = [0];
    disk.read_at(at, &mut byte).expect("there");
    disk.write_at(at, &[byte[0] ^ 4]).expect("there");
}

#[test]
fn a_block_that_cannot_be_read_now_is_left_alone() {
    for layout in EACH {
        let disk = open(layout, 130, 0);
        let all = readable(&disk, true);
        for block in 0..3 {
            let at = block_at(&disk, block);
            let faulty = Faulty::new(disk.bytes(), &[at + 700], EVER, false);
            let report = mend(&faulty);
            assert!(report.unreadable > 0, "{layout:?}: {report:?}");
            assert!(!mend(&faulty).changed);
            assert_eq!(
                readable(&faulty.disk, true),
                all,
                "{layout:?}, block {block}"
            );
            // Behind one that cannot be read its end is unknown.
            assert_eq!(report.open, block == 2);
            mend(&faulty.disk);
            assert_eq!(
                readable(&faulty.disk, true),
                all,
                "{layout:?}, block {block}"
            );
        }
    }
}

#[test]
fn with_force_it_is_rebuilt_from_what_lies_there() {
    for layout in [OBJECTS, SMALL, RING, ALIGNED, ALIGNED_RING] {
        let disk = open(layout, 130, 0);
        let all = readable(&disk, true);
        let at = block_at(&disk, 1);
        let faulty = Faulty::new(disk.bytes(), &[at], EVER, true);
        let options = Options {
            force: true,
            ..Options::default()
        };
        let report = repair(&faulty, options, &mut |_| true).expect("it ends");
        assert_eq!(
            (report.blocks_mended, report.rows_mended),
            (1, crate::ROWS as u64),
            "{report:?}"
        );
        assert_eq!(readable(&faulty, true), all, "{layout:?}");
    }
}

#[test]
fn a_flipped_bit_of_a_block_takes_no_record() {
    for layout in EACH {
        let disk = open(layout, 130, 0);
        let all = readable(&disk, true);
        for block in 0..3 {
            flip(&disk, block_at(&disk, block) + 300 + 1100 * block);
        }
        assert!(readable(&disk, true).len() < all.len());
        let report = mend(&disk);
        assert_eq!((report.blocks_mended, report.rows_mended), (3, 130));
        assert_eq!(readable(&disk, true), all, "{layout:?}");
        assert!(!mend(&disk).changed);
    }
}

#[test]
fn a_block_that_stands_nowhere_else_stays_as_it_is() {
    for layout in [SAMPLES, SAMPLES_RING] {
        let disk = open(layout, 130, 0);
        let at = block_at(&disk, 1);
        disk.write_at(at + 1000, &[7; 600]).expect("there");
        let (mut before, mut after) = ([0; 4096], [0; 4096]);
        disk.read_at(at, &mut before).expect("there");
        let report = mend(&disk);
        disk.read_at(at, &mut after).expect("there");
        assert_eq!((report.blocks_left, report.blocks_mended), (1, 0));
        assert_eq!(before, after);
        assert_eq!(readable(&disk, true).len(), 130 - crate::ROWS);
        assert!(!mend(&disk).changed);
    }
}

#[test]
fn a_ring_keeps_records_of_payloads_that_are_damaged() {
    for layout in [RING, SAMPLES_RING] {
        let disk = open(layout, 130, 0);
        let records = rows(&Recording::open(&disk).expect("one"));
        flip(&disk, records[3].address + 17);
        let bad = records[70].address;
        let faulty = Faulty::new(disk.bytes(), &[bad], EVER, false);
        let report = mend(&faulty);
        assert_eq!(report.rows_voided, 0, "{report:?}");
        assert_eq!(rows(&Recording::open(&faulty).expect("one")), records);
        assert!(!mend(&faulty).changed);
    }
}

#[test]
fn one_bad_sector_keeps_no_ring_from_opening() {
    let disk = open(RING, 130, 0);
    let at = block_at(&disk, 1);
    let faulty = Faulty::new(disk.bytes(), &[at], EVER, false);
    let recording = Recording::open(&faulty).expect("it opens");
    let damaged = recording
        .rows()
        .filter(|entry| matches!(entry, Entry::Damaged { .. }));
    assert_eq!(damaged.count(), 1);
    assert_eq!(rows(&recording).len(), 130 - crate::ROWS);
}

#[test]
fn an_extent_without_a_record_keeps_its_header_where_its_payload_cannot_be_read() {
    for layout in [OBJECTS, SMALL, ALIGNED] {
        let disk = open(layout, 10, 5);
        let (whole, expected) = (Memory::new(disk.bytes()), 15);
        mend(&whole);
        let all = readable(&whole, true);
        assert_eq!(all.len(), expected);
        for (address, ..) in all.keys() {
            let faulty = Faulty::new(disk.bytes(), &[address + SECTOR], EVER, false);
            let report = mend(&faulty);
            assert_eq!(report.lost, 0, "{report:?}");
            let front = Recording::open(&disk).expect("one").superblock().header();
            let (mut before, mut after) = ([0; 512], [0; 512]);
            disk.read_at(address - front, &mut before).expect("there");
            faulty
                .disk
                .read_at(address - front, &mut after)
                .expect("there");
            assert_eq!(before, after);
            assert!(!mend(&faulty).changed);
            mend(&faulty.disk);
            assert_eq!(readable(&faulty.disk, true), all);
        }
    }
}

#[test]
fn extents_of_a_sender_that_counts_anew_are_recovered() {
    for layout in [OBJECTS, SMALL, RING, ALIGNED, ALIGNED_RING] {
        let disk = open(layout, 40, 7);
        let report = mend(&disk);
        assert_eq!(report.recovered, 7, "{layout:?}: {report:?}");
        assert_eq!(readable(&disk, true).len(), 47);
        assert!(!mend(&disk).changed);
    }
}

#[test]
fn a_damaged_header_is_rebuilt_from_its_index_record() {
    for layout in [OBJECTS, SMALL, RING, ALIGNED, ALIGNED_RING] {
        let disk = open(layout, 70, 0);
        let before = disk.bytes();
        let recording = Recording::open(&disk).expect("one");
        let front = recording.superblock().header();
        let records = rows(&recording);
        for row in &records {
            // In the name, the size, the numbers of the JSON.
            let at = [3, 130, 600][row.object as usize % 3];
            flip(&disk, row.address - front + at % front);
        }
        assert_eq!(readable(&disk, true).len(), 0);
        let report = mend(&disk);
        assert_eq!(report.headers_mended, 70, "{report:?}");
        assert_eq!(readable(&disk, true).len(), 70);
        let after = disk.bytes();
        for row in &records {
            let place = (row.address - front) as usize..row.address as usize;
            assert!(
                before[place.clone()] == after[place],
                "object {}",
                row.object
            );
        }
        assert!(!mend(&disk).changed);
    }
    // That of another object in its place: of this one nothing is known that is not in the index.
    let disk = open(RING, 70, 0);
    let records = rows(&Recording::open(&disk).expect("one"));
    let mut other = [0; 4096];
    disk.read_at(records[50].address - 4096, &mut other)
        .expect("there");
    disk.write_at(records[3].address - 4096, &other)
        .expect("there");
    assert_eq!(mend(&disk).headers_mended, 1);
    let facts = Recording::open(&disk).expect("one").facts(&records[3]);
    let facts = facts.expect("it matches").expect("objects have some");
    assert_eq!((facts.sequence, facts.epoch), (0, 0));
    // Noise in place of a page: what the index does not have is not made up.
    let disk = open(OBJECTS, 3, 0);
    let row = rows(&Recording::open(&disk).expect("one"))[1];
    disk.write_at(row.address - 4096, &[0xa5; 4096])
        .expect("there");
    mend(&disk);
    let mut page = [0; 4096];
    disk.read_at(row.address - 4096, &mut page).expect("there");
    let facts = Facts::parse(&page, &Schema::default()).expect("a page");
    assert_eq!((facts.object, facts.sequence, facts.epoch), (1, 0, 0));
}

#[test]
fn blocks_of_another_round_keep_out_of_each_other() {
    let disk = Memory::new(vec![0; 5 << 20]);
    let settings = Format {
        ring: true,
        ..Format::default()
    };
    format(&disk, &settings).expect("room");
    let data = Recording::open(&disk).expect("one").superblock().data;
    let mut writer = Writer::new(&disk).expect("nothing in it");
    // Round and round, in blocks of 40.
    let objects = (data.bytes / 8192) * 11 / 4;
    for number in 0..objects {
        let about = Extent {
            object: number,
            time: number,
            ..Extent::default()
        };
        let payload = vec![number as u8; 3000];
        writer.put(&about, &mut &payload[..], 3000).expect("room");
        if number % 40 == 39 {
            writer.sync().expect("memory");
        }
    }
    writer.close().expect("memory");
    let all = readable(&disk, true);
    let oldest = rows(&Recording::open(&disk).expect("one"))[0].object / 40;
    assert!(oldest > 2, "blocks whose records are all void lie between");
    for block in [0, oldest] {
        let at = block_at(&disk, block);
        disk.write_at(at, &[0x5a; 4096]).expect("there");
    }
    mend(&disk);
    assert_eq!(readable(&disk, true), all);
}

#[test]
fn the_alignment_is_known_without_superblocks() {
    for layout in [
        ALIGNED,
        ALIGNED_RING,
        Layout {
            alignment: 32_768,
            ..SAMPLES
        },
    ] {
        let disk = open(layout, 80, 0);
        let all = readable(&disk, true);
        let superblock = *Recording::open(&disk).expect("one").superblock();
        // Both superblocks, then the schema as well.
        for places in [
            1 << 20..2 << 20,
            superblock.index.at..superblock.index.at + 4096,
        ] {
            let noise = vec![0x5a; (places.end - places.start) as usize];
            disk.write_at(places.start, &noise).expect("there");
            let found = *Recording::open(&disk).expect("one").superblock();
            assert_eq!(found.alignment, layout.alignment, "{layout:?}");
            assert_eq!(readable(&disk, true), all, "{layout:?}");
        }
    }
}

#[test]
fn what_was_written_over_is_put_back() {
    let disk = open(OBJECTS, 130, 9);
    flip(&disk, block_at(&disk, 1) + 900);
    let before = disk.bytes();
    let mut file = Vec::new();
    let mut keep = |bytes: &[u8]| {
        file.extend_from_slice(bytes);
        Ok(())
    };
    let options = Options {
        undo: Some(&mut keep),
        ..Options::default()
    };
    assert!(
        repair(&disk, options, &mut |_| true)
            .expect("it ends")
            .changed
    );
    let after = disk.bytes();
    assert!(after != before);
    // Part of it was put back, and then the power was lost.
    let half = Memory::new(after.clone());
    let at = before.iter().zip(&after).position(|(old, new)| old != new);
    let at = at.expect("a change") / 512 * 512;
    half.write_at(at as u64, &before[at..at + 512])
        .expect("there");
    for disk in [&disk, &half] {
        undo(disk, &file).expect("it is this image's");
        assert!(disk.bytes() == before);
    }
    assert_eq!(undo(&disk, &file).expect("it was put back").places, 0);
    let refused = |disk: &Memory, file: &[u8], words: &str| {
        let now = disk.bytes();
        let error = undo(disk, file).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
        assert!(disk.bytes() == now);
    };
    refused(&open(OBJECTS, 130, 9), &file, "recording UUID");
    refused(&Memory::new(vec![0; 7 << 20]), &file, "image's size");
    refused(&disk, &file[..file.len() - 1], "CRC32C");
    refused(&disk, &file[1..], "begins with");
    refused(&disk, &[], "begins with");
    let mut other = file.clone();
    other[50] ^= 1;
    refused(&disk, &other, "CRC32C");
    let changed = Memory::new(after);
    flip(&changed, at as u64 + 8);
    refused(&changed, &file, "other at byte");
}

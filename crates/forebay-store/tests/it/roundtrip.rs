// SPDX-License-Identifier: Apache-2.0
//! What the writer stores, the reader gives back.

use std::collections::BTreeMap;

use forebay_spec::store::index::{CUT, LATE, RESULT, Row, SKIPPED};
use forebay_spec::store::schema::{Column, Schema};
use forebay_spec::store::superblock::Mode;
use forebay_store::{Disk, Entry, Extent, Format, IndexSize, Memory, Recording, Writer, format};
use proptest::prelude::*;

/// A recording with these settings.
fn fresh(bytes: usize, settings: &Format) -> Memory {
    let disk = Memory::new(vec![0; bytes]);
    format(&disk, settings).expect("room");
    disk
}

fn payload(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64)
        .map(|at| (at.wrapping_mul(seed | 1) >> 3) as u8 ^ seed as u8)
        .collect()
}

fn rows(disk: &Memory) -> Vec<Row> {
    let recording = Recording::open(disk).expect("a recording");
    let rows = recording.rows().map(|entry| match entry {
        Entry::Row { row, wrong, .. } => {
            assert_eq!(wrong, None);
            row
        }
        Entry::Damaged { block, why, .. } => panic!("block {block}: {why}"),
    });
    rows.collect()
}

fn content(disk: &Memory, row: &Row) -> Vec<u8> {
    let recording = Recording::open(disk).expect("a recording");
    let mut bytes = Vec::new();
    let damage = recording.payload(row, &mut |part| {
        bytes.extend_from_slice(part);
        Ok(())
    });
    assert_eq!(damage.expect("a vector takes all"), None);
    bytes
}

#[derive(Clone, Debug)]
struct Item {
    stream: u16,
    length: usize,
    result: Option<[u8; 20]>,
    late: bool,
    sync: bool,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let result = proptest::option::of(any::<[u8; 20]>());
    let item = (
        0..3u16,
        0..20_000usize,
        result,
        any::<bool>(),
        any::<bool>(),
    );
    let item = item.prop_map(|(stream, length, result, late, sync)| Item {
        stream,
        length,
        result,
        late,
        sync: sync && length % 5 == 0,
    });
    prop::collection::vec(item, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn objects_read_as_they_were_written(
        items in items(), close: bool, large: bool, received: bool, shift in 0..5u32, small: bool,
    ) {
        let block_bytes = if large { 4096 } else { 512 };
        let columns = [("top", "u16[5]"), ("sha", "bytes[6]"), ("box", "u8[4]")];
        let columns = columns.map(|(name, kind)| Column::new(name, kind).expect("a column"));
        let schema = Schema::new(&columns, received).expect("20 bytes");
        let disk = fresh(
            16 << 20,
            &Format {
                block_bytes, schema, small, alignment: 4096 << shift,
                index: IndexSize::Rows(3000), ..Format::default()
            },
        );
        let result = |bytes: [u8; 20]| {
            let mut result = [0; 64];
            result[..20].copy_from_slice(&bytes);
            result
        };
        let mut writer = Writer::new(&disk).expect("nothing in it").with_extents_of(9000);
        let mut skipped = 0;
        for (number, item) in items.iter().enumerate() {
            let about = Extent {
                stream: item.stream, object: number as u64, time: number as u64 * 1000,
                result: item.result.map(result), late: item.late, ..Extent::default()
            };
            let bytes = payload(number as u64, item.length);
            let placed = writer.put(&about, &mut &bytes[..], bytes.len() as u64).expect("room");
            prop_assert_eq!(placed.bytes + placed.skipped, bytes.len() as u64);
            skipped += placed.skipped;
            if item.sync {
                writer.sync().expect("memory");
            }
        }
        if close {
            writer.close().expect("memory");
        } else {
            writer.sync().expect("memory");
        }
        let mut found: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let mut lost = 0;
        for row in rows(&disk) {
            let item = &items[row.object as usize];
            prop_assert_eq!(row.stream, item.stream);
            prop_assert_eq!(row.flags & RESULT != 0, item.result.is_some());
            prop_assert_eq!(row.result, item.result.map_or([0; 64], result));
            prop_assert_eq!(row.flags & LATE != 0, item.late);
            if row.flags & SKIPPED != 0 {
                lost += u64::from(row.length);
                continue;
            }
            let own = found.entry(row.object).or_default();
            prop_assert!(row.offset >= own.len() as u64);
            let bytes = content(&disk, &row);
            let from = row.offset as usize;
            let all = payload(row.object, item.length);
            prop_assert_eq!(&bytes[..], &all[from..from + bytes.len()]);
            let last = from + bytes.len() == item.length;
            prop_assert_eq!(row.flags & CUT != 0, !last);
            prop_assert_eq!(row.whole(), last && from == 0);
            prop_assert_eq!(row.received, if received && last { item.length as u32 } else { 0 });
            own.extend(bytes);
        }
        prop_assert_eq!(lost, skipped);
    }

    #[test]
    fn of_a_ring_the_newest_are_left(
        lengths in prop::collection::vec(0..60_000usize, 1..400), shift in 0..4u32,
    ) {
        let alignment = 4096 << shift;
        let settings = Format { ring: true, alignment, ..Format::default() };
        let alignment = u64::from(alignment);
        let disk = fresh(5 << 20, &settings);
        let mut writer = Writer::new(&disk).expect("nothing in it");
        for (number, length) in lengths.iter().enumerate() {
            let about = Extent { object: number as u64, ..Extent::default() };
            let bytes = payload(number as u64, *length);
            let placed = writer.put(&about, &mut &bytes[..], *length as u64).expect("a ring");
            prop_assert_eq!(placed.skipped, 0);
        }
        writer.sync().expect("memory");
        let rows = rows(&disk);
        let data = Recording::open(&disk).expect("one").superblock().data;
        // Of the newest, as many as find room where the last before the end leaves some.
        let mut room = data.bytes - 3 * alignment - 62_000;
        let newest = lengths.iter().rev().take_while(|length| {
            let extent = alignment + (**length as u64).next_multiple_of(alignment);
            room = room.saturating_sub(extent);
            room > 0
        });
        let least = lengths.len() - newest.count();
        let numbers: Vec<u64> = rows.iter().map(|row| row.object).collect();
        prop_assert!(numbers.is_sorted());
        for number in least..lengths.len() {
            prop_assert!(numbers.contains(&(number as u64)), "{} of {:?}", number, numbers);
        }
        for row in &rows {
            let number = row.object;
            prop_assert_eq!(content(&disk, row), payload(number, lengths[number as usize]));
        }
    }

    #[test]
    fn samples_lie_at_multiples_of_their_stride(
        lengths in prop::collection::vec(1..20_000usize, 1..80), pages in 1..4u64,
    ) {
        let stride = pages * 8192;
        let settings =
            Format { mode: Mode::Samples, stride, alignment: 8192, ..Format::default() };
        let disk = fresh(8 << 20, &settings);
        let data = Recording::open(&disk).expect("one").superblock().data;
        let mut writer = Writer::new(&disk).expect("nothing in it");
        for (number, length) in lengths.iter().enumerate() {
            let about = Extent { object: number as u64, ..Extent::default() };
            let bytes = payload(number as u64, *length);
            writer.put(&about, &mut &bytes[..], *length as u64).expect("room");
        }
        writer.close().expect("memory");
        for (number, row) in rows(&disk).iter().enumerate() {
            prop_assert_eq!(row.address, data.at + number as u64 * stride);
            let from = row.offset as usize;
            let all = payload(row.object, lengths[row.object as usize]);
            prop_assert_eq!(content(&disk, row), &all[from..from + row.length as usize]);
        }
    }
}

#[test]
fn what_an_older_recording_left_is_never_shown() {
    let disk = fresh(8 << 20, &Format::default());
    let mut writer = Writer::new(&disk).expect("nothing in it");
    for object in 0..300 {
        let about = Extent {
            object,
            ..Extent::default()
        };
        writer
            .put(&about, &mut &[1u8; 5000][..], 5000)
            .expect("room");
    }
    writer.close().expect("memory");
    let first = *Recording::open(&disk).expect("one").superblock();
    assert_eq!(rows(&disk).len(), 300);
    format(&disk, &Format::default()).expect("room");
    let second = *Recording::open(&disk).expect("one").superblock();
    assert!(second.generation > first.generation && second.session != first.session);
    assert_eq!(rows(&disk), []);
    let mut writer = Writer::new(&disk).expect("nothing in it");
    for object in 0..65 {
        let about = Extent {
            object,
            ..Extent::default()
        };
        writer.put(&about, &mut &[2u8; 100][..], 100).expect("room");
    }
    writer.sync().expect("memory");
    assert_eq!(rows(&disk).len(), 65);
    // A superblock of the older recording that came back does not count.
    disk.write_at(1 << 20, &[0; 4096]).expect("there");
    assert_eq!(rows(&disk).len(), 65);
}

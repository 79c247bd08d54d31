// SPDX-License-Identifier: Apache-2.0
//! A capture is one file, whatever happened to parts of it.

use forebay_spec::store::index::{CUT, Row};
use forebay_spec::store::pcapng::{BLOCK_BYTES, PACKET, PADDING, first_page};
use forebay_spec::store::superblock::{Mode, Superblock};
use forebay_store::{
    Disk, Entry, Extent, Format, Memory, Options, Recording, Writer, format, repair,
};
use proptest::prelude::*;

const PAGE: usize = 4096;

fn block(kind: u32, content: &[u8]) -> Vec<u8> {
    let length = ((BLOCK_BYTES + content.len()) as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, content, &length].concat()
}

/// A chunk of frames of these lengths, and the bytes of their blocks alone.
fn chunk(lengths: &[u16], fill: u8) -> (Vec<u8>, Vec<Vec<u8>>) {
    let packet = |length: &u16| {
        let frame = vec![fill; usize::from(*length)];
        let long = u32::from(*length).to_le_bytes();
        let mut content = [&[0; 12][..], &long, &long, &frame].concat();
        content.resize(content.len().next_multiple_of(4), 0);
        block(PACKET, &content)
    };
    let packets: Vec<Vec<u8>> = lengths.iter().map(packet).collect();
    let mut bytes = packets.concat();
    let padded = (bytes.len() + BLOCK_BYTES).next_multiple_of(PAGE);
    bytes.extend(block(PADDING, &vec![0; padded - bytes.len() - BLOCK_BYTES]));
    (bytes, packets)
}

fn written(disk: &Memory) -> (Vec<u8>, u64) {
    let recording = Recording::open(disk).expect("a recording");
    let mut bytes = Vec::new();
    let captured = recording
        .write_capture(&mut bytes)
        .expect("a vector takes all");
    assert_eq!(captured.bytes, bytes.len() as u64);
    (bytes, captured.left_out)
}

fn rows(disk: &Memory) -> Vec<Row> {
    let recording = Recording::open(disk).expect("a recording");
    let rows = recording.rows().map(|entry| match entry {
        Entry::Row {
            row, wrong: None, ..
        } => row,
        other => panic!("{other:?}"),
    });
    rows.collect()
}

fn superblock(disk: &Memory) -> Superblock {
    *Recording::open(disk).expect("a recording").superblock()
}

/// A recording of chunks that may be left open, and whose last one may be cut.
fn record(chunks: &[Vec<u8>], close: bool) -> Memory {
    let disk = Memory::new(vec![0x5a; 8 << 20]);
    let settings = Format {
        mode: Mode::Packets,
        ..Format::default()
    };
    format(&disk, &settings).expect("room");
    let mut writer = Writer::new(&disk).expect("a new one");
    for (number, chunk) in chunks.iter().enumerate() {
        let about = Extent {
            object: number as u64,
            time: number as u64,
            ..Extent::default()
        };
        let placed = writer.put(&about, &mut &chunk[..], chunk.len() as u64);
        assert_eq!(placed.expect("room").skipped, 0);
    }
    match close {
        true => writer.close().map(drop),
        false => writer.sync(),
    }
    .expect("the disk takes it");
    disk
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_good_is_one_file(
        frames in prop::collection::vec(prop::collection::vec(1_u16..3000, 1..8), 0..12),
        close: bool,
        harm in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
        reads in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..20_000), 0..20),
    ) {
        let mut chunks: Vec<Vec<u8>> = (0..).zip(&frames).map(|(n, f)| chunk(f, n).0).collect();
        let disk = record(&chunks, close);
        let head = first_page(superblock(&disk).session).to_vec();
        let all = [head.clone(), chunks.concat()].concat();
        prop_assert_eq!(&written(&disk), &(all.clone(), 0));
        // Where it lies it is the same, and behind it is no block.
        let data = superblock(&disk).data;
        let mut raw = vec![1; all.len() + 8 * usize::from(close)];
        disk.read_at(data.at, &mut raw).expect("it is there");
        prop_assert_eq!(&raw[..all.len()], &all[..]);
        prop_assert!(raw[all.len()..].iter().all(|byte| *byte == 0));
        let recording = Recording::open(&disk).expect("a recording");
        let file = recording.capture_file(true).expect("a capture");
        prop_assert_eq!(file.len(), all.len() as u64);
        prop_assert_eq!(file.is_empty(), chunks.is_empty());
        for (from, most) in reads {
            let from = from.index(all.len() + 100);
            let due = all.get(from..(from + most).min(all.len())).unwrap_or_default();
            prop_assert_eq!(file.bytes(from as u64, most).expect("it is there"), due);
        }
        if let Some((which, at)) = harm.filter(|_| !chunks.is_empty()) {
            let which = which.index(chunks.len());
            let mut byte = [0];
            let place = rows(&disk)[which].address + at.index(chunks[which].len()) as u64;
            disk.read_at(place, &mut byte).expect("it is there");
            disk.write_at(place, &[byte[0] ^ 1]).expect("it is there");
            let file = recording.capture_file(true).expect("a capture");
            let at = all.len() - chunks[which..].concat().len();
            prop_assert!(file.bytes(at as u64, 1).is_err());
            prop_assert!(recording.capture_file(false).expect("one").bytes(at as u64, 1).is_ok());
            chunks.remove(which);
            prop_assert_eq!(written(&disk), ([head, chunks.concat()].concat(), 1));
        }
    }

    #[test]
    fn a_chunk_that_was_cut_ends_with_a_whole_block(
        frames in prop::collection::vec(1_u16..3000, 4..12),
        pages in 1_usize..3,
    ) {
        let (bytes, packets) = chunk(&frames, 7);
        prop_assume!(bytes.len() > pages * PAGE);
        let disk = Memory::new(vec![0; 8 << 20]);
        let mode = Mode::Packets;
        format(&disk, &Format { mode, ..Format::default() }).expect("room");
        let mut writer = Writer::new(&disk).expect("a new one");
        let about = Extent { goes_on: true, ..Extent::default() };
        let length = (pages * PAGE) as u64;
        writer.put(&about, &mut &bytes[..], length).expect("room");
        writer.close().expect("the disk takes it");
        prop_assert!(rows(&disk)[0].flags & CUT != 0);
        let mut due = first_page(superblock(&disk).session).to_vec();
        for packet in packets {
            if due.len() + packet.len() > (1 + pages) * PAGE {
                break;
            }
            due.extend(packet);
        }
        prop_assert_eq!(written(&disk), (due.clone(), 0));
        let recording = Recording::open(&disk).expect("a recording");
        let file = recording.capture_file(true).expect("a capture");
        prop_assert_eq!(file.bytes(0, usize::MAX).expect("it is there"), due);
    }
}

#[test]
fn a_lost_first_page_is_told_and_mended() {
    let disk = record(&[chunk(&[60; 30], 1).0], true);
    let at = superblock(&disk).data.at;
    disk.write_at(at, &[0xff; 100]).expect("it is there");
    let recording = Recording::open(&disk).expect("a recording");
    assert!(recording.complaints()[0].contains("the capture's first page is damaged"));
    let done = repair(&disk, Options::default(), &mut |_| true).expect("it can be mended");
    assert!(done.changed);
    let again = repair(&disk, Options::default(), &mut |_| true).expect("it is mended");
    assert!(!again.changed);
    assert!(
        Recording::open(&disk)
            .expect("a recording")
            .complaints()
            .is_empty()
    );
}

#[test]
fn a_loss_of_power_leaves_what_has_rows() {
    let chunks = [chunk(&[60; 30], 1).0, chunk(&[1500; 3], 2).0];
    let disk = record(&chunks, false);
    repair(&disk, Options::default(), &mut |_| true).expect("it ends");
    let closed = superblock(&disk).closed.expect("it was closed");
    let bytes = chunks.concat().len() as u64;
    assert_eq!(closed.end, superblock(&disk).first_extent() + bytes);
    assert_eq!(written(&disk).1, 0);
}

#[test]
fn a_ring_is_refused() {
    let disk = Memory::new(vec![0; 8 << 20]);
    let settings = Format {
        mode: Mode::Packets,
        ring: true,
        ..Format::default()
    };
    let refused = format(&disk, &settings).expect_err("it has no beginning");
    assert!(refused.to_string().contains("ring"), "{refused}");
}

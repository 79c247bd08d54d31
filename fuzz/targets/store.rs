// SPDX-License-Identifier: Apache-2.0
//! A recording with any bytes overwritten: it is refused, or read without a wrong byte; a repair
//! comes to its end, and a second one has nothing to do.
#![no_main]

use std::sync::OnceLock;

use forebay_spec::store::index::Block;
use forebay_spec::store::layout::Layout;
use forebay_spec::store::page::Facts;
use forebay_spec::store::schema::{SCHEMA_BYTES, Schema};
use forebay_spec::store::superblock::{self, Superblock};
use forebay_spec::store::{PAGE_BYTES, Session, tar};
use forebay_store::{
    Disk, Entry, Extent, Format, IndexSize, Memory, Options, PAGE, Recording, Writer, crc32c,
    format, repair, verify,
};
use libfuzzer_sys::fuzz_target;

const IMAGE: usize = 13 << 18;

fuzz_target!(|data: &[u8]| {
    pages(data);
    image(data);
});

/// One page of any bytes, as each of the things that a page can be.
fn pages(data: &[u8]) {
    let mut page = [0; PAGE_BYTES];
    let length = data.len().min(PAGE_BYTES);
    page[..length].copy_from_slice(&data[..length]);
    // Of a schema that the same bytes are, if they are one.
    let own = page[superblock::SCHEMA_AT..].first_chunk::<SCHEMA_BYTES>();
    let schema = own.and_then(Schema::from_bytes).unwrap_or_default();
    let layout = Layout::new(superblock::VERSION, schema);
    if let Some(facts) = Facts::parse(&page, &schema) {
        assert_eq!(facts.to_page(), page);
    }
    let _ = page.first_chunk().map(tar::parse);
    // Every checksum passes here: the code behind it must check the fields, too.
    let (superblock, block) = (
        sealed(page, superblock::CRC_AT),
        sealed(page, layout.crc_at()),
    );
    if let Ok(read) = Superblock::parse(&superblock, |_, _| 0) {
        assert_eq!(read.check(), Ok(()));
        assert!(read.index.end() <= read.drive.bytes && read.data.end() <= read.drive.bytes);
    }
    let session = Session([0; 16]);
    if let Ok(read) = Block::parse(&block, session, &layout, |_, _| 0) {
        let again = read.to_bytes(session, &layout, |_, _| 0);
        let read = Block::parse(&again, session, &layout, |_, _| 0);
        assert_eq!(
            read.map(|read| read.to_bytes(session, &layout, |_, _| 0)),
            Ok(again)
        );
    }
}

fn sealed(mut page: [u8; PAGE_BYTES], at: usize) -> [u8; PAGE_BYTES] {
    page[at..at + 4].fill(0);
    page
}

/// A small recording, open or closed.
fn base(closed: bool, ring: bool) -> &'static [u8] {
    static BASES: [OnceLock<Vec<u8>>; 4] = [const { OnceLock::new() }; 4];
    BASES[usize::from(closed) * 2 + usize::from(ring)].get_or_init(|| {
        let disk = Memory::new(vec![0; IMAGE]);
        let settings = Format {
            ring,
            index: IndexSize::Rows(1),
            ..Format::default()
        };
        format(&disk, &settings).expect("room");
        let mut writer = Writer::new(&disk).expect("nothing in it");
        for object in 0..70u64 {
            let about = Extent {
                object,
                result: Some([1; 64]),
                ..Extent::default()
            };
            let bytes = vec![object as u8; 10 * object as usize];
            writer
                .put(&about, &mut &bytes[..], bytes.len() as u64)
                .expect("a ring or room");
        }
        match closed {
            true => drop(writer.close().expect("memory")),
            false => writer.sync().expect("memory"),
        }
        disk.bytes()
    })
}

/// Pages that matter: tables, superblocks, index, the first of the data, the last.
fn place(selector: u8) -> usize {
    let page = match selector % 6 {
        0 => 0,
        1 => 256,
        2 => 511,
        3 => 512 + usize::from(selector / 6) % 5,
        4 => 768 + usize::from(selector / 6),
        _ => IMAGE / PAGE_BYTES - 1 - usize::from(selector / 6) % 6,
    };
    page * PAGE_BYTES
}

/// Patches of some bytes each; where the page has a checksum, it is made right when asked for.
fn patched(data: &[u8]) -> Memory {
    let options = data.first().copied().unwrap_or(0);
    let mut bytes = base(options & 1 != 0, options & 2 != 0).to_vec();
    for patch in data[data.len().min(1)..].chunks(8).take(64) {
        let [selector, low, high, rest @ ..] = patch else {
            break;
        };
        let at = place(*selector);
        let from = at + usize::from(u16::from_le_bytes([*low, *high]) & 0xfff);
        let to = (from + rest.len()).min(bytes.len());
        bytes[from..to].copy_from_slice(&rest[..to - from]);
        if high & 0x80 != 0 {
            seal(&mut bytes[at..at + PAGE_BYTES]);
        }
    }
    Memory::new(bytes)
}

fn seal(page: &mut [u8]) {
    let (sum, at) = if page.starts_with(b"FBSTORE") {
        (crc32c(0, &page[..superblock::CRC_AT]), superblock::CRC_AT)
    } else {
        let at = Layout::new(superblock::VERSION, Schema::default()).crc_at();
        page[at..at + 4].fill(0);
        (crc32c(0, page), at)
    };
    page[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

fn image(data: &[u8]) {
    let disk = patched(data);
    let Ok(recording) = Recording::open(&disk) else {
        return;
    };
    for entry in recording.rows().take(1000) {
        let Entry::Row { row, wrong, .. } = entry else {
            continue;
        };
        let extent = recording.extent(&row);
        if row.stored() && wrong.is_none() {
            assert!(extent.end <= disk.len() && extent.at >= recording.superblock().data.at);
        }
        let _ = recording.bytes(&row, 0, 16);
    }
    let found = verify(&recording, 1, &|_| true);
    assert!(found.problems.len() <= 1000);
    let _ = recording.write_tar(&mut std::io::sink());
    if repair(
        &disk,
        Options {
            look: Some(64 * PAGE),
            ..Options::default()
        },
        &mut |_| true,
    )
    .is_ok()
    {
        let mended = disk.bytes();
        let again = repair(
            &disk,
            Options {
                look: Some(64 * PAGE),
                ..Options::default()
            },
            &mut |_| true,
        )
        .expect("again");
        assert!(!again.changed, "{again:?}");
        assert!(disk.bytes() == mended);
    }
}

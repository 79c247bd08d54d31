// SPDX-License-Identifier: Apache-2.0
//! A medium that does not give some of its bytes: what lies beside them is recovered all the same.

use std::io;
use std::sync::{Mutex, PoisonError};

use forebay_store::{
    Disk, Entry, Extent, Format, Memory, Options, Recording, Writer, format, repair,
};

/// Bytes of what can be read or not.
const SECTOR: u64 = 512;

/// A disk with a sector that cannot be read until it is written.
struct Worn {
    disk: Memory,
    bad: Mutex<Option<u64>>,
}

impl Worn {
    fn is_bad(&self, at: u64, bytes: usize) -> bool {
        let bad = self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        bad.is_some_and(|bad| at < bad + SECTOR && bad < at + bytes as u64)
    }
}

impl Disk for Worn {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self.is_bad(at, into.len()) {
            true => Err(io::Error::other("a sector cannot be read")),
            false => self.disk.read_at(at, into),
        }
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_bad(at, bytes.len()) {
            *self.bad.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        self.disk.write_at(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }
}

#[test]
fn a_sector_that_cannot_be_read_takes_one_small_object_along() {
    const OBJECTS: u64 = 20;
    for bad in 0..2 * OBJECTS {
        let disk = Memory::new(vec![0; 4 << 20]);
        let settings = Format {
            small: true,
            ..Format::default()
        };
        format(&disk, &settings).expect("room");
        let mut writer = Writer::new(&disk).expect("nothing in it");
        for object in 0..OBJECTS {
            let about = Extent {
                object,
                ..Extent::default()
            };
            // A sector of header and one of payload; no row tells of them.
            let payload = [object as u8; 100];
            writer.put(&about, &mut &payload[..], 100).expect("room");
        }
        let data = Recording::open(&disk).expect("one").superblock().data;
        let worn = Worn {
            disk,
            bad: Mutex::new(Some(data.at + bad * SECTOR)),
        };
        let report = repair(&worn, Options::default(), &mut |_| true).expect("a repair ends");
        let recording = Recording::open(&worn).expect("a recording");
        let mut objects = Vec::new();
        for entry in recording.rows() {
            let Entry::Row { row, wrong, .. } = entry else {
                panic!("{entry:?}");
            };
            assert_eq!(wrong, None);
            let damage = recording.payload(&row, &mut |_| Ok(()));
            assert_eq!(damage.expect("nothing refuses"), None, "{row:?}");
            objects.push(row.object);
        }
        let others: Vec<u64> = (0..OBJECTS).filter(|object| *object != bad / 2).collect();
        assert_eq!(objects, others, "{report:?}");
        let again = repair(
            &worn,
            Options {
                dry_run: true,
                ..Options::default()
            },
            &mut |_| true,
        )
        .expect("a repair ends");
        assert!(!again.changed, "{again:?}");
    }
}

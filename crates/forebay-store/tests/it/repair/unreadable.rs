// SPDX-License-Identifier: Apache-2.0
//! A medium that does not give some of its bytes: what lies beside them is recovered all the same.

use forebay_store::{Entry, Extent, Format, Memory, Options, Recording, Writer, format, repair};

use super::faulty::{Faulty, SECTOR};
use super::mend;

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
        let worn = Faulty::new(disk.bytes(), &[data.at + bad * SECTOR], u64::MAX, true);
        let report = mend(&worn);
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

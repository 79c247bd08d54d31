// SPDX-License-Identifier: Apache-2.0
//! Several drives as one disk: bytes are where Linux's md looks for them, members come in any order, and
//! what does not belong together is named.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use forebay_spec::store::md::{self, Md};
use forebay_spec::store::member::{self, Member};
use forebay_spec::stripes::Stripes;
use forebay_store::{
    Array, Disk, Extent, Format, Memory, Options, Part, Recording, Writer, assemble, crc32c,
    format, repair, replace, verify,
};
use proptest::prelude::*;

const PAGE: usize = 4096;

/// These drives, named by their numbers.
fn parts<'m>(drives: &'m [Memory], numbers: &[usize]) -> Vec<Part<'m>> {
    let part = |number: &usize| Part::new(format!("drive {number}"), Box::new(&drives[*number]));
    numbers.iter().map(part).collect()
}

/// Drives of these sizes, with what was there before.
fn drives(sizes: &[usize]) -> Vec<Memory> {
    let dirty = |(number, bytes): (usize, &usize)| Memory::new(vec![0xa5 ^ number as u8; *bytes]);
    sizes.iter().enumerate().map(dirty).collect()
}

const fn stripes(stripe_unit: u64, parity: bool) -> Stripes {
    Stripes {
        drives: 0,
        stripe_unit,
        parity,
    }
}

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn opened<'m>(drives: &'m [Memory], numbers: &[usize]) -> Box<dyn Disk + 'm> {
    assemble(parts(drives, numbers), false).expect("an array")
}

fn why(drives: &[Memory], numbers: &[usize]) -> String {
    match assemble(parts(drives, numbers), false) {
        Ok(_) => panic!("{numbers:?} opens"),
        Err(error) => error.to_string(),
    }
}

/// A recording of some objects on new drives, closed.
fn recorded(sizes: &[usize], asked: Stripes) -> Vec<Memory> {
    let drives = drives(sizes);
    let array = Array::create(parts(&drives, &all(sizes.len())), asked, 512).expect("room");
    format(&array, &Format::default()).expect("room");
    let mut writer = Writer::new(&array).expect("nothing in it");
    for object in 0..40u64 {
        let about = Extent {
            object,
            ..Extent::default()
        };
        let bytes = vec![object as u8; 7777 * (object as usize % 5)];
        let put = writer.put(&about, &mut &bytes[..], bytes.len() as u64);
        put.expect("room");
    }
    writer.close().expect("memory");
    drop(array);
    drives
}

fn is_whole(disk: &dyn Disk) {
    let recording = Recording::open(disk).expect("a recording");
    let found = verify(&recording, 2, &|_| true);
    assert!(found.is_good() && found.extents == 40, "{found:?}");
}

const MIB: usize = 1 << 20;
const SIZES: [usize; 3] = [3 * MIB, 3 * MIB + 512, 4 * MIB];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn bytes_are_where_md_looks_for_them(
        count in 2..=5usize, unit in 12..=14u32, parity: bool, missing in 0..6usize,
        writes in prop::collection::vec((any::<u32>(), 1..40_000usize), 1..12),
    ) {
        let unit = 1 << unit;
        let drives = drives(&vec![160 << 10; count]);
        let array = Array::create(parts(&drives, &all(count)), stripes(unit, parity), 512).expect("room");
        let data = count - usize::from(parity);
        let mut shadow = vec![0; array.len() as usize];
        array.write_at(0, &shadow).expect("room");
        // Later writes without one of the members, where there is parity.
        let lost = (parity && missing < count).then_some(missing);
        let left: Vec<_> = all(count).into_iter().filter(|one| Some(*one) != lost).rev().collect();
        let array = opened(&drives, &left);
        for (number, (at, length)) in writes.iter().enumerate() {
            let at = *at as usize % shadow.len();
            let bytes = vec![number as u8 + 1; (*length).min(shadow.len() - at)];
            array.write_at(at as u64, &bytes).expect("within");
            shadow[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let mut read = vec![0; shadow.len()];
        array.read_at(0, &mut read).expect("within");
        prop_assert!(read == shadow, "what is read differs");
        // As md computes it, from the members themselves.
        let images: Vec<_> = drives.iter().map(Memory::bytes).collect();
        for (number, chunk) in shadow.chunks(unit as usize).enumerate() {
            let (row, drive) = (number / data * unit as usize, number % data);
            let there = (0..count).filter(|one| *one != drive && lost == Some(drive));
            let rebuilt = there.fold(vec![0; chunk.len()], |sum, one| {
                sum.iter().zip(&images[one][row..]).map(|(a, b)| a ^ b).collect()
            });
            let found = match lost == Some(drive) {
                true => &rebuilt[..],
                false => &images[drive][row..row + chunk.len()],
            };
            prop_assert!(found == chunk, "stripe unit {number}");
        }
        // The one that was left out has come back: it is not believed.
        if lost.is_some() {
            let again = opened(&drives, &all(count));
            again.read_at(0, &mut read).expect("within");
            prop_assert!(read == shadow, "an old member is believed");
            let told = again.array().expect("an array").complaints().join("; ");
            prop_assert!(told.contains("older than the other members"), "{}", told);
        }
    }
}

#[test]
fn members_come_in_any_order() {
    for parity in [false, true] {
        let drives = recorded(&SIZES, stripes(16 << 10, parity));
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            let disk = opened(&drives, &order);
            is_whole(&*disk);
            let complaints = Recording::open(&*disk).expect("open").complaints().to_vec();
            assert_eq!(complaints, Vec::<String>::new());
        }
        for missing in 0..3 {
            let rest: Vec<_> = (0..3).filter(|one| *one != missing).collect();
            if !parity {
                let why = why(&drives, &rest);
                let says =
                    format!("member {missing} of 3 of the array is missing: it has no parity");
                assert!(why.contains(&says), "{why}");
                continue;
            }
            let disk = opened(&drives, &rest);
            is_whole(&*disk);
            let complaints = Recording::open(&*disk)
                .expect("open")
                .complaints()
                .join("; ");
            let says = format!("member {missing} of 3 of the array is missing: its bytes come");
            assert!(complaints.contains(&says), "{complaints}");
        }
        let one = why(&drives, &[1]);
        assert!(one.contains("members 0, 2 of 3"), "{one}");
    }
}

#[test]
fn what_does_not_belong_together_is_named() {
    let mut drives = recorded(&SIZES, stripes(16 << 10, true));
    drives.extend(recorded(&SIZES, stripes(16 << 10, true)));
    drives.push(Memory::new(vec![0; 3 * MIB]));
    drives.push(Memory::new(vec![0; 100]));
    let says = [
        (&[0, 1, 5][..], "drive 5 belongs to array"),
        (&[0, 1, 1], "drive 1 and drive 1 are both member 1"),
        (&[0, 6, 1], "drive 6 has no member superblock"),
        (&[0, 7, 1], "it is too small for one"),
        (&[6, 7], "none of drive 6, drive 7 has a member superblock"),
    ];
    for (numbers, says) in says {
        let why = why(&drives, numbers);
        assert!(why.contains(says), "{why}");
    }
    // One that was cut off, and one that is longer now.
    for bytes in [SIZES[1] - 4096, SIZES[1] + 4096] {
        let mut image = drives[1].bytes();
        image.resize(bytes, 0);
        let all = [Memory::new(drives[0].bytes()), Memory::new(image)];
        let why = why(&all, &[0, 1]);
        assert!(why.contains("drive 1 has no member superblock"), "{why}");
    }
}

/// Writes another member superblock into both copies, or one of them.
fn rewrite(drive: &Memory, copies: &[usize], change: impl Fn(&mut Member)) -> Memory {
    let mut image = drive.bytes();
    let places = member::places(image.len() as u64).expect("room");
    for copy in copies {
        let at = places[*copy] as usize;
        let page: [u8; PAGE] = image[at..at + PAGE].try_into().expect("a page");
        let mut member = Member::parse(&page, crc32c).expect("good");
        change(&mut member);
        image[at..at + PAGE].copy_from_slice(&member.to_bytes(b"", crc32c));
    }
    Memory::new(image)
}

/// The same with md's.
fn rewrite_md(drive: &Memory, change: impl Fn(&mut Md)) -> Memory {
    let mut image = drive.bytes();
    let at = md::place(image.len() as u64).expect("room") as usize;
    let page: [u8; PAGE] = image[at..at + PAGE].try_into().expect("a page");
    let mut found = Md::parse(&page).expect("good");
    change(&mut found);
    image[at..at + PAGE].copy_from_slice(&found.to_bytes());
    Memory::new(image)
}

#[test]
fn superblocks_that_disagree_are_refused() {
    let drives = recorded(&SIZES, stripes(16 << 10, true));
    let with = |second: Memory| {
        let all = [
            Memory::new(drives[0].bytes()),
            second,
            Memory::new(drives[2].bytes()),
        ];
        why(&all, &[2, 1, 0])
    };
    let unit = with(rewrite(&drives[1], &[0, 1], |member| {
        member.stripes.stripe_unit = 8192
    }));
    assert!(unit.contains("the stripe unit of the array is"), "{unit}");
    let parity = with(rewrite(&drives[1], &[0, 1], |member| {
        member.stripes.parity = false
    }));
    assert!(parity.contains("the parity of the array is"), "{parity}");
    let twice = with(rewrite(&drives[1], &[0, 1], |member| {
        (member.number, member.present) = (2, 7)
    }));
    assert!(twice.contains("are both member 2"), "{twice}");
    let (mut level, mut number) = (drives[1].bytes(), drives[1].bytes());
    level = rewrite_md(&Memory::new(level), |md| md.fixed.level = 5).bytes();
    number = rewrite_md(&Memory::new(number), |md| md.fixed.number = 0).bytes();
    for (image, field, values) in [(level, "level", "5"), (number, "number", "0")] {
        let all = [
            Memory::new(drives[0].bytes()),
            Memory::new(image),
            Memory::new(drives[2].bytes()),
        ];
        let why = why(&all, &[0, 1, 2]);
        assert!(
            why.contains(&format!("the {field} is ")) && why.contains(values),
            "{why}"
        );
        // Ours counts where that is wanted, and md's is written anew.
        let disk = assemble(parts(&all, &[0, 1, 2]), true).expect("ours is good");
        assert_eq!(disk.array().expect("an array").damaged(), 1);
        disk.array().expect("an array").mend().expect("memory");
        is_whole(&*opened(&all, &[0, 1, 2]));
    }
}

#[test]
fn damaged_superblocks_are_told_and_mended() {
    let drives = recorded(&SIZES, stripes(16 << 10, false));
    let bytes = drives[1].len();
    let [first, second] = member::places(bytes).expect("room");
    let md_at = md::place(bytes).expect("room");
    for places in [
        &[first][..],
        &[second],
        &[md_at],
        &[first, md_at],
        &[first, second],
    ] {
        for place in places {
            drives[1].write_at(*place, &[0x77; 64]).expect("within");
        }
        let disk = opened(&drives, &[1, 0, 2]);
        is_whole(&*disk);
        let array = disk.array().expect("an array");
        assert_eq!(array.damaged(), places.len() as u64);
        assert_eq!(array.complaints().len(), places.len());
        array.mend().expect("memory");
        let again = opened(&drives, &[1, 0, 2]);
        let left = again.array().expect("an array").complaints();
        assert_eq!(left, Vec::<String>::new());
    }
    for place in [first, second, md_at] {
        drives[1].write_at(place, &[0x77; 64]).expect("within");
    }
    let why = why(&drives, &[0, 1, 2]);
    assert!(why.contains("drive 1 has no member superblock"), "{why}");
}

#[test]
fn a_repair_without_a_member_leaves_it_out() {
    let drives = recorded(&SIZES, stripes(16 << 10, true));
    let before = drives[0].bytes();
    // The recording's own superblock, on the member that is missing, is written anew.
    let disk = opened(&drives, &[2, 1]);
    let superblocks = Recording::open(&*disk).expect("open").superblocks();
    disk.write_at(superblocks.at, &[0; PAGE]).expect("within");
    repair(&*disk, Options::default(), &mut |_| true).expect("it can be");
    is_whole(&*disk);
    drop(disk);
    assert!(
        drives[0].bytes() == before,
        "the missing member was written"
    );
    let again = opened(&drives, &[0, 1, 2]);
    is_whole(&*again);
    let complaints = Recording::open(&*again)
        .expect("open")
        .complaints()
        .join("; ");
    assert!(complaints.contains("drive 0 is left out"), "{complaints}");
    // Nor is it believed by itself: the others are missing.
    let alone = why(&drives, &[0]);
    assert!(alone.contains("members 1, 2 of 3"), "{alone}");
}

#[test]
fn a_sum_that_was_not_written_makes_no_copies() {
    let drives = drives(&[4 * MIB; 3]);
    let array = Array::create(parts(&drives, &all(3)), stripes(8192, true), 512).expect("room");
    array
        .write_at(0, &vec![0; array.len() as usize])
        .expect("room");
    let settings = Format {
        small: true,
        alignment: 16_384,
        ..Format::default()
    };
    format(&array, &settings).expect("room");
    let mut writer = Writer::new(&array).expect("nothing in it");
    let sums = drives[2].bytes();
    for object in 0..3 {
        let about = Extent {
            object,
            ..Extent::default()
        };
        writer.put(&about, &mut &[7; 700][..], 700).expect("room");
    }
    drop(writer);
    drop(array);
    // Power was lost before the sums came, and a member with it.
    let left = [drives[0].bytes(), drives[1].bytes(), sums].map(Memory::new);
    for there in [[0, 2], [0, 1]] {
        let left = left.each_ref().map(|drive| Memory::new(drive.bytes()));
        let array = opened(&left, &there);
        let report = repair(&*array, Options::default(), &mut |_| true).expect("a repair ends");
        assert_eq!(report.recovered, 3, "{there:?}: {report:?}");
    }
}

#[test]
fn a_member_is_replaced() {
    for missing in 0..3 {
        let mut drives = recorded(&SIZES, stripes(16 << 10, true));
        drives.push(Memory::new(vec![0x5a; 5 * MIB]));
        drives.push(Memory::new(vec![0; MIB]));
        let rest: Vec<_> = (0..3).filter(|one| *one != missing).collect();
        let onto = |numbers: &[usize], new| {
            let new = parts(&drives, &[new]).remove(0);
            replace(parts(&drives, numbers), new, &mut |_| true)
        };
        let small = onto(&rest, 4).expect_err("too small").to_string();
        assert!(small.contains("the size of the replacement is"), "{small}");
        let none = onto(&[0, 1, 2], 3)
            .expect_err("none is missing")
            .to_string();
        assert!(none.contains("no member is missing"), "{none}");
        let new = parts(&drives, &[3]).remove(0);
        let stop = replace(parts(&drives, &rest), new, &mut |_| false);
        assert!(stop.is_err());
        let half = why(&drives, &[rest[0], 3]);
        assert!(half.contains("drive 3 has no member superblock"), "{half}");
        let without = opened(&drives, &rest);
        let mut before = vec![0; without.len() as usize];
        without.read_at(0, &mut before).expect("within");
        let facts = onto(&rest, 3).expect("it can be");
        assert_eq!(facts.members[missing].as_deref(), Some("drive 3"));
        let all = opened(&drives, &[3, rest[1], rest[0]]);
        is_whole(&*all);
        let array = all.array().expect("an array");
        assert_eq!(array.complaints(), Vec::<String>::new());
        let mut after = vec![0; before.len()];
        all.read_at(0, &mut after).expect("within");
        assert!(after == before, "what the array has is another");
        is_whole(&*opened(&drives, &[3, rest[0]]));
        // The old one is out for good.
        let old = opened(&drives, &[missing, rest[0], rest[1]]);
        let complaints = old.array().expect("an array").complaints().join("; ");
        let says = format!("drive {missing} is left out");
        assert!(complaints.contains(&says), "{complaints}");
        let two = why(&drives, &[missing, rest[0]]);
        assert!(two.contains("of 3 of the array are missing"), "{two}");
    }
}

#[test]
fn what_md_has_written_counts() {
    // Linux has assembled them without member 0 and written: that one is a spare now.
    let drives = recorded(&SIZES, stripes(16 << 10, true));
    let wrote = |number: usize| {
        rewrite_md(&drives[number], |md| {
            md.fixed.events += 2;
            md.roles = [0xffff, 1, 2, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff];
        })
    };
    let all = [Memory::new(drives[0].bytes()), wrote(1), wrote(2)];
    let disk = opened(&all, &[2, 0, 1]);
    let complaints = disk.array().expect("an array").complaints().join("; ");
    assert!(complaints.contains("drive 0 is left out"), "{complaints}");
    is_whole(&*disk);
    // One that md made of these drives for another array says nothing of ours, also where ours counts.
    let foreign = rewrite_md(&drives[1], |md| {
        md.fixed.events = 17;
        md.fixed.level = 0;
    });
    let all = [
        Memory::new(drives[0].bytes()),
        foreign,
        Memory::new(drives[2].bytes()),
    ];
    let disk = assemble(parts(&all, &[0, 1, 2]), true).expect("ours counts");
    is_whole(&*disk);
    disk.array().expect("an array").mend().expect("memory");
    is_whole(&*opened(&all, &[0, 1, 2]));
}

/// A drive whose power is cut after some writes of all that hang on it.
struct Cut<'m>(&'m Memory, &'m AtomicUsize);

impl Disk for Cut<'_> {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(at, into)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        let left = self
            .1
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        self.0.write_at(at, bytes)
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_change_that_is_cut_off_is_finished() {
    let made = recorded(&[3 * MIB; 4], stripes(16 << 10, true));
    for cuts in (0..169).map(|n| [n / 13, n % 13]) {
        let drives: Vec<_> = made
            .iter()
            .map(|drive| Memory::new(drive.bytes()))
            .collect();
        for cut in cuts {
            let left = AtomicUsize::new(cut);
            let part = |n: usize| Part::new(format!("drive {n}"), Box::new(Cut(&drives[n], &left)));
            let disk = assemble([1, 0, 2].map(part).into(), false).expect("an array");
            // The first write tells the others that member 3 is missing, nine superblocks or more.
            let _ = disk.write_at(disk.len() - 4096, &[1; 4096]);
        }
        is_whole(&*opened(&drives, &[2, 1, 0]));
        is_whole(&*opened(&drives, &[3, 2, 1, 0]));
    }
}

#[test]
fn a_replacement_that_is_cut_off_is_not_believed() {
    let made = recorded(&[3 * MIB; 3], stripes(16 << 10, true));
    for cut in 0..24 {
        let mut drives: Vec<_> = made
            .iter()
            .map(|drive| Memory::new(drive.bytes()))
            .collect();
        drives.push(Memory::new(vec![0x5a; 3 * MIB]));
        let left = AtomicUsize::new(cut);
        let part = |n: usize| Part::new(format!("drive {n}"), Box::new(Cut(&drives[n], &left)));
        let replaced = replace([1, 2].map(part).into(), part(3), &mut |_| true);
        // The others go on without it, over what member 0 has of an extent.
        let disk = opened(&drives, &[2, 1]);
        let at = disk.len() / 2 / 65536 * 65536;
        disk.write_at(at, &[9; 65536]).expect("within");
        let mut now = vec![0; disk.len() as usize];
        disk.read_at(0, &mut now).expect("within");
        drop(disk);
        for order in [[1, 2, 3], [2, 0, 1]] {
            let Ok(disk) = assemble(parts(&drives, &order), false) else {
                // The new one is none yet.
                assert!(
                    order.contains(&3) && replaced.is_err(),
                    "{order:?} at cut {cut}"
                );
                continue;
            };
            let mut read = vec![0; now.len()];
            disk.read_at(0, &mut read).expect("within");
            assert!(
                read == now,
                "an old member of {order:?} is believed at cut {cut}"
            );
        }
    }
}

#[test]
fn arrays_that_cannot_be_are_refused() {
    for (sizes, asked) in [
        (&[MIB][..], stripes(4096, false)),
        (&[MIB, 20 << 10], stripes(16 << 10, false)),
        (&[MIB, MIB], stripes(12 << 10, false)),
        (&[MIB; 9], stripes(4096, false)),
    ] {
        let drives = drives(sizes);
        let made = Array::create(parts(&drives, &all(sizes.len())), asked, 512);
        let error = made.expect_err("it cannot be").to_string();
        assert!(error.contains("such an array cannot be"), "{error}");
        assert!(drives[0].bytes()[0] == 0xa5, "it was written");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Power is lost while a recording is written, and while it is repaired: what was promised is
//! there, nothing is invented, and a repair ends in a recording that opens.

mod volatile;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::Mode;
use forebay_spec::store::tar;
use forebay_spec::stripes::Stripes;
use forebay_store::{
    Disk, Entry, Extent, Format, IndexSize, Memory, Options, Recording, Repair, Scan, Writer,
    format, repair,
};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use volatile::{Shape, Volatile};

const IMAGE: usize = (3 << 20) + (3 << 19);

fn below(random: &mut Pcg64Mcg, limit: u64) -> u64 {
    random.next_u64() % limit.max(1)
}

/// What is written: lengths of objects, each in a stream, and after which ones the writer syncs.
struct Work {
    ring: bool,
    /// Data of the ring stay near the index.
    near: bool,
    samples: bool,
    small: bool,
    alignment: u32,
    /// Batches go on where a block of the index is full, as in hardware.
    open: bool,
    objects: Vec<(u16, usize, bool)>,
    close: bool,
}

fn payload(object: u64, length: usize) -> Vec<u8> {
    let mut random = Pcg64Mcg::seed_from_u64(object);
    let mut bytes = vec![0; length];
    random.fill_bytes(&mut bytes);
    bytes
}

impl Work {
    fn random(random: &mut Pcg64Mcg) -> Self {
        let kind = below(random, 8);
        let ring = kind <= 1 || (kind == 2 && below(random, 2) == 0);
        let near = ring && below(random, 2) == 0;
        let largest = [400, 5000, 30_000, 120_000][below(random, 4) as usize];
        let count = 1 + below(random, 150);
        let open = below(random, 2) == 0;
        let alignment = [4096, 4096, 8192, 16_384][below(random, 4) as usize];
        // In an open batch rows end with a full block only.
        let often = 1 + below(random, if open { 400 } else { 40 });
        let objects = (0..count).map(|_| {
            let length = below(random, largest) as usize;
            (below(random, 3) as u16, length, below(random, often) == 0)
        });
        Self {
            ring,
            near,
            samples: kind == 2,
            small: matches!(kind, 1 | 3 | 4),
            alignment,
            open,
            objects: objects.collect(),
            close: below(random, 2) == 0,
        }
    }

    fn settings(&self) -> Format {
        let base = Format {
            ring: self.ring,
            ahead: self.near.then_some(160 << 10),
            small: self.small,
            alignment: self.alignment,
            index: IndexSize::Rows(1000),
            ..Format::default()
        };
        match self.samples {
            true => Format {
                mode: Mode::Samples,
                stride: 16_384,
                ..base
            },
            false => base,
        }
    }

    /// An image with what an older recording left, formatted for this one.
    fn image(&self) -> Vec<u8> {
        let disk = Memory::new(vec![0; IMAGE]);
        let older = Self {
            objects: (0..90).map(|n| (1, n * 97, false)).collect(),
            close: false,
            ..*self
        };
        for work in [&older, self] {
            format(&disk, &work.settings()).expect("room");
            if std::ptr::eq(work, &older) {
                let mut writer = Writer::new(&disk).expect("nothing in it");
                older.write(&mut writer, |_| {}).expect("memory");
                writer.close().expect("memory");
            }
        }
        disk.bytes()
    }

    fn writer<'d>(&self, disk: &'d dyn Disk) -> Writer<'d> {
        let writer = Writer::new(disk).expect("nothing in it");
        match self.open {
            true => writer.with_open_batches(),
            false => writer,
        }
    }

    /// Writes all; returns how many objects are promised.
    fn write(
        &self,
        writer: &mut Writer<'_>,
        mark: impl Fn(u64),
    ) -> Result<u64, (u64, forebay_store::Error)> {
        let (mut promised, mut blocks) = (0, 0);
        for (number, (stream, length, sync)) in (0u64..).zip(&self.objects) {
            mark(number);
            let about = Extent {
                stream: *stream,
                object: number,
                time: number,
                result: (number % 3 == 0).then_some(crate::judged(number as u16, 0.5)),
                ..Extent::default()
            };
            let bytes = payload(number, *length);
            let put = writer.put(&about, &mut &bytes[..], *length as u64);
            // A block that is full was flushed; with samples it may end within an object. Where data
            // stay near the index blocks are written before they are full.
            let before = writer.summary();
            put.map_err(|error| (promised, error))?;
            if !self.near && before.blocks > blocks && before.rows % crate::ROWS as u64 == 0 {
                promised = number + 1;
            }
            blocks = before.blocks;
            if *sync {
                writer.sync().map_err(|error| (promised, error))?;
                blocks = writer.summary().blocks;
                promised = number + 1;
            }
        }
        Ok(promised)
    }
}

/// What the index says, each extent checked against what was written. After a repair all are
/// intact; in a ring those that `must` be, as newer bytes may lie on others without being known as
/// such. Where data stay near the index all are, always.
fn rows(disk: &Memory, work: &Work, must: Option<&[u64]>) -> BTreeMap<(u64, u64), Row> {
    let intact = must.is_some();
    let recording = Recording::open(disk).expect("a recording");
    let mut found = BTreeMap::new();
    for entry in recording.rows() {
        let Entry::Row { row, wrong, .. } = entry else {
            assert!(!intact, "{entry:?}");
            continue;
        };
        assert_eq!(wrong, None);
        let (stream, length, _) = work.objects[row.object as usize];
        assert_eq!(row.stream, stream);
        let all = payload(row.object, length);
        if row.stored() && (intact || !work.ring || work.near) {
            let mut bytes = Vec::new();
            let damage = recording.payload(&row, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            });
            let damage = damage.expect("a vector");
            let newer = must.is_some_and(|must| !must.contains(&row.object));
            let spared = work.ring && !work.near && newer;
            assert!(damage.is_none() || spared, "{row:?}: {damage:?}");
            if damage.is_some() {
                continue;
            }
            let from = row.offset as usize;
            assert_eq!(bytes, all[from..from + row.length as usize], "{row:?}");
        }
        assert_eq!(found.insert((row.object, row.offset), row), None, "twice");
    }
    found
}

/// Payloads of the extents that lie whole: in a ring, of those that follow the newest row.
fn whole(disk: &Memory, work: &Work, rows: &BTreeMap<(u64, u64), Row>) -> Vec<u64> {
    if work.samples {
        return Vec::new();
    }
    let recording = Recording::open(disk).expect("a recording");
    let superblock = recording.superblock();
    let (begin, end) = (superblock.data.at, superblock.data_end());
    let mut scan = Scan::new(disk, superblock);
    let mut payloads = Vec::new();
    if !work.ring {
        let places = (begin..end).step_by(superblock.grain() as usize);
        payloads.extend(places.filter_map(|at| Some(scan.at(at, end)?.payload)));
        return payloads;
    }
    if superblock.closed.is_some() {
        return payloads;
    }
    let last = rows.values().rfind(|row| row.stored());
    let mut at = last.map_or(begin, |row| recording.extent(row).end);
    let mut newest = last.map(|row| row.object);
    loop {
        match scan.at(at, end) {
            Some(found) if newest.is_none_or(|newest| found.facts.object > newest) => {
                payloads.push(found.payload);
                newest = Some(found.facts.object);
                at = found.end;
            }
            _ if at != superblock.aligned(at) => at = superblock.aligned(at),
            _ => return payloads,
        }
    }
}

fn mend(disk: &dyn Disk) -> Result<Repair, forebay_store::Error> {
    repair(disk, Options::default(), &mut |_| true)
}

/// What every reader of tar files sees: names of payloads, up to the end.
fn tar_names(data: &[u8]) -> Vec<String> {
    let mut blocks = data.chunks_exact(512);
    let mut names = Vec::new();
    loop {
        let header: &[u8; 512] = blocks.next().expect("an end mark").try_into().expect("512");
        if header == &[0; 512] {
            return names;
        }
        if header[tar::KIND_AT] == tar::GLOBAL {
            continue;
        }
        let entry = tar::parse(header).expect("a header");
        names.push(String::from_utf8_lossy(entry.name).into_owned());
        for _ in 0..entry.size.div_ceil(512) {
            blocks.next().expect("a file's bytes");
        }
    }
}

/// What GNU tar says of it.
fn gnu_tar_lists(data: &[u8]) -> usize {
    let mut tar = Command::new("tar")
        .args(["--list", "--file=-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("GNU tar is there");
    let mut to = tar.stdin.take().expect("a pipe");
    let bytes = data.to_vec();
    // It need not read what lies behind the end.
    let feed = std::thread::spawn(move || to.write_all(&bytes));
    let out = tar.wait_with_output().expect("it ends");
    let _ = feed.join();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    out.stdout.iter().filter(|byte| **byte == b'\n').count()
}

/// Looks at what is left, repairs it, and looks again.
fn check(
    left: Vec<u8>,
    (work, shape): (&Work, Shape),
    must: &[u64],
    random: &mut Pcg64Mcg,
    gnu: bool,
) {
    let there = |found: &BTreeMap<(u64, u64), Row>| {
        for object in must {
            assert!(
                found.keys().any(|key| key.0 == *object),
                "object {object} was promised"
            );
        }
    };
    let mut disk = Memory::new(left);
    let before = rows(&disk, work, None);
    // What data may lie on that came last counts again once these are known.
    if !work.near {
        there(&before);
    }
    let whole = whole(&disk, work, &before);
    if below(random, 3) == 0 {
        // Power is lost once more, while it is repaired.
        let cut = Volatile::new(shape, disk.bytes(), below(random, 12));
        let _ = mend(&cut);
        disk = Memory::new(cut.after_the_cut(4096, random));
        let again = rows(&disk, work, None);
        if !work.near {
            there(&again);
        }
    }
    let mut report = mend(&disk).expect("a repair ends");
    if report.open {
        // A block of the index was not written in full: only who repairs knows that it was not
        // promised.
        assert!(report.blocks_left > 0, "{report:?}");
        let force = Options {
            force: true,
            ..Options::default()
        };
        report = repair(&disk, force, &mut |_| true).expect("a repair ends");
    }
    let mended = disk.bytes();
    let after = rows(&disk, work, Some(must));
    there(&after);
    for payload in whole {
        let mut rows = after.values();
        assert!(
            rows.any(|row| row.address == payload),
            "what lies whole before byte {payload} is not recovered: {report:?}"
        );
    }
    if !work.ring {
        for (key, row) in &before {
            assert_eq!(after.get(key), Some(row), "a row is gone");
        }
    }
    let recording = Recording::open(&disk).expect("a recording");
    assert!(recording.superblock().closed.is_some());
    assert_eq!(recording.complaints(), [] as [String; 0]);
    if !work.ring && !work.samples {
        let place = recording.superblock().data;
        let data = &mended[place.at as usize..place.end() as usize];
        let names = tar_names(data);
        let stored = after.values().filter(|row| row.stored()).count();
        let lost = names
            .iter()
            .filter(|name| name.starts_with("lost/"))
            .count();
        let each = if work.small { 1 } else { 2 };
        assert_eq!(names.len(), each * stored + lost + 1, "{names:?}");
        assert_eq!(names.last().map(String::as_str), Some("recording.json"));
        if gnu {
            assert_eq!(gnu_tar_lists(data), names.len());
        }
    }
    let again = mend(&disk).expect("a repair ends");
    assert!(!again.changed, "{report:?}, then {again:?}");
    assert!(disk.bytes() == mended, "a second repair changed something");
}

/// Objects that must be there: promised, and nothing was written over them later.
fn must(work: &Work, disk: &Volatile, promised: u64) -> Vec<u64> {
    let log = disk.log();
    let data = 3u64 << 20;
    let survives = |object: &u64| {
        let own: Vec<_> = log
            .iter()
            .filter(|(mark, at)| mark == object && at.start >= data)
            .collect();
        let later = log.iter().filter(|(mark, _)| mark > object);
        // An object without room has a row all the same; a ring always has room.
        !work.ring
            || later.clone().all(|(_, at)| {
                // What fills up behind it counts as its own.
                let end = at.end.next_multiple_of(work.alignment.into());
                own.iter().all(|(_, o)| end <= o.start || o.end <= at.start)
            })
    };
    (0..promised).filter(survives).collect()
}

fn run(work: &Work, shape: Shape, image: Vec<u8>, cut: u64) -> (Volatile, u64) {
    let disk = Volatile::new(shape, image, cut);
    let mut writer = work.writer(&disk);
    let promised = match work.write(&mut writer, |mark| disk.mark(mark)) {
        Ok(promised) if !work.close => promised,
        Ok(promised) => match writer.close() {
            Ok(_) => work.objects.len() as u64,
            Err(_) => promised,
        },
        Err((promised, _)) => promised,
    };
    (disk, promised)
}

/// Cuts power at random instants: a number that the environment may say.
fn lose_power(shape: impl Fn(&mut Pcg64Mcg) -> Shape, usual: u64) {
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let cuts = std::env::var("CUTS").map_or(usual, |cuts| cuts.parse().expect("a number"));
    let mut instants = 0;
    while instants < cuts {
        let work = Work::random(&mut random);
        let (image, shape) = (work.image(), shape(&mut random));
        let (whole, _) = run(&work, shape, image.clone(), u64::MAX);
        for _ in 0..25 {
            let cut = below(&mut random, whole.operations() + 1);
            let (disk, promised) = run(&work, shape, image.clone(), cut);
            let block = [512, 4096, 4096, 4096][below(&mut random, 4) as usize];
            let left = disk.after_the_cut(block, &mut random);
            let must = must(&work, &disk, promised);
            let all = (&work, shape);
            check(left, all, &must, &mut random, instants % 100 == 0);
            instants += 1;
        }
    }
}

/// Several drives with stripe units of any size.
fn several(drives: u64, parity: bool) -> impl Fn(&mut Pcg64Mcg) -> Shape {
    move |random| {
        Shape::Several(Stripes {
            drives,
            stripe_unit: 4096 << below(random, 5),
            parity,
        })
    }
}

#[test]
fn power_is_lost_at_random_instants() {
    lose_power(|_| Shape::One, 1000);
}

#[test]
fn power_is_lost_over_two_drives() {
    lose_power(several(2, false), 300);
}

#[test]
fn power_is_lost_over_three_drives() {
    lose_power(several(3, false), 300);
}

#[test]
fn power_is_lost_over_two_drives_and_parity() {
    lose_power(several(3, true), 200);
}

#[test]
fn power_is_lost_over_three_drives_and_parity() {
    lose_power(several(4, true), 200);
}

#[test]
fn power_is_lost_at_each_write_of_a_small_recording() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let layouts = [
        (false, false, false, false, false, 4096),
        (false, false, false, false, false, 8192),
        (true, false, false, false, false, 4096),
        (true, true, false, false, false, 4096),
        (true, true, false, false, false, 8192),
        (false, false, true, false, false, 4096),
        (false, false, false, true, false, 4096),
        (true, false, false, true, false, 4096),
        (false, false, false, true, true, 4096),
        (true, false, false, true, true, 4096),
        (true, true, false, true, true, 4096),
        (true, true, false, true, true, 8192),
        (true, true, true, false, false, 4096),
    ];
    for (ring, near, samples, small, open, alignment) in layouts {
        // In an open batch rows end with a full block only, and many end in one page.
        let largest = if open { 2_300 } else { 21_000 };
        let objects = (0..100)
            .map(|n| (0, n * 331 % largest, n % 9 == 0 && !open))
            .collect();
        let work = Work {
            ring,
            near,
            samples,
            small,
            alignment,
            open,
            objects,
            close: true,
        };
        let image = work.image();
        let (whole, _) = run(&work, Shape::One, image.clone(), u64::MAX);
        for cut in 0..=whole.operations() {
            let (disk, promised) = run(&work, Shape::One, image.clone(), cut);
            let left = disk.after_the_cut(4096, &mut random);
            let must = must(&work, &disk, promised);
            let all = (&work, Shape::One);
            check(left, all, &must, &mut random, cut % 50 == 0);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Loss of power: a small recording by the RTL, and the drives as they may be after each instant of it.
//!
//! Each drive keeps what it was given, and what it had acknowledged and flushed when. From that comes
//! an image for each instant: what was flushed is there, all else is there, or not, or torn, block by
//! block. What an older recording left lies behind it.

use std::fs;
use std::iter;
use std::ops::Range;
use std::path::Path;

use forebay_app::progress::Progress;
use forebay_app::record::{Drives, prepare, simulate};
use forebay_app::report::Header;
use forebay_app::workload::{below, random};
use forebay_app::{Failure, Result, Session, on_drive};
use forebay_draw::text::Page;
use forebay_driver::recorder_port;
use forebay_model::net::{Addresses, Content, Network, Object, Objects, Settings};
use forebay_model::{History, MICROSECOND};
use forebay_pipeline::units::count;
use forebay_pipeline::{Kind, Sink};
use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::{Block, Row};
use forebay_spec::store::layout::Layout;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::VERSION;
use forebay_store::{
    Disk, Entry, Extent, Memory, Options, Part, Recording, Writer, assemble, repair, verify,
};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::wire::{config_of, machine, net_settings, plan};
use super::{SCHEMA, StoreSpec};

/// A recording, and what it is made of.
struct Size {
    drives: u8,
    /// The last drive has the parity of the others.
    parity: bool,
    /// Bytes of each drive.
    drive: u64,
    /// Objects of the recording.
    objects: u64,
    /// Bytes of the longest of them.
    longest: u64,
}

/// More than two blocks of the index.
const SMALL: Size = Size {
    drives: 1,
    parity: false,
    drive: 16 << 20,
    objects: 150,
    longest: 20_000,
};
/// A ring that is gone round, large enough that its data stay near the index.
const RING: Size = Size {
    drives: 1,
    parity: false,
    drive: 36 << 20,
    objects: 100,
    longest: 1_200_000,
};
/// Of a ring one cut is tried for N of the others: its images are larger.
const RING_SHARE: u32 = 10;
/// Bytes from sample to sample: more than the longest, and whole stripes.
const STRIDE: u64 = 32 << 10;
/// Stripe unit with parity.
const PARITY_UNIT: u64 = 8192;
/// Bytes that a drive keeps or loses as a whole: its logical block.
const BLOCK: usize = 512;
/// Each image of this number is repaired twice.
const TWICE: usize = 16;
/// Images that are kept for others.
const KEPT: usize = 8;
/// Wrong things that are reported one by one.
const TOLD: usize = 8;

/// What became of all those images.
#[derive(Debug, Default, Serialize)]
pub struct Cuts {
    /// Objects of the recording.
    objects: u64,
    bytes: u64,
    /// Blocks of its index.
    blocks: u64,
    /// Instants that there are: one before each block of data or command that a drive had.
    instants: u64,
    /// Each of them was tried.
    every_instant: bool,
    /// Losses of power that were tried.
    cuts: u64,
    /// Rows that had to be there, over all of them.
    promised_rows: u64,
    /// Rows that were there.
    rows: u64,
    /// Rows there after a repair.
    repaired_rows: u64,
    /// Promised rows that were not there, or whose extent was not whole.
    broken: u64,
    /// Rows that the recording does not have.
    invented: u64,
    /// Images that could not be read after a repair.
    unreadable: u64,
    /// Second repairs that had something to do.
    not_settled: u64,
    /// The first of what is wrong.
    first_wrong: Vec<String>,
}

/// A recording by the RTL, and all that the drives were given for it.
struct Scene {
    drives: Vec<Given>,
    /// To which drive, from the first event of all to the last.
    order: Vec<usize>,
    parity: bool,
    rows: Vec<Row>,
    /// Blocks of its index.
    blocks: u64,
    /// Rows in the first block, the first two, …
    promised: Vec<u64>,
    ring: Option<Ring>,
}

/// A drive, and what it was given.
struct Given {
    history: History,
    image: Vec<u8>,
}

/// A ring, in whose data newer extents lie on older ones.
struct Ring {
    /// Bytes of its data, and how far these may be ahead of the index.
    bytes: u64,
    ahead: u64,
    /// Where the extent of each row lies, each time round behind the one before.
    extents: Vec<Range<u64>>,
}

impl Scene {
    /// Instants at which the power may fail: one before each event of any drive, and one at the end.
    fn instants(&self) -> usize {
        self.order.len() + 1
    }

    /// Each drive, and how many of its events were before an instant.
    fn until(&self, instant: usize) -> impl Iterator<Item = (&Given, usize)> {
        let before = self.order.get(..instant).unwrap_or(&self.order);
        let count = move |drive| before.iter().filter(|of| **of == drive).count();
        (0..)
            .zip(&self.drives)
            .map(move |(number, drive)| (drive, count(number)))
    }

    /// The first `promised` rows, without those that newer data may lie on when row `newest` is the last
    /// that the index has.
    fn due(&self, promised: usize, newest: Option<usize>) -> impl Iterator<Item = usize> {
        (0..promised).filter(move |row| {
            let Some(Ring {
                bytes,
                ahead,
                extents,
            }) = &self.ring
            else {
                return true;
            };
            let end = newest.map_or(0, |row| extents[row].end);
            extents[*row].start + bytes >= end + ahead
        })
    }
}

/// Cuts recordings of objects with a page each, of objects that share pages, of samples and of
/// packets; over several drives each drive has a cache of its own.
pub fn cuts(spec: &StoreSpec, drives: u8) -> Result<(Cuts, Header)> {
    layouts(spec, &Size { drives, ..SMALL })
}

/// Cuts the same where the last drive has the parity of the others; one at a time is lost as well.
pub fn parity(spec: &StoreSpec, drives: u8) -> Result<Cuts> {
    let size = Size {
        drives,
        parity: true,
        ..SMALL
    };
    Ok(layouts(spec, &size)?.0)
}

fn layouts(spec: &StoreSpec, size: &Size) -> Result<(Cuts, Header)> {
    let extension = || "bin".to_owned();
    let paged = Kind::Objects {
        extension: extension(),
    };
    let small = Kind::Small {
        extension: extension(),
    };
    let samples = Kind::Samples { stride: STRIDE };
    let (paged, header) = scene(spec.seed, paged, size, false)?;
    let mut scenes = vec![paged];
    for layout in [small, samples, Kind::Packets] {
        scenes.push(scene(spec.seed, layout, size, false)?.0);
    }
    let found = tried(spec, &scenes, spec.cuts)?;
    Ok((found, header))
}

/// Cuts a ring that is gone round: what its index has is whole at each instant, though newer data lie on
/// older.
pub fn ring(spec: &StoreSpec) -> Result<Cuts> {
    let (scene, _) = scene(spec.seed, Sink::default().layout, &RING, true)?;
    tried(spec, &[scene], spec.cuts.div_ceil(RING_SHARE))
}

fn tried(spec: &StoreSpec, scenes: &[Scene], count: u32) -> Result<Cuts> {
    let mut cuts = Cuts::default();
    for scene in scenes {
        cuts.objects += scene.rows.len() as u64;
        cuts.bytes += scene.rows.iter().map(|r| u64::from(r.length)).sum::<u64>();
        cuts.blocks += scene.blocks;
        cuts.instants += scene.instants() as u64;
    }
    let mut random = random(spec.seed, 0);
    let progress = Progress::count("losses of power", count.into());
    let count = count as usize;
    let all = scenes.iter();
    let all = all.flat_map(|scene| (0..scene.instants()).map(move |instant| (scene, instant)));
    // Each instant once, in random order, before any of them a second time.
    let mut all: Vec<_> = all.collect();
    all.sort_by_cached_key(|_| random.next_u64());
    cuts.every_instant = count >= all.len();
    for (number, (scene, instant)) in all.into_iter().cycle().take(count).enumerate() {
        cuts.cut(scene, number, instant, &mut random, spec.keep.as_deref())?;
        progress.at(number as u64);
    }
    Ok(cuts)
}

/// Records objects of random length over what an older recording left.
fn scene(seed: u64, layout: Kind, size: &Size, ring: bool) -> Result<(Scene, Header)> {
    let mut chance = random(seed, 1);
    let objects: Vec<Object> = (0..size.objects)
        .map(|number| Object {
            number,
            bytes: 1 + below(&mut chance, size.longest),
            content: Content::Pattern(seed),
        })
        .collect();
    let source = Objects::new(Addresses::default(), 9000, objects)?;
    let mut machine = machine(seed, size.drives);
    if size.parity {
        machine.array.parity = true;
        machine.array.stripe_unit = PARITY_UNIT;
    }
    let mut config = config_of(&machine)?;
    let more = config
        .more_drives
        .iter_mut()
        .map(|drive| &mut drive.profile);
    for profile in iter::once(&mut config.profile.ssd).chain(more) {
        if let Some(namespace) = profile.namespaces.first_mut() {
            namespace.bytes = size.drive;
        }
    }
    config.network = Some(Network::new(Settings::default(), Box::new(source))?);
    let mut session = Session::of(config, SCHEMA)?;
    let sink = Sink {
        layout,
        smallest: size.longest / 8,
        ring,
        wait_ps: 100 * MICROSECOND,
        ..Sink::default()
    };
    older(&mut session, &sink, size)?;
    let plan = plan(net_settings(3, 9000)?, &sink, &mut session)?;
    for ssd in session.system.ssds_mut() {
        ssd.keep_history();
    }
    let (recorded, ended) = simulate(&mut session, &plan, "a small recording", None)?;
    let header = session.header(&ended);
    let mut drives = Vec::new();
    for ssd in session.system.ssds() {
        drives.push(Given {
            history: ssd.history().cloned().unwrap_or_default(),
            image: on_drive(ssd, 0, size.drive as usize)?.into(),
        });
    }
    // All of the array's address space, to where the superblocks of its members begin.
    let bytes = Drives::of(&mut session.system).open()?.len();
    let image = session.stored(0, bytes as usize)?;
    let promised = promised(&plan.recording, &image);
    let (rows, ring) = match ring {
        true => {
            let (rows, ring) = go_round(&image)?;
            (rows, Some(ring))
        }
        false => (recorded.rows, None),
    };
    let scene = Scene {
        order: order(&drives),
        drives,
        parity: size.parity,
        rows,
        blocks: promised.len() as u64,
        promised,
        ring,
    };
    Ok((scene, header))
}

/// Which drive each event was of, in the order of their times.
fn order(drives: &[Given]) -> Vec<usize> {
    let of = |(number, drive): (usize, &Given)| {
        let times = drive.history.times().to_vec();
        times.into_iter().map(move |time| (time, number))
    };
    let mut events: Vec<_> = drives.iter().enumerate().flat_map(of).collect();
    // Those of one drive stay in their order, also where they have the same time.
    events.sort();
    events.into_iter().map(|(_, number)| number).collect()
}

/// Fills the drive with another recording: blocks and pages lie where those of the next one will.
fn older(session: &mut Session, sink: &Sink, size: &Size) -> Result<()> {
    prepare(session, sink, (Schema::default(), None), true)?;
    let drives = Drives::of(&mut session.system);
    let disk = drives.open()?;
    let mut writer = Writer::new(&*disk)?;
    let bytes = vec![0x5a; size.longest as usize];
    for object in 0..disk.len() / (2 * size.longest) {
        let extent = Extent {
            object: 1_000_000 + object,
            ..Extent::default()
        };
        writer.put(&extent, &mut bytes.as_slice(), size.longest)?;
    }
    writer.close()?;
    Ok(())
}

/// How many rows the first blocks of the index have together.
fn promised(recording: &recorder_port::Recording, image: &[u8]) -> Vec<u64> {
    let session = forebay_spec::store::Session(recording.session);
    let index = &image[recording.index.address as usize..];
    let blocks = index.as_chunks::<PAGE_BYTES>().0.iter();
    let blocks = blocks.step_by(recording.alignment as usize / PAGE_BYTES);
    let layout = Layout::new(VERSION, Schema::default());
    let layout = layout.in_blocks_of(recording.alignment as usize);
    let mut sum = 0;
    blocks
        .map_while(|page| Block::parse(page, session, &layout, forebay_store::crc32c).ok())
        .map(|block| {
            sum += block.rows.iter().filter(|row| row.counts()).count() as u64;
            sum
        })
        .collect()
}

/// All rows that a ring's index has, also those that are void, and where their extents lie.
fn go_round(image: &[u8]) -> Result<(Vec<Row>, Ring)> {
    let image = Memory::new(image.to_vec());
    let recording = Recording::open(&image)?;
    let blocks = (0..recording.blocks()).filter_map(|number| recording.block(number).ok());
    let rows = blocks.flat_map(|block| block.rows);
    let rows: Vec<Row> = rows.filter(Row::counts).collect();
    let superblock = recording.superblock();
    let bytes = superblock.ring_region().bytes;
    let (mut round, mut last) = (0, 0);
    let extents = rows.iter().map(|row| {
        let extent = recording.extent(row);
        round += bytes * u64::from(extent.at < last);
        last = extent.at;
        round + extent.at..round + extent.end
    });
    let extents = extents.collect();
    let ring = Ring {
        bytes,
        ahead: superblock.ahead,
        extents,
    };
    Ok((rows, ring))
}

/// Rows of an image whose extents are whole; else what is wrong. Of the blocks behind the first `whole`
/// ones, which have one flush, any may be torn.
fn look(image: &dyn Disk, whole: u64) -> std::result::Result<Vec<Row>, String> {
    let recording = Recording::open(image).map_err(|error| error.to_string())?;
    let verified = verify(&recording, 1, &|_| true);
    if verified.damaged > 0 {
        let (count, first) = (verified.damaged, verified.problems.first());
        return Err(format!("{count} damaged extents, first {first:?}"));
    }
    let rows = recording.rows().filter_map(|entry| match entry {
        Entry::Row { row, .. } => Some(Ok(row)),
        Entry::Damaged { block, .. } if block >= whole => None,
        Entry::Damaged { block, why, .. } => Some(Err(format!("block {block}: {why}"))),
    });
    rows.collect()
}

/// The drive, or the array of them, in no order that could help.
fn open(members: &[Memory]) -> std::result::Result<Box<dyn Disk + '_>, String> {
    let part = |(number, member)| Part::new(format!("drive {number}"), Box::new(member));
    let parts = members.iter().enumerate().rev().map(part).collect();
    assemble(parts, false).map_err(|error| error.to_string())
}

/// What tells an extent from all others, and where it lies.
fn extent(row: &Row) -> (u64, u64, u64, u32, u32) {
    (row.object, row.offset, row.address, row.length, row.crc32c)
}

impl Cuts {
    /// Whether all is as it should be.
    pub const fn is_good(&self) -> bool {
        self.broken + self.invented + self.unreadable + self.not_settled == 0
            && self.first_wrong.is_empty()
    }

    fn wrong(&mut self, instant: usize, what: &str) {
        if self.first_wrong.len() < TOLD {
            self.first_wrong.push(format!("instant {instant}: {what}"));
        }
    }

    /// One loss of power: what is read then, what a repair makes of it.
    fn cut(
        &mut self,
        scene: &Scene,
        number: usize,
        instant: usize,
        random: &mut Pcg64Mcg,
        folder: Option<&Path>,
    ) -> Result<()> {
        // All lost, all kept, and anything between.
        let odds = match number % 4 {
            0 => 0,
            1 => 256,
            _ => below(random, 257),
        };
        let mut keeps = || u64::from(random.next_u32() & 0xff) < odds;
        let mut members = Vec::new();
        let mut flushes = usize::MAX;
        for (drive, events) in scene.until(instant) {
            let mut bytes = drive.image.clone();
            for (number, page) in drive.history.after_cut(events, BLOCK, &mut keeps) {
                if let Some(place) = bytes.as_chunks_mut().0.get_mut(number as usize) {
                    *place = *page;
                }
            }
            members.push(Memory::new(bytes));
            // Each flush is one of all drives.
            flushes = flushes.min(drive.history.flushes(events));
        }
        self.cuts += 1;
        // With parity all are there, or all but one.
        let lost = number % (members.len() + 1);
        if scene.parity && lost < members.len() {
            members.remove(lost);
        }
        let image = match open(&members) {
            Ok(image) => image,
            Err(what) => {
                self.unreadable += 1;
                self.wrong(instant, &what);
                return Ok(());
            }
        };
        let blocks = flushes / 2;
        let promised = blocks
            .checked_sub(1)
            .and_then(|last| scene.promised.get(last));
        let promised = promised.copied().unwrap_or(0) as usize;
        let before = match look(&*image, blocks as u64) {
            Ok(rows) => rows,
            Err(what) => {
                self.broken += 1;
                self.wrong(instant, &what);
                Vec::new()
            }
        };
        self.rows += before.len() as u64;
        let before = self.known(scene, instant, &before);
        let due: Vec<usize> = scene.due(promised, before.last().copied()).collect();
        self.promised_rows += due.len() as u64;
        self.compare(instant, &before, &due);
        self.mend(
            scene,
            instant,
            &*image,
            &before,
            number.is_multiple_of(TWICE),
        );
        match (folder, &*members) {
            (Some(folder), [member]) if number < KEPT => keep(member, folder, number),
            _ => Ok(()),
        }
    }

    /// Which of the recording's rows these are, in order.
    fn known(&mut self, scene: &Scene, instant: usize, rows: &[Row]) -> Vec<usize> {
        let mut all = scene.rows.iter().map(extent);
        let mut next = 0;
        let known = rows.iter().filter_map(|row| {
            let at = next + all.position(|known| known == extent(row))?;
            next = at + 1;
            Some(at)
        });
        let known: Vec<usize> = known.collect();
        let invented = (rows.len() - known.len()) as u64;
        if invented > 0 {
            self.invented += invented;
            self.wrong(instant, &format!("{invented} rows that were never written"));
        }
        known
    }

    fn compare(&mut self, instant: usize, there: &[usize], due: &[usize]) {
        let missing = due.iter().filter(|row| there.binary_search(row).is_err());
        let missing = missing.count() as u64;
        if missing > 0 {
            self.broken += missing;
            self.wrong(
                instant,
                &format!("{missing} of {} promised rows are missing", due.len()),
            );
        }
    }

    /// Repairs it: what was there `before` still is.
    fn mend(
        &mut self,
        scene: &Scene,
        instant: usize,
        image: &dyn Disk,
        before: &[usize],
        twice: bool,
    ) {
        let mended =
            repair(image, Options::default(), &mut |_| true).map_err(|error| error.to_string());
        match mended.and_then(|_| look(image, u64::MAX)) {
            Ok(rows) => {
                self.repaired_rows += rows.len() as u64;
                let after = self.known(scene, instant, &rows);
                self.compare(instant, &after, before);
            }
            Err(what) => {
                self.unreadable += 1;
                self.wrong(instant, &what);
            }
        }
        if twice
            && repair(image, Options::default(), &mut |_| true).is_ok_and(|again| again.changed)
        {
            self.not_settled += 1;
            self.wrong(instant, "a second repair had something to do");
        }
    }

    /// For people.
    pub fn draw(&self, page: &mut Page, heading: &str) {
        page.heading(heading);
        page.field(
            "recording",
            format!("{} extents in {} blocks", self.objects, self.blocks),
        );
        page.field(
            "tried",
            format!("{} at {} instants", count(self.cuts), count(self.instants)),
        );
        page.field(
            "promised",
            format!("{} rows; broken {}", count(self.promised_rows), self.broken),
        );
        page.field(
            "read",
            format!("{} rows; invented {}", count(self.rows), self.invented),
        );
        page.field(
            "repaired",
            format!(
                "{} rows; unreadable {}",
                count(self.repaired_rows),
                self.unreadable
            ),
        );
        for wrong in &self.first_wrong {
            page.field("wrong", wrong);
        }
    }
}

fn keep(image: &Memory, folder: &Path, number: usize) -> Result<()> {
    let path = folder.join(format!("cut-{number}.img"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, image.bytes()))
        .map_err(|error| Failure::file("writing", &path, error))
}

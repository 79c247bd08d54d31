// SPDX-License-Identifier: Apache-2.0
//! Computes each checksum again, on many cores.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use forebay_spec::store::index::Row;
use serde::Serialize;

use crate::extent::check_front;
use crate::reader::Recording;
use crate::{Bounds, Damage, Entry, Rows, crc32c};

/// Bytes of extents that follow each other and are read together.
const RUN: u64 = 1 << 20;
/// Bytes that are read at once of a longer one: they stay in a core's own cache.
const PART: usize = 512 << 10;
/// Problems that are told one by one.
const TOLD: usize = 100;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An extent.
    Extent {
        /// Its stream.
        stream: u16,
        /// Its object.
        object: u64,
        /// Where in it the extent begins.
        offset: u64,
        /// What is wrong.
        damage: Damage,
    },
    /// A block of the index.
    Block {
        /// Its number.
        number: u64,
        /// Why it cannot be read.
        why: String,
    },
    /// Time runs backwards in a stream.
    Time {
        /// The stream.
        stream: u16,
        /// The object that began before the one in front of it.
        object: u64,
        /// By this number of nanoseconds.
        back: u64,
    },
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verify {
    /// Extents that were read.
    pub extents: u64,
    /// Bytes of their payload.
    pub bytes: u64,
    /// Index records of extents that were not stored.
    pub not_stored: u64,
    /// Extents that are damaged.
    pub damaged: u64,
    /// Blocks of the index that are damaged.
    pub damaged_blocks: u64,
    /// Index records whose time is before that of the previous one in their stream.
    #[serde(rename = "times_backwards")]
    pub backwards: u64,
    /// The first of what is wrong.
    #[serde(skip)]
    pub problems: Vec<Problem>,
    /// It was stopped.
    pub interrupted: bool,
}

impl Verify {
    fn problem(&mut self, problem: Problem) {
        match problem {
            Problem::Extent { .. } => self.damaged += 1,
            Problem::Block { .. } => self.damaged_blocks += 1,
            Problem::Time { .. } => self.backwards += 1,
        }
        if self.problems.len() < TOLD {
            self.problems.push(problem);
        }
    }

    /// All that was promised is there. A clock that was set back harms nothing.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.damaged + self.damaged_blocks == 0
    }
}

fn extent(row: &Row, damage: Damage) -> Problem {
    Problem::Extent {
        stream: row.stream,
        object: row.object,
        offset: row.offset,
        damage,
    }
}

/// Index records whose extents follow each other.
struct Run {
    rows: Vec<Row>,
    range: Range<u64>,
}

/// Gives out runs, in the order of the index.
struct Source<'r> {
    rows: Rows<'r>,
    recording: &'r Recording<'r>,
    next: Option<Row>,
    times: BTreeMap<u16, u64>,
    verify: Verify,
}

impl Source<'_> {
    /// The next index record with something to read.
    fn row(&mut self) -> Option<Row> {
        if let Some(row) = self.next.take() {
            return Some(row);
        }
        loop {
            match self.rows.next()? {
                Entry::Damaged { block, why, .. } => {
                    self.verify.problem(Problem::Block { number: block, why });
                }
                Entry::Row { row, wrong, .. } => {
                    let before = self.times.insert(row.stream, row.time).unwrap_or(0);
                    if row.time < before {
                        self.verify.problem(Problem::Time {
                            stream: row.stream,
                            object: row.object,
                            back: before - row.time,
                        });
                    }
                    if !row.stored() {
                        self.verify.not_stored += 1;
                        continue;
                    }
                    self.verify.extents += 1;
                    if let Some(why) = wrong {
                        self.verify.problem(extent(&row, Damage::Row(why)));
                        continue;
                    }
                    self.verify.bytes += u64::from(row.length);
                    return Some(row);
                }
            }
        }
    }

    fn run(&mut self) -> Option<Run> {
        let row = self.row()?;
        let mut run = Run {
            range: self.recording.extent(&row).range(),
            rows: vec![row],
        };
        while let Some(row) = self.row() {
            let next = self.recording.extent(&row).range();
            let length = next.end.saturating_sub(run.range.start);
            if next.start != run.range.end || length > RUN {
                self.next = Some(row);
                break;
            }
            run.range.end = next.end;
            run.rows.push(row);
        }
        Some(run)
    }
}

/// A worker's memory.
struct Worker<'r> {
    recording: &'r Recording<'r>,
    buffer: Vec<u8>,
}

impl Worker<'_> {
    fn check(&mut self, run: &Run, problems: &mut Vec<Problem>) {
        let length = run.range.end - run.range.start;
        if length > RUN {
            for row in &run.rows {
                problems.extend(self.long(row).map(|damage| extent(row, damage)));
            }
            return;
        }
        self.buffer.resize(length as usize, 0);
        if self
            .recording
            .disk
            .read_at(run.range.start, &mut self.buffer)
            .is_err()
        {
            // One by one, so that one that cannot be read takes no other along.
            for row in &run.rows {
                problems.extend(self.long(row).map(|damage| extent(row, damage)));
            }
            return;
        }
        for row in &run.rows {
            let bounds = self.recording.extent(row);
            problems.extend(
                self.held(run, row, &bounds)
                    .map(|damage| extent(row, damage)),
            );
        }
    }

    /// An extent that has been read.
    fn held(&self, run: &Run, row: &Row, bounds: &Bounds) -> Option<Damage> {
        let from = (bounds.at - run.range.start) as usize;
        let header = (bounds.header - bounds.at) as usize;
        let front = (bounds.payload - bounds.header) as usize;
        let bytes = self.buffer.get(from..).and_then(|own| {
            let (page, payload) = own.get(header..)?.split_at_checked(front)?;
            Some((page, payload.get(..bounds.length as usize)?))
        });
        let Some((page, payload)) = bytes else {
            return Some(Damage::Unreadable(
                "it is not where its index record says".into(),
            ));
        };
        // The header block says more than a checksum, where the index record has another length.
        let superblock = self.recording.superblock();
        let lie = match superblock.front() {
            0 => None,
            _ => check_front(superblock, row, page).err(),
        };
        let (says, has) = (row.crc32c, crc32c(0, payload));
        lie.or((says != has).then_some(Damage::Crc { says, has }))
    }

    /// An extent that is read part by part.
    fn long(&mut self, row: &Row) -> Option<Damage> {
        if let Err(damage) = self.recording.facts(row) {
            return Some(damage);
        }
        self.buffer.resize(PART, 0);
        let (mut at, mut left, mut crc) = (row.address, u64::from(row.length), 0);
        while left > 0 {
            let part = &mut self.buffer[..left.min(PART as u64) as usize];
            if let Err(error) = self.recording.disk.read_at(at, part) {
                return Some(Damage::Unreadable(format!("at byte {at}: {error}")));
            }
            crc = crc32c(crc, part);
            at += part.len() as u64;
            left -= part.len() as u64;
        }
        let (says, has) = (row.crc32c, crc);
        (says != has).then_some(Damage::Crc { says, has })
    }
}

/// Checks all extents and what stands in front of each; `see` is told how many bytes are done, by
/// any thread, and says whether to go on.
pub fn verify(
    recording: &Recording<'_>,
    threads: usize,
    see: &(dyn Fn(u64) -> bool + Sync),
) -> Verify {
    let source = Mutex::new(Source {
        rows: recording.rows(),
        recording,
        next: None,
        times: BTreeMap::new(),
        verify: Verify::default(),
    });
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut worker = Worker {
                    recording,
                    buffer: Vec::new(),
                };
                let mut problems = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
                    for problem in problems.drain(..) {
                        source.verify.problem(problem);
                    }
                    let Some(run) = source.run() else {
                        break;
                    };
                    drop(source);
                    worker.check(&run, &mut problems);
                    let bytes = run.range.end - run.range.start;
                    let before = done.fetch_add(bytes, Ordering::Relaxed);
                    if !see(before + bytes) {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
                for problem in problems {
                    source.verify.problem(problem);
                }
            });
        }
    });
    let mut verify = source
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .verify;
    verify.interrupted = stop.into_inner();
    verify
}

/// The same bytes, read and nothing but their checksums computed: what no verification can beat.
pub fn read_only(recording: &Recording<'_>, threads: usize) -> u64 {
    let superblock = recording.superblock();
    let ends = recording
        .stored()
        .map(|(_, _, row)| recording.extent(&row).end);
    let end = ends.max().unwrap_or(superblock.data.at);
    let (next, all) = (AtomicU64::new(superblock.data.at), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut buffer = vec![0; PART];
                loop {
                    let at = next.fetch_add(RUN, Ordering::Relaxed);
                    let until = end.min(at.saturating_add(RUN));
                    let mut crc = 0;
                    for from in (at..until).step_by(PART) {
                        let part = &mut buffer[..(until - from).min(PART as u64) as usize];
                        if recording.disk.read_at(from, part).is_ok() {
                            crc = crc32c(crc, part);
                        }
                    }
                    all.fetch_xor(crc.into(), Ordering::Relaxed);
                    if at >= end {
                        break;
                    }
                }
            });
        }
    });
    std::hint::black_box(all.into_inner());
    end - superblock.data.at.min(end)
}

// SPDX-License-Identifier: Apache-2.0
//! The simulated drives as a disk, past everything that takes time: what a host does before and after.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use forebay_cosim::System;
use forebay_driver::recorder_port::{Layout, Recording, Region};
use forebay_model::{MICROSECOND, Time};
use forebay_pipeline::{Kind, Sink, extension_bytes};
use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::{Mode, Superblock};
use forebay_store::{Disk, Entry, Format, IndexSize, Options, format, is_blank, repair};

use crate::failure::{Exit, Failure, Result};
use crate::session::Session;
use crate::store::CAPTURE;

/// The drives of a system, in the order of their addresses.
pub struct Drives<'s> {
    system: Mutex<&'s mut System>,
    bytes: u64,
}

impl<'s> Drives<'s> {
    /// Those of a session that was brought up.
    pub fn of(session: &'s mut Session) -> Result<Self> {
        let bytes = session.namespace()?.bytes();
        Ok(Self {
            system: Mutex::new(&mut session.system),
            bytes,
        })
    }

    fn system(&self) -> MutexGuard<'_, &'s mut System> {
        self.system.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for Drives<'_> {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.system().stored(at, into.len())?;
        into.copy_from_slice(&bytes);
        Ok(())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.system().store(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of a batch of small objects: as many as a few commands of the drive have.
const BATCH: u32 = 128 << 10;
/// How long a batch waits for more, where nothing is said of the index.
const BATCH_WAIT: Time = 1_000 * MICROSECOND;
/// How long at the most: the end of a recording waits for it, too.
const BATCH_WAIT_MOST: Time = 100_000 * MICROSECOND;

/// Makes room for a recording: on drives that are blank, or that may be overwritten.
pub fn prepare(session: &mut Session, sink: &Sink, overwrite: bool) -> Result<Superblock> {
    let block_bytes = 1 << session.namespace()?.block_shift;
    let drives = Drives::of(session)?;
    if !overwrite && !is_blank(&drives)? {
        return Err(occupied(&drives));
    }
    let (mode, stride, extension) = match &sink.layout {
        Kind::Objects { extension } | Kind::Small { extension } => {
            (Mode::Objects, 0, extension.clone())
        }
        Kind::Samples { stride } => (Mode::Samples, *stride, Format::default().extension),
        Kind::Packets => (Mode::Packets, 0, Format::default().extension),
    };
    let settings = Format {
        mode,
        stride,
        extension,
        block_bytes,
        ring: sink.ring,
        small: matches!(sink.layout, Kind::Small { .. }),
        index: IndexSize::SmallestObject(sink.smallest),
        ..Format::default()
    };
    Ok(format(&drives, &settings)?)
}

fn occupied(drives: &Drives<'_>) -> Failure {
    let what = match forebay_store::Recording::open(drives) {
        Ok(recording) => format!("the recording {}", recording.superblock().session),
        Err(_) => "something that is no recording".into(),
    };
    Failure::new(
        Exit::BadInput,
        format!("on the drives there is {what}"),
        "take another image, or add --overwrite, which destroys it",
    )
}

/// Where a recorder puts what a superblock has room for. The first page of the index is the schema,
/// of a capture its head; the last one of both is kept free for their ends. With `results` rows wait
/// for those.
pub fn recording(superblock: &Superblock, sink: &Sink, results: bool, time: u64) -> Recording {
    let cycles = |time: Time| u32::try_from(time / forebay_cosim::CLOCK_PERIOD).unwrap_or(u32::MAX);
    let page = forebay_store::PAGE;
    let layout = match &sink.layout {
        Kind::Objects { extension } => Layout::Objects {
            extension: extension_bytes(extension).unwrap_or(*b"bin\0"),
        },
        Kind::Small { extension } => Layout::Small {
            extension: extension_bytes(extension).unwrap_or(*b"bin\0"),
            batch: BATCH,
            wait_cycles: cycles(match sink.wait_ps {
                0 => BATCH_WAIT,
                wait => wait.min(BATCH_WAIT_MOST),
            }),
        },
        Kind::Samples { stride } => Layout::Samples {
            stride: u32::try_from(*stride).unwrap_or(u32::MAX),
        },
        Kind::Packets => Layout::Packets,
    };
    let (data, index) = (superblock.data, superblock.index);
    let first = superblock.first_extent();
    Recording {
        session: superblock.session.0,
        layout,
        data: Region {
            address: first,
            bytes: data.end() - page - first,
            ring: superblock.ring,
        },
        index: Region {
            address: index.at + page,
            bytes: index.bytes - 2 * page,
            ring: superblock.index_ring,
        },
        wait_cycles: sink.wait_cycles(forebay_cosim::CLOCK_PERIOD),
        flush: sink.flush,
        result_wait: results.then(|| cycles(sink.result_ps)),
        time,
        cycle_ps: forebay_cosim::CLOCK_PERIOD as u32,
    }
}

/// Rows of a recording in order, and what of its index cannot be read.
pub fn rows(session: &mut Session) -> Result<(Vec<Row>, Vec<String>)> {
    let drives = Drives::of(session)?;
    let recording = forebay_store::Recording::open(&drives)?;
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for entry in recording.rows() {
        match entry {
            Entry::Row {
                row, wrong: None, ..
            } => rows.push(row),
            Entry::Row {
                block,
                slot,
                wrong: Some(why),
                ..
            } => wrong.push(format!("row {slot} of block {block} of the index: {why}")),
            Entry::Damaged { block, why, .. } => {
                wrong.push(format!("block {block} of the index: {why}"));
            }
        }
    }
    Ok((rows, wrong))
}

/// Writes a capture as a file of a folder; returns how many it is.
pub fn extract_capture(session: &mut Session, folder: &Path) -> Result<u64> {
    let drives = Drives::of(session)?;
    let recording = forebay_store::Recording::open(&drives)?;
    let path = folder.join(CAPTURE);
    let mut file = File::create(&path).map_err(|error| Failure::file("writing", &path, error))?;
    recording.write_capture(&mut file)?;
    Ok(1)
}

/// Writes the ends of tar file and index, so that others' tools find them.
pub fn close(session: &mut Session) -> Result<()> {
    let drives = Drives::of(session)?;
    // Each header was written just now.
    let options = Options {
        skip_headers: true,
        ..Options::default()
    };
    if repair(&drives, options, &mut |_| true)?.open {
        eprintln!(
            "warning: the recording stays open: parts of it cannot be read; try `forebay store repair` later"
        );
    }
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! A recording from the network: on a simulated machine or on a card of this one, by the same
//! [`Recorder`].

mod card;
mod disk;
mod files;
mod gaps;
mod partner;
mod replay;
mod run;
mod senders;
mod setup;
mod simulated;
mod summary;
mod text;
mod wire;

use forebay_cosim::CLOCK_PERIOD;
use forebay_driver::record::Controls;
use forebay_driver::recorder_port::{Layout, Recording, Region};
use forebay_model::net::Counters;
use forebay_model::{MICROSECOND, Time};
use forebay_pipeline::{Kind, Sink};
use forebay_spec::store::index::Row;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::{Mode, Superblock, extension as extension_bytes};
use forebay_spec::streamer::bar0;
use forebay_spec::stripes::Stripes;
use forebay_store::{
    Array, Disk, Entry, Format, IndexSize, Key, Options, Part, assemble, fits, format, is_blank,
    repair,
};

use crate::failure::{Exit, Failure, Result};

pub use card::{Card, CardSpec};
pub use disk::{Drives, QueueDisk};
pub use files::FilesReport;
pub use forebay_driver::record::{Counted, Observer, Plan, Recorder, Stage};
pub use gaps::{Gap, gaps};
pub use partner::{FlapsSpec, LinkPartner, PartnerSpec, SourceSpec};
pub use replay::{Replayed, Sent, replay};
pub use run::{Outputs, ReplayReport, Report, SimulatedSpec, Took, on_a_card, play, simulated};
pub use senders::{Senders, seed_of};
pub use setup::{LINE_RATE, form, machine, packets, plan};
pub use simulated::{prepare, simulate};
pub use summary::{Count, ElementStatus, Named, Results, Shares, Stream, Summary};
pub use wire::Written;

/// Where the registers of network side and recorder stand in BAR 0.
const CONTROLS: Controls = Controls {
    net: bar0::NET_CONTROL,
    recorder: bar0::RECORDER_CONTROL,
    elements: bar0::ELEMENTS,
};

/// What came of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What network and wire saw, where they are simulated.
    pub wire: Option<Counters>,
    /// What the card counted.
    pub counted: Counted,
    /// Index records, as read from the drives.
    pub rows: Vec<Row>,
    /// Objects have results.
    pub results: bool,
    /// The columns of these.
    pub schema: Schema,
    /// Newer extents lie over older ones.
    pub ring: bool,
    /// What one drive refused can be read from the others.
    pub parity: bool,
    /// The drive that failed and was done without.
    pub missing: Option<u8>,
    /// What of the index cannot be read.
    pub unreadable: Vec<String>,
    /// When it began, by the clock of the index records: nanoseconds since 1970.
    pub began: u64,
    /// It has ended and each extent has its index record: no data are ahead of the index.
    pub at_rest: bool,
}

impl Recorded {
    /// Of what the card counted for a plan, with the index as it stands on the drives; `ended`: the
    /// recorder came to rest.
    fn read(plan: &Plan, counted: Counted, ended: bool, drives: &dyn Disk) -> Result<Self> {
        let mut recording = forebay_store::Recording::open(drives)?;
        let at_rest = ended && counted.recorder.rows_lost == 0;
        if at_rest {
            recording = recording.at_rest();
        }
        let (rows, unreadable) = rows(&recording);
        // By a time of day of its own it begins with the first index record.
        let first = rows.first().filter(|_| plan.net.ieee1588);
        let began = first.map_or(plan.recording.time, |row| row.time);
        let schema = recording.superblock().schema;
        Ok(Self {
            at_rest,
            wire: None,
            counted,
            rows,
            results: plan.recording.result_wait.is_some(),
            schema,
            ring: plan.recording.data.ring,
            missing: None,
            parity: drives.array().is_some_and(|array| array.stripes().parity),
            unreadable,
            began,
        })
    }
}

/// Bytes of a batch of small objects: what a few commands of the drive move.
const BATCH: u32 = 128 << 10;
/// How long a batch waits for more, where nothing is said of the index.
const BATCH_WAIT: Time = 1_000 * MICROSECOND;
/// How long at the most: the end of a recording waits for it, too.
const BATCH_WAIT_MOST: Time = 100_000 * MICROSECOND;

/// Makes room for a recording whose index has these columns of results, encrypted where there is a key:
/// on drives that are blank, or that may be overwritten. Several become an array with these stripes.
///
/// # Errors
/// Where something is there, or the drives are too small.
pub fn make_room(
    mut drives: Vec<Part<'_>>,
    stripes: Option<Stripes>,
    block_bytes: u64,
    sink: &Sink,
    (schema, key): (Schema, Option<Key>),
    overwrite: bool,
) -> Result<Superblock> {
    for drive in &drives {
        if !overwrite && !is_blank(&*drive.disk)? {
            return Err(occupied(drives));
        }
    }
    let (mode, stride, extension) = match &sink.layout {
        Kind::Objects { extension } | Kind::Small { extension } => {
            (Mode::Objects, 0, extension.clone())
        }
        Kind::Samples { stride } => (Mode::Samples, *stride, Format::default().extension),
        Kind::Packets => (Mode::Packets, 0, Format::default().extension),
    };
    let usual = Format::default();
    let settings = Format {
        mode,
        stride,
        extension,
        block_bytes: block_bytes as u32,
        ring: sink.ring,
        small: matches!(sink.layout, Kind::Small { .. }),
        // A stripe is written as a whole.
        alignment: match stripes.filter(|stripes| stripes.parity) {
            Some(stripes) => (stripes.stripe_unit * stripes.data_drives()) as u32,
            None => usual.alignment,
        },
        index: IndexSize::SmallestObject(sink.smallest),
        schema,
        key,
        ..usual
    };
    let drives: Box<dyn Disk> = match stripes {
        Some(stripes) => {
            fits(Array::bytes_of(&drives, stripes)?, &settings)?;
            Box::new(Array::create(drives, stripes, block_bytes as u32)?)
        }
        None => drives.remove(0).disk,
    };
    Ok(format(&*drives, &settings)?)
}

fn occupied(drives: Vec<Part<'_>>) -> Failure {
    let found = assemble(drives, false).and_then(|disk| {
        let recording = forebay_store::Recording::open(&*disk)?;
        Ok(format!("the recording {}", recording.superblock().session))
    });
    let what = found.unwrap_or_else(|_| "something that is no recording".into());
    Failure::new(
        Exit::BadInput,
        format!("on the drives there is {what}"),
        "take another image, or allow this one to be overwritten (--overwrite)",
    )
}

/// Where a recorder puts what a superblock has room for. The index begins with the schema, a capture with its
/// head; room is kept for the ends of both. With `results` rows wait
/// for those.
pub fn recording(superblock: &Superblock, sink: &Sink, results: bool, time: u64) -> Recording {
    let cycles = |time: Time| u32::try_from(time / CLOCK_PERIOD).unwrap_or(u32::MAX);
    let unit = superblock.unit();
    let layout = match &sink.layout {
        Kind::Objects { extension } => Layout::Objects {
            extension: extension_bytes(extension.as_bytes()).unwrap_or(*b"bin\0"),
        },
        Kind::Small { extension } => Layout::Small {
            extension: extension_bytes(extension.as_bytes()).unwrap_or(*b"bin\0"),
            batch: BATCH.max(superblock.alignment),
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
    let index = superblock.index;
    let first = superblock.first_extent();
    Recording {
        session: superblock.session.0,
        layout,
        alignment: superblock.alignment,
        data: Region {
            address: first,
            bytes: superblock.data_end() - first,
            ring: superblock.ring,
        },
        index: Region {
            address: index.at + unit,
            bytes: index.bytes - 2 * unit,
            ring: superblock.index_ring,
        },
        wait_cycles: sink.wait_cycles(CLOCK_PERIOD),
        flush: sink.flush,
        result_wait: results.then(|| cycles(sink.result_ps)),
        ahead: superblock.ahead,
        schema: superblock.schema.id(),
        time,
        cycle_ps: CLOCK_PERIOD as u32,
    }
}

/// Rows of a recording in order, and what of its index cannot be read.
pub fn rows(recording: &forebay_store::Recording<'_>) -> (Vec<Row>, Vec<String>) {
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
    (rows, wrong)
}

/// Writes the ends of tar file and index, so that others' tools find them; false where parts of the
/// recording cannot be read and it stays open. `at_rest` as in [`Recorded`].
///
/// # Errors
/// Where there is no recording, or the drives cannot be read or written.
pub fn close(drives: &dyn Disk, at_rest: bool) -> Result<bool> {
    // Each header was written just now.
    let options = Options {
        skip_headers: true,
        at_rest,
        ..Options::default()
    };
    Ok(!repair(drives, options, &mut |_| true)?.open)
}

// SPDX-License-Identifier: Apache-2.0
//! Recordings: what pages and index cost, and what a loss of power leaves.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use forebay_app::Result;
use forebay_app::record::{Senders, Summary};
use forebay_draw::text::{Grid, Page};
use forebay_model::net::{Addresses, Settings};
use forebay_pipeline::units;
use forebay_pipeline::{Kind, Sink};
use forebay_store::{PAGE, pages};
use serde::Serialize;

use super::cuts::{self, Cuts};
use super::wire::{Recordings, Wire, differ, net_settings};
use super::{Found, Ran};

/// As in most networks with storage.
const MTU: u32 = 9000;
/// Metres of cable.
const METRES: u32 = 3;
/// Bytes of a camera's picture, as SNAcc stores them.
const PICTURE: u64 = 9_000_000;
/// Bytes of the smallest objects that are measured.
const SMALL: u64 = 4096;
/// Few parts of what several senders send at once are smaller: a quarter of a ring.
const PART: u64 = 32 << 10;
/// Bytes of a header of a tar file; what lies in it is padded to them.
const BLOCK: u64 = 512;
/// Most bytes in objects of this size.
const SMALL_BYTES: u64 = 64 << 20;

/// Drives of a recording with parity.
const PARITY_DRIVES: RangeInclusive<u8> = 2..=3;

/// What the bench found.
#[derive(Debug, Default, Serialize)]
pub struct Store {
    rates: Vec<RateRow>,
    /// Of a recording on one drive, on two, …
    cuts: Vec<Cuts>,
    /// Of one with parity on two drives, on three.
    parity_cuts: Vec<Cuts>,
    /// Of a ring.
    ring_cuts: Option<Cuts>,
}

/// One kind of recording.
#[derive(Debug, Serialize)]
struct RateRow {
    /// Name that stays the same over versions.
    id: &'static str,
    layout: &'static str,
    object_bytes: u64,
    /// Senders at once, their frames in any order.
    streams: u8,
    bytes: u64,
    extents: u64,
    /// Payload, from the first frame to the answer to the last extent, but for `last_wait`.
    stored_gigabytes_per_second: f64,
    /// The last batch of small objects waited so long for more, in nanoseconds.
    last_wait: u64,
    /// The bare streamer on the same drive: writes of 16 MiB.
    bare_gigabytes_per_second: f64,
    ratio: f64,
    /// Of all that was written, pages and index included, what is payload.
    payload_share: f64,
    objects: u64,
    index_blocks: u64,
    lost_frames: u64,
    differ_bytes: u64,
    wrong: Vec<String>,
}

/// What is recorded.
#[derive(Clone, Debug)]
pub struct StoreSpec {
    /// Bytes for a rate; no object is larger.
    pub bytes: u64,
    /// Most drives of a recording that loses power.
    pub drives: u8,
    /// Losses of power: at each instant that there is, if that is enough; 0: none.
    pub cuts: u32,
    /// The first images, repaired, are kept in this folder.
    pub keep: Option<PathBuf>,
    /// Decides everything that is random.
    pub seed: u64,
}

/// Recordings of objects of 9 MB and of 4 KiB beside the bare streamer, and what a loss of power at any
/// instant leaves of one.
///
/// # Errors
/// Where the RTL, a profile or the bring-up fails, or an image cannot be written.
pub fn store(spec: &StoreSpec) -> Result<Ran<Store>> {
    let runs = Recordings::new(spec.seed);
    let mut bench = Bench {
        bytes: spec.bytes,
        bare: runs.bare(1, None, spec.bytes)?,
        runs,
        found: Store::default(),
    };
    let extension = || "bin".to_owned();
    let objects = || Kind::Objects {
        extension: extension(),
    };
    let small = Kind::Small {
        extension: extension(),
    };
    let samples = Kind::Samples { stride: SMALL };
    bench.rate("objects_9mb", objects(), PICTURE, 1)?;
    bench.rate("objects_9mb_2_streams", objects(), PICTURE, 2)?;
    bench.rate("objects_9mb_4_streams", objects(), PICTURE, 4)?;
    bench.rate("objects_4kib", objects(), SMALL, 1)?;
    bench.rate("small_4kib", small, SMALL, 1)?;
    bench.rate("samples_4kib", samples, SMALL, 1)?;
    let Bench {
        runs, mut found, ..
    } = bench;
    let (ended, mut header) = runs.finish()?;
    if spec.cuts > 0 && ended.is_done() {
        for drives in 1..=spec.drives {
            let (cuts, of_cuts) = cuts::cuts(spec, drives)?;
            found.cuts.push(cuts);
            header = of_cuts;
        }
        for drives in PARITY_DRIVES.filter(|drives| *drives <= spec.drives) {
            found.parity_cuts.push(cuts::parity(spec, drives)?);
        }
        found.ring_cuts = Some(cuts::ring(spec)?);
    }
    let good = found.is_good();
    Ok(Ran::new("store", header, found, ended, good))
}

struct Bench {
    bytes: u64,
    /// Gigabytes per second of the bare streamer.
    bare: f64,
    runs: Recordings,
    found: Store,
}

impl Bench {
    fn rate(&mut self, id: &'static str, layout: Kind, object: u64, streams: u8) -> Result<()> {
        // Bytes that an extent takes; what fills up the last page of a batch is not counted.
        let (name, each): (_, fn(u64) -> u64) = match &layout {
            Kind::Objects { .. } => ("objects", |length| PAGE + pages(length)),
            Kind::Small { .. } => ("small", |length| BLOCK + length.next_multiple_of(BLOCK)),
            Kind::Samples { .. } | Kind::Packets => ("samples", pages),
        };
        let is_small = matches!(layout, Kind::Small { .. });
        let sink = Sink {
            layout,
            smallest: if streams > 1 { PART } else { object },
            ..Sink::default()
        };
        let most = if object == SMALL {
            SMALL_BYTES
        } else {
            u64::MAX
        };
        let object = object.min(self.bytes.max(SMALL));
        let round = object * u64::from(streams);
        let bytes = self.bytes.min(most).div_ceil(round) * round;
        let seed = self.runs.seed;
        let wire = wire(object, bytes, streams, seed)?;
        let label = format!("objects of {}, {streams} at once", units::bytes(object));
        let Some((session, recorded)) = self.runs.record(&label, (1, None), wire, &sink)? else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let extents = recorded.rows.len() as u64;
        let lengths = recorded.rows.iter().map(|row| u64::from(row.length));
        let written = lengths.map(each).sum::<u64>() + summary.index_blocks * PAGE;
        let last_wait = if is_small { sink.wait_ps / 1000 } else { 0 };
        let nanoseconds = summary.nanoseconds.saturating_sub(last_wait).max(1);
        let stored = summary.stored.bytes as f64 / nanoseconds as f64;
        self.found.rates.push(RateRow {
            id,
            layout: name,
            object_bytes: object,
            streams,
            bytes,
            extents,
            stored_gigabytes_per_second: stored,
            last_wait,
            bare_gigabytes_per_second: self.bare,
            ratio: stored / self.bare,
            payload_share: bytes as f64 / written as f64,
            objects: summary.whole_objects,
            index_blocks: summary.index_blocks,
            lost_frames: summary.lost().count,
            differ_bytes: differ(&session, &recorded.rows, seed, None)?,
            wrong: summary.wrong,
        });
        Ok(())
    }
}

/// `bytes` in objects of `object` bytes, from `streams` senders.
fn wire(object: u64, bytes: u64, streams: u8, seed: u64) -> Result<Wire> {
    let senders = Senders {
        addresses: Addresses::default(),
        mtu: MTU,
        stream: 0,
        object_bytes: vec![object; streams.into()],
        seed,
    };
    let mut net = net_settings(METRES, MTU)?;
    net.streams = streams;
    Ok(Wire {
        settings: Settings::default(),
        source: senders.source(bytes)?,
        net,
        bytes,
    })
}

impl Store {
    fn is_good(&self) -> bool {
        let kept = |row: &RateRow| row.lost_frames + row.differ_bytes == 0 && row.wrong.is_empty();
        let mut cuts = self
            .cuts
            .iter()
            .chain(&self.parity_cuts)
            .chain(&self.ring_cuts);
        self.rates.iter().all(kept) && cuts.all(Cuts::is_good)
    }
}

impl Found for Store {
    fn draw(&self, page: &mut Page) {
        page.heading("Recorded beside the bare streamer");
        let mut grid =
            Grid::new("objects of | as | >streams | >GB/s | >bare | >ratio | >payload of all");
        for row in &self.rates {
            grid.row([
                units::bytes(row.object_bytes),
                row.layout.to_owned(),
                row.streams.to_string(),
                format!("{:.3}", row.stored_gigabytes_per_second),
                format!("{:.3}", row.bare_gigabytes_per_second),
                format!("{:.4}", row.ratio),
                format!("{:.4}", row.payload_share),
            ]);
        }
        page.grid(grid);
        for (drives, cuts) in (1..).zip(&self.cuts) {
            match drives {
                1 => cuts.draw(page, "Losses of power"),
                more => cuts.draw(page, &format!("Losses of power, {more} drives")),
            }
        }
        for (drives, cuts) in PARITY_DRIVES.zip(&self.parity_cuts) {
            cuts.draw(
                page,
                &format!("Losses of power, {drives} drives with parity, and of one of them"),
            );
        }
        if let Some(cuts) = &self.ring_cuts {
            cuts.draw(page, "Losses of power, a ring that is gone round");
        }
    }

    fn verdict(&self, good: bool) -> String {
        match good {
            true => "nothing was lost, invented or changed".into(),
            false => "see above, or --output json".into(),
        }
    }
}

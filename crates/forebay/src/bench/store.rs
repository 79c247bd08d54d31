// SPDX-License-Identifier: Apache-2.0
//! Recordings: what pages and index cost, and what a loss of power leaves.

use forebay_model::net::{Addresses, Network, Settings};
use forebay_pipeline::{Kind, Sink};
use forebay_store::{PAGE, pages};
use serde::Serialize;

use super::cuts::{self, Cuts};
use super::{Report, net, page};
use crate::args::StoreBenchArgs;
use crate::failure::{Exit, Result};
use crate::render::{self, Grid, Page};
use crate::report::{self, Header};
use crate::session::{Ended, Session};
use forebay_app::record::{Plan, Recorded, Senders, Summary, simulate};

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
const SMALL_BYTES: u64 = 32 << 20;

/// What the bench found.
#[derive(Default, Serialize)]
struct Found {
    rates: Vec<RateRow>,
    cuts: Option<Cuts>,
}

/// One kind of recording.
#[derive(Serialize)]
struct RateRow {
    /// Name that stays the same over versions.
    id: &'static str,
    layout: &'static str,
    object_bytes: u64,
    /// Senders at once, their frames in any order.
    streams: u8,
    bytes: u64,
    extents: u64,
    /// Payload, from the first frame to the answer to the last extent.
    stored_gigabytes_per_second: f64,
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

pub fn run(args: &StoreBenchArgs) -> Result<Exit> {
    let mut bench = Bench {
        args,
        found: Found::default(),
        ended: Ended::Done,
        header: None,
    };
    let objects = || Kind::Objects {
        extension: "bin".into(),
    };
    let small = Kind::Small {
        extension: "bin".into(),
    };
    let samples = Kind::Samples { stride: SMALL };
    bench.rate("objects_9mb", objects(), PICTURE, 1)?;
    bench.rate("objects_9mb_2_streams", objects(), PICTURE, 2)?;
    bench.rate("objects_9mb_4_streams", objects(), PICTURE, 4)?;
    bench.rate("objects_4kib", objects(), SMALL, 1)?;
    bench.rate("small_4kib", small, SMALL, 1)?;
    bench.rate("samples_4kib", samples, SMALL, 1)?;
    if args.cuts > 0 && bench.ended.is_done() {
        let (cuts, header) = cuts::run(args)?;
        bench.found.cuts = Some(cuts);
        bench.header = Some(header);
    }
    bench.report()
}

struct Bench<'a> {
    args: &'a StoreBenchArgs,
    found: Found,
    ended: Ended,
    header: Option<Header>,
}

impl Bench<'_> {
    /// Records so many bytes in objects of `object`, from so many senders.
    fn record(
        &mut self,
        sink: &Sink,
        object: u64,
        bytes: u64,
        streams: u8,
    ) -> Result<(Session, Recorded)> {
        let senders = Senders {
            addresses: Addresses::default(),
            mtu: MTU,
            stream: 0,
            object_bytes: vec![object; streams.into()],
            seed: self.args.seed,
        };
        let mut config = net::config_of(&net::machine(self.args.seed, 1))?;
        config.network = Some(Network::new(Settings::default(), senders.source(bytes)?)?);
        let mut session = Session::of(config, super::SCHEMA)?;
        let mut receiving = net::net_settings(METRES, MTU)?;
        receiving.streams = streams;
        let plan: Plan = net::plan(receiving, sink, &mut session)?;
        let label = format!("objects of {}, {streams} at once", render::bytes(object));
        let (recorded, ended) = simulate(&mut session, &plan, &label, Some(bytes))?;
        self.ended = ended;
        self.header = Some(session.header(&self.ended));
        Ok((session, recorded))
    }

    fn rate(&mut self, id: &'static str, layout: Kind, object: u64, streams: u8) -> Result<()> {
        if !self.ended.is_done() {
            return Ok(());
        }
        // Bytes that an extent takes; what fills up the last page of a batch is not counted.
        let (name, each): (_, fn(u64) -> u64) = match &layout {
            Kind::Objects { .. } => ("objects", |length| PAGE + pages(length)),
            Kind::Small { .. } => ("small", |length| BLOCK + length.next_multiple_of(BLOCK)),
            Kind::Samples { .. } | Kind::Packets => ("samples", pages),
        };
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
        let round = object * u64::from(streams);
        let bytes = self.args.bytes.min(most).div_ceil(round) * round;
        let (session, recorded) = self.record(&sink, object, bytes, streams)?;
        let summary = Summary::new(&recorded);
        let mut bare = Session::start(&net::machine(self.args.seed, 1), super::SCHEMA, |_| Ok(()))?;
        let bare = net::bare(&mut bare, self.args.bytes);
        let extents = recorded.rows.len() as u64;
        let lengths = recorded.rows.iter().map(|row| u64::from(row.length));
        let written = lengths.map(each).sum::<u64>() + summary.index_blocks * PAGE;
        self.found.rates.push(RateRow {
            id,
            layout: name,
            object_bytes: object,
            streams,
            bytes,
            extents,
            stored_gigabytes_per_second: summary.gigabytes_per_second,
            bare_gigabytes_per_second: bare,
            ratio: summary.gigabytes_per_second / bare,
            payload_share: bytes as f64 / written as f64,
            objects: summary.whole_objects,
            index_blocks: summary.index_blocks,
            lost_frames: summary.lost().count,
            differ_bytes: net::differ(&session, &recorded.rows, self.args.seed)?,
            wrong: summary.wrong,
        });
        Ok(())
    }

    fn report(self) -> Result<Exit> {
        let Self {
            found,
            ended,
            header,
            ..
        } = self;
        let Some(header) = header else {
            return Ok(ended.exit(false));
        };
        let good = found.is_good();
        let report = Report {
            header,
            bench: "store",
            found,
        };
        if !report::emit(&report)? {
            let mut page = page("store", &report.header);
            report.found.show(&mut page);
            match good {
                true => page.verdict(true, "nothing was lost, invented or changed"),
                false => page.verdict(false, "see above, or --output json"),
            };
            page.print();
        }
        Ok(ended.exit(good))
    }
}

impl Found {
    fn is_good(&self) -> bool {
        let kept = |row: &RateRow| row.lost_frames + row.differ_bytes == 0 && row.wrong.is_empty();
        self.rates.iter().all(kept) && self.cuts.as_ref().is_none_or(Cuts::is_good)
    }

    fn show(&self, page: &mut Page) {
        page.heading("Recorded beside the bare streamer");
        let names = [
            "objects of",
            "as",
            ">streams",
            ">GB/s",
            ">bare",
            ">ratio",
            ">payload of all",
        ];
        let mut grid = Grid::new(&names);
        for row in &self.rates {
            grid.row([
                render::bytes(row.object_bytes),
                row.layout.to_owned(),
                row.streams.to_string(),
                format!("{:.3}", row.stored_gigabytes_per_second),
                format!("{:.3}", row.bare_gigabytes_per_second),
                format!("{:.4}", row.ratio),
                format!("{:.4}", row.payload_share),
            ]);
        }
        page.grid(grid);
        if let Some(cuts) = &self.cuts {
            cuts.show(page);
        }
    }
}

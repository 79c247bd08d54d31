// SPDX-License-Identifier: Apache-2.0
//! From the wire onto drives: rates, headroom, pause, loss, and the shortest frames at line rate.

use forebay_cosim::{CLOCK_PERIOD, Direction};
use forebay_driver::net_port::{NetSettings, Thresholds};
use forebay_driver::recorder_port::ELEMENTS;
use forebay_model::net::{
    Addresses, Frame, Frames, Link, Network, Objects, Peer, Settings, Source, headroom, objects_of,
    pattern,
};
use forebay_model::profile::PauseTiming;
use forebay_model::{MICROSECOND, Time};
use forebay_pipeline::Sink;
use forebay_spec::net::ethernet::{HEADER_BYTES, TYPE_FOREBAY};
use forebay_spec::net::{Arrival, Header as FrameHeader, Place, header};
use forebay_spec::store::index::Row;
use serde::Serialize;

use super::{Report, page};
use forebay_app::MachineSpec;

use crate::args::NetArgs;
use crate::failure::{Exit, Failure, Result};
use crate::home;
use crate::render::{self, Grid};
use crate::report;
use crate::session::{Ended, Session};
use crate::workload::{ops, sequential};
use forebay_app::record::{Plan, Recorded, Summary, prepare, recording, seed_of, simulate};

/// 64-byte beats of the memory for frames, as it is built.
const BEATS: u64 = 2048;
/// What a write of one object is, and of the bare streamer beside it.
const OBJECT: u64 = 16 << 20;
const MTU: u32 = 9000;
/// The slowest peer that 802.3 allows.
const SLOWEST: u32 = 394;
/// Pauses of the drive, and from one to the next.
const PAUSE: Time = 5_000 * MICROSECOND;
const PAUSE_EVERY: Time = 20_000 * MICROSECOND;
/// Bytes of a run that only has to fill the buffers.
const FILLING: u64 = 24 << 20;
/// Frames of the shortest length.
const SHORT_FRAMES: usize = 200_000;

/// What the bench found.
#[derive(Default, Serialize)]
struct Found {
    rates: Vec<RateRow>,
    headroom: Vec<HeadroomRow>,
    ignored: Option<IgnoredRow>,
    short: Option<ShortRow>,
}

/// As many bytes as the wire brings, onto so many drives.
#[derive(Serialize)]
struct RateRow {
    /// Name that stays the same over versions.
    id: String,
    drives: u8,
    pauses_ms: f64,
    bytes: u64,
    /// From the first frame to the answer to the last extent.
    stored_gigabytes_per_second: f64,
    /// The bare streamer on the same drives: one write after the other of the same size.
    drives_gigabytes_per_second: f64,
    /// Payload that the wire can bring.
    wire_gigabytes_per_second: f64,
    /// Stored, over the lesser of the two.
    ratio: f64,
    lost_frames: u64,
    differ_bytes: u64,
    xoff_frames: u64,
    wire_busy: f64,
    wire_paused: f64,
    /// Time in which nothing was stored though the drives could have: 1 - ratio, not below 0.
    unexplained: f64,
    wrong: Vec<String>,
}

/// How much came after silence was decided on.
#[derive(Serialize)]
struct HeadroomRow {
    metres: u32,
    mtu: u32,
    response_quanta: u32,
    formula_bytes: u64,
    above_xoff_bytes: u64,
    /// Measured over formula.
    share: f64,
    lost_frames: u64,
}

/// A peer that ignores pause.
#[derive(Serialize)]
struct IgnoredRow {
    offered_frames: u64,
    offered_bytes: u64,
    stored_frames: u64,
    stored_frame_bytes: u64,
    overflow_frames: u64,
    overflow_bytes: u64,
    /// Offered minus all outcomes; 0.
    unaccounted_frames: i64,
    unaccounted_bytes: i64,
    stored_payload_bytes: u64,
    /// Frames stored, less their headers; the same.
    payload_of_frames_bytes: u64,
    gaps: u64,
    /// Frames missing in gaps, and behind the last frame stored.
    missing_frames: u64,
    missing_at_end: u64,
    /// Extents whose bytes are not those of their place.
    differ_bytes: u64,
    wrong: Vec<String>,
}

/// Frames of 64 bytes without a pause between them.
#[derive(Serialize)]
struct ShortRow {
    frames: u64,
    million_frames_per_second: f64,
    filtered: u64,
    delivered: u64,
    lost: u64,
    wrong: Vec<String>,
}

pub fn run(args: &NetArgs) -> Result<Exit> {
    let mut bench = Bench {
        args,
        found: Found::default(),
        ended: Ended::Done,
        header: None,
    };
    for (drives, pauses) in [(1, false), (1, true), (2, false), (3, false)] {
        bench.rate(drives, pauses)?;
    }
    for mtu in [1500, 9000] {
        for metres in [3, 100, 300] {
            bench.headroom(metres, mtu)?;
        }
    }
    bench.ignored()?;
    bench.short()?;
    bench.report()
}

struct Bench<'a> {
    args: &'a NetArgs,
    found: Found,
    ended: Ended,
    header: Option<report::Header>,
}

/// What is on the wire, and who sends it.
struct Wire {
    settings: Settings,
    source: Box<dyn Source>,
    net: NetSettings,
    bytes: u64,
}

impl Wire {
    fn new(metres: u32, mtu: u32, response: Option<u32>, bytes: u64, seed: u64) -> Result<Self> {
        let objects = objects_of(bytes.div_ceil(OBJECT), OBJECT, seed);
        let source = Objects::new(Addresses::default(), mtu as usize, objects)?;
        let settings = Settings {
            link: Link { metres },
            peer: Peer { response },
            ..Settings::default()
        };
        Ok(Self {
            settings,
            source: Box::new(source),
            net: net_settings(metres, mtu)?,
            bytes: bytes.div_ceil(OBJECT) * OBJECT,
        })
    }
}

/// A machine of so many drives, with what holds several: large chunks, and room for what retries
/// hold up.
pub(super) fn machine(seed: u64, drives: u8) -> MachineSpec {
    let mut machine = MachineSpec {
        seed,
        unit_shift: Some(2),
        ..MachineSpec::of_profile("990pro-2tb")
    };
    machine.array.drives = Some(drives);
    machine.array.stripe_unit = 256 << 10;
    machine.array.fpga_link = forebay_pipeline::units::link("gen4x16").ok();
    machine
}

/// Its configuration with a network side and the chain of the checkout.
pub(super) fn config_of(machine: &MachineSpec) -> Result<forebay_cosim::Config> {
    let own = home::find()?.join("rtl/pe/fb_pe_chain.sv");
    machine.config_of_net(|mut files| {
        files.push(own);
        files
    })
}

/// Bytes per second of the bare streamer: one large write after the other.
pub(super) fn bare(session: &mut Session, bytes: u64) -> f64 {
    let bytes = bytes.div_ceil(OBJECT) * OBJECT;
    let ops = ops(&sequential(Direction::Write, bytes, OBJECT));
    let measured = session.measure("the same drives, bare streamer", &ops);
    measured.rate.gigabytes_per_second
}

impl Bench<'_> {
    /// Records; none once a run was interrupted.
    fn record(
        &mut self,
        label: &str,
        (drives, pauses): (u8, Option<PauseTiming>),
        wire: Wire,
    ) -> Result<Option<(Session, Recorded)>> {
        if !self.ended.is_done() {
            return Ok(None);
        }
        let mut config = config_of(&machine(self.args.seed, drives))?;
        set_pauses(&mut config, pauses);
        config.network = Some(Network::new(wire.settings, wire.source)?);
        let mut session = Session::of(config, super::SCHEMA)?;
        align(&mut session, pauses)?;
        let plan = plan(wire.net, &Sink::default(), &mut session)?;
        let (recorded, ended) = simulate(&mut session, &plan, label, Some(wire.bytes))?;
        self.ended = ended;
        self.header = Some(session.header(&self.ended));
        Ok(self.ended.is_done().then_some((session, recorded)))
    }

    /// The bare streamer on the same drives.
    fn bare(&self, drives: u8, pauses: Option<PauseTiming>) -> Result<f64> {
        let mut session =
            Session::start(&machine(self.args.seed, drives), super::SCHEMA, |config| {
                set_pauses(config, pauses);
                Ok(())
            })?;
        align(&mut session, pauses)?;
        Ok(bare(&mut session, self.args.bytes))
    }

    fn rate(&mut self, drives: u8, pauses: bool) -> Result<()> {
        let timing = pauses.then_some(PauseTiming {
            every: PAUSE_EVERY,
            length: PAUSE,
            spread: 0,
        });
        let seed = self.args.seed;
        let wire = Wire::new(3, MTU, Some(SLOWEST), self.args.bytes, seed)?;
        let bytes = wire.bytes;
        let label = format!("{drives} drives");
        let Some((session, recorded)) = self.record(&label, (drives, timing), wire)? else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let bare = self.bare(drives, timing)?;
        let payload = f64::from(MTU) - 28.0 - header::BYTES as f64;
        let line = 12.5 * payload / (f64::from(MTU) + 38.0);
        let ratio = summary.gigabytes_per_second / bare.min(line);
        let shares = summary.wire.unwrap_or_default();
        let suffix = if pauses { "_pauses" } else { "" };
        self.found.rates.push(RateRow {
            id: format!("drives_{drives}{suffix}"),
            drives,
            pauses_ms: if pauses { PAUSE as f64 * 1e-9 } else { 0.0 },
            bytes,
            stored_gigabytes_per_second: summary.gigabytes_per_second,
            drives_gigabytes_per_second: bare,
            wire_gigabytes_per_second: line,
            ratio,
            lost_frames: summary.lost().count,
            differ_bytes: differ(&session, &recorded.rows, seed)?,
            xoff_frames: summary.pause.xoff,
            wire_busy: shares.busy,
            wire_paused: shares.paused,
            unexplained: (1.0 - ratio).max(0.0),
            wrong: summary.wrong,
        });
        Ok(())
    }

    fn headroom(&mut self, metres: u32, mtu: u32) -> Result<()> {
        let wire = Wire::new(metres, mtu, Some(SLOWEST), FILLING, self.args.seed)?;
        let xoff = wire.net.pause.map_or(0, |pause| u64::from(pause.xoff)) * 64;
        let label = format!("headroom at {metres} m, MTU {mtu}");
        let Some((_, recorded)) = self.record(&label, (1, None), wire)? else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let formula = headroom(metres, mtu, SLOWEST);
        let above = summary.memory_most_bytes.saturating_sub(xoff);
        self.found.headroom.push(HeadroomRow {
            metres,
            mtu,
            response_quanta: SLOWEST,
            formula_bytes: formula,
            above_xoff_bytes: above,
            share: above as f64 / formula as f64,
            lost_frames: summary.lost().count,
        });
        Ok(())
    }

    fn ignored(&mut self) -> Result<()> {
        let seed = self.args.seed;
        let wire = Wire::new(3, MTU, None, 2 * FILLING, seed)?;
        let Some((session, recorded)) =
            self.record("a peer that ignores pause", (1, None), wire)?
        else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let (stored, lost) = (summary.placed(Place::Delivered), summary.lost());
        let offered = recorded.wire.unwrap_or_default().offered;
        let others: u64 = summary.missing_frames;
        let around = (HEADER_BYTES + 28 + header::BYTES) as u64;
        let apart = |all: u64, parts: [u64; 2]| all as i64 - parts[0] as i64 - parts[1] as i64;
        self.found.ignored = Some(IgnoredRow {
            offered_frames: offered.frames,
            offered_bytes: offered.bytes,
            stored_frames: stored.count,
            stored_frame_bytes: stored.bytes,
            overflow_frames: lost.count,
            overflow_bytes: lost.bytes,
            unaccounted_frames: apart(offered.frames, [stored.count, lost.count]),
            unaccounted_bytes: apart(offered.bytes, [stored.bytes, lost.bytes]),
            stored_payload_bytes: summary.stored.bytes,
            payload_of_frames_bytes: stored.bytes - stored.count * around,
            gaps: summary.gap_count,
            missing_frames: others,
            missing_at_end: lost.count.saturating_sub(others),
            differ_bytes: differ(&session, &recorded.rows, seed)?,
            wrong: summary.wrong,
        });
        Ok(())
    }

    fn short(&mut self) -> Result<()> {
        let frames = short_frames();
        let bytes = (SHORT_FRAMES * 60) as u64;
        let wire = Wire {
            settings: Settings::default(),
            source: Box::new(Frames::new(frames)),
            net: net_settings(3, 1500)?,
            bytes,
        };
        let Some((_, recorded)) = self.record("frames of 64 bytes", (1, None), wire)? else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let wire = recorded.wire.unwrap_or_default();
        let delivered = summary.placed(Place::Delivered).count;
        let filtered = summary.arrived(Arrival::Alien).count;
        self.found.short = Some(ShortRow {
            frames: wire.offered.frames,
            million_frames_per_second: wire.offered.frames as f64 * 1e6
                / wire.peer_wire.busy.max(1) as f64,
            filtered,
            delivered,
            lost: wire.offered.frames - delivered - filtered,
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
            bench: "net",
            found,
        };
        if !report::emit(&report)? {
            let mut page = page("net", &report.header);
            report.found.show(&mut page);
            match good {
                true => page.verdict(
                    true,
                    "nothing was lost that is not counted, no byte differs",
                ),
                false => page.verdict(false, "frames were lost, or do not add up"),
            };
            page.print();
        }
        Ok(ended.exit(good))
    }
}

impl Found {
    /// Everything adds up, and nothing was lost where pause was obeyed.
    fn is_good(&self) -> bool {
        let rates = self.rates.iter();
        rates
            .clone()
            .all(|row| row.lost_frames + row.differ_bytes == 0 && row.wrong.is_empty())
            && self.headroom.iter().all(|row| row.lost_frames == 0)
            && self.ignored.iter().all(|row| {
                row.unaccounted_frames == 0
                    && row.unaccounted_bytes == 0
                    && row.stored_payload_bytes == row.payload_of_frames_bytes
                    && row.differ_bytes == 0
                    && row.wrong.is_empty()
            })
            && self
                .short
                .iter()
                .all(|row| row.lost == 0 && row.wrong.is_empty())
    }

    fn show(&self, page: &mut render::Page) {
        let mut grid = Grid::new(&[
            "stored",
            ">GB/s",
            ">drives",
            ">wire",
            ">ratio",
            ">lost",
            ">differ",
            ">silent by pause",
        ]);
        for row in &self.rates {
            let pauses = if row.pauses_ms > 0.0 {
                ", pauses of 5 ms"
            } else {
                ""
            };
            grid.row([
                format!("{} drives{pauses}", row.drives),
                format!("{:.2}", row.stored_gigabytes_per_second),
                format!("{:.2}", row.drives_gigabytes_per_second),
                format!("{:.2}", row.wire_gigabytes_per_second),
                format!("{:.4}", row.ratio),
                row.lost_frames.to_string(),
                row.differ_bytes.to_string(),
                format!("{:.1} %", 100.0 * row.wire_paused),
            ]);
        }
        page.grid(grid);
        page.heading("Room above XOFF, slowest peer");
        let mut grid = Grid::new(&[">m", ">MTU", ">taken", ">formula", ">share", ">lost"]);
        for row in &self.headroom {
            grid.row([
                row.metres.to_string(),
                row.mtu.to_string(),
                render::count(row.above_xoff_bytes),
                render::count(row.formula_bytes),
                format!("{:.3}", row.share),
                row.lost_frames.to_string(),
            ]);
        }
        page.grid(grid);
        if let Some(row) = &self.ignored {
            page.heading("A peer that ignores pause");
            page.field("offered", render::count(row.offered_frames));
            page.field("stored", render::count(row.stored_frames));
            page.field("overflow", render::count(row.overflow_frames));
            page.field("gaps", render::count(row.gaps));
        }
        if let Some(row) = &self.short {
            page.heading("Frames of 64 bytes");
            let rate = row.million_frames_per_second;
            page.field(
                "offered",
                format!("{} at {rate:.1} million/s", render::count(row.frames)),
            );
            page.field("lost", render::count(row.lost));
        }
    }
}

/// Thresholds that leave the room of the formula, and little more.
pub(super) fn net_settings(metres: u32, mtu: u32) -> Result<NetSettings> {
    let room = headroom(metres, mtu, SLOWEST).div_ceil(64);
    let xoff = BEATS.checked_sub(room).filter(|beats| *beats > 64);
    let xoff = xoff.ok_or_else(|| {
        Failure::input(
            "the cable",
            metres,
            "what still comes has no room in the memory",
            "choose a shorter one",
        )
    })?;
    let to = Addresses::default().to;
    Ok(NetSettings {
        mac: to.mac,
        ip: to.ip,
        port: to.port,
        stream: 0,
        streams: 1,
        frame_bytes: mtu as u16 + 18,
        pause: Some(Thresholds {
            xoff: xoff as u16,
            xon: (xoff / 2) as u16,
            quanta: u16::MAX,
            refresh: u16::MAX / 8,
        }),
        class: None,
        watchdog: 0,
        idle_cycles: 30_000,
    })
}

/// What the sink says, as far as the drives go, over whatever is there.
pub(super) fn plan(net: NetSettings, sink: &Sink, session: &mut Session) -> Result<Plan> {
    let superblock = prepare(session, sink, true)?;
    Ok(Plan {
        net,
        recording: recording(&superblock, sink, false, superblock.formatted),
        packets: None,
        elements: [0; ELEMENTS],
        back: None,
    })
}

fn set_pauses(config: &mut forebay_cosim::Config, pauses: Option<PauseTiming>) {
    let others = config.more_drives.iter_mut();
    let others = others.map(|drive| &mut drive.profile.timing);
    for timing in others.chain([&mut config.profile.ssd.timing]).flatten() {
        timing.pauses = pauses;
    }
}

/// Lets time pass until the drives' pauses lie as in every other run.
fn align(session: &mut Session, pauses: Option<PauseTiming>) -> Result<()> {
    if let Some(PauseTiming { every, .. }) = pauses {
        let left = every - session.system.now() % every;
        session.system.run_cycles(left / CLOCK_PERIOD)?;
    }
    Ok(())
}

/// Bytes on the drives that are not those of their place in their object.
pub(super) fn differ(session: &Session, rows: &[Row], seed: u64) -> Result<u64> {
    let mut differ = 0;
    for row in rows.iter().filter(|row| row.stored()) {
        let stored = session.stored(row.address, row.length as usize)?;
        let mut expected = vec![0; stored.len()];
        pattern(
            seed_of(seed, row.stream),
            row.object,
            row.offset,
            &mut expected,
        );
        let pairs = stored.iter().zip(&expected);
        differ += pairs.filter(|(one, other)| one != other).count() as u64;
    }
    Ok(differ)
}

/// Frames of the least length: every other one is for us, with as much of an object as it carries.
fn short_frames() -> impl Iterator<Item = Frame> + Send {
    let addresses = Addresses::default();
    let mut sequence = 0;
    (0..SHORT_FRAMES).filter_map(move |number| {
        let mut bytes = addresses.to.mac.to_vec();
        // Somebody else's: a neighbouring address.
        bytes[5] ^= (number % 2) as u8;
        bytes.extend(addresses.from.mac);
        bytes.extend(TYPE_FOREBAY.to_be_bytes());
        let payload = 60 - bytes.len() - header::BYTES;
        let total = SHORT_FRAMES as u64 / 2 * payload as u64;
        let offset = sequence * payload as u64;
        let head = FrameHeader {
            session: 0,
            stream: 0,
            sequence,
            object: 0,
            position: match offset {
                0 => header::Position::First { total },
                offset => header::Position::At { offset },
            },
            last: offset + payload as u64 == total,
        };
        bytes.extend(head.to_bytes());
        bytes.resize(60, number as u8);
        sequence += u64::from(number % 2 == 0);
        Frame::new(bytes).ok()
    })
}

// SPDX-License-Identifier: Apache-2.0
//! From the wire onto drives: rates, headroom, pause, loss, and the shortest frames at line rate.

use std::fs;

use forebay_app::record::{Summary, form};
use forebay_app::{Failure, Result, home};
use forebay_draw::text::{Grid, Page};
use forebay_model::net::{Addresses, Frame, Frames, Settings, headroom};
use forebay_model::profile::PauseTiming;
use forebay_model::{MICROSECOND, Time};
use forebay_pipeline::units::count;
use forebay_pipeline::{Paths, Pipeline, Sink};
use forebay_spec::net::ethernet::{HEADER_BYTES, TYPE_FOREBAY};
use forebay_spec::net::{Arrival, Header as FrameHeader, Place, header};
use forebay_spec::store::schema::Cipher;
use serde::Serialize;

use super::wire::{Recordings, SLOWEST, Wire, differ, net_settings};
use super::{Found, Ran};

const MTU: u32 = 9000;
/// Pauses of the drive, and from one to the next.
const PAUSE: Time = 5_000 * MICROSECOND;
const PAUSE_EVERY: Time = 20_000 * MICROSECOND;
/// Bytes of a run that only has to fill the buffers.
const FILLING: u64 = 24 << 20;
/// Frames of the shortest length.
const SHORT_FRAMES: usize = 200_000;
/// Drives that store nearly all that the wire brings.
const ENCRYPTED_DRIVES: u8 = 2;
/// The machine that the other rates with this number have, and an element that encrypts.
const ENCRYPTED: &str = "
[[pe]]
name = \"aes_ctr\"
key = { file = \"key\" }

[buffer]
size = \"16MiB\"

[[ssd]]
count = 2

[sink]
chunk = \"256KiB\"
";

/// What the bench found.
#[derive(Debug, Default, Serialize)]
pub struct Net {
    rates: Vec<RateRow>,
    encrypted: Option<EncryptedRow>,
    headroom: Vec<HeadroomRow>,
    ignored: Option<IgnoredRow>,
    short: Option<ShortRow>,
}

/// As many bytes as the wire brings, onto `drives` drives.
#[derive(Debug, Serialize)]
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

/// The same onto two drives, encrypted in the chain.
#[derive(Debug, Serialize)]
struct EncryptedRow {
    cipher: &'static str,
    stored_gigabytes_per_second: f64,
    /// Stored, over what is stored without an element.
    ratio: f64,
    lost_frames: u64,
    /// Bytes that are not those that were sent, decrypted.
    differ_bytes: u64,
    wrong: Vec<String>,
}

/// How much came after silence was decided on.
#[derive(Debug, Serialize)]
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

/// A link partner that ignores pause.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
struct ShortRow {
    frames: u64,
    million_frames_per_second: f64,
    filtered: u64,
    delivered: u64,
    lost: u64,
    wrong: Vec<String>,
}

/// As many bytes as asked for in each measurement of a rate, onto 1, 2 and 3 drives; then the room
/// above XOFF, a link partner that ignores pause, and frames of 64 bytes at line rate.
///
/// # Errors
/// Where the RTL, a profile or the bring-up fails.
pub fn net(bytes: u64, seed: u64) -> Result<Ran<Net>> {
    let mut bench = Bench {
        bytes,
        runs: Recordings::new(seed),
        found: Net::default(),
    };
    for (drives, pauses) in [(1, false), (1, true), (2, false), (3, false)] {
        bench.rate(drives, pauses)?;
    }
    bench.encrypted()?;
    for mtu in [1500, 9000] {
        for metres in [3, 100, 300] {
            bench.headroom(metres, mtu)?;
        }
    }
    bench.ignored()?;
    bench.short()?;
    let Bench { runs, found, .. } = bench;
    let (ended, header) = runs.finish()?;
    let good = found.is_good();
    Ok(Ran::new("net", header, found, ended, good))
}

struct Bench {
    bytes: u64,
    runs: Recordings,
    found: Net,
}

impl Bench {
    fn rate(&mut self, drives: u8, pauses: bool) -> Result<()> {
        let timing = pauses.then_some(PauseTiming {
            every: PAUSE_EVERY,
            length: PAUSE,
            spread: 0,
        });
        let seed = self.runs.seed;
        let wire = Wire::new(3, MTU, Some(SLOWEST), self.bytes, seed)?;
        let bytes = wire.bytes;
        let label = format!("{drives} drives");
        let Some((session, recorded)) =
            self.runs
                .record(&label, (drives, timing), wire, &Sink::default())?
        else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let bare = self.runs.bare(drives, timing, self.bytes)?;
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
            differ_bytes: differ(&session, &recorded.rows, seed, None)?,
            xoff_frames: summary.pause.xoff,
            wire_busy: shares.busy,
            wire_paused: shares.paused,
            unexplained: (1.0 - ratio).max(0.0),
            wrong: summary.wrong,
        });
        Ok(())
    }

    fn encrypted(&mut self) -> Result<()> {
        let seed = self.runs.seed;
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
        let put = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, text).map_err(|error| Failure::file("writing", &path, error))?;
            Ok::<_, Failure>(path)
        };
        put("key", &[0x5a; 32])?;
        let path = put("encrypted.toml", ENCRYPTED.as_bytes())?;
        let pipeline = Pipeline::load(&path, &Paths::new(&home::find()?, &[]))?;
        let wire = Wire::new(3, MTU, Some(SLOWEST), self.bytes, seed)?;
        let label = format!("{ENCRYPTED_DRIVES} drives, encrypted");
        let Some((session, recorded, superblock)) =
            self.runs.record_through(&label, &pipeline, wire)?
        else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let rates = &mut self.found.rates.iter();
        let bare = rates.find(|row| row.drives == ENCRYPTED_DRIVES);
        let bare = bare.map_or(f64::NAN, |row| row.stored_gigabytes_per_second);
        let key = form(&pipeline).1.map(|key| key.derive(superblock.session));
        self.found.encrypted = Some(EncryptedRow {
            cipher: superblock.schema.cipher.map_or("none", Cipher::name),
            stored_gigabytes_per_second: summary.gigabytes_per_second,
            ratio: summary.gigabytes_per_second / bare,
            lost_frames: summary.lost().count,
            differ_bytes: differ(&session, &recorded.rows, seed, key.as_ref())?,
            wrong: summary.wrong,
        });
        Ok(())
    }

    fn headroom(&mut self, metres: u32, mtu: u32) -> Result<()> {
        let wire = Wire::new(metres, mtu, Some(SLOWEST), FILLING, self.runs.seed)?;
        let xoff = wire.net.pause.map_or(0, |pause| u64::from(pause.xoff)) * 64;
        let label = format!("headroom at {metres} m, MTU {mtu}");
        let Some((_, recorded)) = self
            .runs
            .record(&label, (1, None), wire, &Sink::default())?
        else {
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
        let seed = self.runs.seed;
        let wire = Wire::new(3, MTU, None, 2 * FILLING, seed)?;
        let Some((session, recorded)) = self.runs.record(
            "a link partner that ignores pause",
            (1, None),
            wire,
            &Sink::default(),
        )?
        else {
            return Ok(());
        };
        let summary = Summary::new(&recorded);
        let (stored, lost) = (summary.placed(Place::Delivered), summary.lost());
        let offered = recorded.wire.unwrap_or_default().offered;
        let others: u64 = summary.missing_frames;
        let around = (HEADER_BYTES + 28 + header::BYTES) as u64;
        let rest = |all: u64, parts: [u64; 2]| all as i64 - parts[0] as i64 - parts[1] as i64;
        self.found.ignored = Some(IgnoredRow {
            offered_frames: offered.frames,
            offered_bytes: offered.bytes,
            stored_frames: stored.count,
            stored_frame_bytes: stored.bytes,
            overflow_frames: lost.count,
            overflow_bytes: lost.bytes,
            unaccounted_frames: rest(offered.frames, [stored.count, lost.count]),
            unaccounted_bytes: rest(offered.bytes, [stored.bytes, lost.bytes]),
            stored_payload_bytes: summary.stored.bytes,
            payload_of_frames_bytes: stored.bytes - stored.count * around,
            gaps: summary.gap_count,
            missing_frames: others,
            missing_at_end: lost.count.saturating_sub(others),
            differ_bytes: differ(&session, &recorded.rows, seed, None)?,
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
        let Some((_, recorded)) =
            self.runs
                .record("frames of 64 bytes", (1, None), wire, &Sink::default())?
        else {
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
}

impl Net {
    /// Everything adds up, and nothing was lost where pause was obeyed.
    fn is_good(&self) -> bool {
        let rates = self.rates.iter();
        rates
            .clone()
            .all(|row| row.lost_frames + row.differ_bytes == 0 && row.wrong.is_empty())
            && self
                .encrypted
                .iter()
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
}

impl Found for Net {
    fn draw(&self, page: &mut Page) {
        let mut grid = Grid::new(
            "stored | >GB/s | >drives | >wire | >ratio | >lost | >differ | >silent by pause",
        );
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
        if let Some(row) = &self.encrypted {
            let rate = row.stored_gigabytes_per_second;
            page.field(
                "encrypted",
                format!(
                    "{rate:.2} GB/s with {}, {:.4} of the same {ENCRYPTED_DRIVES} drives without",
                    row.cipher, row.ratio
                ),
            );
        }
        page.heading("Room above XOFF, slowest peer");
        let mut grid = Grid::new(">m | >MTU | >taken | >formula | >share | >lost");
        for row in &self.headroom {
            grid.row([
                row.metres.to_string(),
                row.mtu.to_string(),
                count(row.above_xoff_bytes),
                count(row.formula_bytes),
                format!("{:.3}", row.share),
                row.lost_frames.to_string(),
            ]);
        }
        page.grid(grid);
        if let Some(row) = &self.ignored {
            page.heading("A peer that ignores pause");
            page.field("offered", count(row.offered_frames));
            page.field("stored", count(row.stored_frames));
            page.field("overflow", count(row.overflow_frames));
            page.field("gaps", count(row.gaps));
        }
        if let Some(row) = &self.short {
            page.heading("Frames of 64 bytes");
            let rate = row.million_frames_per_second;
            page.field(
                "offered",
                format!("{} at {rate:.1} million/s", count(row.frames)),
            );
            page.field("lost", count(row.lost));
        }
    }

    fn verdict(&self, good: bool) -> String {
        match good {
            true => "nothing was lost that is not counted, no byte differs".into(),
            false => "frames were lost, or do not add up".into(),
        }
    }
}

/// Frames of the least length: every other one is for us, with as much of an object as it carries.
fn short_frames() -> impl Iterator<Item = Frame> + Send {
    let addresses = Addresses::default();
    let mut sequence = 0u32;
    (0..SHORT_FRAMES).filter_map(move |number| {
        let mut bytes = addresses.to.mac.to_vec();
        // For another receiver: a neighbouring address.
        bytes[5] ^= (number % 2) as u8;
        bytes.extend(addresses.from.mac);
        bytes.extend(TYPE_FOREBAY.to_be_bytes());
        let payload = 60 - bytes.len() - header::BYTES;
        let total = SHORT_FRAMES as u64 / 2 * payload as u64;
        let offset = u64::from(sequence) * payload as u64;
        let head = FrameHeader {
            epoch: 0,
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
        sequence += u32::from(number % 2 == 0);
        Frame::new(bytes).ok()
    })
}

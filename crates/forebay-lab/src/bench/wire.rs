// SPDX-License-Identifier: Apache-2.0
//! What benches of recordings share: a machine with a network side, and the bare streamer beside it.

use forebay_app::record::{Plan, Recorded, form, packets, prepare, recording, seed_of, simulate};
use forebay_app::report::Header;
use forebay_app::workload::{ops, sequential};
use forebay_app::{Ended, Failure, MachineSpec, Result, Session, home};
use forebay_cosim::{CLOCK_PERIOD, Config, Direction};
use forebay_driver::elements::Chain;
use forebay_driver::net_port::{NetSettings, Thresholds};
use forebay_driver::recorder_port::ELEMENTS;
use forebay_model::net::{
    Addresses, Link, Network, Objects, Peer, Settings, Source, headroom, objects_of, pattern,
};
use forebay_model::profile::PauseTiming;
use forebay_pipeline::{Pipeline, Sink, units};
use forebay_spec::store::index::Row;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::Superblock;

use forebay_store::RecordingKey;

use super::SCHEMA;

/// 64-byte beats of the memory for frames, as it is built.
const BEATS: u64 = 2048;
/// What a write of one object is, and of the bare streamer beside it.
const OBJECT: u64 = 16 << 20;
/// The slowest link partner that 802.3 allows.
pub const SLOWEST: u32 = 394;

/// What is on the wire, and who sends it.
pub struct Wire {
    /// Cable and link partner.
    pub settings: Settings,
    /// The sender.
    pub source: Box<dyn Source>,
    /// How the port receives.
    pub net: NetSettings,
    /// What is sent, for the progress.
    pub bytes: u64,
}

impl Wire {
    /// Objects of a pattern over `metres` of cable, from a link partner that obeys a pause frame
    /// within `response` quanta; none: it ignores pause.
    pub fn new(
        metres: u32,
        mtu: u32,
        response: Option<u32>,
        bytes: u64,
        seed: u64,
    ) -> Result<Self> {
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

/// Recordings one after the other, each on a machine of its own.
pub struct Recordings {
    /// Decides everything that is random.
    pub seed: u64,
    /// How the last one ended.
    pub ended: Ended,
    header: Option<Header>,
}

impl Recordings {
    /// None yet.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            ended: Ended::Done,
            header: None,
        }
    }

    /// Records; none once a run was interrupted.
    pub fn record(
        &mut self,
        label: &str,
        (drives, pauses): (u8, Option<PauseTiming>),
        wire: Wire,
        sink: &Sink,
    ) -> Result<Option<(Session, Recorded)>> {
        if !self.ended.is_done() {
            return Ok(None);
        }
        let mut config = config_of(&machine(self.seed, drives))?;
        set_pauses(&mut config, pauses);
        config.network = Some(Network::new(wire.settings, wire.source)?);
        let mut session = Session::of(config, SCHEMA)?;
        align(&mut session, pauses)?;
        let plan = plan(wire.net, sink, &mut session)?;
        let (recorded, ended) = simulate(&mut session, &plan, label, Some(wire.bytes))?;
        self.ended = ended;
        self.header = Some(session.header(&self.ended));
        Ok(self.ended.is_done().then_some((session, recorded)))
    }

    /// The same through a pipeline, which says what drives and buffer there are; with the superblock of
    /// the recording.
    pub fn record_through(
        &mut self,
        label: &str,
        pipeline: &Pipeline,
        wire: Wire,
    ) -> Result<Option<(Session, Recorded, Superblock)>> {
        if !self.ended.is_done() {
            return Ok(None);
        }
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
        let mut config = forebay_app::record::machine(
            &machine(self.seed, pipeline.ssds.len() as u8),
            pipeline,
            folder.path(),
        )?;
        config.network = Some(Network::new(wire.settings, wire.source)?);
        let mut session = Session::of(config, SCHEMA)?;
        let superblock = prepare(&mut session, &pipeline.sink, form(pipeline), true)?;
        let plan = Plan {
            net: wire.net,
            ..forebay_app::record::plan(pipeline, &superblock, None)
        };
        let (recorded, ended) = simulate(&mut session, &plan, label, Some(wire.bytes))?;
        self.ended = ended;
        self.header = Some(session.header(&self.ended));
        let recorded = (session, recorded, superblock);
        Ok(self.ended.is_done().then_some(recorded))
    }

    /// Gigabytes per second of the bare streamer on the same drives: one large write after the
    /// other.
    pub fn bare(&self, drives: u8, pauses: Option<PauseTiming>, bytes: u64) -> Result<f64> {
        let mut session = Session::start(&machine(self.seed, drives), SCHEMA, |config| {
            set_pauses(config, pauses);
            Ok(())
        })?;
        align(&mut session, pauses)?;
        let bytes = bytes.div_ceil(OBJECT) * OBJECT;
        let ops = ops(&sequential(Direction::Write, bytes, OBJECT));
        let measured = session.measure("the same drives, bare streamer", &ops);
        Ok(measured.rate.gigabytes_per_second)
    }

    /// How the last one ended, and what its report begins with.
    pub fn finish(self) -> Result<(Ended, Header)> {
        let header = self.header.ok_or_else(Failure::interrupted)?;
        Ok((self.ended, header))
    }
}

/// A machine of `drives` drives, with what holds several: large stripe units, and room for what
/// retries hold up.
pub fn machine(seed: u64, drives: u8) -> MachineSpec {
    let mut machine = MachineSpec {
        seed,
        buffer_pages: Some(4096),
        ..MachineSpec::of_profile("990pro-2tb")
    };
    machine.array.drives = Some(drives);
    machine.array.stripe_unit = 256 << 10;
    machine.array.fpga_link = units::link("gen4x16").ok();
    machine
}

/// Its configuration with a network side and the chain of the checkout.
pub fn config_of(machine: &MachineSpec) -> Result<Config> {
    let own = home::find()?.join("rtl/pe/fb_pe_chain.sv");
    machine.config_of_net(|mut files| {
        files.push(own);
        files
    })
}

/// Thresholds that leave the room of the formula, and little more.
pub fn net_settings(metres: u32, mtu: u32) -> Result<NetSettings> {
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
        ip: to.ipv4(),
        ip6: None,
        group6: None,
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
        pause_limit: 0,
        idle_cycles: 30_000,
        ieee1588: false,
        group: None,
    })
}

/// What the sink says, as far as the drives go, over whatever is there.
pub fn plan(net: NetSettings, sink: &Sink, session: &mut Session) -> Result<Plan> {
    let superblock = prepare(session, sink, (Schema::default(), None), true)?;
    Ok(Plan {
        net,
        recording: recording(&superblock, sink, false, superblock.formatted),
        packets: packets(sink, &superblock),
        elements: [0; ELEMENTS],
        chain: Chain::default(),
        registers: Vec::new(),
        back: None,
    })
}

fn set_pauses(config: &mut Config, pauses: Option<PauseTiming>) {
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

/// Bytes on the drives that are not those of their place in their object, decrypted where there is a
/// key.
pub fn differ(
    session: &Session,
    rows: &[Row],
    seed: u64,
    key: Option<&RecordingKey>,
) -> Result<u64> {
    let mut differ = 0;
    for row in rows.iter().filter(|row| row.stored()) {
        let mut stored = session.stored(row.address, row.length as usize)?;
        if let Some(key) = key {
            key.apply(row.nonce, row.offset, &mut stored);
        }
        let mut expected = vec![0; stored.len()];
        let seed = seed_of(seed, row.stream);
        pattern(seed, row.object, row.offset, &mut expected);
        let pairs = stored.iter().zip(&expected);
        differ += pairs.filter(|(one, other)| one != other).count() as u64;
    }
    Ok(differ)
}

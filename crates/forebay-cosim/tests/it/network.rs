// SPDX-License-Identifier: Apache-2.0
//! From the wire to the SSD and back: the assembled RTL between a network and a drive.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{profile, system};
use forebay_cosim::{Config, Error, FPGA, System, rtl};
use forebay_driver::net_port::{Destination, NetSettings, Thresholds};
use forebay_driver::recorder_port::{Layout, RecorderCounters, Recording, Region};
use forebay_driver::{Fetch, NetPort, RecorderPort};
use forebay_model::net::{
    Addresses, Direction, Frame, Network, Objects, Settings, Source, Tap, objects_of, pattern,
};
use forebay_model::{FaultAction, FaultPlan, Time, Trigger};
use forebay_spec::net::{Arrival, Header, Place};
use forebay_spec::store::index::{Block, Row};
use forebay_spec::store::layout::Layout as BlockLayout;
use forebay_spec::store::page::Facts;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::VERSION;
use forebay_spec::store::tar::Name;
use forebay_spec::store::{PAGE_BYTES, Session};
use forebay_spec::streamer::bar0;
use forebay_store::crc32c;

const LIMIT: Duration = Duration::from_millis(20);
const SEED: u64 = 7;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn config(settings: Settings, source: impl Source + 'static) -> Config {
    let rtl = rtl::net(&root(), 64, 1024).filelist(root().join("rtl/pe/pe.f"));
    let mut config = Config::new(rtl, profile("ideal"));
    config.network = Some(Network::new(settings, Box::new(source)).expect("a network"));
    config
}

fn ports(system: &mut System) -> (NetPort, RecorderPort) {
    let net = NetPort::attach(system, FPGA, 0, bar0::NET_CONTROL);
    let recorder = RecorderPort::attach(system, FPGA, 0, bar0::RECORDER_CONTROL);
    let (net, recorder) = (net.expect("attaches"), recorder.expect("attaches"));
    (net.expect("a network side"), recorder.expect("a recorder"))
}

fn net_settings() -> NetSettings {
    let to = Addresses::default().to;
    NetSettings {
        mac: to.mac,
        ip: to.ipv4(),
        ip6: None,
        group6: None,
        port: to.port,
        stream: 0,
        streams: 1,
        frame_bytes: 9018,
        pause: Some(Thresholds {
            xoff: 1024,
            xon: 512,
            quanta: 0xffff,
            refresh: 0x4000,
        }),
        class: None,
        watchdog: 0,
        pause_limit: 0,
        idle_cycles: 3000,
        ieee1588: false,
        group: None,
    }
}

const SESSION: Session = Session(*b"forebay network.");
const TIME: u64 = 1_700_000_000_123_456_789;

fn recording() -> Recording {
    Recording {
        session: SESSION.0,
        layout: Layout::Objects {
            extension: *b"bin\0",
        },
        alignment: 4096,
        data: Region {
            address: 1 << 20,
            bytes: 512 << 20,
            ring: false,
        },
        index: Region {
            address: 0,
            bytes: 1 << 20,
            ring: false,
        },
        wait_cycles: 0,
        flush: true,
        result_wait: None,
        ahead: 0,
        schema: Schema::default().id(),
        time: TIME,
        cycle_ps: 3333,
    }
}

/// Begins to record what the network brings.
fn begin(system: &mut System, settings: &NetSettings, recording: &Recording) {
    let (net, recorder) = ports(system);
    net.configure(system, settings).expect("configures");
    net.open(system, settings).expect("opens");
    let capacity = system.session().expect("is up").facts().bytes();
    recorder.start(system, recording, capacity).expect("starts");
    system.begin_network();
}

fn ended(system: &System) -> bool {
    system.network().is_some_and(Network::is_at_end)
}

/// Records until the network has nothing more.
fn record(system: &mut System, settings: &NetSettings, recording: &Recording) -> RecorderCounters {
    begin(system, settings, recording);
    let (net, recorder) = ports(system);
    if let Err(error) = system.run_until(ended) {
        panic!("{error}");
    }
    let held = |system: &mut System| {
        let (memory, _) = net.memory(system).expect("is read");
        memory + net.rings(system).expect("is read")
    };
    let drained = (0..100_000).any(|_| {
        system.run_cycles(64).expect("runs");
        held(system) == 0
    });
    assert!(drained, "frames received are still held");
    system.run_cycles(10_000).expect("runs");
    let counters = recorder.finish(system, LIMIT).expect("ends");
    assert!(recorder.take_events(system).expect("is read").closed);
    counters
}

fn page(system: &System, at: u64) -> [u8; PAGE_BYTES] {
    let bytes = system.stored(at, PAGE_BYTES).expect("readable");
    bytes.try_into().expect("a page")
}

fn rows(system: &System, recording: &Recording) -> Vec<Row> {
    let layout = BlockLayout::new(VERSION, Schema::default());
    let mut rows = Vec::new();
    for number in 0.. {
        let page = page(system, recording.index.address + number * PAGE_BYTES as u64);
        let Ok(block) = Block::parse(&page, SESSION, &layout, crc32c) else {
            return rows;
        };
        assert_eq!(u64::from(block.number), number);
        rows.extend(block.rows.into_iter().filter(Row::counts));
    }
    rows
}

fn assert_pattern(bytes: &[u8], row: &Row) {
    let mut expected = vec![0; bytes.len()];
    pattern(SEED, row.object, row.offset, &mut expected);
    assert!(bytes == expected, "object {} differs", row.object);
    assert_eq!(row.crc32c, crc32c(0, bytes));
}

/// The page in front of an extent is the one that software writes, byte by byte.
fn assert_page(system: &System, row: &Row, sequence: u32) {
    let facts = Facts {
        schema: Schema::default(),
        session: SESSION,
        extension: *b"bin\0",
        stream: row.stream,
        object: row.object,
        offset: row.offset,
        length: row.length,
        whole: row.whole(),
        missing: row.missing,
        sequence,
        epoch: 0,
        time: row.time,
        crc32c: row.crc32c,
        nonce: 0,
        result: None,
        name: Name::NONE,
    };
    let found = page(system, row.address - PAGE_BYTES as u64);
    assert!(found == facts.to_page(), "{}", found.escape_ascii());
    let behind = row.address + u64::from(row.length).next_multiple_of(512);
    let left = behind.next_multiple_of(PAGE_BYTES as u64) - behind;
    let filled = system.stored(behind, left as usize).expect("readable");
    let filler = forebay_spec::store::page::FILLER;
    assert!(filled.chunks(512).all(|block| block == filler));
}

#[test]
fn what_the_wire_brings_lies_on_the_ssd() {
    let objects = Objects::new(Addresses::default(), 9000, objects_of(5, 3_000_001, SEED));
    let mut system = system(config(Settings::default(), objects.expect("an MTU")));
    let counters = record(&mut system, &net_settings(), &recording());
    assert_eq!(counters.stored.extents, 5);
    assert_eq!(counters.stored.bytes, 15_000_005);
    let rows = rows(&system, &recording());
    assert_eq!(rows.len(), 5);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row.object, number as u64);
        assert_eq!((row.offset, row.length), (0, 3_000_001));
        assert!(row.whole() && row.stored());
        assert!(row.time > TIME && row.time < TIME + 10_000_000);
        assert_page(&system, row, number as u32 * 3_000_001_u32.div_ceil(8940));
        let stored = system.stored(row.address, row.length as usize);
        assert_pattern(&stored.expect("readable"), row);
    }
    let (net, _) = ports(&mut system);
    let found = net.counters(&mut system).expect("readable");
    let sent = system.network().expect("there").counters().offered;
    assert_eq!(found.placed(Place::Delivered).frames, sent.frames);
    assert_eq!(found.placed(Place::Delivered).bytes, sent.bytes);
    assert_eq!(found.arrived(Arrival::Datagram).frames, sent.frames);
    system.shutdown(&mut |_| {}).expect("shuts down");
}

type Sent = Vec<(Header, Vec<u8>)>;

/// Payload that left us.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Sent>>);

impl Tap for Listener {
    fn frame(&mut self, _: Time, direction: Direction, frame: &Frame) {
        let datagram = frame.bytes().get(42..);
        if let (Direction::Sent, Some(datagram)) = (direction, datagram)
            && let Ok((header, payload)) = Header::split(datagram)
        {
            self.0
                .lock()
                .expect("whole")
                .push((header, payload.to_vec()));
        }
    }
}

/// The peer is asked for silence again and again, and has frames to send: that is progress for a while only.
#[test]
fn a_recording_that_hangs_ends() {
    let objects = Objects::new(Addresses::default(), 9000, objects_of(5, 3_000_000, SEED));
    let mut config = config(Settings::default(), objects.expect("an MTU"));
    config.faults = FaultPlan::none().once(Trigger::Nth(100), FaultAction::Drop);
    config.driver.timeout_cycles = 0;
    config.watchdog = 20_000;
    let mut system = system(config);
    let mut settings = net_settings();
    if let Some(pause) = &mut settings.pause {
        (pause.quanta, pause.refresh) = (0x500, 0x280);
    }
    begin(&mut system, &settings, &recording());
    let error = system.run_until(ended).expect_err("it hangs");
    let Error::Stuck { idle, .. } = error else {
        panic!("{error}");
    };
    let asked = system.network().expect("is there").counters().peer_pause;
    assert!(idle < 50_000 && asked.xoff > 400, "{idle}, {asked:?}");
}

#[test]
fn what_was_recorded_is_sent_back() {
    let objects = Objects::new(Addresses::default(), 1500, objects_of(3, 100_000, SEED));
    let mut config = config(Settings::default(), objects.expect("an MTU"));
    let listener = Listener::default();
    if let Some(network) = &mut config.network {
        network.set_tap(Box::new(listener.clone()));
    }
    let mut system = system(config);
    record(&mut system, &net_settings(), &recording());
    let (net, recorder) = ports(&mut system);
    let from = Addresses::default().from;
    let to = Destination {
        mac: Some(from.mac),
        ip: from.ipv4(),
        port: from.port,
        payload: 1408,
        epoch: 9,
        rate: 0,
    };
    net.set_destination(&mut system, &to).expect("can be");
    for row in rows(&system, &recording()) {
        let wanted = Fetch {
            address: row.address,
            bytes: row.length.into(),
            object: row.object + 10,
            ..Fetch::default()
        };
        let ordered = recorder.fetch(&mut system, &wanted, LIMIT);
        ordered.expect("ordered");
    }
    recorder.finish_fetches(&mut system, LIMIT).expect("ends");
    system.run_cycles(5_000).expect("runs");
    let sent = listener.0.lock().expect("whole");
    assert_eq!(sent.len(), 3 * 100_000_usize.div_ceil(1408));
    let mut at = 0;
    for (number, (header, payload)) in sent.iter().enumerate() {
        assert_eq!((header.epoch, header.sequence), (9, number as u32));
        let mut expected = vec![0; payload.len()];
        pattern(SEED, header.object - 10, at, &mut expected);
        assert!(*payload == expected, "frame {number} differs");
        at = if header.last {
            0
        } else {
            at + payload.len() as u64
        };
    }
    let counters = recorder.counters(&mut system).expect("readable");
    assert_eq!((counters.fetched, counters.fetches_failed), (3, 0));
}

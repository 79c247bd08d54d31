// SPDX-License-Identifier: Apache-2.0
//! The end of a recording, on a card that is nothing but registers, while frames keep coming.

use std::net::Ipv4Addr;
use std::time::Duration;

use forebay_driver::elements::{Chain, RegisterWrite};
use forebay_driver::net_port::NetSettings;
use forebay_driver::record::{Controls, Observer, Plan, Recorder, Stage};
use forebay_driver::recorder_port::{ELEMENTS, Events, Layout, Recording, Region};
use forebay_driver::{
    Bus, BusError, BusResult, DmaBuffer, Error, NetPort, PciAddress, RecorderPort,
};
use forebay_spec::net::{Arrival, Place, regs as net};
use forebay_spec::recorder::{elements, regs as recorder};

use crate::support::registers::registers_only;

const CARD: PciAddress = PciAddress::new(1, 0, 0);
const NET: u64 = 0x1000;
const RECORDER: u64 = 0x2000;
const CONTROLS: Controls = Controls {
    net: NET,
    recorder: RECORDER,
    elements: 0x1_0000,
};
const LIMIT: Duration = Duration::from_millis(10);
/// Cycles of the card that an access takes.
const CYCLES: u64 = 100;
/// Bytes of a frame.
const FRAME: u64 = 1000;

/// What the card does by itself.
#[derive(Clone, Copy, Default)]
struct Habits {
    /// Cycles from one frame to the next; none: no frames come.
    every: Option<u64>,
    /// The extent that is open never ends.
    hangs: bool,
    /// Each extent fails.
    fails: bool,
    /// Second that the time of day shows.
    second: u64,
    /// What its versions are of: network side, recorder; none: the driver's.
    versions: [Option<u64>; 2],
}

/// A card whose streams are always in the middle of an object.
#[derive(Default)]
struct Card {
    habits: Habits,
    cycle: u64,
    streams: u64,
    idle: u64,
    enabled: bool,
    /// Cycle at which the recorder was enabled first: frames come from then on.
    began: Option<u64>,
    arrived: u64,
    delivered: u64,
    refused: u64,
    /// Register `events`, and how often it raised the interrupt.
    events: u64,
    interrupts: u64,
    /// What was written into the registers that matter here, in order.
    told: Vec<&'static str>,
}

impl Card {
    fn of(habits: Habits) -> Self {
        let streams = 1;
        Self {
            habits,
            streams,
            ..Self::default()
        }
    }

    /// Lets time pass: each frame that comes is taken, or refused, when the next one has come.
    fn pass(&mut self) {
        self.cycle += CYCLES;
        let (Some(every), Some(began)) = (self.habits.every, self.began) else {
            return;
        };
        while self.arrived < (self.cycle - began) / every {
            match self.arrived {
                0 => {}
                _ if self.streams > 0 => {
                    self.delivered += 1;
                    if self.habits.fails {
                        self.happens(recorder::events::ERROR.mask());
                    }
                }
                _ => self.refused += 1,
            }
            self.arrived += 1;
        }
    }

    fn happens(&mut self, event: u64) {
        self.interrupts += u64::from(self.events == 0);
        self.events |= event;
    }

    fn is_open(&self) -> bool {
        self.habits.hangs || (self.delivered > 0 && (self.streams > 0 || self.idle != 1))
    }

    fn net(&self, register: u64) -> u64 {
        let [word, row] = [register % 32, register / 32];
        let count = |frames: u64| match word {
            0 => frames,
            8 => frames * FRAME,
            _ => 0,
        };
        let arrivals = net::arrivals::OFFSET / 32 + Arrival::Datagram as u64;
        let places = net::places::OFFSET / 32;
        match register {
            net::version::OFFSET => self.habits.versions[0].unwrap_or(net::version::RESET),
            net::parameters::OFFSET => {
                net::parameters::RECEIVE_BEATS.put(2048) | net::parameters::STREAMS.put(4)
            }
            net::cycles::OFFSET => self.cycle,
            net::clock::OFFSET => net::clock::SECONDS.put(self.habits.second),
            _ if row == arrivals => count(self.arrived),
            _ if row == places + Place::Delivered as u64 => count(self.delivered),
            _ if row == places + Place::Stream as u64 => count(self.refused),
            _ => 0,
        }
    }

    fn recorder(&self, register: u64) -> u64 {
        match register {
            recorder::version::OFFSET => {
                self.habits.versions[1].unwrap_or(recorder::version::RESET)
            }
            recorder::events::OFFSET => self.events,
            recorder::control::OFFSET => recorder::control::ENABLE.put(self.enabled.into()),
            recorder::status::OFFSET => recorder::status::OPEN.put(self.is_open().into()),
            _ => 0,
        }
    }
}

impl Bus for Card {
    registers_only!(CARD);

    fn bar_read64(&mut self, _: PciAddress, _: u8, offset: u64) -> BusResult<u64> {
        self.pass();
        const IDENTITY: u64 = CONTROLS.elements + elements::CHAIN + elements::IDENTITY_AT;
        Ok(match offset {
            IDENTITY => elements::IDENTITY.into(),
            _ if offset >= CONTROLS.elements => 0,
            _ if offset >= RECORDER => self.recorder(offset - RECORDER),
            _ => self.net(offset - NET),
        })
    }

    fn bar_write64(&mut self, _: PciAddress, _: u8, offset: u64, value: u64) -> BusResult<()> {
        self.pass();
        const STREAMS: u64 = NET + net::streams::OFFSET;
        const IDLE: u64 = NET + net::idle::OFFSET;
        const CONTROL: u64 = RECORDER + recorder::control::OFFSET;
        const SYNC: u64 = RECORDER + recorder::sync::OFFSET;
        const EVENTS: u64 = RECORDER + recorder::events::OFFSET;
        match offset {
            STREAMS => {
                self.streams = value;
                self.told.push(if value == 0 { "refuse" } else { "take" });
            }
            IDLE => self.idle = value,
            CONTROL => {
                self.enabled = recorder::control::ENABLE.get(value) != 0;
                self.began = self.began.or(self.enabled.then_some(self.cycle));
                self.told
                    .push(if self.enabled { "enable" } else { "disable" });
            }
            SYNC => {
                self.told.push("sync");
                self.happens(recorder::events::CLOSED.mask());
            }
            EVENTS => self.events &= !value,
            _ => {}
        }
        Ok(())
    }

    fn now(&mut self) -> Duration {
        Duration::from_nanos(self.cycle * 10 / 3)
    }

    fn relax(&mut self, _: Duration) -> BusResult<()> {
        self.pass();
        Ok(())
    }

    fn interrupts(&mut self) -> BusResult<u64> {
        Ok(self.interrupts)
    }
}

/// Records until this number of frames went on.
struct Until(u64, Vec<Stage>);

/// The same, and notes what it is told of.
struct Told(Until, Vec<Events>);

impl Observer<Card> for Told {
    fn stage(&mut self, stage: Stage) {
        self.0.stage(stage);
    }

    fn goes_on(&mut self, bus: &mut Card, net: &NetPort) -> Result<bool, Error> {
        self.0.goes_on(bus, net)
    }

    fn raised(&mut self, events: Events) {
        self.1.push(events);
    }
}

impl Observer<Card> for Until {
    fn stage(&mut self, stage: Stage) {
        self.1.push(stage);
    }

    fn goes_on(&mut self, bus: &mut Card, net: &NetPort) -> Result<bool, Error> {
        Ok(net.placements(bus, Place::Delivered)? < self.0)
    }
}

fn plan() -> Plan {
    let region = |address| Region {
        address,
        bytes: 1 << 20,
        ring: false,
    };
    Plan {
        net: NetSettings {
            mac: [2; 6],
            ip: Ipv4Addr::new(10, 0, 0, 2),
            ip6: None,
            port: 1,
            stream: 0,
            streams: 1,
            frame_bytes: 9018,
            pause: None,
            class: None,
            watchdog: 0,
            pause_limit: 0,
            idle_cycles: 0,
            ieee1588: false,
            group: None,
            group6: None,
        },
        packets: None,
        recording: Recording {
            session: [1; 16],
            layout: Layout::Samples { stride: 0 },
            alignment: 4096,
            data: region(0),
            index: region(1 << 20),
            wait_cycles: 0,
            flush: false,
            result_wait: None,
            ahead: 0,
            schema: 0,
            time: 0,
            cycle_ps: 3333,
        },
        elements: [0; ELEMENTS],
        chain: Chain::default(),
        registers: Vec::new(),
        back: None,
    }
}

fn attach(card: &mut Card) -> Result<Recorder<'_, Card>, Error> {
    Recorder::attach(card, (CARD, 0), CONTROLS, &plan(), LIMIT)
}

#[test]
fn every_frame_counts_while_a_recording_ends() {
    for every in [150, 5_000, 200_000] {
        let mut card = Card::of(Habits {
            every: Some(every),
            ..Habits::default()
        });
        let mut until = Until(20, Vec::new());
        let mut recorder = attach(&mut card).expect("there are both");
        recorder.start(2 << 20).expect("it fits");
        recorder.watch(&mut until).expect("frames come");
        let counted = recorder.stop(&mut until).expect("it comes to rest");
        assert_eq!(until.1, [Stage::Recording, Stage::Draining, Stage::Closing]);
        let arrived = counted.net.arrived(Arrival::Datagram);
        let delivered = counted.net.placed(Place::Delivered);
        let refused = counted.net.placed(Place::Stream);
        assert_eq!(
            delivered.frames, card.delivered,
            "every {every}: none behind the end"
        );
        assert!(counted.still_arriving || every != 150);
        if counted.still_arriving {
            assert_eq!(arrived.frames, delivered.frames + refused.frames);
            assert_eq!(arrived.bytes, delivered.bytes + refused.bytes);
        }
        // Nothing is taken any more when the recorder is told to end.
        assert_eq!(
            card.told,
            [
                "refuse", "disable", "disable", "enable", "take", "refuse", "disable", "sync"
            ]
        );
    }
}

#[test]
fn what_happens_is_told_once_and_cleared_each_time() {
    let mut card = Card::of(Habits {
        every: Some(500),
        fails: true,
        ..Habits::default()
    });
    let mut told = Told(Until(20, Vec::new()), Vec::new());
    let mut recorder = attach(&mut card).expect("there are both");
    recorder.start(2 << 20).expect("it fits");
    recorder.watch(&mut told).expect("frames come");
    let error = Events {
        error: true,
        ..Events::default()
    };
    assert_eq!(told.1, [error], "while it records");
    let counted = recorder.stop(&mut told).expect("it comes to rest");
    assert_eq!(told.1, [error]);
    let all = Events {
        closed: true,
        ..error
    };
    assert_eq!(counted.events, all);
    // It rises again only where it was cleared before.
    assert!(counted.interrupts > 2, "{}", counted.interrupts);
    assert_eq!((counted.interrupts, card.events), (card.interrupts, 0));
}

#[test]
fn registers_of_an_older_version_are_refused() {
    const MINOR: u64 = 1 << 8;
    const MAJOR: u64 = 1 << 16;
    for (at, ours) in [net::version::RESET, recorder::version::RESET]
        .into_iter()
        .enumerate()
    {
        for (version, good) in [
            (ours - MINOR, false),
            (ours, true),
            (ours + MINOR, true),
            (ours + MAJOR, false),
        ] {
            let mut habits = Habits::default();
            habits.versions[at] = Some(version);
            let mut card = Card::of(habits);
            let error = attach(&mut card).err().map(|error| error.to_string());
            assert_eq!(error.is_none(), good, "{version:x}: {error:?}");
            assert!(error.is_none_or(|error| error.contains("or a later one of")));
        }
    }
}

#[test]
fn what_does_not_come_to_rest_is_told() {
    let mut card = Card::of(Habits {
        hangs: true,
        ..Habits::default()
    });
    let mut recorder = attach(&mut card).expect("there are both");
    let mut until = Until(0, Vec::new());
    let error = recorder.stop(&mut until).expect_err("an extent stays open");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(error.to_string().contains("open: true"), "{error}");
    assert!(!card.told.contains(&"sync"));
}

#[test]
fn a_time_of_day_that_does_not_come_is_told() {
    let mut plan = plan();
    plan.net.ieee1588 = true;
    for second in [0, 1] {
        let mut card = Card::of(Habits {
            second,
            ..Habits::default()
        });
        let attached = Recorder::attach(&mut card, (CARD, 0), CONTROLS, &plan, LIMIT);
        let told = attached.err().map(|error| error.to_string());
        assert_eq!(told.is_none(), second != 0, "{told:?}");
        assert!(told.is_none_or(|told| told.contains("1588") && told.contains("second 0")));
    }
}

#[test]
fn a_card_without_a_network_side_is_refused() {
    let mut card = Card::default();
    let controls = Controls {
        net: NET + net::cycles::OFFSET,
        ..CONTROLS
    };
    let refused = Recorder::attach(&mut card, (CARD, 0), controls, &plan(), LIMIT);
    assert!(matches!(refused, Err(Error::NotFound { .. })));
}

#[test]
fn a_card_with_another_chain_is_refused() {
    let mut card = Card::default();
    let attach = |card: &mut Card, plan: &Plan| {
        Recorder::attach(card, (CARD, 0), CONTROLS, plan, LIMIT).map(drop)
    };
    for chain in [(1, 0), (0, 0x80)] {
        let (registers, per_stream) = chain;
        let mut plan = plan();
        plan.chain = Chain {
            registers,
            per_stream,
        };
        let said = attach(&mut card, &plan)
            .expect_err("it has none")
            .to_string();
        assert!(
            said.contains("at the places none") && said.contains("the pipeline's"),
            "{said}"
        );
    }
    let mut plan = plan();
    plan.registers.push(RegisterWrite {
        offset: 2,
        data: vec![0; 4].into(),
    });
    assert!(matches!(
        attach(&mut card, &plan),
        Err(Error::Parameter { .. })
    ));
}

#[test]
fn how_far_a_ring_is_ahead_has_bounds() {
    let mut card = Card::default();
    let recorder = RecorderPort::attach(&mut card, CARD, 0, RECORDER).expect("it answers");
    let recorder = recorder.expect("it is there");
    let mut start = |ring, stride, ahead| {
        let mut recording = plan().recording;
        (recording.data.bytes, recording.data.ring) = ((64 << 20) - 4096, ring);
        recording.index.address = 64 << 20;
        recording.layout = Layout::Samples { stride };
        recording.ahead = ahead;
        recorder.configure(&mut card, &recording, 128 << 20)
    };
    for (ring, stride, ahead, good) in [
        (false, 0, 0, true),
        (true, 0, 0, true),
        (true, 0, 4 << 20, true),
        (true, 0, 16 << 20, true),
        (true, 2 << 20, 8 << 20, true),
        // Not in a ring; too near; too far; less than four samples.
        (false, 0, 8 << 20, false),
        (true, 0, (4 << 20) - 4096, false),
        (true, 0, (16 << 20) + 4096, false),
        (true, 2 << 20, (8 << 20) - 4096, false),
    ] {
        match start(ring, stride, ahead) {
            Ok(()) => assert!(good, "{ring} {stride} {ahead}"),
            Err(error) => {
                assert!(!good, "{ring} {stride} {ahead}: {error}");
                assert!(error.to_string().contains("ahead of the index"), "{error}");
            }
        }
    }
}

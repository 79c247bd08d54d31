// SPDX-License-Identifier: Apache-2.0
//! The program that brings drives up without a CPU, interpreted, on models and on bent ones.

use std::collections::BTreeSet;

use forebay_cosim::root::{Hierarchy, Modelled, RootConfig, settings};
use forebay_model::pci::{Bar, Below, ConfigSpace, Endpoint, Identity};
use forebay_model::{MICROSECOND, MILLISECOND, Profile};
use forebay_seq::boot::{Boot, Drive, Fault as StreamerFault, PROGRAM, Root, Settings, Streamer};
use forebay_seq::{End, Interpreter, assemble};
use forebay_spec::boot::{Code, admin, state};
use forebay_spec::nvme::regs as nvme;
use forebay_spec::pci::{CLASS_NVME, offset};
use forebay_spec::streamer::regs as streamer;

const INSTRUCTIONS_MOST: u64 = 30_000_000;

/// What is done to an answer: the kind of access, its address, the good answer.
type Bend = Box<dyn FnMut(Kind, u64, u64) -> u64>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Config,
    Memory,
    /// A part of the admin window, in dwords.
    Window,
    Hung,
}

/// A root whose answers are bent, and which watches where the program writes.
struct Bent {
    root: Modelled,
    bend: Bend,
    written: BTreeSet<u64>,
}

impl Root for Bent {
    fn config_read(&mut self, ecam: u32) -> Option<u32> {
        let good = self.root.config_read(ecam)?;
        Some((self.bend)(Kind::Config, ecam.into(), good.into()) as u32)
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        self.root.config_write(ecam, value)
    }

    fn memory_read(&mut self, address: u64) -> Option<u32> {
        let good = self.root.memory_read(address)?;
        Some((self.bend)(Kind::Memory, address, good.into()) as u32)
    }

    fn memory_write(&mut self, address: u64, value: u32) -> bool {
        self.written.insert(address);
        self.root.memory_write(address, value)
    }

    fn link_up(&mut self) -> bool {
        self.root.link_up()
    }

    fn bridge_hung(&mut self) -> bool {
        (self.bend)(Kind::Hung, 0, 0) != 0
    }

    fn perst(&mut self, asserted: bool) {
        self.root.perst(asserted);
    }

    fn window_read(&mut self, offset: u16, data: &mut [u8]) {
        self.root.window_read(offset, data);
        for (at, dword) in (u64::from(offset)..)
            .step_by(4)
            .zip(data.chunks_exact_mut(4))
        {
            let good = dword
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte));
            let bent = (self.bend)(Kind::Window, at, good) as u32;
            dword.copy_from_slice(&bent.to_le_bytes());
        }
    }

    fn window_write(&mut self, offset: u16, data: &[u8]) {
        self.root.window_write(offset, data);
    }

    fn now_us(&mut self) -> u64 {
        self.root.now_us()
    }

    fn wait_us(&mut self, us: u64) {
        self.root.wait_us(us);
    }
}

/// What came of a run.
struct Ended {
    end: End,
    drives: Vec<Drive>,
    console: String,
    codes: [u32; 256],
    state: u8,
    ready: u8,
    media_bytes: u64,
    block_shift: u8,
    streamer: Streamer,
    written: BTreeSet<u64>,
}

impl Ended {
    /// The codes that were counted.
    fn counted(&self) -> Vec<u8> {
        let codes = (0..=u8::MAX).zip(self.codes);
        codes
            .filter(|(_, count)| *count > 0)
            .map(|(code, _)| code)
            .collect()
    }
}

fn drives(count: usize) -> Vec<forebay_cosim::Drive> {
    let profile = Profile::builtin("ideal").expect("profile");
    (0..count)
        .map(|_| forebay_cosim::Drive::new(profile.ssd.clone()))
        .collect()
}

fn config(drives: Vec<forebay_cosim::Drive>) -> RootConfig {
    let fabric = Profile::builtin("ideal").expect("profile").fabric;
    let mut config = RootConfig::new(fabric, drives);
    config.link_after = Some(50 * MICROSECOND);
    config
}

fn place() -> Settings {
    Settings {
        reset_us: 100,
        ..settings(64)
    }
}

fn run(config: RootConfig, settings: Settings, bend: Bend) -> Ended {
    run_with(config, settings, bend, None)
}

/// The same with a fault of the streamer.
fn run_with(
    config: RootConfig,
    settings: Settings,
    bend: Bend,
    fault: Option<StreamerFault>,
) -> Ended {
    let program = assemble(PROGRAM).expect("the program assembles");
    let root = Bent {
        root: Modelled::new(Hierarchy::new(config).expect("hierarchy")),
        bend,
        written: BTreeSet::new(),
    };
    let mut spaces = Boot::new(root, settings);
    spaces.streamer().fault = fault;
    let mut running = Interpreter::new(program.words());
    let end = running.run(&mut spaces, INSTRUCTIONS_MOST);
    let told = spaces.told().clone();
    assert_eq!(
        spaces.root().root.stray(),
        0,
        "a drive wrote somewhere else"
    );
    Ended {
        end: end.expect("the program ends within its bounds"),
        drives: Drive::all(spaces.ram()),
        console: spaces.console(),
        codes: told.codes,
        state: told.state,
        ready: told.drives_ready,
        media_bytes: told.media_bytes,
        block_shift: told.block_shift,
        streamer: spaces.streamer().clone(),
        written: std::mem::take(&mut spaces.root().written),
    }
}

/// Nothing is bent.
fn honest() -> Bend {
    Box::new(|_, _, good| good)
}

/// One dword of a kind, at an offset from its place, reads otherwise.
fn at(kind: Kind, address: u64, bent: impl Fn(u64) -> u64 + 'static) -> Bend {
    Box::new(move |of, here, good| match of == kind && here == address {
        true => bent(good),
        false => good,
    })
}

/// A register of the first drive reads otherwise.
fn register(offset: u64, bent: impl Fn(u64) -> u64 + 'static) -> Bend {
    at(Kind::Memory, 0xe000_0000 + offset, bent)
}

/// A dword of Identify reads otherwise, in the completed command of this number.
fn identify(command: u32, offset: u64, bent: impl Fn(u64) -> u64 + 'static) -> Bend {
    let mut completed = 0;
    let mut last = None;
    Box::new(move |kind, here, good| {
        let cq = u64::from(admin::CQ);
        // Dword 3 of a completion entry has the CID below: a new one means a command more.
        if kind == Kind::Window && (here == cq + 12 || here == cq + 28) {
            let cid = good & 0xffff;
            if cid != 0 && Some(cid) > last {
                last = Some(cid);
                completed += 1;
            }
        }
        match kind == Kind::Window
            && completed == command
            && here == u64::from(admin::DATA_PAGE) + offset
        {
            true => bent(good),
            false => good,
        }
    })
}

/// Checks that the run ended with `end`, and counted and showed the code once.
#[track_caller]
fn shows(ended: &Ended, code: Code, end: u8) {
    let number = code.number();
    assert_eq!(ended.end.code, end, "{}", ended.console);
    assert_eq!(ended.codes[usize::from(number)], 1, "{}", ended.console);
    let place = format!(": ERROR {number} at ");
    let lines = ended.console.lines();
    let shown = lines.filter(|line| line.contains(&place));
    assert_eq!(shown.count(), 1, "{}", ended.console);
}

/// The same of a single drive, which is why none is left.
#[track_caller]
fn drive_fails(ended: &Ended, code: Code) {
    shows(ended, code, Code::NoDrive.number());
    assert_eq!(ended.drives[0].code, code.number());
    let both = BTreeSet::from([Code::NoDrive.number(), code.number()]);
    assert!(ended.counted().into_iter().eq(both));
    assert_eq!(ended.ready, 0);
}

fn one(bend: Bend) -> Ended {
    run(config(drives(1)), place(), bend)
}

#[test]
fn drives_come_up_wherever_they_are() {
    for (count, levels) in [(1, 0), (1, 1), (3, 1), (8, 1), (2, 3)] {
        let mut config = config(drives(count));
        let ports = (0..count).map(|drive| (2 * drive as u8, Below::function(drive)));
        if levels > 0 {
            let switch = Below::switch(ports);
            config.below = (1..levels).fold(switch, |below, _| {
                Below::switch([(3, Below::Nothing), (9, below)])
            });
        }
        let ended = run(config, place(), honest());
        assert_eq!(ended.end.code, 0, "{}", ended.console);
        assert_eq!(ended.state, state::READY);
        assert_eq!(ended.ready, u8::MAX >> (8 - count));
        assert_eq!((ended.drives.len(), ended.counted()), (count, vec![]));
        let mut last = 0;
        for drive in &ended.drives {
            assert!(drive.bar > last && drive.bar.is_multiple_of(drive.bar_bytes));
            assert_eq!((drive.code, drive.nsid, drive.block_bytes), (0, 1, 512));
            assert_eq!((drive.entries, drive.model.as_str()), (64, "Forebay ideal"));
            assert!(drive.serial.starts_with("FOREBAY"));
            last = drive.bar + drive.bar_bytes - 1;
        }
        let inside = |at: &u64| {
            let mut drives = ended.drives.iter();
            drives.any(|drive| (drive.bar..drive.bar + drive.bar_bytes).contains(at))
        };
        assert!(
            ended.written.iter().all(inside),
            "a write outside of all BARs"
        );
    }
}

#[test]
fn codes_of_the_tree() {
    let mut none = config(drives(1));
    none.link_after = None;
    shows(&run(none, place(), honest()), Code::NoLink, 1);

    let no_bridge = at(Kind::Config, offset::HEADER_TYPE.into(), |_| 0);
    shows(&one(no_bridge), Code::NoRootPort, 2);

    let mut deep = config(drives(1));
    deep.below = (0..5).fold(Below::function(0), |below, _| Below::switch([(0, below)]));
    shows(&run(deep, place(), honest()), Code::TooDeep, 3);

    let mut wide = config(drives(1));
    let inner = |below| {
        Below::switch(
            (1..32)
                .map(|port| (port, Below::Nothing))
                .chain([(0, below)]),
        )
    };
    wide.below = inner(inner(Below::function(0)));
    shows(&run(wide, place(), honest()), Code::TooManyBuses, 4);

    let mut never = config(drives(2));
    never.below = Below::Device(vec![Endpoint {
        retries: u64::MAX,
        ..Endpoint::new(0, 0)
    }]);
    let ended = run(never, place(), honest());
    shows(&ended, Code::RetryWithoutEnd, Code::NoDrive.number());

    let mut all = config(drives(8));
    let endless = (0..8).map(|number| Endpoint {
        retries: u64::MAX,
        ..Endpoint::new(0, number)
    });
    let below = endless.map(|endpoint| Below::Device(vec![endpoint]));
    all.below = Below::switch((0..).zip(below));
    let ended = run(all, place(), honest());
    assert_eq!((ended.end.code, ended.codes[5]), (5, 8));

    let mut circle = config(Vec::new());
    circle.others = vec![function(&[Bar::Memory64(16 << 10)]).circular_capabilities()];
    circle.below = Below::function(0);
    let ended = run(circle, place(), honest());
    assert_eq!(ended.drives[0].code, Code::CapabilityList.number());
    shows(&ended, Code::CapabilityList, Code::NoDrive.number());

    let small = Settings {
        room_end: place().room_first + (1 << 20),
        ..place()
    };
    let ended = run(config(drives(2)), small, honest());
    shows(&ended, Code::NoRoom, 0);
    assert_eq!(
        (ended.ready, ended.drives[1].code),
        (1, Code::NoRoom.number())
    );

    // The next multiple of its size is behind the room: no window reaches there.
    let mut large = config(Vec::new());
    large.others = vec![function(&[Bar::Memory32(16 << 20)])];
    large.below = Below::function(0);
    let first = place().room_first + (1 << 20);
    let narrow = Settings {
        room_first: first,
        room_end: first + (1 << 20),
        ..place()
    };
    let program = assemble(PROGRAM).expect("the program assembles");
    let root = Modelled::new(Hierarchy::new(large).expect("hierarchy"));
    let mut spaces = Boot::new(root, narrow);
    let end = Interpreter::new(program.words()).run(&mut spaces, INSTRUCTIONS_MOST);
    assert_eq!(end.map(|end| end.code), Some(Code::NoDrive.number()));
    assert_eq!(Drive::all(spaces.ram())[0].code, Code::NoRoom.number());
    let tree = spaces.root().hierarchy().tree_mut();
    assert_eq!(tree.port.bridge.windows().next(), None);
}

/// A function of the class of NVMe controllers that has these BARs and nothing behind them.
fn function(bars: &[Bar]) -> ConfigSpace {
    let identity = Identity {
        vendor: 0x1234,
        device: 0x5678,
        class: CLASS_NVME,
        revision: 0,
    };
    ConfigSpace::with_bars(identity, bars, None)
}

#[test]
fn bars_of_all_kinds() {
    let good = [
        Bar::Memory32(16 << 10),
        Bar::Memory64(16 << 10),
        Bar::Memory32(16 << 20),
        Bar::Memory64(16 << 20),
    ];
    let bad = [
        Bar::Memory32(8 << 10),
        Bar::Memory64(32 << 20),
        Bar::Memory64(1 << 33),
        Bar::Io(256),
    ];
    let of = |bars: &[Bar]| {
        let mut config = config(Vec::new());
        config.others = vec![function(bars)];
        config.below = Below::function(0);
        run(config, place(), honest())
    };
    for bar in good {
        // Nothing is behind it.
        drive_fails(&of(&[bar]), Code::NoAnswer);
    }
    for bar in bad {
        drive_fails(&of(&[bar]), Code::BadBar);
    }
    drive_fails(&of(&[]), Code::BadBar);
}

#[test]
fn codes_of_controllers() {
    let none = run(config(Vec::new()), place(), honest());
    assert_eq!(none.end.code, Code::NoLink.number());
    let mut other = config(Vec::new());
    other.others = vec![ConfigSpace::new(
        Identity {
            vendor: 1,
            device: 2,
            class: 0x02_00_00,
            revision: 0,
        },
        64 << 10,
        None,
    )];
    other.below = Below::function(0);
    shows(&run(other, place(), honest()), Code::NoDrive, 9);

    drive_fails(
        &one(register(nvme::CAP, |_| u32::MAX.into())),
        Code::NoAnswer,
    );
    for (offset, bent) in [
        (nvme::CAP + 4, (|cap| cap & !(1 << 5)) as fn(u64) -> u64),
        (nvme::CAP + 4, |cap| cap | 1 << 16),
        (nvme::CAP + 4, |cap| cap | 15),
        (nvme::CAP, |cap| cap & !0xffff),
    ] {
        drive_fails(&one(register(offset, bent)), Code::Capabilities);
    }
    drive_fails(&one(register(nvme::CSTS, |_| 0)), Code::NotReady);
    drive_fails(&one(register(nvme::CSTS, |csts| csts | 2)), Code::Fatal);
    drive_fails(
        &one(register(nvme::CSTS, |_| u32::MAX.into())),
        Code::NoAnswer,
    );
}

#[test]
fn codes_of_admin_commands() {
    let cq = |dword: u64| u64::from(admin::CQ) + 4 * dword;
    // No completion, one of another command, one that fails.
    drive_fails(&one(at(Kind::Window, cq(3), |_| 0)), Code::AdminLate);
    drive_fails(
        &one(at(Kind::Window, cq(3), |dword| dword ^ 0x8000)),
        Code::AdminLate,
    );
    drive_fails(
        &one(at(Kind::Window, cq(3), |dword| dword | 2 << 17)),
        Code::AdminFailed,
    );

    drive_fails(&one(identify(1, 512, |dword| dword ^ 1)), Code::EntrySizes);
    drive_fails(
        &one(identify(1, 512, |dword| dword ^ 0x100)),
        Code::EntrySizes,
    );
    drive_fails(&one(identify(2, 0, |_| 0)), Code::NoNamespace);
    drive_fails(&one(identify(3, 0, |_| 0)), Code::NoNamespace);
    drive_fails(&one(identify(3, 128, |dword| dword | 8)), Code::Format);
    drive_fails(
        &one(identify(3, 128, |dword| dword ^ 3 << 16)),
        Code::Format,
    );
    // 2^64 bytes and more.
    drive_fails(&one(identify(3, 4, |_| 0x0080_0000)), Code::Format);

    // The first entry of the queue is that of commands 1, 3 and 5: 5 creates the completion queue.
    let refused = Box::new(move |kind, here, good: u64| {
        if kind != Kind::Window || here != cq(3) || good & 0xffff != 5 {
            return good;
        }
        good | 1 << 17
    });
    drive_fails(&one(refused), Code::NoQueue);
}

#[test]
fn data_that_were_not_written_are_none() {
    // The line of SQES reads as it was before: no drive has written it.
    let bend: Bend = Box::new(move |kind, here, good| {
        let line = u64::from(admin::DATA_PAGE) + 512;
        if kind == Kind::Window && (line..line + 64).contains(&here) {
            let text = forebay_seq::boot::UNWRITTEN;
            let first = (here - line) as usize;
            let bytes: [u8; 4] = text[first..first + 4].try_into().expect("a dword");
            return u32::from_le_bytes(bytes).into();
        }
        good
    });
    drive_fails(&one(bend), Code::AdminFailed);
}

#[test]
fn what_happens_to_drives_that_are_watched() {
    let watched = Settings {
        watch: true,
        ..place()
    };
    let mut config_of = config(drives(2));
    config_of.drives[1].faults.fatal_at = Some(20 * MILLISECOND);
    let ended = run(config_of, watched, honest());
    shows(&ended, Code::DriveDied, 23);
    assert_eq!((ended.state, ended.ready), (state::READY, 3));

    let mut falls = config(drives(2));
    falls.below = Below::switch([(0, Below::function(0)), (1, Below::function(1))]);
    let mut hierarchy = Hierarchy::new(falls).expect("hierarchy");
    hierarchy.tree_mut().port.answers_left = Some(300);
    let program = assemble(PROGRAM).expect("the program assembles");
    let mut spaces = Boot::new(Modelled::new(hierarchy), watched);
    let end = Interpreter::new(program.words()).run(&mut spaces, INSTRUCTIONS_MOST);
    assert_eq!(end.map(|end| end.code), Some(22));
    assert_eq!(spaces.told().codes[22], 1);

    let mut reads = 0;
    let hangs: Bend = Box::new(move |kind, _, good| match kind {
        Kind::Hung => {
            reads += 1;
            u64::from(reads > 5)
        }
        _ => good,
    });
    shows(
        &run(config(drives(2)), watched, hangs),
        Code::BridgeHung,
        24,
    );
}

/// What the streamer is told of drives, one after the other: bus address of BAR 0, the doorbells of
/// queue 1, the namespace.
fn told_of_drives(streamer: &Streamer, count: u64) -> Vec<[u64; 3]> {
    let read = |offset| streamer.read(offset).expect("a register");
    let first = [
        read(streamer::sq_doorbell::OFFSET),
        read(streamer::cq_doorbell::OFFSET),
        read(streamer::nsid::OFFSET),
    ];
    let others = (1..count).map(|n| {
        [
            read(streamer::drive_sq_doorbell::of(n)),
            read(streamer::drive_cq_doorbell::of(n)),
            read(streamer::drive_nsid::of(n)),
        ]
    });
    std::iter::once(first).chain(others).collect()
}

#[test]
fn the_streamer_is_told_of_the_drives_that_are_ready() {
    for (count, fails, shift) in [(1, None, 9), (1, None, 12), (3, Some(1), 9), (8, None, 12)] {
        let mut config = config(drives(count));
        for (drive, number) in config.drives.iter_mut().zip(0..) {
            let namespace = &mut drive.profile.namespaces[0];
            (namespace.block_shift, namespace.bytes) = (shift, (64 << 20) + (number << 12));
            drive.profile.controller.mdts = if number == 2 { 3 } else { 0 };
        }
        // Each has a window of 1 MiB of the switch; a controller that reports an error fails.
        let bend = match fails {
            Some(number) => register((number << 20) + nvme::CSTS, |csts| csts | 2),
            None => honest(),
        };
        let ended = run(config, place(), bend);
        assert_eq!(ended.end.code, 0, "{}", ended.console);
        let ready: Vec<_> = ended.drives.iter().filter(|d| d.code == 0).collect();
        assert_eq!(ready.len(), count - usize::from(fails.is_some()));
        let streamer = &ended.streamer;
        let expected = ready.iter().map(|d| [d.bar + 0x1008, d.bar + 0x100c, 1]);
        assert_eq!(
            told_of_drives(streamer, ready.len() as u64),
            expected.collect::<Vec<_>>()
        );
        let read = |offset| streamer.read(offset).expect("a register");
        let bytes = (64 << 20) * ready.len() as u64;
        assert_eq!((ended.media_bytes, ended.block_shift), (bytes, shift));
        assert_eq!(read(streamer::namespace_sectors::OFFSET), bytes / 512);
        assert_eq!(read(streamer::block_shift::OFFSET), u64::from(shift));
        assert_eq!(read(streamer::data_window::OFFSET), place().data_base);
        assert_eq!(read(streamer::queue_entries::OFFSET), 64);
        let pages = if count > 2 { 8 } else { 256 };
        assert_eq!(read(streamer::transfer_pages::OFFSET), pages);
        assert_eq!(read(streamer::timeout_cycles::OFFSET), 1_250_000_000);
        assert_eq!(
            read(streamer::layout::OFFSET),
            0x1f00 | (ready.len() as u64 - 1)
        );
        assert_eq!(read(streamer::enable::OFFSET), 1);
    }
}

/// What is behind the last whole stripe unit is no drive's.
#[test]
fn media_end_with_a_whole_chunk() {
    let mut config = config(drives(1));
    config.drives[0].profile.namespaces[0].bytes = 1000 * 512;
    let ended = run(config, place(), honest());
    assert_eq!(ended.media_bytes, 3 * 128 * 1024);
}

#[test]
fn codes_of_the_streamer() {
    let watched = Settings {
        watch: true,
        ..place()
    };
    let stuck = [
        streamer::sq_doorbell::OFFSET,
        streamer::cq_doorbell::OFFSET,
        streamer::data_window::OFFSET,
        streamer::nsid::OFFSET,
        streamer::drive_sq_doorbell::of(1),
        streamer::drive_cq_doorbell::of(1),
        streamer::drive_nsid::of(1),
        streamer::block_shift::OFFSET,
        streamer::transfer_pages::OFFSET,
        streamer::namespace_sectors::OFFSET,
        streamer::timeout_cycles::OFFSET,
        streamer::queue_entries::OFFSET,
        streamer::layout::OFFSET,
        streamer::enable::OFFSET,
    ];
    let stuck = stuck.map(StreamerFault::Stuck);
    let others = [
        StreamerFault::NeverReady,
        StreamerFault::Halted,
        StreamerFault::Absent,
    ];
    for fault in stuck.into_iter().chain(others) {
        let ended = run_with(config(drives(2)), watched, honest(), Some(fault));
        shows(&ended, Code::Streamer, 20);
        let ready = fault == StreamerFault::Halted;
        assert_eq!(ended.state == state::READY, ready, "{fault:?}");
    }

    let mut mixed = config(drives(2));
    mixed.drives[1].profile.namespaces[0].block_shift = 12;
    let ended = run(mixed, place(), honest());
    shows(&ended, Code::DrivesDiffer, 21);
    assert_eq!(ended.drives[1].code, 21);
    assert_eq!(ended.media_bytes, 0);
    assert_eq!(ended.streamer.read(streamer::enable::OFFSET), Some(0));
}

#[test]
fn drives_that_are_wanted_together() {
    let two = |together| {
        let settings = Settings {
            together,
            ..place()
        };
        run(
            config(drives(2)),
            settings,
            register(nvme::CSTS, |csts| csts | 2),
        )
    };
    let separate = two(false);
    assert_eq!((separate.end.code, separate.ready), (0, 0b10));
    shows(&separate, Code::Fatal, 0);
    let together = two(true);
    assert_eq!((together.ready, together.codes[9]), (0, 1));
    shows(&together, Code::Fatal, 9);
}

/// The link falls at each access in turn, and a drive falls silent at each third one, up to where
/// both are ready before: always a code, never a hang.
#[test]
fn at_each_access() {
    for (link, step) in [(true, 1), (false, 3)] {
        for accesses in (0..).step_by(step) {
            let mut hierarchy = Hierarchy::new(config(drives(2))).expect("hierarchy");
            let tree = hierarchy.tree_mut();
            match link {
                true => tree.port.answers_left = Some(accesses),
                false => tree.endpoint_mut(0).expect("a drive").answers_left = Some(accesses),
            }
            let program = assemble(PROGRAM).expect("the program assembles");
            let mut spaces = Boot::new(Modelled::new(hierarchy), place());
            let mut running = Interpreter::new(program.words());
            let end = running.run(&mut spaces, INSTRUCTIONS_MOST).expect("an end");
            let told = spaces.told();
            match (link, end.code) {
                (true, 0 | 22) | (false, 0) => {}
                (_, code) => panic!("{accesses}, {link}: code {code}\n{}", spaces.console()),
            }
            let found = Drive::all(spaces.ram());
            let good = found
                .iter()
                .rev()
                .fold(0, |all, one| all << 1 | u8::from(one.code == 0));
            assert!(end.code != 0 || told.drives_ready == good);
            let told_all = end.code == 0 && good == 0b11;
            assert_eq!(spaces.root().stray(), 0);
            if told_all {
                break;
            }
            // The other drive does not suffer from it.
            assert!(link || found.last().is_some_and(|drive| drive.code == 0));
        }
    }
}

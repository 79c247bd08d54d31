// SPDX-License-Identifier: Apache-2.0
//! A tree of functions, enumerated as firmware does it: each function is found, and is reached by
//! requests exactly as far as bridges were set. Whatever is written where: no panic.

use std::collections::BTreeMap;
use std::ops::Range;

use forebay_model::pci::{
    AccessError, Bar, Below, ConfigSpace, Endpoint, Function, Identity, Tree,
};
use forebay_spec::pci::{self, PortType, bar, bridge, command, ecam, express, header, offset};
use proptest::prelude::*;

/// Bus addresses that there are for BARs.
const ROOM: Range<u64> = 0x1000_0000..0xf000_0000;
/// Lowest bit of the header type in its register.
const HEADER_SHIFT: u32 = 16;
const ENABLES: u32 = (command::MEMORY_SPACE | command::BUS_MASTER) as u32;

/// What a link leads to. A device is the BARs of each of its functions, by their numbers.
#[derive(Clone, Debug)]
enum Plan {
    Nothing,
    Device(BTreeMap<u8, Vec<Bar>>),
    Switch(BTreeMap<u8, Plan>),
}

fn a_bar() -> impl Strategy<Value = Bar> {
    prop_oneof![
        1 => Just(Bar::Absent),
        1 => (2u32..8).prop_map(|shift| Bar::Io(1 << shift)),
        2 => (14u32..=24).prop_map(|shift| Bar::Memory32(1 << shift)),
        3 => (14u32..=24).prop_map(|shift| Bar::Memory64(1 << shift)),
    ]
}

fn device() -> impl Strategy<Value = Plan> {
    let bars = || prop::collection::vec(a_bar(), 0..4);
    let more = prop_oneof![
        3 => Just(BTreeMap::new()).boxed(),
        1 => prop::collection::btree_map(1u8..8, bars(), 1..4).boxed(),
    ];
    (bars(), more).prop_map(|(first, mut functions)| {
        functions.insert(0, first);
        Plan::Device(functions)
    })
}

/// Trees of up to four links, one below the other.
fn plans() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![1 => Just(Plan::Nothing), 4 => device()];
    leaf.prop_recursive(3, 16, 4, |plan| {
        let device = prop_oneof![0u8..4, 0u8..32];
        prop::collection::btree_map(device, plan, 0..5).prop_map(Plan::Switch)
    })
}

/// Adds a plan's functions, whose device number is their index.
fn build(plan: &Plan, functions: &mut Vec<ConfigSpace>) -> Below {
    match plan {
        Plan::Nothing => Below::Nothing,
        Plan::Device(device) => {
            let endpoints = device.iter().map(|(number, bars)| {
                let index = functions.len();
                let function = function(index, bars);
                functions.push(match device.len() {
                    1 => function,
                    _ => function.multi_function(),
                });
                Endpoint::new(*number, index)
            });
            Below::Device(endpoints.collect())
        }
        Plan::Switch(ports) => {
            let ports = ports
                .iter()
                .map(|(device, plan)| (*device, build(plan, functions)));
            Below::switch(ports.collect::<Vec<_>>())
        }
    }
}

fn function(index: usize, bars: &[Bar]) -> ConfigSpace {
    let identity = Identity {
        vendor: 0x1234,
        device: index as u16,
        class: [pci::CLASS_NVME, pci::CLASS_ETHERNET][index % 2],
        revision: 0,
    };
    ConfigSpace::with_bars(identity, bars, None)
}

/// A function as the enumeration found it.
#[derive(Debug)]
struct FoundFunction {
    /// ECAM addresses of the bridges above it, and its own.
    above: Vec<u32>,
    at: u32,
    index: usize,
    bars: Vec<Range<u64>>,
}

/// Depth-first enumeration: bus numbers, windows, BARs, enables.
struct Firmware<'a> {
    tree: &'a mut Tree,
    functions: &'a mut [ConfigSpace],
    next_bus: u32,
    room: u64,
    above: Vec<u32>,
    found: Vec<FoundFunction>,
}

impl<'a> Firmware<'a> {
    fn new(tree: &'a mut Tree, functions: &'a mut [ConfigSpace]) -> Self {
        Self {
            tree,
            functions,
            next_bus: 1,
            room: ROOM.start,
            above: Vec::new(),
            found: Vec::new(),
        }
    }

    fn read(&mut self, at: u32) -> u32 {
        let answer = self.tree.config_read(at, self.functions);
        answer.unwrap_or_else(|error| error.dword(at))
    }

    fn write(&mut self, at: u32, value: u32) {
        let done = self.tree.config_write(at, value, self.functions);
        assert_eq!(done, Ok(()), "write at {at:#x}");
    }

    /// Takes room of a size, aligned to it.
    fn take(&mut self, bytes: u64) -> u64 {
        let base = self.room.next_multiple_of(bytes);
        self.room = base + bytes;
        assert!(self.room <= ROOM.end);
        base
    }

    fn align(&mut self) -> u64 {
        self.room = self.room.next_multiple_of(bridge::WINDOW_GRANULE);
        self.room
    }

    /// All functions of one device.
    fn scan_device(&mut self, device: u32) {
        for number in 0..8 {
            let at = device | number << ecam::FUNCTION_SHIFT;
            let ids = self.read(at);
            if ids as u16 == pci::VENDOR_NONE {
                if number == 0 {
                    return;
                }
                continue;
            }
            let header_type =
                (self.read(at + u32::from(offset::HEADER_TYPE)) >> HEADER_SHIFT) as u8;
            match header_type & header::LAYOUT {
                header::TYPE_1 => self.bridge(at),
                _ => self.function(at, (ids >> 16) as usize),
            }
            if number == 0 && header_type & header::MULTI_FUNCTION == 0 {
                return;
            }
        }
    }

    fn bridge(&mut self, at: u32) {
        let bus = self.next_bus;
        self.next_bus += 1;
        let numbers = at >> ecam::BUS_SHIFT | bus << 8;
        self.write(at + u32::from(bridge::BUS_NUMBERS), numbers | 0xff << 16);
        let base = self.align();
        let capability = self.read(at + u32::from(offset::CAPABILITIES)) & 0xfc;
        let port_type = self.read(at + capability) >> express::PORT_TYPE_SHIFT & 0xf;
        // A link has one device, the bus inside a switch has 32.
        let inside = port_type as u8 == PortType::UpstreamPort.number();
        self.above.push(at);
        for device in 0..if inside { 32 } else { 1 } {
            self.scan_device(bus << ecam::BUS_SHIFT | device << ecam::DEVICE_SHIFT);
        }
        self.above.pop();
        let end = self.align();
        let last = self.next_bus - 1;
        self.write(at + u32::from(bridge::BUS_NUMBERS), numbers | last << 16);
        let window = match base == end {
            true => 0x0000_fff0,
            false => (base >> 16) as u32 | (end - 1) as u32 & 0xfff0_0000,
        };
        self.write(at + u32::from(bridge::MEMORY), window);
        self.write(at + u32::from(bridge::PREFETCHABLE), 0x0000_fff0);
        self.write(at + u32::from(offset::COMMAND), ENABLES);
    }

    fn function(&mut self, at: u32, index: usize) {
        let mut bars = Vec::new();
        let mut register = at + u32::from(offset::BAR0);
        let end = register + 4 * u32::from(bar::COUNT);
        while register < end {
            self.write(register, u32::MAX);
            let mask = self.read(register);
            let wide = mask & bar::IO == 0 && mask & bar::MEMORY_64 != 0;
            let bytes = u64::from((mask & !bar::FLAGS).wrapping_neg());
            if mask & bar::IO == 0 && bytes != 0 {
                let base = self.take(bytes);
                self.write(register, base as u32);
                bars.push(base..base + bytes);
            }
            if wide {
                self.write(register + 4, 0);
            }
            register += if wide { 8 } else { 4 };
        }
        self.write(at + u32::from(offset::COMMAND), ENABLES);
        self.found.push(FoundFunction {
            above: self.above.clone(),
            at,
            index,
            bars,
        });
    }
}

/// Enumerates all.
fn enumerate(tree: &mut Tree, functions: &mut [ConfigSpace]) -> Vec<FoundFunction> {
    let mut firmware = Firmware::new(tree, functions);
    firmware.scan_device(0);
    assert!(firmware.next_bus <= 256);
    firmware.found
}

/// The functions' BARs, by their addresses.
fn placed<'a>(found: impl IntoIterator<Item = &'a FoundFunction>) -> Vec<(u64, u64, usize)> {
    let each = |found: &'a FoundFunction| {
        let bars = found.bars.iter();
        bars.map(|bar| (bar.start, bar.end, found.index))
    };
    let mut placed: Vec<_> = found.into_iter().flat_map(each).collect();
    placed.sort();
    placed
}

/// The same by the tree.
fn reached(tree: &Tree, functions: &[ConfigSpace]) -> Vec<(u64, u64, usize)> {
    let memory = tree.memory(functions);
    let mut reached: Vec<_> = memory
        .into_iter()
        .map(|(range, index)| (range.start, range.end, index))
        .collect();
    reached.sort();
    reached
}

/// Where routes may change: ends of BARs, and of the room.
fn edges(found: &[FoundFunction]) -> Vec<u64> {
    let bars = found.iter().flat_map(|found| &found.bars);
    let edges = bars.flat_map(|bar| [bar.start - 1, bar.start, bar.end - 1, bar.end]);
    edges
        .chain([0, ROOM.start - 1, ROOM.end, u64::MAX])
        .collect()
}

/// Holds memory requests against what they should reach.
fn check_routes(
    tree: &mut Tree,
    functions: &[ConfigSpace],
    edges: &[u64],
    expected: &[(u64, u64, usize)],
) {
    assert_eq!(reached(tree, functions), expected);
    for address in edges {
        let expected = expected
            .iter()
            .find(|(start, end, _)| (start..end).contains(&address));
        let expected = expected.map(|(_, _, index)| *index);
        let routed = tree.route(*address, functions);
        assert_eq!(routed.ok(), expected, "address {address:#x}");
    }
}

fn drive(index: usize) -> ConfigSpace {
    function(index, &[Bar::Memory64(0x4000)])
}

/// A switch with drives at its ports 1 and 4, and an empty port 2.
fn two_drives() -> (Tree, Vec<ConfigSpace>) {
    let ports = [
        (1, Below::function(0)),
        (2, Below::Nothing),
        (4, Below::function(1)),
    ];
    (Tree::below(Below::switch(ports)), vec![drive(0), drive(1)])
}

/// ECAM address of function 0 of a device.
const fn ecam(bus: u32, device: u32) -> u32 {
    bus << ecam::BUS_SHIFT | device << ecam::DEVICE_SHIFT
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn all_functions_are_found_and_reached(plan in plans()) {
        let mut functions = Vec::new();
        let mut tree = Tree::below(build(&plan, &mut functions));
        prop_assert!(tree.memory(&functions).is_empty());
        let found = enumerate(&mut tree, &mut functions);
        let mut indices: Vec<_> = found.iter().map(|found| found.index).collect();
        indices.sort();
        prop_assert_eq!(indices, Vec::from_iter(0..functions.len()));
        let edges = edges(&found);
        check_routes(&mut tree, &functions, &edges, &placed(&found));
        for found in &found {
            prop_assert!(tree.upstream(found.index));
        }

        // Each bridge in turn forwards nothing, each function answers nowhere.
        let bridges = found.iter().flat_map(|found| found.above.iter().copied());
        for at in bridges.chain(found.iter().map(|found| found.at)) {
            let command = at + u32::from(offset::COMMAND);
            let enables = tree.config_read(command, &functions).unwrap() & 0xffff;
            tree.config_write(command, enables & u32::from(command::BUS_MASTER), &mut functions)
                .unwrap();
            let others = found
                .iter()
                .filter(|found| found.at != at && !found.above.contains(&at));
            check_routes(&mut tree, &functions, &edges, &placed(others));
            tree.config_write(command, enables & u32::from(command::MEMORY_SPACE), &mut functions)
                .unwrap();
            check_routes(&mut tree, &functions, &edges, &placed(&found));
            for found in &found {
                prop_assert_eq!(tree.upstream(found.index), !found.above.contains(&at));
            }
            tree.config_write(command, enables, &mut functions).unwrap();
        }

        // The link falls and comes again: all below has been reset, and can be found again.
        tree.set_link(false, &mut functions);
        check_routes(&mut tree, &functions, &edges, &[]);
        tree.set_link(true, &mut functions);
        check_routes(&mut tree, &functions, &edges, &[]);
        let again = enumerate(&mut tree, &mut functions);
        prop_assert_eq!(placed(&again), placed(&found));
    }
}

/// One access, as bad software makes it.
#[derive(Clone, Debug)]
enum Access {
    Read(u32),
    Write(u32, u32),
    Route(u64),
    Link(bool),
    Faults(usize, u64, Option<u64>),
    PortFault(Option<u64>),
}

fn accesses() -> impl Strategy<Value = Access> {
    let near = (0u32..5, 0u32..4, 0u32..2, 0u32..0x60);
    let near = near.prop_map(|(bus, device, number, at)| {
        ecam(bus, device) | number << ecam::FUNCTION_SHIFT | at
    });
    let address = prop_oneof![4 => near, 1 => any::<u32>()];
    let value = prop_oneof![
        any::<u32>(),
        Just(ENABLES),
        Just(u32::MAX),
        (0u32..4, 0u32..4).prop_map(|(first, more)| first << 8 | (first + more) << 16),
        (0u32..4).prop_map(|part| part << 20 | 0xfff0_0000),
    ];
    let left = || prop::option::of(0u64..20);
    prop_oneof![
        10 => address.clone().prop_map(Access::Read),
        30 => (address, value).prop_map(|(at, value)| Access::Write(at, value)),
        10 => prop_oneof![any::<u64>(), 0u64..1 << 32].prop_map(Access::Route),
        1 => any::<bool>().prop_map(Access::Link),
        1 => (0usize..8, 0u64..4, left()).prop_map(|(index, retries, left)| {
            Access::Faults(index, retries, left)
        }),
        1 => left().prop_map(Access::PortFault),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_accesses_are_survived(
        plan in plans(),
        set_up: bool,
        missing in 0usize..3,
        accesses in prop::collection::vec(accesses(), 0..200),
    ) {
        let mut functions = Vec::new();
        let mut tree = Tree::below(build(&plan, &mut functions));
        if set_up {
            enumerate(&mut tree, &mut functions);
        }
        // Some that the tree names are not there.
        functions.truncate(functions.len().saturating_sub(missing));
        let identity = tree.config_read(0, &functions);
        for access in accesses {
            match access {
                Access::Read(at) => {
                    if let Err(error) = tree.config_read(at, &functions) {
                        prop_assert_eq!(error.dword(at) >> 16, 0xffff);
                    }
                }
                Access::Write(at, value) => {
                    let _ = tree.config_write(at, value, &mut functions);
                }
                Access::Route(address) => {
                    let memory = tree.memory(&functions);
                    let expected = memory.iter().find(|(range, _)| range.contains(&address));
                    if let Ok(index) = tree.route(address, &functions) {
                        prop_assert_eq!(Some(index), expected.map(|(_, index)| *index));
                    }
                }
                Access::Link(up) => tree.set_link(up, &mut functions),
                Access::Faults(index, retries, left) => {
                    if let Some(endpoint) = tree.endpoint_mut(index) {
                        (endpoint.retries, endpoint.answers_left) = (retries, left);
                    }
                }
                Access::PortFault(left) => tree.port.answers_left = left,
            }
            prop_assert_eq!(tree.config_read(0, &functions), identity);
        }
    }
}

#[test]
fn requests_go_by_bus_numbers() {
    let (mut tree, mut functions) = two_drives();
    // Bridges that are not set up: only the root port is there, alone on its bus.
    for at in [ecam(0, 1), 1 << ecam::FUNCTION_SHIFT] {
        assert_eq!(
            tree.config_read(at, &functions),
            Err(AccessError::Unsupported)
        );
    }
    for bus in 1..256 {
        let answer = tree.config_read(ecam(bus, 0), &functions);
        assert_eq!(answer, Err(AccessError::NoBus));
    }
    assert_eq!(
        tree.config_read(ecam::BYTES, &functions),
        Err(AccessError::NoBus)
    );
    assert_eq!(tree.port.accesses, 0);

    enumerate(&mut tree, &mut functions);
    // Switch on bus 1, its inside is bus 2, its ports lead to buses 3 (drive), 4 (nothing), 5.
    let id = |tree: &mut Tree, at| tree.config_read(at, &functions).map(|ids| ids >> 16);
    let nothing = Err(AccessError::Unsupported);
    assert_eq!(id(&mut tree, ecam(1, 0)), Ok(0x105));
    assert_eq!(id(&mut tree, ecam(1, 1)), nothing);
    for device in 0..32 {
        let port = if [1, 2, 4].contains(&device) {
            Ok(0x106)
        } else {
            nothing
        };
        assert_eq!(id(&mut tree, ecam(2, device)), port);
    }
    // Each device has one function.
    for at in [ecam(1, 0), ecam(2, 1), ecam(3, 0)] {
        for number in 1..8 {
            assert_eq!(id(&mut tree, at | number << ecam::FUNCTION_SHIFT), nothing);
        }
    }
    assert_eq!(id(&mut tree, ecam(3, 0)), Ok(0));
    assert_eq!(id(&mut tree, ecam(3, 1)), nothing);
    assert_eq!(id(&mut tree, ecam(4, 0)), nothing);
    assert_eq!(id(&mut tree, ecam(5, 0)), Ok(1));
    assert_eq!(id(&mut tree, ecam(6, 0)), Err(AccessError::NoBus));

    // A bus that only the root port has goes no further than the switch.
    let numbers = u32::from(bridge::BUS_NUMBERS);
    tree.config_write(numbers, 0x0007_0100, &mut functions)
        .unwrap();
    assert_eq!(tree.config_read(ecam(6, 0), &functions), nothing);
    // A bridge whose subordinate number is too low hides what is below.
    tree.config_write(ecam(1, 0) + numbers, 0x0004_0201, &mut functions)
        .unwrap();
    assert!(tree.config_read(ecam(3, 0), &functions).is_ok());
    assert_eq!(tree.config_read(ecam(5, 0), &functions), nothing);
    // A drive has no buses below it.
    tree.config_write(ecam(2, 1) + numbers, 0x0004_0302, &mut functions)
        .unwrap();
    assert_eq!(tree.config_read(ecam(4, 0), &functions), nothing);
}

#[test]
fn a_link_tells_whether_it_is_up() {
    let (mut tree, mut functions) = two_drives();
    enumerate(&mut tree, &mut functions);
    let active = |tree: &mut Tree, at: u32| {
        let at = at + 0x40 + u32::from(express::LINK_CONTROL);
        let status = (tree.config_read(at, &functions).unwrap() >> 16) as u16;
        assert_eq!(status & !express::LINK_ACTIVE, 0x43);
        status & express::LINK_ACTIVE != 0
    };
    let ports = [0, ecam(2, 1), ecam(2, 2), ecam(2, 4)];
    assert_eq!(
        ports.map(|at| active(&mut tree, at)),
        [true, true, false, true]
    );
    // That of an upstream port is told by the port above.
    assert!(!active(&mut tree, ecam(1, 0)));

    let mut empty = Tree::below(Below::Nothing);
    empty.set_link(true, &mut [] as &mut [ConfigSpace]);
    assert!(!empty.link_up() && !active(&mut empty, 0));
}

#[test]
fn a_function_that_is_not_ready_answers_with_retry() {
    let (mut tree, mut functions) = two_drives();
    enumerate(&mut tree, &mut functions);
    tree.endpoint_mut(0).unwrap().retries = 3;
    let drive = ecam(3, 0);
    let error = tree.config_read(drive, &functions).unwrap_err();
    assert_eq!((error, error.dword(0)), (AccessError::Retry, 0xffff_0001));
    assert_eq!(error.dword(offset::COMMAND.into()), u32::MAX);
    let write = tree.config_write(drive + 4, 0, &mut functions);
    assert_eq!(write, Err(AccessError::Retry));
    // Its neighbour does not wait for it.
    assert!(tree.config_read(ecam(5, 0), &functions).is_ok());
    assert_eq!(tree.config_read(drive, &functions), Err(AccessError::Retry));
    assert!(tree.config_read(drive, &functions).is_ok());
    // What was written meanwhile is lost.
    assert_eq!(functions[0].read(offset::COMMAND) & ENABLES, ENABLES);
    tree.endpoint_mut(1).unwrap().retries = u64::MAX;
    for _ in 0..1000 {
        let answer = tree.config_read(ecam(5, 0), &functions);
        assert_eq!(answer, Err(AccessError::Retry));
    }
}

#[test]
fn a_function_ceases_to_answer() {
    let (mut tree, mut functions) = two_drives();
    let bar = enumerate(&mut tree, &mut functions)[0].bars[0].start;
    tree.endpoint_mut(0).unwrap().answers_left = Some(2);
    assert_eq!(tree.route(bar, &functions), Ok(0));
    assert!(tree.config_read(ecam(3, 0), &functions).is_ok());
    let error = tree.config_read(ecam(3, 0), &functions).unwrap_err();
    assert_eq!(
        (error, error.dword(0)),
        (AccessError::Unsupported, u32::MAX)
    );
    assert_eq!(tree.route(bar, &functions), Err(AccessError::Unsupported));
    let write = tree.config_write(ecam(3, 0) + 4, 0, &mut functions);
    assert_eq!(write, Err(AccessError::Unsupported));
    assert_eq!(functions[0].read(offset::COMMAND) & ENABLES, ENABLES);
    assert!(tree.memory(&functions).iter().all(|(_, index)| *index == 1));
    assert!(tree.config_read(ecam(5, 0), &functions).is_ok() && tree.link_up());
}

#[test]
fn a_link_goes_down() {
    let (mut tree, mut functions) = two_drives();
    let bar = enumerate(&mut tree, &mut functions)[1].bars[0].start;
    let before = tree.port.accesses;
    tree.port.answers_left = Some(2);
    assert_eq!(tree.route(bar, &functions), Ok(1));
    assert!(tree.link_up() && tree.upstream(1));
    assert!(tree.config_read(ecam(5, 0), &functions).is_ok());
    assert_eq!(tree.port.accesses, before + 2);
    assert!(!tree.link_up() && !tree.upstream(1));
    assert_eq!(
        tree.config_read(ecam(5, 0), &functions),
        Err(AccessError::LinkDown)
    );
    assert_eq!(tree.route(bar, &functions), Err(AccessError::LinkDown));
    assert!(tree.memory(&functions).is_empty());
    // The port itself is above the link, and keeps what was set.
    assert_eq!(
        tree.config_read(bridge::BUS_NUMBERS.into(), &functions),
        Ok(0x0005_0100)
    );
    tree.set_link(true, &mut functions);
    assert!(tree.link_up() && !tree.upstream(1));
    assert!(
        functions
            .iter()
            .all(|function| function.memory().is_empty())
    );
    assert!(tree.config_read(ecam(1, 0), &functions).is_ok());
    assert_eq!(
        tree.config_read(ecam(5, 0), &functions),
        Err(AccessError::Unsupported)
    );

    // In the middle of an access; then it is that of a port of the switch.
    tree.port.answers_left = Some(0);
    assert_eq!(
        tree.config_read(ecam(1, 0), &functions),
        Err(AccessError::LinkDown)
    );
    tree.set_link(true, &mut functions);
    enumerate(&mut tree, &mut functions);
    let Below::Switch(switch) = &mut tree.port.below else {
        panic!("a switch");
    };
    switch.ports[2].1.answers_left = Some(0);
    assert_eq!(
        tree.config_read(ecam(5, 0), &functions),
        Err(AccessError::Unsupported)
    );
    assert!(tree.link_up() && !tree.upstream(1) && tree.upstream(0));
    assert_eq!(tree.route(bar, &functions), Err(AccessError::Unsupported));
}

#[test]
fn functions_of_several_kinds_are_in_one_tree() {
    let profile = forebay_model::Profile::builtin("ideal").unwrap();
    let medium = forebay_model::Medium::in_memory(profile.ssd.bytes());
    let mut ssd = forebay_model::Ssd::new(&profile.ssd, medium, 1).unwrap();
    ssd.offer_payload(256);
    let mut functions: Vec<Box<dyn Function>> = vec![Box::new(ssd), Box::new(drive(1))];
    let ports = [(0, Below::function(0)), (1, Below::function(1))];
    let mut tree = Tree::below(Below::switch(ports));
    let mut write = |at: u32, value| tree.config_write(at, value, &mut functions).unwrap();
    let numbers = u32::from(bridge::BUS_NUMBERS);
    for (at, buses, window) in [
        (ecam(0, 0), 0x0004_0100, 0xe010_e000),
        (ecam(1, 0), 0x0004_0201, 0xe010_e000),
        (ecam(2, 0), 0x0003_0302, 0xe000_e000),
        (ecam(2, 1), 0x0004_0402, 0xe010_e010),
    ] {
        write(at + numbers, buses);
        write(at + u32::from(bridge::MEMORY), window);
        write(at + u32::from(offset::COMMAND), ENABLES);
    }
    for (at, bar) in [(ecam(3, 0), 0xe000_0000), (ecam(4, 0), 0xe010_0000)] {
        write(at + u32::from(offset::BAR0), bar);
        write(at + u32::from(offset::COMMAND), ENABLES);
    }
    let control = ecam(3, 0) + 0x40 + u32::from(express::DEVICE_CONTROL);
    write(control, 1 << express::PAYLOAD_SHIFT);
    assert_eq!(
        tree.config_read(control, &functions),
        Ok(1 << express::PAYLOAD_SHIFT)
    );
    assert_eq!(tree.route(0xe000_1000, &functions), Ok(0));
    assert_eq!(tree.route(0xe010_0000, &functions), Ok(1));
    tree.set_link(false, &mut functions);
    tree.set_link(true, &mut functions);
    assert!(functions[0].memory().is_empty());
}

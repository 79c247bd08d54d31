// SPDX-License-Identifier: Apache-2.0
//! The card with a host port: the driver writes and reads through BAR 0, and nothing else does.

use std::io::{Cursor, Error as IoError, Read, sink};
use std::path::Path;
use std::time::Duration;

use crate::common::{profile, shaken, system};
use forebay_cosim::{Config, Error, FPGA, Stall, Stalls, System, rtl};
use forebay_driver::host_port::Ended;
use forebay_driver::{Bus, Error as DriverError, HostPort, Streamer};
use forebay_model::{FaultAction, FaultPlan, Trigger};
use forebay_spec::host_port::regs;
use forebay_spec::streamer::bar0;
use forebay_spec::streamer::user::{ReadCommand, WriteCommand};
use forebay_spec::streamer::{UserError, regs as streamer_regs};

const LIMIT: Duration = Duration::from_millis(20);
/// For what is known not to happen.
const SHORT: Duration = Duration::from_millis(1);
/// Bytes that go into the staging window at a time: eight pages each way.
const ROOM: usize = 8 * 4096;

fn host() -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Config::new(rtl::host(&root, 64, 256, 16), profile("ideal"))
}

/// Cards with their payload elsewhere.
fn others() -> [Config; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cards = [rtl::host_dram, rtl::host_hostdram];
    cards.map(|card| Config::new(card(&root, 64, 16), profile("ideal")))
}

fn attach(system: &mut System) -> HostPort {
    let place = (bar0::HOST_CONTROL, bar0::HOST);
    let port = HostPort::attach(system, FPGA, 0, place.0, place.1).expect("reads");
    port.expect("a host port")
}

fn random(number: &mut impl FnMut() -> u64, length: usize) -> Vec<u8> {
    (0..length).map(|_| number() as u8).collect()
}

fn write(system: &mut System, port: &HostPort, address: u64, data: &[u8]) -> Ended {
    let command = WriteCommand::new(address);
    let ended = port.write(system, command, &mut &data[..], LIMIT);
    ended.unwrap_or_else(|error| panic!("{error}: {}", error.remedy()))
}

fn read(system: &mut System, port: &HostPort, address: u64, length: u64) -> (Vec<u8>, Ended) {
    let mut data = Vec::new();
    let ended = port.read(system, ReadCommand::new(address, length), &mut data, LIMIT);
    let ended = ended.unwrap_or_else(|error| panic!("{error}: {}", error.remedy()));
    assert_eq!(data.len() as u64, ended.bytes);
    (data, ended)
}

fn there_and_back(system: &mut System, port: &HostPort, address: u64, data: &[u8]) {
    let bytes = data.len() as u64;
    let good = Ended { bytes, error: None };
    assert_eq!(write(system, port, address, data), good);
    let stored = system.ssd().medium().read(address, data.len());
    assert!(*stored.expect("readable") == *data, "{bytes} bytes");
    assert!(
        read(system, port, address, bytes) == (data.to_vec(), good),
        "{bytes} bytes"
    );
}

#[test]
fn what_the_host_writes_it_reads_back() {
    let [dram, hostdram] = others();
    let cards = [host(), host(), dram, hostdram].into_iter().zip(1..);
    let stalls = [Stall::NONE, Stall::new(0.2, 8)].into_iter().cycle();
    for ((mut config, seed), stalls) in cards.zip(stalls) {
        (config.seed, config.stalls) = (seed, Stalls::everywhere(stalls));
        let mut system = system(config);
        let port = attach(&mut system);
        assert_eq!(port.staging(), (ROOM as u64, ROOM as u64));
        let mut number = shaken(seed);
        // The command goes before the data, so that whole parts are 64 bytes less.
        let edges = [
            1,
            7,
            8,
            9,
            63,
            64,
            65,
            511,
            513,
            ROOM - 65,
            ROOM - 64,
            ROOM - 63,
            ROOM,
        ];
        let odd = [ROOM + 1, 2 * ROOM - 64, 3 * ROOM + 777];
        for (place, length) in edges.into_iter().chain(odd).enumerate() {
            let data = random(&mut number, length);
            there_and_back(&mut system, &port, (place as u64) << 20, &data);
        }
        assert_eq!(system.stats().refused, 0);
        assert_eq!(system.stats().stray_writes, 0);
        system.shutdown(&mut |_| {}).expect("shuts down");
    }
}

#[test]
fn refusals_are_codes_and_disturb_nothing() {
    let mut system = system(host());
    let port = attach(&mut system);
    let end = 512 * system.session().expect("up").facts().namespace.sectors;
    let data = [7; 1000];
    for (address, data, error) in [
        (7, &data[..], UserError::Misaligned),
        (0, &[], UserError::ZeroLength),
        (end, &data, UserError::OutOfRange),
        (!511, &data, UserError::OutOfRange),
    ] {
        assert_eq!(write(&mut system, &port, address, data).error, Some(error));
        there_and_back(&mut system, &port, 1 << 20, data_or_one(data));
    }
    for (address, length, error) in [
        (7, 64, UserError::Misaligned),
        (0, 0, UserError::ZeroLength),
        (end - 512, 513, UserError::OutOfRange),
    ] {
        let (data, ended) = read(&mut system, &port, address, length);
        assert_eq!((data.len(), ended.error), (0, Some(error)));
        there_and_back(&mut system, &port, 1 << 20, &[1; 100]);
    }
    let unordered = ReadCommand {
        unordered: Some(0xa5),
        ..ReadCommand::new(1 << 20, 100)
    };
    let mut back = Vec::new();
    let ended = port.read(&mut system, unordered, &mut back, LIMIT);
    assert_eq!((ended.expect("reads").error, back), (None, vec![1; 100]));
}

fn data_or_one(data: &[u8]) -> &[u8] {
    if data.is_empty() { &[1] } else { data }
}

#[test]
fn a_drive_that_is_silent_ends_in_an_error_that_says_so_and_is_cleared() {
    let mut config = host();
    config.driver.timeout_cycles = 0;
    config.faults = FaultPlan::none()
        .once(Trigger::Nth(1), FaultAction::Drop)
        .once(Trigger::Nth(2), FaultAction::Drop);
    let mut system = system(config);
    let port = attach(&mut system);
    let command = WriteCommand::new(0);
    let error = port
        .write(&mut system, command, &mut &[1_u8; 4096][..], SHORT)
        .expect_err("no completion");
    let said = error.to_string();
    assert!(
        said.starts_with("the response to a write did not happen within 1ms"),
        "{said}"
    );
    // The streamer still waits for the drive: nothing can be cleared yet.
    let streamer = streamer(&system);
    let error = port
        .clear(&mut system, &streamer, SHORT)
        .expect_err("is not at rest");
    assert!(matches!(error, DriverError::Timeout { .. }), "{error}");
    system.recover(&mut |_| {}).expect("recovers");
    port.clear(&mut system, &streamer, LIMIT).expect("clears");
    let command = ReadCommand::new(0, 4096);
    let error = port
        .read(&mut system, command, &mut sink(), SHORT)
        .expect_err("no completion");
    assert!(
        error.to_string().starts_with("data read did not happen"),
        "{error}"
    );
    system.recover(&mut |_| {}).expect("recovers");
    port.clear(&mut system, &streamer, LIMIT).expect("clears");
    there_and_back(&mut system, &port, 0, &[3; 5000]);
}

fn streamer(system: &System) -> Streamer {
    let session = system.session().expect("is up");
    session.streamer().expect("in the FPGA").clone()
}

/// Fails after its bytes.
struct Breaks(Cursor<Vec<u8>>);

impl Read for Breaks {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, IoError> {
        match self.0.read(buffer)? {
            0 => Err(IoError::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_write_whose_source_breaks_is_spoiled_and_stores_nothing_of_its_end() {
    let mut system = system(host());
    let port = attach(&mut system);
    let streamer = streamer(&system);
    let mut data = Breaks(Cursor::new(vec![5; 2 * ROOM]));
    let error = port
        .write(&mut system, WriteCommand::new(0), &mut data, LIMIT)
        .expect_err("breaks");
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    let error = port
        .write(
            &mut system,
            WriteCommand::new(0),
            &mut &[1_u8; 9][..],
            LIMIT,
        )
        .expect_err("the packet is still open");
    assert!(error.to_string().contains("`status` = 0x2"), "{error}");
    port.clear(&mut system, &streamer, LIMIT).expect("clears");
    let cause = streamer.error_cause(&mut system).expect("reads");
    assert_eq!(
        cause.map(|cause| cause.code),
        Some(UserError::BadKeep.code())
    );
    there_and_back(&mut system, &port, 0, &[9; 3000]);
}

#[test]
fn nothing_else_is_taken_for_a_host_port() {
    let mut system = system(host());
    for (control, window) in [(bar0::CONTROL, bar0::HOST), (bar0::HOST, bar0::HOST)] {
        let found = HostPort::attach(&mut system, FPGA, 0, control, window).expect("reads");
        assert!(found.is_none());
    }
    let found = HostPort::attach(&mut system, FPGA, 0, bar0::BYTES, 0);
    assert!(found.is_err(), "outside the BAR");
    // A window that is elsewhere is noticed before anything is sent.
    let nowhere = bar0::HOST - 0x1000;
    let port = HostPort::attach(&mut system, FPGA, 0, bar0::HOST_CONTROL, nowhere);
    let port = port.expect("reads").expect("is there");
    let error = port
        .write(
            &mut system,
            WriteCommand::new(0),
            &mut &[1_u8; 9][..],
            LIMIT,
        )
        .expect_err("the staging window is missing");
    assert!(error.to_string().contains("staging window"), "{error}");
    // A card without a host port.
    let mut other = crate::common::system(crate::common::onchip());
    let found = HostPort::attach(&mut other, FPGA, 0, bar0::HOST_CONTROL, bar0::HOST);
    assert!(found.expect("reads").is_none());
}

#[test]
fn a_refused_action_is_said_and_the_port_is_not_taken_for_resting() {
    let mut system = system(host());
    let port = attach(&mut system);
    let at = bar0::HOST_CONTROL + regs::write::OFFSET;
    system.bar_write64(FPGA, 0, at, 0).expect("writes");
    let error = port
        .write(
            &mut system,
            WriteCommand::new(0),
            &mut &[1_u8; 9][..],
            LIMIT,
        )
        .expect_err("another driver was here");
    assert!(error.to_string().contains("`refused` = 0x2"), "{error}");
    let streamer = streamer(&system);
    port.clear(&mut system, &streamer, LIMIT).expect("clears");
    there_and_back(&mut system, &port, 0, &[3; 100]);
    // While the streamer is disabled nothing is taken, and that is said.
    streamer.stop(&mut system).expect("stops");
    let error = port
        .write(
            &mut system,
            WriteCommand::new(0),
            &mut &[1_u8; 9][..],
            SHORT,
        )
        .expect_err("the streamer is disabled");
    assert!(
        error
            .to_string()
            .starts_with("the streamer to take a write"),
        "{error}"
    );
    let status = system.bar_read64(FPGA, 0, bar0::CONTROL + streamer_regs::status::OFFSET);
    assert_eq!(
        streamer_regs::status::ENABLED.get(status.expect("reads")),
        0
    );
}

#[test]
fn transactions_for_streams_that_are_not_there_are_refused() {
    let mut system = system(host());
    system.submit_write(forebay_cosim::Write::pattern(0, 64, 1));
    assert!(matches!(system.run(), Err(Error::NoStreams { .. })));
}

// SPDX-License-Identifier: Apache-2.0
//! The streamer's RTL and the SSD model as two devices of one machine: queues in the card, payload
//! between the two, doorbells from the card to the drive, all of it by messages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::machine::Machine;
use forebay_cosim::{Card, Config, Read, Sink, Write, rtl};
use forebay_driver::{Bus, bring_up};
use forebay_model::{Medium, Profile};
use forebay_spec::streamer::{IDENTITY_ONCHIP, bar0, regs, window};
use forebay_vm::protocol::*;
use forebay_vm::{Device, End, Options, SsdDevice, StreamerDevice, Transaction};

const SEED: u64 = 7;

/// Serves a device that is made in the thread that serves it.
fn serve<D: Device>(
    make: impl FnOnce() -> D + Send + 'static,
    report: impl FnOnce(D) + Send + 'static,
) -> (UnixStream, JoinHandle<()>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut device = make();
        let (stop, options) = (AtomicBool::new(false), Options::default());
        let mut watch = |event: &_| println!("{event:?}");
        let end = forebay_vm::serve_client(&mut device, theirs, &options, &stop, &mut watch);
        assert_eq!(end.unwrap(), End::Gone);
        report(device);
    });
    (ours, server)
}

fn card() -> Card {
    card_with(|root, profile| Config::new(rtl::onchip(root, 64, 1024), profile))
}

fn card_with(config: impl FnOnce(&Path, Profile) -> Config) -> Card {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let config = config(&root, Profile::load("ideal").unwrap());
    Card::new(config, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_is_streamed_lies_on_the_drive() {
    streamed(card());
}

#[test]
fn payload_in_dram_on_the_card() {
    streamed(card_with(|root, profile| {
        Config::new(rtl::dram(root, 64), profile)
    }));
}

/// The card reads and writes the guest's memory by itself.
#[test]
fn payload_in_the_guests_memory() {
    streamed(card_with(|root, profile| {
        Config::new(rtl::hostdram(root, 64), profile)
    }));
}

fn streamed(card: Card) {
    const BYTES: u64 = 80 << 10;
    let plan = || {
        [
            Transaction::Write(Write::pattern(0, BYTES, SEED)),
            Transaction::Write(Write::pattern(1 << 20, 512, SEED)),
            Transaction::Read(Read::new(0, BYTES, Sink::Pattern { seed: SEED })),
        ]
    };
    let (fpga, fpga_server) = serve(
        move || StreamerDevice::new(card, plan()),
        move |device| {
            let good = device.outcomes().iter().filter(|it| it.is_good()).count();
            assert_eq!((good, device.planned()), (3, 0), "{:?}", device.outcomes());
        },
    );
    let make = || {
        let mut profile = Profile::load("ideal").unwrap();
        profile.ssd.namespaces[0].bytes = 64 << 20;
        let medium = Medium::in_memory(profile.ssd.bytes());
        SsdDevice::new(&profile, medium, 1).unwrap()
    };
    let (ssd, ssd_server) = serve(make, |device| {
        assert_eq!(device.stats().bytes_read, BYTES);
        assert_eq!(device.stats().failed, 0);
    });
    let mut bus = Machine::new(vec![fpga, ssd], 160 << 20, true);
    let session = bring_up(&mut bus, &forebay_driver::Options::default()).unwrap();
    let streamer = session.streamer().unwrap().clone();
    // The streamer is done when it has sent commands of both kinds, all of them have completed, and
    // no more come for a while.
    let mut calm = 0;
    while calm < 20 {
        bus.pump(Duration::from_millis(5));
        let mut count = |offset| streamer.read(&mut bus, offset).unwrap();
        let writes = count(regs::write_commands::OFFSET);
        let reads = count(regs::read_commands::OFFSET);
        let all = count(regs::completions::OFFSET) == writes + reads;
        calm = if reads > 0 && all { calm + 1 } else { 0 };
    }
    session.shutdown(&mut bus).unwrap();
    drop(bus);
    fpga_server.join().unwrap();
    ssd_server.join().unwrap();
}

#[test]
fn payload_that_is_mapped_is_the_rtls_own() {
    let card = card_with(|root, profile| Config::new(rtl::host(root, 64, 256, 16), profile));
    mapped(card, bar0::DATA, 256 * 4096);
}

#[test]
fn payload_in_dram_that_is_mapped_is_the_cards_own() {
    let card = dram_card();
    mapped(card, bar0::DATA_DRAM, window::DRAM_WINDOW_BYTES);
}

fn dram_card() -> Card {
    card_with(|root, profile| Config::new(rtl::host_dram(root, 64, 16), profile))
}

/// A card with a host port, and both of its memories mapped: that for payload, at `data`, and the
/// port's.
fn mapped(card: Card, data: u64, bytes: u64) {
    let mut device = StreamerDevice::new(card, []);
    assert_eq!(device.map_payload().unwrap(), bytes + 16 * 4096);
    let bar = device.bar(0);
    let (areas, file) = bar.mapped.unwrap();
    let places: Vec<_> = areas.iter().map(|area| (area.offset, area.bytes)).collect();
    assert!(places.contains(&(data, bytes)));
    assert!(places.contains(&(bar0::HOST, 16 * 4096)));
    let file = File::from(file.try_clone_to_owned().unwrap());
    assert!(
        file.set_len(0).is_err(),
        "who maps it could be ended by that"
    );

    let (fpga, server) = serve(move || device, |_| {});
    let mut bus = Machine::new(vec![fpga], 1 << 20, true);
    let client = bus.client(0);
    // The one writes through the RTL's port, the other reads the file; and the other way round.
    // What is written into DRAM takes some cycles to arrive; of a page that was read there may be a
    // copy.
    for (place, byte) in [(data + 4096, 0x33), (bar0::HOST + 64, 0x44)] {
        let mut seen = [0; 64];
        client.write(0, place, &[byte; 64]);
        for _ in 0..1000 {
            client.read32(0, bar0::CONTROL);
            file.read_exact_at(&mut seen, place).unwrap();
            if seen == [byte; 64] {
                break;
            }
        }
        assert_eq!(seen, [byte; 64]);
        assert_eq!(client.read(0, place, 64), [byte; 64]);
        file.write_all_at(&[!byte; 64], place + 8192).unwrap();
        assert_eq!(client.read(0, place + 8192, 64), [!byte; 64]);
    }
    drop(bus);
    server.join().unwrap();
}

/// Who maps the DRAM would find other bytes than the RTL.
#[test]
fn mapped_dram_has_its_place() {
    let mut device = StreamerDevice::new(dram_card(), []);
    device.map_payload().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let (stop, options) = (AtomicBool::new(false), Options::default());
        forebay_vm::serve_client(&mut device, theirs, &options, &stop, &mut |_| {})
    });
    let mut bus = Machine::new(vec![ours], 1 << 20, true);
    let client = bus.client(0);
    // After the second the server has gone.
    for (place, replied) in [(window::DRAM_BUFFER_BYTES, true), (0, false)] {
        let write = Request::RegionWrite {
            region: 0,
            offset: bar0::CONTROL + regs::dram_read::OFFSET,
            data: place.to_le_bytes().to_vec(),
        };
        let id = client.send(&write, replied, &[]);
        if replied {
            client.reply(id);
        }
    }
    let error = server.join().unwrap().unwrap_err().to_string();
    assert!(error.contains("dram_read was set to 0x0"), "{error}");
    assert!(error.contains("0x4000000"), "{error}");
}

#[test]
fn registers_and_windows_are_reached_in_any_pieces_and_a_reset_clears_them() {
    let (fpga, server) = serve(|| StreamerDevice::new(card(), []), |_| {});
    let mut bus = Machine::new(vec![fpga], 1 << 20, true);
    let device = bus.devices().unwrap()[0];
    let register = |offset: u64| bar0::CONTROL + offset;
    let identity = register(regs::identity::OFFSET);
    assert_eq!(
        bus.bar_read64(device, 0, identity).unwrap(),
        IDENTITY_ONCHIP
    );
    let low = bus.bar_read32(device, 0, identity).unwrap();
    assert_eq!(u64::from(low), IDENTITY_ONCHIP);
    // The data window holds what is written, by bytes and across beats of the bus.
    let client = bus.client(0);
    let data: Vec<u8> = (0..=255).collect();
    client.write(0, bar0::DATA + 60, &data);
    client.write(0, bar0::DATA + 63, &[0xaa]);
    let back = client.read(0, bar0::DATA + 60, 256);
    assert_eq!(
        (&back[..3], back[3], &back[4..]),
        (&data[..3], 0xaa, &data[4..])
    );
    // Where nothing is, nothing answers.
    let nowhere = Request::RegionRead {
        region: 0,
        offset: 0,
        count: 4,
    };
    assert!(matches!(client.ask(&nowhere), Reply::Failure(..)));
    // A register keeps its value until the function is reset.
    let nsid = register(regs::nsid::OFFSET);
    client.write(0, nsid, &5u64.to_le_bytes());
    assert_eq!(client.read32(0, nsid), 5);
    let done = Reply::Done(Command::DEVICE_RESET);
    assert_eq!(client.ask(&Request::Reset), done);
    assert_eq!(client.read(region::CONFIG, 4, 2), [0, 0]);
    assert_ne!(client.read32(0, nsid), 5);
    drop(bus);
    server.join().unwrap();
}

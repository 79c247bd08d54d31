// SPDX-License-Identifier: Apache-2.0
//! The SSD model behind the protocol, brought up and used by the project's driver.

use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::machine::Machine;
use crate::support::*;
use forebay_driver::{Bus, QueuePlacement, Span, bring_up};
use forebay_model::{Medium, Profile};
use forebay_vm::protocol::*;
use forebay_vm::{End, Options, SsdDevice};

fn serve(profile: &str) -> (UnixStream, JoinHandle<(SsdDevice, End)>) {
    let mut profile = Profile::load(profile).unwrap();
    profile.ssd.namespaces[0].bytes = 64 << 20;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let medium = Medium::in_memory(profile.ssd.bytes());
        let mut device = SsdDevice::new(&profile, medium, 1).unwrap();
        let (stop, options) = (AtomicBool::new(false), Options::default());
        let mut watch = |event: &_| println!("{event:?}");
        let end = forebay_vm::serve_client(&mut device, theirs, &options, &stop, &mut watch);
        (device, end.unwrap())
    });
    (ours, server)
}

/// Writes 1 MiB in commands of mixed size, reads it back, compares; returns the DMA messages.
fn write_and_read(profile: &str, shared: bool) -> u64 {
    const BYTES: usize = 1 << 20;
    let (stream, server) = serve(profile);
    let mut bus = Machine::new(vec![stream], 16 << 20, shared);
    let options = forebay_driver::Options {
        placement: QueuePlacement::Host,
        ..forebay_driver::Options::default()
    };
    let mut session = bring_up(&mut bus, &options).unwrap();
    let namespace = session.facts().namespace;
    let from = bus.dma_alloc(BYTES, 4096).unwrap();
    let to = bus.dma_alloc(BYTES, 4096).unwrap();
    let byte = |n: usize| ((n as u32).wrapping_mul(2_654_435_761) >> 24) as u8;
    let data: Vec<u8> = (0..BYTES).map(byte).collect();
    bus.dma_write(&from, 0, &data).unwrap();
    let pair = session.queue_pair().unwrap();
    let mut done = Vec::new();
    for (write, buffer) in [(true, &from), (false, &to)] {
        let mut offset = 0;
        for pages in [1, 2, 3, 64, 1, 25].into_iter().cycle() {
            let len = (pages * 4096).min(BYTES - offset);
            if len == 0 {
                break;
            }
            let (lba, blocks) = (offset as u64 / 512, len as u32 / 512);
            let span = Span { buffer, offset };
            let submitted = match write {
                true => pair.write(&mut bus, &namespace, lba, blocks, span, false),
                false => pair.read(&mut bus, &namespace, lba, blocks, span),
            };
            submitted.unwrap();
            offset += len;
        }
        let limit = Duration::from_secs(30);
        pair.finish(&mut bus, limit, &mut done).unwrap();
    }
    assert!(done.iter().all(|done| done.status.is_success()));
    let mut back = vec![0; BYTES];
    bus.dma_read(&to, 0, &mut back).unwrap();
    assert!(back == data);
    let messages = bus.messages;
    session.shutdown(&mut bus).unwrap();
    drop(bus);
    let (device, end) = server.join().unwrap();
    assert_eq!((end, device.stats().failed), (End::Gone, 0));
    assert_eq!(device.stats().bytes_read, BYTES as u64);
    messages
}

#[test]
fn memory_that_is_mapped_takes_no_messages() {
    assert_eq!(write_and_read("ideal", true), 0);
}

#[test]
fn memory_can_be_reached_by_messages_alone() {
    assert!(write_and_read("ideal", false) > 512);
}

#[test]
fn a_drive_with_timing_is_as_right() {
    write_and_read("990pro-2tb", true);
}

#[test]
fn completions_raise_the_vector_and_a_reset_stops_everything() {
    let (stream, server) = serve("ideal");
    let mut bus = Machine::new(vec![stream], 1 << 20, true);
    let ram = bus.memory();
    let client = bus.client(0);
    let bells = [event(), event()];
    let copies = bells.each_ref().map(|bell| bell.try_clone().unwrap());
    client.listen(0, &copies);
    // Identify Controller into the page at 3000h.
    let mut identify = [0u32; 16];
    (identify[0], identify[6], identify[10]) = (0x06, 0x1000_3000, 1);
    let command: Vec<u8> = identify
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    poke(&ram, 0x1000, &command);
    // Bus mastering, MSI-X; AQA, ASQ, ACQ, CC.
    client.write(region::CONFIG, 4, &[6, 4]);
    client.write32(region::CONFIG, 0x80, 0x8000_0000);
    client.write32(0, 0x24, 0x001f_001f);
    client.write(0, 0x28, &0x1000_1000u64.to_le_bytes());
    client.write(0, 0x30, &0x1000_2000u64.to_le_bytes());
    client.write32(0, 0x14, 0x0046_0001);
    wait_for("readiness", || client.read32(0, 0x1c) == 1);
    client.write32(0, 0x1000, 1);
    wait_for("the interrupt", || raised(&bells[0]) == 1);
    assert_eq!(raised(&bells[1]), 0);
    // A completion in phase 1 with status 0, and the drive's vendor in the page.
    assert_eq!(peek(&ram, 0x200e, 2), [1, 0]);
    assert_eq!(peek(&ram, 0x3000, 2), [0x1e, 0xfb]);
    let done = Reply::Done(Command::DEVICE_RESET);
    assert_eq!(client.ask(&Request::Reset), done);
    assert_eq!((client.read32(0, 0x1c), client.read32(0, 0x14)), (0, 0));
    assert_eq!(client.read(region::CONFIG, 4, 2), [0, 0]);
    client.write32(0, 0x1000, 2);
    client.read32(0, 0x1c);
    assert_eq!(raised(&bells[0]), 0);
    drop(bus);
    assert_eq!(server.join().unwrap().1, End::Gone);
}

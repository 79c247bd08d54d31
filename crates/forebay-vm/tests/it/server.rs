// SPDX-License-Identifier: Apache-2.0
//! The server, a scripted device in it, and a client outside.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::*;
use forebay_vm::protocol::*;
use forebay_vm::{Bar, Device, End, Error, Event, Guest, Options, Pace, Result, Ticket};
use proptest::prelude::*;

const BAR_BYTES: u64 = 0x2000;
/// A write of an address and a length here makes the device read that memory into its BAR.
const READ: u64 = 0x1000;
/// … and here write its BAR there.
const WRITE: u64 = 0x1010;
/// A write of a vector here raises it.
const RAISE: u64 = 0x1020;
/// A read here is never answered.
const SILENT: u64 = 0x1030;

/// A BAR of memory, with orders at its end.
#[derive(Default)]
struct Scripted {
    config: [u32; 16],
    memory: Vec<u8>,
    reads: Vec<(u64, u32, Ticket)>,
    orders: Vec<(u64, u64, u64)>,
    resets: u32,
}

impl Scripted {
    fn new() -> Self {
        Self {
            memory: vec![0; BAR_BYTES as usize],
            ..Self::default()
        }
    }
}

impl Device for Scripted {
    fn bar(&self, bar: u8) -> Bar<'_> {
        Bar {
            bytes: if bar == 0 { BAR_BYTES } else { 0 },
            mapped: None,
        }
    }

    fn vectors(&self) -> u16 {
        4
    }

    fn config_read(&self, offset: u16) -> u32 {
        let word = self.config.get(offset as usize / 4);
        word.copied().unwrap_or(0)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        if let Some(word) = self.config.get_mut(offset as usize / 4) {
            *word = value;
        }
    }

    fn bar_read(&mut self, _: u8, offset: u64, len: u32, ticket: Ticket) {
        self.reads.push((offset, len, ticket));
    }

    fn bar_write(&mut self, _: u8, offset: u64, data: &[u8]) {
        if offset < READ {
            self.memory[offset as usize..][..data.len()].copy_from_slice(data);
            return;
        }
        let word = |at: usize| {
            let bytes = data.get(at..at + 8);
            bytes.map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap()))
        };
        self.orders.push((offset, word(0), word(8).min(0x1000)));
    }

    fn reset(&mut self) -> Result<()> {
        self.resets += 1;
        self.memory.fill(0);
        Ok(())
    }

    fn step(&mut self, guest: &mut dyn Guest) -> Result<Pace> {
        while let Some((tag, result)) = guest.take_answer() {
            assert_eq!(tag, 7);
            match result {
                Ok(data) => self.memory[..data.len()].copy_from_slice(&data),
                Err(errno) => self.memory[..4].copy_from_slice(&errno.0.to_le_bytes()),
            }
        }
        for (offset, address, len) in self.orders.drain(..) {
            match offset {
                READ => guest.read(address, len as u32, 7),
                WRITE => guest.write(address, &self.memory[..len as usize]),
                RAISE => guest.interrupt(address as u16),
                _ => {}
            }
        }
        for (offset, len, ticket) in self.reads.drain(..) {
            if offset != SILENT {
                guest.answer(ticket, &self.memory[offset as usize..][..len as usize]);
            }
        }
        Ok(Pace::Idle)
    }
}

type Served = (Result<End>, Scripted, Vec<Event>);

struct Rig {
    client: Client,
    server: JoinHandle<Served>,
    stop: Arc<AtomicBool>,
}

/// Serves with this limit for replies.
fn start_with(reply: Duration) -> (UnixStream, JoinHandle<Served>, Arc<AtomicBool>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let options = Options {
        greeting: Duration::from_millis(300),
        reply,
        answer: Duration::from_millis(300),
        by_messages: false,
    };
    let server = thread::spawn(move || {
        let (mut device, mut events) = (Scripted::new(), Vec::new());
        let mut watch = |event: &Event| events.push(event.clone());
        let end = forebay_vm::serve_client(&mut device, theirs, &options, &flag, &mut watch);
        (end, device, events)
    });
    (ours, server, stop)
}

fn start() -> Rig {
    let (stream, server, stop) = start_with(Duration::from_secs(100));
    let client = Client::greeted(stream);
    Rig {
        client,
        server,
        stop,
    }
}

/// The write that makes the device do something.
fn order(offset: u64, address: u64, len: u64) -> Request {
    Request::RegionWrite {
        region: 0,
        offset,
        data: [address.to_le_bytes(), len.to_le_bytes()].concat(),
    }
}

impl Rig {
    fn order(&mut self, offset: u64, address: u64, len: u64) {
        let reply = self.client.ask(&order(offset, address, len));
        assert!(matches!(reply, Reply::RegionWrite { .. }));
    }

    fn end(self) -> (Scripted, Vec<Event>) {
        drop(self.client);
        let (end, device, events) = self.server.join().unwrap();
        assert_eq!(end.unwrap(), End::Gone);
        (device, events)
    }
}

#[test]
fn a_device_is_described_and_its_configuration_read_in_any_pieces() {
    let mut rig = start();
    let client = &mut rig.client;
    let info = DeviceInfo {
        resettable: true,
        regions: 9,
        irqs: 5,
    };
    let asked = client.ask(&Request::DeviceInfo { argsz: 16 });
    assert_eq!(asked, Reply::DeviceInfo(info));
    for (index, bytes) in [(0, BAR_BYTES), (1, 0), (region::CONFIG, 4096), (8, 0)] {
        let reply = client.ask(&Request::RegionInfo { argsz: 32, index });
        let info = RegionInfo {
            index,
            bytes,
            ..RegionInfo::default()
        };
        assert_eq!(reply, Reply::RegionInfo { info, argsz: 32 });
    }
    for (index, count) in [(0, 0), (irq::MSIX, 4), (irq::ERROR, 1)] {
        let reply = client.ask(&Request::IrqInfo { index });
        assert_eq!(reply, Reply::IrqInfo(IrqInfo { index, count }));
    }
    client.write(region::CONFIG, 3, &[1, 2, 3, 4, 5, 6]);
    let bytes = client.read(region::CONFIG, 0, 12);
    assert_eq!(bytes, [0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0]);
    client.write(region::CONFIG, 5, &[9]);
    assert_eq!(client.read(region::CONFIG, 4, 2), [2, 9]);
    let done = Reply::Done(Command::DEVICE_RESET);
    assert_eq!(client.ask(&Request::Reset), done);
    assert_eq!(rig.end().0.resets, 1);
}

#[test]
fn memory_and_interrupts_go_directly() {
    let mut rig = start();
    let ram = memory(0x4000);
    rig.client.map(&ram, 0x8000_0000, 0x4000);
    poke(&ram, 0x123, b"to the device");
    rig.order(READ, 0x8000_0123, 13);
    assert_eq!(rig.client.read(0, 0, 13), b"to the device");
    rig.order(WRITE, 0x8000_3ff3, 13);
    rig.client.read(0, 0, 1);
    assert_eq!(peek(&ram, 0x3ff3, 13), b"to the device");
    let events = [event(), event()];
    rig.client.listen(1, &events);
    rig.order(RAISE, 2, 0);
    rig.order(RAISE, 2, 0);
    rig.client.read(0, 0, 1);
    assert_eq!((raised(&events[0]), raised(&events[1])), (0, 2));
    // Posted writes get no reply.
    let posted = Request::RegionWrite {
        region: 0,
        offset: 0,
        data: vec![5; 4],
    };
    rig.client.send(&posted, false, &[]);
    assert_eq!(rig.client.read32(0, 0), 0x0505_0505);
    rig.end();
}

#[test]
fn the_guest_is_answered_while_messages_of_the_device_are_under_way() {
    let mut rig = start();
    let address = 0xfe00_0000;
    rig.order(READ, address, 8);
    let (id, request) = rig.client.command();
    assert_eq!(request, Request::DmaRead { address, count: 8 });
    // A virtual machine that holds its lock for this read cannot reply before it has its answer.
    rig.client.write(0, 0x100, b"abc");
    assert_eq!(rig.client.read(0, 0x100, 3), b"abc");
    let data = vec![3; 8];
    let reply = Reply::DmaRead { address, data };
    rig.client.send_bytes(&reply.to_bytes(id), &[]);
    wait_for("the answer", || rig.client.read(0, 0, 8) == [3; 8]);
    rig.end();
}

#[test]
fn nothing_overtakes_a_write_by_message() {
    let mut rig = start();
    let (ram, bell) = (memory(0x1000), event());
    rig.client.map(&ram, 0, 0x1000);
    rig.client.listen(0, &[bell.try_clone().unwrap()]);
    rig.client.write(0, 0, b"data");
    // Payload to another device, then a completion to memory, then the interrupt.
    let address = 0xfe00_0000;
    for request in [
        order(WRITE, address, 4),
        order(WRITE, 0x10, 4),
        order(RAISE, 0, 0),
    ] {
        rig.client.send(&request, false, &[]);
    }
    let (id, request) = rig.client.command();
    let data = b"data".to_vec();
    assert_eq!(request, Request::DmaWrite { address, data });
    rig.client.read(0, 0, 1);
    assert_eq!((peek(&ram, 0x10, 4), raised(&bell)), (vec![0; 4], 0));
    let done = Reply::Done(Command::DMA_WRITE);
    rig.client.send_bytes(&done.to_bytes(id), &[]);
    wait_for("the interrupt", || raised(&bell) == 1);
    assert_eq!(peek(&ram, 0x10, 4), b"data");
    rig.end();
}

#[test]
fn a_refused_access_is_told_to_the_device_and_to_the_watcher() {
    let mut rig = start();
    rig.order(READ, 0xdead_0000, 4);
    let (id, _) = rig.client.command();
    let failure = Reply::Failure(Command::DMA_READ, Errno(19));
    rig.client.send_bytes(&failure.to_bytes(id), &[]);
    wait_for("the error", || rig.client.read32(0, 0) == 19);
    // A reply without a request is ignored.
    let unasked = Reply::Done(Command::DMA_WRITE).to_bytes(4711);
    rig.client.send_bytes(&unasked, &[]);
    let (_, events) = rig.end();
    let [Event::Refused(refused)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((refused.address, refused.bytes), (0xdead_0000, 4));
    assert!(
        refused
            .to_string()
            .starts_with("DMA_READ of 4 bytes at 0xdead0000")
    );
}

#[test]
fn what_cannot_be_is_refused_and_the_session_goes_on() {
    let mut rig = start();
    let refused = |reply: Reply, errno| {
        assert!(
            matches!(reply, Reply::Failure(_, e) if e == errno),
            "{reply:?}"
        );
    };
    let outside = Request::RegionRead {
        region: 0,
        offset: BAR_BYTES - 1,
        count: 2,
    };
    let nowhere = Request::RegionWrite {
        region: 3,
        offset: 0,
        data: vec![0],
    };
    let ours = Request::DmaRead {
        address: 0,
        count: 1,
    };
    refused(rig.client.ask(&outside), Errno::INVALID);
    refused(rig.client.ask(&nowhere), Errno::INVALID);
    refused(rig.client.ask(&ours), Errno::NOT_SUPPORTED);
    let (unknown, short) = (Errno::NOT_SUPPORTED, Errno::INVALID);
    for (command, errno) in [(6, unknown), (8, short), (99, unknown)] {
        let header = Header {
            id: 1,
            command: Command(command),
            bytes: 16,
            kind: Kind::Command { replied: true },
        };
        rig.client.send_bytes(&header.to_bytes(), &[]);
        refused(rig.client.reply(1), errno);
    }
    // The same memory twice.
    let ram = memory(0x1000);
    rig.client.map(&ram, 0, 0x1000);
    let again = DmaMap {
        offset: 0,
        range: 0xfff..=0x1000,
        readable: true,
        writable: true,
    };
    refused(rig.client.ask(&Request::DmaMap(again)), Errno::EXISTS);
    let half = 1 << 63;
    let range = Some(half..=u64::MAX);
    let unmap = DmaUnmap { range };
    let reply = rig.client.ask(&Request::DmaUnmap(unmap.clone()));
    assert_eq!(reply, Reply::DmaUnmap(unmap));
    let (_, events) = rig.end();
    assert_eq!(events.len(), 3);
}

#[test]
fn a_read_that_the_device_never_answers_ends_and_is_named() {
    let mut rig = start();
    let reply = rig.client.ask(&Request::RegionRead {
        region: 0,
        offset: SILENT,
        count: 4,
    });
    assert!(matches!(reply, Reply::Failure(Command::REGION_READ, _)));
    let (_, events) = rig.end();
    let offset = SILENT;
    assert_eq!(events, [Event::NoAnswer { bar: 0, offset }]);
}

#[test]
fn a_missing_reply_ends_the_session_and_is_named() {
    let (stream, server, _) = start_with(Duration::from_millis(100));
    let mut client = Client::greeted(stream);
    client.ask(&order(READ, 0xabcd_0000, 16));
    let (end, ..) = server.join().unwrap();
    let text = end.unwrap_err().to_string();
    let start = "the reply to DMA_READ of 16 bytes at 0xabcd0000 did not come";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_silent_client_is_named() {
    let (stream, server, _) = start_with(Duration::from_secs(100));
    let text = server.join().unwrap().0.unwrap_err().to_string();
    assert!(text.contains("VERSION"), "{text}");
    drop(stream);
}

#[test]
fn the_first_message_must_be_the_version() {
    let (stream, server, _) = start_with(Duration::from_secs(100));
    let mut client = Client::new(stream);
    client.send(&Request::Reset, true, &[]);
    let end = server.join().unwrap().0;
    assert!(matches!(end, Err(Error::Malformed(_))));
}

#[test]
fn the_stop_flag_ends_a_session() {
    let rig = start();
    rig.stop.store(true, Ordering::Relaxed);
    assert_eq!(rig.server.join().unwrap().0.unwrap(), End::Stopped);
}

#[test]
fn the_file_of_a_socket_comes_and_goes() {
    fn serve(path: &Path) -> Result<End> {
        let (stop, options) = (AtomicBool::new(false), Options::default());
        forebay_vm::serve(&mut Scripted::new(), path, &options, &stop, &mut |_| {})
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sock");
    // A server that was killed leaves its file.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let at = path.clone();
    let server = thread::spawn(move || serve(&at));
    let mut stream = None;
    wait_for("the server", || {
        stream = UnixStream::connect(&path).ok();
        stream.is_some()
    });
    let client = Client::greeted(stream.unwrap());
    assert!(matches!(serve(&path), Err(Error::InUse { .. })));
    drop(client);
    assert_eq!(server.join().unwrap().unwrap(), End::Gone);
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is sent, the server replies, refuses or ends; it neither panics nor hangs.
    #[test]
    fn any_messages_are_survived(
        messages in proptest::collection::vec(
            (0u16..16, proptest::collection::vec(any::<u8>(), 0..64), any::<bool>()), 1..20),
    ) {
        let mut rig = start();
        for (command, mut body, small) in messages {
            // Mostly small numbers, which come further.
            if small {
                body.iter_mut().enumerate().filter(|it| it.0 % 4 != 0).for_each(|it| *it.1 = 0);
            }
            let header = Header {
                id: 0,
                command: Command(command),
                bytes: 16 + body.len() as u32,
                kind: Kind::Command { replied: false },
            };
            let message = [&header.to_bytes()[..], &body].concat();
            // The server may hang up at any of them.
            if rig.client.stream.write_all(&message).is_err() {
                break;
            }
        }
        drop(rig.client);
        let _ = rig.server.join().unwrap();
    }
}

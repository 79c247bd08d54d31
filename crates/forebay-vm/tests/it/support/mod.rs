// SPDX-License-Identifier: Apache-2.0
//! The virtual machine's side of the protocol, as small as it can be.

pub mod machine;

use std::io::{IoSlice, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use forebay_vm::protocol::*;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// A client. What it waits for and does not get in a minute fails the test.
pub struct Client {
    pub stream: UnixStream,
    next_id: u16,
}

impl Client {
    pub fn new(stream: UnixStream) -> Self {
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        Self {
            stream,
            next_id: 100,
        }
    }

    /// One that has agreed on a version.
    pub fn greeted(stream: UnixStream) -> Self {
        let mut client = Self::new(stream);
        let version = Request::Version(Version {
            major: 0,
            minor: 1,
            capabilities: Capabilities {
                max_msg_fds: 8,
                max_data_xfer_size: 1 << 20,
            },
        });
        assert!(matches!(client.ask(&version), Reply::Version(_)));
        client
    }

    pub fn send(&mut self, request: &Request, replied: bool, files: &[BorrowedFd<'_>]) -> u16 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.send_bytes(&request.to_bytes(id, replied), files);
        id
    }

    pub fn send_bytes(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(files)));
        }
        let bytes = [IoSlice::new(bytes)];
        let sent = sendmsg(&self.stream, &bytes, &mut control, SendFlags::NOSIGNAL);
        assert_eq!(sent.unwrap(), bytes[0].len());
    }

    pub fn receive(&mut self) -> (Header, Vec<u8>) {
        let mut header = [0; Header::BYTES];
        self.stream.read_exact(&mut header).unwrap();
        let header = Header::parse(&header).unwrap();
        let mut body = vec![0; header.bytes as usize - Header::BYTES];
        self.stream.read_exact(&mut body).unwrap();
        (header, body)
    }

    /// The reply to a command.
    pub fn reply(&mut self, id: u16) -> Reply {
        let (header, body) = self.receive();
        assert_eq!(header.id, id, "{header:?}");
        Reply::parse(&header, &body).unwrap()
    }

    /// The next command of the server.
    pub fn command(&mut self) -> (u16, Request) {
        let (header, body) = self.receive();
        assert_eq!(header.kind, Kind::Command { replied: true });
        (header.id, Request::parse(header.command, &body).unwrap())
    }

    pub fn ask(&mut self, request: &Request) -> Reply {
        let id = self.send(request, true, &[]);
        self.reply(id)
    }

    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) {
        let count = data.len() as u32;
        let written = Reply::RegionWrite {
            region,
            offset,
            count,
        };
        let data = data.to_vec();
        let request = Request::RegionWrite {
            region,
            offset,
            data,
        };
        assert_eq!(self.ask(&request), written);
    }

    pub fn write32(&mut self, region: u32, offset: u64, value: u32) {
        self.write(region, offset, &value.to_le_bytes());
    }

    pub fn read(&mut self, region: u32, offset: u64, count: u32) -> Vec<u8> {
        let request = Request::RegionRead {
            region,
            offset,
            count,
        };
        match self.ask(&request) {
            Reply::RegionRead { data, .. } => data,
            other => panic!("{other:?}"),
        }
    }

    pub fn read32(&mut self, region: u32, offset: u64) -> u32 {
        u32::from_le_bytes(self.read(region, offset, 4).try_into().unwrap())
    }

    /// Gives the device memory at an address.
    pub fn map(&mut self, memory: &OwnedFd, address: u64, len: u64) {
        let map = DmaMap {
            offset: 0,
            range: address..=address + (len - 1),
            readable: true,
            writable: true,
        };
        let id = self.send(&Request::DmaMap(map), true, &[memory.as_fd()]);
        assert_eq!(self.reply(id), Reply::Done(Command::DMA_MAP));
    }

    /// Wants vectors from the first on to be signalled.
    pub fn listen(&mut self, start: u32, events: &[OwnedFd]) {
        let set = SetIrqs {
            index: irq::MSIX,
            start,
            count: events.len() as u32,
            action: Action::Trigger,
            data: IrqData::Descriptors,
        };
        let files: Vec<_> = events.iter().map(|event| event.as_fd()).collect();
        let id = self.send(&Request::SetIrqs(set), true, &files);
        assert_eq!(self.reply(id), Reply::Done(Command::DEVICE_SET_IRQS));
    }
}

pub fn memory(len: u64) -> OwnedFd {
    let file = memfd_create("ram", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, len).unwrap();
    file
}

pub fn peek(memory: &OwnedFd, at: u64, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    assert_eq!(rustix::io::pread(memory, &mut data, at).unwrap(), len);
    data
}

pub fn poke(memory: &OwnedFd, at: u64, data: &[u8]) {
    let written = rustix::io::pwrite(memory, data, at).unwrap();
    assert_eq!(written, data.len());
}

pub fn event() -> OwnedFd {
    eventfd(0, EventfdFlags::NONBLOCK).unwrap()
}

/// How often an event was raised since the last call.
pub fn raised(event: &OwnedFd) -> u64 {
    let mut bytes = [0; 8];
    match rustix::io::read(event, &mut bytes) {
        Ok(_) => u64::from_ne_bytes(bytes),
        Err(_) => 0,
    }
}

/// Waits for something, ten seconds at most.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{what} did not happen");
}

// SPDX-License-Identifier: Apache-2.0
//! Messages and descriptors on a UNIX stream socket, without ever waiting.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::error::Result;
use crate::protocol::{Command, DESCRIPTORS_MOST, Header, Malformed};

/// A message as it came.
#[derive(Debug)]
pub(crate) struct Message {
    pub header: Header,
    pub body: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

/// What reading the socket yields.
#[derive(Debug)]
pub(crate) enum Received {
    Message(Message),
    /// No whole message is there yet.
    Nothing,
    /// The other side has gone.
    Gone,
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: UnixStream,
    /// What has come of the next message: header, then body.
    partial: Vec<u8>,
    /// Its header, once it is there.
    header: Option<Header>,
    descriptors: Vec<OwnedFd>,
    /// What is still to be sent.
    out: VecDeque<Outgoing>,
    gone: bool,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// Goes with the first byte.
    descriptor: Option<OwnedFd>,
}

impl Socket {
    pub fn new(stream: UnixStream) -> Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            partial: Vec::new(),
            header: None,
            descriptors: Vec::new(),
            out: VecDeque::new(),
            gone: false,
        })
    }

    /// Messages wait to be sent.
    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// The next message.
    ///
    /// Exactly the header is read, and then exactly the body: so a descriptor that comes with one
    /// of them belongs to this message and not to the next.
    ///
    /// # Errors
    /// Where the socket fails, or a header cannot be understood.
    pub fn receive(&mut self) -> Result<Received> {
        loop {
            let wanted = self
                .header
                .map_or(Header::BYTES, |header| header.bytes as usize);
            if self.partial.len() < wanted {
                match self.read(wanted - self.partial.len())? {
                    Some(0) => return Ok(Received::Gone),
                    Some(_) => continue,
                    None => return Ok(Received::Nothing),
                }
            }
            match self.header {
                None => {
                    let bytes = self.partial.first_chunk().unwrap_or(&[0; Header::BYTES]);
                    self.header = Some(Header::parse(bytes)?);
                }
                Some(header) => {
                    let body = self.partial.split_off(Header::BYTES);
                    self.partial.clear();
                    self.header = None;
                    let descriptors = std::mem::take(&mut self.descriptors);
                    return Ok(Received::Message(Message {
                        header,
                        body,
                        descriptors,
                    }));
                }
            }
        }
    }

    /// Queues a message; [`Socket::flush`] sends it.
    pub fn send(&mut self, bytes: Vec<u8>, descriptor: Option<OwnedFd>) {
        self.out.push_back(Outgoing {
            bytes,
            sent: 0,
            descriptor,
        });
    }

    /// Sends what can be sent now. Where the other side has gone, what was queued is dropped;
    /// [`Socket::receive`] tells.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn flush(&mut self) -> Result<()> {
        while let Some(message) = self.out.front_mut() {
            let rest = [IoSlice::new(&message.bytes[message.sent..])];
            let descriptor = message.descriptor.as_ref().map(|it| [it.as_fd()]);
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if let Some(descriptor) = &descriptor {
                control.push(SendAncillaryMessage::ScmRights(descriptor));
            }
            match sendmsg(&self.stream, &rest, &mut control, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    message.sent += count;
                    message.descriptor = None;
                    if message.sent == message.bytes.len() {
                        self.out.pop_front();
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::PIPE | Errno::CONNRESET) => {
                    self.gone = true;
                    self.out.clear();
                }
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Reads up to `count` bytes; none of them: the other side has gone. `None`: nothing is there.
    fn read(&mut self, count: usize) -> Result<Option<usize>> {
        let have = self.partial.len();
        self.partial.resize(have + count, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut self.partial[have..])];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let got = recvmsg(&self.stream, &mut into, &mut control, flags);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        let (bytes, cut) = match &got {
            Ok(got) => (got.bytes, got.flags.contains(ReturnFlags::CTRUNC)),
            Err(_) => (0, false),
        };
        self.partial.truncate(have + bytes);
        if cut || self.descriptors.len() > DESCRIPTORS_MOST {
            let command = self.header.map_or(Command(0), |header| header.command);
            let limit = format!("at most {DESCRIPTORS_MOST} with a message");
            let count = self.descriptors.len() as u64;
            return Err(Malformed::new(command, "number of descriptors", count, limit).into());
        }
        match got {
            Ok(_) => Ok(Some(bytes)),
            Err(Errno::CONNRESET) => Ok(Some(0)),
            Err(Errno::AGAIN | Errno::INTR) if self.gone => Ok(Some(0)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The event loop: one client, one device, one thread.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::device::{Device, Pace, Ticket};
use crate::error::{Error, Result};
use crate::link::{Link, Refused};
use crate::protocol::{
    Command, DeviceInfo, Errno, IrqInfo, Kind, Malformed, RegionInfo, Reply, Request, irq, region,
};
use crate::socket::{Message, Received, Socket};

/// How often the stop flag and the time-outs are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Messages taken before the device has its turn again.
const MESSAGES_AT_ONCE: usize = 64;
/// Bytes of configuration space.
const CONFIG_BYTES: u64 = forebay_spec::pci::CONFIG_BYTES as u64;

/// How the server serves: how long it waits, and how it reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Limit for the first message of a client that has connected.
    pub greeting: Duration,
    /// Limit for the reply to a DMA message.
    pub reply: Duration,
    /// Limit for the device's answer to a read of the guest.
    pub answer: Duration,
    /// Memory is reached by messages alone, as if no descriptor had come with it: slow, but the
    /// virtual machine then sees every access.
    pub by_messages: bool,
}

impl Default for Options {
    /// Half a minute for a greeting. Minutes for a reply and an answer: an emulated guest on a busy
    /// machine is slow, and so is simulated RTL.
    fn default() -> Self {
        Self {
            greeting: Duration::from_secs(30),
            reply: Duration::from_secs(300),
            answer: Duration::from_secs(300),
            by_messages: false,
        }
    }
}

/// What happened, for the caller to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client can connect.
    Listening,
    /// One has.
    Connected,
    /// The guest resets the function.
    Reset,
    /// A request that was answered with an error.
    Malformed(Malformed),
    /// An access of the device that the virtual machine refused.
    Refused(Refused),
    /// A read of the guest that the device did not answer in time.
    NoAnswer {
        /// The BAR.
        bar: u8,
        /// Offset in it.
        offset: u64,
    },
}

/// How serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The virtual machine has gone.
    Gone,
    /// The stop flag was set.
    Stopped,
}

/// Listens at a path, and serves a device to the first client that connects, until it goes.
///
/// # Errors
/// Where the socket cannot be made or fails, the client says what cannot be understood or does not
/// reply in time, or the device fails.
pub fn serve(
    device: &mut dyn Device,
    path: &Path,
    options: &Options,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&Event),
) -> Result<End> {
    let listener = Listener::bind(path)?;
    watch(&Event::Listening);
    let Some(stream) = listener.accept(stop)? else {
        return Ok(End::Stopped);
    };
    watch(&Event::Connected);
    serve_client(device, stream, options, stop, watch)
}

/// Serves a device to a client that has connected, until it goes.
pub fn serve_client(
    device: &mut dyn Device,
    stream: UnixStream,
    options: &Options,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&Event),
) -> Result<End> {
    let mut session = Session::new(device, stream, options)?;
    loop {
        let turn = session.turn();
        session.take_events().iter().for_each(&mut *watch);
        if !turn? {
            return Ok(End::Gone);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(End::Stopped);
        }
    }
}

/// A socket in the file system; its file goes with it.
struct Listener {
    path: PathBuf,
    listener: UnixListener,
}

impl Listener {
    fn bind(path: &Path) -> Result<Self> {
        let wrap = |source| Error::Listen {
            path: path.to_owned(),
            source,
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                // A server that was killed leaves its file. One that answers is alive.
                let file = std::fs::symlink_metadata(path).map_err(wrap)?;
                if !file.file_type().is_socket() || UnixStream::connect(path).is_ok() {
                    return Err(Error::InUse {
                        path: path.to_owned(),
                    });
                }
                std::fs::remove_file(path).map_err(wrap)?;
                UnixListener::bind(path)
            }
            result => result,
        }
        .map_err(wrap)?;
        listener.set_nonblocking(true).map_err(wrap)?;
        let path = path.to_owned();
        Ok(Self { path, listener })
    }

    /// The next client; `None`: stopped.
    fn accept(&self, stop: &AtomicBool) -> Result<Option<UnixStream>> {
        while !stop.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, _)) => return Ok(Some(stream)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            wait(&self.listener, PollFlags::IN, LOOK_EVERY)?;
        }
        Ok(None)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Waits until a descriptor is ready, for at most `limit`.
fn wait(on: &impl AsFd, flags: PollFlags, limit: Duration) -> Result<()> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(on, flags)], Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// A client and a device. It never waits, for who has more to serve than this.
pub(crate) struct Session<D> {
    pub device: D,
    link: Link,
    options: Options,
    /// What happened and was not told.
    events: Vec<Event>,
    since: Instant,
    /// When time-outs were last looked at.
    looked: Instant,
    /// The version is agreed on.
    greeted: bool,
    /// Reads of the guest that the device has not answered.
    reads: HashMap<Ticket, BarRead>,
    next_ticket: u64,
}

struct BarRead {
    id: u16,
    region: u32,
    offset: u64,
    count: u32,
    since: Instant,
}

impl<D: Device> Session<D> {
    /// With a client that has connected.
    pub fn new(device: D, stream: UnixStream, options: &Options) -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            link: Link::new(Socket::new(stream)?, device.vectors()),
            device,
            options: *options,
            events: Vec::new(),
            since: now,
            looked: now,
            greeted: false,
            reads: HashMap::new(),
            next_ticket: 0,
        })
    }

    /// Lets the device work, waits for messages unless it has more to do, and takes them; false: the
    /// client has gone.
    fn turn(&mut self) -> Result<bool> {
        let limit = match self.work()? {
            Pace::Busy => Duration::ZERO,
            Pace::After(time) => time.min(LOOK_EVERY),
            Pace::Idle => LOOK_EVERY,
        };
        wait(&self.link.socket, self.waits_for(), limit)?;
        let taken = self.receive(MESSAGES_AT_ONCE)?;
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.check_limits()?;
        }
        Ok(taken.is_some())
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// What the socket is to be waited for.
    pub fn waits_for(&self) -> PollFlags {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, self.link.socket.has_output());
        flags
    }

    /// Lets the device work, and sends what comes of it.
    pub fn work(&mut self) -> Result<Pace> {
        let pace = self.step()?;
        self.link.socket.flush()?;
        Ok(pace)
    }

    /// Takes messages that have come, this number at most, and says how many; none: the client has
    /// gone.
    pub fn receive(&mut self, most: usize) -> Result<Option<usize>> {
        for count in 0..most {
            match self.link.socket.receive()? {
                Received::Message(message) => self.message(message)?,
                Received::Nothing => return Ok(Some(count)),
                Received::Gone => return Ok(None),
            }
        }
        Ok(Some(most))
    }

    /// Lets the device work, and passes on what comes of it.
    fn step(&mut self) -> Result<Pace> {
        let mut pace = self.device.step(&mut self.link)?;
        if self.link.has_answers() {
            pace = Pace::Busy;
        }
        for refused in self.link.take_refused() {
            self.events.push(Event::Refused(refused));
        }
        for (ticket, data) in self.link.take_bar_answers() {
            // One that came too late has been answered otherwise.
            let Some(read) = self.reads.remove(&ticket) else {
                continue;
            };
            let reply = if data.len() == read.count as usize {
                Reply::RegionRead {
                    region: read.region,
                    offset: read.offset,
                    data: data.into(),
                }
            } else {
                Reply::Failure(Command::REGION_READ, Errno::NO_ANSWER)
            };
            self.link.socket.send(reply.to_bytes(read.id), None);
        }
        Ok(pace)
    }

    fn check_limits(&mut self) -> Result<()> {
        let late = |what: String, limit| Err(Error::TimedOut { what, limit });
        if !self.greeted && self.since.elapsed() > self.options.greeting {
            let what = "the first message of the client that connected (VERSION)".into();
            return late(what, self.options.greeting);
        }
        if let Some(what) = self.link.overdue(self.options.reply) {
            return late(what, self.options.reply);
        }
        let limit = self.options.answer;
        let overdue = |(_, read): &(&Ticket, &BarRead)| read.since.elapsed() > limit;
        let overdue: Vec<Ticket> = self.reads.iter().filter(overdue).map(|it| *it.0).collect();
        for read in overdue.iter().filter_map(|it| self.reads.remove(it)) {
            self.events.push(Event::NoAnswer {
                bar: read.region as u8,
                offset: read.offset,
            });
            // The guest sees all ones.
            let reply = Reply::Failure(Command::REGION_READ, Errno::NO_ANSWER);
            self.link.socket.send(reply.to_bytes(read.id), None);
        }
        Ok(())
    }

    fn message(&mut self, message: Message) -> Result<()> {
        let Message {
            header,
            body,
            descriptors,
        } = message;
        let Kind::Command { replied } = header.kind else {
            self.link.replied(&header, &body);
            return Ok(());
        };
        let request = Request::parse(header.command, &body);
        if !self.greeted && !matches!(request, Ok(Request::Version(_))) {
            let (field, limit) = ("command", "the first message");
            return Err(Malformed::new(Command::VERSION, field, header.command.0, limit).into());
        }
        let outcome = match request {
            Ok(request) => self.request(header.id, request, descriptors)?,
            Err(error) => {
                let errno = match error.field {
                    "command" => Errno::NOT_SUPPORTED,
                    _ => Errno::INVALID,
                };
                self.events.push(Event::Malformed(error));
                Outcome::Failed(errno)
            }
        };
        let (reply, file) = match outcome {
            Outcome::Done(reply) => (reply, None),
            Outcome::WithFile(reply, file) => (reply, Some(file)),
            Outcome::Failed(errno) => (Reply::Failure(header.command, errno), None),
            Outcome::Later => return Ok(()),
        };
        if replied {
            self.link.socket.send(reply.to_bytes(header.id), file);
        }
        Ok(())
    }

    fn request(&mut self, id: u16, request: Request, files: Vec<OwnedFd>) -> Result<Outcome> {
        let done = Outcome::Done(Reply::Done(request.command()));
        Ok(match request {
            Request::Version(version) => {
                let answer = version.answer()?;
                self.greeted = true;
                self.link.data_most = answer.capabilities.max_data_xfer_size;
                Outcome::Done(Reply::Version(answer))
            }
            Request::DmaMap(map) => {
                let mut files = files.into_iter();
                let file = files.next().filter(|_| !self.options.by_messages);
                match files.next() {
                    Some(_) => Outcome::Failed(Errno::INVALID),
                    None => match self.link.table.map(&map, file) {
                        Ok(()) => done,
                        Err(errno) => Outcome::Failed(errno),
                    },
                }
            }
            Request::DmaUnmap(unmap) => {
                self.link.table.unmap(&unmap);
                Outcome::Done(Reply::DmaUnmap(unmap))
            }
            Request::DeviceInfo { .. } => Outcome::Done(Reply::DeviceInfo(DeviceInfo {
                resettable: true,
                regions: region::COUNT,
                irqs: irq::COUNT,
            })),
            Request::RegionInfo { argsz, index } => self.region_info(argsz, index)?,
            Request::IrqInfo { index } => {
                let count = match index {
                    irq::MSIX => u32::from(self.device.vectors()),
                    // None ever occurs, but without it QEMU warns of a lack of error recovery.
                    irq::ERROR => 1,
                    _ => 0,
                };
                Outcome::Done(Reply::IrqInfo(IrqInfo { index, count }))
            }
            Request::SetIrqs(set) => match self.link.interrupts.set(set, files) {
                Ok(()) => done,
                Err(errno) => Outcome::Failed(errno),
            },
            Request::RegionRead {
                region,
                offset,
                count,
            } => self.region_read(id, region, offset, count),
            Request::RegionWrite {
                region,
                offset,
                data,
            } => self.region_write(region, offset, &data),
            Request::Reset => {
                self.events.push(Event::Reset);
                self.link.reset();
                self.device.reset()?;
                done
            }
            // Only we send these.
            Request::DmaRead { .. } | Request::DmaWrite { .. } => {
                Outcome::Failed(Errno::NOT_SUPPORTED)
            }
        })
    }

    /// Bytes of a region.
    fn region_bytes(&self, index: u32) -> u64 {
        match index {
            region::CONFIG => CONFIG_BYTES,
            bar if bar < region::BARS => self.device.bar(bar as u8).bytes,
            _ => 0,
        }
    }

    fn region_info(&self, argsz: u32, index: u32) -> Result<Outcome> {
        let mut info = RegionInfo {
            index,
            bytes: self.region_bytes(index),
            ..RegionInfo::default()
        };
        let mapped = match index {
            bar if bar < region::BARS => self.device.bar(bar as u8).mapped,
            _ => None,
        };
        let Some((areas, file)) = mapped else {
            return Ok(Outcome::Done(Reply::RegionInfo { info, argsz }));
        };
        info.mapped = areas.to_vec();
        let file = file.try_clone_to_owned()?;
        Ok(Outcome::WithFile(Reply::RegionInfo { info, argsz }, file))
    }

    /// Whether an access lies in its region.
    fn is_inside(&self, region: u32, offset: u64, count: usize) -> bool {
        let end = offset.checked_add(count as u64);
        end.is_some_and(|end| end <= self.region_bytes(region))
    }

    fn region_read(&mut self, id: u16, region: u32, offset: u64, count: u32) -> Outcome {
        if !self.is_inside(region, offset, count as usize) {
            return Outcome::Failed(Errno::INVALID);
        }
        if region == region::CONFIG {
            let byte = |at: u64| {
                let word = self.device.config_read(at as u16 & !3);
                word.to_le_bytes()[at as usize % 4]
            };
            let data = (offset..offset + u64::from(count)).map(byte).collect();
            return Outcome::Done(Reply::RegionRead {
                region,
                offset,
                data,
            });
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let read = BarRead {
            id,
            region,
            offset,
            count,
            since: Instant::now(),
        };
        self.reads.insert(ticket, read);
        self.device.bar_read(region as u8, offset, count, ticket);
        Outcome::Later
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Outcome {
        if !self.is_inside(region, offset, data.len()) {
            return Outcome::Failed(Errno::INVALID);
        }
        if region == region::CONFIG {
            self.config_write(offset as u16, data);
        } else {
            self.device.bar_write(region as u8, offset, data);
        }
        Outcome::Done(Reply::RegionWrite {
            region,
            offset,
            count: data.len() as u32,
        })
    }

    /// Writes whole dwords: bytes that are not meant keep their value.
    fn config_write(&mut self, offset: u16, data: &[u8]) {
        let end = offset + data.len() as u16;
        for at in ((offset & !3)..end).step_by(4) {
            let mut word = self.device.config_read(at).to_le_bytes();
            for (place, byte) in (at..).zip(&mut word) {
                let new = place.checked_sub(offset).map(usize::from);
                if let Some(new) = new.and_then(|n| data.get(n)) {
                    *byte = *new;
                }
            }
            self.device.config_write(at, u32::from_le_bytes(word));
        }
    }
}

impl<D> AsFd for Session<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.socket.as_fd()
    }
}

/// What becomes of a request.
enum Outcome {
    Done(Reply),
    WithFile(Reply, OwnedFd),
    Failed(Errno),
    /// The device answers.
    Later,
}

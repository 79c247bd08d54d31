// SPDX-License-Identifier: Apache-2.0
//! What is below the RTL's root port: QEMU's.
//!
//! Accesses of the RTL are lines of qtest. Drives reach its windows by messages, as BAR 0 of a function
//! on QEMU's root bus. QEMU may answer a line only once a drive has got an answer of the RTL. So neither
//! is ever waited for alone, and the RTL has its turn in between.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use forebay_cosim::root::{Downstream, INBOUND, Reply};
use forebay_cosim::{Error as Cosim, Result as CosimResult};
use forebay_model::{Arrival, Completion, MICROSECOND, Ticket, Time};
use forebay_qtest::{ANSWER_LIMIT, Line, Machine, SET_UP};
use forebay_spec::pci::{command, offset};
use forebay_spec::streamer::{PCI_DEVICE, PCI_VENDOR};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::bridge::{self, Access, Bridge};
use super::inbound::Inbound;
use crate::error::{Error, Result};
use crate::guest::{self, vfio_user};
use crate::server::{Options, Session};

/// Slot of the windows on QEMU's bus 0.
const SLOT: u64 = 5;
/// Cycles of the RTL for a request of a drive, or an answer of QEMU, before the sockets are looked at.
const CYCLES: u32 = 64;
/// What the RTL gets where a message was answered without it.
const CYCLES_OF_MESSAGE: u32 = 1;
/// What is left of [`CYCLES`] once the RTL has answered: QEMU goes on at the same time.
const CYCLES_OF_ANSWER: u32 = 8;
/// While QEMU has something to do, the clock runs slowly: [`CYCLES_OF_TICK`] in this time. So the RTL's
/// time-outs, in simulated time, pass only where QEMU is stuck.
const TICK: Duration = Duration::from_millis(1);
const CYCLES_OF_TICK: u32 = 64;
/// Messages that are taken before the RTL has its turn.
const MESSAGES_AT_ONCE: u32 = 64;
/// QEMU may still have something to do this time after it last did something.
const ACTIVE: Duration = Duration::from_millis(100);
/// Simulated time between two looks at the link.
const LINK_EVERY: Time = 100 * MICROSECOND;
/// Between two looks whether QEMU has connected.
const PULSE: Duration = Duration::from_millis(2);

/// What a line is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// An access of the RTL, with its tag.
    Access(u32),
    /// A write without an answer.
    Posted,
    Link,
    /// Bridge Control is read, so that PERST# can be written to it.
    Control(bool),
}

/// QEMU below the RTL's root port: its drives, and the windows for them.
///
/// Time is the RTL's; while something is expected of QEMU, it passes slowly.
pub struct QemuHierarchy {
    machine: Machine,
    bridge: Bridge,
    session: Session<Inbound>,
    now: Time,
    /// Lines without an answer; the first of them was sent.
    lines: VecDeque<(Line, Purpose)>,
    sent: bool,
    completions: VecDeque<Completion>,
    next_tag: u32,
    link_up: bool,
    /// When the link is looked at next.
    link_at: Time,
    /// Cycles until the sockets are looked at.
    credit: u32,
    /// When QEMU last did something, or was asked for something.
    active: Instant,
    /// What went wrong in a call that returns no error.
    failure: Option<Error>,
}

impl QemuHierarchy {
    /// Starts QEMU, which is that of [`super::qemu_of`] with devices; the machine's files are in
    /// `folder`.
    ///
    /// # Errors
    /// Where QEMU cannot be started, or does not know what it is asked for.
    pub fn start(folder: &Path, mut qemu: Command) -> Result<Self> {
        let path = folder.join("windows.sock");
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let mut windows = vfio_user("windows", "pcie.0", &path).map_err(io::Error::other)?;
        windows["addr"] = format!("{SLOT:#x}").into();
        guest::device(&mut qemu, &windows);
        let mut machine = Machine::launch(folder, qemu)?;
        let [first, second] = SET_UP;
        machine.send(first)?;
        let stream = accept(&listener, &mut machine, first)?;
        let session = Session::new(Inbound::new(), stream, &Options::default())?;
        let mut starting = Starting { machine, session };
        starting.answer(first)?;
        starting.exchange(second)?;
        let bridge = starting.place()?;
        let Starting { machine, session } = starting;
        Ok(Self {
            machine,
            bridge,
            session,
            now: 0,
            lines: VecDeque::new(),
            sent: false,
            completions: VecDeque::new(),
            next_tag: 0,
            link_up: false,
            link_at: 0,
            credit: 0,
            active: Instant::now(),
            failure: None,
        })
    }

    /// What QEMU's controllers have to say against who uses them.
    ///
    /// # Errors
    /// Where its log cannot be read.
    pub fn complaints(&self) -> Result<Vec<String>> {
        Ok(self.machine.complaints()?)
    }

    fn ask(&mut self, line: Line, purpose: Purpose) {
        self.lines.push_back((line, purpose));
        // It is to be sent at once.
        self.credit = 0;
    }

    /// What becomes of an access.
    fn carry_out(&mut self, access: Access) -> Reply {
        match access {
            Access::Known(value) => Reply::Now(value),
            Access::Line(line) => {
                self.next_tag = self.next_tag.wrapping_add(1);
                self.ask(line, Purpose::Access(self.next_tag));
                Reply::Later(self.next_tag)
            }
        }
    }

    /// QEMU has answered the first line.
    fn answered(&mut self, value: u64) {
        self.sent = false;
        let Some((_, purpose)) = self.lines.pop_front() else {
            return;
        };
        match purpose {
            Purpose::Access(tag) => self.completions.push_back(Completion {
                tag,
                result: Ok((value as u32).to_le_bytes().into()),
            }),
            Purpose::Posted => {}
            Purpose::Link => self.link_up = self.bridge.is_up(value),
            // Before all that was asked for since.
            Purpose::Control(asserted) => {
                let line = self.bridge.set_reset(value, asserted);
                self.lines.push_front((line, Purpose::Posted));
            }
        }
    }

    /// Something may come of QEMU, and the RTL has nothing to do for it.
    fn expects(&self) -> bool {
        let due = !self.lines.is_empty() || self.active.elapsed() < ACTIVE;
        due && !self.session.device.is_busy() && self.completions.is_empty()
    }

    /// Takes messages of drives, until QEMU waits.
    fn receive(&mut self) -> Result<u32> {
        for count in 0..MESSAGES_AT_ONCE {
            if self.session.device.is_waited_for()
                || self.session.receive(1)?.ok_or_else(gone)? == 0
            {
                return Ok(count);
            }
        }
        Ok(MESSAGES_AT_ONCE)
    }

    /// Sends what is to be sent, and takes what has come; waits for that at most for this time. Says
    /// how many cycles the RTL gets.
    fn turn(&mut self, limit: Duration) -> Result<u32> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let (false, Some((line, _))) = (self.sent, self.lines.front()) {
            self.machine.send(*line)?;
            self.sent = true;
            self.active = Instant::now();
            // What drives read from now on is not what they read before.
            self.session.device.forget();
        }
        let came = wait(&self.machine, &self.session, limit)?;
        let answer = match came.answer {
            true => self.machine.answer()?,
            false => None,
        };
        if let Some(value) = answer {
            self.answered(value);
        }
        let messages = match came.message {
            true => self.receive()?,
            false => 0,
        };
        self.session.work()?;
        // What is no request was answered in error: QEMU's to tell.
        drop(self.session.take_events());
        if answer.is_some() || messages > 0 {
            self.active = Instant::now();
        }
        if let (Some((line, _)), true) = (self.lines.front(), self.active.elapsed() > ANSWER_LIMIT)
        {
            return Err(self
                .machine
                .silent(*line, io::ErrorKind::TimedOut.into())
                .into());
        }
        Ok(match (answer, messages) {
            (None, 0) if limit.is_zero() => CYCLES,
            (None, 0) => CYCLES_OF_TICK,
            (None, _) if !self.session.device.is_busy() => CYCLES_OF_MESSAGE,
            _ => CYCLES,
        })
    }
}

impl Downstream for QemuHierarchy {
    fn now(&self) -> Time {
        self.now
    }

    fn advance(&mut self, now: Time) -> CosimResult<()> {
        self.now = self.now.max(now);
        if self.credit > 0 {
            self.credit -= 1;
            return Ok(());
        }
        if self.now >= self.link_at && self.lines.is_empty() {
            self.link_at = self.now + LINK_EVERY;
            self.ask(self.bridge.link_status(), Purpose::Link);
        }
        let limit = if self.expects() { TICK } else { Duration::ZERO };
        let turn = self.turn(limit);
        self.credit = turn.map_err(|error| Cosim::Downstream(Box::new(error)))?;
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        Some(self.now)
    }

    fn link_up(&self) -> bool {
        self.link_up
    }

    fn perst(&mut self, asserted: bool) {
        self.bridge.reset = asserted;
        self.link_up = false;
        self.ask(self.bridge.control(), Purpose::Control(asserted));
        self.ask(self.bridge.link_status(), Purpose::Link);
    }

    fn config_read(&mut self, ecam: u32) -> Reply {
        self.carry_out(self.bridge.config_read(ecam))
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> Reply {
        self.carry_out(self.bridge.config_write(ecam, value))
    }

    fn memory_read(&mut self, address: u64) -> Reply {
        self.carry_out(self.bridge.memory_read(address))
    }

    fn memory_write(&mut self, address: u64, value: u32) -> Reply {
        self.carry_out(self.bridge.memory_write(address, value))
    }

    fn post(&mut self, address: u64, value: u32) -> bool {
        match self.bridge.memory_write(address, value) {
            Access::Known(value) => value.is_some(),
            Access::Line(line) => {
                self.ask(line, Purpose::Posted);
                true
            }
        }
    }

    fn poll(&mut self) -> Option<Arrival> {
        let completion = self.completions.pop_front().map(Arrival::Completion);
        completion.or_else(|| self.session.device.arrived.pop_front())
    }

    fn answer(&mut self, ticket: Ticket, data: Option<Box<[u8]>>) {
        self.session.device.answered(ticket, data);
        self.credit = self.credit.min(CYCLES_OF_ANSWER);
        if let Err(error) = self.session.work() {
            self.failure = Some(error);
        }
    }

    fn ready(&self) -> usize {
        0
    }
}

/// Before there is a root port: each line is waited for.
struct Starting {
    machine: Machine,
    session: Session<Inbound>,
}

impl Starting {
    /// Sends a line and waits for its answer; the windows are served meanwhile.
    fn exchange(&mut self, line: Line) -> Result<u64> {
        self.machine.send(line)?;
        self.answer(line)
    }

    fn answer(&mut self, line: Line) -> Result<u64> {
        let mut active = Instant::now();
        loop {
            if let Some(value) = self.machine.answer()? {
                return Ok(value);
            }
            wait(&self.machine, &self.session, TICK)?;
            if self.session.receive(1)?.ok_or_else(gone)? > 0 {
                active = Instant::now();
            }
            self.session.work()?;
            if active.elapsed() > ANSWER_LIMIT {
                return Err(self
                    .machine
                    .silent(line, io::ErrorKind::TimedOut.into())
                    .into());
            }
        }
    }

    /// Gives the windows their address, and finds the root port.
    fn place(&mut self) -> Result<Bridge> {
        let windows = bridge::function(SLOT);
        let found = self.exchange(Line::Read32(windows))?;
        if found != u64::from(PCI_DEVICE) << 16 | u64::from(PCI_VENDOR) {
            return Err(Error::Qemu(forebay_qtest::Error::Answer {
                line: "vendor and device of the windows".into(),
                answer: format!("{found:#x}"),
            }));
        }
        let bar = windows + u64::from(offset::BAR0);
        let set = [
            (bar, INBOUND as u32),
            (bar + 4, (INBOUND >> 32) as u32),
            (
                windows + u64::from(offset::COMMAND),
                u32::from(command::MEMORY_SPACE),
            ),
        ];
        for (at, value) in set {
            self.exchange(Line::Write32(at, value))?;
        }
        Bridge::find(|line| self.exchange(line))
    }
}

/// Waits for QEMU to connect; it does so when it makes its devices.
fn accept(listener: &UnixListener, machine: &mut Machine, line: Line) -> Result<UnixStream> {
    let start = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        // Tells where it has ended.
        machine.answer()?;
        if start.elapsed() > ANSWER_LIMIT {
            return Err(machine.silent(line, io::ErrorKind::TimedOut.into()).into());
        }
        thread::sleep(PULSE);
    }
}

/// What there is to be taken.
struct Came {
    answer: bool,
    message: bool,
}

/// Waits until something comes of QEMU, either way.
fn wait(machine: &Machine, session: &Session<Inbound>, limit: Duration) -> Result<Came> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut ends = [
        PollFd::from_borrowed_fd(machine.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(session.as_fd(), session.waits_for()),
    ];
    match poll(&mut ends, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    // All but readiness to send: the end of a connection is taken, too.
    let [answer, message] = ends.map(|end| !(end.revents() - PollFlags::OUT).is_empty());
    Ok(Came { answer, message })
}

fn gone() -> Error {
    Error::Socket(io::ErrorKind::ConnectionReset.into())
}

// SPDX-License-Identifier: Apache-2.0
//! The user's side of reads: a source of commands and a sink of data.

use std::collections::VecDeque;

use forebay_rtl::Model;
use forebay_spec::streamer::UserError;
use forebay_spec::streamer::user::ReadCommand;

use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::payload::SinkCursor;
use crate::pins::{StreamIn, StreamOut, Streams};
use crate::stall::Pauser;
use crate::stats::{Direction, Outcome};
use crate::transaction::Read;

/// A read whose command was accepted, or still waits for it.
struct Pending {
    id: u64,
    command: ReadCommand,
    sink: SinkCursor,
    first_beat: u64,
    first_answer: Option<u64>,
}

/// Both ends of the read path.
pub(crate) struct Reads {
    source: StreamIn,
    sink: StreamOut,
    source_pause: Pauser,
    sink_pause: Pauser,
    queue: VecDeque<Pending>,
    in_flight: VecDeque<Pending>,
    /// Index in `in_flight` of the read whose packet is being received.
    receiving: Option<usize>,
    loaded: bool,
    sink_ready: bool,
    /// TKEEP of the last beat says how many bytes it has; SNAcc's streamer always gives 64.
    exact: bool,
    held: Held,
}

const CHANNEL: &str = "read data";

impl Reads {
    pub fn new(pins: &Streams, stalls: &Stalls, seed: u64) -> Self {
        let sink = pins.read;
        let payload = [Some(sink.data), sink.keep, sink.last, sink.user, sink.id];
        Self {
            source: pins.command,
            sink,
            source_pause: Pauser::new(stalls.command, seed, 3),
            sink_pause: Pauser::new(stalls.read, seed, 4),
            queue: VecDeque::new(),
            in_flight: VecDeque::new(),
            receiving: None,
            loaded: false,
            sink_ready: false,
            exact: pins.exact,
            held: Held::new(CHANNEL, payload.into_iter().flatten()),
        }
    }

    pub fn submit(&mut self, id: u64, read: Read) {
        let Read {
            address,
            length,
            unordered,
            sink,
        } = read;
        self.queue.push_back(Pending {
            id,
            command: ReadCommand {
                address,
                length,
                unordered,
            },
            sink: SinkCursor::new(sink, address),
            first_beat: 0,
            first_answer: None,
        });
    }

    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight.is_empty()
    }

    pub fn drive(&mut self, model: &mut Model) {
        if !self.loaded {
            if let Some(read) = self.queue.front()
                && !self.source_pause.pauses()
            {
                *model.wide_mut(self.source.data) = read.command.encode();
                if let Some(port) = self.source.last {
                    model.set(port, 1);
                }
                if let Some(keep) = self.source.keep {
                    model.set(keep, u64::MAX);
                }
                self.loaded = true;
            }
            model.set(self.source.valid, u64::from(self.loaded));
        }
        self.sink_ready = !self.sink_pause.pauses();
        model.set(self.sink.ready, u64::from(self.sink_ready));
    }

    /// Sees what was accepted; true where something moved.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        done: &mut impl FnMut(Outcome),
    ) -> Result<bool> {
        let mut moved = false;
        if self.loaded && model.is_set(self.source.ready) {
            moved = true;
            self.loaded = false;
            if let Some(mut read) = self.queue.pop_front() {
                read.first_beat = cycle;
                self.in_flight.push_back(read);
            }
        }
        let valid = model.is_set(self.sink.valid);
        self.held.watch(model, valid, self.sink_ready, cycle)?;
        if valid && self.sink_ready {
            moved = true;
            self.beat(model, cycle, done)?;
        }
        Ok(moved)
    }

    fn beat(&mut self, model: &Model, cycle: u64, done: &mut impl FnMut(Outcome)) -> Result<()> {
        let wrong = |what: String| Error::protocol(cycle, CHANNEL, what);
        let last = self.sink.last.is_some_and(|port| model.is_set(port));
        let failed = self.sink.user.is_some_and(|port| model.is_set(port));
        let keep = self.sink.keep.map_or(u64::MAX, |port| model.get(port));
        let index = match self.receiving {
            Some(index) => index,
            None => {
                let tag = self.sink.id.map_or(0, |port| model.get(port) as u8);
                self.find(tag).ok_or_else(|| wrong(no_read(tag)))?
            }
        };
        let Some(read) = self.in_flight.get_mut(index) else {
            return Err(wrong(no_read(0)));
        };
        self.receiving = (!last).then_some(index);
        read.first_answer.get_or_insert(cycle);
        let data = model.wide(self.sink.data);
        let left = read.command.length.saturating_sub(read.sink.received());
        if failed {
            if !last {
                return Err(wrong("TUSER without TLAST".into()));
            }
            // The last beat of a failed read bears a code in place of data.
            return self.end(index, cycle, Some(data[0]), done);
        }
        let count = if !last {
            if self.exact && keep != u64::MAX {
                return Err(wrong(format!("TKEEP {keep:#x} before the last beat")));
            }
            64
        } else if self.exact {
            let count = u64::from(keep.trailing_ones());
            if count == 0 || (count < 64 && keep >> count != 0) {
                return Err(wrong(format!("TKEEP {keep:#x} of the last beat")));
            }
            count
        } else {
            left.min(64)
        };
        if count > left || (last && count < left) {
            let (length, address) = (read.command.length, read.command.address);
            let came = read.sink.received() + count;
            let end = if last { "with TLAST" } else { "without TLAST" };
            return Err(wrong(format!(
                "{came} bytes have come {end} of the read of {length} bytes at {address:#x}"
            )));
        }
        let (id, bytes) = (read.id, &data[..count as usize]);
        read.sink.take(bytes).map_err(|source| Error::Data {
            id,
            what: "storing the data read",
            source,
        })?;
        if last {
            self.end(index, cycle, None, done)
        } else {
            Ok(())
        }
    }

    /// The read that a packet with this tag belongs to.
    fn find(&self, tag: u8) -> Option<usize> {
        let matches = |read: &Pending| match read.command.unordered {
            Some(own) => own == tag,
            None => tag == 0,
        };
        self.in_flight.iter().position(matches)
    }

    fn end(
        &mut self,
        index: usize,
        cycle: u64,
        code: Option<u8>,
        done: &mut impl FnMut(Outcome),
    ) -> Result<()> {
        self.receiving = None;
        let Some(mut read) = self.in_flight.remove(index) else {
            return Ok(());
        };
        read.sink.finish().map_err(|source| Error::Data {
            id: read.id,
            what: "storing the data read",
            source,
        })?;
        // TUSER with code 0 is still a failure.
        let error = code.map(|c| UserError::from_code(c).unwrap_or(UserError::Unknown(0)));
        done(read.outcome(cycle, error, false));
        Ok(())
    }

    /// The RTL is being reset: everything under way is over.
    pub fn reset(&mut self, model: &mut Model, cycle: u64, done: &mut impl FnMut(Outcome)) {
        model.set(self.source.valid, 0);
        model.set(self.sink.ready, 0);
        for mut read in self.in_flight.drain(..) {
            done(read.outcome(cycle, None, true));
        }
        if std::mem::take(&mut self.loaded)
            && let Some(mut read) = self.queue.pop_front()
        {
            read.first_beat = cycle;
            done(read.outcome(cycle, None, true));
        }
        self.receiving = None;
        self.held.reset();
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self, model: &Model) -> Option<String> {
        if self.is_idle() {
            return None;
        }
        let mut text = format!(
            "{} reads under way, {} to be begun",
            self.in_flight.len(),
            self.queue.len()
        );
        if self.loaded && !model.is_set(self.source.ready) {
            text += ", the read command stream is not ready";
        }
        if let Some(oldest) = self.in_flight.front() {
            text += &format!(
                ", the oldest: {} of {} bytes at {:#x} have come since cycle {}",
                oldest.sink.received(),
                oldest.command.length,
                oldest.command.address,
                oldest.first_beat
            );
        }
        Some(text)
    }
}

fn no_read(tag: u8) -> String {
    format!("data with TID {tag} came, but no read waits for that")
}

impl Pending {
    fn outcome(&mut self, cycle: u64, error: Option<UserError>, aborted: bool) -> Outcome {
        Outcome {
            id: self.id,
            direction: Direction::Read,
            address: self.command.address,
            length: self.command.length,
            transferred: self.sink.received(),
            error,
            first_beat: self.first_beat,
            last_beat: self.first_beat,
            first_answer: self.first_answer.unwrap_or(cycle),
            done: cycle,
            data: std::mem::take(&mut self.sink.data),
            mismatch: self.sink.mismatch,
            aborted,
        }
    }
}

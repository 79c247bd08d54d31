// SPDX-License-Identifier: Apache-2.0
//! The user's side of writes: a source of data beats and a sink of responses.

use std::collections::VecDeque;
use std::sync::Arc;

use forebay_rtl::Model;
use forebay_spec::streamer::UserError;
use forebay_spec::streamer::user::WriteCommand;

use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::pace::Fifo;
use crate::payload::{Payload, PayloadCursor};
use crate::pins::{StreamIn, StreamOut, Streams};
use crate::stall::Pauser;
use crate::stats::{Direction, Outcome};
use crate::transaction::{Damage, Write};

/// A write whose beats are still to come.
struct Sending {
    id: u64,
    command: [u8; 64],
    data: PayloadCursor,
    damage: Option<Damage>,
    address: u64,
    length: u64,
    /// Beats loaded so far, the command included.
    beats: u64,
}

impl Sending {
    /// Its command beat was accepted.
    const fn begun(&self, cycle: u64) -> InFlight {
        InFlight {
            id: self.id,
            address: self.address,
            length: self.length,
            first_beat: cycle,
            last_beat: None,
            response: None,
        }
    }
}

/// A write whose command beat was accepted.
struct InFlight {
    id: u64,
    address: u64,
    length: u64,
    first_beat: u64,
    last_beat: Option<u64>,
    response: Option<(u64, u8)>,
}

/// Both ends of the write path.
pub(crate) struct Writes {
    source: StreamIn,
    sink: StreamOut,
    source_pause: Pauser,
    sink_pause: Pauser,
    /// Where data to write wait, of a source that cannot.
    pub fifo: Option<Fifo>,
    queue: VecDeque<Sending>,
    in_flight: VecDeque<InFlight>,
    /// Responses that have come to writes in `in_flight`, which are its first ones.
    answered: usize,
    /// A beat stands at the port.
    loaded: bool,
    loaded_last: bool,
    sink_ready: bool,
    held: Held,
}

impl Writes {
    pub fn new(pins: &Streams, stalls: &Stalls, seed: u64) -> Self {
        let sink = pins.response;
        let payload = [Some(sink.data), sink.last].into_iter().flatten();
        Self {
            source: pins.write,
            sink,
            source_pause: Pauser::new(stalls.write, seed, 1),
            sink_pause: Pauser::new(stalls.response, seed, 2),
            fifo: None,
            queue: VecDeque::new(),
            in_flight: VecDeque::new(),
            answered: 0,
            loaded: false,
            loaded_last: false,
            sink_ready: false,
            held: Held::new("write responses", payload),
        }
    }

    pub fn submit(&mut self, id: u64, write: Write) {
        let Write {
            address,
            payload,
            fua,
            flush,
            fence,
            damage,
        } = write;
        self.queue.push_back(Sending {
            id,
            command: WriteCommand {
                address,
                fua,
                flush,
                fence,
            }
            .encode(),
            length: payload.length(),
            data: PayloadCursor::new(payload, address),
            damage,
            address,
            beats: 0,
        });
    }

    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight.is_empty()
    }

    /// Bytes that the source still has to send.
    pub fn bytes_left(&self) -> u64 {
        self.queue.iter().map(|sending| sending.data.left()).sum()
    }

    pub fn drive(&mut self, model: &mut Model) -> Result<()> {
        if self.fifo.is_some() {
            let left = self.bytes_left();
            self.fifo.iter_mut().for_each(|fifo| fifo.cycle(left));
        }
        if !self.loaded {
            let pauses = self.queue.is_empty() || self.source_pause.pauses() || self.starves();
            self.loaded = !pauses && self.load(model)?;
            model.set(self.source.valid, u64::from(self.loaded));
        }
        self.sink_ready = !self.sink_pause.pauses();
        model.set(self.sink.ready, u64::from(self.sink_ready));
        Ok(())
    }

    /// The next beat has not come yet. An address goes ahead of its data.
    pub fn starves(&self) -> bool {
        let (Some(fifo), Some(sending)) = (&self.fifo, self.queue.front()) else {
            return false;
        };
        sending.beats > 0 && !fifo.has(sending.data.left().min(64))
    }

    /// Puts the next beat on the port; false where there is none.
    fn load(&mut self, model: &mut Model) -> Result<bool> {
        let Some(sending) = self.queue.front_mut() else {
            return Ok(false);
        };
        if sending.beats > 0 && sending.data.left() == 0 {
            // TLAST was held back on purpose.
            return Ok(false);
        }
        let mut keep = u64::MAX;
        let port = model.wide_mut(self.source.data);
        if sending.beats == 0 {
            *port = sending.command;
        } else {
            let count = sending.data.fill(port).map_err(|source| Error::Data {
                id: sending.id,
                what: "reading the data to write",
                source,
            })?;
            if let Some(fifo) = &mut self.fifo {
                fifo.take(count as u64);
            }
            if count < 64 {
                keep = (1 << count) - 1;
            }
            match sending.damage {
                Some(Damage::Keep { beat, keep: wrong }) if beat == sending.beats - 1 => {
                    keep = wrong
                }
                _ => {}
            }
        }
        sending.beats += 1;
        let last = sending.data.left() == 0 && sending.damage != Some(Damage::NoLast);
        self.loaded_last = last;
        if let Some(port) = self.source.last {
            model.set(port, u64::from(last));
        }
        if let Some(port) = self.source.keep {
            model.set(port, keep);
        }
        Ok(true)
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
            self.sent(cycle);
        }
        let valid = model.is_set(self.sink.valid);
        self.held.watch(model, valid, self.sink_ready, cycle)?;
        if valid && self.sink_ready {
            moved = true;
            self.response(model.get(self.sink.data) as u8, cycle)?;
        }
        if moved {
            self.finish(done);
        }
        Ok(moved)
    }

    /// Hands over the writes that have been sent whole and answered, in order.
    fn finish(&mut self, done: &mut impl FnMut(Outcome)) {
        while let Some(InFlight {
            last_beat: Some(last_beat),
            response: Some((at, code)),
            ..
        }) = self.in_flight.front()
        {
            let (last_beat, at, error) = (*last_beat, *at, UserError::from_code(*code));
            if let Some(write) = self.in_flight.pop_front() {
                self.answered -= 1;
                done(write.outcome(last_beat, at, error, false));
            }
        }
    }

    fn sent(&mut self, cycle: u64) {
        let Some(sending) = self.queue.front() else {
            return;
        };
        if sending.beats == 1 {
            self.in_flight.push_back(sending.begun(cycle));
        }
        if self.loaded_last {
            if let Some(write) = self.in_flight.back_mut() {
                write.last_beat = Some(cycle);
            }
            self.queue.pop_front();
        }
    }

    fn response(&mut self, code: u8, cycle: u64) -> Result<()> {
        let Some(write) = self.in_flight.get_mut(self.answered) else {
            let what = "a response came without a write that waits for one";
            return Err(Error::protocol(cycle, "write responses", what));
        };
        write.response = Some((cycle, code));
        self.answered += 1;
        Ok(())
    }

    /// The RTL is being reset: everything under way is over.
    pub fn reset(&mut self, model: &mut Model, cycle: u64, done: &mut impl FnMut(Outcome)) {
        model.set(self.source.valid, 0);
        model.set(self.sink.ready, 0);
        // The write in the midst of its beats is also in flight; others have not begun.
        if self.queue.front().is_some_and(|sending| sending.beats > 0) {
            let last = self.in_flight.back().map(|write| write.id);
            if let Some(sending) = self.queue.pop_front()
                && last != Some(sending.id)
            {
                self.in_flight.push_back(sending.begun(cycle));
            }
        }
        for write in self.in_flight.drain(..) {
            let last_beat = write.last_beat.unwrap_or(cycle);
            done(write.outcome(last_beat, cycle, None, true));
        }
        self.answered = 0;
        self.loaded = false;
        self.held.reset();
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self, model: &Model) -> Option<String> {
        if self.is_idle() {
            return None;
        }
        let mut text = format!(
            "{} writes under way ({} still to begin), {} bytes still to send",
            self.in_flight.len(),
            self.queue
                .iter()
                .filter(|sending| sending.beats == 0)
                .count(),
            self.bytes_left(),
        );
        if self.loaded && !model.is_set(self.source.ready) {
            text += ", the write stream is not ready";
        }
        if let Some(oldest) = self.in_flight.get(self.answered) {
            text += &format!(
                ", the oldest without response: {} bytes at {:#x} since cycle {}",
                oldest.length, oldest.address, oldest.first_beat
            );
        }
        Some(text)
    }
}

impl InFlight {
    fn outcome(&self, last_beat: u64, at: u64, error: Option<UserError>, aborted: bool) -> Outcome {
        Outcome {
            id: self.id,
            direction: Direction::Write,
            address: self.address,
            length: self.length,
            transferred: self.length,
            error,
            first_beat: self.first_beat,
            last_beat,
            first_answer: at,
            done: at,
            data: Vec::new(),
            mismatch: None,
            aborted,
        }
    }
}

impl From<Arc<[u8]>> for Payload {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::Bytes(bytes)
    }
}

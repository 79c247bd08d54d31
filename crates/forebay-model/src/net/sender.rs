// SPDX-License-Identifier: Apache-2.0
//! The sending end of a wire: when it is free, when it must be silent, what its time was used for.

use super::QUANTUM;
use super::counters::{PauseCounters, WireTime};
use super::frame::Frame;
use super::settings::Flow;
use crate::Time;
use forebay_spec::net::Pause;
use std::collections::VecDeque;

/// A sending end. Times handed in never go back.
#[derive(Debug)]
pub(super) struct Sender {
    flow: Flow,
    /// From the end of a pause frame until it counts.
    response: Option<Time>,
    free: Time,
    silent: Time,
    /// Pause frames that do not count yet: when they will, and their quanta.
    heard: VecDeque<(Time, u16)>,
    pause: PauseCounters,
    wire: WireTime,
    /// Until when time is accounted for.
    since: Time,
}

impl Sender {
    pub const fn new(flow: Flow, response: Option<Time>) -> Self {
        Self {
            flow,
            response,
            free: 0,
            silent: 0,
            heard: VecDeque::new(),
            pause: PauseCounters {
                xoff: 0,
                xon: 0,
                foreign: 0,
                silence: 0,
            },
            wire: WireTime {
                busy: 0,
                paused: 0,
                idle: 0,
            },
            since: 0,
        }
    }

    /// Time counts from here on.
    pub fn begin(&mut self, now: Time) {
        self.wire = WireTime::default();
        self.since = now;
        self.free = self.free.max(now);
    }

    /// When the next frame can begin, as far as the wire goes.
    pub const fn free(&self) -> Time {
        self.free
    }

    /// When it may begin, as far as pause frames go that count by now.
    pub const fn allowed(&self) -> Time {
        if self.free > self.silent {
            self.free
        } else {
            self.silent
        }
    }

    /// A frame has been heard; if it is a pause frame it will count later.
    pub fn hear(&mut self, now: Time, frame: &Frame) {
        let Some(pause) = Pause::from_frame(frame.bytes()).filter(|_| !frame.is_damaged()) else {
            return;
        };
        match self.flow.quanta(&pause) {
            None => self.pause.foreign += 1,
            Some(quanta) => {
                if quanta == 0 {
                    self.pause.xon += 1;
                } else {
                    self.pause.xoff += 1;
                }
                if let Some(response) = self.response {
                    self.heard.push_back((now + response, quanta));
                }
            }
        }
    }

    /// When the next pause frame begins to count.
    pub fn counts(&self) -> Option<Time> {
        self.heard.front().map(|(at, _)| *at)
    }

    /// It does. `waiting`: there is something to be sent.
    pub fn count(&mut self, waiting: bool) {
        if let Some((at, quanta)) = self.heard.pop_front() {
            self.account(at, waiting);
            let until = at + Time::from(quanta) * QUANTUM;
            // What is left of the time before is replaced, not added to.
            self.pause.silence -= self.silent.saturating_sub(at);
            self.pause.silence += until - at;
            self.silent = until;
        }
    }

    /// A frame begins; `waiting`: it, or another, was waiting before.
    pub fn start(&mut self, now: Time, wire_time: Time, waiting: bool) {
        self.account(now, waiting);
        self.free = now + wire_time;
    }

    /// A frame of a length not known yet begins, now or as soon as the wire is free: returns when.
    /// Until [`Self::close`] the wire is busy.
    pub fn open(&mut self, now: Time) -> Time {
        let begin = self.free.max(now);
        if begin > self.free {
            self.account(begin, true);
        }
        self.free = Time::MAX;
        begin
    }

    /// The wire is free again at this time.
    pub const fn close(&mut self, free: Time) {
        self.free = free;
    }

    /// Time up to now is accounted for, all of it spent in the same way but for the end of a frame
    /// and that of silence.
    pub fn account(&mut self, now: Time, waiting: bool) {
        Self::spend(
            &mut self.wire,
            self.since,
            now,
            self.free,
            waiting.then_some(self.silent),
        );
        self.since = self.since.max(now);
    }

    fn spend(wire: &mut WireTime, since: Time, now: Time, free: Time, silent: Option<Time>) {
        let now = now.max(since);
        let free = free.clamp(since, now);
        let silent = silent.unwrap_or(0).clamp(free, now);
        wire.busy += free - since;
        wire.paused += silent - free;
        wire.idle += now - silent;
    }

    /// What the wire was used for until now.
    pub fn wire(&self, now: Time, waiting: bool) -> WireTime {
        let mut wire = self.wire;
        let silent = waiting.then_some(self.silent);
        Self::spend(&mut wire, self.since, now, self.free, silent);
        wire
    }

    /// What was asked for until now.
    pub fn pause(&self, now: Time) -> PauseCounters {
        let mut pause = self.pause;
        pause.silence -= self.silent.saturating_sub(now);
        pause
    }
}

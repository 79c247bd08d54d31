// SPDX-License-Identifier: Apache-2.0
//! Who sends to us: a source, and how it takes pause.

use std::collections::VecDeque;

use super::counters::{ByKind, FrameCounts};
use super::frame::{Frame, Kind};
use super::packet::{Station, arp_reply};
use super::sender::Sender;
use super::source::{Next, Source};
use crate::{MICROSECOND, Time};

/// Requests that it answers later, at most.
const ANSWERS_MOST: usize = 16;

/// The link partner. Times handed in never go back.
pub(super) struct Peer {
    pub source: Box<dyn Source>,
    pub sender: Sender,
    /// What it sends next, and since when it has it.
    pending: Option<(Time, Frame)>,
    /// When the source is asked again; `None`: it has ended.
    ask: Option<Time>,
    /// Whose address it answers, and answers that are to be sent.
    station: Option<Station>,
    answers: VecDeque<(Time, Frame)>,
    pub offered: FrameCounts,
    pub sent: ByKind,
    pub arrived: ByKind,
}

impl Peer {
    pub fn new(source: Box<dyn Source>, sender: Sender, station: Option<Station>) -> Self {
        Self {
            source,
            sender,
            pending: None,
            ask: None,
            station,
            answers: VecDeque::new(),
            offered: FrameCounts::default(),
            sent: ByKind::default(),
            arrived: ByKind::default(),
        }
    }

    /// Asks its source from now on.
    pub fn begin(&mut self, now: Time) {
        self.sender.begin(now);
        self.ask = Some(now);
    }

    /// Something waits to be sent.
    pub const fn waits(&self) -> bool {
        self.pending.is_some()
    }

    /// Its source has nothing to be sent yet.
    pub fn is_silent(&self) -> bool {
        self.pending.is_none() && self.answers.is_empty() && self.ask.is_some()
    }

    /// When it asks its source or begins a frame.
    pub fn acts(&self) -> Option<Time> {
        match &self.pending {
            Some((since, frame)) if frame.kind() == Kind::Pause => {
                Some(self.sender.free().max(*since))
            }
            Some((since, _)) => Some(self.sender.allowed().max(*since)),
            None if !self.answers.is_empty() => Some(self.sender.free()),
            None => self.ask.map(|ask| ask.max(self.sender.free())),
        }
    }

    /// It does, at just that time: returns a frame that begins.
    pub fn act(&mut self, now: Time) -> Option<Frame> {
        if self.pending.is_none() {
            self.pending = self.answers.pop_front();
        }
        if self.pending.is_none() {
            let next = self.source.next(now);
            self.ask = match next {
                Next::Frame(frame) => {
                    self.offered.add(&frame);
                    self.sender.account(now, false);
                    self.pending = Some((now, frame));
                    Some(now)
                }
                Next::NotBefore(at) if at > now => Some(at),
                Next::NotBefore(_) | Next::Waiting => Some(now + MICROSECOND),
                Next::End => None,
            };
        }
        if self.acts() != Some(now) {
            return None;
        }
        let (_, frame) = self.pending.take()?;
        self.sender.start(now, frame.wire_time(), true);
        self.sent.add(&frame);
        Some(frame)
    }

    /// A frame has come to its end here.
    pub fn hear(&mut self, now: Time, frame: &Frame) {
        self.arrived.add(frame);
        self.sender.hear(now, frame);
        let heard = self.station.filter(|_| !frame.is_damaged());
        let reply = heard.and_then(|who| arp_reply(who, frame.bytes()));
        let reply = reply.and_then(|bytes| Frame::new(bytes).ok());
        if self.answers.len() < ANSWERS_MOST {
            self.answers.extend(reply.map(|frame| (now, frame)));
        }
    }

    /// It has nothing to be sent and never will.
    pub fn is_at_end(&self) -> bool {
        self.pending.is_none() && self.answers.is_empty() && self.ask.is_none()
    }
}

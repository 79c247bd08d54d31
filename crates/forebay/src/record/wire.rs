// SPDX-License-Identifier: Apache-2.0
//! What is at the other end of the cable: captures, an interface of this machine, a sender of
//! patterns; and who listens to what passes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use forebay_model::Time;
use forebay_model::net::{Direction, Frame, NetError, Next, Source, Tap as Listener};
use forebay_net::pcap::{Capture, Packet, Recorder, Seen, Way};
use forebay_net::tap::Tap;
use forebay_net::{Error, Result};

/// Asks in a row without a frame after which an interface is looked at less often.
const PATIENCE: u32 = 200;
/// How long it then rests between two looks, so that nothing to do takes no time of the processor.
const REST: Duration = Duration::from_micros(500);

/// A failure on the way, kept until the recording has ended.
type Kept<T> = Arc<Mutex<T>>;

fn open<T>(kept: &Kept<T>) -> std::sync::MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a source ended with before its time.
fn ended(what: &str, reason: impl ToString) -> NetError {
    NetError::Input {
        what: what.to_owned(),
        reason: reason.to_string(),
    }
}

/// The frames of a capture.
pub struct Captured {
    capture: Capture,
    seen: Kept<Seen>,
    flat_out: bool,
    began: Option<Time>,
    held: Option<Packet>,
    failure: Option<NetError>,
}

impl Captured {
    /// Of this file; `flat_out`: without the pauses between them.
    pub fn open(path: &Path, flat_out: bool) -> Result<Self> {
        Ok(Self {
            capture: Capture::open(path)?,
            seen: Kept::default(),
            flat_out,
            began: None,
            held: None,
            failure: None,
        })
    }

    /// What has been in it, once it has been sent.
    pub fn seen(&self) -> Kept<Seen> {
        Arc::clone(&self.seen)
    }

    fn packet(&mut self) -> Option<Packet> {
        if let Some(packet) = self.held.take() {
            return Some(packet);
        }
        let packet = match self.capture.next()? {
            Ok(packet) => Some(packet),
            Err(failure) => {
                self.failure = Some(ended("the capture", failure));
                None
            }
        };
        open(&self.seen).clone_from(self.capture.seen());
        packet
    }
}

impl Source for Captured {
    fn next(&mut self, now: Time) -> Next {
        let began = *self.began.get_or_insert(now);
        let Some(packet) = self.packet() else {
            open(&self.seen).clone_from(self.capture.seen());
            return Next::End;
        };
        let at = began.saturating_add(packet.time);
        if !self.flat_out && at > now {
            self.held = Some(packet);
            return Next::NotBefore(at);
        }
        match Frame::new(packet.frame) {
            Ok(frame) => Next::Frame(frame),
            Err(error) => {
                self.failure = Some(error);
                Next::End
            }
        }
    }

    fn failure(&self) -> Option<&NetError> {
        self.failure.as_ref()
    }
}

/// An interface of this machine: what Linux sends comes to us, and what we send to Linux.
#[derive(Clone)]
pub struct Interface {
    tap: Kept<Tap>,
    until: Option<Instant>,
    silent: u32,
    failure: Option<NetError>,
}

impl Interface {
    /// This one, for so long.
    pub fn new(tap: Tap, lasts: Option<Duration>) -> Self {
        Self {
            tap: Arc::new(Mutex::new(tap)),
            until: lasts.map(|lasts| Instant::now() + lasts),
            silent: 0,
            failure: None,
        }
    }

    /// Frames that Linux dropped because they came faster than we took them.
    pub fn dropped(&self) -> Result<u64> {
        open(&self.tap).dropped()
    }
}

impl Source for Interface {
    fn next(&mut self, _: Time) -> Next {
        let mut bytes = Vec::new();
        let read = open(&self.tap).read(&mut bytes);
        match read.map(|read| read.then(|| Frame::new(bytes))) {
            Ok(Some(Ok(frame))) => {
                self.silent = 0;
                Next::Frame(frame)
            }
            Ok(None) if self.until.is_some_and(|until| Instant::now() >= until) => Next::End,
            Ok(None) => {
                self.silent = self.silent.saturating_add(1);
                if self.silent > PATIENCE {
                    sleep(REST);
                }
                Next::Waiting
            }
            Ok(Some(Err(error))) => {
                self.failure = Some(error);
                Next::End
            }
            Err(failure) => {
                self.failure = Some(ended("the interface", failure));
                Next::End
            }
        }
    }

    fn failure(&self) -> Option<&NetError> {
        self.failure.as_ref()
    }
}

impl Listener for Interface {
    fn frame(&mut self, _: Time, direction: Direction, frame: &Frame) {
        if direction == Direction::Sent && !frame.is_damaged() {
            // As on a wire: what finds no room at the receiver is lost there, and Linux counts it.
            // If the interface is gone, the source says so.
            let _ = open(&self.tap).write(frame.bytes());
        }
    }
}

/// A capture of all that passes.
#[derive(Clone)]
pub struct Written {
    recorder: Kept<Option<Recorder>>,
    failure: Kept<Option<Error>>,
}

impl Written {
    /// Into this file.
    pub fn create(path: &Path) -> Result<Self> {
        let recorder = Recorder::create(path, &[("fb0", "Forebay's simulated port")])?;
        Ok(Self {
            recorder: Arc::new(Mutex::new(Some(recorder))),
            failure: Kept::default(),
        })
    }

    /// Sees to it that all is in the file.
    pub fn finish(&self) -> Result<()> {
        if let Some(failure) = open(&self.failure).take() {
            return Err(failure);
        }
        match open(&self.recorder).take() {
            Some(recorder) => recorder.finish(),
            None => Ok(()),
        }
    }
}

impl Listener for Written {
    fn frame(&mut self, at: Time, direction: Direction, frame: &Frame) {
        let way = match direction {
            Direction::Received => Way::In,
            Direction::Sent => Way::Out,
        };
        let mut recorder = open(&self.recorder);
        if let Some(recording) = recorder.as_mut() {
            let written = recording.frame(0, way, at, frame.bytes(), frame.is_damaged());
            if let Err(failure) = written {
                *open(&self.failure) = Some(failure);
                *recorder = None;
            }
        }
    }
}

/// Several that listen.
pub struct Listeners(pub Vec<Box<dyn Listener>>);

impl Listener for Listeners {
    fn frame(&mut self, at: Time, direction: Direction, frame: &Frame) {
        for listener in &mut self.0 {
            listener.frame(at, direction, frame);
        }
    }
}

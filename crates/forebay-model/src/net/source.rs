// SPDX-License-Identifier: Apache-2.0
//! Where the link partner's frames come from.

use super::counters::FrameCounts;
use super::error::NetError;
use super::frame::Frame;
use crate::Time;

/// What a source has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next frame, to be sent as soon as the wire and pause allow.
    Frame(Frame),
    /// Nothing before this time.
    NotBefore(Time),
    /// Nothing yet: ask again a microsecond later.
    Waiting,
    /// Nothing any more.
    End,
}

/// Where frames come from: a generator, a file, a network interface. It is asked whenever the link
/// partner's side of the wire is free and has no frame left; times never go back.
pub trait Source: Send {
    /// What comes next.
    fn next(&mut self, now: Time) -> Next;

    /// Why it ended before its time.
    fn failure(&self) -> Option<&NetError> {
        None
    }

    /// Frames that it made and left out on purpose.
    fn left_out(&self) -> FrameCounts {
        FrameCounts::default()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self, now: Time) -> Next {
        (**self).next(now)
    }

    fn failure(&self) -> Option<&NetError> {
        (**self).failure()
    }

    fn left_out(&self) -> FrameCounts {
        (**self).left_out()
    }
}

/// The frames of an iterator, as fast as the wire takes them.
#[derive(Debug)]
pub struct Frames<I>(I);

impl<I: Iterator<Item = Frame> + Send> Frames<I> {
    /// The frames of an iterator.
    pub fn new(frames: impl IntoIterator<IntoIter = I>) -> Self {
        Self(frames.into_iter())
    }
}

impl Frames<std::iter::RepeatN<Frame>> {
    /// The same frame, `times` times.
    #[must_use]
    pub fn repeat(frame: Frame, times: usize) -> Self {
        Self(std::iter::repeat_n(frame, times))
    }
}

impl<I: Iterator<Item = Frame> + Send> Source for Frames<I> {
    fn next(&mut self, _: Time) -> Next {
        self.0.next().map_or(Next::End, Next::Frame)
    }
}

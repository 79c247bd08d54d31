// SPDX-License-Identifier: Apache-2.0
//! A network that loses, doubles, delays and damages frames.

use super::counters::FrameCounts;
use super::error::NetError;
use super::frame::{Frame, Kind};
use super::source::{Next, Source};
use crate::Time;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, VecDeque};

/// Frames that one may be late by, and so held.
const MOST_LATE: u64 = 1024;

/// What happens to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impairment {
    /// Burst loss: this many frames from it on are lost before they reach the wire.
    Lose(u64),
    /// It comes again, after this many frames that follow it.
    Repeat(u64),
    /// This many frames that follow overtake it; 1 swaps two.
    Delay(u64),
    /// One of its bytes is changed, and its check sequence says so.
    Damage,
    /// Only this many bytes of it come, and no check sequence.
    Truncate(usize),
}

#[derive(Debug)]
enum Plan {
    Listed(BTreeMap<u64, Impairment>),
    Chance { random: Pcg64Mcg, per_million: u32 },
}

/// A source with impairments on the way to the wire.
#[derive(Debug)]
pub struct Impaired<S> {
    source: S,
    plan: Plan,
    /// Frames of the source so far.
    count: u64,
    /// How many more are lost.
    losing: u64,
    /// Frames that come once as many of the source have passed.
    held: Vec<(u64, Frame)>,
    ready: VecDeque<Frame>,
    lost: FrameCounts,
    ended: bool,
}

impl<S: Source> Impaired<S> {
    /// Impairments of frames, by their number in the source, counted from 0. Of several for one frame the
    /// first in the list happens.
    ///
    /// # Errors
    ///
    /// A frame would be late by more than are ever held.
    pub fn new(source: S, impairments: Vec<(u64, Impairment)>) -> Result<Self, NetError> {
        let mut list = BTreeMap::new();
        for (number, impairment) in impairments {
            if let Impairment::Repeat(by) | Impairment::Delay(by) = impairment
                && by > MOST_LATE
            {
                return Err(NetError::Setting {
                    field: "frames that overtake another",
                    value: by.to_string(),
                    limit: format!("at most {MOST_LATE}"),
                    remedy: "That is past any receiver's memory of what it has seen",
                });
            }
            list.entry(number).or_insert(impairment);
        }
        Ok(Self::planned(source, Plan::Listed(list)))
    }

    /// Impairments of all kinds to `per_million` of a million frames, by chance from a seed.
    #[must_use]
    pub fn by_chance(source: S, seed: u64, per_million: u32) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self::planned(
            source,
            Plan::Chance {
                random,
                per_million,
            },
        )
    }

    fn planned(source: S, plan: Plan) -> Self {
        Self {
            source,
            plan,
            count: 0,
            losing: 0,
            held: Vec::new(),
            ready: VecDeque::new(),
            lost: FrameCounts::default(),
            ended: false,
        }
    }

    fn pass(&mut self, frame: Frame) {
        let number = self.count;
        self.count += 1;
        let impairment = self.plan.of(number, &frame);
        if let Some(Impairment::Lose(frames)) = impairment {
            self.losing = self.losing.max(frames);
        }
        if self.losing > 0 {
            self.losing -= 1;
            self.lost.add(&frame);
        } else {
            self.impair(number, frame, impairment);
        }
        self.release(number);
    }

    fn impair(&mut self, number: u64, frame: Frame, impairment: Option<Impairment>) {
        let frame = match impairment {
            Some(Impairment::Delay(by)) if by > 0 => {
                self.held.push((number + by, frame.of_kind(Kind::Late)));
                return;
            }
            Some(Impairment::Repeat(behind)) => {
                let again = frame.clone().of_kind(Kind::Duplicate);
                self.held.push((number + behind, again));
                frame
            }
            Some(Impairment::Damage) => frame.spoilt(number),
            Some(Impairment::Truncate(bytes)) => frame.truncated(bytes),
            _ => frame,
        };
        self.ready.push_back(frame);
    }

    /// Those held that this frame has let pass.
    fn release(&mut self, number: u64) {
        for (_, frame) in self.held.extract_if(.., |(behind, _)| *behind <= number) {
            self.ready.push_back(frame);
        }
    }
}

impl Plan {
    fn of(&mut self, number: u64, frame: &Frame) -> Option<Impairment> {
        match self {
            Self::Listed(list) => list.remove(&number),
            Self::Chance {
                random,
                per_million,
            } => {
                if below(random, 1_000_000) >= u64::from(*per_million) {
                    return None;
                }
                Some(match below(random, 5) {
                    0 => Impairment::Lose(1 + below(random, 3)),
                    1 => Impairment::Repeat(below(random, 70)),
                    2 => Impairment::Delay(1 + below(random, 70)),
                    3 => Impairment::Damage,
                    _ => Impairment::Truncate(1 + below(random, frame.len()) as usize),
                })
            }
        }
    }
}

/// A number less than `limit`, which is not 0.
pub(super) fn below(random: &mut Pcg64Mcg, limit: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64
}

impl<S: Source> Source for Impaired<S> {
    fn next(&mut self, now: Time) -> Next {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Next::Frame(frame);
            }
            if self.ended {
                return Next::End;
            }
            match self.source.next(now) {
                Next::Frame(frame) => self.pass(frame),
                Next::End => {
                    self.ended = true;
                    self.release(u64::MAX);
                }
                other => return other,
            }
        }
    }

    fn failure(&self) -> Option<&NetError> {
        self.source.failure()
    }

    fn left_out(&self) -> FrameCounts {
        self.source.left_out() + self.lost
    }
}

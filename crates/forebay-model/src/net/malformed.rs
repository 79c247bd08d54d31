// SPDX-License-Identifier: Apache-2.0
//! Malformed frames between those of a source.

use super::counters::FrameCounts;
use super::error::NetError;
use super::frame::{Frame, Kind};
use super::impaired::below;
use super::settings::Flow;
use super::source::{Next, Source};
use crate::Time;
use forebay_spec::net::Pause;
use forebay_spec::net::ethernet::{
    HEADER_BYTES, IPV4_BYTES, IPV6_BYTES, LEAST_BYTES, TAG_BYTES, TYPE_FOREBAY, TYPE_IPV6,
    TYPE_VLAN, UDP_BYTES,
};
use forebay_spec::net::header;
use forebay_spec::net::pause::CLASSES;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// What it is made of, in the order in which chance picks.
const KINDS: [Kind; 7] = [
    Kind::Noise,
    Kind::Truncated,
    Kind::Runt,
    Kind::Giant,
    Kind::Damaged,
    Kind::Turned,
    Kind::Pause,
];
/// Pause frames of a storm, at most.
const MOST_STORM: u64 = 64;
/// Longest pause that a storm asks for: another one follows, and time is dear.
const MOST_STORM_QUANTA: u64 = 2_000;
/// Bytes over the limit that a giant may have.
const MOST_OVER: u64 = 8_000;

/// A source with malformed frames between its own, from a seed. Its own frames all come, whole and
/// in order. Malformed frames are of the kinds [noise](Kind::Noise), [truncated](Kind::Truncated),
/// [runt](Kind::Runt), [giant](Kind::Giant), [damaged](Kind::Damaged), [turned](Kind::Turned) and
/// [pause](Kind::Pause), some of them made of the frame before; [`Counters::sent`] has the numbers.
///
/// [`Counters::sent`]: super::Counters::sent
#[derive(Debug)]
pub struct Malformed<S> {
    source: S,
    random: Pcg64Mcg,
    per_thousand: u32,
    kinds: Vec<Kind>,
    flow: Flow,
    /// Bytes of the longest frame that is none too long.
    limit: u64,
    ready: VecDeque<Frame>,
}

impl<S: Source> Malformed<S> {
    /// Malformed frames of all kinds, one behind `per_thousand` of 1,000 frames of the source. Frames
    /// of more than `limit` bytes are giants.
    ///
    /// # Errors
    ///
    /// A limit that leaves no room for giants.
    pub fn new(source: S, seed: u64, per_thousand: u32, limit: u64) -> Result<Self, NetError> {
        let most = super::MOST_BYTES as u64 - MOST_OVER;
        if !(LEAST_BYTES as u64..=most).contains(&limit) {
            return Err(NetError::Setting {
                field: "limit",
                value: limit.to_string(),
                limit: format!("{LEAST_BYTES} to {most}"),
                remedy: "Give the bytes of the longest frame that the receiver takes",
            });
        }
        Ok(Self {
            source,
            random: Pcg64Mcg::seed_from_u64(seed),
            per_thousand,
            kinds: KINDS.to_vec(),
            flow: Flow::Link,
            limit,
            ready: VecDeque::new(),
        })
    }

    /// The same of some kinds only; those that are not malformed are ignored.
    #[must_use]
    pub fn only(mut self, kinds: &[Kind]) -> Self {
        self.kinds.retain(|kind| kinds.contains(kind));
        self
    }

    /// The same with pause frames of this kind.
    #[must_use]
    pub fn with_flow(mut self, flow: Flow) -> Self {
        self.flow = flow;
        self
    }

    fn below(&mut self, limit: u64) -> u64 {
        below(&mut self.random, limit)
    }

    fn disturb(&mut self, good: &Frame) -> Result<(), NetError> {
        if self.kinds.is_empty() || self.below(1000) >= u64::from(self.per_thousand) {
            return Ok(());
        }
        let at = self.below(self.kinds.len() as u64) as usize;
        let kind = self.kinds[at];
        let frame = match kind {
            Kind::Noise => {
                let bytes = LEAST_BYTES as u64 + self.below(self.limit - LEAST_BYTES as u64 + 1);
                self.noise(bytes)?
            }
            Kind::Runt => {
                let bytes = 1 + self.below(LEAST_BYTES as u64 - 1) as usize;
                Frame::bare(&good.bytes()[..bytes.min(good.bytes().len())])?
            }
            Kind::Giant => {
                let bytes = self.limit + 1 + self.below(MOST_OVER);
                let mut long = good.bytes().to_vec();
                long.resize(bytes as usize, 0x5a);
                Frame::bare(long)?
            }
            Kind::Truncated => good.clone().truncated(1 + self.below(good.len()) as usize),
            Kind::Damaged => good.clone().spoilt(self.random.next_u64()),
            Kind::Turned => self.turned(good)?,
            _ => return self.storm(),
        };
        self.ready.push_back(frame.of_kind(kind));
        Ok(())
    }

    fn noise(&mut self, bytes: u64) -> Result<Frame, NetError> {
        let mut noise = vec![0; bytes as usize];
        self.random.fill_bytes(&mut noise);
        Frame::bare(noise)
    }

    /// One bit of the headers turned. Straight behind Ethernet no checksum guards our header: there
    /// only a bit of Ethernet's is turned, so that no number is taken for true that is none. Of the
    /// header of IPv6 no checksum guards the traffic class, the flow label and the hop limit: with a
    /// bit of these turned, the frame would be a good one.
    fn turned(&mut self, good: &Frame) -> Result<Frame, NetError> {
        let mut bytes = good.bytes().to_vec();
        let mut kind_at = HEADER_BYTES - 2;
        if bytes.get(kind_at..kind_at + 2) == Some(&TYPE_VLAN.to_be_bytes()) {
            kind_at += TAG_BYTES;
        }
        let is = |kind: u16| bytes.get(kind_at..kind_at + 2) == Some(&kind.to_be_bytes());
        let ipv6 = is(TYPE_IPV6);
        let behind = match (is(TYPE_FOREBAY), ipv6) {
            (true, _) => 0,
            (false, false) => IPV4_BYTES + UDP_BYTES + header::BYTES,
            (false, true) => IPV6_BYTES + UDP_BYTES + header::BYTES,
        };
        let headers = (kind_at + 2 + behind).min(bytes.len());
        // Bits count from the lowest of a byte; the version is in the upper four of the first one.
        let ip = 8 * (kind_at + 2);
        let unguarded = [ip..ip + 4, ip + 8..ip + 32, ip + 56..ip + 64];
        let bit = loop {
            let bit = self.below(8 * headers as u64) as usize;
            if !(ipv6 && unguarded.iter().any(|bits| bits.contains(&bit))) {
                break bit;
            }
        };
        bytes[bit / 8] ^= 1 << (bit % 8);
        Frame::bare(bytes)
    }

    /// Pause frames one behind the other, the last of them with zero quanta.
    fn storm(&mut self) -> Result<(), NetError> {
        for left in (0..=self.below(MOST_STORM)).rev() {
            let quanta = match left {
                0 => 0,
                _ => self.below(MOST_STORM_QUANTA) as u16,
            };
            let pause = match self.flow {
                Flow::Link => Pause::Link(quanta),
                Flow::Class(class) => {
                    let mut classes = [None; CLASSES];
                    classes[usize::from(class) % CLASSES] = Some(quanta);
                    Pause::Priority(classes)
                }
            };
            let mut source = [0; 6];
            self.random.fill_bytes(&mut source);
            let frame = Frame::bare(pause.to_frame(source))?;
            self.ready.push_back(frame.of_kind(Kind::Pause));
        }
        Ok(())
    }
}

impl<S: Source> Source for Malformed<S> {
    fn next(&mut self, now: Time) -> Next {
        if let Some(frame) = self.ready.pop_front() {
            return Next::Frame(frame);
        }
        let next = self.source.next(now);
        if let Next::Frame(good) = &next {
            // Its lengths are all within what a frame can have.
            let disturbed = self.disturb(good);
            debug_assert_eq!(disturbed, Ok(()));
        }
        next
    }

    fn failure(&self) -> Option<&NetError> {
        self.source.failure()
    }

    fn left_out(&self) -> FrameCounts {
        self.source.left_out()
    }
}

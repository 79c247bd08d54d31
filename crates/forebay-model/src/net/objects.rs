// SPDX-License-Identifier: Apache-2.0
//! Objects cut into frames with our header, each made when it is asked for.

use super::error::NetError;
use super::frame::Frame;
use super::packet::Addresses;
use super::source::{Next, Source};
use crate::Time;
use forebay_spec::net::header::{self, Header, Position};
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// Bytes of the longest datagram of IPv4 behind the header of UDP.
const MOST_MTU: usize = 65_535;

/// What an object is made of.
pub enum Content {
    /// The bytes of [`pattern`] with this seed: checked again without being kept.
    Pattern(u64),
    /// These bytes over and over.
    Bytes(Arc<[u8]>),
    /// What a reader gives.
    Reader(Box<dyn Read + Send>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(seed) => f.debug_tuple("Pattern").field(seed).finish(),
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(&bytes.len()).finish(),
            Self::Reader(_) => f.write_str("Reader"),
        }
    }
}

/// An object to be sent.
#[derive(Debug)]
pub struct Object {
    /// Its number.
    pub number: u64,
    /// Its length; one without bytes cannot be sent and is passed over.
    pub bytes: u64,
    /// Its bytes.
    pub content: Content,
}

/// What a sender does in front of a frame, against the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It begins anew: another epoch, the first sequence number, and the next object, whatever was
    /// left of the one before.
    Epoch(u32),
    /// Its sequence number goes up by this much more, modulo 2^32. No payload is missing.
    Jump(u32),
}

/// A sender of objects: a [`Source`].
pub struct Objects {
    addresses: Addresses,
    payload: usize,
    stream: u16,
    epoch: u32,
    first: u32,
    sequence: u32,
    objects: Box<dyn Iterator<Item = Object> + Send>,
    open: Option<(Object, u64)>,
    /// Frames made.
    made: u64,
    restarts: Vec<(u64, Restart)>,
    failure: Option<NetError>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("addresses", &self.addresses)
            .field("sequence", &self.sequence)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Sends objects in frames of at most `mtu` bytes behind the Ethernet header, a VLAN tag not
    /// counted.
    ///
    /// # Errors
    ///
    /// An MTU without room for payload, or more than a datagram has.
    pub fn new(
        addresses: Addresses,
        mtu: usize,
        objects: impl IntoIterator<Item = Object, IntoIter: Send + 'static>,
    ) -> Result<Self, NetError> {
        let least = addresses.before() + header::BYTES + 1;
        if !(least..=MOST_MTU).contains(&mtu) {
            return Err(NetError::Setting {
                field: "mtu",
                value: mtu.to_string(),
                limit: format!("{least} to {MOST_MTU}"),
                remedy: "Usual are 1500 and 9000; headers and a byte of payload must fit",
            });
        }
        Ok(Self {
            addresses,
            // A whole frame must not be longer than the model carries.
            payload: mtu.min(MOST_MTU - 18) - addresses.before() - header::BYTES,
            stream: 0,
            epoch: 0,
            first: 0,
            sequence: 0,
            objects: Box::new(objects.into_iter()),
            open: None,
            made: 0,
            restarts: Vec::new(),
            failure: None,
        })
    }

    /// The same in this stream and epoch.
    #[must_use]
    pub fn in_stream(mut self, stream: u16, epoch: u32) -> Self {
        (self.stream, self.epoch) = (stream, epoch);
        self
    }

    /// The same with this sequence number first.
    #[must_use]
    pub fn from_sequence(mut self, first: u32) -> Self {
        (self.first, self.sequence) = (first, first);
        self
    }

    /// The same with this in front of the frame `n`, counted from 0.
    #[must_use]
    pub fn restart(mut self, n: u64, how: Restart) -> Self {
        self.restarts.push((n, how));
        self
    }

    /// Bytes of payload of a full frame.
    #[must_use]
    pub const fn payload(&self) -> usize {
        self.payload
    }

    fn begin_anew(&mut self) {
        for &(n, how) in &self.restarts {
            match how {
                _ if n != self.made => {}
                Restart::Jump(by) => self.sequence = self.sequence.wrapping_add(by),
                Restart::Epoch(epoch) => {
                    self.epoch = epoch;
                    self.sequence = self.first;
                    self.open = None;
                }
            }
        }
    }

    fn make(&mut self) -> Result<Option<Frame>, NetError> {
        self.begin_anew();
        let open = self.open.take().or_else(|| {
            let object = self.objects.by_ref().find(|object| object.bytes > 0)?;
            Some((object, 0))
        });
        let Some((mut object, offset)) = open else {
            return Ok(None);
        };
        let rest = object.bytes - offset;
        let mut payload = vec![0; rest.min(self.payload as u64) as usize];
        object.read(offset, &mut payload)?;
        let last = payload.len() as u64 == rest;
        let header = Header {
            stream: self.stream,
            epoch: self.epoch,
            sequence: self.sequence,
            object: object.number,
            position: match offset {
                0 => Position::First {
                    total: object.bytes,
                },
                offset => Position::At { offset },
            },
            last,
        };
        let bytes = self
            .addresses
            .pack(self.made as u16, &header.to_bytes(), &payload);
        if !last {
            let offset = offset + payload.len() as u64;
            self.open = Some((object, offset));
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.made += 1;
        Frame::new(bytes).map(Some)
    }
}

impl Object {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), NetError> {
        match &mut self.content {
            Content::Pattern(seed) => pattern(*seed, self.number, offset, into),
            Content::Bytes(bytes) if bytes.is_empty() => {}
            Content::Bytes(bytes) => {
                let (mut into, mut at) = (into, (offset % bytes.len() as u64) as usize);
                while !into.is_empty() {
                    let from = &bytes[at..];
                    let count = from.len().min(into.len());
                    let (now, later) = into.split_at_mut(count);
                    now.copy_from_slice(&from[..count]);
                    (into, at) = (later, 0);
                }
            }
            Content::Reader(reader) => {
                reader.read_exact(into).map_err(|error| NetError::Content {
                    object: self.number,
                    offset,
                    bytes: self.bytes,
                    reason: error.to_string(),
                })?;
            }
        }
        Ok(())
    }
}

impl Source for Objects {
    fn next(&mut self, _: Time) -> Next {
        if self.failure.is_some() {
            return Next::End;
        }
        match self.make() {
            Ok(Some(frame)) => Next::Frame(frame),
            Ok(None) => Next::End,
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

/// Objects of the same length, numbered from 0, each with another [`pattern`].
pub fn objects_of(count: u64, bytes: u64, seed: u64) -> impl Iterator<Item = Object> + Send {
    (0..count).map(move |number| Object {
        number,
        bytes,
        content: Content::Pattern(seed),
    })
}

/// Fills `into` with what the object `number` has from `offset` on. Bytes at other places and of
/// other objects look different, so that one in the wrong place is seen.
pub fn pattern(seed: u64, number: u64, offset: u64, into: &mut [u8]) {
    let mut at = offset;
    let mut into = into;
    while !into.is_empty() {
        let word = mix(mix(seed ^ number.rotate_left(32)) ^ (at / 8)).to_le_bytes();
        let word = &word[(at % 8) as usize..];
        let bytes = word.len().min(into.len());
        let (now, later) = into.split_at_mut(bytes);
        now.copy_from_slice(&word[..bytes]);
        at = at.wrapping_add(bytes as u64);
        into = later;
    }
}

/// A function of 64 bits that looks like chance (the finaliser of SplitMix64).
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

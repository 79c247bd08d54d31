// SPDX-License-Identifier: Apache-2.0
//! How a network is made up.

use super::error::NetError;
use super::packet::Station;
use super::{METRE, QUANTUM};
use crate::{MICROSECOND, MILLISECOND, NANOSECOND, Time};
use forebay_spec::net::Pause;
use forebay_spec::net::pause::CLASSES;

/// Length of the longest cable: what 100 Gb/s are driven through without an amplifier, and more.
const MOST_METRES: u32 = 100_000;
/// Quanta of the longest response.
const MOST_QUANTA: u32 = 65_535;

/// Longest way through a switch.
const MOST_LATENCY: Time = MILLISECOND;

/// How sides ask each other for silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Flow {
    /// Pause frames of IEEE 802.3: everything.
    #[default]
    Link,
    /// Priority pause of IEEE 802.1Qbb: the one class that all traffic is of.
    Class(u8),
}

impl Flow {
    /// The quanta that a pause frame asks for, if it is of this kind.
    pub(super) fn quanta(self, pause: &Pause) -> Option<u16> {
        match (self, pause) {
            (Self::Link, Pause::Link(quanta)) => Some(*quanta),
            (Self::Class(class), Pause::Priority(classes)) => {
                classes.get(usize::from(class)).copied().flatten()
            }
            _ => None,
        }
    }

    fn check(self) -> Result<(), NetError> {
        match self {
            Self::Class(class) if usize::from(class) >= CLASSES => Err(NetError::Setting {
                field: "flow class",
                value: class.to_string(),
                limit: format!("less than {CLASSES}"),
                remedy: "802.1Q has eight classes",
            }),
            _ => Ok(()),
        }
    }
}

/// A cable of 100 Gb/s in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its length.
    pub metres: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { metres: 3 }
    }
}

impl Link {
    /// How long a bit is under way.
    pub(super) fn delay(self) -> Time {
        Time::from(self.metres) * METRE
    }

    fn check(self, field: &'static str) -> Result<(), NetError> {
        if self.metres > MOST_METRES {
            return Err(NetError::Setting {
                field,
                value: self.metres.to_string(),
                limit: format!("at most {MOST_METRES}"),
                remedy: "Lengths are in metres",
            });
        }
        Ok(())
    }
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Quanta from the end of a pause frame until it is obeyed; `None`: never.
    pub response: Option<u32>,
}

impl Default for Peer {
    /// As slow as IEEE 802.3 allows at 100 Gb/s.
    fn default() -> Self {
        Self {
            response: Some(394),
        }
    }
}

/// When a switch asks for silence, in bytes of what came in at one port and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// From here on it does.
    pub xoff: u64,
    /// Down here it takes that back.
    pub xon: u64,
}

/// A switch between our cable and another to the link partner. It has a memory for each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The cable to the link partner.
    pub link: Link,
    /// Bytes of memory for each direction, check sequences counted; a frame that finds no room is
    /// dropped. Room is free when a frame begins to leave.
    pub buffer_bytes: u64,
    /// When it asks senders for silence; `None`: never.
    pub thresholds: Option<Thresholds>,
    /// From the end of a frame until it can leave.
    pub latency: Time,
    /// Bytes of the longest frame that it passes on, without check sequence.
    pub most_bytes: u64,
    /// Quanta from the end of a pause frame until it obeys; `None`: never.
    pub response: Option<u32>,
}

impl Default for Switch {
    /// A megabyte for each direction, of which a quarter is room above XOFF; half a microsecond.
    fn default() -> Self {
        Self {
            link: Link::default(),
            buffer_bytes: 1 << 20,
            thresholds: Some(Thresholds {
                xoff: 3 << 18,
                xon: 1 << 19,
            }),
            latency: 500 * NANOSECOND,
            most_bytes: 9_234,
            response: Some(394),
        }
    }
}

impl Switch {
    fn check(&self) -> Result<(), NetError> {
        self.link.check("switch.link.metres")?;
        response(self.response, "switch.response")?;
        let refuse = |field, value: u64, limit: String, remedy| {
            let value = value.to_string();
            Err(NetError::Setting {
                field,
                value,
                limit,
                remedy,
            })
        };
        if self.latency > MOST_LATENCY {
            let limit = format!("at most {MOST_LATENCY}");
            return refuse(
                "switch.latency",
                self.latency,
                limit,
                "It is in picoseconds",
            );
        }
        let Some(Thresholds { xoff, xon }) = self.thresholds else {
            return Ok(());
        };
        if !(1..=self.buffer_bytes).contains(&xoff) {
            let limit = format!("1 to buffer_bytes, {}", self.buffer_bytes);
            let remedy = "Leave `headroom` bytes above it, so that nothing is dropped";
            return refuse("switch.thresholds.xoff", xoff, limit, remedy);
        }
        if xon >= xoff {
            let limit = format!("less than xoff, {xoff}");
            let remedy = "Who asks for silence must be able to take it back";
            return refuse("switch.thresholds.xon", xon, limit, remedy);
        }
        Ok(())
    }
}

pub(super) fn response(quanta: Option<u32>, field: &'static str) -> Result<Option<Time>, NetError> {
    match quanta {
        Some(quanta) if quanta > MOST_QUANTA => Err(NetError::Setting {
            field,
            value: quanta.to_string(),
            limit: format!("at most {MOST_QUANTA}"),
            remedy: "Give `None` for a side that ignores pause",
        }),
        quanta => Ok(quanta.map(|quanta| Time::from(quanta) * QUANTUM)),
    }
}

/// A link that goes down now and then, in the middle of frames: our MAC is in reset meanwhile. Of what we
/// send only the frame under way is damaged; what pause the link partner obeys it does not forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaps {
    /// From one time to the next on average; each is half of it to half more.
    pub every: Time,
    /// How long it is down.
    pub down: Time,
    /// Decides when.
    pub seed: u64,
}

impl Flaps {
    fn check(self) -> Result<(), NetError> {
        // A reset is some cycles of the MAC's clock.
        if self.down < MICROSECOND / 10 || self.down > self.every / 4 {
            return Err(NetError::Setting {
                field: "flaps.down",
                value: self.down.to_string(),
                limit: format!("100,000 ps to a quarter of flaps.every, {}", self.every),
                remedy: "Let the link be up for most of the time",
            });
        }
        Ok(())
    }
}

/// Everything beyond the MAC's pins.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// The cable to our MAC.
    pub link: Link,
    /// How silence is asked for.
    pub flow: Flow,
    /// Who sends to us.
    pub peer: Peer,
    /// A switch between the cable and the link partner.
    pub switch: Option<Switch>,
    /// The link to our MAC goes down now and then; `None`: never.
    pub flaps: Option<Flaps>,
    /// Whose MAC address the link partner answers when it is asked by ARP; `None`: it answers no request.
    pub station: Option<Station>,
    /// The IEEE 1588 time of day beside the MAC when the simulation begins, in nanoseconds since
    /// 1970; `None`: there is none.
    pub time_of_day: Option<u64>,
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), NetError> {
        self.link.check("link.metres")?;
        self.flow.check()?;
        response(self.peer.response, "peer.response")?;
        self.flaps.map_or(Ok(()), |flaps| flaps.check())?;
        self.switch.map_or(Ok(()), |switch| switch.check())
    }
}

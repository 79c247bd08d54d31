// SPDX-License-Identifier: Apache-2.0
//! How a network is made up.

use super::error::NetError;
use super::{METRE, QUANTUM};
use crate::Time;
use forebay_spec::net::Pause;
use forebay_spec::net::pause::CLASSES;

/// Length of the longest cable: what 100 Gb/s are driven through without an amplifier, and more.
const MOST_METRES: u32 = 100_000;
/// Quanta of the longest response.
const MOST_QUANTA: u32 = 65_535;

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

/// Everything beyond the MAC's pins.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// The cable to our MAC.
    pub link: Link,
    /// How silence is asked for.
    pub flow: Flow,
    /// Who sends to us.
    pub peer: Peer,
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), NetError> {
        self.link.check("link.metres")?;
        self.flow.check()?;
        response(self.peer.response, "peer.response")?;
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What becomes of a frame. Each one that the MAC hands over has exactly one arrival, and each that
//! arrives [as a datagram](Arrival::Datagram) exactly one place: the counters add up.

/// What the frame filter makes of a frame, in the order in which it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Arrival {
    /// Header and payload went on.
    Datagram = 0,
    /// The MAC found it damaged: check sequence, symbol, end.
    Damaged = 1,
    /// Shorter than the shortest frame.
    Runt = 2,
    /// Longer than the limit.
    Giant = 3,
    /// For another address, or of a protocol that the card does not receive.
    Alien = 4,
    /// A pause frame, obeyed.
    Pause = 5,
    /// A request that is answered: ARP, echo.
    Request = 6,
    /// An IPv4 header that is none, or one with options.
    IpHeader = 7,
    /// The checksum of the IPv4 header is wrong.
    IpChecksum = 8,
    /// A fragment of a datagram.
    Fragment = 9,
    /// The lengths in the headers and that of the frame disagree, or there is no room for payload.
    Length = 10,
    /// The checksum of the UDP datagram is wrong.
    UdpChecksum = 11,
    /// No room.
    Overflow = 12,
}

/// What the sequence check makes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Place {
    /// Its payload went on.
    Delivered = 0,
    /// Not our magic, version or flags.
    Header = 1,
    /// Of another stream.
    Stream = 2,
    /// A frame with this number went on before.
    Duplicate = 3,
    /// A frame of a gap, after its turn.
    Late = 4,
    /// So far behind that it is not known which of the two it is.
    Old = 5,
}

impl Arrival {
    /// All of them, by their number.
    pub const ALL: [Self; 13] = [
        Self::Datagram,
        Self::Damaged,
        Self::Runt,
        Self::Giant,
        Self::Alien,
        Self::Pause,
        Self::Request,
        Self::IpHeader,
        Self::IpChecksum,
        Self::Fragment,
        Self::Length,
        Self::UdpChecksum,
        Self::Overflow,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datagram => "datagram",
            Self::Damaged => "damaged",
            Self::Runt => "runt",
            Self::Giant => "giant",
            Self::Alien => "alien",
            Self::Pause => "pause",
            Self::Request => "request",
            Self::IpHeader => "IPv4 header",
            Self::IpChecksum => "IPv4 checksum",
            Self::Fragment => "fragment",
            Self::Length => "length",
            Self::UdpChecksum => "UDP checksum",
            Self::Overflow => "overflow",
        }
    }
}

impl Place {
    /// All of them, by their number.
    pub const ALL: [Self; 6] = [
        Self::Delivered,
        Self::Header,
        Self::Stream,
        Self::Duplicate,
        Self::Late,
        Self::Old,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Header => "header",
            Self::Stream => "stream",
            Self::Duplicate => "duplicate",
            Self::Late => "late",
            Self::Old => "old",
        }
    }
}

const _: () = {
    let mut number = 0;
    while number < Arrival::ALL.len() {
        assert!(Arrival::ALL[number] as usize == number);
        number += 1;
    }
    let mut number = 0;
    while number < Place::ALL.len() {
        assert!(Place::ALL[number] as usize == number);
        number += 1;
    }
};

// SPDX-License-Identifier: Apache-2.0
//! What becomes of a frame. Each one that the MAC hands over has exactly one arrival, and each that
//! arrives [as a datagram](Arrival::Datagram) exactly one place: the counters add up.

use crate::numbered::numbered;

numbered! {
    /// What the frame filter makes of a frame, in the order in which it looks.
    Arrival: u8 {
        /// Header and payload went on.
        Datagram = 0 "datagram";
        /// The MAC found it damaged: check sequence, symbol, end.
        Damaged = 1 "damaged";
        /// Shorter than the shortest frame.
        Runt = 2 "runt";
        /// Longer than the limit.
        Giant = 3 "giant";
        /// For another address, or of a protocol that the card does not receive.
        Alien = 4 "alien";
        /// A pause frame, obeyed.
        Pause = 5 "pause";
        /// A request that is answered, ARP or echo, or the answer to one of ours.
        Request = 6 "request";
        /// An IP header that is none, or one with options or extension headers.
        IpHeader = 7 "IP header";
        /// The checksum of the IPv4 header is wrong.
        IpChecksum = 8 "IPv4 checksum";
        /// A fragment of a datagram.
        Fragment = 9 "fragment";
        /// The lengths in the headers and that of the frame disagree, or there is no room for payload.
        Length = 10 "length";
        /// The checksum of the UDP datagram is wrong.
        UdpChecksum = 11 "UDP checksum";
        /// No room.
        Overflow = 12 "overflow";
    }
}

numbered! {
    /// What the sequence check makes of a datagram.
    Place: u8 {
        /// Its payload went on.
        Delivered = 0 "delivered";
        /// Not our magic, version or flags.
        Header = 1 "header";
        /// Of another stream.
        Stream = 2 "stream";
        /// A frame with this number went on before.
        Duplicate = 3 "duplicate";
        /// A frame of a gap, after its turn.
        Late = 4 "late";
        /// So far behind that it is not known which of the two it is.
        Old = 5 "old";
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The header of every message ("Header").

use std::fmt;

use super::fields::Append;
use super::{Errno, MESSAGE_MOST, Malformed};

/// A command by its number ("Commands").
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Command(pub u16);

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl Command {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// Its name in the specification, without the prefix.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    /// The first message: version and capabilities.
    VERSION = 1;
    /// Memory that the device may access.
    DMA_MAP = 2;
    /// Memory that it may no longer access.
    DMA_UNMAP = 3;
    /// What kind of device it is.
    DEVICE_GET_INFO = 4;
    /// Size and kind of a region.
    DEVICE_GET_REGION_INFO = 5;
    /// Descriptors that stand for parts of a region.
    DEVICE_GET_REGION_IO_FDS = 6;
    /// Number and kind of interrupts of a type.
    DEVICE_GET_IRQ_INFO = 7;
    /// Where interrupts go.
    DEVICE_SET_IRQS = 8;
    /// The guest reads a region.
    REGION_READ = 9;
    /// The guest writes a region.
    REGION_WRITE = 10;
    /// The device reads memory.
    DMA_READ = 11;
    /// The device writes memory.
    DMA_WRITE = 12;
    /// Reset of the function.
    DEVICE_RESET = 13;
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "command {}", self.0),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Command or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command.
    Command {
        /// Whether its sender waits for a reply.
        replied: bool,
    },
    /// The reply to a command that was carried out.
    Reply,
    /// The reply to one that was not; nothing follows the header.
    Failure(Errno),
}

/// The first 16 bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's number for a command, repeated in the reply.
    pub id: u16,
    /// The command.
    pub command: Command,
    /// Bytes of the whole message.
    pub bytes: u32,
    /// Command or reply.
    pub kind: Kind,
}

/// Type in bits 3:0 of the flags.
const TYPE: u32 = 0xf;
const REPLY: u32 = 1;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

impl Header {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// Reads a header.
    ///
    /// # Errors
    /// [`Malformed`] where the size or the type cannot be. Nothing that follows on the same socket
    /// can be understood then.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self, Malformed> {
        let [i0, i1, c0, c1, rest @ ..] = *bytes;
        let word =
            |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let (size, flags, error) = (word(0), word(4), word(8));
        let command = Command(u16::from_le_bytes([c0, c1]));
        if !(Self::BYTES as u32..=MESSAGE_MOST).contains(&size) {
            let limit = format!("{} to {MESSAGE_MOST}", Self::BYTES);
            return Err(Malformed::new(command, "message size", size, limit));
        }
        let kind = match flags & TYPE {
            0 => Kind::Command {
                replied: flags & NO_REPLY == 0,
            },
            REPLY if flags & ERROR != 0 => Kind::Failure(Errno(error)),
            REPLY => Kind::Reply,
            _ => return Err(Malformed::new(command, "flags", flags, "of type 0 or 1")),
        };
        Ok(Self {
            id: u16::from_le_bytes([i0, i1]),
            command,
            bytes: size,
            kind,
        })
    }

    /// The header's bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let (flags, error) = match self.kind {
            Kind::Command { replied: true } => (0, 0),
            Kind::Command { replied: false } => (NO_REPLY, 0),
            Kind::Reply => (REPLY, 0),
            Kind::Failure(Errno(number)) => (REPLY | ERROR, number),
        };
        let mut bytes = Vec::with_capacity(Self::BYTES);
        bytes.u16(self.id).u16(self.command.0);
        bytes.u32(self.bytes).u32(flags).u32(error);
        let mut header = [0; Self::BYTES];
        header.copy_from_slice(&bytes);
        header
    }

    /// The message of this kind around a body.
    pub(super) fn around(id: u16, command: Command, kind: Kind, body: &[u8]) -> Vec<u8> {
        let header = Self {
            id,
            command,
            bytes: (Self::BYTES + body.len()) as u32,
            kind,
        };
        [&header.to_bytes(), body].concat()
    }
}

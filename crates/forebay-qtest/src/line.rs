// SPDX-License-Identifier: Apache-2.0
//! Lines of the protocol, and what their answers mean.

use std::fmt;

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Reads 4 bytes at an address.
    Read32(u64),
    /// Reads 8 bytes.
    Read64(u64),
    /// Writes 4 bytes.
    Write32(u64, u32),
    /// Writes 8 bytes.
    Write64(u64, u64),
    /// Writes 4 bytes to an I/O port.
    Out32(u16, u32),
}

impl Line {
    /// What an answer says: the number of a read, 0 for a write; none: it is no answer.
    pub(crate) fn answer(self, text: &str) -> Option<u64> {
        let number = text.strip_prefix("OK")?.trim();
        match self {
            Self::Read32(_) | Self::Read64(_) => {
                u64::from_str_radix(number.trim_start_matches("0x"), 16).ok()
            }
            Self::Write32(..) | Self::Write64(..) | Self::Out32(..) => Some(0),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read32(address) => write!(f, "readl {address:#x}"),
            Self::Read64(address) => write!(f, "readq {address:#x}"),
            Self::Write32(address, value) => write!(f, "writel {address:#x} {value:#x}"),
            Self::Write64(address, value) => write!(f, "writeq {address:#x} {value:#x}"),
            Self::Out32(port, value) => write!(f, "outl {port:#x} {value:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_answers() {
        assert_eq!(Line::Write32(16, 255).to_string(), "writel 0x10 0xff");
        assert_eq!(Line::Out32(0xcf8, 1).to_string(), "outl 0xcf8 0x1");
        assert_eq!(Line::Read64(0).answer("OK 0x0000000000000012"), Some(0x12));
        assert_eq!(Line::Write64(0, 7).answer("OK"), Some(0));
        for text in ["", "OK", "OK x", "FAIL", "ERR 0x12"] {
            assert_eq!(Line::Read32(0).answer(text), None, "{text}");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What Identify says, checked and in plain units.
//!
//! Section numbers are of *NVM Express Base 2.0c* unless another name is given.

use forebay_spec::nvme::identify::{BYTES, IdentifyController, IdentifyNamespace, LbaFormat, oncs};
use serde::Serialize;

use crate::controller::PAGE_BYTES;
use crate::error::Error;

/// What the driver uses of Identify Controller (5.17.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControllerFacts {
    /// PCI vendor.
    pub vendor: u16,
    /// Model number.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Firmware revision.
    pub firmware: String,
    /// Most bytes of one command (MDTS); `None` is no limit.
    pub transfer_bytes: Option<u64>,
    /// Greatest namespace identifier, or number of namespaces (NN).
    pub namespaces: u32,
    /// Written data may be lost with power until a Flush (VWC).
    pub volatile_write_cache: bool,
    /// The Compare command is there.
    pub compare: bool,
    /// The Write Zeroes command is there.
    pub write_zeroes: bool,
    /// The Dataset Management command is there.
    pub dataset_management: bool,
}

impl ControllerFacts {
    /// Checks the structure.
    ///
    /// # Errors
    /// Where entry sizes exclude the 64 and 16 bytes that everyone uses, or there is no namespace.
    pub fn new(page: &[u8; BYTES]) -> Result<Self, Error> {
        let identify = IdentifyController::from_bytes(page);
        entry_size("the submission entry size (SQES)", identify.sqes, 6)?;
        entry_size("the completion entry size (CQES)", identify.cqes, 4)?;
        if identify.namespaces == 0 {
            return Err(Error::Refused {
                field: "the number of namespaces (NN)",
                value: "0".into(),
                limit: "at least one is needed to store anything".into(),
                remedy: "create and attach a namespace (nvme create-ns, nvme attach-ns)",
            });
        }
        Ok(Self {
            vendor: identify.vendor,
            model: printable(identify.model_text()),
            serial: printable(identify.serial_text()),
            firmware: printable(identify.firmware_text()),
            transfer_bytes: transfer_bytes(identify.mdts),
            namespaces: identify.namespaces,
            volatile_write_cache: identify.vwc & 1 != 0,
            compare: identify.oncs & oncs::COMPARE != 0,
            write_zeroes: identify.oncs & oncs::WRITE_ZEROES != 0,
            dataset_management: identify.oncs & oncs::DATASET_MANAGEMENT != 0,
        })
    }
}

/// A namespace the driver can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Namespace {
    /// Namespace identifier.
    pub nsid: u32,
    /// log2 of the logical block in bytes: 9 or 12.
    pub block_shift: u8,
    /// Size in logical blocks, not 0.
    pub blocks: u64,
    /// Size in units of 512 bytes, below 2^48.
    pub sectors: u64,
}

impl Namespace {
    /// Checks the structure (NVM Command Set 1.0c 4.1.5.1).
    ///
    /// # Errors
    /// Where the namespace is empty, absurdly large, or has a format other than 512 or 4096 bytes
    /// without metadata.
    pub fn new(nsid: u32, page: &[u8; BYTES]) -> Result<Self, Error> {
        let identify = IdentifyNamespace::from_bytes(page);
        if identify.size == 0 {
            return Err(Error::Refused {
                field: "the namespace size (NSZE)",
                value: format!("0 blocks in namespace {nsid}"),
                limit: "an active namespace has at least one".into(),
                remedy: "choose an active namespace, or create and attach one (nvme create-ns)",
            });
        }
        let format = checked_format(&identify)?;
        let sectors = identify.size.checked_mul(1 << (format.shift - 9));
        let Some(sectors) = sectors.filter(|sectors| *sectors < 1 << 48) else {
            return Err(Error::Refused {
                field: "the namespace size (NSZE)",
                value: format!("{} blocks of {} bytes", identify.size, 1u64 << format.shift),
                limit: "the streamer counts less than 2^48 sectors of 512 bytes".into(),
                remedy: "create a smaller namespace; no drive is that large, so it may be faulty",
            });
        };
        Ok(Self {
            nsid,
            block_shift: format.shift,
            blocks: identify.size,
            sectors,
        })
    }

    /// Bytes of a logical block.
    pub const fn block_bytes(&self) -> u64 {
        1 << self.block_shift
    }

    /// Size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.sectors << 9
    }
}

/// The format in use, if it is one that the driver can serve.
fn checked_format(identify: &IdentifyNamespace) -> Result<LbaFormat, Error> {
    const FIELD: &str = "the LBA format in use (FLBAS)";
    let count = usize::from(identify.format_count).min(identify.formats.len());
    let usable = |format: &LbaFormat| format.metadata == 0 && matches!(format.shift, 9 | 12);
    let Some(format) = identify.formats[..count].get(usize::from(identify.format)) else {
        return Err(Error::Refused {
            field: FIELD,
            value: format!("number {}", identify.format),
            limit: format!("the namespace has formats 0 to {}", count.saturating_sub(1)),
            remedy: "the drive contradicts itself: format the namespace anew (nvme format)",
        });
    };
    if usable(format) {
        return Ok(*format);
    }
    let other = identify.formats[..count].iter().position(usable);
    let size = match 1u64.checked_shl(format.shift.into()) {
        Some(bytes) => format!("blocks of {bytes} bytes"),
        None => format!("blocks of 2^{} bytes", format.shift),
    };
    let value = match format.metadata {
        0 => size,
        metadata => format!("{size} with {metadata} of metadata"),
    };
    Err(Error::Refused {
        field: FIELD,
        value,
        limit: match other {
            Some(n) => {
                format!("512 or 4096 bytes without metadata are needed, which its format {n} has")
            }
            None => "512 or 4096 bytes without metadata are needed, and no format has that".into(),
        },
        remedy: match other {
            Some(_) => "format it so: nvme format --lbaf=N (this erases it)",
            None => "use another drive, or create a namespace of another format",
        },
    })
}

/// MDTS: a power of two in units of the least memory page, 0 is no limit (figure 275).
fn transfer_bytes(mdts: u8) -> Option<u64> {
    if mdts == 0 {
        return None;
    }
    // A shift that leaves 64 bits is no limit for anyone.
    PAGE_BYTES
        .checked_shl(u32::from(mdts))
        .filter(|bytes| bytes >> mdts == PAGE_BYTES)
}

/// SQES and CQES: required size in bits 3:0, greatest in bits 7:4, as powers of two (figure 275).
fn entry_size(field: &'static str, value: u8, power: u8) -> Result<(), Error> {
    let (least, most) = (value & 0xf, value >> 4);
    if least <= power && power <= most {
        return Ok(());
    }
    Err(Error::Refused {
        field,
        value: format!("2^{least} to 2^{most} bytes"),
        limit: format!("2^{power} bytes are needed"),
        remedy: "the drive contradicts the specification: update its firmware",
    })
}

/// Keeps escape sequences of a device off the user's terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_graphic() || c == ' ' {
                c
            } else {
                '?'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_limits_do_not_overflow() {
        assert_eq!(transfer_bytes(0), None);
        assert_eq!(transfer_bytes(1), Some(8192));
        assert_eq!(transfer_bytes(8), Some(1 << 20));
        assert_eq!(transfer_bytes(51), Some(1 << 63));
        for mdts in 52..=u8::MAX {
            assert_eq!(transfer_bytes(mdts), None, "{mdts}");
        }
    }

    #[test]
    fn device_text_cannot_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J b"), "a?[2J b");
    }
}

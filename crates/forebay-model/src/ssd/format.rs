// SPDX-License-Identifier: Apache-2.0
//! Format NVM (5.14), and the formats that there are.

use super::admin::Outcome;
use super::{Namespace, Ssd};
use forebay_spec::nvme::identify::LbaFormat;
use forebay_spec::nvme::{NSID_ALL, Sqe, Status};

/// The formats of every namespace, by index: log2 of the block. None has metadata.
pub(super) const SHIFTS: [u8; 2] = [9, 12];
/// Secure erase settings, bits 11:9 of dword 10.
const ERASE_NONE: u32 = 0;
const ERASE_USER_DATA: u32 = 1;

/// The formats as Identify lists them. Blocks of 4096 bytes are the ones that perform best.
pub(super) fn formats() -> [LbaFormat; 16] {
    let mut formats = [LbaFormat::default(); 16];
    for (format, shift) in formats.iter_mut().zip(SHIFTS) {
        *format = LbaFormat {
            metadata: 0,
            shift,
            performance: if shift == 12 { 0 } else { 2 },
        };
    }
    formats
}

impl Namespace {
    /// The index of the format in use.
    pub(super) fn format(&self) -> u8 {
        let index = SHIFTS.iter().position(|shift| *shift == self.shift);
        index.unwrap_or(0) as u8
    }
}

impl Ssd {
    /// Formats a namespace, or all of them. It takes no time; whatever was stored reads as zeros.
    pub(super) fn format_nvm(&mut self, sqe: &Sqe) -> Result<Outcome, Status> {
        let setting = sqe.cdw10();
        let (index, erase) = (setting & 0xf, setting >> 9 & 7);
        let shift = *SHIFTS.get(index as usize).ok_or(Status::INVALID_FORMAT)?;
        // Bits 13:12 are the upper bits of the index. There is neither metadata nor protection
        // information (bits 8:4), and nothing is encrypted that a key could erase.
        if setting >> 12 & 3 != 0 || setting >> 4 & 0x1f != 0 {
            return Err(Status::INVALID_FORMAT);
        }
        if erase != ERASE_NONE && erase != ERASE_USER_DATA {
            return Err(Status::INVALID_FIELD);
        }
        let meant = match sqe.nsid {
            NSID_ALL => 0..self.namespaces.len(),
            nsid => {
                self.namespace(nsid)?;
                nsid as usize - 1..nsid as usize
            }
        };
        if self.commands.io_in_flight() > 0 {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        for namespace in &mut self.namespaces[meant] {
            let bytes = namespace.base..namespace.base + namespace.bytes;
            if self.medium.zero(bytes).is_err() {
                return Err(Status::WRITE_FAULT);
            }
            namespace.shift = shift;
            namespace.blocks = namespace.bytes >> shift;
        }
        Ok(Outcome::Done(0))
    }
}

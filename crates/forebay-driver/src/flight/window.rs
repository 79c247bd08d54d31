// SPDX-License-Identifier: Apache-2.0
//! The streamer's submission queue, read through its queue window.
//!
//! The streamer stores no entries: it generates one for each read. So a slot
//! whose command has completed shows the command that has the same identifier now. Completion
//! entries cannot be read back at all: reads of that half fail (see `fb_bar_sq`).

use std::fmt;

use forebay_spec::nvme::{IoOpcode, Sqe};
use forebay_spec::streamer::{bar0, window};
use serde::{Deserialize, Serialize};

use super::host::HostSide;
use crate::bus::Bus;
use crate::error::Error;
use crate::session::Session;

/// Dwords of an entry that say something, as offsets of 8 bytes: command and namespace, PRPs, LBA,
/// number of blocks. The streamer leaves the others 0.
const WORDS: [u64; 5] = [0, 24, 32, 40, 48];

/// An entry of the submission queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotEntry {
    /// Its place.
    pub slot: u32,
    /// Command identifier.
    pub cid: u16,
    /// It is known to be outstanding.
    pub open: bool,
    /// Opcode.
    pub opcode: u8,
    /// Namespace.
    pub nsid: u32,
    /// First logical block.
    pub slba: u64,
    /// Logical blocks.
    pub blocks: u32,
    /// First PRP entry.
    pub prp1: u64,
    /// Second PRP entry.
    pub prp2: u64,
}

/// Reads the last `most` entries before the tail, oldest first; none where nothing is outstanding,
/// so that a healthy streamer's trace stays as it is.
pub(super) fn read(
    session: &Session,
    bus: &mut dyn Bus,
    host: &HostSide,
    most: u32,
    notes: &mut Vec<String>,
) -> Vec<SlotEntry> {
    notes.push(
        "completion entries cannot be read back from the streamer: its trace tells of them".into(),
    );
    if host.outstanding == 0 || most == 0 {
        return Vec::new();
    }
    // What lies further back was never written.
    let count = most.min(host.submitted).min(host.entries.saturating_sub(1));
    let mut entries = Vec::new();
    for age in (1..=count).rev() {
        let slot = (host.sq_tail + host.entries - age) % host.entries.max(1);
        match entry(session, bus, slot) {
            Ok(Some(sqe)) => entries.push(SlotEntry::new(slot, &sqe, &host.open)),
            Ok(None) => {
                notes.push(format!("the queue window does not answer at slot {slot}"));
                break;
            }
            Err(error) => {
                notes.push(format!("the queue window cannot be read: {error}"));
                break;
            }
        }
    }
    // In the trace, our reads look like the drive's. So end with the entry that the drive read
    // last: the next reader of the trace finds it there.
    let lap = host.entries.max(1);
    let first_open = (host.sq_tail + lap).saturating_sub(host.outstanding);
    let behind = host.sq_fetched.unwrap_or(first_open);
    let _ = entry(session, bus, (behind + lap - 1) % lap);
    entries
}

/// None where every bit reads as one.
fn entry(session: &Session, bus: &mut dyn Bus, slot: u32) -> Result<Option<Sqe>, Error> {
    let (Some(card), Some(parameters)) = (&session.facts().fpga, session.facts().streamer) else {
        return Ok(None);
    };
    let place = session.fpga_place();
    let depth = u64::from(parameters.queue_depth);
    let queues = place
        .queues
        .unwrap_or(bar0::queues(depth, parameters.drives.into()));
    let at = queues + window::sqe_offset(slot.into());
    let mut bytes = [0; Sqe::BYTES];
    for offset in WORDS {
        let word = bus.bar_read64(card.address, place.bar, at + offset)?;
        if offset == 0 && word == u64::MAX {
            return Ok(None);
        }
        let offset = offset as usize;
        bytes[offset..offset + 8].copy_from_slice(&word.to_le_bytes());
    }
    Ok(Some(Sqe::from_bytes(&bytes)))
}

impl SlotEntry {
    fn new(slot: u32, sqe: &Sqe, open: &[u16]) -> Self {
        Self {
            slot,
            cid: sqe.cid,
            open: open.contains(&sqe.cid),
            opcode: sqe.opcode,
            nsid: sqe.nsid,
            slba: sqe.slba(),
            blocks: sqe.blocks(),
            prp1: sqe.prp1,
            prp2: sqe.prp2,
        }
    }
}

impl fmt::Display for SlotEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&command(self.opcode, self.slba, self.blocks))
    }
}

/// An I/O command in words.
pub(super) fn command(opcode: u8, slba: u64, blocks: u32) -> String {
    use IoOpcode::{Read, Write, WriteZeroes};
    let name = match IoOpcode::from_number(opcode) {
        Some(Read) => "read",
        Some(Write) => "write",
        Some(WriteZeroes) => "write zeroes",
        Some(IoOpcode::Compare) => "compare",
        Some(IoOpcode::Flush) => return "flush".into(),
        Some(IoOpcode::DatasetManagement) => return "dataset management".into(),
        None => return format!("opcode {opcode:#04x}"),
    };
    format!("{name} of {blocks} blocks at {slba}")
}

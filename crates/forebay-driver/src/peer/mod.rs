// SPDX-License-Identifier: Apache-2.0
//! Whether a drive and another device's memory reach each other: found out by comparing bytes.
//!
//! The status of a command proves nothing: there are controllers that report success for payload
//! they could not move. So every byte is compared, and the place where it is to arrive holds
//! something else before.
//!
//! * Drive to peer: a Read into the peer's memory, against the same Read into host memory.
//! * Peer to drive: a Compare of the peer's memory with the medium, which must succeed with the
//!   same bytes and fail with one byte changed; a PRP list in the peer's memory, whose entries
//!   decide where data land.
//!
//! Nothing of this writes to the medium. Only with [`Settings::scratch`] there is a Write from the
//! peer's memory as well; what was there before is put back.

mod check;
mod memory;

use std::time::Duration;

use serde::Serialize;

use crate::bus::PciAddress;
use crate::facts::Namespace;

pub use check::check;
pub use memory::Memory;

/// How to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Decides places and patterns.
    pub seed: u64,
    /// Most bytes of one command; the drive and the peer's memory may allow less.
    pub largest: u64,
    /// Blocks from this one on may be written; they are restored afterwards. Without it the medium
    /// is not written at all.
    pub scratch: Option<u64>,
    /// A PRP list may be put into the peer's memory though nothing else has shown yet that the
    /// drive reads the peer rightly. From a list read wrongly the drive takes stray addresses, so
    /// this is for buses where an IOMMU keeps it from memory that is not ours.
    pub guarded: bool,
    /// How long to wait for one command.
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            largest: u64::MAX,
            scratch: None,
            guarded: true,
            limit: Duration::from_secs(30),
        }
    }
}

/// From where to where bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Between the processor and the peer: the ground that the rest stands on.
    HostAndPeer,
    /// The drive writes into the peer's memory.
    DriveToPeer,
    /// The drive reads the peer's memory.
    PeerToDrive,
}

impl Way {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::HostAndPeer => "host ↔ peer",
            Self::DriveToPeer => "drive → peer",
            Self::PeerToDrive => "peer → drive",
        }
    }
}

/// What was done to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The processor writes and reads.
    Copy,
    /// NVMe Read into the peer's memory.
    Read,
    /// NVMe Compare of the same bytes.
    Compare,
    /// NVMe Compare with one byte changed, which must fail.
    CompareChanged,
    /// NVMe Read into host pages by a PRP list in the peer's memory.
    List,
    /// NVMe Write from the peer's memory.
    Write,
}

impl Method {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Copy => "write, read back",
            Self::Read => "Read",
            Self::Compare => "Compare, same bytes",
            Self::CompareChanged => "Compare, one byte changed",
            Self::List => "PRP list",
            Self::Write => "Write",
        }
    }
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Test {
    /// From where to where.
    pub way: Way,
    /// How.
    pub method: Method,
    /// Bytes that went that way by one command.
    pub bytes: u64,
    /// Bytes compared.
    pub compared: u64,
    /// Bytes that differ. Where the drive compares it says no more than whether a block differs:
    /// then these are the bytes of such blocks.
    pub different: u64,
    /// Offset of the first of these.
    pub first_difference: Option<u64>,
    /// What the drive said, where it was asked.
    pub status: Option<String>,
    /// Whether all is as it should be.
    pub good: bool,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The drive.
    pub drive: PciAddress,
    /// The peer's memory.
    pub memory: Memory,
    /// Where the drive reaches it.
    pub address: u64,
    /// What decided about places and patterns.
    pub seed: u64,
    /// The namespace.
    pub namespace: Namespace,
    /// First block whose content was used.
    pub lba: u64,
    /// Words of 8 bytes in that content.
    pub words: u64,
    /// Different ones among them: few, and bytes in a wrong order can go unseen.
    pub distinct_words: u64,
    /// The tests, in order.
    pub tests: Vec<Test>,
    /// What was left out, and why.
    pub left_out: Vec<&'static str>,
}

impl Report {
    /// Whether bytes go this way: none where no test could tell.
    pub fn way(&self, way: Way) -> Option<bool> {
        let mut tests = self.tests.iter().filter(|test| test.way == way).peekable();
        tests.peek()?;
        Some(tests.all(|test| test.good))
    }

    /// Whether all tests are good, and there is one each way.
    pub fn is_good(&self) -> bool {
        let ways = [Way::HostAndPeer, Way::DriveToPeer, Way::PeerToDrive];
        ways.iter().all(|way| self.way(*way) == Some(true))
    }

    /// Bytes compared one way, and how many of them differ.
    pub fn bytes(&self, way: Way) -> (u64, u64) {
        let tests = self.tests.iter().filter(|test| test.way == way);
        tests.fold((0, 0), |(compared, different), test| {
            (compared + test.compared, different + test.different)
        })
    }
}

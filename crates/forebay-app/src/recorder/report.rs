// SPDX-License-Identifier: Apache-2.0
//! What a recorder's run reports.

use std::collections::BTreeMap;

use forebay_cosim::root::Gap;
use serde::Serialize;

use crate::boot::DriveRow;
use crate::report::ProfileName;

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct RecorderReport {
    /// The command line that repeats it.
    pub command_line: Vec<String>,
    /// Drives, links and DRAM were models, and the RTL simulated: always.
    pub simulated: bool,
    /// The user stopped it: numbers are of what was reached.
    pub interrupted: bool,
    /// Decides everything that is random.
    pub seed: u64,
    /// The top module whose RTL moved the bytes.
    pub top: &'static str,
    /// Parameters given to it.
    pub parameters: Vec<(String, String)>,
    /// Its clock, hertz.
    pub clock_hz: f64,
    /// Clock cycles simulated.
    pub cycles: u64,
    /// What was no RTL.
    pub models: Models,
    /// The bring-up.
    pub bring_up: BringUp,
    /// Sessions, in order.
    pub sessions: Vec<Session>,
    /// The recording from a source that cannot wait.
    pub gapless: Option<Gapless>,
    /// What drives sent to addresses where nothing is.
    pub stray: u64,
    /// Doorbells to drives that were not there any more.
    pub unrung: u64,
}

/// What was modelled, not RTL.
#[derive(Debug, Default, Serialize)]
pub struct Models {
    /// Drives and links.
    pub profile: ProfileName,
    /// Each drive.
    pub drives: Vec<String>,
    /// The memory of the stream FIFO; none: it is on chip, and RTL.
    pub fifo_memory: Option<String>,
}

/// How the drives came up.
#[derive(Debug, Default, Serialize)]
pub struct BringUp {
    /// Code of the program's last end; 0: it has not failed.
    pub code: u8,
    /// How often each code was counted, by number.
    pub counts: BTreeMap<u8, u32>,
    /// Microseconds from the last drive's CSTS.RDY until the recorder was not held any more.
    pub ready_after_us: Option<f64>,
    /// The same until the first byte was accepted; none: the source began later.
    pub first_byte_after_us: Option<f64>,
    /// What the program wrote to the console.
    pub console: String,
    /// The drives that it found.
    pub drives: Vec<DriveRow>,
    /// Bytes that they have together for the recorder.
    pub media_bytes: u64,
}

/// A number of chunks, written and read back.
#[derive(Debug, Default, Serialize)]
pub struct Session {
    /// The top module whose RTL moved the bytes.
    pub top: &'static str,
    /// Chunks asked for.
    pub chunks: u64,
    /// It repeats the session before, which failed, after the drives were brought up again.
    pub again: bool,
    /// Address of the first.
    pub address: u64,
    /// As they were written.
    pub write: Moved,
    /// As they were read; none: the write failed.
    pub read: Option<Moved>,
    /// Bytes that the source offered.
    pub offered: u64,
    /// Bytes in chunks that were stored.
    pub stored: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// The longest time in which the drives have not responded, microseconds.
    pub longest_wait_us: f64,
    /// Most bytes in the stream FIFO; 0 where it is on chip.
    pub fifo_high_water: u64,
    /// What is not as it should be; empty: all is.
    pub wrong: Vec<String>,
}

/// What was moved in one direction, by the recorder's registers.
#[derive(Debug, Default, Serialize)]
pub struct Moved {
    /// Bytes that were stored, or read.
    pub bytes: u64,
    /// From the start to the last chunk.
    pub seconds: f64,
    /// Rate in 2^20 bytes a second, as MLE has it.
    pub mebibytes_per_second: f64,
    /// Address of the last chunk.
    pub last: Option<u64>,
    /// Code of the failure that ended it; 0: none did.
    pub code: u8,
    /// Address of the first chunk that failed.
    pub failed: Option<u64>,
}

impl Moved {
    /// From these nanoseconds of start and stop.
    pub(super) fn new(bytes: u64, [from, to]: [u64; 2], last: Option<u64>) -> Self {
        let seconds = to.saturating_sub(from) as f64 * 1e-9;
        let rate = bytes as f64 / seconds / f64::from(1 << 20);
        Self {
            bytes,
            seconds,
            mebibytes_per_second: if rate.is_finite() { rate } else { 0.0 },
            last,
            code: 0,
            failed: None,
        }
    }
}

/// What came of a source that cannot wait.
#[derive(Debug, Default, Serialize)]
pub struct Gapless {
    /// The top module whose RTL moved the bytes.
    pub top: &'static str,
    /// Bytes a second that came.
    pub bytes_per_second: u64,
    /// For how long, in simulated seconds.
    pub seconds: f64,
    /// Bytes of the FIFO; 0: it is on chip.
    pub fifo_bytes: u64,
    /// Bytes that came while the recorder wrote.
    pub offered: u64,
    /// Bytes in chunks that were stored.
    pub stored: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// Gaps.
    pub gaps: u32,
    /// Bytes lost in those with a record.
    pub gap_bytes: u64,
    /// The records: of the first gaps.
    pub records: Vec<GapRow>,
    /// The longest time in which the drives have not responded, microseconds.
    pub longest_wait_us: f64,
    /// Most bytes in the stream FIFO; 0 where it is on chip.
    pub fifo_high_water: u64,
    /// Bytes that went through the memory of the FIFO: written, read.
    pub fifo_memory_bytes: [u64; 2],
    /// What is not as it should be; empty: all is.
    pub wrong: Vec<String>,
}

/// Bytes that were lost one behind the other.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GapRow {
    /// Bytes that were taken before.
    pub after: u64,
    /// Bytes lost.
    pub bytes: u64,
    /// When it began, microseconds of simulated time.
    pub at_us: f64,
}

impl From<Gap> for GapRow {
    fn from(gap: Gap) -> Self {
        Self {
            after: gap.after,
            bytes: gap.bytes,
            at_us: gap.at_ns as f64 / 1e3,
        }
    }
}

impl RecorderReport {
    /// Everything was stored, read back, and as it should be. Of a source that cannot wait bytes may be
    /// lost: a gap is no damage.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let sessions = self.sessions.iter().all(|session| session.wrong.is_empty());
        let gapless = self.gapless.as_ref();
        sessions && gapless.is_none_or(|found| found.wrong.is_empty()) && self.stray == 0
    }
}

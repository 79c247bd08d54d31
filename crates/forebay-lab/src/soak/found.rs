// SPDX-License-Identifier: Apache-2.0
//! What came of a soak.

use forebay_cosim::Outcome;
use forebay_draw::text::{Page, mark};
use forebay_pipeline::units::count;
use serde::Serialize;

use crate::bench::Found;
use crate::traffic::{self, Traffic};

/// Wrong transactions that are reported one by one.
const FIRST: usize = 8;

/// What came of a soak.
#[derive(Debug, Default, Serialize)]
pub struct Soak {
    /// Transactions that ended: good, refused, failed or aborted.
    pub transactions: u64,
    /// Writes among them.
    pub writes: u64,
    /// Reads among them.
    pub reads: u64,
    /// Reads whose order was lifted.
    pub unordered_reads: u64,
    /// Transactions that had to be refused, and were with the right code.
    pub refused: u64,
    /// Transactions that failed for a cause: a fault of a drive or of memory.
    pub failed: u64,
    /// Transactions that a reset cut off.
    pub aborted: u64,
    /// Resets of the RTL.
    pub resets: u64,
    /// Times that a halted queue was brought up again.
    pub recoveries: u64,
    /// Faults that the drives committed.
    pub faults: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes read that the shadow has otherwise, or that are missing.
    pub differ_bytes: u64,
    /// Bytes on the drives that the shadow has otherwise, at the end.
    pub differ_medium_bytes: u64,
    /// Units of the buffer that are not free when every transaction has ended.
    pub held_units: u64,
    /// Transactions that failed without a cause, or were not refused, or with a wrong code.
    pub wrong_answers: u64,
    /// Simulated cycles, bring-up among them.
    pub cycles: u64,
    /// The first few transactions that went wrong.
    pub first_wrong: Vec<String>,
    /// What crossed PCIe.
    #[serde(flatten)]
    pub traffic: Traffic,
}

impl Soak {
    /// Whether nothing went wrong that was not made to.
    pub const fn is_good(&self) -> bool {
        self.differ_bytes == 0
            && self.differ_medium_bytes == 0
            && self.held_units == 0
            && self.wrong_answers == 0
    }

    pub(super) fn wrong(&mut self, outcome: &Outcome, what: &str) {
        if self.first_wrong.len() < FIRST {
            self.first_wrong.push(format!(
                "{:?} {} at {:#x}, {} bytes: {what}",
                outcome.direction, outcome.id, outcome.address, outcome.length
            ));
        }
    }
}

impl Found for Soak {
    fn draw(&self, page: &mut Page) {
        for (name, number, always) in [
            ("writes", self.writes, true),
            ("reads", self.reads, true),
            ("unordered", self.unordered_reads, true),
            ("refused", self.refused, true),
            ("failed", self.failed, false),
            ("aborted", self.aborted, false),
            ("faults", self.faults, false),
            ("resets", self.resets, false),
            ("recoveries", self.recoveries, false),
            ("units held", self.held_units, false),
            ("written B", self.bytes_written, true),
            ("read B", self.bytes_read, true),
            ("cycles", self.cycles, true),
        ] {
            if always || number > 0 {
                page.field(name, format_args!("{:>14}", count(number)));
            }
        }
        page.heading("What crossed PCIe");
        page.grid(traffic::grid([("all", &self.traffic)]));
        for line in &self.first_wrong {
            page.line(format_args!("  {} {line}", mark(false)));
        }
    }

    fn verdict(&self, _: bool) -> String {
        format!(
            "{} transactions: {} bytes differ, {} on the drives, {} wrong answers",
            count(self.transactions),
            count(self.differ_bytes),
            count(self.differ_medium_bytes),
            count(self.wrong_answers)
        )
    }
}

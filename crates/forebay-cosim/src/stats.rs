// SPDX-License-Identifier: Apache-2.0
//! What came of transactions, and numbers over many of them.

use forebay_spec::streamer::UserError;

use crate::payload::Mismatch;

/// Which way a transaction goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the user to the SSD.
    Write,
    /// From the SSD to the user.
    Read,
}

/// What came of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// As returned when it was submitted.
    pub id: u64,
    /// Which way.
    pub direction: Direction,
    /// First byte on the SSD.
    pub address: u64,
    /// Bytes asked for.
    pub length: u64,
    /// Bytes that came (reads) or were sent (writes).
    pub transferred: u64,
    /// Why it failed, if it did.
    pub error: Option<UserError>,
    /// Cycle in which the command beat was accepted.
    pub first_beat: u64,
    /// Cycle in which the last beat of a write was accepted; that of the command of a read.
    pub last_beat: u64,
    /// Cycle of the first data beat of a read; that of the response of a write.
    pub first_answer: u64,
    /// Cycle of the response of a write; that of the last data beat of a read.
    pub done: u64,
    /// The data of a read with [`crate::Sink::Collect`].
    pub data: Vec<u8>,
    /// First difference that the sink of a read found.
    pub mismatch: Option<Mismatch>,
    /// The transaction was cut off by a reset.
    pub aborted: bool,
}

impl Outcome {
    /// Cycles from the command beat to the end, both counted.
    #[must_use]
    pub fn latency(&self) -> u64 {
        self.done - self.first_beat + 1
    }

    /// Whether it went through with the right data.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.error.is_none() && self.mismatch.is_none() && !self.aborted
    }
}

/// Numbers over the transactions of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// Transactions that have ended, failed ones included.
    pub transactions: u64,
    /// Bytes of those that did not fail.
    pub bytes: u64,
    /// Transactions that ended with an error.
    pub failed: u64,
    /// Transactions whose data differed from what the sink expected.
    pub mismatched: u64,
    /// First command beat.
    pub first_beat: Option<u64>,
    /// Last beat sent by the user.
    pub last_beat: u64,
    /// First response or data beat.
    pub first_answer: Option<u64>,
    /// Last response or data beat.
    pub last_answer: u64,
    /// Latency of each transaction in cycles, in the order of their ends.
    pub latencies: Vec<u32>,
}

impl Flow {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.transactions += 1;
        if outcome.error.is_some() || outcome.aborted {
            self.failed += 1;
        } else {
            self.bytes += outcome.transferred;
        }
        self.mismatched += u64::from(outcome.mismatch.is_some());
        let least = |seen: Option<u64>, cycle: u64| Some(seen.map_or(cycle, |s| s.min(cycle)));
        self.first_beat = least(self.first_beat, outcome.first_beat);
        self.first_answer = least(self.first_answer, outcome.first_answer);
        self.last_beat = self.last_beat.max(outcome.last_beat);
        self.last_answer = self.last_answer.max(outcome.done);
        self.latencies
            .push(u32::try_from(outcome.latency()).unwrap_or(u32::MAX));
    }

    /// Cycles from the first command beat to the last answer, both counted.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.first_beat
            .map_or(0, |first| self.last_answer - first + 1)
    }

    /// Bytes per cycle from the first command beat to the last answer.
    #[must_use]
    pub fn bytes_per_cycle(&self) -> f64 {
        match self.cycles() {
            0 => 0.0,
            cycles => self.bytes as f64 / cycles as f64,
        }
    }

    /// Bytes per second, with a clock of this period in picoseconds.
    #[must_use]
    pub fn bytes_per_second(&self, clock_period: u64) -> f64 {
        self.bytes_per_cycle() * 1e12 / clock_period as f64
    }

    /// Mean latency in cycles.
    #[must_use]
    pub fn mean_latency(&self) -> f64 {
        match self.latencies.len() {
            0 => 0.0,
            n => self.latencies.iter().map(|l| f64::from(*l)).sum::<f64>() / n as f64,
        }
    }
}

/// Numbers over a run, since [`crate::System::reset_stats`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Clock cycles.
    pub cycles: u64,
    /// Writes.
    pub writes: Flow,
    /// Reads.
    pub reads: Flow,
    /// Beats that others read and wrote in BAR 0.
    pub beats: Beats,
    /// Doorbells rung by the RTL.
    pub doorbells: u64,
    /// Accesses to apertures and registers that the RTL answered with an error.
    pub refused: u64,
    /// Writes to unmapped addresses, and accesses to places in BAR 0 where nothing is.
    pub stray_writes: u64,
}

/// Beats that others read and wrote in BAR 0, by where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beats {
    /// Payload and PRP lists read.
    pub data_read: u64,
    /// Payload written.
    pub data_written: u64,
    /// Submission entries read.
    pub queue_read: u64,
    /// Completion entries written.
    pub queue_written: u64,
}

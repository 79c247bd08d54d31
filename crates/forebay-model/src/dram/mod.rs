// SPDX-License-Identifier: Apache-2.0
//! A DRAM behind its controller: banks and their rows, turnarounds of its bus, refresh.
//!
//! The model says when an access is over; it keeps no data. Accesses are served in the order in
//! which they are handed in, so that the requester's order matters: each change between reading and
//! writing costs a turnaround of the bus, each row that is not open its activation. Rows are opened
//! ahead, as soon as an access to them has arrived, so a run of accesses hides them as far as the
//! banks allow.
//!
//! Consecutive accesses go to the bank groups in turn, so that a run is not slowed down to the pace
//! of one group; then come columns, banks, rows. This is how AMD's controller for DDR4 orders them
//! for streams (PG150, "ROW_COLUMN_BANK_INTLV").
//!
//! Does not model: reordering by the controller, ECC, power states, more than one rank.

mod profile;

use crate::Time;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg32;

pub use profile::{DramController, DramProfile, DramTiming};

/// When a memory refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Refresh {
    /// Never: to see what it costs.
    Never,
    /// One each interval.
    #[default]
    Regular,
    /// One each interval on average, each put off by a random part of what is allowed.
    Jitter,
    /// As many as may be postponed are, and then follow at once: the longest pause there can be.
    Bunched,
}

/// What a memory has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DramCounters {
    /// Accesses that read.
    pub reads: u64,
    /// Accesses that wrote.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Changes between reading and writing.
    pub turns: u64,
    /// Refreshes.
    pub refreshes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    row: Option<u64>,
    /// Earliest activation, where no row is open.
    closed: Time,
    /// Earliest column command to the open row.
    column: Time,
    /// Earliest precharge of the open row.
    precharge: Time,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    at: Time,
    group: usize,
    write: bool,
}

#[derive(Debug)]
struct Channel {
    banks: Vec<Bank>,
    /// Times of the last four activations, the newest last.
    activated: [Option<Time>; 4],
    activated_group: usize,
    column: Option<Column>,
    refresh_at: Time,
    /// Refreshes that come at once when it is time.
    refresh_count: u64,
    /// Where the next one would be without having been put off.
    refresh_due: Time,
}

/// A memory. See the [module](self).
#[derive(Debug)]
pub struct Dram {
    profile: DramProfile,
    channels: Vec<Channel>,
    random: Pcg32,
    counters: DramCounters,
}

impl Dram {
    /// A memory that has just been started, all rows closed.
    #[must_use]
    pub fn new(profile: &DramProfile, seed: u64) -> Self {
        let banks = (profile.bank_groups * profile.banks) as usize;
        let channels = (0..profile.channels).map(|_| Channel {
            banks: vec![Bank::default(); banks],
            activated: [None; 4],
            activated_group: 0,
            column: None,
            refresh_at: Time::MAX,
            refresh_count: 1,
            refresh_due: 0,
        });
        let mut dram = Self {
            channels: channels.collect(),
            random: Pcg32::seed_from_u64(seed),
            counters: DramCounters::default(),
            profile: profile.clone(),
        };
        for channel in 0..dram.channels.len() {
            dram.plan_refresh(channel);
        }
        dram
    }

    /// What it is made of.
    #[must_use]
    pub const fn profile(&self) -> &DramProfile {
        &self.profile
    }

    /// What it has done.
    #[must_use]
    pub const fn counters(&self) -> DramCounters {
        self.counters
    }

    /// Reads or writes the 64 bytes (or what is larger, an access) at an address, asked for at
    /// `at`. Returns when the data are at the port, or are stored.
    pub fn access(&mut self, at: Time, write: bool, address: u64) -> Time {
        let step = self.profile.access_bytes;
        let start = address / 64 * 64;
        let mut end = at;
        for part in 0..(64 / step).max(1) {
            end = end.max(self.one(at, write, start + part * step));
        }
        end
    }

    /// One column command.
    fn one(&mut self, at: Time, write: bool, address: u64) -> Time {
        let place = self.place(address);
        let t = self.profile.timing;
        let at = at + self.profile.controller.request;
        // A refresh that is due comes before whatever is asked for later.
        loop {
            let channel = &self.channels[place.channel];
            let now = channel.column.map_or(at, |column| at.max(column.at));
            if now < channel.refresh_at {
                break;
            }
            self.refresh(place.channel);
        }
        let channel = &mut self.channels[place.channel];
        if write {
            self.counters.writes += 1;
        } else {
            self.counters.reads += 1;
        }
        if channel.banks[place.bank].row == Some(place.row) {
            self.counters.row_hits += 1;
        } else {
            channel.open(at, &place, &t);
        }
        let mut column = at.max(channel.banks[place.bank].column);
        if let Some(last) = channel.column {
            let same = last.group == place.group;
            let pick = |long, short| if same { long } else { short };
            column = column.max(last.at + pick(t.column_long, t.column_short));
            if last.write != write {
                self.counters.turns += 1;
            }
            if last.write && !write {
                let wait = pick(t.write_to_read_long, t.write_to_read_short);
                column = column.max(last.at + t.write_latency + t.burst + wait);
            } else if !last.write && write {
                let data = last.at + t.read_latency + t.burst + t.bus_turn;
                column = column.max(data.saturating_sub(t.write_latency));
            }
        }
        channel.column = Some(Column {
            at: column,
            group: place.group,
            write,
        });
        let bank = &mut channel.banks[place.bank];
        let (latency, closes) = if write {
            let end = column + t.write_latency + t.burst;
            (t.write_latency, end + t.write_recovery)
        } else {
            (t.read_latency, column + t.read_to_precharge)
        };
        bank.precharge = bank.precharge.max(closes);
        column + latency + t.burst + self.profile.controller.answer
    }

    fn place(&self, address: u64) -> Place {
        let p = &self.profile;
        let channels = u64::from(p.channels);
        let stripe = address / p.interleave_bytes;
        let channel = (stripe % channels) as usize;
        let inside = stripe / channels * p.interleave_bytes + address % p.interleave_bytes;
        let access = inside / p.access_bytes;
        let (groups, banks) = (u64::from(p.bank_groups), u64::from(p.banks));
        let group = access % groups;
        let column_and_up = access / groups;
        let columns = p.row_bytes / p.access_bytes;
        let bank = column_and_up / columns % banks;
        Place {
            channel,
            group: group as usize,
            bank: (group * banks + bank) as usize,
            row: column_and_up / columns / banks,
        }
    }

    /// All rows are closed, and nothing can be opened until the refresh is over.
    fn refresh(&mut self, index: usize) {
        let t = self.profile.timing;
        let channel = &mut self.channels[index];
        let count = channel.refresh_count;
        let closed = channel.banks.iter().map(|bank| match bank.row {
            Some(_) => bank.precharge + t.precharge,
            None => bank.closed,
        });
        let start = closed.max().unwrap_or(0).max(channel.refresh_at);
        let end = start + t.refresh * count;
        for bank in &mut channel.banks {
            *bank = Bank {
                closed: end,
                ..Bank::default()
            };
        }
        channel.refresh_due += t.refresh_every * count;
        self.counters.refreshes += count;
        self.plan_refresh(index);
    }

    fn plan_refresh(&mut self, index: usize) {
        let t = self.profile.timing;
        let postponed = u64::from(t.refreshes_postponed);
        let channel = &mut self.channels[index];
        let due = channel.refresh_due + t.refresh_every;
        (channel.refresh_at, channel.refresh_count) = match self.profile.refresh {
            _ if t.refresh_every == 0 => (Time::MAX, 1),
            Refresh::Never => (Time::MAX, 1),
            Refresh::Regular => (due, 1),
            Refresh::Jitter => {
                // Put off by up to what is allowed; where the next is due by then, it waits.
                let most = t.refresh_every * postponed;
                let later = (u64::from(self.random.next_u32()) * most) >> 32;
                (channel.refresh_at_least(due + later), 1)
            }
            Refresh::Bunched => (due + t.refresh_every * postponed, postponed + 1),
        };
    }
}

impl Channel {
    /// Not before the refresh that was last planned.
    fn refresh_at_least(&self, at: Time) -> Time {
        if self.refresh_at == Time::MAX {
            at
        } else {
            at.max(self.refresh_at)
        }
    }

    /// Opens a row, after closing another where one is open.
    fn open(&mut self, at: Time, place: &Place, t: &DramTiming) {
        let bank = &self.banks[place.bank];
        let closed = match bank.row {
            Some(_) => at.max(bank.precharge) + t.precharge,
            None => bank.closed,
        };
        let mut start = at.max(closed);
        if let Some(last) = self.activated[3] {
            let same = self.activated_group == place.group;
            let wait = if same {
                t.activate_long
            } else {
                t.activate_short
            };
            start = start.max(last + wait);
        }
        if let Some(fourth) = self.activated[0] {
            start = start.max(fourth + t.four_activates);
        }
        self.activated.rotate_left(1);
        self.activated[3] = Some(start);
        self.activated_group = place.group;
        self.banks[place.bank] = Bank {
            row: Some(place.row),
            closed: 0,
            column: start + t.activate,
            precharge: start + t.row_open,
        };
    }
}

/// Where an address lies.
struct Place {
    channel: usize,
    group: usize,
    /// Of the whole channel.
    bank: usize,
    row: u64,
}

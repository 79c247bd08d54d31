// SPDX-License-Identifier: Apache-2.0
//! A case from a seed. Each seed has most features switched off (swarm testing: what is always on
//! hides what only happens without it).

use forebay_pipeline::Memory;
use forebay_spec::streamer::window;
use rand_pcg::Pcg64Mcg;

use super::shapes::Shape;
use forebay_app::machine::{ChannelsSpec, RefreshSpec};

use crate::inject::{self, StallSpec};
use crate::soak::Case;
use crate::workload::{below, random};

/// Beats that a case may move, pauses included, so that thousands of seeds fit into an hour.
const BEATS: f64 = 40_000.0;
/// Transactions of a case.
const TRANSACTIONS: [u64; 2] = [20, 150];
/// Cycles after which a drive that says nothing is given up: longer than the driver's look at lost
/// drives takes to come round, and than any command through pausing ports.
const TIMEOUT: u32 = 80_000;
/// Time of bring-up and of a case together, about, in microseconds.
const MOMENTS: [u64; 2] = [30, 200];

const PAUSES: [&str; 6] = ["0.01:200", "0.05:20", "0.2:50", "0.3:3", "0.5:50", "0.9:2"];
/// Pauses beside drives that fall silent: what is slow must not be taken for lost.
const SHORT_PAUSES: [&str; 2] = ["0.05:20", "0.3:3"];
/// Faults that change nothing for the user.
const HARMLESS: [&str; 3] = ["duplicate", "unknown-cid", "wrong-phase"];
/// With and without "do not retry".
const FAILING: [&str; 4] = ["fail=0x281", "fail=0x4281", "fail=0x280", "fail=0x4002"];

/// Draws the case of a seed on one of these shapes; also the number of the shape.
pub fn draw(seed: u64, shapes: &[&Shape]) -> (usize, Case) {
    let mut dice = Dice(random(seed, 0x5a44));
    let number = below(&mut dice.0, shapes.len() as u64) as usize;
    let shape = shapes[number];
    let mut case = Case {
        machine: shape.machine(),
        ..Case::default()
    };
    case.machine.seed = seed;
    dice.machine(&mut case, shape);
    let silent = dice.faults(&mut case, shape);
    dice.pauses(&mut case, if silent { &SHORT_PAUSES } else { &PAUSES });
    dice.work(&mut case);
    dice.resets(&mut case);
    case.work.fence = dice.one(&[0, 0, 20, 100]);
    (number, case)
}

const fn channels(count: u32, interleave_bytes: Option<u64>) -> ChannelsSpec {
    ChannelsSpec {
        count,
        interleave_bytes,
    }
}

struct Dice(Pcg64Mcg);

impl Dice {
    /// True in this percentage of seeds.
    fn on(&mut self, percent: u64) -> bool {
        below(&mut self.0, 100) < percent
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[below(&mut self.0, of.len() as u64) as usize]
    }

    /// One of these in this percentage of seeds.
    fn maybe<T: Copy>(&mut self, percent: u64, of: &[T]) -> Option<T> {
        let (on, one) = (self.on(percent), self.one(of));
        on.then_some(one)
    }

    /// From the first to the second, both included.
    fn between(&mut self, [least, most]: [u64; 2]) -> u64 {
        least + below(&mut self.0, most - least + 1)
    }

    fn machine(&mut self, case: &mut Case, shape: &Shape) {
        let machine = &mut case.machine;
        let any = self.between([1, shape.drives.into()]) as u8;
        let drives = self.one(&[shape.drives, any]);
        machine.array.drives = Some(drives);
        let parity = shape.parity && drives > 1 && self.on(60);
        if drives > 1 {
            let chunk = 4096 << self.between([0, if parity { 4 } else { 8 }]);
            let chunk = self.one(&[chunk, 4096, 8192]);
            machine.array.stripe_unit = chunk;
            machine.array.linear = !parity && self.on(20);
        }
        let drive = below(&mut self.0, drives.into()) as u8;
        let missing = self.on(30).then_some(drive);
        machine.array.parity = parity;
        machine.array.missing = missing.filter(|_| parity);
        let depths = [2, 3, 5, shape.depth / 2, shape.depth];
        let depth = self.maybe(60, &depths);
        machine.queue_depth = depth.filter(|depth| (2..=shape.depth).contains(depth));
        if shape.memory == Memory::Dram {
            machine.dram = self.maybe(50, &["hbm2-1800"]).map(str::to_owned);
            machine.refresh = self.maybe(60, &RefreshSpec::ALL);
            machine.channels = Some(match shape.channels {
                1 => channels(1, None),
                _ => self.one(&[
                    channels(2, None),
                    channels(2, Some(64 << 20)),
                    channels(4, None),
                ]),
            });
        }
        if self.on(8) {
            machine.profiles = vec!["990pro-2tb".to_owned()];
        }
        case.trouble.block = self.maybe(25, &["4096"]).map(str::to_owned);
        case.trouble.mdts = self.maybe(25, &[8192, 32 << 10, 128 << 10]);
        case.trouble.max_transfer = self.maybe(10, &[4096, 12 << 10, 64 << 10]);
    }

    /// True where a drive may fall silent.
    fn faults(&mut self, case: &mut Case, shape: &Shape) -> bool {
        let drives = u64::from(case.machine.array.drives.unwrap_or(1));
        let mut faults = Vec::new();
        if self.on(15) {
            let harmless = self.one(&HARMLESS);
            faults.push(format!("{harmless}@{}", self.moment()));
        }
        if self.on(20) {
            let failing = self.one(&FAILING);
            faults.push(format!("{failing}@{}", self.moment()));
            case.trouble.retry_limit = self.between([0, 3]) as u8;
        }
        // Of a timed drive a time-out would be longer than a case may take.
        let silent = case.machine.profiles == ["ideal"] && self.on(12);
        if silent {
            case.trouble.timeout_cycles = TIMEOUT;
            let moment = self.moment();
            let at = self.between(MOMENTS);
            faults.push(match self.between([0, 3]) {
                0 => format!("fatal@{at}us"),
                1 => format!("not-ready@{at}us"),
                _ => format!("drop@{moment}"),
            });
        }
        let drive = below(&mut self.0, drives);
        let faults = faults.iter().map(|fault| format!("{drive}/{fault}"));
        case.trouble.fault = faults
            .filter_map(|fault| inject::fault(&fault).ok())
            .collect();
        if shape.memory == Memory::Dram && self.on(12) {
            // Where rings that were idle start: writes at the first unit; reads behind what the
            // other ring may have at that time.
            let reads = [64, 512, 960].map(|unit| (window::DRAM_BUFFER_BYTES, unit));
            let (buffer, first) = self.one(&[(0, 0), reads[0], reads[1], reads[2]]);
            let unit = (first + self.between([0, 15])) * window::DRAM_UNIT_BYTES;
            let place = buffer + unit + self.between([0, 4 * 64 - 1]) * 64;
            let kind = self.one(&["read", "write"]);
            let end = place + self.between([1, 128]) * 64;
            let fault = inject::dram_fault(&format!("{kind}@{place}..{end}"));
            case.trouble.dram_fault = fault.into_iter().collect();
        }
        silent
    }

    /// When a fault is committed.
    fn moment(&mut self) -> String {
        let (nth, times) = (self.between([1, 60]), self.between([1, 4]));
        let block = self.between([0, 255]);
        match self.between([0, 4]) {
            0 => format!("every={}:{times}", 1 + nth / 4),
            1 => format!("read:{times}"),
            2 => format!("write:{times}"),
            3 => format!("lba={block}..{}:{times}", block + nth),
            _ => format!("nth={nth}"),
        }
    }

    fn pauses(&mut self, case: &mut Case, kinds: &[&str]) {
        let mut stalls: Vec<StallSpec> = Vec::new();
        let all = self.on(15);
        if self.on(75) {
            for port in inject::PORTS {
                let (on, kind) = (self.on(40), self.one(kinds));
                if on && (port != "all" || all) {
                    stalls.extend(inject::stall(&format!("{port}={kind}")).ok());
                }
            }
        }
        if stalls.is_empty() {
            stalls.extend(inject::stall("0").ok());
        }
        case.trouble.stall = stalls;
    }

    fn work(&mut self, case: &mut Case) {
        let slowest = case.trouble.stall.iter().map(StallSpec::slowdown);
        let slowest = slowest.fold(1.0, f64::max);
        let machine = &case.machine;
        let drives = u64::from(machine.array.drives.unwrap_or(1));
        let row = match machine.array.parity {
            true => machine.array.stripe_unit * (drives - 1),
            false => 4096,
        };
        let timed = machine.profiles != ["ideal"];
        let work = &mut case.work;
        (work.least, work.largest) = self.one(&[
            (1, 4096),
            (4096, 4096),
            (1, 16 << 10),
            (1, 64 << 10),
            (16 << 10, 64 << 10),
            (1, 256 << 10),
        ]);
        // All powers of two are as likely, so the mean is about that of the greatest.
        let powers = (work.largest / work.least).max(2).ilog2();
        let mean = (2 * work.largest).div_ceil(powers.into()).max(row / 2);
        let count = BEATS / (mean as f64 / 64.0 * slowest);
        let most = TRANSACTIONS[1].min(count as u64);
        let most = if timed { most.min(40) } else { most };
        work.transactions = most.max(TRANSACTIONS[0]);
        let whole = work.largest.next_multiple_of(row);
        let rows = self.one(&[2, 2, 3, 4, 8, 16]);
        work.area = Some((whole * rows).max(16 << 10).next_multiple_of(row));
        if !machine.array.linear {
            // Behind 32 bits of sectors, too.
            work.at = self.maybe(30, &[1 << 20, 1 << 32, 700 << 30]);
            work.at = work.at.map(|at| at / row * row);
        }
        work.writes = self.one(&[50, 50, 50, 20, 80, 0, 100]);
        work.unordered = self.one(&[0, 0, 50, 100]);
        work.fua = self.one(&[0, 0, 20]);
        // A flush takes a drive milliseconds, which are millions of cycles.
        let flush = self.one(&[0, 0, 10, 40]);
        work.flush = if timed { 0 } else { flush };
        work.refused = self.one(&[0, 0, 5, 20]);
        work.under_way = self.one(&[1, 2, 8, 32, 96, 250]);
    }

    fn resets(&mut self, case: &mut Case) {
        // A drive with times takes 80 ms to come up again, which are millions of cycles.
        let timed = case.machine.profiles != ["ideal"];
        if self.on(20) && !timed {
            let last = case.work.transactions;
            let mut resets = vec![self.between([1, last]), self.between([1, last])];
            resets.truncate(1 + usize::from(self.on(30)));
            case.trouble.reset = resets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::shapes;

    fn cases(count: u64) -> impl Iterator<Item = Case> {
        let shapes: Vec<_> = shapes::ALL.iter().collect();
        (0..count).map(move |seed| draw(seed, &shapes).1)
    }

    #[test]
    fn a_seed_is_one_case() {
        assert!(cases(50).eq(cases(50)));
        let mut lines: Vec<_> = cases(500).map(|case| format!("{case:?}")).collect();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 500);
    }

    #[test]
    fn every_feature_is_on_in_some_seeds_and_off_in_others() {
        type IsOn = fn(&Case) -> bool;
        let features: [(&str, IsOn); 20] = [
            ("reads", |case| case.work.writes < 100),
            ("writes", |case| case.work.writes > 0),
            ("unordered", |case| case.work.unordered > 0),
            ("fua", |case| case.work.fua > 0),
            ("flush", |case| case.work.flush > 0),
            ("fence", |case| case.work.fence > 0),
            ("refusals", |case| case.work.refused > 0),
            ("long", |case| case.work.largest > 16 << 10),
            ("short", |case| case.work.least == 1),
            ("one at a time", |case| case.work.under_way == 1),
            ("faults", |case| !case.trouble.fault.is_empty()),
            ("time-outs", |case| case.trouble.timeout_cycles == TIMEOUT),
            ("DRAM faults", |case| !case.trouble.dram_fault.is_empty()),
            ("resets", |case| !case.trouble.reset.is_empty()),
            ("parity", |case| case.machine.array.parity),
            ("missing", |case| case.machine.array.missing.is_some()),
            ("linear", |case| case.machine.array.linear),
            ("4 KiB blocks", |case| case.trouble.block.is_some()),
            ("short commands", |case| case.trouble.mdts.is_some()),
            ("timed drives", |case| case.machine.profiles != ["ideal"]),
        ];
        for (name, is_on) in features {
            let on = cases(2_000).filter(is_on).count();
            assert!((20..1_980).contains(&on), "{name}: {on} of 2000");
        }
        for port in inject::PORTS {
            let pauses = |case: &Case| {
                let all = case.trouble.stall.iter().map(ToString::to_string);
                let mut named = all.filter(|text| match port {
                    "all" => !text.contains('=') && !text.starts_with("0:"),
                    port => text.starts_with(&format!("{port}=")),
                });
                named.next().is_some()
            };
            let on = cases(2_000).filter(pauses).count();
            assert!((20..1_980).contains(&on), "pauses of {port}: {on} of 2000");
        }
    }
}

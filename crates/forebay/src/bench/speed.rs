// SPDX-License-Identifier: Apache-2.0
//! Speed of the simulation itself: cycles per second of one core.

use std::fs;
use std::time::Instant;

use forebay_cosim::Direction;
use serde::Serialize;

use super::{Report, SCHEMA, bytes, page, verdict};
use crate::args::{BenchArgs, DefaultProfile};
use crate::failure::{Exit, Result};
use crate::progress::Progress;
use crate::render::{self, Grid};
use crate::report;
use crate::session::{Ended, Session};
use crate::workload::{Op, ops, sequential};

/// Each is measured so often, in turns; the fastest counts.
const ROUNDS: u32 = 3;

#[derive(Default, Serialize)]
struct Speed {
    /// The slower of a sequential write and a sequential read.
    busy: Rate,
    /// A sequential write, 64 bytes nearly each cycle.
    write: Rate,
    /// A sequential read.
    read: Rate,
    /// Models and streams run, but there is nothing to do.
    idle: Rate,
    /// The RTL and a clock, no models.
    clock_only: Rate,
    /// Busy over clock only.
    ratio_busy_to_clock_only: f64,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Rate {
    cycles: u64,
    wall_seconds: f64,
    cpu_seconds: f64,
    /// Cycles per second of processor time: others on the machine do not count.
    cycles_per_second: f64,
    bytes: u64,
}

impl Rate {
    /// Whatever else runs on a machine can only slow a round down.
    fn keep_faster(&mut self, other: Self) {
        if other.cycles_per_second > self.cycles_per_second {
            *self = other;
        }
    }
}

/// Two clocks: on the wall, and of the processor for this thread.
struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_seconds(),
        }
    }

    fn rate(&self, cycles: u64, bytes: u64) -> Rate {
        let wall_seconds = self.wall.elapsed().as_secs_f64();
        let cpu = self
            .cpu
            .zip(cpu_seconds())
            .map(|(before, after)| after - before);
        let cpu_seconds = cpu.unwrap_or(wall_seconds);
        let cycles_per_second = cycles as f64 / cpu_seconds.max(1e-9);
        Rate {
            cycles,
            wall_seconds,
            cpu_seconds,
            cycles_per_second,
            bytes,
        }
    }
}

/// Processor time of this thread: the first number of schedstat, in nanoseconds. Linux only.
fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds as f64 * 1e-9)
}

pub fn run<P: DefaultProfile>(args: &BenchArgs<P>) -> Result<Exit> {
    let mut session = Session::start(&args.machine, SCHEMA, |_| Ok(()))?;
    let bytes = bytes(args, &session)?;
    let all = ops(&sequential(Direction::Write, bytes, bytes));
    session.prepare(&all)?;
    let mut speed = Speed::default();
    let mut ended = Ended::Done;
    let mut good = true;
    for _ in 0..ROUNDS {
        for direction in [Direction::Write, Direction::Read] {
            if !ended.is_done() {
                break;
            }
            let ops: Vec<Op> = all.iter().map(|op| Op { direction, ..*op }).collect();
            let clock = Clock::start();
            let measured = session.measure("busy", &ops);
            let rate = clock.rate(session.system.stats().cycles, measured.rate.bytes);
            good &= measured.rate.failed + measured.rate.mismatched == 0;
            ended = measured.ended;
            match direction {
                Direction::Write => speed.write.keep_faster(rate),
                Direction::Read => speed.read.keep_faster(rate),
            }
        }
        if ended.is_done() {
            quiet(&mut session, &mut speed)?;
        }
    }
    finish(&session, speed, ended, good)
}

/// The same number of cycles with nothing to do, and with nothing there.
fn quiet(session: &mut Session, speed: &mut Speed) -> Result<()> {
    let cycles = speed.write.cycles.max(100_000);
    let progress = Progress::stage("idle");
    let clock = Clock::start();
    session.system.run_cycles(cycles)?;
    speed.idle.keep_faster(clock.rate(cycles, 0));
    drop(progress);
    let _progress = Progress::stage("nothing but a clock");
    let clock = Clock::start();
    session.system.bare_cycles(cycles)?;
    speed.clock_only.keep_faster(clock.rate(cycles, 0));
    speed.busy = if speed.read.cycles_per_second < speed.write.cycles_per_second {
        speed.read
    } else {
        speed.write
    };
    speed.ratio_busy_to_clock_only =
        speed.busy.cycles_per_second / speed.clock_only.cycles_per_second;
    Ok(())
}

fn finish(session: &Session, speed: Speed, ended: Ended, good: bool) -> Result<Exit> {
    let report = Report {
        header: session.header(&ended),
        bench: "speed",
        found: speed,
    };
    if !report::emit(&report)? {
        let mut page = page("speed", &report.header);
        let found = &report.found;
        let mut grid = Grid::new(&[
            "",
            ">cycles",
            ">wall",
            ">processor",
            ">cycles/s",
            ">of clock",
        ]);
        for (name, rate) in [
            ("sequential write", found.write),
            ("sequential read", found.read),
            ("idle: models run, nothing to do", found.idle),
            ("nothing but a clock", found.clock_only),
        ] {
            grid.row([
                name.to_owned(),
                render::count(rate.cycles),
                render::seconds(rate.wall_seconds),
                render::seconds(rate.cpu_seconds),
                render::count(rate.cycles_per_second as u64),
                format!(
                    "{:.2}",
                    rate.cycles_per_second / found.clock_only.cycles_per_second
                ),
            ]);
        }
        page.grid(grid);
        verdict(&mut page, &report.header, good);
        page.print();
    }
    Ok(ended.exit(good))
}

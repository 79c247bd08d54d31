// SPDX-License-Identifier: Apache-2.0
//! Speed of the simulation itself: cycles per second of one core.

use std::fs;
use std::time::Instant;

use forebay_app::progress::Progress;
use forebay_app::workload::{Op, ops, sequential};
use forebay_app::{Ended, MachineSpec, Result, Session};
use forebay_cosim::Direction;
use forebay_draw::text::{Grid, Page, seconds};
use forebay_pipeline::units::count;
use serde::Serialize;

use super::{Found, Ran, SCHEMA, bytes};

/// Each is measured so often, in turns; the fastest counts.
const ROUNDS: u32 = 3;

/// How fast it is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Speed {
    /// The slower of a sequential write and a sequential read.
    pub busy: CyclesPerSecond,
    /// A sequential write, 64 bytes nearly each cycle.
    pub write: CyclesPerSecond,
    /// A sequential read.
    pub read: CyclesPerSecond,
    /// Models and streams run, but there is nothing to do.
    pub idle: CyclesPerSecond,
    /// The RTL and a clock, no models.
    pub clock_only: CyclesPerSecond,
    /// Busy over clock only.
    pub ratio_busy_to_clock_only: f64,
}

/// A speed, and of what.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CyclesPerSecond {
    /// Cycles.
    pub cycles: u64,
    /// Seconds on the wall.
    pub wall_seconds: f64,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// Cycles per second of processor time: others on the machine do not count.
    pub cycles_per_second: f64,
    /// Bytes moved.
    pub bytes: u64,
}

impl CyclesPerSecond {
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

    fn rate(&self, cycles: u64, bytes: u64) -> CyclesPerSecond {
        let wall_seconds = self.wall.elapsed().as_secs_f64();
        let cpu = self
            .cpu
            .zip(cpu_seconds())
            .map(|(before, after)| after - before);
        let cpu_seconds = cpu.unwrap_or(wall_seconds);
        let cycles_per_second = cycles as f64 / cpu_seconds.max(1e-9);
        CyclesPerSecond {
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

/// Simulated cycles per second of one core: streamer busy, idle, and nothing but a clock.
///
/// # Errors
/// Where the RTL, a profile or the bring-up fails.
pub fn speed(machine: &MachineSpec, asked: Option<u64>) -> Result<Ran<Speed>> {
    let mut session = Session::start(machine, SCHEMA, |_| Ok(()))?;
    let bytes = bytes(asked, &session)?;
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
    Ok(Ran::new(
        "speed",
        session.header(&ended),
        speed,
        ended,
        good,
    ))
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

impl Found for Speed {
    fn draw(&self, page: &mut Page) {
        let mut grid = Grid::new(" | >cycles | >wall | >processor | >cycles/s | >of clock");
        for (name, rate) in [
            ("sequential write", self.write),
            ("sequential read", self.read),
            ("idle: models run, nothing to do", self.idle),
            ("nothing but a clock", self.clock_only),
        ] {
            let of_clock = rate.cycles_per_second / self.clock_only.cycles_per_second;
            grid.row([
                name.to_owned(),
                count(rate.cycles),
                seconds(rate.wall_seconds),
                seconds(rate.cpu_seconds),
                count(rate.cycles_per_second as u64),
                format!("{of_clock:.2}"),
            ]);
        }
        page.grid(grid);
    }
}

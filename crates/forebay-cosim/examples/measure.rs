// SPDX-License-Identifier: Apache-2.0
//! Measures a streamer against the ideal drive, and the speed of the simulation:
//! `cargo run --release --example measure -- [RTL]`, where RTL is a filelist or folder with other
//! RTL that has the same pins, in place of ours.

use std::error::Error;
use std::path::Path;

use forebay_cosim::{Config, Read, Sink, System, Write, rtl};
use forebay_model::Profile;

const MIB: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = match arguments.next() {
        Some(path) => rtl::third_party(Path::new(&path), arguments.next().as_deref())?,
        None => rtl::onchip(Path::new("."), 64, 1024),
    };
    let mut config = Config::new(source, Profile::load("ideal")?);
    config.driver.queue_entries = 64;
    let mut system = System::new(config, &mut |progress| eprintln!("{progress:?}"))?;
    timed("nothing but a clock", &mut system, |s| {
        Ok(s.bare_cycles(1_000_000)?)
    })?;
    system.bring_up(&mut |step| eprintln!("{step}"))?;
    timed("idle", &mut system, |s| Ok(s.run_cycles(1_000_000)?))?;

    timed("one 4 KiB write", &mut system, |s| {
        s.submit_write(Write::pattern(0, 4096, 1));
        Ok(s.run()?)
    })?;
    timed("one 4 KiB read", &mut system, |s| {
        s.submit_read(Read::new(0, 4096, Sink::Pattern { seed: 1 }));
        Ok(s.run()?)
    })?;
    timed("one 1 MiB write", &mut system, |s| {
        s.submit_write(Write::pattern(0, MIB, 2));
        Ok(s.run()?)
    })?;
    timed("one 1 MiB read", &mut system, |s| {
        s.submit_read(Read::new(0, MIB, Sink::Pattern { seed: 2 }));
        Ok(s.run()?)
    })?;
    timed("8 MiB write", &mut system, |s| {
        s.submit_write(Write::pattern(0, 8 * MIB, 3));
        Ok(s.run()?)
    })?;
    timed("64 MiB write", &mut system, |s| {
        s.submit_write(Write::pattern(0, 64 * MIB, 4));
        Ok(s.run()?)
    })?;
    timed("64 MiB read", &mut system, |s| {
        s.submit_read(Read::new(0, 64 * MIB, Sink::Pattern { seed: 4 }));
        Ok(s.run()?)
    })?;
    timed("4 KiB writes at random", &mut system, |s| {
        for place in scattered(4096, 4096) {
            s.submit_write(Write::pattern(place, 4096, 5));
        }
        Ok(s.run()?)
    })?;
    timed("4 KiB reads at random", &mut system, |s| {
        for place in scattered(4096, 4096) {
            s.submit_read(Read::new(place, 4096, Sink::Pattern { seed: 5 }));
        }
        Ok(s.run()?)
    })?;
    timed("512 B writes at random", &mut system, |s| {
        for place in scattered(4096, 512) {
            s.submit_write(Write::pattern(place, 512, 6));
        }
        Ok(s.run()?)
    })?;
    system.shutdown(&mut |step| eprintln!("{step}"))?;
    Ok(())
}

/// Addresses of `count` blocks of `size` bytes, each once, in scrambled order.
fn scattered(count: u64, size: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |i| (i * 2654435761 % count) * size)
}

/// Time this thread has spent on a processor, so that a busy machine does not count.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split_whitespace()
        .next()
        .and_then(|n| n.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

fn timed(
    what: &str,
    system: &mut System,
    work: impl FnOnce(&mut System) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    system.reset_stats();
    system.take_outcomes();
    let (start, cycle) = (processor_seconds(), system.cycle());
    work(system)?;
    let seconds = processor_seconds() - start;
    let cycles = system.cycle() - cycle;
    let speed = cycles as f64 / seconds / 1e6;
    print!("{what:24} {cycles:>9} cycles, {speed:.2} million/s");
    let stats = system.stats();
    for flow in [&stats.writes, &stats.reads] {
        if flow.transactions > 0 {
            let (rate, mean) = (flow.bytes_per_cycle(), flow.mean_latency());
            print!(", {rate:.2} B/cycle, latency {mean:.0}");
            print!(", {} failed, {} differ", flow.failed, flow.mismatched);
        }
    }
    println!();
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! What the models cost in a simulation that steps them every core cycle, as JSON.
//!
//! `cargo run --release -p forebay-model --example speed -- [profile]`

#[allow(dead_code, reason = "a part of what tests share")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use forebay_model::net::{
    Addresses, Frame, Frames, NetError, Network, Objects, Settings, Source, mac_edge, objects_of,
};
use forebay_spec::nvme::{IoOpcode, Sqe};
use serde_json::{Value, json};
use support::{Rig, load, random};

/// Picoseconds of a cycle at 300 MHz.
const CYCLE: u64 = 3333;

/// Time this process has had a processor: other load on the machine does not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<u64>().ok());
    first.unwrap_or(0) as f64 * 1e-9
}

/// Cost of a cycle of the MAC's clock while frames come from a source.
fn wire(name: &str, source: Box<dyn Source>) -> Result<Value, NetError> {
    let mut network = Network::new(Settings::default(), source)?;
    network.begin(0);
    let (begin, cycles) = (cpu_seconds(), 4_000_000);
    for cycle in 0..cycles {
        let now = mac_edge(cycle);
        std::hint::black_box((network.receive(now), network.ready(now)));
    }
    let seconds = cpu_seconds() - begin;
    Ok(json!({
        "load": name,
        "ns_per_cycle": (seconds / cycles as f64 * 1e10).round() / 10.0,
        "frames": network.counters().delivered.total().frames,
    }))
}

fn wires() -> Result<Vec<Value>, NetError> {
    let objects = || objects_of(u64::MAX, 1 << 20, 1);
    let jumbo = Objects::new(Addresses::default(), 9000, objects())?;
    let usual = Objects::new(Addresses::default(), 1500, objects())?;
    let shortest = Frames::repeat(Frame::new([0; 60])?, usize::MAX);
    Ok(vec![
        wire("nothing comes", Box::new(Frames::new([])))?,
        wire("objects, MTU 9000", Box::new(jumbo))?,
        wire("objects, MTU 1500", Box::new(usual))?,
        wire("frames of 60 bytes", Box::new(shortest))?,
    ])
}

fn main() {
    let profile = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "ideal".to_owned());
    let (mut rig, mut queue) = Rig::with_queue(&profile, 256, |_| {});
    let cycles = 20_000_000u64;
    let begin = cpu_seconds();
    for _ in 0..cycles {
        rig.now += CYCLE;
        rig.ssd.step(rig.now, &mut rig.fabric);
        rig.host.step(rig.now, &mut rig.fabric);
    }
    let idle = (cpu_seconds() - begin) / cycles as f64;
    let mut rows = Vec::new();
    for (name, opcode, bytes) in [
        ("write 4 KiB", IoOpcode::Write, 4096u64),
        ("read 4 KiB", IoOpcode::Read, 4096),
        ("write 1 MiB", IoOpcode::Write, 1 << 20),
        ("read 1 MiB", IoOpcode::Read, 1 << 20),
    ] {
        let (_, prp1, prp2) = rig.buffer(bytes);
        let count = ((2u64 << 30) / bytes).min(200_000) as u32;
        let begin = cpu_seconds();
        let blocks = (bytes / 512) as u32;
        load(&mut rig, &mut queue, 64, count, bytes, |n| {
            let place = random(n) % 64;
            Sqe::transfer(opcode, 1, place * blocks as u64, blocks).with_prps(prp1, prp2)
        });
        let seconds = cpu_seconds() - begin;
        let beats = count as f64 * bytes as f64 / 64.0;
        rows.push(json!({
            "load": name,
            "ns_per_64_bytes": (seconds / beats * 1e9 * 10.0).round() / 10.0,
            "gb_per_s": (count as f64 * bytes as f64 / seconds * 1e-8).round() / 10.0,
        }));
    }
    let wires = wires().expect("frames and settings that can be");
    let report = json!({
        "profile": profile, "idle_ns_per_cycle": idle * 1e9, "rows": rows, "wire": wires,
    });
    println!("{report:#}");
}

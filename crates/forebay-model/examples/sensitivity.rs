// SPDX-License-Identifier: Apache-2.0
//! How far each number of a profile moves what comes out, as JSON.
//!
//! `cargo run --release -p forebay-model --example sensitivity -- [profile]`
//!
//! Each parameter is made a fifth smaller and a fifth larger, all others kept.

#[allow(dead_code, reason = "a part of what tests share")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use forebay_model::SsdProfile;
use forebay_model::profile::TimingProfile;
use forebay_spec::nvme::{IoOpcode, Sqe};
use serde_json::json;
use support::{Rig, load, random};

/// A parameter's name and what makes it a fifth smaller or larger.
type Parameter = (&'static str, fn(&mut TimingProfile, f64));

fn scale(value: &mut u64, factor: f64) {
    *value = (*value as f64 * factor).round() as u64;
}

fn scale32(value: &mut u32, factor: f64) {
    *value = (*value as f64 * factor).round() as u32;
}

const READS: &[Parameter] = &[
    ("command_ns", |timing, factor| {
        scale(&mut timing.command, factor)
    }),
    ("read.planes", |timing, factor| {
        scale32(&mut timing.read.planes, factor)
    }),
    ("read.sense_ns", |timing, factor| {
        scale(&mut timing.read.sense, factor)
    }),
    ("read.retry_ppm", |timing, factor| {
        scale32(&mut timing.read.retry_ppm, factor)
    }),
    ("read.retry_ns", |timing, factor| {
        scale(&mut timing.read.retry, factor)
    }),
    ("read.channel_ns", |timing, factor| {
        scale(&mut timing.read.channel, factor)
    }),
    ("read.bytes_per_second", |timing, factor| {
        scale(&mut timing.read.bytes_per_second, factor)
    }),
    ("read.before_ns", |timing, factor| {
        scale(&mut timing.read.before, factor)
    }),
];

const WRITES: &[Parameter] = &[
    ("command_ns", |timing, factor| {
        scale(&mut timing.command, factor)
    }),
    ("write.page_ns", |timing, factor| {
        scale(&mut timing.write.page, factor)
    }),
    ("write.command_ns", |timing, factor| {
        scale(&mut timing.write.command, factor)
    }),
    ("write.after_ns", |timing, factor| {
        scale(&mut timing.write.after, factor)
    }),
];

/// GB/s of random 4 KiB commands.
fn measure(
    profile: &str,
    opcode: IoOpcode,
    depth: u32,
    change: impl FnOnce(&mut SsdProfile),
) -> f64 {
    let (mut rig, mut queue) = Rig::with_queue(profile, 512, change);
    let page = rig.host.alloc(4096, 4096).unwrap();
    let done = load(
        &mut rig,
        &mut queue,
        depth,
        20_000 + 200 * depth,
        4096,
        |n| Sqe::transfer(opcode, 1, random(n) % 100_000_000 * 8, 8).with_prps(page, 0),
    );
    done.gb_per_second
}

fn main() {
    let profile = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "990pro-2tb".to_owned());
    let mut rows = Vec::new();
    for (load, opcode, depth, parameters) in [
        ("random 4 KiB read, depth 64", IoOpcode::Read, 64, READS),
        ("random 4 KiB read, depth 256", IoOpcode::Read, 256, READS),
        ("random 4 KiB write, depth 64", IoOpcode::Write, 64, WRITES),
    ] {
        let base = measure(&profile, opcode, depth, |_| {});
        for (name, change) in parameters {
            let percent = [0.8, 1.2].map(|factor| {
                let value = measure(&profile, opcode, depth, |ssd| {
                    if let Some(timing) = &mut ssd.timing {
                        change(timing, factor);
                    }
                });
                ((value / base - 1.0) * 1000.0).round() / 10.0
            });
            rows.push(json!({
                "load": load,
                "parameter": name,
                "minus_20_percent": percent[0],
                "plus_20_percent": percent[1],
            }));
        }
    }
    println!(
        "{:#}",
        json!({ "profile": profile, "unit": "percent of GB/s", "rows": rows })
    );
}

// SPDX-License-Identifier: Apache-2.0
//! Measures a profile with the least host there is and prints what came out as JSON.
//!
//! `cargo run --release -p forebay-model --example calibrate -- [profile] [scale]`
//!
//! The published numbers stand beside ours, each fitted (the model was tuned to it) or predicted.

#[allow(dead_code, reason = "a part of what tests share")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use forebay_spec::nvme::{IoOpcode, Sqe};
use serde_json::{Value, json};
use support::{Load, Rig, load, load_in_window, random};

/// Random 4 KiB reads: depth, published GB/s, mean and 99th percentile in µs.
const READS: [(u32, f64, f64, f64); 6] = [
    (1, 0.108, 38.0, 224.0),
    (16, 1.55, 42.0, 224.0),
    (32, 2.76, 47.0, 234.0),
    (64, 4.47, 59.0, 266.0),
    (128, 5.82, 90.0, 380.0),
    (256, 5.84, 179.0, 482.0),
];

/// Random 4 KiB reads taken in order: depth, window, least and greatest GB/s of earlier simulations.
const WINDOWS: [(u32, u32, f64, f64); 7] = [
    (64, 64, 1.62, 1.62),
    (64, 128, 2.49, 2.49),
    (64, 256, 3.8, 4.0),
    (64, 1024, 4.5, 4.6),
    (256, 256, 3.8, 4.1),
    (256, 512, 5.2, 5.5),
    (256, 1024, 5.84, 5.84),
];

/// Commands of `bytes` at random or one after the other.
fn measure(
    profile: &str,
    opcode: IoOpcode,
    depth: u32,
    count: u32,
    bytes: u64,
    rand: bool,
) -> Load {
    let (mut rig, mut queue) = Rig::with_queue(profile, 512, |_| {});
    let (_, prp1, prp2) = rig.buffer(bytes);
    let places = rig.ssd.profile().bytes() / bytes;
    load(&mut rig, &mut queue, depth, count, bytes, |n| {
        let place = if rand { random(n) % places } else { n as u64 };
        Sqe::transfer(opcode, 1, place * bytes / 512, (bytes / 512) as u32).with_prps(prp1, prp2)
    })
}

fn row(name: &str, done: &Load, published: f64, kind: &str) -> Value {
    json!({
        "load": name,
        "gb_per_s": round(done.gb_per_second),
        "published_gb_per_s": published,
        "ratio": round(done.gb_per_second / published),
        "mean_us": round(done.mean_us),
        "p99_us": round(done.p99_us),
        "kind": kind,
    })
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let profile = arguments.next().unwrap_or_else(|| "990pro-2tb".to_owned());
    let scale: f64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0);
    let scaled = |count: u32| ((count as f64 * scale) as u32).max(16);
    let mut rows = Vec::new();
    for (depth, gb, mean, p99) in READS {
        let count = scaled(5_000 + 400 * depth);
        let done = measure(&profile, IoOpcode::Read, depth, count, 4096, true);
        let mut value = row(
            &format!("random 4 KiB read, depth {depth}"),
            &done,
            gb,
            "fitted",
        );
        value["published_mean_us"] = json!(mean);
        value["published_p99_us"] = json!(p99);
        rows.push(value);
    }
    for (name, opcode, depth, bytes, rand, gb, kind) in [
        (
            "sequential 1 MiB read, depth 8",
            IoOpcode::Read,
            8,
            1 << 20,
            false,
            6.9,
            "fitted",
        ),
        (
            "sequential 1 MiB write, depth 8",
            IoOpcode::Write,
            8,
            1 << 20,
            false,
            6.24,
            "fitted",
        ),
        (
            "random 4 KiB write, depth 64",
            IoOpcode::Write,
            64,
            4096,
            true,
            5.25,
            "fitted",
        ),
    ] {
        let count = scaled(if bytes == 4096 { 30_000 } else { 400 });
        let done = measure(&profile, opcode, depth, count, bytes, rand);
        rows.push(row(name, &done, gb, kind));
    }
    for (depth, window, least, most) in WINDOWS {
        let (mut rig, mut queue) = Rig::with_queue(&profile, 512, |_| {});
        let page = rig.host.alloc(4096, 4096).unwrap();
        let count = scaled(30_000 + 200 * depth);
        let done = load_in_window(&mut rig, &mut queue, (depth, window), count, 4096, |n| {
            Sqe::transfer(IoOpcode::Read, 1, random(n) % 400_000_000 * 8, 8).with_prps(page, 0)
        });
        rows.push(json!({
            "load": format!("random 4 KiB read in order, depth {depth}, window {window}"),
            "gb_per_s": round(done.gb_per_second),
            "expected_gb_per_s": [least, most],
            "kind": "predicted",
        }));
    }
    let done = measure(&profile, IoOpcode::Write, 1, scaled(500), 4096, true);
    rows.push(json!({
        "load": "random 4 KiB write, depth 1",
        "mean_us": round(done.mean_us),
        "published": "below 9 us",
        "kind": "fitted",
    }));
    let report = json!({ "profile": profile, "measured_on": "simulation only", "rows": rows });
    println!("{report:#}");
}

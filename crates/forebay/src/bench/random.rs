// SPDX-License-Identifier: Apache-2.0
//! Random work: many small transactions, all queued from the start.

use forebay_cosim::Direction;

use super::{Bench, Measurement, bytes, rates};
use crate::args::{BenchArgs, DefaultProfile};
use crate::failure::{Exit, Result};
use crate::render;
use crate::workload::{ops, scattered};

/// Addresses lie in so much of the drive at most: enough to spread over all of its flash.
const AREA: u64 = 64 << 30;

pub fn run<P: DefaultProfile>(args: &BenchArgs<P>) -> Result<Exit> {
    let mut bench = Bench::start(&args.machine)?;
    let bytes = bytes(args, &bench.session)?;
    let namespace = bench.session.namespace()?;
    let area = namespace.bytes().min(AREA);
    let sizes = [
        ("random_read_4k", Direction::Read, 4096, bytes),
        ("random_write_4k", Direction::Write, 4096, bytes),
        // An eighth of the bytes are as many transactions.
        ("random_write_512", Direction::Write, 512, bytes / 8),
    ];
    for (id, direction, length, bytes) in sizes {
        if length < namespace.block_bytes() {
            continue;
        }
        let workload = scattered(direction, bytes, length, area, args.machine.seed);
        let ops = ops(&workload);
        if direction == Direction::Read {
            bench.session.prepare(&ops)?;
        }
        let way = if direction == Direction::Read {
            "reads"
        } else {
            "writes"
        };
        let title = format!("random {way} of {}", render::bytes(length));
        bench.measure(&Measurement {
            id,
            title,
            ops: &ops,
            host: workload,
        })?;
    }
    bench.finish("random", rates)
}

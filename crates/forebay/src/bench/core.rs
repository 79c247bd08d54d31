// SPDX-License-Identifier: Apache-2.0
//! Sequential work: what the core can carry at most.

use forebay_cosim::Direction;

use super::{Bench, Measurement, bytes, rates};
use crate::args::{BenchArgs, DefaultProfile};
use crate::failure::{Exit, Result};
use crate::render;
use crate::workload::{ops, sequential};

/// Bytes of the transaction whose start counts.
const ONE: u64 = 8 << 20;
/// Bytes of a command of the host's driver: a usual size for sequential work.
const HOST_COMMAND: u64 = 128 << 10;

pub fn run<P: DefaultProfile>(args: &BenchArgs<P>) -> Result<Exit> {
    let mut bench = Bench::start(&args.machine)?;
    let bytes = bytes(args, &bench.session)?;
    let one = ONE.min(bytes);
    for (id, title, direction, bytes) in [
        (
            "sequential_write",
            "sequential write",
            Direction::Write,
            bytes,
        ),
        (
            "one_write",
            "one transaction, start included",
            Direction::Write,
            one,
        ),
        ("sequential_read", "sequential read", Direction::Read, bytes),
    ] {
        // One transaction, however long: the streamer cuts it into commands by itself.
        let ops = ops(&sequential(direction, bytes, bytes));
        let host = sequential(direction, bytes, HOST_COMMAND);
        if direction == Direction::Read {
            bench.session.prepare(&ops)?;
        }
        let title = format!("{title}, {}", render::bytes(bytes));
        bench.measure(&Measurement {
            id,
            title,
            ops: &ops,
            host,
        })?;
    }
    bench.finish("core", rates)
}

// SPDX-License-Identifier: Apache-2.0
//! Latency: one transaction, nothing else under way.

use forebay_cosim::Direction;

use super::{Bench, Measurement, Row, Rows};
use crate::args::{BenchArgs, DefaultProfile};
use crate::failure::{Exit, Result};
use crate::render::{self, Grid};
use crate::report::Rate;
use crate::workload::{Op, ops, sequential};

/// A cold one and warm ones; the report tells least, median and most.
const REPEATS: u64 = 5;
/// Cycles without work before each, so that everything has come to rest.
const REST: u64 = 2_000;

pub fn run<P: DefaultProfile>(args: &BenchArgs<P>) -> Result<Exit> {
    let mut bench = Bench::start(&args.machine)?;
    for (id, direction, length) in [
        ("write_4k", Direction::Write, 4096),
        ("read_4k", Direction::Read, 4096),
        ("write_1m", Direction::Write, 1 << 20),
        ("read_1m", Direction::Read, 1 << 20),
    ] {
        let ops = ops(&sequential(direction, REPEATS * length, length));
        bench.session.prepare(&ops)?;
        let (way, to) = match direction {
            Direction::Write => ("write", "first beat to token"),
            Direction::Read => ("read", "command to last beat"),
        };
        let title = format!("{way} of {}, {to}", render::bytes(length));
        one_by_one(&mut bench, id, &title, &ops)?;
    }
    bench.finish("latency", latencies)
}

/// As [`Bench::measure`], each operation alone; the rows are put together.
fn one_by_one(bench: &mut Bench, id: &'static str, title: &str, ops: &[Op]) -> Result<()> {
    let before = bench.found.rows.len();
    for op in ops {
        if bench.ended.is_done() {
            bench.session.system.run_cycles(REST)?;
        }
        let ops = std::slice::from_ref(op);
        let host = sequential(op.direction, op.length, op.length);
        bench.measure(&Measurement {
            id,
            title: title.to_owned(),
            ops,
            host,
        })?;
    }
    let runs = bench.found.rows.split_off(before);
    let streamer: Vec<Rate> = runs.iter().map(|run| run.streamer.clone()).collect();
    // One that was stopped has no reference.
    let reference: Vec<Rate> = runs.into_iter().filter_map(|run| run.reference).collect();
    if streamer.is_empty() {
        return Ok(());
    }
    let streamer = Rate::together(&streamer);
    let reference = (!reference.is_empty()).then(|| Rate::together(&reference));
    bench.found.rows.push(Row {
        id,
        title: title.to_owned(),
        // Of latencies the shorter is the better: the ratio is the reference's over ours.
        ratio: reference.as_ref().and_then(|reference| {
            let median = |rate: &Rate| f64::from(rate.latency_cycles.p50);
            // An ideal drive answers an ideal host at once.
            let ratio = median(reference) / median(&streamer);
            (ratio.is_finite() && ratio > 0.0).then_some(ratio)
        }),
        streamer,
        reference,
    });
    Ok(())
}

fn latencies(rows: &Rows) -> Grid {
    let mut grid = Grid::new(&[
        "one transaction alone",
        ">least",
        ">median",
        ">most cycles",
        ">host median",
        ">ratio",
    ]);
    for row in &rows.rows {
        let latency = row.streamer.latency_cycles;
        grid.row([
            row.title.clone(),
            render::count(latency.least.into()),
            render::count(latency.p50.into()),
            render::count(latency.most.into()),
            row.reference.as_ref().map_or("–".into(), |rate| {
                render::count(rate.latency_cycles.p50.into())
            }),
            render::ratio(row.ratio),
        ]);
    }
    grid
}

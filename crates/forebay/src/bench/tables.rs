// SPDX-License-Identifier: Apache-2.0
//! What benches found, as tables.

use forebay_lab::bench::scale::{Over, Row, WORKS};
use forebay_lab::bench::{Drives, Rows, Scale, Speed};

use crate::render::{self, Grid};

/// Rates as a table.
pub fn rates(rows: &Rows) -> Grid {
    let mut grid = Grid::new(&[
        "",
        ">B/cycle",
        ">GB/s",
        ">p50",
        ">p99 cycles",
        ">host B/cycle",
        ">ratio",
    ]);
    for row in &rows.rows {
        grid.row([
            row.title.clone(),
            format!("{:.2}", row.streamer.bytes_per_cycle),
            format!("{:.2}", row.streamer.gigabytes_per_second),
            render::count(row.streamer.latency_cycles.p50.into()),
            render::count(row.streamer.latency_cycles.p99.into()),
            row.reference
                .as_ref()
                .map_or("–".into(), |host| render::rate(host.bytes_per_cycle)),
            render::ratio(row.ratio),
        ]);
    }
    grid
}

/// Latencies as a table.
pub fn latencies(rows: &Rows) -> Grid {
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

/// The same work on several drives.
pub fn drives(found: &Drives) -> Grid {
    let mut grid = Grid::new(&[
        "",
        ">drives",
        ">B/cycle",
        ">GB/s",
        ">of as many",
        ">host's",
        ">of host",
        ">cycles each",
    ]);
    for row in &found.rows {
        grid.row([
            row.work.replace('_', ", random "),
            row.drives.to_string(),
            format!("{:.2}", row.streamer.bytes_per_cycle),
            format!("{:.2}", row.streamer.gigabytes_per_second),
            render::ratio(row.of_as_many),
            render::ratio(row.reference_of_as_many),
            render::ratio(row.ratio),
            render::count(row.cycles_per_transaction as u64),
        ]);
    }
    grid
}

/// A row for each step, a column for each work; in brackets what cannot be less.
pub fn scale(found: &Scale, over: Over) -> Grid {
    let mut headers = vec![match over {
        Over::Outstanding => ">outstanding".to_owned(),
        Over::Drives => ">drives".to_owned(),
    }];
    headers.extend(WORKS.map(|work| format!(">{}", work.title())));
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let mut grid = Grid::new(&headers);
    for first in found.of(over, WORKS[0]) {
        let cells = WORKS.map(|work| {
            let mut rows = found.of(over, work);
            let same =
                |row: &&Row| (row.drives, row.outstanding) == (first.drives, first.outstanding);
            rows.find(same).map_or_else(String::new, |row| {
                format!("{:.2} ({:.2})", row.cycles_per_command, row.bound)
            })
        });
        let step = match over {
            Over::Outstanding => first.outstanding,
            Over::Drives => first.drives.into(),
        };
        grid.row(std::iter::once(step.to_string()).chain(cells));
    }
    grid
}

/// How flat it is where enough commands are outstanding.
pub fn flatness(found: &Scale) -> Grid {
    let mut grid = Grid::new(&["", "from", ">least", ">most", ">ratio"]);
    for flat in &found.flat {
        let from = match flat.over {
            Over::Outstanding => format!("{} outstanding", flat.from),
            Over::Drives => format!("{} drives", flat.from),
        };
        grid.row([
            flat.work.title(),
            from,
            format!("{:.2}", flat.least),
            format!("{:.2}", flat.most),
            format!("{:.3}", flat.ratio),
        ]);
    }
    grid
}

/// Cycles per second.
pub fn speed(found: &Speed) -> Grid {
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
    grid
}

// SPDX-License-Identifier: Apache-2.0
//! IntelliProp's table over the size of commands. What was published of it stands in the drive's profile.

use forebay_cosim::{Design, measure};
use forebay_model::Profile;
use forebay_model::profile::{Limit, LoadAccess, LoadDirection, Measurement, Quantity};

use super::figure::{Figure, Published, Row};
use super::published::{Bound, Intelliprop, word};
use super::runs::{Rtl, Runs, in_a_row, way};
use crate::failure::Result;
use forebay_pipeline::units;

/// A rate is steady when twice as many commands change it by less than this percentage.
const STEADY: f64 = 1.0;
/// Most commands of a run: as many as IntelliProp sent.
const MOST: u64 = 1 << 20;
/// Bytes of the first run of the model.
const MODELLED: u64 = 32 << 20;
/// Bytes that our streamer has under way at most.
const UNDER_WAY: u64 = 4 << 20;

/// Published rates are shown in 10^6 bytes per second.
const UNIT: &str = "MB/s";

/// A steady rate.
struct Steady {
    /// In 10^6 bytes per second.
    rate: f64,
    /// By how many percent it changed at last.
    change: f64,
    /// Over this number of commands.
    count: u64,
}

/// Runs with more and more commands until the rate is steady; `quick`: once.
fn steady(quick: bool, first: u64, mut run: impl FnMut(u64) -> Result<f64>) -> Result<Steady> {
    let mut count = first;
    let mut rate = run(count)?;
    let mut change = 0.0;
    while !quick && 2 * count <= MOST {
        count *= 2;
        let next = run(count)?;
        change = (next / rate - 1.0) * 100.0;
        rate = next;
        if f64::abs(change) < STEADY {
            break;
        }
    }
    Ok(Steady {
        rate: rate / 1e6,
        change,
        count,
    })
}

/// Bytes per second of a load of the profile by an ideal host.
fn model(runs: &Runs, profile: &Profile, load: &Measurement) -> Result<f64> {
    let run = runs.host(profile, load, Design::HOST)?;
    Ok(measure::value(&run, load, Quantity::Rate))
}

/// IntelliProp's sweep.
///
/// # Errors
/// Where a run fails, or the user stops.
pub fn intelliprop(runs: &Runs, data: &Intelliprop, within: f64) -> Result<Figure> {
    let profile = Profile::load(&runs.profile)?;
    let published = Profile::builtin(&data.profile)?.measurements;
    let mut rows = Vec::new();
    let mut worst_change: f64 = 0.0;
    let mut counts = (u64::MAX, 0);
    for direction in [LoadDirection::Write, LoadDirection::Read] {
        let sizes = (data.least_bytes.ilog2()..=data.most_bytes.ilog2()).map(|shift| 1u64 << shift);
        for bytes in sizes {
            let load = swept(data, direction, bytes);
            let measured = published.iter().find(|one| {
                (one.direction, one.access, one.bytes, one.depth)
                    == (direction, LoadAccess::Sequential, bytes, data.depth)
            });
            let with = |count| Measurement {
                count,
                ..load.clone()
            };
            let in_flight = u64::from(data.depth).min(UNDER_WAY / bytes);
            let first =
                (MODELLED / bytes).clamp(4 * u64::from(data.depth), 64 * u64::from(data.depth));
            let modelled = steady(runs.quick, first, |count| {
                model(runs, &profile, &with(count))
            })?;
            // The short form runs the RTL where a command is a page.
            let ours = if runs.quick && bytes != 4096 {
                None
            } else {
                Some(steady(runs.quick, 4 * in_flight, |count| {
                    let workload = in_a_row(way(direction), bytes, count);
                    let depth = Rtl::Depth(u32::from(data.depth));
                    let rate = runs.rate(depth, &profile, &workload, false, &load.title)?;
                    Ok(rate.gigabytes_per_second * 1e9)
                })?)
            };
            for steady in [Some(&modelled), ours.as_ref()].into_iter().flatten() {
                worst_change = worst_change.max(steady.change.abs());
                counts = (counts.0.min(steady.count), counts.1.max(steady.count));
            }
            let number = measured.and_then(|one| rate_of(one));
            let row = Row {
                load: load_title(direction).into(),
                design: units::bytes(bytes),
                published: number.map(|(value, _, source)| {
                    Published::new(value as f64 / 1e6, Bound::About, source)
                }),
                model: Some(modelled.rate),
                model_kind: Some(number.map_or("predicted", |(_, kind, _)| kind).into()),
                ours: ours.map(|ours| ours.rate),
                ..Row::default()
            };
            let must = measured.is_some_and(|one| one.limit == Limit::Drive);
            rows.push(row.compare(within, must).ours_at_least(within));
        }
    }
    rows.extend(drivers(data, &rows));
    let figure = Figure {
        id: "intelliprop".into(),
        title: "Sequential commands by their size, 256 outstanding, Samsung 950 PRO".into(),
        paper: data.paper.clone(),
        link: data.link.clone(),
        place: data.place.clone(),
        unit: UNIT.into(),
        profile: Some(profile.name.clone()),
        model_is: "an ideal polling host on the profile's drive, commands of that size".into(),
        within_percent: within,
        worst_percent: 0.0,
        rows,
        notes: vec![
            "ours: the RTL at 300 MHz, queues of 256 entries; theirs ran at 125 MHz".into(),
            "they sent 2^20 commands of each size; the sizes without a number are in their graphs alone".into(),
            if runs.quick {
                "short form: one run each, not looked at whether it is steady; RTL with 4 KiB only".into()
            } else {
                format!(
                    "cut where twice as many commands change the rate by less than {STEADY} %: at {} to {} \
                     commands, the last change {worst_change:.1} % at most",
                    units::count(counts.0),
                    units::count(counts.1)
                )
            },
        ],
        parameters: Vec::new(),
        sensitivities: Vec::new(),
    };
    Ok(figure.conclude())
}

fn swept(data: &Intelliprop, direction: LoadDirection, bytes: u64) -> Measurement {
    Measurement {
        title: format!("{} of {}", load_title(direction), units::bytes(bytes)),
        direction,
        access: LoadAccess::Sequential,
        bytes,
        depth: data.depth,
        count: 0,
        full_cache: false,
        setup: 0,
        limit: Limit::Drive,
        gave: Vec::new(),
    }
}

pub const fn load_title(direction: LoadDirection) -> &'static str {
    match direction {
        LoadDirection::Write => "sequential write",
        LoadDirection::Read => "sequential read",
    }
}

/// The rate that a load gave: bytes per second, what the model's number is, and its source.
pub fn rate_of(load: &Measurement) -> Option<(u64, &'static str, &str)> {
    let rate = load
        .gave
        .iter()
        .find(|number| number.quantity == Quantity::Rate)?;
    Some((rate.value, word(rate.kind), &rate.source))
}

/// What software reached on their board, beside ours.
fn drivers(data: &Intelliprop, rows: &[Row]) -> Vec<Row> {
    let of_driver = data
        .drivers
        .iter()
        .flat_map(|driver| driver.numbers.iter().map(move |number| (driver, number)));
    let rows = of_driver.map(|(driver, number)| {
        let load = load_title(number.direction);
        let design = units::bytes(number.bytes);
        let same = rows
            .iter()
            .find(|row| row.load == load && row.design == design);
        let row = Row {
            load: format!("{load}, {}", driver.title),
            design,
            published: Some(Published::new(
                number.value as f64 / 1e6,
                Bound::About,
                &data.place,
            )),
            ours: same.and_then(|row| row.ours),
            ..Row::default()
        };
        row.compare(0.0, false)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cut_where_it_is_steady() {
        // 10 commands of start: 1 % is reached between 640 and 1280.
        let rate = |count: u64| Ok(1e6 * count as f64 / (count + 10) as f64);
        let found = steady(false, 10, rate).expect("runs");
        assert_eq!(found.count, 1280);
        assert!(found.change > 0.0 && found.change < STEADY);
        let once = steady(true, 10, rate).expect("runs");
        assert_eq!((once.count, once.change), (10, 0.0));
        let never = steady(false, 1 << 18, |count| Ok(count as f64)).expect("runs");
        assert_eq!(never.count, MOST);
    }
}

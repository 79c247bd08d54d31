// SPDX-License-Identifier: Apache-2.0
//! SNAcc's figures 4 and 7: the model of its design, its numbers, and our streamer.

use std::collections::BTreeMap;

use forebay_model::Profile;
use forebay_model::profile::Kind;
use forebay_pipeline::Memory;

use super::case_study::Classified;
use super::figure::{Figure, Parameter, Published, Row, Sensitivity};
use super::published::{Bar, Configuration, DesignOf, FigureOf, Number, Snacc, word};
use super::runs::{Found, Rtl, Runs};
use crate::bench::Side;
use crate::failure::Result;
use crate::traffic::{Hop, Traffic};

/// Pages of a reorder window like SNAcc's, 64 for each direction: as many as it has commands in flight.
const PAGES: u32 = 128;
/// The load that this window slows down.
const WINDOWED: &str = "rand-r";

const MODEL: &str = "SNAcc's design at the level of its commands, on the profile's drive and paths: where queues \
                     and data lie, 64 commands that end in order, what its memory takes longer";

/// The parts of figure 4.
///
/// # Errors
/// Where a run fails, or the user stops.
pub fn figure4(runs: &Runs, snacc: &Snacc, within: f64) -> Result<Vec<Figure>> {
    let profile = Profile::load(&runs.profile)?;
    let mut figures = Vec::new();
    for figure in &snacc.figures {
        let mut rows = Vec::new();
        for bar in &figure.numbers {
            rows.push(row(runs, snacc, &profile, bar)?.compare(within, true));
        }
        rows.extend(windowed(runs, snacc, &profile, figure, within)?);
        let sensitivities = if runs.quick {
            Vec::new()
        } else {
            sensitivities(runs, snacc, &profile, figure)?
        };
        figures.push(Figure {
            id: format!("snacc-{}", figure.id),
            title: figure.title.clone(),
            paper: snacc.paper.clone(),
            link: snacc.link.clone(),
            place: figure.place.clone(),
            unit: figure.unit.clone(),
            profile: Some(profile.name.clone()),
            model_is: MODEL.into(),
            within_percent: within,
            worst_percent: 0.0,
            rows,
            notes: notes(runs, figure),
            parameters: parameters(snacc),
            sensitivities,
        });
    }
    Ok(figures.into_iter().map(Figure::conclude).collect())
}

fn row(runs: &Runs, snacc: &Snacc, profile: &Profile, bar: &Bar) -> Result<Row> {
    let (design, load) = (snacc.design(&bar.design)?, snacc.load_of(&bar.load)?);
    let model = runs.model(profile, design, load)?;
    let ours = design
        .memory
        .map(|memory| runs.rtl(Rtl::Ours(memory), profile, load))
        .transpose()?;
    // The RTL that is published and simulated here keeps its payload on chip.
    let given = !runs.rtl.is_empty() && design.memory == Some(Memory::Onchip);
    let rtl = if given {
        Some(runs.rtl(Rtl::Given, profile, load)?)
    } else {
        None
    };
    Ok(Row {
        load: load.title.clone(),
        design: design.title.clone(),
        published: Some(Published::new(bar.value, bar.bound, &bar.says)),
        model: Some(model.value),
        model_kind: Some(word(bar.model).into()),
        rtl: rtl.map(|found| found.value),
        ours: ours.as_ref().map(|found| found.value),
        traffic: Some(model.traffic),
        ours_traffic: ours.map(|found| found.traffic),
        ..Row::default()
    })
}

/// Our RTL with SNAcc's window: what giving up the wider one costs.
fn windowed(
    runs: &Runs,
    snacc: &Snacc,
    profile: &Profile,
    figure: &FigureOf,
    within: f64,
) -> Result<Option<Row>> {
    let on_chip = |bar: &&Bar| {
        let design = snacc.design(&bar.design);
        let here = design.is_ok_and(|design| design.memory == Some(Memory::Onchip));
        bar.load == WINDOWED && here
    };
    let Some(bar) = figure.numbers.iter().find(on_chip) else {
        return Ok(None);
    };
    let load = snacc.load_of(&bar.load)?;
    let found = runs.rtl(Rtl::Window(PAGES), profile, load)?;
    let row = Row {
        load: load.title.clone(),
        design: format!(
            "our RTL, window of {} (--buffer {}KiB)",
            PAGES / 2,
            4 * PAGES
        ),
        published: Some(Published::new(bar.value, bar.bound, &bar.says)),
        ours: Some(found.value),
        ours_traffic: Some(found.traffic),
        ..Row::default()
    };
    Ok(Some(row.compare_ours(within)))
}

fn notes(runs: &Runs, figure: &FigureOf) -> Vec<String> {
    let mut notes = vec![
        "ours: the RTL, cycle by cycle at 300 MHz, with its payload in the same memory; – where it has none"
            .to_owned(),
        if runs.quick {
            "short form: rates of ours are over 8 MiB, their start included".to_owned()
        } else {
            "SNAcc moved 1 GB: so does the model; ours moves 64 MiB, start included".to_owned()
        },
    ];
    if figure.unit == "us" {
        notes.push(
            "the median: one access is published, and 2 % of the drive's reads take longer".into(),
        );
    }
    if !runs.rtl.is_empty() {
        notes.push("their RTL: what --rtl names, on the same models".into());
    }
    notes
}

/// The numbers of the designs' model.
pub fn parameters(snacc: &Snacc) -> Vec<Parameter> {
    let number = |place: String, number: &Number| Parameter {
        field: place,
        value: number.value,
        kind: word(number.kind).into(),
        source: number.source.clone(),
    };
    let of_design = |design: &DesignOf| {
        let numbers = [
            ("window", &design.window),
            ("buffer_bytes", &design.buffer_bytes),
            ("answer_ns", &design.answer_ns),
            ("read_extra_ns", &design.read_extra_ns),
        ];
        numbers.map(|(name, value)| number(format!("{}.{name}", design.id), value))
    };
    let slow = snacc.loads.iter().filter_map(|load| {
        let slow = load.slow_ns.as_ref()?;
        Some(number(format!("{}.slow_ns", load.id), slow))
    });
    snacc
        .designs
        .iter()
        .flat_map(of_design)
        .chain(slow)
        .collect()
}

/// What ten percent of each fitted number of the profile change, in the row that changes most.
fn sensitivities(
    runs: &Runs,
    snacc: &Snacc,
    profile: &Profile,
    figure: &FigureOf,
) -> Result<Vec<Sensitivity>> {
    let quick = Runs {
        quick: true,
        ..runs.clone()
    };
    let values = |profile: &Profile| -> Result<Vec<f64>> {
        let model = |bar: &Bar| -> Result<f64> {
            let (design, load) = (snacc.design(&bar.design)?, snacc.load_of(&bar.load)?);
            Ok(quick.model(profile, design, load)?.value)
        };
        figure.numbers.iter().map(model).collect()
    };
    let plain = values(profile)?;
    let fitted = profile
        .sources
        .iter()
        .filter(|row| row.kind == Kind::Fitted);
    let mut all = Vec::new();
    for field in fitted.map(|row| &row.field) {
        // What stands in a list, or may only be a power of two, is left out.
        let Ok(smaller) = Profile::load_varied(&runs.profile, field, 0.9) else {
            continue;
        };
        let Ok(greater) = Profile::load_varied(&runs.profile, field, 1.1) else {
            continue;
        };
        let percent = |values: Vec<f64>| -> Vec<f64> {
            let pairs = values.iter().zip(&plain);
            pairs
                .map(|(value, plain)| (value / plain - 1.0) * 100.0)
                .collect()
        };
        let (smaller, greater) = (percent(values(&smaller)?), percent(values(&greater)?));
        let change = |row: usize| smaller[row].abs().max(greater[row].abs());
        let most = (0..plain.len()).max_by(|a, b| change(*a).total_cmp(&change(*b)));
        if let Some(row) = most.filter(|row| change(*row) >= 0.1) {
            let bar = &figure.numbers[row];
            all.push(Sensitivity {
                field: field.clone(),
                row: format!(
                    "{}, {}",
                    snacc.load_of(&bar.load)?.title,
                    snacc.design(&bar.design)?.title
                ),
                smaller_percent: smaller[row],
                greater_percent: greater[row],
            });
        }
    }
    Ok(all)
}

/// Figure 7: payload on PCIe for each byte stored.
///
/// # Errors
/// Where a run fails, or the user stops.
pub fn figure7(runs: &Runs, snacc: &Snacc, classified: &Classified, within: f64) -> Result<Figure> {
    let profile = Profile::load(&runs.profile)?;
    let transfers = &snacc.transfers;
    let load = snacc.load_of(&transfers.load)?;
    let mut measured: BTreeMap<&str, Found> = BTreeMap::new();
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for configuration in &transfers.configurations {
        let design = snacc.design(&configuration.design)?;
        if !measured.contains_key(design.id.as_str()) {
            measured.insert(&design.id, runs.model(&profile, design, load)?);
        }
        let traffic = copied(
            &measured[design.id.as_str()].traffic,
            configuration,
            &profile,
        );
        let ours = match design.memory {
            None => None,
            Some(memory) => Some(match classified.of(memory) {
                Some(side) => side.recorded.traffic.clone(),
                None => runs.rtl(Rtl::Ours(memory), &profile, load)?.traffic,
            }),
        };
        let side = design.memory.and_then(|memory| classified.of(memory));
        let row = Row {
            load: "bytes over PCIe per byte stored".into(),
            design: configuration.title.clone(),
            model: traffic.pcie_bytes_per_byte,
            model_kind: Some(
                if configuration.copies.is_empty() {
                    "predicted"
                } else {
                    "computed"
                }
                .into(),
            ),
            ours: ours.as_ref().and_then(|ours| ours.pcie_bytes_per_byte),
            traffic: Some(traffic),
            ours_traffic: ours,
            ..Row::default()
        };
        rows.push(row);
        faults.push(side.and_then(Side::fault));
    }
    let ids: Vec<&str> = transfers
        .configurations
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    ranked(
        &ids,
        &mut rows,
        &transfers.fewest,
        &transfers.most,
        &transfers.says,
    );
    for (row, fault) in rows.iter_mut().zip(faults) {
        if let Some(fault) = fault {
            row.note = Some(format!("{}: {fault}", row.design));
            row.agrees = Some(false);
        }
    }
    let mut notes = vec![
        "the bars have no numbers: what is checked is who has the fewest and who the most"
            .to_owned(),
        format!(
            "a transfer counts once, on the way of {}; {}",
            load.title, "queue entries are counted too"
        ),
        match runs.quick {
            true => "ours: the streamer alone".to_owned(),
            false => "ours: images recorded and classified, as in figure 6".to_owned(),
        },
    ];
    for configuration in &transfers.configurations {
        for copy in &configuration.copies {
            notes.push(format!(
                "{}: {} bytes from {} to {} for each byte stored: {}",
                configuration.title,
                copy.per_byte,
                copy.from.name(),
                copy.to.name(),
                copy.source
            ));
        }
    }
    let figure = Figure {
        id: "snacc-fig7".into(),
        title: transfers.title.clone(),
        paper: snacc.paper.clone(),
        link: snacc.link.clone(),
        place: transfers.place.clone(),
        unit: "bytes per byte".into(),
        profile: Some(profile.name.clone()),
        model_is:
            "hop counts of a simulated run between buffer and drive, and the copies named below"
                .into(),
        within_percent: within,
        worst_percent: 0.0,
        rows,
        notes,
        parameters: parameters(snacc),
        sensitivities: Vec::new(),
    };
    Ok(figure.conclude())
}

/// With the bytes that a configuration moves besides: as posted writes of the greatest size.
fn copied(traffic: &Traffic, configuration: &Configuration, profile: &Profile) -> Traffic {
    let mut all = traffic.clone();
    let stored = stored(traffic);
    let fabric = &profile.fabric;
    for copy in &configuration.copies {
        let payload = (stored * copy.per_byte).round() as u64;
        let messages = payload.div_ceil(u64::from(fabric.max_payload));
        let wire = payload + messages * u64::from(fabric.write_header);
        for (place, direction) in [(copy.from, "up"), (copy.to, "down")] {
            all.add(Hop {
                link: place.name().into(),
                direction: direction.into(),
                messages,
                payload_bytes: payload,
                wire_bytes: wire,
                link_bytes_per_second: 0,
                link_share: None,
            });
        }
        if let Some(per_byte) = &mut all.pcie_bytes_per_byte {
            *per_byte += copy.per_byte;
        }
    }
    all
}

/// Bytes that a measurement stored.
fn stored(traffic: &Traffic) -> f64 {
    let sent = traffic.hops.iter().filter(|hop| hop.direction == "up");
    let sent: u64 = sent.map(|hop| hop.payload_bytes).sum();
    traffic
        .pcie_bytes_per_byte
        .map_or(0.0, |per_byte| sent as f64 / per_byte)
}

/// Marks the rows of which is said that they are the least or the greatest.
fn ranked(ids: &[&str], rows: &mut [Row], fewest: &[String], most: &str, says: &str) {
    let all: Vec<f64> = rows.iter().filter_map(|row| row.model).collect();
    // Queue entries are a few thousandths: who copies nothing is as good as any who does not.
    let least = all.iter().copied().fold(f64::INFINITY, f64::min) * 1.01;
    let greatest = all.iter().copied().fold(0.0, f64::max);
    for (id, row) in ids.iter().zip(rows) {
        let Some(model) = row.model else { continue };
        if fewest.iter().any(|one| one == id) {
            row.agrees = Some(model <= least);
        } else if *id == most {
            row.agrees = Some(model >= greatest);
        } else {
            row.agrees = Some(model > least && model < greatest);
        }
        row.note = row
            .agrees
            .filter(|agrees| !agrees)
            .map(|_| format!("{}: {says}", row.design));
    }
}

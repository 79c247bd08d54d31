// SPDX-License-Identifier: Apache-2.0
//! Plans as text: one with all that it rests on, several side by side.

use forebay_draw::text::{self, Grid, Page, bar, mark, or_dash};
use forebay_model::profile::Kind;
use forebay_pipeline::units::{bytes, count};

use super::{Basis, Found, Source, StreamFifo, Verification};

/// Characters of a source before it is wrapped.
const SOURCE: u16 = 56;
const DAY: f64 = 86_400.0;

/// One plan with all that it rests on, or several side by side.
pub fn page(plans: &[Found]) -> Page {
    match plans {
        [found] => one(found),
        plans => compare(plans),
    }
}

fn one(found: &Found) -> Page {
    let plan = &found.plan;
    let mut page = Page::simulated("Forebay plan");
    source(&found.source, &mut page);
    page.field("profile", &found.profile);
    page.heading("What each part carries");
    let mut grid = Grid::new("part | >GB/s |  | because");
    for stage in &plan.stages {
        let share = found.source.mean_bytes_per_second / stage.bytes_per_second;
        grid.row([
            stage.name.clone(),
            number(stage.bytes_per_second),
            bar(share, 16),
            stage.because.clone(),
        ]);
    }
    page.grid(grid);
    page.heading("The plan");
    page.field("drives", drives(found));
    page.field(
        "memory",
        format_args!(
            "{}, {} for writes",
            plan.memory.name(),
            bytes(plan.memory_bytes)
        ),
    );
    page.field(
        "waiting",
        format_args!("{} at most", bytes(plan.waiting.bytes)),
    );
    page.field(
        "FIFO",
        format_args!(
            "{} before the {}",
            bytes(plan.fifo_bytes),
            match found.recorder {
                Some(_) => "recorder, in DRAM",
                None => "streamer",
            }
        ),
    );
    page.field(
        "stores",
        format_args!("{} in the long run", rate(plan.sustained_bytes_per_second)),
    );
    page.field("limited by", &plan.bottleneck);
    life(found, &mut page);
    rests_on(&found.rests_on, &mut page);
    if let Some(fifo) = &found.recorder {
        stream_fifo(fifo, &mut page);
    }
    if let Some(found) = &found.verification {
        verification(found, &mut page);
    }
    for note in &found.notes {
        page.line(format_args!("  · {note}"));
    }
    page.verdict(found.holds(), verdict(found));
    page
}

fn source(source: &Source, page: &mut Page) {
    let bursts = match (source.burst_bytes, source.every_seconds) {
        (Some(burst), Some(seconds)) => format!(
            ", {} every {}, {} on average",
            bytes(burst),
            text::seconds(seconds),
            rate(source.mean_bytes_per_second)
        ),
        _ => ", without end".to_owned(),
    };
    page.field(
        "source",
        format_args!("{}{bursts}", rate(source.bytes_per_second)),
    );
}

fn life(found: &Found, page: &mut Page) {
    let life = &found.life;
    page.heading("How long the drives take it");
    page.field(
        "full after",
        format_args!(
            "{}: {} of payload",
            duration(life.seconds_until_full),
            terabytes(life.capacity_bytes as f64)
        ),
    );
    let rated = life
        .rated_drive_writes_per_day
        .map_or(String::new(), |rated| format!(", rated for {rated:.2}"));
    page.field(
        "writes",
        format_args!(
            "{:.2} drive writes per day{rated}: {} a day",
            life.drive_writes_per_day,
            terabytes(life.bytes_per_day)
        ),
    );
    if let (Some(years), Some(warranty)) = (life.years, life.warranty_years) {
        page.field(
            "worn after",
            format_args!(
                "{}; the warranty ends after {warranty} years",
                duration(years * 365.0 * DAY)
            ),
        );
    }
    page.field(
        "power lost",
        match life.volatile_cache {
            true => "what was not flushed is lost: the write cache is volatile",
            false => "nothing acknowledged is lost: no volatile write cache",
        },
    );
}

fn rests_on(all: &[Basis], page: &mut Page) {
    if all.is_empty() {
        return;
    }
    page.heading("The answer rests on");
    let mut grid =
        Grid::new("number | >value | >10 % more | decides | is | source").wrap(5, SOURCE);
    for basis in all {
        let number = &basis.number;
        grid.row([
            format!("{}: {}", basis.profile, number.field),
            value(basis),
            basis
                .change_percent
                .map_or_else(String::new, |change| format!("{change:+.1} %")),
            basis.decides.to_owned(),
            kind(basis).to_owned(),
            number.source.clone(),
        ]);
    }
    page.grid(grid);
}

fn verification(found: &Verification, page: &mut Page) {
    page.heading("Simulated, with a source that cannot wait");
    page.field(
        "moved",
        format_args!(
            "{}, {} stored",
            bytes(found.bytes),
            rate(found.stored_bytes_per_second)
        ),
    );
    page.field(
        "FIFO",
        format_args!(
            "{} of {} at most",
            bytes(found.most_bytes),
            bytes(found.fifo_bytes)
        ),
    );
    page.field("lost", format_args!("{} bytes", count(found.lost_bytes)));
    let half = if found.half_loses {
        "would lose some"
    } else {
        "would do, too, in this simulation"
    };
    page.field("half of it", half);
}

/// The recorder's FIFO, and why it has that depth.
fn stream_fifo(fifo: &StreamFifo, page: &mut Page) {
    page.heading("The stream FIFO");
    page.field(
        "depth",
        format_args!("{} bytes, {}", count(fifo.bytes), bytes(fifo.bytes)),
    );
    page.field("because", &fifo.because);
    let Some(found) = &fifo.simulated else {
        return;
    };
    page.heading("On the drive's model, without RTL, with a source that cannot wait");
    page.field("offered", bytes(found.offered_bytes));
    page.field(
        "least depth",
        format_args!("{} bytes", count(found.least_bytes)),
    );
    page.field(
        "lost",
        format_args!(
            "{} bytes in {} gaps",
            count(found.lost_bytes),
            count(found.gaps)
        ),
    );
    page.field(
        "half of it",
        match found.half_lost_bytes {
            0 => "would do, too, in this simulation".to_owned(),
            lost => format!("would lose {} bytes", count(lost)),
        },
    );
}

/// Several profiles side by side.
fn compare(plans: &[Found]) -> Page {
    let mut page = Page::simulated("Forebay plan");
    if let [first, ..] = plans {
        source(&first.source, &mut page);
    }
    let mut grid = Grid::new(
        " | profile | drives | >GB/s | limited by | >FIFO | >full after | >DWPD | >rated | \
         >worn after | rests on",
    );
    for found in plans {
        let (plan, life) = (&found.plan, &found.life);
        let some = |number: Option<f64>| or_dash(number.map(|number| format!("{number:.2}")));
        grid.row([
            mark(found.holds()).to_owned(),
            found.profile.clone(),
            drives(found),
            number(plan.sustained_bytes_per_second),
            plan.bottleneck.clone(),
            bytes(plan.fifo_bytes),
            duration(life.seconds_until_full),
            some(Some(life.drive_writes_per_day)),
            some(life.rated_drive_writes_per_day),
            or_dash(life.years.map(|years| duration(years * 365.0 * DAY))),
            or_dash(found.rests_on.first().map(in_words)),
        ]);
    }
    page.line("").grid(grid);
    for found in plans {
        for note in &found.notes {
            page.line(format_args!("  · {}: {note}", found.profile));
        }
    }
    let good: Vec<_> = plans.iter().filter(|found| found.holds()).collect();
    let sentence = match good.as_slice() {
        [] => "infeasible with each of them".to_owned(),
        good => {
            let names: Vec<_> = good.iter().map(|found| found.profile.as_str()).collect();
            format!("feasible with {}", names.join(", "))
        }
    };
    page.verdict(!good.is_empty(), sentence);
    page
}

fn verdict(found: &Found) -> String {
    let plan = &found.plan;
    let by_model = found
        .recorder
        .as_ref()
        .and_then(|fifo| fifo.simulated.as_ref());
    let feasible = match (found.possible, &found.verification) {
        (false, _) => format!(
            "infeasible with {} drives: {} limits",
            plan.drives, plan.bottleneck
        ),
        (true, None) if by_model.is_some() => match found.holds() {
            true => "no byte is lost on the drive's model".to_owned(),
            false => "bytes are lost on the drive's model: the FIFO is too small".to_owned(),
        },
        (true, None) => "feasible, by arithmetic alone".to_owned(),
        (true, Some(found)) if found.lost_bytes == 0 => "no byte is lost".to_owned(),
        (true, Some(_)) => "bytes are lost: the FIFO is too small".to_owned(),
    };
    match found.rests_on.first() {
        Some(basis) => format!("{feasible}; rests on {}", in_words(basis)),
        None => feasible,
    }
}

/// A number, its value and how it came to be, in a few words.
fn in_words(basis: &Basis) -> String {
    let field = &basis.number.field;
    let name = field
        .rsplit_once('.')
        .map_or(field.as_str(), |(_, name)| name);
    format!("{name} {}: {}", value(basis), kind(basis))
}

fn kind(basis: &Basis) -> &'static str {
    match basis.number.kind {
        Kind::Published => "published",
        Kind::Fitted => "fitted",
        Kind::Predicted => "predicted",
        Kind::Chosen => "guessed",
    }
}

/// A number with the unit that its field's name ends in.
fn value(basis: &Basis) -> String {
    let (field, number) = (&basis.number.field, basis.number.value);
    let unit = |ending: &str| field.ends_with(ending);
    match number as f64 {
        value if unit("bytes_per_second") => rate(value),
        value if unit("bytes") && value >= 1e9 => terabytes(value),
        _ if unit("bytes") => bytes(number),
        _ if unit("_ps") => format!("{number} ps"),
        time if unit("_ns") => text::seconds(time * 1e-9),
        time if unit("_us") => text::seconds(time * 1e-6),
        time if unit("_ms") => text::seconds(time * 1e-3),
        _ => count(number),
    }
}

fn drives(found: &Found) -> String {
    let plan = &found.plan;
    let parity = if plan.parity { ", 1 for parity" } else { "" };
    match plan.spares {
        0 => format!("{}{parity}", plan.drives),
        spares => format!(
            "{} to buy: {}{parity}, and {spares} spare",
            plan.drives_in_all(),
            plan.drives
        ),
    }
}

fn rate(rate: f64) -> String {
    format!("{} GB/s", number(rate))
}

/// Gigabytes a second.
fn number(rate: f64) -> String {
    text::rate(if rate.is_finite() { rate / 1e9 } else { 0.0 })
}

fn terabytes(bytes: f64) -> String {
    match bytes / 1e12 {
        terabytes @ 100.0.. => format!("{} TB", count(terabytes.round() as u64)),
        terabytes => format!("{terabytes:.2} TB"),
    }
}

/// A long time in the unit that people use for it.
fn duration(seconds: f64) -> String {
    match seconds {
        ..300.0 => text::seconds(seconds),
        ..36_000.0 => format!("{:.0} min", seconds / 60.0),
        ..864_000.0 => format!("{:.1} h", seconds / 3600.0),
        ..63_072_000.0 => format!("{:.0} days", seconds / DAY),
        _ => format!("{:.1} years", seconds / DAY / 365.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_read_at_a_glance() {
        for (seconds, text) in [
            (12.0, "12.0 s"),
            (2400.0, "40 min"),
            (90_000.0, "25.0 h"),
            (30.0 * DAY, "30 days"),
            (5.0 * 365.0 * DAY, "5.0 years"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What the streamer shows of itself: after a small workload, stored, drawn.

use std::sync::atomic::Ordering;

use forebay_cosim::{Direction, System};
use forebay_draw::text::{Grid, Page, bar};
use forebay_driver::Flight;
use forebay_driver::inspect::Inspection;
use forebay_pipeline::units::count;

use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::flight;
use crate::machine::MachineSpec;
use crate::report::Header;
use crate::session::{Ended, Session};
use crate::workload::{ops, scattered, sequential};

/// Kind and version of what is stored.
pub const SCHEMA: &str = "forebay.inspect/1";

/// Registers, events and counters of the streamer, and both sides of its queues.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// How it came about.
    #[serde(flatten)]
    pub header: Header,
    /// What the registers said.
    #[serde(flatten)]
    pub inspection: Inspection,
    /// Both sides of the queues; none in files of before there was this.
    #[serde(default)]
    pub flight: Option<Flight>,
}

impl Report {
    /// After some of everything on a machine: a sequential write, scattered writes and reads.
    ///
    /// # Errors
    /// Where the RTL, a profile or the bring-up fails.
    pub fn after_workload(machine: &MachineSpec) -> Result<(Self, Ended)> {
        let mut session = Session::start(machine, SCHEMA, |_| Ok(()))?;
        let area = session.namespace()?.bytes().min(1 << 30);
        let large = (256 << 10).min(area);
        let write = Direction::Write;
        let mut all = ops(&sequential(write, (1 << 20).min(area), large));
        all.extend(ops(&scattered(write, 256 << 10, 4096, area, machine.seed)));
        let mut ended = session.measure("writing", &all).ended;
        if ended.is_done() {
            for op in &mut all {
                op.direction = Direction::Read;
            }
            ended = session.measure("reading", &all).ended;
        }
        let report = Self {
            inspection: take(&mut session.system)?,
            flight: Some(flight::take(&mut session.system)),
            header: session.header(&ended),
        };
        Ok((report, ended))
    }

    /// As text; of the events the last `events`.
    pub fn page(&self, events: usize) -> Page {
        let mut page = Page::simulated("Forebay inspect");
        page.line(format_args!(
            "  after: {}",
            self.header.command_line.join(" ")
        ));
        draw(&self.inspection, &mut page, events);
        if let Some(flight) = &self.flight {
            flight::draw(flight, &mut page, events);
        }
        page
    }
}

/// Reads everything of a simulation, by the driver. Empty where the RTL has no such registers.
///
/// # Errors
/// Registers that do not answer.
pub fn take(system: &mut System) -> Result<Inspection> {
    // After Ctrl-C, too, there shall be something to look at.
    system.stop_flag().store(false, Ordering::Relaxed);
    let taken = system.with_session(|session, system| match session.streamer().cloned() {
        Some(streamer) => Inspection::of(&streamer, system),
        None => Ok(Inspection::default()),
    });
    Ok(taken.unwrap_or_else(|| Ok(Inspection::default()))?)
}

/// Draws it; of the events the last `events`.
fn draw(inspection: &Inspection, page: &mut Page, events: usize) {
    if inspection.registers.is_empty() {
        page.line("\n  This RTL has no registers to show (it is not ours).");
        return;
    }
    page.heading("Registers");
    page.grid(registers(inspection));
    page.heading("Counters");
    let mut grid = Grid::new("counter | >value | meaning").wrap(2, 60);
    for counter in &inspection.counters {
        let value = count(counter.value.into());
        grid.row([&counter.name, &value, &counter.meaning]);
    }
    page.grid(grid);
    page.heading("Latency of commands, cycles from submission to completion");
    page.grid(histogram(&inspection.latency_histogram));
    let first = inspection.trace.len().saturating_sub(events);
    page.heading(&format!(
        "Last {} queue events",
        inspection.trace.len() - first
    ));
    let mut grid = Grid::new(">cycle | >since | >command | event");
    let mut before = None;
    for event in &inspection.trace[first..] {
        let since = before.map_or(0, |before| event.cycle.wrapping_sub(before));
        before = Some(event.cycle);
        let cid = event.cid.map_or_else(String::new, |cid| cid.to_string());
        grid.row([
            &event.cycle.to_string(),
            &format!("+{since}"),
            &cid,
            &event.text,
        ]);
    }
    page.grid(grid);
    if let Some(cause) = &inspection.error_cause {
        page.verdict(false, format_args!("first error: {cause}"));
    }
}

fn registers(inspection: &Inspection) -> Grid {
    let mut grid = Grid::new("register | >offset | >value | fields").wrap(3, 56);
    for register in &inspection.registers {
        // A field that is the whole value would only repeat it.
        let fields: Vec<String> = match register.fields.as_slice() {
            [_] => Vec::new(),
            fields => fields
                .iter()
                .map(|f| format!("{} {}", f.name, f.value))
                .collect(),
        };
        grid.row([
            register.name.clone(),
            format!("{:#05x}", register.offset),
            format!("{:#x}", register.value),
            fields.join(", "),
        ]);
    }
    grid
}

fn histogram(counts: &[u32]) -> Grid {
    let mut grid = Grid::new(">from | >to | >commands | ");
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    for (k, commands) in counts.iter().enumerate().take(last + 1).skip(first) {
        grid.row([
            count(1 << k),
            count((2 << k) - 1),
            count((*commands).into()),
            bar(f64::from(*commands) / f64::from(most), 32),
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_driver::inspect::{InspectedEvent, InspectedRegister};

    #[test]
    fn nothing_is_too_strange_to_draw() {
        let mut inspection = Inspection::default();
        draw(&inspection, &mut Page::simulated("nothing"), 10);
        inspection.registers.push(InspectedRegister {
            name: "status".into(),
            offset: 0x248,
            value: u64::MAX,
            fields: Vec::new(),
        });
        inspection.latency_histogram = vec![u32::MAX; 32];
        inspection.trace.push(InspectedEvent {
            number: 7,
            cycle: u32::MAX,
            kind: None,
            cid: None,
            text: "unknown".into(),
        });
        draw(&inspection, &mut Page::simulated("much"), 0);
        draw(&inspection, &mut Page::simulated("much"), 99);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What the streamer shows of itself: taken from its registers, kept as JSON, drawn.

use std::sync::atomic::Ordering;

use forebay_cosim::System;
use forebay_driver::Bus;
use forebay_driver::inspect::DriveTally;
use forebay_driver::streamer::Streamer;
use forebay_spec::streamer::regs;
use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::render::{self, Grid, Page};

/// Everything that the registers say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inspection {
    /// Registers, without counters.
    pub registers: Vec<Register>,
    /// Counters.
    pub counters: Vec<Counter>,
    /// Word *k* counts commands of 2^k to 2^(k+1) − 1 cycles.
    pub latency_histogram: Vec<u32>,
    /// What it counted of each drive; nothing where it is built for one.
    #[serde(default)]
    pub drives: Vec<DriveTally>,
    /// The last queue events, oldest first.
    pub trace: Vec<Event>,
    /// The first error since it was cleared, in words.
    pub error_cause: Option<String>,
}

/// A register and its fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Register {
    /// Name.
    pub name: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Value.
    pub value: u64,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of a register.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Lowest bit.
    pub low: u32,
    /// Number of bits.
    pub width: u32,
    /// Value.
    pub value: u64,
}

/// A counter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counter {
    /// Name of the register.
    pub name: String,
    /// Value, modulo 2^32.
    pub value: u32,
    /// What it counts.
    pub meaning: String,
}

/// A queue event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Running number since the streamer was enabled.
    pub number: u32,
    /// Cycle, modulo 2^32.
    pub cycle: u32,
    /// Short name; none where the event is unknown.
    pub kind: Option<String>,
    /// Command identifier, where it belongs to a command.
    pub cid: Option<u16>,
    /// In words.
    pub text: String,
}

impl Inspection {
    /// Reads everything, by the driver. Empty where the RTL has no such registers.
    pub fn take(system: &mut System) -> Result<Self> {
        // After Ctrl-C, too, there shall be something to look at.
        system.stop_flag().store(false, Ordering::Relaxed);
        let taken = system.with_session(|session, system| match session.streamer().cloned() {
            Some(streamer) => Self::of(&streamer, system),
            None => Ok(Self::default()),
        });
        taken.unwrap_or_else(|| Ok(Self::default()))
    }

    /// Reads everything of a streamer on any bus. Empty where it has no such registers.
    pub fn of(streamer: &Streamer, bus: &mut dyn Bus) -> Result<Self> {
        if !streamer.is_extended() {
            return Ok(Self::default());
        }
        // The trace first: reading registers makes no events, but time goes on.
        let trace = streamer.trace(bus)?;
        let cause = streamer.error_cause(bus)?;
        let drives = streamer.drives(bus)?;
        let several = !drives.is_empty();
        Ok(Self {
            registers: streamer
                .registers(bus)?
                .into_iter()
                .map(Register::new)
                .collect(),
            counters: streamer
                .counters(bus)?
                .into_iter()
                .map(|counter| Counter {
                    name: counter.name.into(),
                    value: counter.value,
                    meaning: counter.meaning.into(),
                })
                .collect(),
            latency_histogram: streamer.histogram(bus)?.into(),
            drives,
            trace: trace
                .into_iter()
                .map(|record| Event {
                    number: record.number,
                    cycle: record.cycle,
                    kind: record.event.as_ref().map(|event| event.kind.into()),
                    cid: record.event.as_ref().and_then(|event| event.cid),
                    text: record.event.map_or_else(
                        || format!("unknown {:#018x}", record.raw),
                        |event| event.text,
                    ),
                })
                .collect(),
            error_cause: cause.map(|cause| {
                let status = cause
                    .nvme_text
                    .map(|text| format!("; {text}"))
                    .unwrap_or_default();
                let way = if cause.write { "write" } else { "read" };
                // Of a time-out the RTL knows only the direction.
                let place = match cause.cid {
                    u16::MAX => String::new(),
                    cid => format!(" at sector {}, command {cid}", cause.sector),
                };
                let drive = if several {
                    format!(", drive {}", cause.drive)
                } else {
                    String::new()
                };
                format!("{way}{place}{drive}: {}{status}", cause.text)
            }),
        })
    }

    /// Draws it; of the events the last so many.
    pub fn show(&self, page: &mut Page, events: usize) {
        if self.registers.is_empty() {
            page.line("\n  This RTL has no registers to show (it is not ours).");
            return;
        }
        page.heading("Registers");
        page.grid(self.register_grid());
        page.heading("Counters");
        let mut grid = Grid::new(&["counter", ">value", "meaning"]).wrap(2, 60);
        for counter in &self.counters {
            let value = render::count(counter.value.into());
            grid.row([&counter.name, &value, &counter.meaning]);
        }
        page.grid(grid);
        page.heading("Latency of commands, cycles from submission to completion");
        page.grid(self.histogram_grid());
        let first = self.trace.len().saturating_sub(events);
        page.heading(&format!("Last {} queue events", self.trace.len() - first));
        let mut grid = Grid::new(&[">cycle", ">since", ">command", "event"]);
        let mut before = None;
        for event in &self.trace[first..] {
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
        if let Some(cause) = &self.error_cause {
            page.verdict(false, format_args!("first error: {cause}"));
        }
    }

    fn register_grid(&self) -> Grid {
        let mut grid = Grid::new(&["register", ">offset", ">value", "fields"]).wrap(3, 56);
        for register in &self.registers {
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

    fn histogram_grid(&self) -> Grid {
        let mut grid = Grid::new(&[">from", ">to", ">commands", ""]);
        let counts = &self.latency_histogram;
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
        let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        for (k, count) in counts.iter().enumerate().take(last + 1).skip(first) {
            grid.row([
                render::count(1 << k),
                render::count((2 << k) - 1),
                render::count((*count).into()),
                render::bar(f64::from(*count) / f64::from(most), 32),
            ]);
        }
        grid
    }
}

impl Register {
    fn new((name, offset, value): (&str, u64, u64)) -> Self {
        let fields = regs::FIELDS
            .iter()
            .filter(|(register, ..)| *register == name)
            .map(|(_, field, place)| Field {
                name: (*field).into(),
                low: place.low,
                width: place.width,
                value: place.get(value),
            })
            .collect();
        Self {
            name: name.into(),
            offset,
            value,
            fields,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_taken_apart() {
        let status = Register::new(("status", regs::status::OFFSET, 0b1001));
        let field = |name: &str| {
            status
                .fields
                .iter()
                .find(|f| f.name == name)
                .map(|f| f.value)
        };
        assert_eq!(
            (field("ready"), field("halted"), field("enabled")),
            (Some(1), Some(0), Some(1))
        );
    }

    #[test]
    fn nothing_is_too_strange_to_draw() {
        let mut inspection = Inspection::default();
        inspection.show(&mut Page::new("nothing"), 10);
        inspection
            .registers
            .push(Register::new(("status", 0x248, u64::MAX)));
        inspection.latency_histogram = vec![u32::MAX; 32];
        inspection.trace.push(Event {
            number: 7,
            cycle: u32::MAX,
            kind: None,
            cid: None,
            text: "unknown".into(),
        });
        inspection.show(&mut Page::new("much"), 0);
        inspection.show(&mut Page::new("much"), 99);
    }
}

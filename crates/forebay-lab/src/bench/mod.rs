// SPDX-License-Identifier: Apache-2.0
//! Measurements of the streamer, each beside an ideal polling host on the same drives and fabric.
//!
//! A bench takes a machine as plain data and returns a [`Ran`]: a report with stable names, and how
//! it ended.

mod classify;
mod cuts;
mod drives;
mod net;
mod rates;
mod scale;
mod speed;
mod store;
mod wire;

use forebay_app::reference::Reference;
use forebay_app::report::{Header, Rate};
use forebay_app::session::Measured;
use forebay_app::workload::Op;
use forebay_app::{Ended, Failure, MachineSpec, Result, Session, interrupt};
use forebay_cosim::Workload;
use forebay_draw::text::Page;
use serde::Serialize;

pub use classify::{CASES, Case, Classify, Side, classify};
pub use cuts::Cuts;
pub use drives::{Drives, drives};
pub use net::{Net, net};
pub use rates::{Row, Rows, core, latency, random};
pub use scale::{Scale, scale};
pub use speed::{CyclesPerSecond, Speed, speed};
pub use store::{Store, StoreSpec, store};

/// Kind and version of the report.
pub const SCHEMA: &str = "forebay.bench/1";
/// Bytes of a measurement of a rate where nothing else is asked for.
const BYTES: u64 = 64 << 20;

/// What a bench reports.
#[derive(Clone, Debug, Serialize)]
pub struct Report<F> {
    /// What is needed to repeat it.
    #[serde(flatten)]
    pub header: Header,
    /// Which bench.
    pub bench: &'static str,
    /// What it found.
    #[serde(flatten)]
    pub found: F,
}

/// What a bench found, as text.
pub trait Found: Serialize {
    /// Adds it to a page.
    fn draw(&self, page: &mut Page);

    /// The sentence at the end of the page.
    fn verdict(&self, good: bool) -> String {
        match good {
            true => "every transaction went through, no byte differs".into(),
            false => "transactions failed or data differ: the numbers mean nothing".into(),
        }
    }
}

/// A bench that has run.
#[derive(Debug)]
pub struct Ran<F> {
    /// The report.
    pub report: Report<F>,
    /// How it ended.
    pub ended: Ended,
    /// Every transaction went through, and no byte differs.
    pub good: bool,
}

impl<F: Found> Ran<F> {
    /// A bench that ended with a report that begins with this header.
    pub(crate) fn new(
        bench: &'static str,
        header: Header,
        found: F,
        ended: Ended,
        good: bool,
    ) -> Self {
        let report = Report {
            header,
            bench,
            found,
        };
        Self {
            report,
            ended,
            good,
        }
    }

    /// The report as text.
    pub fn page(&self) -> Page {
        let Report {
            header,
            bench,
            found,
        } = &self.report;
        let mut page = Page::simulated(&format!("Forebay bench {bench}"));
        page.field("drive", &header.profile.description)
            .field("streamer", header.streamer())
            .line("");
        found.draw(&mut page);
        match header.interrupted {
            true => page.verdict(false, "interrupted: the last row is of what was reached"),
            false => page.verdict(self.good, found.verdict(self.good)),
        };
        page
    }
}

/// The rate of the streamer, and of an ideal host with the same work; the host's is none once the
/// streamer was stopped.
fn beside(
    session: &mut Session,
    reference: &Reference,
    title: &str,
    ops: &[Op],
    host: &Workload,
) -> Result<(Rate, Option<Rate>, Ended)> {
    let Measured { rate, mut ended } = session.measure(title, ops);
    let host = match ended.is_done() {
        true => reference.measure(&format!("{title}, ideal host"), host)?,
        false => None,
    };
    if ended.is_done() && interrupt::wanted() {
        ended = Ended::Interrupted;
    }
    Ok((rate, host, ended))
}

/// Refuses parity where transactions are smaller than a stripe of the array.
fn small(machine: &MachineSpec) -> Result<()> {
    if !machine.array.parity {
        return Ok(());
    }
    Err(Failure::input(
        "array.parity",
        "given",
        "this bench writes less than a stripe, which parity refuses",
        "leave it out, or run bench core or bench drives",
    ))
}

/// Bytes of a measurement of a rate: as asked for, else 64 MiB, but no more than the drive has.
fn bytes(asked: Option<u64>, session: &Session) -> Result<u64> {
    Ok(asked.unwrap_or(BYTES).min(session.namespace()?.bytes()))
}

fn is_good(rate: &Rate) -> bool {
    rate.failed == 0 && rate.mismatched == 0
}

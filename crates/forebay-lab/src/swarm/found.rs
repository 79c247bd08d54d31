// SPDX-License-Identifier: Apache-2.0
//! What a swarm has found.

use std::ops::Range;

use forebay_draw::text::Grid;
use forebay_pipeline::units::count;
use serde::Serialize;

use super::shapes::Shape;
use super::{Failed, Kind, Tried};
use crate::failure::Exit;
use crate::interrupt;
use crate::soak::{Case, Soak};

/// What came of a swarm.
#[derive(Debug, Serialize)]
pub struct Found {
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// The first seed, and that behind the last.
    pub seeds: [u64; 2],
    /// Seeds that ran, less than there are where one failed or the user stopped it.
    pub ran: u64,
    /// How long they took.
    pub seconds: f64,
    /// Seeds a second.
    pub seeds_per_second: f64,
    /// Sums over all of them.
    #[serde(flatten)]
    pub total: Total,
    /// The cases on each shape.
    pub shapes: Vec<OfShape>,
    /// The case, where there is one only.
    #[serde(skip)]
    pub only: Option<Case>,
    /// Seeds that failed.
    #[serde(skip)]
    pub failures: Vec<Failed>,
}

/// Sums over cases.
#[derive(Debug, Default, Serialize)]
pub struct Total {
    /// Transactions that ended.
    pub transactions: u64,
    /// Those that had to be refused, and were.
    pub refused: u64,
    /// Failed for a cause.
    pub failed: u64,
    /// Those that a reset cut off.
    pub aborted: u64,
    /// Faults that drives committed.
    pub faults: u64,
    /// Resets of the RTL.
    pub resets: u64,
    /// Times that a halted queue was brought up again.
    pub recoveries: u64,
    /// Bytes written and read.
    pub bytes: u64,
    /// Simulated cycles.
    pub cycles: u64,
}

/// The cases on one shape.
#[derive(Debug, Serialize)]
pub struct OfShape {
    /// Its name.
    pub name: &'static str,
    /// Seeds that drew it.
    pub seeds: u64,
    /// Those that failed.
    pub failures: u64,
    /// Sums over them.
    #[serde(flatten)]
    pub total: Total,
}

impl Total {
    fn add(&mut self, soak: &Soak) {
        self.transactions += soak.transactions;
        self.refused += soak.refused;
        self.failed += soak.failed;
        self.aborted += soak.aborted;
        self.faults += soak.faults;
        self.resets += soak.resets;
        self.recoveries += soak.recoveries;
        self.bytes += soak.bytes_written + soak.bytes_read;
        self.cycles += soak.cycles;
    }
}

impl Found {
    /// Of seeds that were tried; failures are still to be added.
    pub(super) fn new(
        seeds: Range<u64>,
        seconds: f64,
        shapes: &[&'static Shape],
        tried: &[Tried],
    ) -> Self {
        let mut total = Total::default();
        let mut of_shapes: Vec<_> = shapes
            .iter()
            .map(|shape| OfShape {
                name: shape.name,
                seeds: 0,
                failures: 0,
                total: Total::default(),
            })
            .collect();
        let whole = tried.iter().filter(|tried| !tried.attempt.interrupted);
        let mut ran = 0;
        for tried in whole {
            ran += 1;
            total.add(&tried.attempt.found);
            let shape = &mut of_shapes[tried.shape];
            shape.seeds += 1;
            shape.failures += u64::from(tried.attempt.failure.is_some());
            shape.total.add(&tried.attempt.found);
        }
        Self {
            interrupted: interrupt::wanted(),
            seeds: [seeds.start, seeds.end],
            ran,
            seconds,
            seeds_per_second: ran as f64 / seconds.max(1e-9),
            total,
            shapes: of_shapes,
            only: match tried {
                [only] => Some(only.case.clone()),
                _ => None,
            },
            failures: Vec::new(),
        }
    }

    /// The cases on each shape, as a table.
    pub fn grid(&self) -> Grid {
        let mut grid = Grid::new(
            "shape | >seeds | >transactions | >refused | >failed | >aborted | >resets | >cycles | \
             >failures",
        );
        for OfShape {
            name,
            seeds,
            failures,
            total,
        } in &self.shapes
        {
            let counts = [
                *seeds,
                total.transactions,
                total.refused,
                total.failed,
                total.aborted,
                total.resets + total.recoveries,
                total.cycles,
                *failures,
            ];
            let name = std::iter::once((*name).to_owned());
            grid.row(name.chain(counts.map(count)));
        }
        grid
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        let stuck = |failed: &Failed| failed.kind == Kind::Stuck;
        match self.failures.is_empty() {
            false if self.failures.iter().all(stuck) => Exit::Stuck,
            false => Exit::BadResult,
            true if self.interrupted => Exit::Interrupted,
            true => Exit::Good,
        }
    }
}

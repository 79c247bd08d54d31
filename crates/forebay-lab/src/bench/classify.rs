// SPDX-License-Identifier: Apache-2.0
//! Pictures of 9 MB recorded with MobileNet-V1 in the chain, and without: rates, and the classes.
//!
//! The class of the last picture comes a millisecond after its last byte, its header with it. Where
//! the buffer holds most of a recording, drives still write then, and a rate is that of the whole.
//! Elsewhere it is that of the pictures which a longer recording has more; or, where classes come
//! many pictures later, that at which pictures arrive while the buffer is full.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt;

use forebay_app::report::Header;
use forebay_app::{Ended, Exit, Failure, Memory, Result, progress};
use forebay_draw::text::{Grid, Page};
use forebay_pipeline::units::count;
use serde::Serialize;

use super::{Found, Ran, SCHEMA};
use crate::classify::{About, Judged, NetworkSpec, PROFILE, Trial, TrialSpec, Way};

/// Pixels of a picture: 8.97 MB, as SNAcc's 16384 in 147 GB.
const SIZE: &str = "2000x1495";
/// Decides everything that is random in pictures, machine and wire.
const SEED: u64 = 27;
/// Cycles of an image: one drive's rate at 150 MHz, two drives' at 180 MHz.
const B: u32 = 215_296;
const C: u32 = 131_072;
/// A third of what one drive takes, at the chain's clock.
const THIRD: u32 = 1_380_000;

/// A recording with the network, and one without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name that stays the same over versions.
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// Where the payload is.
    pub memory: Memory,
    buffer: u64,
    drives: u8,
    /// Of an image, at most.
    pub cycles: u32,
    clock: Option<u64>,
    senders: u8,
    skip: bool,
    /// Pictures of which the rate is that of those behind the first ones.
    counts: (u32, u32),
    /// It is the rate at which these arrive; else it takes a recording of the first ones alone.
    arrives: bool,
}

const USUAL: Case = Case {
    id: "host",
    title: "host memory",
    memory: Memory::Host,
    buffer: 64 << 20,
    drives: 1,
    cycles: B,
    clock: None,
    senders: 1,
    skip: false,
    counts: (0, 8),
    arrives: false,
};

/// All that are measured.
pub const CASES: [Case; 8] = [
    USUAL,
    Case {
        id: "onchip",
        title: "on chip",
        memory: Memory::Onchip,
        buffer: 4 << 20,
        counts: (2, 6),
        ..USUAL
    },
    Case {
        id: "dram",
        title: "on-board DRAM",
        memory: Memory::Dram,
        ..USUAL
    },
    Case {
        id: "two-drives",
        title: "host memory, two drives",
        drives: 2,
        cycles: C,
        counts: (2, 6),
        ..USUAL
    },
    Case {
        id: "own-clock",
        title: "host memory, the network at 150 MHz",
        clock: Some(150_000_000),
        // Before the buffer is full, the chain takes 9.6 GB/s of the wire's 12.4.
        counts: (17, 23),
        arrives: true,
        ..USUAL
    },
    Case {
        id: "two-cameras",
        title: "host memory, two cameras in turns",
        senders: 2,
        ..USUAL
    },
    Case {
        id: "four-cameras",
        title: "host memory, four cameras in turns",
        senders: 4,
        ..USUAL
    },
    Case {
        id: "skip",
        title: "host memory, a network at a third of the rate that skips",
        cycles: THIRD,
        skip: true,
        counts: (12, 20),
        arrives: true,
        ..USUAL
    },
];

/// What the bench found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Classify {
    rows: Vec<Row>,
}

/// A case.
#[derive(Clone, Debug, Serialize)]
struct Row {
    id: &'static str,
    title: &'static str,
    network: About,
    /// By the twin, most pictures of one class.
    of_one_class: u64,
    with: Side,
    without: Side,
    /// The rate with the network over that without.
    ratio: f64,
    /// Seconds of simulation that the network adds to each picture, by this machine's clock.
    host_seconds_per_picture: f64,
}

/// Recordings with or without the network.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The longer recording.
    #[serde(flatten)]
    pub recorded: Judged,
    /// The shorter one, where there is one.
    pub shorter: Option<Judged>,
    /// Pictures a second, those which the longer one has more.
    pub frames_per_second: f64,
    /// The same in bytes.
    pub gigabytes_per_second: f64,
}

impl Side {
    /// Of a recording, without the first pictures and the time that these took.
    fn new(recorded: Judged, (few, begun): (u64, u64), shorter: Option<Judged>) -> Option<Self> {
        let pictures = recorded.objects.checked_sub(few)?;
        let time = recorded.nanoseconds.checked_sub(begun)?;
        Self::of(recorded, (pictures, time), shorter)
    }

    /// Of pictures as they arrive behind the first ones.
    fn arriving(recorded: Judged, few: usize) -> Option<Self> {
        let behind = recorded.arrivals.get(few..)?;
        let time = behind.last()?.checked_sub(*behind.first()?)?;
        let pictures = behind.len() as u64 - 1;
        Self::of(recorded, (pictures, time), None)
    }

    fn of(recorded: Judged, (pictures, time): (u64, u64), shorter: Option<Judged>) -> Option<Self> {
        if time == 0 || recorded.objects == 0 {
            return None;
        }
        let rate = pictures as f64 / time as f64;
        let bytes = recorded.bytes as f64 / recorded.objects as f64;
        Some(Self {
            frames_per_second: rate * 1e9,
            gigabytes_per_second: rate * bytes,
            recorded,
            shorter,
        })
    }

    /// What is wrong with the recordings.
    pub fn fault(&self) -> Option<String> {
        let shorter = self.shorter.as_ref().and_then(Judged::fault);
        self.recorded.fault().or(shorter)
    }
}

impl Case {
    /// What has to be compiled for it.
    const fn element(&self) -> (u32, Option<u64>) {
        (self.cycles, self.clock)
    }

    /// MobileNet-V1, and pictures for all cases that have it as this one.
    ///
    /// # Errors
    /// As [`Trial::prepare`].
    pub fn prepare(&self) -> Result<Trial> {
        let cycles = count(self.cycles.into());
        progress::step(&format!(
            "MobileNet-V1 in {cycles} cycles an image: compiling"
        ));
        let alike = CASES.iter().filter(|case| case.element() == self.element());
        let counts = alike.map(|case| case.counts.1);
        Trial::prepare(&TrialSpec {
            network: NetworkSpec::Mobilenet(self.cycles),
            count: counts.max().unwrap_or_default(),
            clock: self.clock,
            size: Some(SIZE.to_owned()),
            seed: SEED,
        })
    }

    /// One drive, one camera, and a network at the core's clock that is quick enough.
    pub const fn is_plain(&self) -> bool {
        self.drives == 1 && self.senders == 1 && !self.skip && self.clock.is_none()
    }

    /// Records on drives of a profile, with the network or without.
    ///
    /// # Errors
    /// As [`Trial::record`].
    pub fn side(&self, trial: &Trial, judged: bool, profile: &str) -> Result<(Side, Header)> {
        progress::step(&format!(
            "{self}, {}",
            if judged { "with" } else { "without" }
        ));
        let record = |count| {
            trial.record(&Way {
                profile: profile.to_owned(),
                drives: self.drives,
                judged,
                skip: self.skip,
                senders: self.senders,
                count: Some(count),
                ..Way::new(self.memory, self.buffer, SEED)
            })
        };
        let few = self.counts.0;
        let shorter = match few > 0 && !self.arrives {
            true => Some(record(few)?.0),
            false => None,
        };
        let (recorded, header) = record(self.counts.1)?;
        let side = match (shorter, self.arrives) {
            (_, true) => Side::arriving(recorded, few as usize),
            (None, _) => Side::new(recorded, (0, 0), None),
            (Some(first), _) => {
                Side::new(recorded, (first.objects, first.nanoseconds), Some(first))
            }
        };
        let side = side.ok_or_else(|| {
            let message = format!("{self}: of the last pictures there is no rate");
            Failure::new(Exit::BadResult, message, "report this defect")
        })?;
        Ok((side, header))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)
    }
}

/// Measures these cases, by their ids; all if none is named.
///
/// # Errors
/// As [`Trial::prepare`] and [`Trial::record`].
pub fn classify(only: &[String]) -> Result<Ran<Classify>> {
    let (mut found, mut header) = (Classify::default(), None);
    let (mut ended, mut trials) = (Ended::Done, BTreeMap::new());
    let wanted = |case: &&Case| only.is_empty() || only.iter().any(|id| id == case.id);
    for case in CASES.iter().filter(wanted) {
        match Row::measure(case, &mut trials) {
            Ok((row, of_case)) => {
                header = Some(of_case);
                found.rows.push(row);
            }
            // What was reached is reported.
            Err(failure) if failure.exit == Exit::Interrupted && header.is_some() => {
                ended = Ended::Interrupted;
                break;
            }
            Err(failure) => return Err(failure),
        }
    }
    let header = Header {
        schema: SCHEMA.to_owned(),
        interrupted: !ended.is_done(),
        ..header.ok_or_else(Failure::interrupted)?
    };
    let good = found.rows.iter().all(|row| row.fault().is_none());
    Ok(Ran::new("classify", header, found, ended, good))
}

impl Row {
    fn measure(
        case: &Case,
        trials: &mut BTreeMap<(u32, Option<u64>), Trial>,
    ) -> Result<(Self, Header)> {
        let trial = match trials.entry(case.element()) {
            Slot::Occupied(there) => there.into_mut(),
            Slot::Vacant(free) => free.insert(case.prepare()?),
        };
        let (without, _) = case.side(trial, false, PROFILE)?;
        let (with, header) = case.side(trial, true, PROFILE)?;
        let seconds = with.recorded.host_seconds - without.recorded.host_seconds;
        let row = Self {
            id: case.id,
            title: case.title,
            network: trial.about.clone(),
            of_one_class: trial.about.of_one_class(case.counts.1),
            ratio: with.frames_per_second / without.frames_per_second,
            host_seconds_per_picture: seconds / with.recorded.judged.max(1) as f64,
            with,
            without,
        };
        Ok((row, header))
    }

    /// What is wrong with it. A network that says the same of most pictures would prove nothing.
    fn fault(&self) -> Option<String> {
        let alike = 5 * self.of_one_class > self.with.recorded.objects.max(5);
        let vacuous = alike.then(|| format!("{} pictures are of one class", self.of_one_class));
        self.with.fault().or(self.without.fault()).or(vacuous)
    }
}

impl Found for Classify {
    fn draw(&self, page: &mut Page) {
        let mut grid = Grid::new(
            "pictures of 9 MB | >pictures/s | >GB/s | >of without | >judged | >skipped | >wrong | \
             >seconds each",
        );
        for row in &self.rows {
            let judged = &row.with.recorded;
            grid.row([
                row.title.to_owned(),
                format!("{:.1}", row.with.frames_per_second),
                format!("{:.3}", row.with.gigabytes_per_second),
                format!("{:.4}", row.ratio),
                count(judged.judged),
                count(judged.status.get("skipped").copied().unwrap_or_default()),
                count(judged.differ),
                format!("{:.1}", row.host_seconds_per_picture),
            ]);
        }
        page.grid(grid);
        for row in &self.rows {
            if let Some(fault) = row.fault() {
                page.line(format_args!("  {}: {fault}", row.title));
            }
        }
    }

    fn verdict(&self, good: bool) -> String {
        match good {
            true => "each class is the twin's, and nothing was lost".into(),
            false => "classes differ or data were lost: see above, or --output json".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pictures: u64, nanoseconds: u64) -> Judged {
        Judged {
            objects: pictures,
            nanoseconds,
            bytes: 100 * pictures,
            arrivals: (0..pictures).map(|number| 5 * number * number).collect(),
            ..Judged::default()
        }
    }

    #[test]
    fn the_first_pictures_are_left_out_of_a_rate() {
        let rate = |side: Option<Side>| side.expect("a rate").frames_per_second;
        assert_eq!(rate(Side::new(judged(8, 80), (0, 0), None)), 1e8);
        assert_eq!(rate(Side::new(judged(8, 80), (2, 50), None)), 2e8);
        // They come after 20, 45 and 80 ns.
        let arriving = Side::arriving(judged(5, 1000), 2).expect("a rate");
        assert_eq!(arriving.frames_per_second, 2.0 / 60.0 * 1e9);
        assert_eq!(arriving.gigabytes_per_second, 2.0 / 60.0 * 100.0);
    }

    #[test]
    fn a_recording_that_took_no_longer_has_no_rate() {
        for begun in [(9, 10), (2, 81), (2, 80)] {
            assert!(Side::new(judged(8, 80), begun, None).is_none(), "{begun:?}");
        }
        assert!(Side::arriving(judged(2, 80), 2).is_none());
        assert!(Side::arriving(judged(2, 80), 1).is_none());
    }

    #[test]
    fn a_class_that_differs_is_a_fault_of_both_recordings() {
        let wrong = Judged {
            differ: 1,
            ..judged(2, 80)
        };
        let good = Side::new(judged(2, 80), (0, 0), Some(judged(1, 8))).expect("a rate");
        assert_eq!(good.fault(), None);
        for side in [(wrong.clone(), judged(1, 8)), (judged(2, 80), wrong)] {
            let side = Side::new(side.0, (0, 0), Some(side.1)).expect("a rate");
            assert!(
                side.fault()
                    .is_some_and(|fault| fault.starts_with("1 classes"))
            );
        }
    }
}

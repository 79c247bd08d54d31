// SPDX-License-Identifier: Apache-2.0
//! The stream FIFO of the recorder without a CPU (`fb_top_recorder`): its least depth, as the drive's
//! model finds it behind a source that cannot wait.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::{Direction, Fed, Feed, FeedPace, Reference};
use forebay_draw::text;
use forebay_model::{Profile, SECOND, Time};
use forebay_pipeline::Memory;
use forebay_pipeline::units::bytes;
use serde::Serialize;

use super::answer::{self, Buffer, Source, Waiting};
use super::state::{self, State};
use super::{DRIVES, ONCHIP, PAGE, Plan, PlanSpec, stages};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::progress::Progress;

/// Most bytes of a FIFO in DRAM: `fb_buffer_stream`.
const MOST: u64 = 16 << 30;
/// What the model's FIFO has not: bursts of 4 KiB that fill, on their way into the memory and out of it.
const UNDER_WAY: u64 = 16 << 10;
/// Most bytes that a source offers, unless the user says; least bytes, where nothing is waited for.
const SIMULATED: u64 = 4 << 30;
const LEAST: u64 = 32 << 20;
/// Bytes with which the drive's rate is measured.
const MEASURED: u64 = 16 << 20;

/// The stream FIFO.
#[derive(Clone, Debug, Serialize)]
pub struct StreamFifo {
    /// Bytes of a chunk: it is lost whole where there is no room for all of it.
    pub chunk_bytes: u64,
    /// Depth of the plan, or of the user: `FifoBytes`.
    pub bytes: u64,
    /// Why that.
    pub because: String,
    /// What the model said; none where it was left out.
    pub simulated: Option<Simulated>,
}

/// The plan on the drive's model. No RTL is involved.
#[derive(Clone, Debug, Serialize)]
pub struct Simulated {
    /// Who moved the bytes: `model`.
    pub by: &'static str,
    /// Least depth with which nothing is lost.
    pub least_bytes: u64,
    /// The longest time without a response of the drive, seconds.
    pub longest_wait_seconds: f64,
    /// Bytes that the source offered.
    pub offered_bytes: u64,
    /// Of these, lost with the depth of the plan, and in how many gaps.
    pub lost_bytes: u64,
    /// How many gaps.
    pub gaps: u64,
    /// Bytes that were lost with half of it.
    pub half_lost_bytes: u64,
}

/// What [`planned`] gives.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The FIFO.
    pub fifo: StreamFifo,
    /// The state of the drive.
    pub state: State,
    /// Whether it can be recorded without loss.
    pub possible: bool,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// A source before the drive's model.
struct Trial<'a> {
    profile: &'a Profile,
    chunk: u64,
    chunks: u64,
    seed: u64,
}

impl Trial<'_> {
    fn run(&self, pace: Option<FeedPace>, title: &str) -> Result<Fed> {
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        let feed = Feed {
            chunk_bytes: self.chunk,
            pace,
            ..Feed::new(Direction::Write, self.chunks)
        };
        let progress = Progress::bytes(title, self.chunk * self.chunks);
        let mut card = Reference::recorder(self.profile, self.seed)?;
        card.set_stop_flag(stop);
        card.bring_up(&mut |_| {})?;
        Ok(card.feed(&feed, &mut |bytes| progress.at(bytes))?)
    }

    /// With a FIFO of this number of bytes, behind a source of this rate.
    fn paced(&self, bytes_per_second: u64, fifo_bytes: u64) -> Result<Fed> {
        let pace = FeedPace {
            bytes_per_second,
            fifo_bytes,
        };
        let title = match fifo_bytes {
            u64::MAX => "the least FIFO, model".to_owned(),
            depth => format!("a FIFO of {}, model", bytes(depth)),
        };
        self.run(Some(pace), &title)
    }
}

/// The recorder's plan: one drive, payload on chip, a FIFO before it.
///
/// # Errors
/// Where a setting is out of range, the drive fails, or the user stops.
pub fn planned(spec: &PlanSpec, profile: &Profile, source: &Source) -> Result<Planned> {
    let chunk = check(spec)?;
    let most = spec.verify_bytes.unwrap_or(SIMULATED);
    let state = state::worst(profile, spec.total, source.mean_bytes_per_second);
    let unpaced = Trial {
        profile: &state.profile,
        chunk,
        chunks: (MEASURED / chunk).min(profile.ssd.bytes() / chunk),
        seed: spec.seed,
    };
    let one = unpaced.run(None, "one drive, model")?.bytes_per_second();
    let fabric = &profile.fabric;
    let all = vec![
        stages::stream(Feed::CLOCK),
        stages::card_link(fabric),
        stages::drive_links(fabric, 1),
        stages::drives(one, 1, &state.says),
    ];
    let (serves, bottleneck) = answer::slowest(&all);
    let buffer = Buffer {
        bytes: ONCHIP.min(Feed::OUTSTANDING * chunk),
        takes: stages::stream(Feed::CLOCK).bytes_per_second,
        twice: false,
    };
    let waiting = answer::waiting(source, serves, state.pauses, &buffer);
    let sustained = answer::sustained(serves, state.pauses);
    // A recording that is simulated to its end begins with the drive as it is at rest.
    let whole = spec.total.filter(|total| !spec.no_verify && *total <= most);
    let mut notes = Vec::new();
    let (trial_profile, offered) = match whole {
        Some(total) => (profile.clone(), Some(total)),
        None => (
            state.with_pauses_of(profile),
            enough(spec.rate, profile, most, &mut notes),
        ),
    };
    let trial = Trial {
        profile: &trial_profile,
        chunk,
        chunks: offered
            .unwrap_or(0)
            .min(profile.ssd.bytes())
            .div_ceil(chunk),
        seed: spec.seed,
    };
    let lasting = sustained >= source.mean_bytes_per_second;
    let mut fifo = by_arithmetic(spec, &waiting, chunk);
    if (lasting || whole.is_some()) && !spec.no_verify && offered.is_some() {
        fifo = by_model(spec, &trial, serves)?;
    } else if spec.no_verify {
        notes.push("the FIFO is of arithmetic alone".to_owned());
    }
    let possible = (lasting || whole.is_some()) && fifo.bytes <= MOST;
    if !possible && whole.is_some() {
        notes.push(format!("a FIFO in DRAM has at most {}", bytes(MOST)));
    }
    let plan = Plan {
        drives: 1,
        parity: false,
        spares: spec.spares,
        memory: Memory::Onchip,
        memory_bytes: buffer.bytes,
        waiting,
        fifo_bytes: fifo.bytes,
        sustained_bytes_per_second: sustained,
        bottleneck: bottleneck.to_owned(),
        state: state.says.clone(),
        stages: all,
    };
    Ok(Planned {
        plan,
        fifo,
        state,
        possible,
        notes,
    })
}

/// Refuses what the recorder cannot have; gives the bytes of a chunk.
fn check(spec: &PlanSpec) -> Result<u64> {
    debug_assert!(spec.drives.is_none_or(|drives| drives <= DRIVES));
    let chunk = spec.chunk.unwrap_or(Feed::CHUNK);
    let refuse = |field, value: u64, limit: &str, remedy| {
        Err(Failure::input(field, bytes(value), limit, remedy))
    };
    if !(16 << 10..=1 << 20).contains(&chunk) || !chunk.is_multiple_of(PAGE) {
        let limit = "a chunk has 16 KiB to 1 MiB, in steps of 4 KiB";
        return refuse("chunk", chunk, limit, "give for example 128KiB");
    }
    let stream = Feed::new(Direction::Write, 0).stream_rate();
    if spec.rate > stream {
        return Err(Failure::input(
            "rate",
            format_args!("{:.2} GB/s", spec.rate as f64 / 1e9),
            &format!("the recorder's stream carries {:.2}", stream as f64 / 1e9),
            "lower it",
        ));
    }
    if let Some(depth) = spec.fifo
        && (!depth.is_multiple_of(PAGE) || !(chunk..=MOST).contains(&depth))
    {
        let limit = "the stream FIFO has a chunk to 16 GiB, in steps of 4 KiB";
        return refuse("fifo", depth, limit, "give for example 16MiB");
    }
    Ok(chunk)
}

/// Bytes with which two pauses are seen, and what they leave is stored; none: too many.
fn enough(rate: u64, profile: &Profile, most: u64, notes: &mut Vec<String>) -> Option<u64> {
    let timing = profile.ssd.timing.as_ref();
    let by_bytes = timing.map_or(0, |timing| timing.write.pause_every_bytes);
    let every = timing
        .and_then(|timing| timing.pauses)
        .map_or(0, |pauses| pauses.every);
    let in_time = (u128::from(rate) * u128::from(every) / u128::from(SECOND)) as u64;
    // A pause in time may begin late in its spacing.
    let wanted = (by_bytes / 2 * 5).max(in_time.saturating_mul(4)).max(LEAST);
    if wanted <= most || wanted == LEAST {
        return Some(wanted.min(most.max(1)));
    }
    notes.push(format!(
        "not simulated: two pauses take {} to be seen, more than --verify-bytes",
        bytes(wanted)
    ));
    None
}

/// A multiple of what the memory counts in.
fn rounded(depth: u64) -> u64 {
    depth.next_multiple_of(PAGE)
}

fn by_arithmetic(spec: &PlanSpec, waiting: &Waiting, chunk: u64) -> StreamFifo {
    let depth = rounded(waiting.bytes + 2 * chunk + UNDER_WAY);
    StreamFifo {
        chunk_bytes: chunk,
        bytes: spec.fifo.unwrap_or(depth),
        because: format!(
            "{} come in a pause; 2 chunks, one of which is being written; {} under way in the memory",
            bytes(waiting.bytes),
            bytes(UNDER_WAY)
        ),
        simulated: None,
    }
}

fn by_model(spec: &PlanSpec, trial: &Trial<'_>, serves: f64) -> Result<StreamFifo> {
    let found = trial.paced(spec.rate, u64::MAX)?;
    let least = found.fifo_most;
    let depth = spec.fifo.unwrap_or_else(|| rounded(least + UNDER_WAY));
    let tried = trial.paced(spec.rate, depth)?;
    let half = trial.paced(spec.rate, depth / 2)?;
    Ok(StreamFifo {
        chunk_bytes: trial.chunk,
        bytes: depth,
        because: reason(spec.rate, serves, &found, trial.chunk),
        simulated: Some(Simulated {
            by: "model",
            least_bytes: least,
            longest_wait_seconds: seconds(found.longest_wait),
            offered_bytes: tried.offered,
            lost_bytes: tried.lost,
            gaps: tried.gaps,
            half_lost_bytes: half.lost,
        }),
    })
}

fn seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}

/// Why the FIFO must have that depth.
fn reason(rate: u64, serves: f64, found: &Fed, chunk: u64) -> String {
    let wait = seconds(found.longest_wait);
    let comes = (rate as f64 * wait) as u64;
    let rates = |rate: f64| format!("{} GB/s", text::rate(rate / 1e9));
    let (least, simple) = (found.fifo_most, comes + chunk);
    let formula = format!(
        "{} x {}, the drive's longest wait, are {}, and a chunk of {}",
        rates(rate as f64),
        text::seconds(wait),
        bytes(comes),
        bytes(chunk)
    );
    match least {
        _ if least > 2 * simple => format!(
            "{} come, and for a time the drive stores less than that ({} in the long run)",
            rates(rate as f64),
            rates(serves)
        ),
        _ if least > simple => format!(
            "{formula}; {} are not yet stored then",
            bytes(least - simple)
        ),
        _ => format!(
            "{formula}, less {} that streamer and drive take",
            bytes(simple - least)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_model::MILLISECOND;
    use forebay_model::profile::PauseTiming;

    #[test]
    fn two_pauses_are_simulated_where_there_is_room() {
        let mut profile = Profile::builtin("990pro-2tb").expect("there");
        let mut notes = Vec::new();
        let mut bytes = |profile: &Profile, most| enough(1_000_000_000, profile, most, &mut notes);
        assert_eq!(bytes(&profile, SIMULATED), Some(LEAST));
        assert_eq!(bytes(&profile, 1000), Some(1000), "nothing is waited for");
        let timing = profile.ssd.timing.as_mut().expect("timed");
        timing.write.pause_every_bytes = 200_000_000;
        assert_eq!(bytes(&profile, SIMULATED), Some(500_000_000));
        assert_eq!(bytes(&profile, 499_999_999), None);
        let timing = profile.ssd.timing.as_mut().expect("timed");
        timing.write.pause_every_bytes = 0;
        timing.pauses = Some(PauseTiming {
            every: 100 * MILLISECOND,
            length: MILLISECOND,
            spread: 0,
        });
        assert_eq!(bytes(&profile, SIMULATED), Some(400_000_000));
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn the_reason_is_the_one_that_counts() {
        let because = |fifo_most| {
            let found = Fed {
                fifo_most,
                longest_wait: 5 * MILLISECOND,
                ..Fed::default()
            };
            reason(2_000_000_000, 1.4e9, &found, 128 << 10)
        };
        assert!(because(9_000_000).contains("less 1.1 MiB that streamer and drive take"));
        assert!(because(11_000_000).contains("not yet stored"));
        assert!(because(30_000_000).contains("stores less than that (1.40 GB/s"));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Thousands of small soaks, each drawn from a seed, on RTL of few shapes. What fails is made simpler
//! as far as it goes on failing.

mod draw;
mod found;
pub mod shapes;
mod shrink;

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use forebay_rtl::{Builder, Library};
use serde::Serialize;

use crate::failure::{Exit, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::session::{Ended, Session};
use crate::soak::{self, Case, Soak};
use shapes::Shape;

pub use draw::draw;
pub use found::{Found, OfShape, Total};
pub use shrink::shrink;

/// Failures that are made simpler; of more the causes are hardly different ones.
const SHRUNK: usize = 4;

/// How a case fails; it goes on failing the same way while it is made simpler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A read has brought other bytes, or fewer.
    Data,
    /// The drives hold other bytes.
    Stored,
    /// A transaction failed without a cause, or did not fail.
    Answer,
    /// Units of the buffer are not free at the end.
    Units,
    /// Nothing moved any more.
    Stuck,
    /// The RTL broke a rule, or the driver found no way.
    Machine,
    /// The case cannot be: an option contradicts another.
    Refused,
    /// The simulation itself broke.
    Panic,
}

/// What came of a case.
#[derive(Debug, Default)]
struct Attempt {
    found: Soak,
    /// How it failed, and what was seen.
    failure: Option<(Kind, Vec<String>)>,
    interrupted: bool,
}

/// What came of a seed.
struct Tried {
    seed: u64,
    shape: usize,
    case: Case,
    attempt: Attempt,
}

/// A seed that failed.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The seed.
    pub seed: u64,
    /// Name of its shape.
    pub shape: &'static str,
    /// How it failed.
    pub kind: Kind,
    /// What was seen, of the simplest case.
    pub seen: Vec<String>,
    /// What the seed draws.
    #[serde(skip)]
    pub case: Case,
    /// The simplest case that fails the same way, if one was looked for.
    #[serde(skip)]
    pub shrunk: Option<Case>,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Swarm<'a> {
    /// The shapes to draw from.
    pub shapes: &'a [&'static Shape],
    /// The seeds.
    pub seeds: Range<u64>,
    /// Simulations at once.
    pub jobs: usize,
    /// Go on after a seed that fails.
    pub keep_going: bool,
    /// Simpler cases that are tried for a failure; 0: none.
    pub limit_shrink: usize,
}

/// RTL, ready to be loaded, and what it is.
struct Built {
    shape: &'static Shape,
    library: Library,
}

/// Runs it.
///
/// # Errors
/// Where RTL is not found or does not build.
pub fn run(swarm: &Swarm<'_>) -> Result<Found> {
    let built = build(swarm.shapes)?;
    let start = Instant::now();
    let seeds = swarm.seeds.clone();
    let progress = Progress::count("seeds", seeds.end - seeds.start);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let tried = spread(swarm.jobs, seeds.clone(), &stop, |seed| {
        let tried = attempt_seed(seed, swarm.shapes, &built);
        progress.at(1 + done.fetch_add(1, Ordering::Relaxed));
        if !swarm.keep_going && tried.attempt.failure.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        tried
    });
    drop(progress);
    let seconds = start.elapsed().as_secs_f64();
    let mut tried = tried;
    tried.sort_by_key(|tried| tried.seed);
    let mut found = Found::new(seeds, seconds, swarm.shapes, &tried);
    found.failures = shrink_all(swarm, tried, &built);
    Ok(found)
}

/// Builds all shapes, or finds them.
fn build(shapes: &[&'static Shape]) -> Result<Vec<Built>> {
    let builder = Builder::from_environment()?;
    let mut built = Vec::new();
    for (number, shape) in (1..).zip(shapes) {
        let text = format!("RTL {number} of {}: {}", shapes.len(), shape.name);
        let progress = Progress::stage(&text);
        let rtl = shape.machine().config()?.rtl;
        let library = builder.build(&rtl, &mut |step| progress.build(step));
        let library = library.map_err(interrupt::instead)?;
        built.push(Built { shape, library });
    }
    Ok(built)
}

/// Does this with each number on `jobs` threads, until there are none or `stop` is set.
fn spread<T: Send>(
    jobs: usize,
    numbers: Range<u64>,
    stop: &AtomicBool,
    work: impl Fn(u64) -> T + Sync,
) -> Vec<T> {
    let next = AtomicU64::new(numbers.start);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && !interrupt::wanted() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    let result = work(number);
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn attempt_seed(seed: u64, shapes: &[&'static Shape], built: &[Built]) -> Tried {
    let (shape, case) = draw(seed, shapes);
    let attempt = attempt(&case, &built[shape].library);
    Tried {
        seed,
        shape,
        case,
        attempt,
    }
}

/// Carries a case out. Whatever happens is an answer, also a panic.
fn attempt(case: &Case, library: &Library) -> Attempt {
    let whole = || -> Result<(Soak, Ended)> {
        let mut config = soak::config(case)?;
        config.library = Some(library.clone());
        let session = Session::quietly(config, "forebay.swarm/1")?;
        let (found, _, ended) = soak::play(case, session, &Progress::hidden())?;
        Ok((found, ended))
    };
    let failed = |kind, what: String| Attempt {
        failure: Some((kind, vec![what])),
        ..Attempt::default()
    };
    match catch_unwind(AssertUnwindSafe(whole)) {
        Ok(Ok((found, ended))) => judge(found, ended),
        Ok(Err(failure)) => judge(Soak::default(), Ended::Failed(failure)),
        Err(panic) => failed(Kind::Panic, said(&*panic)),
    }
}

fn judge(found: Soak, ended: Ended) -> Attempt {
    let mut seen = found.first_wrong.clone();
    let kind = match ended {
        _ if found.differ_bytes > 0 => Some(Kind::Data),
        Ended::Failed(failure) => match failure.exit {
            Exit::Interrupted => return interrupted(found),
            exit => {
                seen.push(failure.to_string());
                Some(match exit {
                    Exit::Stuck => Kind::Stuck,
                    Exit::BadInput => Kind::Refused,
                    _ => Kind::Machine,
                })
            }
        },
        Ended::Interrupted => return interrupted(found),
        Ended::Done if found.wrong_answers > 0 => Some(Kind::Answer),
        Ended::Done if found.differ_medium_bytes > 0 => {
            let bytes = found.differ_medium_bytes;
            seen.push(format!("{bytes} bytes on the drives differ"));
            Some(Kind::Stored)
        }
        Ended::Done if found.held_units > 0 => Some(Kind::Units),
        Ended::Done => None,
    };
    Attempt {
        found,
        failure: kind.map(|kind| (kind, seen)),
        interrupted: false,
    }
}

fn interrupted(found: Soak) -> Attempt {
    Attempt {
        found,
        failure: None,
        interrupted: true,
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

/// Makes the first failures simpler, and tells of all.
fn shrink_all(swarm: &Swarm<'_>, tried: Vec<Tried>, built: &[Built]) -> Vec<Failed> {
    let failed = tried.into_iter().filter_map(|tried| {
        let (kind, seen) = tried.attempt.failure?;
        Some((tried.seed, tried.shape, tried.case, kind, seen))
    });
    let failed: Vec<_> = failed.collect();
    let progress = Progress::stage(&format!("{} failures: making them simpler", failed.len()));
    let stop = AtomicBool::new(false);
    let mut all = spread(swarm.jobs, 0..failed.len() as u64, &stop, |index| {
        let (seed, shape, case, kind, seen) = &failed[index as usize];
        let Built { shape, library } = &built[*shape];
        let mut seen = seen.clone();
        let tries = if index < SHRUNK as u64 {
            swarm.limit_shrink
        } else {
            0
        };
        let shrunk = shrink(case.clone(), tries, |case| {
            match attempt(case, library).failure {
                Some((same, now)) if same == *kind => {
                    seen = now;
                    true
                }
                _ => false,
            }
        });
        Failed {
            seed: *seed,
            shape: shape.name,
            kind: *kind,
            seen,
            case: case.clone(),
            shrunk: (tries > 0).then_some(shrunk),
        }
    });
    drop(progress);
    all.sort_by_key(|failed| failed.seed);
    all
}

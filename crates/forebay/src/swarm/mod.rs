// SPDX-License-Identifier: Apache-2.0
//! `forebay swarm`: thousands of small soaks, each drawn from a seed, on RTL of few shapes. What
//! fails is made simpler as far as it goes on failing, and told as one command.

mod draw;
mod report;
pub mod shapes;
mod shrink;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use forebay_rtl::{Builder, Library};
use serde::Serialize;

use crate::args::{Case, SwarmArgs};
use crate::failure::{Exit, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::report::emit;
use crate::session::{Ended, Session};
use crate::soak::{self, Soak};
use report::Report;
use shapes::Shape;

/// Kind and version of the report.
const SCHEMA: &str = "forebay.swarm/1";
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
struct Failed {
    seed: u64,
    shape: &'static str,
    kind: Kind,
    /// What was seen, of the simplest case.
    seen: Vec<String>,
    /// The command that repeats the seed.
    command: String,
    /// The command of the simplest case that fails the same way.
    shrunk: Option<String>,
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
pub fn run(args: &SwarmArgs) -> Result<Exit> {
    let all: Vec<_> = shapes::ALL.iter().collect();
    let shapes = if args.shapes.is_empty() {
        &all
    } else {
        &args.shapes
    };
    if args.list {
        return report::list(shapes, &args.report);
    }
    let seeds = args.seeds();
    let built = build(shapes)?;
    let start = Instant::now();
    let progress = Progress::count("seeds", seeds.end - seeds.start);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let tried = spread(args.jobs(), seeds.clone(), &stop, |seed| {
        let tried = attempt_seed(seed, shapes, &built);
        progress.at(1 + done.fetch_add(1, Ordering::Relaxed));
        if !args.keep_going
            && tried
                .as_ref()
                .is_ok_and(|tried| tried.attempt.failure.is_some())
        {
            stop.store(true, Ordering::Relaxed);
        }
        tried
    });
    drop(progress);
    let seconds = start.elapsed().as_secs_f64();
    let mut tried = tried.into_iter().collect::<Result<Vec<_>>>()?;
    tried.sort_by_key(|tried| tried.seed);
    let mut report = Report::new(seeds, seconds, shapes, &tried);
    report.failures = shrink_all(args, tried, &built);
    let exit = report.exit();
    if !emit(&report, args.report.json.as_deref())? {
        report.show();
    }
    Ok(exit)
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

/// Does this with each number on so many threads, until there are none or `stop` is set.
fn spread<T: Send>(
    jobs: usize,
    numbers: std::ops::Range<u64>,
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

fn attempt_seed(seed: u64, shapes: &[&'static Shape], built: &[Built]) -> Result<Tried> {
    let (shape, case) = draw::draw(seed, shapes)?;
    let attempt = attempt(&case, &built[shape].library);
    Ok(Tried {
        seed,
        shape,
        case,
        attempt,
    })
}

/// Carries a case out. Whatever happens is an answer, also a panic.
fn attempt(case: &Case, library: &Library) -> Attempt {
    let whole = || -> Result<(Soak, Ended)> {
        let mut config = soak::config(case)?;
        config.library = Some(library.clone());
        let session = Session::quietly(config, SCHEMA)?;
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
                Some(if exit == Exit::Stuck {
                    Kind::Stuck
                } else {
                    Kind::Machine
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
fn shrink_all(args: &SwarmArgs, tried: Vec<Tried>, built: &[Built]) -> Vec<Failed> {
    let failed = tried.into_iter().filter_map(|tried| {
        let (kind, seen) = tried.attempt.failure?;
        Some((tried.seed, tried.shape, tried.case, kind, seen))
    });
    let failed: Vec<_> = failed.collect();
    let progress = Progress::stage(&format!("{} failures: making them simpler", failed.len()));
    let stop = AtomicBool::new(false);
    let mut all = spread(args.jobs(), 0..failed.len() as u64, &stop, |index| {
        let (seed, shape, case, kind, seen) = &failed[index as usize];
        let Built { shape, library } = &built[*shape];
        let mut seen = seen.clone();
        let tries = if index < SHRUNK as u64 {
            args.limit_shrink
        } else {
            0
        };
        let shrunk = shrink::shrink(case.clone(), tries, |case| {
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
            command: case.command(),
            shrunk: (tries > 0).then(|| shrunk.command()),
        }
    });
    drop(progress);
    all.sort_by_key(|failed| failed.seed);
    all
}

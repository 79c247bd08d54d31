// SPDX-License-Identifier: Apache-2.0
//! The user's wish that all ends, with a report of what was reached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::Failure;

static WANTED: AtomicBool = AtomicBool::new(false);
/// Flags of the simulations that run.
static FLAGS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

/// Whether the user wants to stop.
pub fn wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// This failure, or the user's wish where that was the cause: Ctrl-C reaches the compilers, too, and
/// what they say then is no news.
pub fn instead(failure: impl Into<Failure>) -> Failure {
    match wanted() {
        true => Failure::interrupted(),
        false => failure.into(),
    }
}

/// Sets this flag, too, when the user wants to stop.
pub fn also(flag: Arc<AtomicBool>) {
    let mut flags = FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
    // Of a simulation that has ended there is no other holder of the flag.
    flags.retain(|flag| Arc::strong_count(flag) > 1);
    flag.store(wanted(), Ordering::Relaxed);
    flags.push(flag);
}

/// Asks for an end; says whether that had been asked for before.
pub fn ask() -> bool {
    let before = WANTED.swap(true, Ordering::Relaxed);
    for flag in FLAGS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        flag.store(true, Ordering::Relaxed);
    }
    before
}

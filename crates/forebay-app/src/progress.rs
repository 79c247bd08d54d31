// SPDX-License-Identifier: Apache-2.0
//! Progress of long tasks, reported to the program's observer.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use forebay_rtl::Progress as Build;

/// What a task counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Nothing: the length is unknown.
    Unknown,
    /// This number of bytes.
    Bytes(u64),
    /// This number of items.
    Count(u64),
}

/// Is told when a task begins.
pub trait Observer: Send + Sync + Debug {
    /// A task of this name begins.
    fn begin(&self, name: &str, amount: Amount) -> Arc<dyn Task>;
    /// A step of a long run begins: for logs, in which no task is drawn.
    fn step(&self, name: &str);
}

/// Is told how far a task is. The task has ended when this is dropped.
pub trait Task: Send + Sync + Debug {
    /// The position reached.
    fn at(&self, position: u64);
    /// A new name: the next step has begun.
    fn rename(&self, name: &str);
}

#[derive(Debug)]
struct Silent;

impl Task for Silent {
    fn at(&self, _position: u64) {}
    fn rename(&self, _name: &str) {}
}

static OBSERVER: OnceLock<Box<dyn Observer>> = OnceLock::new();

/// Sets the observer of all tasks, once for a program.
pub fn set_observer(observer: Box<dyn Observer>) {
    // The first one stays.
    let _kept = OBSERVER.set(observer);
}

/// Reports a step of a run that takes minutes: a line each, where there is no terminal to draw on.
pub fn step(name: &str) {
    if let Some(observer) = OBSERVER.get() {
        observer.step(name);
    }
}

/// A task that is reported; it ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Progress(Arc<dyn Task>);

impl Progress {
    /// A task that is not reported.
    #[must_use]
    pub fn hidden() -> Self {
        Self(Arc::new(Silent))
    }

    /// A task of unknown length.
    #[must_use]
    pub fn stage(name: &str) -> Self {
        Self::begin(name, Amount::Unknown)
    }

    /// A task over `total` bytes.
    #[must_use]
    pub fn bytes(name: &str, total: u64) -> Self {
        Self::begin(name, Amount::Bytes(total))
    }

    /// A task over `total` items.
    #[must_use]
    pub fn count(name: &str, total: u64) -> Self {
        Self::begin(name, Amount::Count(total))
    }

    fn begin(name: &str, amount: Amount) -> Self {
        match OBSERVER.get() {
            Some(observer) => Self(observer.begin(name, amount)),
            None => Self::hidden(),
        }
    }

    /// Reports the position reached.
    pub fn at(&self, position: u64) {
        self.0.at(position);
    }

    /// Reports a new name: the next step has begun.
    pub fn rename(&self, name: &str) {
        self.0.rename(name);
    }

    /// Reports a step of building the RTL.
    pub fn build(&self, step: Build) {
        match step {
            Build::Cached => {}
            Build::Verilating => self.0.rename("RTL to C++ (once for this RTL)"),
            Build::Compiling { done, of } => {
                self.0.rename(&format!(
                    "C++ to a library (once for this RTL), {done} of {of}"
                ));
            }
            Build::Linking => self.0.rename("linking the library"),
        }
    }
}

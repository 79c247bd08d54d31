// SPDX-License-Identifier: Apache-2.0
//! What takes long says how far it is: to whoever has asked to hear it.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use forebay_rtl::Progress as Build;

/// What a task counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Nothing: nobody knows how long it takes.
    Unknown,
    /// So many bytes.
    Bytes(u64),
    /// So many things.
    Count(u64),
}

/// Hears of tasks.
pub trait Observer: Send + Sync + Debug {
    /// A task of this name begins.
    fn begin(&self, name: &str, amount: Amount) -> Arc<dyn Task>;
}

/// Hears how far a task is. It has ended when this is dropped.
pub trait Task: Send + Sync + Debug {
    /// It has come so far.
    fn at(&self, position: u64);
    /// It does something else now.
    fn rename(&self, name: &str);
}

#[derive(Debug)]
struct Unheard;

impl Task for Unheard {
    fn at(&self, _position: u64) {}
    fn rename(&self, _name: &str) {}
}

static OBSERVER: OnceLock<Box<dyn Observer>> = OnceLock::new();

/// Lets this one hear of all tasks, once for a program.
pub fn tell(observer: Box<dyn Observer>) {
    // A second one finds the first in its place.
    let _kept = OBSERVER.set(observer);
}

/// A task that is told of; it ends when the last of these is dropped.
#[derive(Clone, Debug)]
pub struct Progress(Arc<dyn Task>);

impl Progress {
    /// One that nobody hears of.
    #[must_use]
    pub fn hidden() -> Self {
        Self(Arc::new(Unheard))
    }

    /// One of unknown length.
    #[must_use]
    pub fn stage(name: &str) -> Self {
        Self::begin(name, Amount::Unknown)
    }

    /// One over so many bytes.
    #[must_use]
    pub fn bytes(name: &str, total: u64) -> Self {
        Self::begin(name, Amount::Bytes(total))
    }

    /// One over so many things.
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

    /// How far it has come.
    pub fn at(&self, position: u64) {
        self.0.at(position);
    }

    /// It does something else now.
    pub fn rename(&self, name: &str) {
        self.0.rename(name);
    }

    /// Shows a step of building the RTL.
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

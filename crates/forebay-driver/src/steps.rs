// SPDX-License-Identifier: Apache-2.0
//! The steps of bring-up and shutdown: each named, timed and, when it fails, explained.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::bus::Bus;
use crate::error::Error;

/// A step of bring-up or shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepName {
    /// Search the bus for an NVMe controller and, where wanted, an FPGA card.
    Discover,
    /// Look at the streamer's identity and parameters; disable it.
    Attach,
    /// Disable the controller.
    Disable,
    /// Check the controller's capabilities.
    Capabilities,
    /// Give the admin queues and enable the controller.
    Enable,
    /// Identify Controller.
    IdentifyController,
    /// Identify, active namespaces.
    Namespaces,
    /// Identify Namespace.
    IdentifyNamespace,
    /// Set Features, number of queues.
    QueueCount,
    /// Put several drives together to one address space.
    Array,
    /// Create I/O Completion Queue.
    CompletionQueue,
    /// Create I/O Submission Queue.
    SubmissionQueue,
    /// Write the streamer's registers.
    Configure,
    /// Enable the streamer.
    Start,
    /// Let the streamer come to rest and disable it.
    Stop,
    /// Delete the I/O queues.
    DeleteQueues,
    /// Announce a normal shutdown and wait for it.
    Shutdown,
}

impl StepName {
    /// What the step does, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Discover => "find devices",
            Self::Attach => "look at the streamer",
            Self::Disable => "disable controller",
            Self::Capabilities => "check capabilities",
            Self::Enable => "enable controller",
            Self::IdentifyController => "identify controller",
            Self::Namespaces => "list namespaces",
            Self::IdentifyNamespace => "identify namespace",
            Self::QueueCount => "set number of queues",
            Self::Array => "put drives together",
            Self::CompletionQueue => "create completion queue",
            Self::SubmissionQueue => "create submission queue",
            Self::Configure => "configure streamer",
            Self::Start => "enable streamer",
            Self::Stop => "stop streamer",
            Self::DeleteQueues => "delete queues",
            Self::Shutdown => "shut controller down",
        }
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

impl Serialize for StepName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// A step that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Which.
    pub name: StepName,
    /// When it began, since the first step.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
    /// What was found or done.
    pub found: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            duration,
            found,
            ..
        } = self;
        write!(
            f,
            "{name:<24} {:>10.1} µs  {found}",
            duration.as_secs_f64() * 1e6
        )
    }
}

/// A step that failed, and those before it.
#[derive(Debug, thiserror::Error)]
#[error("could not {step} (failed after {took:?}): {error}")]
pub struct Failure {
    /// The step that failed.
    pub step: StepName,
    /// How long it was tried.
    pub took: Duration,
    /// The steps before it, which succeeded.
    pub before: Vec<Step>,
    /// Why it failed.
    #[source]
    pub error: Box<Error>,
}

impl Failure {
    /// What to do about it, in plain words.
    pub fn remedy(&self) -> &'static str {
        self.error.remedy()
    }
}

/// Told of each step as it is done.
pub type Observer<'a> = &'a mut dyn FnMut(&Step);

/// Carries out steps and takes down how they went.
pub(crate) struct Recorder<'a> {
    bus: &'a mut dyn Bus,
    observer: Observer<'a>,
    origin: Duration,
    steps: Vec<Step>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(bus: &'a mut dyn Bus, observer: Observer<'a>) -> Self {
        let origin = bus.now();
        Self {
            bus,
            observer,
            origin,
            steps: Vec::new(),
        }
    }

    /// Does one step. `work` returns its result and what was found.
    pub(crate) fn step<T>(
        &mut self,
        name: StepName,
        work: impl FnOnce(&mut dyn Bus) -> Result<(T, String), Error>,
    ) -> Result<T, Failure> {
        let began = self.bus.now();
        let result = work(self.bus);
        let duration = self.bus.now().saturating_sub(began);
        match result {
            Ok((value, found)) => {
                let start = began.saturating_sub(self.origin);
                let step = Step {
                    name,
                    start,
                    duration,
                    found,
                };
                (self.observer)(&step);
                self.steps.push(step);
                Ok(value)
            }
            Err(error) => {
                let before = std::mem::take(&mut self.steps);
                Err(Failure {
                    step: name,
                    took: duration,
                    before,
                    error: Box::new(error),
                })
            }
        }
    }

    pub(crate) fn bus(&mut self) -> &mut dyn Bus {
        self.bus
    }

    pub(crate) fn finish(self) -> Vec<Step> {
        self.steps
    }
}

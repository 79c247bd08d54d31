// SPDX-License-Identifier: Apache-2.0
//! Bringing the streamer and its drive up and down, by the driver and nothing else.

use forebay_driver::{Session, Step, bring_up_observed};

use crate::error::Result;
use crate::system::System;

impl System {
    /// Brings drive and streamer up, as [`crate::Config::driver`] says; `observer` sees each step.
    ///
    /// # Errors
    /// [`Error::Driver`] with the step that failed, why, and what to do.
    pub fn bring_up(&mut self, observer: &mut dyn FnMut(&Step)) -> Result<&Session> {
        let options = self.options;
        let session = bring_up_observed(self, &options, observer)?;
        Ok(self.session.insert(session))
    }

    /// What bring-up found and decided; none before it.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Lets the driver do something with its session, the simulation being its bus: read registers,
    /// counters, the trace.
    ///
    /// # Errors
    /// What `work` returns.
    pub fn with_session<T>(
        &mut self,
        work: impl FnOnce(&mut Session, &mut Self) -> T,
    ) -> Option<T> {
        let mut session = self.session.take()?;
        let answer = work(&mut session, self);
        self.session = Some(session);
        Some(answer)
    }

    /// Stops the streamer, deletes the queues and shuts the drive down. Nothing is done where there
    /// was no bring-up.
    ///
    /// # Errors
    /// [`Error::Driver`] with the first step that failed; the others are tried all the same.
    pub fn shutdown(&mut self, observer: &mut dyn FnMut(&Step)) -> Result<Vec<Step>> {
        let Some(session) = self.session.take() else {
            return Ok(Vec::new());
        };
        Ok(session.shutdown_observed(self, observer)?)
    }

    /// Resets the drive and brings everything up again: after a time-out has halted the queue, a
    /// fatal error of the drive, or a reset of the RTL. What was under way is lost.
    ///
    /// # Errors
    /// [`Error::Driver`] with the step that failed.
    pub fn recover(&mut self, observer: &mut dyn FnMut(&Step)) -> Result<&Session> {
        let Some(session) = self.session.take() else {
            return self.bring_up(observer);
        };
        let session = session.recover(self, observer)?;
        Ok(self.session.insert(session))
    }
}

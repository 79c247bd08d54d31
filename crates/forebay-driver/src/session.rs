// SPDX-License-Identifier: Apache-2.0
//! A drive that has been brought up, until it is shut down.

use serde::Serialize;

use crate::admin::AdminQueue;
use crate::array::{ArrayFacts, Layout};
use crate::bring_up::{self, Parts, bring_up_observed};
use crate::bus::{Bus, DmaBuffer};
use crate::controller::{Capabilities, Controller};
use crate::discover::{self, Function};
use crate::error::Error;
use crate::facts::{ControllerFacts, Namespace};
use crate::options::{FpgaPlace, Options};
use crate::queue_pair::QueuePair;
use crate::steps::{Failure, Observer, Recorder, Step, StepName};
use crate::streamer::{Config, Parameters, Streamer};

/// What bring-up found and decided.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The drive's PCI function.
    pub nvme: Function,
    /// The FPGA card's PCI function.
    pub fpga: Option<Function>,
    /// The controller's capability registers.
    pub capabilities: Capabilities,
    /// Identify Controller.
    pub controller: ControllerFacts,
    /// Active namespaces, the first 1024.
    pub namespaces: Vec<u32>,
    /// The namespace in use.
    pub namespace: Namespace,
    /// The array that the drive is part of.
    pub array: Option<ArrayFacts>,
    /// I/O queue pairs that the controller granted.
    pub queue_pairs: u32,
    /// Identifier of the queue pair in use.
    pub queue_id: u16,
    /// Its entries; one less may be outstanding.
    pub queue_entries: u32,
    /// Most bytes of one command: the drive's limit, but at most 2 MiB.
    pub transfer_bytes: u64,
    /// What the streamer was built with, where it holds the queues.
    pub streamer: Option<Parameters>,
    /// What was written into the streamer, where it holds the queues.
    pub config: Option<Config>,
}

impl Facts {
    /// Bytes of the address space: of the namespace, or of the array.
    pub fn bytes(&self) -> u64 {
        let array = self.array.as_ref();
        array.map_or(self.namespace.bytes(), |array| array.bytes)
    }

    /// Which byte of it lies where.
    pub fn layout(&self) -> Layout {
        let array = self.array.as_ref();
        array.map_or(Layout::ONE, |array| array.layout)
    }
}

/// One drive of a session.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) controller: Controller,
    pub(crate) admin: AdminQueue,
    pub(crate) pair: Option<QueuePair>,
    pub(crate) facts: Facts,
}

/// A running drive, or several.
///
/// Give it back with [`Session::shutdown`]: one that is merely dropped keeps running, and its
/// memory stays taken.
#[derive(Debug)]
pub struct Session {
    /// What is not said to be of all drives is of this one.
    first: Member,
    others: Vec<Member>,
    streamer: Option<Streamer>,
    /// The segments of the streamer's buffer, where it is in host memory.
    segments: Vec<DmaBuffer>,
    /// Identifiers of further queue pairs, given out.
    more: Vec<u16>,
    /// Drives that are kept from the bus, as bits.
    offline: u64,
    options: Options,
    steps: Vec<Step>,
}

impl Session {
    /// Puts together what a bring-up has made.
    pub(crate) fn new(first: Member, parts: Parts, options: Options, steps: Vec<Step>) -> Self {
        let Parts {
            streamer,
            segments,
            members,
            ..
        } = parts;
        Self {
            first,
            others: members,
            streamer,
            segments,
            more: Vec::new(),
            offline: match options.array.and_then(|array| array.missing) {
                Some(missing) => 1 << missing,
                None => 0,
            },
            options,
            steps,
        }
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// What was found and decided of each drive.
    pub fn drives(&self) -> impl Iterator<Item = &Facts> {
        self.members().map(|member| &member.facts)
    }

    /// The queue pairs in host memory, drive by drive, where the queues lie there.
    pub fn queue_pairs(&mut self) -> Vec<&mut QueuePair> {
        let members = std::iter::once(&mut self.first).chain(&mut self.others);
        members.filter_map(|member| member.pair.as_mut()).collect()
    }

    /// What was found and decided.
    pub const fn facts(&self) -> &Facts {
        &self.first.facts
    }

    /// The steps of the bring-up.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The streamer, where it holds the queues.
    pub const fn streamer(&self) -> Option<&Streamer> {
        self.streamer.as_ref()
    }

    /// The queue pair in host memory, where the queues lie there.
    pub const fn queue_pair(&mut self) -> Option<&mut QueuePair> {
        self.first.pair.as_mut()
    }

    /// The admin queue, for commands beyond bring-up.
    pub const fn admin(&mut self) -> &mut AdminQueue {
        &mut self.first.admin
    }

    /// Where the streamer's windows stand.
    pub(crate) const fn fpga_place(&self) -> &FpgaPlace {
        &self.options.fpga
    }

    /// The drives of an array with a command that has timed out or, where there is parity and all
    /// drives are there, a write that has failed: it waits for [`Session::give_up`]. Ask more often
    /// than the time-out, or the streamer halts; without a time-out it waits for ever.
    ///
    /// # Errors
    /// Where the bus fails.
    pub fn lost(&self, bus: &mut dyn Bus) -> Result<Vec<u8>, Error> {
        let Some(streamer) = self.streamer.as_ref().filter(|_| !self.others.is_empty()) else {
            return Ok(Vec::new());
        };
        let lost = streamer.lost(bus)? & !self.offline;
        let numbers = 0..self.drives().count() as u8;
        Ok(numbers.filter(|number| lost >> number & 1 != 0).collect())
    }

    /// Does without a drive of an array from now on: one that is lost, or of which what is read
    /// fails. It is kept from the bus, so that it cannot write into pages that others use by then,
    /// and called offline: its commands fail, those of the other drives go on. Where the array has
    /// parity, its writes are good, and what is read of it is rebuilt from the others; say first
    /// on these that it is missing, or what is on it may be believed later.
    ///
    /// # Errors
    /// Where there is no such drive beside others, or the bus fails.
    pub fn give_up(&mut self, bus: &mut dyn Bus, number: u8) -> Result<(), Error> {
        let drive = self.drives().nth(number.into());
        let (Some(facts), Some(streamer), false) = (drive, &self.streamer, self.others.is_empty())
        else {
            let drives = self.drives().count();
            let limit =
                format!("it must be one of an array at the streamer; there are {drives} drives");
            return Err(Error::parameter(
                "number of the drive to do without",
                number,
                limit,
            ));
        };
        discover::silence(bus, facts.nvme.address)?;
        streamer.set_offline(bus, number.into())?;
        self.offline |= 1 << number;
        if let Some(array) = self.options.array.as_mut().filter(|array| array.parity) {
            // Writes have spared the first. What a second one does not get fails, so it is not
            // stale.
            array.missing.get_or_insert(number);
        }
        Ok(())
    }

    /// The drive of an array with parity that is done without; of several, the one that was given
    /// up first: what was written since is in the parity alone.
    pub fn missing(&self) -> Option<u8> {
        self.options.array.and_then(|array| array.missing)
    }

    /// Identifies another namespace.
    ///
    /// # Errors
    /// Where the command fails or the namespace is none that the driver can use.
    pub fn namespace(&mut self, bus: &mut dyn Bus, nsid: u32) -> Result<Namespace, Error> {
        bring_up::identify_namespace(bus, &mut self.first.admin, nsid)
    }

    /// Creates one more queue pair in host memory, beside the one of the bring-up. Ask for it
    /// beforehand in [`Options::more_queues`].
    ///
    /// # Errors
    /// Where the controller has not granted that many, or a command fails.
    pub fn create_queue_pair(
        &mut self,
        bus: &mut dyn Bus,
        entries: u16,
    ) -> Result<QueuePair, Error> {
        let most = self.first.facts.queue_pairs.min(u16::MAX.into()) as u16;
        let taken = |id| id == self.first.facts.queue_id || self.more.contains(&id);
        let Some(id) = (1..=most).find(|id| !taken(*id)) else {
            let limit = format!("{most} were granted: ask for more at bring-up");
            let wanted = self.more.len() as u64 + 2;
            return Err(Error::parameter("number of queue pairs", wanted, limit));
        };
        let entries =
            u32::from(entries).clamp(2, self.first.facts.capabilities.queue_entries) as u16;
        self.first.controller.check_doorbells(id)?;
        let controller = self.first.controller.clone();
        let pair = QueuePair::new(
            bus,
            controller,
            id,
            entries,
            self.first.facts.transfer_bytes,
        )?;
        if let Err(error) = self.first.admin.create_cq(bus, pair.completion_at()) {
            pair.free_memory(bus);
            return Err(error);
        }
        if let Err(error) = self.first.admin.create_sq(bus, pair.submission_at()) {
            self.first.admin.delete_cq(bus, id)?;
            pair.free_memory(bus);
            return Err(error);
        }
        self.more.push(id);
        Ok(pair)
    }

    /// Deletes a queue pair that [`Session::create_queue_pair`] made.
    ///
    /// # Errors
    /// Where a command fails; the pair's memory then stays taken, as the drive may still use it.
    pub fn delete_queue_pair(&mut self, bus: &mut dyn Bus, pair: QueuePair) -> Result<(), Error> {
        self.first.admin.delete_sq(bus, pair.id())?;
        self.first.admin.delete_cq(bus, pair.id())?;
        self.more.retain(|id| *id != pair.id());
        pair.free_memory(bus);
        Ok(())
    }

    /// Stops the streamer, deletes the queues and shuts the controllers down, so that their caches
    /// are saved. A step that fails does not keep the later ones from being tried.
    ///
    /// # Errors
    /// The first step that failed.
    pub fn shutdown(self, bus: &mut dyn Bus) -> Result<Vec<Step>, Failure> {
        self.shutdown_observed(bus, &mut |_| {})
    }

    /// As [`Session::shutdown`], and tells of each step as it is done.
    ///
    /// # Errors
    /// The first step that failed.
    pub fn shutdown_observed(
        mut self,
        bus: &mut dyn Bus,
        observer: Observer<'_>,
    ) -> Result<Vec<Step>, Failure> {
        let limits = self.options.limits;
        let mut recorder = Recorder::new(bus, observer);
        let mut first = None;
        if let Some(streamer) = &self.streamer {
            let stopped = recorder.step(StepName::Stop, |bus| {
                let rested = streamer.disable(bus, limits.streamer)?;
                let found = if rested {
                    "at rest"
                } else {
                    "cut off: transactions were under way"
                };
                Ok(((), found.into()))
            });
            first = first.or(stopped.err());
        }
        for (member, more) in std::iter::once((&mut self.first, self.more.as_slice()))
            .chain(self.others.iter_mut().map(|member| (member, [].as_slice())))
        {
            let Member {
                admin,
                controller,
                facts,
                ..
            } = member;
            // A drive that is kept from the bus answers nothing.
            let offline = self.offline & 1 != 0;
            self.offline >>= 1;
            if offline {
                continue;
            }
            let deleted = recorder.step(StepName::DeleteQueues, |bus| {
                // Submission queues first: a completion queue in use cannot be deleted (5.6).
                let ids: Vec<_> = more.iter().copied().chain([facts.queue_id]).collect();
                for id in &ids {
                    admin.delete_sq(bus, *id)?;
                    admin.delete_cq(bus, *id)?;
                }
                Ok(((), format!("{} pairs", ids.len())))
            });
            first = first.or(deleted.err());
            let shut = recorder.step(StepName::Shutdown, |bus| {
                controller.shut_down(bus, limits.shutdown)?;
                Ok(((), "complete".into()))
            });
            first = first.or(shut.err());
        }
        let steps = recorder.finish();
        self.abandon(bus);
        match first {
            Some(failure) => Err(failure),
            None => Ok(steps),
        }
    }

    /// Resets the drive and brings it up again as before: for a queue that was halted by a
    /// time-out, or a controller with a fatal status. What was under way is lost. A drive of an
    /// array with parity that was given up stays out: what was written since is not on it.
    ///
    /// Queue pairs of [`Session::create_queue_pair`] are gone after it.
    ///
    /// # Errors
    /// The step that failed.
    pub fn recover(self, bus: &mut dyn Bus, observer: Observer<'_>) -> Result<Self, Failure> {
        let options = Options {
            nvme: Some(self.first.facts.nvme.address),
            nsid: match self.options.array {
                None => Some(self.first.facts.namespace.nsid),
                Some(_) => self.options.nsid,
            },
            ..self.options
        };
        let controllers: Vec<_> = (self.members())
            .map(|member| member.controller.clone())
            .collect();
        self.abandon(bus);
        for controller in controllers {
            // These have been ready: one that is not ready any more has stopped, and will not
            // become it again. Where this fails, so does the bring-up, and says why.
            let _ = controller.clear_enable(bus);
        }
        bring_up_observed(bus, &options, observer)
    }

    /// Stops everything at once and gives the memory back.
    fn abandon(self, bus: &mut dyn Bus) {
        let card = self.first.facts.fpga.as_ref().map(|card| card.address);
        let drives = self.drives().map(|facts| facts.nvme.address);
        let devices: Vec<_> = drives.chain(card).collect();
        let members = std::iter::once(self.first).chain(self.others);
        let parts = Parts {
            streamer: self.streamer,
            segments: self.segments,
            members: members.collect(),
            admin: None,
        };
        parts.abandon(bus, devices);
    }
}

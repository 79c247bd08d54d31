// SPDX-License-Identifier: Apache-2.0
//! The host as reference: the same drive and fabric without the FPGA, driven by an ideal polling
//! host in the manner of SPDK. Its queues and data lie in host memory, it takes completions out of
//! order and costs no time itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_driver::{
    Bus, BusError, DmaBuffer, Done, Namespace, Options, PciAddress, QueuePair, QueuePlacement,
    Session, Span, Step, bring_up_observed,
};
use forebay_model::{FaultPlan, HopCount, Medium, Node, Profile, Ssd, Time};

use crate::error::{Error, Result};
use crate::machine::{Host, Machine, impl_bus};
use crate::stats::Direction;
use crate::workload::Workload;

/// How far time moves when nothing at all is due.
const NOTHING_DUE: Time = forebay_model::MICROSECOND;
/// Time without any completion after which a run gives up.
const PATIENCE: Time = 30 * forebay_model::SECOND;
/// Bytes of host memory beside the data buffers: queues, PRP lists, admin.
const OVERHEAD: usize = 16 << 20;

/// Where queues and data lie, and in which order commands end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Whose memory holds the queues and the PRP lists.
    pub queues: Node,
    /// Whose memory holds the data.
    pub data: Node,
    /// Commands end in the order in which they were sent: until all before it have ended, a command
    /// that has completed keeps its place.
    pub in_order: bool,
}

impl Design {
    /// The ideal host: all in its own memory, each command ends when it completes.
    pub const HOST: Self = Self {
        queues: Node::Host,
        data: Node::Host,
        in_order: false,
    };
}

/// A host with a drive and nothing else; with a [`Design`], a card seen at its commands.
pub struct Reference {
    machine: Machine,
    design: Design,
    session: Option<Session>,
    queue_depth: u16,
    stop: Arc<AtomicBool>,
}

/// What a workload took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReferenceRun {
    /// Commands that have completed.
    pub commands: u64,
    /// Bytes of those that did not fail.
    pub bytes: u64,
    /// Commands that failed.
    pub failed: u64,
    /// From the first submission to the last completion, picoseconds.
    pub duration: Time,
    /// Of each command from submission to completion, picoseconds, in the order of completion.
    pub latencies: Vec<Time>,
    /// What crossed each link, each way.
    pub hops: Vec<HopCount>,
}

impl ReferenceRun {
    /// Bytes per second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        match self.duration {
            0 => 0.0,
            duration => self.bytes as f64 * 1e12 / duration as f64,
        }
    }

    /// Mean latency in picoseconds.
    #[must_use]
    pub fn mean_latency(&self) -> f64 {
        match self.latencies.len() {
            0 => 0.0,
            n => self.latencies.iter().map(|l| *l as f64).sum::<f64>() / n as f64,
        }
    }

    /// The latency in picoseconds that a share (0 to 1) of the commands does not exceed.
    #[must_use]
    pub fn latency_at(&self, share: f64) -> Time {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let index = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
        sorted.get(index.max(1) - 1).copied().unwrap_or(0)
    }
}

impl Reference {
    /// A host and a drive that has just got power, for up to `queue_depth` commands outstanding of
    /// up to `transfer` bytes each.
    ///
    /// # Errors
    /// When the profile or medium is not usable.
    pub fn new(
        profile: &Profile,
        medium: Option<Medium>,
        seed: u64,
        queue_depth: u16,
        transfer: u64,
    ) -> Result<Self> {
        let memory = OVERHEAD + usize::from(queue_depth) * (transfer as usize + 4096);
        let machine = Machine::new(profile, medium, seed, memory, None)?;
        Ok(Self {
            machine,
            design: Design::HOST,
            session: None,
            queue_depth,
            stop: Arc::default(),
        })
    }

    /// Lets queues and data lie elsewhere; before [`Self::bring_up`]. Memory on a card answers after
    /// the card's completer time and nothing more; doorbells still come from the host.
    pub fn set_design(&mut self, design: Design) {
        self.design = design;
        let machine = &mut self.machine;
        for node in [design.queues, design.data] {
            if node != Node::Host {
                machine.host.stand_also_at(node);
            }
        }
        machine.fabric.map(design.queues, machine.host.range());
    }

    /// Sets what the drive does wrong, and when.
    pub fn set_faults(&mut self, faults: FaultPlan) {
        self.machine.ssd.set_faults(faults);
    }

    /// The flag that ends a run: give it to the handler of Ctrl-C.
    pub fn set_stop_flag(&mut self, stop: Arc<AtomicBool>) {
        self.stop = stop;
    }

    /// The drive.
    #[must_use]
    pub fn ssd(&self) -> &Ssd {
        &self.machine.ssd
    }

    /// Brings the drive up with its queues in host memory.
    ///
    /// # Errors
    /// [`Error::Driver`] with the step that failed.
    pub fn bring_up(&mut self, observer: &mut dyn FnMut(&Step)) -> Result<&Session> {
        let options = Options {
            placement: QueuePlacement::Host,
            // One entry always stays free (NVMe Base 2.0c 3.3.1.2).
            queue_entries: self.queue_depth.saturating_add(1).max(2),
            ..Options::default()
        };
        let session = bring_up_observed(self, &options, observer)?;
        Ok(self.session.insert(session))
    }

    /// Runs a workload with as many commands outstanding as the queue depth allows. Transfers above
    /// the drive's limit are cut.
    ///
    /// # Errors
    /// When the drive was not brought up, or the driver or the drive fails.
    pub fn run(&mut self, workload: &Workload) -> Result<ReferenceRun> {
        let Some(mut session) = self.session.take() else {
            return Err(Error::Setting {
                field: "session",
                value: "none".into(),
                limit: "the drive must be brought up first",
            });
        };
        let answer = self.run_with(&mut session, workload);
        self.session = Some(session);
        answer
    }

    fn run_with(&mut self, session: &mut Session, workload: &Workload) -> Result<ReferenceRun> {
        let namespace = session.facts().namespace;
        let Some(pair) = session.queue_pair() else {
            return Ok(ReferenceRun::default());
        };
        let piece = workload.size.min(pair.transfer_bytes()).max(1);
        let buffer = self.dma_alloc(usize::from(self.queue_depth) * piece as usize, 4096)?;
        let place = buffer.address..buffer.address + buffer.len as u64;
        self.machine.fabric.map(self.design.data, place);
        let run = self.run_in(pair, &namespace, &buffer, piece, workload);
        // After a failure the drive may still use the buffer: it stays taken.
        if run.is_ok() {
            self.dma_free(buffer);
        }
        run
    }

    /// `buffer` has room for a `piece` of each command that may be outstanding.
    fn run_in(
        &mut self,
        pair: &mut QueuePair,
        namespace: &Namespace,
        buffer: &DmaBuffer,
        piece: u64,
        workload: &Workload,
    ) -> Result<ReferenceRun> {
        let depth = usize::from(self.queue_depth);
        let mut pieces = workload.addresses().flat_map(|start| {
            (0..workload.size)
                .step_by(piece as usize)
                .map(move |offset| (start + offset, piece.min(workload.size - offset)))
        });
        let mut slots: Vec<usize> = (0..depth).rev().collect();
        // In order: slots as they were given, and whether their command has completed.
        let mut order: VecDeque<usize> = VecDeque::with_capacity(depth);
        let mut completed = vec![false; depth];
        // Of each command under way: its slot in the buffer, its start, its bytes.
        let mut under_way: Vec<Option<(usize, Time, u64)>> = vec![None; depth + 1];
        let mut run = ReferenceRun::default();
        let hops = self.machine.fabric.hops().to_vec();
        let mut done: Vec<Done> = Vec::with_capacity(depth);
        let start = self.machine.now;
        let mut last = start;
        let mut next = pieces.next();
        while next.is_some() || pair.outstanding() > 0 {
            while let (Some((address, bytes)), true, Some(slot)) =
                (next, pair.room() > 0, slots.last().copied())
            {
                let lba = address >> namespace.block_shift;
                let blocks = (bytes >> namespace.block_shift) as u32;
                let span = Span {
                    buffer,
                    offset: slot * piece as usize,
                };
                let cid = match workload.direction {
                    Direction::Read => pair.read(self, namespace, lba, blocks, span),
                    Direction::Write => pair.write(self, namespace, lba, blocks, span, false),
                }
                .map_err(Error::Command)?;
                slots.pop();
                if self.design.in_order {
                    order.push_back(slot);
                }
                if let Some(entry) = under_way.get_mut(usize::from(cid)) {
                    *entry = Some((slot, self.machine.now, bytes));
                }
                next = pieces.next();
            }
            pair.poll(self, &mut done).map_err(Error::Command)?;
            if done.is_empty() {
                if self.machine.now - last > PATIENCE {
                    let outstanding = pair.outstanding();
                    let seconds = PATIENCE / forebay_model::SECOND;
                    return Err(Error::HostStuck {
                        outstanding,
                        seconds,
                    });
                }
                self.rest()?;
                continue;
            }
            last = self.machine.now;
            for Done { cid, status } in done.drain(..) {
                let entry = under_way.get_mut(usize::from(cid)).and_then(Option::take);
                let Some((slot, began, bytes)) = entry else {
                    continue;
                };
                if self.design.in_order {
                    completed[slot] = true;
                } else {
                    slots.push(slot);
                }
                run.commands += 1;
                run.latencies.push(last - began);
                if status.is_success() {
                    run.bytes += bytes;
                } else {
                    run.failed += 1;
                }
            }
            while let Some(slot) = order.pop_front_if(|slot| completed[*slot]) {
                completed[slot] = false;
                slots.push(slot);
            }
        }
        run.duration = last - start;
        let now = self.machine.fabric.hops().iter();
        run.hops = now
            .zip(&hops)
            .map(|(hop, before)| hop.since(before))
            .collect();
        Ok(run)
    }

    /// Deletes the queues and shuts the drive down.
    ///
    /// # Errors
    /// [`Error::Driver`] with the first step that failed.
    pub fn shutdown(&mut self, observer: &mut dyn FnMut(&Step)) -> Result<()> {
        if let Some(session) = self.session.take() {
            session.shutdown_observed(self, observer)?;
        }
        Ok(())
    }
}

impl Host for Reference {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn pass(&mut self) -> std::result::Result<(), BusError> {
        self.machine.settle(|_, _| {});
        Ok(())
    }

    fn await_answer(&mut self) -> std::result::Result<(), BusError> {
        self.rest()
    }

    fn rest(&mut self) -> std::result::Result<(), BusError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BusError::Interrupted);
        }
        self.pass()?;
        let now = self.machine.now;
        let next = self.machine.next_event().unwrap_or(now + NOTHING_DUE);
        self.machine.now = next.max(now + 1);
        self.pass()
    }
}

impl_bus!(Reference);

// SPDX-License-Identifier: Apache-2.0
//! The host as reference: the same drives and fabric without the FPGA, driven by an ideal polling
//! host in the manner of SPDK. Its queues and data lie in host memory, it takes completions out of
//! order and costs no time itself.

mod feed;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_driver::{
    ArrayOptions, Bus, BusError, BusResult, DmaBuffer, Done, Layout, Namespace, Options,
    PciAddress, QueuePair, QueuePlacement, Session, Span, Step, bring_up_observed,
};
use forebay_model::{FabricProfile, FaultPlan, HopCount, Medium, Node, Profile, Ssd, Time};

use crate::config::Drive;
use crate::error::{Error, Result};
use crate::machine::{self, Host, Machine, impl_bus};
use crate::stats::Direction;
use crate::workload::Workload;

pub use feed::{Fed, Feed, FeedPace, RTL_ANSWER};

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

/// A host with its drives and nothing else; with a [`Design`], a card seen at its commands.
pub struct Reference {
    machine: Machine,
    design: Design,
    session: Option<Session>,
    queue_depth: u16,
    array: Option<ArrayOptions>,
    /// Most bytes of a command.
    transfer: u64,
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
        let drive = Drive {
            profile: profile.ssd.clone(),
            medium,
            faults: FaultPlan::default(),
        };
        Self::array(
            &profile.fabric,
            vec![drive],
            None,
            seed,
            queue_depth,
            transfer,
        )
    }

    /// The same with several drives, each with a queue of this depth, as one address space.
    ///
    /// # Errors
    /// When a profile or medium is not usable.
    pub fn array(
        fabric: &FabricProfile,
        drives: Vec<Drive>,
        array: Option<ArrayOptions>,
        seed: u64,
        queue_depth: u16,
        transfer: u64,
    ) -> Result<Self> {
        // No command is longer than a chunk.
        let transfer = array.map_or(transfer, |array| transfer.min(array.stripe_unit));
        let each = OVERHEAD + usize::from(queue_depth) * (transfer as usize + 4096);
        let machine = Machine::new(fabric, drives, seed, each * drives_of(array), None)?;
        Ok(Self {
            machine,
            design: Design::HOST,
            session: None,
            queue_depth,
            array,
            transfer,
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

    /// Sets what the first drive does wrong, and when.
    pub fn set_faults(&mut self, faults: FaultPlan) {
        self.machine.ssds[0].set_faults(faults);
    }

    /// The flag that ends a run: give it to the handler of Ctrl-C.
    pub fn set_stop_flag(&mut self, stop: Arc<AtomicBool>) {
        self.stop = stop;
    }

    /// The first drive.
    #[must_use]
    pub fn ssd(&self) -> &Ssd {
        &self.machine.ssds[0]
    }

    /// Brings the drive up with its queues in host memory.
    ///
    /// # Errors
    /// [`Error::Driver`] with the step that failed.
    pub fn bring_up(&mut self, observer: &mut dyn FnMut(&Step)) -> Result<&Session> {
        let options = Options {
            placement: QueuePlacement::Host,
            array: self.array,
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
        let namespaces: Vec<_> = session.drives().map(|facts| facts.namespace).collect();
        let layout = session.facts().layout();
        let pairs = session.queue_pairs();
        let most = pairs.iter().map(|pair| pair.transfer_bytes()).min();
        let most = most.unwrap_or(1).min(self.transfer);
        let most = workload.size.min(most).max(1);
        let depth = usize::from(self.queue_depth);
        let mut lanes = Vec::new();
        for (pair, namespace) in pairs.into_iter().zip(namespaces) {
            let buffer = self.dma_alloc(depth * most as usize, 4096)?;
            let place = buffer.address..buffer.address + buffer.len as u64;
            self.machine.fabric.map(self.design.data, place);
            let in_order = self.design.in_order;
            lanes.push(Lane::new(pair, namespace, buffer, depth, in_order));
        }
        let run = self.run_in(&mut lanes, layout, most, workload);
        // After a failure a drive may still use its buffer: it stays taken.
        if run.is_ok() {
            for lane in lanes {
                self.dma_free(lane.buffer);
            }
        }
        run
    }

    /// Runs a workload in commands of up to `most` bytes. The buffer of each lane has room for all
    /// commands that may be outstanding.
    fn run_in(
        &mut self,
        lanes: &mut [Lane<'_>],
        layout: Layout,
        most: u64,
        workload: &Workload,
    ) -> Result<ReferenceRun> {
        let mut commands = workload.addresses().flat_map(|start| {
            let cut = layout.split(start, workload.size);
            cut.flat_map(move |(drive, at, bytes)| {
                (0..bytes)
                    .step_by(most as usize)
                    .map(move |offset| (drive, at + offset, most.min(bytes - offset)))
            })
        });
        // So far a drive may be ahead of the others.
        let ahead = 2 * lanes.len() * usize::from(self.queue_depth);
        let mut run = ReferenceRun::default();
        let hops = self.machine.fabric.hops().to_vec();
        let mut done: Vec<Done> = Vec::new();
        let start = self.machine.now;
        let mut last = start;
        let mut more = true;
        while more || lanes.iter().any(Lane::is_busy) {
            while more && lanes.iter().map(|lane| lane.waiting.len()).sum::<usize>() < ahead {
                match commands.next() {
                    Some((drive, at, bytes)) => {
                        let lane = lanes.get_mut(drive);
                        lane.into_iter()
                            .for_each(|lane| lane.waiting.push_back((at, bytes)));
                    }
                    None => more = false,
                }
            }
            let before = run.commands;
            for lane in &mut *lanes {
                lane.send(self, workload.direction, most)?;
                lane.pair.poll(self, &mut done).map_err(Error::Command)?;
                lane.take(self.machine.now, &mut done, &mut run);
            }
            if run.commands > before {
                last = self.machine.now;
            } else if self.machine.now - last > PATIENCE {
                let outstanding = lanes.iter().map(|lane| lane.pair.outstanding()).sum();
                let seconds = PATIENCE / forebay_model::SECOND;
                return Err(Error::HostStuck {
                    outstanding,
                    seconds,
                });
            } else {
                self.rest()?;
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

fn drives_of(array: Option<ArrayOptions>) -> usize {
    array.map_or(1, |array| usize::from(array.drives))
}

/// A drive's commands.
struct Lane<'a> {
    pair: &'a mut QueuePair,
    namespace: Namespace,
    buffer: DmaBuffer,
    /// Byte address and bytes of what is to be sent.
    waiting: VecDeque<(u64, u64)>,
    /// Free places in the buffer.
    slots: Vec<usize>,
    /// Where commands end in order: places as they were given, and whether their command has
    /// completed.
    order: Option<VecDeque<usize>>,
    completed: Vec<bool>,
    /// Of each command under way: its place in the buffer, its start, its bytes.
    under_way: Vec<Option<(usize, Time, u64)>>,
}

impl<'a> Lane<'a> {
    fn new(
        pair: &'a mut QueuePair,
        namespace: Namespace,
        buffer: DmaBuffer,
        depth: usize,
        in_order: bool,
    ) -> Self {
        Self {
            pair,
            namespace,
            buffer,
            waiting: VecDeque::new(),
            slots: (0..depth).rev().collect(),
            order: in_order.then(VecDeque::new),
            completed: vec![false; depth],
            under_way: vec![None; depth + 1],
        }
    }

    fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || self.pair.outstanding() > 0
    }

    /// Sends what there is room for, in commands of up to `most` bytes.
    fn send(&mut self, host: &mut Reference, direction: Direction, most: u64) -> Result<()> {
        let Self {
            pair, namespace, ..
        } = self;
        while let (Some((address, bytes)), true, Some(slot)) = (
            self.waiting.front().copied(),
            pair.room() > 0,
            self.slots.last().copied(),
        ) {
            let lba = address >> namespace.block_shift;
            let blocks = (bytes >> namespace.block_shift) as u32;
            let span = Span {
                buffer: &self.buffer,
                offset: slot * most as usize,
            };
            let cid = match direction {
                Direction::Read => pair.read(host, namespace, lba, blocks, span),
                Direction::Write => pair.write(host, namespace, lba, blocks, span, false),
            }
            .map_err(Error::Command)?;
            self.slots.pop();
            self.waiting.pop_front();
            if let Some(order) = &mut self.order {
                order.push_back(slot);
            }
            if let Some(entry) = self.under_way.get_mut(usize::from(cid)) {
                *entry = Some((slot, host.machine.now, bytes));
            }
        }
        Ok(())
    }

    /// Counts what has completed.
    fn take(&mut self, now: Time, done: &mut Vec<Done>, run: &mut ReferenceRun) {
        for Done { cid, status } in done.drain(..) {
            let entry = self.under_way.get_mut(usize::from(cid));
            let Some((slot, began, bytes)) = entry.and_then(Option::take) else {
                continue;
            };
            match self.order {
                Some(_) => self.completed[slot] = true,
                None => self.slots.push(slot),
            }
            run.commands += 1;
            run.latencies.push(now - began);
            if status.is_success() {
                run.bytes += bytes;
            } else {
                run.failed += 1;
            }
        }
        let completed = &mut self.completed;
        while let Some(slot) =
            (self.order.as_mut()).and_then(|order| order.pop_front_if(|slot| completed[*slot]))
        {
            completed[slot] = false;
            self.slots.push(slot);
        }
    }
}

impl Host for Reference {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn pass(&mut self) -> BusResult<()> {
        self.machine.settle(|_, _| {});
        Ok(())
    }

    fn await_answer(&mut self) -> BusResult<()> {
        self.rest()
    }

    fn rest(&mut self) -> BusResult<()> {
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

// SPDX-License-Identifier: Apache-2.0
//! Data on their way between the caller's memory and the medium or the controller.
//!
//! Without timing each buffer segment moves as soon as its PRP entry is known. With timing all
//! entries are read first; then reads go through [`flash`](super::flash) segment by segment, and
//! writes are requested at the pace of the drive.

use super::Ssd;
use super::commands::{CommandRef, ReadUse, Transfer};
use super::events::Event;
use super::flash::WriteRequest;
use super::prp::{PrpStep, PrpWalker, Segment};
use crate::{Fabric, FabricError, Node, Request, Time};
use forebay_spec::nvme::Status;

impl Ssd {
    /// Begins to move a command's data.
    pub(super) fn transfer(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        at: CommandRef,
        transfer: Transfer,
        len: u32,
    ) {
        let page = self.registers.page();
        if let Some(command) = self.commands.get(at) {
            command.walker = PrpWalker::new(command.sqe.prp1, command.sqe.prp2, len, page);
            command.transfer = transfer;
        }
        self.walk(now, fabric, at);
    }

    /// Follows PRP entries as far as they are known.
    fn walk(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        loop {
            let Some(command) = self.commands.get(at) else {
                return;
            };
            match command.walker.next() {
                PrpStep::Segment(segment) => self.segment(now, fabric, at, segment),
                PrpStep::List { addr, len } => {
                    command.pending += 1;
                    let tag = self.reads.insert(ReadUse::List(at));
                    fabric.request(now, self.node, Request::Read { addr, len, tag });
                    return;
                }
                PrpStep::Invalid(status) => {
                    command.segments.clear();
                    self.fail(at, status);
                    return self.settle_transfer(now, fabric, at);
                }
                PrpStep::Done => return self.walked(now, fabric, at),
            }
        }
    }

    /// A list has arrived.
    pub(super) fn list_arrived(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        at: CommandRef,
        result: Result<Box<[u8]>, FabricError>,
    ) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        command.pending = command.pending.saturating_sub(1);
        match result {
            Ok(list) => {
                command.walker.feed(list);
                self.walk(now, fabric, at);
            }
            Err(_) => {
                command.segments.clear();
                self.fail(at, Status::DATA_TRANSFER_ERROR);
                self.settle_transfer(now, fabric, at);
            }
        }
    }

    /// Moves a segment, or keeps it for later.
    fn segment(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef, segment: Segment) {
        let timed = self.flash.is_some();
        let Some(command) = self.commands.get(at) else {
            return;
        };
        let fills = matches!(command.transfer, Transfer::FromMedium(_));
        self.note_segment(fabric, at, fills, segment);
        let Some(command) = self.commands.get(at) else {
            return;
        };
        match &command.transfer {
            Transfer::FromMedium(_) | Transfer::ToMedium(_) if timed => {
                command.segments.push(segment);
            }
            Transfer::FromMedium(start) => {
                let start = start + segment.offset as u64;
                self.send_from_medium(now, fabric, at, segment, start);
            }
            Transfer::FromController(payload) => {
                let from = segment.offset as usize;
                let data = payload
                    .get(from..from + segment.len as usize)
                    .unwrap_or_default();
                let request = Request::Write {
                    addr: segment.addr,
                    data: data.into(),
                };
                fabric.request(now, self.node, request);
            }
            Transfer::ToMedium(_) | Transfer::ToController(_) => {
                self.request_data(now, fabric, at, segment);
            }
            Transfer::None => {}
        }
    }

    /// All PRP entries are known.
    fn walked(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        if let (Some(flash), false) = (&mut self.flash, command.segments.is_empty()) {
            if matches!(command.transfer, Transfer::FromMedium(_)) {
                command.pending += command.segments.len() as u32;
                self.events
                    .push(now + flash.timing.read.before, Event::Sense(at));
            } else {
                let queue = self
                    .submission
                    .get(command.queue as usize)
                    .and_then(Option::as_ref);
                let peer_queue =
                    queue.is_some_and(|queue| fabric.route(queue.base) != Some(Node::Host));
                for (n, segment) in (0..).zip(&command.segments) {
                    let source = fabric.route(segment.addr).unwrap_or(Node::Host);
                    let request = WriteRequest {
                        len: segment.len as u64,
                        first: n == 0,
                        peer_queue,
                        round_trip: fabric.round_trip(self.node, source),
                    };
                    command.pending += 1;
                    self.events
                        .push(flash.take_in(now, request), Event::In(at, n));
                }
                command.mark = flash.mark();
            }
        }
        self.settle_transfer(now, fabric, at);
    }

    /// A timed read reaches the flash: all its planes begin.
    pub(super) fn sense(&mut self, now: Time, at: CommandRef) {
        let (Some(flash), Some(command)) = (&mut self.flash, self.commands.get(at)) else {
            return;
        };
        let Transfer::FromMedium(start) = command.transfer else {
            return;
        };
        for (n, segment) in (0..).zip(&command.segments) {
            let done = flash.sense(now, start + segment.offset as u64, segment.len as u64);
            self.events.push(done, Event::Sensed(at, n));
        }
    }

    /// A segment is sensed: its channel is next.
    pub(super) fn sensed(&mut self, now: Time, at: CommandRef, number: u32) {
        let (Some(flash), Some(command)) = (&mut self.flash, self.commands.get(at)) else {
            return;
        };
        let (Transfer::FromMedium(start), Some(segment)) =
            (&command.transfer, command.segments.get(number as usize))
        else {
            return;
        };
        let done = flash.carry(now, start + segment.offset as u64, segment.len as u64);
        self.events.push(done, Event::Carried(at, number));
    }

    /// A segment is in the controller: the way out is next.
    pub(super) fn carried(&mut self, now: Time, at: CommandRef, number: u32) {
        let (Some(flash), Some(command)) = (&mut self.flash, self.commands.get(at)) else {
            return;
        };
        let Some(segment) = command.segments.get(number as usize) else {
            return;
        };
        let done = flash.leave(now, segment.len as u64);
        self.events.push(done, Event::Out(at, number));
    }

    /// A segment of a read leaves the drive.
    pub(super) fn leave(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef, number: u32) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        command.pending = command.pending.saturating_sub(1);
        if let (Transfer::FromMedium(start), Some(segment)) = (
            &command.transfer,
            command.segments.get(number as usize).copied(),
        ) {
            let start = start + segment.offset as u64;
            self.send_from_medium(now, fabric, at, segment, start);
        }
        self.settle_transfer(now, fabric, at);
    }

    /// A segment of a write is to be requested.
    pub(super) fn request_segment(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        at: CommandRef,
        number: u32,
    ) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        if let Some(segment) = command.segments.get(number as usize).copied() {
            // It is pending already, from when it was scheduled.
            command.pending = command.pending.saturating_sub(1);
            self.request_data(now, fabric, at, segment);
        }
    }

    fn request_data(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef, segment: Segment) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        command.pending += 1;
        let tag = self.reads.insert(ReadUse::Data(at, segment.offset));
        let request = Request::Read {
            addr: segment.addr,
            len: segment.len,
            tag,
        };
        fabric.request(now, self.node, request);
    }

    fn send_from_medium(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        at: CommandRef,
        segment: Segment,
        start: u64,
    ) {
        match self.medium.read(start, segment.len as usize) {
            Ok(data) => fabric.request(
                now,
                self.node,
                Request::Write {
                    addr: segment.addr,
                    data,
                },
            ),
            Err(_) => self.fail(at, Status::UNRECOVERED_READ_ERROR),
        }
    }

    /// Data that were requested have arrived.
    pub(super) fn data_arrived(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        at: CommandRef,
        offset: u32,
        result: Result<Box<[u8]>, FabricError>,
    ) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        command.pending = command.pending.saturating_sub(1);
        let stored = match (result, &mut command.transfer) {
            (Ok(data), Transfer::ToMedium(start)) => {
                let start = *start + offset as u64;
                if let Some(history) = &mut self.history {
                    let medium = &self.medium;
                    history.bytes(now, at, start, &data, |page| {
                        medium.read(page, 4096).unwrap_or_default()
                    });
                }
                self.medium
                    .write(start, &data)
                    .map_err(|_| Status::WRITE_FAULT)
            }
            (Ok(data), Transfer::ToController(buffer)) => {
                let from = offset as usize;
                if let Some(place) = buffer.get_mut(from..from + data.len()) {
                    place.copy_from_slice(&data);
                }
                Ok(())
            }
            (Ok(_), _) => Ok(()),
            (Err(_), _) => Err(Status::DATA_TRANSFER_ERROR),
        };
        if let Err(status) = stored {
            self.fail(at, status);
        }
        self.settle_transfer(now, fabric, at);
    }

    /// Notes the first error of a command.
    fn fail(&mut self, at: CommandRef, status: Status) {
        if let Some(command) = self.commands.get(at) {
            if command.status.is_success() {
                command.status = status;
            }
            command.walker.stop();
        }
    }

    /// Ends the command if nothing of it is under way any more.
    fn settle_transfer(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        if command.pending != 0 || !command.walker.is_done() {
            return;
        }
        let mut status = command.status;
        if let (true, Transfer::ToController(buffer)) = (status.is_success(), &mut command.transfer)
        {
            let (sqe, buffer) = (command.sqe, std::mem::take(buffer));
            status = self.consume(&sqe, &buffer);
        }
        self.finish(now, fabric, at, status);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The NVM command set: what each command asks for (NVM Command Set 1.0c, 3.2).

use super::commands::{CommandRef, Transfer};
use super::fault::FaultAction;
use super::{Namespace, Ssd};
use crate::{Fabric, Time};
use forebay_spec::nvme::{IoOpcode, NSID_ALL, Sqe, Status};
use std::ops::Range;

/// Bytes of one range of Dataset Management.
const RANGE_BYTES: u32 = 16;
/// The deallocate attribute of Dataset Management.
const DEALLOCATE: u32 = 1 << 2;

/// A command, checked.
enum Plan {
    Nothing,
    Read { start: u64, len: u32 },
    Write { start: u64, len: u32 },
    Compare { len: u32 },
    Zero(Range<u64>),
    FetchRanges { len: u32 },
}

impl Ssd {
    /// Begins an I/O command.
    pub(super) fn io(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        let sqe = command.sqe;
        let fault = self.faults.matching(command.number, &sqe);
        self.stats.faults += fault.is_some() as u64;
        if let Some(command) = self.commands.get(at) {
            command.fault = fault;
            command.dropped = matches!(fault, Some(FaultAction::Drop));
        }
        match fault {
            Some(FaultAction::Drop) => return,
            Some(FaultAction::Fail(status)) => return self.finish(now, fabric, at, status),
            _ => {}
        }
        match self.plan(&sqe) {
            Err(status) => self.finish(now, fabric, at, status),
            Ok(Plan::Nothing) => self.finish(now, fabric, at, Status::SUCCESS),
            Ok(Plan::Read { start, len }) => {
                self.stats.bytes_read += len as u64;
                self.transfer(now, fabric, at, Transfer::FromMedium(start), len);
            }
            Ok(Plan::Write { start, len }) => {
                self.stats.bytes_written += len as u64;
                self.transfer(now, fabric, at, Transfer::ToMedium(start), len);
            }
            Ok(Plan::Zero(range)) => {
                let status = match self.medium.zero(range) {
                    Ok(()) => Status::SUCCESS,
                    Err(_) => Status::WRITE_FAULT,
                };
                self.finish(now, fabric, at, status);
            }
            Ok(Plan::FetchRanges { len } | Plan::Compare { len }) => {
                let buffer = vec![0; len as usize].into();
                self.transfer(now, fabric, at, Transfer::ToController(buffer), len);
            }
        }
    }

    /// Data for the controller itself have arrived.
    pub(super) fn consume(&mut self, sqe: &Sqe, data: &[u8]) -> Status {
        match IoOpcode::from_number(sqe.opcode) {
            Some(IoOpcode::Compare) => self.compare(sqe, data),
            _ => self.deallocate(sqe, data),
        }
    }

    /// Compares data with the medium (3.2.1).
    fn compare(&self, sqe: &Sqe, data: &[u8]) -> Status {
        let area = self
            .namespace(sqe.nsid)
            .and_then(|namespace| namespace.area(sqe.slba(), sqe.blocks().into()));
        let stored = match area {
            Ok(area) => self.medium.read(area.start, data.len()),
            Err(status) => return status,
        };
        match stored {
            Ok(stored) if *stored == *data => Status::SUCCESS,
            Ok(_) => Status::COMPARE_FAILURE,
            Err(_) => Status::UNRECOVERED_READ_ERROR,
        }
    }

    /// The ranges of a Dataset Management command have arrived (3.2.3).
    fn deallocate(&mut self, sqe: &Sqe, ranges: &[u8]) -> Status {
        let Ok(namespace) = self.namespace(sqe.nsid) else {
            return Status::INVALID_NAMESPACE;
        };
        let word = |bytes: &[u8], at: usize| {
            bytes
                .get(at..at + 4)
                .and_then(|b| b.try_into().ok())
                .map_or(0, u32::from_le_bytes)
        };
        // All ranges are checked before the first is touched.
        let mut areas = Vec::with_capacity(ranges.len() / RANGE_BYTES as usize);
        for range in ranges.chunks_exact(RANGE_BYTES as usize) {
            let blocks = word(range, 4) as u64;
            let slba = word(range, 8) as u64 | (word(range, 12) as u64) << 32;
            match namespace.area(slba, blocks) {
                Ok(area) => areas.push(area),
                Err(status) => return status,
            }
        }
        if sqe.cdw11() & DEALLOCATE == 0 {
            // The other attributes are hints.
            return Status::SUCCESS;
        }
        for area in areas {
            if self.medium.zero(area).is_err() {
                return Status::WRITE_FAULT;
            }
        }
        Status::SUCCESS
    }

    /// The namespace with an identifier (3.2.1).
    pub(super) fn namespace(&self, nsid: u32) -> Result<Namespace, Status> {
        let index = (nsid as usize).wrapping_sub(1);
        self.namespaces
            .get(index)
            .copied()
            .ok_or(Status::INVALID_NAMESPACE)
    }

    /// Bytes that one command may move: MDTS (5.17.2.1), or what 16 bits of blocks allow.
    pub(super) fn transfer_limit(&self) -> u64 {
        match self.profile.controller.mdts {
            0 => u64::MAX,
            mdts => 4096 << mdts,
        }
    }

    fn plan(&self, sqe: &Sqe) -> Result<Plan, Status> {
        let opcode = IoOpcode::from_number(sqe.opcode).ok_or(Status::INVALID_OPCODE)?;
        // Neither fused commands nor SGLs nor metadata.
        if sqe.fuse() != 0 || sqe.psdt() != 0 {
            return Err(Status::INVALID_FIELD);
        }
        if opcode == IoOpcode::Flush && sqe.nsid == NSID_ALL {
            return Ok(Plan::Nothing);
        }
        let namespace = self.namespace(sqe.nsid)?;
        match opcode {
            IoOpcode::Flush => Ok(Plan::Nothing),
            IoOpcode::Read | IoOpcode::Write | IoOpcode::Compare => {
                let area = namespace.area(sqe.slba(), sqe.blocks() as u64)?;
                let bytes = area.end - area.start;
                if bytes > self.transfer_limit() {
                    return Err(Status::INVALID_FIELD);
                }
                let (start, len) = (area.start, bytes as u32);
                Ok(match opcode {
                    IoOpcode::Read => Plan::Read { start, len },
                    IoOpcode::Write => Plan::Write { start, len },
                    _ => Plan::Compare { len },
                })
            }
            IoOpcode::WriteZeroes => namespace
                .area(sqe.slba(), sqe.blocks() as u64)
                .map(Plan::Zero),
            IoOpcode::DatasetManagement => Ok(Plan::FetchRanges {
                len: ((sqe.cdw10() & 0xff) + 1) * RANGE_BYTES,
            }),
        }
    }
}

impl Namespace {
    /// The bytes of a range of blocks on the medium.
    fn area(&self, slba: u64, blocks: u64) -> Result<Range<u64>, Status> {
        match slba.checked_add(blocks) {
            Some(end) if end <= self.blocks => {
                let start = self.base + (slba << self.shift);
                Ok(start..start + (blocks << self.shift))
            }
            _ => Err(Status::LBA_OUT_OF_RANGE),
        }
    }
}

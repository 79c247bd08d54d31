// SPDX-License-Identifier: Apache-2.0
//! Get and Set Features (5.15, 5.27).

use super::admin::Outcome;
use crate::profile::ControllerProfile;
use forebay_spec::nvme::feature::{self as id, QueueCount};
use forebay_spec::nvme::{Sqe, Status};

/// Dword 10 of Set Features: the value outlives a reset. We save none.
const SAVE: u32 = 1 << 31;
/// Capabilities, as Get Features reports them: the value can be changed.
const CHANGEABLE: u32 = 1 << 2;
/// Composite temperature threshold, over temperature: 70 °C in kelvin.
const TEMPERATURE_THRESHOLD: u32 = 343;

/// The features' values. All are as at first after a reset.
#[derive(Debug)]
pub(super) struct Features {
    /// Values of the features that are a plain dword.
    values: Vec<(u8, u32)>,
    interrupt_vectors: Vec<u32>,
    write_cache: bool,
    /// Queues that can be created, of each kind.
    pub(super) queues: QueueCount,
    most_queues: u32,
}

impl Features {
    pub(super) fn new(profile: &ControllerProfile) -> Self {
        let most_queues = profile.io_queues as u32;
        Self {
            values: vec![
                // No limit to the burst of a queue.
                (id::ARBITRATION, 7),
                (id::POWER_MANAGEMENT, 0),
                (id::TEMPERATURE_THRESHOLD, TEMPERATURE_THRESHOLD),
                (id::ERROR_RECOVERY, 0),
                (id::VOLATILE_WRITE_CACHE, profile.write_cache as u32),
                (id::INTERRUPT_COALESCING, 0),
                (id::WRITE_ATOMICITY, 0),
                (id::ASYNC_EVENT, 0),
            ],
            interrupt_vectors: vec![0; most_queues as usize + 1],
            write_cache: profile.write_cache,
            queues: QueueCount {
                submission: most_queues,
                completion: most_queues,
            },
            most_queues,
        }
    }

    pub(super) fn get(&self, sqe: &Sqe) -> Result<Outcome, Status> {
        let feature = sqe.cdw10() as u8;
        let current = match feature {
            id::NUMBER_OF_QUEUES => self.queues.bits(),
            id::INTERRUPT_VECTOR => *self.vector(sqe)?,
            id::VOLATILE_WRITE_CACHE if !self.write_cache => return Err(Status::INVALID_FIELD),
            _ => self.find(feature)?,
        };
        match sqe.cdw10() >> 8 & 7 {
            0 => Ok(Outcome::Done(current)),
            // Default and saved values are those after a reset.
            1 | 2 => Ok(Outcome::Done(self.default_of(feature, sqe))),
            3 => Ok(Outcome::Done(CHANGEABLE)),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    pub(super) fn set(&mut self, sqe: &Sqe, queues_exist: bool) -> Result<Outcome, Status> {
        if sqe.cdw10() & SAVE != 0 {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        let (feature, value) = (sqe.cdw10() as u8, sqe.cdw11());
        match feature {
            id::NUMBER_OF_QUEUES => {
                let wanted = QueueCount::from_bits(value);
                if wanted.submission > 65535 || wanted.completion > 65535 {
                    return Err(Status::INVALID_FIELD);
                }
                if queues_exist {
                    return Err(Status::COMMAND_SEQUENCE_ERROR);
                }
                self.queues = QueueCount {
                    submission: wanted.submission.min(self.most_queues),
                    completion: wanted.completion.min(self.most_queues),
                };
                return Ok(Outcome::Done(self.queues.bits()));
            }
            id::INTERRUPT_VECTOR => {
                self.vector(sqe)?;
                let index = (value & 0xffff) as usize;
                if let Some(vector) = self.interrupt_vectors.get_mut(index) {
                    *vector = value & 0x1_ffff;
                }
                return Ok(Outcome::Done(0));
            }
            id::VOLATILE_WRITE_CACHE if !self.write_cache => return Err(Status::INVALID_FIELD),
            // There is one power state.
            id::POWER_MANAGEMENT if value & 0x1f != 0 => return Err(Status::INVALID_FIELD),
            _ => {}
        }
        let slot = self.values.iter_mut().find(|(known, _)| *known == feature);
        slot.ok_or(Status::INVALID_FIELD)?.1 = value;
        Ok(Outcome::Done(0))
    }

    /// A write may be answered before it is on the medium (5.27.1.4).
    pub(super) fn is_write_cache_on(&self) -> bool {
        // Without a volatile cache, what the drive holds survives a loss of power.
        !self.write_cache || self.find(id::VOLATILE_WRITE_CACHE) != Ok(0)
    }

    /// The composite temperature in kelvin from which the host wants to be warned (5.27.1.3).
    pub(super) fn temperature_threshold(&self) -> u16 {
        match self.find(id::TEMPERATURE_THRESHOLD) {
            // Of the composite temperature, and one not to be exceeded: bits 21:16 are zero.
            Ok(value) if value >> 16 & 0x3f == 0 => value as u16,
            _ => u16::MAX,
        }
    }

    fn find(&self, feature: u8) -> Result<u32, Status> {
        let found = self.values.iter().find(|(known, _)| *known == feature);
        found.map(|(_, value)| *value).ok_or(Status::INVALID_FIELD)
    }

    fn vector(&self, sqe: &Sqe) -> Result<&u32, Status> {
        let index = (sqe.cdw11() & 0xffff) as usize;
        self.interrupt_vectors
            .get(index)
            .ok_or(Status::INVALID_FIELD)
    }

    fn default_of(&self, feature: u8, sqe: &Sqe) -> u32 {
        match feature {
            id::ARBITRATION => 7,
            id::TEMPERATURE_THRESHOLD => TEMPERATURE_THRESHOLD,
            id::VOLATILE_WRITE_CACHE => self.write_cache as u32,
            id::NUMBER_OF_QUEUES => QueueCount {
                submission: self.most_queues,
                completion: self.most_queues,
            }
            .bits(),
            id::INTERRUPT_VECTOR => sqe.cdw11() & 0xffff,
            _ => 0,
        }
    }
}

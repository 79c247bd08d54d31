// SPDX-License-Identifier: Apache-2.0
//! Controller registers (3.1.3): what is read and written there, not what follows from it.

use crate::profile::ControllerProfile;
use forebay_spec::nvme::regs::{self, Aqa, Cap, Cc, Csts};

/// What a write of a register asks the controller to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// CC was written; this is the old value.
    Configured(Cc),
}

/// The registers below the doorbells.
#[derive(Debug)]
pub(super) struct Registers {
    pub(super) cap: Cap,
    pub(super) cc: Cc,
    pub(super) csts: Csts,
    aqa: u32,
    asq: u64,
    acq: u64,
    interrupt_mask: u32,
}

impl Registers {
    pub(super) fn new(profile: &ControllerProfile) -> Self {
        Self {
            cap: Cap {
                max_queue_entries: profile.max_queue_entries,
                contiguous_queues: true,
                timeout: profile.timeout_500ms,
                doorbell_stride: profile.doorbell_stride,
                nvm_command_set: true,
                page_min: 0,
                page_max: profile.page_max,
            },
            cc: Cc::default(),
            csts: Csts::default(),
            aqa: 0,
            asq: 0,
            acq: 0,
            interrupt_mask: 0,
        }
    }

    pub(super) fn read(&self, offset: u64) -> u32 {
        let half = |value: u64| (value >> (8 * (offset & 4))) as u32;
        match offset {
            regs::VS => regs::VERSION_1_4,
            regs::INTMS | regs::INTMC => self.interrupt_mask,
            regs::CC => self.cc.bits(),
            regs::CSTS => self.csts.bits(),
            regs::AQA => self.aqa,
            _ => match offset & !7 {
                regs::CAP => half(self.cap.bits()),
                regs::ASQ => half(self.asq),
                regs::ACQ => half(self.acq),
                _ => 0,
            },
        }
    }

    pub(super) fn write(&mut self, offset: u64, value: u32) -> Effect {
        // ASQ and ACQ: bits 11:0 are reserved.
        let low = |old: u64| old >> 32 << 32 | (value & !0xfff) as u64;
        let high = |old: u64| old & 0xffff_ffff | (value as u64) << 32;
        match offset {
            regs::INTMS => self.interrupt_mask |= value,
            regs::INTMC => self.interrupt_mask &= !value,
            regs::AQA => self.aqa = value & 0x0fff_0fff,
            regs::ASQ => self.asq = low(self.asq),
            0x2c => self.asq = high(self.asq),
            regs::ACQ => self.acq = low(self.acq),
            0x34 => self.acq = high(self.acq),
            regs::CC => {
                let old = self.cc;
                self.cc = Cc::from_bits(value);
                return Effect::Configured(old);
            }
            _ => {}
        }
        Effect::None
    }

    /// The admin queues, if what is configured can be: base and entries of the submission queue,
    /// then of the completion queue.
    pub(super) fn admin_queues(&self) -> Option<[(u64, u32); 2]> {
        let cc = self.cc;
        let page = 4096u64 << cc.page;
        let valid = cc.command_set == 0
            && cc.arbitration == 0
            && cc.page >= self.cap.page_min
            && cc.page <= self.cap.page_max
            && self.aqa & 0xfff != 0
            && self.aqa >> 16 & 0xfff != 0
            && self.asq.is_multiple_of(page)
            && self.acq.is_multiple_of(page);
        let aqa = Aqa::from_bits(self.aqa);
        valid.then_some([
            (self.asq, aqa.sq_entries as u32),
            (self.acq, aqa.cq_entries as u32),
        ])
    }

    /// Bytes of a memory page.
    pub(super) const fn page(&self) -> u64 {
        4096 << self.cc.page
    }
}

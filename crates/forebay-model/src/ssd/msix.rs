// SPDX-License-Identifier: Apache-2.0
//! MSI-X: table, pending bits, messages (PCI Express Base 5.0, 6.1.4 and 7.7.2).

use super::Ssd;
use crate::pci::{ConfigSpace, MsixTable};
use crate::{Fabric, Request, Time};
use forebay_spec::pci::msix;

/// Words of a table entry: address, upper address, data, vector control.
const ENTRY_WORDS: usize = msix::ENTRY_BYTES as usize / 4;

/// Table and pending bits, and where they stand in BAR 0.
#[derive(Debug)]
pub(super) struct Msix {
    place: MsixTable,
    table: Vec<u32>,
    /// A message that could not be sent since its vector or the function is masked.
    pending: Vec<bool>,
}

impl Msix {
    /// As after power-on: vectors are masked until software writes them (7.7.2.3).
    pub(super) fn new(place: MsixTable) -> Self {
        let vectors = place.vectors as usize;
        Self {
            place,
            table: [0, 0, 0, msix::VECTOR_MASK].repeat(vectors),
            pending: vec![false; vectors],
        }
    }

    pub(super) const fn place(&self) -> &MsixTable {
        &self.place
    }

    /// Whether an offset of BAR 0 is its own.
    pub(super) fn is_at(&self, offset: u64) -> bool {
        offset >= self.place.table as u64
    }

    /// The word at an offset of BAR 0.
    pub(super) fn read(&self, offset: u64) -> u32 {
        if let Some(at) = offset.checked_sub(self.place.pending as u64) {
            let first = at as usize / 4 * 32;
            let bits = self.pending.iter().skip(first).take(32).enumerate();
            return bits.fold(0, |word, (bit, set)| word | (*set as u32) << bit);
        }
        let index = (offset - self.place.table as u64) / 4;
        self.table.get(index as usize).copied().unwrap_or(0)
    }

    /// Writes the word at an offset of BAR 0; false where none can be written.
    pub(super) fn write(&mut self, offset: u64, value: u32) -> bool {
        let index = (offset - self.place.table as u64) / 4;
        let word = self.table.get_mut(index as usize);
        word.map(|word| *word = value).is_some()
    }

    /// A message that waits can be sent.
    pub(super) fn is_due(&self, config: &ConfigSpace) -> bool {
        config.msix_enabled()
            && config.bus_master()
            && (0..self.pending.len()).any(|n| self.pending[n] && !self.masked(n))
    }

    fn masked(&self, vector: usize) -> bool {
        let control = self.table.get(vector * ENTRY_WORDS + 3);
        control.is_none_or(|control| control & msix::VECTOR_MASK != 0)
    }

    /// Address and data of a vector's message.
    fn message(&self, vector: usize) -> Option<(u64, u32)> {
        let at = vector * ENTRY_WORDS;
        match self.table.get(at..at + ENTRY_WORDS)? {
            [low, high, data, _] => Some((*low as u64 & !3 | (*high as u64) << 32, *data)),
            _ => None,
        }
    }
}

impl Ssd {
    /// Sends the message of a vector, or keeps it while it is masked. Without MSI-X there are no
    /// interrupts at all.
    pub(super) fn interrupt(&mut self, now: Time, fabric: &mut Fabric, vector: u16) {
        if !self.config.msix_on() {
            return;
        }
        if let Some(pending) = self.msix.pending.get_mut(vector as usize) {
            *pending = true;
            self.send_pending(now, fabric);
        }
    }

    /// Sends what is no longer masked.
    pub(super) fn send_pending(&mut self, now: Time, fabric: &mut Fabric) {
        if !self.msix.is_due(&self.config) {
            return;
        }
        for vector in 0..self.msix.pending.len() {
            if !self.msix.pending[vector] || self.msix.masked(vector) {
                continue;
            }
            self.msix.pending[vector] = false;
            if let Some((addr, data)) = self.msix.message(vector) {
                let data = data.to_le_bytes().into();
                fabric.request(now, self.node, Request::Write { addr, data });
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Host memory and its allocator.

use crate::{Arrival, Completion, Fabric, FabricError, Node, Request, Time};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Addresses at which message-signalled interrupts are written, as on every PC.
const INTERRUPTS: Range<u64> = 0xfee0_0000..0xfef0_0000;

/// Memory of the host, the answers to the host's own reads, and the interrupts it got.
#[derive(Debug)]
pub struct HostMemory {
    base: u64,
    /// Another node whose memory part of this stands for.
    also_at: Option<Node>,
    bytes: Vec<u8>,
    /// All that was ever given out lies below; what lies above is zero.
    touched: u64,
    /// Free ranges: start and length, never touching.
    free: BTreeMap<u64, u64>,
    /// Allocated ranges: start and length.
    used: BTreeMap<u64, u64>,
    completions: VecDeque<Completion>,
    interrupts: VecDeque<u32>,
    stray: u64,
}

impl HostMemory {
    /// Memory of `len` bytes at a bus address, all zero and all free.
    pub fn new(base: u64, len: usize) -> Self {
        Self {
            base,
            also_at: None,
            bytes: vec![0; len],
            touched: base,
            free: BTreeMap::from([(base, len as u64)]),
            used: BTreeMap::new(),
            completions: VecDeque::new(),
            interrupts: VecDeque::new(),
            stray: 0,
        }
    }

    /// Its bus addresses, for [`Fabric::map`].
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.bytes.len() as u64
    }

    /// The addresses of interrupt messages, for [`Fabric::map`].
    pub const fn interrupt_range() -> Range<u64> {
        INTERRUPTS
    }

    /// Answers at another node, too: what [`Fabric::map`] sends there of its addresses is memory of
    /// that node, with that node's links and times.
    pub const fn stand_also_at(&mut self, node: Node) {
        self.also_at = Some(node);
    }

    /// Takes `len` bytes at a multiple of `align` (a power of two); `None` when none are left.
    /// The memory is set to zero.
    pub fn alloc(&mut self, len: u64, align: u64) -> Option<u64> {
        let len = len.max(1);
        let mask = align.max(1).checked_next_power_of_two()? - 1;
        let (hole, hole_len, start) = self.free.iter().find_map(|(&hole, &hole_len)| {
            let start = hole.checked_add(mask)? & !mask;
            let end = start.checked_add(len)?;
            (end <= hole + hole_len).then_some((hole, hole_len, start))
        })?;
        self.free.remove(&hole);
        if start > hole {
            self.free.insert(hole, start - hole);
        }
        let (end, hole_end) = (start + len, hole + hole_len);
        if end < hole_end {
            self.free.insert(end, hole_end - end);
        }
        self.used.insert(start, len);
        // Not more than that: to touch memory for the first time takes longer than anything else.
        let dirty = self.touched.clamp(start, start + len) - start;
        if let Some(bytes) = self.slice_mut(start, dirty) {
            bytes.fill(0);
        }
        self.touched = self.touched.max(start + len);
        Some(start)
    }

    /// Gives an allocation back; false where there is none at this address.
    pub fn free(&mut self, addr: u64) -> bool {
        let Some(mut len) = self.used.remove(&addr) else {
            return false;
        };
        let mut start = addr;
        if let Some((&before, &before_len)) = self.free.range(..addr).next_back()
            && before + before_len == addr
        {
            self.free.remove(&before);
            start = before;
            len += before_len;
        }
        if let Some(after_len) = self.free.remove(&(start + len)) {
            len += after_len;
        }
        self.free.insert(start, len);
        true
    }

    /// The processor reads; false where the range is not all memory.
    pub fn read(&self, addr: u64, into: &mut [u8]) -> bool {
        match self.slice(addr, into.len() as u64) {
            Some(bytes) => {
                into.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }

    /// The processor writes; false where the range is not all memory.
    pub fn write(&mut self, addr: u64, data: &[u8]) -> bool {
        match self.slice_mut(addr, data.len() as u64) {
            Some(bytes) => {
                bytes.copy_from_slice(data);
                true
            }
            None => false,
        }
    }

    /// Serves everything that has arrived at the host by now.
    pub fn step(&mut self, now: Time, fabric: &mut Fabric) {
        self.serve(now, fabric, Node::Host);
        if let Some(node) = self.also_at {
            self.serve(now, fabric, node);
        }
    }

    fn serve(&mut self, now: Time, fabric: &mut Fabric, at: Node) {
        while let Some(arrival) = fabric.poll(now, at) {
            match arrival {
                Arrival::Completion(completion) => self.completions.push_back(completion),
                Arrival::Request {
                    request: Request::Write { addr, data },
                    ..
                } => {
                    self.take_write(addr, &data);
                }
                Arrival::Request {
                    request: Request::Read { addr, len, .. },
                    ticket,
                    ..
                } => {
                    let result = match self.slice(addr, len as u64) {
                        Some(bytes) => Ok(bytes.into()),
                        None => Err(FabricError::Unmapped { addr }),
                    };
                    fabric.complete(now, ticket, result);
                }
            }
        }
    }

    /// The next answer to a read of the host.
    pub fn take_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The data word of the next interrupt message.
    pub fn take_interrupt(&mut self) -> Option<u32> {
        self.interrupts.pop_front()
    }

    /// Writes of devices that hit no memory. They are dropped.
    pub fn stray_writes(&self) -> u64 {
        self.stray
    }

    fn take_write(&mut self, addr: u64, data: &[u8]) {
        if let (true, Ok(word)) = (INTERRUPTS.contains(&addr), <[u8; 4]>::try_from(data)) {
            self.interrupts.push_back(u32::from_le_bytes(word));
        } else if !self.write(addr, data) {
            self.stray += 1;
        }
    }

    fn place(&self, addr: u64, len: u64) -> Option<Range<usize>> {
        let start = addr.checked_sub(self.base)?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len() as u64).then_some(start as usize..end as usize)
    }

    fn slice(&self, addr: u64, len: u64) -> Option<&[u8]> {
        let place = self.place(addr, len)?;
        self.bytes.get(place)
    }

    fn slice_mut(&mut self, addr: u64, len: u64) -> Option<&mut [u8]> {
        let place = self.place(addr, len)?;
        self.bytes.get_mut(place)
    }
}

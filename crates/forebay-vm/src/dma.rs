// SPDX-License-Identifier: Apache-2.0
//! Which addresses lead to memory that is mapped here.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use crate::memory::Mapping;
use crate::protocol::{DmaMap, DmaUnmap, Errno};

/// The maps that the client has announced, by address.
///
/// What it unmaps need not be what it mapped: it may cut a map short or in two. An address in
/// no map, or in one without a descriptor, is reached by messages.
#[derive(Debug, Default)]
pub(crate) struct DmaTable {
    /// By first address; no two segments share an address.
    segments: BTreeMap<u64, Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    /// Last address.
    last: u64,
    /// Its memory, and where in it the segment starts.
    memory: Option<(Rc<Mapping>, usize)>,
    readable: bool,
    writable: bool,
}

impl DmaTable {
    /// Adds a map.
    ///
    /// # Errors
    /// [`Errno::EXISTS`] where there is one already; the mapping's own where it cannot be mapped.
    pub fn map(&mut self, map: &DmaMap, file: Option<OwnedFd>) -> Result<(), Errno> {
        if self.overlapping(&map.range).next().is_some() {
            return Err(Errno::EXISTS);
        }
        let (first, last) = (*map.range.start(), *map.range.end());
        let memory = match file {
            None => None,
            Some(file) => {
                // A file holds less than 2^63 bytes, so this much of 2^64 is refused there.
                let len = (last - first).saturating_add(1);
                let mapping = Mapping::new(file.as_fd(), map.offset, len, map.writable)
                    .map_err(|error| Errno(error.raw_os_error().unsigned_abs()))?;
                Some((Rc::new(mapping), 0))
            }
        };
        let segment = Segment {
            last,
            memory,
            readable: map.readable,
            writable: map.writable,
        };
        self.segments.insert(first, segment);
        Ok(())
    }

    /// Takes a range out, whatever maps lie in it.
    pub fn unmap(&mut self, unmap: &DmaUnmap) {
        let Some(range) = &unmap.range else {
            return self.segments.clear();
        };
        let hit: Vec<u64> = self.overlapping(range).collect();
        for first in hit {
            let Some(segment) = self.segments.remove(&first) else {
                continue;
            };
            if first < *range.start() {
                let last = range.start() - 1;
                let before = Segment {
                    last,
                    ..segment.clone()
                };
                self.segments.insert(first, before);
            }
            if segment.last > *range.end() {
                let start = range.end() + 1;
                let moved = (start - first) as usize;
                let memory = segment.memory.map(|(memory, at)| (memory, at + moved));
                self.segments.insert(start, Segment { memory, ..segment });
            }
        }
    }

    /// A read can be made directly: all of it is in one map with a descriptor.
    pub fn reads(&self, address: u64, len: usize) -> bool {
        let found = self.find(address, len);
        found.is_some_and(|(segment, ..)| segment.readable)
    }

    /// A write can be made directly.
    pub fn writes(&self, address: u64, len: usize) -> bool {
        let found = self.find(address, len);
        found.is_some_and(|(segment, ..)| segment.writable)
    }

    /// Reads memory, as far as [`DmaTable::reads`] says that it can.
    pub fn read(&self, address: u64, into: &mut [u8]) {
        if let Some((_, memory, at)) = self.find(address, into.len()) {
            memory.read(at, into);
        }
    }

    /// Writes memory, as far as [`DmaTable::writes`] says that it can.
    pub fn write(&self, address: u64, data: &[u8]) {
        if let Some((_, memory, at)) = self.find(address, data.len()) {
            memory.write(at, data);
        }
    }

    fn find(&self, address: u64, len: usize) -> Option<(&Segment, &Mapping, usize)> {
        let (first, segment) = self.segments.range(..=address).next_back()?;
        let last = address.checked_add((len as u64).saturating_sub(1))?;
        let (memory, start) = segment.memory.as_ref()?;
        let at = start.checked_add(usize::try_from(address - first).ok()?)?;
        (last <= segment.last).then_some((segment, memory, at))
    }

    /// First addresses of the segments that share an address with a range.
    fn overlapping(&self, range: &RangeInclusive<u64>) -> impl Iterator<Item = u64> + '_ {
        let start = *range.start();
        let segments = self.segments.range(..=*range.end()).rev();
        // Going down, segments end ever earlier.
        segments
            .take_while(move |(_, segment)| segment.last >= start)
            .map(|(first, _)| *first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    fn file(len: u64) -> OwnedFd {
        let file = memfd_create("ram", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, len).unwrap();
        file
    }

    fn map(range: RangeInclusive<u64>, offset: u64, writable: bool) -> DmaMap {
        DmaMap {
            offset,
            range,
            readable: true,
            writable,
        }
    }

    fn unmap(table: &mut DmaTable, range: RangeInclusive<u64>) {
        table.unmap(&DmaUnmap { range: Some(range) });
    }

    #[test]
    fn maps_lead_to_their_files() {
        let mut table = DmaTable::default();
        let ram = file(0x4000);
        let same = ram.try_clone().unwrap();
        let (low, high) = (0x10_0000..=0x10_1fff, 0x20_0000..=0x20_0fff);
        table.map(&map(low, 0x1000, true), Some(ram)).unwrap();
        table.map(&map(high, 0x2000, false), Some(same)).unwrap();
        table.write(0x10_1000, b"hello");
        let mut back = [0; 5];
        table.read(0x20_0000, &mut back);
        assert_eq!(&back, b"hello");
        assert!(table.reads(0x20_0000, 5) && table.writes(0x10_1000, 5));
        // Read only; past the end; before the start; in no map; a map without a file.
        assert!(!table.writes(0x20_0000, 1));
        assert!(!table.reads(0x10_1ffc, 5));
        assert!(!table.reads(0xf_ffff, 5));
        assert!(!table.reads(u64::MAX, 5));
        let without = map(0x30_0000..=0x30_0fff, 0, true);
        table.map(&without, None).unwrap();
        assert!(!table.reads(0x30_0000, 5));
        // A map over another, even by one byte.
        let over = map(0x10_1fff..=0x11_0000, 0, true);
        assert_eq!(table.map(&over, None), Err(Errno::EXISTS));
        // A file that is too small.
        let large = map(0x40_0000..=0x40_4fff, 0, true);
        assert_eq!(table.map(&large, Some(file(0x4000))), Err(Errno::INVALID));
    }

    #[test]
    fn what_is_unmapped_need_not_be_what_was_mapped() {
        let mut table = DmaTable::default();
        let whole = map(0x1000..=0x4fff, 0, true);
        table.map(&whole, Some(file(0x4000))).unwrap();
        for (address, byte) in [(0x1000, 1), (0x2000, 2), (0x3000, 3), (0x4000, 4)] {
            table.write(address, &[byte]);
        }
        let read = |table: &DmaTable, address| {
            let mut byte = [0];
            table.read(address, &mut byte);
            table.reads(address, 1).then_some(byte[0])
        };
        // A hole in the middle.
        unmap(&mut table, 0x2000..=0x2fff);
        assert_eq!(read(&table, 0x1fff), Some(0));
        assert_eq!(read(&table, 0x2000), None);
        assert_eq!(read(&table, 0x3000), Some(3));
        assert_eq!(read(&table, 0x4000), Some(4));
        assert!(!table.reads(0x1fff, 2));
        // Upper half of all addresses, then the lower: QEMU's way to unmap everything.
        let half = 1 << 63;
        unmap(&mut table, half..=u64::MAX);
        assert_eq!(read(&table, 0x3000), Some(3));
        unmap(&mut table, 0..=half - 1);
        assert_eq!(read(&table, 0x3000), None);
        table.map(&map(half..=u64::MAX, 0, true), None).unwrap();
        table.unmap(&DmaUnmap { range: None });
        assert!(table.segments.is_empty());
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Walks physical region pages (4.1.1) without touching memory itself.
//!
//! The caller asks for the next step and fetches a list when told to. So the walker can be tested
//! with any bytes, and it never causes an access beyond the entries that the transfer needs.

use forebay_spec::nvme::Status;

/// A buffer segment: host memory within one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Bus address.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
    /// Where in the transfer it stands.
    pub offset: u32,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrpStep {
    /// Move this segment.
    Segment(Segment),
    /// Read this part of a list and hand it to [`PrpWalker::feed`].
    List {
        /// Bus address.
        addr: u64,
        /// Bytes, a multiple of 8, within one page.
        len: u32,
    },
    /// All segments were named.
    Done,
    /// The entries are not valid.
    Invalid(Status),
}

#[derive(Debug, Default)]
enum State {
    /// The first entry is next.
    First,
    /// The second entry is next: a page, or a list.
    Second,
    /// A list was asked for; its last entry points to the next list.
    Asked { chained: bool },
    /// Entries of a list are next.
    Entries {
        list: Box<[u8]>,
        next: usize,
        chained: bool,
    },
    #[default]
    Ended,
}

/// Walks the PRP entries of one command.
#[derive(Debug, Default)]
pub struct PrpWalker {
    prp1: u64,
    prp2: u64,
    page: u64,
    len: u32,
    offset: u32,
    state: State,
}

impl PrpWalker {
    /// Walks the entries of a transfer of `len` bytes with memory pages of `page` bytes.
    pub const fn new(prp1: u64, prp2: u64, len: u32, page: u64) -> Self {
        Self {
            prp1,
            prp2,
            page,
            len,
            offset: 0,
            state: State::First,
        }
    }

    /// The next step. [`PrpStep::List`] is given once; until it is fed, the walk has ended.
    pub fn next(&mut self) -> PrpStep {
        match &mut self.state {
            State::First => {
                if self.prp1 & 3 != 0 {
                    return self.invalid();
                }
                self.state = State::Second;
                let room = self.page - self.prp1 % self.page;
                self.segment(self.prp1, room)
            }
            State::Second if self.offset == self.len => self.done(),
            State::Second if (self.len - self.offset) as u64 <= self.page => {
                // Two pages: no list.
                self.state = State::Ended;
                self.page_segment(self.prp2)
            }
            State::Second => self.ask(self.prp2),
            State::Entries {
                list,
                next,
                chained,
            } => {
                if self.offset == self.len {
                    return self.done();
                }
                let Some(bytes) = list.get(*next..*next + 8) else {
                    return self.invalid();
                };
                let entry = bytes.try_into().map_or(0, u64::from_le_bytes);
                *next += 8;
                if *chained && *next == list.len() {
                    return self.ask(entry);
                }
                self.page_segment(entry)
            }
            State::Asked { .. } | State::Ended => PrpStep::Done,
        }
    }

    /// Hands over the list that was asked for.
    pub fn feed(&mut self, list: Box<[u8]>) {
        if let State::Asked { chained } = self.state {
            self.state = State::Entries {
                list,
                next: 0,
                chained,
            };
        }
    }

    /// Gives up.
    pub fn stop(&mut self) {
        self.state = State::Ended;
    }

    /// No further step will come.
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    fn ask(&mut self, addr: u64) -> PrpStep {
        if addr & 7 != 0 {
            return self.invalid();
        }
        let needed = ((self.len - self.offset) as u64).div_ceil(self.page);
        let room = (self.page - addr % self.page) / 8;
        let chained = needed > room;
        if chained && room < 2 {
            // Such a list holds nothing but the way to the next one, perhaps to itself.
            return self.invalid();
        }
        self.state = State::Asked { chained };
        PrpStep::List {
            addr,
            len: (needed.min(room) * 8) as u32,
        }
    }

    /// A page of a second entry or of a list: these have no offset.
    fn page_segment(&mut self, addr: u64) -> PrpStep {
        if !addr.is_multiple_of(self.page) {
            return self.invalid();
        }
        self.segment(addr, self.page)
    }

    fn segment(&mut self, addr: u64, room: u64) -> PrpStep {
        let len = room.min((self.len - self.offset) as u64) as u32;
        let segment = Segment {
            addr,
            len,
            offset: self.offset,
        };
        self.offset += len;
        PrpStep::Segment(segment)
    }

    fn invalid(&mut self) -> PrpStep {
        self.state = State::Ended;
        PrpStep::Invalid(Status::INVALID_PRP_OFFSET)
    }

    fn done(&mut self) -> PrpStep {
        self.state = State::Ended;
        PrpStep::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Walks with lists from a sparse memory; returns segments and list reads.
    fn walk(
        prps: (u64, u64),
        len: u32,
        memory: &dyn Fn(u64) -> u64,
    ) -> (Vec<Segment>, Vec<(u64, u32)>, Option<Status>) {
        let mut walker = PrpWalker::new(prps.0, prps.1, len, 4096);
        let (mut segments, mut lists) = (Vec::new(), Vec::new());
        loop {
            match walker.next() {
                PrpStep::Segment(segment) => segments.push(segment),
                PrpStep::List { addr, len } => {
                    lists.push((addr, len));
                    let entries = (0..len as u64 / 8).map(|n| memory(addr + 8 * n).to_le_bytes());
                    walker.feed(entries.collect::<Vec<_>>().concat().into());
                }
                PrpStep::Done => return (segments, lists, None),
                PrpStep::Invalid(status) => return (segments, lists, Some(status)),
            }
        }
    }

    #[test]
    fn one_and_two_pages_need_no_list() {
        let (segments, lists, status) = walk((0x1800, 0x9000), 4096, &|_| 0);
        assert_eq!((lists.len(), status), (0, None));
        assert_eq!(
            segments[0],
            Segment {
                addr: 0x1800,
                len: 2048,
                offset: 0
            }
        );
        assert_eq!(
            segments[1],
            Segment {
                addr: 0x9000,
                len: 2048,
                offset: 2048
            }
        );
        let (segments, _, _) = walk((0x1000, 0xdead), 4096, &|_| 0);
        assert_eq!(
            segments,
            [Segment {
                addr: 0x1000,
                len: 4096,
                offset: 0
            }]
        );
    }

    #[test]
    fn lists_chain_at_the_end_of_a_page() {
        // Two entries fit behind offset 0xff0: a page, then the way to the next list.
        let memory = BTreeMap::from([
            (0x2ff0, 0x10_0000),
            (0x2ff8, 0x3000),
            (0x3000, 0x10_1000),
            (0x3008, 0x10_2000),
        ]);
        let (segments, lists, status) = walk((0x1000, 0x2ff0), 4 * 4096, &|at| memory[&at]);
        assert_eq!(status, None);
        assert_eq!(lists, [(0x2ff0, 16), (0x3000, 16)]);
        let pages: Vec<u64> = segments.iter().map(|segment| segment.addr).collect();
        assert_eq!(pages, [0x1000, 0x10_0000, 0x10_1000, 0x10_2000]);
    }

    #[test]
    fn offsets_are_checked() {
        let invalid = Some(Status::INVALID_PRP_OFFSET);
        assert_eq!(walk((0x1002, 0), 512, &|_| 0).2, invalid);
        assert_eq!(walk((0x1000, 0x2008), 8192, &|_| 0).2, invalid);
        assert_eq!(walk((0x1000, 0x2004), 3 * 4096, &|_| 0).2, invalid);
        assert_eq!(walk((0x1000, 0x2000), 3 * 4096, &|_| 0x10).2, invalid);
        // A list that is only a way to itself.
        assert_eq!(walk((0x1000, 0x2ff8), 3 * 4096, &|_| 0x2ff8).2, invalid);
    }

    proptest! {
        #[test]
        fn segments_cover_the_transfer_and_stay_in_their_pages(
            prp1: u64, prp2: u64, len in 1u32..(1 << 20), seed: u64,
        ) {
            let entry = |at: u64| (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !0xfff;
            let prps = (prp1 & !3, prp2 & !7);
            let (segments, lists, status) = walk(prps, len, &entry);
            let mut offset = 0;
            for segment in &segments {
                prop_assert_eq!(segment.offset, offset);
                prop_assert!(segment.len > 0 && segment.addr % 4096 + segment.len as u64 <= 4096);
                offset += segment.len;
            }
            for (addr, len) in lists {
                prop_assert!(addr % 4096 + len as u64 <= 4096);
            }
            prop_assert!(status.is_some() || offset == len);
        }
    }
}

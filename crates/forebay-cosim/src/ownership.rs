// SPDX-License-Identifier: Apache-2.0
//! Whose a page of payload is: the streamer's, or a drive's from the moment a command names it until
//! the streamer has got its completion.
//!
//! What is watched is at the pins and in the drives only, so it holds for RTL of others, too: pages
//! that commands name, completions, and bursts of the master to on-board DRAM or host memory. The
//! stream's reads of an on-chip buffer are not at the pins: there, only commands are compared with one
//! another.
//!
//! - A page that a drive fills is named by no other command, and not read by the streamer. In host
//!   memory, which the drive reaches past the streamer, it is not written by it either.
//! - A page that a drive reads is not written by the streamer.
//! - When a command that fills a page is taken up, no read of it is outstanding. In host memory, no
//!   write of it is when any command is.

use std::collections::{HashMap, VecDeque};

use forebay_spec::streamer::window::PAGE_SHIFT;

use crate::error::{Error, Result};

/// What happens at the streamer's master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The address of a burst is valid at the port, and can no longer be taken back.
    Begun { write: bool, address: u64 },
    /// The oldest burst of its kind has ended: the last beat, or the response, was taken.
    Ended { write: bool },
    /// A reset: no burst is under way.
    Reset,
}

/// Memory that a command names, within one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// As the memory's own port has it.
    pub address: u64,
    pub bytes: u32,
    /// The drive writes there; otherwise it reads.
    pub fills: bool,
}

/// A command: its drive and its identifier.
pub(crate) type Command = (usize, u16);

/// Who may use which page now.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    /// Drives reach the memory past the streamer.
    host: bool,
    /// What each command holds.
    commands: HashMap<Command, Vec<Segment>>,
    /// Who holds each page, and whether to fill it.
    pages: HashMap<u64, Vec<(Command, bool)>>,
    /// Pages of bursts under way, reads and writes, each in their order.
    bursts: [VecDeque<u64>; 2],
}

impl Ownership {
    /// `host`: drives reach the memory past the streamer.
    pub fn new(host: bool) -> Self {
        Self {
            host,
            ..Self::default()
        }
    }

    /// The streamer's master does something.
    pub fn access(&mut self, cycle: u64, access: Access) -> Result<()> {
        match access {
            Access::Begun { write, address } => {
                let page = address >> PAGE_SHIFT;
                self.bursts[usize::from(write)].push_back(page);
                let holders = self.pages.get(&page).into_iter().flatten();
                for (command, fills) in holders {
                    let what = match (write, fills) {
                        (false, true) => "the streamer reads the page, which the drive still fills",
                        (true, false) => {
                            "the streamer writes the page, which the drive still reads"
                        }
                        (true, true) if self.host => {
                            "the streamer writes the page, which the drive still fills"
                        }
                        _ => continue,
                    };
                    return Err(in_use(cycle, *command, page, what));
                }
            }
            Access::Ended { write } => {
                self.bursts[usize::from(write)].pop_front();
            }
            Access::Reset => self.bursts.iter_mut().for_each(VecDeque::clear),
        }
        Ok(())
    }

    /// A command names memory: from now on it is the drive's.
    pub fn name(&mut self, cycle: u64, command: Command, segment: Segment) -> Result<()> {
        let (page, fills) = (segment.address >> PAGE_SHIFT, segment.fills);
        let [reads, writes] = &self.bursts;
        let holders = self.pages.entry(page).or_default();
        let what = if holders.iter().any(|(_, other)| fills || *other) {
            "it names the page, which another command holds that has not completed"
        } else if fills && reads.contains(&page) {
            "it names the page, of which a read by the streamer is outstanding"
        } else if self.host && writes.contains(&page) {
            "it names the page, of which a write by the streamer is outstanding"
        } else {
            holders.push((command, fills));
            self.commands.entry(command).or_default().push(segment);
            return Ok(());
        };
        Err(in_use(cycle, command, page, what))
    }

    /// The streamer has the completion of a command. Returns the memory that no command holds any more.
    pub fn complete(&mut self, command: Command) -> Vec<Segment> {
        let mut segments = self.commands.remove(&command).unwrap_or_default();
        segments.retain(|segment| self.release(command, segment));
        segments
    }

    /// A drive was reset: it holds nothing.
    pub fn forget(&mut self, drive: usize) {
        let commands: Vec<_> = self.commands.keys().copied().collect();
        for command in commands.into_iter().filter(|(of, _)| *of == drive) {
            self.complete(command);
        }
    }

    /// True where no other command holds the page.
    fn release(&mut self, command: Command, segment: &Segment) -> bool {
        let page = segment.address >> PAGE_SHIFT;
        let Some(holders) = self.pages.get_mut(&page) else {
            return true;
        };
        holders.retain(|(holder, _)| *holder != command);
        let free = holders.is_empty();
        if free {
            self.pages.remove(&page);
        }
        free
    }
}

fn in_use(cycle: u64, (drive, cid): Command, page: u64, what: &'static str) -> Error {
    Error::PageInUse {
        cycle,
        drive,
        cid,
        page: page << PAGE_SHIFT,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 0x7000;

    fn segment(fills: bool) -> Segment {
        Segment {
            address: PAGE,
            bytes: 512,
            fills,
        }
    }

    fn begun(write: bool) -> Access {
        Access::Begun {
            write,
            address: PAGE + 64,
        }
    }

    fn said(result: Result<()>) -> String {
        match result {
            Err(Error::PageInUse { what, page, .. }) => {
                assert_eq!(page, PAGE);
                what.to_owned()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_goes_to_and_fro() {
        for host in [false, true] {
            let mut pages = Ownership::new(host);
            for cycle in 0..3 {
                // A read: named, filled, completed, read.
                pages.name(cycle, (0, 7), segment(true)).unwrap();
                if !host {
                    // The drive's data take their way through the streamer.
                    pages.access(cycle, begun(true)).unwrap();
                    pages.access(cycle, Access::Ended { write: true }).unwrap();
                }
                assert_eq!(pages.complete((0, 7)), [segment(true)]);
                pages.access(cycle, begun(false)).unwrap();
                pages.access(cycle, Access::Ended { write: false }).unwrap();
                // A write: written, named, read by the drive, completed.
                pages.access(cycle, begun(true)).unwrap();
                pages.access(cycle, Access::Ended { write: true }).unwrap();
                pages.name(cycle, (0, 7), segment(false)).unwrap();
                pages.access(cycle, begun(false)).unwrap();
                pages.access(cycle, Access::Ended { write: false }).unwrap();
                assert_eq!(pages.complete((0, 7)), [segment(false)]);
            }
            assert!(pages.pages.is_empty() && pages.commands.is_empty());
        }
    }

    #[test]
    fn a_request_that_is_late_is_told() {
        let mut pages = Ownership::new(false);
        pages.name(1, (1, 7), segment(true)).unwrap();
        assert!(said(pages.access(2, begun(false))).contains("still fills"));
        let mut pages = Ownership::new(false);
        pages.access(1, begun(false)).unwrap();
        let what = said(pages.name(2, (1, 7), segment(true)));
        assert!(what.contains("a read by the streamer is outstanding"));
        // Another drive's command, or the same identifier of another drive, is no excuse.
        pages.access(3, Access::Ended { write: false }).unwrap();
        pages.name(4, (1, 7), segment(true)).unwrap();
        assert!(pages.complete((0, 7)).is_empty());
        assert!(said(pages.access(5, begun(false))).contains("still fills"));
    }

    #[test]
    fn a_page_that_is_written_too_early_is_told() {
        for host in [false, true] {
            let mut pages = Ownership::new(host);
            pages.name(1, (0, 3), segment(false)).unwrap();
            assert!(said(pages.access(2, begun(true))).contains("still reads"));
            // The burst is under way all the same.
            pages.complete((0, 3));
            let named = pages.name(3, (0, 4), segment(false));
            assert_eq!(named.is_err(), host);
            let mut pages = Ownership::new(host);
            pages.name(1, (0, 3), segment(true)).unwrap();
            assert_eq!(pages.access(2, begun(true)).is_err(), host);
        }
    }

    #[test]
    fn a_page_is_filled_for_one_command_only() {
        let mut pages = Ownership::new(false);
        // Two drives may store the same page.
        pages.name(1, (0, 3), segment(false)).unwrap();
        pages.name(1, (1, 3), segment(false)).unwrap();
        let what = said(pages.name(2, (0, 4), segment(true)));
        assert!(what.contains("another command holds"));
        // It is free after the second completion.
        assert!(pages.complete((0, 3)).is_empty());
        assert_eq!(pages.complete((1, 3)), [segment(false)]);
        pages.name(3, (0, 4), segment(true)).unwrap();
        assert!(said(pages.name(4, (1, 4), segment(false))).contains("another command holds"));
    }

    #[test]
    fn resets_are_understood() {
        let mut pages = Ownership::new(false);
        pages.access(1, begun(false)).unwrap();
        pages.access(2, Access::Reset).unwrap();
        pages.name(3, (0, 1), segment(true)).unwrap();
        pages.forget(1);
        assert!(pages.access(4, begun(false)).is_err());
        pages.access(5, Access::Reset).unwrap();
        pages.forget(0);
        pages.access(6, begun(false)).unwrap();
    }
}

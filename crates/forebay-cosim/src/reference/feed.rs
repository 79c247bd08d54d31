// SPDX-License-Identifier: Apache-2.0
//! The drive's model, fed as the raw recorder with its streamer feeds it (`rtl/store/fb_store_raw.sv`,
//! `rtl/nvme`), at the level of commands and without RTL: fast enough for a whole drive.
//!
//! Chunks become commands as the streamer cuts them, data stand in its ring of pages, and
//! a few chunks at most have no response. Beats take a cycle each; what RTL needs to decide takes no time.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use forebay_driver::{Bus, BusError, DmaBuffer, Done, Namespace, QueuePair, Span};
use forebay_model::{Medium, NANOSECOND, Node, Profile, SECOND, Time};

use super::{Design, Host, NOTHING_DUE, PATIENCE, Reference};
use crate::error::{Error, Result};
use crate::stats::Direction;

/// Bytes of a page of the streamer's buffer, and pages that one direction may hold of it: all but what
/// the other keeps.
const PAGE: u64 = 4096;
const PAGES: u64 = 1024 - 64;
/// Entries of the queues, one of which always stays free.
const QUEUE_ENTRIES: u16 = 64;
/// Pages of a write command that does not wait for more, and commands in flight from which on it does:
/// `chunk` of `regs/streamer.rdl` after a reset.
const WRITE_PAGES: u64 = 2;
const BUSY_COMMANDS: usize = 4;
/// Most pages of a write command and of a read command.
const WRITE_MOST: u64 = 256;
const READ_MOST: u64 = 8;
/// Commands that wait for a place in the queue.
const WAITING: usize = 30;
/// Bytes of a beat.
const BEAT: u64 = 64;
/// What RTL takes for an answer, which the profiles' completer times leave out.
pub const RTL_ANSWER: Time = 60 * NANOSECOND;

/// What is recorded, or read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feed {
    /// Which way.
    pub direction: Direction,
    /// First byte on the drive.
    pub start: u64,
    /// Bytes of a chunk, a multiple of 4 KiB, 16 KiB to 1 MiB.
    pub chunk_bytes: u64,
    /// Chunks that are recorded or read; of a source that cannot wait: chunks that it offers.
    pub chunks: u64,
    /// Most chunks without a response: `Chunks` of `fb_store_raw`.
    pub outstanding: u64,
    /// Period of the clock, of which each carries a beat.
    pub clock: Time,
    /// A source that cannot wait; none: one that waits, and always has data.
    pub pace: Option<FeedPace>,
}

/// A source that cannot wait, and the FIFO before the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedPace {
    /// What it offers.
    pub bytes_per_second: u64,
    /// Bytes of the FIFO: a chunk that begins while there is no room for all of it is lost.
    pub fifo_bytes: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that the drive has stored, or given.
    pub bytes: u64,
    /// From the start to the last response.
    pub duration: Time,
    /// Address of the last chunk; none: there was none.
    pub last: Option<u64>,
    /// Bytes that a source that cannot wait has offered, and those of them that are lost.
    pub offered: u64,
    /// Bytes that found no room.
    pub lost: u64,
    /// How often bytes were lost that were not one behind the other.
    pub gaps: u64,
    /// Most bytes that the FIFO held when a chunk began, that chunk with them: with a FIFO of that size
    /// none of those that were taken would have been lost.
    pub fifo_most: u64,
    /// The longest time without a response while one was due.
    pub longest_wait: Time,
    /// Commands to the drive.
    pub commands: u64,
}

impl Fed {
    /// Bytes per second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        match self.duration {
            0 => 0.0,
            duration => self.bytes as f64 * SECOND as f64 / duration as f64,
        }
    }
}

impl Feed {
    /// MLE's chunk of 128 KiB.
    pub const CHUNK: u64 = 128 << 10;
    /// `Chunks` of `fb_top_recorder`.
    pub const OUTSTANDING: u64 = 8;
    /// The clock of the recorder, 250 MHz.
    pub const CLOCK: Time = 4 * NANOSECOND;

    /// This number of chunks of 128 KiB from address 0, as `fb_top_recorder` is set after a reset, from a
    /// source that waits.
    #[must_use]
    pub const fn new(direction: Direction, chunks: u64) -> Self {
        Self {
            direction,
            start: 0,
            chunk_bytes: Self::CHUNK,
            chunks,
            outstanding: Self::OUTSTANDING,
            clock: Self::CLOCK,
            pace: None,
        }
    }

    /// The most that the recorder's stream carries, bytes a second.
    #[must_use]
    pub const fn stream_rate(&self) -> u64 {
        BEAT * SECOND / self.clock
    }

    fn check(&self, drive: u64) -> Result<()> {
        let refuse = |field, value: u64, limit| {
            Err(Error::Setting {
                field,
                value: value.to_string(),
                limit,
            })
        };
        let Self {
            start,
            chunk_bytes,
            chunks,
            ..
        } = *self;
        if !(16 << 10..=1 << 20).contains(&chunk_bytes) || !chunk_bytes.is_multiple_of(PAGE) {
            return refuse(
                "chunk_bytes",
                chunk_bytes,
                "16 KiB to 1 MiB in pages of 4 KiB",
            );
        }
        if self.outstanding == 0 || self.clock == 0 {
            return refuse("outstanding", self.outstanding, "1 or more, and a clock");
        }
        if let Some(pace) = self.pace
            && !(1..=self.stream_rate()).contains(&pace.bytes_per_second)
        {
            let limit = "1 byte a second to a beat in each cycle of the clock";
            return refuse("bytes_per_second", pace.bytes_per_second, limit);
        }
        if self.direction == Direction::Read && self.pace.is_some() {
            return refuse("pace", 0, "none where chunks are read");
        }
        let end = chunks
            .checked_mul(chunk_bytes)
            .and_then(|bytes| bytes.checked_add(start));
        if !start.is_multiple_of(PAGE) || end.is_none_or(|end| end > drive) {
            return refuse("chunks", chunks, "as many as the drive has room for");
        }
        Ok(())
    }
}

impl Reference {
    /// A drive that has just got power and keeps no data, as the recorder's streamer stands before
    /// it: queues and payload in the card. [`Self::bring_up`] comes before [`Self::feed`].
    ///
    /// # Errors
    /// When the profile is not usable.
    pub fn recorder(profile: &Profile, seed: u64) -> Result<Self> {
        let mut profile = profile.clone();
        profile.fabric.fpga.completer += RTL_ANSWER;
        let medium = Medium::forgetful(profile.ssd.bytes());
        // The ring is as large as this number of commands.
        let transfer = (PAGES * PAGE).div_ceil(u64::from(QUEUE_ENTRIES - 1));
        let depth = QUEUE_ENTRIES - 1;
        let mut card = Self::new(&profile, Some(medium), seed, depth, transfer)?;
        card.set_design(Design {
            queues: Node::Fpga,
            data: Node::Fpga,
            in_order: true,
        });
        Ok(card)
    }

    /// Records or reads chunks one behind the other; `seen` hears of the bytes that are done.
    ///
    /// # Errors
    /// When a setting is out of range, the drive was not brought up or fails, or the user stops.
    pub fn feed(&mut self, feed: &Feed, seen: &mut dyn FnMut(u64)) -> Result<Fed> {
        let Some(mut session) = self.session.take() else {
            return Err(Error::Setting {
                field: "session",
                value: "none".into(),
                limit: "the drive must be brought up first",
            });
        };
        let namespace = session.facts().namespace;
        let answer = match session.queue_pairs().into_iter().next() {
            Some(pair) => self.feed_at(pair, namespace, feed, seen),
            None => Err(Error::Setting {
                field: "queues",
                value: "in the card".into(),
                limit: "in memory",
            }),
        };
        self.session = Some(session);
        answer
    }

    fn feed_at(
        &mut self,
        pair: &mut QueuePair,
        namespace: Namespace,
        feed: &Feed,
        seen: &mut dyn FnMut(u64),
    ) -> Result<Fed> {
        feed.check(namespace.blocks << namespace.block_shift)?;
        let buffer = self.dma_alloc((PAGES * PAGE) as usize, PAGE as usize)?;
        let place = buffer.address..buffer.address + buffer.len as u64;
        self.machine.fabric.map(self.design.data, place);
        let most = pair.transfer_bytes() / PAGE;
        let write = feed.direction == Direction::Write;
        let mut run = Run {
            feed: *feed,
            most: most.clamp(1, if write { WRITE_MOST } else { READ_MOST }),
            buffer,
            began: self.machine.now,
            ring: Ring::default(),
            open: 0,
            open_at: feed.start,
            cut: feed.start,
            waiting: VecDeque::new(),
            commands: VecDeque::new(),
            page: None,
            through: self.machine.now,
            source: Source::new(feed, self.machine.now),
            begun: 0,
            ended: 0,
            leaving: VecDeque::new(),
            out: self.machine.now,
            heard: self.machine.now,
            fed: Fed::default(),
        };
        let mut done: Vec<Done> = Vec::new();
        loop {
            let now = self.machine.now;
            pair.poll(self, &mut done).map_err(Error::Command)?;
            for one in done.drain(..) {
                run.complete(one, now)?;
            }
            run.retire(now);
            run.end_chunks(now, seen);
            run.source.offer(now, run.through_bytes(), &mut run.fed);
            if run.is_over() {
                break;
            }
            if write {
                run.take_pages(now, pair.outstanding());
            } else {
                run.ask();
            }
            if run.send(self, pair, &namespace)? {
                // Rings the doorbell.
                pair.poll(self, &mut done).map_err(Error::Command)?;
            }
            self.go_on(&run, pair.outstanding())?;
        }
        self.dma_free(run.buffer);
        run.fed.duration = run.out - run.began;
        Ok(run.fed)
    }

    /// Lets time pass until something happens, at the drive or in the card.
    fn go_on(&mut self, run: &Run, outstanding: usize) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BusError::Interrupted.into());
        }
        let now = self.machine.now;
        if outstanding > 0 && now - run.heard > PATIENCE {
            return Err(Error::HostStuck {
                outstanding,
                seconds: PATIENCE / SECOND,
            });
        }
        let next = self
            .machine
            .next_event()
            .into_iter()
            .chain(run.next_event());
        self.machine.now = next.min().unwrap_or(now + NOTHING_DUE).max(now + 1);
        self.pass()?;
        Ok(())
    }
}

/// Pages of the buffer, taken and freed in order.
#[derive(Debug, Default)]
struct Ring {
    next: u64,
    held: u64,
}

impl Ring {
    fn has_room(&self) -> bool {
        self.held < PAGES
    }

    fn take(&mut self) -> u64 {
        let page = self.next;
        self.next = (page + 1) % PAGES;
        self.held += 1;
        page
    }
}

/// A command from when it is cut until its pages are free.
#[derive(Debug, Clone, Copy)]
struct Command {
    at: u64,
    page: u64,
    pages: u64,
    /// The last of its chunk.
    ends: bool,
    cid: Option<u16>,
    done: bool,
}

/// What comes in: chunks and when they begin.
#[derive(Debug)]
struct Source {
    pace: Option<FeedPace>,
    chunk: u64,
    left: u64,
    /// Chunks that were offered, and when the next one begins.
    offered: u64,
    began: Time,
    next: Time,
    /// When chunks begin that have been taken and are not yet in the streamer.
    taken: VecDeque<Time>,
    /// Chunks that were taken.
    count: u64,
    in_gap: bool,
}

impl Source {
    fn new(feed: &Feed, now: Time) -> Self {
        Self {
            pace: feed.pace,
            chunk: feed.chunk_bytes,
            left: feed.chunks,
            offered: 0,
            began: now,
            next: now,
            taken: VecDeque::new(),
            count: 0,
            in_gap: false,
        }
    }

    /// When this number of bytes behind the begin of a chunk is here.
    fn after(&self, bytes: u64) -> Time {
        let rate = self.pace.map_or(u64::MAX, |pace| pace.bytes_per_second);
        (u128::from(bytes) * u128::from(SECOND) / u128::from(rate)) as Time
    }

    /// Chunks begin that have to by now; `through` bytes have left the FIFO.
    fn offer(&mut self, now: Time, through: u64, fed: &mut Fed) {
        let Some(pace) = self.pace else {
            return;
        };
        while self.offered < self.left && self.next <= now {
            // All chunks before this one are here whole.
            let level = self.count * self.chunk - through + self.chunk;
            fed.offered += self.chunk;
            if level > pace.fifo_bytes {
                fed.lost += self.chunk;
                fed.gaps += u64::from(!self.in_gap);
                self.in_gap = true;
            } else {
                fed.fifo_most = fed.fifo_most.max(level);
                self.taken.push_back(self.next);
                self.count += 1;
                self.in_gap = false;
            }
            self.offered += 1;
            self.next = self.began + self.after(self.offered * self.chunk);
        }
    }

    /// Whether no chunk is to come any more, of which this number has left the FIFO.
    fn is_empty(&self, begun: u64) -> bool {
        match self.pace {
            Some(_) => self.offered == self.left && begun == self.count,
            None => begun == self.left,
        }
    }

    /// When the bytes of the first chunk that waits are here as far as these; none: it has not begun.
    fn arrival(&self, bytes: u64) -> Option<Time> {
        match self.pace {
            Some(_) => self.taken.front().map(|begin| begin + self.after(bytes)),
            None => Some(0),
        }
    }
}

/// A run, from one moment to the next.
struct Run {
    feed: Feed,
    /// Most pages of a command.
    most: u64,
    buffer: DmaBuffer,
    began: Time,
    ring: Ring,
    /// Bytes of the open chunk that have been taken, or asked for; 0: none is open.
    open: u64,
    /// Address behind them, and of the command that is being built.
    open_at: u64,
    cut: u64,
    /// Commands that wait for a place in the queue; those that are not yet retired, oldest first.
    waiting: VecDeque<Command>,
    commands: VecDeque<Command>,
    /// The page that is being filled: when it is whole, and its number; when the last one was.
    page: Option<(Time, u64)>,
    through: Time,
    source: Source,
    /// Chunks that have begun, and that have ended.
    begun: u64,
    ended: u64,
    /// Commands whose data are on their way out, and when they are out.
    leaving: VecDeque<(Time, Command)>,
    /// When the last data, or the last response, come out.
    out: Time,
    heard: Time,
    fed: Fed,
}

impl Run {
    fn is_over(&self) -> bool {
        self.source.is_empty(self.begun) && self.open == 0 && self.ended == self.begun
    }

    /// Bytes that have left the FIFO.
    fn through_bytes(&self) -> u64 {
        let whole = self.begun - u64::from(self.open > 0);
        let filling = self.page.map_or(0, |_| PAGE);
        whole * self.feed.chunk_bytes + self.open - filling
    }

    /// Takes what the source has, page by page, and cuts commands.
    fn take_pages(&mut self, now: Time, in_flight: usize) {
        let grow = in_flight >= BUSY_COMMANDS;
        if let Some((whole, page)) = self.page
            && whole <= now
        {
            self.page = None;
            let pages = (self.open_at - self.cut) / PAGE;
            let ends = self.open == self.feed.chunk_bytes;
            if ends {
                self.open = 0;
                self.source.taken.pop_front();
            }
            let wraps = page + 1 == PAGES;
            if ends || wraps || pages == self.most || (pages >= WRITE_PAGES && !grow) {
                self.push(ends);
            }
        } else if self.page.is_none() && self.open > 0 && !grow {
            // The drive has meanwhile become idle.
            let pages = (self.open_at - self.cut) / PAGE;
            if pages > WRITE_PAGES {
                self.push(false);
            }
        }
        if self.page.is_some() || !self.ring.has_room() || self.waiting.len() >= WAITING {
            return;
        }
        let begins = self.open == 0;
        let may_begin =
            !self.source.is_empty(self.begun) && self.begun - self.ended < self.feed.outstanding;
        if begins && !may_begin {
            return;
        }
        let Some(here) = self.source.arrival(self.open + PAGE) else {
            return;
        };
        // The address is a beat of its own.
        let beats = PAGE / BEAT + u64::from(begins);
        let whole = (self.through.max(now) + beats * self.feed.clock).max(here);
        self.begun += u64::from(begins);
        let page = self.ring.take();
        self.open += PAGE;
        self.open_at += PAGE;
        self.through = whole;
        self.page = Some((whole, page));
    }

    /// The command that is being built is complete.
    fn push(&mut self, ends: bool) {
        let pages = (self.open_at - self.cut) / PAGE;
        let page = (self.ring.next + PAGES - pages) % PAGES;
        self.waiting.push_back(Command {
            at: self.cut,
            page,
            pages,
            ends,
            cid: None,
            done: false,
        });
        self.cut = self.open_at;
    }

    /// Asks for chunks, as far as there are pages for what comes.
    fn ask(&mut self) {
        while self.waiting.len() < WAITING && self.ring.has_room() {
            if self.open == 0 {
                let may_begin = !self.source.is_empty(self.begun)
                    && self.begun - self.ended < self.feed.outstanding;
                if !may_begin {
                    return;
                }
                self.begun += 1;
            }
            let page = self.ring.take();
            self.open += PAGE;
            self.open_at += PAGE;
            let ends = self.open == self.feed.chunk_bytes;
            let pages = (self.open_at - self.cut) / PAGE;
            if ends || pages == self.most || page + 1 == PAGES {
                self.push(ends);
            }
            if ends {
                self.open = 0;
            }
        }
    }

    /// Sends what there is room for; tells whether there was something.
    fn send(
        &mut self,
        card: &mut Reference,
        pair: &mut QueuePair,
        namespace: &Namespace,
    ) -> Result<bool> {
        let before = self.fed.commands;
        if pair.outstanding() == 0 {
            self.heard = card.machine.now;
        }
        while pair.room() > 0
            && let Some(mut command) = self.waiting.pop_front()
        {
            let lba = command.at >> namespace.block_shift;
            let blocks = ((command.pages * PAGE) >> namespace.block_shift) as u32;
            let span = Span {
                buffer: &self.buffer,
                offset: (command.page * PAGE) as usize,
            };
            let cid = match self.feed.direction {
                Direction::Write => pair.write(card, namespace, lba, blocks, span, false),
                Direction::Read => pair.read(card, namespace, lba, blocks, span),
            };
            command.cid = Some(cid.map_err(Error::Command)?);
            self.fed.commands += 1;
            self.commands.push_back(command);
        }
        Ok(self.fed.commands > before)
    }

    fn complete(&mut self, Done { cid, status }: Done, now: Time) -> Result<()> {
        if !status.is_success() {
            return Err(Error::Command(forebay_driver::Error::Command {
                command: "the recorder's command",
                status,
            }));
        }
        self.fed.longest_wait = self.fed.longest_wait.max(now - self.heard);
        self.heard = now;
        let mut open = self.commands.iter_mut();
        if let Some(command) = open.find(|command| command.cid == Some(cid) && !command.done) {
            command.done = true;
        }
        Ok(())
    }

    /// Frees pages in the order in which they were taken; data that were read go out.
    fn retire(&mut self, now: Time) {
        while let Some(command) = self.commands.pop_front_if(|command| command.done) {
            self.out = self.out.max(now);
            if self.feed.direction == Direction::Read {
                self.out += command.pages * PAGE / BEAT * self.feed.clock;
            }
            self.leaving.push_back((self.out, command));
        }
    }

    /// Chunks end whose time has come.
    fn end_chunks(&mut self, now: Time, seen: &mut dyn FnMut(u64)) {
        while let Some((_, command)) = self.leaving.pop_front_if(|(time, _)| *time <= now) {
            self.ring.held -= command.pages;
            if command.ends {
                self.fed.last = Some(self.feed.start + self.ended * self.feed.chunk_bytes);
                self.ended += 1;
                self.fed.bytes += self.feed.chunk_bytes;
                seen(self.fed.bytes);
            }
        }
    }

    fn next_event(&self) -> Option<Time> {
        let page = self.page.map(|(whole, _)| whole);
        let end = self.leaving.front().map(|(time, _)| *time);
        let begin = (self.source.offered < self.source.left && self.feed.pace.is_some())
            .then_some(self.source.next);
        page.into_iter().chain(end).chain(begin).min()
    }
}

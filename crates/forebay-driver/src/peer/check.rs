// SPDX-License-Identifier: Apache-2.0
//! The check, step by step.

use std::collections::HashSet;
use std::time::Duration;

use forebay_spec::nvme::Status;
use forebay_spec::nvme::prp;

use super::{Memory, Method, Report, Settings, Test, Way};
use crate::bus::{Bus, DmaBuffer};
use crate::controller::PAGE_BYTES;
use crate::error::Error;
use crate::facts::Namespace;
use crate::poll;
use crate::queue_pair::{QueuePair, Span};
use crate::session::Session;

const PAGE: usize = PAGE_BYTES as usize;
/// Sizes of commands, besides one block and the greatest possible.
const SIZES: [u64; 3] = [4096, 8192, 65_536];
/// Places of the medium that are looked at for content that is not all the same.
const LOOKS: u32 = 16;
/// Most pages of the command whose PRP list is in the peer's memory.
const LIST_PAGES: usize = 17;
/// Least: with two pages there is no list (4.1.1).
const LIST_LEAST: usize = 3;
/// A completion may overtake the payload, as the two go different ways: a difference counts only if
/// this number of further comparisons, at intervals of [`PAUSE`], shows it too.
const PATIENCE: u32 = 3;
const PAUSE: Duration = Duration::from_millis(10);

/// Compares bytes in both directions between the session's drive and memory of another device.
///
/// The session holds its queues in host memory. The peer's memory is restored afterwards; what the
/// drive stores is not changed, but for [`Settings::scratch`], which is restored, too. A bus that
/// is interrupted meanwhile, or fails, keeps both from being restored.
///
/// # Errors
/// Where the check cannot be made: that bytes differ is none, but in the report.
pub fn check(
    bus: &mut dyn Bus,
    session: &mut Session,
    memory: &Memory,
    settings: &Settings,
) -> Result<Report, Error> {
    let address = memory.address(bus)?;
    let facts = session.facts().clone();
    let namespace = facts.namespace;
    let most = most(&namespace, facts.transfer_bytes, memory.bytes, settings)?;
    let pages = list_pages(&namespace, facts.transfer_bytes);
    let Some(pair) = session.queue_pair() else {
        return Err(Error::NotFound {
            what: "a queue in host memory",
            seen: "the session has its queues in the FPGA".into(),
            remedy: "bring the drive up with QueuePlacement::Host",
        });
    };
    let room = (most as usize).max(2 * pages * PAGE);
    // What the memory held is put back in any case; words, so also of a block smaller than a page.
    let mut saved = vec![0; (most as usize).max(PAGE)];
    memory.read(bus, 0, &mut saved)?;
    let here = bus.dma_alloc(room, PAGE)?;
    let mut check = Check {
        bus,
        pair,
        namespace,
        memory,
        there: DmaBuffer {
            address,
            len: memory.bytes as usize,
        },
        here,
        settings,
        random: Random(settings.seed),
        tests: Vec::new(),
        left_out: Vec::new(),
    };
    let done = check.all(most, pages, facts.controller.compare, |check| {
        if facts.controller.volatile_write_cache {
            check.command(|pair, bus, _, namespace| pair.flush(bus, namespace))?;
        }
        Ok(())
    });
    let Check {
        bus,
        here,
        tests,
        left_out,
        ..
    } = check;
    let restored = memory.write(bus, 0, &saved);
    let content = done?;
    restored?;
    // After an error the drive might still write there: then it stays taken.
    bus.dma_free(here);
    Ok(Report {
        drive: facts.nvme.address,
        memory: *memory,
        address,
        seed: settings.seed,
        namespace,
        lba: content.lba,
        words: (content.bytes.len() / 8) as u64,
        distinct_words: distinct(&content.bytes),
        tests,
        left_out,
    })
}

/// Most bytes of one command, a multiple of the page where it is more than one.
fn most(
    namespace: &Namespace,
    transfer: u64,
    memory: u64,
    settings: &Settings,
) -> Result<u64, Error> {
    let limits = [transfer, memory, namespace.bytes(), settings.largest];
    let most = limits.into_iter().min().unwrap_or(0);
    let unit = if most < PAGE_BYTES {
        namespace.block_bytes()
    } else {
        PAGE_BYTES
    };
    match most - most % unit {
        0 => {
            let limit = format!("a block has {}", namespace.block_bytes());
            Err(Error::parameter("most bytes of a command", most, limit))
        }
        bytes => Ok(bytes),
    }
}

/// Pages of the command with its list in the peer's memory; 0 where the drive moves too few.
fn list_pages(namespace: &Namespace, transfer: u64) -> usize {
    let pages = (transfer.min(namespace.bytes()) / PAGE_BYTES).min(LIST_PAGES as u64) as usize;
    if pages < LIST_LEAST { 0 } else { pages }
}

/// Different words of 8 bytes.
fn distinct(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().collect::<HashSet<_>>().len() as u64
}

fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Below `end`, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        let mut bytes: Vec<u8> = words.collect();
        bytes.truncate(count);
        bytes
    }

    /// The first `count` of a random order of `0..end`.
    fn some_of(&mut self, count: usize, end: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..end).collect();
        for at in 0..count.min(end) {
            let other = at + self.below((end - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}

/// What the medium holds at a place.
struct Content {
    lba: u64,
    bytes: Vec<u8>,
}

struct Check<'a> {
    bus: &'a mut dyn Bus,
    pair: &'a mut QueuePair,
    namespace: Namespace,
    memory: &'a Memory,
    /// A handle on memory that is not the host's.
    there: DmaBuffer,
    here: DmaBuffer,
    settings: &'a Settings,
    random: Random,
    tests: Vec<Test>,
    left_out: Vec<&'static str>,
}

impl Check<'_> {
    fn all(
        &mut self,
        most: u64,
        pages: usize,
        compares: bool,
        flush: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Content, Error> {
        self.copy(most)?;
        let content = self.content(most)?;
        let mut sizes = vec![self.namespace.block_bytes(), most];
        sizes.extend(SIZES);
        sizes.retain(|size| (self.namespace.block_bytes()..=most).contains(size));
        sizes.sort_unstable();
        sizes.dedup();
        for bytes in &sizes {
            let truth = &content.bytes[..*bytes as usize];
            self.read_into_peer(content.lba, truth)?;
            if compares {
                self.compare_with_peer(content.lba, truth)?;
            }
        }
        if !compares {
            self.left_out
                .push("Compare: the drive does not know this command");
        }
        self.list(pages)?;
        if let Some(lba) = self.settings.scratch {
            self.scratch(lba, &sizes)?;
            flush(self)?;
        }
        Ok(content)
    }

    /// Whether the processor reaches the memory, and whether it is memory at all.
    fn copy(&mut self, most: u64) -> Result<(), Error> {
        let pattern = self.random.bytes((most as usize).max(PAGE));
        self.memory.write(self.bus, 0, &pattern)?;
        let test = self.compare_there(Method::Copy, Way::HostAndPeer, &pattern, None)?;
        self.tests.push(test);
        Ok(())
    }

    /// Looks for a place whose content tells one byte from another.
    fn content(&mut self, most: u64) -> Result<Content, Error> {
        let blocks = most >> self.namespace.block_shift;
        let mut best: Option<(u64, Content)> = None;
        let mut refused = Status::SUCCESS;
        for look in 0..LOOKS {
            let lba = match look {
                0 => 0,
                _ => self.random.below(self.namespace.blocks - blocks + 1),
            };
            let mut bytes = vec![0; most as usize];
            let status = self.read_here(lba, &mut bytes)?;
            if !status.is_success() {
                refused = status;
                continue;
            }
            let different = distinct(&bytes);
            if best.as_ref().is_none_or(|(most, _)| different > *most) {
                best = Some((different, Content { lba, bytes }));
            }
            // Half of the words are enough, and what is compressed or encrypted has all.
            if different > most / 16 {
                break;
            }
        }
        best.map(|(_, content)| content).ok_or(Error::Command {
            command: "Read",
            status: refused,
        })
    }

    fn read_into_peer(&mut self, lba: u64, truth: &[u8]) -> Result<(), Error> {
        // Every single byte has to change.
        self.memory.write(self.bus, 0, &inverted(truth))?;
        let blocks = self.blocks(truth.len());
        let status = self.command(|pair, bus, there, namespace| {
            pair.read(bus, namespace, lba, blocks, start_of(there))
        })?;
        let test = self.compare_there(Method::Read, Way::DriveToPeer, truth, Some(status))?;
        self.tests.push(test);
        Ok(())
    }

    fn compare_with_peer(&mut self, lba: u64, truth: &[u8]) -> Result<(), Error> {
        self.memory.write(self.bus, 0, truth)?;
        let status = self.compare(lba, 0, truth.len())?;
        let mut test = Test {
            way: Way::PeerToDrive,
            method: Method::Compare,
            bytes: truth.len() as u64,
            compared: truth.len() as u64,
            different: 0,
            first_difference: None,
            status: Some(status.to_string()),
            good: status.is_success(),
        };
        if !test.good {
            self.locate(lba, &mut test)?;
        }
        self.tests.push(test.clone());

        // One that always says yes is found out.
        let at = self.random.below(truth.len() as u64) as usize;
        let word = at - at % 8;
        let mut changed = truth[word..word + 8].to_vec();
        changed[at - word] ^= 1 << self.random.below(8);
        self.memory.write(self.bus, word as u64, &changed)?;
        let status = self.compare(lba, 0, truth.len())?;
        let noticed = is_difference(status);
        self.tests.push(Test {
            method: Method::CompareChanged,
            different: u64::from(!noticed),
            first_difference: (!noticed).then_some(at as u64),
            status: Some(status.to_string()),
            good: noticed,
            ..test
        });
        Ok(())
    }

    /// Asks block by block which of them differ.
    fn locate(&mut self, lba: u64, test: &mut Test) -> Result<(), Error> {
        let block = self.namespace.block_bytes();
        for number in 0..test.bytes / block {
            let status = self.compare(lba + number, number * block, block as usize)?;
            if !status.is_success() {
                test.different += block;
                test.first_difference.get_or_insert(number * block);
            }
        }
        Ok(())
    }

    fn compare(&mut self, lba: u64, offset: u64, bytes: usize) -> Result<Status, Error> {
        let blocks = self.blocks(bytes);
        self.command(|pair, bus, there, namespace| {
            let offset = offset as usize;
            let buffer = there;
            pair.compare(bus, namespace, lba, blocks, Span { buffer, offset })
        })
    }

    /// Reads into host pages by a list in the peer's memory, whose entries are a random choice of
    /// pages in random order. Even where the content of the medium is all the same, it must change
    /// these pages and no others.
    fn list(&mut self, pages: usize) -> Result<(), Error> {
        let failed = |test: &Test| test.way == Way::PeerToDrive && !test.good;
        let proven = |test: &Test| test.method == Method::Compare && test.good;
        if pages == 0 {
            self.left_out
                .push("PRP list: the drive moves less than three pages by one command");
            return Ok(());
        }
        if self.tests.iter().any(failed) {
            self.left_out.push(
                "PRP list: the drive reads the peer wrongly, and would take stray addresses from it",
            );
            return Ok(());
        }
        if !self.settings.guarded && !self.tests.iter().any(proven) {
            self.left_out.push(
                "PRP list: no IOMMU would stop the drive if it took stray addresses from the peer",
            );
            return Ok(());
        }
        let (bytes, pool) = (pages * PAGE, 2 * pages);
        let mut truth = vec![0; bytes];
        let blocks = self.blocks(bytes);
        let lba = self
            .random
            .below(self.namespace.blocks - u64::from(blocks) + 1);
        let status = self.read_here(lba, &mut truth)?;
        if !status.is_success() {
            self.left_out
                .push("PRP list: the drive could not read the blocks chosen");
            return Ok(());
        }
        let chosen = self.random.some_of(pages, pool);
        let mut expected = self.random.bytes(pool * PAGE);
        let mut before = expected.clone();
        for (page, truth) in chosen.iter().zip(truth.chunks(PAGE)) {
            let place = page * PAGE..(page + 1) * PAGE;
            expected[place.clone()].copy_from_slice(truth);
            before[place].copy_from_slice(&inverted(truth));
        }
        self.bus.dma_write(&self.here, 0, &before)?;
        let address = |page: &usize| self.here.address + (page * PAGE) as u64;
        let first = chosen.first().map(address).unwrap_or_default();
        let list: Vec<u8> = chosen[1..]
            .iter()
            .flat_map(|page| address(page).to_le_bytes())
            .collect();
        // At the page's end: some controllers read on to there, whatever the length.
        let at = PAGE_BYTES - list.len() as u64;
        debug_assert!(list.len().is_multiple_of(prp::ENTRY_BYTES as usize));
        self.memory.write(self.bus, at, &list)?;
        let list_at = self.there.address + at;
        let status = self.command(|pair, bus, _, namespace| {
            pair.read_by_list(bus, namespace, lba, blocks, (first, list_at))
        })?;
        let mut after = vec![0; expected.len()];
        self.bus.dma_read(&self.here, 0, &mut after)?;
        self.tests.push(found(
            (Way::PeerToDrive, Method::List),
            list.len(),
            (&after, &expected),
            Some(status),
        ));
        Ok(())
    }

    /// Writes from the peer's memory, reads back, and puts back what was there.
    fn scratch(&mut self, lba: u64, sizes: &[u64]) -> Result<(), Error> {
        let most = sizes.last().copied().unwrap_or_default() as usize;
        let mut before = vec![0; most];
        let status = self.read_here(lba, &mut before)?;
        if !status.is_success() {
            let command = "Read of the scratch blocks";
            return Err(Error::Command { command, status });
        }
        let written = sizes
            .iter()
            .try_for_each(|bytes| self.write_from_peer(lba, *bytes as usize));
        let restored = self.restore(lba, &before);
        written.and(restored)
    }

    fn write_from_peer(&mut self, lba: u64, bytes: usize) -> Result<(), Error> {
        let pattern = self.random.bytes(bytes);
        self.memory.write(self.bus, 0, &pattern)?;
        let blocks = self.blocks(bytes);
        let status = self.command(|pair, bus, there, namespace| {
            pair.write(bus, namespace, lba, blocks, start_of(there), false)
        })?;
        let mut back = vec![0; bytes];
        let read = self.read_here(lba, &mut back)?;
        let status = if status.is_success() { read } else { status };
        self.tests.push(found(
            (Way::PeerToDrive, Method::Write),
            bytes,
            (&back, &pattern),
            Some(status),
        ));
        Ok(())
    }

    fn restore(&mut self, lba: u64, before: &[u8]) -> Result<(), Error> {
        self.bus.dma_write(&self.here, 0, before)?;
        let (blocks, here) = (self.blocks(before.len()), self.here.clone());
        let status = self.command(|pair, bus, _, namespace| {
            pair.write(bus, namespace, lba, blocks, start_of(&here), false)
        })?;
        let mut back = vec![0; before.len()];
        let read = self.read_here(lba, &mut back)?;
        // Where no Write went through, nothing was lost either.
        if read.is_success() && back == before {
            return Ok(());
        }
        Err(Error::Refused {
            field: "the content of the scratch blocks",
            value: format!("not restored: Write {status}, Read {read}"),
            limit: "it was to be as before".into(),
            remedy: "the blocks named as scratch have lost their content: restore them yourself",
        })
    }

    /// Reads blocks into host memory, and from there.
    fn read_here(&mut self, lba: u64, into: &mut [u8]) -> Result<Status, Error> {
        let (blocks, here) = (self.blocks(into.len()), self.here.clone());
        let status = self.command(|pair, bus, _, namespace| {
            pair.read(bus, namespace, lba, blocks, start_of(&here))
        })?;
        self.bus.dma_read(&self.here, 0, into)?;
        Ok(status)
    }

    /// Compares the peer's memory with what it should hold.
    fn compare_there(
        &mut self,
        method: Method,
        way: Way,
        expected: &[u8],
        status: Option<Status>,
    ) -> Result<Test, Error> {
        let mut seen = vec![0; expected.len()];
        for look in 0..=PATIENCE {
            self.memory.read(self.bus, 0, &mut seen)?;
            if seen == expected || look == PATIENCE {
                break;
            }
            poll::wait(self.bus, PAUSE, |_| Ok(None::<()>))?;
        }
        Ok(found(
            (way, method),
            expected.len(),
            (&seen, expected),
            status,
        ))
    }

    /// Logical blocks in `bytes`, at most 2^16.
    const fn blocks(&self, bytes: usize) -> u32 {
        (bytes as u64 >> self.namespace.block_shift) as u32
    }

    /// Sends a command and waits for its status.
    fn command(
        &mut self,
        submit: impl FnOnce(&mut QueuePair, &mut dyn Bus, &DmaBuffer, &Namespace) -> Result<u16, Error>,
    ) -> Result<Status, Error> {
        let cid = submit(self.pair, self.bus, &self.there, &self.namespace)?;
        let mut done = Vec::new();
        self.pair.finish(self.bus, self.settings.limit, &mut done)?;
        let mine = done.iter().find(|done| done.cid == cid);
        mine.map(|done| done.status).ok_or_else(|| Error::NotFound {
            what: "the completion of the command",
            seen: format!("{} completions of others", done.len()),
            remedy: "no other program may use this queue meanwhile",
        })
    }
}

const fn start_of(buffer: &DmaBuffer) -> Span<'_> {
    Span { buffer, offset: 0 }
}

/// Compare Failure (NVM Command Set 1.0c, 3.2.1), whatever the other bits.
const fn is_difference(status: Status) -> bool {
    let known = Status::COMPARE_FAILURE;
    status.sct() == known.sct() && status.sc() == known.sc()
}

/// A test of these bytes against those expected.
fn found(
    (way, method): (Way, Method),
    bytes: usize,
    (seen, expected): (&[u8], &[u8]),
    status: Option<Status>,
) -> Test {
    let differs = |(seen, expected): (&u8, &u8)| seen != expected;
    let pairs = || seen.iter().zip(expected);
    let different = pairs().filter(|pair| differs(*pair)).count() as u64;
    Test {
        way,
        method,
        bytes: bytes as u64,
        compared: expected.len() as u64,
        different,
        first_difference: pairs().position(differs).map(|at| at as u64),
        status: status.map(|status| status.to_string()),
        good: different == 0 && status.is_none_or(Status::is_success),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(block_shift: u8, sectors: u64) -> Namespace {
        Namespace {
            nsid: 1,
            block_shift,
            blocks: sectors >> (block_shift - 9),
            sectors,
        }
    }

    #[test]
    fn sizes_keep_every_limit() {
        let largest = |largest| Settings {
            largest,
            ..Settings::default()
        };
        let drive = namespace(9, 1 << 20);
        let of = |most: u64, memory, limit| super::most(&drive, most, memory, &largest(limit)).ok();
        assert_eq!(of(1 << 20, 4 << 20, u64::MAX), Some(1 << 20));
        assert_eq!(of(1 << 20, 8192, u64::MAX), Some(8192));
        assert_eq!(of(1 << 20, 8192, 5000), Some(4096));
        assert_eq!(of(1 << 20, 8192, 1025), Some(1024));
        assert_eq!(of(1 << 20, 8192, 511), None);
        let tiny = namespace(9, 3);
        let settings = largest(u64::MAX);
        let most = super::most(&tiny, 1 << 20, 1 << 20, &settings).ok();
        assert_eq!(most, Some(1536));
        assert_eq!(list_pages(&tiny, 1 << 20), 0);
        assert_eq!(list_pages(&drive, 8192), 0);
        assert_eq!(list_pages(&drive, 12_288), 3);
        assert_eq!(list_pages(&drive, 1 << 20), LIST_PAGES);
    }

    #[test]
    fn choices_are_random_and_never_twice() {
        let mut random = Random(7);
        let some = random.some_of(17, 34);
        let different: HashSet<_> = some.iter().collect();
        assert_eq!((some.len(), different.len()), (17, 17));
        assert!(some.iter().all(|page| *page < 34));
        assert_ne!(some, random.some_of(17, 34));
        assert_eq!(random.some_of(2, 0), Vec::<usize>::new());
        assert_eq!(random.bytes(13).len(), 13);
    }

    #[test]
    fn differences_are_counted() {
        let kind = (Way::DriveToPeer, Method::Read);
        let test = found(kind, 4, (&[1, 2, 3, 4], &[1, 0, 3, 0]), None);
        assert_eq!((test.different, test.first_difference), (2, Some(1)));
        assert!(!test.good);
        let failed = found(kind, 1, (&[1], &[1]), Some(Status::INTERNAL_ERROR));
        assert!(!failed.good && failed.different == 0);
        assert!(is_difference(Status::from_bits(0x285)));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What a drive stores: a sparse file, or sparse pages in memory.

use crate::{ModelError, Poison};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a page in memory.
const PAGE: u64 = 4096;
/// Pages in a block of the table: 2 MiB of data.
const BLOCK_PAGES: u64 = 512;

type Page = Box<[u8; PAGE as usize]>;
type Block = Box<[Slot<Page>; BLOCK_PAGES as usize]>;

/// A page or a block of pages in memory.
#[derive(Debug)]
enum Slot<T> {
    /// It was never written.
    Unwritten,
    /// It was made zero.
    Zeros,
    Written(T),
}

/// The medium of a drive. What was never written reads as zeros, or as [`Poison`], and takes no room.
#[derive(Debug)]
pub struct Medium {
    len: u64,
    poison: Poison,
    store: Store,
}

#[derive(Debug)]
enum Store {
    /// A table of blocks of pages: found by two index steps, without hashing.
    Memory(Vec<Slot<Block>>),
    /// From this byte of it on.
    File { file: File, start: u64 },
    /// Nothing is kept.
    Nowhere,
}

impl Medium {
    /// A medium in memory, gone with the process.
    pub fn in_memory(len: u64) -> Self {
        Self::poisoned(len, Poison::Zeros)
    }

    /// A medium in memory that reads as this pattern where nothing was written. Ranges that are made
    /// zero read as zeros.
    pub fn poisoned(len: u64, poison: Poison) -> Self {
        Self {
            len,
            poison,
            store: Store::Memory(Vec::new()),
        }
    }

    /// A medium that forgets what is written and reads as zeros: a whole drive takes no room, where
    /// times are all that is asked for.
    pub fn forgetful(len: u64) -> Self {
        Self {
            len,
            poison: Poison::Zeros,
            store: Store::Nowhere,
        }
    }

    /// A medium in a file, made if need be and kept afterwards. Holes stay holes.
    ///
    /// # Errors
    /// Where the file cannot be opened or sized.
    pub fn in_file(path: &Path, len: u64) -> Result<Self, ModelError> {
        let wrap = |source| ModelError::File {
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(wrap)?;
        if file.metadata().map_err(wrap)?.len() < len {
            file.set_len(len).map_err(wrap)?;
        }
        Ok(Self::in_part_of(file, 0, len))
    }

    /// A medium in a file without a name, for more data than there is memory.
    ///
    /// # Errors
    /// Where no temporary file can be made.
    pub fn in_temporary_file(len: u64) -> Result<Self, ModelError> {
        let path = std::env::temp_dir();
        let wrap = |source| ModelError::File {
            path: path.clone(),
            source,
        };
        let file = tempfile::tempfile().map_err(wrap)?;
        file.set_len(len).map_err(wrap)?;
        Ok(Self::in_part_of(file, 0, len))
    }

    /// A medium in a file that is open, in its bytes from `start` on; another program may have
    /// these mapped.
    pub fn in_part_of(file: File, start: u64, len: u64) -> Self {
        Self {
            len,
            poison: Poison::Zeros,
            store: Store::File { file, start },
        }
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// Where the range ends past the medium, or the file fails.
    pub fn read(&self, offset: u64, len: usize) -> io::Result<Box<[u8]>> {
        self.check(offset, len as u64)?;
        match &self.store {
            Store::Memory(blocks) => {
                let at = offset % PAGE;
                if at + len as u64 <= PAGE {
                    // One page at most: no zeroing ahead of the copy.
                    if let Slot::Written(page) = page(blocks, offset / PAGE) {
                        return Ok(page[at as usize..at as usize + len].into());
                    }
                }
                let mut data = vec![0; len];
                for (place, within, number) in parts(offset, len) {
                    match page(blocks, number) {
                        Slot::Written(page) => data[place].copy_from_slice(&page[within]),
                        Slot::Unwritten => {
                            let at = number * PAGE + within.start as u64;
                            self.poison.fill(at, &mut data[place]);
                        }
                        Slot::Zeros => {}
                    }
                }
                Ok(data.into())
            }
            Store::File { file, start } => {
                let mut data = vec![0; len];
                file.read_exact_at(&mut data, start + offset)?;
                Ok(data.into())
            }
            Store::Nowhere => Ok(vec![0; len].into()),
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// Where the range ends past the medium, or the file fails.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check(offset, data.len() as u64)?;
        match &mut self.store {
            Store::Memory(blocks) => {
                for (place, within, number) in parts(offset, data.len()) {
                    let page = page_mut(blocks, number, &self.poison);
                    page[within].copy_from_slice(&data[place]);
                }
                Ok(())
            }
            Store::File { file, start } => file.write_all_at(data, *start + offset),
            Store::Nowhere => Ok(()),
        }
    }

    /// Makes a range read as zeros and gives its room back, as far as whole pages go.
    ///
    /// # Errors
    /// Where the range ends past the medium, or the file fails.
    pub fn zero(&mut self, range: Range<u64>) -> io::Result<()> {
        let len = range.end.saturating_sub(range.start);
        self.check(range.start, len)?;
        match &mut self.store {
            Store::Memory(blocks) => {
                // Without a pattern, what lies past the table is zero already.
                if self.poison != Poison::Zeros {
                    reach(blocks, range.end.div_ceil(PAGE * BLOCK_PAGES));
                }
                zero_pages(blocks, range, &self.poison);
            }
            Store::Nowhere => {}
            Store::File { .. } if len == 0 => {}
            Store::File { file, start } => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let first = *start + range.start;
                if fallocate(&*file, hole, first, len).is_err() {
                    write_zeros(file, first..first + len)?;
                }
            }
        }
        Ok(())
    }

    /// What it reads as from this offset on where it was not written.
    pub fn unwritten(&self, offset: u64, into: &mut [u8]) {
        self.poison.fill(offset, into);
    }

    fn check(&self, offset: u64, len: u64) -> io::Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Cuts a range at pages: place in the caller's bytes, place in the page, number of the page.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>, u64)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done >= len {
            return None;
        }
        let at = offset + done as u64;
        let within = (at % PAGE) as usize;
        let count = (PAGE as usize - within).min(len - done);
        let part = (done..done + count, within..within + count, at / PAGE);
        done += count;
        Some(part)
    })
}

/// Zeroes a range in memory. It may be the whole medium: whole blocks are forgotten.
fn zero_pages(blocks: &mut [Slot<Block>], range: Range<u64>, poison: &Poison) {
    const BLOCK: u64 = BLOCK_PAGES * PAGE;
    let plain = *poison == Poison::Zeros;
    let mut at = range.start;
    while at < range.end {
        let Some(slot) = blocks.get_mut((at / BLOCK) as usize) else {
            return;
        };
        let end = range.end.min((at / BLOCK + 1) * BLOCK);
        let zero = match slot {
            Slot::Unwritten => plain,
            Slot::Zeros => true,
            Slot::Written(_) => false,
        };
        if zero || end - at == BLOCK {
            *slot = Slot::Zeros;
            at = end;
            continue;
        }
        let block = slot.block();
        while at < end {
            let page_end = end.min((at / PAGE + 1) * PAGE);
            let page = &mut block[(at / PAGE % BLOCK_PAGES) as usize];
            if page_end - at == PAGE {
                *page = Slot::Zeros;
            } else {
                let first = at / PAGE * PAGE;
                page.bytes(first, poison)[(at - first) as usize..(page_end - first) as usize]
                    .fill(0);
            }
            at = page_end;
        }
    }
}

/// Zeroes a range of a file whose file system knows no holes.
fn write_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut at = range.start;
    while at < range.end {
        let len = (range.end - at).min(zeros.len() as u64);
        file.write_all_at(&zeros[..len as usize], at)?;
        at += len;
    }
    Ok(())
}

impl Slot<Block> {
    /// The pages of a block, each with a state of its own from now on.
    fn block(&mut self) -> &mut Block {
        let pages = match self {
            Self::Unwritten => Box::new([const { Slot::Unwritten }; BLOCK_PAGES as usize]),
            Self::Zeros => Box::new([const { Slot::Zeros }; BLOCK_PAGES as usize]),
            Self::Written(block) => return block,
        };
        *self = Self::Written(pages);
        self.block()
    }
}

impl Slot<Page> {
    /// The bytes of the page at this address, to write some of them.
    fn bytes(&mut self, address: u64, poison: &Poison) -> &mut Page {
        let mut page = match self {
            Self::Written(page) => return page,
            Self::Zeros | Self::Unwritten => Box::new([0; PAGE as usize]),
        };
        if matches!(self, Self::Unwritten) {
            poison.fill(address, &mut page[..]);
        }
        *self = Self::Written(page);
        self.bytes(address, poison)
    }
}

fn page(blocks: &[Slot<Block>], number: u64) -> &Slot<Page> {
    match blocks.get((number / BLOCK_PAGES) as usize) {
        Some(Slot::Written(block)) => &block[(number % BLOCK_PAGES) as usize],
        Some(Slot::Zeros) => &Slot::Zeros,
        Some(Slot::Unwritten) | None => &Slot::Unwritten,
    }
}

fn page_mut<'a>(blocks: &'a mut Vec<Slot<Block>>, number: u64, poison: &Poison) -> &'a mut Page {
    let index = number / BLOCK_PAGES;
    reach(blocks, index + 1);
    let block = blocks[index as usize].block();
    block[(number % BLOCK_PAGES) as usize].bytes(number * PAGE, poison)
}

/// Makes the table so long at least.
fn reach(blocks: &mut Vec<Slot<Block>>, len: u64) {
    if blocks.len() < len as usize {
        blocks.resize_with(len as usize, || Slot::Unwritten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves(mut medium: Medium) {
        assert_eq!(*medium.read(5000, 3).unwrap(), [0; 3]);
        let data: Vec<u8> = (0..10_000).map(|n| n as u8).collect();
        medium.write(4090, &data).unwrap();
        assert_eq!(*medium.read(4090, data.len()).unwrap(), data);
        medium.zero(4095..12_290).unwrap();
        let back = medium.read(4090, data.len()).unwrap();
        assert_eq!(back[..5], data[..5]);
        assert!(back[5..8200].iter().all(|byte| *byte == 0));
        assert_eq!(back[8200..], data[8200..]);
        medium.zero(0..medium.len()).unwrap();
        assert_eq!(*medium.read(4090, data.len()).unwrap(), vec![0; data.len()]);
        medium.zero(7..7).unwrap();
        let len = medium.len();
        assert!(medium.read(len - 1, 2).is_err());
        assert!(medium.write(u64::MAX, &[1, 2]).is_err());
    }

    #[test]
    fn memory_and_file_behave_alike() {
        behaves(Medium::in_memory(1 << 40));
        behaves(Medium::in_temporary_file(1 << 40).unwrap());
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 41).unwrap();
        behaves(Medium::in_part_of(file, 4096, 1 << 40));
    }

    #[test]
    fn a_forgetful_medium_has_its_length_and_nothing_else() {
        let mut medium = Medium::forgetful(1 << 50);
        medium.write((1 << 50) - 3, &[1, 2, 3]).unwrap();
        assert_eq!(*medium.read((1 << 50) - 3, 3).unwrap(), [0; 3]);
        medium.zero(0..1 << 50).unwrap();
        assert!(medium.write((1 << 50) - 2, &[1, 2, 3]).is_err());
        assert!(medium.read(1 << 50, 1).is_err());
    }

    #[test]
    fn poison_is_where_nothing_was_written() {
        let poison = Poison::Medium(1..2);
        let mut medium = Medium::poisoned(1 << 40, poison.clone());
        let pattern = |at: u64, len: usize| {
            let mut bytes = vec![0; len];
            poison.fill(at, &mut bytes);
            bytes
        };
        assert_eq!(*medium.read(5003, 9000).unwrap(), pattern(5003, 9000));
        medium.write(6000, b"here").unwrap();
        let back = medium.read(4096, 4096).unwrap();
        assert_eq!(back[..1904], pattern(4096, 1904));
        assert_eq!(back[1904..1908], *b"here");
        assert_eq!(back[1908..], pattern(6004, 2188));
        medium.zero(5000..1 << 22).unwrap();
        assert_eq!(*medium.read(4096, 904).unwrap(), pattern(4096, 904));
        assert_eq!(*medium.read(5000, 1 << 20).unwrap(), vec![0; 1 << 20]);
        assert_eq!(*medium.read(1 << 22, 9).unwrap(), pattern(1 << 22, 9));
        medium.write(1 << 21, b"again").unwrap();
        assert_eq!(*medium.read((1 << 21) + 5, 3).unwrap(), [0; 3]);
    }

    #[test]
    fn zeros_can_be_written_where_there_are_no_holes() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[9; 5000], 0).unwrap();
        write_zeros(&file, 10..4990).unwrap();
        let mut data = [1; 5000];
        file.read_exact_at(&mut data, 0).unwrap();
        assert!(data[10..4990].iter().all(|byte| *byte == 0));
        assert_eq!((data[9], data[4990]), (9, 9));
    }

    #[test]
    fn a_named_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("medium");
        Medium::in_file(&path, 8192)
            .unwrap()
            .write(4096, b"kept")
            .unwrap();
        assert_eq!(
            *Medium::in_file(&path, 8192).unwrap().read(4096, 4).unwrap(),
            *b"kept"
        );
        assert!(Medium::in_file(&folder.path().join("no/such"), 1).is_err());
    }
}

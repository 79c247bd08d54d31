// SPDX-License-Identifier: Apache-2.0
//! Frames as a capture: blocks of pcapng (draft-ietf-opsawg-pcapng).
//!
//! Hardware writes packets and padding; the host writes the first page.

use alloc::vec::Vec;

use super::{PAGE_BYTES, Session};
use crate::bytes::{get_u32, put};

/// Block type of a section's header (section 4.1).
pub const SECTION: u32 = 0x0a0d_0d0a;
/// What tells in it that numbers are little-endian.
pub const ORDER: u32 = 0x1a2b_3c4d;
/// Block type of an interface's description (section 4.2).
pub const INTERFACE: u32 = 1;
/// Block type of a frame (Enhanced Packet Block, section 4.3).
pub const PACKET: u32 = 6;
/// Bytes of such a block without its frame and options.
pub const PACKET_BYTES: usize = 32;
/// Option of a frame: how many were lost before it, 64 bits.
pub const LOST_OPTION: u16 = 4;
/// Bytes of that option and the end of all options.
pub const LOST_BYTES: usize = 16;
/// Block type of what fills a page: one of those for local use, which readers pass over
/// (section 11.1). On the disk it reads `FBY`, 0x80.
pub const PADDING: u32 = u32::from_le_bytes(*b"FBY\x80");
/// Bytes of any block without content.
pub const BLOCK_BYTES: usize = 12;
/// Bytes of the longest chunk: 255 pages, that of a register, or less.
pub const CHUNK_MOST: usize = 255 * PAGE_BYTES;

const LINK_ETHERNET: u16 = 1;
const COMMENT: u16 = 1;
const HARDWARE: u16 = 2;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const SPEED: u16 = 8;
const RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;
const LINE_RATE: u64 = 100_000_000_000;

/// A page that is written from its beginning on.
struct Writer {
    page: [u8; PAGE_BYTES],
    at: usize,
    begin: usize,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        put(&mut self.page, self.at, bytes);
        self.at = (self.at + bytes.len()).next_multiple_of(4);
    }

    fn begin(&mut self, kind: u32) {
        self.begin = self.at;
        self.put(&kind.to_le_bytes());
        self.at += 4;
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = value.len() as u16;
        let [a, b] = code.to_le_bytes();
        let [c, d] = length.to_le_bytes();
        self.put(&[a, b, c, d]);
        self.put(value);
    }

    /// Ends a block, whose options end with zeros.
    fn end(&mut self) {
        let length = (self.at + 4 - self.begin) as u32;
        put(&mut self.page, self.begin + 4, &length.to_le_bytes());
        self.put(&length.to_le_bytes());
    }
}

/// The page in front of the first chunk: a section's header, an interface, padding.
#[must_use]
pub fn first_page(session: Session) -> [u8; PAGE_BYTES] {
    let mut writer = Writer {
        page: [0; PAGE_BYTES],
        at: 0,
        begin: 0,
    };
    writer.begin(SECTION);
    writer.put(&ORDER.to_le_bytes());
    writer.put(&[1, 0, 0, 0]); // version 1.0
    writer.put(&[0xff; 8]); // the length of the section is not stated
    let mut comment = *b"Forebay recording 00000000-0000-0000-0000-000000000000";
    let at = comment.len() - session.text().len();
    put(&mut comment, at, &session.text());
    writer.option(COMMENT, &comment);
    writer.option(HARDWARE, b"Forebay");
    writer.option(APPLICATION, b"forebay store");
    writer.option(0, &[]);
    writer.end();
    writer.begin(INTERFACE);
    let [a, b] = LINK_ETHERNET.to_le_bytes();
    writer.put(&[a, b, 0, 0, 0, 0, 0, 0]); // no frame is cut off
    writer.option(NAME, b"mac");
    writer.option(SPEED, &LINE_RATE.to_le_bytes());
    writer.option(RESOLUTION, &[NANOSECONDS]);
    writer.option(0, &[]);
    writer.end();
    writer.begin(PADDING);
    writer.at = PAGE_BYTES - 4;
    writer.end();
    writer.page
}

/// What fills up a unit behind its first page, a block of padding: the pages with its beginning and its
/// end, and where they lie in the unit. Readers pass over what is between.
#[must_use]
pub fn behind_first_page(unit: usize) -> Vec<(usize, [u8; PAGE_BYTES])> {
    let Some(bytes) = unit.checked_sub(PAGE_BYTES).filter(|bytes| *bytes > 0) else {
        return Vec::new();
    };
    let length = (bytes as u32).to_le_bytes();
    let (mut first, mut last) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
    put(&mut last, PAGE_BYTES - 4, &length);
    if bytes == PAGE_BYTES {
        first = last;
    }
    put(&mut first, 0, &PADDING.to_le_bytes());
    put(&mut first, 4, &length);
    let mut pages = Vec::from([(PAGE_BYTES, first)]);
    if bytes > PAGE_BYTES {
        pages.push((unit - PAGE_BYTES, last));
    }
    pages
}

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'b> {
    /// Its type.
    pub kind: u32,
    /// All of it.
    pub bytes: &'b [u8],
}

/// The blocks that bytes begin with, up to the first that is none.
#[derive(Clone, Debug)]
pub struct Blocks<'b> {
    rest: &'b [u8],
}

impl<'b> Blocks<'b> {
    /// Those of a chunk.
    #[must_use]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been taken.
    #[must_use]
    pub const fn rest(&self) -> &'b [u8] {
        self.rest
    }
}

impl<'b> Iterator for Blocks<'b> {
    type Item = Block<'b>;

    fn next(&mut self) -> Option<Block<'b>> {
        if self.rest.len() < BLOCK_BYTES {
            return None;
        }
        let (kind, length) = (get_u32(self.rest, 0), get_u32(self.rest, 4));
        let length = usize::try_from(length).ok()?;
        if length < BLOCK_BYTES || !length.is_multiple_of(4) || length > self.rest.len() {
            return None;
        }
        if get_u32(self.rest, length - 4) as usize != length {
            return None;
        }
        if kind == PACKET && !is_packet(&self.rest[..length]) {
            return None;
        }
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(Block { kind, bytes })
    }
}

/// Whether the frame finds room in its block, and is of the one interface.
fn is_packet(block: &[u8]) -> bool {
    if block.len() < PACKET_BYTES || get_u32(block, 8) != 0 {
        return false;
    }
    let captured = get_u32(block, 20) as usize;
    captured <= block.len() - PACKET_BYTES && captured <= get_u32(block, 24) as usize
}

/// The frames of a chunk, if it is one: packets, and padding as its last block, nothing else.
#[must_use]
pub fn frames(chunk: &[u8]) -> Option<u64> {
    let (mut frames, mut blocks) = (0, Blocks::new(chunk));
    while let Some(block) = blocks.next() {
        match block.kind {
            PACKET => frames += 1,
            PADDING if blocks.rest().is_empty() => return Some(frames),
            _ => return None,
        }
    }
    None
}

/// Bytes at the beginning of a chunk that was cut in which blocks are whole.
#[must_use]
pub fn whole_bytes(chunk: &[u8]) -> usize {
    let mut blocks = Blocks::new(chunk);
    blocks.by_ref().for_each(drop);
    chunk.len() - blocks.rest().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;

    fn block(kind: u32, content: &[u8]) -> Vec<u8> {
        let length = (BLOCK_BYTES + content.len()) as u32;
        [
            &kind.to_le_bytes(),
            &length.to_le_bytes(),
            content,
            &length.to_le_bytes(),
        ]
        .concat()
    }

    fn packet(frame: &[u8]) -> Vec<u8> {
        let length = (frame.len() as u32).to_le_bytes();
        let mut content = [&[0; 12][..], &length, &length, frame].concat();
        content.resize(content.len().next_multiple_of(4), 0);
        block(PACKET, &content)
    }

    #[test]
    fn the_first_page_is_three_blocks() {
        let page = first_page(Session([7; 16]));
        let mut blocks = Blocks::new(&page);
        let kinds: Vec<u32> = blocks.by_ref().map(|block| block.kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PADDING]);
        assert!(blocks.rest().is_empty());
        let text = Session([7; 16]).text();
        assert!(page.windows(text.len()).any(|part| part == text));
        for pages in 1..9 {
            let mut unit = std::vec![0; pages * PAGE_BYTES];
            unit[..PAGE_BYTES].copy_from_slice(&page);
            for (at, page) in behind_first_page(unit.len()) {
                unit[at..at + PAGE_BYTES].copy_from_slice(&page);
            }
            let mut blocks = Blocks::new(&unit);
            assert_eq!(blocks.by_ref().count(), if pages == 1 { 3 } else { 4 });
            assert!(blocks.rest().is_empty());
        }
    }

    proptest! {
        #[test]
        fn a_chunk_is_read_and_one_that_was_cut_in_part(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 0..20),
            padding in 0_usize..40,
            cut: prop::sample::Index,
        ) {
            let blocks: Vec<Vec<u8>> = frames.iter().map(|frame| packet(frame)).collect();
            let mut chunk = blocks.concat();
            let bare = chunk.len();
            prop_assert_eq!(super::frames(&chunk), None);
            chunk.extend(block(PADDING, &std::vec![0; padding * 4]));
            prop_assert_eq!(super::frames(&chunk), Some(frames.len() as u64));
            let at = cut.index(bare + 1);
            let whole = whole_bytes(&chunk[..at]);
            let ends = blocks.iter().scan(0, |at, block| { *at += block.len(); Some(*at) });
            prop_assert_eq!(whole, ends.filter(|end| *end <= at).last().unwrap_or(0));
        }

        #[test]
        fn any_bytes_are_a_chunk_or_none(mut bytes: Vec<u8>, kind in 0_u32..8, length: u8) {
            if bytes.len() >= 8 {
                bytes[..4].copy_from_slice(&kind.to_le_bytes());
                bytes[4..8].copy_from_slice(&u32::from(length & !3).to_le_bytes());
            }
            let _ = super::frames(&bytes);
            prop_assert!(whole_bytes(&bytes) <= bytes.len());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Reading a capture: frame by frame, in constant memory, nothing in it trusted.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use forebay_model::{SECOND, Time};
use forebay_spec::net::ethernet;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, EnhancedPacketBlock, InterfaceDescriptionBlock, SimplePacketBlock};
use pcap_parser::{IDB_MAGIC, OptionCode, PcapNGOption, SHB_MAGIC};
use pcap_parser::{LegacyPcapBlock, LegacyPcapReader, PcapHeader};
use pcap_parser::{PcapBlockOwned, PcapError, PcapNGReader};
use serde::{Deserialize, Serialize};

use crate::{Error, MOST_BYTES, Result, fill};

use super::ETHERNET;

/// Room for one block of the file; frames take less than a tenth.
const BLOCK_BYTES: usize = 1 << 20;
/// Most interfaces of one section.
const INTERFACES: usize = 1 << 16;
/// Times so far behind the first frame, or further, are nonsense; [`Time`] has room for 213 days.
const FURTHEST: Time = 200 * 86_400 * SECOND;
/// `if_fcslen`.
const CHECK: OptionCode = OptionCode(13);
/// `epb_flags`.
const FLAGS: OptionCode = OptionCode(2);
/// What is wrong with a block that has no room.
const LONG: &str = "a block is longer than 1 MiB";

/// A frame as it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When: since the first frame of the capture. Never less than that of the frame before.
    pub time: Time,
    /// Its bytes, from the destination address on, without check sequence; at least 60.
    pub frame: Vec<u8>,
}

/// What was in a capture. Frames in the file = `frames` + `cut` + `long` + `short` + `other`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Frames handed over.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames left out: only their beginning was captured.
    pub cut: u64,
    /// Frames left out: longer than 16 KiB.
    pub long: u64,
    /// Frames left out: shorter than addresses and EtherType.
    pub short: u64,
    /// Frames left out: not of Ethernet, or of an interface that the file does not describe.
    pub other: u64,
    /// Frames handed over that were filled up to 60 bytes, as a network card does.
    pub filled: u64,
    /// Frames whose time is before that of the frame before, which they are given.
    pub backwards: u64,
    /// Frames whose time is 200 days or more behind the first, which are given the one before.
    pub leaps: u64,
    /// Bytes at the end that are no whole frame: the file was cut short.
    pub torn_bytes: u64,
}

impl Seen {
    /// What the user should know, in words; empty if all is well.
    pub fn complaints(&self) -> Vec<String> {
        let all = [
            (
                self.cut,
                "frames left out: captured with a snapshot length, record again with -s 0",
            ),
            (
                self.long,
                "frames left out: longer than 16 KiB, switch segmentation offload off",
            ),
            (
                self.short,
                "frames left out: shorter than an Ethernet header",
            ),
            (
                self.other,
                "frames left out: not of Ethernet, capture on one interface, not on `any`",
            ),
            (
                self.backwards,
                "frames with a time before the last: sent at once, reordercap mends it",
            ),
            (
                self.leaps,
                "frames 200 days behind the first: sent at once, editcap -t mends it",
            ),
            (
                self.torn_bytes,
                "bytes at the end that are no whole frame: the file was cut short",
            ),
        ];
        all.iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}

/// How times and frames of one interface are written.
#[derive(Clone, Copy, Debug)]
struct Interface {
    ethernet: bool,
    /// `if_tsresol`: a power of ten, or of two if the top bit is set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset: i64,
    /// Most bytes of a frame that are in the file; 0: all.
    snap: u32,
    /// Bytes of check sequence behind each frame.
    check: usize,
}

/// A capture that is being read.
pub struct Capture {
    path: PathBuf,
    reader: Box<dyn PcapReaderIterator + Send>,
    interfaces: Vec<Interface>,
    big_endian: bool,
    pcapng: bool,
    start: Option<i128>,
    last: Time,
    seen: Seen,
    ended: bool,
}

impl Capture {
    /// Opens a capture, pcap or pcapng.
    ///
    /// # Errors
    /// If it cannot be read, is no capture, or is a pcap of something else than Ethernet.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::file("reading", path, error))?;
        Self::from_reader(file, path)
    }

    /// The same of what is no file; the path is for messages.
    ///
    /// # Errors
    /// As [`Capture::open`].
    pub fn from_reader(mut from: impl Read + Send + 'static, path: &Path) -> Result<Self> {
        // The parser looks at what its first read brings and does not ask again.
        let mut head = Vec::new();
        from.by_ref()
            .take(BLOCK_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(|error| Error::file("reading", path, error))?;
        let pcapng = head.starts_with(&SHB_MAGIC.to_le_bytes());
        let none = no_capture(path, &head);
        let from = io::Cursor::new(head).chain(from);
        let reader: Box<dyn PcapReaderIterator + Send> = if pcapng {
            Box::new(PcapNGReader::new(BLOCK_BYTES, from).map_err(|_| none)?)
        } else {
            Box::new(LegacyPcapReader::new(BLOCK_BYTES, from).map_err(|_| none)?)
        };
        Ok(Self {
            path: path.to_owned(),
            reader,
            interfaces: Vec::new(),
            big_endian: false,
            pcapng,
            start: None,
            last: 0,
            seen: Seen::default(),
            ended: false,
        })
    }

    /// What has been in it so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The next frame; `None` at the end.
    fn packet(&mut self) -> Result<Option<Packet>> {
        loop {
            let step = match self.reader.next() {
                Ok((bytes, block)) => {
                    let found = understand(block, &mut self.interfaces);
                    self.reader.consume(bytes);
                    found.map_err(Stop::Bad)
                }
                Err(PcapError::Eof) => Err(Stop::End),
                Err(PcapError::Incomplete(_)) => Err(Stop::More),
                Err(PcapError::UnexpectedEof) => Err(Stop::Torn),
                Err(PcapError::BufferTooSmall) => Err(Stop::Bad(LONG)),
                Err(PcapError::ReadError) => Err(Stop::Bad("it cannot be read further")),
                Err(_) => Err(Stop::Bad("there is no block that could be")),
            };
            match step {
                Ok(Found::Nothing) => {}
                Ok(Found::Section { big_endian }) => self.big_endian = big_endian,
                Ok(Found::Frame(frame)) => {
                    if let Some(packet) = self.judge(frame) {
                        return Ok(Some(packet));
                    }
                }
                Err(Stop::End) => return Ok(None),
                Err(Stop::Torn) if !self.whole_block() => {
                    self.seen.torn_bytes = self.reader.data().len() as u64;
                    return Ok(None);
                }
                Err(Stop::More) if !self.whole_block() => {
                    if self.reader.refill().is_err() {
                        return Err(self.bad("it cannot be read further"));
                    }
                }
                Err(Stop::More | Stop::Torn) => {
                    return Err(self.bad("a block ends before what it says is in it"));
                }
                Err(Stop::Bad(what)) => return Err(self.bad(what)),
            }
        }
    }

    /// Whether the block at hand is there whole: the parser asks for more, too, where a block
    /// is shorter than what is in it.
    fn whole_block(&self) -> bool {
        let Some((head, _)) = self.reader.data().split_first_chunk::<8>() else {
            return false;
        };
        let [.., a, b, c, d] = *head;
        let bytes = if self.big_endian {
            u32::from_be_bytes([a, b, c, d])
        } else {
            u32::from_le_bytes([a, b, c, d])
        };
        self.pcapng && self.reader.data().len() >= bytes as usize
    }

    /// Counts a frame and says what is to be sent of it.
    fn judge(&mut self, raw: Raw) -> Option<Packet> {
        let seen = &mut self.seen;
        let mut frame = raw.bytes;
        if !raw.ethernet {
            seen.other += 1;
            return None;
        }
        if raw.cut {
            seen.cut += 1;
            return None;
        }
        if frame.len() > MOST_BYTES {
            seen.long += 1;
            return None;
        }
        if frame.len() < ethernet::HEADER_BYTES {
            seen.short += 1;
            return None;
        }
        if let Some(time) = raw.time {
            let since = time - *self.start.get_or_insert(time);
            match Time::try_from(since) {
                Ok(since) if since < self.last => seen.backwards += 1,
                Ok(since) if since < FURTHEST => self.last = since,
                Err(_) if since < 0 => seen.backwards += 1,
                _ => seen.leaps += 1,
            }
        }
        seen.filled += u64::from(fill(&mut frame));
        seen.frames += 1;
        seen.bytes += frame.len() as u64;
        Some(Packet {
            time: self.last,
            frame,
        })
    }

    /// What is wrong, and where in the file.
    fn bad(&self, what: &'static str) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            at: self.reader.consumed(),
            frames: self.seen.frames,
            what,
        }
    }
}

impl Iterator for Capture {
    type Item = Result<Packet>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let packet = self.packet().transpose();
        self.ended = !matches!(packet, Some(Ok(_)));
        packet
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("path", &self.path)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

/// Why there is no block.
enum Stop {
    End,
    More,
    Torn,
    Bad(&'static str),
}

/// What a block turned out to be.
enum Found {
    Nothing,
    Section { big_endian: bool },
    Frame(Raw),
}

/// A frame as the file has it; by default one of an interface that the file does not describe.
#[derive(Default)]
struct Raw {
    /// It is of an interface that the file describes as Ethernet.
    ethernet: bool,
    /// Picoseconds since 1970, where it has a time.
    time: Option<i128>,
    /// The file has only its beginning.
    cut: bool,
    bytes: Vec<u8>,
}

fn understand(
    block: PcapBlockOwned<'_>,
    interfaces: &mut Vec<Interface>,
) -> std::result::Result<Found, &'static str> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let interface = Interface::of_header(&header);
            if !interface.ethernet {
                return Err(
                    "its link type is not Ethernet: capture on one interface, not on `any`",
                );
            }
            interfaces.push(interface);
        }
        PcapBlockOwned::Legacy(frame) => return Ok(Found::Frame(legacy(&frame, interfaces))),
        PcapBlockOwned::NG(Block::SectionHeader(section)) => {
            if section.major_version != 1 {
                return Err("it is of another version of pcapng than 1");
            }
            interfaces.clear();
            return Ok(Found::Section {
                big_endian: section.big_endian(),
            });
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
            if interfaces.len() >= INTERFACES {
                return Err("it describes more than 65536 interfaces");
            }
            interfaces.push(Interface::of_block(&described));
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            return Ok(Found::Frame(enhanced(&packet, interfaces)));
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            return Ok(Found::Frame(simple(&packet, interfaces)));
        }
        PcapBlockOwned::NG(_) => {}
    }
    Ok(Found::Nothing)
}

impl Interface {
    /// The one interface of a pcap.
    fn of_header(header: &PcapHeader) -> Self {
        // Above the link type: whether there are check sequences, and of how many words of 2 bytes.
        let [low, high, .., flags] = header.network.0.to_le_bytes();
        Self {
            ethernet: u16::from_le_bytes([low, high]) == ETHERNET,
            resolution: if header.is_nanosecond_precision() {
                9
            } else {
                6
            },
            offset: 0,
            snap: 0,
            check: if flags & 4 != 0 {
                2 * usize::from(flags >> 4)
            } else {
                0
            },
        }
    }

    fn of_block(block: &InterfaceDescriptionBlock<'_>) -> Self {
        let option = |code: OptionCode| {
            let found = block.options.iter().find(|option| option.code == code);
            found.map_or(&[][..], PcapNGOption::value)
        };
        let offset = option(OptionCode::IfTsoffset).first_chunk();
        Self {
            ethernet: block.linktype.0 == i32::from(ETHERNET),
            resolution: *option(OptionCode::IfTsresol).first().unwrap_or(&6),
            offset: offset.map_or(0, |bytes| {
                if block.block_type == IDB_MAGIC {
                    i64::from_le_bytes(*bytes)
                } else {
                    i64::from_be_bytes(*bytes)
                }
            }),
            snap: block.snaplen,
            // Some writers count bytes, some bits.
            check: match option(CHECK).first() {
                Some(4 | 32) => 4,
                _ => 0,
            },
        }
    }

    /// Picoseconds since 1970 of a time in this interface's units.
    fn time(&self, units: u64) -> i128 {
        const DIGITS: u8 = 12;
        let units = u128::from(units);
        let power = |digits: u8| 10_u128.checked_pow(digits.into());
        // 2^64 units of 10^12 have room in 128 bits.
        let time = match self.resolution {
            binary @ 0x80.. => (units * u128::from(SECOND)) >> (binary & 0x7f),
            coarse @ ..=DIGITS => units * power(DIGITS - coarse).unwrap_or(0),
            fine => power(fine - DIGITS).map_or(0, |divisor| units / divisor),
        };
        time as i128 + i128::from(self.offset) * i128::from(SECOND)
    }
}

fn legacy(frame: &LegacyPcapBlock<'_>, interfaces: &[Interface]) -> Raw {
    let Some(interface) = interfaces.first() else {
        return Raw::default();
    };
    let units = 10_u64.pow(interface.resolution.into());
    let time = u64::from(frame.ts_sec) * units + u64::from(frame.ts_usec);
    Raw {
        ethernet: interface.ethernet,
        time: Some(interface.time(time)),
        cut: frame.caplen < frame.origlen,
        bytes: without(frame.data, interface.check),
    }
}

fn enhanced(packet: &EnhancedPacketBlock<'_>, interfaces: &[Interface]) -> Raw {
    let Some(interface) = interfaces.get(packet.if_id as usize) else {
        return Raw::default();
    };
    let flags = packet.options.iter().find(|option| option.code == FLAGS);
    // Bits 8:5, of a word in the byte order of the section.
    let check = flags
        .and_then(|flags| flags.value().first_chunk())
        .map(|bytes| {
            let word = if packet.big_endian() {
                u32::from_be_bytes(*bytes)
            } else {
                u32::from_le_bytes(*bytes)
            };
            (word >> 5 & 15) as usize
        });
    let check = check.filter(|check| *check > 0).unwrap_or(interface.check);
    let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
    Raw {
        ethernet: interface.ethernet,
        time: Some(interface.time(units)),
        cut: packet.caplen < packet.origlen,
        bytes: without(packet.packet_data(), check),
    }
}

/// A frame without time or options, of the first interface; how much of it is there says that
/// one's snapshot length.
fn simple(packet: &SimplePacketBlock<'_>, interfaces: &[Interface]) -> Raw {
    let Some(interface) = interfaces.first() else {
        return Raw::default();
    };
    let whole = packet.origlen as usize;
    let snap = match interface.snap as usize {
        0 => usize::MAX,
        snap => snap,
    };
    let kept = whole.min(snap).min(packet.data.len());
    Raw {
        ethernet: interface.ethernet,
        time: None,
        cut: kept < whole,
        bytes: without(&packet.data[..kept], interface.check),
    }
}

/// The bytes without the last `check` of them.
fn without(bytes: &[u8], check: usize) -> Vec<u8> {
    bytes[..bytes.len().saturating_sub(check)].to_vec()
}

/// What to tell of a file that begins like no capture.
fn no_capture(path: &Path, head: &[u8]) -> Error {
    let (what, remedy) = match head {
        [] => ("it is empty", "capture something into it"),
        [0x1f, 0x8b, ..] => ("it is compressed by gzip", "unpack it: gunzip FILE.gz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("it is compressed by zstd", "unpack it: unzstd FILE.zst"),
        _ => (
            "it begins neither like pcap nor like pcapng",
            "write it anew with Wireshark's tools: editcap -F pcapng FILE NEW",
        ),
    };
    Error::NoCapture {
        path: path.to_owned(),
        what,
        remedy,
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Captures written by scapy and Wireshark's tools are read; ours are read by tshark; what is cut
//! or garbled ends with words.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use forebay_model::{MICROSECOND, MILLISECOND, NANOSECOND, SECOND};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Frames of three lengths, so that padding to 4 bytes is needed, too, and their times in ns.
fn frames() -> Vec<(u64, Vec<u8>)> {
    [
        (0, 60),
        (1_000, 61),
        (2_500_000, 1514),
        (1_002_500_000, 9014),
    ]
    .map(|(time, bytes)| (time, (0..bytes).map(|at| (at * 7 + bytes) as u8).collect()))
    .into()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Runs a tool; gives its standard output.
fn tool(name: &str, words: &[&str], path: &Path) -> String {
    let done = Command::new(name).args(words).arg(path).output();
    let done = done.unwrap_or_else(|error| panic!("{name}: {error}: `make setup` installs it"));
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name} {words:?}: {complaint}");
    String::from_utf8(done.stdout).expect("text")
}

/// Lets scapy write `frames()` into a file, with these statements for the writer.
fn by_scapy(path: &Path, writer: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut program = String::from(
        "import sys\nfrom scapy.utils import PcapWriter, PcapNgWriter\n\
         from scapy.layers.l2 import Ether\nfrom scapy.packet import Raw\n",
    );
    program += &format!("path = sys.argv[1]\nwriter = {writer}\n");
    for (time, frame) in frames() {
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        program += &format!(
            "packet = Ether(bytes.fromhex('{hex}'))\n\
             packet.time = EDecimal({time}) / 10**9 + 1700000000\nwriter.write(packet)\n"
        );
    }
    program += "writer.close()\n";
    let program = program.replace(
        "import sys\n",
        "import sys\nfrom scapy.utils import EDecimal\n",
    );
    let python = root.join(".venv/bin/python");
    let script = path.with_extension("py");
    fs::write(&script, program).expect("a script");
    tool(
        python.to_str().expect("a path"),
        &[script.to_str().expect("a path")],
        path,
    );
}

fn read(path: &Path) -> (Vec<Packet>, Seen) {
    let mut capture = Capture::open(path).expect("a capture");
    let packets = capture.by_ref().map(|packet| packet.expect("a frame"));
    let packets = packets.collect();
    (packets, capture.seen().clone())
}

/// Reads a capture of `frames()`, whose times are multiples of `precision` nanoseconds.
fn holds_the_frames(path: &Path, precision: u64) {
    let (packets, seen) = read(path);
    let expected = frames();
    assert_eq!(seen.complaints(), Vec::<String>::new());
    assert_eq!(seen.frames, expected.len() as u64);
    for (packet, (time, frame)) in packets.iter().zip(&expected) {
        assert_eq!(&packet.frame, frame);
        assert_eq!(packet.time, time / precision * precision * NANOSECOND);
    }
}

/// A writer that scapy has no option for: pcapng, the most significant byte first.
const BIG: &str =
    r"PcapNgWriter(path); writer.endian = '>'; writer.endian_magic = b'\x1a\x2b\x3c\x4d'";

#[test]
fn scapys_captures_are_read() {
    let dir = folder();
    for (name, writer, precision) in [
        ("le", "PcapWriter(path, linktype=1, endianness='<')", 1_000),
        ("be", "PcapWriter(path, linktype=1, endianness='>')", 1_000),
        (
            "le-ns",
            "PcapWriter(path, linktype=1, endianness='<', nano=True)",
            1,
        ),
        (
            "be-ns",
            "PcapWriter(path, linktype=1, endianness='>', nano=True)",
            1,
        ),
        ("ng", "PcapNgWriter(path)", 1_000),
        ("be-ng", BIG, 1_000),
    ] {
        let path = dir.path().join(name);
        by_scapy(&path, writer);
        holds_the_frames(&path, precision);
    }
}

#[test]
fn wiresharks_captures_are_read() {
    let dir = folder();
    let source = dir.path().join("source");
    by_scapy(&source, "PcapWriter(path, linktype=1, nano=True)");
    let source = source.to_str().expect("a path");
    for (form, precision) in [
        ("pcap", 1_000),
        ("nsecpcap", 1),
        ("modpcap", 1_000),
        ("pcapng", 1),
    ] {
        let path = dir.path().join(form);
        tool("editcap", &["-F", form, source], &path);
        holds_the_frames(&path, precision);
    }
}

#[test]
fn what_cannot_be_sent_is_counted() {
    let dir = folder();
    let source = dir.path().join("source");
    by_scapy(&source, "PcapWriter(path, linktype=1)");
    let source = source.to_str().expect("a path");
    for form in ["pcap", "pcapng"] {
        let path = dir.path().join(form);
        tool("editcap", &["-F", form, "-s", "1000", source], &path);
        let (packets, seen) = read(&path);
        assert_eq!((packets.len(), seen.frames, seen.cut), (2, 2, 2), "{form}");
        assert!(seen.complaints()[0].contains("-s 0"), "{seen:?}");
    }
    let path = dir.path().join("raw");
    tool("editcap", &["-F", "pcapng", "-T", "rawip", source], &path);
    let (packets, seen) = read(&path);
    assert_eq!((packets.len(), seen.other), (0, 4));
    let path = dir.path().join("raw.pcap");
    tool("editcap", &["-F", "pcap", "-T", "rawip", source], &path);
    let failure = Capture::open(&path).expect("a header").next();
    let failure = failure.expect("something").expect_err("not of Ethernet");
    assert!(failure.to_string().contains("not Ethernet"), "{failure}");
}

#[test]
fn frames_are_filled_and_long_ones_left_out() {
    let mut file = Pcap::new(b"\xd4\xc3\xb2\xa1");
    for bytes in [0, 13, 14, 59, 60, 16384, 16385] {
        file.frame(5, 0, &vec![9; bytes]);
    }
    let (packets, seen) = file.read();
    let lengths: Vec<usize> = packets.iter().map(|packet| packet.frame.len()).collect();
    assert_eq!(lengths, [60, 60, 60, 16384]);
    assert_eq!(packets[0].frame[13..16], [9, 0, 0]);
    assert_eq!((seen.short, seen.filled, seen.long), (2, 2, 1));
}

#[test]
fn time_never_runs_backwards() {
    let mut file = Pcap::new(b"\xd4\xc3\xb2\xa1");
    let day = 86_400;
    for (seconds, micros) in [
        (1_000, 0),
        (1_000, 1_500),
        (999, 999_999),
        (1_000, 1_400),
        (1_000 + 300 * day, 0),
        (u32::MAX, u32::MAX),
        (1_002, 0),
    ] {
        file.frame(seconds, micros, &[1; 64]);
    }
    let (packets, seen) = file.read();
    let times: Vec<u64> = packets.iter().map(|packet| packet.time).collect();
    let pause = MILLISECOND + 500 * MICROSECOND;
    assert_eq!(times, [0, pause, pause, pause, pause, pause, 2 * SECOND]);
    assert_eq!((seen.backwards, seen.leaps, seen.frames), (2, 2, 7));
}

#[test]
fn check_sequences_are_taken_off() {
    let mut file = Pcap::new(b"\xd4\xc3\xb2\xa1");
    // 2 words of 2 bytes each, and that this is so.
    file.bytes[20..24].copy_from_slice(&(0x2400_0001_u32).to_le_bytes());
    file.frame(0, 0, &[3; 68]);
    assert_eq!(file.read().0[0].frame.len(), 64);
}

#[test]
fn a_file_cut_short_gives_what_is_whole() {
    let mut file = Pcap::new(b"\xd4\xc3\xb2\xa1");
    file.frame(0, 0, &[1; 64]);
    file.frame(0, 1, &[2; 64]);
    file.bytes.truncate(file.bytes.len() - 10);
    let (packets, seen) = file.read();
    assert_eq!((packets.len(), seen.torn_bytes), (1, 16 + 54));
    assert!(seen.complaints()[0].contains("cut short"));
}

#[test]
fn times_of_every_resolution() {
    for (resolution, units, expected) in [
        (0, 5, 5 * SECOND),
        (6, 5, 5 * MICROSECOND),
        (12, 5, 5),
        (13, 57, 5),
        (127, u64::MAX, 0),
        (0x80, 5, 5 * SECOND),
        (0x80 | 1, 5, 5 * SECOND / 2),
        (0xff, u64::MAX, 0),
    ] {
        let mut file = Modern::new(resolution);
        file.packet(0, 0, &[1; 64], 64);
        file.packet(0, units, &[1; 64], 64);
        let (packets, seen) = file.read();
        assert_eq!(packets[1].time, expected, "{resolution}");
        assert_eq!(seen.leaps, 0);
    }
}

#[test]
fn blocks_that_lie_are_damage() {
    // More in the packet than in its block.
    let mut file = Modern::new(9);
    file.packet(0, 0, &[1; 64], 64);
    file.packet(0, 1, &[1; 64], 64);
    let at = file.bytes.len() - 4 - 64 - 8;
    file.bytes[at..at + 4].copy_from_slice(&1000_u32.to_le_bytes());
    file.packet(0, 2, &[1; 64], 64);
    let words = file.failure();
    assert!(words.contains("behind 1 frames"), "{words}");
    assert!(words.contains("ends before"), "{words}");
    // A block longer than there is room for.
    let mut file = Modern::new(9);
    file.packet(0, 0, &vec![0; 2 << 20], 2 << 20);
    assert!(file.failure().contains("longer than 1 MiB"));
    // A packet of an interface without a description is no reason to stop.
    let mut file = Modern::new(9);
    file.packet(7, 0, &[1; 64], 64);
    file.packet(0, 0, &[1; 64], 64);
    let (packets, seen) = file.read();
    assert_eq!((packets.len(), seen.other), (1, 1));
}

#[test]
fn what_is_no_capture_is_refused() {
    for (bytes, words) in [
        (&b""[..], "empty"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04 and so on and on and on", "neither"),
        (b"\xd4\xc3\xb2\xa1\x02", "neither"),
    ] {
        let failure = Capture::from_reader(bytes, Path::new("x")).expect_err("no capture");
        assert!(failure.to_string().contains(words), "{failure}");
    }
    assert!(Capture::open(Path::new("no/such/file")).is_err());
}

/// Writes what a test needs of pcap, little-endian.
struct Pcap {
    bytes: Vec<u8>,
}

impl Pcap {
    fn new(magic: &[u8; 4]) -> Self {
        let mut bytes = magic.to_vec();
        bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
        Self { bytes }
    }

    fn frame(&mut self, seconds: u32, micros: u32, frame: &[u8]) {
        let length = frame.len() as u32;
        for word in [seconds, micros, length, length] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend(frame);
    }

    fn read(self) -> (Vec<Packet>, Seen) {
        all(self.bytes)
    }
}

/// Writes what a test needs of pcapng.
struct Modern {
    bytes: Vec<u8>,
}

impl Modern {
    fn new(resolution: u8) -> Self {
        let words = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
        let interface = [1, 32, 1, 0, 9 | 1 << 16, resolution.into(), 0, 32];
        let words = words.iter().chain(&interface);
        Self {
            bytes: words.flat_map(|word: &u32| word.to_le_bytes()).collect(),
        }
    }

    fn packet(&mut self, interface: u32, time: u64, frame: &[u8], whole: u32) {
        let length = frame.len() as u32;
        let total = 32 + length.next_multiple_of(4);
        for word in [
            6,
            total,
            interface,
            (time >> 32) as u32,
            time as u32,
            length,
            whole,
        ] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend(frame);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.extend(total.to_le_bytes());
    }

    fn read(self) -> (Vec<Packet>, Seen) {
        all(self.bytes)
    }

    fn failure(self) -> String {
        let mut capture = open(self.bytes).expect("a section");
        let failure = capture.find_map(Result::err).expect("a failure");
        assert!(capture.next().is_none(), "nothing comes behind a failure");
        failure.to_string()
    }
}

fn open(bytes: Vec<u8>) -> crate::Result<Capture> {
    Capture::from_reader(std::io::Cursor::new(bytes), Path::new("x"))
}

fn all(bytes: Vec<u8>) -> (Vec<Packet>, Seen) {
    let mut capture = open(bytes).expect("a capture");
    let packets = capture.by_ref().map(|packet| packet.expect("a frame"));
    let packets = packets.collect();
    (packets, capture.seen().clone())
}

/// A recording of frames both ways, with a damaged one.
fn recording(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("ours.pcapng");
    let mut recorder =
        Recorder::create(&path, &[("wire0", "the port"), ("wire1", "another")]).expect("a file");
    for (at, (time, frame)) in frames().into_iter().enumerate() {
        let way = [Way::In, Way::Out][at % 2];
        let time = time * NANOSECOND + 999;
        recorder
            .frame(at as u32 % 2, way, time, &frame, at == 2)
            .expect("room");
    }
    recorder.finish().expect("room");
    path
}

#[test]
fn what_we_write_we_read() {
    holds_the_frames(&recording(&folder()), 1);
}

#[test]
fn tshark_reads_what_we_write() {
    let dir = folder();
    let path = recording(&dir);
    let fields = [
        "-T",
        "fields",
        "-E",
        "separator=;",
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.len",
        "-e",
        "frame.interface_name",
        "-e",
        "frame.packet_flags_direction",
        "-e",
        "frame.packet_flags_crc_error",
        "-r",
    ];
    let text = tool("tshark", &fields, &path);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "0.000000000;60;wire0;0x00000001;0",
            "0.000001000;61;wire1;0x00000002;0",
            "0.002500000;1514;wire0;0x00000001;1",
            "1.002500000;9014;wire1;0x00000002;0",
        ]
    );
    let text = tool("capinfos", &[], &path);
    for words in ["wire0", "the port", "pcapng", "nanoseconds"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

proptest! {
    #[test]
    fn garbled_captures_end(
        modern: bool,
        cut in 0_usize..3000,
        changes in proptest::collection::vec((0_usize..3000, any::<u8>()), 0..8),
    ) {
        let mut bytes = if modern {
            let mut file = Modern::new(9);
            (0..20).for_each(|at| file.packet(at % 2, at.into(), &[at as u8; 70], 70));
            file.bytes
        } else {
            let mut file = Pcap::new(b"\xd4\xc3\xb2\xa1");
            (0..20).for_each(|at| file.frame(at, at, &[at as u8; 70]));
            file.bytes
        };
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut.max(1));
        let length = bytes.len();
        if let Ok(mut capture) = open(bytes) {
            let packets = capture.by_ref().count();
            // Each takes 8 bytes or more: an end comes.
            prop_assert!(packets <= length / 8 + 1);
            let seen = capture.seen();
            let all = seen.frames + seen.cut + seen.long + seen.short + seen.other;
            prop_assert!(all <= length as u64 / 8 + 1);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(magic in 0_usize..4, rest: Vec<u8>) {
        let head: [&[u8]; 4] = [
            b"\xd4\xc3\xb2\xa1",
            b"\xa1\xb2\x3c\x4d",
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0",
            b"",
        ];
        let mut bytes = head[magic].to_vec();
        bytes.extend(rest);
        if let Ok(capture) = open(bytes) {
            let _ = capture.count();
        }
    }

    #[test]
    fn what_is_written_reads_the_same(
        frames in proptest::collection::vec(
            (0_u64..1 << 50, proptest::collection::vec(any::<u8>(), 60..2000)), 0..20),
    ) {
        let dir = folder();
        let path = dir.path().join("x");
        let mut frames = frames;
        frames.sort();
        let mut recorder = Recorder::create(&path, &[("wire0", "")]).expect("a file");
        for (time, frame) in &frames {
            recorder.frame(0, Way::In, *time, frame, false).expect("room");
        }
        recorder.finish().expect("room");
        let (packets, _) = read(&path);
        prop_assert_eq!(packets.len(), frames.len());
        let start = frames.first().map_or(0, |(time, _)| time / NANOSECOND);
        for (packet, (time, frame)) in packets.iter().zip(&frames) {
            prop_assert_eq!(&packet.frame, frame);
            prop_assert_eq!(packet.time, (time / NANOSECOND - start) * NANOSECOND);
        }
    }
}

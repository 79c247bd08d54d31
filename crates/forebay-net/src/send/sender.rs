// SPDX-License-Identifier: Apache-2.0
//! Sends files as objects: reads them, cuts them into frames, sends each when it is due.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use forebay_spec::net::ethernet;
use forebay_spec::net::header::{self, Header, Position};
use serde::Serialize;

use super::line::{Line, Sent};
use super::pace::{self, Pace};
use crate::Result;

/// Problems that are told one by one; all are counted.
const TOLD: usize = 10;
/// Bytes that are read from a file at once.
const READ_BYTES: usize = 256 << 10;

/// Says whether to stop; it is asked often.
pub type Stop = fn() -> bool;

/// How it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of files a second; none: as fast as Linux takes them.
    pub rate: Option<u64>,
    /// The stream.
    pub stream: u16,
    /// The epoch; none: by the clock.
    pub epoch: Option<u32>,
    /// Number of the first object.
    pub object: u64,
}

/// What went out.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Count {
    /// Whole objects.
    pub objects: u64,
    /// Frames.
    pub frames: u64,
    /// Bytes of files.
    pub bytes: u64,
    /// The same on the wire, with headers, preamble, check sequence and gap.
    pub wire_bytes: u64,
}

/// What was not sent, or not whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Left {
    /// Files without bytes: an object has one or more.
    pub empty: u64,
    /// What is in a folder and neither a file nor a folder, or a link to a folder.
    pub other: u64,
    /// Files that could not be read, or not to the end.
    pub failed: u64,
    /// The first of these, in words.
    pub problems: Vec<String>,
}

impl Left {
    /// What there is of it, a sentence each.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let counts = [
            (self.empty, "files were left out: they are empty"),
            (self.other, "were left out: neither files nor folders"),
            (self.failed, "files could not be read, or not to the end"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, what)| format!("{count} {what}"));
        counts.chain(self.problems.iter().cloned())
    }

    /// Counts a file that failed, and says why.
    pub fn problem(&mut self, path: &Path, why: &str) {
        self.failed += 1;
        if self.problems.len() < TOLD {
            self.problems.push(format!("{}: {why}", path.display()));
        }
    }
}

/// Whether there is more to send.
type GoesOn = bool;

/// The sending side.
#[derive(Debug)]
pub struct Sender {
    /// Where frames go.
    pub line: Line,
    pace: Pace,
    /// Of the next frame.
    pub header: Header,
    /// Bytes of a file in a frame.
    pub payload_bytes: usize,
    /// What went out.
    pub sent: Count,
    /// Objects of which only the beginning was sent.
    pub partly: u64,
    /// What was not sent.
    pub left: Left,
    /// No receiver at that address: the rest was not sent.
    pub refused: bool,
    stop: Stop,
}

impl Sender {
    /// Nothing goes out yet.
    ///
    /// # Errors
    /// If a frame has room for no byte of a file.
    pub fn new(how: Settings, line: Line, left: Left, stop: Stop) -> Result<Self> {
        Ok(Self {
            payload_bytes: line.payload()?,
            line,
            pace: Pace::new(how.rate),
            header: Header {
                stream: how.stream,
                epoch: how.epoch.unwrap_or_else(epoch_of_clock),
                sequence: 0,
                object: how.object,
                position: Position::First { total: 0 },
                last: false,
            },
            sent: Count::default(),
            partly: 0,
            left,
            refused: false,
            stop,
        })
    }

    /// Sends all files `repeat` times, unless it should stop or no receiver answers; `progress` gets
    /// the bytes of files that were sent.
    ///
    /// # Errors
    /// If Linux refuses a frame.
    pub fn all(
        &mut self,
        files: &[(PathBuf, u64)],
        repeat: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let beginning = Instant::now();
        for _ in 0..repeat {
            for (path, total) in files {
                let file = match File::open(path) {
                    Ok(file) => BufReader::with_capacity(READ_BYTES, file),
                    Err(error) => {
                        self.left.problem(path, &error.to_string());
                        continue;
                    }
                };
                if !self.object(path, file, *total, beginning, progress)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sends a file; what it has grown by since it was looked at is left out.
    fn object(
        &mut self,
        path: &Path,
        mut file: impl Read,
        total: u64,
        beginning: Instant,
        progress: &mut dyn FnMut(u64),
    ) -> Result<GoesOn> {
        let mut frame = vec![0; header::BYTES + self.payload_bytes];
        let mut offset = 0;
        while offset < total {
            let wanted = (total - offset).min(self.payload_bytes as u64) as usize;
            let room = &mut frame[header::BYTES..][..wanted];
            if let Err(error) = file.read_exact(room) {
                let why = match error.kind() {
                    ErrorKind::UnexpectedEof => {
                        format!("it was {total} bytes long, and is shorter")
                    }
                    _ => error.to_string(),
                };
                self.left.problem(path, &why);
                break;
            }
            self.header.position = match offset {
                0 => Position::First { total },
                offset => Position::At { offset },
            };
            self.header.last = offset + wanted as u64 == total;
            frame[..header::BYTES].copy_from_slice(&self.header.to_bytes());
            if !self.frame(&frame[..header::BYTES + wanted], wanted as u64, beginning)? {
                self.partly += u64::from(offset > 0);
                return Ok(false);
            }
            offset += wanted as u64;
            progress(self.sent.bytes);
        }
        self.sent.objects += u64::from(offset == total);
        self.partly += u64::from(0 < offset && offset < total);
        self.header.object = self.header.object.wrapping_add(1);
        Ok(true)
    }

    /// Sends a frame when it is time.
    fn frame(&mut self, frame: &[u8], bytes: u64, beginning: Instant) -> Result<GoesOn> {
        let due = self.pace.next(pace::since(beginning), bytes);
        if !pace::wait(beginning, due, self.stop) {
            return Ok(false);
        }
        match self.line.send(frame, self.stop)? {
            Sent::Yes => {}
            Sent::Stopped => return Ok(false),
            Sent::Refused => {
                self.refused = true;
                return Ok(false);
            }
        }
        let headers = ethernet::HEADER_BYTES + self.line.ip_bytes() + ethernet::UDP_BYTES;
        let whole = (headers + frame.len()).max(ethernet::LEAST_BYTES) + ethernet::WIRE_BYTES;
        self.header.sequence = self.header.sequence.wrapping_add(1);
        self.sent.frames += 1;
        self.sent.bytes += bytes;
        self.sent.wire_bytes += whole as u64;
        Ok(true)
    }
}

/// The epoch of now: another one each 1024 ns, the same again after 73 minutes.
#[must_use]
pub fn epoch_of_clock() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| (since.as_nanos() >> 10) as u32)
}

// SPDX-License-Identifier: Apache-2.0
//! `forebay send`: files as objects over UDP, in the framing that the port receives.

mod files;
mod line;
mod pace;

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use forebay_spec::net::ethernet;
use forebay_spec::net::header::{self, Header, Position};
use serde::Serialize;

use crate::args::SendArgs;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::Page;
use crate::report;

use files::Files;
use line::{Line, Sent};
use pace::Pace;

/// Problems that are told one by one; all are counted.
const TOLD: usize = 10;
/// Bytes that are read from a file at once.
const READ_BYTES: usize = 256 << 10;

/// What came of it.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    interrupted: bool,
    /// Nobody listened there: what was not yet sent was left.
    refused: bool,
    to: String,
    stream: u16,
    session: u8,
    mtu: u16,
    /// Bytes of a file in a frame.
    payload_bytes: usize,
    /// Bytes of files a second that were wanted.
    rate: Option<u64>,
    /// Number of the first object.
    first_object: u64,
    sent: Count,
    /// Objects of which only the beginning was sent.
    partly: u64,
    left: Left,
    seconds: f64,
    bytes_per_second: f64,
    /// Times that a frame was offered again, as Linux had no room.
    offered_again: u64,
}

/// What went out.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Count {
    /// Whole objects.
    objects: u64,
    frames: u64,
    /// Bytes of files.
    bytes: u64,
    /// The same on the wire, with headers, preamble, check sequence and gap.
    wire_bytes: u64,
}

/// What was not sent, or not whole.
#[derive(Debug, Default, Serialize)]
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
    /// Counts a file that failed, and says why.
    pub fn problem(&mut self, path: &Path, why: &str) {
        self.failed += 1;
        if self.problems.len() < TOLD {
            self.problems.push(format!("{}: {why}", path.display()));
        }
    }
}

/// Runs it.
///
/// # Errors
/// If there is nothing to send, or no way to send it.
pub fn run(args: &SendArgs) -> Result<Exit> {
    let files = Files::of(&args.paths)?;
    if files.found.is_empty() {
        return Err(nothing(&files.left));
    }
    let line = Line::open(&args.to, args.mtu)?;
    let total = files.bytes().saturating_mul(args.repeat);
    let progress = Progress::bytes("sending", total);
    let mut sender = Sender::new(args, line, files.left)?;
    let beginning = Instant::now();
    sender.all(&files.found, args.repeat, beginning, &progress)?;
    let seconds = beginning.elapsed().as_secs_f64();
    drop(progress);
    let report = sender.report(args, seconds);
    if !report::emit(&report, args.report.json.as_deref())? {
        show(&report);
    }
    Ok(report.exit())
}

/// Whether there is more to send.
type GoesOn = bool;

/// The sending side.
#[derive(Debug)]
struct Sender {
    line: Line,
    pace: Pace,
    /// Of the next frame.
    header: Header,
    payload_bytes: usize,
    sent: Count,
    partly: u64,
    left: Left,
    refused: bool,
}

impl Sender {
    fn new(args: &SendArgs, line: Line, left: Left) -> Result<Self> {
        Ok(Self {
            payload_bytes: line.payload()?,
            line,
            pace: Pace::new(args.rate),
            header: Header {
                session: args.session.unwrap_or_else(session_of_clock),
                stream: args.stream,
                sequence: 0,
                object: args.object,
                position: Position::First { total: 0 },
                last: false,
            },
            sent: Count::default(),
            partly: 0,
            left,
            refused: false,
        })
    }

    /// Sends all files so many times.
    fn all(
        &mut self,
        files: &[(std::path::PathBuf, u64)],
        repeat: u64,
        beginning: Instant,
        progress: &Progress,
    ) -> Result<()> {
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
        progress: &Progress,
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
            progress.at(self.sent.bytes);
        }
        self.sent.objects += u64::from(offset == total);
        self.partly += u64::from(0 < offset && offset < total);
        self.header.object = self.header.object.wrapping_add(1);
        Ok(true)
    }

    /// Sends a frame when it is time.
    fn frame(&mut self, frame: &[u8], bytes: u64, beginning: Instant) -> Result<GoesOn> {
        let due = self.pace.next(pace::since(beginning), bytes);
        if !pace::wait(beginning, due) {
            return Ok(false);
        }
        match self.line.send(frame)? {
            Sent::Yes => {}
            Sent::Interrupted => return Ok(false),
            Sent::Refused => {
                self.refused = true;
                return Ok(false);
            }
        }
        const HEADERS: usize = ethernet::HEADER_BYTES + ethernet::IPV4_BYTES + ethernet::UDP_BYTES;
        let whole = (HEADERS + frame.len()).max(ethernet::LEAST_BYTES) + ethernet::WIRE_BYTES;
        self.header.sequence = self.header.sequence.wrapping_add(1);
        self.sent.frames += 1;
        self.sent.bytes += bytes;
        self.sent.wire_bytes += whole as u64;
        Ok(true)
    }

    fn report(self, args: &SendArgs, seconds: f64) -> Report {
        Report {
            schema: "forebay.send/1",
            version: env!("CARGO_PKG_VERSION"),
            command_line: report::command_line(),
            simulated: false,
            interrupted: interrupt::wanted(),
            refused: self.refused,
            to: self.line.to.to_string(),
            stream: self.header.stream,
            session: self.header.session,
            mtu: self.line.mtu,
            payload_bytes: self.payload_bytes,
            rate: args.rate,
            first_object: args.object,
            sent: self.sent,
            partly: self.partly,
            left: self.left,
            seconds,
            bytes_per_second: self.sent.bytes as f64 / seconds.max(1e-9),
            offered_again: self.line.again,
        }
    }
}

impl Report {
    fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.refused || self.left.failed > 0 {
            Exit::BadResult
        } else {
            Exit::Good
        }
    }
}

/// The session of now: another one each tenth of a second, the same again after 25.6.
fn session_of_clock() -> u8 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| (since.as_millis() / 100) as u8)
}

fn nothing(left: &Left) -> Failure {
    let Left {
        empty,
        other,
        failed,
        problems,
    } = left;
    let first = problems.first().map_or("", String::as_str);
    Failure::new(
        Exit::BadInput,
        format!(
            "there is nothing to send: {empty} files are empty, {other} are none, {failed} cannot \
             be read {first}"
        ),
        "name files of at least one byte: an object without bytes cannot be sent",
    )
}

fn show(report: &Report) {
    let mut page = Page::of_hardware("forebay send");
    let sent = &report.sent;
    page.field(
        "to",
        format!(
            "{}, stream {}, session {}, MTU {}",
            report.to, report.stream, report.session, report.mtu
        ),
    );
    page.field(
        "sent",
        format!(
            "{} objects, {} bytes in {} frames",
            sent.objects, sent.bytes, sent.frames
        ),
    );
    let wanted = report.rate.map_or(String::new(), |rate| {
        format!(", {:.3} wanted", rate as f64 / 1e9)
    });
    page.field(
        "rate",
        format!(
            "{:.3} GB/s{wanted}, {:.3} on the wire, {:.3} s",
            report.bytes_per_second / 1e9,
            sent.wire_bytes as f64 / report.seconds.max(1e-9) / 1e9,
            report.seconds
        ),
    );
    let left = &report.left;
    for (count, what) in [
        (report.partly, "objects were sent only in part"),
        (left.empty, "files were left out: they are empty"),
        (left.other, "were left out: neither files nor folders"),
        (left.failed, "files could not be read, or not to the end"),
        (
            report.offered_again,
            "times Linux had no room: frames were offered again",
        ),
    ] {
        if count > 0 {
            page.field("", format!("{count} {what}"));
        }
    }
    for problem in &left.problems {
        page.field("", problem);
    }
    let verdict = match report.exit() {
        Exit::Good => "everything was handed to the network; what arrives, the receiver knows",
        Exit::Interrupted => "interrupted",
        _ if report.refused => "nobody listens there: start the receiver first",
        _ => "not everything could be sent",
    };
    page.verdict(report.exit() == Exit::Good, verdict);
    page.print();
}

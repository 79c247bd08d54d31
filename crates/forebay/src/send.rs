// SPDX-License-Identifier: Apache-2.0
//! `forebay send`: files as objects over UDP, in the framing that the port receives.

use std::time::Instant;

use forebay_app::interrupt;
use forebay_app::progress::Progress;
use forebay_draw::text::Page;
use forebay_net::send::{Count, Files, Left, Line, Sender, Settings};
use serde::Serialize;

use crate::args::SendArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

/// What came of it.
#[derive(Debug, Serialize)]
struct Sent {
    command_line: Vec<String>,
    simulated: bool,
    interrupted: bool,
    /// No receiver listened there: what was not yet sent was left.
    refused: bool,
    to: String,
    stream: u16,
    epoch: u32,
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

/// Runs it.
pub fn run(args: &SendArgs) -> Result<Exit> {
    let files = Files::of(&args.paths)?;
    if files.found.is_empty() {
        return Err(nothing(&files.left));
    }
    let line = Line::open(&args.to, args.mtu)?;
    let total = files.bytes().saturating_mul(args.repeat);
    let progress = Progress::bytes("sending", total);
    let how = Settings {
        rate: args.rate,
        stream: args.stream,
        epoch: args.epoch,
        object: args.object,
    };
    let mut sender = Sender::new(how, line, files.left, interrupt::wanted)?;
    let beginning = Instant::now();
    sender.all(&files.found, args.repeat, &mut |bytes| progress.at(bytes))?;
    let seconds = beginning.elapsed().as_secs_f64();
    drop(progress);
    let report = Report::new("forebay.send/1", Sent::of(sender, args, seconds));
    report::show(&report, || page(&report.found))?;
    Ok(report.found.exit())
}

impl Sent {
    fn of(sender: Sender, args: &SendArgs, seconds: f64) -> Self {
        Self {
            command_line: report::command_line(),
            simulated: false,
            interrupted: interrupt::wanted(),
            refused: sender.refused,
            to: sender.line.to.to_string(),
            stream: sender.header.stream,
            epoch: sender.header.epoch,
            mtu: sender.line.mtu,
            payload_bytes: sender.payload_bytes,
            rate: args.rate,
            first_object: args.object,
            sent: sender.sent,
            partly: sender.partly,
            left: sender.left,
            seconds,
            bytes_per_second: sender.sent.bytes as f64 / seconds.max(1e-9),
            offered_again: sender.line.again,
        }
    }

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

fn page(report: &Sent) -> Page {
    let mut page = Page::of_hardware("forebay send");
    let sent = &report.sent;
    page.field(
        "to",
        format!(
            "{}, stream {}, epoch {:#010x}, MTU {}",
            report.to, report.stream, report.epoch, report.mtu
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
    for (count, what) in [
        (report.partly, "objects were sent only in part"),
        (
            report.offered_again,
            "times Linux had no room: frames were offered again",
        ),
    ] {
        if count > 0 {
            page.field("", format!("{count} {what}"));
        }
    }
    for line in report.left.lines() {
        page.field("", line);
    }
    let verdict = match report.exit() {
        Exit::Good => "everything was handed to the network; what arrives, the receiver knows",
        Exit::Interrupted => "interrupted",
        _ if report.refused => "no receiver listens there: start it first",
        _ => "not everything could be sent",
    };
    page.verdict(report.exit() == Exit::Good, verdict);
    page
}

// SPDX-License-Identifier: Apache-2.0
//! Bytes through the RTL, to the drive and back, beside an ideal host.

use std::sync::Arc;
use std::time::Instant;

use forebay_app::reference::Reference;
use forebay_app::report::{Header, Rate};
use forebay_app::session::StepReport;
use forebay_app::traffic::{Hop, Traffic};
use forebay_app::workload::sequential;
use forebay_app::{Ended, MachineSpec, Result, Session, interrupt};
use forebay_cosim::{Direction, Payload, Read, Sink, Write};
use serde::Serialize;

/// Bytes of a command of the host's driver: a usual size for sequential work.
const HOST_COMMAND: u64 = 128 << 10;

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Demo {
    /// What is needed to repeat it.
    #[serde(flatten)]
    pub header: Header,
    /// The file.
    pub file: String,
    /// Its bytes.
    pub file_bytes: u64,
    /// Steps of the bring-up.
    pub bring_up: Vec<StepReport>,
    /// To the drive.
    pub write: Option<Way>,
    /// From the drive.
    pub read: Option<Way>,
    /// Bytes that came back otherwise than they were sent, or not at all.
    pub differ_bytes: u64,
    /// Bytes that lie on the medium otherwise than they were sent.
    pub differ_medium_bytes: u64,
    /// What crossed PCIe.
    pub hops: Vec<Hop>,
    /// Seconds of the user.
    pub wall_seconds: f64,
}

/// One way, beside an ideal host on the same drive.
#[derive(Clone, Debug, Serialize)]
pub struct Way {
    /// Through the RTL.
    pub streamer: Rate,
    /// By the host.
    pub reference: Option<Rate>,
    /// Rate of the streamer over that of the host.
    pub ratio: Option<f64>,
}

impl Demo {
    /// No byte differs.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.differ_bytes == 0 && self.differ_medium_bytes == 0 && self.read.is_some()
    }
}

/// Writes the bytes of a file of this name, reads them back, compares.
///
/// # Errors
/// Where the RTL, the profile or the bring-up fails.
pub fn run(machine: &MachineSpec, file: String, data: &Arc<[u8]>) -> Result<(Demo, Ended)> {
    let began = Instant::now();
    let mut session = Session::start(machine, "forebay.demo/1", |_| Ok(()))?;
    let bytes = data.len() as u64;
    let mut report = Demo {
        header: session.header(&Ended::Done),
        file,
        file_bytes: bytes,
        bring_up: session.steps.clone(),
        write: None,
        read: None,
        differ_bytes: bytes,
        differ_medium_bytes: bytes,
        hops: Vec::new(),
        wall_seconds: 0.0,
    };
    let mut ended = there_and_back(machine, &mut session, data, &mut report)?;
    if ended.is_done()
        && let Err(failure) = session.shut_down()
    {
        ended = Ended::Failed(failure);
    }
    report.header = session.header(&ended);
    report.wall_seconds = began.elapsed().as_secs_f64();
    Ok((report, ended))
}

fn there_and_back(
    machine: &MachineSpec,
    session: &mut Session,
    data: &Arc<[u8]>,
    report: &mut Demo,
) -> Result<Ended> {
    let bytes = data.len() as u64;
    session.begin();
    session
        .system
        .submit_write(Write::new(0, Payload::Bytes(Arc::clone(data))));
    let ended = session.run("file → drive", bytes);
    let written = session.rate(Direction::Write);
    report.hops.clone_from(&written.traffic.hops);
    if !ended.is_done() {
        return Ok(ended);
    }
    report.differ_medium_bytes = differ_on_medium(session, data)?;
    session.begin();
    session
        .system
        .submit_read(Read::new(0, bytes, Sink::Collect));
    let ended = session.run("drive → file", bytes);
    let read = session.rate(Direction::Read);
    report.hops = Traffic::together([&written.traffic, &read.traffic], 2 * bytes).hops;
    if !ended.is_done() {
        return Ok(ended);
    }
    let back = session
        .system
        .take_outcomes()
        .pop()
        .map(|outcome| outcome.data)
        .unwrap_or_default();
    report.differ_bytes = differ(data, &back);
    let reference = Reference::new(machine)?;
    let way = |streamer: Rate, direction, label: &str| -> Result<Way> {
        let reference = reference.measure(label, &sequential(direction, bytes, HOST_COMMAND))?;
        let ratio = reference
            .as_ref()
            .and_then(|reference| streamer.ratio_to(reference));
        Ok(Way {
            ratio,
            streamer,
            reference,
        })
    };
    report.write = Some(way(
        written,
        Direction::Write,
        "the same by an ideal host: write",
    )?);
    report.read = Some(way(
        read,
        Direction::Read,
        "the same by an ideal host: read",
    )?);
    Ok(if interrupt::wanted() {
        Ended::Interrupted
    } else {
        ended
    })
}

/// How many bytes differ; those that are missing do.
fn differ(sent: &[u8], back: &[u8]) -> u64 {
    let same = sent
        .iter()
        .zip(back)
        .filter(|(sent, back)| sent == back)
        .count();
    (sent.len().max(back.len()) - same) as u64
}

fn differ_on_medium(session: &Session, data: &[u8]) -> Result<u64> {
    let stored = session.stored(0, data.len())?;
    Ok(differ(data, &stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_bytes_differ() {
        assert_eq!(differ(b"abc", b"abc"), 0);
        assert_eq!(differ(b"abc", b"abd"), 1);
        assert_eq!(differ(b"abc", b"ab"), 1);
        assert_eq!(differ(b"abc", b""), 3);
        assert_eq!(differ(b"", b"abc"), 3);
    }
}

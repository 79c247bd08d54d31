// SPDX-License-Identifier: Apache-2.0
//! I/O on the simulated machine: transactions enter at the RTL's stream pins.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_cosim::{Config, Direction, Outcome, Payload, Read, Sink, Write};
use forebay_driver::Flight;
use forebay_model::Medium;

use super::{Leg, Moved, Target, pieces};
use crate::args::IoArgs;
use crate::failure::{Failure, Result};
use crate::flight;
use crate::inspection::{self, Inspection};
use crate::report::Header;
use crate::session::{Ended, Session};
use forebay_app::inject;

/// Builds the machine and brings it up.
pub(super) fn start(args: &IoArgs) -> Result<Session> {
    let mut session = Session::start(&args.machine, "forebay.io/1", |config| adjust(args, config))?;
    if let (Some(row), true) = (session.layout().stripe(), args.writes()) {
        let transaction = args.transaction.unwrap_or(0);
        for (option, value) in [("--at", args.at), ("--transaction", transaction)] {
            if !value.is_multiple_of(row) {
                return Err(Failure::input(
                    option,
                    value,
                    &format!("with parity a write begins at a multiple of a row, {row} bytes"),
                    "choose a multiple, or other --drives or --chunk",
                ));
            }
        }
    }
    session.begin();
    Ok(session)
}

/// What the options change about the machine.
fn adjust(args: &IoArgs, config: &mut Config) -> Result<()> {
    if let Some(block) = &args.block {
        inject::set_block(config, block);
    }
    backing(args, config)?;
    args.faults.apply(config)?;
    super::adjust_driver(args, &mut config.driver);
    Ok(())
}

/// Keeps what each drive stores in a file of its own.
fn backing(args: &IoArgs, config: &mut Config) -> Result<()> {
    let (paths, drives) = (&args.backing, 1 + config.more_drives.len());
    if paths.is_empty() {
        return Ok(());
    }
    if paths.len() != drives {
        return Err(Failure::input(
            "--backing",
            format_args!("given {} times", paths.len()),
            &format!("the number of drives is {drives}, and each has a file of its own"),
            "name --backing again for each drive",
        ));
    }
    let same = |(number, path): (usize, &PathBuf)| paths[..number].contains(path);
    if let Some((_, path)) = paths.iter().enumerate().find(|each| same(*each)) {
        return Err(Failure::input(
            "--backing",
            path.display(),
            "another drive has this file",
            "give each drive a file of its own",
        ));
    }
    config.medium = Some(Medium::in_file(&paths[0], config.profile.ssd.bytes())?);
    for (drive, path) in config.more_drives.iter_mut().zip(&paths[1..]) {
        drive.medium = Some(Medium::in_file(path, drive.profile.bytes())?);
    }
    Ok(())
}

impl Target for Session {
    fn header(&self, ended: &Ended) -> Header {
        Self::header(self, ended)
    }

    fn block_bytes(&self) -> Result<u64> {
        Ok(self.namespace()?.block_bytes())
    }

    fn write(&mut self, args: &IoArgs, data: &Arc<[u8]>) -> Leg {
        let bytes = data.len() as u64;
        for (offset, length) in pieces(bytes, args.transaction) {
            let payload = match args.transaction {
                None => Payload::Bytes(Arc::clone(data)),
                Some(_) => Payload::Bytes(data[offset as usize..(offset + length) as usize].into()),
            };
            let mut write = Write::new(args.at.saturating_add(offset), payload);
            write.fua = args.fua;
            // One flush at the end covers all that went before.
            write.flush = args.flush && offset + length == bytes;
            self.system.submit_write(write);
        }
        let ended = self.run("file → drive", bytes);
        leg(self, ended, Direction::Write)
    }

    fn read(&mut self, args: &IoArgs, bytes: u64) -> Leg {
        self.begin();
        for (offset, length) in pieces(bytes, args.transaction) {
            let at = args.at.saturating_add(offset);
            let read = Read::new(at, length, Sink::Collect);
            self.system.submit_read(read);
        }
        let ended = self.run("drive → file", bytes);
        leg(self, ended, Direction::Read)
    }

    fn inspection(&mut self) -> Result<Inspection> {
        inspection::take(&mut self.system)
    }

    fn flight(&mut self) -> Flight {
        flight::take(&mut self.system)
    }

    fn shut_down(&mut self, good: bool) -> Result<()> {
        // A drive that was made to fail would be waited for through minutes of simulated time.
        if good {
            Self::shut_down(self)?;
        }
        Ok(())
    }
}

fn leg(session: &mut Session, ended: Ended, direction: Direction) -> Leg {
    let rate = session.rate(direction);
    let outcomes = session.system.take_outcomes();
    Leg {
        ended,
        moved: outcomes.into_iter().map(Moved::from).collect(),
        rate: Some(rate),
        seconds: None,
    }
}

impl From<Outcome> for Moved {
    fn from(outcome: Outcome) -> Self {
        Self {
            direction: outcome.direction,
            address: outcome.address,
            length: outcome.length,
            transferred: outcome.transferred,
            latency_cycles: Some(outcome.latency()),
            error: outcome.error,
            data: outcome.data,
        }
    }
}

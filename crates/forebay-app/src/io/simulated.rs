// SPDX-License-Identifier: Apache-2.0
//! I/O on the simulated machine: transactions enter at the RTL's stream pins.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_cosim::{Config, Direction, Outcome, Payload, Read, Sink, Write};
use forebay_driver::Flight;
use forebay_driver::inspect::Inspection;
use forebay_model::Medium;

use super::{IoSpec, Leg, Moved, Report, SCHEMA, Target, carry_out, transactions};
use crate::failure::{Failure, Result};
use crate::machine::MachineSpec;
use crate::report::Header;
use crate::session::{Ended, Session};
use crate::{flight, inspection};

/// Moves it on a simulated machine, whose drives keep what they store in these files, one each, if there
/// are any; `adjust` changes what the machine's description says.
///
/// # Errors
/// Where the RTL, a profile or the bring-up fails, or a file cannot be used.
pub fn simulated(
    machine: &MachineSpec,
    backing: &[PathBuf],
    spec: &IoSpec,
    adjust: impl FnOnce(&mut Config) -> Result<()>,
) -> Result<(Report, Ended)> {
    carry_out(spec, || {
        let mut session = Session::start(machine, SCHEMA, |config| {
            adjust(config)?;
            self::backing(backing, config)
        })?;
        check(spec, &session)?;
        session.begin();
        Ok(session)
    })
}

/// Refuses writes that an array with parity refuses.
fn check(spec: &IoSpec, session: &Session) -> Result<()> {
    let Some(row) = session.layout().stripe().filter(|_| spec.data.is_some()) else {
        return Ok(());
    };
    let transaction = spec.transaction.unwrap_or(0);
    for (field, value) in [("at", spec.at), ("transaction", transaction)] {
        if !value.is_multiple_of(row) {
            return Err(Failure::input(
                field,
                value,
                &format!("with parity a write begins at a multiple of a stripe, {row} bytes"),
                "choose a multiple, or other drives or stripe units",
            ));
        }
    }
    Ok(())
}

/// Keeps what each drive stores in a file of its own.
fn backing(paths: &[PathBuf], config: &mut Config) -> Result<()> {
    let drives = 1 + config.more_drives.len();
    if paths.is_empty() {
        return Ok(());
    }
    if paths.len() != drives {
        return Err(Failure::input(
            "backing",
            format_args!("given {} times", paths.len()),
            &format!("the number of drives is {drives}, and each has a file of its own"),
            "name as many files as there are drives",
        ));
    }
    let same = |(number, path): (usize, &PathBuf)| paths[..number].contains(path);
    if let Some((_, path)) = paths.iter().enumerate().find(|each| same(*each)) {
        return Err(Failure::input(
            "backing",
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

    fn write(&mut self, spec: &IoSpec, data: &Arc<[u8]>) -> Leg {
        let bytes = data.len() as u64;
        for (offset, length) in transactions(bytes, spec.transaction) {
            let payload = match spec.transaction {
                None => Payload::Bytes(Arc::clone(data)),
                Some(_) => Payload::Bytes(data[offset as usize..(offset + length) as usize].into()),
            };
            let mut write = Write::new(spec.at.saturating_add(offset), payload);
            write.fua = spec.fua;
            // One flush at the end covers all that went before.
            write.flush = spec.flush && offset + length == bytes;
            write.fence = spec.fence;
            self.system.submit_write(write);
        }
        let ended = self.run("file → drive", bytes);
        leg(self, ended, Direction::Write)
    }

    fn read(&mut self, spec: &IoSpec, bytes: u64) -> Leg {
        self.begin();
        for (offset, length) in transactions(bytes, spec.transaction) {
            let at = spec.at.saturating_add(offset);
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

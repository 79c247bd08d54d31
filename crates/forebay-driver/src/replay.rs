// SPDX-License-Identifier: Apache-2.0
//! Objects found by number in the index, by the recorder itself, and sent.

use std::time::Duration;

use forebay_spec::recorder::regs;
use serde::Serialize;

use crate::poll;
use crate::{Bus, Error, RecorderPort};

/// An object that is read and sent, or a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fetch {
    /// Where it lies.
    pub address: u64,
    /// Its bytes, one or more.
    pub bytes: u64,
    /// The number that it is sent with.
    pub object: u64,
    /// The stream that elements of the way back are told.
    pub stream: u16,
    /// For them: it is a part of an object, and where in that it begins.
    pub part: bool,
    /// See `part`.
    pub offset: u64,
    /// Its nonce, for them.
    pub nonce: u64,
}

/// Which objects are looked for, and where in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// The stream whose objects are meant.
    pub stream: u16,
    /// The least of their numbers.
    pub first: u64,
    /// The greatest.
    pub last: u64,
    /// Number of the first block of the index that is looked at.
    pub block: u32,
    /// Page of the region for the index that this block lies in.
    pub page: u32,
    /// How many blocks are looked at, at most.
    pub blocks: u32,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// Objects that were requested to be read and sent.
    pub objects: u64,
    /// Index records with such a number that are no whole object on the SSD.
    pub passed: u64,
    /// Blocks with the expected number. If they are fewer than asked for, the next one has another.
    pub blocks: u64,
}

impl Replay {
    fn command(&self) -> u64 {
        regs::replay::STREAM.put(self.stream.into()) | regs::replay::BLOCKS.put(self.blocks.into())
    }
}

impl RecorderPort {
    /// Has objects looked for in the index, and each that is found read and sent with its number.
    ///
    /// # Errors
    /// A search that goes on, or a failure of the bus.
    pub fn replay(&self, bus: &mut dyn Bus, wanted: &Replay) -> Result<(), Error> {
        if self.is_replaying(bus)? {
            return Err(Error::Refused {
                field: "the recorder's search for objects",
                value: "busy".into(),
                limit: "one at a time".into(),
                remedy: "wait until it has ended, or stop it",
            });
        }
        let from = regs::replay_from::BLOCK.put(wanted.block.into())
            | regs::replay_from::PAGE.put(wanted.page.into());
        let writes = [
            (regs::replay_first::OFFSET, wanted.first),
            (regs::replay_last::OFFSET, wanted.last),
            (regs::replay_from::OFFSET, from),
            (
                regs::replay::OFFSET,
                wanted.command() | regs::replay::GO.put(1),
            ),
        ];
        self.registers().write_all(bus, &writes)
    }

    /// Requests nothing more; what was requested is sent.
    pub fn stop_replay(&self, bus: &mut dyn Bus, wanted: &Replay) -> Result<(), Error> {
        let stop = wanted.command() | regs::replay::STOP.put(1);
        self.registers().write(bus, regs::replay::OFFSET, stop)
    }

    /// Waits until the search has ended and all that it found has been read. `limit` is how long
    /// nothing may be read.
    ///
    /// # Errors
    /// It does not go on, or the bus fails.
    pub fn finish_replay(&self, bus: &mut dyn Bus, limit: Duration) -> Result<Replayed, Error> {
        loop {
            let before = self.progress(bus)?;
            let ended = poll::wait(bus, limit, |bus| {
                let status = self.status(bus)?;
                let rests = status.fetches == 0 && !status.fetching;
                Ok((rests || self.progress(bus)? != before).then_some(rests))
            })?;
            match ended {
                Some(true) => return self.replayed(bus),
                Some(false) => {}
                None => {
                    return Err(Error::Timeout {
                        what: "the next object to be read",
                        limit,
                        seen: format!("{:?}", self.replayed(bus)?),
                        remedy: "look at the link partner: one that asks for pause holds up what is sent",
                    });
                }
            }
        }
    }

    /// What came of the last search so far.
    pub fn replayed(&self, bus: &mut dyn Bus) -> Result<Replayed, Error> {
        let objects = self.registers().read(bus, regs::replayed::OFFSET)?;
        let blocks = self.registers().read(bus, regs::replayed_blocks::OFFSET)?;
        Ok(Replayed {
            objects: regs::replayed::OBJECTS.get(objects),
            passed: regs::replayed::PASSED.get(objects),
            blocks: regs::replayed_blocks::BLOCKS.get(blocks),
        })
    }

    fn is_replaying(&self, bus: &mut dyn Bus) -> Result<bool, Error> {
        let replay = self.registers().read(bus, regs::replay::OFFSET)?;
        Ok(regs::replay::BUSY.get(replay) != 0)
    }

    /// Something that changes whenever the search or a read goes on.
    fn progress(&self, bus: &mut dyn Bus) -> Result<(u64, Replayed), Error> {
        let fetched = self.registers().read(bus, regs::fetched::OFFSET)?;
        Ok((fetched, self.replayed(bus)?))
    }
}

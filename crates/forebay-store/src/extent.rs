// SPDX-License-Identifier: Apache-2.0
//! An extent's bytes, and whether they are what its index record says.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use forebay_spec::store::index::Row;
use forebay_spec::store::page::Facts;
use forebay_spec::store::superblock::{Mode, Superblock};
use forebay_spec::store::{PAGE_BYTES, tar};

use crate::crc32c;
use crate::reader::Recording;

/// Bytes that are read at once: they stay in a core's own cache until their checksum is known.
const CHUNK: usize = 256 << 10;

/// What is wrong with an extent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Its index record is invalid.
    #[error("{0}")]
    Row(String),
    /// The header block in front of it does not match its index record.
    #[error("{0}")]
    Page(String),
    /// Its bytes have another checksum.
    #[error("its CRC32C is {has:08x}, and its index record says {says:08x}")]
    Crc {
        /// What the index record says.
        says: u32,
        /// What the bytes have.
        has: u32,
    },
    /// Its index record does not say how it is encrypted.
    #[error(
        "its nonce is lost, and it cannot be decrypted: it was in an index record that was damaged"
    )]
    Nonce,
    /// The disk does not give its bytes.
    #[error("{0}")]
    Unreadable(String),
}

/// Takes a payload, part by part.
pub type Payload<'s> = &'s mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Numbers of the index records whose payload has been read and has the right checksum; none: no
/// payload is checked.
pub(crate) type Checked = Option<Mutex<HashSet<u64>>>;

/// Parses the header block in front of an extent.
pub(crate) fn read_front(superblock: &Superblock, front: &[u8]) -> Option<Facts> {
    match superblock.small {
        true => Facts::parse_header(front.first_chunk()?),
        false => Facts::parse(front.first_chunk()?, &superblock.schema),
    }
}

/// What an index record says for the header block of its extent; the rest is 0.
pub(crate) fn facts_of(superblock: &Superblock, row: &Row) -> Facts {
    Facts {
        schema: superblock.schema,
        session: superblock.session,
        extension: superblock.extension,
        stream: row.stream,
        object: row.object,
        offset: row.offset,
        length: row.length,
        whole: row.whole(),
        missing: row.missing,
        sequence: 0,
        epoch: 0,
        time: row.time,
        crc32c: row.crc32c,
        nonce: row.nonce,
        result: row.has_result().then_some(row.result),
        name: tar::Name::NONE,
    }
}

/// Whether a header block matches an index record.
pub(crate) fn check_front(
    superblock: &Superblock,
    row: &Row,
    front: &[u8],
) -> Result<Facts, Damage> {
    let name = if superblock.small {
        "header"
    } else {
        "header block"
    };
    let Some(facts) = read_front(superblock, front) else {
        let what = format!("the {name} in front of it is damaged");
        return Err(Damage::Page(what));
    };
    if facts.session != superblock.session {
        let what = format!(
            "the {name} in front of it belongs to the recording {}",
            facts.session
        );
        return Err(Damage::Page(what));
    }
    let fields = [
        ("stream", u64::from(facts.stream), u64::from(row.stream)),
        ("object", facts.object, row.object),
        ("offset", facts.offset, row.offset),
        ("length", facts.length.into(), row.length.into()),
        ("CRC32C", facts.crc32c.into(), row.crc32c.into()),
        (
            "nonce",
            facts.nonce,
            if superblock.small { 0 } else { row.nonce },
        ),
        ("whole", facts.whole.into(), row.whole().into()),
    ];
    match fields.into_iter().find(|(_, page, row)| page != row) {
        Some((field, page, row)) => Err(Damage::Page(format!(
            "its {field} is {page} in the {name} in front of it, and {row} in its index record"
        ))),
        None => Ok(facts),
    }
}

impl Recording<'_> {
    /// The header block in front of an extent, if it matches.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn facts(&self, row: &Row) -> Result<Option<Facts>, Damage> {
        if let Some(why) = crate::index::check_row(self.superblock(), row, self.disk.len()) {
            return Err(Damage::Row(why));
        }
        if self.superblock().mode != Mode::Objects {
            return Ok(None);
        }
        let mut page = [0; PAGE_BYTES];
        let front = &mut page[..self.superblock().header() as usize];
        self.disk
            .read_at(self.extent(row).header, front)
            .map_err(|error| Damage::Unreadable(error.to_string()))?;
        check_front(self.superblock(), row, front).map(Some)
    }

    /// Computes the checksum of a payload that is read for the first time.
    pub(crate) fn check_once(&self, checked: &Checked, number: u64, row: &Row) -> io::Result<()> {
        let Some(checked) = checked else {
            return Ok(());
        };
        let checked = || checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked().contains(&number) {
            return Ok(());
        }
        match self.payload(row, &mut |_| Ok(()))? {
            None | Some(Damage::Page(_)) => {}
            Some(damage) => return Err(io::Error::other(damage.to_string())),
        }
        checked().insert(number);
        Ok(())
    }

    /// Decrypts some bytes of a payload, where there is a key for it.
    fn decrypt(&self, row: &Row, from: u64, bytes: &mut [u8]) {
        if let Some(key) = &self.key {
            key.apply(row.nonce, row.offset.wrapping_add(from), bytes);
        }
    }

    /// A payload that cannot be decrypted: its index record was made anew of what does not say how.
    fn undecryptable(&self, row: &Row) -> Option<Damage> {
        (self.key.is_some() && row.nonce == 0).then_some(Damage::Nonce)
    }

    /// Gives an extent's payload to `sink`, decrypted where there is a key, and says what is wrong with
    /// it: only behind the last byte is that known of its checksum, which is over what lies on the disk.
    pub fn payload(&self, row: &Row, sink: Payload<'_>) -> io::Result<Option<Damage>> {
        if let Some(why) = crate::index::check_row(self.superblock(), row, self.disk.len()) {
            return Ok(Some(Damage::Row(why)));
        }
        if let Some(damage) = self.undecryptable(row) {
            return Ok(Some(damage));
        }
        let page = self.facts(row).err();
        let (mut at, mut left, mut crc) = (row.address, u64::from(row.length), 0);
        let mut chunk = vec![0; CHUNK.min(left as usize)];
        while left > 0 {
            let bytes = &mut chunk[..left.min(CHUNK as u64) as usize];
            if let Err(error) = self.disk.read_at(at, bytes) {
                return Ok(Some(Damage::Unreadable(format!("at byte {at}: {error}"))));
            }
            crc = crc32c(crc, bytes);
            self.decrypt(row, at - row.address, bytes);
            sink(bytes)?;
            at += bytes.len() as u64;
            left -= bytes.len() as u64;
        }
        let has = crc;
        let says = row.crc32c;
        let wrong = (has != says).then_some(Damage::Crc { says, has });
        Ok(wrong.or(page))
    }

    /// Some bytes of a payload, as many as are there; none behind its end.
    ///
    /// # Errors
    /// What the disk says, or that the index record is invalid.
    pub fn bytes(&self, row: &Row, from: u64, most: usize) -> io::Result<Vec<u8>> {
        if let Some(why) = crate::index::check_row(self.superblock(), row, self.disk.len()) {
            return Err(io::Error::other(why));
        }
        let left = u64::from(row.length).saturating_sub(from);
        let mut bytes = vec![0; left.min(most as u64) as usize];
        if let Some(damage) = self.undecryptable(row) {
            return Err(io::Error::other(damage.to_string()));
        }
        self.disk
            .read_at(row.address.saturating_add(from), &mut bytes)?;
        self.decrypt(row, from, &mut bytes);
        Ok(bytes)
    }
    /// Writes the recording as a tar file, up to where its index goes; returns how many extents and
    /// blocks of the index are damaged and left out.
    ///
    /// # Errors
    /// Where it has no tar file, or the sink takes no more.
    pub fn write_tar(&self, to: &mut dyn io::Write) -> crate::Result<u64> {
        if self.superblock().mode != Mode::Objects {
            return Err(crate::Error::setting(
                "the mode",
                self.superblock().mode.name(),
                "only objects lie there as a tar file",
                "`forebay store extract` makes files of it",
            ));
        }
        let failed = crate::Error::Sink;
        let mut left_out = 0;
        for entry in self.rows() {
            let crate::Entry::Row { row, wrong, .. } = entry else {
                left_out += 1;
                continue;
            };
            if !row.stored() {
                continue;
            }
            if wrong.is_some() || self.facts(&row).is_err() {
                left_out += 1;
                continue;
            }
            let extent = self.extent(&row);
            let mut at = extent.at;
            let mut chunk = vec![0; CHUNK];
            while at < extent.end {
                let bytes = &mut chunk[..(extent.end - at).min(CHUNK as u64) as usize];
                crate::disk::read(self.disk, at, bytes)?;
                to.write_all(bytes).map_err(failed)?;
                at += bytes.len() as u64;
            }
        }
        let trailer = crate::text::trailer(self.superblock());
        to.write_all(&trailer)
            .and_then(|()| to.flush())
            .map_err(failed)?;
        Ok(left_out)
    }
}

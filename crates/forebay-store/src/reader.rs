// SPDX-License-Identifier: Apache-2.0
//! A recording as it lies there: which superblock counts, how far the index goes.

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::Block;
use forebay_spec::store::layout::Layout;
use forebay_spec::store::page::Facts;
use forebay_spec::store::superblock::{
    ALIGNMENT_MOST, Drive, KEY_CHECK_BYTES, Mode, PARTITION_ALIGN, Region, SUPER_BYTES, Superblock,
    VERSION,
};

use crate::disk::read;
use crate::form::Form;
use crate::index::{Bounds, Index, form_of};
use crate::table::Table;
use crate::{Disk, Error, Key, PAGE, RecordingKey, Result, crc32c};

/// A copy of the superblock: what it is, or why it is none.
pub type Copy = std::result::Result<Superblock, String>;

/// Where the copies lie in their partition.
pub(crate) const fn super_places(region: Region) -> [u64; 2] {
    [region.at, region.end().saturating_sub(PAGE)]
}

/// A recording.
pub struct Recording<'d> {
    pub(crate) disk: &'d dyn Disk,
    form: Form,
    superblocks: Region,
    copies: [Copy; 2],
    rebuilt: bool,
    complaints: Vec<String>,
    pub(crate) index: Index,
    /// Decrypts payload.
    pub(crate) key: Option<RecordingKey>,
}

fn page_at(disk: &dyn Disk, at: u64) -> Result<[u8; PAGE_BYTES]> {
    let mut page = [0; PAGE_BYTES];
    read(disk, at, &mut page)?;
    Ok(page)
}

fn copy_at(disk: &dyn Disk, at: u64) -> Copy {
    let page = page_at(disk, at).map_err(|error| error.to_string())?;
    Superblock::parse(&page, crc32c).map_err(|error| error.to_string())
}

/// The one of two copies that counts.
fn choose(copies: &[Copy; 2]) -> Option<Superblock> {
    let good = copies.iter().flatten();
    // Of equals the first.
    good.copied().rev().max_by_key(|copy| copy.generation)
}

impl<'d> Recording<'d> {
    /// Finds the recording on a disk.
    ///
    /// # Errors
    /// Where there is none, or too little of it is left.
    pub fn open(disk: &'d dyn Disk) -> Result<Self> {
        let table = Table::read(disk);
        let superblocks = table.map_or(
            Region {
                at: PARTITION_ALIGN,
                bytes: SUPER_BYTES,
            },
            |table| table.superblocks,
        );
        let copies = super_places(superblocks).map(|at| copy_at(disk, at));
        let found = choose(&copies);
        let (superblock, rebuilt) = match (found, &table) {
            (Some(superblock), _) => (superblock, false),
            (None, Some(table)) => (rebuild(disk, table, &copies)?, true),
            (None, None) => return Err(nothing(&copies)),
        };
        let mut complaints = complaints(&superblock, &copies, table.as_ref(), disk.len());
        if let Some(array) = disk.array() {
            complaints.extend_from_slice(array.complaints());
        }
        if superblock.mode == Mode::Packets {
            complaints.extend(crate::capture::complaint(disk, &superblock));
        }
        if rebuilt {
            complaints.push("geometry and session are the partition table's".into());
        }
        if superblock.index.end() > disk.len() {
            let what = format!(
                "the index ends at byte {}, but the disk has {}",
                superblock.index.end(),
                disk.len()
            );
            return Err(Error::recording(what, "take the whole image"));
        }
        let form = Form::of(superblock);
        if !rebuilt {
            complaints.extend(schema_complaint(disk, &form));
        }
        let index = Index::find(disk, &form);
        complaints.extend(index.complaints());
        Ok(Self {
            disk,
            form,
            superblocks,
            copies,
            rebuilt,
            complaints,
            index,
            key: None,
        })
    }

    /// Whether payload comes encrypted: there is a cipher, and no key was given.
    #[must_use]
    pub fn is_ciphertext(&self) -> bool {
        self.superblock().schema.cipher.is_some() && self.key.is_none()
    }

    /// The same, with payload decrypted.
    ///
    /// # Errors
    /// A recording that is not encrypted, or a key that is not its own.
    pub fn with_key(mut self, key: &Key) -> Result<Self> {
        let superblock = *self.superblock();
        let refused = |value: String, limit: &str| {
            let remedy = "`forebay store info` says whether a recording is encrypted, and how";
            Err(Error::setting("the key", value, limit, remedy))
        };
        let Some(cipher) = superblock.schema.cipher else {
            return refused("given".into(), "the recording is not encrypted");
        };
        if key.cipher() != cipher {
            let limit = format!("the recording is encrypted with {}", cipher.name());
            return refused(format!("one of {}", key.cipher().name()), &limit);
        }
        let own = key.derive(superblock.session);
        // Where both superblocks were lost there is nothing to compare it with.
        let known = superblock.key_check != [0; KEY_CHECK_BYTES];
        if known && superblock.key_check != own.check() {
            return refused("another one".into(), "the recording was made with its own");
        }
        if !known {
            let what =
                "both superblocks were lost once: whether this is the recording's key is not known";
            self.complaints.push(what.into());
        }
        self.key = Some(own);
        Ok(self)
    }

    /// Of a ring that is not closed, whose recorder has ended and lost no index record: each extent has its
    /// own, and no data are ahead of the index.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        self.index.forget_overtaken();
        self
    }

    /// What it is.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.form
    }

    /// That, and where things stand in its blocks.
    #[must_use]
    pub const fn form(&self) -> &Form {
        &self.form
    }

    /// Where the superblocks lie.
    #[must_use]
    pub const fn superblocks(&self) -> Region {
        self.superblocks
    }

    /// Both copies of the superblock.
    pub const fn copies(&self) -> &[Copy; 2] {
        &self.copies
    }

    /// Neither copy of the superblock is good: what is known comes from the partition table.
    #[must_use]
    pub const fn is_rebuilt(&self) -> bool {
        self.rebuilt
    }

    /// What is not as it should be, and did not keep it from being read.
    #[must_use]
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Blocks of the index that were written, also those that a ring has overwritten.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.index.head
    }

    /// A block of the index, or why it is none.
    pub fn block(&self, number: u64) -> std::result::Result<Block, String> {
        let at = self.form.block_at(number);
        let page = page_at(self.disk, at).map_err(|error| error.to_string())?;
        crate::index::parse(&page, &self.form, number)
    }

    /// What an extent takes on the disk, page and padding included.
    #[must_use]
    pub fn extent(&self, row: &forebay_spec::store::index::Row) -> Bounds {
        Bounds::of(&self.form, row)
    }
}

/// Whether the first page of the index is another than it should be, as far as it can be read.
pub(crate) fn schema_differs(disk: &dyn Disk, form: &Form) -> bool {
    let page = page_at(disk, form.index.at);
    page.is_ok_and(|page| page != form.layout().schema_page(crc32c))
}

fn schema_complaint(disk: &dyn Disk, form: &Form) -> Option<String> {
    let what = "the first page of the index, its schema, is damaged: other programs read it";
    schema_differs(disk, form).then(|| what.into())
}

fn nothing(copies: &[Copy; 2]) -> Error {
    let [first, second] = copies.each_ref().map(|copy| match copy {
        Ok(_) => "",
        Err(why) => why.as_str(),
    });
    Error::recording(
        format!(
            "there is no recording: no partition table of one, and of the superblocks the first \
             cannot be used ({first}), nor the second ({second})"
        ),
        "name the image or the whole drive, not a partition; `forebay store format` makes a \
         recording",
    )
}

fn complaints(
    superblock: &Superblock,
    copies: &[Copy; 2],
    table: Option<&Table>,
    length: u64,
) -> Vec<String> {
    let mut all = Vec::new();
    for (copy, name) in copies.iter().zip(["first", "second"]) {
        match copy {
            Err(why) => all.push(format!(
                "the {name} copy of the superblock is damaged: {why}"
            )),
            Ok(other) if other.session != superblock.session => all.push(format!(
                "the {name} copy of the superblock belongs to another recording, {}",
                other.session
            )),
            Ok(other) if other != superblock => all.push(format!(
                "the {name} copy of the superblock is older: generation {}, the other's is {}",
                other.generation, superblock.generation
            )),
            Ok(_) => {}
        }
    }
    match table {
        None => all.push("the partition table is damaged, in both copies".into()),
        Some(table) if (table.index, table.data) != (superblock.index, superblock.data) => {
            all.push("the partition table has other places than the superblock".into());
        }
        Some(_) => {}
    }
    if superblock.drive.bytes > length {
        all.push(format!(
            "the disk has {length} bytes, the recording was made on one of {}: what lay behind is \
             missing",
            superblock.drive.bytes
        ));
    }
    all
}

/// The alignment that the first page of the index says, or, where that is damaged, its first block.
fn alignment_of(disk: &dyn Disk, table: &Table, schema_page: &[u8; PAGE_BYTES]) -> u32 {
    let said = Layout::block_bytes(schema_page);
    let alignments = (0..).map(|shift| (PAGE_BYTES as u32) << shift);
    let mut alignments = alignments.take_while(|bytes| *bytes <= ALIGNMENT_MOST);
    let begins = |bytes: &u32| {
        let page = page_at(disk, table.index.at.saturating_add(u64::from(*bytes)));
        page.is_ok_and(|page| Layout::body_of(&page) == Some(*bytes))
    };
    match Layout::schema_of(schema_page, crc32c) {
        Some(_) => said,
        None => alignments.find(begins).unwrap_or(said),
    }
}

/// What the superblock must have said, from the partition table and the first pages.
fn rebuild(disk: &dyn Disk, table: &Table, copies: &[Copy; 2]) -> Result<Superblock> {
    let schema_page = page_at(disk, table.index.at).unwrap_or([0; PAGE_BYTES]);
    let alignment = alignment_of(disk, table, &schema_page);
    let page_of = |at| page_at(disk, at).unwrap_or([0; PAGE_BYTES]);
    // The header block of a small object is the first, that of another the last in front of its payload.
    let first = page_of(table.data.at.saturating_add(u64::from(alignment) - PAGE));
    let header = page_of(table.data.at)
        .first_chunk()
        .and_then(Facts::parse_header);
    let schema = Layout::schema_of(&schema_page, crc32c).unwrap_or_default();
    let page = Facts::parse(&first, &schema).or(header);
    let mode = match (table.mode, page) {
        (Some(mode), _) => mode,
        (None, Some(_)) => Mode::Objects,
        (None, None) => return Err(nothing(copies)),
    };
    let base = Superblock {
        version: VERSION,
        mode,
        generation: 1,
        session: table.session,
        formatted: page.map_or(0, |facts| facts.time),
        block_bytes: table.block_bytes,
        ring: false,
        index_ring: false,
        ahead: 0,
        small: header.is_some() && mode == Mode::Objects,
        index: table.index,
        data: table.data,
        alignment,
        stride: if mode == Mode::Samples {
            alignment.into()
        } else {
            0
        },
        extension: page.map_or(*b"bin\0", |facts| facts.extension),
        closed: None,
        drive: Drive {
            bytes: disk.len(),
            ..Drive::UNKNOWN
        },
        schema,
        key_check: [0; KEY_CHECK_BYTES],
    };
    base.check().map_err(|error| {
        Error::recording(
            format!("both superblocks are damaged, and the partition table cannot be: {error}"),
            "restore the partition table",
        )
    })?;
    let sessions = [Some(base.session), page.map(|facts| facts.session)];
    let forms = sessions.into_iter().flatten().map(|session| {
        let mut of = base;
        of.session = session;
        form_of(disk, &of)
    });
    let forms: Vec<_> = forms.collect();
    let first = page_at(disk, base.block_at(0)).unwrap_or([0; PAGE_BYTES]);
    let fits = |form: &&Form| Block::parse(&first, form.session, form.layout(), crc32c).is_ok();
    let form = forms.iter().find(fits).unwrap_or(&forms[0]);
    let (ring, index_ring) = crate::index::looks_gone_round(disk, form)?;
    let stride = match mode {
        Mode::Samples => crate::index::stride_of(disk, form)?,
        _ => base.stride,
    };
    let mut found = **form;
    (found.ring, found.index_ring, found.stride) = (ring, index_ring, stride);
    if found.version > 1 {
        found.ahead = found.usual_ahead();
    }
    Ok(found)
}

// SPDX-License-Identifier: Apache-2.0
//! What a recording's index has of each extent beside what all recordings have: the columns of a
//! result, as the manifest of the element that makes it states them.

use crate::bytes::put;
use core::fmt;

/// Most columns of a result.
pub const COLUMNS_MOST: usize = 8;
/// Most bytes of a result.
pub const RESULT_MOST: usize = 64;
/// Most characters of a column's name.
pub const NAME_MOST: usize = 16;
/// Bytes of a [`Schema`] where it is written.
pub const SCHEMA_BYTES: usize = 4 + COLUMNS_MOST * COLUMN_BYTES;
const COLUMN_BYTES: usize = NAME_MOST + 2;
/// Flag: the index has the lengths of extents as they were received.
const RECEIVED: u8 = 1 << 0;
/// Flag: payload is encrypted, and the index has nonces.
const ENCRYPTED: u8 = 1 << 1;
/// Flag: with a key of 256 bits, else of 128.
const LONG_KEY: u8 = 1 << 2;

/// Names that something else has, in the index, in the JSON of an extent, or in a table of Python's.
pub const TAKEN: &[&str] = &[
    "address", "code", "crc32c", "cut", "date", "epoch", "extents", "failed", "flags", "hour",
    "late", "length", "missing", "name", "nonce", "object", "offset", "path", "payload",
    "received", "result", "sender", "sequence", "session", "skipped", "state", "stored", "stream",
    "time", "time_ns", "whole", "wrong",
];

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// 32 bits, IEEE 754.
    F32,
    /// A byte of what is no number, such as a hash.
    Byte,
    /// Nanoseconds since 1970, UTC, 64 bits; of no result.
    Time,
}

/// The kinds that a result may have, by the number with which they are written.
pub const OF_RESULTS: [Kind; 6] = [
    Kind::U8,
    Kind::U16,
    Kind::U32,
    Kind::U64,
    Kind::F32,
    Kind::Byte,
];

impl Kind {
    /// As manifests and other languages name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::Byte => "bytes",
            Self::Time => "time",
        }
    }

    /// Bytes of a value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::Byte => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::Time => 8,
        }
    }
}

/// A column of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Column {
    name: [u8; NAME_MOST],
    /// Type of a value.
    pub kind: Kind,
    /// Values of a list, bytes of [`Kind::Byte`]; 0: one value that is no list.
    pub list: u8,
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self}", self.name())
    }
}

/// Its type, as a manifest writes it.
impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.list {
            0 => f.write_str(self.kind.name()),
            list => write!(f, "{}[{list}]", self.kind.name()),
        }
    }
}

/// Why something is no column of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// Its name cannot be one.
    #[error(
        "a name is 1 to 16 characters, a small letter first, then small letters, digits and _, and \
         none that the index or an extent's JSON has already"
    )]
    Name,
    /// Its type cannot be one.
    #[error(
        "a type is u8, u16, u32, u64 or f32, or a list of these, such as u16[5], or bytes[2] to \
         bytes[64]"
    )]
    Kind,
    /// Columns that do not fit.
    #[error("a result has 1 to 8 columns of other names, together 64 bytes at most")]
    Size,
}

/// Names of [`TAKEN`] that were free once: recordings may have them.
pub(crate) const FREE_ONCE: &[&str] = &["epoch"];

/// Whether a column may have a name, but for its length and names that something else has.
fn is_name(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    let begins = name.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    begins && name.bytes().all(plain)
}

impl Column {
    /// A column, its type as [`fmt::Display`] writes it.
    ///
    /// # Errors
    /// Where its name or its type cannot be.
    pub fn new(name: &str, kind: &str) -> Result<Self, ColumnError> {
        if !is_name(name) || TAKEN.contains(&name) {
            return Err(ColumnError::Name);
        }
        let mut field = [0; NAME_MOST];
        let place = field.get_mut(..name.len()).ok_or(ColumnError::Name)?;
        place.copy_from_slice(name.as_bytes());
        let (word, list) = match kind.strip_suffix(']').and_then(|kind| kind.split_once('[')) {
            None => (kind, 0),
            Some((word, list)) if list.bytes().all(|c| c.is_ascii_digit()) => {
                (word, list.parse().map_err(|_| ColumnError::Kind)?)
            }
            Some(_) => return Err(ColumnError::Kind),
        };
        let known = OF_RESULTS.iter().find(|known| known.name() == word);
        let column = Self {
            name: field,
            kind: *known.ok_or(ColumnError::Kind)?,
            list,
        };
        // A list has brackets, and one value at least.
        let right = column.fits() && (word == kind || list > 0);
        right.then_some(column).ok_or(ColumnError::Kind)
    }

    /// Whether it has as many values as it may.
    fn fits(&self) -> bool {
        let most = RESULT_MOST / self.kind.bytes();
        let least = if self.kind == Kind::Byte { 2 } else { 0 };
        (least..=most).contains(&self.list.into())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        let used = self.name.iter().position(|c| *c == 0);
        core::str::from_utf8(&self.name[..used.unwrap_or(NAME_MOST)]).unwrap_or_default()
    }

    /// Values that it has, one by one: those of a list; what is no number is one.
    #[must_use]
    pub fn values(&self) -> usize {
        match self.kind {
            Kind::Byte => 1,
            _ => usize::from(self.list).max(1),
        }
    }

    /// It has a list of values.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.list > 0 && self.kind != Kind::Byte
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        usize::from(self.list).max(1) * self.kind.bytes()
    }
}

/// How payload is encrypted: AES in counter mode (NIST SP 800-38A). The counter block of byte b of an
/// object is a big-endian number of 128 bits: above the [nonce](super::index::Row::nonce), below b / 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// With a key of 128 bits.
    Aes128,
    /// With a key of 256 bits.
    Aes256,
}

impl Cipher {
    /// As OpenSSL names it, in capital letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128 => "AES-128-CTR",
            Self::Aes256 => "AES-256-CTR",
        }
    }

    /// That with keys of this length in bytes.
    #[must_use]
    pub const fn of_key(bytes: usize) -> Option<Self> {
        match bytes {
            16 => Some(Self::Aes128),
            32 => Some(Self::Aes256),
            _ => None,
        }
    }

    /// Bytes of a key.
    #[must_use]
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
        }
    }
}

/// What stands in front of a cipher's name where a schema is shown.
const ENCRYPTED_WITH: &str = "; encrypted with ";
/// What is said of a schema that has them.
const LENGTHS: &str = "; lengths as received";

/// Columns of a result, in order, and whether there are the lengths as received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    columns: [Column; COLUMNS_MOST],
    count: u8,
    /// Elements may change the lengths of extents: the index has those as received as well.
    pub received: bool,
    /// How payload is encrypted; then the index has nonces.
    pub cipher: Option<Cipher>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.columns());
        if self.received {
            list.entry(&"received");
        }
        if let Some(cipher) = self.cipher {
            list.entry(&cipher);
        }
        list.finish()
    }
}

/// The columns as a person would say them.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, column) in self.columns().iter().enumerate() {
            let before = if at == 0 { "" } else { ", " };
            write!(f, "{before}{} {column}", column.name())?;
        }
        if self.columns().is_empty() {
            f.write_str("none")?;
        }
        f.write_str(if self.received { LENGTHS } else { "" })?;
        match self.cipher {
            Some(cipher) => write!(f, "{ENCRYPTED_WITH}{}", cipher.name()),
            None => Ok(()),
        }
    }
}

/// Reads what [`fmt::Display`] wrote.
impl core::str::FromStr for Schema {
    type Err = ColumnError;

    fn from_str(text: &str) -> Result<Self, ColumnError> {
        let (text, cipher) = match text.split_once(ENCRYPTED_WITH) {
            Some((text, name)) => {
                let mut all = [Cipher::Aes128, Cipher::Aes256].into_iter();
                let cipher = all.find(|cipher| cipher.name() == name);
                (text, Some(cipher.ok_or(ColumnError::Kind)?))
            }
            None => (text, None),
        };
        let (text, received) = match text.strip_suffix(LENGTHS) {
            Some(text) => (text, true),
            None => (text, false),
        };
        let mut columns = [Self::NONE.columns[0]; COLUMNS_MOST];
        let mut count = 0;
        for word in text.split(", ").filter(|word| *word != "none") {
            let (name, kind) = word.split_once(' ').ok_or(ColumnError::Kind)?;
            *columns.get_mut(count).ok_or(ColumnError::Size)? = Column::new(name, kind)?;
            count += 1;
        }
        Ok(Self::new(&columns[..count], received)?.encrypted(cipher))
    }
}

/// What elements make where nothing else is said: a class, and a score.
impl Default for Schema {
    fn default() -> Self {
        let column = |name: &[u8], kind| {
            let mut field = [0; NAME_MOST];
            put(&mut field, 0, name);
            Column {
                name: field,
                kind,
                list: 0,
            }
        };
        let mut schema = Self::NONE;
        schema.columns[0] = column(b"class", Kind::U16);
        schema.columns[1] = column(b"score", Kind::F32);
        schema.count = 2;
        schema
    }
}

impl Schema {
    /// Without results.
    pub const NONE: Self = Self {
        columns: [Column {
            name: [0; NAME_MOST],
            kind: Kind::U8,
            list: 0,
        }; COLUMNS_MOST],
        count: 0,
        received: false,
        cipher: None,
    };

    /// Of these columns.
    ///
    /// # Errors
    /// Where they are too many, or too long together, or two have the same name.
    pub fn new(columns: &[Column], received: bool) -> Result<Self, ColumnError> {
        let mut schema = Self {
            received,
            ..Self::NONE
        };
        let place = schema.columns.get_mut(..columns.len());
        place.ok_or(ColumnError::Size)?.copy_from_slice(columns);
        schema.count = columns.len() as u8;
        let twice = |at: usize| columns[..at].iter().any(|old| old.name == columns[at].name);
        match schema.bytes() <= RESULT_MOST && !(0..columns.len()).any(twice) {
            true => Ok(schema),
            false => Err(ColumnError::Size),
        }
    }

    /// The same, with payload encrypted in this way.
    #[must_use]
    pub const fn encrypted(self, cipher: Option<Cipher>) -> Self {
        Self { cipher, ..self }
    }

    /// The columns of a result.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns[..self.count.into()]
    }

    /// Each column, and where in a result it stands: one behind the other.
    pub fn places(&self) -> impl Iterator<Item = (&Column, usize)> {
        let mut at = 0;
        self.columns().iter().map(move |column| {
            let place = at;
            at += column.bytes();
            (column, place)
        })
    }

    /// Bytes of a result.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.columns().iter().map(Column::bytes).sum()
    }

    /// A number that another schema is not likely to have: FNV-1a of its bytes. The key's length
    /// makes no other schema.
    #[must_use]
    pub fn id(&self) -> u32 {
        let mut bytes = self.to_bytes();
        bytes[1] &= !LONG_KEY;
        bytes.iter().fold(0x811c_9dc5, |id, byte| {
            (id ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
    }

    /// As it stands in a superblock.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SCHEMA_BYTES] {
        let mut bytes = [0; SCHEMA_BYTES];
        bytes[0] = self.count;
        bytes[1] = if self.received { RECEIVED } else { 0 };
        bytes[1] |= match self.cipher {
            None => 0,
            Some(Cipher::Aes128) => ENCRYPTED,
            Some(Cipher::Aes256) => ENCRYPTED | LONG_KEY,
        };
        for (column, place) in self
            .columns()
            .iter()
            .zip(bytes[4..].chunks_mut(COLUMN_BYTES))
        {
            let kind = OF_RESULTS.iter().position(|kind| *kind == column.kind);
            put(place, 0, &column.name);
            put(
                place,
                NAME_MOST,
                &[kind.unwrap_or_default() as u8, column.list],
            );
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; nothing where that cannot have been these bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; SCHEMA_BYTES]) -> Option<Self> {
        let mut all = [Self::NONE.columns[0]; COLUMNS_MOST];
        let columns = all.get_mut(..bytes[0].into())?;
        for (column, place) in columns.iter_mut().zip(bytes[4..].chunks(COLUMN_BYTES)) {
            column.name = *place.first_chunk()?;
            column.kind = *OF_RESULTS.get(usize::from(place[NAME_MOST]))?;
            column.list = place[NAME_MOST + 1];
            let name = column.name();
            let taken = TAKEN.contains(&name) && !FREE_ONCE.contains(&name);
            if taken || !is_name(name) || !column.fits() {
                return None;
            }
        }
        let mut schema = Self::new(columns, bytes[1] & RECEIVED != 0).ok()?;
        schema.cipher = (bytes[1] & ENCRYPTED != 0).then_some(match bytes[1] & LONG_KEY {
            0 => Cipher::Aes128,
            _ => Cipher::Aes256,
        });
        (schema.to_bytes() == *bytes).then_some(schema)
    }
}

/// A value of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// An unsigned number.
    Number(u64),
    /// A single.
    Float(f32),
    /// What is no number.
    Bytes(&'r [u8]),
}

impl Column {
    /// The values of a list, one of what is none, of its bytes of a result.
    pub fn read<'r>(&self, bytes: &'r [u8]) -> impl Iterator<Item = Value<'r>> {
        let (kind, each) = (self.kind, self.bytes() / self.values());
        let number = |part: &[u8]| {
            part.iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        bytes[..self.bytes()]
            .chunks(each)
            .map(move |part| match kind {
                Kind::Byte => Value::Bytes(part),
                Kind::F32 => Value::Float(f32::from_bits(number(part) as u32)),
                _ => Value::Number(number(part)),
            })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;
    use std::format;
    use std::string::ToString;
    use std::vec::Vec;

    /// Any schema that can be.
    pub(crate) fn schemas() -> impl Strategy<Value = Schema> {
        let column = (0..6_usize, 0..12_u8);
        (
            prop::collection::vec(column, 0..=COLUMNS_MOST),
            any::<bool>(),
            prop::option::of(prop::sample::select(&[Cipher::Aes128, Cipher::Aes256])),
        )
            .prop_map(|(all, received, cipher)| {
                let mut columns = Vec::new();
                for (at, (kind, list)) in all.into_iter().enumerate() {
                    let word = OF_RESULTS[kind].name();
                    let kind = if list == 0 {
                        word.to_string()
                    } else {
                        format!("{word}[{list}]")
                    };
                    columns.extend(Column::new(&format!("c{at}"), &kind));
                    if Schema::new(&columns, received).is_err() {
                        columns.pop();
                    }
                }
                let schema = Schema::new(&columns, received);
                Schema {
                    cipher,
                    ..schema.expect("what does not fit was taken out")
                }
            })
    }

    #[test]
    fn only_types_that_can_be_are_taken() {
        for kind in [
            "u8",
            "u16[5]",
            "f32[16]",
            "u64[8]",
            "bytes[2]",
            "bytes[64]",
            "u8[64]",
        ] {
            let column = Column::new("top", kind).expect(kind);
            assert_eq!(column.to_string(), kind);
        }
        for kind in [
            "",
            "u128",
            "i8",
            "u16[]",
            "u16[0]",
            "u16[33]",
            "u64[9]",
            "bytes",
            "bytes[1]",
            "bytes[65]",
            "u16[+5]",
            "u16[5",
            "u16 [5]",
            "[5]",
            "u8[300]",
            "time",
        ] {
            assert_eq!(Column::new("top", kind), Err(ColumnError::Kind), "{kind}");
        }
        for name in [
            "",
            "Class",
            "1st",
            "a-b",
            "length",
            "time_ns",
            "seventeen_letters",
            "é",
        ] {
            assert_eq!(Column::new(name, "u8"), Err(ColumnError::Name), "{name}");
        }
        let class = Column::new("class", "u16").expect("a column");
        let long = Column::new("sha", "bytes[63]").expect("a column");
        assert_eq!(Schema::new(&[class, class], false), Err(ColumnError::Size));
        assert_eq!(Schema::new(&[class, long], false), Err(ColumnError::Size));
    }

    proptest! {
        #[test]
        fn a_schema_is_written_and_read(schema in schemas()) {
            prop_assert_eq!(Schema::from_bytes(&schema.to_bytes()), Some(schema));
            prop_assert_eq!(schema.to_string().parse(), Ok(schema));
        }

        #[test]
        fn any_bytes_are_a_schema_or_none(schema in schemas(), at in 0..SCHEMA_BYTES, byte: u8) {
            let mut bytes = schema.to_bytes();
            bytes[at] = byte;
            if let Some(read) = Schema::from_bytes(&bytes) {
                prop_assert_eq!(read.to_bytes(), bytes);
                prop_assert!(read.bytes() <= RESULT_MOST);
            }
        }
    }

    #[test]
    fn values_are_read_as_they_lie() {
        let top = Column::new("top", "u16[2]").expect("a column");
        let all: Vec<_> = top.read(&[1, 2, 3, 4]).collect();
        assert_eq!(all, [Value::Number(0x201), Value::Number(0x403)]);
        let sha = Column::new("sha", "bytes[2]").expect("a column");
        assert_eq!(
            sha.read(&[1, 2, 3]).collect::<Vec<_>>(),
            [Value::Bytes(&[1, 2])]
        );
        let score = Column::new("score", "f32").expect("a column");
        assert_eq!(
            score.read(&1.5_f32.to_le_bytes()).next(),
            Some(Value::Float(1.5))
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The page in front of an extent's payload: tar header, JSON, tar header.
//!
//! It is a template with holes, each for one character. Hardware has the template as a ROM, and
//! fills the holes from a memory with the extent's numbers as characters ([`Field`]). So does this
//! module: what differs is only who counts.

use super::schema::{Column, Kind, RESULT_MOST, Schema, Value};
use super::{PAGE_BYTES, Session, tar};
use crate::bytes::put;

/// Offset of the JSON.
pub const JSON_AT: usize = tar::BYTES;
/// Bytes of the JSON.
pub const JSON_BYTES: usize = PAGE_BYTES - 2 * tar::BYTES;
/// Offset of the payload's tar header.
pub const PAYLOAD_AT: usize = PAGE_BYTES - tar::BYTES;
/// Bytes of the JSON that are more than blanks.
pub const TEXT_BYTES: usize = 512;
/// Characters of the template: a header, the JSON's text, a header.
pub const TEMPLATE_CHARACTERS: usize = 2 * tar::BYTES + TEXT_BYTES;
/// Bit of a template's character that makes a hole of it: below stands which.
pub const HOLE: u16 = 1 << 15;
/// Bit of a template's character that is only there with a result; else there is a blank.
pub const WITH_RESULT: u16 = 1 << 14;

/// Characters of an extent's numbers but for its result.
pub const FIELD_CHARACTERS: usize = 232;
/// Characters of a result, at most: what of the template has room for them.
pub const RESULT_CHARACTERS: usize = 256;

/// Where in the characters a number stands, and in how many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Index of its first character.
    pub at: usize,
    /// Characters.
    pub len: usize,
}

macro_rules! fields {
    ($($constant:ident $len:literal $doc:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($constant),* }
        const LENGTHS: &[usize] = &[$($len),*];
        const fn field(index: usize) -> Field {
            let (mut at, mut before) = (0, 0);
            while before < index {
                at += LENGTHS[before];
                before += 1;
            }
            assert!(at + LENGTHS[index] <= FIELD_CHARACTERS);
            Field { at, len: LENGTHS[index] }
        }
        $(#[doc = $doc] pub const $constant: Field = field(Place::$constant as usize);)*
        /// All of them, with their names.
        pub const FIELDS: &[(&str, Field)] = &[$((stringify!($constant), $constant)),*];
    };
}

fields! {
    NAME_STREAM 5 "Stream, with leading zeros.";
    NAME_OBJECT 20 "Object, with leading zeros.";
    NAME_OFFSET 20 "Offset, with leading zeros.";
    SIZE 11 "Length, octal, with leading zeros.";
    SECONDS 11 "Seconds since 1970, octal, with leading zeros.";
    SUM 6 "Checksum of the header, octal, with leading zeros.";
    EXTENSION 4 "File name extension, padded with NUL.";
    SESSION 32 "Session, hexadecimal.";
    OBJECT 20 "Object, with leading blanks.";
    STREAM 5 "Stream, with leading blanks.";
    OFFSET 20 "Offset, with leading blanks.";
    LENGTH 10 "Length, with leading blanks.";
    MISSING 10 "Frames missing before, with leading blanks.";
    SEQUENCE 10 "Number of the first frame, with leading blanks.";
    EPOCH 10 "Epoch of the sender, with leading blanks.";
    TIME 20 "Nanoseconds since 1970, with leading blanks.";
    CRC 8 "CRC32C, hexadecimal.";
    WHOLE 5 "`true` or `false`, with leading blanks.";
}

/// Characters in which a value is written, and those that are kept for it: words of four.
#[must_use]
pub const fn width_of(kind: Kind, list: u8) -> (usize, usize) {
    match kind {
        Kind::U8 => (4, 4),
        Kind::U16 => (5, 8),
        Kind::U32 => (10, 12),
        Kind::U64 | Kind::Time => (20, 20),
        // A number of seven digits with its sign, and behind the point six.
        Kind::F32 => (15, 16),
        Kind::Byte => (2 * list as usize, (2 * list as usize).next_multiple_of(4)),
    }
}

/// A template: the first header, the text, the second header.
pub type Template = [u16; TEMPLATE_CHARACTERS];

/// Characters of a template under construction.
struct Builder {
    characters: Template,
    at: usize,
}

impl Builder {
    const fn text(mut self, text: &str) -> Self {
        let mut index = 0;
        while index < text.len() {
            self.characters[self.at] = text.as_bytes()[index] as u16;
            self.at += 1;
            index += 1;
        }
        self
    }

    const fn hole(mut self, field: Field) -> Self {
        let mut index = 0;
        while index < field.len {
            self.characters[self.at] = HOLE | (field.at + index) as u16;
            self.at += 1;
            index += 1;
        }
        self
    }

    const fn to(mut self, at: usize) -> Self {
        self.at = at;
        self
    }

    const fn name(self, whole: bool) -> Self {
        let name = self.hole(NAME_STREAM).text("/").hole(NAME_OBJECT);
        if whole {
            name.text(".")
        } else {
            name.text("@").hole(NAME_OFFSET).text(".")
        }
    }

    /// The header of a file whose name is there, but for its size.
    const fn header(mut self, at: usize) -> Self {
        let blank = tar::blank(tar::FILE);
        let mut index = tar::NAME_BYTES;
        while index < tar::BYTES {
            self.characters[at + index] = blank[index] as u16;
            index += 1;
        }
        let header = self.to(at + tar::TIME_AT).hole(SECONDS);
        let mut header = header
            .to(at + tar::SUM_AT)
            .hole(SUM)
            .text("\0 ")
            .to(at + tar::PREFIX_AT);
        let mut digits = 0;
        while digits < SESSION.len {
            let len = if digits == 0 {
                8
            } else if digits < 20 {
                4
            } else {
                12
            };
            if digits > 0 {
                header = header.text("-");
            }
            header = header.hole(Field {
                at: SESSION.at + digits,
                len,
            });
            digits += len;
        }
        header
    }
}

/// How pages are worded: as they are written, or as they were when frames had a session of 8 bits and
/// a number of 64.
#[derive(Clone, Copy)]
enum Wording {
    Present,
    Earlier,
}

impl Wording {
    const ALL: [Self; 2] = [Self::Present, Self::Earlier];

    /// Without what the text says of results and without its end.
    const fn templates(self) -> &'static [Template; 2] {
        match self {
            Self::Present => &TEMPLATES,
            Self::Earlier => &EARLIER,
        }
    }

    /// Where that begins.
    const fn result_at(self) -> usize {
        match self {
            Self::Present => RESULT_AT,
            Self::Earlier => template(true, Self::Earlier).1,
        }
    }
}

const fn template(whole: bool, wording: Wording) -> (Template, usize) {
    let empty = Builder {
        characters: [0; TEMPLATE_CHARACTERS],
        at: 0,
    };
    let first = empty.name(whole).text("json").header(0);
    let json = first.to(tar::SIZE_AT).text("00000006000").to(JSON_AT);
    let json = json.text("{\n\"object\": ").hole(OBJECT);
    let json = json.text(",\n\"stream\": ").hole(STREAM);
    let json = json.text(",\n\"offset\": ").hole(OFFSET);
    let json = json.text(",\n\"length\": ").hole(LENGTH);
    let json = json.text(",\n\"whole\": ").hole(WHOLE);
    let json = json.text(",\n\"missing\": ").hole(MISSING);
    let json = json.text(",\n\"sequence\": ");
    let json = match wording {
        Wording::Present => json.hole(SEQUENCE).text(",\n\"epoch\": ").hole(EPOCH),
        Wording::Earlier => json
            .text("          ")
            .hole(SEQUENCE)
            .text(",\n\"sender\": ")
            .hole(Field {
                at: EPOCH.at + EPOCH.len - 3,
                len: 3,
            }),
    };
    let json = json.text(",\n\"time_ns\": ").hole(TIME);
    let mut json = json.text(",\n\"crc32c\": \"").hole(CRC).text("\"");
    let end = json.at;
    let second = JSON_AT + TEXT_BYTES;
    while json.at < second {
        json = json.text(" ");
    }
    let last = json.name(whole).hole(EXTENSION).header(second);
    (last.to(second + tar::SIZE_AT).hole(SIZE).characters, end)
}

/// The page of a whole object, and of any other extent, without what the text says of results and
/// without its end.
pub(super) const TEMPLATES: [Template; 2] = [
    template(false, Wording::Present).0,
    template(true, Wording::Present).0,
];
const EARLIER: [Template; 2] = [
    template(false, Wording::Earlier).0,
    template(true, Wording::Earlier).0,
];
/// Offset in the page of what its text says of a result, behind what all pages say.
pub const RESULT_AT: usize = template(true, Wording::Present).1;

/// Where in the characters the nonce stands, of a schema that has one: in front of a result's.
const NONCE: Field = Field {
    at: FIELD_CHARACTERS,
    len: width_of(Kind::U64, 0).1,
};

/// Where in the characters the numbers of a result stand: each at the end of its words.
fn result_fields(schema: &Schema) -> impl Iterator<Item = (&Column, Field)> {
    let mut at = match schema.cipher {
        None => FIELD_CHARACTERS,
        Some(_) => NONCE.at + NONCE.len,
    };
    let values = schema.columns().iter().flat_map(|column| {
        let values = column.values();
        core::iter::repeat_n(column, values)
    });
    values.map(move |column| {
        let (len, words) = width_of(column.kind, column.list);
        at += words;
        (column, Field { at: at - len, len })
    })
}

/// The template of a schema; nothing where the text has no room for its results.
#[must_use]
pub fn template_of(schema: &Schema, whole: bool) -> Option<Template> {
    template_in(Wording::Present, schema, whole)
}

fn template_in(wording: Wording, schema: &Schema, whole: bool) -> Option<Template> {
    let mut template = wording.templates()[usize::from(whole)];
    let end = JSON_AT + TEXT_BYTES;
    let text = &mut template[..end];
    let mut at = wording.result_at();
    let mut put = |characters: &mut dyn Iterator<Item = u16>| {
        for character in characters {
            *text.get_mut(at)? = character;
            at += 1;
        }
        Some(())
    };
    let mut fields = result_fields(schema).map(|(_, field)| field);
    let mut used = 0;
    if schema.cipher.is_some() {
        put(&mut b",\n\"nonce\": ".iter().map(|c| u16::from(*c)))?;
        put(&mut (NONCE.at..NONCE.at + NONCE.len).map(|at| HOLE | at as u16))?;
    }
    for column in schema.columns() {
        let name = [",\n\"", column.name(), "\": "];
        put(&mut name.iter().flat_map(|part| part.bytes()).map(u16::from))?;
        let (open, close, values) = match (column.kind, column.list) {
            (Kind::Byte, _) => (&b"\""[..], &b"\""[..], 1),
            (_, 0) => (&b""[..], &b""[..], 1),
            (_, list) => (&b"["[..], &b"]"[..], list),
        };
        let shown = |part: &'static [u8]| part.iter().map(|c| WITH_RESULT | u16::from(*c));
        put(&mut shown(open))?;
        for value in 0..values {
            put(&mut shown(if value == 0 { b"" } else { b"," }))?;
            let Field { at, len } = fields.next()?;
            used = at + len;
            put(&mut (at..at + len).map(|at| HOLE | at as u16))?;
        }
        put(&mut shown(close))?;
    }
    put(&mut b"\n}".iter().map(|c| u16::from(*c)))?;
    (used <= FIELD_CHARACTERS + RESULT_CHARACTERS).then_some(template)
}

/// The same; of a schema whose results have no room, which is none of ours, without these.
fn template_or_less(wording: Wording, schema: &Schema, whole: bool) -> Template {
    let none = || template_in(wording, &Schema::NONE.encrypted(schema.cipher), whole);
    let template = template_in(wording, schema, whole).or_else(none);
    template.unwrap_or(wording.templates()[usize::from(whole)])
}

/// What a page says of its extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What a result has.
    pub schema: Schema,
    /// Which recording.
    pub session: Session,
    /// File name extension, padded with NUL.
    pub extension: [u8; 4],
    /// Stream.
    pub stream: u16,
    /// Number of the object.
    pub object: u64,
    /// Where in it the extent begins.
    pub offset: u64,
    /// Bytes of payload.
    pub length: u32,
    /// A whole object.
    pub whole: bool,
    /// Frames that are missing before it; `u32::MAX` stands for more.
    pub missing: u32,
    /// Number of its first frame.
    pub sequence: u32,
    /// The sender's epoch, of the header of its frames.
    pub epoch: u32,
    /// When it began: nanoseconds since 1970.
    pub time: u64,
    /// CRC32C of the payload.
    pub crc32c: u32,
    /// Upper half of the counter blocks that encrypt the payload; 0 where it is as it came.
    pub nonce: u64,
    /// The result, its columns one behind the other.
    pub result: Option<[u8; RESULT_MOST]>,
    /// The name that the object had where it came from; hardware gives it none.
    pub name: tar::Name,
}

/// Decimal digits, with `filler` in place of leading zeros.
fn decimal(mut value: u64, filler: u8, digits: &mut [u8]) {
    let mut first = true;
    for digit in digits.iter_mut().rev() {
        *digit = if value == 0 && !first {
            filler
        } else {
            b'0' + (value % 10) as u8
        };
        value /= 10;
        first = false;
    }
}

fn hexadecimal(bytes: impl Iterator<Item = u8>, digits: &mut [u8]) {
    let nibbles = bytes.flat_map(|byte| [byte >> 4, byte & 0xf]);
    for (digit, nibble) in digits.iter_mut().zip(nibbles) {
        *digit = b"0123456789abcdef"[usize::from(nibble)];
    }
}

/// Text at the end of a field.
fn word(text: &[u8], field: &mut [u8]) {
    field.fill(b' ');
    let at = field.len() - text.len();
    field[at..].copy_from_slice(text);
}

/// Bits behind the binary point of a single that is about to be written.
const FRACTION_BITS: u32 = 32;
/// Half of the last digit that is written, in these.
const HALF: u64 = 2147;
/// Digits behind the decimal point.
const FRACTION_DIGITS: usize = 6;
/// From here on a single is not written.
const FLOAT_LIMIT: f32 = 1e7;

/// A single with six digits behind the point; `null` where it has more than seven in front of it.
///
/// 0.5 of the last digit is added, taken down to a multiple of 2^-32, and the rest is cut off: no
/// division, no table.
fn float(value: f32, field: &mut [u8]) {
    let magnitude = f32::from_bits(value.to_bits() & !(1 << 31));
    if magnitude >= FLOAT_LIMIT || magnitude.is_nan() {
        return word(b"null", field);
    }
    let bits = magnitude.to_bits();
    let mantissa = u64::from(bits & ((1 << 23) - 1) | u32::from(bits >> 23 != 0) << 23);
    // A unit of the mantissa is 2^(exponent - 150); subnormal numbers are far below what is seen.
    let shift = (bits >> 23) as i32 - 150 + FRACTION_BITS as i32;
    let fixed = match shift {
        0.. => mantissa << shift,
        _ => mantissa.checked_shr(shift.unsigned_abs()).unwrap_or(0),
    } + HALF;
    let (before, behind) = field.split_at_mut(field.len() - FRACTION_DIGITS - 1);
    decimal(fixed >> FRACTION_BITS, b' ', before);
    if value.is_sign_negative()
        && let Some(place) = before.iter().rposition(|digit| *digit == b' ')
    {
        before[place] = b'-';
    }
    behind[0] = b'.';
    let mut rest = fixed & ((1 << FRACTION_BITS) - 1);
    for digit in &mut behind[1..] {
        rest *= 10;
        *digit = b'0' + (rest >> FRACTION_BITS) as u8;
        rest &= (1 << FRACTION_BITS) - 1;
    }
}

/// Characters of the numbers of a page.
type Characters = [u8; FIELD_CHARACTERS + RESULT_CHARACTERS];

impl Facts {
    /// The numbers as characters; the checksum, which is a header's, is blank.
    #[must_use]
    pub(super) fn fields(&self) -> Characters {
        let mut all = [b' '; FIELD_CHARACTERS + RESULT_CHARACTERS];
        // Of results that have no room there is no hole.
        let mut set = |field: Field, write: &dyn Fn(&mut [u8])| {
            if let Some(place) = all.get_mut(field.at..field.at + field.len) {
                write(place);
            }
        };
        set(NAME_STREAM, &|to| decimal(self.stream.into(), b'0', to));
        set(NAME_OBJECT, &|to| decimal(self.object, b'0', to));
        set(NAME_OFFSET, &|to| decimal(self.offset, b'0', to));
        set(SIZE, &|to| tar::octal(self.length.into(), to));
        set(SECONDS, &|to| tar::octal(self.time / 1_000_000_000, to));
        set(EXTENSION, &|to| to.copy_from_slice(&self.extension));
        set(SESSION, &|to| hexadecimal(self.session.0.into_iter(), to));
        set(OBJECT, &|to| decimal(self.object, b' ', to));
        set(STREAM, &|to| decimal(self.stream.into(), b' ', to));
        set(OFFSET, &|to| decimal(self.offset, b' ', to));
        set(LENGTH, &|to| decimal(self.length.into(), b' ', to));
        set(MISSING, &|to| decimal(self.missing.into(), b' ', to));
        set(SEQUENCE, &|to| decimal(self.sequence.into(), b' ', to));
        set(EPOCH, &|to| decimal(self.epoch.into(), b' ', to));
        set(TIME, &|to| decimal(self.time, b' ', to));
        set(CRC, &|to| {
            hexadecimal(self.crc32c.to_be_bytes().into_iter(), to)
        });
        let whole: &[u8] = if self.whole { b"true" } else { b"false" };
        set(WHOLE, &|to| word(whole, to));
        if self.schema.cipher.is_some() {
            set(NONCE, &|to| decimal(self.nonce, b' ', to));
        }
        let mut fields = result_fields(&self.schema).map(|(_, field)| field);
        for (column, at) in self.schema.places() {
            let own = fields.by_ref();
            match &self.result {
                Some(result) => {
                    for (value, field) in column.read(&result[at..]).zip(own) {
                        set(field, &|to| match value {
                            Value::Number(number) => decimal(number, b' ', to),
                            Value::Float(value) => float(value, to),
                            Value::Bytes(bytes) => hexadecimal(bytes.iter().copied(), to),
                        });
                    }
                }
                // Of a list the last value says it.
                None => {
                    let values = column.values();
                    if let Some(field) = own.nth(values - 1) {
                        set(field, &|to| word(b"null", to));
                    }
                }
            }
        }
        all
    }

    /// Fills the holes of a template.
    fn filled(&self, template: &Template) -> [u8; TEMPLATE_CHARACTERS] {
        let fields = self.fields();
        template.map(|character| match character {
            hole if hole & HOLE != 0 => fields[usize::from(hole & !HOLE)],
            shown if shown & WITH_RESULT != 0 && self.result.is_none() => b' ',
            shown => shown as u8,
        })
    }

    /// The page.
    #[must_use]
    pub fn to_page(&self) -> [u8; PAGE_BYTES] {
        self.page_in(Wording::Present)
    }

    fn page_in(&self, wording: Wording) -> [u8; PAGE_BYTES] {
        let filled = self.filled(&template_or_less(wording, &self.schema, self.whole));
        let mut page = [b' '; PAGE_BYTES];
        put(&mut page, 0, &filled[..JSON_AT + TEXT_BYTES]);
        put(&mut page, PAYLOAD_AT, &filled[JSON_AT + TEXT_BYTES..]);
        page[PAYLOAD_AT - 1] = b'\n';
        self.name.put(&mut page[PAYLOAD_AT..]);
        for at in [0, PAYLOAD_AT] {
            let sum = page[at..].first_chunk().map_or(0, tar::sum);
            tar::octal(
                sum.into(),
                &mut page[at + tar::SUM_AT..at + tar::SUM_AT + SUM.len],
            );
        }
        page
    }
}

/// A number behind blanks; none where anything else stands there, or it is too large.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    core::str::from_utf8(trimmed(field)).ok()?.parse().ok()
}

fn trimmed(field: &[u8]) -> &[u8] {
    let blanks = field.iter().take_while(|c| **c == b' ').count();
    &field[blanks..]
}

pub(super) fn nibbles(field: &[u8]) -> Option<u64> {
    field.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}

/// What a page has in the holes of a template; a hole that is there twice, as it is last.
fn holes_of(page: &[u8; PAGE_BYTES], template: &Template) -> Characters {
    let (head, tail) = template.split_at(JSON_AT + TEXT_BYTES);
    let mut all = [b' '; FIELD_CHARACTERS + RESULT_CHARACTERS];
    let places = head
        .iter()
        .zip(&page[..])
        .chain(tail.iter().zip(&page[PAYLOAD_AT..]));
    for (place, character) in places {
        if place & HOLE != 0 {
            all[usize::from(place & !HOLE)] = *character;
        }
    }
    all
}

/// A value as it is written; a single that was `null` is no number.
fn value_of(field: &[u8], kind: Kind, to: &mut [u8]) -> Option<()> {
    let text = core::str::from_utf8(trimmed(field)).ok()?;
    match kind {
        Kind::Byte => {
            for (byte, digits) in to.iter_mut().zip(field.chunks(2)) {
                *byte = nibbles(digits)? as u8;
            }
        }
        Kind::F32 => {
            let value = if text == "null" {
                f32::NAN
            } else {
                text.parse().ok()?
            };
            put(to, 0, &value.to_bits().to_le_bytes());
        }
        _ => {
            let number: u64 = text.parse().ok()?;
            let bytes = number.to_le_bytes();
            let (low, high) = bytes.split_at(kind.bytes());
            if high.iter().any(|byte| *byte != 0) {
                return None;
            }
            put(to, 0, low);
        }
    }
    Some(())
}

/// The result that a page says.
fn result_of(all: &Characters, schema: &Schema) -> Option<[u8; RESULT_MOST]> {
    let mut result = [0; RESULT_MOST];
    let mut at = 0;
    for (column, field) in result_fields(schema) {
        let bytes = column.bytes() / column.values();
        let text = all.get(field.at..field.at + field.len)?;
        value_of(text, column.kind, &mut result[at..at + bytes])?;
        at += bytes;
    }
    Some(result)
}

impl Facts {
    /// Reads a page of a recording with this schema; none where a single byte of it is other than
    /// [`Self::to_page`] writes, or wrote when frames had a session and a number of 64 bits: of those
    /// pages what has a number beyond 2^32 is none.
    #[must_use]
    pub fn parse(page: &[u8; PAGE_BYTES], schema: &Schema) -> Option<Self> {
        // What is no page of ours is nearly always seen here.
        tar::parse(page.first_chunk()?)?;
        let read = |wording| Self::parse_in(wording, page, schema);
        Wording::ALL.into_iter().find_map(read)
    }

    fn parse_in(wording: Wording, page: &[u8; PAGE_BYTES], schema: &Schema) -> Option<Self> {
        let whole = page[NAME_STREAM.len + 1 + NAME_OBJECT.len] == b'.';
        let all = holes_of(page, &template_or_less(wording, schema, whole));
        let text = |field: Field| &all[field.at..field.at + field.len];
        let count = |field: Field| number(text(field));
        let session = u128::from(nibbles(&text(SESSION)[..16])?) << 64
            | u128::from(nibbles(&text(SESSION)[16..])?);
        let facts = Self {
            schema: *schema,
            session: Session(session.to_be_bytes()),
            extension: *text(EXTENSION).first_chunk()?,
            stream: count(STREAM)?.try_into().ok()?,
            object: count(OBJECT)?,
            offset: count(OFFSET)?,
            length: count(LENGTH)?.try_into().ok()?,
            whole,
            missing: count(MISSING)?.try_into().ok()?,
            sequence: count(SEQUENCE)?.try_into().ok()?,
            epoch: count(EPOCH)?.try_into().ok()?,
            time: count(TIME)?,
            crc32c: nibbles(text(CRC))?.try_into().ok()?,
            nonce: match schema.cipher {
                Some(_) => count(NONCE)?,
                None => 0,
            },
            result: None,
            name: tar::Name::of(page.last_chunk()?),
        };
        let with = |result| {
            let facts = Self { result, ..facts };
            (facts.page_in(wording) == *page).then_some(facts)
        };
        with(None).or_else(|| with(Some(result_of(&all, schema)?)))
    }
}

/// What stands behind a payload, from the multiple of 512 behind its end up to the page's, as often as
/// it fits: a global pax header without a word, which all tools pass over.
pub const FILLER: [u8; tar::BYTES] = {
    let mut header = tar::blank(tar::GLOBAL);
    let mut at = 0;
    while at < 11 {
        header[tar::SIZE_AT + at] = b'0';
        header[tar::TIME_AT + at] = b'0';
        at += 1;
    }
    let name = *b"filler";
    at = 0;
    while at < name.len() {
        header[at] = name[at];
        at += 1;
    }
    let mut sum = tar::sum(&header);
    at = SUM.len;
    while at > 0 {
        at -= 1;
        header[tar::SUM_AT + at] = b'0' + (sum & 7) as u8;
        sum >>= 3;
    }
    header[tar::KIND_AT - 1] = b' ';
    header
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::tests::schemas;
    extern crate std;
    use proptest::prelude::*;
    use std::format;
    use std::string::{String, ToString};

    /// A result of these bytes, without any behind its end.
    fn filled(schema: &Schema, bytes: &[u8; 32]) -> [u8; RESULT_MOST] {
        let mut result = [0; RESULT_MOST];
        put(&mut result, 0, bytes);
        put(&mut result, 32, bytes);
        result[schema.bytes()..].fill(0);
        result
    }

    fn text(value: f32) -> String {
        let mut field = [0; width_of(Kind::F32, 0).0];
        float(value, &mut field);
        String::from_utf8_lossy(&field).trim_start().to_string()
    }

    #[test]
    fn scores_are_written() {
        let cases = [
            (0.0, "0.000000"),
            (0.7, "0.700000"),
            (-0.8125, "-0.812500"),
            (0.999_999_9, "1.000000"),
            (1.0, "1.000000"),
            (1e-9, "0.000000"),
            (f32::MIN_POSITIVE / 4.0, "0.000000"),
            (9_999_999.0, "9999999.000000"),
            (-9_999_999.0, "-9999999.000000"),
            (1e7, "null"),
            (f32::NAN, "null"),
            (f32::NEG_INFINITY, "null"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(value), expected);
        }
    }

    proptest! {
        #[test]
        fn scores_are_as_rust_writes_them(value in -1e7f32..1e7) {
            let ours: f64 = text(value).parse().expect("a number");
            prop_assert!((ours - f64::from(value)).abs() <= 0.501e-6, "{} {}", ours, value);
        }

        #[test]
        fn a_page_has_two_sound_headers(
            uuid: [u8; 16], stream: u16, object: u64, offset: u64, length: u32, whole: bool,
            time: u64, schema in schemas(), result: Option<[u8; 32]>,
        ) {
            let facts = Facts {
                schema, session: Session(uuid), extension: *b"bin\0", stream, object, offset, length,
                whole, missing: u32::MAX, sequence: u32::MAX, epoch: u32::MAX, time, crc32c: length,
                nonce: if schema.cipher.is_some() { offset } else { 0 },
                result: result.map(|bytes| filled(&schema, &bytes)), name: tar::Name::NONE,
            };
            let page = facts.to_page();
            let first = tar::parse(page.first_chunk().unwrap()).expect("a header");
            let last = tar::parse(page.last_chunk().unwrap()).expect("a header");
            let name = match whole {
                true => format!("{stream:05}/{object:020}"),
                false => format!("{stream:05}/{object:020}@{offset:020}"),
            };
            prop_assert_eq!(String::from_utf8_lossy(first.name), format!("{name}.json"));
            prop_assert_eq!(String::from_utf8_lossy(last.name), format!("{name}.bin"));
            prop_assert_eq!((first.size, last.size), (JSON_BYTES as u64, length.into()));
            prop_assert_eq!((first.session, last.session), (facts.session, facts.session));
            let json = std::str::from_utf8(&page[JSON_AT..PAYLOAD_AT]).unwrap();
            let part = format!(
                "\"object\": {object:20},\n\"stream\": {stream:5},\n\"offset\": {offset:20},\n",
            );
            prop_assert!(json.starts_with(&format!("{{\n{part}")), "{}", json);
            prop_assert!(json.trim_end().ends_with("\n}") && json.ends_with('\n'), "{}", json);
            if template_of(&schema, whole).is_some() {
                let nonce = format!("\"nonce\": {:20}", facts.nonce);
                prop_assert_eq!(json.contains(&nonce), schema.cipher.is_some(), "{}", json);
                for column in schema.columns() {
                    prop_assert!(json.contains(&format!("\"{}\": ", column.name())), "{}", json);
                }
            }
        }

        #[test]
        fn a_page_as_it_was_worded_reads_the_same(
            uuid: [u8; 16], object: u64, length: u32, sequence: u32, session: u8, whole: bool,
            schema in schemas(), result: Option<[u8; 32]>,
        ) {
            let fits = |wording| template_in(wording, &schema, whole).is_some();
            prop_assume!(Wording::ALL.into_iter().all(fits));
            let facts = Facts {
                schema, session: Session(uuid), extension: *b"bin\0", stream: 7, object, offset: 0,
                length, whole, missing: 0, sequence, epoch: session.into(), time: 5, crc32c: 6,
                nonce: 0, result: result.map(|bytes| filled(&schema, &bytes)), name: tar::Name::NONE,
            };
            let page = facts.page_in(Wording::Earlier);
            let text = std::str::from_utf8(&page[JSON_AT..PAYLOAD_AT]).expect("text");
            let numbers = format!("\"sequence\": {sequence:20},\n\"sender\": {session:3},\n");
            prop_assert!(text.contains(&numbers), "{}", text);
            let read = Facts::parse(&page, &schema).expect("a page");
            prop_assert_eq!(Facts { result: None, ..read }, Facts { result: None, ..facts });
        }

        #[test]
        fn a_page_reads_as_it_was_written(
            uuid: [u8; 16], numbers: (u16, u64, u64, u32), more: (u32, u32, u32, u64, u32),
            whole: bool, schema in schemas(), result: Option<[u8; 32]>, name in "[^\0]{0,25}",
            noise: (u16, u8),
        ) {
            prop_assume!(template_of(&schema, whole).is_some());
            let result = result.map(|bytes| filled(&schema, &bytes));
            let (stream, object, offset, length) = numbers;
            let (missing, sequence, epoch, time, crc32c) = more;
            let facts = Facts {
                schema, session: Session(uuid), extension: *b"bin\0", stream, object, offset, length,
                whole, missing, sequence, epoch, time, crc32c, result,
                nonce: if schema.cipher.is_some() { u64::MAX - object } else { 0 },
                name: tar::Name::new(name.as_bytes()).expect("25 characters are at most 100 bytes"),
            };
            prop_assert_eq!(facts.name.bytes(), name.as_bytes());
            let mut page = facts.to_page();
            let read = Facts::parse(&page, &schema).expect("a page");
            // Of a single six digits are left.
            prop_assert_eq!(Facts { result: None, ..read }, Facts { result: None, ..facts });
            if schema.columns().iter().all(|column| column.kind != Kind::F32) {
                let without = schema.columns().is_empty();
                prop_assert_eq!(read.result, result.filter(|_| !without));
            }
            prop_assert_eq!(read.to_page(), page);
            let at = usize::from(noise.0) % PAGE_BYTES;
            let right = core::mem::replace(&mut page[at], noise.1);
            if right != noise.1 && Facts::parse(&page, &schema).is_some() {
                // No checksum is over the JSON: a number there may have become another one.
                let of_number = |byte| b" -.0123456789abcdef".contains(&byte);
                prop_assert!((JSON_AT..PAYLOAD_AT).contains(&at), "byte {} is wrong", at);
                prop_assert!(of_number(right) && of_number(noise.1), "byte {} is wrong", at);
            }
        }
    }

    #[test]
    fn a_filler_is_a_sound_header() {
        assert_eq!(tar::parse(&FILLER), None, "a reader passes over it");
        let digits = &FILLER[tar::SUM_AT..tar::SUM_AT + SUM.len];
        let sum = u32::from_str_radix(std::str::from_utf8(digits).unwrap(), 8);
        assert_eq!(sum, Ok(tar::sum(&FILLER)));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Registers of an element: what does not fit into `cfg`, such as tables, weights and keys, and is
//! written over AXI4-Lite before a recording begins.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use forebay_spec::recorder::elements::WINDOW_BYTES;
use serde::{Deserialize, Serialize};
use toml::Value;
use zeroize::Zeroizing;

use super::field::{Field, File};
use super::name::named_well;
use super::setting::Setting;
use super::{Place, Result};

/// Bytes of a word of the bus.
const WORD: i128 = 4;
/// Bytes of the longest number.
const NUMBER_MOST: u64 = 8;

/// Some bytes of an element's registers that are written at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Register {
    /// What it means, in a line.
    pub description: String,
    /// The first byte, from the beginning of the element's window on.
    pub offset: u64,
    /// How many bytes it may have: the lengths among which a value chooses.
    pub bytes: Vec<u64>,
    /// A number, little-endian; else bytes.
    pub number: bool,
    /// Its value comes out of a file, and nothing shows it.
    pub secret: bool,
    /// The number where none is given; none: one must be.
    pub default: Option<i128>,
}

/// A value of it.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct RegisterValue {
    /// The first byte, from the beginning of the element's window on.
    pub offset: u64,
    /// As one would say it; of a secret only that it is one.
    pub shown: String,
    /// The bytes. They may be a secret: they are zeroed when they are freed.
    #[serde(skip)]
    pub data: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for RegisterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.shown, self.offset)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    description: String,
    offset: Place,
    bytes: Place,
    r#type: Place,
    secret: Option<Place>,
    default: Option<Place>,
}

/// All registers of a manifest.
pub(super) fn all(
    file: &File,
    raw: &BTreeMap<String, Raw>,
    settings: &BTreeMap<String, Setting>,
) -> Result<BTreeMap<String, Register>> {
    let mut found: BTreeMap<String, Register> = BTreeMap::new();
    for (name, raw) in raw {
        let field = file.field(format!("registers.{name}.offset"), &raw.offset);
        named_well(&field, name, "a register")?;
        if settings.contains_key(name) {
            return Err(field.refuse("a setting has the same name", "choose another name"));
        }
        let new = of(file, name, raw)?;
        let shares = |old: &Register| {
            new.offset < old.offset + old.longest() && old.offset < new.offset + new.longest()
        };
        if let Some((other, _)) = found.iter().find(|(_, old)| shares(old)) {
            return Err(field.refuse(
                &format!("some of these bytes are those of {other}"),
                "choose others of the window",
            ));
        }
        found.insert(name.clone(), new);
    }
    Ok(found)
}

fn of(file: &File, name: &str, raw: &Raw) -> Result<Register> {
    let field = |key: &str, value| file.field(format!("registers.{name}.{key}"), value);
    let at = field("offset", &raw.offset);
    let most = i128::from(WINDOW_BYTES);
    let words = |field: &Field<'_>, least: i128, most: i128| {
        let bytes = field.integer(least..=most)?;
        match bytes % WORD {
            0 => Ok(bytes as u64),
            _ => Err(field.refuse("it is a multiple of 4", "registers are words of 32 bits")),
        }
    };
    let offset = words(&at, 0, most - WORD)?;
    let size = field("bytes", &raw.bytes);
    let room = most - i128::from(offset);
    let bytes = match size.value() {
        Value::Array(list) if !list.is_empty() => list
            .iter()
            .map(|value| words(&size.part("length", value), WORD, room))
            .collect::<Result<Vec<_>>>()?,
        _ => vec![words(&size, WORD, room)?],
    };
    let kind = field("type", &raw.r#type);
    let number = kind.word(&[("integer", true), ("bytes", false)])?;
    if number && (bytes.len() > 1 || bytes[0] > NUMBER_MOST) {
        return Err(size.refuse("a number has 4 or 8 bytes", "choose one of these"));
    }
    let secret = file.or(
        format!("registers.{name}.secret"),
        &raw.secret,
        false,
        Field::flag,
    )?;
    if secret && number {
        return Err(kind.refuse("a secret is bytes", "write type = \"bytes\""));
    }
    let mut register = Register {
        description: raw.description.clone(),
        offset,
        bytes,
        number,
        secret,
        default: None,
    };
    if let Some(value) = &raw.default {
        let field = field("default", value);
        if !number {
            return Err(field.refuse("only a number has one", "leave it out"));
        }
        register.default = Some(register.integer(&field)?);
    }
    Ok(register)
}

impl Register {
    fn longest(&self) -> u64 {
        self.bytes.iter().copied().max().unwrap_or(0)
    }

    /// How many bytes it has, as one would say it.
    pub fn size(&self) -> String {
        let sizes: Vec<_> = self.bytes.iter().map(u64::to_string).collect();
        format!("{} bytes", sizes.join(" or "))
    }

    /// How a value of it is written.
    pub(super) fn example(&self, name: &str) -> String {
        match (self.number, self.secret) {
            (true, _) => format!("{name} = 1, or another number"),
            (_, true) => format!("{name} = {{ file = \"a file of {}\" }}", self.size()),
            _ => format!(
                "{name} = {{ file = \"a file of {}\" }}, or {name} = {{ hex = \"…\" }}",
                self.size()
            ),
        }
    }

    fn integer(&self, field: &Field<'_>) -> Result<i128> {
        let most = u64::MAX >> (64 - 8 * self.longest().min(NUMBER_MOST));
        field.integer(-i128::from(most >> 1) - 1..=most.into())
    }

    fn of_number(&self, number: i128) -> RegisterValue {
        // Negative numbers are in two's complement.
        let bytes = number.to_le_bytes().into_iter();
        RegisterValue {
            offset: self.offset,
            shown: number.to_string(),
            data: bytes
                .take(self.longest() as usize)
                .collect::<Vec<_>>()
                .into(),
        }
    }

    /// The value where none is given.
    pub(super) fn usual(&self) -> Option<RegisterValue> {
        self.default.map(|number| self.of_number(number))
    }

    /// Reads a value for it; files are looked for from a folder on.
    pub(super) fn read(&self, field: &Field<'_>, folder: &Path) -> Result<RegisterValue> {
        if self.number {
            return Ok(self.of_number(self.integer(field)?));
        }
        let (data, shown) = self.bytes_of(field, folder)?;
        Ok(RegisterValue {
            offset: self.offset,
            shown: if self.secret { "secret".into() } else { shown },
            data,
        })
    }

    /// Bytes, and what is said of them.
    fn bytes_of(&self, field: &Field<'_>, folder: &Path) -> Result<(Zeroizing<Vec<u8>>, String)> {
        let table = field.value().as_table().filter(|table| table.len() == 1);
        let value = |key| table.and_then(|table| table.get(key)?.as_str());
        let wrong = |found: usize| {
            let limit = format!("it has {}, and here are {found}", self.size());
            field.refuse_hidden(&limit, "check that it is the right one")
        };
        let fits = |bytes: &[u8]| self.bytes.contains(&(bytes.len() as u64));
        if let Some(name) = value("file") {
            let path = folder.join(name);
            let unreadable = |error: std::io::Error| {
                field.refuse(
                    &format!("{} cannot be read: {error}", path.display()),
                    "name a file that is there, from the pipeline's folder on",
                )
            };
            let file = fs::File::open(&path).map_err(unreadable)?;
            let most = self.longest() + 1;
            // With room to spare the vector does not grow, which would leave bytes behind.
            let mut bytes = Zeroizing::new(Vec::with_capacity(most as usize + 32));
            file.take(most)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            return match fits(&bytes) {
                true => {
                    let shown = format!("{name}, {} bytes", bytes.len());
                    Ok((bytes, shown))
                }
                false if bytes.len() as u64 == most => Err(field.refuse_hidden(
                    &format!("it has {}, and {} has more", self.size(), path.display()),
                    "check that it is the right file",
                )),
                false => Err(wrong(bytes.len())),
            };
        }
        match value("hex").filter(|_| !self.secret) {
            Some(hex) => {
                let bytes = hex_bytes(hex).ok_or_else(|| {
                    field.refuse(
                        "it has two hexadecimal digits a byte",
                        "write digits and a to f, such as hex = \"00ff\"",
                    )
                })?;
                match fits(&bytes) {
                    true => Ok((bytes.into(), hex.to_owned())),
                    false => Err(wrong(bytes.len())),
                }
            }
            None if self.secret => Err(field.refuse_hidden(
                "a secret comes out of a file",
                "write { file = \"its path\" }",
            )),
            None => Err(field.refuse(
                &format!("it is {}", self.size()),
                "write { file = \"its path\" }, or { hex = \"…\" }",
            )),
        }
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let pairs = digits.chunks(2);
    Some(pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

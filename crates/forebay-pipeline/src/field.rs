// SPDX-License-Identifier: Apache-2.0
//! Reading TOML that people write, with the line of whatever is wrong.

use std::fmt::Display;
use std::fs;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use forebay_model::{SECOND, Time};
use serde::de::DeserializeOwned;
use toml::Value;

use super::{Error, Place, Result, units};

/// Bytes of the longest file that is read, many times those of any real one.
const LONGEST: u64 = 1 << 20;

/// A file's text, and where it is.
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    text: String,
}

impl File {
    /// Reads it.
    ///
    /// # Errors
    /// Where it cannot be read, is too long, or is no text.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |error| Error::file("reading", path, error);
        let mut text = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::unusable(
                "the pipeline",
                path.display(),
                "that is no file",
                "name a file, such as pipelines/record.toml",
            ));
        }
        file.take(LONGEST + 1)
            .read_to_end(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > LONGEST {
            return Err(Error::unusable(
                path.display(),
                "longer than 1 MiB",
                "no such file is",
                "check that it is the right one",
            ));
        }
        let text = String::from_utf8(text).map_err(|error| {
            Error::unusable(
                path.display(),
                format_args!("no text from byte {} on", error.utf8_error().valid_up_to()),
                "it must be UTF-8",
                "check that it is the right file",
            )
        })?;
        Ok(Self::new(path, text))
    }

    /// A text as if it stood in this file.
    pub fn new(path: &Path, text: String) -> Self {
        Self {
            path: path.to_owned(),
            text,
        }
    }

    /// The folder that it lies in, from which paths in it start.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The name of a profile: one that is built in, or a file's path that starts from this one's
    /// folder.
    pub fn profile(&self, name: &str) -> String {
        if name.ends_with(".toml") {
            return self.folder().join(name).display().to_string();
        }
        name.to_owned()
    }

    /// Its tables.
    ///
    /// # Errors
    /// Where it is no TOML, or has a key that is not known.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(&self.text).map_err(|error| Error::Toml {
            path: self.path.clone(),
            source: Box::new(error),
        })
    }

    /// One of its values, by its name with the table.
    pub fn field<'a>(&'a self, name: impl Into<String>, value: &'a Place) -> Field<'a> {
        Field {
            file: self,
            name: name.into(),
            value: value.get_ref(),
            at: value.span().start,
        }
    }

    /// What is read of a value, or `usual` where there is none.
    pub fn or<'a, T>(
        &'a self,
        name: impl Into<String>,
        value: &'a Option<Place>,
        usual: T,
        read: impl FnOnce(&Field<'a>) -> Result<T>,
    ) -> Result<T> {
        let field = value.as_ref().map(|value| self.field(name, value));
        field.map_or(Ok(usual), |field| read(&field))
    }

    /// What is wrong at a byte of the text.
    pub fn refuse(
        &self,
        at: usize,
        name: &str,
        value: impl Display,
        limit: &str,
        remedy: &str,
    ) -> Error {
        let before = self.text.get(..at).unwrap_or_default();
        Error::Value {
            path: self.path.clone(),
            line: before.matches('\n').count() + 1,
            key: name.to_owned(),
            value: value.to_string(),
            limit: limit.into(),
            remedy: remedy.into(),
        }
    }
}

/// A value, its name and its file.
pub struct Field<'a> {
    file: &'a File,
    /// With its table, such as `source.mtu`.
    pub name: String,
    value: &'a Value,
    /// Where in the file it stands.
    at: usize,
}

impl<'a> Field<'a> {
    /// As it is in the file.
    pub const fn value(&self) -> &'a Value {
        self.value
    }

    /// It cannot be.
    pub fn refuse(&self, limit: &str, remedy: &str) -> Error {
        self.file
            .refuse(self.at, &self.name, self.value, limit, remedy)
    }

    /// It cannot be, and is not shown: it may be secret.
    pub fn refuse_hidden(&self, limit: &str, remedy: &str) -> Error {
        self.file
            .refuse(self.at, &self.name, "not shown", limit, remedy)
    }

    /// A text.
    ///
    /// # Errors
    /// Where it is none.
    pub fn text(&self) -> Result<&'a str> {
        self.value()
            .as_str()
            .ok_or_else(|| self.refuse("it is a text", "write it between quotes"))
    }

    /// One of these words.
    ///
    /// # Errors
    /// Where it is another.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        let found = words
            .iter()
            .find(|(word, _)| self.value().as_str() == Some(word));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<_> = words
                .iter()
                .map(|(word, _)| format!("\"{word}\""))
                .collect();
            self.refuse(
                &format!("it is one of {}", known.join(", ")),
                "choose one of these",
            )
        })
    }

    /// A list of tables, each with itself as a field.
    ///
    /// # Errors
    /// Where it is none.
    pub fn tables(&self) -> Result<Vec<(&'a toml::Table, Self)>> {
        let wrong = || {
            let example = format!("write [[{}]], and below it what it has", self.name);
            self.refuse_hidden("it is a list of tables", &example)
        };
        let list = self.value().as_array().ok_or_else(wrong)?;
        let tables = list.iter().enumerate().map(|(at, value)| {
            let table = value.as_table().ok_or_else(wrong)?;
            let name = format!("{}[{at}]", self.name);
            Ok((
                table,
                Self {
                    name,
                    value,
                    ..*self
                },
            ))
        });
        tables.collect()
    }

    /// A value in it. What is refused of it is said to be on the line of the whole.
    pub fn part(&self, name: &str, value: &'a Value) -> Self {
        Self {
            name: format!("{}.{name}", self.name),
            value,
            ..*self
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// Where it is neither.
    pub fn flag(&self) -> Result<bool> {
        self.value().as_bool().ok_or_else(|| {
            self.refuse("it is true or false", "write true or false, without quotes")
        })
    }

    /// A time in picoseconds, 0 or a text with a unit.
    ///
    /// # Errors
    /// Where it is none, or longer than `most`, whole seconds.
    pub fn time(&self, most: Time, remedy: &str) -> Result<Time> {
        let time = match self.value() {
            Value::String(text) => units::time(text).ok(),
            Value::Integer(0) => Some(0),
            _ => None,
        };
        time.filter(|time| *time <= most).ok_or_else(|| {
            let limit = format!("it is a time of up to {} s, in quotes", most / SECOND);
            self.refuse(&limit, remedy)
        })
    }

    /// A whole number; one that TOML has no room for may stand in quotes, as all may that begin with
    /// `0x`.
    ///
    /// # Errors
    /// Where it is none, or out of range.
    pub fn integer(&self, range: RangeInclusive<i128>) -> Result<i128> {
        let limit = format!(
            "it is a whole number from {} to {}",
            range.start(),
            range.end()
        );
        let number = match self.value() {
            Value::Integer(number) => Some(i128::from(*number)),
            Value::String(text) => whole(text),
            _ => None,
        };
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.refuse(&limit, "write such a number"))
    }

    /// A number of bytes: a number, or a text with a unit.
    ///
    /// # Errors
    /// Where it is none.
    pub fn bytes(&self) -> Result<u64> {
        let bytes = match self.value() {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::String(text) => units::size(text).ok(),
            _ => None,
        };
        bytes.ok_or_else(|| {
            self.refuse(
                "it is a number of bytes",
                "write bytes, or a unit in quotes: 4096, \"64KiB\", \"2GB\"",
            )
        })
    }

    /// A number of bytes in whole units.
    ///
    /// # Errors
    /// Where it is none.
    pub fn whole_bytes(&self, unit: u64) -> Result<u64> {
        let bytes = self.bytes()?;
        if bytes.is_multiple_of(unit) {
            return Ok(bytes);
        }
        Err(self.refuse(
            &format!("it is a multiple of {unit} bytes"),
            &format!(
                "take {} or {}",
                bytes / unit * unit,
                (bytes / unit).saturating_add(1) * unit
            ),
        ))
    }
}

/// Reads a whole number: decimal, or hexadecimal behind `0x`.
fn whole(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(hex) if hex.starts_with('+') => None,
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(i128::from),
        None => text.parse().ok(),
    }
}

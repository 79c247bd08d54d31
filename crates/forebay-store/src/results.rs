// SPDX-License-Identifier: Apache-2.0
//! What elements made of objects, by the names of a recording's schema.

use std::fmt;

use forebay_spec::store::index::Row;
use forebay_spec::store::schema::{Column, Schema, Value};
use serde::{Serialize, Serializer};

/// A value of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// There is no result, or a single that is no number.
    Null,
    /// An unsigned number.
    Number(u64),
    /// A single.
    Float(f32),
    /// What is no number, in hexadecimal.
    Text(String),
    /// Several.
    List(Vec<Self>),
}

impl Cell {
    fn of(value: Value<'_>) -> Self {
        match value {
            Value::Number(number) => Self::Number(number),
            Value::Float(value) if value.is_finite() => Self::Float(value),
            Value::Float(_) => Self::Null,
            Value::Bytes(bytes) => {
                Self::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.pad("–"),
            Self::Number(number) => f.pad(&number.to_string()),
            Self::Float(value) => f.pad(&format!("{value:.4}")),
            Self::Text(text) => f.pad(text),
            Self::List(all) => {
                let all: Vec<_> = all.iter().map(ToString::to_string).collect();
                f.pad(&all.join(","))
            }
        }
    }
}

/// The values of a result, column by column; all null without one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results(Vec<(String, Cell)>);

impl Results {
    /// Those of an index record.
    #[must_use]
    pub fn of(schema: &Schema, row: &Row) -> Self {
        let cell = |column: &Column, at: usize| {
            if !row.has_result() {
                return Cell::Null;
            }
            let mut cells = column.read(&row.result[at..]).map(Cell::of);
            match column.is_list() {
                true => Cell::List(cells.collect()),
                false => cells.next().unwrap_or(Cell::Null),
            }
        };
        let places = schema.places();
        Self(
            places
                .map(|(column, at)| (column.name().to_owned(), cell(column, at)))
                .collect(),
        )
    }

    /// The value of a column.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Cell> {
        let mut all = self.0.iter();
        all.find(|(own, _)| own == name).map(|(_, cell)| cell)
    }

    /// The class, where there is a column of this name; what takes more than 16 bits is none.
    #[must_use]
    pub fn class(&self) -> Option<u16> {
        match self.get("class") {
            Some(Cell::Number(class)) => u16::try_from(*class).ok(),
            _ => None,
        }
    }

    /// The values, in order.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.0.iter().map(|(_, cell)| cell)
    }
}

/// As a map of names.
impl Serialize for Results {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}

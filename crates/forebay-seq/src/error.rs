// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a program's text: place, field, value, limit, remedy.

use std::fmt::Display;

/// Result of assembling.
pub type Result<T> = std::result::Result<T, Error>;

/// What cannot be assembled, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {field} is {value}, but {limit}")]
pub struct Error {
    /// The line, from 1 on.
    pub line: usize,
    /// The character of the line, from 1 on.
    pub column: usize,
    /// What is wrong, such as `number of add`.
    pub field: String,
    /// What was found.
    pub value: String,
    /// What it must be.
    pub limit: String,
    /// What to do.
    pub remedy: String,
}

/// Where something stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    /// The line, from 1 on.
    pub line: usize,
    /// The character of the line, from 1 on.
    pub column: usize,
}

impl At {
    /// An error at this place.
    pub fn error(
        self,
        field: impl Into<String>,
        value: impl Display,
        limit: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error {
            line: self.line,
            column: self.column,
            field: field.into(),
            value: value.to_string(),
            limit: limit.into(),
            remedy: remedy.into(),
        }
    }
}

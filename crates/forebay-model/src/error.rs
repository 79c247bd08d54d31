// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with a model's parameters or files.

use std::path::PathBuf;
use thiserror::Error;

/// A model cannot be made. Each says the field, the value, the limit and what to do.
#[derive(Debug, Error)]
pub enum ModelError {
    /// No built-in profile has this name.
    #[error("no built-in profile is named {name:?}; there are: {known}. Give a path to use a file")]
    UnknownProfile {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A profile is not TOML, lacks a field, or has one too many.
    #[error("profile {profile}: {reason}")]
    Syntax {
        /// Name of the profile or its file.
        profile: String,
        /// What the parser says, with line and field.
        reason: String,
    },
    /// A value that cannot be.
    #[error("profile {profile}: {field} = {value}, but must be {limit}. {remedy}")]
    Value {
        /// Name of the profile or its file.
        profile: String,
        /// The field, with its table.
        field: &'static str,
        /// The value.
        value: String,
        /// What it must be.
        limit: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file cannot be used.
    #[error("{path}: {source}. Check that the file exists, is readable and the disk has room")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A medium is too small for the namespaces on it.
    #[error(
        "the medium has {medium} bytes, but the namespaces need {namespaces}. \
         Make it as large as SsdProfile::bytes()"
    )]
    MediumTooSmall {
        /// Bytes of the medium.
        medium: u64,
        /// Bytes of all namespaces.
        namespaces: u64,
    },
}

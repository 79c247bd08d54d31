// SPDX-License-Identifier: Apache-2.0
//! What goes wrong with a pipeline: place, key, value, limit, remedy.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong; [`miette::Diagnostic::help`] says what to do.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// A file cannot be opened, read or written, or a program not be started.
    #[error("{doing} {path}: {source}")]
    #[diagnostic(help("check that the path exists, is readable and the disk has room"))]
    File {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not one of a pipeline or an element.
    #[error("{what} is {value}, but {limit}")]
    #[diagnostic(help("{remedy}"))]
    Unusable {
        /// Which file.
        what: String,
        /// What it is.
        value: String,
        /// What it has to be.
        limit: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file is no TOML, or has a key that does not exist.
    #[error("{path}: {source}")]
    #[diagnostic(help(
        "docs/reference/pipelines.md lists the keys of pipelines, docs/tutorials/pe.md those of \
         elements"
    ))]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: Box<toml::de::Error>,
    },
    /// A value in a file is outside its limit.
    #[error("{path}:{line}: {key} is {value}, but {limit}")]
    #[diagnostic(help("{remedy}"))]
    Value {
        /// The file.
        path: PathBuf,
        /// Its line, from 1 on.
        line: usize,
        /// The key with its table, such as `source.mtu`.
        key: String,
        /// What it is.
        value: String,
        /// What it may be.
        limit: Box<str>,
        /// What to do.
        remedy: Box<str>,
    },
    /// Verilator complains of RTL.
    #[error("{top} does not pass lint:\n{output}")]
    #[diagnostic(help(
        "mend the first complaint first; docs/tutorials/pe.md says which ports an element has"
    ))]
    Lint {
        /// The module.
        top: String,
        /// What Verilator says.
        output: String,
    },
    /// The profile of a drive that no file names cannot be loaded.
    #[error(transparent)]
    Model(#[from] forebay_model::ModelError),
    /// Verilator was not found, or a filelist cannot be read.
    #[error(transparent)]
    Rtl(#[from] forebay_rtl::Error),
}

impl Error {
    /// A file that fails.
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::File {
            doing,
            path,
            source,
        }
    }

    /// A file that is not one of a pipeline or an element.
    pub(crate) fn unusable(
        what: impl Display,
        value: impl Display,
        limit: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self::Unusable {
            what: what.to_string(),
            value: value.to_string(),
            limit: limit.into(),
            remedy,
        }
    }
}

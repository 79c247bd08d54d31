// SPDX-License-Identifier: Apache-2.0
//! What can go wrong between a filelist and a running model.

use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong here. Each message says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tool that is needed was not found.
    #[error("{tool} was not found (looked at {looked}); {remedy}")]
    ToolMissing {
        /// Name of the tool.
        tool: &'static str,
        /// Where it was looked for.
        looked: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A tool could not be started or ended with an error.
    #[error("{tool} failed while {doing}:\n{output}")]
    ToolFailed {
        /// Name of the tool.
        tool: &'static str,
        /// What it was doing.
        doing: String,
        /// Its diagnostics, shortened to the first errors.
        output: String,
    },
    /// Verilator writes something else than the versions that are known.
    #[error(
        "{version} names the clock '{clock}', but no line 'is active: @(posedge {clock})' of it, by \
         which edges are known; name Verilator 5.48, as in requirements.txt, in $VERILATOR"
    )]
    UnknownWords {
        /// What `verilator --version` says.
        version: String,
        /// The clock.
        clock: String,
    },
    /// Sources changed each time that Verilator read them.
    #[error(
        "the sources of '{top}' changed while Verilator read them, {tries} times in a row; stop what \
         writes to them (a generator, a checkout, an editor), then build again"
    )]
    SourcesChange {
        /// The top module.
        top: String,
        /// How often they were read.
        tries: u32,
    },
    /// There is no folder for the cache.
    #[error(
        "no folder for the cache: $FOREBAY_CACHE, $XDG_CACHE_HOME and $HOME are not set, and models in a \
         folder that others can write to are not loaded; set $FOREBAY_CACHE to a folder of your own"
    )]
    NoCache,
    /// A header that FST tracing needs is not installed.
    #[error(
        "waves need the header {header}, which the C++ compiler does not find; \
         install liblz4-dev and zlib1g-dev (Debian, Ubuntu), or run without waves"
    )]
    TraceHeaders {
        /// The missing header.
        header: &'static str,
    },
    /// A line of a filelist is not understood.
    #[error("{}:{line}: {what}; a filelist holds paths, -f FILE, +incdir+DIR, +define+NAME=VALUE, -y DIR and // comments", .file.display())]
    Filelist {
        /// The filelist.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A source names nothing to build.
    #[error("no source files for top module '{top}'; name files or a filelist")]
    NoFiles {
        /// The top module asked for.
        top: String,
    },
    /// Reading or writing a file failed.
    #[error("{doing} {}: {source}", .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which path.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The shared library could not be loaded, or is not one of ours.
    #[error("cannot load the model {}: {what}", .path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The model has no port of this name.
    #[error("the model '{top}' has no port '{name}'{}", hint(.nearest))]
    NoPort {
        /// Top module.
        top: String,
        /// Name asked for.
        name: String,
        /// A port whose name is alike.
        nearest: Option<String>,
    },
    /// The model itself reported an error: an assertion, `$error`, `$fatal`, `$stop` or `$finish`.
    #[error("the RTL reports: {message}")]
    Model {
        /// The message as the model printed it, with file, line and instance.
        message: String,
    },
    /// Waves were asked for of a model that was built without them.
    #[error("this model was built without tracing; set Source::trace before building")]
    NoTrace,
}

fn hint(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}
